"""`memory.maintenance`: check, repair, reindex and back up the stores, purge expired memories."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hindsight_integrations import display, validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.display import NotebookTable
from hindsight_integrations.errors import BankNotFoundError, HindsightError
from hindsight_integrations.export_import import BackupResult, back_up
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.namespaces.purging import purge
from hindsight_integrations.retain.reindex import rebuild, reindex
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores import sync
from hindsight_integrations.stores.base import OvertakenError, StoreFault
from hindsight_integrations.stores.deadline import limited

log = logging.getLogger("hindsight_integrations")

HEALTH_SECONDS = 5.0
"""Seconds that both stores have to answer."""

_NAMED = 20
"""Maximum number of damaged memories named in a finding."""


@dataclass(frozen=True, slots=True)
class PartHealth:
    """Health of one part: `ok` is True if it answers; `detail` describes its state."""

    part: str
    ok: bool
    detail: str

    def __repr__(self) -> str:
        return f"{'✓' if self.ok else '✗'} {self.part}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Health(NotebookTable):
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

    def _table_fields(self) -> Mapping[str, object]:
        return {part.part: f"{'✓' if part.ok else '✗'} {part.detail}" for part in self.parts}


@dataclass(frozen=True, slots=True)
class Diagnosis(JsonForm):
    """Findings of `doctor`, with the repair of each."""

    findings: tuple[StoreFault, ...]

    @property
    def healthy(self) -> bool:
        """True if there was no fault, or every fault was repaired."""
        return all(finding.repaired for finding in self.findings)

    def __repr__(self) -> str:
        return display.lines(
            f"Diagnosis({display.counted(len(self.findings), 'fault')})", self.findings
        )


class Maintenance(Namespace):
    """Checks and repairs of the stores."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def health(self) -> Health:
        """Check that each part responds, and report how far the vector index lags behind.

        Both stores are queried; a store that does not answer within five seconds is unhealthy.
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
        """Check the stores for contradictions, also between them, and repair them.

        Vectors missing from the index are written again from the graph, superfluous ones are
        removed, contradictory rows are corrected, and unreadable terms and vectors of a memory are
        recomputed from its text. Data that the graph itself has lost is only reported. Safe to run
        while others write.

        Args:
            repair: False to check only.
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
        """Find damaged memories, and recompute whatever can be derived from their text.

        Returns:
            Repaired faults, and remaining faults.
        """
        runtime = self._runtime
        repaired: list[StoreFault] = []
        left: list[StoreFault] = []
        for bank in runtime.graph.list_banks():
            try:
                found = rebuild(runtime.retaining, bank, runtime.embedder_identity, repair=repair)
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
        """Recompute a bank's vectors and terms with this client's embedder; return their number.

        The new vectors replace the old ones in one transaction at the end; if this is interrupted,
        the bank is unchanged.

        Args:
            bank_id: which bank.
            progress: called with (done, total).
        """
        runtime = self._runtime
        stored = runtime.stored_bank(bank_id)
        report = validation.progress(progress)
        with runtime.lock(stored.key):
            return reindex(runtime.retaining, bank_id, runtime.embedder_identity, report)

    def purge(self, bank_id: str) -> int:
        """Delete expired memories permanently; return their number.

        This also runs in the background every `settings.purge_interval` seconds. An expired memory
        that a pinned observation or opinion rests on is kept as its evidence, but stays hidden.
        """
        return purge(self._runtime, bank_id)

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> BackupResult:
        """Back up the memory into one file while it is in use; `Hindsight.restore` reads it.

        The backup of an embedded memory is a consistent snapshot of all banks at the start, and
        blocks nobody. With a graph on a server, each bank is a consistent snapshot, and its writers
        in this process wait. The file is checked before it appears or replaces an older one. It
        does not contain the vector index, which restoring rebuilds from the graph.

        Args:
            path: the file, readable only by the current user.
            progress: called with (done, total): pages of 4 KiB, or banks if the graph is on a
                server.

        Raises:
            InvalidInputError: `path` exists and is not a file.
            StoreCorruptError: the memory's file is damaged.
            StoreError: other processes kept changing a bank on a server.
            StoreUnavailableError: the file cannot be written.
        """
        return back_up(self._runtime, path, validation.progress(progress))

    def _in_step(self) -> PartHealth:
        if self._runtime.index_lease.refused:
            return PartHealth("in step", False, self._runtime.index_lease.refused)
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
