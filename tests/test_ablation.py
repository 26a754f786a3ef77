"""Leaving parts out and fitting weights: the same questions, gathered once and ranked often."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality import held_out, relevance
from benchmarks.quality.ablation import SIGNALS, main, without
from benchmarks.quality.fitting import NEUTRAL, fit
from benchmarks.quality.study import Study, best_first
from hindsight_integrations import Hindsight
from hindsight_integrations.evaluate import evaluate, parse_dataset
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS, Weights

DATA = {
    "dataset": "harbour",
    "banks": [
        {
            "id": "crew",
            "items": [
                {"id": "m1", "speaker": "Ana", "session": "s1", "ts": "2024-05-07T10:00",
                 "text": "I moved to Porto in May."},
                {"id": "m2", "speaker": "Bruno", "session": "s1", "ts": "2024-05-07T10:01",
                 "text": "How is the new kitchen?"},
                {"id": "m3", "speaker": "Ana", "session": "s1", "ts": "2024-05-07T10:02",
                 "text": "Tiny, but it has a window to the river."},
                {"id": "m4", "speaker": "Bruno", "session": "s2", "ts": "2024-08-01T09:00",
                 "text": "My sister Clara repairs old clocks in Lisbon."},
                {"id": "m5", "speaker": "Ana", "session": "s2", "ts": "2024-08-01T09:01",
                 "text": "I lost my bicycle at the station yesterday."},
            ],
            "questions": [
                {"id": "q1", "question": "Where did Ana move?", "gold": ["m1"]},
                {"id": "q2", "question": "Who repairs clocks?", "gold": ["m4"]},
                {"id": "q3", "question": "What is Ana's kitchen like?", "gold": ["m3"]},
                {"id": "q4", "question": "Is this one counted?", "gold": ["m5"], "scored": False},
            ],
        }
    ],
}  # fmt: skip


DATA["banks"][0]["items"] += [  # type: ignore[index]
    {"id": f"x{n}", "speaker": "Bruno", "session": "s3", "ts": "2024-09-01T09:00",
     "text": f"Tide table {n} hangs by the door, next to the {thing}."}
    for n, thing in enumerate("lamp rope oar map net bell flag hook chart radio".split() * 3)
]  # fmt: skip


@pytest.fixture(scope="module")
def study() -> Iterator[Study]:
    with Hindsight.in_memory() as memory:
        yield Study(memory, parse_dataset(DATA))


@pytest.mark.slow
def test_the_weights_in_use_give_the_figures_of_recall_itself(study: Study) -> None:
    recalled = evaluate(parse_dataset(DATA), engine=Hindsight.in_memory).overall
    ranked = study.figures(DEFAULT_WEIGHTS, (1024, 2048, 4096))
    assert {name: ranked[name] for name in recalled} == pytest.approx(recalled)


def test_each_weight_stands_for_a_part() -> None:
    assert {name for names in SIGNALS.values() for name in names} == {
        field.name for field in fields(Weights)
    }


def test_questions_that_are_not_scored_are_left_out(study: Study) -> None:
    assert [case.asked.id for case in study.cases] == ["q1", "q2", "q3"]


def test_a_weight_left_out_changes_no_more_than_the_order(study: Study) -> None:
    for names in SIGNALS.values():
        weights = without(names)
        assert all(getattr(weights, name) == 0 for name in names)
        for case in study.cases:
            assert sorted(best_first(case, weights)) == sorted(best_first(case, DEFAULT_WEIGHTS))


def test_fitting_ends_no_worse_than_it_began(study: Study) -> None:
    others = ("meaning", "neighbours", "second_neighbours", "session", "answers", "speaker")
    silent = dict.fromkeys(others, 0.0)
    wrong = replace(NEUTRAL, interaction=-3.0, **silent)
    fitted = fit([study], wrong)
    worst, best = (study.figures(weights, (4096,)) for weights in (wrong, fitted))
    assert best["R@5"] > worst["R@5"]


@pytest.mark.slow
def test_the_module_writes_a_table_with_a_row_a_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, page = [tmp_path / "harbour.json", tmp_path / "again.json"], tmp_path / "page.md"
    for file in files:
        file.write_text(json.dumps(DATA), encoding="utf-8")
    assert main([*map(str, files), "--markdown", str(page)]) == 0
    shown = capsys.readouterr().out
    for part in ("everything", *(f"without {name}" for name in SIGNALS)):
        assert f"| {part} |" in shown
    assert "without the entity arm" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_weights_are_fitted_without_each_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"{name}.json" for name in ("harbour", "quay", "kitchen")]
    for file, data in zip(files, (DATA, DATA, KITCHEN), strict=True):
        file.write_text(json.dumps(data), encoding="utf-8")
    assert held_out.main([*map(str, files), "--kind", "harbour,quay"]) == 0
    shown = capsys.readouterr().out
    assert "| fitted without its kind |" in shown
    assert "| without harbour quay | without kitchen |" in shown


KITCHEN = {
    "dataset": "kitchen",
    "banks": [
        {
            "id": "cook",
            "items": [
                {"id": "k1", "text": "Sourdough wants a hot oven and twelve hours."},
                {"id": "k2", "text": "Rinse the rice until the water is clear."},
            ],
            "questions": [{"id": "k", "question": "How long does sourdough take?", "gold": ["k1"]}],
        }
    ],
}


@pytest.mark.slow
def test_relevance_and_stopping_are_measured_for_each_file() -> None:
    datasets = [parse_dataset(DATA), parse_dataset(KITCHEN)]
    with Hindsight.in_memory() as one, Hindsight.in_memory() as two:
        asked = [*relevance.rankings(datasets, [one, two])]
        kitchen = [*relevance.stopping(datasets, [one, two])][1]
    (question,) = asked[1].own
    assert question.gold.tolist() == [True, False]
    assert len(asked[1].foreign) == len(relevance.SMALL_TALK) + len(asked[0].own)
    assert not any(each.gold.any() for each in asked[1].foreign)
    assert kitchen.kept == 1.0
    assert 0 < kitchen.tokens < 60
    assert kitchen.silent_small >= 0.7
    rows = relevance.table(asked, [kitchen, kitchen]).splitlines()
    assert rows[3].startswith("| kitchen |")


def test_calibration_is_fitted_to_the_odds_and_its_error_is_the_mean_gap() -> None:
    # One feature tells all: of those with 1 three in four are gold, of the others one in four.
    column = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    gold = np.array([1, 1, 1, 0, 1, 0, 0, 0], dtype=np.bool_)
    judged = relevance.Judged(np.outer(column, [1.0, 0.0, 0.0]), gold)
    found = relevance.fit([relevance.Asked("a", (judged,), ()) for _ in range(2)])
    assert found == pytest.approx([2 * math.log(3), 0.0, 0.0, -math.log(3)])
    plain = np.array([2 * math.log(3), 0.0, 0.0, -math.log(3)])
    assert relevance.calibration_error([judged], plain) == pytest.approx(0.0)
    # Always a half: off by nothing on average.
    assert relevance.calibration_error([judged], np.zeros(4)) == pytest.approx(0.0)
    # Always three quarters: off by a quarter.
    sure = np.array([0.0, 0.0, 0.0, math.log(3)])
    assert relevance.calibration_error([judged], sure) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ([], "all files are of one kind"),
        (["harbour,absent"], "names 'absent'"),
        (["harbour", "harbour"], "in two kinds"),
    ],
)
def test_weights_are_not_fitted_on_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kinds: list[str], said: str
) -> None:
    file = tmp_path / "harbour.json"
    file.write_text(json.dumps(DATA), encoding="utf-8")
    assert held_out.main([str(file), *(f"--kind={kind}" for kind in kinds)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_file_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "absent.json")]) == 2
    assert "absent.json" in capsys.readouterr().err
