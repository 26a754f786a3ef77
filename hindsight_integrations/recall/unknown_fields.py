"""Notes on fields and names that a filter asks for and no bank has: most are misspelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.recall.arms.entity import entities_by_reference
from hindsight_integrations.stores.base import EVERYTHING, GraphStore, MemoryFilter
from hindsight_integrations.stores.conditions import OWN_FIELDS, Condition, needed_fields

_LOOKED_AT = 200
"""Memories of a bank whose fields are named."""

_SHOWN = 20
"""Most fields that are named."""


def notes_on_fields(
    graph: GraphStore, bank_ids: Sequence[str], filter: MemoryFilter, found: Iterable[Memory]
) -> tuple[str, ...]:
    """Return a note on each metadata field that the filter needs and no memory has.

    Fields that begin with "_" are those of adapters. What was found is looked at first, so the
    store is asked only about fields that none of it has; a bank without memories has no notes.

    Args:
        graph: the store.
        bank_ids: the banks that were searched.
        filter: their filter.
        found: the memories of the result.
    """
    needed = {field for field in needed_fields(filter.where) if not field.startswith("_")}
    if needed:
        needed = needed.difference(*(memory.metadata for memory in found))
    unknown = [field for field in sorted(needed) if not _is_known(graph, bank_ids, field)]
    known = _known_fields(graph, bank_ids) if unknown else None
    if known is None:
        return ()
    return tuple(
        f"no memory in {', '.join(bank_ids)} has field {field!r}, so this condition never matches; "
        f"known metadata fields: {', '.join(known) or 'none'}; fields of every memory: "
        f"{', '.join(sorted(OWN_FIELDS))}"
        for field in unknown
    )


def notes_on_entities(
    graph: GraphStore, bank_ids: Sequence[str], names: Sequence[str], found: Sequence[Entity]
) -> tuple[str, ...]:
    """Return a note on each name or id in `entities` that no bank has an entity for.

    The store is asked only about names that none of the entities found has; a bank without
    memories has no notes.

    Args:
        graph: the store.
        bank_ids: the banks that were searched.
        names: names and ids that the caller asked for.
        found: entities that recall has read.
    """
    ids = {entity.id for entity in found}
    norms = {entity_norm(name) for entity in found for name in entity.names}
    unknown = [name for name in names if name not in ids and entity_norm(name) not in norms]
    if unknown:
        known = {name for id in bank_ids for name in entities_by_reference(graph, id, unknown)}
        unknown = [name for name in unknown if name not in known]
    if not unknown or all(
        not graph.list_memories(id, EVERYTHING, limit=1).items for id in bank_ids
    ):
        return ()
    return tuple(
        f"no entity in {', '.join(bank_ids)} is called {name!r}, so no memory mentions it; "
        "entities.list shows the names"
        for name in unknown
    )


def _is_known(graph: GraphStore, bank_ids: Sequence[str], field: str) -> bool:
    having = MemoryFilter(
        now=None, include_invalid=True, where=(Condition(field, "$exists", value=True),)
    )
    return any(graph.find_ids(bank_id, having, 0) is None for bank_id in bank_ids)


def _known_fields(graph: GraphStore, bank_ids: Sequence[str]) -> list[str] | None:
    """Return metadata fields of the first memories of each bank; None if there are none."""
    pages = [graph.list_memories(id, EVERYTHING, limit=_LOOKED_AT).items for id in bank_ids]
    if not any(pages):
        return None
    fields = {field for page in pages for memory in page for field in memory.metadata}
    return sorted(field for field in fields if not field.startswith("_"))[:_SHOWN]
