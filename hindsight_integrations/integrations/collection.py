"""Texts with ids and metadata, as the vector stores of frameworks keep them in a bank.

Each text is one memory of the same id, so it is found by time, entities, meaning and exact terms,
and comes back as it was given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError, ConflictError
from hindsight_integrations.integrations.common import recall
from hindsight_integrations.models import Memory, MetadataValue
from hindsight_integrations.recall.request import Where
from hindsight_integrations.stores.base import Vector

_NAME, _ID, _JSON = "_collection", "_id", "_json"
"""Metadata fields of our own: the collection's name, the id, and the names of values in JSON."""

_ALL_TOKENS = 1_000_000
"""Token budget of a search, which is cut by its number of texts instead."""


@dataclass(frozen=True, slots=True)
class Record:
    """A text with its id and metadata; `score` is its relevance to a question, if it was asked."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Collection:
    """Texts of this name in banks; other memories of the banks are neither found nor touched."""

    memory: Hindsight
    name: str

    def put(self, bank_id: str, records: Iterable[Record]) -> None:
        """Store texts, in place of those with the same ids. Blank ones, which no query finds, go.

        Raises:
            ConflictError: an id is that of another memory; nothing was stored.
            InvalidInputError: metadata cannot be stored.
        """
        latest = {record.id: record for record in records}
        self.delete(bank_id, [id for id, each in latest.items() if validation.is_blank(each.text)])
        made = [
            self._memory_of(bank_id, record)
            for record in latest.values()
            if not validation.is_blank(record.text)
        ]
        for id, known in self._read(bank_id, [memory.id for memory in made]).items():
            if known.metadata.get(_NAME) != self.name:
                raise ConflictError(
                    f"bank {bank_id!r} has another memory with the id {id!r} that is not in the "
                    f"collection {self.name!r}; give the document another id"
                )
        if made:
            # Found by what they say: most have no date, and none has that of its import.
            self.memory.retain_memories(bank_id, made, dated=False)

    def get(self, bank_id: str, ids: Sequence[str]) -> dict[str, Record]:
        """Return the texts of these ids that exist."""
        found = self._read(bank_id, ids)
        return {id: _record(found[id]) for id in ids if id in found and self._has(found[id])}

    def ids(self, bank_id: str, where: Where | None = None) -> list[str]:
        """Return the ids of all texts that pass."""
        try:
            return self.memory.storage.find_ids(bank_id, self._where(where))
        except BankNotFoundError:
            return []

    def delete(self, bank_id: str, ids: Sequence[str]) -> None:
        """Delete texts permanently; ids that do not exist are ignored."""
        known = [id for id, memory in self._read(bank_id, ids).items() if self._has(memory)]
        if known:
            self.memory.forget(bank_id, known)

    def search(
        self, bank_id: str, query: str, k: int, where: Where | None = None, **options: Any
    ) -> list[Record]:
        """Return the `k` texts most relevant to a question, or nearest to a `query_vector`."""
        given: dict[str, Any] = {"fill": True, "max_tokens": _ALL_TOKENS, **options}
        given["where"] = self._where(where)
        question = query.strip()[: validation.MAX_QUERY]
        result = recall(self.memory, bank_id, question, **given)
        found = result.memories[: validation.positive("k", k)]
        return [_record(each.memory, each.score) for each in found]

    def vectors(self, bank_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of texts."""
        found = self.memory.storage.vectors(bank_id, ids)
        return {id: np.asarray(vector, np.float32) for id, vector in found.items()}

    @staticmethod
    def with_ids(ids: Sequence[str]) -> Where:
        """Return the condition that a text has one of these ids."""
        return {_ID: {"$in": ids}}

    def _where(self, where: Where | None) -> Where:
        return {_NAME: self.name} | ({"$and": [where]} if where else {})

    def _has(self, memory: Memory) -> bool:
        return memory.metadata.get(_NAME) == self.name

    def _read(self, bank_id: str, ids: Sequence[str]) -> dict[str, Memory]:
        try:
            return self.memory.storage.memories(bank_id, ids)
        except BankNotFoundError:
            return {}

    def _memory_of(self, bank_id: str, record: Record) -> Memory:
        stored = {name: _stored(value) for name, value in record.metadata.items()}
        coded = [name for name, value in stored.items() if value is None]
        metadata = {
            name: json.dumps(record.metadata[name], default=str) if value is None else value
            for name, value in stored.items()
        }
        metadata |= {_NAME: self.name, _ID: record.id}
        if coded:
            metadata[_JSON] = json.dumps(coded, ensure_ascii=False)
        return Memory(record.id, bank_id, record.text, metadata=metadata)


def _stored(value: object) -> MetadataValue | None:
    """Return a value that a bank takes as it is, a date as ISO 8601; None if it has to be JSON."""
    match value:
        case bool() | str():
            return value
        case int():
            return value if abs(value) < 1 << 63 else None
        case float():
            return value if math.isfinite(value) else None
        case date():
            return value.isoformat()
    return None


def _record(memory: Memory, score: float = 0.0) -> Record:
    own = memory.metadata
    coded = json.loads(str(own.get(_JSON, "[]")))
    metadata = {
        name: json.loads(str(value)) if name in coded else value
        for name, value in own.items()
        if name not in (_NAME, _ID, _JSON)
    }
    return Record(memory.id, memory.text, metadata, score)
