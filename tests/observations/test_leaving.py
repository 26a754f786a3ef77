"""Leaving a memory after an error does not wait for a whole batch of consolidation."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.reflect.dependencies import Cluster, Proposals
from hindsight_integrations.reflect.rules import RuleConsolidator

SAID = [
    "The ferry to Lysa is late.",
    "The ferry to Lysa was late again.",
    "The Bergen office has new chairs.",
    "The Bergen office has a new roof.",
    "My violin from Lisbon needs strings.",
    "The violin from Lisbon lost its strings.",
]
"""Statements on three subjects."""


@pytest.mark.local
def test_what_the_batch_did_not_reach_waits_for_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    seen: list[str] = []
    propose = RuleConsolidator.propose

    def slow(self: RuleConsolidator, cluster: Cluster) -> Proposals:
        seen.append(cluster.subject)
        begun.set()
        assert go.wait(30)
        return propose(self, cluster)

    monkeypatch.setattr(RuleConsolidator, "propose", slow)
    memory = Hindsight(tmp_path, settings=Settings(consolidation_delay=0))
    memory.retain_many("b", SAID)
    assert begun.wait(30)
    error = KeyboardInterrupt()
    leaving = threading.Thread(target=memory.__exit__, args=(type(error), error, None))
    leaving.start()
    while not memory.runtime.worker.is_aborting:
        leaving.join(0.01)
    go.set()
    leaving.join(30)
    assert not leaving.is_alive()
    assert len(seen) == 1
    with Hindsight(tmp_path, settings=Settings(consolidate=False)) as memory:
        memory.consolidate("b")
    assert set(seen[1:]) >= {"Bergen", "Lisbon", "Lysa"} - {seen[0]}
