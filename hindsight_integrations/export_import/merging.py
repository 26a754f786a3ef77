"""Import of a file into a bank that exists: what it has stays, and the rest is added.

Each batch is one transaction of the living bank, and adds nothing that the bank has: a merge that
was interrupted is finished by the same call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hindsight_integrations.acting import acting
from hindsight_integrations.errors import ConflictError
from hindsight_integrations.export_import.bank_file import Evidence, Part, batches
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
    MEMORY,
    MENTAL_MODEL,
    ChangeSet,
    EntityNames,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.common import is_conclusion

T = TypeVar("T")

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
        self._records: dict[str, MemoryRecord] = {}
        """Conclusions that wait for their evidence."""
        self._entities: dict[str, Entity] = {}
        """Entity of the bank for each entity of the file."""
        self._memories: dict[str, str] = {}
        """Memory of the bank for each memory of the file."""
        self._between: list[tuple[str, Source]] = []
        """Sources of conclusions that are conclusions themselves."""
        self._audited: set[AuditEntry] | None = None

    def check(self, documents: Mapping[str, str]) -> None:
        """Check that no document of the file is another one of the bank.

        Raises:
            ConflictError: one is.
        """
        here = self._graph.read(self._bank.id, DOCUMENT, [*documents])
        other = [id for id, document in here.items() if document.fingerprint != documents[id]]
        if other:
            names = ", ".join(map(repr, other[:SHOWN]))
            more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
            raise ConflictError(
                f"bank {self._bank.id!r} has other versions of {names}{more}. Nothing was "
                "imported; forget those documents in one of the banks, or import the file "
                "under an unused id (bank_id=..., --bank)"
            )

    def keep_apart(self, bank: Bank) -> None:
        """Add the names that the file's bank keeps apart."""
        apart = dict.fromkeys((*self._bank.kept_apart, *bank.kept_apart))
        if len(apart) > len(self._bank.kept_apart):
            self._graph.update_bank(
                self._bank.id,
                lambda now: replace(
                    now, kept_apart=tuple(dict.fromkeys((*now.kept_apart, *bank.kept_apart)))
                ),
            )

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
        self._graph.apply(ChangeSet(self._bank.id, sources=tuple(self._between), audit=()))

    def _changes(self, batch: list[Part]) -> Iterator[ChangeSet]:
        id = self._bank.id
        yield ChangeSet(id, documents=self._documents(batch), chunks=self._chunks(batch), audit=())
        yield self._learned(_of(batch, Entity))
        yield self._added([each for each in _of(batch, MemoryRecord) if self._is_plain(each)])
        yield self._added([self._supported(each) for each in _of(batch, Evidence)])
        yield self._modelled(_of(batch, MentalModel))
        yield ChangeSet(
            id,
            links=tuple(self._links(_of(batch, Link))),
            audit=tuple(self._audit(_of(batch, AuditEntry))),
        )

    def _documents(self, batch: list[Part]) -> tuple[Document, ...]:
        given = _of(batch, Document)
        here = self._graph.read(self._bank.id, DOCUMENT, [each.id for each in given])
        return tuple(each for each in given if each.id not in here)

    def _chunks(self, batch: list[Part]) -> tuple[Chunk, ...]:
        """Return chunks that the bank lacks, or of whose text it holds less."""
        given = _of(batch, Chunk)
        here = self._graph.read(self._bank.id, CHUNK, [each.id for each in given])
        return tuple(
            each
            for each in given
            if each.id not in here or len(here[each.id].text) < len(each.text)
        )

    def _learned(self, given: list[Entity]) -> ChangeSet:
        """Return the change that adds entities and names; of all, note what they are here.

        An entity is that of the bank which has its name, among others; a name that is another
        entity's there is left to that.
        """
        named = [name for each in given for name in (each.name, *each.aliases)]
        taken = self._graph.read(self._bank.id, ENTITY_NAMED, named)
        same = self._graph.read(self._bank.id, ENTITY, [each.id for each in given])
        learned: list[Entity] = []
        edited: list[EntityNames] = []
        for each in given:
            here = same.get(each.id) or taken.get(entity_norm(each.name))
            free = tuple(name for name in each.aliases if entity_norm(name) not in taken)
            self._entities[each.id] = here or each
            if here is None:
                learned.append(replace(each, aliases=free))
                if each.id in self._contents.edited:
                    edited.append(EntityNames(each.id, each.name, free))
            elif free:
                learned.append(replace(here, aliases=free))
        return ChangeSet(
            self._bank.id, entities=tuple(learned), entity_edits=tuple(edited), audit=()
        )

    def _is_plain(self, record: MemoryRecord) -> bool:
        """Return False for a conclusion, which is kept until its evidence comes."""
        if record.memory.id in self._contents.conclusions:
            self._records[record.memory.id] = record
            return False
        return True

    def _supported(self, evidence: Evidence) -> MemoryRecord:
        record = self._records.pop(evidence.memory_id)
        sources: dict[str | None, Source] = {}
        for source in evidence.sources:
            id = source.memory_id and self._memories.get(source.memory_id, source.memory_id)
            sources.setdefault(id, replace(source, memory_id=id))
            if source.memory_id in self._contents.conclusions:
                self._between.append((evidence.memory_id, source))
        return replace(record, memory=replace(record.memory, sources=tuple(sources.values())))

    def _added(self, records: list[MemoryRecord]) -> ChangeSet:
        """Return the change that adds memories, and new sources of those that the bank has."""
        here = self._graph.read(self._bank.id, MEMORY, [each.memory.id for each in records])
        prints = self._graph.read(
            self._bank.id, DUPLICATES, list({each.fingerprint for each in records})
        )
        alike = self._graph.read(
            self._bank.id, MEMORY, sorted({id for ids in prints.values() for id in ids})
        )
        new: list[MemoryRecord] = []
        sources: list[tuple[str, Source]] = []
        for record in records:
            memory = record.memory
            same = memory.id if memory.id in here else None
            for id in prints.get(record.fingerprint, ()):
                if same is None and _same(memory, alike[id]):
                    same = id
            self._memories[memory.id] = same or memory.id
            if same is None:
                new.append(self._adopted(record))
                continue
            self.known += 1
            if not is_conclusion(memory):
                sources += ((same, source) for source in memory.sources)
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

    def _adopted(self, record: MemoryRecord) -> MemoryRecord:
        """Return a memory with the bank's entities and times to live."""
        entities = {each.id: each for each in map(self._entities.__getitem__, record.entity_ids)}
        names = tuple(each.name for each in entities.values())
        memory = replace(record.memory, entities=names)
        return replace(
            record, memory=self._bank.expiry.applied_to(memory), entity_ids=tuple(entities)
        )

    def _links(self, given: list[Link]) -> Iterator[Link]:
        for link in given:
            source, target = (self._memories.get(id, id) for id in (link.source_id, link.target_id))
            if source != target:
                yield replace(link, source_id=source, target_id=target)

    def _modelled(self, given: list[MentalModel]) -> ChangeSet:
        here = {each.id for each in self._graph.scan(self._bank.id, MENTAL_MODEL)} if given else ()
        new = [each for each in given if each.id not in here]
        history = self._contents.history
        return ChangeSet(
            self._bank.id,
            mental_models=tuple(new),
            history=tuple(change for each in new for change in history[True, each.id]),
            audit=(),
        )

    def _audit(self, given: list[AuditEntry]) -> Iterator[AuditEntry]:
        if given and self._audited is None:
            self._audited = set(self._graph.scan(self._bank.id, AUDIT))
        return (each for each in given if each not in (self._audited or ()))


def _same(new: Memory, old: Memory) -> bool:
    """Return True if two memories with the same words say the same, and neither is marked."""
    if new.invalidated_at is not None or new.pinned > old.pinned:
        return False
    if is_conclusion(new) or is_conclusion(old):
        return (
            is_conclusion(new)
            and is_conclusion(old)
            and (new.type, new.scope)
            == (
                old.type,
                old.scope,
            )
        )
    return same_statement(new, old, 1.0)


def _of(batch: Iterable[object], kind: type[T]) -> list[T]:
    return [part for part in batch if isinstance(part, kind)]
