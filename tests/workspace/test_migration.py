"""A migration goes in stages, can be interrupted, and shows what it made of the notes."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hindsight_integrations import Hindsight, InvalidInputError, Memory, Workspace
from hindsight_integrations.cli import app
from hindsight_integrations.timespan import TimeSpan
from hindsight_integrations.workspace import Migration, MigrationReport, SyncResult
from hindsight_integrations.workspace.migration import suspicion

from .conftest import BANK

TODAY = date(2026, 2, 5)
OLD = "memory/2026-01-10.md"


@pytest.fixture
def migration(workspace: Workspace, root: Path) -> Migration:
    (root / OLD).write_text("Carl Miller sold two hives.\n\nCarl keeps <b>wax</b> | honey.\n")
    (root / "sessions").mkdir()
    (root / "sessions/2026-02-04.md").write_text("We planned the move of the hives.")
    (root / "picture.md").write_bytes(b"\0")
    return Migration(workspace, today=TODAY)


def test_a_plan_counts_by_stage_and_touches_nothing(
    migration: Migration, memory: Hindsight, root: Path
) -> None:
    plan = migration.plan()
    assert [(note.path, str(note.stage)) for note in plan.notes] == [
        ("MEMORY.md", "curated"),
        ("memory/2026-02-03.md", "recent"),
        ("sessions/2026-02-04.md", "recent"),
        (OLD, "older"),
    ]
    assert [note.sections for note in plan.notes] == [4, 3, 1, 1]
    assert plan.seconds == sum(note.tokens for note in plan.notes) / 900 > 0
    assert [event.path for event in plan.refused] == ["picture.md"]
    assert memory.banks.list() == []
    assert not (root / ".hindsight/workspace.json").exists()


def test_stages_are_retained_in_order_and_an_interrupted_one_goes_on(
    migration: Migration, workspace: Workspace, memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert migration.run("curated").paths("retained") == ["MEMORY.md"]
    assert {each.document_id for each in memory.memories.list(BANK).items} == {"MEMORY.md"}
    sync = Workspace.sync

    def interrupted(self: Workspace, paths: list[str]) -> SyncResult:
        if paths == ["sessions/2026-02-04.md"]:
            raise KeyboardInterrupt
        return sync(self, paths)

    monkeypatch.setattr(Workspace, "sync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        migration.run("recent")
    monkeypatch.undo()
    again = migration.run("recent")
    assert again.counts == {"unchanged": 1, "retained": 1}
    assert migration.run("older").counts == {"retained": 1}
    with pytest.raises(InvalidInputError, match="curated"):
        migration.run("everything")


def test_the_report_shows_what_was_made_and_both_searches(
    migration: Migration, tmp_path: Path
) -> None:
    for stage in ("curated", "recent", "older"):
        migration.run(stage)
    review = migration.review()
    assert review.facts == {
        "MEMORY.md": 4, "memory/2026-02-03.md": 3, "sessions/2026-02-04.md": 1, OLD: 2,
    }  # fmt: skip
    assert [entity.name for entity in review.merged] == ["Carl Miller"]
    (comparison,) = migration.compare(["Where is the pear tree?"])
    assert {hit.source for hit in comparison.files} == {"files"}
    assert {hit.source for hit in comparison.memory} == {"memory"}
    assert comparison.files[0].path == comparison.memory[0].path == "memory/2026-02-03.md"
    answers = migration.answers(["Who pays for the website project?"])
    report = MigrationReport(migration.plan(), review, [comparison], answers)
    markdown, page = report.write(tmp_path / "report")
    assert "| OLD |" not in markdown.read_text()
    assert r"Carl Miller \(" not in report.markdown
    assert "Northwind pays for the website project" in report.markdown
    assert "<b>wax" not in page.read_text()
    for text in ("Merged entities (1)", "Where is the pear tree?", "memory/2026-02-03.md:8"):
        assert text in page.read_text()


def test_suspicious_extractions_are_named_with_their_reason() -> None:
    said = datetime(2026, 2, 3, tzinfo=UTC)
    far = TimeSpan.of_day(datetime(2036, 2, 3, tzinfo=UTC))
    cases = {
        "Yes.": "little",
        "word " * 151: "151 words",
        "| a | b | c |": "table",
        "https://example.org/a b c d": "link",
        "Ana lives in Lisbon.": None,
    }
    for text, reason in cases.items():
        found = suspicion(Memory("m", BANK, text, mentioned_at=said))
        assert found is None if reason is None else reason in (found or "")
    late = Memory("m", BANK, "The lease ends then.", mentioned_at=said, occurred=(far,))
    assert "2036-02-03" in (suspicion(late) or "")


def test_the_command_stops_after_the_curated_notes_and_goes_on_when_told(
    root: Path, folder: Path, tmp_path: Path
) -> None:
    (queries := tmp_path / "queries.txt").write_text("Where is the pear tree?\n\n")
    shared = ["--root", str(root), "--path", str(folder), "--json"]
    plan = CliRunner().invoke(app, ["migrate", "--dry-run", *shared])
    assert json.loads(plan.stdout)["notes"] == {"curated": 1, "recent": 0, "older": 1}
    assert not folder.exists()
    first = json.loads(CliRunner().invoke(app, ["migrate", *shared]).stdout)
    assert [event["path"] for event in first["events"]] == ["MEMORY.md"]
    drawn = CliRunner().invoke(app, ["migrate", *shared[:-1]]).stdout
    assert "To continue: --until older" in " ".join(drawn.split())
    options = ["--until", "older", "--queries", str(queries), "--report", str(tmp_path / "r.md")]
    second = json.loads(CliRunner().invoke(app, ["migrate", *options, *shared]).stdout)
    assert [event["action"] for event in second["events"]] == ["unchanged", "retained"]
    assert second["report"] == [str(tmp_path / "r.md"), str(tmp_path / "r.html")]
    text = (tmp_path / "r.md").read_text()
    for part in ("Where is the pear tree?", "main active projects", "technical preferences"):
        assert part in text
    assert "Nearest to it:\n\n- " in text
    assert "\n- - " not in text
