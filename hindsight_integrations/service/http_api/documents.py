"""Documents and their chunks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import replace
from typing import Annotated

from fastapi import Query

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import DocumentNotFoundError
from hindsight_integrations.models import Chunk, Document, every_item
from hindsight_integrations.models import Memory as StoredMemory
from hindsight_integrations.service.http_api import answers, listing, requests
from hindsight_integrations.service.http_api.filters import TagsMatch
from hindsight_integrations.service.http_api.routing import (
    BANK,
    MAX_PAGE,
    Limit,
    Memory,
    Offset,
    part_of,
    refuse,
    router,
)
from hindsight_integrations.stores.base import CHUNK, EVERYTHING, Condition
from hindsight_integrations.stores.reads import every_memory

routes = router("Documents")


def _memories(memory: Hindsight, document: Document) -> list[StoredMemory]:
    return list(listing.memories(memory, document.bank_id, {"state": "any"}, document.id))


def _tags(memories: list[StoredMemory]) -> list[str]:
    return list(dict.fromkeys(tag for each in memories for tag in each.tags))


def _tags_of_documents(
    memory: Hindsight, bank_id: str, wanted: list[str], match: TagsMatch
) -> defaultdict[str, set[str]]:
    """Return the tags that the memories of each document have, as far as they decide the match.

    In a strict mode memories without any of the wanted tags decide nothing, and are not read.
    """
    if match.endswith("strict"):
        tagged = replace(EVERYTHING, tags=tuple(dict.fromkeys(wanted)))
    else:
        tagged = replace(EVERYTHING, where=(Condition("tags", "$exists", True),))
    tags: defaultdict[str, set[str]] = defaultdict(set)
    for each in every_memory(memory.graph_store, bank_id, tagged):
        for source in each.sources:
            if source.document_id is not None:
                tags[source.document_id].update(each.tags)
    return tags


def _has_tags(tags: Set[str], wanted: list[str], match: TagsMatch) -> bool:
    if not tags and not match.endswith("strict") and match != "exact":
        return True
    shared = set(wanted).intersection(tags)
    if match.startswith("any"):
        return bool(shared)
    return len(shared) == len(set(wanted)) and (match != "exact" or shared == tags)


@routes.get(f"{BANK}/documents", operation_id="list_documents")
def list_documents(
    memory: Memory,
    bank_id: str,
    q: str | None = None,
    tags: Annotated[list[str] | None, Query()] = None,
    tags_match: TagsMatch = "any_strict",
    time_field: str | None = None,
    start_date: str | None = None,
    end_date: str | None = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> answers.DocumentList:
    """List documents by id; `q` is a part of one."""
    if time_field or start_date or end_date:
        raise refuse("documents cannot be searched by time here; list the memories of that time")
    part = (q or "").casefold()
    found = [
        document
        for document in every_item(
            lambda cursor: memory.documents.list(bank_id, limit=MAX_PAGE, cursor=cursor)
        )
        if part in document.id.casefold()
    ]
    if tags:
        known = _tags_of_documents(memory, bank_id, tags, tags_match)
        found = [each for each in found if _has_tags(known[each.id], tags, tags_match)]
    return answers.DocumentList(
        items=[_item(memory, each) for each in part_of(found, limit, offset)],
        total=len(found),
        limit=limit,
        offset=offset,
    )


def _text(memory: Hindsight, document: Document) -> str:
    chunks = memory.documents.chunks(document.bank_id, document.id)
    return "\n\n".join(chunk.text for chunk in chunks)


def _item(memory: Hindsight, document: Document) -> answers.DocumentItem:
    memories = _memories(memory, document)
    return answers.DocumentItem(
        id=document.id,
        bank_id=document.bank_id,
        content_hash=document.fingerprint,
        created_at=document.created_at.isoformat(),
        updated_at=document.updated_at.isoformat(),
        text_length=len(_text(memory, document)),
        memory_unit_count=len(memories),
        tags=_tags(memories),
    )


@routes.get(f"{BANK}/documents/{{document_id:path}}/chunks", operation_id="list_document_chunks")
def list_document_chunks(
    memory: Memory, bank_id: str, document_id: str, limit: Limit = 100, offset: Offset = 0
) -> answers.ChunkList:
    """List the parts of a document, in order."""
    document = memory.documents.get(bank_id, document_id)
    chunks = list(enumerate(memory.documents.chunks(bank_id, document_id)))
    return answers.ChunkList(
        items=[_chunk(document, each, index) for index, each in part_of(chunks, limit, offset)],
        total=len(chunks),
        limit=limit,
        offset=offset,
    )


def _chunk(document: Document, chunk: Chunk, index: int) -> answers.ChunkDetail:
    return answers.ChunkDetail(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        bank_id=document.bank_id,
        chunk_index=index,
        chunk_text=chunk.text,
        created_at=document.created_at.isoformat(),
    )


@routes.get("/v1/default/chunks/{chunk_id:path}", operation_id="get_chunk")
def get_chunk(memory: Memory, chunk_id: str) -> answers.ChunkDetail:
    """Return a chunk, of whichever bank has it."""
    for bank in memory.banks.list():
        if chunk := memory.graph_store.read(bank.id, CHUNK, [chunk_id]).get(chunk_id):
            document = memory.documents.get(bank.id, chunk.document_id)
            return _chunk(
                document, chunk, listing.chunk_indexes(memory, bank.id, document.id)[chunk_id]
            )
    raise DocumentNotFoundError(f"no bank has a chunk {chunk_id[:100]!r}")


@routes.get(f"{BANK}/documents/{{document_id:path}}", operation_id="get_document")
def get_document(memory: Memory, bank_id: str, document_id: str) -> answers.DocumentDetail:
    """Return a document with its text, put together from its chunks."""
    document = memory.documents.get(bank_id, document_id)
    memories = _memories(memory, document)
    return answers.DocumentDetail(
        id=document.id,
        bank_id=bank_id,
        original_text=_text(memory, document),
        content_hash=document.fingerprint,
        created_at=document.created_at.isoformat(),
        updated_at=document.updated_at.isoformat(),
        memory_unit_count=len(memories),
        nodes_by_fact_type=dict(Counter(each.type.value for each in memories)),
        tags=_tags(memories),
    )


@routes.patch(f"{BANK}/documents/{{document_id:path}}", operation_id="update_document")
def update_document(
    memory: Memory, bank_id: str, document_id: str, body: requests.DocumentChanges
) -> answers.DocumentChanged:
    """Give the memories of a document other tags."""
    if body.observation_scopes is not None:
        raise refuse("observations have the tags of their memories here; leave out the scopes")
    document = memory.documents.get(bank_id, document_id)
    if body.tags is not None:
        for each in _memories(memory, document):
            memory.memories.update(bank_id, each.id, tags=body.tags)
    return answers.DocumentChanged()


@routes.delete(f"{BANK}/documents/{{document_id:path}}", operation_id="delete_document")
def delete_document(memory: Memory, bank_id: str, document_id: str) -> answers.DocumentDeleted:
    """Delete a document with the memories stated in it alone."""
    gone = memory.documents.delete(bank_id, document_id)
    return answers.DocumentDeleted(
        message=f"Document {document_id!r} was deleted",
        document_id=document_id,
        memory_units_deleted=len(gone),
    )
