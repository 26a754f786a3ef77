"""`memory.entities`: the people, places and things of a bank, and corrections to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, product

from hindsight_integrations import display, validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import (
    EntityNotFoundError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import Bank, Entity, Memory, Page, TimeSpan, utc_now
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.normalization import entity_norm, new_id, pair_digest
from hindsight_integrations.retain.merge_suggestions import MergeSuggestion, merge_suggestions
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    COOCCURRENCES,
    ENTITY,
    ENTITY_NAMED,
    MENTIONS,
    ChangeSet,
    EntityMerge,
    EntityNames,
    EntityRemoval,
    EntitySplit,
    MemoryFilter,
    StoredBank,
)
from hindsight_integrations.stores.reads import every_memory, read_one
from hindsight_integrations.validation import MemoryLike


@dataclass(frozen=True, slots=True)
class Companion(JsonForm):
    """An entity mentioned together with another one, and the number of memories that do so."""

    entity: Entity
    memories: int


@dataclass(frozen=True, slots=True)
class TimelineEntry(JsonForm):
    """A memory that mentions an entity, at one of its times.

    Attributes:
        at: its position in time: the start of `span`, or when it was said.
        span: a time that the text names; None if it names none.
        memory: the memory.
    """

    at: datetime
    span: TimeSpan | None
    memory: Memory

    def __repr__(self) -> str:
        time = f"said {display.moment(self.at)}" if self.span is None else str(self.span)
        return f"TimelineEntry({time}: {self.memory!r})"


def find_entity(runtime: Runtime, bank_id: str, name_or_id: str) -> Entity:
    """Return the entity with this id, name or alias.

    Raises:
        EntityNotFoundError: there is no such entity.
    """
    wanted = validation.label("an entity", name_or_id)
    found = read_one(runtime.graph, bank_id, ENTITY, wanted, None)
    norm = entity_norm(wanted)
    found = found or read_one(runtime.graph, bank_id, ENTITY_NAMED, norm, None)
    if found is None:
        similar = runtime.graph.similar_entities(bank_id, [wanted], 3)[wanted]
        names = ", ".join(repr(each.name) for each in similar)
        hint = f"did you mean {names}?" if names else f"see entities.list({bank_id!r})"
        raise EntityNotFoundError(f"bank {bank_id!r} has no entity {wanted!r}; {hint}")
    return found


class Entities(Namespace):
    """The entities of a bank."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def get(self, bank_id: str, name_or_id: str) -> Entity:
        """Return the entity with this id, name or alias.

        Raises:
            BankNotFoundError, EntityNotFoundError: there is no such bank, or entity.
        """
        self._runtime.bank(bank_id)
        return find_entity(self._runtime, bank_id, name_or_id)

    def list(self, bank_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[Entity]:
        """Return a page of entities, most mentioned first; `limit` is at most 1000."""
        self._runtime.bank(bank_id)
        limit, cursor = validation.page_limit(limit), validation.page_cursor(cursor)
        return self._runtime.graph.list_entities(bank_id, limit=limit, cursor=cursor)

    def merge(self, bank_id: str, source: str, target: str) -> Entity:
        """Merge two entities: `source` and its other names become aliases of `target`."""

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            merged, kept = self.get(bank_id, source), self.get(bank_id, target)
            if merged.id == kept.id:
                raise InvalidInputError(f"{source!r} and {target!r} are already the same entity")
            return ChangeSet(bank_id, entity_edits=(EntityMerge(merged.id, kept.id),)), kept.id

        return self._changed(bank_id, make)

    def split(
        self, bank_id: str, entity: str, name: str, memory_ids: Sequence[str | MemoryLike]
    ) -> Entity:
        """Split an entity: the given memories will mention the new entity `name` instead.

        If `name` is an alias of the old entity, it moves to the new one.

        Raises:
            MemoryNotFoundError: one of the memories does not exist, or does not mention it.
        """
        ids = tuple(validation.memory_ids("memory_ids", memory_ids, bank_id))
        if not ids:
            raise InvalidInputError("no memory ids given; give ids of memories that mention it")

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            old = self.get(bank_id, entity)
            mentioned = self._runtime.graph.read(bank_id, MENTIONS, ids)
            for memory_id in ids:
                if old.id not in mentioned.get(memory_id, ()):
                    raise MemoryNotFoundError(
                        f"bank {bank_id!r} has no memory {memory_id!r} that mentions {old.name!r}; "
                        "give the ids of memories that do"
                    )
            new = Entity(new_id("e-"), bank_id, validation.label("name", name), old.kind)
            return ChangeSet(bank_id, entity_edits=(EntitySplit(old.id, new, ids),)), new.id

        return self._changed(bank_id, make)

    def rename(self, bank_id: str, entity: str, name: str) -> Entity:
        """Change the canonical name of an entity; the old name becomes an alias."""
        canonical = validation.label("name", name)

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            old = self.get(bank_id, entity)
            return _named(bank_id, old, canonical, (*old.aliases, old.name)), old.id

        return self._changed(bank_id, make)

    def alias(self, bank_id: str, entity: str, *aliases: str) -> Entity:
        """Add aliases to an entity."""
        given = [validation.label("an alias", alias) for alias in aliases]

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            old = self.get(bank_id, entity)
            return _named(bank_id, old, old.name, (*old.aliases, *given)), old.id

        return self._changed(bank_id, make)

    def unalias(self, bank_id: str, entity: str, *aliases: str) -> Entity:
        """Remove aliases permanently; later mentions resolve to another entity.

        Memories that already mention this entity do not change; use `split` to move them.

        Raises:
            InvalidInputError: a name is not an alias of the entity. `rename` changes its main name.
        """
        given = {
            entity_norm(name): name for name in (validation.label("an alias", a) for a in aliases)
        }

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            old = self.get(bank_id, entity)
            known = {entity_norm(alias): alias for alias in old.aliases}
            for norm, name in given.items():
                if norm not in known:
                    raise InvalidInputError(
                        f"{name!r} is not an alias of {old.name!r}; its aliases are "
                        f"{list(known.values()) or 'none'}"
                    )
            left = [alias for norm, alias in known.items() if norm not in given]
            return _named(bank_id, old, old.name, left), old.id

        with self._runtime.lock(self._runtime.bank(bank_id).key):
            changed = self._changed(bank_id, make)
            self._keep_apart(bank_id, [(name, changed.name) for name in given.values()])
        return changed

    def delete(self, bank_id: str, entity: str) -> int:
        """Delete an entity and its names; return the number of memories that mentioned it.

        The memories stay, and a later text that names it creates a new entity. To delete the
        memories, use `forget(entities=...)`.
        """

        def make(_: StoredBank) -> tuple[ChangeSet, int]:
            old = self.get(bank_id, entity)
            return ChangeSet(bank_id, entity_edits=(EntityRemoval(old.id),)), old.mention_count

        count, _ = change(self._runtime, bank_id, make)
        return count

    def mentions(
        self, bank_id: str, entity: str, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Memory]:
        """Return a page of the memories that mention an entity, in the order they were stored."""
        filter = _valid(self.get(bank_id, entity))
        limit, cursor = validation.page_limit(limit), validation.page_cursor(cursor)
        return self._runtime.graph.list_memories(bank_id, filter, limit=limit, cursor=cursor)

    def companions(self, bank_id: str, entity: str, *, limit: int = 20) -> tuple[Companion, ...]:
        """Return the entities mentioned together with this one, most often first."""
        graph, most = self._runtime.graph, validation.page_limit(limit)
        known = self.get(bank_id, entity)
        counts = read_one(graph, bank_id, COOCCURRENCES, known.id, {})
        shown = dict(islice(counts.items(), most))
        entities = graph.read(bank_id, ENTITY, list(shown))
        companions = [Companion(entities[id], n) for id, n in shown.items() if id in entities]
        return tuple(sorted(companions, key=lambda each: (-each.memories, each.entity.name)))

    def timeline(self, bank_id: str, entity: str) -> tuple[TimelineEntry, ...]:
        """Return the valid memories that mention an entity, one entry per time, oldest first.

        Observations and opinions drawn from them are left out. A memory whose text names no time is
        listed at the time it was said.
        """
        filter = replace(_valid(self.get(bank_id, entity)), derived=False)
        entries = [
            TimelineEntry(span.start if span else memory.mentioned_at, span, memory)
            for memory in every_memory(self._runtime.graph, bank_id, filter)
            for span in memory.occurred or (None,)
        ]
        return tuple(sorted(entries, key=lambda entry: (entry.at, entry.memory.id)))

    def suggest_merges(self, bank_id: str, *, limit: int = 20) -> tuple[MergeSuggestion, ...]:
        """Return pairs of entities that may be the same, most likely first, with the reasons.

        `merge(bank_id, suggestion.source.id, suggestion.target.id)` accepts a suggestion;
        `keep_apart` with both ids rejects it permanently.
        """
        bank = self._runtime.bank(bank_id).bank
        most = validation.page_limit(limit)
        return tuple(merge_suggestions(self._runtime.graph, bank_id, bank.kept_apart, most))

    def keep_apart(self, bank_id: str, one: str, other: str) -> None:
        """Never merge these two entities automatically, nor suggest merging them.

        This applies to all their current names, not to their ids: a later entity with one of these
        names is kept apart too. An explicit `merge` still merges them.
        """
        with self._runtime.lock(self._runtime.bank(bank_id).key):
            first, second = self.get(bank_id, one), self.get(bank_id, other)
            if first.id == second.id:
                raise InvalidInputError(
                    f"{one!r} and {other!r} are the same entity; split it, or remove the alias"
                )
            self._keep_apart(bank_id, product(first.names, second.names))

    def _keep_apart(self, bank_id: str, pairs: Iterable[tuple[str, str]]) -> None:
        digests = [pair_digest(*pair) for pair in pairs]

        def apart(now: Bank) -> Bank:
            kept = tuple(dict.fromkeys((*now.kept_apart, *digests)))
            return replace(now, kept_apart=kept, updated_at=utc_now())

        self._runtime.graph.update_bank(bank_id, apart)

    def _changed(self, bank_id: str, make: Callable[[StoredBank], tuple[ChangeSet, str]]) -> Entity:
        """Apply a correction to the entities as they are stored then; return the one it names."""
        entity_id, _ = change(self._runtime, bank_id, make)
        return self.get(bank_id, entity_id)

    aget = async_variant(get)
    alist = async_variant(list)
    amerge = async_variant(merge)
    asplit = async_variant(split)
    arename = async_variant(rename)
    aalias = async_variant(alias)
    aunalias = async_variant(unalias)
    adelete = async_variant(delete)
    amentions = async_variant(mentions)
    acompanions = async_variant(companions)
    atimeline = async_variant(timeline)
    asuggest_merges = async_variant(suggest_merges)
    akeep_apart = async_variant(keep_apart)


def _valid(entity: Entity) -> MemoryFilter:
    """Admit the valid memories that mention an entity."""
    return MemoryFilter(now=utc_now(), entity_ids=(entity.id,))


def _named(bank_id: str, entity: Entity, name: str, aliases: Sequence[str]) -> ChangeSet:
    """Return the change that gives an entity a name and aliases."""
    others = {entity_norm(alias): alias for alias in aliases}
    others.pop(entity_norm(name), None)
    edit = EntityNames(entity.id, name, tuple(others.values()))
    return ChangeSet(bank_id, entity_edits=(edit,))
