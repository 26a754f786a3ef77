"""Each test has a queue of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    return tmp_path / "retains é.queue"
