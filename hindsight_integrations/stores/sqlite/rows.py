"""Keys of a bank's rows, and values to columns and back."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern
from typing import Any, TypeAlias

from hindsight_integrations.errors import StoreCorruptError
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Bank,
    Disposition,
    LinkKind,
    Memory,
    MemoryType,
    MentalModel,
    Precision,
    Source,
    TimeSpan,
)
from hindsight_integrations.stores.base import EmbedderIdentity, MemoryRecord, StoredBank
from hindsight_integrations.stores.encoding import (
    directives_of,
    directives_text,
    expiry_of,
    expiry_text,
    metadata_text,
)
from hindsight_integrations.stores.integrity import (
    DamagedText,
    Decoder,
    Decoders,
    check_row,
    checked_count,
    checked_memory,
    checked_optional_text,
    checked_string,
    checked_trait,
    decoded_fields,
)
from hindsight_integrations.stores.reads import in_order
from hindsight_integrations.stores.refusals import no_bank
from hindsight_integrations.stores.times import micros, micros_or_none, timestamp, timestamp_or_none
from hindsight_integrations.timespan import at_offset, utc_offset

SqlValue: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[Any, ...]
"""Columns as SQLite returns them; typed again by the functions below."""


# Keys

SEQUENCE_BITS = 40
"""A key is the number of its bank, and in so many bits below it a number within the bank."""

IN_KEYS = "IN (SELECT value FROM json_each(?))"
"""Test of a column against `key_list`, which is one parameter however many keys there are."""

_KINDS = ", ".join(f"'{kind.value}'" for kind in LinkKind)
IS_LINK = f"weight > 0 AND weight <= 1.001 AND kind IN ({_KINDS})"
"""Test of a link; its weight is a share or a cosine, the latter rounded."""

_BATCH = 500
"""Values in one `IN (...)`; well below SQLite's limit on parameters."""


