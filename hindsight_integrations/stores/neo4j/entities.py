"""Names and mentions of entities, the counts that follow from them, and corrections by a user.

A normalised name belongs to one entity of a bank, as its canonical name or an alias: the unique
key of its `Name` ensures it. The spellings stand in the entity.
"""

# ruff: noqa: D102 (the methods are described in `EntityWriter`)

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from hindsight_integrations.models import Entity
from hindsight_integrations.stores.base import ENTITY
from hindsight_integrations.stores.entities import EntityWriter, names_of
from hindsight_integrations.stores.names import grams_of
from hindsight_integrations.stores.neo4j import relating
from hindsight_integrations.stores.neo4j.filters import indexed
from hindsight_integrations.stores.neo4j.nodes import BankTransaction
from hindsight_integrations.stores.neo4j.reading import read_in

_INSERT = """
    MATCH (b:Bank {key: $bank}) UNWIND $rows AS row CREATE (e:Entity)-[:IN]->(b)
    SET e = row, e.bank = $bank, e.aliases = [], e.mention_count = 0, e.edited = false"""

_SPELL = """
    UNWIND $rows AS row MATCH (e:Entity {key: row[0]}) WITH e, row, e.name IS NULL AS bare
    SET e.aliases = e.aliases + CASE WHEN bare THEN tail(row[1]) ELSE row[1] END,
        e.name = coalesce(e.name, row[1][0])"""

_NAME = """
    UNWIND $rows AS row MATCH (e:Entity {key: row.entity})
    CREATE (n:Name {key: row.key, bank: $bank, norm: row.norm, grams: row.grams, seq: row.seq})
    CREATE (n)-[:NAMES]->(e)
    WITH n, e MATCH (s:Speaker {key: n.key}) MERGE (s)-[:IS]->(e)"""

_UNNAME = """
    UNWIND $rows AS key MATCH (e:Entity {key: key}) SET e.aliases = [] REMOVE e.name
    WITH e CALL (e) { MATCH (:Speaker)-[is:IS]->(e) DELETE is }
    MATCH (n:Name)-[:NAMES]->(e) DETACH DELETE n"""

_OWNERS = """
    UNWIND $rows AS key MATCH (n:Name {key: key})-[:NAMES]->(e:Entity)
    RETURN collect([n.norm, e.key])"""

_MENTION = """
    UNWIND $rows AS row MATCH (m:Memory {key: row[0]}) MATCH (e:Entity {key: row[1]})
    CREATE (m)-[:MENTIONS {ordinal: row[2], entity: e.key, seq: m.seq}]->(e)
    WITH e, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    SET e.first_unsure = CASE WHEN first <= e.first_seen THEN null ELSE e.first_unsure END,
        e.last_unsure = CASE WHEN last >= e.last_seen THEN null ELSE e.last_unsure END
    SET e.mention_count = COUNT { (e)<-[:MENTIONS]-() },
        e.first_seen = CASE WHEN e.first_seen < first THEN e.first_seen ELSE first END,
        e.last_seen = CASE WHEN e.last_seen > last THEN e.last_seen ELSE last END"""

_UNMENTION = """
    UNWIND $rows AS key MATCH (m:Memory {key: key})-[x:MENTIONS]->(e:Entity)
    WITH x, e, m.mentioned_at AS at DELETE x
    SET e.first_unsure = CASE WHEN e.first_seen < at THEN e.first_unsure ELSE true END,
        e.last_unsure = CASE WHEN at < e.last_seen THEN e.last_unsure ELSE true END
    RETURN collect(DISTINCT [e.key])"""

RECOUNT = """
    UNWIND $rows AS key MATCH (e:Entity {key: key})
    OPTIONAL MATCH (e)<-[:MENTIONS]-(m:Memory)
    WITH e, count(m) AS memories, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    SET e.mention_count = memories, e.first_seen = first, e.last_seen = last"""

# A name that many memories mention has all of them read again only if its first or last is gone.
_RECOUNT_AFFECTED = """
    UNWIND $rows AS key MATCH (e:Entity {key: key})
    SET e.mention_count = COUNT { (e)<-[:MENTIONS]-() }
    WITH e WHERE e.first_unsure OR e.last_unsure REMOVE e.first_unsure, e.last_unsure
    WITH e OPTIONAL MATCH (e)<-[:MENTIONS]-(m:Memory)
    WITH e, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    SET e.first_seen = first, e.last_seen = last"""

_DROP = """
    UNWIND $rows AS key MATCH (e:Entity {key: key}) WHERE e.mention_count = 0 AND NOT e.edited
    OPTIONAL MATCH (n:Name)-[:NAMES]->(e) DETACH DELETE n, e"""

