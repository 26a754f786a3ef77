"""Times of memories, and the search outward from the middle of a window.

`middle` is the sum of a span's start and end: twice its midpoint, without rounding.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterator
from itertools import groupby

from hindsight_integrations.model import Memory, Precision, TimeSpan
from hindsight_integrations.storage.requests import (
    MemoryFilter,
    TimeHit,
    TimeKind,
)
from hindsight_integrations.storage.sqlite.filters import Sql, condition
from hindsight_integrations.storage.sqlite.keys import BankRange, Row, SqlValue
from hindsight_integrations.storage.values import (
    LAST_MOMENT,
    LENGTH_CLASSES,
    length_class,
    micros,
    moment,
)


def time_rows(key: int, bank_no: int, memory: Memory) -> list[tuple[SqlValue, ...]]:
    """Rows of `times`: number 0 is when the memory was said, the others what its text names."""
    said = min(micros(memory.mentioned_at), LAST_MOMENT - 1)
    spans = [(said, said + 1, Precision.MINUTE)]
    spans += [(micros(s.start), micros(s.end), s.precision) for s in memory.occurred]
    return [
        (key, ordinal, bank_no, length_class(end - start), start + end, start, end, precision)
        for ordinal, (start, end, precision) in enumerate(spans)
    ]


def time_search(
    cursor: sqlite3.Cursor, bank: BankRange, window: TimeSpan, filter: MemoryFilter, limit: int
) -> list[TimeHit]:
    """Memories with a time that overlaps the window, nearest to its middle first, ties by id."""
    scans = [
        cursor.connection.execute(scan.text, scan.params)
        for scan in _scans(bank, window, condition(bank, filter))
    ]
    hits: dict[str, TimeHit] = {}
    by_distance = groupby(heapq.merge(*scans, key=_distance), key=_distance)
    ranked = (row for _, equally_near in by_distance for row in sorted(equally_near))
    while len(hits) < limit and (row := next(ranked, None)):
        _, memory_id, ordinal, start, end, precision = row
        if memory_id not in hits:
            span = TimeSpan(moment(start), moment(end), Precision(precision))
            kind = TimeKind.OCCURRED if ordinal else TimeKind.MENTIONED
            hits[memory_id] = TimeHit(memory_id, span, kind)
    for scan in scans:
        scan.close()
    return list(hits.values())


def _distance(row: Row) -> int:
    distance: int = row[0]
    return distance


def _scans(bank: BankRange, window: TimeSpan, test: Sql) -> Iterator[Sql]:
    """For each class of spans, queries backward and forward from the window's middle.

    They give (distance, id, ordinal, start, end, precision) in the order of the index, and are
    read only as far as needed.
    """
    start, end = micros(window.start), micros(window.end)
    middle = start + end
    for number, longest in enumerate(LENGTH_CLASSES):
        reach = end - start + longest
        for low, high, order in (
            (middle - reach, middle - 1, "DESC"),
            (middle, middle + reach, "ASC"),
        ):
            yield Sql(
                'SELECT abs(t.middle - ?), m.id, t.ordinal, t.start, t."end", t.precision '
                "FROM times t CROSS JOIN memories m ON m.key = t.unit "
                "WHERE t.bank = ? AND t.length_class = ? AND t.middle BETWEEN ? AND ? "
                f'AND t.start < ? AND t."end" > ? AND {test.text} ORDER BY t.middle {order}',
                (middle, bank.no, number, low, high, end, start, *test.params),
            )
