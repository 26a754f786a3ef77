"""`hindsight-memory sync` and `search`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from typer.testing import CliRunner

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.cli import app
from tests.durable.memories import opened, owned_by_another
from tests.service.served import served


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


def test_the_place_of_a_memory_may_be_the_address_of_a_service(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "hindsight.json5"
    with (
        Hindsight.in_memory(settings=Settings(consolidate=False)) as memory,
        served(memory) as url,
    ):

        def ran(*given: str, code: int = 0) -> Any:
            done = CliRunner().invoke(app, [*given, "--json"], env={"HINDSIGHT_PATH": url})
            assert done.exit_code == code, done.output
            return json.loads(done.stdout)

        ran("retain", "Carol fixed the boiler.")
        assert memory.banks.stats("default").memories == 1
        assert len(ran("recall", "Who fixed the boiler?")["memories"]) == 1
        refused = ran("serve", code=1)["error"]
        assert "the path is the URL of a service" in refused["message"]
        file.write_text(f"{{baseUrl: '{url}', bankId: 'alice'}}", encoding="utf-8")
        shared = ["--root", str(root), "--config", str(file), "--json"]
        assert CliRunner().invoke(app, ["sync", *shared]).exit_code == 0
        found = CliRunner().invoke(app, ["search", "pear tree", *shared])
        assert {hit["source"] for hit in json.loads(found.stdout)} == {"memory"}
        health = CliRunner().invoke(app, ["health", *shared])
        assert (health.exit_code, json.loads(health.stdout)["ok"]) == (0, True)


@pytest.mark.slow
def test_the_command_line_reads_the_configuration_of_a_host(
    root: Path, folder: Path, tmp_path: Path
) -> None:
    def ran(*given: str) -> tuple[int, object]:
        done = CliRunner().invoke(app, [*given, "--root", str(root), "--json"])
        return done.exit_code, json.loads(done.stdout)

    def hits() -> int:
        code, found = ran("search", "What did we plant and buy?", *shared)
        assert code == 0
        assert isinstance(found, list)
        return len(found)

    file = tmp_path / "hindsight.json5"
    keys = f"{{baseUrl: '{folder}', bankId: 'alice', fallbackToLocal: false, maxTokens: 1, /**/}}"
    file.write_text(keys, encoding="utf-8")
    shared = ["--config", str(file)]
    assert ran("search", "pear tree", *shared) == (
        1,
        {"error": {"type": "StoreUnavailableError", "message": ANY}},
    )
    assert not folder.exists()  # a command that only reads makes no memory
    assert ran("sync", *shared)[0] == 0
    with opened(folder) as memory:
        assert memory.memories.list("alice").total == 7
    assert hits() == 1  # the best, whatever it takes
    file.write_text(keys.replace("maxTokens: 1", "maxTokens: 900"), encoding="utf-8")
    assert hits() > 1
    with owned_by_another(folder):
        assert ran("search", "pear tree", *shared)[0] == 1
        # What is given as an option goes before the file.
        other = ["--bank", "bob", "--path", str(tmp_path / "other")]
        (root / ".hindsight/workspace.json").unlink()
        assert ran("sync", *shared, *other) == (0, ANY)
    with opened(tmp_path / "other") as memory:
        assert [bank.id for bank in memory.banks.list()] == ["bob"]
    file.write_text("{bankID: 'x'}", encoding="utf-8")
    code, told = ran("health", *shared)
    assert (code, "bankId" in str(told)) == (1, True)


@pytest.mark.slow
def test_a_note_written_just_before_the_end_of_a_watch_is_retained(
    root: Path, folder: Path
) -> None:
    shared = ["--root", str(root), "--path", str(folder), "--json"]
    code = "from hindsight_integrations.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "watch", *shared, "--debounce-ms", "600000"],
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout
        known = {json.loads(watching.stdout.readline())["path"] for _ in range(2)}
        assert known == {"MEMORY.md", "memory/2026-02-03.md"}
        (root / "memory" / "2026-02-04.md").write_text("Carol fixed the boiler.", encoding="utf-8")
        watching.send_signal(signal.SIGTERM)
        event, counts = map(json.loads, watching.stdout.read().splitlines())
    assert watching.returncode == 0
    assert event["path"] == "memory/2026-02-04.md"
    assert counts["counts"]["retained"] == 3
    with Hindsight(folder) as memory:
        assert memory.memories.list("default", text="boiler").items
