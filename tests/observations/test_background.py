"""Observations are drawn in the background, and what was left waiting is gone on with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.settings import Settings

from .statements import REACT, VUE, say


@pytest.mark.slow
def test_the_background_draws_what_an_explicit_run_would() -> None:
    with Hindsight.in_memory(settings=Settings(consolidation_delay=0.0)) as memory:
        say(memory, REACT)
        say(memory, VUE, 100)
        assert memory.wait_idle(60)
        assert "first React, then Vue" in memory.observations.list("b").items[0].text
        assert memory.health().ok


def test_closing_finishes_what_is_waiting(folder: object) -> None:
    with Hindsight(folder, settings=Settings(consolidation_delay=3600)) as memory:  # type: ignore[arg-type]
        say(memory, REACT)
        say(memory, VUE, 100)
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:  # type: ignore[arg-type]
        assert len(memory.observations.list("b").items) == 1


def left_waiting(folder: Path) -> None:
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:
        say(memory, REACT)
        say(memory, VUE, 100)


def test_opening_goes_on_with_what_was_left(folder: Path) -> None:
    left_waiting(folder)
    with Hindsight(folder) as memory:
        memory.banks.create("another")
        assert memory.wait_idle(60)
        assert "first React, then Vue" in memory.observations.list("b").items[0].text


def test_opening_leaves_alone_what_its_settings_or_embedder_are_not_for(folder: Path) -> None:
    left_waiting(folder)

    def lengths(texts: list[str]) -> list[list[float]]:
        return [[1.0, len(text)] for text in texts]

    with Hindsight(folder, embedder=lengths) as memory:
        assert memory.wait_idle(60)
        assert memory.health().ok
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:
        assert memory.wait_idle(60)
        assert memory.observations.list("b").items == []


def test_an_import_goes_on_with_what_was_left(memory: Hindsight, tmp_path: Path) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    memory.banks.export("b", tmp_path / "b.jsonl")
    with Hindsight.in_memory() as other:
        other.banks.import_(tmp_path / "b.jsonl")
        assert other.wait_idle(60)
        assert len(other.observations.list("b").items) == 1


RETAIN_AND_WAIT = """
import sys, time
from datetime import datetime, UTC
from hindsight_integrations import Hindsight, Message, Settings

memory = Hindsight(sys.argv[1], settings=Settings(consolidation_delay=3600))
for month, text in zip((1, 4), sys.argv[2:]):
    said = datetime(2025, month, 6, tzinfo=UTC)
    memory.retain_messages("b", [Message("Inês", text, said)], session=str(month))
print("retained", flush=True)
time.sleep(3600)
"""


@pytest.mark.slow
def test_what_a_killed_process_left_is_reflected_on(folder: Path) -> None:
    command = [sys.executable, "-c", RETAIN_AND_WAIT, str(folder), REACT, VUE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "retained\n"
        process.kill()
    with Hindsight(folder) as memory:
        assert memory.wait_idle(60)
        assert "first React, then Vue" in memory.observations.list("b").items[0].text
