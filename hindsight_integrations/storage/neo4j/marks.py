"""How far queues outside the store have come with a bank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.storage.neo4j.connection import run
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.requests import Mark

if TYPE_CHECKING:
    from neo4j import ManagedTransaction


def read(tx: ManagedTransaction, bank: BankKey, queue: str) -> int:
    """Number of the last operation of the queue that was applied; 0 if none was."""
    found = run(tx, "MATCH (n:Mark {key: $key}) RETURN n.number", key=bank.of(queue))
    return int(found[0][0]) if found else 0


def store(tx: ManagedTransaction, bank: BankKey, mark: Mark) -> None:
    """Note that an operation was applied."""
    run(
        tx,
        "MERGE (n:Mark {key: $key}) SET n.bank = $bank, n.queue = $queue, n.number = $number",
        key=bank.of(mark.queue),
        bank=bank.key,
        queue=mark.queue,
        number=mark.number,
    )
