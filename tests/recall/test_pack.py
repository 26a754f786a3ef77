from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.language.tokens import as_tokenizer
from hindsight_integrations.model import Memory
from hindsight_integrations.recall import render
from hindsight_integrations.recall.pack import Packed, pack
from hindsight_integrations.results import Recalled

TOKENS = as_tokenizer("cl100k_base")
START = datetime(2025, 1, 1, 9, tzinfo=UTC)


def recalled(rank: int, text: str, *, day: int = 0) -> Recalled:
    memory = Memory(f"m{rank}", "bank", text, mentioned_at=START + timedelta(days=day))
    return Recalled(memory, rank, 0.5, 1.0, 0.1, render.line(memory), 0)


def packed(items: list[Recalled], max_tokens: int) -> Packed:
    return pack(items, max_tokens, TOKENS.count, TOKENS.truncate)


def test_everything_fits_a_large_budget() -> None:
    result = packed([recalled(1, "one"), recalled(2, "two", day=1)], 100)
    assert result.text == "[01 Jan 2025, 09:00]\none\n[02 Jan 2025, 09:00]\ntwo"
    assert result.tokens == TOKENS.count(result.text)
    assert not result.truncated
    assert not result.left_out


def test_memories_of_one_session_share_a_header() -> None:
    result = packed([recalled(1, "one"), recalled(2, "two", day=1), recalled(3, "three")], 100)
    assert result.text == "[01 Jan 2025, 09:00]\none\nthree\n[02 Jan 2025, 09:00]\ntwo"
    assert [item.rank for item in result.memories] == [1, 2, 3]


def test_an_oversize_memory_is_skipped_and_later_ones_still_fit() -> None:
    long, short = recalled(1, "word " * 500), recalled(2, "short")
    result = packed([long, short], 40)
    assert [item.memory.id for item in result.memories] == ["m2"]
    assert [item.memory.id for item in result.left_out] == ["m1"]
    assert not result.truncated


def test_if_nothing_fits_the_best_is_cut() -> None:
    result = packed([recalled(1, "word " * 500), recalled(2, "other " * 500)], 20)
    assert result.truncated
    assert [item.memory.id for item in result.memories] == ["m1"]
    assert 0 < result.tokens <= 20
    assert [item.memory.id for item in result.left_out] == ["m2"]


def test_nothing_in_gives_nothing_out() -> None:
    assert packed([], 100) == Packed((), "", 0, False, ())


TEXTS = st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=12)


@given(TEXTS, st.integers(1, 120), st.integers(1, 4))
def test_the_rendered_text_never_exceeds_the_budget(
    texts: list[str], max_tokens: int, days: int
) -> None:
    items = [recalled(i, text, day=i % days) for i, text in enumerate(texts, start=1)]
    result = packed(items, max_tokens)
    assert TOKENS.count(result.text) == result.tokens <= max_tokens
    taken = [item.rank for item in result.memories]
    assert taken == sorted(taken)
    assert len(result.memories) + len(result.left_out) == len(items)
