"""A `MemoryFilter` as Cypher, and terms and queries of the full-text indexes.

A condition reads one memory; `start` is a short way to those that may meet it. Tags, scope,
documents, chunks and metadata of a memory are terms ("facets") in a list that the full-text index
covers too. Only the fixed texts below become Cypher, every value travels as a parameter; and what
is searched in an index stands in quotes, so it is never syntax of Lucene.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from sys import intern
from typing import Any

from hindsight_integrations.models import Memory, MemoryType, MetadataValue, Source, TimeSpan
from hindsight_integrations.stores.base import MemoryFilter
from hindsight_integrations.stores.conditions import (
    MENTIONED_AT,
    OWN_FIELDS,
    AllOf,
    AnyOf,
    Condition,
    Not,
    Operator,
    Test,
    TimeRange,
    mention_ranges,
)
from hindsight_integrations.stores.neo4j.nodes import MEMORY_TEXTS, BankTransaction, text_of
from hindsight_integrations.stores.times import middle_ranges

# Conditions

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
# The time of mention (ordinal 0) counts only where the text names no time.
_IN_WINDOW = "w.since < $closes AND w.until > $opens AND (w.ordinal > 0 OR m.occurred = [])"
# The same of a memory at hand, whose times lie among dozens of its relationships.
_HAS_TIME_IN_WINDOW = (
    "CASE WHEN m.occurred = [] THEN m.mentioned_at >= $opens AND m.mentioned_at < $closes "
    "ELSE any(span IN m.occurred WHERE split(span, '/')[0] < $closes "
    "AND split(span, '/')[1] > $opens) END"
)

_FEW_MENTIONS = 1_000
"""Mentions of an entity up to which all are looked at for observations among them."""

_OBSERVED = """
    UNWIND $entities AS entity MATCH (e:Entity {key: entity})
    CALL (e) {
        MATCH (e)<-[:MENTIONS]-(m:Observation) WHERE e.mention_count <= $few RETURN m
        UNION ALL
        MATCH (m:Observation) WHERE e.mention_count > $few AND m.bank = $bank AND m.seq > 0
            AND EXISTS { (m)-[:MENTIONS]->(e) } RETURN m
    }
    WITH DISTINCT m"""

_MOST_TERMS = 500
"""Terms that one clause of a full-text query may hold; Lucene refuses more than 1,024."""


@dataclass(frozen=True, slots=True)
class Cypher:
    """A piece of Cypher on a memory `m`, with its parameters."""

    text: str
    params: dict[str, Any]


def condition(tx: BankTransaction, filter: MemoryFilter) -> Cypher:
    """Return the condition that a memory `m` of the bank passes the filter."""
    params: dict[str, Any] = {}
    parts = ["true", *_lifetime(filter, params)]
    if filter.types is not None:
        params["types"] = sorted(kind.value for kind in filter.types)
        parts.append("m.type IN $types")
    if filter.derived is not None:
        params["derived"] = filter.derived
        parts.append("m.derived = $derived")
    for n, group in enumerate(_groups(filter)):
        params[f"facets{n}"] = group
        parts.append(f"any(facet IN $facets{n} WHERE facet IN m.facets)")
    parts += [_test(test, params) for test in filter.where if not _is_exact(test)]
    if filter.pinned is False:
        parts.append("NOT coalesce(m.pinned, false)")
    if filter.text is not None:
        parts.append(_compared("m.text", "$icontains", _param(params, filter.text)))
    if filter.updated_since is not None:
        parts.append(f"m.updated_at >= {_param(params, text_of(filter.updated_since))}")
    if filter.entity_ids:
        params["entities"] = tx.all_of(filter.entity_ids)
        # A name of its own: a query around it may have bound `e` to one entity.
        parts.append("EXISTS { (m)-[:MENTIONS]->(named:Entity) WHERE named.key IN $entities }")
    if filter.window is not None:
        params |= _bounds(filter.window)
        parts.append(_HAS_TIME_IN_WINDOW)
    return Cypher(" AND ".join(parts), params)


def start(tx: BankTransaction, filter: MemoryFilter) -> Cypher:
    """Return clauses that match all `m` that pass, beginning with the part that leaves fewest."""
    test = condition(tx, filter)
    params: dict[str, Any] = {}
    if clauses := facet_clauses(filter):
        params["listed"] = " ".join([index_query(tx), *clauses])
        text = f"CALL db.index.fulltext.queryNodes('{MEMORY_TEXTS}', $listed) YIELD node AS m"
    elif filter.types == frozenset({MemoryType.OBSERVATION}) and filter.entity_ids:
        params |= {"entities": tx.all_of(filter.entity_ids), "few": _FEW_MENTIONS}
        test = condition(tx, replace(filter, entity_ids=()))
        text = _OBSERVED
    elif filter.types == frozenset({MemoryType.OBSERVATION}):
        text = "MATCH (m:Observation) WHERE m.bank = $bank AND m.seq > 0"
    elif filter.entity_ids:
        text = (
            "UNWIND $entities AS entity MATCH (:Entity {key: entity})<-[:MENTIONS]-(m:Memory) "
            "WITH DISTINCT m"
        )
    elif filter.expired_by is not None:
        params["expired_by"] = text_of(filter.expired_by)
        text = "MATCH (m:Memory) WHERE m.bank = $bank AND m.expires_at <= $expired_by"
    elif filter.window is not None:
        params |= {"ranges": ranges_in(filter.window), **_bounds(filter.window)}
        test = condition(tx, replace(filter, window=None))
        text = (
            "UNWIND $ranges AS bounds MATCH (w:Time) "
            "WHERE w.bank = $bank AND w.length_class = bounds.length_class "
            "AND w.middle >= bounds.low AND w.middle <= bounds.high "
            f"MATCH (m:Memory)-[:AT]->(w) WHERE {_IN_WINDOW} WITH DISTINCT m"
        )
    else:
        text = "MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0"
    return Cypher(f"{text} WITH m WHERE {test.text}", test.params | params)


def facet_clauses(filter: MemoryFilter) -> list[str]:
    """Return clauses of a full-text query that every memory which passes the filter meets."""
    groups = (group for group in _groups(filter) if 0 < len(group) <= _MOST_TERMS)
    return [_any_of("facets", group) for group in groups]


def ranges_in(window: TimeSpan) -> list[dict[str, int]]:
    """Return `middle_ranges` as a parameter."""
    return [each._asdict() for each in middle_ranges(window)]


def _bounds(window: TimeSpan) -> dict[str, str]:
    return {"opens": text_of(window.start), "closes": text_of(window.end)}


def _lifetime(filter: MemoryFilter, params: dict[str, Any]) -> Iterator[str]:
    """Yield the conditions on when a memory was said, expires and was invalidated."""
    if filter.only_invalid:
        yield "m.invalidated_at IS NOT NULL"
    if filter.expired_by is not None:
        yield f"m.expires_at <= {_param(params, text_of(filter.expired_by))}"
    if filter.now is not None:
        params["now"] = text_of(filter.now)
        # Not "IS NULL OR": Neo4j would look the two up in two indexes, and sort the whole bank.
        yield "coalesce(m.expires_at > $now, true)"
    if filter.as_of is None:
        if not filter.include_invalid:
            yield "m.invalidated_at IS NULL"
        return
    params["as_of"] = text_of(filter.as_of)
    if filter.include_invalid:
        yield "(m.mentioned_at <= $as_of OR m.invalidated_at IS NOT NULL)"
    else:
        yield "m.mentioned_at <= $as_of"
        yield "(m.invalidated_at IS NULL OR m.invalidated_at > $as_of)"


def _groups(filter: MemoryFilter) -> Iterator[list[str]]:
    """Yield groups of facets, of each of which a memory must have one."""
    tags = [facet("tag", tag) for tag in filter.tags]
    yield from [[tag] for tag in tags] if filter.tags_match == "all" else [tags] if tags else []
    if filter.pinned:
        yield [_PINNED]
    if filter.scope is not None:
        yield [facet("scope", filter.scope)]
    if filter.document_id is not None:
        yield [facet("document", filter.document_id)]
    for test in filter.where:
        if isinstance(test, Condition) and test.is_exact:
            yield _equal(test)


def _equal(test: Condition) -> list[str]:
    return [metadata_facet(test.field, value) for value in test.values]


def _is_exact(test: Test) -> bool:
    return isinstance(test, Condition) and test.is_exact


def _test(test: Test, params: dict[str, Any]) -> str:
    """Return a test of `where` that is true or false, never null; its values go into `params`."""
    match test:
        case Condition():
            return _tested(test, params)
        case Not():
            return f"NOT ({_test(test.test, params)})"
        case AllOf():
            return f"({' AND '.join(_test(each, params) for each in test.tests) or 'true'})"
        case AnyOf():
            return f"({' OR '.join(_test(each, params) for each in test.tests)})"


def _tested(test: Condition, params: dict[str, Any]) -> str:
    positive, is_negated = test.positive()
    text = _metadata_test(positive, params)
    if test.field in OWN_FIELDS:
        text = f"({text} OR {_own_test(positive, params)})"
    return f"NOT {text}" if is_negated else text


def _metadata_test(test: Condition, params: dict[str, Any]) -> str:
    if test.operator in ("$eq", "$in"):
        return f"any(facet IN {_param(params, _equal(test))} WHERE facet IN m.facets)"
    if test.operator == "$exists":
        field = _param(params, _term(f"metadata:{json.dumps(test.field, ensure_ascii=False)}"))
        return f"any(facet IN m.facets WHERE facet STARTS WITH {field})"
    if isinstance(test.value, bool | tuple):
        return "false"
    kind = "t" if isinstance(test.value, str) else "n"
    field = _param(params, _field_prefix(test.field, kind))
    if test.operator in _COMPARISONS:
        value = _param(params, metadata_facet(test.field, test.value))
        matches = _compared("facet", test.operator, value)
    elif isinstance(test.value, str):
        value = _param(params, _term(test.value))
        matches = _compared(f"substring(facet, size({field}))", test.operator, value)
    else:
        matches = "false"
    return f"any(facet IN m.facets WHERE facet STARTS WITH {field} AND {matches})"


_OWN = {
    "type": "[m.type]",
    "scope": "[m.scope]",
    "speaker": "[m.speaker]",
    "context": "[m.context]",
    "tags": "m.tags",
    "document_id": "[facet IN m.facets WHERE facet STARTS WITH 'document:' | substring(facet, 9)]",
}
"""Lists of the values of a memory's own fields."""


