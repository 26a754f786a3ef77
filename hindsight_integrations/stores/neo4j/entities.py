"""Names and mentions of entities, the counts that follow from them, and corrections by a user.

A normalised name belongs to one entity of a bank, as its canonical name or an alias: the unique
key of its `Name` ensures it. The spellings stand in the entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hindsight_integrations.models import Entity
from hindsight_integrations.stores.base import (
    ENTITY,
    ChangeSet,
    EntityEdit,
    EntityMerge,
    EntityNames,
    EntitySplit,
)
from hindsight_integrations.stores.common import (
    check_entity_id_free,
    check_mergeable,
    check_names_free,
    entities_used,
    grams_of,
    no_entity,
    plan_entities,
    replace_mention,
    spellings,
    split_names,
)
from hindsight_integrations.stores.neo4j.filters import indexed
from hindsight_integrations.stores.neo4j.nodes import BankTransaction
from hindsight_integrations.stores.neo4j.reading import read_in

_INSERT = """
    UNWIND $rows AS row CREATE (e:Entity)
    SET e = row, e.bank = $bank, e.aliases = [], e.mention_count = 0, e.edited = false"""

_SPELL = """
    UNWIND $rows AS row MATCH (e:Entity {key: row[0]}) WITH e, row, e.name IS NULL AS bare
    SET e.aliases = e.aliases + CASE WHEN bare THEN tail(row[1]) ELSE row[1] END,
        e.name = coalesce(e.name, row[1][0])"""

_NAME = """
    UNWIND $rows AS row MATCH (e:Entity {key: row.entity})
    CREATE (n:Name {key: row.key, bank: $bank, norm: row.norm, grams: row.grams, seq: row.seq})
    CREATE (n)-[:NAMES]->(e)"""

_OWNERS = """
    UNWIND $rows AS key MATCH (n:Name {key: key})-[:NAMES]->(e:Entity)
    RETURN collect([n.norm, e.key])"""

_MENTION = """
    UNWIND $rows AS row MATCH (m:Memory {key: row[0]}) MATCH (e:Entity {key: row[1]})
    CREATE (m)-[:MENTIONS {ordinal: row[2]}]->(e)
    WITH e, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    SET e.mention_count = COUNT { (e)<-[:MENTIONS]-() },
        e.first_seen = CASE WHEN e.first_seen < first THEN e.first_seen ELSE first END,
        e.last_seen = CASE WHEN e.last_seen > last THEN e.last_seen ELSE last END"""

_UNMENTION = """
    UNWIND $rows AS key MATCH (:Memory {key: key})-[x:MENTIONS]->(e:Entity)
    DELETE x RETURN collect(DISTINCT [e.key])"""

RECOUNT = """
    UNWIND $rows AS key MATCH (e:Entity {key: key})
    OPTIONAL MATCH (e)<-[:MENTIONS]-(m:Memory)
    WITH e, count(m) AS memories, min(m.mentioned_at) AS first, max(m.mentioned_at) AS last
    SET e.mention_count = memories, e.first_seen = first, e.last_seen = last"""

_DROP = """
    UNWIND $rows AS key MATCH (e:Entity {key: key}) WHERE e.mention_count = 0 AND NOT e.edited
    OPTIONAL MATCH (n:Name)-[:NAMES]->(e) DETACH DELETE n, e"""

_MENTIONS_BESIDE = """
    MATCH (:Entity {key: $key})<-[:MENTIONS]-(m:Memory)
    RETURN m.key, [(m)-[x:MENTIONS]->(e:Entity) | [x.ordinal, e.key]]"""


def resolve(tx: BankTransaction, changes: ChangeSet) -> dict[str, str]:
    """Store the entities of a change set; return the keys of all that it uses, by id.

    Raises:
        EntityNotFoundError: it uses an entity that is neither its own nor the bank's.
    """
    ids = [entity.id for entity in changes.entities]
    plan = plan_entities(
        changes,
        known=tx.existing("Entity", [*ids, *sorted(entities_used(changes))]),
        owners=_owners(tx, (norm for entity in changes.entities for norm in names_of(entity))),
        new_key=lambda entity: tx.of(entity.id),
    )
    _insert(tx, [entity for _, entity in plan.new])
    _add_names(tx, plan.names)
    return plan.keys


def set_names(tx: BankTransaction, entity: str, names: Mapping[str, str]) -> None:
    """Give an entity, by key, these names and no others. Raises `ConflictError`."""
    tx.run(
        "MATCH (e:Entity {key: $key}) SET e.aliases = [] REMOVE e.name "
        "WITH e MATCH (n:Name)-[:NAMES]->(e) DETACH DELETE n",
        key=entity,
    )
    check_names_free(names, _owners(tx, names))
    _add_names(tx, {entity: names})


def names_of(named: EntityNames | Entity) -> dict[str, str]:
    """Return normalised name to spelling, the canonical one first."""
    return spellings((named.name, *named.aliases))


def _owners(tx: BankTransaction, norms: Iterable[str]) -> dict[str, str]:
    """Return normalised name to the key of the entity that has it."""
    return dict(tx.gather(_OWNERS, tx.all_of(norms)))


def _insert(tx: BankTransaction, entities: Iterable[Entity]) -> None:
    rows = [{"key": tx.of(each.id), "id": each.id, "kind": each.kind} for each in entities]
    tx.run_each(_INSERT, rows)


def _add_names(tx: BankTransaction, names: Mapping[str, Mapping[str, str]]) -> None:
    """Give entities more names: normalised name to spelling. A first one becomes canonical."""
    tx.run_each(_SPELL, [(key, list(group.values())) for key, group in names.items() if group])
    given = [(key, norm) for key, group in names.items() for norm in group]
    rows = [
        {"entity": key, "key": tx.of(norm), "norm": norm, "grams": indexed(grams_of(norm))}
        | {"seq": seq}
        for (key, norm), seq in zip(given, tx.reserve(len(given)), strict=True)
    ]
    tx.run_each(_NAME, rows)


# Mentions


def add_mentions(tx: BankTransaction, mentioned: Mapping[str, Sequence[str]]) -> None:
    """Store the entities that memories mention: memory key to entity keys, each once."""
    rows = [
        (memory, entity, ordinal)
        for memory, group in mentioned.items()
        for ordinal, entity in enumerate(group)
    ]
    tx.run_each(_MENTION, rows)


def remove_mentions(tx: BankTransaction, memories: Iterable[str]) -> set[str]:
    """Remove all mentions of memories; return the entities to recount before the end."""
    return {key for (key,) in tx.gather(_UNMENTION, list(memories))}


def recount(tx: BankTransaction, entities: Iterable[str]) -> None:
    """Count the mentions of entities, and drop those not mentioned unless a user edited them."""
    keys = sorted(entities)
    tx.run_each(RECOUNT, keys)
    tx.run_each(_DROP, keys)


# Corrections


def edit(tx: BankTransaction, change: EntityEdit) -> None:
    """Merge, split or rename; an entity that gets aliases by it is kept from then on.

    Raises:
        EntityNotFoundError: an entity it names does not exist.
        ConflictError: a name, or the id of a new entity, is another entity's.
        InvalidInputError: an entity is to be merged with itself.
    """
    match change:
        case EntityMerge():
            edited = affected = _merge(tx, change)
        case EntitySplit():
            edited, affected = _split(tx, change)
        case EntityNames(entity_id):
            key = tx.of(_entity(tx, entity_id).id)
            set_names(tx, key, names_of(change))
            edited, affected = {key}, set()
    tx.run_each(
        "UNWIND $rows AS key MATCH (e:Entity {key: key}) SET e.edited = size(e.aliases) > 0",
        sorted(edited),
    )
    recount(tx, affected)


def _merge(tx: BankTransaction, change: EntityMerge) -> set[str]:
    source = _entity(tx, change.source_id)
    target = _entity(tx, change.target_id)
    check_mergeable(source.id, target.id)
    old, new = tx.of(source.id), tx.of(target.id)
    moved = _mentions_beside(tx, old)
    remove_mentions(tx, moved)
    add_mentions(tx, replace_mention(moved, old, new))
    set_names(tx, old, {})
    set_names(tx, new, names_of(target) | names_of(source))
    return {old, new}


def _split(tx: BankTransaction, change: EntitySplit) -> tuple[set[str], set[str]]:
    entity = _entity(tx, change.entity_id)
    check_entity_id_free(change.entity.id, tx.existing("Entity", [change.entity.id]))
    left, taken = split_names(names_of(entity), change)
    old, new = tx.of(entity.id), tx.of(change.entity.id)
    _insert(tx, [change.entity])
    set_names(tx, old, left)
    set_names(tx, new, taken)
    chosen = set(tx.all_of(change.memory_ids))
    moved = {key: group for key, group in _mentions_beside(tx, old).items() if key in chosen}
    affected = remove_mentions(tx, moved)
    add_mentions(tx, replace_mention(moved, old, new))
    return {old, new}, affected


def _entity(tx: BankTransaction, id: str) -> Entity:
    found = read_in(tx, ENTITY, [id])
    if id not in found:
        raise no_entity(tx.id, id)
    return found[id]


def _mentions_beside(tx: BankTransaction, entity: str) -> dict[str, list[str]]:
    """Return each memory that mentions the entity with all it mentions, in order."""
    return {
        memory: [key for _, key in sorted(group)]
        for memory, group in tx.run(_MENTIONS_BESIDE, key=entity)
    }
