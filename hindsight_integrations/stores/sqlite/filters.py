"""A `MemoryFilter` as SQL: a condition on one memory, and a short way to those that may meet it.

The condition reads the memory's own row (aliased `m`) and looks up single rows by its key, so it
costs the same however many memories the bank has. Tags, metadata and times are looked up in tables
derived from the memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from hindsight_integrations.models import Memory, MetadataValue, TimeSpan
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
from hindsight_integrations.stores.sqlite.connection import LOWER
from hindsight_integrations.stores.sqlite.rows import BankTransaction, SqlValue, insert_sql, marks
from hindsight_integrations.stores.times import micros, middle_ranges, time_rows

DERIVED = {
    "times": 'unit, bank, ordinal, length_class, middle, start, "end", precision',
    "tags": "unit, bank, tag",
    "metadata": "unit, bank, field, kind, value",
}
"""Tables made of memories alone, with their columns."""

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


@dataclass(frozen=True, slots=True)
class Sql:
    """A piece of SQL with its parameters."""

    text: str
    params: tuple[SqlValue, ...] = ()


def derived_rows(key: int, bank_no: int, memory: Memory) -> dict[str, list[tuple[SqlValue, ...]]]:
    """Return the rows of a memory in each of the `DERIVED` tables."""
    own = (key, bank_no)
    return {
        "times": [(*own, *row) for row in time_rows(memory)],
        "tags": [(*own, tag) for tag in dict.fromkeys(memory.tags)],
        "metadata": [
            (*own, field, *_metadata_value(value)) for field, value in memory.metadata.items()
        ],
    }


def add_derived(tx: BankTransaction, memories: Mapping[int, Memory]) -> None:
    """Add the rows of memories, by key, to the `DERIVED` tables."""
    rows = [derived_rows(key, tx.no, memory) for key, memory in memories.items()]
    for table, columns in DERIVED.items():
        tx.executemany(
            insert_sql(table, columns), [row for tables in rows for row in tables[table]]
        )


def select(columns: str, tx: BankTransaction, filter: MemoryFilter) -> Sql:
    """Return a query for columns of the memories `m` that pass; more tests may be appended."""
    test, narrow = condition(tx, filter), _shortlist(tx, filter)
    where = "m.key BETWEEN ? AND ?" if narrow is None else f"m.key IN ({narrow.text})"
    return Sql(
        f"SELECT {columns} FROM memories m WHERE {where} AND {test.text}",
        (*(tx.bounds if narrow is None else narrow.params), *test.params),
    )


def condition(tx: BankTransaction, filter: MemoryFilter) -> Sql:
    """Return the test that a row `m` of the bank's `memories` must pass."""
    parts = list(_parts(tx, filter))
    return Sql(
        " AND ".join(part.text for part in parts),
        tuple(value for part in parts for value in part.params),
    )


def _shortlist(tx: BankTransaction, filter: MemoryFilter) -> Sql | None:
    """Return a query for keys of memories that may pass, by the part that keeps fewest.

    None if no part is narrow; the whole bank has to be read then.
    """
    if filter.document_id is not None:
        return Sql(
            "SELECT unit FROM sources WHERE bank = ? AND document_id = ?",
            (tx.no, filter.document_id),
        )
    if filter.entity_ids:
        entities = _entity_keys(tx, filter)
        return Sql(f"SELECT unit FROM mentions WHERE entity IN ({entities.text})", entities.params)
    if filter.tags:
        tags = filter.tags if filter.tags_match == "any" else filter.tags[:1]
        return Sql(
            f"SELECT unit FROM tags WHERE bank = ? AND tag IN ({marks(tags)})", (tx.no, *tags)
        )
    for test in filter.where:
        if isinstance(test, Condition) and (test.is_exact or test.is_presence):
            matches = _value_matches(test)
            return Sql(
                f"SELECT d.unit FROM metadata d WHERE d.bank = ? AND d.field = ? "
                f"AND {matches.text}",
                (tx.no, test.field, *matches.params),
            )
    if filter.pinned:
        return Sql("SELECT key FROM memories WHERE bank = ? AND pinned = 1", (tx.no,))
    if filter.expired_by is not None:
        return Sql(
            "SELECT key FROM memories WHERE bank = ? AND expires_at <= ?",
            (tx.no, micros(filter.expired_by)),
        )
    if filter.scope is not None:
        return Sql("SELECT key FROM memories WHERE bank = ? AND scope = ?", (tx.no, filter.scope))
    return None if filter.window is None else _times_in(tx, filter.window)


