"""The command line keeps its promises to scripts: JSON alone on stdout, exit codes, no traces."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.cli import app
from hindsight_integrations.cli.inputs import scalar
from hindsight_integrations.cli.screen import jsonable
from tests.documentation import commands_below

SEEDS = (
    "Alice joined Northwind in March 2021 as a designer.",
    "Ruth Castellane runs Project Heron.",
    "Alice works on Project Heron.",
)


class Ran:
    """Output of a command, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


def runs_on(folder: Path) -> Run:
    def run(*arguments: str, input: str | None = None) -> Ran:
        environ = {
            "HINDSIGHT_PATH": str(folder),
            "HINDSIGHT_CONSOLIDATE": "false",  # a bank then holds just what the test retained
            "COLUMNS": "100",
        }
        found = CliRunner().invoke(app, list(arguments), input=input, env=environ)
        return Ran(found.exit_code, found.stdout, found.stderr)

    return run


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a few memories, only to be read."""
    folder = tmp_path_factory.mktemp("seeded") / "store"
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:
        memory.retain_many("default", SEEDS)
        memory.banks.create("empty", name="Nobody's")
    return folder


@pytest.fixture
def reading(seeded: Path) -> Run:
    """Commands on a store with a few memories, only to be read."""
    return runs_on(seeded)


@pytest.fixture
def writing(seeded: Path, tmp_path: Path) -> Run:
    """Commands on a copy of that store."""
    shutil.copytree(seeded, tmp_path / "store")
    return runs_on(tmp_path / "store")


@pytest.fixture
def fresh(tmp_path: Path) -> Run:
    """Commands on a folder that does not exist yet."""
    return runs_on(tmp_path / "new")


def ids(run: Run) -> list[str]:
    return [memory["id"] for memory in run("memories", "list", "--json").json["items"]]


# Recall


def test_recall_draws_the_best_memory_first(reading: Run) -> None:
    ran = reading("recall", "Where did Alice work in spring 2021?")
    assert ran.code == 0
    assert "Alice joined Northwind" in ran.out.splitlines()[0]


def test_json_is_all_that_stdout_carries(reading: Run) -> None:
    ran = reading("recall", "Where did Alice work in spring 2021?", "--json")
    assert ran.code == 0
    first = ran.json["memories"][0]
    assert first["memory"]["text"] == SEEDS[0]
    assert "interaction" in [signal["name"] for signal in first["signals"]]
    assert {*first["signals"][0]} == {"name", "value", "contribution"}
    assert ran.err == ""


def test_explain_shows_arms_and_signals(reading: Run) -> None:
    ran = reading("recall", "Where did Alice work in spring 2021?", "--explain", "--top", "1")
    assert "semantic" in ran.out
    assert "interaction" in ran.out
    assert "1 Mar 2021" in ran.out


def test_prompt_writes_the_rendered_text_alone(reading: Run) -> None:
    ran = reading("recall", "Who runs Heron?", "--prompt", "--max-tokens", "60")
    text = reading("recall", "Who runs Heron?", "--json", "--max-tokens", "60").json["text"]
    assert ran.out == f"{text}\n"


def test_filters_reach_recall(reading: Run) -> None:
    assert reading("recall", "Heron", "--type", "opinion").code == 3
    assert reading("recall", "Heron", "--tag", "none-such").code == 3
    assert reading("recall", "Heron", "--where", '{"year": 2024}').code == 3
    assert reading("recall", "Heron", "--as-of", "2001-01-01").code == 3
    for name in ("keyword", "pathway"):  # the older name of the same arm
        only = reading("recall", "Heron", "--arm", name, "--json").json
        assert {arm["arm"] for found in only["memories"] for arm in found["arms"]} == {"keyword"}
    assert reading("recall", "Heron", "--arm", "magic").code == 2


def test_finding_nothing_exits_with_3_and_says_so(reading: Run) -> None:
    drawn = reading("recall", "anything", "--bank", "empty")
    assert (drawn.code, "Nothing found" in drawn.out) == (3, True)
    machine = reading("recall", "anything", "--bank", "empty", "--json")
    assert (machine.code, machine.json["memories"]) == (3, [])


# Errors


def test_an_error_is_one_line_on_stderr(reading: Run) -> None:
    ran = reading("recall", "anything", "--bank", "nope")
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("error: there is no bank 'nope'")
    assert len(ran.err.splitlines()) == 1


def test_an_unknown_memory_is_told_with_the_command_that_lists_ids(reading: Run) -> None:
    for verb in ("show", "get"):  # the method of Python is memories.get
        ran = reading("memories", verb, "nope", "--bank", "default")
        assert (ran.code, ran.out) == (1, "")
        assert "see 'hindsight-memory memories list --bank default'" in ran.err
    (shown,) = reading("memories", "list", "--bank", "default", "--limit", "1", "--json").json[
        "items"
    ]
    assert reading("memories", "get", shown["id"], "--bank", "default", "--json").json == shown


def test_a_command_of_a_group_alone_is_told_with_its_group(reading: Run) -> None:
    ran = reading("forget", "nope")
    assert ran.code == 2
    assert "Did you mean 'memories forget'?" in ran.err


def test_an_option_before_its_command_is_told_where_it_goes(reading: Run) -> None:
    ran = reading("--bank=ana", "recall", "anything")
    assert ran.code == 2
    assert "--bank goes after the command" in " ".join(ran.err.split())
    assert "No such option: --nope" in reading("--nope", "recall", "anything").err


def test_an_error_in_json_has_type_and_message(reading: Run) -> None:
    ran = reading("recall", "anything", "--bank", "nope", "--json")
    assert ran.code == 1
    assert ran.json["error"]["type"] == "BankNotFoundError"
    assert "nope" in ran.json["error"]["message"]


def test_a_tilde_in_a_quoted_path_is_the_home_as_in_python(
    seeded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(seeded.parent))
    run = runs_on(Path("~/store"))
    assert [bank["id"] for bank in run("banks", "list", "--json").json] == ["default", "empty"]
    assert run("memories", "list", "--path", "~/store").code == 0


def test_reading_a_folder_that_is_not_there_leaves_none_behind(tmp_path: Path) -> None:
    ran = runs_on(tmp_path / "new")("banks", "list")
    assert ran.code == 1
    assert "retain something first" in ran.err
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    ran = runs_on(tmp_path / "file")("retain", "Alice moved.")
    assert (ran.code, "file" in ran.err, "service" in ran.err) == (1, True, False)


@pytest.mark.parametrize("command", ["recall", "retain"])
def test_an_address_without_http_is_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = runs_on(tmp_path)(command, "Where is Ana?", "--path", "localhost:8888")
    assert ran.code == 1
    assert "with http:// or https://" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall"],
        ["recall", "x", "--as-of", "soon"],
        ["recall", "x", "--budget", "huge"],
        ["recall", "x", "--min-score", "2"],
        ["recall", "x", "--where", "year=2024"],
        ["recall", "x", "--mental-model-tokens", "-1"],
        ["retain"],
        ["retain", "x", "--jsonl", "-"],
        ["retain", "x", "--session", "s"],
        ["retain", "x", "--meta", "nothing"],
        ["retain", "--folder", "/no/such/folder"],
        ["retain", "x", "--prune"],
        ["banks", "create", "x", "--empathy", "6"],
        ["memories", "list", "--limit", "0"],
        ["nonsense"],
    ],
)
def test_wrong_use_exits_with_2_before_anything_is_touched(
    arguments: list[str], tmp_path: Path
) -> None:
    ran = runs_on(tmp_path / "new")(*arguments)
    assert ran.code == 2
    assert ran.err
    assert not (tmp_path / "new").exists()


# Retain


def test_text_is_retained_with_all_that_is_said_of_it(fresh: Run) -> None:
    ran = fresh(
        "retain", "The launch moved.", "--timestamp", "2025-02-20", "--speaker", "Maya",
        "--tag", "launch", "--meta", "week=8", "--meta", "room=101b", "--type", "opinion",
        "--confidence", "0.5", "--document", "note-1", "--json",
    )  # fmt: skip
    assert ran.code == 0
    (memory,) = ran.json["stored"]
    assert memory["mentioned_at"].startswith("2025-02-20")
    assert memory["metadata"] == {"week": 8, "room": "101b"}
    assert (memory["speaker"], memory["tags"]) == ("Maya", ["launch"])
    assert (memory["type"], memory["confidence"]) == ("opinion", 0.5)
    assert memory["sources"][0]["document_id"] == "note-1"


def test_standard_input_is_retained(fresh: Run) -> None:
    ran = fresh("retain", "-", "--json", input="Tomek moved into Sailmaker Street.")
    assert ran.json["stored"][0]["text"] == "Tomek moved into Sailmaker Street."


def test_who_pipes_a_text_without_a_dash_is_told_of_it(fresh: Run) -> None:
    ran = fresh("retain", input="The kiln is fired on Thursdays.")
    assert ran.code == 2
    assert "- reads standard input" in " ".join(ran.err.replace("│", " ").split())


def test_a_folder_is_retained_by_relative_path_and_once(fresh: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / ".hidden").mkdir()
    (notes / "deep" / "a.md").write_text("Alice joined Northwind.", encoding="utf-8")
    (notes / "b.TXT").write_text("Ruth runs Heron.", encoding="utf-8")
    (notes / "blank.txt").write_text(" \n", encoding="utf-8")
    (notes / "c.py").write_text("code = 1", encoding="utf-8")
    (notes / ".hidden" / "d.md").write_text("Secret.", encoding="utf-8")
    first = fresh("retain", "--folder", str(notes), "--json").json
    assert sorted(first["document_ids"]) == ["b.TXT", "deep/a.md"]
    assert len(first["stored"]) == 2
    again = fresh("retain", "--folder", str(notes), "--json").json
    assert again["stored"] == []


@pytest.mark.slow
def test_a_note_that_left_its_folder_leaves_the_bank(fresh: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("Alice joined Northwind.", encoding="utf-8")
    (notes / "b.txt").write_text("Ruth runs Heron.", encoding="utf-8")
    fresh("retain", "Tomas paints.", "--document", "told")
    folder = ("retain", "--folder", str(notes), "--prune")
    assert "forgotten" not in fresh(*folder).err
    assert "not in the folder" not in fresh(*folder[:-1]).err
    (notes / "b.txt").unlink()
    hinted = fresh(*folder[:-1])
    assert hinted.code == 0
    assert "b.txt in this bank is not in the folder; use --prune to forget" in hinted.err
    ran = fresh(*folder)
    assert ran.code == 0
    assert "b.txt was forgotten" in ran.err
    listed = fresh("documents", "list", "--json").json
    assert sorted(each["id"] for each in listed["items"]) == ["a.md", "told"]
    (notes / "a.md").unlink()
    assert fresh(*folder).code == 2
    assert len(fresh("documents", "list", "--json").json["items"]) == 2


@pytest.mark.slow
def test_the_dates_of_files_are_shown_overridden_and_left_out(fresh: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "2026-02-03.md").write_text("The dentist is tomorrow.", encoding="utf-8")
    folder = ("retain", "--folder", str(notes))
    ran = fresh(*folder, "--json", "--bank", "one").json
    assert ran["dates"] == {"2026-02-03.md": {"date": "2026-02-03T00:00:00+00:00", "from": "name"}}
    assert ran["stored"][0]["occurred"][0]["start"].startswith("2026-02-04")
    assert "2026-02-03.md: 3 Feb 2026 (name)" in fresh(*folder, "--bank", "two").out
    given = fresh(*folder, "--json", "--bank", "three", "--timestamp", "2025-05-07").json
    assert given["stored"][0]["occurred"][0]["start"].startswith("2025-05-08")
    undated = fresh(*folder, "--json", "--bank", "four", "--no-file-dates").json
    assert "dates" not in undated
    assert not undated["stored"][0]["mentioned_at"].startswith("2026-02-03")


def test_a_file_is_a_document_by_its_path_or_the_id_given(fresh: Run, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Ruth runs Heron.", encoding="utf-8")
    by_path = fresh("retain", "--file", str(note), "--json").json
    assert by_path["document_ids"] == [str(note)]
    by_id = fresh("retain", "--file", str(note), "--document", "note", "--json").json
    assert by_id["document_ids"] == ["note"]
    several = fresh("retain", "-f", str(note), "-f", str(note), "--document", "note")
    assert several.code == 2


def test_a_file_that_is_not_text_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"caf\xe9")
    ran = runs_on(tmp_path / "new")("retain", "--file", str(bad))
    assert ran.code == 1
    assert "bad.txt is not UTF-8 text (byte 3)" in ran.err
    assert not (tmp_path / "new").exists()


def test_a_broken_line_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    lines = tmp_path / "items.jsonl"
    lines.write_text('{"content": "Fine."}\n\n{"content": \n', encoding="utf-8")
    ran = runs_on(tmp_path / "new")("retain", "--jsonl", str(lines))
    assert ran.code == 1
    assert "items.jsonl, line 3 is not JSON" in ran.err
    assert not (tmp_path / "new").exists()


def test_json_that_python_cannot_read_is_refused(tmp_path: Path) -> None:
    lines = tmp_path / "items.jsonl"
    for value, told in (("9" * 5000, "is not JSON"), ("[" * 100_000, "nested too deeply")):
        lines.write_text(f'{{"content": {value}', encoding="utf-8")
        ran = runs_on(tmp_path / "new")("retain", "--jsonl", str(lines))
        assert (ran.code, told in ran.err) == (1, True)
    assert runs_on(tmp_path / "new")("recall", "x", "--where", '{"a":' * 100_000).code == 2
    assert scalar("9" * 5000) == "9" * 5000


@pytest.mark.parametrize("command", [["graph", "-o", "g.svg"], ["timeline", "-o", "t.svg"]])
def test_a_file_that_cannot_be_written_is_named(
    reading: Run, tmp_path: Path, command: list[str]
) -> None:
    *rest, name = command
    ran = reading(*rest, str(tmp_path / "none" / name), "--json")
    assert (ran.code, ran.json["error"]["type"]) == (1, "StoreUnavailableError")
    assert (
        f"error: '{tmp_path}/none/{name}' cannot be written: No such file or directory" in ran.err
    )


def test_output_that_cannot_be_written_is_an_error(seeded: Path) -> None:
    code = "from hindsight_integrations.cli import main; main()"
    given = ["recall", "Heron", "--json", "--path", str(seeded)]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ran = subprocess.run(
            [sys.executable, "-c", code, *given], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (ran.returncode, ran.stderr) == (1, b"error: No space left on device\n")


def test_only_a_line_feed_ends_a_line_of_json(fresh: Run) -> None:
    lines = [{"content": f"Alice has a cat.{end}Bob has a dog."} for end in "\u2028\u2029\x85"]
    text = "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    ran = fresh("retain", "--jsonl", "-", "--json", input=text)
    assert (ran.code, len(set(ran.json["document_ids"]))) == (0, 3)


def test_items_that_fail_are_reported_and_the_others_stored(fresh: Run) -> None:
    lines = '{"content": "Good.", "timestamp": "2024-05-07"}\n{"content": "Bad.", "confidence": 3}'
    ran = fresh("retain", "--jsonl", "-", "--tag", "batch", "--json", input=lines)
    assert ran.code == 1
    assert [memory["tags"] for memory in ran.json["stored"]] == [["batch"]]
    (failed,) = ran.json["failed"]
    assert (failed["index"], failed["error"]["type"]) == (1, "InvalidInputError")
    assert "item 2 was not stored: confidence is 3" in ran.err


@pytest.mark.slow
def test_a_conversation_keeps_sessions_speakers_and_ids(fresh: Run) -> None:
    turns = [
        {"speaker": "Inês", "text": "Grey or blue?", "timestamp": "2025-04-24T11:10", "id": "m1"},
        {"speaker": "Jonas", "text": "The blue.", "timestamp": "2025-04-24T11:11", "id": "m2"},
        {"speaker": "Jonas", "text": "Home from Bergen.", "session": "other", "id": "m3"},
    ]
    lines = "\n".join(json.dumps(turn) for turn in turns)
    ran = fresh("retain", "--jsonl", "-", "--session", "cases", "--json", input=lines)
    stored = ran.json["stored"]
    assert [memory["speaker"] for memory in stored] == ["Inês", "Jonas", "Jonas"]
    assert [memory["sources"][0]["reference"] for memory in stored] == ["m1", "m2", "m3"]
    assert [memory["sources"][0]["document_id"] for memory in stored] == ["cases", "cases", "other"]


# Looking after a memory


@pytest.mark.slow
def test_banks_are_made_changed_listed_and_deleted(fresh: Run) -> None:
    fresh(
        "banks", "create", "ops", "--name", "Operations", "--directive", "Cite.", "--empathy", "5"
    )
    fresh("banks", "update", "ops", "--mission", "Remember outages.", "--skepticism", "1")
    bank = fresh("banks", "show", "ops", "--json").json["bank"]
    assert (bank["name"], bank["mission"]) == ("Operations", "Remember outages.")
    assert bank["disposition"] == {"skepticism": 1, "literalism": 3, "empathy": 5}
    assert bank["directives"] == ["Cite."]
    assert fresh("banks", "create", "ops").code == 1
    assert "Operations" in fresh("banks", "list").out
    unasked = fresh("banks", "delete", "ops")
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    assert fresh("banks", "delete", "ops", "--yes").code == 0
    assert fresh("banks", "list", "--json").json == []


def test_memories_are_listed_a_page_at_a_time(reading: Run) -> None:
    first = reading("memories", "list", "--limit", "2", "--json").json
    rest = reading("memories", "list", "--cursor", first["next_cursor"], "--json").json
    assert [m["text"] for m in first["items"] + rest["items"]] == list(SEEDS)
    about = reading("memories", "list", "--entity", "Ruth Castellane", "--json").json
    assert [m["text"] for m in about["items"]] == [SEEDS[1]]


@pytest.mark.slow
def test_a_memory_is_invalidated_restored_and_its_history_kept(writing: Run) -> None:
    first, *_ = ids(writing)
    assert writing("memories", "invalidate", first, "--reason", "She never did.").code == 0
    assert first not in ids(writing)
    assert "She never did." in writing("memories", "show", first).out
    assert writing("memories", "restore", first).code == 0
    assert first in ids(writing)
    changes = writing("memories", "history", first, "--json").json
    assert {change["action"] for change in changes} == {"invalidate", "restore"}


@pytest.mark.slow
def test_forgetting_is_for_good_and_all_or_nothing(writing: Run) -> None:
    first, second, _ = ids(writing)
    assert writing("memories", "forget", first, "no-such-id").code == 1
    assert first in ids(writing)
    assert writing("memories", "forget", first, second, "--json").json == {
        "forgotten": [first, second]
    }
    assert writing("memories", "show", first).code == 1
    assert writing("memories", "forget").code == 1


def test_memories_are_listed_by_what_they_say_and_are(reading: Run) -> None:
    def texts(*options: str) -> list[str]:
        items = reading("memories", "list", *options, "--json").json["items"]
        return [memory["text"] for memory in items]

    assert texts("--text", "HERON") == list(SEEDS[1:])
    assert texts("--text", "heron", "--entity", "Alice") == [SEEDS[2]]
    assert texts("--since", "2021-03-01", "--until", "2021-04-01") == [SEEDS[0]]
    assert texts("--where", '{"entities": "Ruth Castellane"}', "--state", "any") == [SEEDS[1]]
    assert texts("--state", "invalidated") == []
    assert texts("--speaker", "Nobody") == texts("--changed-since", "2999-01-01") == []
    assert texts("--changed-since", "2001-01-01", "--type", "world") == list(SEEDS)
    assert reading("memories", "list", "--state", "lost").code == 2


@pytest.mark.slow
def test_a_memory_is_corrected(writing: Run) -> None:
    first, *_ = ids(writing)
    given = ["--speaker", "Ruth", "--entity", "Lisbon", "--meta", "year=2020", "--tag", "t"]
    times = ["--said", "2020-02-02", "--happened", "2020-01-01/2020-01-03", "--reason", "Wrong."]
    new = writing("memories", "update", first, *given, *times, "--json").json
    assert (new["speaker"], new["entities"], new["metadata"]) == (
        "Ruth",
        ["Lisbon"],
        {"year": 2020},
    )
    assert new["occurred"][0]["end"].startswith("2020-01-03")
    assert "Wrong." in writing("memories", "history", first).out
    assert writing("memories", "update", first, "--happened", "soon").code == 2
    ends = ("--expires", "2100-01-01", "--confidence", "0.5")
    given = writing("memories", "update", first, *ends, "--json").json
    assert (given["expires_at"][:10], given["confidence"]) == ("2100-01-01", 0.5)
    none = writing("memories", "update", first, "--no-expires", "--no-confidence", "--json").json
    assert (none.get("expires_at"), none.get("confidence")) == (None, None)


@pytest.mark.slow
def test_memories_expire_by_rules_and_pins_hold_them(writing: Run) -> None:
    first, second, *_ = ids(writing)
    rules = ["--expire", "30", "--expire", "type:opinion=7", "--expire", "tag:law=never"]
    bank = writing("banks", "update", "default", *rules, "--json").json
    expiry = {"default": "P30D", "types": {"opinion": "P7D"}, "tags": {"law": None}}
    assert bank["expiry"] == expiry  # as `Bank.to_dict()` and the service write it
    shown = re.sub(r"\s+", " ", writing("banks", "show", "default").out)
    assert "tag:law never type:opinion after 7 days others after 30 days" in shown
    assert writing("memories", "show", second, "--json").json["expires_at"]
    pinned = writing("memories", "update", first, "--pin", "--json").json
    assert (pinned["pinned"], pinned["expires_at"]) == (True, None)
    assert writing("banks", "update", "default", "--expire", "person:Ann=3").code == 2


@pytest.mark.slow
def test_entities_are_corrected_from_the_shell(writing: Run) -> None:
    writing("entities", "alias", "Alice", "Ally", "Lissy")
    assert writing("entities", "unalias", "Alice", "Ally", "--json").json["aliases"] == ["Lissy"]
    told = writing("entities", "timeline", "Alice", "--json").json
    assert [each["memory"]["text"] for each in told["timeline"]] == [SEEDS[0], SEEDS[2]]
    assert SEEDS[0] in writing("entities", "timeline", "Alice").out
    assert "No entities look like the same one" in writing("entities", "suggest").out
    assert writing("entities", "keep-apart", "Alice", "Lissy").code != 0
    assert writing("entities", "delete", "Alice", "--yes", "--json").json == {"memories": 2}
    assert writing("entities", "show", "Alice").code != 0


@pytest.mark.slow
def test_forgetting_by_filter_asks_or_wants_to_be_told(writing: Run) -> None:
    asked = ["memories", "forget", "--entity", "Alice"]
    told = writing(*asked, "--dry-run", "--json").json
    assert [memory["text"] for memory in told["memories"]] == [SEEDS[0], SEEDS[2]]
    assert (told["derived"], told["rewritten"], told["mental_models"]) == ([], [], [])
    drawn = writing(*asked, "--dry-run").out
    assert SEEDS[0] in drawn
    assert "Would forget 2 memories; nothing was deleted" in drawn
    refused = writing(*asked)
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert len(ids(writing)) == 3
    assert "Nothing matches" in writing("memories", "forget", "--tag", "none").out
    forgotten = writing(*asked, "--yes", "--json").json["forgotten"]
    assert sorted(forgotten) == sorted(told["would_forget"])
    assert len(ids(writing)) == 1


@pytest.mark.slow
def test_entities_are_shown_renamed_merged_and_given_aliases(writing: Run) -> None:
    names = [e["name"] for e in writing("entities", "list", "--json").json["items"]]
    assert {"Alice", "Northwind", "Ruth Castellane"} <= set(names)
    assert writing("entities", "alias", "Ruth Castellane", "The Admiral").code == 0
    shown = writing("entities", "show", "the admiral")
    assert "Ruth Castellane" in shown.out
    assert SEEDS[1] in shown.out
    assert writing("entities", "rename", "Northwind", "Northwind Ltd").code == 0
    merged = writing("entities", "merge", "Alice", "Ruth Castellane", "--json").json
    assert "Alice" in merged["aliases"]
    assert writing("entities", "show", "Nobody At All").code == 1


def test_doctor_finds_nothing_wrong_with_a_sound_store(reading: Run) -> None:
    ran = reading("doctor")
    assert (ran.code, "No faults" in ran.out) == (0, True)
    assert reading("doctor", "--look", "--json").json["healthy"] is True


@pytest.mark.slow
def test_reindex_makes_every_vector_anew(writing: Run) -> None:
    assert writing("reindex", "--json").json == {"bank": "default", "vectors": len(SEEDS)}
    assert writing("recall", "Who runs Heron?").code == 0


@pytest.mark.slow
def test_evaluate_gives_figures_for_a_file(tmp_path: Path) -> None:
    data = {
        "dataset": "tiny",
        "banks": [
            {
                "id": "b",
                "items": [{"id": str(n), "text": text} for n, text in enumerate(SEEDS)],
                "questions": [{"id": "q", "question": "Who runs Heron?", "gold": ["1"]}],
            }
        ],
    }
    file = tmp_path / "tiny.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    run = runs_on(tmp_path / "unused")
    (found,) = run("evaluate", str(file), "--tokens", "512", "--json").json
    assert found["questions"][0]["ranks"] == {"1": 1}
    drawn = run("evaluate", str(file), "--tokens", "512")
    assert (drawn.code, "tiny" in drawn.out) == (0, True)
    file.write_text("{}", encoding="utf-8")
    assert run("evaluate", str(file)).code == 1


# The whole


@pytest.mark.slow
def test_every_command_has_help_and_json(tmp_path: Path) -> None:
    run = runs_on(tmp_path)
    commands = [path for path, _ in commands_below(typer.main.get_command(app))]
    assert len(commands) > 50
    for command in commands:
        ran = run(*command.split(), "--help")
        assert ran.code == 0, command
        assert ("--json" in ran.out) == (command != "mcp"), command
        assert ran.out.count("<bool>") <= 1, "flags take no value; --help is the library's own"
    (line,) = (line for line in run("retain", "--help").out.splitlines() if "tomorrow" in line)
    assert len(line.rstrip()) > 85, "paragraphs are as wide as the terminal"


def test_json_is_what_to_dict_gives_in_python(reading: Run, seeded: Path) -> None:
    question = "Where did Alice work in spring 2021?"
    asked = reading("recall", question, "--query-time", "2025-01-01T00:00:00Z", "--json").json
    listed = reading("memories", "list", "--json").json
    bank = reading("banks", "show", "default", "--json").json
    with Hindsight(seeded) as memory:
        result = memory.recall("default", question, query_time=datetime(2025, 1, 1, tzinfo=UTC))
        assert asked | {"timings": None} == result.to_dict() | {"timings": None}
        assert listed == memory.memories.list("default").to_dict()
        assert bank["bank"] == memory.banks.get("default").to_dict()


def test_version_is_told(reading: Run) -> None:
    told = reading("version", "--json").json["version"]
    assert reading("--version").out == f"hindsight-integrations {told}\n"


# Values


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_json_already_is_left_as_it_is(value: object) -> None:
    assert jsonable(value) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("8", 8), ("-1.5", -1.5), ("true", True), ("101b", "101b"), ("null", "null"), ("", "")],
)
def test_metadata_from_the_command_line_is_typed(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_recall_takes_names_open_windows_and_budgets_beside_the_memories(reading: Run) -> None:
    ran = reading("recall", "What happened?", "--entity", "Ruth Castellane", "--json")
    assert [item["memory"]["text"] for item in ran.json["memories"]] == [SEEDS[1]]
    before = reading("recall", "What happened?", "--until", "2022-01-01", "--json")
    assert [item["memory"]["text"] for item in before.json["memories"]] == [SEEDS[0]]
    after = reading("recall", "What happened?", "--since", "2022-01-01", "--json")
    assert {item["memory"]["text"] for item in after.json["memories"]} == {*SEEDS[1:]}
    assert after.json["mental_models"] == []
    nobody = reading("recall", "x", "--entity", "Nobody Known")
    assert (nobody.code, "no memory passes the filters" in nobody.out) == (3, True)
    assert "no entity in default is called 'Nobody Known'" in nobody.err
    unlike = reading("recall", "What is the capital of Peru?")
    assert (unlike.code, "among 3 memories; --fill shows" in unlike.out) == (3, True)
    assert reading("recall", "What is the capital of Peru?", "--fill").code == 0


@pytest.mark.slow
def test_documents_are_listed_shown_and_deleted(writing: Run) -> None:
    assert writing("retain", "The oven is off.", "--document", "kitchen").code == 0
    listed = writing("documents", "list", "--json").json
    assert (listed["total"], listed["items"][-1]["id"]) == (4, "kitchen")
    assert "kitchen" in writing("documents", "list").out
    assert "The oven is off." in writing("documents", "show", "kitchen").out
    shown = writing("documents", "show", "kitchen", "--json").json
    assert [chunk["text"] for chunk in shown["chunks"]] == ["The oven is off."]
    assert len(writing("documents", "delete", "kitchen", "--json").json["forgotten"]) == 1
    assert writing("documents", "show", "kitchen").code == 1


@pytest.mark.slow
def test_tags_are_counted_renamed_and_removed(writing: Run) -> None:
    assert writing("tags", "list").out.strip() == "None."
    for text in ("The oven is off.", "The door is shut."):
        assert writing("retain", text, "--tag", "house").code == 0
    assert writing("tags", "list", "--json").json == {"house": 2}
    assert "house" in writing("tags", "list").out
    assert writing("tags", "rename", "house", "home", "--json").json == {"edited": 2}
    assert writing("tags", "remove", "home").out.strip() == "Removed it in 2 places"
    assert writing("tags", "list", "--json").json == {}
    assert writing("tags", "remove", "home").code == 1


# What the help and the errors say


def test_each_example_of_the_help_runs(tmp_path: Path) -> None:
    run = runs_on(tmp_path / "store")
    examples = [
        shlex.split(re.sub(r"\s+", " ", example))
        for _, command in commands_below(typer.main.get_command(app))
        for example in re.findall(r"Example: ([^\0]*?)(?:\n\n|$)", command.help or "")
    ]
    assert [words[1] for words in examples] == ["retain", "recall", "banks", "memories"]
    for program, *arguments in examples:
        assert program == "hindsight-memory"
        ran = run(*arguments)
        assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["recall", "x", "--bank", "b"], "or 'hindsight-memory banks create b'"),
        (["recall", "x", "--bank", "b"], "; 'hindsight-memory banks list' shows the banks"),
        (["documents", "show", "d"], "see 'hindsight-memory documents list --bank default'"),
        (["memories", "show", "m-1"], "see 'hindsight-memory memories list --bank default'"),
        (["memories", "history", "m-1"], "see 'hindsight-memory memories list --bank default'"),
        (["mental-models", "history", "mm-1"], "see 'hindsight-memory mental-models list --bank"),
        (["entities", "show", "Zed"], "see 'hindsight-memory entities list --bank default'"),
    ],
)
def test_errors_name_commands_not_methods(reading: Run, arguments: list[str], told: str) -> None:
    ran = reading(*arguments)
    assert (ran.code, told in ran.err) == (1, True), ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["recall", "x", "--where", "year=2024"], "give a JSON object, such as"),
        (["recall", "Where", "is", "Ana?"], "put a text of several words into quotes"),
        (["recall", "x", "--arm", "semantics"], "choose from temporal, entity, semantic, keyword"),
        (["evaluate", "pyproject.toml", "--baseline", "grep"], "choose from chroma, bm25"),
        (["mental-models", "create", "Ana"], "give its text with --text, or its question with"),
        (["banks", "update", "default", "--expire", "-3"], "give days above 0 or 'never'"),
        (["demo", "--question", " "], "--question is blank; give a question"),
    ],
)
def test_wrong_values_are_told_with_what_to_give(
    reading: Run, arguments: list[str], told: str
) -> None:
    ran = reading(*arguments)
    said = " ".join(re.sub(r"[\u2500-\u257f]", " ", ran.err).split())
    assert (ran.code, told in said) == (2, True), said
