"""Reading by key, by filter, page by page."""

# ruff: noqa: D102 (the methods are described in `GraphStore`)

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from hindsight_integrations.errors import StoreError
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Chunk,
    Document,
    Entity,
    Memory,
    MemoryType,
    MentalModel,
    Page,
)
from hindsight_integrations.stores import base
from hindsight_integrations.stores.base import (
    Candidate,
    EntityNames,
    Kind,
    MemoryFilter,
    MemoryRecord,
    Place,
    QueueCheckpoint,
)
from hindsight_integrations.stores.cursors import after_memory, memory_cursor
from hindsight_integrations.stores.integrity import (
    DECODING_ERRORS,
    checked_interaction,
    checked_text,
    checked_vector,
    decoding_errors,
    expiry_or_none,
    log_unreadable,
)
from hindsight_integrations.stores.names import spellings
from hindsight_integrations.stores.neo4j.connection import Database, Row, Transaction
from hindsight_integrations.stores.neo4j.filters import Cypher, condition, start, terms_of
from hindsight_integrations.stores.neo4j.nodes import (
    BankReader,
    BankTransaction,
    MovedError,
    attributes,
    audit_of_node,
    change_of,
    lock_bank,
    memory_of,
    mental_model_of,
    position_in,
    spans_of,
    text_or_none,
    time_of,
    time_or_none,
)
from hindsight_integrations.stores.neo4j.schema import migrate
from hindsight_integrations.stores.neo4j.vectors import WITH_VECTOR
from hindsight_integrations.stores.reads import SCAN_PAGE, in_order, reader_of

T = TypeVar("T")
_Work: TypeAlias = Callable[[BankTransaction], T]
_Scanner: TypeAlias = Callable[[BankTransaction, Any], list[tuple[Any, Any]]]

_TRIES = 5
"""Times that a read is made before what it met counts as damage."""

log = logging.getLogger("hindsight_integrations")

_NODE = "m {.*, said_at: null}"
"""A memory's properties without the one that is for people: it costs the driver most."""
_MENTIONED = "[(m)-[x:MENTIONS]->(e:Entity) | [x.ordinal, e.id, e.name]]"
ENTITY_COLUMNS = "e.id, e.name, e.kind, e.aliases, e.mention_count, e.first_seen, e.last_seen"
_CHUNK_COLUMNS = "n.id, n.document_id, n.position, n.text, n.fingerprint"
_DOCUMENT_COLUMNS = (
    "n.id, n.fingerprint, n.created_at, n.updated_at, "
    "COUNT { MATCH (c:Chunk) WHERE c.bank = n.bank AND c.document_id = n.id }, "
    "n.is_record, n.is_conversation"
)

_TOTAL = """
    MATCH (b:Bank {key: $bank}) RETURN collect([b.valid_memories - COUNT {
        MATCH (m:Memory) WHERE m.bank = $bank AND m.expires_at <= $now AND m.invalidated_at IS NULL
    }])"""
"""Memories that pass a plain filter: all but the expired of those that the bank counts."""

