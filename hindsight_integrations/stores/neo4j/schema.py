"""Constraints and indexes, and the steps that bring an older database up to them.

Every node has a `key` that is unique under its label: the key of its bank, a bar, and an id. So it
is found by one look-up, two writers cannot create it twice, and a bank is one range of each label's
keys:

    (:Memory)-[:MENTIONS]->(:Entity)<-[:NAMES]-(:Name)      (:Memory)-[:LINK]->(:Memory)
    (:Memory)-[:FROM]->(:Chunk)-[:OF]->(:Document)          (:Memory)-[:AT]->(:Time)
    (:Memory:Observation)-[:EVIDENCE {quote, supports}]->(:Memory)

`relating` has those that are for people who look at the graph.

A memory that is pending consolidation has the label `Waiting` too. Without relationships are
`Bank`, `MentalModel`, `Mark` (of a queue), `Change` (history), `AuditEntry`, `Lexeme` (counts),
`Vector` and `StagedVector` (with the key of their memory), `PendingVector` (the outbox). Timestamps
are ISO 8601 text in UTC of one width: it sorts as they do, reads as a date in Neo4j Browser, and
costs the driver a tenth of what its own dates do. For people there are dates too: `said_at` of a
memory, `starts` and `ends` of a time; the store itself never reads them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from itertools import chain
from typing import TypeAlias

from hindsight_integrations.errors import SchemaVersionError, StoreError
from hindsight_integrations.stores.neo4j.connection import Database, Transaction
from hindsight_integrations.stores.neo4j.nodes import MEMORY_TEXTS, NAME_TEXTS
from hindsight_integrations.stores.neo4j.relating import upgrade
from hindsight_integrations.stores.neo4j.renaming import normalise_names

_Steps: TypeAlias = tuple[str | Callable[[Database], None], ...]

_LABELS_1 = (
    "Memory",
    "Time",
    "Vector",
    "StagedVector",
    "Name",
    "Entity",
    "Chunk",
    "Document",
    "Change",
    "Lexeme",
)
_LABELS_2 = ("MentalModel", "Mark")
_LABELS_5 = ("AuditEntry",)
_LABELS_6 = ("Speaker",)
BANK_LABELS = (*_LABELS_1, *_LABELS_2, *_LABELS_5, *_LABELS_6)
"""Labels of the nodes that a bank owns; their keys begin with the bank's."""

_WHITE_SPACE = "OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}"

_KEY = (
    "CREATE CONSTRAINT hindsight_{name}_key IF NOT EXISTS FOR (n:{label}) REQUIRE n.key IS UNIQUE"
)

_VERSION_1 = (
    *(
        _KEY.format(name=label.lower(), label=label)
        for label in (*_LABELS_1, "PendingVector", "DeletedBank", "HindsightStore")
    ),
    "CREATE CONSTRAINT hindsight_bank_id IF NOT EXISTS FOR (n:Bank) REQUIRE n.id IS UNIQUE",
    "CREATE CONSTRAINT hindsight_bank_key IF NOT EXISTS FOR (n:Bank) REQUIRE n.key IS UNIQUE",
    "CREATE INDEX hindsight_memory_order IF NOT EXISTS FOR (n:Memory) ON (n.bank, n.seq)",
    "CREATE INDEX hindsight_memory_place IF NOT EXISTS "
    "FOR (n:Memory) ON (n.bank, n.document_id, n.place)",
    "CREATE INDEX hindsight_memory_fingerprint IF NOT EXISTS "
    "FOR (n:Memory) ON (n.bank, n.fingerprint)",
    "CREATE INDEX hindsight_time_middle IF NOT EXISTS "
    "FOR (n:Time) ON (n.bank, n.length_class, n.middle)",
    "CREATE INDEX hindsight_chunk_document IF NOT EXISTS FOR (n:Chunk) ON (n.bank, n.document_id)",
    "CREATE INDEX hindsight_change_memory IF NOT EXISTS FOR (n:Change) ON (n.bank, n.memory_id)",
    "CREATE INDEX hindsight_pending_order IF NOT EXISTS "
    "FOR (n:PendingVector) ON (n.queued_at, n.ticket)",
    "CREATE INDEX hindsight_pending_ticket IF NOT EXISTS FOR (n:PendingVector) ON (n.ticket)",
    f"CREATE FULLTEXT INDEX {MEMORY_TEXTS} IF NOT EXISTS "
    f"FOR (n:Memory) ON EACH [n.bank, n.lexemes, n.facets] {_WHITE_SPACE}",
    f"CREATE FULLTEXT INDEX {NAME_TEXTS} IF NOT EXISTS "
    f"FOR (n:Name) ON EACH [n.bank, n.grams] {_WHITE_SPACE}",
)

_VERSION_2 = (
    *(_KEY.format(name=label.lower(), label=label) for label in _LABELS_2),
    "CREATE INDEX hindsight_waiting_order IF NOT EXISTS FOR (n:Waiting) ON (n.bank, n.seq)",
    "MATCH (m:Memory) WHERE m.proofs IS NULL WITH m LIMIT 10000 SET m.proofs = size(m.sources) "
    "FOREACH (_ IN CASE WHEN m.invalidated_at IS NULL THEN [1] ELSE [] END | SET m:Waiting) "
    "RETURN count(m)",
)

