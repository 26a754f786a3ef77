"""One database of a Neo4j server: its transactions, and errors with advice.

A read is one statement and one round trip: it commits by itself. The driver runs a transaction
that writes again if the server asks for it (a deadlock, a new leader, a broken connection), and
`query` does the same with a statement, so both may run more than once. In a cluster a read may go
to a member that lags behind; it waits there for all that was written through this object.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from ssl import SSLError
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

from hindsight_integrations._version import __version__
from hindsight_integrations.asynchronous import in_own_thread
from hindsight_integrations.errors import (
    ClosedError,
    InvalidInputError,
    MissingExtraError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.stores.deadline import ServerAvailability, seconds_left
from hindsight_integrations.stores.refusals import storable

if TYPE_CHECKING:
    from neo4j import ManagedTransaction, Session

Row: TypeAlias = tuple[Any, ...]
"""Values as the server returns them; typed again by those who decode them."""

Access: TypeAlias = Literal["READ", "WRITE"]

Execute: TypeAlias = Callable[[str, Mapping[str, Any]], list[Row]]

T = TypeVar("T")

AWAY_SECONDS = 15.0
"""Seconds that a call waits for a server that is away before it gives up."""

_CONNECT_SECONDS = 5.0
_FIRST_PAUSE = 0.05
"""Seconds before a read is repeated for the first time; doubled each time."""
WRITE_BATCH = 500
"""Rows written with one statement."""

FAR_SECONDS = 0.01
"""Round trip above which to be spared one is worth what the server does for it. A server on the
same machine, busy with others, answers in 2 to 7 ms."""

_LATEST = 16
"""Statements by which the time of a round trip is told."""

_READ_BATCH = 2500
"""Rows asked for with one statement: more than the largest bank that recall scores whole."""

_OLDEST = (5, 26)
"""The first long-term release with `CALL (variable) {...}`."""

_SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")


@dataclass(frozen=True, slots=True)
class Transaction:
    """Statements that belong together: a transaction, or reads that commit one by one.

    Attributes:
        execute: runs a statement with its parameters and returns its rows.
    """

    execute: Execute

    def run(self, cypher: str, **params: Any) -> list[Row]:
        """Run a statement and return its rows."""
        return self.execute(cypher, params)

    def run_each(self, cypher: str, rows: Sequence[object], **params: Any) -> None:
        """Run a statement that unwinds `$rows`, which are sent in batches."""
        for start in range(0, len(rows), WRITE_BATCH):
            self.run(cypher, rows=rows[start : start + WRITE_BATCH], **params)

    def collected(self, cypher: str, **params: Any) -> list[Row]:
        """Run a statement that returns nothing but `collect([...])`; return what it collected.

        One long record costs the driver less than half of what many short ones do. A row that
        begins with null is left out: its node was deleted by others while the statement ran.
        """
        ((found,),) = self.run(cypher, **params)
        return [tuple(row) for row in found if not row or row[0] is not None]

    def gather(self, cypher: str, rows: Sequence[object], **params: Any) -> list[Row]:
        """Run a statement that unwinds `$rows` and returns `collect([...])`; return all of it."""
        found: list[Row] = []
        for start in range(0, len(rows), _READ_BATCH):
            batch = rows[start : start + _READ_BATCH]
            found += self.collected(cypher, rows=batch, **params)
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
        self._seconds = [0.0] * _LATEST
        self._asked = 0
        self._answering = ServerAvailability(f"Neo4j at {self.where} ({name})", self._probe)
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

    def query(self, cypher: str, params: Mapping[str, Any], access: Access = "READ") -> list[Row]:
        """Return the rows of a statement that may be run more than once, in one round trip.

        It is repeated while the server asks for that or cannot be reached, for `AWAY_SECONDS` or
        what the caller's deadline leaves.
        """
        from neo4j.exceptions import DriverError, Neo4jError

        self._check_open()
        started = time.monotonic()
        deadline = started + min(AWAY_SECONDS, seconds_left())

        def run(session: Session, _: _Attempt) -> list[Row]:
            return [tuple(row) for row in session.run(cypher, {**params}).values()]

        pause = _FIRST_PAUSE
        while True:
            asked = time.monotonic()
            try:
                rows = self._in_time(access, run)
                self._seconds[self._asked % _LATEST] = time.monotonic() - asked
                self._asked += 1
                return rows
            except StoreError as error:
                cause = error.__cause__
                again = isinstance(cause, DriverError | Neo4jError) and cause.is_retryable()
                if not again:
                    raise
                if time.monotonic() + pause > deadline:
                    self._answering.silent(time.monotonic() - started)
                    raise
            time.sleep(pause)
            pause *= 2

    @property
    def is_far(self) -> bool:
        """True if even the fastest of the latest statements took long: the network does."""
        return min(self._seconds) > FAR_SECONDS

    @property
    def reads(self) -> Transaction:
        """Reads that commit one by one."""
        return Transaction(self.query)

    @property
    def repeatable(self) -> Transaction:
        """Writes that commit one by one, and may each be run more than once."""
        return Transaction(partial(self.query, access="WRITE"))

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Return the result of `work` in a transaction, which is undone if `work` raises."""
        self._check_open()

        def run(session: Session, attempt: _Attempt) -> T:
            return session.execute_write(lambda driver: work(_transaction(driver, attempt)))

        return self._in_time("WRITE", run)

    def _in_time(self, access: Access, run: Callable[[Session, _Attempt], T]) -> T:
        """Return the result of requests; the driver itself waits for a silent server for minutes.

        Raises:
            StoreUnavailableError: the server left a request unanswered, now or lately.
        """
        from neo4j.exceptions import Neo4jError

        self._answering.check()
        attempt = _Attempt()
        seconds = seconds_left()

        def work() -> T:
            with self._errors(), self._session(access) as attempt.session:
                try:
                    result = run(attempt.session, attempt)
                except Neo4jError:  # an answer too: of a deadlock, say
                    self._answering.answered()
                    raise
            self._answering.answered()  # here: the caller hears of it late on a busy machine
            return result

        outcome = in_own_thread(work)
        while True:
            left = attempt.answered_at + seconds - time.monotonic()
            try:
                return outcome.result(timeout=max(0.0, left))
            except TimeoutError as error:
                if outcome.done():
                    raise
                if time.monotonic() < attempt.answered_at + seconds:
                    continue  # the server answered a statement meanwhile
                attempt.give_up()
                raise self._answering.silent(seconds) from error

    def _probe(self) -> None:
        """Begin a transaction, and end it: that needs no plan and waits for no lock."""
        self._in_time("READ", lambda session, _: session.begin_transaction().close())

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self._driver.close()

    def _session(self, access: Access) -> Session:
        return self._driver.session(
            database=self.name,
            bookmark_manager=self._bookmarks,
            default_access_mode=access,
            fetch_size=-1,  # all rows at once: each further portion is a round trip
        )

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the memory store {self.where} was closed; open it again")

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


