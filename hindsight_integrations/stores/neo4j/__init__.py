"""The graph store and the vector index on a Neo4j server."""

from hindsight_integrations.stores.neo4j.graph import Neo4jGraph
from hindsight_integrations.stores.neo4j.index import Neo4jVectors

__all__ = ["Neo4jGraph", "Neo4jVectors"]
