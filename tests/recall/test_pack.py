from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.tokens import as_tokenizer
from hindsight_integrations.recall.packing import Packed, pack

TOKENS = as_tokenizer("cl100k_base")
START = datetime(2025, 1, 1, 9, tzinfo=UTC)


def memory(text: str, *, day: int = 0) -> Memory:
    return Memory("m", "bank", text, mentioned_at=START + timedelta(days=day))


def packed(ranked: Iterable[Memory], max_tokens: int) -> Packed:
    return pack(ranked, max_tokens, TOKENS.count, TOKENS.truncate)


def places(result: Packed) -> list[int]:
    return [place for place, _ in result.taken]


def test_everything_fits_a_large_budget() -> None:
    result = packed([memory("one"), memory("two", day=1)], 100)
    assert result.text == "[01 Jan 2025, 09:00]\none\n[02 Jan 2025, 09:00]\ntwo"
    assert result.tokens == TOKENS.count(result.text)
    assert not result.truncated
    assert not result.left_out


def test_memories_of_one_session_share_a_header() -> None:
    result = packed([memory("one"), memory("two", day=1), memory("three")], 100)
    assert result.text == "[01 Jan 2025, 09:00]\none\nthree\n[02 Jan 2025, 09:00]\ntwo"
    assert places(result) == [0, 1, 2]


def test_memories_of_one_day_share_it_in_the_order_in_which_they_were_said() -> None:
    def said(minute: int, text: str) -> Memory:
        return Memory("m", "bank", text, mentioned_at=START + timedelta(minutes=minute))

    result = packed([said(5, "best"), memory("other", day=1), said(2, "older"), said(9, "new")], 99)
    assert result.text == ("[01 Jan 2025]\nolder\nbest\nnew\n[02 Jan 2025, 09:00]\nother")
    assert places(result) == [0, 1, 2, 3]
    # The second memory of the day takes the clock time, five tokens, off the header.
    costs = [tokens for _, tokens in result.taken]
    assert costs[2] == max(1, TOKENS.count("older\n") - 5)
    assert sum(costs) >= result.tokens


def test_a_date_without_a_time_shows_none() -> None:
    noted = Memory("m", "bank", "Bart won.", mentioned_at=datetime(2023, 3, 7, tzinfo=UTC))
    assert packed([noted], 100).text == "[07 Mar 2023]\nBart won."


def test_an_oversize_memory_is_skipped_and_later_ones_still_fit() -> None:
    result = packed([memory("word " * 500), memory("short")], 40)
    assert places(result) == [1]
    assert result.left_out == (0,)
    assert not result.truncated


def test_if_nothing_fits_the_best_is_cut() -> None:
    result = packed([memory("word " * 500), memory("other " * 500)], 20)
    assert result.truncated
    assert places(result) == [0]
    assert 0 < result.tokens <= 20
    assert result.left_out == (1,)


def test_nothing_in_gives_nothing_out() -> None:
    assert packed([], 100) == Packed((), (), (), "", 0)


TEXTS = st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=12)


@given(TEXTS, st.integers(1, 120), st.integers(1, 4))
def test_the_rendered_text_never_exceeds_the_budget(
    texts: list[str], max_tokens: int, days: int
) -> None:
    ranked = [memory(text, day=i % days) for i, text in enumerate(texts)]
    result = packed(ranked, max_tokens)
    assert TOKENS.count(result.text) == result.tokens <= max_tokens
    assert places(result) == sorted(places(result))
    assert sorted([*places(result), *result.left_out]) == list(range(len(texts)))


def test_the_ranking_is_read_no_further_than_the_budget_reaches() -> None:
    read = 0

    def endless() -> Iterator[Memory]:
        nonlocal read
        while True:
            read += 1
            yield memory("word " * 20)

    assert len(packed(endless(), 200).taken) == 8
    assert read < 100
