"""Nodes that contradict each other: finding them, and putting right what can be computed.

Memories, their mentions and their names are believed; times and counts are made anew where they
differ. Nodes that belong to nothing go, and so does a conclusion that nothing supports. A lost
vector or name can only be reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hindsight_integrations.model import Source
from hindsight_integrations.storage.neo4j import (
    banks,
    conclusions,
    mentions,
    removal,
    sources,
    times,
)
from hindsight_integrations.storage.neo4j.codec import memory_of, sources_of
from hindsight_integrations.storage.neo4j.connection import run, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.neo4j.lucene import terms_of
from hindsight_integrations.storage.requests import StoreFault

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_ORPHANS = {
    "Time": "NOT EXISTS { (n)<-[:AT]-(:Memory) }",
    "Vector": "NOT EXISTS { MATCH (:Memory {key: n.key}) }",
    "StagedVector": "NOT EXISTS { MATCH (:Memory {key: n.key}) }",
    "Name": "NOT EXISTS { (n)-[:NAMES]->(:Entity) }",
}
"""Label, and what holds of a node of it that belongs to nothing."""

_LACKING = (
    ("Memory", "no vector", "NOT EXISTS { MATCH (:Vector {key: n.key}) }"),
    ("Entity", "no name", "n.name IS NULL OR NOT EXISTS { (n)<-[:NAMES]-(:Name) }"),
)

_TIMES_DIFFER = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0
    WITH m, [(m)-[:AT]->(t:Time) WHERE t.ordinal > 0 |
        [t.ordinal, t.since + '/' + t.until + '/' + t.precision]] AS named
    WHERE COUNT { (m)-[:AT]->() } <> 1 + size(m.occurred)
        OR any(each IN named WHERE coalesce(m.occurred[each[0] - 1], '') <> each[1])
    RETURN properties(m)"""

