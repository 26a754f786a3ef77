"""`Hindsight` over a service: each verb and each method of a namespace is a request."""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Callable
from datetime import tzinfo
from functools import cache
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from hindsight_integrations.errors import (
    HindsightError,
    InvalidInputError,
    StoreUnavailableError,
)
from hindsight_integrations.forks import unpickled, unpickling
from hindsight_integrations.namespaces.storage import Opened
from hindsight_integrations.nlp.embeddings import Vectors
from hindsight_integrations.normalization import new_id
from hindsight_integrations.remote.connection import Connection, Request
from hindsight_integrations.remote.plans import Call, Client, Plan, one_call, plan_of
from hindsight_integrations.remote.wire import EXPORT, NAMESPACES, Verb, plain, verbs
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import Vector

T = TypeVar("T")


class Caller:
    """Makes the calls of one remote memory, for its verbs and its namespaces."""

    def __init__(self, connection: Connection, offered: dict[str, Verb]) -> None:
        self.connection = connection
        self._verbs = offered
        try:
            self.embedder, self.client = self._reached()
        except HindsightError:
            if not unpickling.get():
                raise

    def __getattr__(self, name: str) -> Any:
        """Return what the service had to tell, if it could not be reached when this was made."""
        if name not in ("embedder", "client"):
            raise AttributeError(name)
        self.embedder, self.client = self._reached()
        return self.__dict__[name]

    def _reached(self) -> tuple[RemoteEmbedder, Client]:
        opened: Opened = self.run(one_call("storage.opened"))
        embedder = RemoteEmbedder(self, opened.embedder.id, opened.embedder.dimension)
        return embedder, Client(opened.settings)

    def run(self, plan: Plan) -> Any:
        """Return the result of a plan, whose calls wait in this thread."""
        try:
            call = next(plan)
            while True:
                try:
                    result = self._result(call, self.connection.send(self._request(call)).content)
                except BaseException as error:  # noqa: BLE001 - raised in the plan
                    call = plan.throw(error)
                else:
                    call = plan.send(result)
        except StopIteration as done:
            return done.value

    async def arun(self, plan: Plan) -> Any:
        """Return the result of a plan, whose calls do not block the event loop."""
        try:
            call = next(plan)
            while True:
                try:
                    answer = await self.connection.asend(self._request(call))
                    result = self._result(call, answer.content)
                except BaseException as error:  # noqa: BLE001 - raised in the plan
                    call = plan.throw(error)
                else:
                    call = plan.send(result)
        except StopIteration as done:
            return done.value

    def plan(self, verb: Verb, args: tuple[object, ...], kwargs: dict[str, object]) -> Plan:
        """Return the plan of a call."""
        return plan_of(self.client, verb.name, verb.bind(args, kwargs))

    def _request(self, call: Call) -> Request:
        given = {name: plain(value, name) for name, value in call.arguments.items()}
        operation = new_id("op-") if self._verbs[call.verb].writes else ""
        if call.content is None:
            return Request(call.verb, json.dumps(given).encode(), operation)
        return Request(call.verb, call.content, operation, {"arguments": json.dumps(given)})

    def _result(self, call: Call, content: bytes) -> Any:
        if call.verb == EXPORT:
            return content
        try:
            return self._verbs[call.verb].result(content)
        except ValueError as error:
            raise StoreUnavailableError(
                f"the response of the service at {self.connection.url} cannot be read; install "
                "the same release of hindsight-integrations on both sides"
            ) from error


class RemoteEmbedder:
    """The embedder of a service's memory."""

    def __init__(self, caller: Caller, id: str, dimension: int) -> None:
        self._caller = caller
        self.id = id
        self.dimension = dimension

    def embed(self, texts: list[str]) -> Vectors:
        """Return one unit vector per text, in order."""
        rows = self._embed(list(texts), queries=False)
        return np.asarray(rows, np.float32).reshape(len(rows), self.dimension)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return np.asarray(self._embed([text], queries=True)[0], np.float32)

    def _embed(self, texts: list[str], *, queries: bool) -> list[list[float]]:
        call = one_call("storage.embed", {"texts": texts, "queries": queries})
        rows: list[list[float]] = self._caller.run(call)
        return rows

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self.id!r})"


