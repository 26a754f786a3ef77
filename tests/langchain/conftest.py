"""One engine for a module: its models are loaded once, its banks are the tests' own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations import Hindsight, Settings
from tests.conftest import Reached


@pytest.fixture(scope="module")
def engine(reached: Reached) -> Iterator[Hindsight]:
    """Shared by the tests of a module; each uses banks of its own.

    It draws no observations in the background, so that a bank holds what a test put there.
    """
    with (
        Hindsight.in_memory(settings=Settings(consolidate=False)) as memory,
        reached(memory) as given,
    ):
        yield given


@pytest.fixture
def bank(request: pytest.FixtureRequest) -> str:
    """A bank that no other test uses."""
    return f"bank of {request.node.name}"


@pytest.fixture
def closed() -> Hindsight:
    """An engine that fails at everything."""
    memory = Hindsight.in_memory()
    memory.close()
    return memory
