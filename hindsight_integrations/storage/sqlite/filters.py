"""A `MemoryFilter` as SQL: a condition on one memory, and a short way to those that may meet it.

The condition reads the memory's own row (aliased `m`) and looks up single rows by its key, so it
costs the same however many memories the bank has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hindsight_integrations.model import MetadataValue, TimeSpan
from hindsight_integrations.storage.requests import (
    Condition,
    MemoryFilter,
)
from hindsight_integrations.storage.sqlite.keys import BankRange, SqlValue
from hindsight_integrations.storage.values import LENGTH_CLASSES, micros

_COMPARISONS = {"$eq": "=", "$ne": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_NEGATED = ("$ne", "$nin")


@dataclass(frozen=True, slots=True)
class Sql:
    """A piece of SQL with its parameters."""

    text: str
    params: tuple[SqlValue, ...] = ()


def condition(bank: BankRange, filter: MemoryFilter) -> Sql:
    """What must hold of a row `m` of the bank's `memories` for the filter to admit it."""
    parts = list(_parts(bank, filter))
    return Sql(
        " AND ".join(part.text for part in parts),
        tuple(value for part in parts for value in part.params),
    )


def shortlist(bank: BankRange, filter: MemoryFilter) -> Sql | None:
    """A query for the keys of memories that may pass, by the part that keeps fewest.

    None if no part is narrow; the whole bank has to be read then.
    """
    if filter.document_id is not None:
        return Sql(
            "SELECT unit FROM sources WHERE bank = ? AND document_id = ?",
            (bank.no, filter.document_id),
        )
    if filter.entity_id is not None:
        return Sql(
            "SELECT unit FROM mentions WHERE entity = "
            "(SELECT key FROM entities WHERE bank = ? AND id = ?)",
            (bank.no, filter.entity_id),
        )
    if filter.tags:
        tags = filter.tags if filter.tags_match == "any" else filter.tags[:1]
        return Sql(
            f"SELECT unit FROM tags WHERE bank = ? AND tag IN ({_marks(tags)})", (bank.no, *tags)
        )
    for test in filter.where:
        if test.operator in ("$eq", "$in"):
            matches = _value_matches("d", test)
            return Sql(
                f"SELECT d.unit FROM metadata d WHERE d.bank = ? AND d.field = ? "
                f"AND {matches.text}",
                (bank.no, test.field, *matches.params),
            )
    if filter.scope is not None:
        return Sql("SELECT key FROM memories WHERE bank = ? AND scope = ?", (bank.no, filter.scope))
    return None if filter.window is None else _times_in(bank, filter.window)


def metadata_value(value: MetadataValue) -> tuple[str, SqlValue]:
    """Kind ("b", "n" or "t") and the value as the `metadata` table holds it."""
    if isinstance(value, bool):
        return "b", int(value)
    if isinstance(value, str):
        return "t", value
    # SQLite's integers have 64 bits; longer ones are compared as the nearest float.
    return "n", float(value) if isinstance(value, int) and abs(value) >> 63 else value


def _parts(bank: BankRange, filter: MemoryFilter) -> Iterator[Sql]:
    yield Sql("(m.expires_at IS NULL OR m.expires_at > ?)", (micros(filter.now),))
    yield from _validity(filter)
    if filter.types is not None:
        types = sorted(kind.value for kind in filter.types)
        yield Sql(f"m.type IN ({_marks(types)})", tuple(types))
    if filter.tags:
        yield from _tagged(filter)
    for test in filter.where:
        yield _metadata_test(test)
    if filter.scope is not None:
        yield Sql("m.scope = ?", (filter.scope,))
    if filter.document_id is not None:
        yield Sql(
            "EXISTS (SELECT 1 FROM sources s WHERE s.unit = m.key AND s.document_id = ?)",
            (filter.document_id,),
        )
    if filter.entity_id is not None:
        yield Sql(
            "EXISTS (SELECT 1 FROM mentions e WHERE e.unit = m.key AND e.entity = "
            "(SELECT key FROM entities WHERE bank = ? AND id = ?))",
            (bank.no, filter.entity_id),
        )
    if filter.window is not None:
        # The moment of mention (ordinal 0) counts only where the text names no time.
        yield Sql(
            'EXISTS (SELECT 1 FROM times w WHERE w.unit = m.key AND w.start < ? AND w."end" > ? '
            "AND (w.ordinal > 0 OR m.occurred = '[]'))",
            (micros(filter.window.end), micros(filter.window.start)),
        )


def _validity(filter: MemoryFilter) -> Iterator[Sql]:
    if filter.as_of is None:
        if not filter.include_invalid:
            yield Sql("m.invalidated_at IS NULL")
        return
    moment = micros(filter.as_of)
    if filter.include_invalid:
        yield Sql("(m.mentioned_at <= ? OR m.invalidated_at IS NOT NULL)", (moment,))
    else:
        yield Sql(
            "m.mentioned_at <= ? AND (m.invalidated_at IS NULL OR m.invalidated_at > ?)",
            (moment, moment),
        )


def _tagged(filter: MemoryFilter) -> Iterator[Sql]:
    groups = [filter.tags] if filter.tags_match == "any" else [(tag,) for tag in filter.tags]
    for group in groups:
        yield Sql(
            f"EXISTS (SELECT 1 FROM tags t WHERE t.unit = m.key AND t.tag IN ({_marks(group)}))",
            tuple(group),
        )


def _metadata_test(test: Condition) -> Sql:
    matches = _value_matches("d", test)
    exists = (
        f"EXISTS (SELECT 1 FROM metadata d WHERE d.unit = m.key AND d.field = ? AND {matches.text})"
    )
    negation = "NOT " if test.operator in _NEGATED else ""
    return Sql(negation + exists, (test.field, *matches.params))


def _value_matches(alias: str, test: Condition) -> Sql:
    values = test.value if isinstance(test.value, tuple) else (test.value,)
    comparison = _COMPARISONS.get(test.operator, "=")
    pairs = [metadata_value(value) for value in values]
    if comparison != "=":
        pairs = [(kind, value) for kind, value in pairs if kind != "b"]
    if not pairs:
        return Sql("FALSE")
    text = " OR ".join(f"{alias}.kind = ? AND {alias}.value {comparison} ?" for _ in pairs)
    return Sql(f"({text})", tuple(part for pair in pairs for part in pair))


def _times_in(bank: BankRange, window: TimeSpan) -> Sql:
    start, end = micros(window.start), micros(window.end)
    scans, params = [], []
    for number, longest in enumerate(LENGTH_CLASSES):
        reach = end - start + longest
        scans.append(
            "SELECT unit FROM times WHERE bank = ? AND length_class = ? "
            'AND middle BETWEEN ? AND ? AND start < ? AND "end" > ?'
        )
        params += [bank.no, number, start + end - reach, start + end + reach, end, start]
    return Sql(" UNION ALL ".join(scans), tuple(params))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
