"""Retain: texts in one transaction, or many items in batches.

In `retain_many` each batch is one transaction, and a failing item fails alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import cache, partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.display import counted
from hindsight_integrations.errors import (
    OUTAGES,
    BankNotFoundError,
    ConflictError,
    EmbedderMismatchError,
    HindsightError,
    InvalidInputError,
    NotFoundError,
    StoreCorruptError,
    StoreError,
)
from hindsight_integrations.models import Document, Link, Memory, MemoryType, TimeSpan, utc_now
from hindsight_integrations.normalization import new_id, text_fingerprint
from hindsight_integrations.results import Failed, RetainResult, Skipped, SkipReason
from hindsight_integrations.retain import caller_ids
from hindsight_integrations.retain import links as linking
from hindsight_integrations.retain.causes import MAX_STATEMENTS_BACK, Utterance, causes
from hindsight_integrations.retain.deduplication import StoragePlan
from hindsight_integrations.retain.document_diff import (
    DocumentDiff,
    FactsByChunk,
    RetainDependencies,
    Statement,
    diff_document,
    extract_facts,
    new_chunks,
    new_statements,
    pending_chunks,
    refresh,
)
from hindsight_integrations.retain.enrichment import record_of
from hindsight_integrations.retain.entity_candidates import Candidates
from hindsight_integrations.retain.entity_kinds import kinds_by_all_mentions
from hindsight_integrations.retain.entity_resolution import Resolution, Resolver
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.foreign import foreign_item, has_random_id, recognised
from hindsight_integrations.retain.guard import guarded_submissions
from hindsight_integrations.retain.replay import as_continuation
from hindsight_integrations.retain.request import Item, Submission, digest, text_submission
from hindsight_integrations.retain.speakers import is_agent
from hindsight_integrations.stores.attempts import attempts
from hindsight_integrations.stores.base import (
    DUPLICATES,
    ChangeSet,
    EntityNames,
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    QueueCheckpoint,
    StoredBank,
    Vector,
)
from hindsight_integrations.stores.deadline import limited
from hindsight_integrations.stores.reads import every_memory

log = logging.getLogger("hindsight_integrations.retain")

_MOST_NEAR_IN_TIME = 200
"""Most stored memories considered for temporal links."""

_NOT_DERIVED = MemoryFilter(now=None, include_invalid=True, derived=False)
"""All memories except derived ones, whether or not they have expired."""

Progress = Callable[[int, int | None], None]

_ITEM_FIELDS = frozenset(field.name for field in fields(Item))


_checkpoint: ContextVar[QueueCheckpoint | None] = ContextVar(
    "hindsight_retain_checkpoint", default=None
)


@contextmanager
def recording_checkpoint(checkpoint: QueueCheckpoint) -> Iterator[None]:
    """Record this checkpoint with each retain of the context that gets no checkpoint argument."""
    token = _checkpoint.set(checkpoint)
    try:
        yield
    finally:
        _checkpoint.reset(token)


def retain(
    deps: RetainDependencies,
    bank: StoredBank,
    submissions: Sequence[Submission],
    checkpoint: QueueCheckpoint | None = None,
) -> RetainResult:
    """Store the submissions, each of another document, in one transaction.

    With a `checkpoint`, or within `recording_checkpoint`, the transaction also records it, even if
    nothing else changes.

    Raises:
        ExtractionError: the extractor failed; nothing was stored.
        EmbeddingError: the embedder failed; nothing was stored.
        GuardError: a guard of `before_retain` failed; nothing was stored.
        StoreError: the graph could not be written; nothing was stored.
    """
    bank_id, checkpoint = bank.bank.id, checkpoint or _checkpoint.get()
    admitted, refused = guarded_submissions(deps.before_retain, bank_id, submissions)
    to_store = [as_continuation(deps, bank_id, submission) for submission in admitted]
    diffs = [diff_document(deps, bank_id, submission) for submission in to_store]
    facts: FactsByChunk = {}
    conflict: HindsightError | None = None
    for attempt in attempts():
        facts |= extract_facts(deps, bank_id, diffs, pending_chunks(diffs, facts))
        with deps.lock(bank.key) as lock_count:
            if attempt > 1:
                diffs = [refresh(deps, bank_id, diff) for diff in diffs]
        if pending_chunks(diffs, facts):
            continue
        try:
            changes, result = _plan_retain(deps, bank, diffs, facts, checkpoint)
            with deps.lock(bank.key) as current_lock_count:
                if current_lock_count != lock_count + 1:  # another writer came in between
                    changes, result = _plan_retain(deps, bank, diffs, facts, checkpoint)
                result = replace(result, removed=deps.graph.apply(changes))
                break
        except BankNotFoundError:
            raise  # the bank was deleted meanwhile
        except (ConflictError, NotFoundError) as error:
            conflict = error
    else:
        raise StoreError(
            f"gave up: another writer kept changing the bank ({conflict}); retry, or use "
            "one writer per document"
        ) from conflict
    deps.flush(bank.key)
    return replace(result, skipped=(*result.skipped, *refused)) if refused else result


def _plan_retain(
    deps: RetainDependencies,
    bank: StoredBank,
    diffs: Sequence[DocumentDiff],
    facts: FactsByChunk,
    checkpoint: QueueCheckpoint | None,
) -> tuple[ChangeSet, RetainResult]:
    """Resolve entities, deduplicate and link against the current bank; write nothing.

    `removed` of the result is only known once the changes are applied.
    """
    bank_id = bank.bank.id
    now = utc_now()
    statements = [new_statements(n, diff, facts) for n, diff in enumerate(diffs)]
    all_statements = [statement for group in statements for statement in group]
    reads = _start_reads(deps, bank, all_statements)
    current = reads.bank()
    profile = (current or bank).bank
    agent_name = profile.name
    threshold = deps.settings.entity_match
    resolution = Resolver(deps.graph, bank_id, threshold, profile.kept_apart).resolve(
        [_mentions(statement) for statement in all_statements],
        [s.source.mentioned_at for s in all_statements],
        [s.fact.text for s in all_statements],
        reads.entities(),
    )
    records = [
        _record(bank_id, statement, ids, [resolution.names[e] for e in ids], agent_name, now)
        for statement, ids in zip(all_statements, resolution.entity_ids, strict=True)
    ]
    removed_ids = _removed_with_chunks(deps.graph, bank_id, diffs)
    nearest = reads.nearest()
    has_caller_id = [statement.fact.id is not None for statement in all_statements]
    plan = caller_ids.plan_storage(
        records, has_caller_id, nearest, reads.ids_by_fingerprint(), deps.graph, bank_id,
        removed_ids, deps.settings.duplicate_similarity, profile.expiry,
    )  # fmt: skip
    links = _links(deps, bank_id, all_statements, plan, nearest, reads.near_in_time)
    links += _causal_links(diffs, statements, plan.ids)
    changes = replace(
        _changes(bank_id, diffs, resolution, plan, now),
        kinds=kinds_by_all_mentions(deps.graph, bank_id, resolution.kind_doubts),
        # The version guards memories that gain a source against concurrent corrections.
        version=current.version if current and (plan.sources or plan.replaced) else None,
        links=tuple(links),
        checkpoint=checkpoint,
    )
    result = RetainResult(
        bank_id=bank_id,
        stored=tuple(record.memory for record in plan.written),
        skipped=tuple(_skipped(diffs, statements, facts, plan)),
        replaced=tuple(record.memory.id for record in plan.replaced),
        joined=resolution.joined,
        document_ids=tuple(diff.submission.document_id for diff in diffs),
    )
    return changes, result


def _changes(
    bank_id: str,
    diffs: Sequence[DocumentDiff],
    resolution: Resolution,
    plan: StoragePlan,
    now: datetime,
) -> ChangeSet:
    """Return the changes to documents, entities and memories, without links and checkpoint."""
    mentioned = {entity_id for record in plan.written for entity_id in record.entity_ids}
    return ChangeSet(
        bank_id=bank_id,
        expected=tuple(diff.expected for diff in diffs),
        remove_chunks=tuple(_removed_chunks(diffs)),
        documents=tuple(_document(bank_id, diff, now) for diff in diffs),
        chunks=tuple(c for diff in diffs for c in new_chunks(diff)),
        entities=tuple(e for e in resolution.created if e.id in mentioned),
        names=tuple(EntityNames(e.id, e.name, e.aliases) for e in resolution.renamed),
        memories=tuple(plan.new),
        replaced=tuple(plan.replaced),
        history=tuple(plan.history),
        sources=tuple(plan.sources),
    )


def _removed_chunks(diffs: Sequence[DocumentDiff]) -> list[str]:
    return [chunk.id for diff in diffs for chunk in diff.plan.removed]


def _record(
    bank_id: str,
    statement: Statement,
    entity_ids: Sequence[str],
    names: Sequence[str],
    agent: str,
    now: datetime,
) -> MemoryRecord:
    fact, turn, shared = statement.fact, statement.chunk.turn, statement.shared
    confidence = shared.confidence if shared.confidence is not None else fact.confidence
    memory = Memory(
        id=fact.id or new_id("m-"),
        bank_id=bank_id,
        text=fact.text,
        type=shared.type or _memory_type(statement, agent),
        occurred=fact.occurred,
        mentioned_at=turn.said_at,
        speaker=turn.speaker,
        context=turn.context_in(shared),
        entities=tuple(names),
        tags=shared.tags,
        metadata=validation.metadata({**shared.metadata, **turn.metadata, **fact.metadata}),
        confidence=confidence,
        scope=shared.scope,
        sources=(statement.source,),
        created_at=now,
        updated_at=now,
        expires_at=shared.expires_at,
        kind=fact.kind,
    )
    return record_of(memory, statement.indexed, statement.encoded, entity_ids)


def _memory_type(statement: Statement, agent: str) -> MemoryType:
    """Return the type of a fact; a world fact said by the agent itself is its experience."""
    by_agent = is_agent(statement.chunk.turn.speaker, agent, statement.speakers)
    is_world = statement.fact.type is MemoryType.WORLD
    return MemoryType.EXPERIENCE if by_agent and is_world else statement.fact.type


def _removed_with_chunks(
    graph: GraphStore, bank_id: str, diffs: Sequence[DocumentDiff]
) -> set[str]:
    """Return the ids of memories that are removed with their chunks.

    New statements must not become sources of these.
    """
    removed_chunk_ids = set(_removed_chunks(diffs))
    removed_ids: set[str] = set()
    for diff in diffs:
        if not diff.plan.removed:
            continue
        filter = MemoryFilter(
            now=utc_now(), document_id=diff.submission.document_id, include_invalid=True
        )
        removed_ids |= {
            memory.id
            for memory in every_memory(graph, bank_id, filter)
            if all(source.chunk_id in removed_chunk_ids for source in memory.sources)
        }
    return removed_ids


class _Reads(NamedTuple):
    """Functions that wait for concurrent reads of a bank.

    Attributes:
        bank: the current bank; read before any memory's content.
        entities: candidate entities of the statements' mentions.
        nearest: for each statement, the nearest memories with their cosine.
        ids_by_fingerprint: ids of stored memories with a statement's fingerprint.
        near_in_time: id and time of stored memories near the times of the statements.
    """

    bank: Callable[[], StoredBank | None]
    entities: Callable[[], Candidates]
    nearest: Callable[[], list[list[tuple[str, float]]]]
    ids_by_fingerprint: Callable[[], dict[str, tuple[str, ...]]]
    near_in_time: Callable[[], list[tuple[str, datetime]]]


def _start_reads(
    deps: RetainDependencies, bank: StoredBank, statements: Sequence[Statement]
) -> _Reads:
    """Start all reads that need only the statements, concurrently."""
    graph, bank_id = deps.graph, bank.bank.id
    fingerprints = {text_fingerprint(s.fact.text, s.chunk.turn.speaker) for s in statements}
    mentions = [mention for statement in statements for mention in _mentions(statement)]
    return _Reads(
        deps.alongside(partial(graph.get_bank, bank_id)),
        deps.alongside(lambda: Candidates(graph, bank_id, mentions).prefetch()),
        deps.alongside(partial(_nearest, deps, bank, [s.encoded.vector for s in statements])),
        deps.alongside(partial(graph.read, bank_id, DUPLICATES, list(fingerprints))),
        deps.alongside(partial(_near_in_time, deps, bank_id, _stated_times(statements))),
    )


def _mentions(statement: Statement) -> list[Mention]:
    return [*map(Mention, statement.shared.entities), *statement.fact.mentions]


def _stated_times(statements: Iterable[Statement]) -> list[datetime]:
    return [s.source.mentioned_at for s in statements if s.chunk.turn.dated]


def _nearest(
    deps: RetainDependencies, bank: StoredBank, statement_vectors: Sequence[Vector]
) -> list[list[tuple[str, float]]]:
    """Return for each statement the nearest stored memories, conclusions excepted, with cosine."""
    if not statement_vectors:
        return []
    vectors = np.stack(statement_vectors)
    with limited(each=deps.settings.arm_timeout):
        hits = deps.index.query_many(bank.key, vectors, max(1, deps.settings.semantic_links))
    # Links to conclusions would depend on when the background worker ran.
    ids = list(dict.fromkeys(id for row in hits for id, _ in row))
    not_derived = deps.graph.filter_ids(bank.bank.id, ids, _NOT_DERIVED)
    return [[hit for hit in row if hit[0] in not_derived] for row in hits]


def _links(
    deps: RetainDependencies,
    bank_id: str,
    statements: Sequence[Statement],
    plan: StoragePlan,
    nearest: Sequence[Sequence[tuple[str, float]]],
    near_in_time: Callable[[], list[tuple[str, datetime]]],
) -> list[Link]:
    """Return the semantic and temporal links of the new memories.

    `near_in_time` waits for the stored memories near the times of all statements.
    """
    settings = deps.settings
    new_ids = {record.memory.id for record in plan.new}
    rows = [i for i, memory_id in enumerate(plan.ids) if memory_id in new_ids]
    rows = list({plan.ids[i]: i for i in reversed(rows)}.values())[::-1]
    links: list[Link] = []
    if rows:
        links += linking.semantic_links(
            [plan.ids[i] for i in rows],
            np.stack([statements[i].encoded.vector for i in rows]),
            [nearest[i] for i in rows],
            threshold=settings.semantic_link_similarity,
            limit=settings.semantic_links,
        )
        dated = [
            (plan.ids[i], statements[i].source.mentioned_at)
            for i in rows
            if statements[i].chunk.turn.dated
        ]
        times = [timestamp for _, timestamp in dated]
        is_unchanged = times == _stated_times(statements)  # else repetitions have fallen out
        links += linking.temporal_links(
            dated,
            near_in_time() if is_unchanged else _near_in_time(deps, bank_id, times),
            limit=settings.temporal_links,
            window=settings.temporal_link_hours,
        )
    return links


def _causal_links(
    diffs: Sequence[DocumentDiff],
    statements: Sequence[Sequence[Statement]],
    ids: Iterable[str],
) -> list[Link]:
    """Return the causal links given by the extractor, and those between successive statements.

    `ids` are those of the memories of all statements.
    """
    ids = iter(ids)
    links: dict[tuple[str, str], Link] = {}
    for diff, group in zip(diffs, statements, strict=True):
        statements_by_id = [(next(ids), statement) for statement in group]
        passages: dict[str, list[tuple[str, Sequence[int]]]] = {}
        for memory_id, statement in statements_by_id:
            passage = passages.setdefault(statement.source.chunk_id or "", [])
            passage.append((memory_id, statement.fact.causes))
        utterances = [
            (memory.id, Utterance(memory.text, memory.speaker, memory.kind))
            for memory in diff.latest_memories[-MAX_STATEMENTS_BACK:]
        ]
        utterances += [
            (memory_id, _utterance(statement)) for memory_id, statement in statements_by_id
        ]
        causes_between = causes([statement for _, statement in utterances])
        passages[""] = [
            (id, led_to) for (id, _), led_to in zip(utterances, causes_between, strict=True)
        ]
        for members in passages.values():
            passage_links = linking.causal_links(
                [id for id, _ in members], [by for _, by in members]
            )
            links |= {(link.source_id, link.target_id): link for link in passage_links}
    return list(links.values())


def _utterance(statement: Statement) -> Utterance:
    return Utterance(statement.fact.text, statement.chunk.turn.speaker, statement.fact.kind)


def _near_in_time(
    deps: RetainDependencies, bank_id: str, timestamps: Sequence[datetime]
) -> list[tuple[str, datetime]]:
    """Return id and time of stored memories near these times."""
    if not timestamps or not deps.settings.temporal_links:
        return []
    distance = timedelta(hours=deps.settings.temporal_link_hours)
    window = TimeSpan.around(min(timestamps), max(timestamps), distance)
    filter = MemoryFilter(now=utc_now(), derived=False)
    hits = deps.graph.time_search(bank_id, window, filter, _MOST_NEAR_IN_TIME)
    return [(hit.memory_id, hit.span.start) for hit in hits]


def _document(bank_id: str, diff: DocumentDiff, now: datetime) -> Document:
    fingerprint = diff.submission.fingerprint
    if diff.submission.mode == "append" and diff.stored is not None:
        fingerprint = digest(diff.stored.fingerprint, fingerprint)
    created = diff.stored.created_at if diff.stored else now
    return Document(
        diff.submission.document_id,
        bank_id,
        fingerprint,
        created,
        now,
        is_conversation=diff.is_conversation,
    )


def _skipped(
    diffs: Sequence[DocumentDiff],
    statements: Sequence[list[Statement]],
    facts: FactsByChunk,
    plan: StoragePlan,
) -> Iterator[Skipped]:
    """Yield a report on each input that was not stored: unchanged, empty, repeated or rejected."""
    for number, (diff, group) in enumerate(zip(diffs, statements, strict=True)):
        rejected = [r for index, _ in diff.plan.added for r in facts[number, index].rejected]
        yield from rejected
        if diff.submission.replayed:
            text = " ".join(turn.text for turn in diff.submission.replayed[:3])
            yield Skipped(text[:80], SkipReason.UNCHANGED)
        elif diff.unchanged and diff.plan.kept_count:
            text = " ".join(chunk.text for chunk in diff.chunks[:3])
            yield Skipped(text[:80], SkipReason.UNCHANGED)
        elif not group and not rejected and diff.plan.added:
            yield Skipped(diff.chunks[diff.plan.added[0][0]].text[:80], SkipReason.EMPTY)
        elif not diff.chunks:
            yield Skipped("", SkipReason.EMPTY)
    all_statements = [statement for group in statements for statement in group]
    new_ids = {record.memory.id for record in plan.written}
    reported: set[str] = set()
    for row, (statement, memory_id) in enumerate(zip(all_statements, plan.ids, strict=True)):
        if row in plan.rejected:
            yield plan.rejected[row]
        elif memory_id in new_ids and memory_id not in reported:
            reported.add(memory_id)
        else:
            yield Skipped(statement.fact.text[:80], SkipReason.REPEATED, memory_id)


def check_many(items: object) -> None:
    """Raise `InvalidInputError` if `items` is a single item, a table or not iterable."""
    validation.not_a_table("items", items)
    if isinstance(items, str | Mapping | Item) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"items is a single {type(items).__name__}; give a list of items, or call retain"
        )


def warn_of_failed(result: RetainResult) -> None:
    """Log that items were not stored: who ignores the result of a batch would never know.

    The log may be kept where the texts may not, so it quotes none.
    """
    if result.failed:
        first = result.failed[0]
        log.warning(
            "%s of retain_many not stored in bank %r (the first is item %d: %s); "
            "see the `failed` of its result",
            counted(len(result.failed), "item"),
            result.bank_id,
            first.index,
            first.error.__class__.__name__,
        )


def retain_many(
    deps: RetainDependencies,
    bank_id: str,
    opened: Callable[[], StoredBank],
    items: Iterable[object],
    progress: bool | Progress | None,
) -> RetainResult:
    """Store the items in batches; those that fail are reported, the others are stored.

    Args:
        deps: what retains.
        bank_id: which bank.
        opened: returns the bank, which it creates if need be: no bank is made for no valid item.
        items: as in `Hindsight.retain_many`.
        progress: as in `Hindsight.retain_many`.
    """
    bank = cache(opened)
    total = len(items) if isinstance(items, Sequence) else None
    results: list[RetainResult] = []
    failed: list[Failed] = []
    done = 0
    with reporting(progress, total) as report:
        for batch in _batches(items, deps, bank_id, bank, failed):
            results.append(_store_batch(deps, bank(), batch))
            done = batch[-1][0] + 1
            report(done, total)
        if failed and failed[-1].index >= done:  # the last items were invalid
            report(failed[-1].index + 1, total)
    invalid = RetainResult(bank_id, failed=tuple(failed))
    return RetainResult.merged(bank_id, [*results, invalid])


def _batches(
    items: Iterable[object],
    deps: RetainDependencies,
    bank_id: str,
    opened: Callable[[], StoredBank],
    failed: list[Failed],
) -> Iterator[list[tuple[int, Submission]]]:
    """Yield batches of items with their indexes, in which no two items are of the same document."""
    batch: list[tuple[int, Submission]] = []
    documents: set[str] = set()
    for index, value in enumerate(items):
        try:
            item = as_item(value, index)
            submission = _plain_submission(deps, item)
        except HindsightError as error:
            failed.append(Failed(index, error))
            continue
        opened()
        try:
            if has_random_id(item):
                submission = recognised(deps.graph, bank_id, submission)
        except HindsightError as error:
            failed.append(Failed(index, error))
            continue
        if len(batch) >= deps.settings.batch_size or submission.document_id in documents:
            yield batch
            batch, documents = [], set()
        batch.append((index, submission))
        documents.add(submission.document_id)
    if batch:
        yield batch


def _store_batch(
    deps: RetainDependencies, bank: StoredBank, batch: Sequence[tuple[int, Submission]]
) -> RetainResult:
    """Store a batch; if it fails, retry its halves, down to the item at fault.

    An error that concerns all items fails the batch as a whole.
    """
    try:
        return retain(deps, bank, [submission for _, submission in batch])
    except HindsightError as error:
        if len(batch) == 1 or _concerns_all_items(error):
            failed = tuple(Failed(index, error) for index, _ in batch)
            return RetainResult(bank.bank.id, failed=failed)
    middle = len(batch) // 2
    halves = batch[:middle], batch[middle:]
    return RetainResult.merged(bank.bank.id, [_store_batch(deps, bank, half) for half in halves])


def _concerns_all_items(error: HindsightError) -> bool:
    """Return True if every item would fail with this error, as with an outage.

    Damage does not count: it may affect only a memory that a single item repeats.
    """
    if isinstance(error, StoreCorruptError):
        return False
    return isinstance(error, (*OUTAGES, BankNotFoundError, EmbedderMismatchError))


def submission_of(deps: RetainDependencies, bank_id: str, item: Item) -> Submission:
    """Return the submission of a text; a document with a random id is recognised by its content.

    Raises:
        InvalidInputError: an argument cannot be used; the message says which and why.
    """
    submission = _plain_submission(deps, item)
    return recognised(deps.graph, bank_id, submission) if has_random_id(item) else submission


def _plain_submission(deps: RetainDependencies, item: Item) -> Submission:
    """Return the submission of a text under the id it has; see `submission_of`."""
    return text_submission(item, deps.settings.max_content_chars, deps.settings.zone)


def as_item(value: object, index: int) -> Item:
    """Convert the `index`th item of a caller to an `Item`; raise `InvalidInputError`."""
    if isinstance(value, Item):
        return value
    if isinstance(value, str):
        return Item(value)
    if (document := foreign_item(value)) is not None:
        return document
    if isinstance(value, Mapping):
        if unknown := sorted(set(value) - _ITEM_FIELDS):
            raise InvalidInputError(
                f"unknown fields {unknown} in items[{index}]; the fields are {sorted(_ITEM_FIELDS)}"
                "; 'content' is the text, fields of your own go into 'metadata', and messages of a "
                "chat are for retain_messages"
            )
        given = validation.present(value)
        if "content" not in given:
            raise InvalidInputError(f"items[{index}] has no 'content'; give the text to retain")
        if isinstance(given.get("metadata"), Mapping):
            given["metadata"] = validation.present(given["metadata"])
        return Item(**given)
    raise InvalidInputError(
        f"items[{index}] is {validation.shown(value)}; give a text, an Item, a mapping, "
        "or a LangChain or LlamaIndex document; memories are for retain_memories"
    )


@contextmanager
def reporting(progress: bool | Progress | None, total: int | None) -> Iterator[Progress]:
    """Yield a function that reports progress: with a bar, to the caller's function, or nowhere."""
    if callable(progress):
        yield progress
    elif progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn())
        # Without ipywidgets rich would warn in a notebook at each step: it writes the last one.
        console = Console(force_jupyter=None if find_spec("ipywidgets") else False)
        with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
            task = bar.add_task("Retaining", total=total)
            yield lambda done, of: bar.update(task, completed=done, total=of)
    else:
        yield lambda done, of: None
