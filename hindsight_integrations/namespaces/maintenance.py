"""`memory.maintenance`: check, repair, reindex and back up the stores, purge expired memories."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hindsight_integrations import display, validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.display import Shown
from hindsight_integrations.errors import BankNotFoundError, HindsightError
from hindsight_integrations.export_import import BackupResult, back_up
from hindsight_integrations.namespaces.purging import purge
from hindsight_integrations.retain.reindex import rebuild, reindex
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores import sync
from hindsight_integrations.stores.base import OvertakenError, StoreFault
from hindsight_integrations.stores.deadline import limited

log = logging.getLogger("hindsight_integrations")

HEALTH_SECONDS = 5.0
"""Time for the answers of both stores."""

_NAMED = 20
"""Damaged memories that a finding names."""


@dataclass(frozen=True, slots=True)
class PartHealth:
    """Health of one part: True if it answers, and a description."""

    part: str
    ok: bool
    detail: str

    def __repr__(self) -> str:
        return f"{'✓' if self.ok else '✗'} {self.part}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Health(Shown):
    """Health of each part of a client."""

    parts: tuple[PartHealth, ...]

    @property
    def ok(self) -> bool:
        """True if every part answers."""
        return all(part.ok for part in self.parts)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return display.lines(f"Health({'ok' if self.ok else 'NOT ok'})", self.parts)

    def _shown(self) -> Mapping[str, object]:
        return {part.part: f"{'✓' if part.ok else '✗'} {part.detail}" for part in self.parts}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings of `doctor`, with the repair of each."""

    findings: tuple[StoreFault, ...]

    @property
    def healthy(self) -> bool:
        """True if no fault is left."""
        return all(finding.repaired for finding in self.findings)


class Maintenance:
    """Checks and repairs of the stores."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def health(self) -> Health:
        """Check that each part answers, and how far the vector index lags behind the graph.

        Both stores are asked now, and one that gives no answer in five seconds is not healthy.
        """
        runtime = self._runtime
        runtime.check_open()
        around = [PartHealth(part, *ask()) for part, ask in runtime.probes.items()]
        with limited(HEALTH_SECONDS, asking=True):
            graph = _probe(
                "graph", lambda: display.counted(len(runtime.graph.list_banks()), "bank")
            )
            in_step = self._in_step() if graph.ok else replace(graph, part="in step")
            vectors = _probe(
                "vectors", lambda: display.counted(len(runtime.index.keys()), "collection")
            )
        return Health((graph, vectors, in_step, *around))

    def doctor(self, *, repair: bool = True) -> Diagnosis:
        """Check the stores against each other and for contradictions, and repair them.

        Whatever the vector index lacks is written to it again from the graph, what it should
        not have is removed, rows that contradict each other are put right, and the terms and
        vectors of a memory that cannot be read are made again from its text. What the graph
        itself has lost is reported. Others may write meanwhile: what they write is no fault.

        Args:
            repair: False to look only.
        """
        runtime = self._runtime
        runtime.check_open()
        validation.flag("repair", repair)
        # First, since the vector index cannot take vectors that are damaged.
        rebuilt, left = self._rebuilt(repair=repair)
        findings = sync.examine(
            runtime.graph, runtime.index, repair=repair, catch_up=runtime.catch_up
        )
        if left and repair:  # the first pass may have repaired the values they depend on
            more, left = self._rebuilt(repair=True)
            rebuilt += more
            runtime.catch_up()
        return Diagnosis((*rebuilt, *left, *findings))

    def _rebuilt(self, *, repair: bool) -> tuple[list[StoreFault], list[StoreFault]]:
        """Find memories that cannot be read whole, and make again what their text is enough for.

        Returns:
            Faults repaired, and faults left.
        """
        runtime = self._runtime
        repaired: list[StoreFault] = []
        left: list[StoreFault] = []
        for bank in runtime.graph.list_banks():
            try:
                found = rebuild(runtime.retaining, bank, runtime.stamp, repair=repair)
            except (BankNotFoundError, OvertakenError) as error:
                log.info("bank %r is being changed and was left out: %s", bank.bank.id, error)
                continue
            of = f"(bank {bank.bank.id!r})"
            if found.rebuilt:
                problem = f"terms or vectors could not be read, and were made from the text {of}"
                repaired.append(StoreFault("memories", problem, len(found.rebuilt), repaired=True))
            if found.left:
                named = ", ".join(found.left[:_NAMED])
                problem = f"cannot be read, and should be forgotten if that stays: {named} {of}"
                left.append(StoreFault("memories", problem, len(found.left), repaired=False))
        return repaired, left

    def reindex(self, bank_id: str, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Recompute a bank's vectors, with this client's embedder, and terms; return their number.

        New vectors are put aside until the last one is made, then exchanged for the old in one
        transaction: interrupted, the bank is as it was.

        Args:
            bank_id: which bank.
            progress: called with (done, total).
        """
        runtime = self._runtime
        stored = runtime.stored_bank(validation.bank_id(bank_id))
        report = validation.progress(progress)
        with runtime.lock(stored.key):
            return reindex(runtime.retaining, bank_id, runtime.stamp, report)

    def purge(self, bank_id: str) -> int:
        """Delete expired memories permanently; return their number.

        It runs in the background too, every `settings.purge_interval` seconds. An expired memory
        that a pinned observation or opinion rests on stays, unseen, as its evidence.
        """
        return purge(self._runtime, validation.bank_id(bank_id))

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> BackupResult:
        """Copy the memory into one file while it is used; `Hindsight.restore` reads it.

        The copy of an embedded memory is one state of all banks, to the last commit before the
        copying began, and nobody waits. Of a graph on a server it is one state of each bank, whose
        writers in this process wait. It is checked before it appears under its name: until then an
        older file stays. The vector index is not in it, since restoring makes it from the graph.

        Args:
            path: the file, which only its user may read.
            progress: called with (done, total), in pages of 4 KiB, or in banks of a server.

        Raises:
            InvalidInputError: there is something else than a file at `path`.
            StoreCorruptError: the memory's file is damaged.
            StoreError: other processes change a bank on a server all the time.
            StoreUnavailableError: the file cannot be written.
        """
        return back_up(self._runtime, path, validation.progress(progress))

    def _in_step(self) -> PartHealth:
        if self._runtime.use.refused:
            return PartHealth("in step", False, self._runtime.use.refused)
        if self._runtime.lost:  # asked first: what is found later is queued by then
            return PartHealth("in step", False, "vectors that the index lacked are being queued")
        try:
            waiting = bool(self._runtime.graph.pending_vectors(1))
        except HindsightError as error:
            return PartHealth("in step", False, str(error))
        if not waiting:
            return PartHealth("in step", True, "nothing is waiting")
        lag = self._runtime.lag
        return PartHealth("in step", False, str(lag or "vectors are waiting to be written"))

    ahealth = async_variant(health)
    adoctor = async_variant(doctor)
    abackup = async_variant(backup)
    areindex = async_variant(reindex)
    apurge = async_variant(purge)


def _probe(part: str, ask: Callable[[], str]) -> PartHealth:
    try:
        return PartHealth(part, True, ask())
    except HindsightError as error:
        return PartHealth(part, False, str(error))
