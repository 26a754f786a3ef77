"""Deletion of memories, by id, with a document or by filter, at once or after a grace period."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import timedelta
from itertools import chain

from hindsight_integrations import validation
from hindsight_integrations.errors import (
    DocumentNotFoundError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.models import RECORD_PARTS, Memory, MemoryType
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.namespaces.grace import end_of_grace, hiding
from hindsight_integrations.namespaces.selection import SelectionOptions, selection
from hindsight_integrations.reflect.conclusions import ConclusionUpdate, rewrite_conclusions
from hindsight_integrations.reflect.mental_models import without_forgotten
from hindsight_integrations.results import Forgotten
from hindsight_integrations.retain.reindex import names_left, without_question
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    CONCLUSIONS_CITING,
    DOCUMENT,
    EVERYTHING,
    MEMORY,
    ChangeSet,
    GraphStore,
    MemoryFilter,
    StoredBank,
)
from hindsight_integrations.stores.reads import every_id, every_memory
from hindsight_integrations.validation import MemoryLike


def forget(
    runtime: Runtime,
    bank_id: str,
    ids: str | MemoryLike | Sequence[str | MemoryLike],
    document_id: str | None = None,
    options: SelectionOptions | None = None,
    *,
    after: timedelta | None = None,
    dry_run: bool = False,
) -> Forgotten:
    """Delete memories, by id, with a document or by filter; see `Hindsight.forget`."""
    runtime.stored_bank(bank_id)
    validation.flag("dry_run", dry_run)
    until = None if after is None else end_of_grace(after)
    if document_id is not None:
        validation.label("document_id", document_id)
    wanted = validation.memory_ids("ids", ids, bank_id)
    filter = selection(runtime, bank_id, options or {}, state="any")
    _check_named(bool(wanted or document_id is not None), filter)

    def make(bank: StoredBank) -> tuple[ChangeSet, Forgotten]:
        chosen = wanted
        if filter != EVERYTHING:
            chosen = every_id(runtime.graph, bank_id, filter)
        changes, preview = _deletion(runtime, bank, chosen, document_id)
        named = list(preview)[: len(preview) - len(preview.derived)]
        if until is None or dry_run or not named:  # a document without memories has none to hide
            return changes, preview
        return hiding(runtime, bank, named, document_id, until), Forgotten(named, until=until)

    if dry_run:
        bank = runtime.stored_bank(bank_id)
        with runtime.lock(bank.key):
            return make(bank)[1]
    forgotten, deleted_ids = change(runtime, bank_id, make, any_embedder=True)
    if forgotten.until is None:
        return Forgotten(deleted_ids)
    if runtime.fits(runtime.stored_bank(bank_id)):
        runtime.reflect_later(bank_id)
    return forgotten


def _check_named(is_named: bool, filter: MemoryFilter) -> None:
    """Check that a call names what to forget, and by one means only.

    Raises:
        InvalidInputError: it names nothing, which would be everything, or uses both means.
    """
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


def _deletion(
    runtime: Runtime, bank: StoredBank, wanted: Sequence[str], document_id: str | None
) -> tuple[ChangeSet, Forgotten]:
    """Return the change that deletes memories and a document, and the preview of a dry run."""
    bank_id, graph = bank.bank.id, runtime.graph
    # Not by reading them: a damaged memory cannot be read, and can be forgotten.
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
    preview = _preview(graph, bank_id, chosen, rewrite, [model.id for model in models])
    return rewrite.joined_to(changes), preview


def _documents_of(graph: GraphStore, bank_id: str, document_id: str) -> tuple[str, ...]:
    """Return the ids of a document and of the records of the session of its name.

    Raises:
        DocumentNotFoundError: none of them does.
    """
    records = [f"{document_id}#{part}" for part in RECORD_PARTS]
    found = graph.read(bank_id, DOCUMENT, [document_id, *records])
    ids = tuple(id for id, d in found.items() if id == document_id or d.is_record)
    if not ids:
        raise DocumentNotFoundError(
            f"bank {bank_id!r} has no document {document_id!r}; nothing was deleted"
        )
    return ids


def _preview(
    graph: GraphStore,
    bank_id: str,
    chosen: Sequence[str],
    rewrite: ConclusionUpdate,
    models: Iterable[str],
) -> Forgotten:
    """Return what forgetting these memories would delete and rewrite, as it is stored now."""
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
