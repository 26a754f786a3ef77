"""`make torture`: put every promise of docs/reliability.md to the test, and print one table.

python -m tests.torture                       20 kills; in continuous integration 8
python -m tests.torture --kills 1000          over night
python -m tests.torture --page docs/reliability.md      write the table into the page
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from benchmarks.page import write_section

ROOT = Path(__file__).parents[2]


class Promise(NamedTuple):
    """What is promised, and the tests that hold it."""

    promise: str
    tests: tuple[str, ...]


PROMISES = (
    Promise(
        "What was acknowledged outlives `kill -9`, in every arm, whole and once",
        (
            "tests/test_durability.py::"
            "test_nothing_acknowledged_is_lost_when_the_process_is_killed",
            "tests/durable/test_processes.py",
        ),
    ),
    Promise(
        "A damaged value costs one memory, never the bank; the doctor repairs it",
        (
            "tests/test_damaged_memories.py",
            "tests/stores/test_damaged_values.py",
            "tests/stores/test_opening.py",
        ),
    ),
    Promise(
        "The doctor repairs beside writers, and takes nothing of theirs for a fault",
        ("tests/stores/test_sync_beside_writers.py",),
    ),
    Promise(
        "A damaged or poisoned file is refused whole",
        ("tests/export_import/test_damaged_files.py",),
    ),
    Promise(
        "A backup is one state of a memory that is written meanwhile; it is restored whole or "
        "not at all",
        ("tests/export_import/test_backup.py",),
    ),
    Promise("Forgetting leaves no word in any file", ("tests/test_forgetting.py",)),
    Promise(
        "What is forgotten for a time comes back as it was, or goes; no audit quotes it",
        ("tests/test_undo.py", "tests/test_audit.py"),
    ),
    Promise("No read and no conclusion crosses scopes", ("tests/test_scopes.py",)),
    Promise(
        "An interrupted import leaves nothing; the same call finishes an interrupted merge",
        ("tests/export_import/test_importing.py", "tests/export_import/test_merging.py"),
    ),
    Promise(
        "What a workspace took during an outage is stored once, through kills and restarts",
        ("tests/workspace/test_outage.py",),
    ),
    Promise(
        "Of several processes that write one vector index, a slow one undoes nothing that another "
        "did later",
        ("tests/stores/test_sync_beside_flushes.py",),
    ),
    Promise(
        "Files are their user's alone, and nothing is left behind", ("tests/test_private_files.py",)
    ),
    Promise(
        "Wrong values raise only our own errors",
        ("tests/test_wrong_types.py", "tests/test_bad_input.py"),
    ),
    Promise(
        "No memory passes for another; no control reaches a terminal",
        ("tests/test_forged_memories.py",),
    ),
    Promise(
        "A server that is silent, far away, breaks off, or is killed costs no call more than its "
        "deadline; `health` tells",
        ("tests/test_silent_servers.py", "tests/test_server_faults.py"),
    ),
    Promise(
        "Hostile texts and questions cost what their length does; a recall ends in time",
        ("tests/retain/test_many_names.py", "tests/recall/test_limits.py"),
    ),
    Promise(
        "Several writers lose no update; a closing client refuses calls",
        (
            "tests/test_small_promises.py",
            "tests/test_changing_together.py",
            "tests/test_retaining_together.py",
        ),
    ),
)


class Outcome(NamedTuple):
    """How the tests of a promise ended."""

    promise: Promise
    passed: int
    skipped: int
    failed: int
    seconds: float


def put_to_the_test(promise: Promise, environment: dict[str, str]) -> Outcome:
    """Run the tests of a promise in a process of their own."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--timeout", "0", f"--junitxml={report}"]
        run = subprocess.run([*command, *promise.tests], cwd=ROOT, env=environment, check=False)
        suites = list(ElementTree.parse(report).iter("testsuite")) if report.exists() else []
    count = {
        name: sum(int(suite.get(name, 0)) for suite in suites)
        for name in ("tests", "skipped", "failures", "errors")
    }
    failed = count["failures"] + count["errors"] or int(run.returncode != 0)
    passed = count["tests"] - count["skipped"] - count["failures"] - count["errors"]
    return Outcome(promise, passed, count["skipped"], failed, time.perf_counter() - started)


def holders(promise: Promise) -> str:
    """Return the files that hold a promise, as Markdown."""
    files = dict.fromkeys(test.partition("::")[0] for test in promise.tests)
    return ", ".join(f"`{file}`" for file in files)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a table in Markdown."""
    rows = [
        "| promised | tested by | passed | skipped | failed | s |",
        "|---|---|---:|---:|---:|---:|",
    ]
    rows += [
        f"| {one.promise.promise} | {holders(one.promise)} | {one.passed} | {one.skipped} "
        f"| {one.failed} | {one.seconds:.0f} |"
        for one in outcomes
    ]
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Put all promises to the test; return 1 if one was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="processes killed (20)")
    parser.add_argument("--calls", type=int, default=3000, help="calls with wrong values (3000)")
    parser.add_argument("--page", type=Path, help="a page to write the table into")
    given = parser.parse_args(arguments)
    environment = os.environ | {
        "HINDSIGHT_TORTURE_KILLS": str(given.kills),
        "HINDSIGHT_TORTURE_CALLS": str(given.calls),
    }
    outcomes = [put_to_the_test(promise, environment) for promise in PROMISES]
    drawn = f"{given.kills:,} kills, {given.calls:,} calls with wrong values.\n\n{table(outcomes)}"
    sys.stdout.write(f"\n{drawn}\n")
    if given.page:
        write_section(given.page, "torture", drawn)
    return int(any(one.failed for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
