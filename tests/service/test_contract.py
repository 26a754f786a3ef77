"""Tests of the engine's own API, run through a service.

Any test that takes `memory` or `engine` can be: `python -m pytest --remote tests/...`. Here are
those of the adapters that need most of the API, and some of the namespaces.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = (
    "tests/langchain/test_vectorstore.py",
    "tests/llamaindex/test_vectorstore.py",
    "tests/sessions/test_insights_in_a_bank.py",
    "tests/test_audit.py",
    "tests/test_directives.py",
    "tests/test_documents_and_tags.py",
    "tests/test_recall_options.py",
)


@pytest.mark.slow
def test_the_tests_of_the_api_pass_through_a_service() -> None:
    options = ["--remote", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *FILES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-3000:]
