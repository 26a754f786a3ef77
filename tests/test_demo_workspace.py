"""The shipped sample workspace, and what its demo claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hindsight_integrations.cli import app
from hindsight_integrations.demo.sample import copy_sample, load_questions


def test_the_sample_has_thirty_files_and_the_notes_that_answer(tmp_path: Path) -> None:
    root = copy_sample(tmp_path)
    assert sum(path.is_file() for path in root.rglob("*")) == 30
    questions = load_questions()
    assert len(questions) >= 10
    assert all((root / each.path).is_file() for each in questions)


@pytest.mark.slow
def test_the_memory_finds_the_note_for_every_question(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--workspace", "--keep", str(tmp_path), "--json"])
    data = json.loads(done.stdout)
    assert data["notes"] == {"retained": 27}
    for one in data["questions"]:
        assert one["asked"]["path"] in [hit["path"] for hit in one["memory"]], one["asked"]
    asked = ["demo", "--workspace", "-q", "Who works from Lisbon?"]
    for kept in ([], ["--keep", str(tmp_path)]):
        shown = CliRunner().invoke(app, [*asked, *kept])
        assert "Priya" in shown.stdout
        assert "27 notes of Ines" in shown.stdout
