"""A graph store in plain dictionaries that passes the contract.

It shows what a store has to do, and no more. Each bank holds frozen values by id. A write copies
the dictionaries it may change and puts the copy in place of the original when all went well, so a
change set is stored whole or not at all, and a reader keeps the state it began with. Nothing that
can be counted is stored: every count is made when it is asked for.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from itertools import chain, permutations
from math import fsum
from typing import Any, TypeVar

from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    ClosedError,
    StoreError,
)
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Bank,
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
    Source,
    TimeSpan,
)
from hindsight_integrations.nlp.bm25 import idf
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores import base, common, predicate
from hindsight_integrations.stores.audit import MEMORY, MODEL, audit_of
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderStamp,
    Kind,
    MemoryFilter,
    MemoryRecord,
    PendingVector,
    StagedVector,
    StoredBank,
    VectorOperation,
)
from hindsight_integrations.stores.entities import EntityWriter, names_of

T = TypeVar("T")


# What is stored


@dataclass
class BankData:
    """A bank with all it holds; `memories` stay in storing order, as dictionaries do.

    The `entity_ids` of a record are those of stored entities, each once. The names and counts of
    entities, and the id of the bank, are filled in when a value is read.
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
    checkpoints: dict[str, int] = field(default_factory=dict)
    staged: dict[str, StagedVector] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)

    @property
    def id(self) -> str:
        return self.bank.bank.id

    def owners(self) -> dict[str, str]:
        """Return normalised name to the id of the entity that has it."""
        return {norm: id for id, each in self.entities.items() for norm in names_of(each)}

    def mentions(self) -> Mapping[str, list[str]]:
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

    def citing(self) -> dict[str, tuple[str, ...]]:
        """Return each memory to the conclusions that cite it, in storing order."""
        citing: dict[str, dict[str, None]] = {id: {} for id in self.memories}
        for id, record in self.memories.items():
            for source in record.memory.sources:
                if source.memory_id is not None:
                    citing[source.memory_id][id] = None
        return {id: tuple(conclusions) for id, conclusions in citing.items()}


@dataclass
class State:
    """All banks, and the outbox: (bank key, memory id) to ticket and operation, oldest first."""

    banks: dict[str, BankData] = field(default_factory=dict)
    outbox: dict[tuple[str, str], tuple[int, VectorOperation]] = field(default_factory=dict)
    last_ticket: int = 0
    last_key: int = 0

    def bank(self, bank_id: str) -> BankData:
        if bank_id not in self.banks:
            raise BankNotFoundError(f"no bank {bank_id!r} exists; create it first")
        return self.banks[bank_id]

    def draft(self, bank_id: str) -> BankData:
        """Put a copy of a bank in its place, to be changed, and return it."""
        data = self.bank(bank_id)
        self.banks[bank_id] = BankData(*(copy(getattr(data, f.name)) for f in fields(data)))
        return self.banks[bank_id]

    def new_key(self) -> str:
        self.last_key += 1
        return str(self.last_key)

    def check_free(self, bank_id: str) -> None:
        if bank_id in self.banks:
            raise BankExistsError(f"bank {bank_id!r} exists already; open it, or choose another id")

    def queue(self, key: str, operation: VectorOperation, memory_ids: Iterable[str]) -> None:
        """Queue work for the vector index, in place of older work on the same memories."""
        for id in memory_ids:
            self.last_ticket += 1
            self.outbox.pop((key, id), None)
            self.outbox[key, id] = (self.last_ticket, operation)

    def drop(self, key: str) -> None:
        """Queue the dropping of a collection, in place of all else queued for it."""
        self.outbox = {name: work for name, work in self.outbox.items() if name[0] != key}
        self.queue(key, VectorOperation.DROP, [""])


def check_storable(value: Bank | ChangeSet) -> None:
    """Raise `InvalidInputError` for a text that no file can hold: what is stored is exported."""
    with common.storable():
        json.dumps(asdict(value), ensure_ascii=False, default=str).encode()


