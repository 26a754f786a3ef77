"""Which conclusions rest on a memory, and which memories wait to be reflected on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hindsight_integrations.storage.conditions import unsupported
from hindsight_integrations.storage.neo4j import sources
from hindsight_integrations.storage.neo4j.connection import gather, run, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.requests import MemoryRecord
from hindsight_integrations.storage.values import is_conclusion

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_UNREFLECTED = """
    MATCH (m:Waiting) WHERE m.bank = $bank AND m.seq > 0
    RETURN m.id, m.seq ORDER BY m.bank, m.seq LIMIT $limit"""

_RESTING = """
    UNWIND $rows AS key MATCH (m:Memory {key: key})
    RETURN collect([m.id, COLLECT {
        MATCH (m)<-[:EVIDENCE]-(c:Memory) WITH DISTINCT c RETURN [c.seq, c.id] }])"""

_WAIT = """
    UNWIND $rows AS key MATCH (m:Memory {key: key}) WHERE m.invalidated_at IS NULL
    SET m:Waiting"""

_SETTLE = "UNWIND $rows AS key MATCH (m:Memory {key: key}) REMOVE m:Waiting"


def unreflected(tx: ManagedTransaction, bank: BankKey, limit: int) -> list[str]:
    """Ids of the memories that wait, in storing order."""
    rows = run(tx, _UNREFLECTED, bank=bank.key, limit=max(limit, 0))
    return [id for id, _ in sorted(rows, key=lambda row: row[1])]


def resting_on(
    tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Id of each memory that exists to the ids of the conclusions that rest on it."""
    rows = gather(tx, _RESTING, [bank.of(id) for id in dict.fromkeys(ids)])
    found = {id: tuple(other for _, other in sorted(resting)) for id, resting in rows}
    return {id: found[id] for id in ids if id in found}


def upheld(
    tx: ManagedTransaction, bank: BankKey, records: Sequence[MemoryRecord], new: Sequence[str]
) -> list[MemoryRecord]:
    """Records without the sources that name a memory which is neither there nor `new`.

    Raises:
        ConflictError: that leaves a conclusion without support.
    """
    given = (source for record in records for source in record.memory.sources)
    gone = sources.lost(tx, bank, given) - set(new)
    kept = []
    for record in records:
        memory = record.memory
        left = tuple(each for each in memory.sources if each.memory_id not in gone)
        if is_conclusion(memory) and not any(each.supports for each in left):
            raise unsupported(bank.id, memory.id)
        kept.append(replace(record, memory=replace(memory, sources=left)))
    return kept


def withdraw(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> list[str]:
    """Strike memories from the evidence of conclusions, which then wait to be reflected on.

    To be done before the memories are removed.

    Returns:
        The ids of the conclusions that nothing supports any more, in storing order; they are to
        be removed.
    """
    leaving = set(ids)
    resting = {other for group in resting_on(tx, bank, ids).values() for other in group}
    rows = sources.read(tx, [bank.of(id) for id in sorted(resting - leaving)])
    supported = sources.restate(tx, rows, lambda each: each.memory_id not in leaving)
    run_each(tx, _WAIT, [key for key, still in supported.items() if still])
    return [key.removeprefix(bank.prefix) for key, still in supported.items() if not still]


def wait(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> None:
    """Let those of the memories wait that are valid."""
    run_each(tx, _WAIT, [bank.of(id) for id in ids])


def wait_anew(tx: ManagedTransaction, bank: BankKey, replaced: Sequence[str]) -> None:
    """Let replaced memories wait, and the conclusions that rest on them."""
    settle(tx, bank, replaced)  # one that is now held to be wrong waits no longer
    resting = resting_on(tx, bank, replaced).values()
    wait(tx, bank, list(dict.fromkeys([*replaced, *(id for group in resting for id in group)])))


def settle(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> None:
    """These memories wait no longer."""
    run_each(tx, _SETTLE, [bank.of(id) for id in ids])
