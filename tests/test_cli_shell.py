"""The shell, the configuration file and the pager."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hindsight_integrations.cli import app, config
from tests.examples import blocks
from tests.test_cli import Ran, runs_on


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "DEFAULT", tmp_path / "config.toml")
    for name in ("HINDSIGHT_SEMANTIC_LINKS", "HINDSIGHT_EMBEDDER"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)  # what a file sets is taken back at the end


def run(*arguments: str, input: str | None = None) -> Ran:
    environ = {"HINDSIGHT_CONSOLIDATE": "false", "COLUMNS": "100"}
    found = CliRunner().invoke(app, list(arguments), input=input, env=environ)
    return Ran(found.exit_code, found.stdout, found.stderr)


def test_lines_are_commands_or_questions_on_one_open_memory(folder: Path) -> None:
    lines = [
        "retain 'Alice moved to Bergen in May 2024.'",
        "Where's Alice?",
        "use other",
        "retain 'Bob plays the oboe.' --tag music",
        "Who plays the oboe?",
        "memories list --tag music",
        "memories show m-1",
        "recall --nonsense x",
        "shell",
        "",
        "tags list",
        "exit",
        "retain 'Not this.'",
    ]
    ran = run("shell", "--path", str(folder), input="\n".join(lines))
    assert ran.code == 2, "that of the last line that failed: shell in the shell"
    assert ran.out.count("Alice moved to Bergen") == 2
    assert ran.out.count("Bob plays the oboe.") == 3
    assert ran.out.rstrip().splitlines()[-1].split() == ["music", "1"]
    assert "no memory 'm-1'" in ran.err
    assert "--nonsense" in ran.err
    assert "does not run in the shell" in ran.err
    left = runs_on(folder)("banks", "list", "--json").json
    assert [bank["id"] for bank in left] == ["default", "other"]


def test_a_command_with_an_apostrophe_is_no_question(folder: Path) -> None:
    lines = ["retain Alice's cat is ill.", "Where's Alice's cat?"]
    ran = run("shell", "--path", str(folder), input="\n".join(lines))
    assert ran.code == 1, "there is no bank to ask, as nothing was retained"
    assert "error: a quotation mark is not closed" in ran.err
    alone = run("shell", "--path", str(folder), input=lines[0])
    assert alone.code == 2
    assert runs_on(folder)("banks", "list", "--json").json == []
    said = run("shell", "--path", str(folder), input=r"retain Alice\'s cat is ill.")
    assert said.code == 2, "several words, for which quotation marks are needed"
    said = run("shell", "--path", str(folder), input='retain "Alice\'s cat is ill."')
    assert said.code == 0


@pytest.mark.parametrize("command", ["shell", "mcp"])
def test_a_blank_bank_is_refused_before_a_folder_is_made(command: str, tmp_path: Path) -> None:
    ran = run(command, "--path", str(tmp_path / "new"), "--bank", " ", input="Who is Ana?")
    assert (ran.code, ran.err) == (
        1,
        "error: bank_id is blank; give at least one visible character\n",
    )
    assert not (tmp_path / "new").exists()


def test_the_shell_writes_json_for_each_command(folder: Path) -> None:
    lines = ['retain "Bob plays the oboe."', "Who plays the oboe?", "memories show m-1"]
    ran = run("shell", "--path", str(folder), "--json", input="\n".join(lines))
    assert ran.code == 1
    decoder, at, documents = json.JSONDecoder(), 0, []
    while at < len(ran.out):
        document, end = decoder.raw_decode(ran.out, at)
        documents.append(document)
        at = end + 1
    retained, recalled, failed, ended = documents
    assert retained["stored"][0]["text"] == "Bob plays the oboe."
    assert len(recalled["memories"]) == 1
    assert failed["error"]["type"] == "MemoryNotFoundError"
    assert ended == {"banks": ["default"]}


def test_a_table_in_the_file_is_the_value_of_an_option_that_takes_json(
    folder: Path, tmp_path: Path
) -> None:
    on_it = runs_on(folder)
    on_it("retain", "Alice keeps bees.", "--meta", "year=2024")
    on_it("retain", "Alice keeps hens.", "--meta", "year=2025")
    file = tmp_path / "own.toml"
    file.write_text("[recall]\nwhere = {year = 2024}\n", encoding="utf-8")
    found = on_it("--config", str(file), "recall", "Alice", "--json").json["memories"]
    assert [each["memory"]["text"] for each in found] == ["Alice keeps bees."]
    file.write_text("[recall]\nscope = {year = 2024}\n", encoding="utf-8")
    refused = on_it("--config", str(file), "recall", "Alice")
    assert (refused.code, "must be a single value" in refused.err) == (1, True)


def test_a_question_is_asked_on_stderr_and_ctrl_c_answers_it(folder: Path) -> None:
    runs_on(folder)("retain", "Alice keeps bees.")
    command = "from hindsight_integrations.cli import main; main()"
    given = ["banks", "delete", "default", "--json", "--path", str(folder)]
    for answer, code, kind in ((b"\x03", 130, "KeyboardInterrupt"), (b"n\n", 1, "Abort")):
        master, terminal = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-c", command, *given],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            asked = process.stderr.read(len("Permanently delete bank 'default'"))
            assert asked == b"Permanently delete bank 'default'"
            os.write(master, answer)
            out = process.stdout.read()
        os.close(master)
        os.close(terminal)
        assert (process.returncode, json.loads(out)["error"]["type"]) == (code, kind)
    assert len(runs_on(folder)("banks", "list", "--json").json) == 1


def test_a_file_gives_defaults_that_the_command_line_precedes(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        f'path = "{folder}"\nbank = "me"\n[recall]\ntop = 1\n[memories.list]\nlimit = 1\n'
        '[environment]\nHINDSIGHT_SEMANTIC_LINKS = "7"\n',
        encoding="utf-8",
    )
    run("retain", "Alice moved to Bergen.")
    run("retain", "Alice moved to Oslo.")
    assert os.environ["HINDSIGHT_SEMANTIC_LINKS"] == "7"
    assert len(run("memories", "list", "--json").json["items"]) == 1
    assert len(run("memories", "list", "--limit", "5", "--json").json["items"]) == 2
    assert run("recall", "Alice", "--json").json["bank_ids"] == ["me"]
    assert run("recall", "Alice").out.count("moved to") == 1
    assert run("recall", "Alice", "--bank", "other").code == 1
    shell = run("shell", input="memories list\nuse other\nbanks show me")
    assert "1 of 2" in shell.out
    elsewhere = tmp_path / "other.toml"
    elsewhere.write_text("bank = 'me'\n", encoding="utf-8")
    named = run("--config", str(elsewhere), "memories", "list", "--path", str(folder), "--json")
    assert len(named.json["items"]) == 2


def test_the_file_on_the_page_is_one(tmp_path: Path) -> None:
    page = Path(__file__).parents[1] / "docs" / "shell.md"
    (block,) = (one for one in blocks(page.read_text(encoding="utf-8")) if one.language == "toml")
    (tmp_path / "config.toml").write_text(block.text, encoding="utf-8")
    assert run("version").code == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("colour = 1", "no command has an option --colour"),
        ("[recal]\ntop = 1", "unknown command 'recal'"),
        ("[recall]\ncolour = 1", "recall has no option --colour"),
        ("[memories.lst]\nlimit = 1", "unknown command 'lst'"),
        ("[environment]\nPATH = '/'", "begin with HINDSIGHT_"),
        ("environment = 3", "environment must be a table"),
        ("[environment]\nHINDSIGHT_TOP = [3]", "must be a single value"),
        ("[environment]\nHINDSIGHT_EMBEDER = 'e5'", "did you mean HINDSIGHT_EMBEDDER?"),
        ("[environment]\nHINDSIGHT_SERVICE_PROT = 1", "did you mean HINDSIGHT_SERVICE_PORT?"),
        ("[environment]\nHINDSIGHT_XYZ = 1", "see docs/settings.md"),
        ("top", "cannot be read"),
    ],
)
def test_what_a_file_names_in_vain_is_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    refused = run("version")
    assert refused.code == 1
    assert told in refused.err


def test_output_that_does_not_fit_a_terminal_goes_through_the_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\ncat\necho PAGED\n", encoding="utf-8")
    pager.chmod(0o755)
    code = (
        "from hindsight_integrations.cli.screen import Output, Screen; import sys\n"
        "Screen(False).show(Output(None, '\\n'.join(map(str, range(int(sys.argv[1]))))))"
    )

    def shown(lines: int) -> str:
        ours, theirs = pty.openpty()
        environ = os.environ | {"PAGER": str(pager), "LINES": "24", "TERM": "xterm"}
        subprocess.run(
            [sys.executable, "-c", code, str(lines)],
            stdin=theirs, stdout=theirs, env=environ, check=True,
        )  # fmt: skip
        os.close(theirs)
        with os.fdopen(ours, "rb") as read:
            return read.read1(10_000).decode()

    assert "PAGED" in shown(40)
    assert "PAGED" not in shown(10)
