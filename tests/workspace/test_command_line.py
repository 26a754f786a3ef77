"""`hindsight-memory sync` and `search`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from hindsight_integrations.cli import app


def test_a_folder_is_synced_and_searched(root: Path, folder: Path) -> None:
    shared = ["--root", str(root), "--path", str(folder), "--json"]
    synced = CliRunner().invoke(app, ["sync", *shared])
    assert (synced.exit_code, json.loads(synced.stdout)["counts"]) == (0, {"retained": 2})
    found = CliRunner().invoke(app, ["search", "When is the dentist?", "--top", "1", *shared])
    (hit,) = json.loads(found.stdout)
    assert (hit["path"], hit["start_line"]) == ("memory/2026-02-03.md", 3)
    assert CliRunner().invoke(app, ["search", "Thanks!", *shared]).exit_code == 3
