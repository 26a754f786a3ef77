"""Retain: texts in one transaction, or many items in batches.

In `retain_many` each batch is one transaction, and a failing item fails alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import numpy as np

from hindsight_integrations import validation
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
from hindsight_integrations.models import (
    Document,
    Link,
    Memory,
    MemoryType,
    TimeSpan,
    utc_now,
)
from hindsight_integrations.normalization import new_id, text_fingerprint
from hindsight_integrations.results import Failed, RetainResult, Skipped, SkipReason
from hindsight_integrations.retain import caller_ids, deduplication
from hindsight_integrations.retain import links as linking
from hindsight_integrations.retain.causes import REACH, Told, causes
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
from hindsight_integrations.retain.entity_resolution import Candidates, Resolution, Resolver
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.foreign import foreign_item, has_random_id, recognised
from hindsight_integrations.retain.guard import guarded_submissions
from hindsight_integrations.retain.replay import as_continuation
from hindsight_integrations.retain.request import Item, Submission, digest, text_submission
from hindsight_integrations.retain.speakers import is_agent
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
from hindsight_integrations.stores.common import attempts, every_memory
from hindsight_integrations.stores.deadline import limited

_AROUND = 200
"""Most earlier memories considered for temporal links."""

_GIVEN = MemoryFilter(now=None, include_invalid=True, derived=False)
"""All memories that were given, not derived; nothing has expired at that time."""

Progress = Callable[[int, int | None], None]

_ITEM_FIELDS = frozenset(field.name for field in fields(Item))


_checkpoint: ContextVar[QueueCheckpoint | None] = ContextVar(
    "hindsight_retain_checkpoint", default=None
)


@contextmanager
def recording_checkpoint(checkpoint: QueueCheckpoint) -> Iterator[None]:
    """Record a checkpoint with each retain of this thread that is not given one of its own."""
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

    With a `checkpoint`, or within `recording_checkpoint`, the transaction records that this was
    done, even if it changes nothing else.

    Raises:
        ExtractionError: the extractor failed; nothing was stored.
        EmbeddingError: the embedder failed; nothing was stored.
        GuardError: a function that sees texts first failed; nothing was stored.
        StoreError: the graph could not be written; nothing was stored.
    """
    bank_id, checkpoint = bank.bank.id, checkpoint or _checkpoint.get()
    admitted, refused = guarded_submissions(deps.before_retain, bank_id, submissions)
    given = [as_continuation(deps, bank_id, submission) for submission in admitted]
    diffs = [diff_document(deps, bank_id, submission) for submission in given]
    facts: FactsByChunk = {}
    conflict: HindsightError | None = None
    for attempt in attempts():
        facts |= extract_facts(deps, bank_id, diffs, pending_chunks(diffs, facts))
        with deps.lock(bank.key) as before:
            if attempt > 1:
                diffs = [refresh(deps, bank_id, diff) for diff in diffs]
        if pending_chunks(diffs, facts):
            continue
        try:
            plan = _planned(deps, bank, diffs, facts, checkpoint)
            with deps.lock(bank.key) as now:
                if now != before + 1:  # what the plan builds on may have changed meanwhile
                    plan = _planned(deps, bank, diffs, facts, checkpoint)
                result = _stored(deps.graph, plan)
                break
        except BankNotFoundError:
            raise  # it was deleted meanwhile, and what it held with it
        except (ConflictError, NotFoundError) as error:
            conflict = error
    else:
        raise StoreError(
            f"gave up: another writer kept changing the bank ({conflict}); retry, or use "
            "one writer per document"
        ) from conflict
    deps.flush(bank.key)
    return replace(result, skipped=(*result.skipped, *refused)) if refused else result


class _Plan(NamedTuple):
    """Changes that a retain makes, and its result without the memories that are removed."""

    changes: ChangeSet
    result: RetainResult


def _stored(graph: GraphStore, plan: _Plan) -> RetainResult:
    """Write a plan in one transaction; the bank must be as it was planned for."""
    return replace(plan.result, removed=graph.apply(plan.changes))