_PLACES = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > $after AND m.invalidated_at IS NULL
    WITH m ORDER BY m.bank, m.seq LIMIT $limit
    RETURN collect([m.seq, m.id, m.document_id, m.place, m.expires_at])"""


class Neo4jReader(base.GraphStore):
    """The reading methods of `GraphStore`; `Neo4jGraph` adds those that search and write."""

    def __init__(
        self,
        uri: str,
        *,
        user: str | None = None,
        password: str | None = None,
        database: str = "neo4j",
    ) -> None:
        self._database = Database(uri, user=user, password=password, name=database)
        self._banks = BankReader(self._database.query)
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise

    def read(self, bank_id: str, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
        """See `GraphStore`; memories that were lost in part, or cannot be read, are left out."""
        reader = reader_of(_READERS, kind)
        # A checkpoint as a write: a member of a cluster that lags behind would let a retain be
        # sent twice.
        work = self._write if kind is base.CHECKPOINT else self._read
        with decoding_errors(bank_id):
            return work(bank_id, lambda tx: reader.read(tx, keys))

    def scan(self, bank_id: str, kind: Kind[T]) -> Iterator[T]:
        page_of, first = reader_of(_SCANNERS, kind)
        # Looked up, not remembered: the call itself says whether the bank exists.
        self._banks.forget(bank_id)
        return self._pages(page_of, self._banks.unchecked(self._banks.on(bank_id)), first)

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        after, size = after_memory(cursor), max(limit, 0)

        def work(tx: BankTransaction) -> Page[Memory]:
            chosen = start(tx, filter)
            total = _total(tx, filter, chosen)
            rows = tx.collected(
                f"{chosen.text} WITH m WHERE m.seq > $after WITH m ORDER BY m.bank, m.seq "
                f"LIMIT $most RETURN collect([m.seq, {_NODE}, {_MENTIONED}])",
                after=after,
                most=size + 1,
                **chosen.params,
            )
            rows.sort(key=lambda row: row[0])
            shown = rows[:size]
            items = [memory for row in shown for memory in _readable(tx, *row)]
            more = shown and len(rows) > size
            return Page(items, total, memory_cursor(shown[-1][0]) if more else None)

        return self._read(bank_id, work)

    def filter_ids(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        def work(tx: BankTransaction) -> set[str]:
            test = condition(tx, filter)
            query = f"MATCH (m:Memory {{key: key}}) WHERE {test.text} RETURN collect([m.id])"
            found = tx.gather(f"UNWIND $rows AS key {query}", tx.all_of(ids), **test.params)
            return {id for (id,) in found}

        return self._read(bank_id, work)

    def find_ids(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        def work(tx: BankTransaction) -> list[str] | None:
            chosen = start(tx, filter)
            query = f"{chosen.text} WITH m LIMIT $most RETURN collect([m.seq, m.id])"
            found = tx.collected(query, most=limit + 1, **chosen.params)
            return None if len(found) > limit else _in_sequence(found)

        return self._read(bank_id, work)

    def places(self, bank_id: str, after: int, limit: int) -> list[Place]:
        rows = self._read(
            bank_id, lambda tx: tx.collected(_PLACES, after=after, limit=max(limit, 0))
        )
        return [
            Place(seq, id, document, position_in(place), expiry_or_none(time_or_none, expires))
            for seq, id, document, place, expires in sorted(rows, key=lambda row: row[0])
            if None not in (id, place)  # deleted while the statement ran
        ]

    def pending_consolidation(self, bank_id: str, limit: int) -> list[str]:
        query = (
            "MATCH (m:Waiting) WHERE m.bank = $bank AND m.seq > 0 "
            "WITH m ORDER BY m.bank, m.seq LIMIT $limit RETURN collect([m.seq, m.id])"
        )
        rows = self._read(bank_id, lambda tx: tx.collected(query, limit=max(limit, 0)))
        return _in_sequence(rows)

    def _read(self, bank_id: str, work: _Work[T]) -> T:
        """Return the result of `work`, made again if the bank changed its key meanwhile.

        Or if it met values that are not there: a read sees what others commit while it runs, and
        of a node that is deleted meanwhile all properties are null.
        """
        for _ in range(_TRIES):
            try:
                return again(lambda: work(self._banks.on(bank_id)))
            except MovedError:
                self._banks.forget(bank_id)
        raise StoreError(f"bank {bank_id!r} changed its key {_TRIES} times during one read; retry")

    def _write(self, bank_id: str, work: _Work[T]) -> T:
        def locked(tx: Transaction) -> T:
            bank = lock_bank(tx, bank_id)
            done = work(bank)
            bank.finish()
            return done

        return self._database.write(locked)

    def _pages(self, page_of: _Scanner, bank: BankTransaction, after: Any) -> Iterator[Any]:
        """Yield page after page, each starting after the last position of the one before."""
        while True:
            with decoding_errors(bank.id):
                found = again(partial(page_of, bank, after))
            if not found:
                return
            after, _ = found[-1]
            yield from (item for _, item in found)


def _total(tx: BankTransaction, filter: MemoryFilter, chosen: Cypher) -> int:
    """Return how many memories pass the filter, which `chosen` finds."""
    if filter.is_plain:
        counted = tx.collected(_TOTAL, now=text_or_none(filter.now))
    else:
        query = f"{chosen.text} WITH count(m) AS total RETURN collect([total])"
        counted = tx.collected(query, **chosen.params)
    ((total,),) = counted
    return int(total)


def _in_sequence(rows: Sequence[Row]) -> list[str]:
    """Return the ids of rows of number and id, in the order of the numbers.

    The id of a node that is deleted between the reading of the two is null.
    """
    return [id for _, id in sorted(row for row in rows if row[1] is not None)]


def again(work: Callable[[], T]) -> T:
    """Return the result of a read, made again if it met values that are not there."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except DECODING_ERRORS as error:
            log.debug("a read is made again: %r", error)
    return work()


# Reading by key


