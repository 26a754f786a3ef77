"""Chroma's clients and errors; no other module imports its library to open one.

Clients are assembled from Chroma's `System` and not made by its constructors, because of what the
constructors do in 1.5.9: all in-memory clients of a process share their data; a start that fails
leaves the path unusable for the rest of the process; and no more indexes stay loaded than a fifth
of the process's limit of open files, beyond which vectors not yet on disk vanish from searches.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

import numpy as np

from hindsight_integrations import forks
from hindsight_integrations.errors import (
    EmbedderMismatchError,
    HindsightError,
    InvalidInputError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.stores.deadline import ServerAvailability, seconds_left

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx
    from chromadb.api import ServerAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection
    from chromadb.api.types import Embeddings
    from chromadb.config import Settings
    from chromadb.types import Collection as CollectionModel

CHROMA_ERRORS: Mapping[str, type[StoreError]] = {
    "AuthorizationError": StoreUnavailableError,
    "BatchSizeExceededError": StoreError,
    "ChromaAuthError": StoreUnavailableError,
    "ChromaError": StoreError,
    "DuplicateIDError": StoreError,
    "IDAlreadyExistsError": StoreError,
    "InternalError": StoreCorruptError,
    "InvalidArgumentError": StoreError,
    "InvalidDimensionException": EmbedderMismatchError,
    "InvalidHTTPVersion": StoreUnavailableError,
    "InvalidUUIDError": StoreError,
    "NotFoundError": StoreError,
    "PanicException": StoreCorruptError,
    "QuotaError": StoreUnavailableError,
    "RateLimitError": StoreUnavailableError,
    "UniqueConstraintError": StoreError,
    "VersionMismatchError": StoreUnavailableError,
}
"""Error class for each error of Chroma, by the name of its class."""

_ERRORS_BENEATH: Mapping[str, type[StoreError]] = {
    "DatabaseError": StoreUnavailableError,
    "HTTPError": StoreUnavailableError,
    "JSONDecodeError": StoreUnavailableError,
    "OSError": StoreUnavailableError,
    "TypeError": StoreError,
    "ValueError": StoreError,
}
"""The same for errors that Chroma does not map: of SQLite, httpx, the system, argument checks."""

MACHINE_FAULTS = (
    "disk is full",
    "no space left",
    "permission denied",
    "read-only",
    "readonly",
    "too many open files",
)
"""Texts of errors that the machine causes, and damaged files never do."""

_NOT_CORRUPT = (
    *MACHINE_FAULTS,
    "database is locked",
    "disk i/o error",
    "unable to open database file",
)
"""Texts of an `InternalError` that does not mean damaged files."""

_ADVICE: Mapping[type[StoreError], str] = {
    StoreUnavailableError: "check that it can be reached and written, and that its disk has room",
    StoreCorruptError: "close the store and open it again: a damaged index is rebuilt",
    EmbedderMismatchError: "reindex the bank with the embedder in use",
    StoreError: "the request was refused; nothing of it was stored",
}

_TOKEN_ADVICE = "give the token that the server asks for: token=..., or CHROMA_TOKEN"
_TRUST_ADVICE = (
    "the server's certificate is not one this machine trusts: name a PEM file with its authority, "
    "verify=... or SSL_CERT_FILE"
)
_SERVER_ADVICE = "what answers there is no Chroma server of release 1.0 or later: check the URL"

_SHOWN = 500
"""Characters of a response that an error quotes: a proxy may send a whole page."""

_HNSW: CreateCollectionConfiguration = {
    # 200 candidates looked at in a search gave a recall@10 of 0.99 at 100,000 vectors;
    # Chroma's own default gave 0.58.
    "hnsw": {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 200}
}

_LOADED_INDEXES = 1_000_000
"""More indexes than a process can hold, so that none is ever unloaded."""

_CONNECT_SECONDS = 5.0
"""Seconds that a server may take; Chroma's own client would wait for ever."""

_FILES_AN_INDEX = 5
"""Files that Chroma has open for a loaded index."""

_FILES_BESIDE = 200
"""Files for everything else in the process."""