def _metadata_value(value: MetadataValue) -> tuple[str, SqlValue]:
    """Return kind ("b", "n" or "t") and value as the `metadata` table holds them."""
    if isinstance(value, bool):
        return "b", int(value)
    if isinstance(value, str):
        return "t", value
    # SQLite's integers have 64 bits; longer ones are compared as the nearest float.
    return "n", float(value) if isinstance(value, int) and abs(value) >> 63 else value


def _parts(tx: BankTransaction, filter: MemoryFilter) -> Iterator[Sql]:
    if filter.now is None:
        yield Sql("TRUE", ())  # of all parts, at least one is there to be joined
    else:
        yield Sql("(m.expires_at IS NULL OR m.expires_at > ?)", (micros(filter.now),))
    yield from _validity(filter)
    yield from _content(filter)
    if filter.types is not None:
        types = sorted(kind.value for kind in filter.types)
        yield Sql(f"m.type IN ({marks(types)})", tuple(types))
    if filter.derived is not None:
        yield Sql("m.derived = ?", (filter.derived,))
    if filter.tags:
        yield from _tagged(filter)
    yield from map(_test, filter.where)
    if filter.scope is not None:
        yield Sql("m.scope = ?", (filter.scope,))
    if filter.document_id is not None:
        yield Sql(
            "EXISTS (SELECT 1 FROM sources s WHERE s.unit = m.key AND s.document_id = ?)",
            (filter.document_id,),
        )
    if filter.entity_ids:
        entities = _entity_keys(tx, filter)
        yield Sql(
            "EXISTS (SELECT 1 FROM mentions e WHERE e.unit = m.key "
            f"AND e.entity IN ({entities.text}))",
            entities.params,
        )
    if filter.pinned is not None:
        yield Sql("m.pinned = ?", (filter.pinned,))
    if filter.window is not None:
        # The time of mention (ordinal 0) counts only where the text names no time.
        yield Sql(
            'EXISTS (SELECT 1 FROM times w WHERE w.unit = m.key AND w.start < ? AND w."end" > ? '
            "AND (w.ordinal > 0 OR m.occurred = '[]'))",
            (micros(filter.window.end), micros(filter.window.start)),
        )


def _entity_keys(tx: BankTransaction, filter: MemoryFilter) -> Sql:
    ids = filter.entity_ids
    return Sql(f"SELECT key FROM entities WHERE bank = ? AND id IN ({marks(ids)})", (tx.no, *ids))


def _content(filter: MemoryFilter) -> Iterator[Sql]:
    own = "EXISTS (SELECT 1 FROM contents c WHERE c.unit = m.key AND"
    if filter.text is not None:
        yield Sql(f"{own} {_comparison('c.text', '$icontains')})", (filter.text,))
    if filter.updated_since is not None:
        yield Sql(f"{own} c.updated_at >= ?)", (micros(filter.updated_since),))


def _validity(filter: MemoryFilter) -> Iterator[Sql]:
    if filter.only_invalid:
        yield Sql("m.invalidated_at IS NOT NULL")
    if filter.expired_by is not None:
        yield Sql(
            "typeof(m.expires_at) = 'integer' AND m.expires_at <= ?", (micros(filter.expired_by),)
        )
    if filter.as_of is None:
        if not filter.include_invalid:
            yield Sql("m.invalidated_at IS NULL")
        return
    as_of = micros(filter.as_of)
    if filter.include_invalid:
        yield Sql("(m.mentioned_at <= ? OR m.invalidated_at IS NOT NULL)", (as_of,))
    else:
        yield Sql(
            "m.mentioned_at <= ? AND (m.invalidated_at IS NULL OR m.invalidated_at > ?)",
            (as_of, as_of),
        )


def _tagged(filter: MemoryFilter) -> Iterator[Sql]:
    groups = [filter.tags] if filter.tags_match == "any" else [(tag,) for tag in filter.tags]
    for group in groups:
        yield Sql(
            f"EXISTS (SELECT 1 FROM tags t WHERE t.unit = m.key AND t.tag IN ({marks(group)}))",
            tuple(group),
        )


def _test(test: Test) -> Sql:
    """Return a test of `where` as SQL that is true or false, never unknown."""
    match test:
        case Condition():
            return _condition(test)
        case Not():
            inner = _test(test.test)
            return Sql(f"NOT ({inner.text})", inner.params)
        case AllOf():
            return _joined(" AND ", test.tests) if test.tests else Sql("TRUE")
        case AnyOf():
            return _joined(" OR ", test.tests)


