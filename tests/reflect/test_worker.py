"""The background thread: works in order, idles when told to, and blocks no caller."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from hindsight_integrations.errors import BankNotFoundError, ModelError
from hindsight_integrations.reflect.consolidation import Consolidation
from hindsight_integrations.reflect.worker import Worker
from hindsight_integrations.results import Failure


def noting(note: Callable[[str], object]) -> Callable[[str], Iterator[Consolidation]]:
    """Work that only notes the bank."""

    def work(bank_id: str) -> Iterator[Consolidation]:
        note(bank_id)
        yield Consolidation(bank_id)

    return work


def test_each_bank_is_reflected_on_once_however_often_it_was_woken() -> None:
    seen: list[str] = []
    worker = Worker(noting(seen.append), delay=3600)
    for bank in ("a", "b", "a", "a"):
        worker.wake(bank)
    assert seen == []
    assert worker.wait_idle(30)
    assert sorted(seen) == ["a", "b"]
    worker.close()


def test_closing_drains_and_a_closed_worker_is_not_woken() -> None:
    seen: list[str] = []
    worker = Worker(noting(seen.append), delay=3600)
    worker.wake("a")
    worker.close()
    worker.close()
    worker.wake("b")
    assert seen == ["a"]


def test_without_work_the_thread_ends_and_is_started_again() -> None:
    threads: list[threading.Thread] = []
    note = noting(lambda _: threads.append(threading.current_thread()))
    worker = Worker(note, delay=0, patience=0.01)
    for _ in range(2):
        worker.wake("a")
        assert worker.wait_idle(30)
        threads[-1].join(30)
        assert not threads[-1].is_alive()
    assert len(set(threads)) == 2
    worker.close()


def test_waiting_gives_up_in_time() -> None:
    go = threading.Event()
    worker = Worker(noting(lambda _: go.wait(30)), delay=0)
    worker.wake("a")
    assert not worker.wait_idle(0.01)
    go.set()
    assert worker.wait_idle(30)
    worker.close()


def test_an_error_is_logged_and_kept_until_all_goes_well_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors: list[Exception] = [ModelError("it is asleep"), ZeroDivisionError("by nothing")]

    def work(bank_id: str) -> Iterator[Consolidation]:
        if errors:
            raise errors.pop(0)
        yield Consolidation(bank_id)

    worker = Worker(work, delay=0)
    with caplog.at_level(logging.WARNING):
        for expected in ("it is asleep", "ZeroDivisionError: by nothing"):
            worker.wake("a")
            assert worker.wait_idle(30)
            well, said = worker.state()
            assert not well
            assert expected in said
            assert expected in caplog.text
    worker.wake("a")
    assert worker.wait_idle(30)
    assert worker.state() == (True, "nothing is waiting")
    worker.close()


def test_what_could_not_be_reflected_on_is_told_and_a_deleted_bank_is_no_error() -> None:
    def work(bank_id: str) -> Iterator[Consolidation]:
        if bank_id == "gone":
            raise BankNotFoundError("deleted")
        yield Consolidation(bank_id, failures=(Failure("tea", ModelError("no reply")),))

    worker = Worker(work, delay=0)
    worker.wake("gone")
    assert worker.wait_idle(30)
    assert worker.state()[0]
    worker.wake("a")
    assert worker.wait_idle(30)
    assert "no reply" in worker.state()[1]
    worker.close()
