"""`OpenedMemory`, the base of `Hindsight`: opens and closes a memory, and gives its parts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Self, TypedDict, Unpack

from hindsight_integrations import validation
from hindsight_integrations.assembly import Arguments
from hindsight_integrations.asynchronous import ContextManaged, async_variant, in_thread
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.export_import import restore_folder
from hindsight_integrations.forks import unpickled
from hindsight_integrations.namespaces.audit import Audit
from hindsight_integrations.namespaces.banks import Banks
from hindsight_integrations.namespaces.changes import Changes
from hindsight_integrations.namespaces.directives import Directives
from hindsight_integrations.namespaces.documents import Documents
from hindsight_integrations.namespaces.entities import Entities
from hindsight_integrations.namespaces.maintenance import Maintenance
from hindsight_integrations.namespaces.memories import Memories
from hindsight_integrations.namespaces.mental_models import MentalModels
from hindsight_integrations.namespaces.observations import Observations
from hindsight_integrations.namespaces.opinions import Opinions
from hindsight_integrations.namespaces.storage import Storage
from hindsight_integrations.namespaces.tags import Tags
from hindsight_integrations.nlp.embeddings import Embedder
from hindsight_integrations.opening import from_environment, open_runtime, release
from hindsight_integrations.recall.base import Reranker
from hindsight_integrations.remote import is_url, remote_class
from hindsight_integrations.retain.extraction import Extractor
from hindsight_integrations.runtime import UNCHANGED, Runtime
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import GraphStore, VectorIndex
from hindsight_integrations.stores.servers import IN_MEMORY


class MemoryOptions(TypedDict, total=False):
    """Options of `Hindsight` beside its path; `Hindsight` documents them."""

    graph: GraphStore | str | None
    vectors: VectorIndex | str | None
    embedder: object | None
    reranker: object | None
    extractor: object | None
    llm: object | None
    settings: Settings | None
    before_retain: object | None


class EnvironmentOptions(MemoryOptions, total=False):
    """Options of `Hindsight.from_env`, each in place of what the environment says."""

    path: str | os.PathLike[str] | None


class OpenedMemory(ContextManaged):
    """An open memory: its namespaces and its parts. `Hindsight` adds retain, recall and so on."""

    def __new__(cls, path: object = None, *args: object, **options: object) -> Self:
        """Return a client of a memory service if `path` is a URL."""
        if not is_url(path):
            return object.__new__(cls)
        root = next(each for each in cls.__mro__ if OpenedMemory in each.__bases__)
        return object.__new__(remote_class(cls, root))

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        graph: GraphStore | str | None = None,
        vectors: VectorIndex | str | None = None,
        embedder: object | None = None,
        reranker: object | None = "local",
        extractor: object | None = None,
        llm: object | None = None,
        settings: Settings | None = None,
        before_retain: object | None = None,
    ) -> None:
        if path is not None and path != IN_MEMORY:
            validation.folder_path("path", path)
        if settings is not None:
            validation.instance("settings", settings, Settings)
        _check_store("graph", graph, "list_banks")
        _check_store("vectors", vectors, "upsert")
        self._arguments = Arguments(
            path, graph, vectors, embedder, reranker, extractor, llm, settings or Settings(),
            before_retain,
        )  # fmt: skip
        self._where, self._runtime = open_runtime(self, self._arguments)
        self.banks = Banks(self._runtime)
        self.memories = Memories(self._runtime)
        self.documents = Documents(self._runtime)
        self.directives = Directives(self._runtime)
        self.tags = Tags(self._runtime)
        self.entities = Entities(self._runtime)
        self.observations = Observations(self._runtime)
        self.mental_models = MentalModels(self._runtime)
        self.opinions = Opinions(self._runtime)
        self.audit = Audit(self._runtime)
        self.changes = Changes(self._runtime)
        self.maintenance = Maintenance(self._runtime)
        self.storage = Storage(self._runtime)

    __init__.__qualname__ = "Hindsight.__init__"  # a TypeError names it

    # `__new__` takes anything; `help` and `inspect.signature` are to show the arguments instead.
    __new__.__wrapped__ = __init__  # type: ignore[attr-defined]

    @classmethod
    def in_memory(cls, **options: Unpack[MemoryOptions]) -> Self:
        """Open a memory that exists only as long as this object, with the constructor's options."""
        return cls(IN_MEMORY, **options)

    @classmethod
    def from_env(cls, **options: Unpack[EnvironmentOptions]) -> Self:
        """Open the memory configured by environment variables.

        `HINDSIGHT_PATH` is its folder (`./hindsight-memory` if unset), or the URL of a memory
        service; the other variables are then ignored. `HINDSIGHT_GRAPH` is the URL of a Neo4j
        server, `HINDSIGHT_VECTORS` the URL of a Chroma or Neo4j server, `HINDSIGHT_EMBEDDER` the
        name of an installed model, and `HINDSIGHT_<SETTING>` overrides a setting. A blank variable
        counts as unset; one whose name is nearly right is named in a warning of the log.
        """
        given: dict[str, object] = {**from_environment(), **options}
        if is_url(given["path"]):  # a service, which has stores, models and settings of its own
            given = {**options, "path": given["path"]}
        return cls(**given)  # type: ignore[arg-type]

    @classmethod
    def restore(
        cls,
        backup: str | os.PathLike[str],
        path: str | os.PathLike[str],
        **options: Unpack[MemoryOptions],
    ) -> Self:
        """Restore a backup written by `maintenance.backup` into a folder, and open it.

        Args:
            backup: the backup file.
            path: the folder, which must not contain a memory.
            options: the constructor's other arguments.

        Raises:
            ConflictError: the folder already contains a memory.
            InvalidInputError: the file is not a backup.
            NotFoundError: there is no such file.
            StoreCorruptError: the file is damaged; nothing was restored.
            SchemaVersionError: a newer release wrote the file.
        """
        validation.folder_path("path", path)
        restore_folder(backup, path)
        return cls(path, **options)

    def close(self) -> None:
        """Finish background work and release the folder. Idempotent.

        If this process has opened the folder several times, the last close releases it.
        """
        release(self, self._runtime)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # After Ctrl-C do not wait: unfinished work stays queued in the graph.
        release(self, self._runtime, finish=error is None)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await in_thread(self.__exit__, kind, error, trace)

    def __repr__(self) -> str:
        closed = ", closed" if self._runtime.is_closed else ""
        return f"Hindsight({self._where}{closed})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the constructor's arguments; unpickling opens the same memory with them."""
        self._arguments.check_picklable()
        return unpickled, (type(self), self._arguments.as_dict())

    def configure(
        self,
        *,
        llm: object | None = UNCHANGED,
        reranker: object | None = UNCHANGED,
        extractor: object | None = UNCHANGED,
    ) -> None:
        """Replace the language model, the reranker or the extractor of this running memory.

        Calls in progress finish with the parts they started with. A new extractor also extracts
        documents again when they are retained again.

        Args:
            llm: as for the constructor; None for no model. From now on it also extracts facts, if
                no extractor was given.
            reranker: as for the constructor: "local", None or any reranker.
            extractor: as for the constructor; None for the default.

        Raises:
            InvalidInputError: one of them cannot be used; nothing was changed.
            ClosedError: the memory is closed.
        """
        self._runtime.configure(llm=llm, reranker=reranker, extractor=extractor)

    # Parts, for advanced use

    @property
    def graph_store(self) -> GraphStore:
        """The graph store, the source of truth; its interface is in `stores.base`."""
        return self._runtime.graph

    @property
    def vector_index(self) -> VectorIndex:
        """The vector index, derived from the graph store."""
        return self._runtime.index

    vectors = vector_index
    """Older name of `vector_index`."""

    @property
    def settings(self) -> Settings:
        """The settings this client was opened with."""
        return self._runtime.settings

    @property
    def probes(self) -> dict[str, Callable[[], tuple[bool, str]]]:
        """Health checks of additional parts, by name; each returns (healthy, description)."""
        return self._runtime.probes

    @property
    def runtime(self) -> Runtime:
        """Stores, models, locks and background work, for extensions of this package."""
        return self._runtime

    @property
    def embedder(self) -> Embedder:
        """The embedder of this memory, which other parts of your program may use too."""
        return self._runtime.encoder.embedder

    @property
    def extractor(self) -> Extractor:
        """The extractor in use."""
        return self._runtime.extractor

    @property
    def reranker(self) -> Reranker | None:
        """The reranker in use; None if off."""
        return self._runtime.reranker

    aclose = async_variant(close)
    aconfigure = async_variant(configure)


def _check_store(what: str, given: object, method: str) -> None:
    """Raise `InvalidInputError` for what is neither a store, which has this method, nor a URL."""
    if given is None or isinstance(given, str) or hasattr(given, method):
        return
    raise InvalidInputError(f"{what} is {validation.shown(given)}; give a store, or a server's URL")