def _planned(
    deps: RetainDependencies,
    bank: StoredBank,
    diffs: Sequence[DocumentDiff],
    facts: FactsByChunk,
    checkpoint: QueueCheckpoint | None,
) -> _Plan:
    """Resolve entities, fold repetitions and link, as the bank is now; write nothing."""
    bank_id = bank.bank.id
    now = utc_now()
    statements = [new_statements(n, diff, facts) for n, diff in enumerate(diffs)]
    flat = [statement for group in statements for statement in group]
    reads = _begun(deps, bank, flat)
    current = reads.bank()
    profile = (current or bank).bank
    agent = profile.name
    match = deps.settings.entity_match
    resolution = Resolver(deps.graph, bank_id, match, profile.kept_apart).resolve(
        [_mentions(statement) for statement in flat],
        [s.source.mentioned_at for s in flat],
        [s.fact.text for s in flat],
        reads.entities(),
    )
    records = [
        _record(bank_id, statement, ids, [resolution.names[e] for e in ids], agent, now)
        for statement, ids in zip(flat, resolution.entity_ids, strict=True)
    ]
    leaving = _leaving(deps.graph, bank_id, diffs)
    nearest = reads.nearest()
    given = [statement.fact.id is not None for statement in flat]
    placed = caller_ids.place(
        records, given, nearest, reads.prints(), deps.graph, bank_id, leaving,
        deps.settings.duplicate_similarity, profile.expiry,
    )  # fmt: skip
    folded = placed.folded
    links = _links(deps, bank_id, flat, folded, nearest, reads.around)
    links += _causal_links(diffs, statements, folded)
    changes = replace(
        _changes(bank_id, diffs, resolution, placed, now),
        # A memory that gains a source may have been corrected meanwhile.
        version=current.version if current and (folded.sources or placed.replaced) else None,
        links=tuple(links),
        checkpoint=checkpoint,
    )
    result = RetainResult(
        bank_id=bank_id,
        stored=tuple(record.memory for record in (*folded.records, *placed.replaced)),
        skipped=tuple(_skips(diffs, statements, facts, placed)),
        replaced=tuple(record.memory.id for record in placed.replaced),
        joined=resolution.joined,
        document_ids=tuple(diff.submission.document_id for diff in diffs),
    )
    return _Plan(changes, result)