class _Attempt:
    """Requests made in a thread of their own, which the caller may give up.

    Attributes:
        session: that of the thread, once it has one.
        answered_at: when the server last answered a statement, by `time.monotonic`.
    """

    def __init__(self) -> None:
        self.session: Session | None = None
        self.answered_at = time.monotonic()
        self._given_up = False

    def run(self, driver: ManagedTransaction, cypher: str, params: Mapping[str, Any]) -> list[Row]:
        """Return the rows of a statement of a transaction.

        Raises:
            TimeoutError: the caller gave up, who would not hear of what the driver does again.
        """
        if self._given_up:
            raise TimeoutError("given up")
        rows = [*map(tuple, driver.run(cypher, {**params}).values())]
        self.answered_at = time.monotonic()
        return rows

    def give_up(self) -> None:
        """End the thread soon, by closing its connection: it would wait for an answer for ever."""
        self._given_up = True
        connection = getattr(self.session, "_connection", None)  # only sessions of asyncio cancel
        if connection is not None:
            connection.kill()


def _transaction(driver: ManagedTransaction, attempt: _Attempt) -> Transaction:
    return Transaction(lambda cypher, params: attempt.run(driver, cypher, params))


def check_server(agent: str) -> None:
    """Raise `StoreUnavailableError` unless the server, "Neo4j/5.26.0" say, is recent enough."""
    version = re.match(r"Neo4j/(\d+)\.(\d+)", agent)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        raise StoreUnavailableError(
            f"the server is {agent}, but the memory store needs Neo4j "
            f"{'.'.join(map(str, _OLDEST))} or later; upgrade it, or use another server"
        )


def _address(uri: str) -> str:
    """Return the URL without credentials. Raises `InvalidInputError` unless a Neo4j server's."""
    parts = urlsplit(uri)
    if parts.username or parts.password:
        raise InvalidInputError(
            "the URL of the Neo4j server contains credentials; set NEO4J_USERNAME and "
            "NEO4J_PASSWORD instead, or give Neo4jGraph or Neo4jVectors user=... and password=..."
        )
    try:
        is_server = parts.scheme in _SCHEMES and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number
        is_server = False
    if not is_server:
        raise InvalidInputError(
            f"{uri!r} is not the URL of a Neo4j server; give one such as "
            f"'neo4j://localhost:7687', with one of the schemes {', '.join(_SCHEMES)}"
        )
    return f"{parts.scheme}://{parts.netloc}"


# Errors

_REACH = "check that the server runs, that its address is right, and that nothing blocks it"
_CREDENTIALS = "the server refuses this user and password; give the right user=... and password=..."
_RIGHTS = "give a user who may read, write and create indexes, whose password has not expired"
_SETTINGS = "check the scheme, the certificate and the credentials given"
_LATER = "nothing was stored; try again"
_UNKNOWN = "the connection broke while committing: look whether the change is there, then repeat it"
_SERVER = "the server cannot go on: free some space if its disk is full, and restart it"
_REPORT = "nothing was stored; run the doctor, and report this if it recurs"

