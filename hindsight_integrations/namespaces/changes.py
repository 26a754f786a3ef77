"""`memory.changes`: what changed in a bank since a time, and new conclusions as they arrive."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta, tzinfo

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, MemoryType, as_datetime, utc_now
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.results import Changed
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.audit import ENTITY as ENTITY_KIND
from hindsight_integrations.stores.audit import MEMORY as MEMORY_KIND
from hindsight_integrations.stores.base import AUDIT, ENTITY, MEMORY, MENTIONS, MemoryFilter
from hindsight_integrations.stores.reads import every_memory

INTERVAL = 1.0
"""Seconds between two checks for news: consolidation waits about as long after a retain."""

OVERLAP = timedelta(minutes=10)
"""Overlap of each check with the one before. A conclusion is dated by the start of its
consolidation, which may take minutes with a model."""

EARLIEST = datetime.min.replace(tzinfo=UTC) + OVERLAP


class Changes(Namespace):
    """Changes of banks, for synchronising, reviews and notifications."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __call__(self, bank_id: str, since: datetime) -> Changed:
        """Return what changed in a bank since a time; see `list`."""
        return self.list(bank_id, since)

    def list(self, bank_id: str, since: datetime) -> Changed:
        """Return what was stored, changed or deleted in a bank since a time.

        Args:
            bank_id: which bank.
            since: start of the period; pass `until` of the previous result to continue from there.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
        """
        start = self._start(since)
        bank = self._runtime.bank(bank_id)
        with self._runtime.lock(bank.key):  # writes of this process that began earlier are stored
            until = utc_now()
        graph = self._runtime.graph
        filter = MemoryFilter(now=None, include_invalid=True, updated_since=start)
        changed = {memory.id: memory for memory in every_memory(graph, bank_id, filter)}
        entries = [entry for entry in graph.scan(bank_id, AUDIT) if entry.at >= start]
        of_memories = [entry for entry in entries if entry.kind == MEMORY_KIND]
        # A memory is dated by the start of its retain, which may lie before `since`.
        missing = [entry.id for entry in of_memories if entry.id not in changed]
        changed |= graph.read(bank_id, MEMORY, missing)
        deleted = (entry.id for entry in of_memories if entry.action == "delete")
        mentioned = graph.read(bank_id, MENTIONS, [*changed]).values()
        entity_ids = dict.fromkeys(id for ids in mentioned for id in ids)
        edited = ((entry.id, entry.other) for entry in entries if entry.kind == ENTITY_KIND)
        entity_ids |= dict.fromkeys(id for pair in edited for id in pair if id)
        observed = MemoryType.OBSERVATION
        return Changed(
            bank_id,
            start,
            until,
            tuple(memory for memory in changed.values() if memory.type is not observed),
            tuple(memory for memory in changed.values() if memory.type is observed),
            tuple(id for id in dict.fromkeys(deleted) if id not in changed),
            tuple(graph.read(bank_id, ENTITY, [*entity_ids]).values()),
        )

    def conclusions(self, bank_id: str, since: datetime) -> builtins.list[Memory]:
        """Return the observations and opinions that were drawn or rewritten since a time.

        Args:
            bank_id: which bank.
            since: start of the period. The time of a conclusion is when its consolidation began.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
        """
        start = self._start(since)
        self._runtime.bank(bank_id)
        types = frozenset({MemoryType.OBSERVATION, MemoryType.OPINION})
        filter = MemoryFilter(utc_now(), types=types, derived=True, updated_since=start)
        found = every_memory(self._runtime.graph, bank_id, filter)
        return sorted(found, key=lambda memory: memory.updated_at)

    async def news(
        self, bank_id: str, *, since: datetime | None = None, interval: float = INTERVAL
    ) -> AsyncGenerator[Memory, None]:
        """Yield each observation and opinion of a bank when it is drawn or rewritten.

        This includes contradictions between memories, which are reported as observations.

        Args:
            bank_id: which bank.
            since: start with those from this time on; None for those from now on.
            interval: seconds between two checks.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank, or it was deleted.
            ClosedError: the memory was closed.
        """
        wait = validation.seconds("interval", interval)
        start = last = utc_now() if since is None else self._start(since)
        known = await self.aconclusions(bank_id, _before(start))
        reported = {memory.id: memory.updated_at for memory in known if memory.updated_at < start}
        while True:
            for memory in await self.aconclusions(bank_id, _before(last)):
                if reported.get(memory.id) != memory.updated_at:
                    reported[memory.id] = memory.updated_at
                    last = max(last, memory.updated_at)
                    yield memory
            reported = {id: at for id, at in reported.items() if at >= _before(last)}
            await asyncio.sleep(wait)

    alist = async_variant(list)
    aconclusions = async_variant(conclusions)

    def _start(self, since: datetime | None) -> datetime:
        if since is None:
            raise InvalidInputError("since is None; give the time from which to list changes")
        return as_datetime(validation.timestamp("since", since, self._zone))

    @property
    def _zone(self) -> tzinfo:
        """The zone of times that carry none; a client of a service overrides this."""
        return self._runtime.settings.zone


def _before(time: datetime) -> datetime:
    return max(time, EARLIEST) - OVERLAP