_MENTIONS_BESIDE = """
    MATCH (:Entity {key: $key})<-[:MENTIONS]-(m:Memory)
    RETURN m.key, [(m)-[x:MENTIONS]->(e:Entity) | [x.ordinal, e.key]]"""


class Neo4jEntities(EntityWriter[str]):
    """The entities of a bank in a transaction; see `EntityWriter`.

    Args:
        tx: the transaction.
        found: id to key of the entities that exist, of all that will be asked for; read if None.
        owners: normalised name to the key of the entity that has it, of all that will be asked
            for; read if None.
    """

    def __init__(
        self,
        tx: BankTransaction,
        found: Mapping[str, str] | None = None,
        owners: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(tx.id)
        self._tx = tx
        self._found = found
        self._owners = None if owners is None else dict(owners)

    def find(self, ids: Sequence[str]) -> dict[str, str]:
        if self._found is not None:
            return {id: self._found[id] for id in ids if id in self._found}
        return self._tx.existing("Entity", ids)

    def new_keys(self, ids: Sequence[str]) -> Mapping[str, str]:
        return {id: self._tx.of(id) for id in ids}

    def insert(self, entities: Mapping[str, Entity]) -> None:
        rows = [{"key": key, "id": each.id, "kind": each.kind} for key, each in entities.items()]
        self._tx.run_each(_INSERT, rows, even_none=True)

    def set_kinds(self, kinds: Mapping[str, str]) -> None:
        self._tx.run_each(
            "UNWIND $rows AS row MATCH (e:Entity {key: row[0]}) SET e.kind = row[1]",
            list(kinds.items()),
        )

    def owners(self, norms: Iterable[str]) -> Mapping[str, str]:
        if self._owners is not None:
            return {norm: self._owners[norm] for norm in norms if norm in self._owners}
        return dict(self._tx.gather(_OWNERS, self._tx.all_of(norms)))

    def names(self, entity: str) -> dict[str, str]:
        (stored,) = read_in(self._tx, ENTITY, [self._tx.id_of(entity)]).values()
        return names_of(stored)

    def add_names(self, names: Mapping[str, Mapping[str, str]]) -> None:
        spelt = [(key, list(group.values())) for key, group in names.items() if group]
        self._tx.run_each(_SPELL, spelt, even_none=True)
        given = [(key, norm) for key, group in names.items() for norm in group]
        rows = [
            {
                "entity": key,
                "key": self._tx.of(norm),
                "norm": norm,
                "grams": indexed(grams_of(norm)),
            }
            | {"seq": seq}
            for (key, norm), seq in zip(given, self._tx.reserve(len(given)), strict=True)
        ]
        self._tx.run_each(_NAME, rows, even_none=True)
        if self._owners is not None:
            self._owners.update((norm, key) for key, norm in given)

    def remove_names(self, entities: Iterable[str]) -> None:
        leaving = set(entities)
        self._tx.run_each(_UNNAME, sorted(leaving))
        if self._owners is not None:
            kept = {norm: key for norm, key in self._owners.items() if key not in leaving}
            self._owners = kept

    def memories(self, ids: Iterable[str]) -> Collection[str]:
        return set(self._tx.all_of(ids))

    def mentions_beside(self, entity: str) -> dict[str, list[str]]:
        return {
            memory: [key for _, key in sorted(group)]
            for memory, group in self._tx.run(_MENTIONS_BESIDE, key=entity)
        }

    def add_mentions(self, mentioned: Mapping[str, Sequence[str]]) -> None:
        rows = [
            (memory, entity, ordinal)
            for memory, group in mentioned.items()
            for ordinal, entity in enumerate(group)
        ]
        self._tx.run_each(_MENTION, rows, even_none=True)
        relating.count_beside(self._tx, mentioned.values())

    def remove_mentions(self, memories: Iterable[str]) -> set[str]:
        keys = list(memories)
        relating.uncount_beside(self._tx, keys)
        return {key for (key,) in self._tx.gather(_UNMENTION, keys)}

    def mark_edited(self, entities: Iterable[str]) -> None:
        self._tx.run_each(
            "UNWIND $rows AS key MATCH (e:Entity {key: key}) SET e.edited = size(e.aliases) > 0",
            sorted(entities),
        )

    def recount(self, entities: Iterable[str]) -> None:
        keys = sorted(entities)
        self._tx.run_each(_RECOUNT_AFFECTED, keys)
        self._tx.run_each(_DROP, keys)
