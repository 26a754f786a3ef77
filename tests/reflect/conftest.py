"""Reflection is tested on banks where nothing is drawn in the background meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations import Hindsight, Settings


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    """An engine in memory that consolidates only when it is told to."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as engine:
        yield engine
