"""Putting an engine together from what its caller gave, and from defaults for the rest."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cache
from typing import cast

from hindsight_integrations.core import Core
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.language.embed import Embedder, TokenEncoder, as_embedder
from hindsight_integrations.language.encode import TextEncoder
from hindsight_integrations.language.llm import StructuredModel, as_model
from hindsight_integrations.language.minilm import bundled
from hindsight_integrations.language.pipeline import Pipeline
from hindsight_integrations.language.tokens import Tokenizer, as_tokenizer
from hindsight_integrations.recall.rerankers import as_reranker
from hindsight_integrations.retain.extract import SentenceExtractor
from hindsight_integrations.retain.llm_extract import LLMExtractor
from hindsight_integrations.retain.ports import Extractor
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage import ledger
from hindsight_integrations.storage.chroma_vectors import ChromaVectors
from hindsight_integrations.storage.folder import Folder
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.sqlite import SqliteGraph

IN_MEMORY = ":memory:"
"""The path of a memory that lasts as long as its engine."""


def assemble(
    *,
    path: str | os.PathLike[str] | None,
    graph: GraphStore | str | None,
    vectors: VectorIndex | str | None,
    embedder: object | None,
    reranker: object | None,
    extractor: object | None,
    llm: object | None,
    settings: Settings,
) -> tuple[str, Core]:
    """Where the memory is, for its repr, and its parts.

    Raises:
        InvalidInputError: the parts given do not make a memory.
        StoreError: a store cannot be opened.
    """
    if path is None and (graph is None or vectors is None):
        raise InvalidInputError(
            "nowhere to keep memories: give a folder, as in Hindsight('./memories'), or call "
            "Hindsight.in_memory()"
        )
    encoder = _encoder(embedder)
    tokenizer = as_tokenizer("cl100k_base")
    model = None if llm is None else as_model(llm)
    chosen = _extractor(extractor, model, settings, tokenizer)
    order = None if reranker is None or reranker == "local" else as_reranker(reranker)
    with ExitStack() as opened:
        where, store, index = _stores(path, graph, vectors, settings, opened)
        core = Core(
            graph=store,
            index=index,
            encoder=encoder,
            extractor=chosen,
            tokenizer=tokenizer,
            settings=settings,
            reranker=order,
            reranking=reranker is not None,
            model=model,
            release=opened.pop_all().close,
        )
    core.flush()
    core.purge_deleted()  # left by a deletion that was interrupted
    core.reflect_on_leftovers()
    return where, core


def _stores(
    path: str | os.PathLike[str] | None,
    graph: GraphStore | str | None,
    vectors: VectorIndex | str | None,
    settings: Settings,
    opened: ExitStack,
) -> tuple[str, GraphStore, VectorIndex]:
    """The stores; what is opened on the way is closed again if a later step fails."""
    embedded = path is not None and path != IN_MEMORY
    folder = None
    if embedded and (graph is None or vectors is None):
        place = cast("str | os.PathLike[str]", path)
        folder = opened.enter_context(Folder.shared(place) if vectors else Folder.open(place))
    if isinstance(graph, str):
        store = _graph_server(graph)
    else:
        at = folder.graph_path if folder else None
        store = graph or SqliteGraph(at, durable=settings.durable)
    if graph is None or isinstance(graph, str):
        opened.callback(store.close)
    index: VectorIndex
    if vectors is None:
        index = ledger.open_index(folder, store) if folder else ChromaVectors.in_memory()
    else:
        index = _vector_server(vectors, store) if isinstance(vectors, str) else vectors
        ledger.fill(store, index)
    places = [] if path is None else ["in memory" if path == IN_MEMORY else repr(os.fspath(path))]
    places += [repr(part) for part, given in ((store, graph), (index, vectors)) if given]
    return ", ".join(places), store, index


def _graph_server(url: str) -> GraphStore:
    """Neo4j, with the credentials of the environment, as its own tools read them."""
    from hindsight_integrations.storage.neo4j import Neo4jGraph

    return Neo4jGraph(
        url,
        user=os.environ.get("NEO4J_USERNAME"),
        password=os.environ.get("NEO4J_PASSWORD"),
        database=os.environ.get("NEO4J_DATABASE", "neo4j"),
    )


def _vector_server(url: str, store: GraphStore) -> VectorIndex:
    """A Chroma server, where each graph has collections of its own."""
    return ChromaVectors.at_server(
        url, token=os.environ.get("CHROMA_TOKEN"), namespace=f"memory-{store.identity()}"
    )


def _encoder(embedder: object | None) -> TextEncoder:
    """With another embedder, the bundled model still reads the tokens for late interaction."""
    if embedder is None:
        model = bundled()
        return TextEncoder(model, model)
    foreign: Embedder = as_embedder(embedder)
    tokens: TokenEncoder = foreign if isinstance(foreign, TokenEncoder) else bundled()
    return TextEncoder(foreign, tokens)


def _extractor(
    extractor: object | None,
    model: StructuredModel | None,
    settings: Settings,
    tokenizer: Tokenizer,
) -> Extractor:
    if extractor is not None:
        if not callable(getattr(extractor, "extract", None)) or not hasattr(extractor, "id"):
            raise InvalidInputError(
                f"extractor is a {type(extractor).__name__}; give an object with an `id` and an "
                "`extract(passages, known)` method, or a chat model as llm="
            )
        return cast(Extractor, extractor)
    if model is not None:
        return LLMExtractor(
            model,
            fact_tokens=settings.fact_tokens,
            hemisphere=settings.hemisphere,
            tokenizer=tokenizer,
        )
    return SentenceExtractor(
        count=tokenizer.count,
        fact_tokens=settings.fact_tokens,
        pipeline=_bundled_pipeline(),
        hemisphere=settings.hemisphere,
    )


@cache
def _bundled_pipeline() -> Pipeline:
    return Pipeline()
