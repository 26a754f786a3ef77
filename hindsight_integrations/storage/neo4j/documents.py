"""Documents, their chunks, and which memories stand next to each other in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, starmap
from typing import TYPE_CHECKING

from hindsight_integrations.model import Chunk, Document
from hindsight_integrations.storage.neo4j import lucene, sources
from hindsight_integrations.storage.neo4j.codec import (
    moment_of,
    text_of,
)
from hindsight_integrations.storage.neo4j.connection import Row, gather, run, run_each
from hindsight_integrations.storage.neo4j.facets import facet
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.neo4j.schema import MEMORY_TEXTS
from hindsight_integrations.storage.requests import Neighbour
from hindsight_integrations.storage.values import around

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_FINGERPRINTS = (
    "UNWIND $rows AS key MATCH (d:Document {key: key}) RETURN collect([d.id, d.fingerprint])"
)

_STORE_DOCUMENTS = "UNWIND $rows AS row MERGE (d:Document {key: row.key}) SET d += row"

_STORE_CHUNKS = """
    UNWIND $rows AS row MERGE (c:Chunk {key: row.chunk.key}) SET c += row.chunk
    WITH row, c
    CALL (c) { MATCH (c)-[old:OF]->() DELETE old }
    MATCH (d:Document {key: row.document}) CREATE (c)-[:OF]->(d)"""

_STATED = f"""
    UNWIND $rows AS listed
    CALL db.index.fulltext.queryNodes('{MEMORY_TEXTS}', listed) YIELD node AS m
    WITH DISTINCT m RETURN collect([m.key, m.seq, m.sources, m.facets])"""

CHUNK = "n.id, n.document_id, n.position, n.text, n.fingerprint"
DOCUMENT = (
    "n.id, n.fingerprint, n.created_at, n.updated_at, "
    "COUNT { MATCH (c:Chunk) WHERE c.bank = n.bank AND c.document_id = n.id }"
)
"""What is read of a chunk or document `n`."""


def fingerprints(
    tx: ManagedTransaction, bank: BankKey, document_ids: Sequence[str]
) -> dict[str, str]:
    """Id to fingerprint, of the documents that exist."""
    return dict(gather(tx, _FINGERPRINTS, [bank.of(id) for id in document_ids]))


def store_documents(tx: ManagedTransaction, bank: BankKey, documents: Sequence[Document]) -> None:
    """Store documents, or overwrite those of the same id."""
    rows = [
        {
            "key": bank.of(each.id),
            "bank": bank.key,
            "id": each.id,
            "fingerprint": each.fingerprint,
            "created_at": text_of(each.created_at),
            "updated_at": text_of(each.updated_at),
        }
        for each in documents
    ]
    run_each(tx, _STORE_DOCUMENTS, rows)


def store_chunks(tx: ManagedTransaction, bank: BankKey, chunks: Sequence[Chunk]) -> None:
    """Store chunks, or overwrite those of the same id."""
    rows = [
        {
            "document": bank.of(each.document_id),
            "chunk": {
                "key": bank.of(each.id),
                "bank": bank.key,
                "id": each.id,
                "document_id": each.document_id,
                "position": each.position,
                "text": each.text,
                "fingerprint": each.fingerprint,
            },
        }
        for each in chunks
    ]
    run_each(tx, _STORE_CHUNKS, rows)


def stated_in(
    tx: ManagedTransaction, bank: BankKey, documents: Sequence[str], chunks: Sequence[str]
) -> list[Row]:
    """The memories stated in these documents or chunks, for `remove`.

    To be read before the transaction deletes anything: from then on Neo4j's full-text index
    misses some nodes.
    """
    facets = [facet("document", id) for id in documents] + [facet("chunk", id) for id in chunks]
    return gather(tx, _STATED, [lucene.query(bank, facets=[each]) for each in facets])


def remove(
    tx: ManagedTransaction,
    bank: BankKey,
    documents: Sequence[str],
    chunks: Sequence[str],
    stated: Sequence[Row],
) -> list[str]:
    """Remove documents with their chunks, and chunks, and take them from memories' sources.

    Returns:
        The ids of those of the memories `stated` in them that no source supports any more, in
        the order of storing.
    """
    supported = sources.restate(
        tx,
        stated,
        lambda each: each.document_id not in documents and each.chunk_id not in chunks,
    )
    run_each(
        tx,
        "UNWIND $rows AS id MATCH (c:Chunk) WHERE c.bank = $bank AND c.document_id = id "
        "DETACH DELETE c",
        documents,
        bank=bank.key,
    )
    for label, ids in (("Document", documents), ("Chunk", chunks)):
        keys = [bank.of(id) for id in ids]
        run_each(tx, f"UNWIND $rows AS key MATCH (n:{label} {{key: key}}) DETACH DELETE n", keys)
    return [key.removeprefix(bank.prefix) for key, still in supported.items() if not still]


def get_document(tx: ManagedTransaction, bank: BankKey, document_id: str) -> Document | None:
    """The document, or None."""
    found = run(tx, f"MATCH (n:Document {{key: $key}}) RETURN {DOCUMENT}", key=bank.of(document_id))
    return document_of(bank, found[0]) if found else None


def document_of(bank: BankKey, row: Row) -> Document:
    """Of a row of `DOCUMENT`."""
    id, fingerprint, created_at, updated_at, chunks = row
    return Document(id, bank.id, fingerprint, moment_of(created_at), moment_of(updated_at), chunks)


def get_chunks(tx: ManagedTransaction, bank: BankKey, document_id: str) -> list[Chunk]:
    """Its chunks, by position, then id."""
    ((found,),) = run(
        tx,
        "MATCH (n:Chunk) WHERE n.bank = $bank AND n.document_id = $id "
        f"WITH n ORDER BY n.position, n.id RETURN collect([{CHUNK}])",
        bank=bank.key,
        id=document_id,
    )
    return [Chunk(*row) for row in found]


def chunks_by_id(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> dict[str, Chunk]:
    """Those of the chunks that exist, in the order asked for."""
    rows = gather(
        tx,
        f"UNWIND $rows AS key MATCH (n:Chunk {{key: key}}) RETURN collect([{CHUNK}])",
        [bank.of(id) for id in dict.fromkeys(ids)],
    )
    found = {row[0]: Chunk(*row) for row in rows}
    return {id: found[id] for id in ids if id in found}


def _side(comparison: str, order: str) -> str:
    """The ids of the valid memories on one side of `here`, nearest first."""
    return (
        "COLLECT { MATCH (m:Memory) WHERE m.bank = $bank AND m.document_id = here.document_id "
        f"AND m.place {comparison} here.place AND m.invalidated_at IS NULL RETURN m.id "
        f"ORDER BY m.bank {order}, m.document_id {order}, m.place {order} LIMIT $distance }}"
    )


_NEIGHBOURS = (
    "UNWIND $rows AS key MATCH (here:Memory {key: key}) "
    "WHERE here.document_id IS NOT NULL AND here.invalidated_at IS NULL "
    f"RETURN collect([here.id, {_side('<', 'DESC')}, {_side('>', 'ASC')}])"
)


def neighbours(
    tx: ManagedTransaction, bank: BankKey, ids: Sequence[str], distance: int
) -> list[Neighbour]:
    """Valid memories up to `distance` places away in the document of the first source.

    Only valid memories have a place. In the order asked for, then by place.
    """
    rows = gather(
        tx,
        _NEIGHBOURS,
        [bank.of(id) for id in dict.fromkeys(ids)],
        bank=bank.key,
        distance=max(distance, 0),
    )
    beside = {row[0]: row for row in rows}
    placed = [beside[id] for id in dict.fromkeys(ids) if id in beside]
    return list(chain.from_iterable(starmap(around, placed)))