@dataclass(frozen=True, slots=True)
class BankTransaction:
    """A transaction on one bank, whose rows have one range of keys.

    Attributes:
        no: the number of the bank.
        id: its id.
        revision: number of changes of its embedder.
        dimension: of its vectors.
    """

    connection: sqlite3.Connection
    no: int
    id: str
    revision: int
    dimension: int

    @property
    def vector_key(self) -> str:
        """The name of its collection in the vector index, never used again."""
        return vector_key(self.no, self.revision)

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest key it can have."""
        return key_bounds(self.no)

    def execute(self, sql: str, params: Sequence[SqlValue] = ()) -> sqlite3.Cursor:
        """Run a statement, on a cursor of its own."""
        return self.connection.execute(sql, params)

    def executemany(self, sql: str, rows: Iterable[Sequence[SqlValue]]) -> None:
        """Run a statement for each of the rows."""
        self.connection.executemany(sql, rows)

    def select_in(self, sql: str, values: Iterable[SqlValue], *params: SqlValue) -> list[Row]:
        """Return rows of a query on this bank whose last test is `IN (*)`, filled in batches.

        Its first parameter is the number of the bank; `params` follow.
        """
        distinct = list(dict.fromkeys(values))
        rows: list[Row] = []
        for start in range(0, len(distinct), _BATCH):
            batch = distinct[start : start + _BATCH]
            filled = sql.replace("IN (*)", f"IN ({marks(batch)})")
            rows += self.execute(filled, (self.no, *params, *batch))
        return rows

    def new_keys(self, count: int) -> range:
        """Reserve `count` keys that this bank never had before."""
        if not count:
            return range(0)
        low, high = self.bounds
        reserved = self.execute(
            "UPDATE banks SET last_sequence = last_sequence + ? WHERE no = ? "
            "AND typeof(last_sequence) = 'integer' AND last_sequence BETWEEN 0 AND ? "
            "RETURNING last_sequence",
            (count, self.no, high - low - count),
        ).fetchone()
        if reserved is None:
            raise StoreCorruptError(f"the last key of bank {self.id!r} is lost; run the doctor")
        (last,) = reserved
        return range(low + last - count + 1, low + last + 1)

    def memory_keys(self, ids: Iterable[str]) -> dict[str, int]:
        """Return id to key of the memories that exist, in the order asked for."""
        return self._keys("memories", ids)

    def entity_keys(self, ids: Iterable[str]) -> dict[str, int]:
        """Return id to key of the entities that exist, in the order asked for."""
        return self._keys("entities", ids)

    def memory_ids(self, keys: Iterable[int]) -> dict[str, int]:
        """Return id to key of the memories that exist, in storing order."""
        sql = f"SELECT id, key FROM memories WHERE key {IN_KEYS} ORDER BY key"
        return dict(self.execute(sql, (key_list(keys),)))

    def delete_of(self, keys: Iterable[int], *tables: str) -> None:
        """Delete the rows that belong to memories."""
        chosen = (key_list(keys),)
        for table in tables:
            self.execute(f"DELETE FROM {table} WHERE unit {IN_KEYS}", chosen)

    def _keys(self, table: str, ids: Iterable[str]) -> dict[str, int]:
        wanted = list(dict.fromkeys(ids))
        sql = f"SELECT id, key FROM {table} WHERE bank = ? AND id IN (*)"
        return in_order(wanted, dict(self.select_in(sql, wanted)))


def find_bank(cursor: sqlite3.Cursor, bank_id: str) -> BankTransaction:
    """Return the transaction on the bank of this id. Raises `BankNotFoundError`."""
    row = cursor.execute(
        "SELECT no, id, revision, dimension FROM banks WHERE id = ? AND deleted = 0", (bank_id,)
    ).fetchone()
    if row is None:
        raise no_bank(bank_id)
    return BankTransaction(cursor.connection, *row)


def vector_key(no: int, revision: int) -> str:
    """Return "17" for bank number 17, and "17.1" once it has changed its embedder."""
    return f"{no}.{revision}" if revision else str(no)


def key_bounds(no: int) -> tuple[int, int]:
    """Return the lowest and the highest key of bank number `no`."""
    low = no << SEQUENCE_BITS
    return low, low | ((1 << SEQUENCE_BITS) - 1)


def key_list(keys: Iterable[object]) -> str:
    """Return keys as one parameter, for `IN_KEYS` or `json_each(?)`; no row has one of bytes."""
    return json.dumps([key for key in keys if not isinstance(key, bytes)])


def marks(values: Sequence[object]) -> str:
    """Return as many question marks."""
    return ", ".join("?" * len(values))


def insert_sql(table: str, columns: str) -> str:
    """Return an INSERT with a parameter for each of the columns."""
    return f"INSERT INTO {table} ({columns}) VALUES ({marks(columns.split(', '))})"


def upsert_sql(table: str, columns: str, unique: str) -> str:
    """Return an INSERT that overwrites the row with the same `unique` columns, but not its key."""
    kept = {"key", *unique.split(", ")}
    updated = [column for column in columns.split(", ") if column not in kept]
    return (
        f"{insert_sql(table, columns)} ON CONFLICT ({unique}) DO UPDATE SET "
        f"{', '.join(f'{column} = excluded.{column}' for column in updated)}"
    )


def row_of(value: object, columns: str) -> tuple[SqlValue, ...]:
    """Return the fields of a value that columns are named after, as they hold them."""
    return tuple(_column_value(getattr(value, column)) for column in columns.split(", "))


def _column_value(value: Any) -> SqlValue:
    if isinstance(value, datetime):
        return micros(value)
    stored: SqlValue = _json(value) if isinstance(value, tuple) else value
    return stored


def assignments(columns: str) -> str:
    """Return `column = ?` for each of the columns."""
    return ", ".join(f"{column} = ?" for column in columns.split(", "))


def count_of(column: str) -> str:
    """Return the SQL of a column that counts, 0 where it does not hold a number."""
    return f"iif(typeof({column}) = 'integer', {column}, 0)"


def text_in(column: str) -> str:
    """Return the SQL of a column of texts; bytes that stand in it are read as one."""
    return f"CAST({column} AS TEXT)"


_FIRST, _LAST = (micros(end.replace(tzinfo=UTC)) for end in (datetime.min, datetime.max))
NO_TIME = f"typeof({{0}}) <> 'integer' OR {{0}} NOT BETWEEN {_FIRST} AND {_LAST}"
"""Condition of a column that does not hold a time."""

NO_OFFSET = "typeof({0}) <> 'integer' OR {0} NOT BETWEEN -86399 AND 86399"
"""Condition of a column that does not hold an offset from UTC, which is less than a day."""


def offset_of(column: str) -> str:
    """Return the SQL of a column of offsets from UTC, 0 where it does not hold one."""
    return f"iif({NO_OFFSET.format(column)}, 0, {column})"


def time_or_null(column: str) -> str:
    """Return the SQL of a column of times, NULL where it does not hold one."""
    return f"iif({NO_TIME.format(column)}, NULL, {column})"


# Banks

BANK_COLUMNS = (
    "id, name, mission, background, skepticism, literalism, empathy, directives, expiry, "
    "kept_apart, named_directives, created_at, updated_at"
)
STORED_BANK_COLUMNS = (
    f"no, revision, edition, importing, leaving, embedder, dimension, {BANK_COLUMNS}"
)


def bank_row(bank: Bank) -> tuple[SqlValue, ...]:
    """Return `BANK_COLUMNS` of a bank."""
    traits = bank.disposition
    return (
        *(bank.id, bank.name, bank.mission, bank.background),
        *(traits.skepticism, traits.literalism, traits.empathy),
        *(_json(bank.directives), expiry_text(bank.expiry), _json(bank.kept_apart)),
        directives_text(bank.named_directives),
        *(micros(bank.created_at), micros(bank.updated_at)),
    )


def stored_bank(row: Row) -> StoredBank:
    """Return the bank of a row of `STORED_BANK_COLUMNS`.

    A value of its profile that cannot be read is left out, so that the bank, and the others beside
    it, can be used until the doctor has been run.
    """
    no, revision, version, importing, leaving, embedder, dimension, id_, *stated = row
    given = decoded_fields(f"bank {id_!r}", PROFILE, dict(zip(PROFILE, stated, strict=True)))
    traits = Disposition(*(given.pop(trait) for trait in _TRAITS))
    bank = Bank(id=id_, disposition=traits, **given)
    identity = EmbedderIdentity(str(embedder), dimension if isinstance(dimension, int) else 0)
    return StoredBank(bank, vector_key(no, revision), identity, version, importing, leaving)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(checked_string, json.loads(value)))


_TRAITS = ("skepticism", "literalism", "empathy")

PROFILE: Decoders = {
    **dict.fromkeys(("name", "mission", "background"), Decoder(checked_string, "")),
    **dict.fromkeys(_TRAITS, Decoder(checked_trait, 3)),
    "directives": Decoder(_texts, "[]"),
    "expiry": Decoder(expiry_of, "{}"),
    "kept_apart": Decoder(_texts, "[]"),
    "named_directives": Decoder(directives_of, "[]"),
    "created_at": Decoder(timestamp, 0),
    "updated_at": Decoder(timestamp, 0),
}
"""Columns of `BANK_COLUMNS` after the id."""


# Memories

MEMORY_COLUMNS = (
    "id, type, mentioned_at, expires_at, invalidated_at, scope, occurred, fingerprint, derived, "
    "pinned"
)
CONTENT_COLUMNS = (
    "confidence, created_at, updated_at, speaker, tags, metadata, invalidated_because, context, "
    "text, kind, reasoning, utc_offset"
)
SOURCE_COLUMNS = (
    "document_id, chunk_id, position, mentioned_at, reference, evidence, quote, supports, "
    "utc_offset"
)

_NONE, _EMPTY = "[]", "{}"
"""JSON of most tags, times and metadata; parsing it would take a third of reading a memory."""

_SPANS_KEPT = 8192
"""Times that stay parsed: recall after recall meets the same memories."""


def memory_row(record: MemoryRecord) -> tuple[SqlValue, ...]:
    """Return `MEMORY_COLUMNS` of a record."""
    memory = record.memory
    spans = [_span_values(span) for span in memory.occurred]
    return (
        *(memory.id, memory.type.value, micros(memory.mentioned_at)),
        *(micros_or_none(memory.expires_at), micros_or_none(memory.invalidated_at)),
        *(memory.scope, _json(spans), record.fingerprint, memory.derived, memory.pinned),
    )


def content_row(memory: Memory) -> tuple[SqlValue, ...]:
    """Return `CONTENT_COLUMNS` of a memory."""
    return (
        *(memory.confidence, micros(memory.created_at), micros(memory.updated_at), memory.speaker),
        *(_json(memory.tags), metadata_text(memory.metadata), memory.invalidated_because),
        *(memory.context, memory.text, memory.kind, memory.reasoning),
        utc_offset(memory.mentioned_at),
    )


def memory_of(
    row: Row, *, bank_id: str, sources: Sequence[Source] = (), entities: Sequence[str] = ()
) -> Memory:
    """Return the memory of a row of `MEMORY_COLUMNS` and `CONTENT_COLUMNS`.

    Raises:
        DECODING_ERRORS: a column does not hold what was stored.
    """
    check_row(row)
    id_, type_, mentioned_at, expires_at, invalidated_at, scope, occurred, *_ = row[:8]
    derived, pinned, *said = row[8:19]
    confidence, created_at, updated_at, speaker, tags, metadata, because, context, text = said
    memory = Memory(
        id=checked_string(id_),
        bank_id=bank_id,
        text=text,
        type=MemoryType(type_),
        occurred=spans_of(occurred),
        mentioned_at=at_offset(timestamp(mentioned_at), row[21]),
        speaker=speaker,
        context=context,
        entities=tuple(entities),
        tags=tuple(json.loads(tags)) if tags != _NONE else (),
        metadata=json.loads(metadata) if metadata != _EMPTY else {},
        confidence=confidence,
        scope=scope,
        sources=tuple(sources),
        created_at=timestamp(created_at),
        updated_at=timestamp(updated_at),
        expires_at=timestamp_or_none(expires_at),
        invalidated_at=timestamp_or_none(invalidated_at),
        invalidated_because=because,
        kind=row[19],
        reasoning=row[20],
        derived=bool(derived),
        pinned=bool(pinned),
    )
    return checked_memory(memory)


@lru_cache(_SPANS_KEPT)
def spans_of(occurred: str) -> tuple[TimeSpan, ...]:
    """Return the times of a row's `occurred`."""
    if occurred == _NONE:
        return ()
    return tuple(_span_of(*values) for values in json.loads(occurred))