_SOURCES = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0
    RETURN m.key, m.seq, m.sources, m.facets, [(m)-[:EVIDENCE]->(e:Memory) | e.id]"""

_COUNTS_DIFFER = """
    MATCH (e:Entity) WHERE e.key STARTS WITH $prefix
    OPTIONAL MATCH (e)<-[:MENTIONS]-(m:Memory)
    WITH e, count(m) AS memories, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    WHERE e.mention_count <> memories OR coalesce(e.first_seen, '') <> coalesce(first, '')
        OR coalesce(e.last_seen, '') <> coalesce(last, '')
    RETURN e.key"""


def check(tx: ManagedTransaction, bank: BankKey, *, repair: bool) -> list[StoreFault]:
    """Faults found in a bank, and whether they were put right."""
    if repair:
        banks.alter(tx, bank)
    return [
        *_orphans(tx, bank, repair),
        *_evidence(tx, bank, repair),
        *_lacking(tx, bank),
        *_times(tx, bank, repair),
        *_mention_counts(tx, bank, repair),
        *_lexeme_counts(tx, bank, repair),
        *_outbox(tx, bank, repair),
    ]


def _orphans(tx: ManagedTransaction, bank: BankKey, repair: bool) -> Iterator[StoreFault]:
    for label, belongs_to_nothing in _ORPHANS.items():
        found = run(
            tx,
            f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix AND {belongs_to_nothing} "
            "RETURN n.key",
            prefix=bank.prefix,
        )
        if found:
            if repair:
                keys = [key for (key,) in found]
                run_each(
                    tx, f"UNWIND $rows AS key MATCH (n:{label} {{key: key}}) DETACH DELETE n", keys
                )
            yield StoreFault(label, "belongs to nothing", len(found), repair)


def _evidence(tx: ManagedTransaction, bank: BankKey, repair: bool) -> Iterator[StoreFault]:
    """Sources that name lost memories, conclusions without support, evidence drawn otherwise."""
    rows = run(tx, _SOURCES, bank=bank.key)
    there = {key for key, *_ in rows}

    def is_live(source: Source) -> bool:
        return source.memory_id is None or bank.of(source.memory_id) in there

    lost = 0
    hurt, unsupported, misdrawn = [], [], {}
    for key, seq, texts, facets, drawn in rows:
        given = sources_of(texts)
        live = list(filter(is_live, given))
        named = [each.memory_id for each in live if each.memory_id is not None]
        lost += len(given) - len(live)
        if len(live) < len(given):
            hurt.append((key, seq, texts, facets))
        if (named or len(live) < len(given)) and not any(each.supports for each in live):
            unsupported.append(key.removeprefix(bank.prefix))
        elif sorted(named) != sorted(drawn):
            misdrawn[key] = live
    if repair:
        supported = sources.restate(tx, hurt, is_live)
        still = [key.removeprefix(bank.prefix) for key, still in supported.items() if still]
        conclusions.wait(tx, bank, still)
        sources.draw(tx, bank, misdrawn)
        _, bereft = removal.remove(tx, bank, unsupported)
        mentions.settle(tx, bereft)
    for problem, count in (
        ("evidence is none of the memories", lost),
        ("nothing supports the conclusion", len(unsupported)),
        ("evidence is drawn otherwise than stated", len(misdrawn)),
    ):
        if count:
            yield StoreFault("Memory", problem, count, repair)


def _lacking(tx: ManagedTransaction, bank: BankKey) -> Iterator[StoreFault]:
    for label, problem, lacks in _LACKING:
        ((count,),) = run(
            tx,
            f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix AND ({lacks}) RETURN count(n)",
            prefix=bank.prefix,
        )
        if count:
            yield StoreFault(label, problem, count, repaired=False)


def _times(tx: ManagedTransaction, bank: BankKey, repair: bool) -> Iterator[StoreFault]:
    wrong = [memory_of(node, bank.id, ()) for (node,) in run(tx, _TIMES_DIFFER, bank=bank.key)]
    if wrong:
        if repair:
            keys = [bank.of(memory.id) for memory in wrong]
            run_each(
                tx,
                "UNWIND $rows AS key MATCH (:Memory {key: key})-[:AT]->(t:Time) DETACH DELETE t",
                keys,
            )
            times.add(tx, bank, wrong)
        yield StoreFault("Time", "differs from the memories", len(wrong), repair)


def _mention_counts(tx: ManagedTransaction, bank: BankKey, repair: bool) -> Iterator[StoreFault]:
    wrong = [key for (key,) in run(tx, _COUNTS_DIFFER, prefix=bank.prefix)]
    if wrong:
        if repair:
            run_each(tx, mentions.SETTLE, wrong)
        yield StoreFault("Entity", "counts differ from the mentions", len(wrong), repair)


def _lexeme_counts(tx: ManagedTransaction, bank: BankKey, repair: bool) -> Iterator[StoreFault]:
    held = [
        terms_of(text)
        for (text,) in run(
            tx,
            "MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0 AND m.invalidated_at IS NULL "
            "RETURN m.lexemes",
            bank=bank.key,
        )
    ]
    wanted = Counter(lexeme for lexemes in held for lexeme in set(lexemes))
    there: dict[str, int] = dict(
        run(
            tx,
            "MATCH (l:Lexeme) WHERE l.key STARTS WITH $prefix RETURN l.lexeme, l.memories",
            prefix=bank.prefix,
        )
    )
    wanted_totals = (len(held), sum(map(len, held)))
    (totals,) = run(
        tx, "MATCH (b:Bank {key: $bank}) RETURN b.valid_memories, b.valid_lexemes", bank=bank.key
    )
    wrong = sorted({lexeme for lexeme, _ in wanted.items() ^ there.items()})
    if wrong or totals != wanted_totals:
        if repair:
            rows = [
                {"key": bank.of(lexeme), "lexeme": lexeme, "memories": wanted[lexeme]}
                for lexeme in wrong
            ]
            run_each(
                tx,
                "UNWIND $rows AS row MERGE (l:Lexeme {key: row.key}) "
                "SET l = row, l.bank = $bank WITH l WHERE l.memories = 0 DELETE l",
                rows,
                bank=bank.key,
            )
            run(
                tx,
                "MATCH (b:Bank {key: $bank}) "
                "SET b.valid_memories = $totals[0], b.valid_lexemes = $totals[1]",
                bank=bank.key,
                totals=wanted_totals,
            )
        yield StoreFault("Lexeme", "differs from the memories", max(1, len(wrong)), repair)


def _outbox(tx: ManagedTransaction, bank: BankKey, repair: bool) -> Iterator[StoreFault]:
    lost = run(
        tx,
        "MATCH (p:PendingVector) WHERE p.key STARTS WITH $prefix AND p.operation = 'upsert' "
        "AND NOT EXISTS { MATCH (:Vector {key: p.memory}) } RETURN p.ticket",
        prefix=f"{bank.vector_key}|",
    )
    if lost:
        if repair:
            tickets = [ticket for (ticket,) in lost]
            run_each(
                tx,
                "UNWIND $rows AS ticket MATCH (p:PendingVector {ticket: ticket}) DELETE p",
                tickets,
            )
        yield StoreFault("PendingVector", "the vector to write is lost", len(lost), repair)