NEO4J_ERRORS: Mapping[str, tuple[type[StoreError], str]] = {
    "AuthConfigurationError": (StoreUnavailableError, _SETTINGS),
    "AuthError": (StoreUnavailableError, _CREDENTIALS),
    "BrokenRecordError": (StoreError, _REPORT),
    "CertificateConfigurationError": (StoreUnavailableError, _SETTINGS),
    "ClientError": (StoreError, _REPORT),
    "ConfigurationError": (StoreUnavailableError, _SETTINGS),
    "ConnectionAcquisitionTimeoutError": (StoreUnavailableError, _REACH),
    "ConnectionPoolError": (StoreUnavailableError, _REACH),
    "ConstraintError": (StoreError, _REPORT),
    "CypherSyntaxError": (StoreError, _REPORT),
    "CypherTypeError": (StoreError, _REPORT),
    "DatabaseError": (StoreUnavailableError, _SERVER),
    "DatabaseUnavailable": (StoreUnavailableError, _SERVER),
    "DriverError": (StoreError, _REPORT),
    "Forbidden": (StoreUnavailableError, _RIGHTS),
    "ForbiddenOnReadOnlyDatabase": (StoreUnavailableError, _SERVER),
    "GqlError": (StoreError, _REPORT),
    "IncompleteCommit": (StoreUnavailableError, _UNKNOWN),
    "Neo4jError": (StoreError, _REPORT),
    "NotALeader": (StoreUnavailableError, _LATER),
    "ReadServiceUnavailable": (StoreUnavailableError, _REACH),
    "ResultConsumedError": (StoreError, _REPORT),
    "ResultError": (StoreError, _REPORT),
    "ResultFailedError": (StoreError, _REPORT),
    "ResultNotSingleError": (StoreError, _REPORT),
    "RoutingServiceUnavailable": (StoreUnavailableError, _REACH),
    "ServiceUnavailable": (StoreUnavailableError, _REACH),
    "SessionError": (StoreError, _REPORT),
    "SessionExpired": (StoreUnavailableError, _REACH),
    "TokenExpired": (StoreUnavailableError, _CREDENTIALS),
    "TransactionError": (StoreError, _REPORT),
    "TransactionNestingError": (StoreError, _REPORT),
    "TransientError": (StoreUnavailableError, _LATER),
    "UnsupportedServerProduct": (StoreUnavailableError, "give the address of a Neo4j server"),
    "WriteServiceUnavailable": (StoreUnavailableError, _REACH),
}
"""Error class and advice for each error of the driver, by the name of its class."""

_CODES: Mapping[str, tuple[type[StoreError], str]] = {
    "Neo.ClientError.Database.DatabaseNotFound": (
        StoreUnavailableError,
        "create this database, or name another with database=...",
    ),
    "Neo.ClientError.Security.AuthenticationRateLimit": (
        StoreUnavailableError,
        "a wrong password was given too often; wait some seconds, then give the right one",
    ),
    "Neo.ClientError.Security.CredentialsExpired": (StoreUnavailableError, _RIGHTS),
}
"""The same by status code of the server, where the class says too little."""

_CONNECTING: Mapping[str, str] = {
    "[SSLCertVerificationError]": (
        "this machine does not trust the server's certificate, or it is another host's: name the "
        "PEM file of its authority in SSL_CERT_FILE, and give the host that it was made for"
    ),
    "Failed to establish encrypted connection": (
        f"{_REACH}; if it has no TLS, give neo4j:// or bolt://"
    ),
    "handshake response": f"{_REACH}; if it takes TLS alone, give neo4j+s:// or bolt+s://",
}
"""Advice on a connection that cannot be made, by a part of the driver's message."""


def store_error(error: Exception, where: str) -> StoreError:
    """Return the `StoreError` for an error of the driver.

    `where` is the address of the server, without credentials.
    """
    names = (cls.__name__ for cls in type(error).__mro__)
    kind, advice = _CODES.get(getattr(error, "code", None) or "") or next(
        NEO4J_ERRORS[name] for name in names if name in NEO4J_ERRORS
    )
    routes = error.__cause__  # the answers of the servers that were asked for routes
    stated = routes.exceptions[0] if isinstance(routes, ExceptionGroup) else error
    text = str(getattr(stated, "message", None) or stated)
    advice = next((each for sign, each in _CONNECTING.items() if sign in text), advice)
    if isinstance(first := _first(stated), SSLError):
        text = str(first)
    return kind(f"Neo4j at {where}: {' '.join(text.split()) or type(error).__name__}; {advice}")


def _first(error: BaseException) -> BaseException:
    """Return the first cause: the driver wraps it twice, and says too little about TLS."""
    while error.__cause__:
        error = error.__cause__
    return error