def _changes(
    bank_id: str,
    diffs: Sequence[DocumentDiff],
    resolution: Resolution,
    placed: caller_ids.Placed,
    now: datetime,
) -> ChangeSet:
    """Return the changes to documents, entities and memories, without links and checkpoint."""
    written = (*placed.folded.records, *placed.replaced)
    mentioned = {entity_id for record in written for entity_id in record.entity_ids}
    return ChangeSet(
        bank_id=bank_id,
        expected=tuple(diff.expected for diff in diffs),
        remove_chunks=tuple(_removed_chunks(diffs)),
        documents=tuple(_document(bank_id, diff, now) for diff in diffs),
        chunks=tuple(c for diff in diffs for c in new_chunks(diff)),
        entities=tuple(e for e in resolution.created if e.id in mentioned),
        names=tuple(EntityNames(e.id, e.name, e.aliases) for e in resolution.renamed),
        memories=placed.folded.records,
        replaced=placed.replaced,
        history=placed.history,
        sources=placed.folded.sources,
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
        type=shared.type or _type(statement, agent),
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


def _type(statement: Statement, agent: str) -> MemoryType:
    """Return the type of a fact: what the agent says is its experience, not one of the world."""
    own = is_agent(statement.chunk.turn.speaker, agent, statement.speakers)
    world = statement.fact.type is MemoryType.WORLD
    return MemoryType.EXPERIENCE if own and world else statement.fact.type


def _leaving(graph: GraphStore, bank_id: str, diffs: Sequence[DocumentDiff]) -> set[str]:
    """Return the memories that go with the removed chunks: nothing may be folded into them."""
    removed = set(_removed_chunks(diffs))
    leaving: set[str] = set()
    for diff in diffs:
        if not diff.plan.removed:
            continue
        filter = MemoryFilter(
            now=utc_now(), document_id=diff.submission.document_id, include_invalid=True
        )
        leaving |= {
            memory.id
            for memory in every_memory(graph, bank_id, filter)
            if all(source.chunk_id in removed for source in memory.sources)
        }
    return leaving


class _Reads(NamedTuple):
    """Functions that return what was read of a bank, all of it at once.

    Attributes:
        bank: as it is now; read before the contents of any memory are.
        entities: those that the statements may mention.
        nearest: for each statement, the memories nearest to it, with their cosine.
        prints: ids of the memories of each fingerprint of the statements.
        around: earlier memories said near the times of the statements.
    """

    bank: Callable[[], StoredBank | None]
    entities: Callable[[], Candidates]
    nearest: Callable[[], list[list[tuple[str, float]]]]
    prints: Callable[[], dict[str, tuple[str, ...]]]
    around: Callable[[], list[tuple[str, datetime]]]


def _begun(deps: RetainDependencies, bank: StoredBank, flat: Sequence[Statement]) -> _Reads:
    """Begin all reads that need only the statements."""
    graph, bank_id = deps.graph, bank.bank.id
    prints = {text_fingerprint(s.fact.text, s.chunk.turn.speaker) for s in flat}
    mentions = [mention for statement in flat for mention in _mentions(statement)]
    return _Reads(
        deps.alongside(partial(graph.get_bank, bank_id)),
        deps.alongside(lambda: Candidates(graph, bank_id, mentions).read_ahead()),
        deps.alongside(partial(_nearest, deps, bank, [s.encoded.vector for s in flat])),
        deps.alongside(partial(graph.read, bank_id, DUPLICATES, list(prints))),
        deps.alongside(partial(_around, deps, bank_id, _dated(flat))),
    )


def _mentions(statement: Statement) -> list[Mention]:
    return [*map(Mention, statement.shared.entities), *statement.fact.mentions]


def _dated(statements: Iterable[Statement]) -> list[datetime]:
    return [s.source.mentioned_at for s in statements if s.chunk.turn.dated]


def _nearest(
    deps: RetainDependencies, bank: StoredBank, given_vectors: Sequence[Vector]
) -> list[list[tuple[str, float]]]:
    """Return for each record the stored memories nearest to it, with their cosine."""
    if not given_vectors:
        return []
    vectors = np.stack(given_vectors)
    with limited(each=deps.settings.arm_timeout):
        hits = deps.index.query_many(bank.key, vectors, max(1, deps.settings.semantic_links))
    # With conclusions among them, links would depend on when the background worker ran.
    ids = list(dict.fromkeys(id for row in hits for id, _ in row))
    given = deps.graph.filter_ids(bank.bank.id, ids, _GIVEN)
    return [[hit for hit in row if hit[0] in given] for row in hits]


def _links(
    deps: RetainDependencies,
    bank_id: str,
    statements: Sequence[Statement],
    folded: deduplication.Folded,
    nearest: Sequence[Sequence[tuple[str, float]]],
    around: Callable[[], list[tuple[str, datetime]]],
) -> list[Link]:
    """Return the links of the new memories; `around` returns those near all of the statements."""
    settings = deps.settings
    fresh = {record.memory.id for record in folded.records}
    rows = [i for i, memory_id in enumerate(folded.ids) if memory_id in fresh]
    rows = list({folded.ids[i]: i for i in reversed(rows)}.values())[::-1]
    links: list[Link] = []
    if rows:
        ids = [folded.ids[i] for i in rows]
        links += linking.semantic_links(
            ids,
            np.stack([statements[i].encoded.vector for i in rows]),
            [nearest[i] for i in rows],
            threshold=settings.semantic_link_similarity,
            limit=settings.semantic_links,
        )
        dated = [
            (folded.ids[i], statements[i].source.mentioned_at)
            for i in rows
            if statements[i].chunk.turn.dated
        ]
        times = [timestamp for _, timestamp in dated]
        whole = times == _dated(statements)  # else repetitions have fallen out
        links += linking.temporal_links(
            dated,
            around() if whole else _around(deps, bank_id, times),
            limit=settings.temporal_links,
            window=settings.temporal_link_hours,
        )
    return links


def _causal_links(
    diffs: Sequence[DocumentDiff],
    statements: Sequence[Sequence[Statement]],
    folded: deduplication.Folded,
) -> list[Link]:
    """Return the causal links: those that the extractor gave, and those between neighbours."""
    ids = iter(folded.ids)
    links: dict[tuple[str, str], Link] = {}
    for diff, group in zip(diffs, statements, strict=True):
        named = [(next(ids), statement) for statement in group]
        passages: dict[str, list[tuple[str, Sequence[int]]]] = {}
        for memory_id, one in named:
            passage = passages.setdefault(one.source.chunk_id or "", [])
            passage.append((memory_id, one.fact.causes))
        told = [
            (memory.id, Told(memory.text, memory.speaker, memory.kind))
            for memory in diff.latest[-REACH:]
        ]
        told += [(memory_id, _told(statement)) for memory_id, statement in named]
        between = causes([one for _, one in told])
        passages[""] = [(id, led_to) for (id, _), led_to in zip(told, between, strict=True)]
        for members in passages.values():
            drawn = linking.causal_links([id for id, _ in members], [by for _, by in members])
            links |= {(link.source_id, link.target_id): link for link in drawn}
    return list(links.values())


def _told(statement: Statement) -> Told:
    return Told(statement.fact.text, statement.chunk.turn.speaker, statement.fact.kind)


def _around(
    deps: RetainDependencies, bank_id: str, timestamps: Sequence[datetime]
) -> list[tuple[str, datetime]]:
    """Return earlier memories said near these times."""
    if not timestamps or not deps.settings.temporal_links:
        return []
    reach = timedelta(hours=deps.settings.temporal_link_hours)
    window = TimeSpan.around(min(timestamps), max(timestamps), reach)
    filter = MemoryFilter(now=utc_now(), derived=False)
    hits = deps.graph.time_search(bank_id, window, filter, _AROUND)
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


def _skips(
    diffs: Sequence[DocumentDiff],
    statements: Sequence[list[Statement]],
    facts: FactsByChunk,
    placed: caller_ids.Placed,
) -> Iterator[Skipped]:
    """Yield what was not stored: unchanged, empty, repeated or not usable."""
    for number, (diff, group) in enumerate(zip(diffs, statements, strict=True)):
        rejected = [r for index, _ in diff.plan.added for r in facts[number, index].rejected]
        yield from rejected
        if diff.submission.replayed:
            text = " ".join(turn.text for turn in diff.submission.replayed[:3])
            yield Skipped(text[:80], SkipReason.UNCHANGED)
        elif diff.unchanged and diff.plan.kept:
            text = " ".join(chunk.text for chunk in diff.chunks[:3])
            yield Skipped(text[:80], SkipReason.UNCHANGED)
        elif not group and not rejected and diff.plan.added:
            yield Skipped(diff.chunks[diff.plan.added[0][0]].text[:80], SkipReason.EMPTY)
        elif not diff.chunks:
            yield Skipped("", SkipReason.EMPTY)
    flat = [statement for group in statements for statement in group]
    fresh = {record.memory.id for record in (*placed.folded.records, *placed.replaced)}
    first: set[str] = set()
    for row, (statement, memory_id) in enumerate(zip(flat, placed.folded.ids, strict=True)):
        if row in placed.rejected:
            yield placed.rejected[row]
        elif memory_id in fresh and memory_id not in first:
            first.add(memory_id)
        else:
            yield Skipped(statement.fact.text[:80], SkipReason.REPEATED, memory_id)


def check_many(items: object) -> None:
    """Raise `InvalidInputError` if `items` is a single item or not iterable."""
    if isinstance(items, str | Mapping | Item) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"items is a single {type(items).__name__}; give a list of items, or call retain"
        )


