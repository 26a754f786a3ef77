"""How many times of a question are looked up, and how long an arm is waited for.

The clock of these tests moves only when something waits.
"""

from __future__ import annotations

import math
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace

import pytest

from hindsight_integrations.errors import InvalidInputError, StoreUnavailableError
from hindsight_integrations.models import Arm, TimeSpan
from hindsight_integrations.nlp.time import EventAnchor, QueryTimes, TimeWindow
from hindsight_integrations.recall import gathering
from hindsight_integrations.recall.arms import temporal
from hindsight_integrations.recall.base import ArmHit
from hindsight_integrations.recall.dependencies import Clock
from hindsight_integrations.recall.request import recall_request
from hindsight_integrations.results import Failure, Window
from tests.recall.building import NOON, bank_search, question

pytestmark = pytest.mark.ranking

REQUEST = recall_request("bank", "What was when?")


@dataclass(slots=True)
class Moved(Clock):
    """A clock that stands still until it is moved."""

    now: float = 0.0

    @property
    def elapsed(self) -> float:
        return self.now


# The times of a question


def anchors(count: int) -> tuple[EventAnchor, ...]:
    return tuple(
        EventAnchor("before", f"guest {n} came", None, f"before guest {n} came")
        for n in range(count)
    )


@dataclass
class Events:
    """Memories of events, each of which takes some seconds to find, where there is one."""

    clock: Moved
    seconds: float = 0.0
    known: bool = True
    looked_up: list[str] = field(default_factory=list)

    def resolve(self, search: object, anchor: EventAnchor, read: object) -> object:
        self.looked_up.append(anchor.event)
        self.clock.now += self.seconds
        window = Window(anchor.text, TimeSpan.of_day(NOON))
        return temporal.ResolvedEvent(window, anchor.event) if self.known else None


def with_events(
    events: Events, count: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[frozenset[str], list[Failure]]:
    """Return the events that a question of so many is asked with, and what failed."""
    monkeypatch.setattr(temporal, "resolve_event", events.resolve)
    failures: list[Failure] = []
    asked = gathering._with_event_windows(
        SimpleNamespace(),  # type: ignore[arg-type]
        bank_search(asked=question("What was when?")),
        REQUEST,
        QueryTimes(anchors=anchors(count)),
        failures,
        events.clock,
    )
    return asked.events, failures


@pytest.mark.parametrize(("named", "failed"), [(16, 0), (17, 1)])
def test_sixteen_times_of_a_question_are_looked_up_and_more_are_reported(
    named: int, failed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = [TimeSpan.of_day(NOON + timedelta(days=day)) for day in range(named)]
    failures: list[Failure] = []
    times = QueryTimes(tuple(TimeWindow(day, "then") for day in days))
    windows = gathering._question_windows(REQUEST, times, failures)
    assert [window.span for window in windows] == days[:16]
    events, failures_of_events = with_events(Events(Moved()), named, monkeypatch)
    assert len(events) == 16
    failures += failures_of_events
    assert [type(failure.error) for failure in failures] == [InvalidInputError] * 2 * failed


def test_times_that_are_asked_for_come_before_those_told_beside_the_question() -> None:
    days = [TimeSpan.of_day(NOON + timedelta(days=day)) for day in range(3)]
    asked = (False, True, True)
    times = QueryTimes(
        tuple(TimeWindow(day, "then", asked=a) for day, a in zip(days, asked, strict=True))
    )
    windows = gathering._question_windows(REQUEST, times, [])
    assert windows == tuple(Window("then", days[n], firm=asked[n]) for n in (1, 2, 0))


def test_events_are_looked_up_for_half_of_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of 12 s 2 are gone, so 5 s are for the events: the third begins after 4 s, a fourth would
    # begin after 6 s.
    events = Events(Moved(limit=12.0, now=2.0), seconds=2.0)
    found, failures = with_events(events, 9, monkeypatch)
    assert len(found) == len(events.looked_up) == 3
    assert [str(failure) for failure in failures] == [
        "events: StoreUnavailableError: recall_timeout (12 s) exceeded;"
        " raise it, or see `result.timings`"
    ]


# How long an arm is waited for


class Searching(Future[list[ArmHit]]):
    """An arm's search, by the time at which it gets a thread and the seconds it then takes."""

    def __init__(self, clock: Moved, begins: float, takes: float) -> None:
        super().__init__()
        self.clock, self.begins, self.ends = clock, begins, begins + takes
        self.waits: list[float] = []
        self.start_times: dict[Arm, float] = {}
        self.move_to(clock.now)

    def move_to(self, now: float) -> None:
        self.clock.now = now
        if self.begins <= now:
            self.start_times[Arm.KEYWORD] = self.begins

    def result(self, timeout: float | None = None) -> list[ArmHit]:
        assert timeout is not None
        assert len(self.waits) < 50, "it is waited for without end"
        self.waits.append(timeout)
        late = self.ends > self.clock.now + timeout
        self.move_to(self.clock.now + timeout if late else max(self.clock.now, self.ends))
        if late:
            raise TimeoutError
        return [ArmHit("found", 1.0, "")]


def waited(begins: float, takes: float) -> tuple[list[str], list[float], bool]:
    """Wait from second 3 for an arm that may take 5 s, in a recall that may take 103 s.

    Returns:
        What it found or why it did not, how long each wait was, and if it was cancelled.
    """
    search = Searching(Moved(limit=103.0, now=3.0), begins, takes)
    outcome = gathering._outcome(Arm.KEYWORD, search, search.start_times, 5.0, search.clock)
    if isinstance(outcome, Failure):
        assert isinstance(outcome.error, StoreUnavailableError)
        return [str(outcome.error)], search.waits, search.cancelled()
    return [hit.memory_id for hit in outcome], search.waits, search.cancelled()


def test_an_arm_is_waited_for_until_its_time_from_its_start_is_over() -> None:
    assert waited(begins=1, takes=4) == (["found"], [3.0], False)
    assert waited(begins=1, takes=math.inf) == (["no answer in 5 s"], [3.0], True)


def test_the_wait_of_an_arm_for_a_thread_does_not_count() -> None:
    # From 3 to 8 it may have begun at once; it began at 6, so it has until 11.
    assert waited(begins=6, takes=4) == (["found"], [5.0, 3.0], False)
    assert waited(begins=6, takes=math.inf) == (["no answer in 5 s"], [5.0, 3.0], True)


def test_an_arm_has_no_more_than_half_of_the_time_left() -> None:
    # That is 50 s, until 53.
    assert waited(begins=math.inf, takes=1) == (["no answer in 50 s"], [5.0] * 10, True)
    assert waited(begins=51, takes=math.inf) == (["no answer in 2 s"], [5.0] * 10, True)
    assert waited(begins=51, takes=2) == (["found"], [5.0] * 10, False)
