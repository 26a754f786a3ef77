"""Contract of the audit: what change sets add to it, and what removals take out of it."""

from __future__ import annotations

from dataclasses import replace

from hindsight_integrations.acting import acting_as
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.stores.base import (
    AUDIT,
    CITED,
    ChangeSet,
    EntityMerge,
    EntityNames,
    EntityRemoval,
    EntitySplit,
    GraphStore,
)
from hindsight_integrations.stores.testing.samples import (
    NOW,
    changed,
    chunk,
    document,
    entity,
    entity_id,
    keep,
    record,
    source,
)


def told(graph: GraphStore, bank: str = "b") -> list[tuple[str, ...]]:
    """Return action, kind and id of each entry, and further what it has of the rest."""
    found = []
    for entry in graph.scan(bank, AUDIT):
        further = (entry.other, ",".join(entry.fields), entry.actor, entry.reason)
        found.append((entry.action, entry.kind, entry.id, *filter(None, further)))
    return found


class AuditContract:
    """Requirements on the entries of `AUDIT`."""

    def test_the_audit_lists_each_change_once_in_storing_order(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        one = record("m", entities=("Ann", "Anna", "Bob"))
        with acting_as("eve", "asked to"):
            keep(graph, one, record("n", sources=(source("d"),)), documents=(document("d"),))
        update = Change("m", "update", "text", "old", "new", NOW, "a typo")
        cited = Change("m", "update", CITED, "n", None, NOW)
        again = replace(document("d"), updated_at=NOW.replace(year=2026))
        keep(graph, replaced=(changed(one, confidence=0.5),), documents=(again,),
             history=(update, replace(update, field="tags"), cited))  # fmt: skip
        ann, anna, bob = map(entity_id, ("Ann", "Anna", "Bob"))
        keep(graph, entity_edits=(EntityMerge(anna, ann), EntityNames(ann, "Ann", ("A",))))
        keep(graph, entity_edits=(EntitySplit(ann, entity("Two"), ("m",)), EntityRemoval(bob)))
        with acting_as("eve"):
            keep(graph, remove_documents=("d",))
        two = entity_id("Two")
        assert told(graph) == [
            ("create", "document", "d", "eve"),
            ("create", "memory", "m", "eve", "asked to"),
            ("create", "memory", "n", "eve"),  # removed below, and its reason with it
            ("update", "document", "d"),
            ("update", "memory", "m", "text,tags", "a typo"),
            ("merge", "entity", anna, ann),
            ("update", "entity", ann),
            ("split", "entity", ann, two),
            ("delete", "entity", bob),
            ("delete", "document", "d", "eve"),
            ("delete", "memory", "n", "eve"),
        ]  # fmt: skip
        times = [entry.at for entry in graph.scan("b", AUDIT)]
        assert times == sorted(times)
        assert told(graph, other_bank) == []

    def test_a_removal_takes_the_reasons_on_what_it_removes_with_the_histories(
        self, graph: GraphStore
    ) -> None:
        reasons = [Change(id, "update", "text", "x", "y", NOW, f"{id} said so") for id in "am"]
        keep(graph, record("a"), record("m"), history=tuple(reasons))
        with acting_as("eve", "on request"):
            keep(graph, remove_memories=("m",))
        assert told(graph) == [
            ("create", "memory", "a"),
            ("create", "memory", "m"),
            ("update", "memory", "a", "text", "a said so"),
            ("update", "memory", "m", "text"),
            ("delete", "memory", "m", "eve", "on request"),
        ]

    def test_entries_that_a_change_set_carries_are_stored_as_they_are(
        self, graph: GraphStore
    ) -> None:
        carried = AuditEntry(NOW, "merge", "entity", "e", "ann", "so", ("text",), "f")
        plain = AuditEntry(NOW, "create", "memory", "m")
        graph.apply(ChangeSet("b", memories=(record("m"),), chunks=(), audit=(carried, plain)))
        assert list(graph.scan("b", AUDIT)) == [carried, plain]
        graph.apply(ChangeSet("b", memories=(record("n"),), audit=()))
        assert list(graph.scan("b", AUDIT)) == [carried, plain]

    def test_the_audit_goes_with_its_bank(self, graph: GraphStore) -> None:
        stored = graph.get_bank("b")
        assert stored is not None
        keep(graph, record("m"), documents=(document("d"),), chunks=(chunk("c", "d"),))
        graph.delete_bank("b")
        while graph.purge_deleted():
            pass
        graph.create_bank(stored.bank, stored.embedder)
        assert told(graph) == []
