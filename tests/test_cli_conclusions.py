"""Answers and conclusions from the shell, and a memory corrected in an editor."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from tests.test_cli import Run, runs_on

pytestmark = pytest.mark.slow

BERGEN = "Alice moved to Bergen in May 2024."


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "store"
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:
        memory.retain("default", BERGEN, tags=["move"])
        for month in ("March", "April", "June"):
            memory.retain("default", f"Bob took the night train to Oslo in {month} 2024.")
    return folder


@pytest.fixture
def run(kept: Path, tmp_path: Path) -> Run:
    shutil.copytree(kept, tmp_path / "store")
    return runs_on(tmp_path / "store")


def test_questions_are_answered_with_citations_or_not_at_all(run: Run) -> None:
    answer = run("reflect", "Where does Alice live?", "--json").json
    assert "Bergen" in answer["text"]
    (cited,) = answer["sources"]
    drawn = run("reflect", "Where does Alice live?").out
    assert drawn.count(cited[:8]) == 2, "the citation and what it stands for"
    assert run("context", "Where does Alice live?").out.startswith("## Facts")
    for verb in ("reflect", "context"):
        assert run(verb, "Where does Alice live?", "--tag", "other").code == 3


def test_observations_and_opinions_are_drawn_added_and_listed(run: Run) -> None:
    done = run("consolidate", "--json").json
    assert done["considered"] == 4
    (page,) = [run("memories", "list", "--text", "Bergen", "--json").json]
    source = page["items"][0]["id"]
    added = run("observations", "add", "Alice settles in the north.", "--source", source)
    assert source in added.out
    listed = run("observations", "list", "--json").json["items"]
    assert "Alice settles in the north." in [each["text"] for each in listed]
    assert "the north" in run("observations", "list", "--kind", "generalization").out
    found = run("observations", "observe", "Where does Alice settle?", "--json").json
    assert found[0]["text"] == "Alice settles in the north."
    assert run("opinions", "list").out.strip() == "None."
    assert run("opinions", "form", "Oslo", "--json").code in (0, 3)


def test_a_mental_model_is_written_changed_refreshed_and_deleted(run: Run) -> None:
    made = run("mental-models", "create", "Alice", "--query", "Where does Alice live?", "--json")
    id = made.json["id"]
    assert "Bergen" in made.json["text"]
    run("mental-models", "update", id, "--text", "Alice is away.", "--reason", "a journey")
    assert "a journey" in run("mental-models", "history", id).out
    assert "Alice is away." in run("mental-models", "list").out
    assert "Bergen" in run("mental-models", "refresh", id, "--json").json["text"]
    run("retain", "Alice lives in Rome now.")
    assert run("mental-models", "show", id, "--json").json["staleness"]["newer"]
    assert "1 newer memory" in run("mental-models", "show", id).out
    assert run("mental-models", "delete", id).code == 2, "nobody can be asked"
    assert run("mental-models", "delete", id, "--yes").code == 0
    assert run("mental-models", "list", "--json").json == []


def test_a_memory_is_corrected_in_an_editor(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edits(command: str) -> None:
        script = tmp_path / "editor"
        script.write_text(f'#!/bin/sh\n{command} "$1"\n', encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("VISUAL", str(script))

    id = run("memories", "list", "--text", "Bergen", "--json").json["items"][0]["id"]
    edits("true")
    assert "Nothing was changed" in run("memories", "edit", id).out
    edits("sed -i -e s/Bergen/Oslo/ -e 's/- move/- moved/' -e s/^speaker:.*/speaker:\\ Eve/")
    changed = run("memories", "edit", id, "--reason", "a slip", "--json").json
    assert (changed["text"], changed["tags"], changed["speaker"]) == (
        "Alice moved to Oslo in May 2024.", ["moved"], "Eve",
    )  # fmt: skip
    assert "a slip" in run("memories", "history", id).out
    edits("echo 'colour: red' >>")
    refused = run("memories", "edit", id)
    assert (refused.code, "the field 'colour'" in refused.err) == (1, True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    edits("echo '{' >")
    told = run("memories", "edit", id).err
    assert "not YAML" in told
    (kept,) = tmp_path.glob("hindsight-*/memory.yaml")
    assert f"kept in {kept}" in " ".join(told.split())
    assert kept.read_text(encoding="utf-8") == "{\n"
    shutil.rmtree(kept.parent)
    for command in ("false", "rm", "true '"):
        edits(command)
        failed = run("memories", "edit", id)
        assert failed.code == 1
        assert failed.err.startswith("error: ")
    monkeypatch.setenv("VISUAL", '"')
    assert "set $EDITOR" in run("memories", "edit", id).err
    edits("true")
    assert "Nothing was changed" in run("memories", "edit", id).out
    assert not list(tmp_path.glob("hindsight-*"))


def test_health_of_a_memory_and_of_its_parts(run: Run) -> None:
    health = run("health", "--json")
    assert (health.code, health.json["ok"]) == (0, True)
    assert "ok  graph" in run("health").out
