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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from itertools import chain
from typing import TypeVar

from hindsight_integrations.errors import ClosedError
from hindsight_integrations.models import (
    Bank,
    BankStats,
    Entity,
    Link,
    Memory,
    Page,
    Source,
    is_conclusion,
)
from hindsight_integrations.stores import base
from hindsight_integrations.stores.audit import audit_of
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    Kind,
    MemoryFilter,
    MemoryRecord,
    PendingVector,
    StagedVector,
    StoredBank,
    VectorOperation,
)
from hindsight_integrations.stores.encoding import metadata_text, vector_bytes
from hindsight_integrations.stores.entities import EntityWriter, mentioned_keys, names_of
from hindsight_integrations.stores.reads import in_order
from hindsight_integrations.stores.refusals import (
    bank_exists,
    check_exists,
    check_new,
    check_records,
    check_unchanged,
    no_bank,
    no_staged_vector,
    storable,
    unsupported,
)
from hindsight_integrations.stores.removal import text_left
from hindsight_integrations.timespan import TimeSpan

from .plain_bank import PlainBank

T = TypeVar("T")


# What is stored


@dataclass
class BankData(PlainBank):
    """A bank with the vectors staged for it."""

    staged: dict[str, StagedVector] = field(default_factory=dict)


@dataclass
class State:
    """All banks, and the outbox: (bank key, memory id) to ticket and operation, oldest first."""

    banks: dict[str, BankData] = field(default_factory=dict)
    outbox: dict[tuple[str, str], tuple[int, VectorOperation]] = field(default_factory=dict)
    last_ticket: int = 0
    last_key: int = 0

    def bank(self, bank_id: str) -> BankData:
        if bank_id not in self.banks:
            raise no_bank(bank_id)
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
            raise bank_exists(bank_id)

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
    with storable():
        json.dumps(asdict(value), ensure_ascii=False, default=str).encode()


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
        check_unchanged(changes, fingerprints, data.bank.version)
        gone = self._remove_named()
        given = {document.id: document for document in changes.documents}
        check_records(
            data.id,
            {id: document.is_record for id, document in given.items()},
            {id: document.is_record for id, document in data.documents.items()},
        )
        data.documents |= given
        data.chunks |= {chunk.id: chunk for chunk in changes.chunks}
        entities = InMemoryEntities(data)
        entity_ids = entities.resolve(changes)
        entities.set_names({entity_ids[each.entity_id]: names_of(each) for each in changes.names})
        entities.set_kinds({entity_ids[id]: kind for id, kind in changes.kinds})
        for edit in changes.entity_edits:
            entities.edit(edit)
        self._add(entity_ids)
        self._replace(entity_ids)
        check_exists(data.id, [id for id, _ in changes.sources], data.memories)
        for id, source in changes.sources:
            self._add_sources(id, [source])
        for link in changes.links:
            if link.source_id in data.memories and link.target_id in data.memories:
                data.links[link.source_id, link.kind, link.target_id] = link
        data.history += changes.history
        data.audit += audit_of(changes, gone)
        data.models |= {model.id: model for model in changes.mental_models}
        if (checkpoint := changes.checkpoint) is not None:
            data.note(checkpoint)
        data.pending -= set(changes.mark_consolidated)
        self._mark(changes.mark_pending)
        for staged in changes.staged:
            vector_bytes(staged.vector, staged.embedder.dimension)
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
        check_new(data.id, ids, data.memories.keys() & set(ids))
        for id in ids:
            data.last_number += 1
            data.numbers[id] = data.last_number
        self._put(records, entity_ids)
        self._mark(r.memory.id for r in records if not is_conclusion(r.memory))

    def _replace(self, entity_ids: Mapping[str, str]) -> None:
        records, data = self.changes.replaced, self.data
        ids = [record.memory.id for record in records]
        check_exists(data.id, ids, data.memories)
        for id in ids:
            self.affected.update(data.memories[id].entity_ids)
            data.staged.pop(id, None)
        self._put(records, entity_ids)
        data.pending -= set(ids)
        self._mark(chain(ids, *in_order(ids, data.citing()).values()))

    def _put(self, records: Sequence[MemoryRecord], entity_ids: Mapping[str, str]) -> None:
        """Store memories, and queue the vectors that are new or others."""
        data = self.data
        for record in records:
            memory = record.memory
            vector = vector_bytes(record.vector, data.bank.embedder.dimension)
            old = data.memories.get(memory.id)
            if old is None or old.vector.tobytes() != vector:
                self.state.queue(data.bank.key, VectorOperation.UPSERT, [memory.id])
            metadata = json.loads(metadata_text(memory.metadata))
            mentioned = tuple(mentioned_keys(record, entity_ids))
            bare = replace(memory, metadata=metadata, sources=())
            data.memories[memory.id] = replace(record, memory=bare, entity_ids=mentioned)
        for record in records:  # their sources may be each other
            stored = self._add_sources(record.memory.id, record.memory.sources)
            supported = any(source.supports for source in stored)
            if is_conclusion(record.memory) and not supported:
                raise unsupported(data.id, record.memory.id)

    def _mark(self, ids: Iterable[str]) -> None:
        existing = in_order(ids, self.data.memories).items()
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
                elif is_conclusion(record.memory):
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
            data.forget_history(leaving)
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
            data.chunks[chunk.id] = replace(chunk, text=text_left(texts))
        return tuple(gone)


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

    def set_kinds(self, kinds: Mapping[str, str]) -> None:
        for id, kind in kinds.items():
            self.data.entities[id] = replace(self.data.entities[id], kind=kind)

    def owners(self, norms: Iterable[str]) -> Mapping[str, str]:
        return in_order(norms, self.data.owners())

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
        self._applier, self._applied_until, self._index_note = "", 0.0, ""
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
        self, bank: Bank, embedder: EmbedderIdentity, *, importing: str | None = None
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
        leaving: bool = False,
        expired_by: datetime | None = None,
    ) -> list[StoredBank]:
        return [
            data.bank
            for _, data in sorted(self._now().banks.items())
            if (data.bank.importing is not None) == importing
            if data.pending or not pending_consolidation
            if data.bank.leaving is not None or not leaving
            if expired_by is None or data.has_expired(expired_by)
        ]

    def update_bank(
        self,
        bank_id: str,
        bank: Bank | Callable[[Bank], Bank] | None = None,
        *,
        embedder: EmbedderIdentity | None = None,
        leaving: bool = False,
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
            if leaving:
                data.bank = replace(data.bank, leaving=bank_id)
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
        return data.stats(sum(key == data.bank.key for key, _ in state.outbox))

    # Writing and reading

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        check_storable(changes)
        with self._writing() as state:
            return Writing(state, changes).apply()

    def read(self, bank_id: str, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
        return self._bank(bank_id).read(kind, keys)

    def scan(self, bank_id: str, kind: Kind[T]) -> Iterator[T]:
        return self._bank(bank_id).scan(kind)

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        return self._bank(bank_id).list_memories(filter, limit=limit, cursor=cursor)

    def filter_ids(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        return self._bank(bank_id).passing(filter).keys() & set(ids)

    def find_ids(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        found = list(self._bank(bank_id).passing(filter))
        return None if len(found) > limit else found

    def pending_consolidation(self, bank_id: str, limit: int) -> list[str]:
        data = self._bank(bank_id)
        return [id for id in data.memories if id in data.pending][: max(limit, 0)]

    # Entities and searching

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        return self._bank(bank_id).list_entities(limit=limit, cursor=cursor)

    def similar_entities(
        self, bank_id: str, names: Sequence[str], limit: int
    ) -> dict[str, list[Entity]]:
        return self._bank(bank_id).similar_entities(names, limit)

    def mentioned_together(
        self, bank_id: str, entity_ids: Sequence[str], among: Sequence[str]
    ) -> dict[str, set[str]]:
        return self._bank(bank_id).mentioned_together(entity_ids, among)

    def text_search(
        self,
        bank_id: str,
        lexemes: Sequence[str],
        filter: MemoryFilter,
        limit: int,
        stats: base.LexemeStats | None = None,
    ) -> list[base.TextHit]:
        return self._bank(bank_id).text_search(lexemes, filter, limit, stats)

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> base.LexemeStats:
        return self._bank(bank_id).lexeme_stats(lexemes)

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[base.TimeHit]:
        return self._bank(bank_id).time_search(window, filter, limit)

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[base.Posting]:
        return self._bank(bank_id).postings(entity_ids, per_entity, filter)

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        return self._bank(bank_id).links_of(memory_ids, per_memory, filter)

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
        limits = (per_entity, per_memory, filter)
        return self._bank(bank_id).surroundings(entity_ids, memory_ids, *limits)

    def places(self, bank_id: str, after: int, limit: int) -> list[base.Place]:
        return self._bank(bank_id).places(after, limit)

    def neighbours(
        self, bank_id: str, ids: Sequence[str], distance: int, filter: MemoryFilter
    ) -> list[base.Neighbour]:
        return self._bank(bank_id).neighbours(ids, distance, filter)

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

    def note_index(self, change: Callable[[str, float], str]) -> None:
        with self._lock:
            self._index_note = change(self._index_note, time.time())

    def identity(self) -> str:
        return self._identity

    def check(self, *, repair: bool) -> list[base.StoreFault]:
        """Return no faults: nothing that follows from other values is stored."""
        self._now()
        return []

    def close(self) -> None:
        with self._lock:
            self._committed = None


def adopt(state: State, data: BankData, embedder: EmbedderIdentity) -> None:
    """Replace the vectors of a bank by those staged with `embedder`, under a new key."""
    staged = {id: each for id, each in data.staged.items() if each.embedder == embedder}
    if lacking := sorted(data.memories.keys() - staged.keys()):
        raise no_staged_vector(data.id, lacking, embedder.id)
    state.drop(data.bank.key)
    data.bank = replace(data.bank, key=state.new_key(), embedder=embedder)
    data.staged = {}
    for id, record in data.memories.items():
        new = staged[id]
        data.memories[id] = replace(record, vector=new.vector, interaction=new.interaction)
    state.queue(data.bank.key, VectorOperation.UPSERT, data.memories)
