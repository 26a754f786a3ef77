"""The figures of what reflect says without a language model, on banks made for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.quality.reflection import main


def dataset(name: str, items: list[str], questions: list[tuple[str, str]]) -> dict[str, object]:
    """Return a dataset of one bank; each question has the number of the item that answers it."""
    return {
        "dataset": name,
        "banks": [
            {
                "id": "b",
                "items": [{"id": str(n), "text": text} for n, text in enumerate(items)],
                "questions": [
                    {"id": question, "question": question, "gold": [gold]}
                    for question, gold in questions
                ],
            }
        ],
    }


SETS = (
    dataset(
        "harbour",
        ["Ana keeps her boat in Kiel.", "The ferry to Oslo was late.", "The mast is of spruce."],
        [("Where does Ana keep her boat?", "0"), ("What became of the Norwegian ferry?", "1")],
    ),
    dataset("garden", ["The peas were sown in March."], [("When were the peas sown?", "0")]),
)


@pytest.mark.slow
def test_answers_evidence_and_what_other_banks_questions_get_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for data in SETS:
        file = tmp_path / f"{data['dataset']}.json"
        file.write_text(json.dumps(data), encoding="utf-8")
        files.append(str(file))
    assert main(files) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if "|" in line]
    figures = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert figures["harbour"] == ["2", "1", "1", "1", "1", "1", "0", "0"]
    assert figures["garden"][:3] == ["1", "1", "1"]
    assert figures["together"][:3] == ["3", "2", "2"]
