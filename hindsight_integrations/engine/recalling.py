"""The verbs that read memory, and that take from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hindsight_integrations.asynchronous import twin
from hindsight_integrations.catalog.memories import forget
from hindsight_integrations.core import Core
from hindsight_integrations.model import MemoryType, TimeSpan
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.request import Where, recall_request
from hindsight_integrations.results import Arm, RecallResult


class Recalling:
    """What `Hindsight` offers for recalling and forgetting."""

    _core: Core

    def recall(
        self,
        bank_id: str | Sequence[str],
        query: str,
        *,
        max_tokens: int | None = None,
        budget: str = "mid",
        types: Iterable[MemoryType | str] | None = None,
        arms: Iterable[Arm | str] | None = None,
        tags: Sequence[str] = (),
        tags_match: str = "any",
        where: Where | None = None,
        scope: str | None = None,
        window: TimeSpan | tuple[datetime, datetime] | None = None,
        query_time: datetime | None = None,
        as_of: datetime | None = None,
        min_score: float | None = None,
        chunk_tokens: int = 0,
        entity_tokens: int = 0,
        prefer_observations: bool = False,
    ) -> RecallResult:
        """The memories that answer a question, best first, as many as fit a token budget.

        Args:
            bank_id: which bank, or several.
            query: the question, or any text.
            max_tokens: budget of the rendered text, in tokens; `settings.max_tokens` if None.
            budget: how far to look: "low", "mid" or "high".
            types: only memories of these types.
            arms: only these searches: "temporal", "entity", "meaning", "pathway".
            tags: only memories with any of these tags, or, with `tags_match="all"`, all.
            tags_match: "any" or "all".
            where: metadata conditions: `{"field": value}` or `{"field": {"$gte": value}}`, with
                `$eq $ne $gt $gte $lt $lte $in $nin`.
            scope: only memories of this scope.
            window: only memories of this stretch of time.
            query_time: the moment that "last week" is counted from; now if not given.
            as_of: only what was known then.
            min_score: leave out memories that score less, 0 to 1. 0.45 makes recall silent when
                the bank knows nothing of the matter; see docs/recall.md.
            chunk_tokens: budget for the source chunks of the memories.
            entity_tokens: budget for notes on the entities of the memories.
            prefer_observations: an observation takes the place of the facts it quotes.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            EmbedderMismatchError: the bank's vectors come from another embedder.
            StoreUnavailableError: every arm failed. A single one that fails is reported in the
                result's `failures`, and the others answer.
        """
        request = recall_request(
            bank_id,
            query,
            max_tokens=self._core.settings.max_tokens if max_tokens is None else max_tokens,
            budget=budget,
            types=types,
            arms=arms,
            tags=tags,
            tags_match=tags_match,
            where=where,
            scope=scope,
            window=window,
            query_time=query_time,
            as_of=as_of,
            min_score=min_score,
            chunk_tokens=chunk_tokens,
            entity_tokens=entity_tokens,
            prefer_observations=prefer_observations,
        )
        banks = [self._core.bank(bank) for bank in request.bank_ids]
        return recall(self._core.recalling, banks, request)

    def forget(
        self, bank_id: str, ids: str | Sequence[str] = (), *, document_id: str | None = None
    ) -> tuple[str, ...]:
        """Delete memories for good, by id or with a document; returns the ids that went.

        Their histories go too, and those of the observations and opinions that rested on them;
        these are written anew at once from what is left, or go. The text of the document that a
        memory was stated in goes with the document. A memory that was also stated in another
        document stays, with one source less. `memories.invalidate` keeps a memory, and all
        histories, instead.

        Raises:
            MemoryNotFoundError, DocumentNotFoundError: one of them does not exist; nothing was
                deleted.
        """
        return forget(self._core, bank_id, ids, document_id)

    arecall = twin(recall)
    aforget = twin(forget)
