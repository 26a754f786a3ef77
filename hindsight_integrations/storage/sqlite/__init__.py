"""The embedded graph store, on SQLite."""

from hindsight_integrations.storage.sqlite.graph import SqliteGraph

__all__ = ["SqliteGraph"]
