"""The script that breaks the ranking: what it finds to break, and that it tells what survived."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from hindsight_integrations.recall.weights import Weights
from tests.mutate_ranking import all_mutants, ranking_tests

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.mutate_ranking", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_weight_and_every_signal_is_broken() -> None:
    found = [f"{mutant.scope}: {mutant.change}" for mutant in all_mutants()]
    for field in fields(Weights):
        sign, zero = (text for text in found if text.startswith(f"Weights.{field.name}: "))
        assert sign.endswith(f"→  {-field.default!r}")
        assert zero.endswith("→  0.0")
        assert any(f"weights.{field.name}" in text for text in found)
    for signal in ("pagerank", "residual", "asks", "answers", "information", "shared name"):
        for change in ("dropped", "negated", "counted as zero"):
            assert any(text.endswith(f"signal '{signal}' {change}") for text in found)
    assert any(text.startswith("EntityGraph.strength: return ") for text in found)


def test_the_tests_it_runs_are_those_marked() -> None:
    assert ROOT / "tests/recall/test_ranking_signals.py" in ranking_tests()
    assert ROOT / "tests/test_recall.py" not in ranking_tests()


@pytest.mark.slow
def test_what_tests_notice_is_killed() -> None:
    done = run("--only", "Weights.a")
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("all")] == [
        ["all", "4", "0"]
    ]


@pytest.mark.slow
def test_what_no_test_notices_survives_and_is_named() -> None:
    tests = str(ROOT / "tests/recall/test_conversation_signals.py")
    done = run("--only", "SURROUNDINGS", "--tests", tests)
    assert done.returncode == 1, done.stderr
    assert "SURROUNDINGS  40  →  -40" in done.stdout
    assert "SURROUNDINGS  40  →  0" in done.stdout


@pytest.mark.slow
def test_a_run_of_no_tests_is_no_measure() -> None:
    unmarked = ROOT / "tests" / "test_mutate_ranking.py"
    done = run("--only", "Weights.asks", "--tests", str(unmarked))
    assert done.returncode == 1
    assert "MutationError" in done.stderr