def _own_test(test: Condition, params: dict[str, Any]) -> str:
    if test.field == MENTIONED_AT:
        ranges = [_mentioned_in(each, params) for each in mention_ranges(test)]
        return f"({' OR '.join(ranges) or 'false'})"
    if test.operator == "$exists":
        matches = "own IS NOT NULL"
    else:
        prepare = _term if test.field == "document_id" else str
        texts = [prepare(value) for value in test.values if isinstance(value, str)]
        if test.operator in ("$eq", "$in"):  # one list: a plan of thousands of ORs takes minutes
            matches = f"own IN {_param(params, texts)}"
        else:
            compared = (_compared("own", test.operator, _param(params, text)) for text in texts)
            matches = " OR ".join(compared)
    if test.field == "entities":
        names = f"any(own IN [named.name] + named.aliases WHERE {matches or 'false'})"
        return f"EXISTS {{ (m)-[:MENTIONS]->(named:Entity) WHERE {names} }}"
    return f"coalesce(any(own IN {_OWN[test.field]} WHERE {matches or 'false'}), false)"


def _mentioned_in(range: TimeRange, params: dict[str, Any]) -> str:
    tests = ["true"]
    if range.start is not None:
        tests.append(f"m.mentioned_at >= {_param(params, text_of(range.start))}")
    if range.end is not None:
        tests.append(f"m.mentioned_at < {_param(params, text_of(range.end))}")
    return f"({' AND '.join(tests)})"


