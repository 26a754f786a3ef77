"""Shared by all tests: engines on real stores, with the real bundled models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    """An engine in memory: real SQLite, real Chroma, real models."""
    with Hindsight.in_memory() as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for an embedded memory; a non-ASCII name with a blank, as people have them."""
    return tmp_path / "my memories é"
