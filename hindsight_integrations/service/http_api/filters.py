"""Tags of a request as conditions of the engine.

Hindsight's "any" and "all" let untagged memories pass too; the strict modes do not, and "exact"
asks for just these tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.recall.request import FilterOptions
from hindsight_integrations.service.http_api.requests import TagGroup, TagLeaf, TagNot, TagOr
from hindsight_integrations.service.http_api.routing import refuse

TagsMatch = Literal["any", "all", "any_strict", "all_strict", "exact"]
Where = dict[str, object]

UNTAGGED: Where = {"tags": {"$exists": False}}

MAX_DEPTH = 20
"""Deepest nesting of tag groups."""


def tag_options(
    memory: Hindsight,
    bank_id: str,
    tags: Sequence[str] | None,
    match: TagsMatch,
    groups: Sequence[TagGroup] | None = None,
) -> FilterOptions:
    """Return the options of a search for what has the tags, and passes all groups."""
    if not groups and tags and match in ("any_strict", "all_strict"):
        # As options of their own: mental models have tags too, but pass no other condition.
        return {"tags": tags, "tags_match": "any" if match == "any_strict" else "all"}
    conditions = [_group(memory, bank_id, group, 0) for group in groups or ()]
    if tags or (tags is not None and match == "exact"):
        conditions.append(_tagged(memory, bank_id, tags, match))
    return {"where": {"$and": conditions}} if conditions else {}


def _tagged(memory: Hindsight, bank_id: str, tags: Sequence[str], match: str) -> Where:
    every: Where = {"$and": [{"tags": tag} for tag in tags]} if tags else {}
    if match == "exact":
        if not tags:
            return UNTAGGED
        others = sorted(set(memory.tags.list(bank_id, include_invalid=True)).difference(tags))
        return {"$and": [every, {"tags": {"$nin": others}}]} if others else every
    wanted: Where = {"tags": {"$in": list(tags)}} if match.startswith("any") else every
    return wanted if match.endswith("_strict") else {"$or": [wanted, UNTAGGED]}


def _group(memory: Hindsight, bank_id: str, group: TagGroup, depth: int) -> Where:
    if depth > MAX_DEPTH:
        raise InvalidInputError(
            f"tag groups are nested more than {MAX_DEPTH} levels deep; flatten them"
        )
    if isinstance(group, TagLeaf):
        if group.resolve == "fuzzy":
            raise refuse("tags are matched exactly here; leave out resolve")
        return _tagged(memory, bank_id, group.tags, group.match) if group.tags else {}
    if isinstance(group, TagNot):
        return {"$not": _group(memory, bank_id, group.inner, depth + 1)}
    inner = [_group(memory, bank_id, each, depth + 1) for each in group.groups]
    if not inner:
        return {}
    return {"$or" if isinstance(group, TagOr) else "$and": inner}


def as_time(what: str, value: str | None) -> datetime | None:
    """Return the time that ISO 8601 text tells; None for no text.

    Raises:
        InvalidInputError: it is no ISO 8601 text.
    """
    if not value:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(
            f"{what} is {value[:50]!r}; give ISO 8601 text, such as 2024-05-07T13:56:00Z"
        ) from error
