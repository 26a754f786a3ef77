"""Documents of LangChain and LlamaIndex as items to retain.

They are recognised by their shape, so neither framework is imported.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import MetadataValue
from hindsight_integrations.retain.request import Item, Submission
from hindsight_integrations.stores.base import DOCUMENT, SAME_DOCUMENTS, GraphStore
from hindsight_integrations.stores.reads import read_one

_FILE_FIELDS = ("file_path", "file_name", "filename", "source")
"""Metadata fields in which loaders note a document's file."""

_MODIFIED_FIELDS = ("last_modified", "last_modified_date")
"""Metadata fields in which loaders note the last change of the file."""


@dataclass(frozen=True, slots=True)
class ForeignItem(Item):
    """An item made of a framework's document, whose id may be random.

    Where it is (a UUID of version 4, as LlamaIndex gives) or is missing, the document is known by
    its content: see `recognised`.
    """


def foreign_item(value: object) -> ForeignItem | None:
    """Return a LangChain `Document` or a LlamaIndex node as an item; None for other objects.

    Raises:
        InvalidInputError: a last change in its metadata is no time.
    """
    metadata = getattr(value, "metadata", None)
    if not isinstance(metadata, Mapping):
        return None
    node: Any = value
    if isinstance(getattr(value, "page_content", None), str):
        text, document_id = node.page_content, node.id
    elif callable(getattr(value, "get_content", None)) and hasattr(value, "node_id"):
        text, document_id = node.get_content(), node.node_id
    else:
        return None
    return ForeignItem(
        text,
        document_id=document_id,
        metadata=plain_metadata(metadata),
        file=file_of(metadata),
        modified=next(
            (timestamp(name, metadata[name]) for name in _MODIFIED_FIELDS if metadata.get(name)),
            None,
        ),
    )


def with_content(item: Item) -> Item:
    """Return an item whose content is a text, with the rest of a document given as its content.

    Raises:
        InvalidInputError: the document's metadata cannot be read.
    """
    content: object = item.content
    given = None if isinstance(content, str) else foreign_item(content)
    if given is None:
        return item  # refused where texts are checked
    made: Item = given
    if item.document_id is not None:
        made = Item(given.content, file=given.file, modified=given.modified)
    own = {
        name: value
        for name, value in ((name, getattr(item, name)) for name in Item.__slots__)
        if name != "content" and value not in (None, ())
    }
    metadata = {**(given.metadata or {}), **(item.metadata or {})}
    return replace(made, **(own | {"metadata": metadata}))


def recognised(graph: GraphStore, bank_id: str, submission: Submission) -> Submission:
    """Give a document with a random id the id of the one with the same content, if there is one.

    A random id that the bank knows is kept: it is not random to whoever gave it.
    """
    if read_one(graph, bank_id, DOCUMENT, submission.document_id, None):
        return submission
    same = read_one(graph, bank_id, SAME_DOCUMENTS, submission.fingerprint, ())
    return replace(submission, document_id=same[0]) if same else submission


def has_random_id(item: Item) -> bool:
    """Return True for a framework's document that has no id, or one that was drawn at random."""
    if not isinstance(item, ForeignItem):
        return False
    try:
        return item.document_id is None or uuid.UUID(item.document_id).version == 4
    except ValueError:
        return False


def file_of(metadata: Mapping[str, object]) -> str | None:
    """Return the path or name of a document's file, as readers note it."""
    named = (str(metadata[name]) for name in _FILE_FIELDS if metadata.get(name))
    return next(
        (
            name
            for name in named
            if len(name) <= validation.MAX_ID and not validation.is_blank(name)
        ),
        None,
    )


def plain_metadata(metadata: Mapping[str, object]) -> dict[str, MetadataValue]:
    """Return metadata that a bank takes: dates as ISO 8601, nested values as JSON, others as text.

    Missing values are left out: None, and the NaN and NaT of a table's rows.
    """
    return {name: plain(value) for name, value in validation.present(metadata).items()}


def shared_metadata(metadata: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the metadata that all parts of a document share."""
    first, *others = metadata
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def plain(value: object) -> MetadataValue:
    """Return one value as `plain_metadata` does."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)  # a path, a UUID, a decimal: no quotation marks around it


def timestamp(what: str, value: object) -> datetime:
    """Return a time in a document's metadata: a datetime, a date, or either as ISO 8601 text.

    Raises:
        InvalidInputError: the value is none of these.
    """
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInputError(
            f"a document's {what} is {validation.shown(value)}; give a datetime or ISO 8601 text, "
            "such as 2024-05-07T13:56"
        ) from error