def _joined(word: str, tests: Sequence[Test]) -> Sql:
    parts = [_test(test) for test in tests]
    text = word.join(f"({part.text})" for part in parts)
    return Sql(f"({text})", tuple(value for part in parts for value in part.params))


def _condition(test: Condition) -> Sql:
    positive, is_negated = test.positive()
    matches = _value_matches(positive)
    exists = "EXISTS (SELECT 1 FROM metadata d WHERE d.unit = m.key AND d.field = ? AND "
    text, params = f"{exists}{matches.text})", (test.field, *matches.params)
    if test.field in OWN_FIELDS:
        own = _own_condition(positive)
        text, params = f"({text} OR {own.text})", (*params, *own.params)
    return Sql(f"NOT {text}" if is_negated else text, params)


_OWN = {
    "type": ("memories d WHERE d.key = m.key", "d.type"),
    "scope": ("memories d WHERE d.key = m.key", "d.scope"),
    "speaker": ("contents d WHERE d.unit = m.key", "d.speaker"),
    "context": ("contents d WHERE d.unit = m.key", "d.context"),
    "document_id": ("sources d WHERE d.unit = m.key", "d.document_id"),
    "tags": ("tags d WHERE d.unit = m.key", "d.tag"),
    "entities": ("mentions e JOIN names d ON d.entity = e.entity WHERE e.unit = m.key", "d.name"),
}
"""Rows that hold the values of a memory's own fields, and the column."""


def _own_condition(test: Condition) -> Sql:
    if test.field == MENTIONED_AT:
        return _mentioned_in(mention_ranges(test))
    rows, column = _OWN[test.field]
    if test.operator == "$exists":
        return Sql(f"EXISTS (SELECT 1 FROM {rows} AND {column} IS NOT NULL)")
    texts = tuple(value for value in test.values if isinstance(value, str))
    matches = _compared(column, test.operator, texts)
    return Sql(f"EXISTS (SELECT 1 FROM {rows} AND ({matches}))", texts)


def _mentioned_in(ranges: Sequence[TimeRange]) -> Sql:
    texts, params = [], []
    for start, end in ranges:
        texts.append("(m.mentioned_at >= ? AND m.mentioned_at < ?)")
        params += [
            _FIRST if start is None else micros(start),
            _AFTER_LAST if end is None else micros(end),
        ]
    return Sql(f"({' OR '.join(texts) or 'FALSE'})", tuple(params))


_FIRST, _AFTER_LAST = -(1 << 63), (1 << 63) - 1
"""Bounds of SQLite's integers, beyond all times."""


def _value_matches(test: Condition) -> Sql:
    if test.operator == "$exists":
        return Sql("TRUE")
    pairs = [_metadata_value(value) for value in test.values]
    if test.operator not in ("$eq", "$in"):
        pairs = [(kind, value) for kind, value in pairs if kind != "b"]
    if not pairs:
        return Sql("FALSE")
    by_kind: dict[str, list[SqlValue]] = {}
    for kind, value in pairs:
        by_kind.setdefault(kind, []).append(value)
    texts = [
        f"d.kind = ? AND {_compared('d.value', test.operator, values)}"
        for values in by_kind.values()
    ]
    params = chain.from_iterable((kind, *values) for kind, values in by_kind.items())
    return Sql(f"({' OR '.join(texts)})", tuple(params))


def _compared(column: str, operator: Operator, values: Sequence[SqlValue]) -> str:
    """Return the test of a column against all values: any number, while SQL nests few ORs."""
    if operator in ("$eq", "$in"):
        return f"{column} IN ({marks(values)})"
    return " OR ".join(_comparison(column, operator) for _ in values) or "FALSE"


def _comparison(column: str, operator: Operator) -> str:
    if operator == "$contains":
        return f"instr({column}, ?) > 0"
    if operator == "$icontains":
        text = f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) END"
        return f"instr({LOWER}({text}), {LOWER}(?)) > 0"
    return f"{column} {_COMPARISONS.get(operator, '=')} ?"


def _times_in(tx: BankTransaction, window: TimeSpan) -> Sql:
    start, end = micros(window.start), micros(window.end)
    scan = (
        "SELECT unit FROM times WHERE bank = ? AND length_class = ? "
        'AND middle BETWEEN ? AND ? AND start < ? AND "end" > ?'
    )
    ranges = middle_ranges(window)
    params: Sequence[SqlValue] = [
        value
        for each in ranges
        for value in (tx.no, each.length_class, each.low, each.high, end, start)
    ]
    return Sql(" UNION ALL ".join([scan] * len(ranges)), tuple(params))
