"""Searches in shadow mode are logged with both results, and a report compares them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hindsight_integrations import Hindsight, InvalidInputError, Workspace
from hindsight_integrations.cli import app
from hindsight_integrations.workspace import SearchHit, ShadowReport
from tests.durable.memories import opened, owned_by_another

from .conftest import BANK, synced


def test_each_search_is_logged_with_both_results(memory: Hindsight, root: Path) -> None:
    synced(memory, root)
    asked = ("What did we plant behind the shed?", "Who pays for the website project?")
    for query in asked:  # a session each
        with Workspace(memory, BANK, root, shadow=True) as workspace:
            hits = workspace.search(query, 2)
            log = workspace.shadow_log
    with Workspace(memory, BANK, root) as workspace:
        assert workspace.search(asked[1], 2) == hits  # not logged, and no other
    first, second = log.read()
    assert (first.query, second.query) == asked
    assert first.session != second.session
    assert second.memory == tuple(hits)
    assert {hit.source for hit in first.files} == {"files"}
    assert min(first.files_seconds, first.memory_seconds) > 0
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_the_report_counts_what_differs(folder: Path, root: Path) -> None:
    with Workspace(lambda: opened(folder), BANK, root, shadow=True) as workspace:
        with owned_by_another(folder):
            workspace.search("pear tree")
        assert workspace.drain()
        workspace.sync()
        workspace.search("pear tree", 1)
        workspace.search("Sleep well!")
        log = workspace.shadow_log
    entries = log.read()
    assert [entry.was_away for entry in entries] == [True, False, False]
    assert (entries[1].shared, entries[2].shared) == (1.0, 1.0)
    other = SearchHit("Planted | a pear.", "b.md", 1, 1, 0.5)
    report = ShadowReport([*entries, _with(entries[1], other), _with(entries[1], None)])
    assert report.figures == pytest.approx(
        {
            "sessions": 1, "searches": 5, "while_away": 1, "only_files_found": 1,
            "only_memory_found": 0, "same_first_note": 1, "notes_shared": (1 + 1 + 0 + 0) / 4,
            "files_seconds": report.figures["files_seconds"],
            "memory_seconds": report.figures["memory_seconds"],
        }
    )  # fmt: skip
    assert r"b.md:1 Planted \| a pear." in report.markdown
    shown = CliRunner().invoke(app, ["shadow", "report", "--root", str(root), "--json"])
    assert json.loads(shown.stdout)["searches"] == 3
    with Workspace(lambda: opened(folder), BANK, root, shadow=True) as workspace:
        workspace.search("pear\u2028tree")
    assert log.read()[-1].query == "pear\u2028tree"
    log.path.write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        log.read()
    log.path.unlink()
    missing = CliRunner().invoke(app, ["shadow", "report", "--root", str(root)])
    assert (missing.exit_code, "first search with shadow" in missing.stderr) == (1, True)


def test_a_search_while_the_memory_is_away_is_no_answer_of_it_though_nothing_is_found(
    folder: Path, root: Path
) -> None:
    with Workspace(lambda: opened(folder), BANK, root, shadow=True) as workspace:
        with owned_by_another(folder):
            assert workspace.search("xylophone") == []
        log = workspace.shadow_log
    (entry,) = log.read()
    assert entry.was_away
    figures = ShadowReport([entry]).figures
    assert (figures["while_away"], figures["same_first_note"]) == (1, 0)
    # A log of an earlier version does not say whether the memory was away.
    fields = json.loads(log.path.read_text(encoding="utf-8"))
    del fields["away"]
    log.path.write_text(json.dumps(fields), encoding="utf-8")
    assert [each.was_away for each in log.read()] == [False]


def _with(entry: object, hit: SearchHit | None) -> object:
    from dataclasses import replace

    return replace(entry, memory=() if hit is None else (hit,))  # type: ignore[type-var]
