"""The commands that export and import a bank."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight

from .banks import everything


def command(folder: Path, *arguments: str, input: bytes = b"") -> tuple[int, bytes, str]:
    from typer.testing import CliRunner

    from hindsight_integrations.cli import app

    environ = {"HINDSIGHT_PATH": str(folder), "COLUMNS": "100"}
    ran = CliRunner().invoke(app, list(arguments), input=input, env=environ)
    return ran.exit_code, ran.stdout_bytes, ran.stderr


@pytest.mark.slow
def test_the_commands_move_a_bank_by_file_and_by_pipe(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "bank.gz"
    with Hindsight(here) as memory:
        memory.retain("default", "Ruth Castellane runs Project Heron. 🐦")
    code, out, _ = command(here, "export", str(file))
    assert (code, b"1 memory" in b" ".join(out.split())) == (0, True)
    code, out, _ = command(there, "import", str(file), "--bank", "copy", "--json")
    assert (code, json.loads(out)["bank_id"]) == (0, "copy")
    code, piped, err = command(here, "export", "-")
    assert (code, piped, err) == (0, gzip.decompress(file.read_bytes()), "")
    assert command(there, "import", "-", input=piped)[0] == 0
    with Hindsight(there) as memory:
        assert [bank.id for bank in memory.banks.list()] == ["copy", "default"]
        assert everything(memory, "copy") == everything(memory, "default")


def test_the_commands_say_what_is_wrong(tmp_path: Path) -> None:
    here, file = tmp_path / "here", tmp_path / "bank"
    with Hindsight(here) as memory:
        memory.banks.create("default")
    assert command(here, "export", "-", "--json")[0] == 2
    assert command(here, "import", str(tmp_path / "none"))[0] == 2
    assert command(here, "export", str(file))[0] == 0
    code, out, err = command(here, "import", str(file))
    assert (code, out) == (1, b"")
    assert err.startswith("error: bank 'default' exists already")
    code, _, err = command(here, "import", "-", input=b"Dear diary,\n")
    assert (code, "standard input, line 1" in err) == (1, True)
