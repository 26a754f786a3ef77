"""Searches: by lexemes, in time, along mentions and links, and for names."""

# ruff: noqa: D102 (the methods are described in `GraphStore`)

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, groupby, islice
from typing import Any

from hindsight_integrations.models import Entity, Link, LinkKind, Page, Precision, TimeSpan
from hindsight_integrations.nlp.bm25 import idf
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores.base import (
    LexemeStats,
    MemoryFilter,
    Neighbour,
    Posting,
    Surroundings,
    TextHit,
    TimeHit,
    TimeKind,
)
from hindsight_integrations.stores.cursors import after_entity, entity_cursor
from hindsight_integrations.stores.lexemes import (
    COMMON_LEXEMES,
    POSTINGS_READ,
    RARE_LEXEMES,
    lexeme_statistics,
)
from hindsight_integrations.stores.names import COMMON_NAMES, grams_of, most_similar, names_sharing
from hindsight_integrations.stores.neighbours import neighbours_around
from hindsight_integrations.stores.sqlite.filters import Sql, condition
from hindsight_integrations.stores.sqlite.reading import (
    SqliteReader,
    entities_of,
    matching_keys,
    mentions_of,
    passing_ids,
)
from hindsight_integrations.stores.sqlite.rows import (
    IN_KEYS,
    INVALID,
    IS_LINK,
    VALID,
    BankTransaction,
    Row,
    count_of,
    index_term,
    key_list,
    lexemes_of,
    text_in,
)
from hindsight_integrations.stores.times import micros, middle_ranges, timestamp

_FEW = 1_000
"""A filter that leaves at most so many memories is searched by reading each of them."""


