"""Packing and notes, in tokens that one can count: a word is one, and so is a line break."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from hindsight_integrations.models import Chunk, Entity, Memory, MemoryType, Source
from hindsight_integrations.recall.dated_lines import DatedLines
from hindsight_integrations.recall.entity_notes import (
    QueryEntity,
    describe,
    entity_notes,
    with_observations,
)
from hindsight_integrations.recall.packing import (
    Packed,
    batches,
    expected_to_fit,
    fitting_chunks,
    pack,
    source_chunks,
)
from hindsight_integrations.results import Recalled
from hindsight_integrations.stores.base import (
    COMPANIONS,
    ENTITY,
    MENTIONS,
    VECTOR,
    Kind,
    MemoryFilter,
    Posting,
)
from tests.recall.building import BANK, EVERYTHING, candidate, pool_of, unit

pytestmark = pytest.mark.ranking

START = datetime(2025, 1, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def count(text: str) -> int:
    return len(text.split()) + text.count("\n")


def memory(words: int, *, day: int = 0) -> Memory:
    return Memory("m", "bank", " ".join(["w"] * words), mentioned_at=START + day * DAY)


def packed(memories: Sequence[Memory], max_tokens: int) -> Packed:
    return pack(memories, max_tokens, count, lambda text, most: " ".join(text.split()[:most]))


def test_a_memory_costs_its_line_and_its_header_with_a_break_each() -> None:
    # "[01 Jan 2025, 09:00]" is four words: 5 + 1 and 4 + 1; then 2 + 1 under the same header.
    result = packed([memory(5), memory(2), memory(3, day=1)], 100)
    assert result.taken == ((0, 11), (1, 3), (2, 9))
    # The text ends without a break.
    assert result.tokens == 11 + 3 + 9 - 1


def test_the_second_line_of_a_day_takes_the_clock_time_off_its_header() -> None:
    def said(hour: int, words: int) -> Memory:
        return Memory("m", "bank", " ".join(["w"] * words), mentioned_at=START + hour * DAY / 24)

    # Its own 3 + 1 less one for "09:00"; then the header has none any more.
    ranked = [said(0, 5), said(1, 3), said(2, 3), said(0, 3)]
    result = packed(ranked, 100)
    assert result.taken == ((0, 11), (1, 3), (2, 4), (3, 4))
    assert result.tokens == 11 + 3 + 4 + 4 - 1
    assert packed(ranked, 14).taken == ((0, 11), (1, 3))
    assert packed(ranked, 13).taken == ((0, 11),)


def test_a_line_costs_a_token_even_where_the_header_gets_shorter_by_more() -> None:
    lines = DatedLines(len)  # a character is a token, so ", 10:00" takes seven
    lines.add(START, "Yes.")
    assert lines.cost(START + DAY / 24, "No!") == 1
    assert lines.cost(START + DAY / 24, "No, no.") == 8 - 7
    assert lines.cost(START + DAY / 24, "No, no!!") == 9 - 7


def test_what_does_not_fit_is_skipped_for_what_does() -> None:
    memories = [memory(5), memory(9), memory(2), memory(1)]
    # 11, then 10 do not fit in 6, then 3 do, then 2 do.
    result = packed(memories, 17)
    assert result.taken == ((0, 11), (2, 3), (3, 2))
    assert result.left_out == (1,)
    # To the token: 11 and 3 are 14.
    assert packed(memories, 14).taken == ((0, 11), (2, 3))
    assert packed(memories, 13).taken == ((0, 11), (3, 2))


def test_a_line_of_more_than_twelve_characters_a_token_is_not_counted() -> None:
    counted: list[str] = []

    def counting(text: str) -> int:
        counted.append(text)
        return 1

    def line(length: int) -> Memory:
        return Memory("m", "bank", "x" * length, mentioned_at=START)

    result = pack([line(120)], 10, counting, lambda text, most: text)
    assert result.taken == ((0, 2),)
    assert not result.truncated
    assert counted[0] == "x" * 120 + "\n"
    counted.clear()
    result = pack([line(121), line(1)], 10, counting, lambda text, most: text)
    assert result.taken == ((1, 2),)
    assert counted[0] == "x\n"


def test_twenty_misses_in_a_row_end_the_reading() -> None:
    long = [memory(99)] * 20
    result = packed([memory(1), *long[:19], memory(1), *long, memory(1)], 20)
    assert [place for place, _ in result.taken] == [0, 20]
    # They count from what was taken last.
    result = packed([memory(1), *long[:19], memory(1), *long[:15], memory(1)], 20)
    assert [place for place, _ in result.taken] == [0, 20, 36]


def test_twenty_left_out_are_reported() -> None:
    result = packed([memory(99)] * 15 + [memory(1)] + [memory(99)] * 15, 20)
    assert result.left_out == (*range(15), *range(16, 21))
    # If the best is cut to fit, it is not among those left out.
    result = packed([memory(99)] * 40, 20)
    assert result.truncated
    assert result.taken == ((0, 20),)
    assert result.left_out == tuple(range(1, 21))


def test_the_text_itself_must_fit() -> None:
    # Joined lines can cost more than they were taken for: then the last goes first.
    def doubling(text: str) -> int:
        return count(text) * (2 if text.count("\n") > 1 else 1)

    memories = [memory(3), memory(1), memory(4)]
    result = pack(memories, 20, doubling, lambda text, most: text)
    assert [place for place, _ in result.taken] == [0, 1]
    assert result.left_out == (2,)
    assert result.tokens == 2 * (5 + 4 + 2 - 1)


@pytest.mark.parametrize(
    ("max_tokens", "expected"),
    [
        (100, 5 + 20),  # 400 characters hold four texts of 100, and the fifth does not fit
        (99, 4 + 20),
        (0, 1 + 20),
        (749, 30),  # all but the last, and then no more than there are
        (5000, 30),
    ],
)
def test_so_many_are_read_at_once_as_are_looked_at_until_the_budget_is_spent(
    max_tokens: int, expected: int
) -> None:
    pool = pool_of([candidate(str(n), text="x" * 100) for n in range(30)])
    order = [*reversed(range(30))]
    assert len(order[: expected_to_fit(pool, order, max_tokens)]) == expected


def test_what_the_first_batch_lacks_is_read_64_at_a_time_and_nothing_twice_or_never() -> None:
    order = [*reversed(range(131))]
    read = [*batches(order, 2)]
    assert [len(positions) for positions in read] == [2, 64, 64, 1]
    assert [position for positions in read for position in positions] == order
    assert [*batches(order, 500)] == [order]


def chunk(id: str, words: int) -> Chunk:
    return Chunk(id, "document", 0, " ".join(["w"] * words), "fingerprint")


def test_chunks_fill_a_budget_in_order_each_once() -> None:
    chunks = [chunk("0", 3), chunk("1", 9), chunk("0", 3), chunk("2", 2)]
    # 3 + 1 and 2 + 1, each with its break.
    assert [taken.id for taken in fitting_chunks(chunks, 7, count)] == ["0", "2"]
    assert [taken.id for taken in fitting_chunks(chunks, 6, count)] == ["0"]
    assert [taken.id for taken in fitting_chunks(chunks, 17, count)] == ["0", "1", "2"]


# Notes

TOKENIZER = SimpleNamespace(count=count)


def recalled(id: str, bank: str = "bank", chunk_ids: Sequence[str] = ()) -> Recalled:
    sources = tuple(Source(chunk_id=chunk_id) for chunk_id in chunk_ids)
    return Recalled(Memory(id, bank, "text", sources=sources), 1, 1.0, 1.0, 1.0, "text", 1)


def test_the_first_source_of_each_memory_gives_its_chunk() -> None:
    graph = SimpleNamespace(
        read=lambda bank, kind, ids: {id: chunk(id, 2) for id in ids if id != "gone"}
    )
    memories = [recalled("0", chunk_ids="ab"), recalled("1", chunk_ids=["gone"]), recalled("2")]
    memories += [recalled("3", chunk_ids="c"), recalled("4", chunk_ids="d")]
    found = source_chunks(graph, memories, 9, TOKENIZER)  # type: ignore[arg-type]
    assert [chunk.id for chunk in found] == ["a", "c", "d"]
    found = source_chunks(graph, memories, 8, TOKENIZER)  # type: ignore[arg-type]
    assert [chunk.id for chunk in found] == ["a", "c"]
    assert source_chunks(graph, memories, 0, TOKENIZER) == ()  # type: ignore[arg-type]


def noted(
    mentioned: Mapping[str, str], beside: Mapping[str, tuple[str, ...]], max_tokens: int
) -> list[str]:
    def companions(bank: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return {id: beside[id] for id in ids if id in beside}

    values = {
        MENTIONS: lambda bank, ids: {id: tuple(mentioned[id]) for id in ids},
        ENTITY: lambda bank, ids: {id: Entity(id, bank, id, "person") for id in ids},
        COMPANIONS: companions,
    }
    graph = SimpleNamespace(read=lambda bank, kind, ids: values[kind](bank, ids))
    notes = entity_notes(graph, [recalled(id) for id in mentioned], max_tokens, TOKENIZER)  # type: ignore[arg-type]
    return [note.text for note in notes]


def test_the_most_mentioned_are_noted_first_with_their_three_closest() -> None:
    notes = noted({"0": "AB", "1": "B", "2": "C"}, {"B": ("Z", "W", "Y")}, 99)
    assert notes == [
        "B (person): mentioned 0 times; often with Z, W, Y",
        "A (person): mentioned 0 times",
        "C (person): mentioned 0 times",
    ]


def test_notes_fill_their_own_budget() -> None:
    # Five words and a break each.
    mentioned = {"0": "ABC"}
    assert len(noted(mentioned, {}, 18)) == 3
    assert len(noted(mentioned, {}, 17)) == 2
    assert noted(mentioned, {}, 0) == []
    # A long one is passed over for a shorter one after it.
    notes = noted({"0": "AB"}, {"A": ("B",)}, 6)
    assert [note[0] for note in notes] == ["B"]


def test_observations_share_the_budget_of_the_notes_and_each_costs() -> None:
    about = [Memory(id, "bank", text) for id, text in (("0", "w w w"), ("1", "w"), ("2", "w w"))]
    asked = QueryEntity(Entity("A", "bank", "A", "person"), tuple(about))
    graph = SimpleNamespace(read=lambda *_: {})

    def noted(max_tokens: int) -> list[str]:
        (note,) = entity_notes(graph, [], max_tokens, TOKENIZER, lambda: [asked])  # type: ignore[arg-type]
        return [observation.id for observation in note.observations]

    # Five words of the note and a break; then 5, 3 and 4, a dash and a break each included.
    assert noted(6 + 5 + 3 + 4) == ["0", "1", "2"]
    assert noted(6 + 5 + 3 + 3) == ["0", "1"]
    # A long one is passed over for shorter ones after it.
    assert noted(6 + 4) == ["1"]
    assert noted(6) == []


@pytest.mark.parametrize("few", [True, False])
def test_the_ten_observations_nearest_to_the_question_are_noted(few: bool) -> None:
    ids = [f"{n:02}" for n in range(12)]
    cosines = {id: 1 - int(id) / 20 for id in ids}
    filters: list[MemoryFilter] = []

    def read(bank: str, kind: Kind[object], wanted: Sequence[str]) -> dict[str, object]:
        if kind is VECTOR:
            return {id: np.array(unit(cosines[id]), np.float32) for id in wanted}
        return {id: Memory(id, bank, "text") for id in wanted}

    def find_ids(bank: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        filters.append(filter)
        return ids[::-1] if few else None

    graph = SimpleNamespace(read=read, find_ids=find_ids, filter_ids=lambda bank, ids, _: {*ids})
    index = SimpleNamespace(query=lambda key, vector, limit: [*cosines.items()][:limit])
    vector = np.array([1.0, 0.0], np.float32)
    entity = Entity("A", "bank", "A")
    (noted,) = with_observations(graph, index, [BANK], [entity], vector, EVERYTHING)  # type: ignore[arg-type]
    assert [observation.id for observation in noted.observations] == ids[:10]
    (filter,) = filters
    assert (filter.types, filter.entity_ids) == ({MemoryType.OBSERVATION}, ("A",))


def scoped(mentioned: Mapping[str, str], named: str, gone: str = "") -> list[str]:
    """Return the notes on entities from a scope of these memories, the latest stored last.

    Memories and entities in `gone` are deleted before they are read.
    """

    def postings(
        bank: str, ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        assert filter.scope == "work"
        return [
            Posting(id, memory, len(mentioned))
            for id in ids
            for memory in [memory for memory in reversed(mentioned) if id in mentioned[memory]][
                :per_entity
            ]
        ]

    def read(bank: str, kind: Kind[object], ids: Sequence[str]) -> dict[str, object]:
        return {
            id: tuple(mentioned[id])
            if kind is MENTIONS
            else Entity(id, bank, f"<{id}>", "person", ("alias",), 999)
            if kind is ENTITY
            else Memory(id, bank, "text", mentioned_at=START + [*mentioned].index(id) * DAY)
            for id in ids
            if id not in gone
        }

    graph = SimpleNamespace(read=read, postings=postings)
    asked = [QueryEntity(Entity(id, "bank", f"<{id}>", "person", ("alias",), 999)) for id in named]
    notes = entity_notes(graph, [], 999, TOKENIZER, lambda: asked, "work")  # type: ignore[arg-type]
    return [note.text for note in notes]


def test_in_a_scope_an_entity_stands_beside_those_it_is_mentioned_with_most_there() -> None:
    mentioned = {"0": "AB", "1": "ABC", "2": "ABCD", "3": "AE", "4": "Z"}
    assert scoped(mentioned, "AZ") == [
        "<A> (person): mentioned 4 times from 01 Jan 2025 to 04 Jan 2025; often with <B>, <C>, <D>",
        "<Z> (person): mentioned once on 05 Jan 2025",
    ]
    # One that no memory of the scope mentions is not described.
    assert scoped(mentioned, "Q") == []


def test_in_a_scope_memories_and_names_deleted_meanwhile_are_done_without() -> None:
    mentioned = {"0": "ABC", "1": "AD", "2": "Z"}
    assert scoped(mentioned, "AZ", gone="1B") == [
        "<A> (person): mentioned once on 01 Jan 2025; often with <C>",
        "<Z> (person): mentioned once on 03 Jan 2025",
    ]
    assert scoped(mentioned, "AZ", gone="012") == []


def test_in_a_scope_an_entity_is_described_from_its_latest_two_hundred_memories() -> None:
    (note,) = scoped({f"{n:03}": "A" for n in range(201)}, "A")
    assert note.startswith("<A> (person): mentioned 200 times from 02 Jan 2025 to ")


def test_an_entity_is_described_in_a_line() -> None:
    entity = Entity("1", "bank", "Ana", "person", ("Annie", "A."), 1, START, START + DAY / 4)
    expected = "Ana (person, also Annie, A.): mentioned once on 01 Jan 2025"
    assert describe(entity, []) == expected
    entity = Entity("1", "bank", "Ana", "person", (), 3, START, START + DAY)
    expected = "Ana (person): mentioned 3 times from 01 Jan 2025 to 02 Jan 2025; often with Tom"
    assert describe(entity, ["Tom"]) == expected