@dataclass(frozen=True, slots=True)
class _Reader:
    """A query for the values of keys.

    Attributes:
        cypher: unwinds `$rows` and collects, for each that has a value, a list: the id or other
            key that was asked for, then what `value` takes.
        value: makes the value.
        by_node: the rows are keys of nodes; else the keys as they were given.
        params: further parameters.
        of_memory: memories whose value cannot be made are left out.
        distinct: returns the keys to look up of those given, each once.
    """

    cypher: str
    value: Callable[..., Any]
    by_node: bool = True
    params: Mapping[str, Any] | None = None
    of_memory: bool = False
    distinct: Callable[[Iterable[str]], Iterable[str]] = dict.fromkeys

    def read(self, tx: BankTransaction, keys: Iterable[str]) -> dict[str, Any]:
        """Return the value of each key that has one, in the order asked for."""
        asked = list(self.distinct(keys))
        rows = tx.gather(
            f"UNWIND $rows AS key {self.cypher}",
            tx.all_of(asked) if self.by_node else asked,
            **(self.params or {}),
        )
        found: dict[str, Any] = {}
        for id, *columns in rows:
            try:
                found[id] = self.value(tx, *columns)
            except DECODING_ERRORS as error:
                if not self.of_memory:
                    raise
                log_unreadable(tx.id, id, error)
        return in_order(asked, found)


def _memory(tx: BankTransaction, node: Mapping[str, Any], mentioned: Sequence[Row]) -> Memory:
    return memory_of(node, tx.id, [name for _, _, name in sorted(mentioned)])


def _readable(
    tx: BankTransaction, _: int, node: Mapping[str, Any], mentioned: Sequence[Row]
) -> Iterator[Memory]:
    """Yield a memory, unless it cannot be read."""
    try:
        yield _memory(tx, node, mentioned)
    except DECODING_ERRORS as error:
        log_unreadable(tx.id, node["id"], error)


def _record(
    tx: BankTransaction,
    node: Mapping[str, Any],
    mentioned: Sequence[Row],
    vector: bytes,
    interaction: bytes | None,
) -> MemoryRecord:
    return MemoryRecord(
        memory=_memory(tx, node, mentioned),
        lexemes=terms_of(node["lexemes"]),
        vector=checked_vector(vector, tx.dimension),
        fingerprint=node["fingerprint"],
        interaction=checked_interaction(interaction),
        entity_ids=entity_ids_of(mentioned),
    )


def _candidate(tx: BankTransaction, *columns: Any) -> Candidate:
    id, text, speaker, document_id, said, occurred, proofs, *indexed, mentioned = columns
    fingerprint, lexemes, vector, interaction, type_, kind = indexed
    return Candidate(
        id=id,
        bank_id=tx.id,
        text=checked_text(text),
        speaker=speaker,
        document_id=document_id,
        mentioned_at=time_of(said),
        occurred=spans_of(occurred),
        proof_count=max(1, proofs),
        fingerprint=fingerprint,
        lexemes=terms_of(lexemes),
        vector=checked_vector(vector, tx.dimension),
        interaction=checked_interaction(interaction) or b"",
        entities=tuple((id, name) for _, id, name in sorted(mentioned)),
        type=MemoryType(type_),
        kind=kind,
    )


def entity_ids_of(mentioned: Iterable[Row]) -> tuple[str, ...]:
    """Return the ids of the entities of a memory, in the order of its text."""
    return tuple(entity for _, entity, _ in sorted(mentioned))


