"""The engine a user holds: memory banks that retain, recall and forget.

Each verb checks its arguments and hands over to one stage. Everything else about banks,
memories, entities and upkeep lives in the namespaces.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from hindsight_integrations import assembly
from hindsight_integrations.asynchronous import Closing, twin
from hindsight_integrations.catalog.banks import Banks
from hindsight_integrations.catalog.entities import Entities
from hindsight_integrations.catalog.maintenance import Health, Maintenance
from hindsight_integrations.catalog.memories import Memories
from hindsight_integrations.catalog.mental_models import MentalModels
from hindsight_integrations.catalog.observations import Observations
from hindsight_integrations.catalog.opinions import Opinions
from hindsight_integrations.engine.consolidating import Consolidating
from hindsight_integrations.engine.recalling import Recalling
from hindsight_integrations.engine.reflecting import Reflecting
from hindsight_integrations.engine.retaining import Retaining
from hindsight_integrations.language.embed import Embedder
from hindsight_integrations.language.minilm import bundled
from hindsight_integrations.recall.ports import Reranker
from hindsight_integrations.recall.rerankers import LateInteraction
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.ports import GraphStore, VectorIndex


class Hindsight(Closing, Retaining, Recalling, Consolidating, Reflecting):
    """Long-term memory: banks that retain text, and recall what answers a question.

    With a folder everything is embedded: the graph in SQLite, the vectors in Chroma, the models
    on the CPU. One process owns the folder at a time, and any number of its threads share it.

    Args:
        path: folder of the memory; made if there is none.
        graph: a graph store in place of the folder's, or the URL of a Neo4j server, such as
            "neo4j://localhost:7687". Its credentials are read from `NEO4J_USERNAME`,
            `NEO4J_PASSWORD` and `NEO4J_DATABASE`.
        vectors: a vector index in place of the folder's, or the URL of a Chroma server, such as
            "http://localhost:8000". Its token is read from `CHROMA_TOKEN`.
        embedder: any embedder: one of ours, LangChain's, LlamaIndex's, sentence-transformers',
            or a function from texts to vectors. By default all-MiniLM-L6-v2, bundled.
        reranker: "local" for the built-in one; None for the order of the fusion alone; or any
            reranker: a function of (query, texts) to scores, a LangChain document compressor, a
            LlamaIndex postprocessor, a sentence-transformers CrossEncoder.
        extractor: draws facts from text; by default one that needs no LLM.
        llm: a LangChain chat model, a LlamaIndex LLM or a function (system, user) -> reply: what
            reflect and consolidate ask, and what draws facts if no extractor is given.
        settings: tunables; see `Settings`.

    Raises:
        InvalidInputError: neither a folder nor both stores were given.
        StoreLockedError: another process owns the folder.
        StoreUnavailableError: the folder cannot be read or written, or a server not reached.
        SchemaVersionError: a newer release of this package wrote the folder.

    Example:
        >>> with Hindsight.in_memory() as memory:
        ...     _ = memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        ...     print(memory.recall("alice", "Where did Alice work in spring 2021?")[0].memory.text)
        Alice joined Northwind in March 2021 as a designer.
    """

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
    ) -> None:
        self._where, self._core = assembly.assemble(
            path=path,
            graph=graph,
            vectors=vectors,
            embedder=embedder,
            reranker=reranker,
            extractor=extractor,
            llm=llm,
            settings=settings or Settings(),
        )
        self.banks = Banks(self._core)
        self.memories = Memories(self._core)
        self.entities = Entities(self._core)
        self.observations = Observations(self._core)
        self.mental_models = MentalModels(self._core)
        self.opinions = Opinions(self._core)
        self.maintenance = Maintenance(self._core)

    @classmethod
    def in_memory(cls, **options: object) -> Self:
        """A memory that lasts as long as this object; takes what the constructor takes."""
        return cls(assembly.IN_MEMORY, **options)  # type: ignore[arg-type]

    @classmethod
    def from_env(cls, **options: object) -> Self:
        """The memory that the environment names.

        `HINDSIGHT_PATH` is its folder (`./hindsight-memory` if unset), `HINDSIGHT_GRAPH` the URL
        of a Neo4j server, `HINDSIGHT_VECTORS` that of a Chroma server, and `HINDSIGHT_<SETTING>`
        overrides a setting.
        """
        given: dict[str, object] = {
            "path": os.environ.get("HINDSIGHT_PATH", "./hindsight-memory"),
            "graph": os.environ.get("HINDSIGHT_GRAPH") or None,
            "vectors": os.environ.get("HINDSIGHT_VECTORS") or None,
            "settings": Settings.from_env(),
        }
        return cls(**(given | options))  # type: ignore[arg-type]

    @property
    def embedder(self) -> Embedder:
        """What turns this memory's texts into vectors: for other parts of your program."""
        return self._core.encoder.embedder

    @property
    def reranker(self) -> Reranker | None:
        """What the constructor was given, or late interaction with this memory's own model."""
        parts = self._core.recalling
        if parts.reranker is None and parts.reranking:
            return LateInteraction(self._core.encoder.tokens or bundled())
        return parts.reranker

    def health(self) -> Health:
        """Whether each part answers, and how far the vector index is behind."""
        return self.maintenance.health()

    def close(self) -> None:
        """Finish what runs in the background, and release the folder. Twice is harmless."""
        self._core.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Somebody who pressed Ctrl-C does not wait: what is left waits in the graph.
        self._core.close(finish=error is None)

    def __repr__(self) -> str:
        return f"Hindsight({self._where})"

    ahealth = twin(health)
    aclose = twin(close)