class SqliteSearcher(SqliteReader):
    """The reading and searching methods of `GraphStore`."""

    def text_search(
        self,
        bank_id: str,
        lexemes: Sequence[str],
        filter: MemoryFilter,
        limit: int,
        stats: LexemeStats | None = None,
    ) -> list[TextHit]:
        # The full-text index only lists which memories hold a lexeme: SQLite's own ranking counts
        # across all banks, and reads every match.
        with self._reading(bank_id) as tx:
            stats = stats or _lexeme_stats(tx, lexemes)
            weights = {
                lexeme: idf(stats.frequency[lexeme], stats.documents) for lexeme in stats.frequency
            }
            few = matching_keys(tx, filter, _FEW) if filter.is_selective else None
            if few is not None:
                found = _ranked_few(tx, few, weights)
            else:
                ranked = _best(_sums(tx, stats, weights, filter, limit))
                found = _first_passing(tx, ranked, filter, limit)
            ids = dict(islice(found.items(), max(limit, 0)))
            terms = _lexemes(tx, ids)
            return [TextHit(id, terms[key]) for key, id in ids.items()]

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> LexemeStats:
        with self._reading(bank_id) as tx:
            return _lexeme_stats(tx, lexemes)

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[TimeHit]:
        with self._reading(bank_id) as tx:
            scans = [
                tx.execute(scan.text, scan.params)
                for scan in _time_scans(tx, window, condition(tx, filter))
            ]
            hits: dict[str, TimeHit] = {}
            # Closed here: collected later, it would close a cursor of a database that is closed.
            with closing(heapq.merge(*scans, key=_distance)) as merged:
                by_distance = groupby(merged, key=_distance)
                ranked = (row for _, equally_near in by_distance for row in sorted(equally_near))
                while len(hits) < limit and (row := next(ranked, None)):
                    _, memory_id, ordinal, start, end, precision = row
                    if memory_id not in hits:
                        span = TimeSpan(timestamp(start), timestamp(end), Precision(precision))
                        kind = TimeKind.OCCURRED if ordinal else TimeKind.MENTIONED
                        hits[memory_id] = TimeHit(memory_id, span, kind)
            for scan in scans:
                scan.close()
            return list(hits.values())

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        with self._reading(bank_id) as tx:
            return list(chain.from_iterable(_postings(tx, entity_ids, per_entity, filter).values()))

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        with self._reading(bank_id) as tx:
            found = _links(tx, memory_ids, per_memory, filter)
            return list(dict.fromkeys(chain.from_iterable(found.values())))

    def neighbours(
        self, bank_id: str, ids: Sequence[str], distance: int, filter: MemoryFilter
    ) -> list[Neighbour]:
        with self._reading(bank_id) as tx:
            keys = tx.memory_keys(ids)
            side = (tx.no, max(distance, 0))
            rows = tx.execute(_NEIGHBOURS, (*side, *side, key_list(keys.values()))).fetchall()
            befores = _parsed(before for _, before, _ in rows)
            afters = _parsed(after for *_, after in rows)
            sides = {key: both for (key, *_), *both in zip(rows, befores, afters, strict=True)}
            found = [
                neighbour
                for id, key in keys.items()
                if key in sides
                for neighbour in neighbours_around(id, *sides[key])
            ]
            passing = {*passing_ids(tx, {each.neighbour_id for each in found}, filter).values()}
            return [each for each in found if each.neighbour_id in passing]

    def surroundings(
        self,
        bank_id: str,
        entity_ids: Sequence[str],
        memory_ids: Sequence[str],
        per_entity: int,
        per_memory: int,
        filter: MemoryFilter,
        ahead: int = 0,
    ) -> Surroundings:
        with self._reading(bank_id) as tx:
            keys = tx.memory_keys(memory_ids)
            mentioned = mentions_of(tx, keys.values())
            return Surroundings(
                _postings(tx, entity_ids, per_entity, filter),
                {id: mentioned[key] for id, key in keys.items()},
                _links(tx, memory_ids, per_memory, filter),
            )

    def similar_entities(
        self, bank_id: str, names: Sequence[str], limit: int
    ) -> dict[str, list[Entity]]:
        return {name: self._similar(bank_id, name, limit) for name in names}

    def _similar(self, bank_id: str, name: str, limit: int) -> list[Entity]:
        norm = entity_norm(name)
        with self._reading(bank_id) as tx:
            sharing = {gram: _names_with(tx, gram) for gram in grams_of(norm)}
            names = tx.execute(
                f"SELECT e.id, {text_in('n.norm')} FROM names n "
                f"JOIN entities e ON e.key = n.entity WHERE n.key {IN_KEYS}",
                (key_list(names_sharing(norm, sharing)),),
            )
            keys = tx.entity_keys(most_similar(norm, names, limit))
            found = entities_of(tx, keys.values())
            return [found[key] for key in keys.values()]

    def mentioned_together(
        self, bank_id: str, entity_ids: Sequence[str], among: Sequence[str]
    ) -> dict[str, set[str]]:
        with self._reading(bank_id) as tx:
            keys = tx.entity_keys(entity_ids)
            ids = {key: id for id, key in tx.entity_keys(among).items()}
            # Reading the range takes half as long as looking for each of them in it.
            found = {
                id: tx.execute("SELECT other FROM cooccurrence WHERE entity = ?", (key,))
                for id, key in keys.items()
            }
            return {id: {ids[key] for (key,) in rows if key in ids} for id, rows in found.items()}

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        count, id = after_entity(cursor)
        size = max(limit, 0)
        with self._reading(bank_id) as tx:
            low, high = tx.bounds
            (total,) = tx.execute(
                "SELECT count(*) FROM entities WHERE key BETWEEN ? AND ?", (low, high)
            ).fetchone()
            rows = tx.execute(
                "SELECT key, mention_count, id FROM entities WHERE key BETWEEN ?1 AND ?2 "
                "AND (?3 IS NULL OR mention_count < ?3 OR (mention_count = ?3 AND id > ?4)) "
                "ORDER BY mention_count DESC, id LIMIT ?5",
                (low, high, count, id, size + 1),
            ).fetchall()
            shown = rows[:size]
            found = entities_of(tx, [key for key, *_ in shown])
        more = shown and len(rows) > size
        items = [found[key] for key, *_ in shown]
        return Page(items, total, entity_cursor(*shown[-1][1:]) if more else None)


def _parsed(texts: Iterable[str]) -> list[Any]:
    """Parse many short JSON texts at once: each call costs more than its text."""
    return list(json.loads(f"[{','.join(texts)}]"))


# Mentions and links


def _postings(
    tx: BankTransaction, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
) -> dict[str, list[Posting]]:
    """Return the postings of each entity that exists."""
    test = condition(tx, filter)
    # One row for all postings of an entity: fetching a row releases Python's global lock each time.
    sql = (
        f"SELECT {count_of('e.mention_count')}, (SELECT json_group_array(id) FROM ("
        f"SELECT {text_in('m.id')} AS id FROM mentions x CROSS JOIN memories m ON m.key = x.unit "
        f"WHERE x.entity = e.key AND {test.text} ORDER BY x.unit DESC LIMIT ?)) "
        "FROM json_each(?) asked CROSS JOIN entities e ON e.key = asked.value"
    )
    ids = tx.entity_keys(entity_ids)
    rows = tx.execute(sql, (*test.params, max(per_entity, 0), key_list(ids.values()))).fetchall()
    postings = zip(ids, rows, _parsed(text for _, text in rows), strict=True)
    return {
        id: [Posting(id, memory_id, degree) for memory_id in memory_ids]
        for id, (degree, _), memory_ids in postings
    }


