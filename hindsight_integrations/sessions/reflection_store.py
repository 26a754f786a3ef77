"""Storage of a reflection memory's entries and insights: in the process, or in a bank."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError, DocumentNotFoundError
from hindsight_integrations.models import Memory, MemoryType, ObservationKind, Source
from hindsight_integrations.sessions.conversation import Record
from hindsight_integrations.sessions.exchanges import MemoryEntry
from hindsight_integrations.sessions.insights import Evidence, Insight, importance

TAG = "insight"
"""Tag of the memories that are insights."""

_IMPORTANCE = "importance"
"""Field of their metadata."""


class ReflectionStore:
    """Storage of entries and insights in the process. One thread at a time writes either."""

    def __init__(self) -> None:
        self._entries: dict[str, MemoryEntry] = {}
        self._insights: Sequence[Insight] = ()

    def entries(self) -> list[MemoryEntry]:
        """Return the entries in the order they were added."""
        return list(self._entries.values())

    def insights(self) -> list[Insight]:
        """Return the insights in the order they were drawn."""
        return list(self._insights)

    def add(self, entry: MemoryEntry) -> None:
        """Append an entry."""
        self._entries[entry.id] = entry

    def update(self, changed: Sequence[MemoryEntry], gone: Sequence[MemoryEntry]) -> None:
        """Replace entries by these of the same ids, and delete those that are gone."""
        self._entries |= {entry.id: entry for entry in changed if entry.id in self._entries}
        for entry in gone:
            self._entries.pop(entry.id, None)

    def replace_insights(self, before: Sequence[Insight], after: Sequence[Insight]) -> None:
        """Replace the insights `before` by `after`."""
        self._insights = after

    def clear(self) -> None:
        """Delete all entries and insights."""
        self._entries.clear()
        self._insights = ()


class BankStore(ReflectionStore):
    """Storage in a bank: entries as a record, insights as observations that recall finds.

    The bank is authoritative: an insight that was edited, invalidated or forgotten there is so here
    too. The source of insights is the record, and they are deleted when it is forgotten.
    """

    def __init__(self, memory: Hindsight, bank_id: str, session_id: str, made_by: str) -> None:
        super().__init__()
        self._memory = memory
        self._bank_id = bank_id
        self._made_by = made_by
        self._record = Record(memory.storage, bank_id, session_id, "remarks", MemoryEntry)

    def entries(self) -> list[MemoryEntry]:
        """Return the entries in the order they were added."""
        return list(self._record.items().values())

    def insights(self) -> list[Insight]:
        """Return the insights as they are in the bank."""
        try:
            memories = self._memory.memories.list(
                self._bank_id,
                tags=[TAG],
                document_id=self._record.document_id,
                limit=validation.MAX_PAGE,
            ).items
        except BankNotFoundError:  # deleted meanwhile, with all of this
            return []
        return [
            Insight(
                memory.id,
                memory.text,
                importance(memory.metadata.get(_IMPORTANCE)),
                memory.mentioned_at,
                tuple(
                    Evidence(source.reference, source.quote, source.mentioned_at)
                    for source in memory.sources
                    if source.reference and source.quote
                ),
            )
            for memory in memories
        ]

    def add(self, entry: MemoryEntry) -> None:
        """Append an entry."""
        self._record.append(entry.id, entry)

    def update(self, changed: Sequence[MemoryEntry], gone: Sequence[MemoryEntry]) -> None:
        """Rewrite changed entries, and delete those that are gone."""
        if changed:
            self._record.rewrite({entry.id: entry for entry in changed})
        if gone:
            self._record.remove(entry.id for entry in gone)

    def replace_insights(self, before: Sequence[Insight], after: Sequence[Insight]) -> None:
        """Store new insights, update changed ones and forget those that are gone."""
        if not self._record.exists():
            return  # deleted while the model was called, and so are the insights from it
        known = {insight.id: insight for insight in before}
        for insight in after:
            if insight.id not in known:
                self._memory.retain_memory(self._bank_id, self._observation(insight))
            elif insight != known[insight.id]:
                self._update(known[insight.id], insight)
        kept = {insight.id for insight in after}
        if gone := [id for id in known if id not in kept]:
            self._memory.forget(self._bank_id, gone)

    def clear(self) -> None:
        """Forget the record, and with it the insights drawn from it."""
        with contextlib.suppress(BankNotFoundError, DocumentNotFoundError):
            self._memory.forget(self._bank_id, document_id=self._record.document_id)

    def _update(self, old: Insight, new: Insight) -> None:
        memories = self._memory.memories
        if new.importance != old.importance:
            metadata = {**memories.get(self._bank_id, new.id).metadata, _IMPORTANCE: new.importance}
            memories.update(self._bank_id, new.id, metadata=metadata, reason="drawn again")
        added = [self._source(e) for e in new.evidence if e not in old.evidence]
        if added:
            self._memory.storage.add_sources(self._bank_id, new.id, added)

    def _observation(self, insight: Insight) -> Memory:
        return Memory(
            id=insight.id,
            bank_id=self._bank_id,
            text=insight.text,
            type=MemoryType.OBSERVATION,
            mentioned_at=insight.created_at,
            tags=(TAG,),
            metadata={_IMPORTANCE: insight.importance},
            sources=tuple(map(self._source, insight.evidence))
            or (Source(self._record.document_id, mentioned_at=insight.created_at),),
            kind=ObservationKind.GENERALIZATION,
            reasoning=f"Drawn from what was said lately, by {self._made_by}.",
        )

    def _source(self, evidence: Evidence) -> Source:
        return Source(
            self._record.document_id,
            mentioned_at=evidence.timestamp,
            reference=evidence.exchange_id,
            quote=evidence.text,
        )
