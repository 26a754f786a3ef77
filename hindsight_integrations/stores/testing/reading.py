"""Contract of `GraphStore.read` and `GraphStore.scan`: all kinds, their order, and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hindsight_integrations.errors import BankNotFoundError, InvalidInputError
from hindsight_integrations.history import Change
from hindsight_integrations.stores import base
from hindsight_integrations.stores.base import (
    ChangeSet,
    EntityNames,
    GraphStore,
    Kind,
    QueueCheckpoint,
)
from hindsight_integrations.stores.testing.samples import (
    NOW,
    chunk,
    document,
    entity_id,
    keep,
    record,
)

READ: dict[Kind[Any], str] = {
    base.MEMORY: "m",
    base.RECORD: "m",
    base.CANDIDATE: "m",
    base.VECTOR: "m",
    base.MENTIONS: "m",
    base.CONCLUSIONS_CITING: "m",
    base.DUPLICATES: "f",
    base.HISTORY: "m",
    base.MODEL_HISTORY: "mm",
    base.DOCUMENT: "d",
    base.SAME_DOCUMENTS: "f",
    base.CHUNK: "c",
    base.DOCUMENT_CHUNKS: "d",
    base.ENTITY: "e:ann",
    base.ENTITY_NAMED: "ann",
    base.COOCCURRENCES: "e:ann",
    base.COMPANIONS: "e:ann",
    base.CHECKPOINT: "q",
}
"""Every kind that is read, with a key that has a value in the bank of `fill`."""

SCANNED: tuple[Kind[Any], ...] = (
    base.MEMORY_ID,
    base.DOCUMENT,
    base.CHUNK,
    base.EDITED_NAMES,
    base.CHANGE,
    base.MENTAL_MODEL,
)


def fill(graph: GraphStore) -> None:
    """Store something of every kind that is read."""
    change = Change("m", "edit", "text", "old", "new", NOW)
    keep(
        graph,
        replace(record("m", entities=("Ann",)), fingerprint="f"),
        documents=(document("d"),),
        chunks=(chunk("c", "d"),),
        history=(change, replace(change, memory_id="mm", of_model=True)),
        checkpoint=QueueCheckpoint("q", 7),
    )


class ReadingContract:
    """Tests of reading by key and of scanning."""

    @pytest.mark.parametrize("kind", READ, ids=lambda kind: kind.name)
    def test_every_kind_is_read_by_key_once_and_without_the_absent(
        self, graph: GraphStore, kind: Kind[Any]
    ) -> None:
        fill(graph)
        key = READ[kind]
        assert list(graph.read("b", kind, ["absent", key, key])) == [key]
        assert graph.read("b", kind, []) == {}
        with pytest.raises(BankNotFoundError):
            graph.read("x", kind, [key])

    @pytest.mark.parametrize("kind", SCANNED, ids=lambda kind: kind.name)
    def test_every_scan_of_an_unknown_bank_is_refused_at_once(
        self, graph: GraphStore, kind: Kind[Any]
    ) -> None:
        assert list(graph.scan("b", kind)) == []
        with pytest.raises(BankNotFoundError):
            graph.scan("x", kind)

    def test_a_kind_that_a_method_does_not_take_is_refused(self, graph: GraphStore) -> None:
        calls: tuple[Callable[[], object], ...] = (
            lambda: graph.read("b", base.MEMORY_ID, ["m"]),
            lambda: list(graph.scan("b", base.VECTOR)),
        )
        for call in calls:
            with pytest.raises(InvalidInputError):
                call()

    def test_parts_come_by_id_each_once_and_of_one_bank_only(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        names = [f"{n:04}" for n in range(2500)]
        keep(
            graph,
            documents=tuple(document(name) for name in reversed(names)),
            chunks=tuple(chunk(name, "0007") for name in reversed(names)),
        )
        graph.apply(ChangeSet(other_bank, documents=(document("x", bank=other_bank),)))
        documents = list(graph.scan("b", base.DOCUMENT))
        assert [each.id for each in documents] == names
        assert [each.chunk_count for each in documents[6:9]] == [0, 2500, 0]
        assert documents[7] == graph.read("b", base.DOCUMENT, ["0007"])["0007"]
        chunks = tuple(graph.scan("b", base.CHUNK))
        assert chunks == graph.read("b", base.DOCUMENT_CHUNKS, ["0007"])["0007"]
        assert [each.bank_id for each in graph.scan(other_bank, base.DOCUMENT)] == [other_bank]
        assert list(graph.scan(other_bank, base.CHUNK)) == []

    def test_documents_of_one_fingerprint_come_by_id_and_of_one_bank_only(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        names = ("c", "a", "b")
        same = tuple(document(name, "same") for name in names)
        graph.apply(ChangeSet("b", documents=(*same, document("d", "other"))))
        graph.apply(ChangeSet(other_bank, documents=(document("x", "same", other_bank),)))
        found = graph.read("b", base.SAME_DOCUMENTS, ["same", "none", "other"])
        assert found == {"same": ("a", "b", "c"), "other": ("d",)}
        assert graph.read(other_bank, base.SAME_DOCUMENTS, ["same"]) == {"same": ("x",)}

    def test_the_history_comes_by_memory_oldest_first_also_of_those_gone(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        keep(graph, record("m1"), record("m2"))
        changes = [Change(f"m{n % 3}", "update", f"{n:04}", str(n), None, NOW) for n in range(2500)]
        graph.apply(ChangeSet("b", history=tuple(changes), remove_memories=("m2",)))
        by_memory = sorted(changes, key=lambda each: each.memory_id)
        assert list(graph.scan("b", base.CHANGE)) == by_memory
        assert list(graph.scan(other_bank, base.CHANGE)) == []

    def test_edited_entities_are_those_that_outlive_their_mentions(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        keep(graph, record("m1", entities=("Zoë", "Bob", "Ann")))
        assert list(graph.scan("b", base.EDITED_NAMES)) == []
        for name in ("Zoë", "Ann"):
            aliases = (f"{name} Lee", f"A{name}")
            keep(graph, entity_edits=(EntityNames(entity_id(name), name, aliases),))
        keep(graph, remove_memories=("m1",))
        assert list(graph.scan("b", base.EDITED_NAMES)) == [
            EntityNames("e:ann", "Ann", ("Ann Lee", "AAnn")),
            EntityNames("e:zoe", "Zoë", ("Zoë Lee", "AZoë")),
        ]
        assert list(graph.scan(other_bank, base.EDITED_NAMES)) == []
