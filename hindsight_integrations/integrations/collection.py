"""Texts with ids and metadata, as the vector stores of frameworks keep them in a bank.

Each text is one memory, so it is found by time, entities, meaning and exact terms, and comes back
as it was given. The memory has the text's id, or one derived from it where that id is too long or
taken by a text of another collection.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from typing import Any, cast

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError, ConflictError
from hindsight_integrations.integrations.common import recall
from hindsight_integrations.models import Memory, MetadataValue
from hindsight_integrations.recall.request import Where
from hindsight_integrations.stores.base import Vector

_NAME, _ID, _JSON = "_collection", "_id", "_json"
"""Metadata fields of our own: the collection's name, the id, and the names of values in JSON.

A field of the text's own that is called so is stored with one more underscore (`_escaped`).
"""

_OURS = frozenset(name.removeprefix("_") for name in (_NAME, _ID, _JSON))

_TEXT_ID = "$id"
"""Name of a text's id in conditions, which no field of its own can have."""

_DERIVED = "text-"
"""Beginning of the ids of memories that could not have the id of their text."""

_ALL_TOKENS = 1_000_000
"""Token budget of a search, which is cut by its number of texts instead."""


@dataclass(frozen=True, slots=True)
class Record:
    """A text with its id and metadata; `score` is its relevance to a question, if it was asked."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    score: float = 0.0


def checked_ids(ids: Iterable[str]) -> list[str]:
    """Return the ids of texts.

    Raises:
        InvalidInputError: they are a single text, whose letters would be taken one by one, or one
            of them is no text.
    """
    return [validation.text(each, "an id") for each in validation.items("ids", ids)]


@dataclass(frozen=True, slots=True)
class Collection:
    """The texts of one collection; other memories of a bank are neither read nor changed."""

    memory: Hindsight
    name: str

    def put(self, bank_id: str, records: Iterable[Record]) -> None:
        """Store texts, replacing those with the same ids; blank ones are deleted.

        Raises:
            ConflictError: an id is that of another memory; nothing was stored.
            InvalidInputError: metadata cannot be stored.
        """
        latest = {record.id: record for record in records}
        self.delete(bank_id, [id for id, each in latest.items() if validation.is_blank(each.text)])
        storable = [record for record in latest.values() if not validation.is_blank(record.text)]
        taken = self._read(
            bank_id, [id for record in storable for id in self._memory_ids(record.id)]
        )
        memories = [self._memory_of(bank_id, record, taken) for record in storable]
        if memories:
            # Undated: the time of the import says nothing about the text.
            self.memory.retain_memories(bank_id, memories, dated=False)

    def get(self, bank_id: str, ids: Sequence[str]) -> dict[str, Record]:
        """Return the texts of these ids that exist."""
        return {id: _record(memory) for id, memory in self._memories(bank_id, ids).items()}

    def ids(self, bank_id: str, where: Where | None = None) -> list[str]:
        """Return the ids of all texts that meet the conditions."""
        try:
            stored = self.memory.storage.find_ids(bank_id, self._where(where))
        except BankNotFoundError:
            return []
        derived = self._read(bank_id, [id for id in stored if id.startswith(_DERIVED)])
        return [str(derived[id].metadata[_ID]) if id in derived else id for id in stored]

    def delete(self, bank_id: str, ids: Sequence[str]) -> None:
        """Delete texts permanently; ids that do not exist are ignored."""
        if known := [memory.id for memory in self._memories(bank_id, ids).values()]:
            self.memory.forget(bank_id, known)

    def search(
        self, bank_id: str, query: str, k: int, where: Where | None = None, **options: Any
    ) -> list[Record]:
        """Return the `k` texts most relevant to a question, or nearest to a `query_vector`."""
        given: dict[str, Any] = {"fill": True, "max_tokens": _ALL_TOKENS, **options}
        given["where"] = self._where(where)
        question = validation.text(query, "query").strip()[: validation.MAX_QUERY]
        result = recall(self.memory, bank_id, question, **given)
        found = result.memories[: validation.positive("k", k)]
        return [_record(each.memory, each.score) for each in found]

    def vectors(self, bank_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of texts."""
        memory_ids = {id: memory.id for id, memory in self._memories(bank_id, ids).items()}
        vectors = self.memory.storage.vectors(bank_id, list(memory_ids.values()))
        return {id: np.asarray(vectors[own], np.float32) for id, own in memory_ids.items()}

    @staticmethod
    def with_ids(ids: Sequence[str]) -> Where:
        """Return the condition that a text has one of these ids, for `search` and `ids`."""
        return {_TEXT_ID: {"$in": ids}}

    def _where(self, where: Where | None) -> Where:
        return {_NAME: self.name} | ({"$and": [_stored_names(where)]} if where else {})

    def _has(self, memory: Memory) -> bool:
        return memory.metadata.get(_NAME) == self.name

    def _memory_ids(self, id: str) -> list[str]:
        """Return the ids that the memory of a text may have, the text's own first."""
        name = f"{self.name}\0{id}".encode(errors="surrogatepass")
        derived = _DERIVED + blake2b(name, digest_size=16).hexdigest()
        return [id, derived] if len(id) <= validation.MAX_ID else [derived]

    def _memories(self, bank_id: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories of existing texts by the id of the text."""
        possible = {id: self._memory_ids(id) for id in ids}
        read = self._read(bank_id, [each for several in possible.values() for each in several])
        stored = {
            id: [read[each] for each in several if each in read and self._has(read[each])]
            for id, several in possible.items()
        }
        return {id: memories[-1] for id, memories in stored.items() if memories}

    def _read(self, bank_id: str, ids: Sequence[str]) -> dict[str, Memory]:
        try:
            return self.memory.storage.memories(bank_id, ids)
        except BankNotFoundError:
            return {}

    def _memory_of(self, bank_id: str, record: Record, taken: Mapping[str, Memory]) -> Memory:
        own = {_escaped(name): value for name, value in record.metadata.items()}
        stored = {name: _metadata_value(value) for name, value in own.items()}
        json_names = [name for name, value in stored.items() if value is None]
        metadata = {
            name: json.dumps(own[name], default=_json_value) if value is None else value
            for name, value in stored.items()
        }
        metadata |= {_NAME: self.name, _ID: record.id}
        if json_names:
            metadata[_JSON] = json.dumps(json_names, ensure_ascii=False)
        id = self._memory_id(bank_id, record.id, taken)
        return Memory(id, bank_id, record.text, metadata=metadata)

    def _memory_id(self, bank_id: str, id: str, taken: Mapping[str, Memory]) -> str:
        """Return the id for the memory of a text.

        Raises:
            ConflictError: a memory that is no text of a collection has the text's id.
        """
        *own, derived = self._memory_ids(id)
        existing = taken.get(id)
        if not own or derived in taken:
            return derived
        if existing is None or self._has(existing):
            return id
        if _NAME in existing.metadata:
            return derived
        raise ConflictError(
            f"bank {bank_id!r} has another memory with the id {id!r} that is not in the "
            f"collection {self.name!r}; give the document another id"
        )


def own_metadata(memory: Memory) -> Mapping[str, MetadataValue]:
    """Return a memory's metadata as it was given, without what a collection adds to it."""
    if _NAME not in memory.metadata:
        return memory.metadata
    return {
        _unescaped(name): value
        for name, value in memory.metadata.items()
        if name not in (_NAME, _ID, _JSON)
    }


def _escaped(name: str) -> str:
    """Return the name under which a text's own field is stored."""
    return f"_{name}" if name.startswith("_") and name.lstrip("_") in _OURS else name


def _unescaped(name: str) -> str:
    return name[1:] if name.startswith("__") and name.lstrip("_") in _OURS else name


def _stored_names(where: Where) -> Where:
    """Return conditions on a text's own fields as conditions on the stored ones."""

    def renamed(value: object) -> object:
        if isinstance(value, Mapping):
            return {
                _ID if name == _TEXT_ID else _escaped(name) if isinstance(name, str) else name: (
                    renamed(test)
                )
                for name, test in value.items()
            }
        return [renamed(test) for test in value] if isinstance(value, list) else value

    return cast(Where, renamed(where))


def _json_value(value: object) -> object:
    """Convert a value that JSON does not support to one that it does, for `json.dumps`."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


def _metadata_value(value: object) -> MetadataValue | None:
    """Return a value as stored in metadata, a date as ISO 8601; None if it needs JSON."""
    match value.item() if isinstance(value, np.generic) else value:
        case bool() | str() as plain:
            return plain
        case int() as number:
            return number if abs(number) < 1 << 63 else None
        case float() as number:
            return number if math.isfinite(number) else None
        case date() as day:
            return day.isoformat()
    return None


def _record(memory: Memory, score: float = 0.0) -> Record:
    json_names = {_unescaped(name) for name in json.loads(str(memory.metadata.get(_JSON, "[]")))}
    metadata = {
        name: json.loads(str(value)) if name in json_names else value
        for name, value in own_metadata(memory).items()
    }
    return Record(str(memory.metadata.get(_ID, memory.id)), memory.text, metadata, score)