def _span_values(span: TimeSpan) -> tuple[int | str, ...]:
    """Return start, end and precision; and how far ahead of UTC the ends are, if not in UTC."""
    ends = (span.start, span.end)
    offsets = tuple(map(utc_offset, ends))
    return (*map(micros, ends), span.precision.value, *(offsets if any(offsets) else ()))


def _span_of(
    start: int, end: int, precision: str, ahead_at_start: int = 0, ahead_at_end: int = 0
) -> TimeSpan:
    first = at_offset(timestamp(start), ahead_at_start)
    return TimeSpan(first, at_offset(timestamp(end), ahead_at_end), Precision(precision))


def source_row(source: Source, evidence: int | None) -> tuple[SqlValue, ...]:
    """Return `SOURCE_COLUMNS` of a source; `evidence` is the key of the memory it names."""
    return (
        *(source.document_id, source.chunk_id, source.position, micros(source.mentioned_at)),
        *(source.reference, evidence, source.quote, source.supports),
        utc_offset(source.mentioned_at),
    )


def source_of(row: Row) -> Source:
    """Return the source that `source_row` was given; the row has the memory's id for its key."""
    document_id, chunk_id, position, mentioned_at, reference, memory_id, quote, supports = row[:8]
    said = at_offset(timestamp(mentioned_at), row[8])
    return Source(
        document_id, chunk_id, position, said, reference, memory_id, quote, bool(supports)
    )


