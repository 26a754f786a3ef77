"""Relationships that make the graph readable to people who query it themselves.

    (:Memory)-[:IN]->(:Bank)                          (:Memory)-[:NEXT]->(:Memory)
    (:Memory)-[:SAID_BY]->(:Speaker)-[:IS]->(:Entity)
    (:Entity)-[:BESIDE {memories}]->(:Entity)

`NEXT` follows the memories of a document in the order of its text. `BESIDE` counts the memories
that mention both, from the lesser key to the greater. The key of a `Speaker` is that of the `Name`
of the entity it is, if any. A bank counts its links. It is locked wherever these change, so they
are always true.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations, pairwise

from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.models import LinkKind, Memory
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores.base import StoreFault
from hindsight_integrations.stores.neo4j.connection import WRITE_BATCH, Database, Row, Transaction
from hindsight_integrations.stores.neo4j.nodes import (
    BankTransaction,
    lock_bank,
    source_text,
    sources_of,
    text_of,
)

log = logging.getLogger("hindsight_integrations")

MEMBERS = ("Memory", "Entity", "Document", "MentalModel")
"""Labels of the nodes that are related to their bank."""

_JOIN = """
    MATCH (b:Bank {{key: $bank}}) UNWIND $rows AS key MATCH (n:{label} {{key: key}})
    MERGE (n)-[:IN]->(b)"""

_SAY = """
    UNWIND $rows AS row MATCH (m:Memory {key: row[0]})
    MERGE (s:Speaker {key: row[1]}) ON CREATE SET s.bank = $bank, s.name = row[2]
    MERGE (m)-[:SAID_BY]->(s)
    WITH DISTINCT s MATCH (:Name {key: s.key})-[:NAMES]->(e:Entity) MERGE (s)-[:IS]->(e)"""

# Each subquery sees what those of the rows before it have changed.
_CHAIN = """
    UNWIND $rows AS key CALL (key) {
        MATCH (m:Memory {key: key}) WHERE m.document_id IS NOT NULL
        OPTIONAL MATCH (m)-[own:NEXT]-() DELETE own
        WITH DISTINCT m
        WITH m, COLLECT { MATCH (p:Memory) WHERE p.bank = $bank AND p.document_id = m.document_id
                AND p.place < m.place
            RETURN p ORDER BY p.bank DESC, p.document_id DESC, p.place DESC LIMIT 1 } AS before,
            COLLECT { MATCH (s:Memory) WHERE s.bank = $bank AND s.document_id = m.document_id
                AND s.place > m.place
            RETURN s ORDER BY s.bank, s.document_id, s.place LIMIT 1 } AS after
        CALL (before, m) {
            UNWIND before AS p OPTIONAL MATCH (p)-[old:NEXT]->() DELETE old
            WITH DISTINCT p, m CREATE (p)-[:NEXT]->(m) }
        CALL (after, m) {
            UNWIND after AS s OPTIONAL MATCH ()-[old:NEXT]->(s) DELETE old
            WITH DISTINCT s, m CREATE (m)-[:NEXT]->(s) }
    }"""

_UNCHAIN = """
    UNWIND $rows AS key CALL (key) {
        MATCH (m:Memory {key: key})
        OPTIONAL MATCH (p)-[i:NEXT]->(m) OPTIONAL MATCH (m)-[o:NEXT]->(s)
        DELETE i, o WITH p, s WHERE p IS NOT NULL AND s IS NOT NULL CREATE (p)-[:NEXT]->(s)
    }"""

_FALL_SILENT = """
    UNWIND $rows AS key CALL (key) {
        MATCH (:Memory {key: key})-[r:SAID_BY]->(s:Speaker) DELETE r
        WITH s WHERE NOT EXISTS { (s)<-[:SAID_BY]-() } DETACH DELETE s
    }"""

_BESIDE = """
    UNWIND $rows AS row MATCH (a:Entity {key: row[0]}) MATCH (b:Entity {key: row[1]})
    MERGE (a)-[r:BESIDE]->(b) SET r.memories = coalesce(r.memories, 0) + row[2]"""

_NOT_BESIDE = """
    UNWIND $rows AS key
    MATCH (a:Entity)<-[:MENTIONS]-(:Memory {key: key})-[:MENTIONS]->(b:Entity) WHERE a.key < b.key
    WITH a, b, count(*) AS gone MATCH (a)-[r:BESIDE]->(b) SET r.memories = r.memories - gone
    WITH r WHERE r.memories <= 0 DELETE r"""

_COUNT_BESIDE = """
    UNWIND $rows AS key MATCH (a:Entity {key: key})
    CALL (a) { MATCH (a)-[old:BESIDE]->() DELETE old }
    CALL (a) {
        MATCH (a)<-[:MENTIONS]-(:Memory)-[:MENTIONS]->(b:Entity) WHERE a.key < b.key
        WITH a, b, count(*) AS memories CREATE (a)-[:BESIDE {memories: memories}]->(b)
    }"""


def count_links(sign: str, *, then: str = "") -> str:
    """Return the clauses that add links `l` to the counts of their bank, or subtract them."""
    sums = ", ".join(f"sum(CASE kind WHEN '{k}' THEN 1 ELSE 0 END) AS {k}" for k in LinkKind)
    counts = ", ".join(f"b.{k}_links = coalesce(b.{k}_links, 0) {sign} {k}" for k in LinkKind)
    return f" WITH l, l.kind AS kind {then} WITH {sums} MATCH (b:Bank {{key: $bank}}) SET {counts}"


_LINKS = f"""
    MATCH (b:Bank {{key: $bank}})
    CALL () {{ MATCH (m:Memory)-[l:LINK]->() WHERE m.bank = $bank AND m.seq > 0
        RETURN {", ".join(f"count(CASE l.kind WHEN '{k}' THEN 1 END) AS {k}" for k in LinkKind)} }}
    """
_COUNT_LINKS = _LINKS + "SET " + ", ".join(f"b.{k}_links = {k}" for k in LinkKind)
_MISCOUNTED = (
    _LINKS
    + "WITH * WHERE "
    + " OR ".join(f"coalesce(b.{k}_links, 0) <> {k}" for k in LinkKind)
    + " RETURN b.id"
)


def join(tx: BankTransaction, label: str, keys: Sequence[str]) -> None:
    """Relate nodes to their bank."""
    tx.run_each(_JOIN.format(label=label), keys)


def relate(tx: BankTransaction, memories: Mapping[str, Memory]) -> None:
    """Relate stored memories, by key, to their speakers and in the order of their documents."""
    said = _said(tx, ((key, memory.speaker) for key, memory in memories.items()))
    tx.run_each(_SAY, said, even_none=True)
    chain(tx, [key for key, memory in memories.items() if memory.document_id is not None])


def unrelate(tx: BankTransaction, keys: Sequence[str]) -> None:
    """Remove what `relate` made, before the memories change or go."""
    tx.run_each(_UNCHAIN, keys)
    tx.run_each(_FALL_SILENT, keys)


def chain(tx: BankTransaction, keys: Sequence[str]) -> None:
    """Put memories into the order of their documents."""
    tx.run_each(_CHAIN, keys, even_none=True)


def unchain(tx: BankTransaction, keys: Sequence[str]) -> None:
    """Take memories out of the order of their documents; the others close up."""
    tx.run_each(_UNCHAIN, keys)


def count_beside(tx: BankTransaction, mentioned: Iterable[Sequence[str]]) -> None:
    """Count the pairs of entities, by key, that new mentions of memories name together."""
    pairs = Counter(pair for group in mentioned for pair in combinations(sorted(group), 2))
    # Sorted: transactions that lock nodes in one order cannot deadlock.
    rows = [(*pair, count) for pair, count in sorted(pairs.items())]
    tx.run_each(_BESIDE, rows, even_none=True)


def uncount_beside(tx: BankTransaction, memories: Sequence[str]) -> None:
    """Count them no more, before the mentions of these memories are removed."""
    tx.run_each(_NOT_BESIDE, memories)


def _said(
    tx: BankTransaction, speakers: Iterable[tuple[str, str | None]]
) -> list[tuple[str, str, str]]:
    return [(key, tx.of(entity_norm(name)), name) for key, name in speakers if name is not None]


# Checking

_UNRELATED = "MATCH (n:{label}) WHERE n.key STARTS WITH $prefix AND NOT (n)-[:IN]->() RETURN n.key"

_PLACES = """
    MATCH (m:Memory) WHERE m.key STARTS WITH $prefix
    RETURN m.key, m.document_id, m.place, m.speaker,
        [(m)-[:NEXT]->(n) | n.key], [(m)-[:SAID_BY]->(s) | s.key]"""

_BESIDE_DIFFER = """
    MATCH (a:Entity) WHERE a.key STARTS WITH $prefix
    WITH a, COLLECT { MATCH (a)<-[:MENTIONS]-(:Memory)-[:MENTIONS]->(b:Entity) WHERE a.key < b.key
            WITH b.key AS other, count(*) AS memories ORDER BY other RETURN [other, memories]
        } AS found,
        COLLECT { MATCH (a)-[r:BESIDE]->(b) RETURN [b.key, r.memories] ORDER BY b.key } AS stored
    WHERE found <> stored RETURN a.key"""


def check(tx: BankTransaction, *, repair: bool) -> Iterator[StoreFault]:
    """Yield the faults in these relationships; they can all be made again."""
    for label in MEMBERS:
        if alone := [key for (key,) in tx.run(_UNRELATED.format(label=label))]:
            if repair:
                join(tx, label, alone)
            yield StoreFault(label, "is not related to its bank", len(alone), repair)
    yield from _check_memories(tx, repair)
    for label, problem, query, statement in (
        ("Bank", "counts of links differ", _MISCOUNTED, f"UNWIND $rows AS one {_COUNT_LINKS}"),
        ("Entity", "counts beside others differ", _BESIDE_DIFFER, _COUNT_BESIDE),
    ):
        if differing := [key for (key,) in tx.run(query)]:
            if repair:
                tx.run_each(statement, differing)
            yield StoreFault(label, problem, len(differing), repair)


def _check_memories(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    rows = tx.run(_PLACES)
    placed = sorted((row[1], row[2], row[0]) for row in rows if row[1] is not None)
    following = {a[2]: [b[2]] for a, b in pairwise(placed) if a[0] == b[0]}
    wrong = [row[0] for row in rows if row[4] != following.get(row[0], [])]
    if wrong:
        if repair:
            unchain(tx, wrong)
            chain(tx, wrong)
        yield StoreFault("Memory", "does not lead to the next", len(wrong), repair)
    said = _said(tx, ((row[0], row[3]) for row in rows))
    speakers = {key: [speaker] for key, speaker, _ in said}
    silent = {row[0] for row in rows if row[5] != speakers.get(row[0], [])}
    if silent:
        if repair:
            say_again(tx, [(row[0], row[3]) for row in rows if row[0] in silent])
        yield StoreFault("Speaker", "differs from the memories", len(silent), repair)


def say_again(tx: BankTransaction, speakers: Sequence[tuple[str, str | None]]) -> None:
    """Relate memories, given by key with the name of who said them, to that speaker alone."""
    tx.run_each(_FALL_SILENT, sorted(key for key, _ in speakers))
    tx.run_each(_SAY, _said(tx, speakers))


# Upgrading

_PAGE = """
    MATCH (n:{label}) WHERE n.key STARTS WITH $prefix AND n.key > $after
    RETURN n.key AS key, n.speaker, n.sources, n.document_id ORDER BY key LIMIT $size"""

_DATE = """
    UNWIND $rows AS row MATCH (m:Memory {key: row[0]})
    SET m.said_at = datetime(m.mentioned_at), m.sources = row[1]
    WITH m
    CALL (m) {
        MATCH (m)-[:AT]->(t:Time) SET t.starts = datetime(t.since), t.ends = datetime(t.until)
    }
    CALL (m) { MATCH (m)-[x:MENTIONS]->(e:Entity) SET x.entity = e.key, x.seq = m.seq }"""

_PLACE_SOURCE = """
    UNWIND $rows AS row MATCH (:Memory {key: row[0]})-[f:FROM]->(n) WHERE n.key = row[1]
    SET f.position = row[2], f.said_at = datetime(row[3])"""


def upgrade(database: Database) -> None:
    """Relate what an older release stored, page by page; it may be interrupted and run again."""
    for (bank_id,) in database.reads.run("MATCH (b:Bank) RETURN b.id"):
        with suppress(BankNotFoundError):  # deleted meanwhile
            for label in MEMBERS:
                after: str | None = ""
                while after is not None:
                    after = _upgrade_page(database, bank_id, label, after)
            database.write(partial(_count_links_of, bank_id))


def _count_links_of(bank_id: str, tx: Transaction) -> None:
    lock_bank(tx, bank_id).run(_COUNT_LINKS)


def _upgrade_page(database: Database, bank_id: str, label: str, after: str) -> str | None:
    """Relate a page of the nodes of a label; return the id of its last, None if it was empty."""

    def work(tx: Transaction) -> str | None:
        bank = lock_bank(tx, bank_id)
        rows = bank.run(_PAGE.format(label=label), after=bank.of(after), size=WRITE_BATCH)
        keys = [key for key, *_ in rows]
        join(bank, label, keys)
        if label == "Memory":
            _upgrade_memories(bank, rows)
        elif label == "Entity":
            bank.run_each(_COUNT_BESIDE, keys)
        bank.finish()
        return bank.id_of(keys[-1]) if keys else None

    last = database.write(work)
    log.info("bank %r: related nodes %s up to %s", bank_id, label, last)
    return last


def _upgrade_memories(tx: BankTransaction, rows: Sequence[Row]) -> None:
    given = {key: sources_of(texts) for key, _, texts, _ in rows}
    dated = [(key, [source_text(each) for each in sources]) for key, sources in given.items()]
    tx.run_each(_DATE, dated)
    placed = [
        (key, tx.of(named), each.position, text_of(each.mentioned_at))
        for key, sources in given.items()
        for each in reversed(sources)  # of two in one chunk the first counts
        if (named := each.chunk_id or each.document_id) is not None
    ]
    tx.run_each(_PLACE_SOURCE, placed)
    tx.run_each(_SAY, _said(tx, ((key, speaker) for key, speaker, _, _ in rows)))
    chain(tx, [key for key, _, _, document_id in rows if document_id is not None])
