"""Memories of other systems as items to retain: mem0's, and those of a Chroma collection.

    memory.retain_many("alice", from_mem0(mem0.get_all(user_id="alice")))

The objects are recognised by their shape, so neither package is imported. Files that mem0 exports
hold the same entries, and `transcripts` reads them with `from_mem0`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.retain.foreign import plain_metadata, timestamp
from hindsight_integrations.retain.request import Item

log = logging.getLogger("hindsight_integrations")

PAGE = 1000
"""Records that are read from a collection at a time."""

_MEM0_FIELDS = ("user_id", "agent_id", "run_id", "actor_id", "role")
"""Fields of mem0's memories that are kept as metadata, beside its own `metadata`."""


class Collection(Protocol):
    """The one method of a Chroma collection that is used."""

    def get(self, *, include: Any, limit: int, offset: int) -> Any:
        """Return a page of records: lists of ids, documents and metadata."""


def from_mem0(memories: Mapping[str, object] | Iterable[Mapping[str, object]]) -> list[Item]:
    """Return mem0's memories as items, each dated by when its text was last written.

    Each is a document "mem0:" with its id, so that importing again stores only what is new or
    changed. Blank ones are left out. Categories become tags. One with an `expiration_date` expires
    when that day ends in UTC.

    Args:
        memories: what `Memory.get_all()` or `MemoryClient.get_all()` returns, or a list of it; or
            the parsed content of an exported file.

    Raises:
        InvalidInputError: an entry has no id or no text, or a time that cannot be read.

    Examples:
        >>> told = {"id": "7", "memory": "Ann lives in Oslo.", "created_at": "2024-05-07T09:00:00Z"}
        >>> (item,) = from_mem0({"results": [told]})
        >>> print(item.content, item.timestamp.date())
        Ann lives in Oslo. 2024-05-07
    """
    entries: Any = memories
    if isinstance(memories, Mapping):
        entries = memories.get("results", memories.get("memories", memories))
    wanted = "what mem0's get_all() returns; for a file that mem0 exported, use import_transcripts"
    given = validation.items("memories", entries, wanted)
    items = (_mem0_item(index, entry) for index, entry in enumerate(given))
    return [item for item in items if not validation.is_blank(item.content)]


def _mem0_item(index: int, entry: object) -> Item:
    named = isinstance(entry, Mapping) and entry.get("id")
    if not isinstance(entry, Mapping) or not named or not isinstance(entry.get("memory"), str):
        raise InvalidInputError(
            f"memories[{index}] is {validation.shown(entry)}; give mem0 entries, each a "
            "mapping with 'id' and 'memory'"
        )
    own = entry.get("metadata") or {}
    kept = {name: entry[name] for name in _MEM0_FIELDS if entry.get(name)}
    written = entry.get("updated_at") or entry.get("created_at")
    return Item(
        entry["memory"],
        document_id=f"mem0:{entry['id']}",
        timestamp=None if written is None else timestamp("updated_at or created_at", written),
        metadata=plain_metadata({"source": "mem0", **own, **kept}),
        tags=entry.get("categories") or (),
        expires_at=_mem0_expiry(entry.get("expiration_date")),
    )


def _mem0_expiry(given: object) -> datetime | None:
    """Return the end of the day, which mem0 counts in UTC and still shows the memory on."""
    if not given:
        return None
    day = timestamp("expiration_date", given).date()
    if day == date.max:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)


def from_chroma(collection: Collection, *, timestamp_key: str | None = None) -> Iterator[Item]:
    """Yield the records of a Chroma collection as items, page by page.

    Each is a document of the record's id, so that importing again stores only what is new or
    changed. The vectors are left: the engine embeds, and texts are read for people and times.

    Args:
        collection: of a `chromadb` client, or `_collection` of LangChain's `Chroma`.
        timestamp_key: metadata field with when a record was written, as ISO 8601 text or as
            seconds since 1970; records without it are dated by the import.

    Raises:
        InvalidInputError: it is no collection, or a time cannot be read.

    Examples:
        >>> import chromadb
        >>> notes = chromadb.EphemeralClient().get_or_create_collection("notes-of-an-example")
        >>> notes.add(ids=["1"], documents=["Ann lives in Oslo."], embeddings=[[1.0]])
        >>> print([item.content for item in from_chroma(notes)])
        ['Ann lives in Oslo.']
    """
    if not hasattr(collection, "get"):
        raise InvalidInputError(
            f"collection is {validation.shown(collection)}; give a collection of Chroma, such as "
            "client.get_collection('notes')"
        )
    return _records(collection, timestamp_key)


def _records(collection: Collection, timestamp_key: str | None) -> Iterator[Item]:
    offset = 0
    while True:
        page = collection.get(include=["documents", "metadatas"], limit=PAGE, offset=offset)
        ids = page["ids"]
        names = {name for metadata in page["metadatas"] for name in metadata or ()}
        if timestamp_key and ids and not offset and timestamp_key not in names:
            log.warning(
                "none of the first %d records has the metadata %r; those without it are dated by "
                "the import. They have %s",
                len(ids),
                timestamp_key,
                ", ".join(sorted(names)) or "none",
            )
        for id, text, metadata in zip(ids, page["documents"], page["metadatas"], strict=True):
            if text is not None and not validation.is_blank(text):
                yield _chroma_item(id, text, metadata or {}, timestamp_key)
        if len(ids) < PAGE:
            return
        offset += PAGE


def _chroma_item(
    id: str, text: str, metadata: Mapping[str, object], timestamp_key: str | None
) -> Item:
    written = metadata.get(timestamp_key) if timestamp_key else None
    if isinstance(written, int | float) and timestamp_key:
        written = _from_seconds(timestamp_key, written)
    return Item(
        text,
        document_id=id,
        timestamp=None if written is None else timestamp(str(timestamp_key), written),
        metadata=plain_metadata(metadata),
    )


def _from_seconds(name: str, seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInputError(
            f"a record's {name} is {seconds!r}; give seconds since 1970, or ISO 8601 text"
        ) from error
