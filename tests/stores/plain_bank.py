"""A bank as plain values, with the reads and searches of `GraphStore` on them.

Nothing that can be counted is stored: every count is made when it is asked for, and every search
looks at each memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import permutations
from math import fsum
from typing import Any, TypeVar

from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    BankStats,
    Chunk,
    Document,
    Entity,
    Link,
    LinkKind,
    Memory,
    MemoryType,
    MentalModel,
    Page,
    TimeSpan,
    utc_now,
)
from hindsight_integrations.nlp.bm25 import idf
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores import base, predicate
from hindsight_integrations.stores.audit import MEMORY, MODEL
from hindsight_integrations.stores.base import Kind, MemoryFilter, MemoryRecord, StoredBank
from hindsight_integrations.stores.cursors import (
    after_entity,
    after_memory,
    entity_cursor,
    memory_cursor,
)
from hindsight_integrations.stores.entities import names_of
from hindsight_integrations.stores.lexemes import lexeme_counts, lexeme_statistics
from hindsight_integrations.stores.names import grams_of, most_similar, names_sharing, spellings
from hindsight_integrations.stores.neighbours import document_positions, in_documents, neighbours_in
from hindsight_integrations.stores.reads import grouped, in_order, reader_of
from hindsight_integrations.stores.removal import histories_to_forget
from hindsight_integrations.stores.times import micros, timestamp
from hindsight_integrations.timespan import as_utc

T = TypeVar("T")


@dataclass
class PlainBank:
    """A bank with all it holds; `memories` are in storing order.

    The `entity_ids` of a record are those of stored entities, each once. The names and counts of
    entities, and the id of the bank, are filled in when a value is read.

    Attributes:
        bank: the bank as stored.
        last_number: the number of the memory stored last.
        numbers: memory id to its number in storing order, which cursors name.
        memories, entities, documents, chunks, models: by id.
        edited: ids of the entities that are kept even if nothing mentions them.
        links: by source, kind and target.
        history: changes of memories and mental models, oldest first.
        audit: oldest first.
        checkpoints: by queue.
        pending: ids of the memories pending consolidation.
    """

    bank: StoredBank
    last_number: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    memories: dict[str, MemoryRecord] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    edited: set[str] = field(default_factory=set)
    documents: dict[str, Document] = field(default_factory=dict)
    chunks: dict[str, Chunk] = field(default_factory=dict)
    links: dict[tuple[str, LinkKind, str], Link] = field(default_factory=dict)
    history: list[Change] = field(default_factory=list)
    audit: list[AuditEntry] = field(default_factory=list)
    models: dict[str, MentalModel] = field(default_factory=dict)
    checkpoints: dict[str, base.QueueCheckpoint] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)

    @property
    def id(self) -> str:
        """Return the id of the bank."""
        return self.bank.bank.id

    def owners(self) -> dict[str, str]:
        """Return normalised name to the id of the entity that has it."""
        return {norm: id for id, each in self.entities.items() for norm in names_of(each)}

    def mentions(self) -> Mapping[str, tuple[str, ...]]:
        """Return entity id to the memories that mention it, in storing order."""
        return grouped((e, id) for id, each in self.memories.items() for e in each.entity_ids)

    def passing(self, filter: MemoryFilter) -> dict[str, MemoryRecord]:
        """Return the memories that pass the filter, in storing order."""
        return {
            id: each
            for id, each in self.memories.items()
            if predicate.passes(each, filter, self.names(each))
        }

    def names(self, record: MemoryRecord) -> list[str]:
        """Return the names of the entities that a memory mentions, aliases included."""
        return [name for id in record.entity_ids for name in names_of(self.entities[id]).values()]

    def has_expired(self, by: datetime) -> bool:
        """Return True if a memory has expired by then, valid or not."""
        expired = MemoryFilter(now=None, include_invalid=True, expired_by=by)
        return bool(self.passing(expired))

    def citing(self) -> dict[str, tuple[str, ...]]:
        """Return each memory to the conclusions that cite it, in storing order."""
        citing: dict[str, dict[str, None]] = {id: {} for id in self.memories}
        for id, record in self.memories.items():
            for source in record.memory.sources:
                if source.memory_id is not None:
                    citing[source.memory_id][id] = None
        return {id: tuple(conclusions) for id, conclusions in citing.items()}

    # Writing, where what leaves and what stays depend on each other

    def note(self, checkpoint: base.QueueCheckpoint) -> None:
        """Keep a checkpoint; one that expires takes those with it that have expired."""
        if checkpoint.expires_at is not None:
            kept = (
                each
                for each in self.checkpoints.values()
                if each.expires_at is None or each.expires_at >= utc_now()
            )
            self.checkpoints = {each.queue: each for each in kept}
        self.checkpoints[checkpoint.queue] = checkpoint

    def forget_history(self, leaving: Sequence[str]) -> None:
        """Remove the history of memories before they leave, and the reasons given for it."""

        def cited_once(ids: Sequence[str], name: str) -> list[str]:
            own = (c for c in self.history if not c.of_model and c.memory_id in ids)
            return [c.old for c in own if c.field == name and c.old is not None]

        given = [id for id in leaving if not self.memories[id].memory.derived]
        memories, models = histories_to_forget(
            *(leaving, given, self.models.values()),
            citing=lambda ids: in_order(ids, self.citing()),
            cited_once=cited_once,
        )
        self.history = [
            change
            for change in self.history
            if change.memory_id not in (models if change.of_model else memories)
        ]
        named = {MODEL: models, MEMORY: memories}
        self.audit = [
            replace(each, reason=None) if each.id in named.get(each.kind, ()) else each
            for each in self.audit
        ]

    # Reading, as `GraphStore` documents it

    def read(self, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
        """Return the value of each key that has one, in the order asked for."""
        reader = reader_of(_READERS, kind)
        wanted = list(spellings(keys) if kind == base.ENTITY_NAMED else dict.fromkeys(keys))
        return in_order(wanted, reader(self))

    def scan(self, kind: Kind[T]) -> Iterator[T]:
        """Iterate over all values of a kind, in the order that it states."""
        return iter(reader_of(_SCANNERS, kind)(self))

    def list_memories(
        self, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        """Return a page of memories in storing order."""
        after, passing = after_memory(cursor), self.passing(filter)
        rest = [id for id in passing if self.numbers[id] > after]
        shown = rest[: max(limit, 0)]
        last = self.numbers[shown[-1]] if len(rest) > len(shown) > 0 else None
        items = [_memory_of(self, passing[id]) for id in shown]
        return Page(items, len(passing), None if last is None else memory_cursor(last))

    def list_entities(self, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        """Return a page of entities, most mentioned first."""
        count, last_id = after_entity(cursor)
        entities = sorted(_entities_of(self).values(), key=lambda each: -each.mention_count)
        rest = [
            each
            for each in entities
            if count is None or (-each.mention_count, each.id) > (-count, last_id)
        ]
        shown = rest[: max(limit, 0)]
        last = shown[-1] if len(rest) > len(shown) > 0 else None
        more = None if last is None else entity_cursor(last.mention_count, last.id)
        return Page(shown, len(entities), more)

    def similar_entities(self, names: Sequence[str], limit: int) -> dict[str, list[Entity]]:
        """Return, for each of the names, entities whose names share trigrams or words."""
        return {name: self._similar(entity_norm(name), limit) for name in names}

    def _similar(self, norm: str, limit: int) -> list[Entity]:
        sharing: dict[str, list[tuple[str, str]]] = {gram: [] for gram in grams_of(norm)}
        for other, id in self.owners().items():
            for gram in sharing.keys() & set(grams_of(other)):
                sharing[gram].append((id, other))
        ids = most_similar(norm, names_sharing(norm, sharing), limit)
        return list(in_order(ids, _entities_of(self)).values())

    def mentioned_together(
        self, entity_ids: Sequence[str], among: Sequence[str]
    ) -> dict[str, set[str]]:
        """Return, for each of the entities that exists, those of `among` mentioned beside it."""
        beside = _cooccurrences_of(self)
        return {id: set(among) & beside[id].keys() for id in entity_ids if id in beside}

    def stats(self, pending_vectors: int) -> BankStats:
        """Count what the bank holds, beside the vectors that wait for the index."""
        memories = [record.memory for record in self.memories.values()]
        types = Counter(memory.type for memory in memories)
        kinds = Counter(kind for _, kind, _ in self.links)
        said = [as_utc(memory.mentioned_at) for memory in memories]
        return BankStats(
            bank_id=self.id,
            memories=len(memories),
            by_type={kind: types[kind] for kind in MemoryType},
            invalidated=sum(memory.invalidated_at is not None for memory in memories),
            entities=len(self.entities),
            documents=len(self.documents),
            chunks=len(self.chunks),
            links={kind: kinds[kind] for kind in LinkKind},
            pending_vectors=pending_vectors,
            first_mentioned_at=min(said, default=None),
            last_mentioned_at=max(said, default=None),
        )

    # Searching, as `GraphStore` documents it

    def text_search(
        self,
        lexemes: Sequence[str],
        filter: MemoryFilter,
        limit: int,
        stats: base.LexemeStats | None = None,
    ) -> list[base.TextHit]:
        """Return at most `limit` memories that hold any of the lexemes, rarest lexemes first."""
        stats = stats or self.lexeme_stats(lexemes)
        weights = {x: idf(count, stats.documents) for x, count in stats.frequency.items()}
        ranked = []
        for id, record in self.passing(filter).items():
            held = weights.keys() & set(record.lexemes)
            if held:
                ranked.append((-fsum(weights[x] for x in held), -self.numbers[id], id))
        best = [id for _, _, id in sorted(ranked)[: max(limit, 0)]]
        return [base.TextHit(id, self.memories[id].lexemes) for id in best]

    def lexeme_stats(self, lexemes: Sequence[str]) -> base.LexemeStats:
        """Return statistics over the valid memories."""
        valid = [m.lexemes for m in self.memories.values() if m.memory.invalidated_at is None]
        counts = in_order(lexemes, lexeme_counts(valid))
        return lexeme_statistics(len(valid), sum(map(len, valid)), lexemes, counts)

    def time_search(self, window: TimeSpan, filter: MemoryFilter, limit: int) -> list[base.TimeHit]:
        """Return memories with a time that overlaps the window, nearest to its middle first."""
        middle = micros(window.start) + micros(window.end)
        nearest = []
        for id, record in self.passing(filter).items():
            rows = predicate.times_in(record.memory, window)
            if rows:
                row = min(rows, key=lambda row: (abs(row.middle - middle), row.ordinal))
                nearest.append((abs(row.middle - middle), id, row))
        hits = []
        for _, id, row in sorted(nearest)[: max(limit, 0)]:
            start, end = timestamp(row.start), timestamp(row.end)
            kind = base.TimeKind.OCCURRED if row.ordinal else base.TimeKind.MENTIONED
            hits.append(base.TimeHit(id, TimeSpan(start, end, row.precision), kind))
        return hits

    def postings(
        self, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[base.Posting]:
        """Return memories that mention the entities, the latest stored `per_entity` of each."""
        found: list[base.Posting] = []
        mentions, passing = self.mentions(), self.passing(filter)
        for id in dict.fromkeys(entity_ids):
            mentioning = mentions.get(id, ())
            latest = [memory for memory in reversed(mentioning) if memory in passing]
            found += [
                base.Posting(id, memory, len(mentioning)) for memory in latest[: max(per_entity, 0)]
            ]
        return found

    def links_of(
        self, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        """Return links from and to the memories, the heaviest `per_memory` of each; each once."""
        passing = self.passing(filter)
        sides: defaultdict[str, list[tuple[float, str, LinkKind, bool, Link]]] = defaultdict(list)
        for link in self.links.values():
            source, target, order = link.source_id, link.target_id, -link.weight
            if source in passing and target in passing:
                sides[source].append((order, target, link.kind, True, link))
                sides[target].append((order, source, link.kind, False, link))
        found: dict[Link, None] = {}
        for id in dict.fromkeys(memory_ids):
            heaviest = sorted(sides.get(id, ()), key=lambda side: side[:4])[: max(per_memory, 0)]
            found |= dict.fromkeys(link for *_, link in heaviest)
        return list(found)

    def surroundings(
        self,
        entity_ids: Sequence[str],
        memory_ids: Sequence[str],
        per_entity: int,
        per_memory: int,
        filter: MemoryFilter,
    ) -> base.Surroundings:
        """Return `postings` of the entities, and mentions and `links_of` the memories."""
        mentions = self.read(base.MENTIONS, memory_ids)
        names = self.read(base.ENTITY, [each for ids in mentions.values() for each in ids])
        links = {id: self.links_of([id], per_memory, filter) for id in mentions}
        return base.Surroundings(
            {
                id: self.postings([id], per_entity, filter)
                for id in self.read(base.ENTITY, entity_ids)
            },
            {id: [(each, names[each].name) for each in ids] for id, ids in mentions.items()},
            {id: found for id, found in links.items() if found},
        )

    def places(self, after: int, limit: int) -> list[base.Place]:
        """Return the first valid memories with a number above `after`, in storing order."""
        found = sorted(
            base.Place(
                *(self.numbers[id], id, record.memory.document_id),
                *(next((each.position for each in record.memory.sources), 0),),
                record.memory.expires_at,
            )
            for id, record in self.memories.items()
            if record.memory.invalidated_at is None and self.numbers[id] > after
        )
        return found[: max(limit, 0)]

    def neighbours(
        self, ids: Sequence[str], distance: int, filter: MemoryFilter
    ) -> list[base.Neighbour]:
        """Return memories up to `distance` positions from each, by first source."""
        documents = in_documents(self.places(-1, len(self.memories)))
        found = neighbours_in(document_positions(documents), ids, distance)
        passing = self.passing(filter)
        return [each for each in found if each.neighbour_id in passing]


# Reading by key. A reader returns the values of all keys.


def _memory_of(data: PlainBank, record: MemoryRecord) -> Memory:
    names = tuple(data.entities[id].name for id in record.entity_ids)
    return replace(record.memory, bank_id=data.id, entities=names)


def _candidate_of(data: PlainBank, record: MemoryRecord) -> base.Candidate:
    memory = record.memory
    proofs = sum(source.supports for source in memory.sources)
    return base.Candidate(
        *(memory.id, data.id, memory.text, memory.speaker, memory.document_id),
        *(memory.mentioned_at, memory.occurred, max(1, proofs), record.fingerprint),
        *(record.lexemes, record.vector, record.interaction or b""),
        *(tuple((id, data.entities[id].name) for id in record.entity_ids), memory.type),
        memory.kind,
    )


def _of_memory(
    value: Callable[[PlainBank, MemoryRecord], T],
) -> Callable[[PlainBank], dict[str, T]]:
    """Return the reader of a kind that is computed from one memory."""
    return lambda data: {id: value(data, record) for id, record in data.memories.items()}


def _of_group(pairs: Callable[[PlainBank], Iterable[tuple[str, T]]]) -> Callable[[PlainBank], Any]:
    """Return the reader of a kind whose values are tuples, from pairs of key and element."""
    return lambda data: grouped(pairs(data))


def _documents_of(data: PlainBank) -> dict[str, Document]:
    counts = Counter(chunk.document_id for chunk in data.chunks.values())
    return {
        id: replace(document, bank_id=data.id, chunk_count=counts[id])
        for id, document in sorted(data.documents.items())
    }


def _chunks_by_position(data: PlainBank) -> list[tuple[str, Chunk]]:
    chunks = sorted(data.chunks.values(), key=lambda chunk: (chunk.position, chunk.id))
    return [(chunk.document_id, chunk) for chunk in chunks]


def _entities_of(data: PlainBank) -> dict[str, Entity]:
    """Return all entities with what is counted of their mentions."""
    mentions, found = data.mentions(), {}
    for id, entity in sorted(data.entities.items()):
        said = [
            as_utc(data.memories[memory].memory.mentioned_at) for memory in mentions.get(id, ())
        ]
        found[id] = replace(
            entity,
            bank_id=data.id,
            mention_count=len(said),
            first_seen=min(said, default=None),
            last_seen=max(said, default=None),
        )
    return found


def _entities_named(data: PlainBank) -> dict[str, Entity]:
    entities = _entities_of(data)
    return {norm: entities[id] for norm, id in data.owners().items()}


def _cooccurrences_of(data: PlainBank) -> dict[str, Mapping[str, int]]:
    found: dict[str, Counter[str]] = {id: Counter() for id in data.entities}
    for record in data.memories.values():
        for one, other in permutations(record.entity_ids, 2):
            found[one][other] += 1
    return {
        id: dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
        for id, counts in found.items()
    }


def _companions_of(data: PlainBank) -> dict[str, tuple[str, ...]]:
    return {
        id: tuple(data.entities[other].name for other in list(counts)[: base.MOST_COMPANIONS])
        for id, counts in _cooccurrences_of(data).items()
    }


_READERS: Mapping[Kind[Any], Callable[[PlainBank], Mapping[str, Any]]] = {
    base.MEMORY: _of_memory(_memory_of),
    base.RECORD: _of_memory(lambda data, record: replace(record, memory=_memory_of(data, record))),
    base.CANDIDATE: _of_memory(_candidate_of),
    base.VECTOR: _of_memory(lambda _, record: record.vector),
    base.MENTIONS: _of_memory(lambda _, record: record.entity_ids),
    base.CONCLUSIONS_CITING: PlainBank.citing,
    base.DUPLICATES: _of_group(
        lambda data: (
            (record.fingerprint, id)
            for id, record in data.memories.items()
            if record.memory.invalidated_at is None
        )
    ),
    base.HISTORY: _of_group(
        lambda data: ((c.memory_id, c) for c in data.history if not c.of_model)
    ),
    base.MODEL_HISTORY: _of_group(
        lambda data: ((c.memory_id, c) for c in data.history if c.of_model)
    ),
    base.DOCUMENT: _documents_of,
    base.SAME_DOCUMENTS: _of_group(
        lambda data: ((each.fingerprint, id) for id, each in _documents_of(data).items())
    ),
    base.CHUNK: lambda data: data.chunks,
    base.DOCUMENT_CHUNKS: _of_group(_chunks_by_position),
    base.ENTITY: _entities_of,
    base.ENTITY_NAMED: _entities_named,
    base.COOCCURRENCES: _cooccurrences_of,
    base.COMPANIONS: _companions_of,
    base.CHECKPOINT: lambda data: data.checkpoints,
}

_SCANNERS: Mapping[Kind[Any], Callable[[PlainBank], Iterable[Any]]] = {
    base.MEMORY_ID: lambda data: data.memories,
    base.DOCUMENT: lambda data: _documents_of(data).values(),
    base.CHUNK: lambda data: dict(sorted(data.chunks.items())).values(),
    base.EDITED_NAMES: lambda data: [
        base.EntityNames(id, data.entities[id].name, data.entities[id].aliases)
        for id in sorted(data.edited & data.entities.keys())
    ],
    base.CHANGE: lambda data: sorted(data.history, key=lambda change: change.memory_id),
    base.AUDIT: lambda data: list(data.audit),
    base.MENTAL_MODEL: lambda data: [
        replace(model, bank_id=data.id) for _, model in sorted(data.models.items())
    ],
}
