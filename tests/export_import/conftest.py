"""One bank with some of everything and its file, made once for all these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight

from .banks import RESTING, export, lived_in


@pytest.fixture(scope="package")
def home() -> Iterator[Hindsight]:
    """An engine with a bank "alice" that is only to be read, and room for others."""
    with Hindsight.in_memory(settings=RESTING) as memory:
        lived_in(memory, "alice")
        yield memory


@pytest.fixture(scope="package")
def whole(home: Hindsight, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bank "alice" as a file."""
    path = tmp_path_factory.mktemp("whole") / "alice.jsonl"
    export(home, "alice", path)
    return path