def retain_many(
    deps: RetainDependencies,
    bank: StoredBank,
    items: Iterable[object],
    progress: bool | Progress | None,
) -> RetainResult:
    """Store the items; those that fail are reported, the others are stored."""
    total = len(items) if isinstance(items, Sequence) else None
    results: list[RetainResult] = []
    failed: list[Failed] = []
    done = 0
    with reporting(progress, total) as report:
        for group in _groups(items, deps, bank, failed):
            results.append(_store_batch(deps, bank, group))
            done = group[-1][0] + 1
            report(done, total)
        if failed and failed[-1].index >= done:  # the last items were invalid
            report(failed[-1].index + 1, total)
    invalid = RetainResult(bank.bank.id, failed=tuple(failed))
    return RetainResult.merged(bank.bank.id, [*results, invalid])


def _groups(
    items: Iterable[object],
    deps: RetainDependencies,
    bank: StoredBank,
    failed: list[Failed],
) -> Iterator[list[tuple[int, Submission]]]:
    """Yield batches in which no two items are of the same document."""
    group: list[tuple[int, Submission]] = []
    documents: set[str] = set()
    for index, item in enumerate(items):
        try:
            submission = submission_of(deps, bank.bank.id, as_item(item, index))
        except HindsightError as error:
            failed.append(Failed(index, error))
            continue
        if len(group) >= deps.settings.batch_size or submission.document_id in documents:
            yield group
            group, documents = [], set()
        group.append((index, submission))
        documents.add(submission.document_id)
    if group:
        yield group