def _links(
    tx: BankTransaction, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
) -> dict[str, list[Link]]:
    """Return the links of each memory that passes the filter."""
    test = condition(tx, filter)
    # One statement for all memories: hundreds are asked for at once, and each trip into
    # SQLite costs more than the look-up itself.
    sql = (
        "SELECT asked.value, (SELECT json_group_array(json_array(id, kind, weight, "
        "outward)) FROM ("
        "SELECT m.id AS id, l.kind AS kind, l.weight AS weight, l.outward AS outward "
        "FROM (SELECT target AS other, kind, weight, TRUE AS outward FROM links "
        f"WHERE source = asked.value AND {IS_LINK} "
        "UNION ALL SELECT source, kind, weight, FALSE FROM links "
        f"WHERE target = asked.value AND {IS_LINK}) l "
        f"CROSS JOIN memories m ON m.key = l.other WHERE {test.text} "
        "ORDER BY l.weight DESC, m.id, l.kind, l.outward LIMIT ?)) FROM json_each(?) asked"
    )
    passing = passing_ids(tx, memory_ids, filter)
    index = {id: n for n, id in enumerate(memory_ids)}
    ids = dict(sorted(passing.items(), key=lambda pair: index[pair[1]]))
    rows = tx.execute(sql, (*test.params, max(per_memory, 0), key_list(ids))).fetchall()
    found: dict[str, list[Link]] = {}
    for (key, _), linked in zip(rows, _parsed(text for _, text in rows), strict=True):
        for other, kind, weight, outward in linked:
            source, target = (ids[key], other) if outward else (other, ids[key])
            link = Link(source, target, LinkKind(kind), weight)
            found.setdefault(ids[key], []).append(link)
    return found


# Lexemes


def _lexeme_stats(tx: BankTransaction, lexemes: Sequence[str]) -> LexemeStats:
    documents, length = tx.execute(
        "SELECT max(0, CAST(valid_memories AS INTEGER)), max(0, CAST(valid_lexemes AS INTEGER)) "
        "FROM banks WHERE no = ?",
        (tx.no,),
    ).fetchone()
    sql = (
        f"SELECT lexeme, {count_of('memories')} FROM lexeme_counts WHERE bank = ? AND lexeme IN (*)"
    )
    counts: dict[str, int] = dict(tx.select_in(sql, lexemes))
    return lexeme_statistics(documents, length, lexemes, counts)


def _lexemes(tx: BankTransaction, keys: Iterable[int]) -> dict[int, tuple[str, ...]]:
    rows = tx.execute(f"SELECT unit, terms FROM lexemes WHERE unit {IN_KEYS}", (key_list(keys),))
    return {key: lexemes_of(terms) for key, terms in rows}


def _best(sums: Mapping[int, float]) -> list[int]:
    return sorted(sorted(sums, reverse=True), key=sums.__getitem__, reverse=True)


def _ranked_few(
    tx: BankTransaction, ids: Mapping[int, str], weights: Mapping[str, float]
) -> dict[int, str]:
    """Return key to id of those of the memories with a lexeme that is searched for, best first."""
    held = _lexemes(tx, ids)
    sums = {key: sum(weights.get(x, 0.0) for x in set(held[key])) for key in held}
    matching = {key: total for key, total in sums.items() if total > 0}
    return {key: ids[key] for key in _best(matching)}


def _first_passing(
    tx: BankTransaction, ranked: Sequence[int], filter: MemoryFilter, limit: int
) -> dict[int, str]:
    """Return key to id of at least the first `limit` of ranked memories that pass the filter."""
    found: dict[int, str] = {}
    for start in range(0, len(ranked), max(limit, 1)):
        batch = ranked[start : start + limit]
        passing = _passing(tx, batch, filter)
        found |= {key: passing[key] for key in batch if key in passing}
        if len(found) >= limit:
            break
    return found


