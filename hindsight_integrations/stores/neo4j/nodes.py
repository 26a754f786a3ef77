"""Keys of a bank's nodes, and values to properties and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Bank,
    Disposition,
    Memory,
    MemoryType,
    MentalModel,
    Precision,
    Source,
    TimeSpan,
)
from hindsight_integrations.stores.base import EmbedderIdentity, StoredBank
from hindsight_integrations.stores.encoding import (
    directives_of,
    directives_text,
    expiry_of,
    expiry_text,
    metadata_text,
)
from hindsight_integrations.stores.integrity import (
    Decoder,
    Decoders,
    checked_count,
    checked_memory,
    checked_optional_text,
    checked_string,
    checked_trait,
    decoded_fields,
)
from hindsight_integrations.stores.neo4j.connection import WRITE_BATCH, Execute, Row, Transaction
from hindsight_integrations.stores.refusals import no_bank
from hindsight_integrations.timespan import as_utc, at_offset, utc_offset, with_offset

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Properties: TypeAlias = dict[str, Any]
"""Properties of a node; one that is None is not stored."""

_TICKET_BITS = 40
_SEQUENCE_BITS = 32

_SENT_TOGETHER = 40
"""Statements that are sent as one: more than a retain has. Each other list of them is planned once
by the server, for as long as it takes to run it a hundred times; see `run_each`."""

_SOURCE_FIELDS = (
    *("document_id", "chunk_id", "position", "mentioned_at"),
    *("reference", "memory_id", "quote", "supports"),
)
_SOURCE_DEFAULTS = {each.name: each.default for each in fields(Source)}

_BANKS_KNOWN = 10_000
"""Banks whose keys are remembered: some megabytes."""


# Keys

MEMORY_TEXTS = "hindsight_memory_texts"
NAME_TEXTS = "hindsight_name_texts"
"""Names of the full-text indexes."""


@dataclass(frozen=True, slots=True)
class BankTransaction(Transaction):
    """A transaction on one bank; its statements may use `$bank` and `$prefix`.

    What it writes with `write` and `run_each` is sent together, in one round trip, before the next
    statement that returns something, and at the end.

    Attributes:
        id: the id of the bank.
        key: is random, and so never used again.
        number: tells its tickets from those of other banks.
        revision: number of changes of its embedder.
        dimension: of its vectors.
        sequence: the last number reserved, and the one that the bank stores.
        unsent: statements to send, with their parameters.
    """

    id: str
    key: str
    number: int
    revision: int
    dimension: int
    sequence: list[int] = field(default_factory=list)
    unsent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

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
        """Run a statement, after those that are not sent yet, and return its rows."""
        self.send()
        return Transaction.run(self, cypher, bank=self.key, prefix=self.prefix, **params)

    def write(self, cypher: str, **params: Any) -> None:
        """Run a statement that returns nothing, together with those that follow it."""
        self.unsent.append((cypher, params))
        if len(self.unsent) == _SENT_TOGETHER:
            self.send()

    def run_each(
        self, cypher: str, rows: Sequence[object], *, even_none: bool = False, **params: Any
    ) -> None:
        """Run a statement that unwinds `$rows` and returns nothing; see `write`.

        With `even_none` it is sent without rows too: so what is sent together does not depend on
        what there is to write, and the server has planned it before.
        """
        for start in range(0, len(rows) or even_none, WRITE_BATCH):
            self.write(cypher, rows=rows[start : start + WRITE_BATCH], **params)

    def send(self) -> None:
        """Run the statements that are not sent yet, in their order, unless none has any rows."""
        if any(params.get("rows", True) for _, params in self.unsent):
            cypher, params = _together(self.unsent)
            Transaction.run(self, cypher, bank=self.key, prefix=self.prefix, **params)
        self.unsent.clear()

    def finish(self) -> None:
        """Send all that is left; nothing may follow but the end of the transaction."""
        last, stored = self.sequence
        if last > stored:
            self.write("MATCH (b:Bank {key: $bank}) SET b.sequence = $last", last=last)
        self.send()

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
        # The bank is locked until the transaction ends, so nobody else reserves any.
        first = self.sequence[0] + 1
        self.sequence[0] += count
        return range(first, first + count)

    def tickets(self, count: int) -> range:
        """Reserve `count` numbers that no bank ever had before."""
        taken = self.reserve(count)
        base = self.number << _TICKET_BITS
        return range(base + taken.start, base + taken.stop)


_BANK = "b.id, b.key, b.number, b.revision, b.dimension, b.sequence"

_PARAMETER = re.compile(r"\$(?!bank\b|prefix\b)(\w+)")


def _together(statements: Sequence[tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]]:
    """Return one statement that does what these do, one after the other.

    Each has names of its own for its parameters; none returns anything, so that a subquery runs it
    to its end before the next one begins. Parameters travel in one map, because the server plans a
    statement once more for each order of magnitude of each list among its parameters.
    """
    if len(statements) == 1:
        return statements[0]
    texts: list[str] = []
    given: dict[str, Any] = {}
    for n, (cypher, params) in enumerate(statements):
        own = _PARAMETER.sub(rf"$sent.s{n}_\1", cypher)
        texts.append(f"CALL () {{ {own} }}")
        given |= {f"s{n}_{name}": value for name, value in params.items()}
    return "\n".join(texts), {"sent": given}


class MovedError(Exception):
    """The bank that a read was made for was deleted, renamed or given another embedder."""


_ON_BANK = (
    "MATCH (holder:Bank {{key: $bank}}) WHERE holder.id = $holder_id "
    "AND holder.revision = $revision CALL () {{ {read} AS collected }} RETURN collected"
)


class BankReader:
    """Reads of banks, each statement a round trip of its own.

    The keys of banks are remembered, and each statement finds nothing unless they still hold: so no
    round trip is spent on them, and another process may delete, rename or make a bank at any time.
    """

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._known: dict[str, Row] = {}

    def note(self, node: Mapping[str, Any]) -> None:
        """Remember the key of a bank whose properties were read."""
        if len(self._known) >= _BANKS_KNOWN:
            self._known.clear()
        names = ("id", "key", "number", "revision", "dimension")
        self._known[node["id"]] = tuple(node[name] for name in names)

    def on(self, bank_id: str) -> BankTransaction:
        """Return reads of a bank; each statement of theirs returns one list, `collect([...])`.

        They raise `MovedError` if what is remembered of the bank does not hold; see `forget`.

        Raises:
            BankNotFoundError: there is no such bank.
        """
        if bank_id not in self._known:
            query = "MATCH (b:Bank {id: $id}) RETURN properties(b)"
            for (node,) in self._execute(query, {"id": bank_id}):
                if node is not None:  # deleted while the statement ran
                    self.note(node)
        bank = self._known.get(bank_id)
        if bank is None:
            raise no_bank(bank_id)

        def execute(cypher: str, params: Mapping[str, Any]) -> list[Row]:
            given = {**params, "holder_id": bank_id, "revision": bank[3]}
            found = self._execute(_ON_BANK.format(read=cypher), given)
            if not found:
                raise MovedError
            return found

        return BankTransaction(execute, *bank)

    def unchecked(self, bank: BankTransaction) -> BankTransaction:
        """Return the same reads without the check: a scan goes on to the end of its bank."""
        return replace(bank, execute=self._execute)

    def forget(self, bank_id: str) -> None:
        """Forget what is remembered of a bank."""
        self._known.pop(bank_id, None)


def lock_bank(tx: Transaction, bank_id: str) -> BankTransaction:
    """Return a transaction on a bank; others that lock the bank wait until this one ends.

    Reads after this see all that earlier transactions committed, so counts and sequences derived
    from them are right, and the writers of a bank never deadlock.
    """
    return lock_and_read(tx, bank_id, "[]")[0]


def lock_and_read(
    tx: Transaction, bank_id: str, column: str, **params: Any
) -> tuple[BankTransaction, Any]:
    """Return what `lock_bank` does, and a column read of the locked bank `b` in the same trip."""
    found = tx.run(
        "MATCH (b:Bank {id: $id}) SET b.locked = true REMOVE b.locked "
        f"WITH b WHERE b:Bank AND b.id = $id RETURN {_BANK}, {column}",
        id=bank_id,
        **params,
    )
    if not found:
        raise no_bank(bank_id)
    id, key, number, revision, dimension, last, read = found[0]
    bank = BankTransaction(tx.execute, id, key, number, revision, dimension, [last, last])
    return bank, read


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
        properties(bank, "disposition", "expiry", "named_directives")
        | properties(bank.disposition)
        | {
            "expiry": expiry_text(bank.expiry),
            "named_directives": directives_text(bank.named_directives),
        }
    )


def stored_bank(node: Mapping[str, Any]) -> StoredBank:
    """Return the bank of a node; what cannot be read of its profile is left out, and logged."""
    given = decoded_fields(f"bank {node['id']!r}", PROFILE, {**_LATER, **node})
    traits = Disposition(**{trait: given.pop(trait) for trait in _TRAITS})
    bank = Bank(id=node["id"], disposition=traits, **given)
    embedder = EmbedderIdentity(node["embedder"], node["dimension"])
    key = vector_key(node["key"], node["revision"])
    version, importing, leaving = node.get("edition", 0), node.get("importing"), node.get("leaving")
    return StoredBank(bank, key, embedder, version, importing, leaving)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("it is not a list")
    return tuple(map(checked_string, value))


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("it is neither true nor false")
    return value


_TRAITS = tuple(each.name for each in fields(Disposition))
_LATER = {"expiry": "{}", "kept_apart": [], "named_directives": "[]"}
"""Properties that banks of an older schema lack."""

_TIME = Decoder(lambda text: as_utc(time_of(text)), text_of(datetime(1970, 1, 1, tzinfo=UTC)))

PROFILE: Decoders = {
    **dict.fromkeys(("name", "mission", "background"), Decoder(checked_string, "")),
    **dict.fromkeys(_TRAITS, Decoder(checked_trait, 3)),
    **dict.fromkeys(("directives", "kept_apart"), Decoder(_texts, [])),
    "expiry": Decoder(expiry_of, "{}"),
    "named_directives": Decoder(directives_of, "[]"),
    **dict.fromkeys(("created_at", "updated_at"), _TIME),
}
"""Properties of a bank besides its id and its embedder."""

SUMMARY: Decoders = {
    **dict.fromkeys(("name", "text"), Decoder(checked_string, "")),
    "source_query": Decoder(checked_optional_text, None),
    "max_tokens": Decoder(checked_count, 1024),
    "tags": Decoder(_texts, []),
    "sources": Decoder(_texts, ["lost"]),  # it may quote any memory that is forgotten
    "auto_refresh": Decoder(_flag, False),
    **dict.fromkeys(("created_at", "refreshed_at"), _TIME),
}
"""Properties of a mental model besides its id."""


def change_of(node: Mapping[str, Any]) -> Change:
    """Return the change of a node."""
    return Change(**attributes(node, Change))


def audit_of_node(node: Mapping[str, Any]) -> AuditEntry:
    """Return the entry of the audit of a node."""
    return AuditEntry(**attributes(node, AuditEntry))


def mental_model_of(node: Mapping[str, Any], bank_id: str) -> MentalModel:
    """Return the mental model of a node; what cannot be read of it is left out, and logged."""
    owner = f"mental model {node['id']!r} of bank {bank_id!r}"
    return MentalModel(id=node["id"], bank_id=bank_id, **decoded_fields(owner, SUMMARY, node))


# Memories


def memory_properties(memory: Memory) -> Properties:
    """Return the properties of a memory that follow from it alone, without its sources."""
    return properties(memory, "bank_id", "entities", "sources") | {
        "type": memory.type.value,
        "metadata": metadata_text(memory.metadata),
        "occurred": list(map(_span_text, memory.occurred)),
        "utc_offset": utc_offset(memory.mentioned_at),
    }


def source_properties(seq: int, sources: Sequence[Source]) -> Properties:
    """Return the properties of a memory that follow from its sources and its number `seq`."""
    first = sources[0] if sources else Source()
    distinct = list(dict.fromkeys(sources))
    return {
        "seq": seq,
        "sources": list(dict.fromkeys(map(source_text, distinct))),
        "proofs": sum(source.supports for source in distinct),
        "document_id": first.document_id,
        "place": (first.position << _SEQUENCE_BITS) + seq,
    }


def position_in(place: int) -> int:
    """Return the position of a memory's first source, of its property `place`."""
    return place >> _SEQUENCE_BITS