def _compared(value: str, operator: Operator, given: str) -> str:
    if operator == "$contains":
        return f"{value} CONTAINS {given}"
    if operator == "$icontains":
        return f"toLower({value}) CONTAINS toLower({given})"
    return f"{value} {_COMPARISONS.get(operator, '=')} {given}"


def _param(params: dict[str, Any], value: object) -> str:
    """Add a parameter, and return it as Cypher names it."""
    name = f"where{len(params)}"
    params[name] = value
    return f"${name}"


# Facets

_STATED = ("document:", "chunk:")
_PINNED = "pinned:"
_EXACT_BITS = 64
_REST = 1 << 12
"""Greater than how far a 64-bit whole number lies from the nearest float."""


def facets_of(memory: Memory) -> list[str]:
    """Return all facets of a memory."""
    found = [facet("tag", tag) for tag in memory.tags]
    if memory.scope is not None:
        found.append(facet("scope", memory.scope))
    if memory.pinned:
        found.append(_PINNED)
    found += [metadata_facet(field, value) for field, value in memory.metadata.items()]
    return with_sources(found, memory.sources)


def with_sources(facets: Iterable[str], sources: Sequence[Source]) -> list[str]:
    """Return the facets of a memory with those of its sources replaced."""
    kept = [held for held in facets if not held.startswith(_STATED)]
    kept += [facet("document", s.document_id) for s in sources if s.document_id is not None]
    kept += [facet("chunk", s.chunk_id) for s in sources if s.chunk_id is not None]
    return list(dict.fromkeys(kept))


