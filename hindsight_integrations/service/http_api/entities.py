"""Entities, and which are mentioned together."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from fastapi import Query

from hindsight_integrations.models import every_item
from hindsight_integrations.namespaces.selection import SelectionOptions
from hindsight_integrations.service.http_api import answers, conversions, listing
from hindsight_integrations.service.http_api.routing import (
    BANK,
    MAX_PAGE,
    Limit,
    Memory,
    Offset,
    refuse,
    router,
)
from hindsight_integrations.stores.base import COOCCURRENCES

routes = router("Entities")

MAX_OBSERVATIONS = 20
"""Most observations of an entity."""

Tags = Annotated[list[str] | None, Query()]


def _check_tags(tags: list[str] | None, tag_groups: str | None) -> None:
    if tags or tag_groups:
        raise refuse("entities belong to the whole bank here; list the memories of a tag instead")


@routes.get(f"{BANK}/entities", operation_id="list_entities")
def list_entities(
    memory: Memory,
    bank_id: str,
    limit: Limit = 100,
    offset: Offset = 0,
    tags: Tags = None,
    tags_match: str | None = None,
    tag_groups: str | None = None,
) -> answers.EntityList:
    """List entities, the most mentioned first."""
    _check_tags(tags, tag_groups)
    known = every_item(lambda cursor: memory.entities.list(bank_id, limit=MAX_PAGE, cursor=cursor))
    shown = [conversions.entity_item(each) for each in islice(known, offset, offset + limit)]
    total = memory.banks.stats(bank_id).entities
    return answers.EntityList(items=shown, total=total, limit=limit, offset=offset)


@routes.get(f"{BANK}/entities/graph", operation_id="get_entity_graph")
def get_entity_graph(
    memory: Memory,
    bank_id: str,
    limit: Limit = 1000,
    min_count: Annotated[int, Query(ge=1)] = 1,
    tags: Tags = None,
    tags_match: str | None = None,
    tag_groups: str | None = None,
) -> answers.EntityGraph:
    """Return the most mentioned entities, and how often memories mention two together."""
    _check_tags(tags, tag_groups)
    page = memory.entities.list(bank_id, limit=max(1, limit))
    shown = {each.id: each for each in page.items[:limit]}
    counts = memory.graph_store.read(bank_id, COOCCURRENCES, list(shown)) if shown else {}
    pairs = {
        tuple(sorted((one, other))): count
        for one, beside in counts.items()
        for other, count in beside.items()
        if other in shown and count >= min_count
    }
    return answers.EntityGraph(
        nodes=[
            answers.EntityNode(
                data=answers.EntityNodeData(
                    id=each.id, label=each.name, mentionCount=each.mention_count
                )
            )
            for each in shown.values()
        ],
        edges=[
            answers.EntityEdge(
                data=answers.EntityEdgeData(
                    id=f"{one}-{other}",
                    source=one,
                    target=other,
                    linkType="cooccurrence",
                    weight=count,
                )
            )
            for (one, other), count in pairs.items()
        ],
        total_entities=page.total,
        total_edges=len(pairs),
        limit=limit,
    )


@routes.get(f"{BANK}/entities/{{entity_id:path}}", operation_id="get_entity")
def get_entity(
    memory: Memory,
    bank_id: str,
    entity_id: str,
    tags: Tags = None,
    tags_match: str | None = None,
    tag_groups: str | None = None,
) -> answers.EntityDetail:
    """Return an entity, by id, name or alias, with the latest observations about it."""
    _check_tags(tags, tag_groups)
    entity = memory.entities.get(bank_id, entity_id)
    drawn: SelectionOptions = {"types": ["observation"], "entities": [entity.id]}
    said, _ = listing.latest(memory, bank_id, drawn, MAX_OBSERVATIONS)
    return answers.EntityDetail(
        **conversions.entity_item(entity).model_dump(),
        observations=[conversions.said(each) for each in said],
    )
