"""Nodes that contradict each other: find them, and repair what can be computed.

Memories, their mentions and their names are trusted; evidence, times and counts that differ from
them are computed again. Nodes that belong to nothing are removed, and so is a conclusion that
nothing supports. A lost vector or name can only be reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from hindsight_integrations.models import Source
from hindsight_integrations.stores.base import MEMORY, StoreFault
from hindsight_integrations.stores.integrity import Decoders
from hindsight_integrations.stores.lexemes import lexeme_counts
from hindsight_integrations.stores.neo4j import relating, writing
from hindsight_integrations.stores.neo4j.entities import RECOUNT, Neo4jEntities
from hindsight_integrations.stores.neo4j.filters import terms_of
from hindsight_integrations.stores.neo4j.nodes import PROFILE, SUMMARY, BankTransaction, sources_of
from hindsight_integrations.stores.neo4j.reading import read_in

_REMOVABLE = (
    ("Time", "belongs to nothing", "NOT EXISTS { (n)<-[:AT]-(:Memory) }"),
    ("Vector", "belongs to nothing", "NOT EXISTS { MATCH (:Memory {key: n.key}) }"),
    ("StagedVector", "belongs to nothing", "NOT EXISTS { MATCH (:Memory {key: n.key}) }"),
    ("Name", "belongs to nothing", "NOT EXISTS { (n)-[:NAMES]->(:Entity) }"),
    ("Speaker", "belongs to nothing", "NOT EXISTS { (n)<-[:SAID_BY]-(:Memory) }"),
    (
        "PendingVector",
        "the vector to write is lost",
        "n.operation = 'upsert' AND NOT EXISTS { MATCH (:Vector {key: n.memory}) }",
    ),
)
"""Label, problem, and a condition of a node of it that is to be removed."""

_LACKING = (
    ("Memory", "no vector", "NOT EXISTS { MATCH (:Vector {key: n.key}) }"),
    ("Entity", "no name", "n.name IS NULL OR NOT EXISTS { (n)<-[:NAMES]-(:Name) }"),
)

_MEMORIES = "MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0"

_TIMES_DIFFER = f"""
    {_MEMORIES}
    WITH m, [(m)-[:AT]->(t:Time) WHERE t.ordinal > 0 |
        [t.ordinal, t.since + '/' + t.until + '/' + t.precision]] AS named
    WHERE COUNT {{ (m)-[:AT]->() }} <> 1 + size(m.occurred)
        OR any(each IN named WHERE NOT coalesce(m.occurred[each[0] - 1], '') STARTS WITH each[1])
    RETURN m.id"""

_COUNTS_DIFFER = """
    MATCH (e:Entity) WHERE e.key STARTS WITH $prefix
    OPTIONAL MATCH (e)<-[:MENTIONS]-(m:Memory)
    WITH e, count(m) AS memories, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    WHERE e.mention_count <> memories OR coalesce(e.first_seen, '') <> coalesce(first, '')
        OR coalesce(e.last_seen, '') <> coalesce(last, '')
    RETURN e.key"""


def check_bank(tx: BankTransaction, *, repair: bool) -> list[StoreFault]:
    """Return the faults found in a bank, each with whether it was repaired."""
    if repair:
        writing.raise_version(tx)
    return [
        *_undecodable(tx, "Bank", "n.key = $bank", PROFILE, repair),
        *_undecodable(tx, "MentalModel", "n.key STARTS WITH $prefix", SUMMARY, repair),
        *_removable(tx, repair),
        *_evidence(tx, repair),
        *_lacking(tx),
        *_times(tx, repair),
        *_mention_counts(tx, repair),
        *_lexeme_counts(tx, repair),
        *relating.check(tx, repair=repair),
    ]


def _undecodable(
    tx: BankTransaction, label: str, test: str, decoders: Decoders, repair: bool
) -> Iterator[StoreFault]:
    """Find properties that their reader replaces; repaired, the store holds what it reads."""
    nodes = tx.run(f"MATCH (n:{label}) WHERE {test} RETURN n.key, properties(n)")
    for name, decoder in decoders.items():
        lost = [key for key, node in nodes if name in node and decoder.is_damaged(node[name])]
        if lost and repair:
            tx.run_each(
                f"UNWIND $rows AS row MATCH (n:{label} {{key: row[0]}}) SET n.{name} = row[1]",
                [[key, decoder.default] for key in lost],
            )
        if lost:
            yield StoreFault(label, f"{name} cannot be read", len(lost), repair)


def _removable(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    for label, problem, test in _REMOVABLE:
        owned = f"{tx.vector_key}|" if label == "PendingVector" else tx.prefix
        found = tx.run(
            f"MATCH (n:{label}) WHERE n.key STARTS WITH $owned AND {test} RETURN n.key", owned=owned
        )
        if found:
            if repair:
                query = f"UNWIND $rows AS key MATCH (n:{label} {{key: key}}) DETACH DELETE n"
                tx.run_each(query, [key for (key,) in found])
            yield StoreFault(label, problem, len(found), repair)


def _evidence(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    """Find sources that name lost memories, unsupported conclusions, and wrong relationships."""
    rows = tx.run(
        f"{_MEMORIES} RETURN m.key, m.seq, m.sources, m.facets, "
        "[(m)-[:EVIDENCE]->(e:Memory) | e.id]"
    )
    existing = {tx.id_of(key) for key, *_ in rows}

    def is_damaged(source: Source) -> bool:
        return source.memory_id is not None and source.memory_id not in existing

    lost, harmed, unsupported = 0, [], []
    differing: dict[str, list[Source]] = {}
    for key, seq, texts, facets, related in rows:
        given = sources_of(texts)
        live = [source for source in given if not is_damaged(source)]
        named = [source.memory_id for source in live if source.memory_id is not None]
        lost += len(given) - len(live)
        if len(live) < len(given):
            harmed.append((key, seq, texts, facets))
        if (named or len(live) < len(given)) and not any(source.supports for source in live):
            unsupported.append(tx.id_of(key))
        elif sorted(named) != sorted(related):
            differing[key] = live
    if repair:
        writing.remove_sources(tx, harmed, is_damaged)
        writing.relate_sources(tx, differing)
        _, affected = writing.remove(tx, unsupported)
        Neo4jEntities(tx).recount(affected)
    for problem, count in (
        ("evidence is none of the memories", lost),
        ("nothing supports the conclusion", len(unsupported)),
        ("relationships of evidence differ from the sources", len(differing)),
    ):
        if count:
            yield StoreFault("Memory", problem, count, repair)


def _lacking(tx: BankTransaction) -> Iterator[StoreFault]:
    for label, problem, test in _LACKING:
        ((count,),) = tx.run(
            f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix AND ({test}) RETURN count(n)"
        )
        if count:
            yield StoreFault(label, problem, count, repaired=False)


def _times(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    wrong = [id for (id,) in tx.run(_TIMES_DIFFER)]
    if wrong:
        if repair:
            tx.run_each(
                "UNWIND $rows AS key MATCH (:Memory {key: key})-[:AT]->(t:Time) DETACH DELETE t",
                tx.all_of(wrong),
            )
            writing.add_times(tx, read_in(tx, MEMORY, wrong).values())
        yield StoreFault("Time", "differs from the memories", len(wrong), repair)


def _mention_counts(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    wrong = [key for (key,) in tx.run(_COUNTS_DIFFER)]
    if wrong:
        if repair:
            tx.run_each(RECOUNT, wrong)
        yield StoreFault("Entity", "counts differ from the mentions", len(wrong), repair)


def _lexeme_counts(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    texts = tx.run(f"{_MEMORIES} AND m.invalidated_at IS NULL RETURN m.lexemes")
    held = [terms_of(text) for (text,) in texts]
    stored: dict[str, int] = dict(
        tx.run("MATCH (l:Lexeme) WHERE l.key STARTS WITH $prefix RETURN l.lexeme, l.memories")
    )
    (totals,) = tx.run("MATCH (b:Bank {key: $bank}) RETURN b.valid_memories, b.valid_lexemes")
    wrong = {lexeme for lexeme, _ in lexeme_counts(held).items() ^ stored.items()}
    if wrong or totals != (len(held), sum(map(len, held))):
        if repair:
            tx.run("MATCH (l:Lexeme) WHERE l.key STARTS WITH $prefix DELETE l")
            tx.run("MATCH (b:Bank {key: $bank}) SET b.valid_memories = 0, b.valid_lexemes = 0")
            writing.count_lexemes(tx, held, 1)
        yield StoreFault("Lexeme", "differs from the memories", max(1, len(wrong)), repair)
