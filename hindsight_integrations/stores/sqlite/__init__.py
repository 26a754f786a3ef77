"""The embedded graph store, on SQLite."""

from hindsight_integrations.stores.sqlite.graph import SqliteGraph

__all__ = ["SqliteGraph"]