def _last_columns(_: BankTransaction, rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the last column of rows in the order of the first."""
    return tuple(row[-1] for row in sorted(rows))


def _document(tx: BankTransaction, *columns: Any) -> Document:
    id, fingerprint, created_at, updated_at, chunks, is_record, is_conversation = columns
    created, updated = time_of(created_at), time_of(updated_at)
    return Document(id, tx.id, fingerprint, created, updated, chunks, is_record, is_conversation)


def _chunks(_: BankTransaction, rows: Iterable[Row]) -> tuple[Chunk, ...]:
    return tuple(sorted((Chunk(*row) for row in rows), key=lambda c: (c.position, c.id)))


def _changes(_: BankTransaction, rows: Iterable[Row]) -> tuple[Change, ...]:
    return tuple(change_of(node) for _, node in sorted(rows, key=lambda row: row[0]))


def entity_of(tx: BankTransaction, *columns: Any) -> Entity:
    """Return the entity of a row of `ENTITY_COLUMNS`."""
    id, name, kind, aliases, mention_count, first, last = columns
    return Entity(
        id=id,
        bank_id=tx.id,
        name=name if name is not None else id,
        kind=kind,
        aliases=tuple(aliases),
        mention_count=mention_count,
        first_seen=time_or_none(first),
        last_seen=time_or_none(last),
    )


def _cooccurrences(_: BankTransaction, counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(counts, key=lambda row: (-row[1], row[0])))


_MEMORY = "MATCH (m:Memory {key: key})"
_WITH_VECTOR = f"{_MEMORY} MATCH (v:Vector {{key: key}})"
_HISTORY = (
    "WITH key, COLLECT { MATCH (c:Change) WHERE c.bank = $bank AND c.memory_id = key "
    "AND c.of_model = $of_model RETURN [c.seq, properties(c)] } AS changes "
    "WHERE changes <> [] RETURN collect([key, changes])"
)

_READERS: Mapping[Kind[Any], _Reader] = {
    base.MEMORY: _Reader(
        f"{_MEMORY} RETURN collect([m.id, {_NODE}, {_MENTIONED}])", _memory, of_memory=True
    ),
    base.RECORD: _Reader(
        f"{_WITH_VECTOR} RETURN collect([m.id, {_NODE}, {_MENTIONED}, v.vector, v.interaction])",
        _record,
        of_memory=True,
    ),
    base.CANDIDATE: _Reader(
        f"{_WITH_VECTOR} RETURN collect([m.id, m.id, m.text, m.speaker, m.document_id, "
        "m.mentioned_at, m.occurred, m.proofs, m.fingerprint, m.lexemes, v.vector, "
        f"v.interaction, m.type, m.kind, {_MENTIONED}])",
        _candidate,
        of_memory=True,
    ),
    base.VECTOR: _Reader(
        "MATCH (v:Vector {key: key}) RETURN collect([substring(key, size($prefix)), v.vector])",
        lambda tx, vector: checked_vector(vector, tx.dimension),
        of_memory=True,
    ),
    base.MENTIONS: _Reader(
        f"{_MEMORY} RETURN collect([m.id, {_MENTIONED}])",
        lambda _, mentioned: entity_ids_of(mentioned),
    ),
    base.CONCLUSIONS_CITING: _Reader(
        f"{_MEMORY} RETURN collect([m.id, COLLECT {{ "
        "MATCH (m)<-[:EVIDENCE]-(c:Memory) WITH DISTINCT c RETURN [c.seq, c.id] }])",
        _last_columns,
    ),
    base.DUPLICATES: _Reader(
        "WITH key, COLLECT { MATCH (m:Memory) WHERE m.bank = $bank AND m.fingerprint = key "
        "AND m.invalidated_at IS NULL RETURN [m.seq, m.id] } AS found "
        "WHERE found <> [] RETURN collect([key, found])",
        _last_columns,
        by_node=False,
    ),
    base.HISTORY: _Reader(_HISTORY, _changes, by_node=False, params={"of_model": False}),
    base.MODEL_HISTORY: _Reader(_HISTORY, _changes, by_node=False, params={"of_model": True}),
    base.DOCUMENT: _Reader(
        f"MATCH (n:Document {{key: key}}) RETURN collect([n.id, {_DOCUMENT_COLUMNS}])", _document
    ),
    base.SAME_DOCUMENTS: _Reader(
        "WITH key, COLLECT { MATCH (n:Document) WHERE n.bank = $bank AND n.fingerprint = key "
        "RETURN [n.id, n.id] } AS found WHERE found <> [] RETURN collect([key, found])",
        _last_columns,
        by_node=False,
    ),
    base.CHUNK: _Reader(
        f"MATCH (n:Chunk {{key: key}}) RETURN collect([n.id, {_CHUNK_COLUMNS}])",
        lambda _, *columns: Chunk(*columns),
    ),
    base.DOCUMENT_CHUNKS: _Reader(
        "WITH key, COLLECT { MATCH (n:Chunk) WHERE n.bank = $bank AND n.document_id = key "
        f"RETURN [{_CHUNK_COLUMNS}] }} AS chunks WHERE chunks <> [] RETURN collect([key, chunks])",
        _chunks,
        by_node=False,
    ),
    base.ENTITY: _Reader(
        f"MATCH (e:Entity {{key: key}}) RETURN collect([e.id, {ENTITY_COLUMNS}])", entity_of
    ),
    base.ENTITY_NAMED: _Reader(
        "MATCH (n:Name {key: key})-[:NAMES]->(e:Entity) "
        f"RETURN collect([n.norm, {ENTITY_COLUMNS}])",
        entity_of,
        distinct=spellings,
    ),
    base.COOCCURRENCES: _Reader(
        "MATCH (e:Entity {key: key}) "
        "RETURN collect([e.id, [(e)-[r:BESIDE]-(other:Entity) | [other.id, r.memories]]])",
        _cooccurrences,
    ),
    base.COMPANIONS: _Reader(
        "MATCH (e:Entity {key: key}) RETURN collect([e.id, COLLECT { "
        "MATCH (e)-[r:BESIDE]-(other) WITH other, r.memories AS memories "
        "ORDER BY memories DESC, other.id LIMIT $most "
        "RETURN [other.id, coalesce(other.name, other.id)] }])",
        lambda _, beside: tuple(name for id, name in beside if id is not None),
        params={"most": base.MOST_COMPANIONS},
    ),
    base.CHECKPOINT: _Reader(
        "MATCH (n:Mark {key: key}) RETURN collect([n.queue, n])",
        lambda _, node: QueueCheckpoint(**attributes(node, QueueCheckpoint)),
    ),
}


def read_in(tx: BankTransaction, kind: Kind[T], keys: Iterable[str]) -> dict[str, T]:
    """Return the value of each key that has one, in the order asked for; see `GraphStore.read`."""
    return _READERS[kind].read(tx, keys)


# Scans: a page of (position, item) after a position


def _by_id(label: str, columns: str, value: Callable[..., Any], test: str = "") -> _Scanner:
    """Return the function that reads a page of the nodes of a label, by id."""

    def scan(tx: BankTransaction, after: str) -> list[tuple[str, Any]]:
        rows = tx.run(
            f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix AND n.key > $after {test} "
            f"RETURN n.id AS position, {columns} ORDER BY n.key LIMIT $limit",
            after=tx.of(after),
            limit=SCAN_PAGE,
        )
        return [(id, value(tx, *row)) for id, *row in rows if id is not None]

    return scan


def _scan_memory_ids(tx: BankTransaction, after: int) -> list[tuple[int, str]]:
    page = f"{WITH_VECTOR} LIMIT $limit RETURN collect([m.seq, m.id])"
    return [(seq, id) for seq, id in tx.collected(page, after=after, limit=SCAN_PAGE)]


def _scan_changes(
    tx: BankTransaction, after: tuple[str, int]
) -> list[tuple[tuple[str, int], Change]]:
    id, seq = after
    rows = tx.run(
        "MATCH (n:Change) WHERE n.bank = $bank "
        "AND (n.memory_id > $id OR n.memory_id = $id AND n.seq > $seq) "
        "RETURN n.seq, properties(n) ORDER BY n.memory_id, n.seq LIMIT $limit",
        id=id,
        seq=seq,
        limit=SCAN_PAGE,
    )
    return [((node["memory_id"], seq), change_of(node)) for seq, node in rows]


def _scan_audit(tx: BankTransaction, after: int) -> list[tuple[int, AuditEntry]]:
    rows = tx.run(
        "MATCH (n:AuditEntry) WHERE n.bank = $bank AND n.seq > $after "
        "RETURN n.seq, properties(n) ORDER BY n.seq LIMIT $limit",
        after=after,
        limit=SCAN_PAGE,
    )
    return [(seq, audit_of_node(node)) for seq, node in rows]


def _edited(_: BankTransaction, id: str, name: str, aliases: Sequence[str]) -> EntityNames:
    return EntityNames(id, name, tuple(aliases))


def _model(tx: BankTransaction, node: Mapping[str, Any]) -> MentalModel:
    return mental_model_of(node, tx.id)


_SCANNERS: Mapping[Kind[Any], tuple[_Scanner, Any]] = {
    base.MEMORY_ID: (_scan_memory_ids, 0),
    base.DOCUMENT: (_by_id("Document", _DOCUMENT_COLUMNS, _document), ""),
    base.CHUNK: (_by_id("Chunk", _CHUNK_COLUMNS, lambda _, *columns: Chunk(*columns)), ""),
    base.EDITED_NAMES: (_by_id("Entity", "n.id, n.name, n.aliases", _edited, "AND n.edited"), ""),
    base.CHANGE: (_scan_changes, ("", 0)),
    base.AUDIT: (_scan_audit, 0),
    base.MENTAL_MODEL: (_by_id("MentalModel", "properties(n)", _model), ""),
}
"""Kind to the function that reads a page, and the position before the first."""


def mental_models(tx: BankTransaction) -> list[MentalModel]:
    """Return all mental models of the bank, by id."""
    rows = tx.run("MATCH (n:MentalModel) WHERE n.key STARTS WITH $prefix RETURN properties(n)")
    return sorted((_model(tx, node) for (node,) in rows), key=lambda model: model.id)
