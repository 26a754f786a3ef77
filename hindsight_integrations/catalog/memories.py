"""`memory.memories`: read, correct and withdraw single memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.catalog.changing import change
from hindsight_integrations.catalog.entities import find_entity
from hindsight_integrations.core import Core
from hindsight_integrations.errors import (
    DocumentNotFoundError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.model import Change, Memory, MemoryType, Page, utc_now
from hindsight_integrations.reflect.mental_models import retold
from hindsight_integrations.reflect.rewrite import rewritten
from hindsight_integrations.retain.amend import amended
from hindsight_integrations.storage.paging import every_memory
from hindsight_integrations.storage.requests import (
    ChangeSet,
    EntityNames,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.storage.values import is_conclusion

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
"""A moment at which nothing has expired yet."""


class Memories:
    """The memories of a bank, one by one."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def get(self, bank_id: str, memory_id: str) -> Memory:
        """A memory, also an invalidated one.

        Raises:
            BankNotFoundError, MemoryNotFoundError: there is no such bank, or memory.
        """
        return self._record(bank_id, memory_id).memory

    def list(
        self,
        bank_id: str,
        *,
        types: Iterable[MemoryType | str] | None = None,
        tags: Sequence[str] = (),
        entity: str | None = None,
        document_id: str | None = None,
        include_invalid: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """Memories in the order they were stored, a page at a time.

        Args:
            bank_id: which bank.
            types: only these types.
            tags: only with any of these tags.
            entity: only those that mention this entity, by name or id.
            document_id: only those stated in this document.
            include_invalid: also those that were invalidated.
            limit: memories of a page, at most 1000.
            cursor: `next_cursor` of the page before.
        """
        self._core.bank(checks.bank_id(bank_id))
        limit = checks.page_limit(limit)
        filter = MemoryFilter(
            now=utc_now(),
            types=None if types is None else checks.memory_types(types),
            tags=checks.tags(tags),
            entity_id=None if entity is None else find_entity(self._core, bank_id, entity).id,
            document_id=None if document_id is None else checks.label("document_id", document_id),
            include_invalid=include_invalid,
        )
        return self._core.graph.list_memories(bank_id, filter, limit=limit, cursor=cursor)

    def update(
        self,
        bank_id: str,
        memory_id: str,
        *,
        text: str | None = None,
        type: MemoryType | str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, object] | None = None,
        confidence: float | None = None,
        reason: str | None = None,
    ) -> Memory:
        """Correct a memory. What it was is kept in its history, with the reason.

        A new text is read anew: its times and entities, its terms and its vector.
        """
        if text is not None:
            text = checks.content(text, self._core.settings.max_content_chars)
        kind = None if type is None else checks.memory_type(type)
        labels = None if tags is None else checks.tags(tags)
        details = None if metadata is None else checks.metadata(metadata)
        sure = None if confidence is None else checks.confidence(confidence)

        def corrected(old: Memory) -> Memory:
            return replace(
                old,
                text=old.text if text is None else text,
                type=kind or old.type,
                tags=old.tags if labels is None else labels,
                metadata=old.metadata if details is None else details,
                confidence=old.confidence if sure is None else sure,
            )

        return self._change(bank_id, memory_id, corrected, "update", reason)

    def invalidate(self, bank_id: str, memory_id: str, reason: str | None = None) -> Memory:
        """Hold a memory to be wrong from now on: kept, never recalled, until `restore`."""

        def withdrawn(old: Memory) -> Memory:
            since = old.invalidated_at or utc_now()
            return replace(old, invalidated_at=since, invalidated_because=reason)

        return self._change(bank_id, memory_id, withdrawn, "invalidate", reason)

    def restore(self, bank_id: str, memory_id: str, reason: str | None = None) -> Memory:
        """Take an invalidation back."""

        def valid(old: Memory) -> Memory:
            return replace(old, invalidated_at=None, invalidated_because=None)

        return self._change(bank_id, memory_id, valid, "restore", reason)

    def history(self, bank_id: str, memory_id: str) -> list[Change]:  # type: ignore[valid-type]
        """What was changed of a memory, oldest first; nothing is left of one that was deleted."""
        self._core.bank(checks.bank_id(bank_id))
        return self._core.graph.history(bank_id, checks.label("memory_id", memory_id))

    def _record(self, bank_id: str, memory_id: str) -> MemoryRecord:
        self._core.bank(checks.bank_id(bank_id))
        found = self._core.graph.get_records(bank_id, [checks.label("memory_id", memory_id)])
        if memory_id not in found:
            raise MemoryNotFoundError(f"bank {bank_id!r} has no memory {memory_id!r}")
        return found[memory_id]

    def _change(
        self,
        bank_id: str,
        memory_id: str,
        corrected: Callable[[Memory], Memory],
        action: str,
        reason: str | None,
    ) -> Memory:
        core = self._core

        def make(bank: StoredBank) -> tuple[ChangeSet, Memory]:
            record, now = self._record(bank_id, memory_id), utc_now()
            old = record.memory
            wanted = replace(corrected(old), updated_at=now)
            changed = amended(core.retaining, bank_id, record, wanted)
            new = changed.record.memory
            changes = ChangeSet(
                bank_id,
                entities=changed.created,
                names=tuple(EntityNames(e.id, e.name, e.aliases) for e in changed.learnt),
                replaced=(changed.record,),
                history=tuple(
                    Change(old.id, action, name, _shown(before), _shown(after), now, reason)
                    for name, before, after in _differences(old, new)
                ),
                # What the user made of a conclusion stands until there is new evidence.
                reflected=(old.id,) if is_conclusion(old) else (),
            )
            invalid = {old.id} if new.invalidated_at else set()
            anew = rewritten(core.reflecting, bank, invalid, {old.id: changed.record})
            return anew.joined_to(changes), new

        memory, _ = change(core, checks.bank_id(bank_id), make)
        core.reflect_later(bank_id)
        return memory

    aget = twin(get)
    alist = twin(list)
    aupdate = twin(update)
    ainvalidate = twin(invalidate)
    arestore = twin(restore)
    ahistory = twin(history)


