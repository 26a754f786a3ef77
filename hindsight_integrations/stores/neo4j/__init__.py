"""The graph store on a Neo4j server."""

from hindsight_integrations.stores.neo4j.graph import Neo4jGraph

__all__ = ["Neo4jGraph"]