def store_error(error: BaseException, where: str) -> StoreError | None:
    """Return the `StoreError` for an error of Chroma's library; None if it is not Chroma's.

    Interrupts, the lack of memory and errors of programming are not Chroma's.
    """
    kind = _kind(error)
    if kind is None:
        return None
    text = str(error)[:_SHOWN] or type(error).__name__
    if status := _status(error):
        text = f"HTTP {status}: {text}"
    return kind(f"the vector index at {where} failed: {text}; {_advice(error, kind)}")


def misses_removed(error: Exception) -> bool:
    """Return True if a search failed because an id or a collection was removed while it ran."""
    return any(sign in str(error) for sign in ("Error finding id", "Missing field: [Missing"))


def _advice(error: BaseException, kind: type[StoreError]) -> str:
    status, name = _status(error), type(error).__name__
    if status in (401, 403) or name in ("AuthorizationError", "ChromaAuthError"):
        return _TOKEN_ADVICE
    if status in (404, 405, 410) or name == "JSONDecodeError":
        return _SERVER_ADVICE
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return _TRUST_ADVICE
    return _ADVICE[kind]


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of a response that Chroma's client does not map, if it was one."""
    answer = getattr(error.__context__, "response", None)
    return None if answer is None else int(answer.status_code)


def _kind(error: BaseException) -> type[StoreError] | None:
    if type(error) is Exception:  # a server's answer that Chroma's client does not know
        return StoreUnavailableError
    known = {**CHROMA_ERRORS, **_ERRORS_BENEATH}
    names = (cls.__name__ for cls in type(error).__mro__)
    kind = next((known[name] for name in names if name in known), None)
    if kind is StoreCorruptError and any(sign in str(error).lower() for sign in _NOT_CORRUPT):
        return StoreUnavailableError
    return kind


@contextmanager
def chroma_errors(where: str) -> Iterator[None]:
    """Map errors that Chroma raises in the block to `StoreError`; ours pass unchanged."""
    try:
        yield
    except HindsightError:
        raise
    except BaseException as error:
        mapped = store_error(error, where)
        if mapped is None:
            raise
        raise mapped from error


LOCAL_BATCH = 128
"""Records of a call of the embedded Chroma, which holds the interpreter's lock while it reads them.

Measured: of 5,000 vectors in one call 1.4 s, in calls of 128 at most 0.2 s, which take 3.7 s
together instead of 1.4.
"""


class _Scope(TypedDict):
    tenant: str
    database: str


