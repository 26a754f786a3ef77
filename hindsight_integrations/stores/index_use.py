"""The note in a graph of the vector index that it uses, and of the processes that use it now.

Two processes that give one graph two indexes would each find by meaning what it wrote itself, and
miss the rest. So an index has an id, the graph notes it, and every process leaves a sign of life:
a second index is refused while the first is used, and otherwise takes its place, filled from the
graph. A note costs nothing but an opening, a closing, and a background thread now and then.
"""

from __future__ import annotations

import json
import logging
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple
from urllib.parse import urlsplit

from hindsight_integrations.errors import (
    HindsightError,
    InvalidInputError,
    StoreUnavailableError,
)
from hindsight_integrations.stores.base import GraphStore, VectorIndex

log = logging.getLogger("hindsight_integrations")

SIGN_SECONDS = 180.0
"""Time after which a process that gave no further sign of life is taken for ended; it gives one
in a third of it."""

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
class _Note:
    """The note that a graph keeps of its index.

    Attributes:
        id, where: the index that the graph uses.
        stale: True until it is emptied of what it had before another index was used.
        users: the processes that use it, and until when their signs of life last.
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


class IndexUse:
    """The use of a vector index by one runtime.

    An index without the method `identity`, or that has none, is not noted.

    Args:
        graph: the graph that notes it.
        index: the index.
        locked: no other process can use the graph while this one does: it gives no sign of life.
    """

    def __init__(self, graph: GraphStore, index: VectorIndex, *, locked: bool) -> None:
        self._graph = graph
        self._index = index
        self._holder = secrets.token_hex(8)
        self._seconds = 0.0 if locked else SIGN_SECONDS
        self._graph_id = ""
        self._given: IndexIdentity | None = None
        self.ended = False
        """True once `end` was called, or another index has taken the place of this one."""
        self.refused: str | None = None
        """Reason why the graph uses another index now, in spite of the signs of life."""

    @property
    def pause(self) -> float | None:
        """Seconds between two signs of life; None if none are given."""
        return self._seconds / 3 if self._seconds and self._given else None

    def note(self) -> bool:
        """Note that the index is used; return True if it has to be written again from the graph.

        The graph used another one before, or the process that found that has not called `emptied`.

        Raises:
            InvalidInputError: another process uses another index for this graph, or the index
                has the vectors of another graph.
            StoreError: the graph or, the first time, the index cannot be asked.
        """
        if self.ended:
            return False
        try:
            given = self._identity()
            return given is not None and self._note(given)
        except InvalidInputError as error:
            self.refused, self.ended = str(error), True
            raise

    def _note(self, given: IndexIdentity) -> bool:
        stale = False

        def noted(text: str, now: float) -> str:
            nonlocal stale
            before = _read(text) or _Note(*given)
            others = {
                holder: until
                for holder, until in before.users.items()
                if until > now and holder != self._holder
            }
            stale = before.stale or before.id != given.id
            if before.id != given.id and before.where != given.where and others:
                raise InvalidInputError(_two_indexes(self._graph, before.where, given.where))
            mine = {self._holder: now + self._seconds} if self._seconds else {}
            return _text(_Note(*given, stale=stale, users=others | mine))

        self._graph.note_index(noted)
        if stale:
            log.warning("this graph now uses the vector index at %s", given.where)
        return stale

    def emptied(self) -> None:
        """Note that the index has none of the vectors that it had before."""
        self._change(lambda note: replace(note, stale=False))

    def end(self) -> None:
        """Take back the sign of life, so that another index may take the place of this one."""
        if self.ended or self.pause is None:
            return
        self.ended = True

        def without_this(note: _Note) -> _Note:
            others = {name: until for name, until in note.users.items() if name != self._holder}
            return replace(note, users=others)

        try:
            self._change(without_this)
        except HindsightError as error:
            log.info("other vector indexes are refused for another %d s: %s", SIGN_SECONDS, error)

    def _change(self, change: Callable[[_Note], _Note]) -> None:
        """Change the note, unless another index has been noted meanwhile."""

        def changed(text: str, _: float) -> str:
            note = _read(text)
            ours = note is not None and self._given is not None and note.id == self._given.id
            return _text(change(note)) if note and ours else text

        self._graph.note_index(changed)

    def _identity(self) -> IndexIdentity | None:
        """Return the identity of the index now: of a server that lost its disk it is another."""
        identify = getattr(self._index, "identity", None)
        if identify is None:
            return None
        self._graph_id = self._graph_id or self._graph.identity()
        try:
            self._given = identify(self._graph_id)
        except StoreUnavailableError:
            if self._given is None:
                raise
        return self._given


def _read(text: str) -> _Note | None:
    """Return a note; None if there is none, or none that can be read."""
    try:
        return _Note(**json.loads(text))
    except (TypeError, ValueError):
        return None


def _text(note: _Note) -> str:
    return json.dumps(asdict(note))


def _two_indexes(graph: GraphStore, used: str, given: str) -> str:
    return (
        f"{graph!r} has its vectors in the index at {used}, which a process uses now, and was "
        f"given the one at {given}: what is retained with one would not be found with the other. "
        "Give the same vectors=... as the others; or, to move to the other index, close all "
        "processes that use the first, and open the memory again: the new index is filled from "
        f"the graph. A process that was killed counts for {SIGN_SECONDS:.0f} s"
    )
