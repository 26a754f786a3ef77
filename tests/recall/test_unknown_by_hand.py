"""What a note on an unknown field or name reads of a store, and names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hindsight_integrations.models import Entity, Memory, Page
from hindsight_integrations.recall.unknown_fields import notes_on_entities, notes_on_fields
from hindsight_integrations.stores.base import Kind, MemoryFilter
from hindsight_integrations.stores.conditions import Condition
from tests.recall.building import EVERYTHING

pytestmark = pytest.mark.ranking


class Bank:
    """A store of one bank, of memories each of which has one field, and of no entity."""

    def __init__(self, *fields: str) -> None:
        self.memories = [Memory(f, "bank", "text", metadata={f: "value"}) for f in fields]

    def list_memories(self, bank: str, filter: MemoryFilter, *, limit: int) -> Page[Memory]:
        return Page(self.memories[:limit], len(self.memories))

    def find_ids(self, bank: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        (test,) = filter.where
        assert isinstance(test, Condition)
        ids = [memory.id for memory in self.memories if test.field in memory.metadata]
        return ids if len(ids) <= limit else None

    def read(self, bank: str, kind: Kind[object], ids: Sequence[str]) -> dict[str, Entity]:
        return {}


def known_fields(store: Bank) -> list[str]:
    """Return the fields that the note on a misspelled one names."""
    where = (Condition("auther", "$eq", "Ann"),)
    filter = MemoryFilter(now=EVERYTHING.now, where=where)
    (note,) = notes_on_fields(store, ["bank"], filter, [])  # type: ignore[arg-type]
    return note.partition("known metadata fields: ")[2].partition(";")[0].split(", ")


def test_at_most_twenty_fields_are_named() -> None:
    names = [f"field{n:02}" for n in range(21)]
    assert known_fields(Bank(*reversed(names))) == names[:20]


def test_fields_are_named_from_the_first_two_hundred_memories() -> None:
    assert known_fields(Bank(*["page"] * 199, "author", "boat")) == ["author", "page"]


def test_a_bank_of_one_memory_has_notes_on_names_and_an_empty_one_has_none() -> None:
    (note,) = notes_on_entities(Bank("page"), ["bank"], ["Maja"], [])  # type: ignore[arg-type]
    assert "is called 'Maja'" in note
    assert notes_on_entities(Bank(), ["bank"], ["Maja"], []) == ()  # type: ignore[arg-type]