# Lexemes: each is indexed with its bank's number before it ("17:alice"), so that a posting list is
# of one bank only; those of invalidated memories have another sign ("17!alice") and so cost a
# search of valid ones nothing.

VALID, INVALID = ":", "!"
"""Sign between the bank's number and the lexeme."""

_BLANKS = {code: 0xE000 + code for code in (*range(33), 127)}
_BLANKS_BACK = {private: code for code, private in _BLANKS.items()}
"""White space and control characters would split a lexeme; they are kept as characters of Unicode's
private use area, which no text has a use for."""

_PREFIX = re.compile(r"[0-9]+[:!]")


def index_term(bank_no: int, sign: str, lexeme: str) -> str:
    """Return a lexeme as it stands in the index."""
    return f"{bank_no}{sign}{lexeme.translate(_BLANKS)}"


@lru_cache(maxsize=8192)
def lexemes_of(terms: str) -> tuple[str, ...]:
    """Return the lexemes of a row, equal ones the same object: ranking counts thousands.

    A row that lost them has none.
    """
    is_text = isinstance(terms, str) and not isinstance(terms, DamagedText)
    prefix = _PREFIX.match(terms) if is_text else None
    if prefix is None:
        return ()
    bare = terms[prefix.end() :].replace(f" {prefix.group()}", " ").split(" ")
    if not terms.isascii():
        bare = [lexeme.translate(_BLANKS_BACK) for lexeme in bare]
    return tuple(map(intern, bare))


