"""Reading by key, by filter, page by page."""

# ruff: noqa: D102 (the methods are described in `GraphStore`)

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

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
    Vector,
)
from hindsight_integrations.stores.cursors import after_memory, memory_cursor
from hindsight_integrations.stores.integrity import (
    DECODING_ERRORS,
    check_row,
    checked_interaction,
    checked_optional_text,
    checked_text,
    checked_vector,
    decoding_errors,
    expiry_or_none,
    log_unreadable,
)
from hindsight_integrations.stores.names import spellings
from hindsight_integrations.stores.reads import SCAN_PAGE, grouped, in_order, reader_of
from hindsight_integrations.stores.sqlite.connection import Connections
from hindsight_integrations.stores.sqlite.filters import condition, select
from hindsight_integrations.stores.sqlite.rows import (
    AUDIT_COLUMNS,
    CHANGE_COLUMNS,
    CONTENT_COLUMNS,
    IN_KEYS,
    MEMORY_COLUMNS,
    MENTAL_MODEL_COLUMNS,
    BankTransaction,
    Row,
    audit_of_row,
    change_of,
    count_of,
    find_bank,
    key_list,
    lexemes_of,
    memory_of,
    mental_model_of,
    offset_of,
    source_of,
    spans_of,
    text_in,
    time_or_null,
)
from hindsight_integrations.stores.times import timestamp, timestamp_or_none

T = TypeVar("T")
_Reader: TypeAlias = Callable[[BankTransaction, Sequence[str]], dict[str, Any]]
_Scanner: TypeAlias = Callable[[BankTransaction, Any], list[tuple[Any, Any]]]

_DOCUMENT_COLUMNS = (
    "id, fingerprint, created_at, updated_at, (SELECT count(*) FROM chunks c "
    "WHERE c.bank = d.bank AND c.document_id = d.id), is_record, is_conversation"
)
_CHUNK_COLUMNS = f"id, document_id, {count_of('position')}, {text_in('text')}, fingerprint"
_ENTITY_COLUMNS = ", ".join(
    (
        *("key", text_in("id"), text_in("kind"), count_of("mention_count")),
        *map(time_or_null, ("first_seen", "last_seen")),
    )
)
_FINGERPRINT = MEMORY_COLUMNS.split(", ").index("fingerprint")

_PLACES = f"""
    SELECT m.key, m.id, s.document_id,
        {count_of("s.position")}, m.expires_at
    FROM memories m LEFT JOIN sources s ON s.unit = m.key AND s.ordinal = 0
    WHERE m.key BETWEEN ? AND ? AND m.invalidated_at IS NULL ORDER BY m.key LIMIT ?"""


