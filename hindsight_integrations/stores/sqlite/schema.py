"""The tables, and the steps that bring an older file up to them.

A key is `bank number << 40 | sequence`, so a bank is one contiguous range of every B-tree that
begins with a key. Whatever can be computed from other rows (times, tags, metadata, grams, counts,
the full-text index) is kept for searching only, and `check` rebuilds it. In a table WITHOUT ROWID
the primary key's columns come first: SQLite 3.40 checks other orders wrongly.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache

from hindsight_integrations.errors import SchemaVersionError
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores.names import grams_of
from hindsight_integrations.stores.sqlite.rows import text_in

_PUNCTUATION = "".join(c for c in map(chr, range(33, 127)) if not c.isalnum())
_TOKENIZER = f"ascii tokenchars '{_PUNCTUATION.replace(chr(39), chr(39) * 2)}'"
"""Splits at white space and nowhere else; the lexemes were analysed before they came here."""

_VERSION_1 = (
    """CREATE TABLE banks (
        no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL,
        revision INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,
        last_sequence INTEGER NOT NULL DEFAULT 0, valid_memories INTEGER NOT NULL DEFAULT 0,
        valid_lexemes INTEGER NOT NULL DEFAULT 0, embedder TEXT NOT NULL,
        dimension INTEGER NOT NULL, name TEXT NOT NULL, mission TEXT NOT NULL,
        background TEXT NOT NULL, skepticism INTEGER NOT NULL, literalism INTEGER NOT NULL,
        empathy INTEGER NOT NULL, directives TEXT NOT NULL, created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL)""",
    "CREATE UNIQUE INDEX banks_by_id ON banks (id) WHERE deleted = 0",
    # Memories. What filters read is kept apart from the long texts: many rows fit in a page.
    """CREATE TABLE memories (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, id TEXT NOT NULL,
        type TEXT NOT NULL, mentioned_at INTEGER NOT NULL, expires_at INTEGER,
        invalidated_at INTEGER, scope TEXT, occurred TEXT NOT NULL,
        fingerprint TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX memories_by_id ON memories (bank, id)",
    """CREATE INDEX memories_by_fingerprint ON memories (bank, fingerprint)
        WHERE invalidated_at IS NULL""",
    """CREATE TABLE contents (
        unit INTEGER PRIMARY KEY, confidence REAL, created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL, speaker TEXT, tags TEXT NOT NULL,
        metadata TEXT NOT NULL, invalidated_because TEXT, context TEXT, text TEXT NOT NULL)""",
    "CREATE INDEX memories_by_scope ON memories (bank, scope) WHERE scope IS NOT NULL",
    """CREATE TABLE sources (
        unit INTEGER NOT NULL, ordinal INTEGER NOT NULL, bank INTEGER NOT NULL,
        document_id TEXT, chunk_id TEXT, position INTEGER NOT NULL,
        mentioned_at INTEGER NOT NULL, reference TEXT,
        PRIMARY KEY (unit, ordinal)) WITHOUT ROWID""",
    """CREATE INDEX sources_by_document ON sources (bank, document_id, position, unit)
        WHERE document_id IS NOT NULL""",
    "CREATE INDEX sources_by_chunk ON sources (bank, chunk_id) WHERE chunk_id IS NOT NULL",
    """CREATE TABLE history (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, memory_id TEXT NOT NULL,
        action TEXT NOT NULL, field TEXT NOT NULL, old TEXT, new TEXT, at INTEGER NOT NULL,
        reason TEXT)""",
    "CREATE INDEX history_by_memory ON history (bank, memory_id)",
    # What filters search by.
    """CREATE TABLE times (
        unit INTEGER NOT NULL, ordinal INTEGER NOT NULL, bank INTEGER NOT NULL,
        length_class INTEGER NOT NULL, middle INTEGER NOT NULL, start INTEGER NOT NULL,
        "end" INTEGER NOT NULL, precision TEXT NOT NULL,
        PRIMARY KEY (unit, ordinal)) WITHOUT ROWID""",
    """CREATE INDEX times_by_middle ON times
        (bank, length_class, middle, unit, ordinal, start, "end")""",
    """CREATE TABLE tags (
        unit INTEGER NOT NULL, tag TEXT NOT NULL, bank INTEGER NOT NULL,
        PRIMARY KEY (unit, tag)) WITHOUT ROWID""",
    "CREATE INDEX tags_by_tag ON tags (bank, tag, unit)",
    """CREATE TABLE metadata (
        unit INTEGER NOT NULL, field TEXT NOT NULL, bank INTEGER NOT NULL,
        kind TEXT NOT NULL, value NOT NULL, PRIMARY KEY (unit, field)) WITHOUT ROWID""",
    "CREATE INDEX metadata_by_value ON metadata (bank, field, kind, value, unit)",
    # Documents.
    """CREATE TABLE documents (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, id TEXT NOT NULL,
        fingerprint TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)""",
    "CREATE UNIQUE INDEX documents_by_id ON documents (bank, id)",
    """CREATE TABLE chunks (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, id TEXT NOT NULL,
        document_id TEXT NOT NULL, position INTEGER NOT NULL, fingerprint TEXT NOT NULL,
        text TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX chunks_by_id ON chunks (bank, id)",
    "CREATE INDEX chunks_by_document ON chunks (bank, document_id, position)",
    # Entities.
    """CREATE TABLE entities (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, id TEXT NOT NULL,
        kind TEXT NOT NULL, mention_count INTEGER NOT NULL DEFAULT 0, first_seen INTEGER,
        last_seen INTEGER, edited INTEGER NOT NULL DEFAULT 0)""",
    "CREATE UNIQUE INDEX entities_by_id ON entities (bank, id)",
    """CREATE TABLE names (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, norm TEXT NOT NULL,
        name TEXT NOT NULL, entity INTEGER NOT NULL, ordinal INTEGER NOT NULL)""",
    "CREATE UNIQUE INDEX names_by_norm ON names (bank, norm)",
    "CREATE INDEX names_by_entity ON names (entity, ordinal)",
    """CREATE TABLE grams (
        name INTEGER NOT NULL, gram TEXT NOT NULL, bank INTEGER NOT NULL,
        PRIMARY KEY (name, gram)) WITHOUT ROWID""",
    "CREATE INDEX grams_by_gram ON grams (bank, gram, name)",
    """CREATE TABLE mentions (
        unit INTEGER NOT NULL, ordinal INTEGER NOT NULL, entity INTEGER NOT NULL,
        PRIMARY KEY (unit, ordinal)) WITHOUT ROWID""",
    "CREATE UNIQUE INDEX mentions_by_entity ON mentions (entity, unit)",
    """CREATE TABLE cooccurrence (
        entity INTEGER NOT NULL, other INTEGER NOT NULL, count INTEGER NOT NULL,
        PRIMARY KEY (entity, other)) WITHOUT ROWID""",
    """CREATE TABLE links (
        source INTEGER NOT NULL, kind TEXT NOT NULL, target INTEGER NOT NULL,
        weight REAL NOT NULL, PRIMARY KEY (source, kind, target)) WITHOUT ROWID""",
    "CREATE INDEX links_by_target ON links (target, kind, source, weight)",
    # Lexemes. The full-text index only lists which memories hold a lexeme: scores are ours.
    """CREATE TABLE lexemes (
        unit INTEGER PRIMARY KEY, valid INTEGER NOT NULL, terms TEXT NOT NULL)""",
    f"""CREATE VIRTUAL TABLE lexeme_index USING fts5 (
        terms, content = 'lexemes', content_rowid = 'unit', detail = none, columnsize = 0,
        tokenize = "{_TOKENIZER.replace('"', '""')}")""",
    """CREATE TRIGGER lexemes_added AFTER INSERT ON lexemes BEGIN
        INSERT INTO lexeme_index (rowid, terms) VALUES (new.unit, new.terms);
        END""",
    """CREATE TRIGGER lexemes_removed AFTER DELETE ON lexemes BEGIN
        INSERT INTO lexeme_index (lexeme_index, rowid, terms)
        VALUES ('delete', old.unit, old.terms);
        END""",
    """CREATE TABLE lexeme_counts (
        bank INTEGER NOT NULL, lexeme TEXT NOT NULL, memories INTEGER NOT NULL,
        PRIMARY KEY (bank, lexeme)) WITHOUT ROWID""",
    # Vectors.
    """CREATE TABLE vectors (
        unit INTEGER PRIMARY KEY, vector BLOB NOT NULL, interaction BLOB)""",
    """CREATE TABLE staged (
        unit INTEGER PRIMARY KEY, embedder TEXT NOT NULL, dimension INTEGER NOT NULL,
        vector BLOB NOT NULL, interaction BLOB)""",
    """CREATE TABLE outbox (
        ticket INTEGER PRIMARY KEY AUTOINCREMENT, bank_key TEXT NOT NULL,
        operation TEXT NOT NULL, memory_id TEXT NOT NULL, unit INTEGER)""",
    "CREATE UNIQUE INDEX outbox_by_memory ON outbox (bank_key, memory_id)",
)

_VERSION_2 = (
    "CREATE TABLE store (identity TEXT NOT NULL)",
    "INSERT INTO store (identity) VALUES (lower(hex(randomblob(8))))",
)

_VERSION_3 = (
    # Conclusions: memories whose sources are other memories.
    "ALTER TABLE contents ADD COLUMN kind TEXT",
    "ALTER TABLE contents ADD COLUMN reasoning TEXT",
    "ALTER TABLE sources ADD COLUMN evidence INTEGER",
    "ALTER TABLE sources ADD COLUMN quote TEXT",
    "ALTER TABLE sources ADD COLUMN supports INTEGER NOT NULL DEFAULT 1",
    "CREATE INDEX sources_by_evidence ON sources (evidence, unit) WHERE evidence IS NOT NULL",
    "CREATE TABLE waiting (unit INTEGER PRIMARY KEY)",
    "INSERT INTO waiting (unit) SELECT key FROM memories WHERE invalidated_at IS NULL",
    """CREATE TABLE mental_models (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, id TEXT NOT NULL,
        name TEXT NOT NULL, text TEXT NOT NULL, source_query TEXT,
        max_tokens INTEGER NOT NULL, tags TEXT NOT NULL, sources TEXT NOT NULL,
        auto_refresh INTEGER NOT NULL, created_at INTEGER NOT NULL,
        refreshed_at INTEGER NOT NULL)""",
    "CREATE UNIQUE INDEX mental_models_by_id ON mental_models (bank, id)",
    """CREATE TABLE marks (
        bank INTEGER NOT NULL, queue TEXT NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (bank, queue)) WITHOUT ROWID""",
)

_VERSION_4 = ("ALTER TABLE banks ADD COLUMN edition INTEGER NOT NULL DEFAULT 0",)

_VERSION_5 = (
    # Ids carried this state before: their prefixes are read here once, and nowhere else.
    "ALTER TABLE banks ADD COLUMN importing TEXT",
    "ALTER TABLE documents ADD COLUMN is_record INTEGER NOT NULL DEFAULT 0",
    "UPDATE documents SET is_record = 1 WHERE fingerprint = 'conversation record 1'",
    "ALTER TABLE memories ADD COLUMN derived INTEGER NOT NULL DEFAULT 0",
    "UPDATE memories SET derived = 1 WHERE id GLOB 'c-*' AND key IN "
    "(SELECT unit FROM sources WHERE evidence IS NOT NULL)",
    "ALTER TABLE history ADD COLUMN of_model INTEGER NOT NULL DEFAULT 0",
    "UPDATE history SET of_model = 1 WHERE memory_id GLOB 'mm-*'",
    "UPDATE history SET field = 'mental model' WHERE field = 'conclusion' AND old GLOB 'mm-*'",
)

_VERSION_6 = (
    "ALTER TABLE banks ADD COLUMN expiry TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX memories_by_expiry ON memories (bank, expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX memories_pinned ON memories (bank) WHERE pinned = 1",
)

_VERSION_7 = ("ALTER TABLE banks ADD COLUMN kept_apart TEXT NOT NULL DEFAULT '[]'",)

_VERSION_8 = ("ALTER TABLE banks ADD COLUMN named_directives TEXT NOT NULL DEFAULT '[]'",)

_VERSION_9 = (
    """CREATE TABLE audit (
        key INTEGER PRIMARY KEY, bank INTEGER NOT NULL, at INTEGER NOT NULL, action TEXT NOT NULL,
        kind TEXT NOT NULL, id TEXT NOT NULL, actor TEXT, reason TEXT, fields TEXT NOT NULL,
        other TEXT)""",
    "CREATE INDEX audit_by_id ON audit (bank, kind, id) WHERE reason IS NOT NULL",
)

_VERSION_10 = (
    "ALTER TABLE store ADD COLUMN applier TEXT",
    "ALTER TABLE store ADD COLUMN applied_until REAL",
)

_VERSION_11 = (
    "ALTER TABLE marks ADD COLUMN digest TEXT",
    "ALTER TABLE marks ADD COLUMN expires_at INTEGER",
    # Of calls that a client named; microseconds since 1970, 30 days from now.
    "UPDATE marks SET expires_at = (CAST(strftime('%s') AS INTEGER) + 2592000) * 1000000 "
    "WHERE queue GLOB 'operation:*'",
    "CREATE INDEX marks_by_expiry ON marks (bank, expires_at) WHERE expires_at IS NOT NULL",
)

_VERSION_12 = (
    "ALTER TABLE banks ADD COLUMN leaving TEXT",
    "CREATE INDEX banks_leaving ON banks (leaving) WHERE leaving IS NOT NULL",
)

_VERSION_13 = ("CREATE INDEX documents_by_fingerprint ON documents (bank, fingerprint)",)

_VERSION_14 = ("ALTER TABLE store ADD COLUMN index_note TEXT NOT NULL DEFAULT ''",)

# NULL for documents of earlier versions: what they hold is told by their memories.
_VERSION_15 = ("ALTER TABLE documents ADD COLUMN is_conversation INTEGER",)


def _normalise_names(cursor: sqlite3.Cursor) -> None:
    """Store names under their normal form, where an earlier release had another one.

    The new form tells more names apart: no two of a bank get the same one.
    """
    read = ", ".join(map(text_in, ("name", "norm")))
    stored = cursor.execute(
        f"SELECT key, bank, {read} FROM names WHERE length(CAST(name AS BLOB)) > length(name)"
    ).fetchall()
    for key, bank, name, old in stored:
        if (norm := entity_norm(name)) == old:
            continue
        renamed = cursor.execute("UPDATE OR IGNORE names SET norm = ? WHERE key = ?", (norm, key))
        if renamed.rowcount:
            cursor.execute("DELETE FROM grams WHERE name = ?", (key,))
            cursor.executemany(
                "INSERT INTO grams (name, bank, gram) VALUES (?, ?, ?)",
                [(key, bank, gram) for gram in grams_of(norm)],
            )


_VERSION_16 = (_normalise_names,)

# Seconds ahead of UTC of the clock by which something was said; not kept by earlier versions.
_VERSION_17 = (
    "ALTER TABLE contents ADD COLUMN utc_offset INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE sources ADD COLUMN utc_offset INTEGER NOT NULL DEFAULT 0",
)

MIGRATIONS: tuple[tuple[str | Callable[[sqlite3.Cursor], None], ...], ...] = (
    _VERSION_1,
    _VERSION_2,
    _VERSION_3,
    _VERSION_4,
    _VERSION_5,
    _VERSION_6,
    _VERSION_7,
    _VERSION_8,
    _VERSION_9,
    _VERSION_10,
    _VERSION_11,
    _VERSION_12,
    _VERSION_13,
    _VERSION_14,
    _VERSION_15,
    _VERSION_16,
    _VERSION_17,
)
"""Statements and functions that lead from version n (its index) to n + 1. Only ever appended to."""


def migrate(cursor: sqlite3.Cursor) -> None:
    """Bring the file up to this release, inside the caller's transaction.

    Raises:
        SchemaVersionError: the file was written by a newer release.
    """
    (version,) = cursor.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise SchemaVersionError(
            f"the memory file has schema version {version}, but this release supports "
            f"versions up to {len(MIGRATIONS)}; upgrade hindsight-integrations, or open "
            "another folder"
        )
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            if isinstance(statement, str):
                cursor.execute(statement)
            else:
                statement(cursor)
    cursor.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def copy_schema(connection: sqlite3.Connection) -> None:
    """Bring an empty database in memory up to this release, in less time than `migrate` takes.

    A build of SQLite that cannot write a database as bytes leaves it to `migrate`.
    """
    if hasattr(connection, "deserialize"):
        with closing(sqlite3.connect(":memory:")) as empty:
            empty.deserialize(_empty())
            empty.backup(connection)
        connection.execute("UPDATE store SET identity = lower(hex(randomblob(8)))")


@cache
def _empty() -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        migrate(database.cursor())
        return database.serialize()
