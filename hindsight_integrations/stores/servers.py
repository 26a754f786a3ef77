"""Stores on servers that a URL names, with the credentials of the environment."""

from __future__ import annotations

import os
from typing import TypedDict

from hindsight_integrations.stores.base import GraphStore, VectorIndex
from hindsight_integrations.stores.chroma.index import ChromaVectors


class _Credentials(TypedDict):
    user: str | None
    password: str | None
    database: str


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
    return ChromaVectors.at_server(url, token=os.environ.get("CHROMA_TOKEN"), namespace=namespace)


def _neo4j_credentials() -> _Credentials:
    """Return what the environment variables say that Neo4j's own tools read."""
    return {
        "user": os.environ.get("NEO4J_USERNAME"),
        "password": os.environ.get("NEO4J_PASSWORD"),
        "database": os.environ.get("NEO4J_DATABASE", "neo4j"),
    }
