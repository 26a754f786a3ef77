"""Retain inside a LlamaIndex ingestion pipeline."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.common import checked_memory
from hindsight_integrations.integrations.llamaindex.conversions import plain_bank
from hindsight_integrations.retain.foreign import (
    ForeignItem,
    file_of,
    plain_metadata,
    shared_metadata,
    timestamp,
)

_MODIFIED = "last_modified_date"
"""Metadata field to which LlamaIndex's readers write a file's last change."""


class HindsightTransform(TransformComponent):  # type: ignore[misc]
    """Retain the documents of a pipeline, and pass them on unchanged.

    A document keeps its id and its metadata. A second run over the same documents stores
    nothing, also if LlamaIndex gave them new random ids; of a document that changed, only the
    changed paragraphs are read. Put it before the splitter, since it makes its own chunks. Nodes
    that are split already are joined by their document.

    Args:
        memory: the open memory.
        bank_id: the bank's id; it is created by the first document if there is none.
        tags: tags of all documents.
        timestamp_key: metadata field with the time a document was written (a datetime, or ISO
            8601 text); "yesterday" in the document is relative to it. Without it, a document that
            a reader made of a file is dated by the file's name, its front matter, its first
            heading or its last change, in this order.

    Examples:
        >>> from llama_index.core import Document
        >>> from llama_index.core.ingestion import IngestionPipeline
        >>> with Hindsight.in_memory() as memory:
        ...     pipeline = IngestionPipeline(transformations=[HindsightTransform(memory, "alice")])
        ...     _ = pipeline.run(documents=[Document(text="Alice moved to Lisbon.", id_="note-1")])
        ...     print(memory.memories.list("alice").items[0].document_id)
        note-1
    """

    bank_id: str
    tags: tuple[str, ...]
    timestamp_key: str | None
    _memory: Hindsight | None = PrivateAttr(default=None)

    def __init__(
        self,
        memory: Hindsight | None = None,
        bank_id: str = "",
        *,
        tags: Sequence[str] = (),
        timestamp_key: str | None = None,
    ) -> None:
        super().__init__(
            bank_id=plain_bank(bank_id),
            tags=validation.tags(tags),
            timestamp_key=timestamp_key,
        )
        self._memory = None if memory is None else checked_memory(memory)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightTransform"

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Return the fields, and a value that is different at each call.

        A pipeline skips a step if its cache contains one with the same fields, although the bank
        may have lost the documents since. The bank itself recognises known documents quickly.
        """
        return {**super().to_dict(**kwargs), "run": uuid.uuid4().hex}

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Retain the nodes, and return them.

        Raises:
            InvalidInputError: one is no node, a document's metadata cannot be read, or the
                pipeline copied this step into another process.
            ExtractionError, EmbeddingError, StoreError: a document failed; others are stored.
        """
        if self._memory is None:
            raise InvalidInputError(
                "a memory cannot be shared with other processes; run the pipeline without "
                "num_workers"
            )
        given = validation.instances("nodes", nodes, BaseNode)
        if items := [self._item(*document) for document in _documents(given).items()]:
            result = self._memory.retain_many(self.bank_id, items)
            if result.failed:
                raise result.failed[0].error
        return nodes

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Retain the nodes without blocking the event loop, and return them."""
        return await in_thread(self.__call__, nodes, **kwargs)

    def _item(self, document_id: str, nodes: Sequence[BaseNode]) -> ForeignItem:
        metadata = shared_metadata([node.metadata for node in nodes])
        key = self.timestamp_key
        return ForeignItem(
            "\n\n".join(node.get_content(MetadataMode.NONE) for node in nodes),
            timestamp=timestamp(key, metadata[key]) if key and metadata.get(key) else None,
            document_id=document_id,
            metadata=plain_metadata(metadata),
            tags=self.tags,
            file=file_of(metadata),
            modified=timestamp(_MODIFIED, metadata[_MODIFIED]) if metadata.get(_MODIFIED) else None,
        )


def _documents(nodes: Sequence[BaseNode]) -> dict[str, list[BaseNode]]:
    """Group the nodes with text by their document, in order."""
    documents: dict[str, list[BaseNode]] = {}
    for node in nodes:
        if not validation.is_blank(node.get_content(MetadataMode.NONE)):
            documents.setdefault(node.ref_doc_id or node.node_id, []).append(node)
    return documents
