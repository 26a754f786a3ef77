"""What memories rest on: places in documents where they were stated, or other memories.

What a memory's sources are stands in the memory. `FROM` and `EVIDENCE` draw it for those who look,
and by `EVIDENCE` the conclusions on a memory are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hindsight_integrations.model import Source
from hindsight_integrations.storage.neo4j.codec import source_properties, sources_of
from hindsight_integrations.storage.neo4j.connection import Row, gather, run_each
from hindsight_integrations.storage.neo4j.facets import restated
from hindsight_integrations.storage.neo4j.keys import BankKey, existing

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_READ = """
    UNWIND $rows AS key MATCH (m:Memory {key: key})
    RETURN collect([m.key, m.seq, m.sources, m.facets])"""

_FROM = """
    UNWIND $rows AS row MATCH (m:Memory {{key: row[0]}}) MATCH (d:{label} {{key: row[1]}})
    MERGE (m)-[:FROM]->(d)"""

_EVIDENCE = """
    UNWIND $rows AS row MATCH (c:Memory {key: row.conclusion}) MATCH (m:Memory {key: row.memory})
    CREATE (c)-[:EVIDENCE {quote: row.quote, supports: row.supports}]->(m)"""


def read(tx: ManagedTransaction, keys: Sequence[str]) -> list[Row]:
    """Key, storing number, sources and facets of memories, for `restate`."""
    return gather(tx, _READ, keys)


def lost(tx: ManagedTransaction, bank: BankKey, given: Iterable[Source]) -> set[str]:
    """Ids of the memories that sources name and that are not there."""
    named = {each.memory_id for each in given if each.memory_id is not None}
    return named - existing(tx, "Memory", bank, named).keys()


def add(tx: ManagedTransaction, bank: BankKey, given: Sequence[tuple[str, Source]]) -> None:
    """Append sources to memories, by id; one that a memory has already is not stored again.

    One that names a memory which is not there is passed over.
    """
    gone = lost(tx, bank, (source for _, source in given))
    added: dict[str, list[Source]] = {}
    for id, source in given:
        if source.memory_id not in gone:
            added.setdefault(bank.of(id), []).append(source)
    stated = {
        (key, seq, tuple(facets)): (*sources_of(had), *added[key])
        for key, seq, had, facets in read(tx, list(added))
    }
    _write(tx, stated)
    draw(tx, bank, {key: sources for (key, _, _), sources in stated.items()})


def restate(
    tx: ManagedTransaction, rows: Sequence[Row], stays: Callable[[Source], bool]
) -> dict[str, bool]:
    """Leave memories only the sources that stay.

    Returns:
        Memory key to whether any source that supports it is left, in storing order.
    """
    left = {
        (key, seq, tuple(facets)): tuple(filter(stays, sources_of(had)))
        for key, seq, had, facets in sorted(rows, key=lambda row: row[1])
    }
    _write(tx, left)
    return {key: any(each.supports for each in kept) for (key, _, _), kept in left.items()}


def draw(tx: ManagedTransaction, bank: BankKey, stated: Mapping[str, Sequence[Source]]) -> None:
    """Draw what memories, by key, come from: memories, chunks, and documents without chunks."""
    pairs = [(key, each) for key, given in stated.items() for each in dict.fromkeys(given)]
    for label, ids in (
        ("Chunk", [(key, each.chunk_id) for key, each in pairs]),
        ("Document", [(key, each.document_id) for key, each in pairs if not each.chunk_id]),
    ):
        rows = [(key, bank.of(id)) for key, id in ids if id is not None]
        run_each(tx, _FROM.format(label=label), rows)
    evidence = [
        {
            "conclusion": key,
            "memory": bank.of(each.memory_id),
            "quote": each.quote,
            "supports": each.supports,
        }
        for key, each in pairs
        if each.memory_id is not None
    ]
    run_each(
        tx,
        "UNWIND $rows AS key MATCH (:Memory {key: key})-[old:EVIDENCE]->() DELETE old",
        list(dict.fromkeys(row["conclusion"] for row in evidence)),
    )
    run_each(tx, _EVIDENCE, evidence)


def _write(
    tx: ManagedTransaction, stated: Mapping[tuple[str, int, tuple[str, ...]], Sequence[Source]]
) -> None:
    """Give memories (key, storing number, facets) these sources and no others."""
    rows: list[dict[str, Any]] = [
        {
            "key": key,
            "changes": source_properties(seq, sources) | {"facets": restated(facets, sources)},
        }
        for (key, seq, facets), sources in stated.items()
    ]
    run_each(tx, "UNWIND $rows AS row MATCH (m:Memory {key: row.key}) SET m += row.changes", rows)