def forget(
    core: Core, bank_id: str, ids: str | Sequence[str], document_id: str | None
) -> tuple[str, ...]:
    """Delete memories, by id or with a document; see `Hindsight.forget`."""
    core.bank(checks.bank_id(bank_id))
    wanted = [ids] if isinstance(ids, str) else [*ids]
    wanted = [checks.label("a memory id", memory_id) for memory_id in wanted]
    if not wanted and document_id is None:
        raise InvalidInputError("nothing to forget was named; give ids, or a document_id")

    def make(bank: StoredBank) -> tuple[ChangeSet, None]:
        known = core.graph.get_memories(bank_id, wanted)
        if missing := [memory_id for memory_id in wanted if memory_id not in known]:
            raise MemoryNotFoundError(
                f"bank {bank_id!r} has no memory {missing[0]!r}; nothing was deleted"
            )
        if document_id is not None and not core.graph.get_document(bank_id, document_id):
            raise DocumentNotFoundError(
                f"bank {bank_id!r} has no document {document_id!r}; nothing was deleted"
            )
        documents = () if document_id is None else (document_id,)
        leaving = set(wanted).union(*(_only_in(core, bank_id, each) for each in documents))
        anew = rewritten(core.reflecting, bank, leaving, forgetting=True)
        changed = {record.memory.id: record.memory for record in anew.records}
        changes = ChangeSet(
            bank_id,
            remove_memories=tuple(wanted),
            remove_documents=documents,
            mental_models=retold(
                core.graph, bank.bank, leaving | {*anew.removed}, changed, core.tokenizer
            ),
        )
        return anew.joined_to(changes), None

    _, gone = change(core, bank_id, make)
    return gone


def all_of(core: Core, bank_id: str, document_id: str | None = None) -> Iterator[Memory]:
    """The memories of a bank, or of a document, those too that are invalid or have expired."""
    filter = MemoryFilter(now=_BEFORE_ALL, document_id=document_id, include_invalid=True)
    return every_memory(core.graph, bank_id, filter)


def _only_in(core: Core, bank_id: str, document_id: str) -> Iterator[str]:
    """Ids of the memories that were stated in this document alone."""
    for memory in all_of(core, bank_id, document_id):
        if all(source.document_id == document_id for source in memory.sources):
            yield memory.id


def _differences(old: Memory, new: Memory) -> Iterator[tuple[str, object, object]]:
    for field in fields(Memory):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if before != after and field.name != "updated_at":
            yield field.name, before, after


def _shown(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(dict(value)) if isinstance(value, Mapping) else str(value)
