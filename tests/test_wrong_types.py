"""Thousands of calls with arguments of wrong kinds: only our own errors come out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from tests.torture.fuzz import fuzz, methods

CALLS = int(os.environ.get("HINDSIGHT_TORTURE_CALLS", "3000"))
"""Calls made; `make torture` can ask for more."""


@pytest.mark.slow
def test_nothing_but_our_own_errors_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of the paths can be written
    settings = Settings(consolidate=False, max_content_chars=30_000)
    with Hindsight.in_memory(settings=settings) as memory:
        ends, escaped = fuzz(memory, CALLS)
    assert not escaped
    assert ends["InvalidInputError"] > CALLS / 2
    assert ends["answered"] > CALLS / 30


@pytest.mark.local
def test_every_namespace_is_put_to_the_test(memory: Hindsight) -> None:
    names = set(methods(memory))
    assert {"retain", "recall", "reflect", "forget", "banks.export", "tags.rename"} <= names
    assert len(names) > 50
