"""What is left out, put off, or told of another thing answers nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message, Settings

SAID = datetime(2026, 5, 13, 10, tzinfo=UTC)
ASKED = SAID + timedelta(days=60)


def answered(question: str, *told: str) -> bool:
    """Return True if notes, or the turns of a chat where there are several, answer a question."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        if len(told) == 1:
            memory.retain("b", told[0], timestamp=SAID)
        else:
            turns = [
                Message(("Ana", "Bo")[n % 2], text, SAID + timedelta(minutes=n))
                for n, text in enumerate(told)
            ]
            memory.retain_messages("b", turns)
        return bool(memory.reflect("b", question, query_time=ASKED))


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Amit now does deliveries instead of washing up.", "Who does the washing up?", False),
        ("Mia cooks rather than washing up.", "Who washes up?", False),
        ("Mia cooks rather than washing up.", "Who cooks?", True),
        ("Amit washes up after lunch.", "Who washes up?", True),
        ("Mia came without her dog.", "Who came without her dog?", True),
    ],
)
def test_what_is_left_out_is_not_done(told: str, question: str, expected: bool) -> None:
    assert answered(question, told) is expected


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("From July we use Quandary instead of Pagely.", "Which cloud provider do we use?", False),
        ("We use Stripe for payments.", "Which email service do we use?", False),
        ("We use Stripe for payments.", "Which payment service do we use?", True),
        ("From July we use Quandary instead of Pagely.", "Which tool do we use?", True),
    ],
)
def test_a_name_is_of_a_narrow_kind_if_the_sentence_says_so(
    told: str, question: str, expected: bool
) -> None:
    assert answered(question, told) is expected


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Making a new year's resolution, we actually rehearse.", "When do we rehearse?", False),
        ("We rehearse every Friday.", "When do we rehearse?", True),
        ("Today's lunch is soup.", "When is the lunch?", True),
        ("Notes from the talk: send slides by Friday.", "When was the talk?", False),
        ("The talk was on 3 May.", "When was the talk?", True),
    ],
)
def test_time_of_another_thing_is_not_that_of_the_event(
    told: str, question: str, expected: bool
) -> None:
    assert answered(question, told) is expected


def test_day_that_somebody_wants_to_move_is_no_answer() -> None:
    plan = "The review is on Monday at 2pm."
    assert answered("When is the review?", plan, "Nice, see you there.")
    assert answered("When is the review?", plan, "Can't make it to the pub tonight.")
    assert answered("When is the review?", plan, "Can we move it to the kitchen?")
    assert not answered("When is the review?", plan, "Can we move it to Tuesday?")
    assert not answered("When is the review?", plan, "Hm.", "Let's push it back a week.")


def test_day_of_what_was_moved_since_is_not_given_as_its_day() -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        later = {
            "moved": "The teacher says the trip is moved because of the coach.",
            "other": "We moved the photos of the trip to the shared folder.",
            "denied": "The trip is not moved, whatever you hear.",
        }
        for bank, text in later.items():
            memory.retain(bank, "The trip is on 2 October.", timestamp=SAID)
            memory.retain(bank, text, timestamp=SAID + timedelta(days=9))
        found = {
            bank: memory.reflect(bank, "When was the trip?", query_time=ASKED).text
            for bank in later
        }
    assert later["moved"] in found["moved"]
    assert "- 2 Oct 2026: " not in found["moved"]
    assert found["other"].startswith("- 2 Oct 2026: ")
    assert later["other"] not in found["other"]
    assert found["denied"].startswith("- 2 Oct 2026: ")
