"""Who is mentioned where, and the counts and dates of entities that follow from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.storage.neo4j.connection import gather, run_each
from hindsight_integrations.storage.neo4j.filters import condition
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.requests import MemoryFilter, Posting

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_ADD = """
    UNWIND $rows AS row MATCH (m:Memory {key: row.memory}) MATCH (e:Entity {key: row.entity})
    CREATE (m)-[:MENTIONS {ordinal: row.ordinal}]->(e)
    WITH e, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    SET e.mention_count = COUNT { (e)<-[:MENTIONS]-() },
        e.first_seen = CASE WHEN e.first_seen < first THEN e.first_seen ELSE first END,
        e.last_seen = CASE WHEN e.last_seen > last THEN e.last_seen ELSE last END"""

_REMOVE = """
    UNWIND $rows AS key MATCH (:Memory {key: key})-[x:MENTIONS]->(e:Entity)
    DELETE x RETURN collect(DISTINCT [e.key])"""

SETTLE = """
    UNWIND $rows AS key MATCH (e:Entity {key: key})
    OPTIONAL MATCH (e)<-[:MENTIONS]-(m:Memory)
    WITH e, count(m) AS memories, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    SET e.mention_count = memories, e.first_seen = first, e.last_seen = last"""

_DROP = """
    UNWIND $rows AS key MATCH (e:Entity {key: key}) WHERE e.mention_count = 0 AND NOT e.edited
    OPTIONAL MATCH (n:Name)-[:NAMES]->(e) DETACH DELETE n, e"""

_BESIDE = """
    UNWIND $rows AS key MATCH (e:Entity {key: key})
    OPTIONAL MATCH (e)<-[:MENTIONS]-(:Memory)-[:MENTIONS]->(other:Entity)
    WITH e.id AS id, other.id AS other, count(other) AS memories
    RETURN collect([id, other, memories])"""


def add(tx: ManagedTransaction, mentioned: Mapping[str, Sequence[str]]) -> None:
    """Note the entities that memories mention: memory key to entity keys, each once."""
    rows = [
        {"memory": memory, "entity": entity, "ordinal": ordinal}
        for memory, group in mentioned.items()
        for ordinal, entity in enumerate(group)
    ]
    run_each(tx, _ADD, rows)


def remove(tx: ManagedTransaction, memories: Iterable[str]) -> set[str]:
    """Forget what memories, by key, mention.

    Returns:
        The entities that lost a mention: `settle` them before the transaction ends.
    """
    return {key for (key,) in gather(tx, _REMOVE, list(memories))}


def settle(tx: ManagedTransaction, touched: Iterable[str]) -> None:
    """Count and date the mentions of entities anew, and drop those no longer mentioned.

    An entity with aliases that a user gave it stays even if nothing mentions it.
    """
    keys = sorted(touched)
    run_each(tx, SETTLE, keys)
    run_each(tx, _DROP, keys)


def cooccurring(
    tx: ManagedTransaction, bank: BankKey, entity_ids: Sequence[str]
) -> dict[str, dict[str, int]]:
    """For each entity that exists, the others mentioned beside it, most often first."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for id, other, count in gather(tx, _BESIDE, [bank.of(id) for id in dict.fromkeys(entity_ids)]):
        found[id] |= {} if other is None else {other: count}
    return {
        id: dict(sorted(found[id].items(), key=lambda pair: (-pair[1], pair[0])))
        for id in entity_ids
        if id in found
    }


def postings(
    tx: ManagedTransaction,
    bank: BankKey,
    entity_ids: Sequence[str],
    per_entity: int,
    filter: MemoryFilter,
) -> list[Posting]:
    """Memories that mention the entities, the latest stored `per_entity` of each first."""
    test = condition(bank, filter)
    query = (
        "UNWIND $rows AS key MATCH (e:Entity {key: key}) CALL (e) { "
        f"MATCH (e)<-[:MENTIONS]-(m:Memory) WHERE {test.text} "
        "RETURN m.id AS id, m.seq AS seq ORDER BY seq DESC LIMIT $most } "
        "RETURN collect([e.id, id, e.mention_count, seq])"
    )
    found: defaultdict[str, list[tuple[int, Posting]]] = defaultdict(list)
    for entity, memory, degree, seq in gather(
        tx,
        query,
        [bank.of(id) for id in dict.fromkeys(entity_ids)],
        most=max(per_entity, 0),
        **test.params,
    ):
        found[entity].append((-seq, Posting(entity, memory, degree)))
    return [posting for id in dict.fromkeys(entity_ids) for _, posting in sorted(found.get(id, ()))]
