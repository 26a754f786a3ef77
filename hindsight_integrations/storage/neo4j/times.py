"""Times of memories, and the search outward from the middle of a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hindsight_integrations.model import Memory, Precision, TimeSpan
from hindsight_integrations.storage.neo4j.codec import moment_of, text_of
from hindsight_integrations.storage.neo4j.connection import Row, run, run_each
from hindsight_integrations.storage.neo4j.filters import condition, reaches
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.requests import MemoryFilter, TimeHit, TimeKind
from hindsight_integrations.storage.values import length_class, micros
from hindsight_integrations.timespan import as_utc

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_TICK = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC) - _TICK

_ADD = """
    UNWIND $rows AS row MATCH (m:Memory {key: row.memory})
    CREATE (m)-[:AT]->(t:Time) SET t = row.time"""

_GROWTH = 8
"""How many times more times are read if those read first were too few memories'."""


def add(tx: ManagedTransaction, bank: BankKey, memories: Sequence[Memory]) -> None:
    """Store the times of memories: when each was said (ordinal 0), and what its text names."""
    rows = [
        {"memory": bank.of(memory.id), "time": time}
        for memory in memories
        for time in _properties(bank, memory)
    ]
    run_each(tx, _ADD, rows)


def time_search(
    tx: ManagedTransaction, bank: BankKey, window: TimeSpan, filter: MemoryFilter, limit: int
) -> list[TimeHit]:
    """Memories with a time that overlaps the window, nearest to its middle first, ties by id."""
    if limit <= 0:
        return []
    test = condition(bank, filter)
    params = test.params | {
        "bank": bank.key,
        "reaches": reaches(window),
        "since": text_of(window.start),
        "until": text_of(window.end),
    }
    scans = " UNION ALL ".join(
        _SCAN.format(bounds=bounds, order=order, test=test.text)
        for bounds, order in (
            ("t.middle >= reach.low AND t.middle < reach.middle", "DESC"),
            ("t.middle >= reach.middle AND t.middle <= reach.high", "ASC"),
        )
    )
    query = f"UNWIND $reaches AS reach CALL (reach) {{ {scans} }} RETURN collect([{_COLUMNS}])"
    size = limit
    while True:
        ((found,),) = run(tx, query, size=size, **params)
        rows = sorted(map(tuple, found))
        end = _cut(rows, size)
        hits = _nearest(rows[:end], limit)
        if len(hits) == limit or end is None:
            return hits
        size *= _GROWTH


_COLUMNS = "distance, id, ordinal, since, until, precision, scan"

# Backward or forward from the middle, in the order of the index: read only as far as needed.
_SCAN = (
    "MATCH (t:Time) WHERE t.bank = $bank AND t.length_class = reach.length_class AND {bounds} "
    "AND t.since < $until AND t.until > $since MATCH (m:Memory)-[:AT]->(t) WHERE {test} "
    "RETURN abs(t.middle - reach.middle) AS distance, m.id AS id, t.ordinal AS ordinal, "
    "t.since AS since, t.until AS until, t.precision AS precision, "
    "toString(reach.length_class) + '{order}' AS scan "
    "ORDER BY t.bank {order}, t.length_class {order}, t.middle {order}, m.id, t.ordinal LIMIT $size"
)


def _cut(rows: Sequence[Row], size: int) -> int | None:
    """How many of the rows, sorted, come before any that a scan cut off at `size` left out.

    None if no scan was cut off.
    """
    read: Counter[str] = Counter()
    for place, (*_, scan) in enumerate(rows, start=1):
        read[scan] += 1
        if read[scan] == size:
            return place
    return None


def _nearest(rows: Sequence[Row], limit: int) -> list[TimeHit]:
    hits: dict[str, TimeHit] = {}
    for _, id, ordinal, since, until, precision, _ in rows:
        if id not in hits and len(hits) < limit:
            span = TimeSpan(moment_of(since), moment_of(until), Precision(precision))
            kind = TimeKind.OCCURRED if ordinal else TimeKind.MENTIONED
            hits[id] = TimeHit(id, span, kind)
    return list(hits.values())


def _properties(bank: BankKey, memory: Memory) -> list[dict[str, Any]]:
    said = min(as_utc(memory.mentioned_at), _LAST)
    spans = [TimeSpan(said, said + _TICK, Precision.MINUTE), *memory.occurred]
    return [
        {
            "key": bank.of(f"{memory.id}|{ordinal}"),
            "bank": bank.key,
            "ordinal": ordinal,
            "length_class": length_class(micros(span.end) - micros(span.start)),
            "middle": micros(span.start) + micros(span.end),
            "since": text_of(span.start),
            "until": text_of(span.end),
            "precision": span.precision.value,
        }
        for ordinal, span in enumerate(spans)
    ]
