"""The command line as processes: what it loads, a folder between two of them, Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations.cli.screen import Screen
from tests.test_cli import runs_on
from tests.waiting import until

COMMAND = [sys.executable, "-c", "from hindsight_integrations.cli import main; main()"]
HEAVY = ("chromadb", "numpy", "onnxruntime", "spacy", "hindsight_integrations.client")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, hindsight_integrations.cli; "
        f"sys.exit(', '.join(name for name in {HEAVY!r} if name in sys.modules) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("module", ["hindsight_integrations", "hindsight_integrations.cli"])
def test_the_package_runs_as_the_command(module: str) -> None:
    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran("--version").stdout.startswith("hindsight-integrations ")
    wrong = ran("recal")
    assert wrong.returncode == 2
    assert "Usage: hindsight-memory [OPTIONS]" in wrong.stderr


@pytest.mark.slow
def test_two_processes_share_a_memory_through_its_folder(tmp_path: Path) -> None:
    def hindsight(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    told = hindsight("retain", "Kasia works for the port authority, in Łódź.")
    assert (told.returncode, told.stderr) == (0, "")
    asked = hindsight("recall", "Where does Kasia work?", "--json")
    assert asked.returncode == 0
    assert json.loads(asked.stdout)["memories"][0]["memory"]["text"].startswith("Kasia")
    assert (tmp_path / "hindsight-memory").is_dir()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Restore the interrupt by Ctrl-C, here and in child processes: a background job ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("reports", [True, False])
def test_ctrl_c_that_a_library_swallows_still_ends_the_command(reports: bool) -> None:
    before = signal.getsignal(signal.SIGINT)
    went_on = False

    def work() -> None:
        nonlocal went_on
        with Screen(False).progress("Retaining") as report:
            report(1, 9)
            with contextlib.suppress(KeyboardInterrupt):  # as the library does
                signal.raise_signal(signal.SIGINT)
            if reports:
                report(2, 9)
                went_on = True

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not went_on
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_cleanly_and_leaves_a_sound_store(tmp_path: Path) -> None:
    lines = (json.dumps({"content": f"Parcel {n} went to pier {n % 7}."}) for n in range(20_000))
    source = tmp_path / "parcels.jsonl"
    source.write_text("\n".join(lines), encoding="utf-8")
    store = tmp_path / "store"
    with subprocess.Popen(
        [*COMMAND, "retain", "--jsonl", str(source), "--path", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: any(path.stat().st_size > 500_000 for path in sqlite_files(store)))
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err == "error: interrupted; everything stored so far is intact\n"
    run = runs_on(store)
    kept = run("banks", "show", "default", "--json").json["stats"]["memories"]
    assert 0 < kept < 20_000
    assert run("doctor", "--json").json["findings"] == []


def sqlite_files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("*.sqlite*") if path.is_file())
