"""Reading by kind: what stores share to answer `GraphStore.read`, and shorthand for its callers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, every_item
from hindsight_integrations.stores.base import GraphStore, Kind, MemoryFilter
from hindsight_integrations.validation import MAX_PAGE

D = TypeVar("D")
K = TypeVar("K")
T = TypeVar("T")

SCAN_PAGE = 1000
"""Values that `GraphStore.scan` reads at a time."""


def in_order(keys: Iterable[str], values: Mapping[str, T]) -> dict[str, T]:
    """Return the values of the keys that have one, in the order of the keys."""
    return {key: values[key] for key in keys if key in values}


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, tuple[T, ...]]:
    """Return the second values of pairs by the first, both in the order of the pairs."""
    groups: defaultdict[K, list[T]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(group) for key, group in groups.items()}


def reader_of(readers: Mapping[Kind[Any], T], kind: Kind[Any]) -> T:
    """Return the function for a kind. Raises `InvalidInputError` if the method does not take it."""
    if kind not in readers:
        raise InvalidInputError(f"a {kind.name} cannot be read this way; see Kind in stores.base")
    return readers[kind]


def read_one(graph: GraphStore, bank_id: str, kind: Kind[T], key: str, default: D) -> T | D:
    """Return the value of one key, or the default; see `GraphStore.read`."""
    return graph.read(bank_id, kind, [key]).get(key, default)


def every_memory(graph: GraphStore, bank_id: str, filter: MemoryFilter) -> Iterator[Memory]:
    """Iterate over the memories of a bank that pass the filter, in storing order."""
    return every_item(
        lambda cursor: graph.list_memories(bank_id, filter, limit=MAX_PAGE, cursor=cursor)
    )
