"""The stores that a folder or URLs name, with the credentials of the environment."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TypedDict, cast

from hindsight_integrations.settings import variable
from hindsight_integrations.stores import folder_index
from hindsight_integrations.stores.base import GraphStore, VectorIndex
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.folder import Folder
from hindsight_integrations.stores.sqlite import SqliteGraph

IN_MEMORY = ":memory:"
"""Path of a memory that lasts as long as its client."""


class _Credentials(TypedDict):
    user: str | None
    password: str | None
    database: str


def embedded_in(path: str | os.PathLike[str] | None) -> bool:
    """Return True if the path is that of a folder."""
    return path is not None and path != IN_MEMORY


def open_stores(
    path: str | os.PathLike[str] | None,
    graph: GraphStore | str | None,
    vectors: VectorIndex | str | None,
    opened: ExitStack,
    *,
    durable: bool,
) -> tuple[str, GraphStore, VectorIndex]:
    """Open the stores; those opened already are closed again if a later step fails."""
    folder = None
    if embedded_in(path) and (graph is None or vectors is None):
        place = cast("str | os.PathLike[str]", path)
        folder = opened.enter_context(Folder.shared(place) if vectors else Folder.open(place))
    if isinstance(graph, str):
        store = graph_at(graph)
    else:
        if graph is None and folder:
            folder_index.check_graph_file(folder)
        at = folder.graph_path if folder else None
        store = graph or SqliteGraph(at, durable=durable)
    if graph is None or isinstance(graph, str):
        opened.callback(store.close)
    index: VectorIndex
    if vectors is None:
        index = folder_index.open_index(folder, store) if folder else ChromaVectors.in_memory()
    else:
        index = vectors_at(vectors, store) if isinstance(vectors, str) else vectors
    if vectors is None or isinstance(vectors, str):
        opened.callback(index.close)
    places = [] if path is None else ["in memory" if path == IN_MEMORY else repr(os.fspath(path))]
    places += [repr(part) for part, given in ((store, graph), (index, vectors)) if given]
    return ", ".join(places), store, index


def graph_at(url: str) -> GraphStore:
    """Open the graph of a Neo4j server."""
    from hindsight_integrations.stores.neo4j import Neo4jGraph

    return Neo4jGraph(url, **_neo4j_credentials())


def vectors_at(url: str, graph: GraphStore) -> VectorIndex:
    """Open the vector index of a Chroma or Neo4j server, where each graph has its own namespace."""
    namespace = f"memory-{graph.identity()}"
    if url.startswith(("neo4j", "bolt")):
        from hindsight_integrations.stores.neo4j import Neo4jVectors

        return Neo4jVectors(url, namespace=namespace, **_neo4j_credentials())
    return ChromaVectors.at_server(url, token=variable("CHROMA_TOKEN"), namespace=namespace)


def _neo4j_credentials() -> _Credentials:
    """Return what the environment variables say that Neo4j's own tools read."""
    return {
        "user": variable("NEO4J_USERNAME"),
        "password": variable("NEO4J_PASSWORD"),
        "database": variable("NEO4J_DATABASE") or "neo4j",
    }