def _passing(tx: BankTransaction, keys: Iterable[int], filter: MemoryFilter) -> dict[int, str]:
    test = condition(tx, filter)
    sql = f"SELECT m.key, m.id FROM memories m WHERE m.key {IN_KEYS} AND {test.text}"
    return dict(tx.execute(sql, (key_list(keys), *test.params)))


def _sums(
    tx: BankTransaction,
    stats: LexemeStats,
    weights: Mapping[str, float],
    filter: MemoryFilter,
    limit: int,
) -> Mapping[int, float]:
    """Return memory key to the sum of the inverse document frequencies of what it holds."""
    with_invalid = filter.include_invalid or filter.as_of is not None
    signs = (VALID, INVALID) if with_invalid else (VALID,)
    sums: defaultdict[int, float] = defaultdict(float)
    left, common = POSTINGS_READ, COMMON_LEXEMES
    read: list[str] = []
    for lexeme in sorted(weights, key=lambda each: (stats.frequency[each], each)):
        left -= stats.frequency[lexeme]
        if left >= 0 or len(sums) < limit:
            among = ""
            read.append(lexeme)
        elif not common or len(read) > RARE_LEXEMES:
            break
        else:
            common -= 1
            among = f" AND ({' OR '.join(_matching(tx, signs, each) for each in read)})"
        (found,) = tx.execute(
            "SELECT json_group_array(rowid) FROM (SELECT rowid FROM lexeme_index "
            "WHERE lexeme_index MATCH ? ORDER BY rowid DESC LIMIT ?)",
            (f"({_matching(tx, signs, lexeme)}){among}", POSTINGS_READ),
        ).fetchone()
        weight = weights[lexeme]
        for key in json.loads(found):
            sums[key] += weight
    return sums


def _matching(tx: BankTransaction, signs: Iterable[str], lexeme: str) -> str:
    """Return the condition of the index that a memory of one of these signs holds a lexeme."""
    terms = (index_term(tx.no, sign, lexeme).replace('"', '""') for sign in signs)
    return " OR ".join(f'"{term}"' for term in terms)


# Times


def _distance(row: Row) -> int:
    distance: int = row[0]
    return distance


def _time_scans(tx: BankTransaction, window: TimeSpan, test: Sql) -> Iterator[Sql]:
    """Yield queries backward and forward from the window's middle, for each class of times.

    They give (distance, id, ordinal, start, end, precision) in the order of the index, and are
    read only as far as needed.
    """
    start, end = micros(window.start), micros(window.end)
    for number, low, middle, high in middle_ranges(window):
        for lowest, highest, order in ((low, middle - 1, "DESC"), (middle, high, "ASC")):
            yield Sql(
                'SELECT abs(t.middle - ?), m.id, t.ordinal, t.start, t."end", t.precision '
                "FROM times t CROSS JOIN memories m ON m.key = t.unit "
                "WHERE t.bank = ? AND t.length_class = ? AND t.middle BETWEEN ? AND ? "
                f'AND t.start < ? AND t."end" > ? AND {test.text} ORDER BY t.middle {order}',
                (middle, tx.no, number, lowest, highest, end, start, *test.params),
            )


# Neighbours


def _side(comparison: str, order: str) -> str:
    """Return a list of the ids of the valid memories on one side of `here`, nearest first."""
    return (
        "(SELECT json_group_array(id) FROM (SELECT m.id AS id FROM sources s "
        "CROSS JOIN memories m ON m.key = s.unit "
        "WHERE s.bank = ? AND s.document_id = here.document_id AND s.ordinal = 0 "
        f"AND (s.position, s.unit) {comparison} (here.position, here.unit) "
        f"AND m.invalidated_at IS NULL ORDER BY s.position {order}, s.unit {order} LIMIT ?))"
    )


_NEIGHBOURS = (
    f"SELECT here.unit, {_side('<', 'DESC')}, {_side('>', 'ASC')} FROM json_each(?) asked "
    "CROSS JOIN sources here ON here.unit = asked.value AND here.ordinal = 0 "
    "CROSS JOIN memories m ON m.key = here.unit "
    "WHERE here.document_id IS NOT NULL AND m.invalidated_at IS NULL"
)


# Names


def _names_with(tx: BankTransaction, gram: str) -> list[int]:
    rows = tx.execute(
        "SELECT name FROM grams WHERE bank = ? AND gram = ? LIMIT ?", (tx.no, gram, COMMON_NAMES)
    )
    return [name for (name,) in rows]
