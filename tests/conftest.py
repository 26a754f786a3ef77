"""Shared by all tests: engines on real stores, with the real bundled models."""

from __future__ import annotations

import os

# Each worker of a parallel run has a core to itself: numpy's threads would only wait for one
# another there. numpy reads this when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from hindsight_integrations import Hindsight, Settings

# A run says the same twice; `make check` tries fewer examples. To look for what no run has seen:
# HYPOTHESIS_PROFILE=search
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of Neo4j to one worker: they share a server, and would wait for each other."""
    for item in items:
        given = getattr(item, "callspec", None)
        fixtures = getattr(item, "fixturenames", ())
        shared = "neo4j_address" in fixtures or (given and "neo4j" in given.params.values())
        if shared and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("neo4j"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    for reason in {each.longrepr[2] for each in skipped if "no Neo4j" in each.longrepr[2]}:
        terminalreporter.write_line(reason)


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    """An engine in memory: real SQLite, real Chroma, real models.

    It makes no observations by itself, so that a bank holds just what the test retained.
    """
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for an embedded memory; a non-ASCII name with a blank, as people have them."""
    return tmp_path / "my memories é"