def memory_of(node: Mapping[str, Any], bank_id: str, entities: Iterable[str] = ()) -> Memory:
    """Return the memory of a node, with the names of its entities."""
    memory = Memory(
        id=node["id"],
        bank_id=bank_id,
        text=node["text"],
        type=MemoryType(node["type"]),
        occurred=spans_of(node["occurred"]),
        mentioned_at=at_offset(time_of(node["mentioned_at"]), node.get("utc_offset", 0)),
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
    return checked_memory(memory)


def spans_of(occurred: Iterable[str]) -> tuple[TimeSpan, ...]:
    """Return the times of a memory's `occurred`."""
    return tuple(_span_of(*text.split("/")) for text in occurred)


def _span_text(span: TimeSpan) -> str:
    """Return start, end and precision; and how far ahead of UTC the ends are, if not in UTC."""
    text = f"{text_of(span.start)}/{text_of(span.end)}/{span.precision}"
    offsets = (utc_offset(span.start), utc_offset(span.end))
    return "/".join([text, *map(str, offsets)]) if any(offsets) else text


def _span_of(
    start: str, end: str, precision: str, ahead_at_start: str = "0", ahead_at_end: str = "0"
) -> TimeSpan:
    first = at_offset(time_of(start), int(ahead_at_start))
    return TimeSpan(first, at_offset(time_of(end), int(ahead_at_end)), Precision(precision))


def sources_of(sources: Iterable[str]) -> tuple[Source, ...]:
    """Return the sources of a memory's `sources`."""
    return tuple(map(_source_of, sources))


def _source_of(text: str) -> Source:
    given = json.loads(text)
    if isinstance(given, list):  # the form before schema version 6, without the names of fields
        given = dict(zip(_SOURCE_FIELDS, given, strict=False))
    return Source(**given | {"mentioned_at": time_of(given["mentioned_at"])})


def source_text(source: Source) -> str:
    """Return a source as JSON with the fields that say something."""
    given = {name: getattr(source, name) for name in _SOURCE_FIELDS}
    given["mentioned_at"] = with_offset(source.mentioned_at).isoformat(timespec="microseconds")
    return json.dumps(
        {
            name: value
            for name, value in given.items()
            if name == "mentioned_at" or value != _SOURCE_DEFAULTS[name]
        },
        ensure_ascii=False,
    )