_VERSION_3 = (
    # Ids carried this state before: their prefixes are read here once, and nowhere else.
    "MATCH (m:Memory) WHERE m.derived IS NULL WITH m LIMIT 10000 "
    "SET m.derived = m.id STARTS WITH 'c-' AND EXISTS { (m)-[:EVIDENCE]->() } RETURN count(m)",
    "MATCH (d:Document) WHERE d.is_record IS NULL WITH d LIMIT 10000 "
    "SET d.is_record = d.fingerprint = 'conversation record 1' RETURN count(d)",
    "MATCH (c:Change) WHERE c.of_model IS NULL WITH c LIMIT 10000 "
    "SET c.of_model = c.memory_id STARTS WITH 'mm-', c.field = CASE WHEN c.field = 'conclusion' "
    "AND c.old STARTS WITH 'mm-' THEN 'mental model' ELSE c.field END RETURN count(c)",
)

_VERSION_4 = (
    "CREATE INDEX hindsight_memory_expiry IF NOT EXISTS FOR (n:Memory) ON (n.bank, n.expires_at)",
)

_VERSION_5 = (
    *(_KEY.format(name=label.lower(), label=label) for label in _LABELS_5),
    "CREATE INDEX hindsight_audit_order IF NOT EXISTS FOR (n:AuditEntry) ON (n.bank, n.seq)",
    "CREATE INDEX hindsight_audit_id IF NOT EXISTS FOR (n:AuditEntry) ON (n.bank, n.id)",
)

_VERSION_6: _Steps = (
    *(_KEY.format(name=label.lower(), label=label) for label in _LABELS_6),
    "CREATE INDEX hindsight_memory_said IF NOT EXISTS FOR (n:Memory) ON (n.said_at)",
    "CREATE INDEX hindsight_memory_type IF NOT EXISTS "
    "FOR (n:Memory) ON (n.bank, n.type, n.mentioned_at)",
    "CREATE INDEX hindsight_memory_invalidated IF NOT EXISTS "
    "FOR (n:Memory) ON (n.bank, n.invalidated_at)",
    "CREATE INDEX hindsight_observation_order IF NOT EXISTS FOR (n:Observation) ON (n.bank, n.seq)",
    "CREATE INDEX hindsight_time_starts IF NOT EXISTS FOR (n:Time) ON (n.starts)",
    "CREATE INDEX hindsight_entity_name IF NOT EXISTS FOR (n:Entity) ON (n.name)",
    "CREATE INDEX hindsight_mention_order IF NOT EXISTS "
    "FOR ()-[x:MENTIONS]-() ON (x.entity, x.seq)",
    upgrade,
)

_VERSION_7 = (
    # Of calls that a client named: 30 days from now, as the other timestamps are written.
    "MATCH (n:Mark) WHERE n.queue STARTS WITH 'operation:' AND n.expires_at IS NULL "
    "WITH n LIMIT 10000 SET n.expires_at = "
    "toString(datetime.truncate('second', datetime() + duration('P30D'))) RETURN count(n)",
    "CREATE INDEX hindsight_mark_expiry IF NOT EXISTS FOR (n:Mark) ON (n.bank, n.expires_at)",
)

_VERSION_8 = (
    "CREATE INDEX hindsight_document_fingerprint IF NOT EXISTS "
    "FOR (n:Document) ON (n.bank, n.fingerprint)",
)

_VERSION_9: _Steps = (normalise_names,)

MIGRATIONS: tuple[_Steps, ...] = (
    _VERSION_1,
    _VERSION_2,
    _VERSION_3,
    _VERSION_4,
    _VERSION_5,
    _VERSION_6,
    _VERSION_7,
    _VERSION_8,
    _VERSION_9,
)
"""Steps that lead from version n (its index) to n + 1. Only ever appended to, and each may be
run again: Neo4j commits changes of the schema one by one. A statement that returns the number of
nodes it changed is run until it changes none."""

_EXISTS = re.compile(r"Neo\.ClientError\.Schema\.\w+AlreadyExists")

_INDEX_SECONDS = 300


def migrate(database: Database) -> None:
    """Bring the database up to this release.

    Raises:
        SchemaVersionError: it was written by a newer release.
    """
    version = _version(database.reads)
    if version > len(MIGRATIONS):
        raise SchemaVersionError(
            f"the graph at {database.where} has schema version {version}, but this release "
            f"supports versions up to {len(MIGRATIONS)}; upgrade hindsight-integrations, or "
            "use another database"
        )
    if version == len(MIGRATIONS):
        return
    for step in chain.from_iterable(MIGRATIONS[version:]):
        if isinstance(step, str):
            if version or step.startswith("CREATE"):  # at first nothing is stored to be upgraded
                change(database, step)
        elif version:
            step(database)
    database.reads.run("CALL db.awaitIndexes($seconds)", seconds=_INDEX_SECONDS)
    database.write(_note_version)


def identity(tx: Transaction) -> str:
    """Return the store's own name, given when it was first opened."""
    ((name,),) = tx.run("MATCH (s:HindsightStore {key: 'store'}) RETURN s.identity")
    return str(name)


def change(database: Database, statement: str) -> None:
    """Run a statement that changes the schema until it is done, by this client or another one.

    `IF NOT EXISTS` does not help against another client that creates the same at the same time.
    """
    try:
        while any(changed for (changed,) in database.write(lambda tx: tx.run(statement))):
            continue
    except StoreError as error:
        if not _EXISTS.fullmatch(getattr(error.__cause__, "code", None) or ""):
            raise


def _version(tx: Transaction) -> int:
    found = tx.run("MATCH (s:HindsightStore {key: 'store'}) RETURN s.version")
    return found[0][0] if found else 0


def _note_version(tx: Transaction) -> None:
    tx.run(
        "MERGE (s:HindsightStore {key: 'store'}) "
        "ON CREATE SET s.identity = $identity, s.banks = 0 SET s.version = $version",
        identity=secrets.token_hex(8),
        version=len(MIGRATIONS),
    )
