"""One database of a Neo4j server: managed transactions, and errors in our own terms.

The driver runs a transaction again if the server asks for it (a deadlock, a new leader, a broken
connection), so the work handed to `read` and `write` may run more than once. In a cluster a read
may go to a member that lags behind; it waits there for all that was written by way of this object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from hindsight_integrations._version import __version__
from hindsight_integrations.errors import (
    ClosedError,
    InvalidInputError,
    MissingExtraError,
    StoreUnavailableError,
)
from hindsight_integrations.storage.conditions import storable
from hindsight_integrations.storage.neo4j.errors import store_error

if TYPE_CHECKING:
    from neo4j import ManagedTransaction, Session

Row: TypeAlias = tuple[Any, ...]
"""What the server returns; typed again by the codecs."""

T = TypeVar("T")

AWAY_SECONDS = 15.0
"""How long a call waits for a server that is away before it gives up."""

_CONNECT_SECONDS = 5.0
_BATCH = 500
"""Rows sent with one statement."""

_OLDEST = (5, 26)
"""The first long-term release with `CALL (variable) {...}`."""

_SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")


def run(tx: ManagedTransaction, cypher: str, **params: Any) -> list[Row]:
    """The rows of a statement."""
    return [tuple(row) for row in tx.run(cypher, params).values()]


def run_each(tx: ManagedTransaction, cypher: str, rows: Sequence[object], **params: Any) -> None:
    """Run a statement that unwinds `$rows`, which are sent in batches."""
    for start in range(0, len(rows), _BATCH):
        run(tx, cypher, rows=rows[start : start + _BATCH], **params)


def gather(tx: ManagedTransaction, cypher: str, rows: Sequence[object], **params: Any) -> list[Row]:
    """The same, of a statement that returns `collect([...])`: what it collected, all told.

    One long record costs the driver less than half of what many short ones do.
    """
    found: list[Row] = []
    for start in range(0, len(rows), _BATCH):
        ((collected,),) = run(tx, cypher, rows=rows[start : start + _BATCH], **params)
        found += map(tuple, collected)
    return found


class Database:
    """The database `name` of the server at `uri`.

    Raises:
        InvalidInputError: `uri` is none of a Neo4j server.
        MissingExtraError: the driver is not installed.
        StoreUnavailableError: the server cannot be reached or used, or is too old.
    """

    def __init__(self, uri: str, *, user: str | None, password: str | None, name: str) -> None:
        self.where = _address(uri)
        self.name = name
        self._closed = False
        try:
            from neo4j import GraphDatabase
        except ImportError as error:
            raise MissingExtraError(
                "a graph in Neo4j needs its driver; run: "
                "pip install 'hindsight-integrations[neo4j]'"
            ) from error
        with self._errors():
            self._driver = GraphDatabase.driver(
                uri,
                auth=(user or "neo4j", password) if password is not None else None,
                connection_timeout=_CONNECT_SECONDS,
                connection_acquisition_timeout=AWAY_SECONDS,
                max_transaction_retry_time=AWAY_SECONDS,
                notifications_min_severity="OFF",
                telemetry_disabled=True,
                user_agent=f"hindsight-integrations/{__version__}",
            )
            self._bookmarks = GraphDatabase.bookmark_manager()
            try:
                check_server(self._driver.get_server_info().agent)
            except BaseException:
                self._driver.close()
                raise

    def __repr__(self) -> str:
        return f"Database({self.where!r}, name={self.name!r})"

    def read(self, work: Callable[[ManagedTransaction], T]) -> T:
        """What `work` returns of a transaction that only reads."""
        self._check_open()
        with self._errors(), self._session() as session:
            return session.execute_read(work)

    def write(self, work: Callable[[ManagedTransaction], T]) -> T:
        """What `work` returns of a transaction that is committed if it ends well, else undone."""
        self._check_open()
        with self._errors(), self._session() as session:
            return session.execute_write(work)

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self._driver.close()

    def _session(self) -> Session:
        return self._driver.session(database=self.name, bookmark_manager=self._bookmarks)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the memory store {self.where} was closed; open it anew")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from neo4j.exceptions import GqlError

        try:
            with storable():
                yield
        except GqlError as error:
            raise store_error(error, f"{self.where} ({self.name})") from error
        except OSError as error:
            raise StoreUnavailableError(
                f"Neo4j at {self.where}: {error}; check its address and the network"
            ) from error


def check_server(agent: str) -> None:
    """Raise `StoreUnavailableError` unless the server, "Neo4j/5.26.0" say, is recent enough."""
    version = re.match(r"Neo4j/(\d+)\.(\d+)", agent)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        raise StoreUnavailableError(
            f"the server is {agent}; the memory store needs Neo4j "
            f"{'.'.join(map(str, _OLDEST))} or later: upgrade it, or name another server"
        )


def _address(uri: str) -> str:
    """`uri` as it may be shown. Raises `InvalidInputError` if it is none of a Neo4j server."""
    parts = urlsplit(uri)
    if parts.username or parts.password:
        raise InvalidInputError(
            "the URL of the Neo4j server holds credentials; give them as user=... and "
            "password=... instead"
        )
    try:
        is_server = parts.scheme in _SCHEMES and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number
        is_server = False
    if not is_server:
        raise InvalidInputError(
            f"{uri!r} is no Neo4j server; give a URL such as 'neo4j://localhost:7687', with one "
            f"of the schemes {', '.join(_SCHEMES)}"
        )
    return f"{parts.scheme}://{parts.netloc}"
