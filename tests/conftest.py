"""Shared by all tests: engines on real stores, with the real bundled models."""

from __future__ import annotations

import gc
import os

# The workers of a parallel run keep all cores busy: numpy's threads would only wait for one another
# there. numpy reads this when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# The memory of whoever runs the tests is no test's memory.
os.environ.pop("HINDSIGHT_GRAPH", None)
os.environ.pop("HINDSIGHT_VECTORS", None)

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.nlp.onnx_encoder import cores

from .remembered import Reading

RUN_MYPY = ("test_type_hints.py", "test_typing.py")
"""Modules of tests that check programs, and with them the package and what it imports."""

Reached = Callable[[Hindsight], AbstractContextManager[Hindsight]]

# A run says the same twice; `make check` tries fewer examples. To look for what no run has seen:
# HYPOTHESIS_PROFILE=search
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


# The modules of tests stay until the end: looking through them for garbage, again and again, took
# a fifth of the time to load them.
FREQUENT = gc.get_threshold()
gc.set_threshold(50_000, 20, 100)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return two workers more than cores for slow tests, which wait for servers and disks."""
    if config.getoption("markexpr") or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # as many as xdist makes
    return cores() + 2


def pytest_configure(config: pytest.Config) -> None:
    """Raise `UsageError` if xdist would spread the tests of a group over its workers.

    It writes the group into a field of the test that pytest has no more from 9.2 on.
    """
    if config.getoption("dist", "no") == "loadgroup" and not hasattr(pytest.Item, "_nodeid"):
        raise pytest.UsageError("pytest-xdist does not group tests here; install 'pytest<9.2'")


READING = Reading()
READING.install()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    READING.off = "nlp" in item.path.parts


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(*FREQUENT)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of `--remote`; give those that share a server or fixtures to one worker.

    A remote run has all tests whose memory comes from the fixtures here, and none of those that do
    without. Slow tests come first, so that no worker waits at the end for the other's last; those
    that run mypy come last, when the run of it beside the tests has filled its cache.
    """
    if config.getoption("--remote"):
        served = [each for each in items if "reached" in getattr(each, "fixturenames", ())]
        config.hook.pytest_deselected(items=[each for each in items if each not in served])
        items[:] = served
    for item in items:
        if item.get_closest_marker("local") and item.config.getoption("--remote"):
            item.add_marker(pytest.mark.skip(reason="looks at the memory's own process"))
        group = _group(item)
        if group is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path.name in RUN_MYPY, item.path not in slow))


def _group(item: pytest.Item) -> str | None:
    """Return the server, package or module whose fixtures a test shares with others, if any.

    Each test needs Neo4j's database for itself. Most are those of the store alone: a server of
    their own, in another worker, takes half of the time.
    """
    given = getattr(item, "callspec", None)
    fixtures = getattr(item, "fixturenames", ())
    if "neo4j_address" in fixtures or (given and "neo4j" in given.params.values()):
        return "neo4j graph" if "stores" in item.path.parts else "neo4j"
    info = getattr(item, "_fixtureinfo", None)
    shared = [
        fixture[-1].baseid if fixture[-1].scope == "package" else item.nodeid.partition("::")[0]
        for fixture in (info.name2fixturedefs.values() if info else ())
        if fixture[-1].scope in ("module", "package") and fixture[-1].baseid.startswith("tests/")
    ]
    return min(shared, key=len, default=None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    for reason in {each.longrepr[2] for each in skipped if "no Neo4j" in each.longrepr[2]}:
        terminalreporter.write_line(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--remote", action="store_true", help="give the tests their memory through a service"
    )


@pytest.fixture(scope="session")
def reached(pytestconfig: pytest.Config) -> Iterator[Reached]:
    """A function that gives a memory as it is, or with `--remote` through a service."""
    if not pytestconfig.getoption("--remote"):
        yield nullcontext
        return
    from tests.service.served import Present, served

    present = Present()

    @contextmanager
    def through_service(engine: Hindsight) -> Iterator[Hindsight]:
        with present.given(engine), type(engine)(url) as remote:
            yield remote

    with served(present) as url:
        yield through_service


@pytest.fixture
def memory(reached: Reached) -> Iterator[Hindsight]:
    """An engine in memory: real SQLite, real Chroma, real models.

    It makes no observations by itself, so that a bank holds just what the test retained.
    """
    with (
        Hindsight.in_memory(settings=Settings(consolidate=False)) as engine,
        reached(engine) as given,
    ):
        yield given


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for an embedded memory; a non-ASCII name with a blank, as people have them."""
    return tmp_path / "my memories é"
