"""A term search with words that more memories have than it reads."""

from __future__ import annotations

from types import ModuleType

import pytest

from hindsight_integrations.stores.base import GraphStore
from hindsight_integrations.stores.testing.samples import VALID, keep, record


def check_common_words(
    graph: GraphStore, searching: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that common words tell apart what has the rare ones, where ten memories are read."""
    monkeypatch.setattr(searching, "POSTINGS_READ", 10)
    monkeypatch.setattr(searching, "COMMON_LEXEMES", 2)
    keep(
        graph,
        record("all", "rare red blue green"),
        record("two", "rare red blue"),
        record("one", "rare red"),
        *(record(f"rare {n}", "rare") for n in range(4)),
        *(record(f"red {n:02}", "red") for n in range(11)),
        *(record(f"blue {n:02}", "red blue") for n in range(14)),
        *(record(f"green {n:02}", "red blue green") for n in range(20)),
    )

    def found(*lexemes: str, limit: int) -> list[str]:
        return [hit.memory_id for hit in graph.text_search("b", lexemes, VALID, limit)]

    # Held by 7, 21, 36 and 48: the first is read, the next two are looked for in what it found.
    assert found("rare", "green", "blue", "red", limit=4) == ["all", "two", "rare 3", "rare 2"]
    monkeypatch.setattr(searching, "COMMON_LEXEMES", 3)
    assert found("rare", "green", "blue", "red", limit=4) == ["all", "two", "one", "rare 3"]
    # Too few have the rare word: some with the other are found too.
    rest = found("rare", "green", limit=9)[7:]
    assert len(rest) == 2
    assert {*rest} < {f"green {n:02}" for n in range(20)}
    # A pasted page: more words than an index takes at once.
    monkeypatch.setattr(searching, "COMMON_LEXEMES", 1)
    page = [f"word{n}" for n in range(3000)]
    assert found(*page, "rare", "green", limit=4) == ["rare 3", "rare 2", "rare 1", "rare 0"]
