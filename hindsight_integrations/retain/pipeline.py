"""One retain, from submission to stored memories.

diff against what is stored -> extract facts -> encode -> (lock) resolve entities -> fold
repetitions -> link -> one graph transaction -> vector index

Extraction and encoding, the slow part, run outside the bank's lock. If by then a document is
another than the one it was compared with, whoever changed it, the store refuses the transaction.
Then it is compared anew, under the lock, and the models read only what they have not read yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import numpy as np

from hindsight_integrations.errors import ConflictError, HindsightError, NotFoundError, StoreError
from hindsight_integrations.model import Document, Link, Memory, TimeSpan, utc_now
from hindsight_integrations.naming import new_id
from hindsight_integrations.results import RetainResult, Skipped, SkipReason
from hindsight_integrations.retain import fold, link
from hindsight_integrations.retain.draft import (
    Draft,
    Readings,
    RetainParts,
    Statement,
    new_chunks,
    read_draft,
    read_pieces,
    renewed,
    statements_of,
    unread,
)
from hindsight_integrations.retain.enrich import record_of
from hindsight_integrations.retain.ports import Mention
from hindsight_integrations.retain.request import Stamp, Submission, digest
from hindsight_integrations.retain.resolve import Resolver
from hindsight_integrations.storage.attempts import attempts
from hindsight_integrations.storage.paging import every_memory
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import (
    ChangeSet,
    EntityNames,
    Mark,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.storage.values import DRAWN

_AROUND = 200
"""Earlier memories looked at for temporal links."""


def retain(
    parts: RetainParts,
    bank: StoredBank,
    submissions: Sequence[Submission],
    mark: Mark | None = None,
) -> RetainResult:
    """Store the submissions in one transaction; no two of them name the same document.

    With a `mark` the transaction notes that this was done, even if it changes nothing else.

    Raises:
        ExtractionError: the extractor failed; nothing was stored.
        EmbeddingError: the embedder failed; nothing was stored.
        StoreError: the graph could not be written; nothing was stored.
    """
    bank_id = bank.bank.id
    drafts = [read_draft(parts, bank_id, submission) for submission in submissions]
    readings: Readings = {}
    overtaken: HindsightError | None = None
    for attempt in attempts():
        readings |= read_pieces(parts, bank_id, drafts, unread(drafts, readings))
        with parts.lock(bank.key):
            if attempt > 1:
                drafts = [renewed(parts, bank_id, draft) for draft in drafts]
            try:
                if not unread(drafts, readings):
                    result = _store(parts, bank, drafts, readings, mark)
                    break
            except (ConflictError, NotFoundError) as error:
                overtaken = error
    else:
        raise StoreError(
            f"another writer kept changing what this one builds on ({overtaken}); retain it again, "
            "or have one writer a document"
        ) from overtaken
    parts.flush()
    return result


def _store(
    parts: RetainParts,
    bank: StoredBank,
    drafts: Sequence[Draft],
    readings: Readings,
    mark: Mark | None,
) -> RetainResult:
    """Resolve, fold, link and commit; under the bank's lock."""
    bank_id = bank.bank.id
    now = utc_now()
    there = parts.graph.get_bank(bank_id)
    statements = [statements_of(n, draft, readings) for n, draft in enumerate(drafts)]
    flat = [statement for group in statements for statement in group]
    resolution = Resolver(parts.graph, bank_id, parts.settings.entity_match).resolve(
        [[*_given(s.stamp), *s.fact.mentions] for s in flat],
        [s.source.mentioned_at for s in flat],
        [s.fact.text for s in flat],
    )
    entities = dict(resolution.names)
    records = [
        _record(bank_id, statement, ids, [entities[e] for e in ids], now)
        for statement, ids in zip(flat, resolution.entity_ids, strict=True)
    ]
    removed = [c.id for draft in drafts for c in draft.plan.removed]
    leaving = _leaving(parts.graph, bank_id, drafts, set(removed))
    nearest = _nearest(parts, bank, records)
    folded = fold.fold(
        records, nearest, parts.graph, bank_id, leaving, parts.settings.duplicate_similarity
    )
    links = _links(parts, bank_id, flat, folded, nearest)
    mentioned = {entity_id for record in folded.records for entity_id in record.entity_ids}
    gone = parts.graph.apply(
        ChangeSet(
            bank_id=bank_id,
            expected=tuple(draft.expected for draft in drafts),
            # What says the same may have been corrected meanwhile; new memories do not care.
            edition=there.edition if there and folded.sources else None,
            remove_chunks=tuple(removed),
            documents=tuple(_document(bank_id, draft, now) for draft in drafts),
            chunks=tuple(c for draft in drafts for c in new_chunks(draft)),
            entities=tuple(e for e in resolution.created if e.id in mentioned),
            names=tuple(EntityNames(e.id, e.name, e.aliases) for e in resolution.learnt),
            memories=folded.records,
            sources=folded.sources,
            links=tuple(links),
            mark=mark,
        )
    )
    return RetainResult(
        bank_id=bank_id,
        stored=tuple(record.memory for record in folded.records),
        skipped=tuple(_skips(drafts, statements, folded)),
        removed=gone,
        document_ids=tuple(draft.submission.document_id for draft in drafts),
    )


def _given(stamp: Stamp) -> list[Mention]:
    return [Mention(name) for name in stamp.entities]


