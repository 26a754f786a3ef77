"""A bank within the graph: the keys of what it owns, its lock and its counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.storage.neo4j.connection import Row, gather, run

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_TICKET_BITS = 40


@dataclass(frozen=True, slots=True)
class BankKey:
    """A live bank. `key` is random and so never used again; `number` tells its tickets apart."""

    id: str
    key: str
    number: int
    revision: int
    dimension: int

    @property
    def vector_key(self) -> str:
        """Name of its vector space: never used again once the bank or its embedder is gone."""
        return vector_key(self.key, self.revision)

    @property
    def prefix(self) -> str:
        """What the keys of all it owns begin with."""
        return f"{self.key}|"

    def of(self, id: str) -> str:
        """The key of what it owns under this id."""
        return f"{self.key}|{id}"


def vector_key(key: str, revision: int) -> str:
    """Bank "5f3a" has the space "5f3a", and "5f3a.1" once it has changed its embedder."""
    return f"{key}.{revision}" if revision else key


def find_bank(tx: ManagedTransaction, bank_id: str) -> BankKey:
    """The live bank of this id. Raises `BankNotFoundError`."""
    return _bank(
        bank_id,
        run(
            tx,
            "MATCH (b:Bank {id: $id}) RETURN b.id, b.key, b.number, b.revision, b.dimension",
            id=bank_id,
        ),
    )


def lock_bank(tx: ManagedTransaction, bank_id: str) -> BankKey:
    """The same, for one transaction at a time: others that lock the bank wait until it ends.

    What is read after this is what the transactions before have committed, so counts and
    sequences made of it are right, and a bank's writers never deadlock.
    """
    return _bank(
        bank_id,
        run(
            tx,
            "MATCH (b:Bank {id: $id}) SET b.locked = true REMOVE b.locked "
            "WITH b WHERE b:Bank AND b.id = $id "
            "RETURN b.id, b.key, b.number, b.revision, b.dimension",
            id=bank_id,
        ),
    )


def reserve(tx: ManagedTransaction, bank: BankKey, count: int) -> range:
    """`count` numbers that this bank never had before, in the order of storing."""
    if not count:
        return range(0)
    ((last,),) = run(
        tx,
        "MATCH (b:Bank {key: $bank}) SET b.sequence = b.sequence + $count RETURN b.sequence",
        bank=bank.key,
        count=count,
    )
    return range(last - count + 1, last + 1)


def tickets(tx: ManagedTransaction, bank: BankKey, count: int) -> range:
    """`count` numbers that no bank ever had before."""
    taken = reserve(tx, bank, count)
    base = bank.number << _TICKET_BITS
    return range(base + taken.start, base + taken.stop)


def existing(
    tx: ManagedTransaction, label: str, bank: BankKey, ids: Iterable[str]
) -> dict[str, str]:
    """Id to key, of the nodes of this label that exist, in the order asked for."""
    keys = {id: bank.of(id) for id in ids}
    found = gather(
        tx,
        f"UNWIND $rows AS key MATCH (n:{label} {{key: key}}) RETURN collect([n.key])",
        list(keys.values()),
    )
    there = {key for (key,) in found}
    return {id: key for id, key in keys.items() if key in there}


def _bank(bank_id: str, found: list[Row]) -> BankKey:
    if not found:
        raise BankNotFoundError(f"no bank {bank_id!r} exists; create it first")
    return BankKey(*found[0])