class SqliteReader(base.GraphStore):
    """The reading methods of `GraphStore`; `SqliteGraph` adds those that search and write."""

    def __init__(self, path: Path | None, *, durable: bool = False) -> None:
        self._connections = Connections(path, durable=durable)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connections.name!r})"

    def read(self, bank_id: str, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
        """See `GraphStore`; memories that were lost in part, or cannot be read, are left out."""
        reader = reader_of(_READERS, kind)
        with self._reading(bank_id) as tx:
            return reader(tx, list(dict.fromkeys(keys)))

    def scan(self, bank_id: str, kind: Kind[T]) -> Iterator[T]:
        page_of = reader_of(_SCANNERS, kind)
        with self._reading(bank_id) as tx:
            return self._pages(page_of, tx)

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        with self._reading(bank_id) as tx:
            low, _ = tx.bounds
            counted = select("count(*)", tx, filter)
            (total,) = tx.execute(counted.text, counted.params).fetchone()
            query = select("m.key", tx, filter)
            size = max(limit, 0)
            keys = [
                key
                for (key,) in tx.execute(
                    f"{query.text} AND m.key > ? ORDER BY m.key LIMIT ?",
                    (*query.params, low + after_memory(cursor), size + 1),
                )
            ]
            shown = keys[:size]
            found = _memories(tx, _rows(tx, shown))
        more = shown and len(keys) > size
        items = [found[key] for key in shown if key in found]
        return Page(items, total, memory_cursor(shown[-1] - low) if more else None)

    def filter_ids(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        with self._reading(bank_id) as tx:
            return set(passing_ids(tx, ids, filter).values())

    def find_ids(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        with self._reading(bank_id) as tx:
            found = matching_keys(tx, filter, limit)
            return None if found is None else list(found.values())

    def places(self, bank_id: str, after: int, limit: int) -> list[Place]:
        with self._reading(bank_id) as tx:
            low, high = tx.bounds
            rows = tx.execute(_PLACES, (low + after + 1, high, max(limit, 0))).fetchall()
        return [
            Place(key - low, id, document, position, expiry_or_none(timestamp_or_none, expires))
            for key, id, document, position, expires in rows
        ]

    def pending_consolidation(self, bank_id: str, limit: int) -> list[str]:
        with self._reading(bank_id) as tx:
            rows = tx.execute(
                "SELECT m.id FROM waiting w CROSS JOIN memories m ON m.key = w.unit "
                "WHERE w.unit BETWEEN ? AND ? ORDER BY w.unit LIMIT ?",
                (*tx.bounds, max(limit, 0)),
            )
            return [id for (id,) in rows]

    @contextmanager
    def _reading(self, bank_id: str) -> Iterator[BankTransaction]:
        with self._connections.read() as cursor, decoding_errors(bank_id):
            yield find_bank(cursor, bank_id)

    @contextmanager
    def _writing(self, bank_id: str) -> Iterator[BankTransaction]:
        with decoding_errors(bank_id), self._connections.write() as cursor:
            yield find_bank(cursor, bank_id)

    def _pages(self, page_of: _Scanner, tx: BankTransaction) -> Iterator[Any]:
        """Yield page after page, each starting after the last position of the one before."""
        after: Any = None
        while True:
            with self._connections.read() as cursor, decoding_errors(tx.id):
                page = page_of(replace(tx, connection=cursor.connection), after)
            if not page:
                return
            after, _ = page[-1]
            yield from (item for _, item in page)


# Memories


def passing_ids(tx: BankTransaction, ids: Iterable[str], filter: MemoryFilter) -> dict[int, str]:
    """Return key to id of those of the memories that exist and pass the filter, in no order."""
    test = condition(tx, filter)
    sql = f"SELECT m.key, m.id FROM memories m WHERE m.bank = ? AND {test.text} AND m.id IN (*)"
    return dict(tx.select_in(sql, ids, *test.params))


def matching_keys(tx: BankTransaction, filter: MemoryFilter, limit: int) -> dict[int, str] | None:
    """Return key to id of all that pass the filter, in storing order; None if more than `limit`."""
    query = select("m.key, m.id", tx, filter)
    found = tx.execute(
        f"{query.text} ORDER BY m.key LIMIT ?", (*query.params, limit + 1)
    ).fetchall()
    return None if len(found) > limit else dict(found)


def _read_memories(tx: BankTransaction, ids: Sequence[str]) -> dict[str, Memory]:
    keys = tx.memory_keys(ids)
    found = _memories(tx, _rows(tx, keys.values()))
    return {id: found[key] for id, key in keys.items() if key in found}


def _read_records(tx: BankTransaction, ids: Sequence[str]) -> dict[str, MemoryRecord]:
    keys = tx.memory_keys(ids)
    rows = _rows(tx, keys.values())
    found = _memories(tx, rows)
    mentioned = mentions_of(tx, keys.values())
    chosen = (key_list(keys.values()),)
    terms = dict(tx.execute(f"SELECT unit, terms FROM lexemes WHERE unit {IN_KEYS}", chosen))
    vectors = {
        key: (vector, interaction)
        for key, vector, interaction in tx.execute(
            f"SELECT unit, vector, interaction FROM vectors WHERE unit {IN_KEYS}", chosen
        )
    }
    records: dict[str, MemoryRecord] = {}
    for id, key in keys.items():
        if key in found and key in vectors:
            vector, interaction = vectors[key]
            try:
                check_row((terms.get(key),))
                records[id] = MemoryRecord(
                    memory=found[key],
                    lexemes=lexemes_of(terms.get(key, "")),
                    vector=checked_vector(vector, tx.dimension),
                    fingerprint=rows[key][_FINGERPRINT],
                    interaction=checked_interaction(interaction),
                    entity_ids=tuple(entity_id for entity_id, _ in mentioned[key]),
                )
            except DECODING_ERRORS as error:
                log_unreadable(tx.id, id, error)
    return records


_CANDIDATES = (
    "SELECT m.key, m.id, c.text, c.speaker, s.document_id, m.mentioned_at, m.occurred, "
    "(SELECT count(*) FROM sources WHERE unit = m.key AND supports), m.fingerprint, l.terms, "
    "v.vector, ifnull(v.interaction, x''), m.type, c.kind FROM json_each(?) asked "
    "CROSS JOIN memories m ON m.key = asked.value "
    "CROSS JOIN contents c ON c.unit = m.key "
    "CROSS JOIN vectors v ON v.unit = m.key "
    "LEFT JOIN lexemes l ON l.unit = m.key "
    "LEFT JOIN sources s ON s.unit = m.key AND s.ordinal = 0"
)


def _read_candidates(tx: BankTransaction, ids: Sequence[str]) -> dict[str, Candidate]:
    keys = sorted(tx.memory_keys(ids).values())  # rows that lie together are read together
    mentioned = mentions_of(tx, keys)
    found: dict[str, Candidate] = {}
    for key, id, text, speaker, document_id, said, occurred, proofs, *indexed in tx.execute(
        _CANDIDATES, (key_list(keys),)
    ):
        fingerprint, terms, data, interaction, type_, kind = indexed
        try:
            check_row((id, text, speaker, document_id, occurred, fingerprint, terms, kind))
            found[id] = Candidate(
                id=id,
                bank_id=tx.id,
                text=checked_text(text),
                speaker=checked_optional_text(speaker),
                document_id=document_id,
                mentioned_at=timestamp(said),
                occurred=spans_of(occurred),
                proof_count=max(1, proofs),
                fingerprint=fingerprint,
                lexemes=lexemes_of(terms or ""),
                vector=checked_vector(data, tx.dimension),
                interaction=checked_interaction(interaction) or b"",
                entities=tuple(mentioned.get(key, ())),
                type=MemoryType(type_),
                kind=kind,
            )
        except DECODING_ERRORS as error:
            log_unreadable(tx.id, id, error)
    return found


def _read_vectors(tx: BankTransaction, ids: Sequence[str]) -> dict[str, Vector]:
    keys = tx.memory_keys(ids)
    found = dict(
        tx.execute(
            f"SELECT unit, vector FROM vectors WHERE unit {IN_KEYS}", (key_list(keys.values()),)
        )
    )
    vectors: dict[str, Vector] = {}
    for id, key in keys.items():
        if key in found:
            try:
                vectors[id] = checked_vector(found[key], tx.dimension)
            except ValueError as error:
                log_unreadable(tx.id, id, error)
    return vectors


def _read_mentions(tx: BankTransaction, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    keys = tx.memory_keys(ids)
    mentioned = mentions_of(tx, keys.values())
    return {id: tuple(entity for entity, _ in mentioned[key]) for id, key in keys.items()}


def _read_duplicates(
    tx: BankTransaction, fingerprints: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    sql = (
        "SELECT key, fingerprint, id FROM memories "
        "WHERE bank = ? AND invalidated_at IS NULL AND fingerprint IN (*)"
    )
    rows = tx.select_in(sql, fingerprints)
    return in_order(fingerprints, grouped(row[1:] for row in sorted(rows)))


def _rows(tx: BankTransaction, keys: Iterable[int]) -> dict[int, Row]:
    sql = (
        f"SELECT key, {MEMORY_COLUMNS}, {CONTENT_COLUMNS} FROM memories "
        f"JOIN contents ON unit = key WHERE key {IN_KEYS}"
    )
    return {row[0]: row[1:] for row in tx.execute(sql, (key_list(keys),))}


def _memories(tx: BankTransaction, rows: dict[int, Row]) -> dict[int, Memory]:
    sources: dict[int, tuple[Row, ...]] = grouped(
        (row[0], row[1:])
        for row in tx.execute(
            "SELECT s.unit, s.document_id, s.chunk_id, "
            f"{count_of('s.position')}, s.mentioned_at, s.reference, m.id, "
            f"s.quote, s.supports, {offset_of('s.utc_offset')} "
            "FROM sources s LEFT JOIN memories m ON m.key = s.evidence "
            f"WHERE s.unit {IN_KEYS} ORDER BY s.unit, s.ordinal",
            (key_list(rows),),
        )
    )
    mentioned = mentions_of(tx, rows)
    found: dict[int, Memory] = {}
    for key, row in rows.items():
        try:
            found[key] = memory_of(
                row,
                bank_id=tx.id,
                sources=[source_of(source) for source in sources.get(key, ())],
                entities=[name for _, name in mentioned[key]],
            )
        except DECODING_ERRORS as error:
            log_unreadable(tx.id, row[0], error)
    return found


def mentions_of(
    tx: BankTransaction, keys: Iterable[int]
) -> defaultdict[int, list[tuple[str, str]]]:
    """Return memory key to (id, canonical name) of each entity, in the order of the text."""
    # In order as they are read; to sort them here is cheaper than to have SQLite promise it.
    stated = sorted(
        tx.execute(
            f"SELECT m.unit, {count_of('m.ordinal')}, m.entity FROM json_each(?) asked "
            "CROSS JOIN mentions m ON m.unit = asked.value",
            (key_list(keys),),
        )
    )
    # Memories recalled together share most of their entities: each is looked up once.
    entities = {
        key: (entity_id, name)
        for key, entity_id, name in tx.execute(
            f"SELECT e.key, {text_in('e.id')}, {text_in('ifnull(n.name, e.id)')} FROM entities e "
            f"LEFT JOIN names n ON n.entity = e.key AND n.ordinal = 0 WHERE e.key {IN_KEYS}",
            (key_list({entity for _, _, entity in stated}),),
        )
    }
    found: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for key, _, entity in stated:
        if entity in entities:
            found[key].append(entities[entity])
    return found


# Conclusions, history, mental models


def citations(tx: BankTransaction, keys: Iterable[int]) -> list[tuple[int, int]]:
    """Return (memory, conclusion that cites it), both as keys, in storing order."""
    return tx.execute(
        f"SELECT DISTINCT evidence, unit FROM sources WHERE evidence {IN_KEYS} "
        "ORDER BY evidence, unit",
        (key_list(keys),),
    ).fetchall()


def conclusions_citing(tx: BankTransaction, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the id of each memory that exists to those of the conclusions that cite it."""
    keys = tx.memory_keys(ids)
    pairs = citations(tx, keys.values())
    names = {key: id for id, key in tx.memory_ids((unit for _, unit in pairs)).items()}
    found = grouped((key, names[unit]) for key, unit in pairs if unit in names)
    return {id: found.get(key, ()) for id, key in keys.items()}


def mental_models(tx: BankTransaction) -> list[MentalModel]:
    """Return the mental models of the bank, by id."""
    rows = tx.execute(
        f"SELECT {MENTAL_MODEL_COLUMNS} FROM mental_models WHERE bank = ? ORDER BY id", (tx.no,)
    )
    return [mental_model_of(row, tx.id) for row in rows]


def _history_reader(of_model: bool) -> _Reader:
    """Return the function that reads the histories of memories, or of mental models."""

    def read(tx: BankTransaction, ids: Sequence[str]) -> dict[str, tuple[Change, ...]]:
        sql = (
            f"SELECT key, {CHANGE_COLUMNS} FROM history "
            "WHERE bank = ? AND of_model = ? AND memory_id IN (*)"
        )
        rows = tx.select_in(sql, ids, of_model)
        return in_order(ids, grouped((row[1], change_of(row[1:])) for row in sorted(rows)))

    return read


def _read_checkpoints(tx: BankTransaction, queues: Sequence[str]) -> dict[str, QueueCheckpoint]:
    sql = "SELECT queue, number, digest, expires_at FROM marks WHERE bank = ? AND queue IN (*)"
    found = {
        queue: QueueCheckpoint(queue, number, digest, timestamp_or_none(expires_at))
        for queue, number, digest, expires_at in tx.select_in(sql, queues)
    }
    return in_order(queues, found)


# Documents


def _document_of(tx: BankTransaction, row: Row) -> Document:
    id, fingerprint, created_at, updated_at, chunks, is_record, stored_kind = row
    created, updated = timestamp(created_at), timestamp(updated_at)
    is_conversation = None if stored_kind is None else bool(stored_kind)
    return Document(
        id, tx.id, fingerprint, created, updated, chunks, bool(is_record), is_conversation
    )


def _read_documents(tx: BankTransaction, ids: Sequence[str]) -> dict[str, Document]:
    sql = f"SELECT {_DOCUMENT_COLUMNS} FROM documents d WHERE bank = ? AND id IN (*)"
    rows = tx.select_in(sql, ids)
    return in_order(ids, {row[0]: _document_of(tx, row) for row in rows})


def _read_same_documents(
    tx: BankTransaction, fingerprints: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    sql = "SELECT fingerprint, id FROM documents WHERE bank = ? AND fingerprint IN (*) ORDER BY id"
    return in_order(fingerprints, grouped(tx.select_in(sql, fingerprints)))


def _read_chunks(tx: BankTransaction, ids: Sequence[str]) -> dict[str, Chunk]:
    sql = f"SELECT {_CHUNK_COLUMNS} FROM chunks WHERE bank = ? AND id IN (*)"
    return in_order(ids, {row[0]: Chunk(*row) for row in tx.select_in(sql, ids)})


def _read_document_chunks(tx: BankTransaction, ids: Sequence[str]) -> dict[str, tuple[Chunk, ...]]:
    sql = f"SELECT {_CHUNK_COLUMNS} FROM chunks WHERE bank = ? AND document_id IN (*)"
    chunks = [Chunk(*row) for row in tx.select_in(sql, ids)]
    chunks.sort(key=lambda chunk: (chunk.position, chunk.id))
    return in_order(ids, grouped((chunk.document_id, chunk) for chunk in chunks))


# Entities


def entities_of(tx: BankTransaction, keys: Iterable[int]) -> dict[int, Entity]:
    """Return the entities of these keys."""
    chosen = (key_list(keys),)
    names = grouped(
        tx.execute(
            f"SELECT entity, {text_in('name')} FROM names WHERE entity {IN_KEYS} "
            "ORDER BY entity, ordinal",
            chosen,
        )
    )
    return {
        key: Entity(
            id=id,
            bank_id=tx.id,
            name=names.get(key, (id,))[0],
            kind=kind,
            aliases=names.get(key, ())[1:],
            mention_count=count,
            first_seen=timestamp_or_none(first),
            last_seen=timestamp_or_none(last),
        )
        for key, id, kind, count, first, last in tx.execute(
            f"SELECT {_ENTITY_COLUMNS} FROM entities WHERE key {IN_KEYS}", chosen
        )
    }


def name_owners(tx: BankTransaction, norms: Iterable[str]) -> dict[str, int]:
    """Return normalised name to the key of the entity that has it as name or alias."""
    sql = (
        "SELECT n.norm, n.entity FROM names n CROSS JOIN entities e ON e.key = n.entity "
        "WHERE n.bank = ? AND n.norm IN (*)"
    )
    return dict(tx.select_in(sql, norms))


def _read_entities(tx: BankTransaction, ids: Sequence[str]) -> dict[str, Entity]:
    keys = tx.entity_keys(ids)
    found = entities_of(tx, keys.values())
    return {id: found[key] for id, key in keys.items()}


def _read_named(tx: BankTransaction, names: Sequence[str]) -> dict[str, Entity]:
    norms = spellings(names)
    owners = name_owners(tx, norms)
    found = entities_of(tx, owners.values())
    return {norm: found[owners[norm]] for norm in norms if norm in owners}


def _read_cooccurrences(tx: BankTransaction, ids: Sequence[str]) -> dict[str, Mapping[str, int]]:
    return {
        id: dict(
            tx.execute(
                "SELECT e.id, c.count FROM cooccurrence c JOIN entities e ON e.key = c.other "
                "WHERE c.entity = ? ORDER BY c.count DESC, e.id",
                (key,),
            )
        )
        for id, key in tx.entity_keys(ids).items()
    }


def _read_companions(tx: BankTransaction, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {
        id: tuple(
            name
            for (name,) in tx.execute(
                f"SELECT {text_in('coalesce(n.name, e.id)')} FROM cooccurrence c "
                "JOIN entities e ON e.key = c.other "
                "LEFT JOIN names n ON n.entity = e.key AND n.ordinal = 0 "
                "WHERE c.entity = ? ORDER BY c.count DESC, e.id LIMIT ?",
                (key, base.MOST_COMPANIONS),
            )
        )
        for id, key in tx.entity_keys(ids).items()
    }


_READERS: Mapping[Kind[Any], _Reader] = {
    base.MEMORY: _read_memories,
    base.RECORD: _read_records,
    base.CANDIDATE: _read_candidates,
    base.VECTOR: _read_vectors,
    base.MENTIONS: _read_mentions,
    base.CONCLUSIONS_CITING: conclusions_citing,
    base.DUPLICATES: _read_duplicates,
    base.HISTORY: _history_reader(of_model=False),
    base.MODEL_HISTORY: _history_reader(of_model=True),
    base.DOCUMENT: _read_documents,
    base.SAME_DOCUMENTS: _read_same_documents,
    base.CHUNK: _read_chunks,
    base.DOCUMENT_CHUNKS: _read_document_chunks,
    base.ENTITY: _read_entities,
    base.ENTITY_NAMED: _read_named,
    base.COOCCURRENCES: _read_cooccurrences,
    base.COMPANIONS: _read_companions,
    base.CHECKPOINT: _read_checkpoints,
}


# Scans: a page of (position, item) after a position, None for the first page


def _scan_memory_ids(tx: BankTransaction, after: int | None) -> list[tuple[int, str]]:
    low, high = tx.bounds
    return tx.execute(
        "SELECT m.key, m.id FROM memories m JOIN vectors v ON v.unit = m.key "
        "WHERE m.key > ? AND m.key <= ? ORDER BY m.key LIMIT ?",
        (after or low, high, SCAN_PAGE),
    ).fetchall()


def _page_by_id(
    tx: BankTransaction, after: str | None, columns: str, table: str, test: str = "TRUE"
) -> list[Row]:
    return tx.execute(
        f"SELECT {columns} FROM {table} WHERE {test} AND bank = ? AND id > ? ORDER BY id LIMIT ?",
        (tx.no, after or "", SCAN_PAGE),
    ).fetchall()


def _by_id(columns: str, table: str, value: Callable[[BankTransaction, Row], Any]) -> _Scanner:
    """Return the function that reads a page of the rows of a table, by id."""

    def scan(tx: BankTransaction, after: str | None) -> list[tuple[str, Any]]:
        rows = _page_by_id(tx, after, columns, table)
        return [(row[0], value(tx, row)) for row in rows]

    return scan


def _scan_edited(tx: BankTransaction, after: str | None) -> list[tuple[str, EntityNames]]:
    keys: dict[str, int] = dict(_page_by_id(tx, after, "id, key", "entities", "edited"))
    found = entities_of(tx, keys.values())
    return [(id, EntityNames(id, found[key].name, found[key].aliases)) for id, key in keys.items()]


def _scan_changes(
    tx: BankTransaction, after: tuple[str, int] | None
) -> list[tuple[tuple[str, int], Change]]:
    rows = tx.execute(
        f"SELECT key, {CHANGE_COLUMNS} FROM history WHERE bank = ? AND (memory_id, key) > (?, ?) "
        "ORDER BY memory_id, key LIMIT ?",
        (tx.no, *(after or ("", 0)), SCAN_PAGE),
    )
    return [((row[1], row[0]), change_of(row[1:])) for row in rows]


def _scan_audit(tx: BankTransaction, after: int | None) -> list[tuple[int, AuditEntry]]:
    first, high = tx.bounds
    rows = tx.execute(
        f"SELECT key, {AUDIT_COLUMNS} FROM audit WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
        (first if after is None else after, high, SCAN_PAGE),
    )
    return [(row[0], audit_of_row(row[1:])) for row in rows]


_SCANNERS: Mapping[Kind[Any], _Scanner] = {
    base.MEMORY_ID: _scan_memory_ids,
    base.DOCUMENT: _by_id(_DOCUMENT_COLUMNS, "documents d", _document_of),
    base.CHUNK: _by_id(_CHUNK_COLUMNS, "chunks", lambda _, row: Chunk(*row)),
    base.EDITED_NAMES: _scan_edited,
    base.CHANGE: _scan_changes,
    base.AUDIT: _scan_audit,
    base.MENTAL_MODEL: _by_id(
        MENTAL_MODEL_COLUMNS, "mental_models", lambda tx, row: mental_model_of(row, tx.id)
    ),
}