def _record(
    bank_id: str,
    statement: Statement,
    entity_ids: Sequence[str],
    names: Sequence[str],
    now: datetime,
) -> MemoryRecord:
    fact, turn, stamp = statement.fact, statement.piece.turn, statement.stamp
    confidence = stamp.confidence if stamp.confidence is not None else fact.confidence
    memory = Memory(
        id=new_id("m-"),
        bank_id=bank_id,
        text=fact.text,
        type=stamp.type or fact.type,
        occurred=fact.occurred,
        mentioned_at=turn.mentioned_at,
        speaker=turn.speaker,
        context=stamp.context,
        entities=tuple(names),
        tags=stamp.tags,
        metadata={**stamp.metadata, **turn.metadata},
        confidence=confidence,
        scope=stamp.scope,
        sources=(statement.source,),
        created_at=now,
        updated_at=now,
        expires_at=stamp.expires_at,
    )
    return record_of(memory, statement.indexed, statement.encoded, entity_ids)


def _leaving(
    graph: GraphStore, bank_id: str, drafts: Sequence[Draft], removed: set[str]
) -> set[str]:
    """Memories that go with the removed chunks: nothing may be folded into them."""
    leaving: set[str] = set()
    for draft in drafts:
        if not draft.plan.removed:
            continue
        filter = MemoryFilter(
            now=utc_now(), document_id=draft.submission.document_id, include_invalid=True
        )
        leaving |= {
            memory.id
            for memory in every_memory(graph, bank_id, filter)
            if all(source.chunk_id in removed for source in memory.sources)
        }
    return leaving


def _nearest(
    parts: RetainParts, bank: StoredBank, records: Sequence[MemoryRecord]
) -> list[list[tuple[str, float]]]:
    if not records:
        return []
    vectors = np.stack([record.vector for record in records])
    found = parts.index.query_many(bank.key, vectors, max(1, parts.settings.semantic_links))
    # Were conclusions among them, links would depend on whether one was drawn by now.
    return [[each for each in near if not each[0].startswith(DRAWN)] for near in found]


def _links(
    parts: RetainParts,
    bank_id: str,
    statements: Sequence[Statement],
    folded: fold.Folded,
    nearest: Sequence[Sequence[tuple[str, float]]],
) -> list[Link]:
    settings = parts.settings
    fresh = {record.memory.id for record in folded.records}
    rows = [i for i, memory_id in enumerate(folded.ids) if memory_id in fresh]
    rows = list({folded.ids[i]: i for i in reversed(rows)}.values())[::-1]
    links: list[Link] = []
    if rows:
        ids = [folded.ids[i] for i in rows]
        links += link.semantic_links(
            ids,
            np.stack([statements[i].encoded.vector for i in rows]),
            [nearest[i] for i in rows],
            threshold=settings.semantic_link_similarity,
            limit=settings.semantic_links,
        )
        dated = [
            (folded.ids[i], statements[i].source.mentioned_at)
            for i in rows
            if statements[i].piece.turn.dated
        ]
        links += link.temporal_links(
            dated,
            _around(parts, bank_id, [moment for _, moment in dated]),
            limit=settings.temporal_links,
            window=settings.temporal_link_hours,
        )
    by_passage: dict[str, list[int]] = {}
    for i, statement in enumerate(statements):
        by_passage.setdefault(statement.source.chunk_id or "", []).append(i)
    for members in by_passage.values():
        links += link.causal_links(
            [folded.ids[i] for i in members], [statements[i].fact.causes for i in members]
        )
    return links


def _around(
    parts: RetainParts, bank_id: str, moments: Sequence[datetime]
) -> list[tuple[str, datetime]]:
    """Earlier memories said near these moments."""
    if not moments or not parts.settings.temporal_links:
        return []
    reach = timedelta(hours=parts.settings.temporal_link_hours)
    window = TimeSpan.around(min(moments), max(moments), reach)
    filter = MemoryFilter(now=utc_now())
    hits = parts.graph.time_search(bank_id, window, filter, _AROUND)
    return [(h.memory_id, h.span.start) for h in hits if not h.memory_id.startswith(DRAWN)]


def _document(bank_id: str, draft: Draft, now: datetime) -> Document:
    fingerprint = draft.submission.fingerprint
    if draft.submission.mode == "append" and draft.stored is not None:
        fingerprint = digest(draft.stored.fingerprint, fingerprint)
    created = draft.stored.created_at if draft.stored else now
    return Document(draft.submission.document_id, bank_id, fingerprint, created, now)


def _skips(
    drafts: Sequence[Draft], statements: Sequence[list[Statement]], folded: fold.Folded
) -> Iterator[Skipped]:
    for draft, group in zip(drafts, statements, strict=True):
        if draft.unchanged and draft.plan.kept:
            text = " ".join(piece.text for piece in draft.pieces[:3])
            yield Skipped(text[:80], SkipReason.UNCHANGED)
        elif not group and draft.plan.added:
            yield Skipped(draft.pieces[draft.plan.added[0][0]].text[:80], SkipReason.EMPTY)
        elif not draft.pieces:
            yield Skipped("", SkipReason.EMPTY)
    flat = [statement for group in statements for statement in group]
    fresh = {record.memory.id: record.memory.text for record in folded.records}
    first: set[str] = set()
    for statement, memory_id in zip(flat, folded.ids, strict=True):
        if memory_id in fresh and memory_id not in first:
            first.add(memory_id)
        else:
            yield Skipped(statement.fact.text[:80], SkipReason.REPEATED, memory_id)
