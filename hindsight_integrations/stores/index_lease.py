"""Leases on a graph's vector index, so that a graph is never used with two indexes at once.

Two processes that give one graph two indexes would each find by meaning what it wrote itself, and
miss the rest. So an index has an id, the graph stores the id of its index, and every process that
uses it holds a lease, renewed in the background: a second index is refused while any lease on the
first is valid, and otherwise replaces it, filled from the graph.
"""

from __future__ import annotations

import json
import logging
import secrets
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple
from urllib.parse import urlsplit

from hindsight_integrations.errors import HindsightError, InvalidInputError, StoreUnavailableError
from hindsight_integrations.stores.base import GraphStore, VectorIndex

log = logging.getLogger("hindsight_integrations")

LEASE_SECONDS = 180.0
"""Seconds for which a lease is valid; it is renewed three times as often."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class IndexIdentity(NamedTuple):
    """A vector index.

    Attributes:
        id: made once and kept in it.
        where: for errors; an index with another id at the same place is what a lost disk left.
    """

    id: str
    where: str


@dataclass(frozen=True, slots=True)
class _LeaseRecord:
    """The record that a graph stores of its index and of the leases on it.

    Attributes:
        id, where: the index that the graph uses.
        stale: True until the index is emptied of what it had before another index was used.
        users: id of each lease to the time it expires, in seconds since the epoch.
    """

    id: str
    where: str
    stale: bool = False
    users: Mapping[str, float] = field(default_factory=dict)


def on_this_host(where: str) -> str:
    """Return a folder, or a URL of a server on the same machine, with the name of the host."""
    parts = urlsplit(where)
    if "://" in where and parts.hostname not in _LOOPBACK:
        return where
    return f"{where} on {socket.gethostname()}"


def of_another_graph(where: str) -> InvalidInputError:
    """Return the error for an index that belongs to another graph than the one it is given for."""
    return InvalidInputError(
        f"the vector index at {where} already belongs to another graph; use that graph, "
        "or give this one its own folder, server or namespace for vectors (they are "
        "rebuilt automatically)"
    )


def check_replaceable(graph: GraphStore, where: str) -> None:
    """Check that no process uses the graph's index, so that a new one may take its place.

    Nothing is written. To be called before vectors are queued for the new index: those would wait
    in the queue of the processes that use the other one. `where` is the place of the new index.

    Raises:
        InvalidInputError: a process uses another index for this graph.
    """

    def checked(text: str, now: float) -> str:
        before = _read(text)
        if before is not None:
            users = [holder for holder, until in before.users.items() if until > now]
            _check_unused(graph, before.where, where, users)
        return text

    graph.note_index(checked)


def _check_unused(graph: GraphStore, used: str, given: str, users: Collection[str]) -> None:
    """Raise `InvalidInputError` if there are users of an index that is not at the given place."""
    if used != given and users:
        raise InvalidInputError(_two_indexes(graph, used, given))


class IndexLease:
    """The lease of one runtime on its vector index.

    An index without the method `identity`, or for which it returns None, needs no lease.

    Args:
        graph: the graph that stores the leases.
        index: the index.
        exclusive: True if no other process can use the graph meanwhile: the index is recorded,
            without a lease.

    Attributes:
        is_released: True once `release` was called, or another index has replaced this one.
        refused: reason why the graph uses another index now, although a lease was held; or None.
    """

    def __init__(self, graph: GraphStore, index: VectorIndex, *, exclusive: bool) -> None:
        self._graph = graph
        self._index = index
        self._holder = secrets.token_hex(8)
        self._seconds = 0.0 if exclusive else LEASE_SECONDS
        self._graph_id = ""
        self._identity: IndexIdentity | None = None
        self.is_released = False
        self.refused: str | None = None

    @property
    def renewal_seconds(self) -> float | None:
        """Seconds between two renewals; None if no lease is held."""
        return self._seconds / 3 if self._seconds and self._identity else None

    def renew(self) -> bool:
        """Acquire or renew the lease; return True if the index must be filled from the graph.

        That is so once the graph used another index before, until `mark_emptied` is called.

        Raises:
            InvalidInputError: another process uses another index for this graph, or the index
                has the vectors of another graph.
            StoreError: the graph or, the first time, the index cannot be asked.
        """
        if self.is_released:
            return False
        try:
            identity = self._identify()
            return identity is not None and self._renew(identity)
        except InvalidInputError as error:
            self.refused, self.is_released = str(error), True
            raise

    def _renew(self, identity: IndexIdentity) -> bool:
        stale, used = False, identity.where

        def renewed(text: str, now: float) -> str:
            nonlocal stale, used
            before = _read(text) or _LeaseRecord(*identity)
            others = {
                holder: until
                for holder, until in before.users.items()
                if until > now and holder != self._holder
            }
            stale, used = before.stale or before.id != identity.id, before.where
            if before.id != identity.id:
                _check_unused(self._graph, before.where, identity.where, others)
            own = {self._holder: now + self._seconds} if self._seconds else {}
            return _text(_LeaseRecord(*identity, stale=stale, users=others | own))

        self._graph.note_index(renewed)
        if stale:
            left = f" instead of the one at {used}; to go back, open it with that one's vectors="
            log.warning(
                "this graph now uses the vector index at %s%s",
                identity.where,
                left if used != identity.where else "",
            )
        return stale

    def mark_emptied(self) -> None:
        """Record that the index has none of the vectors that it had before."""
        self._change(lambda record: replace(record, stale=False))

    def release(self) -> None:
        """Give up the lease, so that another index may replace this one."""
        if self.is_released or self.renewal_seconds is None:
            return
        self.is_released = True

        def without_this(record: _LeaseRecord) -> _LeaseRecord:
            others = {name: until for name, until in record.users.items() if name != self._holder}
            return replace(record, users=others)

        try:
            self._change(without_this)
        except HindsightError as error:
            log.info("other vector indexes are refused for another %d s: %s", LEASE_SECONDS, error)

    def _change(self, change: Callable[[_LeaseRecord], _LeaseRecord]) -> None:
        """Change the record, unless another index has been recorded meanwhile."""

        def changed(text: str, _: float) -> str:
            record = _read(text)
            own = self._identity
            is_own = record is not None and own is not None and record.id == own.id
            return _text(change(record)) if record and is_own else text

        self._graph.note_index(changed)

    def _identify(self) -> IndexIdentity | None:
        """Return the identity of the index now; a server that lost its disk has another."""
        identify = getattr(self._index, "identity", None)
        if identify is None:
            return None
        self._graph_id = self._graph_id or self._graph.identity()
        try:
            self._identity = identify(self._graph_id)
        except StoreUnavailableError:
            if self._identity is None:
                raise
        return self._identity


def _read(text: str) -> _LeaseRecord | None:
    """Return the record from its JSON; None if there is none, or none that can be read."""
    try:
        return _LeaseRecord(**json.loads(text))
    except (TypeError, ValueError):
        return None


def _text(record: _LeaseRecord) -> str:
    return json.dumps(asdict(record))


def _two_indexes(graph: GraphStore, used: str, given: str) -> str:
    return (
        f"{graph!r} has its vectors in the index at {used}, which a process uses now, and was "
        f"given the one at {given}: what is retained with one would not be found with the other. "
        "Give the same vectors=... as the others; or, to move to the other index, close all "
        "processes that use the first, and open the memory again: the new index is filled from "
        f"the graph. A process that was killed counts for {LEASE_SECONDS:.0f} s"
    )
