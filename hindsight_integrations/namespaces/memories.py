"""`memory.memories`: read, correct, invalidate and restore single memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Unpack

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import (
    ConflictError,
    DocumentNotFoundError,
    GuardError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.history import Change
from hindsight_integrations.models import (
    RECORD_PARTS,
    Memory,
    MemoryType,
    Page,
    TimeSpan,
    as_datetime,
    utc_now,
)
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.namespaces.expiry import renewed
from hindsight_integrations.namespaces.grace import end_of_grace, hiding, shown_again
from hindsight_integrations.namespaces.selection import (
    SELECTION,
    SelectionOptions,
    selection,
)
from hindsight_integrations.nlp.embeddings import checked_vector
from hindsight_integrations.recall.request import takes
from hindsight_integrations.reflect.conclusions import ConclusionUpdate, rewrite_conclusions
from hindsight_integrations.reflect.mental_models import without_forgotten
from hindsight_integrations.results import Forgotten, RetainResult, Skipped, SkipReason
from hindsight_integrations.retain.caller_ids import (
    REPLACE,
    changes_between,
    has_same_content,
    replacement_of,
)
from hindsight_integrations.retain.document_diff import RetainDependencies
from hindsight_integrations.retain.guard import guarded_memory
from hindsight_integrations.retain.hidden import RESTORE
from hindsight_integrations.retain.ready_made import (
    MadeRecord,
    checked_memory,
    made_records,
    store_made,
)
from hindsight_integrations.retain.reindex import (
    CorrectedRecord,
    correct,
    names_left,
    without_question,
)
from hindsight_integrations.runtime import UNCHANGED, Runtime
from hindsight_integrations.stores.base import (
    CONCLUSIONS_CITING,
    DOCUMENT,
    EVERYTHING,
    HISTORY,
    MEMORY,
    NO_LIMIT,
    RECORD,
    ChangeSet,
    EntityNames,
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
    Vector,
)
from hindsight_integrations.stores.common import (
    every_memory,
    is_conclusion,
    read_one,
)
from hindsight_integrations.stores.integrity import (
    unreadable_error,
)
from hindsight_integrations.timespan import with_offset


class Memories:
    """The memories of a bank, one by one."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def get(self, bank_id: str, memory_id: str) -> Memory:
        """Return a memory, even if it is invalidated.

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
        self._runtime.bank(validation.bank_id(bank_id))
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
        memory_id: str,
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
            memory_id: which memory; fields that are not given stay unchanged.
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
        zone = self._runtime.settings.zone
        if text is not None:
            text = validation.content(text, self._runtime.settings.max_content_chars)
        kind = None if type is None else validation.memory_type(type)
        labels = None if tags is None else validation.tags(tags)
        details = None if metadata is None else validation.metadata(metadata)
        sure = confidence if confidence is UNCHANGED else validation.confidence(confidence)
        times = None if occurred is None else validation.spans("occurred", occurred, zone)
        said_at = validation.timestamp("mentioned_at", mentioned_at, zone)
        is_nobody = speaker is None or (isinstance(speaker, str) and not speaker)
        who = None if is_nobody else validation.label("speaker", speaker)
        ends_at = expires_at
        if ends_at is not UNCHANGED and ends_at is not None:
            ends_at = as_datetime(validation.timestamp("expires_at", ends_at, zone))
        pin = None if pinned is None else validation.flag("pinned", pinned)
        mentioned = None if entities is None else validation.entities(entities)

        def corrected(old: Memory) -> Memory:
            is_pinned = old.pinned if pin is None else pin
            if is_pinned and ends_at is not UNCHANGED and ends_at is not None:
                raise InvalidInputError(
                    "a pinned memory never expires; give either pinned or expires_at, or "
                    "pinned=False to unpin it"
                )
            new = replace(
                old,
                text=old.text if text is None else text,
                kind=None if text is not None and old.is_context else old.kind,
                type=kind or old.type,
                tags=old.tags if labels is None else labels,
                metadata=old.metadata if details is None else details,
                confidence=old.confidence if sure is UNCHANGED else sure,
                mentioned_at=old.mentioned_at if said_at is None else with_offset(said_at),
                speaker=old.speaker if speaker is None else who,
                expires_at=old.expires_at if ends_at is UNCHANGED else ends_at,
                pinned=is_pinned,
            )
            return self._admitted(new) if text is not None or details is not None else new

        own_zone = None if said_at is None else said_at.tzinfo
        reindexed = partial(correct, occurred=times, entities=mentioned, zone=own_zone)
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

    def invalidate(self, bank_id: str, memory_id: str, reason: str | None = None) -> Memory:
        """Mark a memory as wrong: it is kept, but not recalled unless it is restored."""

        def withdrawn(old: Memory) -> Memory:
            since = old.invalidated_at or utc_now()
            return replace(old, invalidated_at=since, invalidated_because=validation.reason(reason))

        return self._change(bank_id, memory_id, withdrawn, "invalidate", reason)

    def restore(self, bank_id: str, memory_id: str, reason: str | None = None) -> Memory:
        """Undo an invalidation, or a `forget` with `after` within its grace period.

        Raises:
            BankNotFoundError, MemoryNotFoundError: there is no such bank or memory, or the memory
                was forgotten and its grace period is over.
        """
        valid = partial(shown_again, self._runtime.graph)
        return self._change(bank_id, memory_id, valid, RESTORE, reason)

    def history(self, bank_id: str, memory_id: str) -> list[Change]:  # type: ignore[valid-type]
        """Return the changes of a memory, oldest first; empty if it was deleted."""
        self._runtime.bank(validation.bank_id(bank_id))
        memory_id = validation.label("memory_id", memory_id)
        return list(read_one(self._runtime.graph, bank_id, HISTORY, memory_id, ()))

    def _record(self, bank_id: str, memory_id: str) -> MemoryRecord:
        self._runtime.bank(validation.bank_id(bank_id))
        found = self._runtime.graph.read(
            bank_id, RECORD, [validation.label("memory_id", memory_id)]
        )
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
        memory_id: str,
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

        memory, _ = change(runtime, validation.bank_id(bank_id), make)
        runtime.reflect_later(bank_id)
        return memory

    aget = async_variant(get)
    alist = async_variant(list)
    aupdate = async_variant(update)
    ainvalidate = async_variant(invalidate)
    arestore = async_variant(restore)
    ahistory = async_variant(history)


def retain_memory(
    runtime: Runtime,
    bank: StoredBank,
    memory: Memory,
    vector: Vector | Sequence[float] | None,
) -> RetainResult:
    """Store a memory, or replace the one with its id; see `Hindsight.retain_memory`."""
    admitted = guarded_memory(runtime.retaining.before_retain, memory)
    if admitted is None:
        return RetainResult(bank.bank.id, skipped=(_refused(memory),))
    same_text = admitted.text == memory.text
    return _retain_admitted(runtime, bank, admitted, vector if same_text else None)


def _refused(memory: Memory) -> Skipped:
    return Skipped(memory.text[:80], SkipReason.REFUSED)


def _retain_admitted(
    runtime: Runtime,
    bank: StoredBank,
    memory: Memory,
    vector: Vector | Sequence[float] | None,
    *,
    dated: bool = True,
) -> RetainResult:
    bank_id, deps = bank.bank.id, runtime.retaining
    (made,) = made_records(deps, bank, [memory], [vector], dated=dated)
    with runtime.lock(bank.key):
        if not runtime.graph.read(bank_id, MEMORY, [made.record.memory.id]):
            return store_made(deps, bank, made)

        def make(bank: StoredBank) -> tuple[ChangeSet, RetainResult]:
            return _replacement(runtime, bank, made, given_vector=vector is not None)

        result, _ = change(runtime, bank_id, make)
    return result


def checked_memories(
    memories: Iterable[Memory],
    vectors: Iterable[Vector | Sequence[float] | None] | None,
    max_chars: int,
) -> tuple[Sequence[Memory], Sequence[Vector | Sequence[float] | None]]:
    """Return the memories to retain, all of them checked, and a vector or None for each.

    Args:
        memories: the memories.
        vectors: a vector or None for each, or None.
        max_chars: most characters of a text.

    Raises:
        InvalidInputError: a field cannot be used, two share an id, or the numbers of both differ.
    """
    checked: dict[str, Memory] = {}
    for index, memory in enumerate(validation.items("memories", memories, "a list of Memory")):
        try:
            one = checked_memory(memory, max_chars)
        except InvalidInputError as error:
            raise type(error)(f"memories[{index}]: {error}") from error
        if one.id in checked:
            raise InvalidInputError(
                f"memories[{index}] has the id {validation.shown(one.id)} of an earlier one; give "
                "each memory an id of its own"
            )
        checked[one.id] = one
    codes: tuple[Vector | Sequence[float] | None, ...] = (None,) * len(checked)
    if vectors is not None:
        codes = validation.items("vectors", vectors, "a list of vectors, or None")
    if len(codes) != len(checked):
        raise InvalidInputError(
            f"vectors has {len(codes)} items for {len(checked)} memories; give one vector or None "
            "for each memory"
        )
    return list(checked.values()), codes


def retain_memories(
    runtime: Runtime,
    bank: StoredBank,
    given: Sequence[Memory],
    vectors: Sequence[Vector | Sequence[float] | None],
    *,
    dated: bool,
) -> RetainResult:
    """Store memories, the new ones together; see `Hindsight.retain_memories`."""
    bank_id, deps = bank.bank.id, runtime.retaining
    size = runtime.settings.batch_size
    dimension = deps.encoder.embedder.dimension
    for code in vectors:
        if code is not None:
            checked_vector(code, dimension)
    guards = runtime.retaining.before_retain
    seen = [(guarded_memory(guards, memory), memory) for memory in given]
    refused = tuple(_refused(memory) for out, memory in seen if out is None)
    results = [RetainResult(bank_id, skipped=refused)]
    admitted = [
        (out, code if out.text == memory.text else None)
        for (out, memory), code in zip(seen, vectors, strict=True)
        if out is not None
    ]
    for start in range(0, len(admitted), size):
        batch, codes = zip(*admitted[start : start + size], strict=True)
        ids = [validation.label("memory.id", memory.id) for memory in batch]
        pairs = list(zip(batch, codes, strict=True))
        with runtime.lock(bank.key):
            known = runtime.graph.filter_ids(bank_id, ids, EVERYTHING)
            if new := [pair for pair in pairs if pair[0].id not in known]:
                made = made_records(deps, bank, *zip(*new, strict=True), dated=dated)
                results.append(store_made(deps, bank, *made))
        results += [
            _retain_admitted(runtime, bank, *pair, dated=dated)
            for pair in pairs
            if pair[0].id in known
        ]
    return RetainResult.merged(bank_id, results)


def _replacement(
    runtime: Runtime, bank: StoredBank, made: MadeRecord, *, given_vector: bool
) -> tuple[ChangeSet, RetainResult]:
    """Return the change that puts a record in the place of the memory of its id."""
    bank_id, given = bank.bank.id, made.record
    known = runtime.graph.read(bank_id, RECORD, [given.memory.id])[given.memory.id]
    old = known.memory
    if old.derived:
        raise ConflictError(
            f"the id {old.id!r} belongs to an {old.type} drawn by bank {bank_id!r}; use another "
            "id, or correct that one with memories.update"
        )
    same_vector = not given_vector or np.allclose(known.vector, given.vector, atol=1e-5)
    meant = replacement_of(old, given.memory, bank.bank.expiry)
    if has_same_content(old, meant) and same_vector:
        skipped = Skipped(old.text[:80], SkipReason.UNCHANGED, old.id)
        return ChangeSet(bank_id), RetainResult(bank_id, skipped=(skipped,))
    now = utc_now()
    new = replace(given, memory=replace(meant, updated_at=now))
    changes = ChangeSet(
        bank_id,
        entities=made.created,
        replaced=(new,),
        history=changes_between(old, new.memory, REPLACE, now),
        mark_consolidated=(old.id,) if is_conclusion(old) else (),
    )
    invalid = {old.id} if old.invalidated_at else set()
    rewrite = rewrite_conclusions(runtime.reflecting, bank, invalid, {old.id: new})
    result = RetainResult(bank_id, stored=(new.memory,), replaced=(old.id,))
    return rewrite.joined_to(changes), result


def forget(
    runtime: Runtime,
    bank_id: str,
    ids: str | Sequence[str],
    document_id: str | None = None,
    options: SelectionOptions | None = None,
    *,
    after: timedelta | None = None,
    dry_run: bool = False,
) -> Forgotten:
    """Delete memories, by id, with a document or by filter; see `Hindsight.forget`."""
    runtime.stored_bank(validation.bank_id(bank_id))
    validation.flag("dry_run", dry_run)
    until = None if after is None else end_of_grace(after)
    if document_id is not None:
        validation.label("document_id", document_id)
    given = validation.items_or_one("ids", ids, "a memory id, or several")
    wanted = [validation.label("a memory id", memory_id) for memory_id in given]
    filter = selection(runtime, bank_id, options or {}, state="any")
    _check_named(bool(wanted or document_id is not None), filter)

    def make(bank: StoredBank) -> tuple[ChangeSet, Forgotten]:
        chosen = wanted
        if filter != EVERYTHING:
            chosen = runtime.graph.find_ids(bank_id, filter, NO_LIMIT) or []
        changes, told = _forgetting(runtime, bank, chosen, document_id)
        named = list(told)[: len(told) - len(told.derived)]
        if until is None or dry_run or not named:  # a document without memories has none to hide
            return changes, told
        return hiding(runtime, bank, named, document_id, until), Forgotten(named, until=until)

    if dry_run:
        bank = runtime.stored_bank(bank_id)
        with runtime.lock(bank.key):
            return make(bank)[1]
    told, gone = change(runtime, bank_id, make, any_embedder=True)
    if told.until is None:
        return Forgotten(gone)
    if runtime.fits(runtime.stored_bank(bank_id)):
        runtime.reflect_later(bank_id)
    return told


def _check_named(is_named: bool, filter: MemoryFilter) -> None:
    """Refuse to forget nothing in particular, which would be all, or two things at once."""
    if not is_named and not _selects(filter):
        raise InvalidInputError(
            "nothing to forget was named; give ids, a document_id, or a filter such as tags: "
            "state, as_of or all types alone name none (banks.delete deletes a whole bank)"
        )
    if is_named and filter != EVERYTHING:
        raise InvalidInputError(
            "ids or document_id cannot be combined with a filter; use two calls, or select "
            "memories of a document with where={'document_id': ...}"
        )


def _selects(filter: MemoryFilter) -> bool:
    """Return True if a filter asks for more than a state, a time of knowledge or all types."""
    types = None if filter.types == frozenset(MemoryType) else filter.types
    rest = replace(filter, types=types, as_of=None, only_invalid=False, expired_by=None)
    return replace(rest, now=EVERYTHING.now, include_invalid=True) != EVERYTHING


def _forgetting(
    runtime: Runtime, bank: StoredBank, wanted: Sequence[str], document_id: str | None
) -> tuple[ChangeSet, Forgotten]:
    """Return the change that deletes memories and a document, and what a dry run tells of it."""
    bank_id, graph = bank.bank.id, runtime.graph
    # One that is damaged cannot be read, and can be forgotten.
    known = graph.filter_ids(bank_id, wanted, EVERYTHING)
    if missing := [memory_id for memory_id in wanted if memory_id not in known]:
        raise MemoryNotFoundError(
            f"bank {bank_id!r} has no memory {missing[0]!r}; nothing was deleted"
        )
    documents = () if document_id is None else _documents_of(graph, bank_id, document_id)
    stated = () if document_id is None else _only_in(runtime, bank_id, document_id)
    chosen = list(dict.fromkeys([*wanted, *stated]))
    leaving = set(chosen)
    retaining, reflecting = runtime.removing_from(bank)
    rewrite = rewrite_conclusions(reflecting, bank, leaving, forgetting=True)
    replies = list(without_question(retaining, bank_id, leaving))
    changed = {record.memory.id: record.memory for record in rewrite.records}
    models = without_forgotten(
        graph, bank.bank, leaving | {*rewrite.removed}, changed, runtime.tokenizer
    )
    changes = ChangeSet(
        bank_id,
        remove_memories=tuple(wanted),
        remove_documents=documents,
        entities=tuple(entity for reply in replies for entity in reply.created),
        names=tuple(names_left(retaining, bank_id, leaving)),
        replaced=tuple(reply.record for reply in replies),
        mental_models=models,
    )
    told = _foretold(graph, bank_id, chosen, rewrite, [model.id for model in models])
    return rewrite.joined_to(changes), told


def _documents_of(graph: GraphStore, bank_id: str, document_id: str) -> tuple[str, ...]:
    """Return a document and the records of the session of its name, as far as they exist.

    Raises:
        DocumentNotFoundError: none of them does.
    """
    records = [f"{document_id}#{part}" for part in RECORD_PARTS]
    found = graph.read(bank_id, DOCUMENT, [document_id, *records])
    ids = tuple(id for id, each in found.items() if id == document_id or each.is_record)
    if not ids:
        raise DocumentNotFoundError(
            f"bank {bank_id!r} has no document {document_id!r}; nothing was deleted"
        )
    return ids


def _foretold(
    graph: GraphStore,
    bank_id: str,
    chosen: Sequence[str],
    rewrite: ConclusionUpdate,
    models: Iterable[str],
) -> Forgotten:
    """Return what forgetting these memories deletes and rewrites, as it is stored now."""
    gone = dict.fromkeys([*chosen, *rewrite.removed])
    newly = list(gone)
    while newly:  # a conclusion goes with the last memory that supports it, and may be cited too
        citing = chain.from_iterable(graph.read(bank_id, CONCLUSIONS_CITING, newly).values())
        others = graph.read(bank_id, MEMORY, [id for id in citing if id not in gone])
        newly = [id for id, memory in others.items() if not _is_supported(memory, gone.keys())]
        gone |= dict.fromkeys(newly)
    derived = graph.read(bank_id, MEMORY, list(gone)[len(chosen) :])
    kept = [record.memory.id for record in rewrite.records if record.memory.id not in gone]
    return Forgotten(
        gone,
        memories=tuple(graph.read(bank_id, MEMORY, chosen).values()),
        derived=tuple(derived.values()),
        rewritten=tuple(graph.read(bank_id, MEMORY, kept).values()),
        mental_models=tuple(models),
        dry_run=True,
    )


def _is_supported(memory: Memory, gone: Set[str]) -> bool:
    return any(source.supports and source.memory_id not in gone for source in memory.sources)


def all_of(runtime: Runtime, bank_id: str, document_id: str | None = None) -> Iterator[Memory]:
    """Return all memories of a bank or document, including invalid and expired ones."""
    filter = MemoryFilter(now=None, document_id=document_id, include_invalid=True)
    return every_memory(runtime.graph, bank_id, filter)


def _only_in(runtime: Runtime, bank_id: str, document_id: str) -> Iterator[str]:
    """Return ids of the memories that were stated in this document alone."""
    for memory in all_of(runtime, bank_id, document_id):
        if all(source.document_id == document_id for source in memory.sources):
            yield memory.id
