"""The tests of the engine's own API, run through a service.

Each test whose memory comes from a fixture of `tests/conftest.py` is: `python -m pytest --remote`.
One that looks into the memory's own process is marked `local`, and left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ADAPTERS = "durable export_import langchain llamaindex sessions workspace".split()
"""Folders of tests of what is built on the client; the others are those of the engine itself."""
WITHOUT = "mcp_server nlp recall reflect retain service stores torture viewer".split()
"""Folders of tests that look at one part alone, or make their own memory."""

SOCKETS = "ignore::pytest.PytestUnraisableExceptionWarning"
"""A socket that the garbage collector closes after its event loop has ended fails no test."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "least"),
    [
        ([f"tests/{folder}" for folder in ADAPTERS], 900),
        ([*(f"--ignore=tests/{folder}" for folder in (*ADAPTERS, *WITHOUT)), "tests"], 400),
    ],
    ids=["adapters", "engine"],
)
def test_the_tests_of_the_api_pass_through_a_service(given: list[str], least: int) -> None:
    """At least so many tests have to be run, so that none is left out by mistake."""
    options = "--remote -p no:xdist -p no:cacheprovider -p no:schemathesis -m".split()
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "not slow", "-W", SOCKETS, *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed[1]) >= least
