"""The graph store on a Neo4j server."""

from hindsight_integrations.storage.neo4j.graph import Neo4jGraph

__all__ = ["Neo4jGraph"]
