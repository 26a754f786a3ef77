"""Reading memories: by id, by filter, page by page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hindsight_integrations.model import Change, Memory, Page
from hindsight_integrations.storage import cursors
from hindsight_integrations.storage.neo4j.codec import memory_of, moment_of, spans_of
from hindsight_integrations.storage.neo4j.connection import Row, gather, run
from hindsight_integrations.storage.neo4j.filters import condition, start
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.neo4j.lucene import terms_of
from hindsight_integrations.storage.requests import Candidate, MemoryFilter, MemoryRecord
from hindsight_integrations.storage.values import vector_of

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_MENTIONED = "[(m)-[x:MENTIONS]->(e:Entity) | [x.ordinal, e.id, e.name]]"

_MEMORIES = f"""
    UNWIND $rows AS key MATCH (m:Memory {{key: key}})
    RETURN collect([m.id, properties(m), {_MENTIONED}])"""

_RECORDS = f"""
    UNWIND $rows AS key MATCH (m:Memory {{key: key}}) MATCH (v:Vector {{key: key}})
    RETURN collect([m.id, properties(m), {_MENTIONED}, v.vector, v.interaction])"""

_CANDIDATES = f"""
    UNWIND $rows AS key MATCH (m:Memory {{key: key}}) MATCH (v:Vector {{key: key}})
    RETURN collect([m.id, m.text, m.speaker, m.document_id, m.mentioned_at, m.occurred,
        m.proofs, m.fingerprint, m.lexemes, v.vector, v.interaction, {_MENTIONED}])"""


def get_memories(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> dict[str, Memory]:
    """Those of the ids that exist, in the order asked for."""
    found = {
        id: memory_of(node, bank.id, _names(mentioned))
        for id, node, mentioned in gather(tx, _MEMORIES, _keys(bank, ids))
    }
    return _as_asked(ids, found)


def get_records(
    tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]
) -> dict[str, MemoryRecord]:
    """The same, with vectors and lexemes; one whose vector was lost is left out."""
    found = {
        id: MemoryRecord(
            memory=memory_of(node, bank.id, _names(mentioned)),
            lexemes=terms_of(node["lexemes"]),
            vector=vector_of(vector),
            fingerprint=node["fingerprint"],
            interaction=interaction,
            entity_ids=tuple(entity for _, entity, _ in sorted(mentioned)),
        )
        for id, node, mentioned, vector, interaction in gather(tx, _RECORDS, _keys(bank, ids))
    }
    return _as_asked(ids, found)


def candidates(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> list[Candidate]:
    """What ranking needs of the memories, in the order asked for; see `get_records`."""
    found = {
        id: Candidate(
            id,
            bank.id,
            text,
            speaker,
            document_id,
            moment_of(mentioned_at),
            spans_of(occurred),
            max(1, proofs),
            fingerprint,
            terms_of(lexemes),
            vector_of(vector),
            interaction or b"",
            tuple((entity, name) for _, entity, name in sorted(mentioned)),
        )
        for (
            id,
            text,
            speaker,
            document_id,
            mentioned_at,
            occurred,
            proofs,
            fingerprint,
            lexemes,
            vector,
            interaction,
            mentioned,
        ) in gather(tx, _CANDIDATES, _keys(bank, ids))
    }
    return list(_as_asked(ids, found).values())


def list_memories(
    tx: ManagedTransaction,
    bank: BankKey,
    filter: MemoryFilter,
    *,
    limit: int,
    page_cursor: str | None,
) -> Page[Memory]:
    """A page in storing order. Raises `InvalidInputError` on a cursor that is none of ours."""
    after = cursors.memory_at(page_cursor)
    size = max(limit, 0)
    chosen = start(bank, filter)
    ((total,),) = run(tx, f"{chosen.text} RETURN count(m)", **chosen.params)
    rows = run(
        tx,
        f"{chosen.text} WITH m WHERE m.seq > $after WITH m ORDER BY m.bank, m.seq LIMIT $most "
        f"RETURN properties(m), {_MENTIONED}",
        after=after,
        most=size + 1,
        **chosen.params,
    )
    rows.sort(key=_seq)
    shown = rows[:size]
    items = [memory_of(node, bank.id, _names(mentioned)) for node, mentioned in shown]
    more = shown and len(rows) > size
    return Page(items, total, cursors.at_memory(_seq(shown[-1])) if more else None)


def admitted(
    tx: ManagedTransaction, bank: BankKey, ids: Sequence[str], filter: MemoryFilter
) -> set[str]:
    """Those of the ids that exist and pass the filter."""
    test = condition(bank, filter)
    found = gather(
        tx,
        f"UNWIND $rows AS key MATCH (m:Memory {{key: key}}) WHERE {test.text} "
        "RETURN collect([m.id])",
        _keys(bank, ids),
        **test.params,
    )
    return {id for (id,) in found}


def matching(
    tx: ManagedTransaction, bank: BankKey, filter: MemoryFilter, limit: int
) -> list[str] | None:
    """The ids of all that pass the filter, in storing order; None if more than `limit`."""
    chosen = start(bank, filter)
    found = run(
        tx,
        f"{chosen.text} WITH m LIMIT $most RETURN m.id, m.seq",
        most=limit + 1,
        **chosen.params,
    )
    found.sort(key=lambda row: row[1])
    return None if len(found) > limit else [id for id, _ in found]


def find_fingerprints(
    tx: ManagedTransaction, bank: BankKey, fingerprints: Sequence[str]
) -> dict[str, list[str]]:
    """Fingerprint to the ids of the valid memories that have it, in storing order."""
    rows = gather(
        tx,
        "UNWIND $rows AS fingerprint "
        "MATCH (m:Memory) WHERE m.bank = $bank AND m.fingerprint = fingerprint "
        "AND m.invalidated_at IS NULL RETURN collect([fingerprint, m.id, m.seq])",
        list(dict.fromkeys(fingerprints)),
        bank=bank.key,
    )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for fingerprint, id, _ in sorted(rows, key=lambda row: row[2]):
        found[fingerprint].append(id)
    return _as_asked(fingerprints, found)


def history(tx: ManagedTransaction, bank: BankKey, memory_id: str) -> list[Change]:
    """What was changed of a memory, oldest first."""
    rows = run(
        tx,
        "MATCH (c:Change) WHERE c.bank = $bank AND c.memory_id = $id "
        "RETURN c.action, c.field, c.old, c.new, c.at, c.reason ORDER BY c.seq",
        bank=bank.key,
        id=memory_id,
    )
    return [
        Change(memory_id, action, field, old, new, moment_of(at), reason)
        for action, field, old, new, at, reason in rows
    ]


def mentions(
    tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Memory id to the ids of the entities it mentions, in the order of its text."""
    found = {
        id: tuple(entity for _, entity, _ in sorted(mentioned))
        for id, mentioned in gather(
            tx,
            f"UNWIND $rows AS key MATCH (m:Memory {{key: key}}) "
            f"RETURN collect([m.id, {_MENTIONED}])",
            _keys(bank, ids),
        )
    }
    return _as_asked(ids, found)


def _keys(bank: BankKey, ids: Sequence[str]) -> list[str]:
    return [bank.of(id) for id in dict.fromkeys(ids)]


def _as_asked(ids: Sequence[str], found: Mapping[str, Any]) -> dict[str, Any]:
    return {id: found[id] for id in ids if id in found}


def _names(mentioned: list[Row]) -> list[str]:
    return [name for _, _, name in sorted(mentioned)]


def _seq(row: Row) -> int:
    seq: int = row[0]["seq"]
    return seq