def grouped(pairs: Iterable[tuple[str, T]]) -> defaultdict[str, list[T]]:
    groups: defaultdict[str, list[T]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


# Reading by key. A reader returns the values of all keys.


def memory_of(data: BankData, record: MemoryRecord) -> Memory:
    names = tuple(data.entities[id].name for id in record.entity_ids)
    return replace(record.memory, bank_id=data.id, entities=names)


def candidate_of(data: BankData, record: MemoryRecord) -> base.Candidate:
    memory = record.memory
    proofs = sum(source.supports for source in memory.sources)
    return base.Candidate(
        *(memory.id, data.id, memory.text, memory.speaker, memory.document_id),
        *(memory.mentioned_at, memory.occurred, max(1, proofs), record.fingerprint),
        *(record.lexemes, record.vector, record.interaction or b""),
        *(tuple((id, data.entities[id].name) for id in record.entity_ids), memory.type),
        memory.kind,
    )


def of_memory(value: Callable[[BankData, MemoryRecord], T]) -> Callable[[BankData], dict[str, T]]:
    """Return the reader of a kind that is computed from one memory."""
    return lambda data: {id: value(data, record) for id, record in data.memories.items()}


def of_group(pairs: Callable[[BankData], Iterable[tuple[str, T]]]) -> Callable[[BankData], Any]:
    """Return the reader of a kind whose values are tuples, from pairs of key and element."""
    return lambda data: {key: tuple(group) for key, group in grouped(pairs(data)).items()}


def documents_of(data: BankData) -> dict[str, Document]:
    counts = Counter(chunk.document_id for chunk in data.chunks.values())
    return {
        id: replace(document, bank_id=data.id, chunk_count=counts[id])
        for id, document in sorted(data.documents.items())
    }


def chunks_by_position(data: BankData) -> list[tuple[str, Chunk]]:
    chunks = sorted(data.chunks.values(), key=lambda chunk: (chunk.position, chunk.id))
    return [(chunk.document_id, chunk) for chunk in chunks]


def entities_of(data: BankData) -> dict[str, Entity]:
    """Return all entities with what is counted of their mentions."""
    mentions, found = data.mentions(), {}
    for id, entity in sorted(data.entities.items()):
        said = [data.memories[memory].memory.mentioned_at for memory in mentions.get(id, ())]
        seen = {"first_seen": min(said, default=None), "last_seen": max(said, default=None)}
        found[id] = replace(entity, bank_id=data.id, mention_count=len(said), **seen)
    return found


def entities_named(data: BankData) -> dict[str, Entity]:
    entities = entities_of(data)
    return {norm: entities[id] for norm, id in data.owners().items()}


def cooccurrences_of(data: BankData) -> dict[str, Mapping[str, int]]:
    found: dict[str, Counter[str]] = {id: Counter() for id in data.entities}
    for record in data.memories.values():
        for one, other in permutations(record.entity_ids, 2):
            found[one][other] += 1
    return {
        id: dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
        for id, counts in found.items()
    }


_READERS: Mapping[Kind[Any], Callable[[BankData], Mapping[str, Any]]] = {
    base.MEMORY: of_memory(memory_of),
    base.RECORD: of_memory(lambda data, record: replace(record, memory=memory_of(data, record))),
    base.CANDIDATE: of_memory(candidate_of),
    base.VECTOR: of_memory(lambda _, record: record.vector),
    base.MENTIONS: of_memory(lambda _, record: record.entity_ids),
    base.CONCLUSIONS_CITING: BankData.citing,
    base.DUPLICATES: of_group(
        lambda data: (
            (record.fingerprint, id)
            for id, record in data.memories.items()
            if record.memory.invalidated_at is None
        )
    ),
    base.HISTORY: of_group(lambda data: ((c.memory_id, c) for c in data.history if not c.of_model)),
    base.MODEL_HISTORY: of_group(
        lambda data: ((c.memory_id, c) for c in data.history if c.of_model)
    ),
    base.DOCUMENT: documents_of,
    base.CHUNK: lambda data: data.chunks,
    base.DOCUMENT_CHUNKS: of_group(chunks_by_position),
    base.ENTITY: entities_of,
    base.ENTITY_NAMED: entities_named,
    base.COOCCURRENCES: cooccurrences_of,
    base.CHECKPOINT: lambda data: data.checkpoints,
}

_SCANNERS: Mapping[Kind[Any], Callable[[BankData], Iterable[Any]]] = {
    base.MEMORY_ID: lambda data: data.memories,
    base.DOCUMENT: lambda data: documents_of(data).values(),
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


# Writing


class Writing:
    """One change set in progress, on a draft of its bank."""

    def __init__(self, state: State, changes: ChangeSet) -> None:
        self.state = state
        self.changes = changes
        self.data = state.draft(changes.bank_id)
        self.affected: set[str] = set()
        """Entities that lost mentions, and are dropped in the end if none is left."""

    def apply(self) -> tuple[str, ...]:
        """Apply the parts in the order of the fields; return the ids of the memories removed."""
        changes, data = self.changes, self.data
        fingerprints = {id: document.fingerprint for id, document in data.documents.items()}
        common.check_unchanged(changes, fingerprints, data.bank.version)
        gone = self._remove_named()
        given = {document.id: document for document in changes.documents}
        common.check_records(
            data.id,
            {id: document.is_record for id, document in given.items()},
            {id: document.is_record for id, document in data.documents.items()},
        )
        data.documents |= given
        data.chunks |= {chunk.id: chunk for chunk in changes.chunks}
        entities = InMemoryEntities(data)
        entity_ids = entities.resolve(changes)
        for named in changes.names:
            entities.set_names(entity_ids[named.entity_id], names_of(named))
        for edit in changes.entity_edits:
            entities.edit(edit)
        self._add(entity_ids)
        self._replace(entity_ids)
        common.check_exists(data.id, [id for id, _ in changes.sources], data.memories)
        for id, source in changes.sources:
            self._add_sources(id, [source])
        for link in changes.links:
            if link.source_id in data.memories and link.target_id in data.memories:
                data.links[link.source_id, link.kind, link.target_id] = link
        data.history += changes.history
        data.audit += audit_of(changes, gone)
        data.models |= {model.id: model for model in changes.mental_models}
        if changes.checkpoint is not None:
            data.checkpoints[changes.checkpoint.queue] = changes.checkpoint.number
        data.pending -= set(changes.mark_consolidated)
        self._mark(changes.mark_pending)
        for staged in changes.staged:
            common.vector_bytes(staged.vector, staged.embedder.dimension)
            if staged.memory_id in data.memories:
                data.staged[staged.memory_id] = staged
        requeued = [id for id in data.memories if id in set(changes.requeue)]
        self.state.queue(data.bank.key, VectorOperation.UPSERT, requeued)
        absent = [id for id in changes.requeue if id not in data.memories]
        self.state.queue(data.bank.key, VectorOperation.DELETE, absent)
        entities.recount(self.affected)
        if changes.raises_version:
            data.bank = replace(data.bank, version=data.bank.version + 1)
        return gone

    # Memories

    def _add(self, entity_ids: Mapping[str, str]) -> None:
        records, data = self.changes.memories, self.data
        ids = [record.memory.id for record in records]
        common.check_new(data.id, ids, data.memories.keys() & set(ids))
        for id in ids:
            data.last_number += 1
            data.numbers[id] = data.last_number
        self._put(records, entity_ids)
        self._mark(r.memory.id for r in records if not common.is_conclusion(r.memory))

    def _replace(self, entity_ids: Mapping[str, str]) -> None:
        records, data = self.changes.replaced, self.data
        ids = [record.memory.id for record in records]
        common.check_exists(data.id, ids, data.memories)
        for id in ids:
            self.affected.update(data.memories[id].entity_ids)
            data.staged.pop(id, None)
        self._put(records, entity_ids)
        data.pending -= set(ids)
        self._mark(chain(ids, *common.in_order(ids, data.citing()).values()))

    def _put(self, records: Sequence[MemoryRecord], entity_ids: Mapping[str, str]) -> None:
        """Store memories, and queue the vectors that are new or others."""
        data = self.data
        for record in records:
            memory = record.memory
            vector = common.vector_bytes(record.vector, data.bank.embedder.dimension)
            old = data.memories.get(memory.id)
            if old is None or old.vector.tobytes() != vector:
                self.state.queue(data.bank.key, VectorOperation.UPSERT, [memory.id])
            metadata = json.loads(common.metadata_text(memory.metadata))
            mentioned = tuple(common.mentioned_keys(record, entity_ids))
            bare = replace(memory, metadata=metadata, sources=())
            data.memories[memory.id] = replace(record, memory=bare, entity_ids=mentioned)
        for record in records:  # their sources may be each other
            stored = self._add_sources(record.memory.id, record.memory.sources)
            supported = any(source.supports for source in stored)
            if common.is_conclusion(record.memory) and not supported:
                raise common.unsupported(data.id, record.memory.id)

    def _mark(self, ids: Iterable[str]) -> None:
        existing = common.in_order(ids, self.data.memories).items()
        self.data.pending |= {id for id, each in existing if each.memory.invalidated_at is None}

    # Sources

    def _add_sources(self, id: str, given: Iterable[Source]) -> tuple[Source, ...]:
        """Append the sources that a memory lacks and that exist; return all it has then."""
        known = (None, *self.data.memories)
        live = [source for source in given if source.memory_id in known]
        sources = tuple(dict.fromkeys((*self.data.memories[id].memory.sources, *live)))
        self._set_sources(id, sources)
        return sources

    def _remove_sources(self, column: str, lost: Collection[str]) -> list[str]:
        """Remove sources that name what is lost; return the memories that nothing supports then.

        A conclusion that is still supported is pending consolidation.
        """
        unsupported = []
        for id, record in list(self.data.memories.items()):
            had = record.memory.sources
            left = tuple(source for source in had if getattr(source, column) not in lost)
            if len(left) < len(had):
                self._set_sources(id, left)
                if not any(source.supports for source in left):
                    unsupported.append(id)
                elif common.is_conclusion(record.memory):
                    self._mark([id])
        return unsupported

    def _set_sources(self, id: str, sources: tuple[Source, ...]) -> None:
        record = self.data.memories[id]
        self.data.memories[id] = replace(record, memory=replace(record.memory, sources=sources))

    # Removal

    def _remove_named(self) -> tuple[str, ...]:
        changes, data = self.changes, self.data
        documents, chunks = set(changes.remove_documents), set(changes.remove_chunks)
        unsourced = [
            *self._remove_sources("document_id", documents),
            *self._remove_sources("chunk_id", chunks),
        ]
        for id, chunk in list(data.chunks.items()):
            if id in chunks or chunk.document_id in documents:
                del data.chunks[id]
        for id in data.documents.keys() & documents:
            del data.documents[id]
        named = [id for id in changes.remove_memories if id in data.memories]
        gone = self._remove(list(dict.fromkeys((*named, *unsourced))))
        for id in changes.remove_mental_models:
            data.models.pop(id, None)
        return gone

    def _remove(self, leaving: list[str]) -> tuple[str, ...]:
        """Remove memories, and the conclusions that nothing supports then; return all removed."""
        data = self.data
        gone: list[str] = []
        cut: set[str | None] = set()
        while leaving:
            self._forget_history(leaving)
            cut |= {s.chunk_id for id in leaving for s in data.memories[id].memory.sources}
            for id in leaving:
                self.affected.update(data.memories.pop(id).entity_ids)
                data.staged.pop(id, None)
            gone += leaving
            lost = set(leaving)
            data.pending -= lost
            for ends in list(data.links):
                if not lost.isdisjoint((ends[0], ends[2])):
                    del data.links[ends]
            self.state.queue(data.bank.key, VectorOperation.DELETE, leaving)
            leaving = self._remove_sources("memory_id", lost)
        for chunk in [chunk for chunk in data.chunks.values() if chunk.id in cut]:
            texts = (
                record.memory.text
                for record in data.memories.values()
                if any(source.chunk_id == chunk.id for source in record.memory.sources)
            )
            data.chunks[chunk.id] = replace(chunk, text=common.text_left(texts))
        return tuple(gone)

    def _forget_history(self, leaving: Sequence[str]) -> None:
        data = self.data

        def cited_once(ids: Sequence[str], name: str) -> list[str]:
            own = (c for c in data.history if not c.of_model and c.memory_id in ids)
            return [c.old for c in own if c.field == name and c.old is not None]

        given = [id for id in leaving if not data.memories[id].memory.derived]
        memories, models = common.histories_to_forget(
            *(leaving, given, data.models.values()),
            citing=lambda ids: common.in_order(ids, data.citing()),
            cited_once=cited_once,
        )
        data.history = [
            change
            for change in data.history
            if change.memory_id not in (models if change.of_model else memories)
        ]
        named = {MODEL: models, MEMORY: memories}
        data.audit = [
            replace(each, reason=None) if each.id in named.get(each.kind, ()) else each
            for each in data.audit
        ]


class InMemoryEntities(EntityWriter[str]):
    """The entities of the draft of a bank; keys are ids."""

    def __init__(self, data: BankData) -> None:
        super().__init__(data.id)
        self.data = data

    def find(self, ids: Sequence[str]) -> dict[str, str]:
        return {id: id for id in ids if id in self.data.entities}

    def new_keys(self, ids: Sequence[str]) -> Mapping[str, str]:
        return dict(zip(ids, ids, strict=True))

    def insert(self, entities: Mapping[str, Entity]) -> None:
        for id, entity in entities.items():
            self.data.entities[id] = replace(entity, name="", aliases=())

    def owners(self, norms: Iterable[str]) -> Mapping[str, str]:
        return common.in_order(norms, self.data.owners())

    def names(self, entity: str) -> dict[str, str]:
        return names_of(self.data.entities[entity])

    def add_names(self, names: Mapping[str, Mapping[str, str]]) -> None:
        for id, group in names.items():
            entity = self.data.entities[id]
            name, *aliases = filter(None, (entity.name, *entity.aliases, *group.values()))
            self.data.entities[id] = replace(entity, name=name, aliases=tuple(aliases))

    def remove_names(self, entities: Iterable[str]) -> None:
        self.insert({id: self.data.entities[id] for id in entities})

    def memories(self, ids: Iterable[str]) -> set[str]:
        return self.data.memories.keys() & set(ids)

    def mentions_beside(self, entity: str) -> dict[str, tuple[str, ...]]:
        memories = self.data.memories
        return {id: m.entity_ids for id, m in memories.items() if entity in m.entity_ids}

    def add_mentions(self, mentioned: Mapping[str, Sequence[str]]) -> None:
        for id, group in mentioned.items():
            record = self.data.memories[id]
            self.data.memories[id] = replace(record, entity_ids=tuple(group))

    def remove_mentions(self, memories: Iterable[str]) -> set[str]:
        mentioned = {id: self.data.memories[id].entity_ids for id in memories}
        self.add_mentions(dict.fromkeys(mentioned, ()))
        return set(chain.from_iterable(mentioned.values()))

    def mark_edited(self, entities: Iterable[str]) -> None:
        self.data.edited -= set(entities)
        self.data.edited |= {id for id in entities if self.data.entities[id].aliases}

    def recount(self, entities: Iterable[str]) -> None:
        kept = self.data.mentions().keys() | self.data.edited
        for id in self.data.entities.keys() & set(entities) - kept:
            del self.data.entities[id]


# The store


class InMemoryGraph:
    """A `GraphStore` that keeps everything in memory and forgets it when it is closed."""

    def __init__(self) -> None:
        self._identity = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._applier, self._applied_until = "", 0.0
        self._committed: State | None = State()

    def _now(self) -> State:
        """Return the last committed state, which nobody changes, unless the store is closed."""
        if self._committed is None:
            raise ClosedError("the store is closed; open another")
        return self._committed

    def _bank(self, bank_id: str) -> BankData:
        return self._now().bank(bank_id)

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """Yield a copy of the state, which takes its place unless an exception is raised."""
        with self._lock:
            state = self._now()
            draft = replace(state, banks=dict(state.banks), outbox=dict(state.outbox))
            yield draft
            self._committed = draft

    # Banks

    def create_bank(
        self, bank: Bank, embedder: EmbedderStamp, *, importing: str | None = None
    ) -> StoredBank:
        check_storable(bank)
        with self._writing() as state:
            state.check_free(bank.id)
            stored = StoredBank(bank, state.new_key(), embedder, importing=importing)
            state.banks[bank.id] = BankData(stored)
            return stored

    def get_bank(self, bank_id: str) -> StoredBank | None:
        data = self._now().banks.get(bank_id)
        return None if data is None or data.bank.importing is not None else data.bank

    def list_banks(
        self,
        *,
        pending_consolidation: bool = False,
        importing: bool = False,
        expired_by: datetime | None = None,
    ) -> list[StoredBank]:
        expired = (
            None
            if expired_by is None
            else MemoryFilter(now=None, include_invalid=True, expired_by=expired_by)
        )
        return [
            data.bank
            for _, data in sorted(self._now().banks.items())
            if (data.bank.importing is not None) == importing
            if data.pending or not pending_consolidation
            if expired is None or data.passing(expired)
        ]

    def update_bank(
        self,
        bank_id: str,
        bank: Bank | Callable[[Bank], Bank] | None = None,
        *,
        embedder: EmbedderStamp | None = None,
    ) -> StoredBank:
        with self._writing() as state:
            data = state.draft(bank_id)
            if callable(bank):
                bank = bank(data.bank.bank)
            if bank is not None:
                check_storable(bank)
                if bank.id != bank_id:
                    state.check_free(bank.id)
                    state.banks[bank.id] = state.banks.pop(bank_id)
                    data.bank = replace(data.bank, importing=None)
                data.bank = replace(data.bank, bank=bank)
            if embedder is not None:
                adopt(state, data, embedder)
            return data.bank

    def delete_bank(self, bank_id: str) -> None:
        with self._writing() as state:
            state.drop(state.bank(bank_id).bank.key)
            del state.banks[bank_id]

    def purge_deleted(self, limit: int = 5000) -> int:
        """Return 0: a deleted bank leaves nothing behind."""
        self._now()
        return 0

    def bank_stats(self, bank_id: str) -> BankStats:
        state = self._now()
        data = state.bank(bank_id)
        memories = [record.memory for record in data.memories.values()]
        types = Counter(memory.type for memory in memories)
        kinds = Counter(kind for _, kind, _ in data.links)
        said = [memory.mentioned_at for memory in memories]
        return BankStats(
            bank_id=bank_id,
            memories=len(memories),
            by_type={kind: types[kind] for kind in MemoryType},
            invalidated=sum(memory.invalidated_at is not None for memory in memories),
            entities=len(data.entities),
            documents=len(data.documents),
            chunks=len(data.chunks),
            links={kind: kinds[kind] for kind in LinkKind},
            pending_vectors=sum(key == data.bank.key for key, _ in state.outbox),
            first_mentioned_at=min(said, default=None),
            last_mentioned_at=max(said, default=None),
        )

    # Writing and reading

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        check_storable(changes)
        with self._writing() as state:
            return Writing(state, changes).apply()

    def read(self, bank_id: str, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
        reader = common.reader_of(_READERS, kind)
        data = self._bank(bank_id)
        wanted = list(common.spellings(keys) if kind == base.ENTITY_NAMED else dict.fromkeys(keys))
        return common.in_order(wanted, reader(data))

    def scan(self, bank_id: str, kind: Kind[T]) -> Iterator[T]:
        return iter(common.reader_of(_SCANNERS, kind)(self._bank(bank_id)))

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        data, after = self._bank(bank_id), common.after_memory(cursor)
        passing = data.passing(filter)
        rest = [id for id in passing if data.numbers[id] > after]
        shown = rest[: max(limit, 0)]
        last = data.numbers[shown[-1]] if len(rest) > len(shown) > 0 else None
        items = [memory_of(data, passing[id]) for id in shown]
        return Page(items, len(passing), None if last is None else common.memory_cursor(last))

    def filter_ids(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        return self._bank(bank_id).passing(filter).keys() & set(ids)

    def find_ids(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        found = list(self._bank(bank_id).passing(filter))
        return None if len(found) > limit else found

    def pending_consolidation(self, bank_id: str, limit: int) -> list[str]:
        data = self._bank(bank_id)
        return [id for id in data.memories if id in data.pending][: max(limit, 0)]

    # Entities

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        data, (count, last_id) = self._bank(bank_id), common.after_entity(cursor)
        entities = sorted(entities_of(data).values(), key=lambda each: -each.mention_count)
        rest = [
            each
            for each in entities
            if count is None or (-each.mention_count, each.id) > (-count, last_id)
        ]
        shown = rest[: max(limit, 0)]
        last = shown[-1] if len(rest) > len(shown) > 0 else None
        more = None if last is None else common.entity_cursor(last.mention_count, last.id)
        return Page(shown, len(entities), more)

    def surroundings(
        self,
        bank_id: str,
        entity_ids: Sequence[str],
        memory_ids: Sequence[str],
        per_entity: int,
        per_memory: int,
        filter: MemoryFilter,
        ahead: int = 0,
    ) -> base.Surroundings:
        entities = self.read(bank_id, base.ENTITY, entity_ids)
        mentions = self.read(bank_id, base.MENTIONS, memory_ids)
        mentioned = list(chain.from_iterable(mentions.values()))
        names = {id: each.name for id, each in self.read(bank_id, base.ENTITY, mentioned).items()}
        links = {id: self.links(bank_id, [id], per_memory, filter) for id in mentions}
        return base.Surroundings(
            {id: self.postings(bank_id, [id], per_entity, filter) for id in entities},
            {id: [(other, names[other]) for other in ids] for id, ids in mentions.items()},
            {id: found for id, found in links.items() if found},
        )

    def similar_entities(
        self, bank_id: str, names: Sequence[str], limit: int
    ) -> dict[str, list[Entity]]:
        return {name: self._similar(bank_id, name, limit) for name in names}

    def _similar(self, bank_id: str, name: str, limit: int) -> list[Entity]:
        data, norm = self._bank(bank_id), entity_norm(name)
        sharing: dict[str, list[tuple[str, str]]] = {gram: [] for gram in common.grams_of(norm)}
        for other, id in data.owners().items():
            for gram in sharing.keys() & set(common.grams_of(other)):
                sharing[gram].append((id, other))
        ids = common.most_similar(norm, common.names_sharing(norm, sharing), limit)
        return list(common.in_order(ids, entities_of(data)).values())

    # Searching

    def text_search(
        self,
        bank_id: str,
        lexemes: Sequence[str],
        filter: MemoryFilter,
        limit: int,
        stats: base.LexemeStats | None = None,
    ) -> list[base.TextHit]:
        data = self._bank(bank_id)
        stats = stats or lexeme_stats_of(data, lexemes)
        weights = {x: idf(count, stats.documents) for x, count in stats.frequency.items()}
        ranked = []
        for id, record in data.passing(filter).items():
            held = weights.keys() & set(record.lexemes)
            if held:
                ranked.append((-fsum(weights[x] for x in held), -data.numbers[id], id))
        best = [id for _, _, id in sorted(ranked)[: max(limit, 0)]]
        return [base.TextHit(id, data.memories[id].lexemes) for id in best]

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> base.LexemeStats:
        return lexeme_stats_of(self._bank(bank_id), lexemes)

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[base.TimeHit]:
        middle = common.micros(window.start) + common.micros(window.end)
        nearest = []
        for id, record in self._bank(bank_id).passing(filter).items():
            rows = predicate.times_in(record.memory, window)
            if rows:
                row = min(rows, key=lambda row: (abs(row.middle - middle), row.ordinal))
                nearest.append((abs(row.middle - middle), id, row))
        hits = []
        for _, id, row in sorted(nearest)[: max(limit, 0)]:
            start, end = common.timestamp(row.start), common.timestamp(row.end)
            kind = base.TimeKind.OCCURRED if row.ordinal else base.TimeKind.MENTIONED
            hits.append(base.TimeHit(id, TimeSpan(start, end, row.precision), kind))
        return hits

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[base.Posting]:
        data, found = self._bank(bank_id), []
        mentions, passing = data.mentions(), data.passing(filter)
        for id in dict.fromkeys(entity_ids):
            mentioning = mentions.get(id, [])
            latest = [memory for memory in reversed(mentioning) if memory in passing]
            found += [
                base.Posting(id, memory, len(mentioning)) for memory in latest[: max(per_entity, 0)]
            ]
        return found

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        data = self._bank(bank_id)
        passing = data.passing(filter)
        sides: defaultdict[str, list[tuple[float, str, LinkKind, bool, Link]]] = defaultdict(list)
        for link in data.links.values():
            source, target, order = link.source_id, link.target_id, -link.weight
            if source in passing and target in passing:
                sides[source].append((order, target, link.kind, True, link))
                sides[target].append((order, source, link.kind, False, link))
        found: dict[Link, None] = {}
        for id in dict.fromkeys(memory_ids):
            heaviest = sorted(sides.get(id, ()), key=lambda side: side[:4])[: max(per_memory, 0)]
            found |= dict.fromkeys(link for *_, link in heaviest)
        return list(found)

    def neighbours(
        self, bank_id: str, ids: Sequence[str], distance: int, filter: MemoryFilter
    ) -> list[base.Neighbour]:
        data, size = self._bank(bank_id), max(distance, 0)
        places = sorted(
            (record.memory.sources[0].position, data.numbers[id], id, record.memory.document_id)
            for id, record in data.memories.items()
            if record.memory.invalidated_at is None and record.memory.document_id is not None
        )
        ordered = grouped((str(document_id), id) for _, _, id, document_id in places)
        index = {id: (group, n) for group in ordered.values() for n, id in enumerate(group)}
        found = []
        for id in dict.fromkeys(ids):
            if id in index:
                group, n = index[id]
                before = group[max(n - size, 0) : n][::-1]
                found += common.neighbours_around(id, before, group[n + 1 : n + 1 + size])
        passing = data.passing(filter)
        return [each for each in found if each.neighbour_id in passing]

    # The outbox, and the store itself

    def pending_vectors(self, limit: int, bank_key: str | None = None) -> list[PendingVector]:
        state = self._now()
        queue = [item for item in state.outbox.items() if bank_key in (None, item[0][0])]
        banks = {data.bank.key: data for data in state.banks.values()}
        return [
            PendingVector(
                *(ticket, key, operation, id),
                banks[key].memories[id].vector if operation is VectorOperation.UPSERT else None,
            )
            for (key, id), (ticket, operation) in queue[: max(limit, 0)]
        ]

    def acknowledge(self, tickets: Iterable[int]) -> set[int]:
        with self._writing() as state:
            done = {ticket for ticket, _ in state.outbox.values()}.intersection(tickets)
            state.outbox = {k: work for k, work in state.outbox.items() if work[0] not in done}
            return done

    def claim_outbox(self, holder: str, seconds: float) -> bool:
        with self._lock:
            if self._applier not in ("", holder) and time.monotonic() < self._applied_until:
                return False
            self._applier, self._applied_until = holder, time.monotonic() + seconds
            return True

    def identity(self) -> str:
        return self._identity

    def check(self, *, repair: bool) -> list[base.StoreFault]:
        """Return no faults: nothing that follows from other values is stored."""
        self._now()
        return []

    def close(self) -> None:
        with self._lock:
            self._committed = None


def lexeme_stats_of(data: BankData, lexemes: Iterable[str]) -> base.LexemeStats:
    memories = data.memories.values()
    valid = [each.lexemes for each in memories if each.memory.invalidated_at is None]
    counts = common.in_order(lexemes, common.lexeme_counts(valid))
    return common.lexeme_statistics(len(valid), sum(map(len, valid)), lexemes, counts)


def adopt(state: State, data: BankData, embedder: EmbedderStamp) -> None:
    """Replace the vectors of a bank by those staged with `embedder`, under a new key."""
    staged = {id: each for id, each in data.staged.items() if each.embedder == embedder}
    if lacking := len(data.memories.keys() - staged.keys()):
        raise StoreError(common.no_staged_vector(data.id, lacking, embedder.id))
    state.drop(data.bank.key)
    data.bank = replace(data.bank, key=state.new_key(), embedder=embedder)
    data.staged = {}
    for id, record in data.memories.items():
        new = staged[id]
        data.memories[id] = replace(record, vector=new.vector, interaction=new.interaction)
    state.queue(data.bank.key, VectorOperation.UPSERT, data.memories)