def _store_batch(
    deps: RetainDependencies, bank: StoredBank, group: Sequence[tuple[int, Submission]]
) -> RetainResult:
    """Store a batch; if it fails, its halves, down to the item that is at fault.

    If the store or the bank is at fault, the batch fails as a whole.
    """
    try:
        return retain(deps, bank, [submission for _, submission in group])
    except HindsightError as error:
        if len(group) == 1 or _is_of_all(error):
            failed = tuple(Failed(index, error) for index, _ in group)
            return RetainResult(bank.bank.id, failed=failed)
    middle = len(group) // 2
    halves = group[:middle], group[middle:]
    return RetainResult.merged(bank.bank.id, [_store_batch(deps, bank, half) for half in halves])


def _is_of_all(error: HindsightError) -> bool:
    """Return True if every item of the bank would meet this error.

    What is damaged may be no more than a memory that one item repeats.
    """
    if isinstance(error, StoreCorruptError):
        return False
    return isinstance(error, (*OUTAGES, BankNotFoundError, EmbedderMismatchError))


def submission_of(deps: RetainDependencies, bank_id: str, item: Item) -> Submission:
    """Return the submission of a text; a document with a random id is known by its content.

    Raises:
        InvalidInputError: an argument cannot be used; the message says which and why.
    """
    settings = deps.settings
    submission = text_submission(item, settings.max_content_chars, settings.zone)
    return recognised(deps.graph, bank_id, submission) if has_random_id(item) else submission


def as_item(given: object, index: int) -> Item:
    """Return the `index`th of the items given as an `Item`; raise `InvalidInputError`."""
    if isinstance(given, Item):
        return given
    if isinstance(given, str):
        return Item(given)
    if (document := foreign_item(given)) is not None:
        return document
    if isinstance(given, Mapping):
        if unknown := sorted(set(given) - _ITEM_FIELDS):
            raise InvalidInputError(
                f"unknown fields {unknown} in items[{index}]; the fields are {sorted(_ITEM_FIELDS)}"
            )
        if "content" not in given:
            raise InvalidInputError(f"items[{index}] has no 'content'; give the text to retain")
        return Item(**given)
    raise InvalidInputError(
        f"items[{index}] is {validation.shown(given)}; give a text, an Item, a mapping, "
        "or a LangChain or LlamaIndex document"
    )


@contextmanager
def reporting(progress: bool | Progress | None, total: int | None) -> Iterator[Progress]:
    """Give a function that shows progress: a bar, the caller's own, or none."""
    if callable(progress):
        yield progress
    elif progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn()) as bar:
            task = bar.add_task("Retaining", total=total)
            yield lambda done, of: bar.update(task, completed=done, total=of)
    else:
        yield lambda done, of: None
