"""One engine for the tests of a file, and a bank of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import Reached
from tests.llamaindex.engines import AS_SAID, CountingHindsight

pytest.register_assert_rewrite("hindsight_integrations.llamaindex.testing")


@pytest.fixture(scope="module")
def engine(reached: Reached) -> Iterator[CountingHindsight]:
    with CountingHindsight.in_memory(settings=AS_SAID) as engine, reached(engine) as given:
        yield given  # type: ignore[misc]


@pytest.fixture
def bank(request: pytest.FixtureRequest) -> str:
    return request.node.name[:200]
