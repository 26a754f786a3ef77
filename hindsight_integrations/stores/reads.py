"""Reading by kind: what stores share to answer `GraphStore.read`, and shorthand for its callers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, every_item
from hindsight_integrations.stores.base import (
    CONCLUSIONS_CITING,
    NO_LIMIT,
    GraphStore,
    Kind,
    MemoryFilter,
)
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


def every_id(graph: GraphStore, bank_id: str, filter: MemoryFilter) -> list[str]:
    """Return the ids of all memories of a bank that pass the filter, in storing order."""
    return graph.find_ids(bank_id, filter, NO_LIMIT) or []


def consolidated(graph: GraphStore, bank_id: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Return those of memories, and of the conclusions on them, that are not pending consolidation.

    A change set that replaces the memories marks all of these as pending. One that leaves what they
    say as it is names them in `mark_consolidated`.
    """
    citing = graph.read(bank_id, CONCLUSIONS_CITING, ids).values()
    pending = graph.pending_consolidation(bank_id, NO_LIMIT)
    return tuple(sorted({*ids, *chain.from_iterable(citing)}.difference(pending)))


def every_memory(graph: GraphStore, bank_id: str, filter: MemoryFilter) -> Iterator[Memory]:
    """Iterate over the memories of a bank that pass the filter, in storing order."""
    return every_item(
        lambda cursor: graph.list_memories(bank_id, filter, limit=MAX_PAGE, cursor=cursor)
    )