class ChromaClient:
    """The collections of one Chroma whose names start with `namespace`.

    Methods raise Chroma's errors as they are; see `chroma_errors`. `close` releases Chroma's
    threads, files and connections.
    """

    def __init__(
        self,
        api: ServerAPI,
        where: str,
        *,
        close: Callable[[], None],
        local: bool = False,
        namespace: str = "hindsight",
        tenant: str = "default_tenant",
        database: str = "default_database",
    ) -> None:
        self.where = where
        self.namespace = namespace
        self.close = close
        self._api = api
        self.local = local
        self._scope: _Scope = {"tenant": tenant, "database": database}
        self._batch_size: int | None = None
        forks.watch(self)

    def after_fork(self) -> None:
        """Keep an embedded Chroma from being freed: its threads exist in the parent only."""
        if self.local:
            forks.never_free(getattr(self._api, "bindings", None))

    @classmethod
    def embedded(cls, folder: Path | None) -> ChromaClient:
        """Open Chroma in this process, its files in `folder`, or in memory if it is None."""
        where = "memory" if folder is None else str(folder)
        with chroma_errors(where):
            from chromadb.api.rust import RustBindingsAPI
            from chromadb.config import System

            files = {"is_persistent": folder is not None, "persist_directory": str(folder or "")}
            system = System(_own_settings().model_copy(update=files))
            api = system.instance(RustBindingsAPI)
            api.hnsw_cache_size = _LOADED_INDEXES
            system.start()
        return cls(api, where, close=system.stop, local=True)

    @classmethod
    def remote(
        cls,
        url: str,
        *,
        token: str | None,
        verify: bool | str,
        namespace: str,
        tenant: str,
        database: str,
    ) -> ChromaClient:
        """Connect to a Chroma server; see `ChromaVectors.at_server`."""
        where = _server_url(url)
        headers = _headers(token)
        trust = verify if isinstance(verify, bool) else _authorities(verify)
        with chroma_errors(where):
            from chromadb.api.fastapi import FastAPI
            from chromadb.config import Settings, System

            settings = Settings(
                anonymized_telemetry=False,
                chroma_api_impl="chromadb.api.fastapi.FastAPI",
                chroma_server_host=where,
                chroma_server_http_port=8000,  # asked for, and not used beside a whole URL
                chroma_server_headers=headers,
            )
            # As it is, to httpx, which takes more than Chroma's setting would.
            settings.chroma_server_ssl_verify = trust  # type: ignore[assignment]
            system = System(settings)
            api = system.instance(FastAPI)
            system.start()
            api._session._transport = _in_time(api._session._transport, where, api.heartbeat)
            try:
                api.heartbeat()
                _check_database(api, where, tenant, database)
            except BaseException:
                api._session.close()
                raise
        return cls(
            api,
            where,
            close=api._session.close,
            namespace=namespace,
            tenant=tenant,
            database=database,
        )

    def __repr__(self) -> str:
        return f"ChromaClient({self.where!r})"

    def prepare_index(self) -> None:
        """Have an embedded Chroma add vectors to its index one after another, from the first on."""
        if self.local:
            _add_one_by_one()

    @property
    def batch_size(self) -> int:
        """Records that one call may carry."""
        if self._batch_size is None:
            most = self._api.get_max_batch_size()
            self._batch_size = min(most, LOCAL_BATCH) if self.local else most
        return self._batch_size

    def collections(self) -> list[Collection]:
        """Return the collections of the namespace, by name."""
        models = self._api.list_collections(**self._scope)
        ours = [model for model in models if model.name.startswith(f"{self.namespace}-")]
        if self.local:
            _allow_open_files(len(ours))
        return [self._collection(model) for model in sorted(ours, key=lambda model: model.name)]

    def find(self, name: str) -> Collection | None:
        """Return the collection `<namespace>-<name>`, or None."""
        from chromadb.errors import NotFoundError

        try:
            return self._collection(
                self._api.get_collection(f"{self.namespace}-{name}", **self._scope)
            )
        except NotFoundError:
            return None

    def begin(self, name: str, metadata: Mapping[str, str | int | bool]) -> Collection | None:
        """Create the collection `<namespace>-<name>`; return None if there is one."""
        from chromadb.errors import ChromaError

        try:
            return self.create(name, metadata, new=True)
        except ChromaError as error:
            if "already exists" not in str(error):
                raise
            return None

    def create(
        self, name: str, metadata: Mapping[str, str | int | bool], *, new: bool = False
    ) -> Collection:
        """Return the collection `<namespace>-<name>`, created if there is none or it is `new`."""
        if self.local:
            _allow_open_files(self._api.count_collections(**self._scope) + 1)
        model = self._api.create_collection(
            f"{self.namespace}-{name}",
            configuration=_HNSW,
            metadata=dict(metadata),
            get_or_create=not new,
            **self._scope,
        )
        return self._collection(model)

    def drop(self, collection: Collection) -> None:
        """Delete a collection, if it still exists."""
        from chromadb.errors import NotFoundError

        try:
            self._api.delete_collection(collection.name, **self._scope)
        except NotFoundError:
            return

    def _collection(self, model: CollectionModel) -> Collection:
        from chromadb.api.models.Collection import Collection

        return Collection(client=self._api, model=model, embedding_function=None)


