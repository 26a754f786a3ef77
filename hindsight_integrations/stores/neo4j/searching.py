"""Searches: by lexemes, in time, along mentions and links, and for names."""

# ruff: noqa: D102 (the methods are described in `GraphStore`)

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, starmap

from hindsight_integrations.models import Entity, Link, LinkKind, Page, Precision, TimeSpan
from hindsight_integrations.nlp.bm25 import idf
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores.base import (
    ENTITY,
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
from hindsight_integrations.stores.neo4j.connection import Row
from hindsight_integrations.stores.neo4j.filters import (
    condition,
    facet_clauses,
    index_query,
    ranges_in,
    terms_of,
)
from hindsight_integrations.stores.neo4j.nodes import (
    MEMORY_TEXTS,
    NAME_TEXTS,
    BankTransaction,
    text_of,
    time_of,
)
from hindsight_integrations.stores.neo4j.reading import (
    ENTITY_COLUMNS,
    Neo4jReader,
    entity_of,
    read_in,
)
from hindsight_integrations.stores.reads import in_order

_GROWTH = 8
"""Factor by which more times are read if those read first belong to too few memories."""


class Neo4jSearcher(Neo4jReader):
    """The reading and searching methods of `GraphStore`."""

    def text_search(
        self,
        bank_id: str,
        lexemes: Sequence[str],
        filter: MemoryFilter,
        limit: int,
        stats: LexemeStats | None = None,
    ) -> list[TextHit]:

        # The full-text index only lists which memories hold a lexeme: the scores of Lucene count
        # across all banks.
        def work(tx: BankTransaction) -> list[TextHit]:
            return _text_search(tx, stats or _lexeme_stats(tx, lexemes), filter, limit)

        return self._read(bank_id, work)

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> LexemeStats:
        return self._read(bank_id, lambda tx: _lexeme_stats(tx, lexemes))

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[TimeHit]:
        return self._read(bank_id, lambda tx: _time_search(tx, window, filter, limit))

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        found = self.surroundings(bank_id, entity_ids, (), per_entity, 0, filter)
        return list(chain.from_iterable(found.postings.values()))

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        found = self.surroundings(bank_id, (), memory_ids, 0, per_memory, filter)
        return list(dict.fromkeys(chain.from_iterable(found.links.values())))

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
        """See `GraphStore`. Near to the server nothing is added: it costs more than a trip."""
        ahead = ahead if self._database.is_far else 0

        def work(tx: BankTransaction) -> Surroundings:
            test = condition(tx, filter)
            postings, memories = tx.collected(
                _SURROUNDINGS.format(test=test.text),
                of_entities=tx.all_of(entity_ids),
                of_memories=tx.all_of(memory_ids),
                per_entity=max(per_entity, 0),
                per_memory=max(per_memory, 0),
                ahead=ahead,
                mentions_ahead=max(per_entity, 0) if ahead else 0,
                links_ahead=max(per_memory, 0) if ahead else 0,
                **test.params,
            )
            return _surroundings(postings, memories, entity_ids, memory_ids)

        return self._read(bank_id, work)

    def neighbours(
        self, bank_id: str, ids: Sequence[str], distance: int, filter: MemoryFilter
    ) -> list[Neighbour]:
        def work(tx: BankTransaction) -> dict[str, Row]:
            test = condition(tx, filter)
            query = _NEIGHBOURS.format(test=test.text)
            rows = tx.gather(query, tx.all_of(ids), distance=max(distance, 0), **test.params)
            return {row[0]: row for row in rows}

        beside = self._read(bank_id, work)
        found = [beside[id] for id in dict.fromkeys(ids) if id in beside]
        around = chain.from_iterable(starmap(neighbours_around, found))
        return [each for each in around if each.neighbour_id]

    def similar_entities(
        self, bank_id: str, names: Sequence[str], limit: int
    ) -> dict[str, list[Entity]]:
        norms = {name: entity_norm(name) for name in names}

        def work(tx: BankTransaction) -> dict[str, list[Entity]]:
            grams = {norm: grams_of(norm) for norm in norms.values()}
            sharing: dict[str, list[str]] = {gram: [] for each in grams.values() for gram in each}
            searches = [{"gram": gram, "listed": index_query(tx, grams=[gram])} for gram in sharing]
            owners: dict[str, str] = {}
            for other, shared, owner in tx.gather(_SHARING, searches, most=COMMON_NAMES):
                owners[other] = owner
                for gram in shared:
                    sharing[gram].append(other)
            near = {
                norm: names_sharing(norm, {gram: sharing[gram] for gram in each})
                for norm, each in grams.items()
            }
            best = {
                norm: most_similar(norm, ((owners[n], n) for n in each if n in owners), limit)
                for norm, each in near.items()
            }
            found = read_in(tx, ENTITY, chain.from_iterable(best.values()))
            return {
                name: [found[id] for id in best[norm] if id in found]
                for name, norm in norms.items()
            }

        return self._read(bank_id, work)

    def mentioned_together(
        self, bank_id: str, entity_ids: Sequence[str], among: Sequence[str]
    ) -> dict[str, set[str]]:
        def work(tx: BankTransaction) -> dict[str, set[str]]:
            rows = tx.gather(_TOGETHER, tx.all_of(entity_ids), among=tx.all_of(among))
            return {id: {other for other in beside if other is not None} for id, beside in rows}

        found = self._read(bank_id, work)
        return {id: found[id] for id in entity_ids if id in found}

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        count, id = after_entity(cursor)
        size = max(limit, 0)

        def work(tx: BankTransaction) -> Page[Entity]:
            counted = "MATCH (e:Entity) WHERE e.key STARTS WITH $prefix"
            ((total,),) = tx.collected(f"{counted} WITH count(e) AS total RETURN collect([total])")
            rows = tx.collected(
                f"{counted} AND ($count IS NULL OR e.mention_count < $count "
                "OR (e.mention_count = $count AND e.id > $id)) "
                "WITH e ORDER BY e.mention_count DESC, e.id LIMIT $most "
                f"RETURN collect([{ENTITY_COLUMNS}])",
                count=count,
                id=id,
                most=size + 1,
            )
            items = [entity_of(tx, *row) for row in rows[:size]]
            more = items and len(rows) > size
            last = entity_cursor(items[-1].mention_count, items[-1].id) if more else None
            return Page(items, total, last)

        return self._read(bank_id, work)


# All that each is beside is walked, and little of it returned: looking for the way between each two
# took 25 times as long.
_TOGETHER = """
    MATCH (other:Entity) WHERE other.key IN $among WITH collect(other) AS others
    UNWIND $rows AS key MATCH (e:Entity {key: key})
    RETURN collect([e.id, COLLECT {
        MATCH (e)-[:BESIDE]-(other) WHERE other IN others RETURN other.id }])"""


# Mentions and links

_PARTS = """
    COLLECT {{
        UNWIND entities AS key MATCH (e:Entity {{key: key}})
        RETURN [e.id, e.mention_count, COLLECT {{
            MATCH (m:Memory)-[x:MENTIONS]->(:Entity)
            WHERE x.entity = e.key AND x.seq > 0 AND {test} RETURN [m.id, x.seq]
            ORDER BY x.entity DESC, x.seq DESC LIMIT $per_entity }}] }},
    COLLECT {{
        UNWIND memories AS key MATCH (m:Memory {{key: key}}) WITH m AS here, {test} AS passing
        RETURN [here.id, [(here)-[x:MENTIONS]->(e:Entity) | [x.ordinal, e.id, e.name]],
            CASE WHEN passing THEN COLLECT {{
                MATCH (here)-[l:LINK]-(m:Memory) WHERE {test}
                WITH m.id AS other, l.kind AS kind, l.weight AS weight,
                    startNode(l) = here AS outward
                RETURN [-weight, other, kind, outward]
                ORDER BY weight DESC, other, kind, outward LIMIT $per_memory
            }} ELSE [] END] }}"""

# What the nodes lead to is listed without the filter: it may be too much, and a plan of the filter
# in one more place takes longer than that. Where nothing is read ahead all of these limits are 0: a
# statement of its own would be planned by every caller at once when a server turns out to be far.
_SURROUNDINGS = f"""
    WITH $of_entities + COLLECT {{{{
            UNWIND $of_memories AS key MATCH (:Memory {{{{key: key}}}})-[:MENTIONS]->(e:Entity)
            WITH DISTINCT e.key AS key WHERE NOT key IN $of_entities
            RETURN key LIMIT $ahead }}}} AS entities,
        COLLECT {{{{
            UNWIND $of_memories AS key MATCH (here:Memory {{{{key: key}}}}) CALL (here) {{{{
                MATCH (here)-[l:LINK]-(m:Memory)
                RETURN m.key AS other ORDER BY l.weight DESC LIMIT $links_ahead
            }}}} RETURN other }}}} AS linked,
        COLLECT {{{{
            UNWIND $of_entities AS entity CALL (entity) {{{{
                MATCH (m:Memory)-[x:MENTIONS]->(:Entity) WHERE x.entity = entity AND x.seq > 0
                RETURN m.key AS other ORDER BY x.entity DESC, x.seq DESC LIMIT $mentions_ahead
            }}}} RETURN other }}}} AS mentioning
    WITH entities, $of_memories + COLLECT {{{{
            UNWIND linked + mentioning AS key WITH DISTINCT key WHERE NOT key IN $of_memories
            RETURN key LIMIT $ahead }}}} AS memories
    RETURN [{_PARTS}]"""


def _surroundings(
    postings: Iterable[Row],
    memories: Iterable[Row],
    entity_ids: Iterable[str],
    memory_ids: Iterable[str],
) -> Surroundings:
    """Return what a statement collected, less what was deleted while it ran; asked ids first."""
    of_entities = {
        id: [
            Posting(id, memory, degree)
            for memory, seq in sorted(latest, key=lambda row: -(row[1] or 0))
            if None not in (memory, seq)
        ]
        for id, degree, latest in postings
        if None not in (id, degree)
    }
    mentions: dict[str, list[tuple[str, str]]] = {}
    links: dict[str, list[Link]] = {}
    for id, mentioned, linked in memories:
        if id is None:
            continue
        named = sorted(row for row in mentioned if None not in row[:2])
        mentions[id] = [(entity, name or entity) for _, entity, name in named]
        if linked:
            links[id] = _links(id, linked)
    return Surroundings(
        in_order(dict.fromkeys([*entity_ids, *of_entities]), of_entities),
        in_order(dict.fromkeys([*memory_ids, *mentions]), mentions),
        in_order(dict.fromkeys([*memory_ids, *links]), links),
    )


def _links(id: str, rows: Iterable[Row]) -> list[Link]:
    """Return the links of a memory, the heaviest first."""
    found: list[Link] = []
    for weight, other, kind, outward in sorted(tuple(row) for row in rows if None not in row):
        source, target = (id, other) if outward else (other, id)
        found.append(Link(source, target, LinkKind(kind), -weight))
    return found


# Lexemes

_STATS = """
    MATCH (b:Bank {key: $bank}) RETURN collect([b.valid_memories, b.valid_lexemes,
        COLLECT { UNWIND $keys AS key MATCH (l:Lexeme {key: key})
            RETURN [l.lexeme, l.memories] }])"""

# The filter is looked at last, and only until enough pass: it reads what the index does not hold.
_TEXT_SEARCH = (
    "UNWIND $searches AS search "
    f"CALL db.index.fulltext.queryNodes('{MEMORY_TEXTS}', search.listed, {{{{limit: $most}}}}) "
    "YIELD node AS m WITH m, sum(search.weight) AS total "
    "WITH m, total, m.seq AS seq ORDER BY total DESC, seq DESC WHERE {test} "
    "WITH m, total, seq ORDER BY total DESC, seq DESC LIMIT $limit "
    "RETURN collect([m.id, m.lexemes])"
)


def _lexeme_stats(tx: BankTransaction, lexemes: Sequence[str]) -> LexemeStats:
    ((documents, length, counts),) = tx.collected(_STATS, keys=tx.all_of(lexemes))
    return lexeme_statistics(documents, length, lexemes, dict(counts))


def _text_search(
    tx: BankTransaction, stats: LexemeStats, filter: MemoryFilter, limit: int
) -> list[TextHit]:
    rarest = sorted(stats.frequency, key=lambda lexeme: (stats.frequency[lexeme], lexeme))
    if not rarest or limit <= 0:
        return []
    test, clauses = condition(tx, filter), facet_clauses(filter)
    for count in dict.fromkeys((_affordable(stats, rarest), len(rarest))):
        first = rarest[:count]
        rest = rarest[count : count + COMMON_LEXEMES] if count <= RARE_LEXEMES else []
        among = index_query(tx, lexemes=first)
        listed = {each: index_query(tx, lexemes=[each]) for each in first}
        listed |= {each: f"{among} {index_query(tx, lexemes=[each])}" for each in rest}
        found = tx.collected(
            _TEXT_SEARCH.format(test=test.text),
            searches=[
                {
                    "listed": " ".join([query, *clauses]),
                    "weight": idf(stats.frequency[lexeme], stats.documents),
                }
                for lexeme, query in listed.items()
            ],
            most=POSTINGS_READ,
            limit=limit,
            **test.params,
        )
        if len(found) == limit:
            break
    return [TextHit(id, terms_of(terms)) for id, terms in found if terms is not None]


def _affordable(stats: LexemeStats, rarest: Sequence[str]) -> int:
    """Return how many lexemes, at least one, are held by no more memories than may be read."""
    total = 0
    for count, lexeme in enumerate(rarest):
        total += stats.frequency[lexeme]
        if count and total > POSTINGS_READ:
            return count
    return len(rarest)


# Times

# Backward or forward from the middle, in the order of the index: read only as far as needed.
_TIME_SCAN = (
    "MATCH (t:Time) WHERE t.bank = $bank AND t.length_class = bounds.length_class AND {within} "
    "AND t.since < $until AND t.until > $since MATCH (m:Memory)-[:AT]->(t) WHERE {test} "
    "RETURN abs(t.middle - bounds.middle) AS distance, m.id AS id, t.ordinal AS ordinal, "
    "t.since AS since, t.until AS until, t.precision AS precision, "
    "toString(bounds.length_class) + '{order}' AS scan "
    "ORDER BY t.bank {order}, t.length_class {order}, t.middle {order}, m.id, t.ordinal LIMIT $size"
)
_TIME_COLUMNS = "distance, id, ordinal, since, until, precision, scan"


def _time_search(
    tx: BankTransaction, window: TimeSpan, filter: MemoryFilter, limit: int
) -> list[TimeHit]:
    if limit <= 0:
        return []
    test = condition(tx, filter)
    params = test.params | {
        "ranges": ranges_in(window),
        "since": text_of(window.start),
        "until": text_of(window.end),
    }
    scans = " UNION ALL ".join(
        _TIME_SCAN.format(within=within, order=order, test=test.text)
        for within, order in (
            ("t.middle >= bounds.low AND t.middle < bounds.middle", "DESC"),
            ("t.middle >= bounds.middle AND t.middle <= bounds.high", "ASC"),
        )
    )
    query = (
        f"UNWIND $ranges AS bounds CALL (bounds) {{ {scans} }} RETURN collect([{_TIME_COLUMNS}])"
    )
    size = limit
    while True:
        rows = sorted(tx.collected(query, size=size, **params))
        end = _cut(rows, size)
        hits = _nearest(rows[:end], limit)
        if len(hits) == limit or end is None:
            return hits
        size *= _GROWTH


def _cut(rows: Sequence[Row], size: int) -> int | None:
    """Return how many of the rows, sorted, come before any that a scan left out.

    A scan leaves out rows once it has returned `size`. None if no scan did.
    """
    read: Counter[str] = Counter()
    for number, (*_, scan) in enumerate(rows, start=1):
        read[scan] += 1
        if read[scan] == size:
            return number
    return None


def _nearest(rows: Iterable[Row], limit: int) -> list[TimeHit]:
    hits: dict[str, TimeHit] = {}
    for _, id, ordinal, since, until, precision, _ in rows:
        if id not in hits and len(hits) < limit:
            span = TimeSpan(time_of(since), time_of(until), Precision(precision))
            kind = TimeKind.OCCURRED if ordinal else TimeKind.MENTIONED
            hits[id] = TimeHit(id, span, kind)
    return list(hits.values())


# Neighbours


def _side(comparison: str, order: str) -> str:
    """Return a list of the ids of the valid memories on one side of `here`, nearest first.

    In place of the id of one that does not pass the filter is an empty text.
    """
    return (
        "COLLECT {{ MATCH (m:Memory) WHERE m.bank = $bank AND m.document_id = here.document_id "
        f"AND m.place {comparison} here.place AND m.invalidated_at IS NULL "
        "RETURN CASE WHEN {test} THEN m.id ELSE '' END "
        f"ORDER BY m.bank {order}, m.document_id {order}, m.place {order} LIMIT $distance }}}}"
    )


_NEIGHBOURS = (
    "UNWIND $rows AS key MATCH (here:Memory {{key: key}}) "
    "WHERE here.document_id IS NOT NULL AND here.invalidated_at IS NULL "
    f"RETURN collect([here.id, {_side('<', 'DESC')}, {_side('>', 'ASC')}])"
)


# Names

_SHARING = f"""
    UNWIND $rows AS row
    CALL (row) {{
        CALL db.index.fulltext.queryNodes('{NAME_TEXTS}', row.listed) YIELD node AS n
        RETURN n ORDER BY n.seq LIMIT $most
    }}
    WITH n, collect(row.gram) AS grams MATCH (n)-[:NAMES]->(e:Entity)
    RETURN collect([n.norm, grams, e.id])"""
