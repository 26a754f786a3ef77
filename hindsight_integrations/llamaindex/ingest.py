"""Retaining inside a LlamaIndex ingestion pipeline."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent

from hindsight_integrations import checks
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.llamaindex.nodes import moment
from hindsight_integrations.retain.request import Item


class HindsightTransform(TransformComponent):  # type: ignore[misc]
    """Retains what passes through a pipeline, and passes it on as it is.

    A document keeps its id and its metadata. A second run over the same documents stores
    nothing; of a document that changed, only the paragraphs that changed are read. Put it before
    the splitter: it chunks by itself. Nodes that were split already are put together again by
    their document.

    Args:
        memory: the engine.
        bank_id: which bank; made by the first document if there is none.
        tags: for all documents.
        timestamp_key: metadata field that says when a document was written (a datetime, or ISO
            8601 text); "yesterday" in the document is counted from it.

    Example:
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
            bank_id=checks.bank_id(bank_id), tags=checks.tags(tags), timestamp_key=timestamp_key
        )
        self._memory = memory

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightTransform"

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """The fields, and a value that never comes twice.

        A pipeline skips a step when its cache holds one of equal fields. It cannot know whether
        the bank still holds the documents; the bank does, and looks them up in no time.
        """
        return {**super().to_dict(**kwargs), "run": uuid.uuid4().hex}

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Retain the nodes, and return them.

        Raises:
            InvalidInputError: a document's metadata cannot be read, or the pipeline copied this
                step into another process.
            ExtractionError, EmbeddingError, StoreError: a document failed; others are stored.
        """
        if self._memory is None:
            raise InvalidInputError(
                "a memory cannot be shared with other processes; run the pipeline without "
                "num_workers"
            )
        if items := [self._item(*document) for document in _documents(nodes).items()]:
            result = self._memory.retain_many(self.bank_id, items)
            if result.failed:
                raise result.failed[0].error
        return nodes

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """The same, without blocking the event loop."""
        return await asyncio.to_thread(self.__call__, nodes, **kwargs)

    def _item(self, document_id: str, nodes: Sequence[BaseNode]) -> Item:
        metadata = _shared([node.metadata for node in nodes])
        key = self.timestamp_key
        return Item(
            "\n\n".join(node.get_content(MetadataMode.NONE) for node in nodes),
            timestamp=moment(key, metadata[key]) if key and metadata.get(key) else None,
            document_id=document_id,
            metadata={name: _plain(value) for name, value in metadata.items() if value is not None},
            tags=self.tags,
        )


def _documents(nodes: Sequence[BaseNode]) -> dict[str, list[BaseNode]]:
    """Nodes with text, by the document they are, or are of; in order."""
    found: dict[str, list[BaseNode]] = {}
    for node in nodes:
        if not checks.is_blank(node.get_content(MetadataMode.NONE)):
            found.setdefault(node.ref_doc_id or node.node_id, []).append(node)
    return found


def _shared(metadata: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What all nodes of a document say alike: the rest is of the single nodes."""
    first, *others = metadata
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def _plain(value: object) -> str | int | float | bool:
    """A metadata value as a bank takes it: dates as ISO 8601, nested values as JSON."""
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value, default=str, ensure_ascii=False)
