"""What of a stored value is searched, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from langgraph.store.base import get_text_at_path

from hindsight_integrations import checks

WHOLE = "$"
"""The path of a whole value."""


def searched_text(
    value: Mapping[str, Any], index: Literal[False] | Sequence[str] | None, fields: Sequence[str]
) -> str:
    """The text that recall reads for an item; empty if it is not to be found by a query.

    Args:
        value: the item's.
        index: as given to `put`: paths, False for none, or None for the store's own.
        fields: the store's own paths; "$" is the whole value.
    """
    if index is False:
        return ""
    paths = fields if index is None else index
    found = (
        leaves(value) if path == WHOLE else get_text_at_path(dict(value), path) for path in paths
    )
    return "\n".join(text for texts in found for text in texts if not checks.is_blank(text))


def leaves(value: object, name: str = "") -> Iterator[str]:
    """Texts as they are; numbers and the like with the name of their field."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, name)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)
