"""`make torture`: its page and its tests are those that exist, and a broken promise is counted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.torture.__main__ import PROMISES, ROOT, Promise, holders, put_to_the_test, table


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.promise[:40])
def test_each_promise_is_on_the_page_with_the_tests_that_hold_it(promise: Promise) -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert f"| {promise.promise} | {holders(promise)} |" in page
    for test in promise.tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_passed_and_what_failed_is_counted(tmp_path: Path) -> None:
    tests = tmp_path / "test_two.py"
    tests.write_text("def test_a(): pass\n\n\ndef test_b(): assert False\n", encoding="utf-8")
    outcome = put_to_the_test(Promise("Two hold", (str(tests),)), dict(os.environ))
    assert (outcome.passed, outcome.skipped, outcome.failed) == (1, 0, 1)
    missing = put_to_the_test(Promise("None hold", (str(tmp_path / "none.py"),)), dict(os.environ))
    assert missing.failed
    assert "| Two hold | " in table([outcome, missing])
