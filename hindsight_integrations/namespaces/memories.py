"""`memory.memories`: read, correct, invalidate and restore single memories."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Unpack

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import GuardError, InvalidInputError, MemoryNotFoundError
from hindsight_integrations.history import Change
from hindsight_integrations.models import Memory, MemoryType, Page, TimeSpan, is_conclusion, utc_now
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.namespaces.correction import Correction
from hindsight_integrations.namespaces.expiry import renewed
from hindsight_integrations.namespaces.grace import restored
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.namespaces.selection import SELECTION, SelectionOptions, selection
from hindsight_integrations.recall.request import takes
from hindsight_integrations.reflect.conclusions import rewrite_conclusions
from hindsight_integrations.retain.caller_ids import changes_between
from hindsight_integrations.retain.document_diff import RetainDependencies
from hindsight_integrations.retain.guard import guarded_memory
from hindsight_integrations.retain.hidden import RESTORE
from hindsight_integrations.retain.reindex import CorrectedRecord, correct
from hindsight_integrations.runtime import UNCHANGED, Runtime
from hindsight_integrations.stores.base import (
    EVERYTHING,
    HISTORY,
    RECORD,
    ChangeSet,
    EntityNames,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.integrity import unreadable_error
from hindsight_integrations.stores.reads import read_one
from hindsight_integrations.validation import MemoryLike


class Memories(Namespace):
    """The memories of a bank, one by one."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def get(self, bank_id: str, memory_id: str | MemoryLike) -> Memory:
        """Return a memory as it is stored now, even if it is invalidated.

        Here and in the other methods it is named by its id, or given itself, as recall returned it.

        Raises:
            BankNotFoundError, MemoryNotFoundError: there is no such bank, or memory.
        """
        return self._record(bank_id, memory_id).memory

    @takes(SelectionOptions, SELECTION)
    def list(
        self,
        bank_id: str,
        *,
        entity: str | None = None,
        document_id: str | None = None,
        include_invalid: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        **options: Unpack[SelectionOptions],
    ) -> Page[Memory]:
        """Return a page of memories in the order they were stored.

        Paging is safe while others write: no memory is on two pages, none that matches throughout
        is missed, and new ones are on the last page. `total` is the number that match now.

        Args:
            bank_id: which bank.
            entity: only those that mention this entity, by name or id.
            document_id: only those stated in this document or session.
            include_invalid: also return invalidated memories; not together with `state`.
            limit: maximum memories per page, up to 1000.
            cursor: `next_cursor` of the previous page.
            text: only those whose text contains this, ignoring case.
            speaker: only those that this person said.
            types: only these types.
            tags: only those with any of these tags, or, with `tags_match="all"`, all of them.
            tags_match: "any" or "all".
            where: conditions on metadata and on the memory's own fields, as in `recall`.
            scope: only memories of this scope.
            entities: only those that mention one of these entities, by name or id.
            window: only memories of this period, as in `recall`.
            as_of: only what was known at this time; a date is the end of its day.
            changed_since: only those stored, corrected, invalidated, restored or rewritten at or
                after this time; compare `created_at` and `invalidated_at` to tell which.
            state: "valid" (the default), "invalidated", "expired" or "any".

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError, EntityNotFoundError: there is no such bank, or entity.
        """
        self._runtime.bank(bank_id)
        limit, cursor = validation.page_limit(limit), validation.page_cursor(cursor)
        if entity is not None:
            also = validation.items("entities", options.get("entities", ()))
            options["entities"] = (*also, entity)
        filter = selection(self._runtime, bank_id, options, state="valid")
        if validation.flag("include_invalid", include_invalid):
            if options.get("state") is not None:
                raise InvalidInputError(
                    "state says which memories are listed; give either state or include_invalid"
                )
            filter = replace(filter, include_invalid=True)
        if document_id is not None:
            filter = replace(filter, document_id=validation.label("document_id", document_id))
        return self._runtime.graph.list_memories(bank_id, filter, limit=limit, cursor=cursor)

    def update(
        self,
        bank_id: str,
        memory_id: str | MemoryLike,
        *,
        text: str | None = None,
        type: MemoryType | str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, object] | None = None,
        confidence: float | None = UNCHANGED,  # type: ignore[assignment]
        occurred: Sequence[TimeSpan | tuple[datetime, datetime]] | None = None,
        mentioned_at: datetime | None = None,
        entities: Sequence[str] | None = None,
        speaker: str | None = None,
        expires_at: datetime | None = UNCHANGED,  # type: ignore[assignment]
        pinned: bool | None = None,
        reason: str | None = None,
    ) -> Memory:
        """Correct a memory. The old values are kept in its history, with the reason.

        Nothing is written if the memory has all the given values already.

        A new text is processed like a retained one: times, entities, terms and vector are derived
        from it. If the speaker or `mentioned_at` changes, the old text is processed again: dates
        such as "yesterday" are then relative to the new time. Times and entities that were not
        derived from the text are kept.

        Args:
            bank_id: which bank.
            memory_id: which memory, by its id or itself; fields that are not given stay unchanged.
            text: the statement.
            type: "world", "experience", "opinion" or "observation".
            tags: the new labels; they replace all old ones.
            metadata: the new metadata; it replaces all old fields.
            confidence: 0 to 1; None removes it.
            occurred: all times it happened; an empty list removes them.
            mentioned_at: when it was said.
            entities: names of all entities it mentions; an empty list removes them.
            speaker: who said it; an empty text removes the speaker.
            expires_at: recall ignores it from this time on; with None the bank's rules decide.
            pinned: True keeps it: it never expires, and no observation is returned in its place.
                With False the bank's rules decide when it expires.
            reason: why it is corrected; kept in the history.

        Raises:
            InvalidInputError: an argument cannot be used, or a pinned memory was given a time at
                which it expires.
            BankNotFoundError, MemoryNotFoundError: there is no such bank, or memory.
            GuardError: `before_retain` refused it.
        """
        correction = Correction.checked(
            self._runtime.settings,
            text=text,
            type=type,
            tags=tags,
            metadata=metadata,
            confidence=confidence,
            occurred=occurred,
            mentioned_at=mentioned_at,
            entities=entities,
            speaker=speaker,
            expires_at=expires_at,
            pinned=pinned,
        )

        def corrected(old: Memory) -> Memory:
            new = correction.applied_to(old)
            return self._admitted(new) if correction.brings_content else new

        reindexed = partial(
            correct,
            occurred=correction.occurred,
            entities=correction.entities,
            zone=correction.zone,
        )
        return self._change(bank_id, memory_id, corrected, "update", reason, reindexed)

    def _admitted(self, memory: Memory) -> Memory:
        """Return a corrected memory after `before_retain` has processed it.

        Raises:
            GuardError: it was refused.
        """
        admitted = guarded_memory(self._runtime.retaining.before_retain, memory)
        if admitted is None:
            raise GuardError("before_retain refused the correction; the memory is unchanged")
        return admitted

    def invalidate(
        self, bank_id: str, memory_id: str | MemoryLike, reason: str | None = None
    ) -> Memory:
        """Mark a memory as wrong: it is kept, but not recalled unless it is restored."""

        def withdrawn(old: Memory) -> Memory:
            since = old.invalidated_at or utc_now()
            return replace(old, invalidated_at=since, invalidated_because=validation.reason(reason))

        return self._change(bank_id, memory_id, withdrawn, "invalidate", reason)

    def restore(
        self, bank_id: str, memory_id: str | MemoryLike, reason: str | None = None
    ) -> Memory:
        """Undo an invalidation, or a `forget` with `after` within its grace period.

        Raises:
            BankNotFoundError, MemoryNotFoundError: there is no such bank or memory, or the memory
                was forgotten and its grace period is over.
        """
        valid = partial(restored, self._runtime.graph)
        return self._change(bank_id, memory_id, valid, RESTORE, reason)

    def history(self, bank_id: str, memory_id: str | MemoryLike) -> builtins.list[Change]:
        """Return the changes of a memory, oldest first; empty if it was deleted."""
        self._runtime.bank(bank_id)
        memory_id = validation.memory_id("memory_id", memory_id, bank_id)
        return list(read_one(self._runtime.graph, bank_id, HISTORY, memory_id, ()))

    def _record(self, bank_id: str, memory_id: str | MemoryLike) -> MemoryRecord:
        self._runtime.bank(bank_id)
        memory_id = validation.memory_id("memory_id", memory_id, bank_id)
        found = self._runtime.graph.read(bank_id, RECORD, [memory_id])
        if memory_id not in found:
            if self._runtime.graph.filter_ids(bank_id, [memory_id], EVERYTHING):
                raise unreadable_error(bank_id, memory_id)
            raise MemoryNotFoundError(
                f"bank {bank_id!r} has no memory {memory_id!r}; see memories.list({bank_id!r})"
            )
        return found[memory_id]

    def _change(
        self,
        bank_id: str,
        memory_id: str | MemoryLike,
        corrected: Callable[[Memory], Memory],
        action: str,
        reason: str | None,
        reindexed: Callable[
            [RetainDependencies, str, MemoryRecord, Memory], CorrectedRecord
        ] = correct,
    ) -> Memory:
        runtime = self._runtime

        def make(bank: StoredBank) -> tuple[ChangeSet, Memory]:
            record, now = self._record(bank_id, memory_id), utc_now()
            old = record.memory
            wanted = renewed(runtime.graph, bank.bank, old, corrected(old))
            wanted = replace(wanted, updated_at=now)
            changed = reindexed(runtime.retaining, bank_id, record, wanted)
            new = changed.record.memory
            if replace(new, updated_at=old.updated_at) == old:
                return ChangeSet(bank_id), old
            changes = ChangeSet(
                bank_id,
                entities=changed.created,
                names=tuple(EntityNames(e.id, e.name, e.aliases) for e in changed.renamed),
                kinds=changed.kinds,
                replaced=(changed.record,),
                history=changes_between(old, new, action, now, validation.reason(reason)),
                # What the user made of a conclusion stands until there is new evidence.
                mark_consolidated=(old.id,) if is_conclusion(old) else (),
            )
            invalid = {old.id} if new.invalidated_at else set()
            rewrite = rewrite_conclusions(
                runtime.reflecting, bank, invalid, {old.id: changed.record}
            )
            return rewrite.joined_to(changes), new

        memory, _ = change(runtime, bank_id, make)
        runtime.reflect_later(bank_id)
        return memory

    aget = async_variant(get)
    alist = async_variant(list)
    aupdate = async_variant(update)
    ainvalidate = async_variant(invalidate)
    arestore = async_variant(restore)
    ahistory = async_variant(history)
