"""Location of the measured banks: a folder, or the servers that the environment names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.speed.machine import disk_usage
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.settings import Settings

SERVERS = ("HINDSIGHT_GRAPH", "HINDSIGHT_VECTORS")
"""Variables of the environment with the URLs of both servers."""

PATIENT = Settings(consolidate=False, recall_timeout=120, arm_timeout=60)
"""Consolidates nothing, and waits longer than a busy machine takes for the first answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder; or, without one, the servers."""

    folder: Path | None = None

    def open(self, **options: Any) -> Hindsight:
        """The memory there, with the settings `PATIENT`."""
        given = {"path": self.folder, "settings": PATIENT, **options}
        if self.folder is None:
            return Hindsight.from_env(**given)
        return Hindsight(**given)

    def disk(self) -> int | None:
        """Bytes of the folder's files; None of servers, whose disks are their own."""
        return None if self.folder is None else disk_usage(self.folder)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Servers that hold nothing before the block and, of what it made, nothing after.

        Raises:
            InvalidInputError: the environment lacks a URL, or there are banks on the servers.
        """
        if self.folder is not None:
            yield
            return
        if missing := [name for name in SERVERS if not os.environ.get(name)]:
            raise InvalidInputError(
                f"{' and '.join(missing)} not set; give the URLs of servers that run, such as "
                "neo4j://localhost:7687 and http://localhost:8000"
            )
        with self.open() as memory:
            if found := memory.banks.list():
                raise InvalidInputError(
                    f"there are banks on the servers ({len(found)}); name servers, or a database, "
                    "that nobody uses: what is made to be measured is deleted again"
                )
            try:
                yield
            finally:
                for bank in memory.banks.list():
                    memory.banks.delete(bank.id)