def _in_time(
    transport: httpx.BaseTransport, where: str, probe: Callable[[], object]
) -> httpx.BaseTransport:
    """Return a transport whose requests end within the caller's deadline."""
    import httpx

    answering = ServerAvailability(f"the Chroma server at {where}", probe)

    class InTime(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answering.check()
            seconds = seconds_left()
            limit = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
            request.extensions["timeout"] = limit.as_dict()
            started = time.monotonic()
            try:
                response = transport.handle_request(request)
            except (httpx.ConnectTimeout, httpx.ReadTimeout, httpx.WriteTimeout) as error:
                raise answering.silent(time.monotonic() - started) from error
            answering.answered()
            return response

        def close(self) -> None:
            transport.close()

    return InTime()


def _check_database(api: ServerAPI, where: str, tenant: str, database: str) -> None:
    """Raise `StoreUnavailableError` unless the server has this database of this tenant.

    Of one that does not exist, Chroma lists no collections and says nothing.
    """
    from chromadb.errors import NotFoundError

    try:
        api.get_database(database, tenant=tenant)
    except NotFoundError as error:
        raise StoreUnavailableError(
            f"the Chroma server at {where} has no database {database!r} in tenant "
            f"{tenant!r}; create it there, or give an existing one: tenant=..., database=..."
        ) from error


_preparing = threading.Lock()
_THREADS = "RAYON_NUM_THREADS"


@cache
def _add_one_by_one() -> None:
    """Give Chroma one thread for adding vectors; all its indexes in this process share them.

    Those that several threads add at once to a small graph may end up with no edge that leads to
    them: of 83 vectors added 20 at a time, no search found one or more in 6 to 18 of 100 indexes,
    and in none with one thread (1.5.9, two cores; its issue 7758 tells of the same).
    The number is read from the environment when the first vector is searched for, and a process
    that used Chroma before has its threads already. Not when the index is opened: a child that is
    forked has no threads, and opens its own index.
    """
    from chromadb.api.rust import RustBindingsAPI
    from chromadb.config import System

    with _preparing:
        before = os.environ.get(_THREADS)
        os.environ[_THREADS] = "1"
        system = System(_own_settings().model_copy(update={"is_persistent": False}))
        try:
            api = system.instance(RustBindingsAPI)
            system.start()
            trial = api.create_collection("first").id
            vectors: Embeddings = [np.ones(2, dtype=np.float32)]
            api._add(ids=["first"], collection_id=trial, embeddings=vectors)
            api._query(collection_id=trial, query_embeddings=vectors, n_results=1)
        finally:
            system.stop()
            if before is None:
                del os.environ[_THREADS]
            else:
                os.environ[_THREADS] = before


@cache
def _own_settings() -> Settings:
    """Return Chroma's settings, read once: to read them takes a third of an opening."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def _server_url(url: str) -> str:
    """Return the URL with its port and without a final slash. Raises `InvalidInputError`."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 8000)
    except ValueError:
        port = 0
    if parts.username or parts.password:
        raise InvalidInputError(
            "the URL of the Chroma server contains credentials; set CHROMA_TOKEN "
            "instead, or give ChromaVectors.at_server token=..."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or not port:
        raise InvalidInputError(
            f"vectors={url!r} is not the URL of a Chroma server; give one such as "
            "'http://localhost:8000', or that of a Neo4j server, such as "
            "'neo4j://localhost:7687'"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"


def _headers(token: str | None) -> dict[str, str] | None:
    """Return the headers that carry the token, for proxies and for Chroma."""
    if not token:
        return None
    if not (token.isascii() and token.isprintable()):
        raise InvalidInputError(
            "the token of the Chroma server contains a line break or another character not "
            "allowed in a header; give it on one line, without surrounding spaces"
        )
    return {"Authorization": f"Bearer {token}", "x-chroma-token": token}


def _authorities(file: str) -> SSLContext:
    """Return a context that trusts the authorities of a file and no others."""
    import ssl

    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise InvalidInputError(
            f"verify={file!r} cannot be read as certificates: {error}; give a PEM file with "
            "the certificate authority of the server"
        ) from error


def _allow_open_files(indexes: int) -> None:
    """Raise the process's limit of open files if `indexes` loaded ones need more.

    Up to what the system lets a process raise by itself; the runtimes of Go and Java do the same
    when they start. The usual limits, 1,024 on Linux and 256 on macOS, do for some hundred or
    none at all.
    """
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = indexes * _FILES_AN_INDEX + _FILES_BESIDE
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