def facet(kind: str, value: str) -> str:
    """Return a tag, scope, document or chunk as a term."""
    return _term(f"{kind}:{value}")


def metadata_facet(field: str, value: MetadataValue) -> str:
    """Return a metadata field as a term: those of one field and kind sort as their values do."""
    if isinstance(value, bool):
        return f"{_field_prefix(field, 'b')}{value}"
    if isinstance(value, str):
        return f"{_field_prefix(field, 't')}{_term(value)}"
    return f"{_field_prefix(field, 'n')}{_sortable(value)}"


def _field_prefix(field: str, kind: str) -> str:
    """Return the start of the terms of a field's booleans ("b"), numbers ("n") or texts ("t")."""
    return _term(f"metadata:{json.dumps(field, ensure_ascii=False)}{kind}")


def _sortable(value: float) -> str:
    """Return a number as 20 hexadecimal digits that sort as numbers do; exact for 64 bits.

    The bits of the nearest float, those of a negative one inverted, and how far from it a whole
    number lies.
    """
    nearest = float(value) + 0.0  # -0.0 is 0.0
    (bits,) = struct.unpack(">Q", struct.pack(">d", nearest))
    bits ^= (1 << 64) - 1 if bits >> 63 else 1 << 63
    exact = isinstance(value, int) and value.bit_length() <= _EXACT_BITS
    rest = int(value) - int(nearest) if exact else 0
    return f"{bits:016x}{rest + _REST:04x}"


# Terms. The indexes split at white space and do nothing else: terms were analysed before they came
# here. Every query demands the bank's key, so that no hits of other banks are looked at.

_SPACES = (
    *(*range(33), 127, 0x1680, *range(0x2000, 0x2007), *range(0x2008, 0x200B)),
    *(0x2028, 0x2029, 0x205F, 0x3000),
)
"""White space as Java defines it, and control characters."""

_BLANKS = {code: 0xE000 + n for n, code in enumerate(_SPACES)}
_BLANKS_BACK = {private: code for code, private in _BLANKS.items()}
"""They would split a term; they are kept as characters of Unicode's private use area, which no
text has a use for."""

_QUOTED = str.maketrans({'"': '\\"', "\\": "\\\\"})


def indexed(terms: Iterable[str]) -> str:
    """Return terms as one text for an index."""
    return " ".join(map(_term, terms))


def terms_of(text: str) -> tuple[str, ...]:
    """Return the terms that `indexed` was given.

    Equal ones are the same object: ranking counts thousands.
    """
    if not text:
        return ()
    bare = text.split(" ")
    if not text.isascii():
        bare = [term.translate(_BLANKS_BACK) for term in bare]
    return tuple(map(intern, bare))


def index_query(tx: BankTransaction, **fields: Iterable[str]) -> str:
    """Return the query for nodes that hold, in each of these fields, any of its terms."""
    return " ".join([f"+bank:{tx.key}", *(_any_of(field, fields[field]) for field in fields)])


def _any_of(field: str, terms: Iterable[str]) -> str:
    quoted = " ".join(f'"{_term(term).translate(_QUOTED)}"' for term in terms)
    return f"+{field}:({quoted})"


def _term(text: str) -> str:
    return text.translate(_BLANKS)
