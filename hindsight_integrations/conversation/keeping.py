"""Where a reflection memory keeps its remarks and insights: in the process, or in a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_integrations import checks
from hindsight_integrations.conversation.insights import Insight, importance
from hindsight_integrations.conversation.record import Record
from hindsight_integrations.conversation.remarks import Remark
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.model import Memory, MemoryType, ObservationKind, Source

TAG = "insight"
"""On the memories that are insights."""

_IMPORTANCE = "importance"
"""The field of their metadata that has it."""


class Keeping(Protocol):
    """Remarks and insights. One thread at a time writes either."""

    def remarks(self) -> list[Remark]:
        """In the order they were added."""
        ...

    def insights(self) -> list[Insight]:
        """In the order they were drawn."""
        ...

    def add(self, remark: Remark) -> None:
        """Put one behind the others."""
        ...

    def settle(self, remarks: Sequence[Remark], gone: Sequence[Remark]) -> None:
        """Exchange remarks for these of the same ids, and drop those that are gone."""
        ...

    def exchange(self, before: Sequence[Insight], after: Sequence[Insight]) -> None:
        """Have the insights `after` in place of `before`."""
        ...


class InProcess:
    """Lasts as long as this object."""

    def __init__(self) -> None:
        self._remarks: dict[str, Remark] = {}
        self._insights: Sequence[Insight] = ()

    def remarks(self) -> list[Remark]:
        """See `Keeping`."""
        return list(self._remarks.values())

    def insights(self) -> list[Insight]:
        """See `Keeping`."""
        return list(self._insights)

    def add(self, remark: Remark) -> None:
        """See `Keeping`."""
        self._remarks[remark.id] = remark

    def settle(self, remarks: Sequence[Remark], gone: Sequence[Remark]) -> None:
        """See `Keeping`."""
        self._remarks |= {each.id: each for each in remarks if each.id in self._remarks}
        for each in gone:
            self._remarks.pop(each.id, None)

    def exchange(self, before: Sequence[Insight], after: Sequence[Insight]) -> None:
        """See `Keeping`."""
        self._insights = after


class InBank:
    """Survives the process: remarks as a record, insights as observations that recall finds.

    The bank has the last word: an insight that was edited, invalidated or forgotten there is so
    here too. All of them have the record for their source, and go when it is forgotten.
    """

    def __init__(self, memory: Hindsight, bank_id: str, session_id: str, made_by: str) -> None:
        self._memory = memory
        self._bank_id = bank_id
        self._made_by = made_by
        self._record = Record(memory._core, bank_id, session_id, "remarks", Remark)

    def remarks(self) -> list[Remark]:
        """See `Keeping`."""
        return list(self._record.items().values())

    def insights(self) -> list[Insight]:
        """See `Keeping`."""
        try:
            found = self._memory.memories.list(
                self._bank_id,
                tags=[TAG],
                document_id=self._record.document_id,
                limit=checks.MAX_PAGE,
            ).items
        except BankNotFoundError:  # deleted meanwhile, and all of this with it
            return []
        return [
            Insight(m.id, m.text, importance(m.metadata.get(_IMPORTANCE)), m.mentioned_at)
            for m in found
        ]

    def add(self, remark: Remark) -> None:
        """See `Keeping`."""
        self._record.append(remark.id, remark)

    def settle(self, remarks: Sequence[Remark], gone: Sequence[Remark]) -> None:
        """See `Keeping`."""
        if remarks:
            self._record.rewrite({each.id: each for each in remarks})
        if gone:
            self._record.remove(each.id for each in gone)

    def exchange(self, before: Sequence[Insight], after: Sequence[Insight]) -> None:
        """See `Keeping`."""
        if not self._record.exists():
            return  # forgotten while the model thought, and with it what was drawn from it
        memories, known = self._memory.memories, {each.id: each for each in before}
        for each in after:
            if each.id not in known:
                self._memory.retain_memory(self._bank_id, self._observation(each))
            elif each != known[each.id]:
                had = memories.get(self._bank_id, each.id).metadata
                raised = {**had, _IMPORTANCE: each.importance}
                memories.update(self._bank_id, each.id, metadata=raised, reason="drawn again")
        kept = {each.id for each in after}
        if gone := [id for id in known if id not in kept]:
            self._memory.forget(self._bank_id, gone)

    def _observation(self, insight: Insight) -> Memory:
        return Memory(
            id=insight.id,
            bank_id=self._bank_id,
            text=insight.text,
            type=MemoryType.OBSERVATION,
            mentioned_at=insight.created_at,
            tags=(TAG,),
            metadata={_IMPORTANCE: insight.importance},
            sources=(Source(self._record.document_id, mentioned_at=insight.created_at),),
            kind=ObservationKind.GENERALIZATION,
            reasoning=f"Drawn from what was said lately, by {self._made_by}.",
        )
