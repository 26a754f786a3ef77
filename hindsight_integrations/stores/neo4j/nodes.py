"""Keys of a bank's nodes, and values to properties and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.models import (
    Bank,
    Change,
    Disposition,
    Memory,
    MemoryType,
    MentalModel,
    Precision,
    Source,
    TimeSpan,
)
from hindsight_integrations.stores.base import EmbedderStamp, StoredBank
from hindsight_integrations.stores.common import (
    expiry_of,
    expiry_text,
    metadata_text,
)
from hindsight_integrations.stores.neo4j.connection import Row, Transaction
from hindsight_integrations.stores.soundness import (
    sound_memory,
)
from hindsight_integrations.timespan import as_utc

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Properties: TypeAlias = dict[str, Any]
"""Properties of a node; one that is None is not stored."""

_TICKET_BITS = 40
_SEQUENCE_BITS = 32


# Keys


@dataclass(frozen=True, slots=True)
class BankTransaction(Transaction):
    """A transaction on one bank; its statements may use `$bank` and `$prefix`.

    Attributes:
        id: the id of the bank.
        key: is random, and so never used again.
        number: tells its tickets from those of other banks.
        revision: number of changes of its embedder.
        dimension: of its vectors.
    """

    id: str
    key: str
    number: int
    revision: int
    dimension: int

    @property
    def vector_key(self) -> str:
        """The name of its collection in the vector index, never used again."""
        return vector_key(self.key, self.revision)

    @property
    def prefix(self) -> str:
        """The text that the keys of all its nodes begin with."""
        return f"{self.key}|"

    def of(self, id: str) -> str:
        """Return the key of the node with this id."""
        return f"{self.key}|{id}"

    def all_of(self, ids: Iterable[str]) -> list[str]:
        """Return the keys of the nodes with these ids, each once."""
        return [self.of(id) for id in dict.fromkeys(ids)]

    def id_of(self, key: str) -> str:
        """Return the id in a key."""
        return key.removeprefix(self.prefix)

    def run(self, cypher: str, **params: Any) -> list[Row]:
        """Run a statement and return its rows."""
        return Transaction.run(self, cypher, bank=self.key, prefix=self.prefix, **params)

    def existing(self, label: str, ids: Iterable[str]) -> dict[str, str]:
        """Return id to key of the nodes of this label that exist, in the order asked for."""
        keys = {id: self.of(id) for id in ids}
        found = self.gather(
            f"UNWIND $rows AS key MATCH (n:{label} {{key: key}}) RETURN collect([n.key])",
            list(keys.values()),
        )
        there = {key for (key,) in found}
        return {id: key for id, key in keys.items() if key in there}

    def reserve(self, count: int) -> range:
        """Reserve `count` numbers that this bank never had before, in storing order."""
        if not count:
            return range(0)
        ((last,),) = self.run(
            "MATCH (b:Bank {key: $bank}) SET b.sequence = b.sequence + $count RETURN b.sequence",
            count=count,
        )
        return range(last - count + 1, last + 1)

    def tickets(self, count: int) -> range:
        """Reserve `count` numbers that no bank ever had before."""
        taken = self.reserve(count)
        base = self.number << _TICKET_BITS
        return range(base + taken.start, base + taken.stop)


_BANK = "b.id, b.key, b.number, b.revision, b.dimension"


def find_bank(tx: Transaction, bank_id: str) -> BankTransaction:
    """Return the transaction on the bank of this id. Raises `BankNotFoundError`."""
    return _on_bank(tx, bank_id, tx.run(f"MATCH (b:Bank {{id: $id}}) RETURN {_BANK}", id=bank_id))


def lock_bank(tx: Transaction, bank_id: str) -> BankTransaction:
    """Return the same; other transactions that lock the bank wait until this one ends.

    Reads after this see all that earlier transactions committed, so counts and sequences derived
    from them are right, and the writers of a bank never deadlock.
    """
    found = tx.run(
        "MATCH (b:Bank {id: $id}) SET b.locked = true REMOVE b.locked "
        f"WITH b WHERE b:Bank AND b.id = $id RETURN {_BANK}",
        id=bank_id,
    )
    return _on_bank(tx, bank_id, found)


def _on_bank(tx: Transaction, bank_id: str, found: list[Row]) -> BankTransaction:
    if not found:
        raise BankNotFoundError(f"no bank {bank_id!r} exists; create it first")
    return BankTransaction(tx.driver, *found[0])


def vector_key(key: str, revision: int) -> str:
    """Return "5f3a" for the bank "5f3a", and "5f3a.1" once it has changed its embedder."""
    return f"{key}.{revision}" if revision else key


# Timestamps


def text_of(timestamp: datetime) -> str:
    """Return ISO 8601 in UTC, always to the microsecond."""
    return as_utc(timestamp).isoformat(timespec="microseconds")


def text_or_none(timestamp: datetime | None) -> str | None:
    """Return `text_of` a timestamp that may be absent."""
    return None if timestamp is None else text_of(timestamp)


def time_of(text: str) -> datetime:
    """Return the timestamp that `text_of` was given."""
    return datetime.fromisoformat(text)


def time_or_none(text: str | None) -> datetime | None:
    """Return `time_of` a text that may be absent."""
    return None if text is None else datetime.fromisoformat(text)


# Plain values


def properties(value: DataclassInstance, *left_out: str) -> Properties:
    """Return the fields of a value as properties, without those left out."""
    names = (field.name for field in fields(value) if field.name not in left_out)
    return {name: _property(getattr(value, name)) for name in names}


def attributes(
    node: Mapping[str, Any], kind: type[DataclassInstance], *left_out: str
) -> dict[str, Any]:
    """Return the fields that `properties` was given."""
    names = (field.name for field in fields(kind) if field.name not in left_out)
    return {name: _attribute(name, node.get(name)) for name in names}


def _property(value: object) -> object:
    if isinstance(value, datetime):
        return text_of(value)
    return list(value) if isinstance(value, tuple) else value


def _attribute(name: str, value: Any) -> Any:
    if value is not None and (name == "at" or name.endswith("_at")):
        return time_of(value)
    return tuple(value) if isinstance(value, list) else value


# Banks, history and mental models


def bank_properties(bank: Bank) -> Properties:
    """Return the properties of a bank, without its embedder."""
    return (
        properties(bank, "disposition", "expiry")
        | properties(bank.disposition)
        | {"expiry": expiry_text(bank.expiry)}
    )


def stored_bank(node: Mapping[str, Any]) -> StoredBank:
    """Return the bank of a node."""
    traits = Disposition(**attributes(node, Disposition))
    given = attributes(node, Bank, "disposition", "expiry")
    given["kept_apart"] = given["kept_apart"] or ()
    bank = Bank(**given, disposition=traits, expiry=expiry_of(node.get("expiry", "{}")))
    stamp = EmbedderStamp(node["embedder"], node["dimension"])
    key = vector_key(node["key"], node["revision"])
    return StoredBank(bank, key, stamp, node.get("edition", 0), node.get("importing"))


def change_of(node: Mapping[str, Any]) -> Change:
    """Return the change of a node."""
    return Change(**attributes(node, Change))


def mental_model_of(node: Mapping[str, Any], bank_id: str) -> MentalModel:
    """Return the mental model of a node."""
    return MentalModel(**attributes(node, MentalModel, "bank_id"), bank_id=bank_id)


# Memories


def memory_properties(memory: Memory) -> Properties:
    """Return the properties of a memory that follow from it alone, without its sources."""
    return {
        "id": memory.id,
        "text": memory.text,
        "type": memory.type.value,
        "speaker": memory.speaker,
        "context": memory.context,
        "tags": list(memory.tags),
        "metadata": metadata_text(memory.metadata),
        "confidence": memory.confidence,
        "scope": memory.scope,
        "occurred": [
            f"{text_of(span.start)}/{text_of(span.end)}/{span.precision}"
            for span in memory.occurred
        ],
        "mentioned_at": text_of(memory.mentioned_at),
        "created_at": text_of(memory.created_at),
        "updated_at": text_of(memory.updated_at),
        "expires_at": text_or_none(memory.expires_at),
        "invalidated_at": text_or_none(memory.invalidated_at),
        "invalidated_because": memory.invalidated_because,
        "kind": memory.kind,
        "reasoning": memory.reasoning,
        "derived": memory.derived,
        "pinned": memory.pinned,
    }


def source_properties(seq: int, sources: Sequence[Source]) -> Properties:
    """Return the properties of a memory that follow from its sources and its number `seq`."""
    first = sources[0] if sources else Source()
    distinct = list(dict.fromkeys(sources))
    return {
        "seq": seq,
        "sources": list(dict.fromkeys(map(_source_text, distinct))),
        "proofs": sum(source.supports for source in distinct),
        "document_id": first.document_id,
        "place": (first.position << _SEQUENCE_BITS) + seq,
    }


def memory_of(node: Mapping[str, Any], bank_id: str, entities: Iterable[str] = ()) -> Memory:
    """Return the memory of a node, with the names of its entities."""
    memory = Memory(
        id=node["id"],
        bank_id=bank_id,
        text=node["text"],
        type=MemoryType(node["type"]),
        occurred=spans_of(node["occurred"]),
        mentioned_at=time_of(node["mentioned_at"]),
        speaker=node.get("speaker"),
        context=node.get("context"),
        entities=tuple(entities),
        tags=tuple(node["tags"]),
        metadata=json.loads(node["metadata"]),
        confidence=node.get("confidence"),
        scope=node.get("scope"),
        sources=sources_of(node["sources"]),
        created_at=time_of(node["created_at"]),
        updated_at=time_of(node["updated_at"]),
        expires_at=time_or_none(node.get("expires_at")),
        invalidated_at=time_or_none(node.get("invalidated_at")),
        invalidated_because=node.get("invalidated_because"),
        kind=node.get("kind"),
        reasoning=node.get("reasoning"),
        derived=node["derived"],
        pinned=node.get("pinned", False),
    )
    return sound_memory(memory)


def spans_of(occurred: Iterable[str]) -> tuple[TimeSpan, ...]:
    """Return the times of a memory's `occurred`."""
    parts = (text.split("/") for text in occurred)
    return tuple(
        TimeSpan(time_of(start), time_of(end), Precision(precision))
        for start, end, precision in parts
    )


def sources_of(sources: Iterable[str]) -> tuple[Source, ...]:
    """Return the sources of a memory's `sources`."""
    rows = map(json.loads, sources)
    return tuple(
        Source(document_id, chunk_id, position, time_of(said), *rest)
        for document_id, chunk_id, position, said, *rest in rows
    )


def _source_text(source: Source) -> str:
    row = (
        *(source.document_id, source.chunk_id, source.position, text_of(source.mentioned_at)),
        *(source.reference, source.memory_id, source.quote, source.supports),
    )
    return json.dumps(row, ensure_ascii=False)
