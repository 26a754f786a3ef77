"""`hindsight-memory sync` and `search`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from hindsight_integrations.cli import app
from tests.durable.memories import owned_by_another


def test_a_folder_is_synced_and_searched(root: Path, folder: Path) -> None:
    shared = ["--root", str(root), "--path", str(folder), "--json"]
    synced = CliRunner().invoke(app, ["sync", *shared])
    assert (synced.exit_code, json.loads(synced.stdout)["counts"]) == (0, {"retained": 2})
    found = CliRunner().invoke(app, ["search", "When is the dentist?", "--top", "1", *shared])
    (hit,) = json.loads(found.stdout)
    assert (hit["path"], hit["start_line"]) == ("memory/2026-02-03.md", 3)
    assert CliRunner().invoke(app, ["search", "Thanks!", *shared]).exit_code == 3


def test_what_waits_is_shown_while_another_process_has_the_memory(root: Path, folder: Path) -> None:
    shared = ["--root", str(root), "--path", str(folder), "--json"]
    folder.mkdir()
    with owned_by_another(folder):
        synced = CliRunner().invoke(app, ["sync", *shared])
        assert (synced.exit_code, json.loads(synced.stdout)["counts"]) == (0, {"waiting": 2})
        found = CliRunner().invoke(app, ["search", "pear tree", *shared])
        assert [hit["source"] for hit in json.loads(found.stdout)] == ["files"]
        health = CliRunner().invoke(app, ["health", *shared])
        assert (health.exit_code, json.loads(health.stdout)["ok"]) == (1, False)
    assert CliRunner().invoke(app, ["sync", *shared]).exit_code == 0
    health = CliRunner().invoke(app, ["health", "--root", str(root), "--path", str(folder)])
    assert health.exit_code == 0
    assert "2 notes, 0 of them wait" in health.stdout