class RemoteMemory:
    """Base of a `Hindsight` over a service: how it is opened, closed and pickled.

    Args:
        path: address of the service.
        options: the other arguments of `Hindsight`, none of which a client can give.

    Raises:
        InvalidInputError: another argument was given.
        StoreUnavailableError: the service does not answer.
        AccessDeniedError: it asks for a token.
    """

    _opened_as: type
    """The class that the caller named."""
    _offered: dict[str, Verb]
    """Verbs of the service."""

    def __init__(self, path: str, **options: object) -> None:
        for name, value in options.items():
            if value is not None and not (name == "reranker" and value == "local"):
                raise InvalidInputError(
                    f"{name}= cannot be combined with the URL of a service; pass it to the "
                    "memory that the service opens"
                )
        self._address = path
        self._connection = Connection(path)
        self._caller = Caller(self._connection, self._offered)
        for name in NAMESPACES:
            setattr(self, name, namespace_class(name)(self._caller))

    @property
    def settings(self) -> Settings:
        """The tunables of the service's memory, when this client was opened."""
        return self._caller.client.settings

    @property
    def probes(self) -> dict[str, Callable[[], tuple[bool, str]]]:
        """Health checks of other parts of this process, by name."""
        return self._caller.client.probes

    @property
    def embedder(self) -> RemoteEmbedder:
        """The embedder of the service's memory."""
        return self._caller.embedder

    def configure(self, **parts: object) -> NoReturn:
        """Refuse to exchange parts of the service's memory.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError(
            "the models of a service's memory cannot be replaced; restart the service with "
            "other models"
        )

    async def aconfigure(self, **parts: object) -> NoReturn:
        """`configure`, without blocking the event loop."""
        self.configure(**parts)

    def close(self) -> None:
        """Close the connections; the service goes on. Idempotent."""
        self._connection.close()

    async def aclose(self) -> None:
        """`close`, without blocking the event loop."""
        await self._connection.aclose()

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        closed = ", closed" if self._connection.is_closed else ""
        return f"Hindsight({self._connection.url!r}{closed})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the address: what is unpickled has connected itself to the service."""
        return unpickled, (self._opened_as, {"path": self._address})

    @property
    def runtime(self) -> NoReturn:
        """Refuse to give what is in the process of the service.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError(
            "the stores and models of this memory are in the service's process; use the "
            "methods and namespaces of this client, or open the folder directly while no "
            "service uses it"
        )

    graph_store = vector_index = vectors = extractor = reranker = runtime


_made: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


def remote_class(engine: type[T], root: type) -> type[T]:
    """Return the subclass of a memory's class whose verbs are requests to a service.

    Args:
        engine: the class, which may override verbs of `root`.
        root: the class that defines the verbs.
    """
    if issubclass(engine, RemoteMemory):
        return cast("type[T]", engine)
    if root not in _made:
        every = verbs(root)
        offered = {name: verb for name, verb in every.items() if "." not in name}
        content = routed_methods(offered) | {
            "__module__": root.__module__,
            "_opened_as": root,
            "_offered": every,
        }
        _made[root] = type(root.__name__, (RemoteMemory, root), content)
    if engine not in _made:
        content = {"__module__": engine.__module__, "_opened_as": engine}
        _made[engine] = type(engine.__name__, (engine, _made[root]), content)
    return cast("type[T]", _made[engine])


@cache
def namespace_class(name: str) -> type:
    """Return the subclass of a namespace whose methods are requests of a caller."""
    kind = NAMESPACES[name]
    prefix = f"{name}."
    offered = {
        verb_name.removeprefix(prefix): verb
        for verb_name, verb in verbs(object).items()
        if verb_name.startswith(prefix)
    }
    own = {"__init__": _with_caller, "_zone": property(_zone)}
    return type(kind.__name__, (kind,), routed_methods(offered) | own)


def _with_caller(self: Any, caller: Caller) -> None:
    self._caller = caller


def _zone(self: Any) -> tzinfo:
    zone: tzinfo = self._caller.client.settings.zone
    return zone


def routed_methods(offered: dict[str, Verb]) -> dict[str, Any]:
    """Return the methods of a class, and their asynchronous variants, as requests of its caller.

    The caller, in `self._caller`, plans a call, and runs the plan in a thread or an event loop.
    """
    made: dict[str, Any] = {}
    for name, verb in offered.items():
        made[name], made[f"a{name}"] = _method(verb), _async_method(verb)
    return made


def _method(verb: Verb) -> Callable[..., Any]:
    @functools.wraps(verb.method)
    def method(self: Any, /, *args: object, **kwargs: object) -> Any:
        caller = self._caller
        return caller.run(caller.plan(verb, args, kwargs))

    return method


def _async_method(verb: Verb) -> Callable[..., Any]:
    @functools.wraps(verb.method)
    async def method(self: Any, /, *args: object, **kwargs: object) -> Any:
        caller = self._caller
        return await caller.arun(caller.plan(verb, args, kwargs))

    method.__name__ = f"a{verb.method.__name__}"
    return method
