from __future__ import annotations

import contextvars
import threading

import pytest

from hindsight_integrations.reflect.deadline import within

CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("CALLER")


def test_what_comes_in_time_is_returned_or_raised() -> None:
    assert within(60, lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 / 0)


def test_what_comes_late_is_given_up() -> None:
    released = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.01, lambda: released.wait(60))
    released.set()


def test_work_sees_the_context_variables_of_its_caller() -> None:
    CALLER.set("a trace")
    assert within(60, CALLER.get) == "a trace"
