"""`memory.maintenance`: look after the stores: doctor, reindex, purge, health."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.catalog.memories import all_of
from hindsight_integrations.core import Core
from hindsight_integrations.errors import HindsightError
from hindsight_integrations.model import utc_now
from hindsight_integrations.retain.reindex import reindex
from hindsight_integrations.storage import ledger
from hindsight_integrations.storage.requests import ChangeSet, StoreFault


@dataclass(frozen=True, slots=True)
class PartHealth:
    """Whether a part answers, and what it said."""

    part: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Health:
    """The state of each part of an engine."""

    parts: tuple[PartHealth, ...]

    @property
    def ok(self) -> bool:
        """Whether every part answers."""
        return all(part.ok for part in self.parts)

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What `doctor` found, and what it put right."""

    findings: tuple[StoreFault, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong any more."""
        return all(finding.repaired for finding in self.findings)


class Maintenance:
    """Upkeep of the stores."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def health(self) -> Health:
        """Whether each part answers, and how far the vector index is behind."""
        self._core.check_open()
        around = (PartHealth(part, *ask()) for part, ask in self._core.probes.items())
        return Health(
            (
                _probe("graph", lambda: f"{len(self._core.graph.list_banks())} banks"),
                _probe("vectors", lambda: f"{len(self._core.index.keys())} spaces"),
                self._in_step(),
                *around,
            )
        )

    def doctor(self, *, repair: bool = True) -> Diagnosis:
        """Compare the two stores with each other and with themselves, and repair them.

        Whatever the vector index lacks is written to it again from the graph, what it should
        not have is removed, rows that contradict each other are put right. What the graph itself
        has lost is reported.

        Args:
            repair: False to look only.
        """
        self._core.check_open()
        findings = ledger.examine(self._core.graph, self._core.index, repair=repair)
        return Diagnosis(tuple(findings))

    def reindex(self, bank_id: str, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Make all vectors of a bank anew with this engine's embedder; returns how many.

        New vectors are put aside until the last one is made, then exchanged for the old in one
        transaction: interrupted, the bank is as it was.

        Args:
            bank_id: which bank.
            progress: called with (done, total).
        """
        core = self._core
        stored = core.stored_bank(checks.bank_id(bank_id))
        with core.lock(stored.key):
            return reindex(core.retaining, bank_id, core.stamp, progress)

    def purge(self, bank_id: str) -> int:
        """Delete what has expired for good; returns how many memories went."""
        core = self._core
        bank = core.bank(checks.bank_id(bank_id))
        now = utc_now()
        with core.lock(bank.key):
            held = all_of(core, bank_id)
            expired = [m.id for m in held if m.expires_at and m.expires_at <= now]
            gone = core.graph.apply(ChangeSet(bank_id, remove_memories=tuple(expired)))
        core.flush()
        return len(gone)

    def _in_step(self) -> PartHealth:
        if self._core.lag is not None:
            return PartHealth("in step", False, str(self._core.lag))
        try:
            waiting = bool(self._core.graph.pending_vectors(1))
        except HindsightError as error:
            return PartHealth("in step", False, str(error))
        detail = "vectors are waiting to be written" if waiting else "nothing is waiting"
        return PartHealth("in step", not waiting, detail)

    ahealth = twin(health)
    adoctor = twin(doctor)
    areindex = twin(reindex)
    apurge = twin(purge)


def _probe(part: str, ask: Callable[[], str]) -> PartHealth:
    try:
        return PartHealth(part, True, ask())
    except HindsightError as error:
        return PartHealth(part, False, str(error))
