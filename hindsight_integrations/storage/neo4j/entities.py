"""Entities and their names: who has a name, who has one like it, and making new ones.

A normalised name belongs to one entity of a bank, as its canonical name or an alias: the unique
key of its `Name` sees to that. The spellings stand in the entity.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hindsight_integrations.model import Entity, Page
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.storage import cursors
from hindsight_integrations.storage.conditions import check_entities
from hindsight_integrations.storage.likeness import (
    RAREST_TRIGRAMS,
    by_norm,
    grams_of,
    likeness,
    trigrams,
)
from hindsight_integrations.storage.neo4j import lucene
from hindsight_integrations.storage.neo4j.codec import moment_or_none
from hindsight_integrations.storage.neo4j.connection import Row, gather, run, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey, existing, reserve
from hindsight_integrations.storage.neo4j.schema import NAME_TEXTS
from hindsight_integrations.storage.requests import EntityNames

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_COMMON = 500
"""Names read per trigram or word: one that more names share tells little."""

_NAMED = "UNWIND $rows AS key MATCH (n:Name {key: key})-[:NAMES]->(e:Entity)"
_ENTITY = "e.id, e.name, e.kind, e.aliases, e.mention_count, e.first_seen, e.last_seen"

_STORE = """
    UNWIND $rows AS row CREATE (e:Entity)
    SET e = row, e.bank = $bank, e.aliases = [], e.mention_count = 0, e.edited = false"""

_NAME = """
    UNWIND $rows AS row MATCH (e:Entity {key: row.entity})
    CREATE (n:Name {key: row.key, bank: $bank, norm: row.norm, grams: row.grams, seq: row.seq})
    CREATE (n)-[:NAMES]->(e)"""

_SHARING = f"""
    UNWIND $rows AS row
    CALL (row) {{
        CALL db.index.fulltext.queryNodes('{NAME_TEXTS}', row.listed) YIELD node AS n
        RETURN n ORDER BY n.seq LIMIT $most
    }}
    RETURN collect([row.gram, n.norm])"""


def resolve(
    tx: ManagedTransaction,
    bank: BankKey,
    entities: Sequence[Entity],
    used: Iterable[str],
) -> dict[str, str]:
    """Entity id to key, of a change set's entities and of those it uses.

    An entity whose id, name or alias the bank has is that one, and gains the names it lacks;
    the others are stored.

    Raises:
        EntityNotFoundError: it uses an entity that is neither its own nor the bank's.
    """
    used = set(used)
    found = existing(tx, "Entity", bank, [*(entity.id for entity in entities), *used])
    spellings = [by_norm((entity.name, *entity.aliases)) for entity in entities]
    owners = owners_of(tx, bank, [norm for names in spellings for norm in names])
    fresh: defaultdict[str, dict[str, str]] = defaultdict(dict)
    made: list[Entity] = []
    for entity, names in zip(entities, spellings, strict=True):
        owner = next((owners[norm] for norm in names if norm in owners), None)
        if entity.id not in found:
            found[entity.id] = owner or bank.of(entity.id)
            made += [] if owner else [entity]
        key = found[entity.id]
        fresh[key] |= {norm: name for norm, name in names.items() if norm not in owners}
        owners |= dict.fromkeys(fresh[key], key)
    check_entities(bank.id, used, found)
    store(tx, bank, made)
    add_names(tx, bank, fresh)
    return found


def store(tx: ManagedTransaction, bank: BankKey, entities: Iterable[Entity]) -> None:
    """Store entities, as yet without names."""
    rows = [{"key": bank.of(each.id), "id": each.id, "kind": each.kind} for each in entities]
    run_each(tx, _STORE, rows, bank=bank.key)


def add_names(
    tx: ManagedTransaction, bank: BankKey, names: Mapping[str, Mapping[str, str]]
) -> None:
    """Give entities, by key, more names: normalised name to spelling. A first one is canonical."""
    run_each(
        tx,
        "UNWIND $rows AS row MATCH (e:Entity {key: row[0]}) "
        "WITH e, row, e.name IS NULL AS bare "
        "SET e.aliases = e.aliases + CASE WHEN bare THEN tail(row[1]) ELSE row[1] END, "
        "e.name = coalesce(e.name, row[1][0])",
        [(key, list(group.values())) for key, group in names.items() if group],
    )
    rows: list[dict[str, Any]] = [
        {
            "entity": key,
            "key": bank.of(norm),
            "norm": norm,
            "grams": lucene.indexed(sorted(grams_of(norm))),
        }
        for key, group in names.items()
        for norm in group
    ]
    for row, seq in zip(rows, reserve(tx, bank, len(rows)), strict=True):
        row["seq"] = seq
    run_each(tx, _NAME, rows, bank=bank.key)


def remove_names(tx: ManagedTransaction, entity: str) -> None:
    """Take all its names from an entity, by key."""
    run(
        tx,
        "MATCH (e:Entity {key: $key}) SET e.aliases = [] REMOVE e.name "
        "WITH e MATCH (n:Name)-[:NAMES]->(e) DETACH DELETE n",
        key=entity,
    )


def owners_of(tx: ManagedTransaction, bank: BankKey, norms: Iterable[str]) -> dict[str, str]:
    """Normalised name to the key of the entity that has it."""
    rows = gather(
        tx,
        f"{_NAMED} RETURN collect([n.norm, e.key])",
        [bank.of(norm) for norm in dict.fromkeys(norms)],
    )
    return dict(rows)


def lookup(tx: ManagedTransaction, bank: BankKey, names: Sequence[str]) -> dict[str, Entity]:
    """Normalised name to the entity that has it as name or alias, in the order asked for."""
    norms = list(by_norm(names))
    rows = gather(
        tx,
        f"{_NAMED} RETURN collect([n.norm, {_ENTITY}])",
        [bank.of(norm) for norm in norms],
    )
    found = {row[0]: _entity(bank, row[1:]) for row in rows}
    return {norm: found[norm] for norm in norms if norm in found}


def get_entities(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> dict[str, Entity]:
    """Those of the entities that exist, in the order asked for."""
    rows = gather(
        tx,
        f"UNWIND $rows AS key MATCH (e:Entity {{key: key}}) RETURN collect([{_ENTITY}])",
        [bank.of(id) for id in dict.fromkeys(ids)],
    )
    found = {row[0]: _entity(bank, row) for row in rows}
    return {id: found[id] for id in ids if id in found}


def similar(tx: ManagedTransaction, bank: BankKey, name: str, limit: int) -> list[Entity]:
    """Entities whose names share a rare trigram or a word with `name`, likeliest first."""
    norm = entity_norm(name)
    sharing: dict[str, list[str]] = {gram: [] for gram in sorted(grams_of(norm))}
    searches = [{"gram": gram, "listed": lucene.query(bank, grams=[gram])} for gram in sharing]
    for gram, other in gather(tx, _SHARING, searches, most=_COMMON):
        sharing[gram].append(other)
    runs = trigrams(norm)
    found = [gram for gram in sharing if sharing[gram] and gram in runs]
    rarest = heapq.nsmallest(RAREST_TRIGRAMS, found, key=lambda gram: len(sharing[gram]))
    chosen = [*rarest, *(gram for gram in sharing if gram not in runs)]
    norms = set().union(*(sharing[gram] for gram in chosen))
    best: defaultdict[str, float] = defaultdict(float)
    for other, id in gather(
        tx,
        f"{_NAMED} RETURN collect([n.norm, e.id])",
        [bank.of(each) for each in norms],
    ):
        best[id] = max(best[id], likeness(norm, other))
    ranked = heapq.nsmallest(max(limit, 0), best, key=lambda id: (-best[id], id))
    return list(get_entities(tx, bank, ranked).values())


def list_entities(
    tx: ManagedTransaction, bank: BankKey, *, limit: int, page_cursor: str | None
) -> Page[Entity]:
    """A page, most mentioned first, ties by id.

    Raises `InvalidInputError` on a cursor that is none of ours.
    """
    count, id = cursors.entity_at(page_cursor)
    size = max(limit, 0)
    ((total,),) = run(
        tx,
        "MATCH (e:Entity) WHERE e.key STARTS WITH $prefix RETURN count(e)",
        prefix=bank.prefix,
    )
    rows = run(
        tx,
        "MATCH (e:Entity) WHERE e.key STARTS WITH $prefix AND ($count IS NULL "
        "OR e.mention_count < $count OR (e.mention_count = $count AND e.id > $id)) "
        f"RETURN {_ENTITY} ORDER BY e.mention_count DESC, e.id LIMIT $most",
        prefix=bank.prefix,
        count=count,
        id=id,
        most=size + 1,
    )
    items = [_entity(bank, row) for row in rows[:size]]
    more = items and len(rows) > size
    return Page(
        items, total, cursors.at_entity(items[-1].mention_count, items[-1].id) if more else None
    )


def names_of(named: EntityNames | Entity) -> dict[str, str]:
    """Normalised name to spelling, the canonical one first."""
    return by_norm((named.name, *named.aliases))


def _entity(bank: BankKey, row: Row) -> Entity:
    id, name, kind, aliases, mention_count, first, last = row
    return Entity(
        id=id,
        bank_id=bank.id,
        name=name if name is not None else id,
        kind=kind,
        aliases=tuple(aliases),
        mention_count=mention_count,
        first_seen=moment_or_none(first),
        last_seen=moment_or_none(last),
    )
