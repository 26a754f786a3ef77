"""Everything that a memory asks of a vector index, in one run."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from hindsight_integrations import Hindsight, Settings, StoreUnavailableError
from hindsight_integrations.stores.base import VECTOR, VectorIndex
from hindsight_integrations.stores.sqlite import SqliteGraph
from tests.embedders import Letters

QUIET = Settings(consolidate=False, recall_timeout=120, arm_timeout=60)
"""With time for a server that plans its first statements on a busy machine."""

FACTS = {
    "kettle": "The kettle is red.",
    "ferry": "The ferry leaves at nine.",
    "bees": "Ana has bees.",
}


def vector_of(memory: Hindsight, id: str) -> np.ndarray:
    return memory.runtime.graph.read("alice", VECTOR, [id])[id][np.newaxis]


def nearest(memory: Hindsight, query: str) -> str:
    result = memory.recall("alice", query, arms=["semantic"])
    assert result.failures == ()
    return result[0].text


def live_through(index: VectorIndex) -> None:
    """Retain, recall, forget, lose, repair, lag behind, reindex and delete."""
    graph = SqliteGraph(None)
    with Hindsight(graph=graph, vectors=index, settings=QUIET) as memory:
        ids = {
            name: memory.retain("alice", text, document_id=name).stored[0].id
            for name, text in FACTS.items()
        }
        memory.retain("bob", FACTS["kettle"])
        alice, bob = (memory.runtime.stored_bank(name).key for name in ("alice", "bob"))
        assert index.keys() == {alice, bob}
        assert index.ids(alice) == set(ids.values())
        assert nearest(memory, "When does the boat depart?") == FACTS["ferry"]

        memory.forget("alice", ids=[ids["ferry"]])
        assert index.ids(alice) == {ids["kettle"], ids["bees"]}
        assert memory.maintenance.health().ok

        index.delete(alice, [ids["kettle"]])
        index.upsert(alice, ["orphan"], vector_of(memory, ids["bees"]))
        index.upsert("5f3a", ["stray"], vector_of(memory, ids["bees"]))
        found = {each.problem.partition(" (")[0] for each in memory.maintenance.doctor().findings}
        assert len(found) == 3, found
        assert memory.maintenance.doctor().findings == ()
        assert index.keys() == {alice, bob}
        assert index.ids(alice) == {ids["kettle"], ids["bees"]}

        with patch.object(type(index), "delete", side_effect=StoreUnavailableError("away")):
            memory.forget("alice", ids=[ids["kettle"]])
            assert not memory.maintenance.health().ok
        memory.runtime.catch_up()
        assert index.ids(alice) == {ids["bees"]}

        other = Hindsight(graph=graph, vectors=index, embedder=Letters(), settings=QUIET)
        assert other.maintenance.reindex("alice") == 1
        assert nearest(other, "bees") == FACTS["bees"]
        assert index.keys() == {bob, other.runtime.stored_bank("alice").key}
        memory.banks.delete("bob")
        assert len(index.keys()) == 1
    other.close()
