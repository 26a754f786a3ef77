"""A `MemoryFilter` as Cypher: a condition on a memory, and a short way to those that may meet it.

Only the fixed texts below become Cypher; every value travels as a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hindsight_integrations.model import TimeSpan
from hindsight_integrations.storage.neo4j import lucene
from hindsight_integrations.storage.neo4j.codec import text_of
from hindsight_integrations.storage.neo4j.facets import (
    facet,
    field_prefix,
    kind_of,
    metadata_facet,
)
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.neo4j.schema import MEMORY_TEXTS
from hindsight_integrations.storage.requests import Condition, MemoryFilter
from hindsight_integrations.storage.values import LENGTH_CLASSES, micros

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
# The moment of mention (ordinal 0) counts only where the text names no time.
_IN_WINDOW = "w.since < $closes AND w.until > $opens AND (w.ordinal > 0 OR m.occurred = [])"

_MOST_TERMS = 500
"""Terms that one clause of a full-text query may hold; Lucene refuses more than 1,024."""


@dataclass(frozen=True, slots=True)
class Cypher:
    """A piece of Cypher on a memory `m`, with its parameters."""

    text: str
    params: dict[str, Any]


def condition(bank: BankKey, filter: MemoryFilter) -> Cypher:
    """What must hold of a memory `m` of the bank for the filter to admit it."""
    params: dict[str, Any] = {"now": text_of(filter.now)}
    parts = ["(m.expires_at IS NULL OR m.expires_at > $now)"]
    if filter.as_of is not None:
        params["as_of"] = text_of(filter.as_of)
        parts.append(
            "(m.mentioned_at <= $as_of OR m.invalidated_at IS NOT NULL)"
            if filter.include_invalid
            else "m.mentioned_at <= $as_of "
            "AND (m.invalidated_at IS NULL OR m.invalidated_at > $as_of)"
        )
    elif not filter.include_invalid:
        parts.append("m.invalidated_at IS NULL")
    if filter.types is not None:
        params["types"] = sorted(kind.value for kind in filter.types)
        parts.append("m.type IN $types")
    for n, group in enumerate(_groups(filter)):
        params[f"facets{n}"] = group
        parts.append(f"any(facet IN $facets{n} WHERE facet IN m.facets)")
    for n, test in enumerate(filter.where):
        if test.operator in ("$ne", "$nin"):
            params[f"not{n}"] = _equal(test)
            parts.append(f"none(facet IN $not{n} WHERE facet IN m.facets)")
        elif test.operator in _COMPARISONS:
            parts.append(_comparison(n, test, params))
    if filter.entity_id is not None:
        params["entity"] = bank.of(filter.entity_id)
        parts.append("EXISTS { (m)-[:MENTIONS]->(:Entity {key: $entity}) }")
    if filter.window is not None:
        params |= _bounds(filter.window)
        parts.append(f"EXISTS {{ (m)-[:AT]->(w:Time) WHERE {_IN_WINDOW} }}")
    return Cypher(" AND ".join(parts), params)


def start(bank: BankKey, filter: MemoryFilter) -> Cypher:
    """Clauses that give the memories `m` of the bank that pass, from the part that keeps fewest."""
    test = condition(bank, filter)
    params: dict[str, Any] = {"bank": bank.key}
    if clauses := facet_clauses(filter):
        params["listed"] = " ".join([lucene.query(bank), *clauses])
        text = f"CALL db.index.fulltext.queryNodes('{MEMORY_TEXTS}', $listed) YIELD node AS m"
    elif filter.entity_id is not None:
        text = "MATCH (:Entity {key: $entity})<-[:MENTIONS]-(m:Memory)"
    elif filter.window is not None:
        params |= {"reaches": reaches(filter.window), **_bounds(filter.window)}
        test = condition(bank, replace(filter, window=None))
        text = (
            "UNWIND $reaches AS reach MATCH (w:Time) "
            "WHERE w.bank = $bank AND w.length_class = reach.length_class "
            "AND w.middle >= reach.low AND w.middle <= reach.high "
            f"MATCH (m:Memory)-[:AT]->(w) WHERE {_IN_WINDOW} WITH DISTINCT m"
        )
    else:
        text = "MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0"
    return Cypher(f"{text} WITH m WHERE {test.text}", test.params | params)


def facet_clauses(filter: MemoryFilter) -> list[str]:
    """Clauses of a full-text query that only memories which may pass the filter meet."""
    groups = (group for group in _groups(filter) if 0 < len(group) <= _MOST_TERMS)
    return [lucene.any_of("facets", group) for group in groups]


def reaches(window: TimeSpan) -> list[dict[str, int]]:
    """For each class of spans, between which middles those that overlap the window lie.

    A `middle` is the sum of a span's start and end: twice its midpoint, without rounding.
    """
    begin, end = micros(window.start), micros(window.end)
    middle = begin + end
    return [
        {
            "length_class": number,
            "low": middle - (end - begin) - longest,
            "middle": middle,
            "high": middle + (end - begin) + longest,
        }
        for number, longest in enumerate(LENGTH_CLASSES)
    ]


def _bounds(window: TimeSpan) -> dict[str, str]:
    return {"opens": text_of(window.start), "closes": text_of(window.end)}


def _groups(filter: MemoryFilter) -> Iterator[list[str]]:
    """Facets, of each group of which a memory must have one."""
    tags = [facet("tag", tag) for tag in filter.tags]
    yield from [[tag] for tag in tags] if filter.tags_match == "all" else [tags] if tags else []
    if filter.scope is not None:
        yield [facet("scope", filter.scope)]
    if filter.document_id is not None:
        yield [facet("document", filter.document_id)]
    for test in filter.where:
        if test.operator in ("$eq", "$in"):
            yield _equal(test)


def _equal(test: Condition) -> list[str]:
    values = test.value if isinstance(test.value, tuple) else (test.value,)
    return [metadata_facet(test.field, value) for value in values]


def _comparison(n: int, test: Condition, params: dict[str, Any]) -> str:
    if isinstance(test.value, bool | tuple):
        return "false"
    params[f"field{n}"] = field_prefix(test.field, kind_of(test.value))
    params[f"value{n}"] = metadata_facet(test.field, test.value)
    return (
        f"any(facet IN m.facets WHERE facet STARTS WITH $field{n} "
        f"AND facet {_COMPARISONS[test.operator]} $value{n})"
    )