# History and mental models

CHANGE_COLUMNS = "memory_id, action, field, old, new, at, reason, of_model"
SUMMARY: Decoders = {
    **dict.fromkeys(("name", "text"), Decoder(checked_string, "")),
    "source_query": Decoder(checked_optional_text, None),
    "max_tokens": Decoder(checked_count, 1024),
    "tags": Decoder(_texts, "[]"),
    "sources": Decoder(_texts, '["lost"]'),  # it may quote any memory that is forgotten
    "auto_refresh": Decoder(checked_count, 0),
    "created_at": Decoder(timestamp, 0),
    "refreshed_at": Decoder(timestamp, 0),
}
"""Columns of a mental model after the id."""

MENTAL_MODEL_COLUMNS = ", ".join(("id", *SUMMARY))


def change_of(row: Row) -> Change:
    """Return the change of a row of `CHANGE_COLUMNS`."""
    memory_id, action, field, old, new, at, reason, of_model = row
    return Change(memory_id, action, field, old, new, timestamp(at), reason, bool(of_model))


AUDIT_COLUMNS = "at, action, kind, id, actor, reason, fields, other"


def audit_of_row(row: Row) -> AuditEntry:
    """Return the entry of the audit of a row of `AUDIT_COLUMNS`."""
    at, action, kind, id, actor, reason, fields, other = row
    named = tuple(json.loads(fields))
    return AuditEntry(timestamp(at), action, kind, id, actor, reason, named, other)


def mental_model_of(row: Row, bank_id: str) -> MentalModel:
    """Return the mental model of a row of `MENTAL_MODEL_COLUMNS`, as `stored_bank` does."""
    id_, *stated = row
    owner = f"mental model {id_!r} of bank {bank_id!r}"
    given = decoded_fields(owner, SUMMARY, dict(zip(SUMMARY, stated, strict=True)))
    given["auto_refresh"] = bool(given["auto_refresh"])
    return MentalModel(id=str(id_), bank_id=bank_id, **given)


def _json(value: Sequence[object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
