"""Leaving parts out and fitting weights: the same questions, gathered once and ranked often."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.evaluate import abstain, evaluate, parse_dataset
from hindsight_integrations.evaluate.ablation import SIGNALS, main, without
from hindsight_integrations.evaluate.fitting import NEUTRAL, fit
from hindsight_integrations.evaluate.study import Study, best_first
from hindsight_integrations.recall.rank import DEFAULT_WEIGHTS

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
    assert ranked == pytest.approx({name: recalled[name] for name in ranked})


def test_questions_that_are_not_scored_are_left_out(study: Study) -> None:
    assert [case.asked.id for case in study.cases] == ["q1", "q2", "q3"]


def test_a_weight_left_out_changes_no_more_than_the_order(study: Study) -> None:
    for names in SIGNALS.values():
        weights = without(names)
        assert all(getattr(weights, name) == 0 for name in names)
        for case in study.cases:
            assert sorted(best_first(case, weights)) == sorted(best_first(case, DEFAULT_WEIGHTS))


def test_fitting_ends_no_worse_than_it_began(study: Study) -> None:
    silent = dict.fromkeys(("neighbours", "further", "session", "answers", "speaker"), 0.0)
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
    assert main([*map(str, files), "--fit", "--markdown", str(page)]) == 0
    shown = capsys.readouterr().out
    for part in ("everything", *(f"without {name}" for name in SIGNALS), "fitted on all files"):
        assert f"| {part} |" in shown
    assert "without the entity arm" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_bank_that_knows_nothing_of_it_scores_lower(tmp_path: Path) -> None:
    other = {
        "dataset": "kitchen",
        "banks": [
            {
                "id": "cook",
                "items": [{"id": "k1", "text": "Sourdough wants a hot oven and twelve hours."}],
                "questions": [
                    {"id": "k", "question": "How long does sourdough take?", "gold": ["k1"]}
                ],
            }
        ],
    }
    datasets = [parse_dataset(DATA), parse_dataset(other)]
    with Hindsight.in_memory() as one, Hindsight.in_memory() as two:
        harbour, kitchen = abstain.measure(datasets, [one, two])
    assert min(harbour.known) > max(harbour.unknown)
    assert min(kitchen.known) > max(kitchen.unknown)
    assert len(harbour.evidence) == 3
    last = abstain.table([harbour, kitchen]).splitlines()[-1]
    assert last.startswith("| 0.55 |")


def test_one_bank_alone_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "harbour.json"
    file.write_text(json.dumps(DATA), encoding="utf-8")
    assert abstain.main([str(file)]) == 2
    assert "only one bank" in capsys.readouterr().err


def test_weights_are_not_fitted_on_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "harbour.json"
    file.write_text(json.dumps(DATA), encoding="utf-8")
    assert main([str(file), "--fit"]) == 2
    assert "two files" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "absent.json")]) == 2
    assert "absent.json" in capsys.readouterr().err
