"""Import of a file into a bank that exists: what it has stays, and the rest is added.

Each batch is one transaction of the living bank, and adds nothing that the bank has: a merge that
was interrupted is finished by the same call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.acting import acting
from hindsight_integrations.errors import ConflictError, StoreError
from hindsight_integrations.export_import.bank_file import Evidence, Part, batches, parts_of
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Bank,
    Chunk,
    Document,
    Entity,
    Link,
    Memory,
    MentalModel,
    Source,
    is_conclusion,
    utc_now,
)
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain.deduplication import same_statement
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.audit import MEMORY as MEMORY_KIND
from hindsight_integrations.stores.base import (
    AUDIT,
    CHUNK,
    DOCUMENT,
    DUPLICATES,
    ENTITY,
    ENTITY_NAMED,
    EVERYTHING,
    MEMORY,
    MENTAL_MODEL,
    ChangeSet,
    EntityNames,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.integrity import unreadable_error

IMPORT = "import"
"""Action, in the audit, of adding a memory by a merge."""

SHOWN = 5
"""Documents that an error names."""


@dataclass(slots=True)
class Contents:
    """Parts of a file that have to be known before the first is stored.

    Attributes:
        documents: fingerprint of each document, by id.
        conclusions: ids of the memories whose evidence comes in lines of its own.
        edited: names that a user gave, by entity.
        history: changes of each memory, and of each mental model.
    """

    documents: dict[str, str] = field(default_factory=dict)
    conclusions: set[str] = field(default_factory=set)
    edited: dict[str, EntityNames] = field(default_factory=dict)
    history: defaultdict[tuple[bool, str], list[Change]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def note(self, part: object) -> None:
        """Note what is needed of a part."""
        if isinstance(part, Document):
            self.documents[part.id] = part.fingerprint
        elif isinstance(part, Evidence):
            self.conclusions.add(part.memory_id)
        elif isinstance(part, EntityNames):
            self.edited[part.entity_id] = part
        elif isinstance(part, Change):
            self.history[part.of_model, part.memory_id].append(part)


class Merge:
    """Adds the parts of a file to a bank, in their order; under the bank's lock.

    Attributes:
        known: number of the file's memories that the bank had already.
    """

    def __init__(self, runtime: Runtime, stored: StoredBank, contents: Contents) -> None:
        self.known = 0
        self._runtime = runtime
        self._graph = runtime.graph
        self._key = stored.key
        self._bank = stored.bank
        self._contents = contents
        self._without_evidence: dict[str, MemoryRecord] = {}
        """Conclusions whose evidence has not been read yet."""
        self._entities: dict[str, Entity] = {}
        """Entity of the bank for each entity of the file, by id."""
        self._memories: dict[str, str] = {}
        """Id of the bank's memory for each memory of the file."""
        self._cited_conclusions: list[tuple[str, Source]] = []
        """Sources of conclusions that are conclusions themselves."""
        self._audited: set[AuditEntry] | None = None

    def check_documents(self) -> None:
        """Check that no document of the file is another one of the bank.

        Raises:
            ConflictError: one is.
        """
        fingerprints = self._contents.documents
        stored = self._graph.read(self._bank.id, DOCUMENT, [*fingerprints])
        differing = [id for id in stored if stored[id].fingerprint != fingerprints[id]]
        if differing:
            names = ", ".join(map(repr, differing[:SHOWN]))
            more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
            raise ConflictError(
                f"bank {self._bank.id!r} has other versions of {names}{more}. Nothing was "
                "imported; forget those documents in one of the banks, or import the file "
                "under an unused id (bank_id=..., --bank)"
            )

    def keep_apart(self, bank: Bank) -> None:
        """Add the names that the file's bank keeps apart."""

        def with_both(stored: Bank) -> Bank:
            pairs = dict.fromkeys((*stored.kept_apart, *bank.kept_apart))
            return replace(stored, kept_apart=tuple(pairs))

        if not {*bank.kept_apart}.issubset(self._bank.kept_apart):
            self._graph.update_bank(self._bank.id, with_both)

    def add(self, parts: Iterable[Part], report: Callable[[int], None]) -> None:
        """Add the parts.

        Args:
            parts: of the file, in its order.
            report: called with the number of parts that are done.
        """
        done = 0
        for batch in batches(parts):
            for change in self._changes(batch):
                self._graph.apply(change)
            self._runtime.flush(self._key)
            done += len(batch)
            report(done)
        # A conclusion may rest on one that came after it.
        sources = tuple(self._cited_conclusions)
        self._graph.apply(ChangeSet(self._bank.id, sources=sources, audit=()))

    def _changes(self, batch: list[Part]) -> Iterator[ChangeSet]:
        """Yield the change sets of a batch; each is made after the one before was applied."""
        id = self._bank.id
        yield ChangeSet(id, documents=self._documents(batch), chunks=self._chunks(batch), audit=())
        yield self._entity_changes(parts_of(batch, Entity))
        yield self._memory_changes(self._without_conclusions(parts_of(batch, MemoryRecord)))
        yield self._memory_changes([self._with_evidence(e) for e in parts_of(batch, Evidence)])
        yield self._mental_model_changes(parts_of(batch, MentalModel))
        yield ChangeSet(
            id,
            links=tuple(self._links(parts_of(batch, Link))),
            audit=tuple(self._audit(parts_of(batch, AuditEntry))),
        )

    def _documents(self, batch: list[Part]) -> tuple[Document, ...]:
        """Return the documents that the bank lacks."""
        given = parts_of(batch, Document)
        stored = self._graph.read(self._bank.id, DOCUMENT, [document.id for document in given])
        return tuple(document for document in given if document.id not in stored)

    def _chunks(self, batch: list[Part]) -> tuple[Chunk, ...]:
        """Return the chunks that the bank lacks, or has a shorter text of."""
        given = parts_of(batch, Chunk)
        stored = self._graph.read(self._bank.id, CHUNK, [chunk.id for chunk in given])
        return tuple(
            chunk
            for chunk in given
            if chunk.id not in stored or len(stored[chunk.id].text) < len(chunk.text)
        )

    def _entity_changes(self, given: Sequence[Entity]) -> ChangeSet:
        """Return the change that adds entities and names, and map each entity to the bank's.

        An entity is the bank's entity of the same id, or else of the same name. An alias that is
        the name of another entity there is left to that one.
        """
        names = [name for entity in given for name in entity.names]
        owners = self._graph.read(self._bank.id, ENTITY_NAMED, names)
        stored = self._graph.read(self._bank.id, ENTITY, [entity.id for entity in given])
        added: list[Entity] = []
        edits: list[EntityNames] = []
        for entity in given:
            known = stored.get(entity.id) or owners.get(entity_norm(entity.name))
            free = tuple(name for name in entity.aliases if entity_norm(name) not in owners)
            self._entities[entity.id] = known or entity
            if known is None:
                added.append(replace(entity, aliases=free))
                if entity.id in self._contents.edited:
                    edits.append(EntityNames(entity.id, entity.name, free))
            elif free:
                added.append(replace(known, aliases=free))
        return ChangeSet(self._bank.id, entities=tuple(added), entity_edits=tuple(edits), audit=())

    def _without_conclusions(self, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Return the other records; conclusions are set aside until their evidence is read."""
        conclusions = self._contents.conclusions
        self._without_evidence |= {r.memory.id: r for r in records if r.memory.id in conclusions}
        return [record for record in records if record.memory.id not in conclusions]

    def _with_evidence(self, evidence: Evidence) -> MemoryRecord:
        """Return a conclusion that was set aside, its sources naming memories of the bank.

        Raises:
            StoreError: the file has no such conclusion, or its evidence twice.
        """
        record = self._without_evidence.pop(evidence.memory_id, None)
        if record is None:
            raise _contradiction(f"it has evidence of {evidence.memory_id!r} without its statement")
        sources: dict[str | None, Source] = {}
        for source in evidence.sources:
            id = source.memory_id and self._memories.get(source.memory_id, source.memory_id)
            sources.setdefault(id, replace(source, memory_id=id))
            if source.memory_id in self._contents.conclusions:
                self._cited_conclusions.append((evidence.memory_id, source))
        return replace(record, memory=replace(record.memory, sources=tuple(sources.values())))

    def _memory_changes(self, records: Sequence[MemoryRecord]) -> ChangeSet:
        """Return the change that adds memories, and new sources of those that the bank has."""
        new: list[MemoryRecord] = []
        sources: list[tuple[str, Source]] = []
        for record, known_id in zip(records, self._known_ids(records), strict=True):
            memory = record.memory
            self._memories[memory.id] = known_id or memory.id
            if known_id is None:
                new.append(self._adopted(record))
                continue
            self.known += 1
            if not is_conclusion(memory):
                sources += ((known_id, source) for source in memory.sources)
        history = self._contents.history
        actor, reason = acting()
        return ChangeSet(
            self._bank.id,
            memories=tuple(new),
            sources=tuple(sources),
            history=tuple(change for each in new for change in history[False, each.memory.id]),
            audit=tuple(
                AuditEntry(utc_now(), IMPORT, MEMORY_KIND, each.memory.id, actor, reason)
                for each in new
            ),
        )

    def _known_ids(self, records: Sequence[MemoryRecord]) -> list[str | None]:
        """Return the id that the bank has each memory under: its own, or that of an equal one."""
        bank_id, graph = self._bank.id, self._graph
        stored = self._stored_ids([record.memory.id for record in records])
        equal_ids = graph.read(bank_id, DUPLICATES, list({r.fingerprint for r in records}))
        # It lacks those that cannot be read, and those that another process has just deleted.
        equal = graph.read(
            bank_id, MEMORY, sorted({id for ids in equal_ids.values() for id in ids})
        )
        known_ids: list[str | None] = []
        for record in records:
            memory = record.memory
            same = (
                id
                for id in equal_ids.get(record.fingerprint, ())
                if id in equal and _says_the_same(memory, equal[id])
            )
            known_ids.append(memory.id if memory.id in stored else next(same, None))
        return known_ids

    def _stored_ids(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that the bank has.

        Raises:
            StoreCorruptError: the bank has one of them, and cannot read it.
        """
        bank_id, graph = self._bank.id, self._graph
        stored = graph.filter_ids(bank_id, ids, EVERYTHING)
        unread = stored - graph.read(bank_id, MEMORY, sorted(stored)).keys()
        # Asked again, as another process may have deleted some before they were read.
        if unread and (damaged := graph.filter_ids(bank_id, sorted(unread), EVERYTHING)):
            raise unreadable_error(bank_id, min(damaged))
        return stored - unread

    def _adopted(self, record: MemoryRecord) -> MemoryRecord:
        """Return a memory with the bank's entities and times to live.

        Raises:
            StoreError: it mentions an entity that the file does not have.
        """
        if lacking := [id for id in record.entity_ids if id not in self._entities]:
            raise _contradiction(
                f"its memory {record.memory.id!r} mentions {lacking[0]!r}, an entity it lacks"
            )
        entities = {each.id: each for each in map(self._entities.__getitem__, record.entity_ids)}
        names = tuple(each.name for each in entities.values())
        memory = replace(record.memory, entities=names)
        return replace(
            record, memory=self._bank.expiry.applied_to(memory), entity_ids=tuple(entities)
        )

    def _links(self, given: Sequence[Link]) -> Iterator[Link]:
        for link in given:
            source, target = (self._memories.get(id, id) for id in (link.source_id, link.target_id))
            if source != target:
                yield replace(link, source_id=source, target_id=target)

    def _mental_model_changes(self, given: Sequence[MentalModel]) -> ChangeSet:
        stored = self._graph.scan(self._bank.id, MENTAL_MODEL) if given else ()
        known = {model.id for model in stored}
        new = [model for model in given if model.id not in known]
        history = self._contents.history
        return ChangeSet(
            self._bank.id,
            mental_models=tuple(new),
            history=tuple(change for model in new for change in history[True, model.id]),
            audit=(),
        )

    def _audit(self, given: Sequence[AuditEntry]) -> list[AuditEntry]:
        """Return the entries that the bank lacks; its own are read once."""
        if given and self._audited is None:
            self._audited = set(self._graph.scan(self._bank.id, AUDIT))
        return [entry for entry in given if entry not in (self._audited or ())]


def _contradiction(what: str) -> StoreError:
    """Return the error for a file whose parts do not fit together."""
    return StoreError(
        f"the file contradicts itself: {what}. What comes before that was merged; export the bank "
        "again, and merge the new file"
    )


def _says_the_same(new: Memory, old: Memory) -> bool:
    """Return True if two memories with the same words are one, and `new` adds no mark to it."""
    if new.invalidated_at is not None or new.pinned > old.pinned:
        return False
    if is_conclusion(new) != is_conclusion(old):
        return False
    if is_conclusion(new):
        return (new.type, new.scope) == (old.type, old.scope)
    return same_statement(new, old, 1.0)
