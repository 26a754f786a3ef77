"""Answers beside the matter: another event of the same verb, and states that are over since."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight
from tests.reflect.test_natural_notes import NOTHING, answer


@pytest.mark.parametrize(
    ("notes", "question"),
    [
        (["Tomasz takes over the on-call lead in December."], "Who left?"),
        (["Carla left her keys in the car."], "Who left?"),
        (["Ben left the room."], "Who left?"),
        (["The train left at nine."], "Who left?"),
        (["Ann turned left at the church."], "Who left?"),
        (["Priya moved closer to the screen."], "When did Priya move?"),
        (["Sam moved his desk."], "When did Sam move?"),
        (["Sam moved to the window."], "When did Sam move?"),
        (["Ann moved the meeting."], "Who moved?"),
        (["New designs from Lena arrived."], "What does Lena design?"),
        (["Ana: I turned down the nurse job at St Mary's."], "Where do I work?"),
        (["Ana: New job at Brightline: applied today."], "Where do I work?"),
        (["Maria applied for a job at the library."], "Does Maria work at the library?"),
        (["With Oksana at the lake."], "Where is Oksana from?"),
        (["Ben is home again, his daughter Ute cooks for him."], "What is Ben's job?"),
        (["Maria is hoping for a job at the library."], "Where does Maria work?"),
        (["Moved it to the 20th, Jase at a wedding the week before."], "Is Jase married?"),
    ],
)
def test_another_event_of_the_same_verb_answers_nothing(notes: list[str], question: str) -> None:
    assert answer(notes, question).startswith(NOTHING)


@pytest.mark.parametrize(
    ("notes", "question", "expected"),
    [
        (["Dora left the company in March."], "Who left?", "Dora"),
        (["Ben left Shell."], "When did Ben leave?", "Shell"),
        (["Sam moved to Bristol in March."], "When did Sam move?", "Mar"),
        (["Sam moved to a new flat."], "Who moved?", "Sam"),
        (["The train left at nine."], "When did the train leave?", "nine"),
        (["Oksana is from Kharkiv."], "Where is Oksana from?", "Kharkiv"),
        (["Ana designs shoes."], "What does Ana design?", "shoes"),
        (["Ana: I got a job at Oakfield."], "Where do I work?", "Oakfield"),
        (["Hired Stan (electrician) for the kitchen."], "What does Stan do?", "electrician"),
        (["Talked to Priya, shes a nurse."], "Is Priya a nurse?", "nurse"),
    ],
)
def test_the_event_itself_does(notes: list[str], question: str, expected: str) -> None:
    assert expected in answer(notes, question)


@pytest.mark.parametrize(
    ("before", "since", "question"),
    [
        ("Test env is down, disk full.", "Test env up again, thanks Raj.", "Is the test env down?"),
        ("The lift is broken.", "Lift works again.", "Is the lift broken?"),
        ("The staging server is down.", "Staging is back up.", "Is the staging server down?"),
        ("Jaden got a job at Greggs.", "Jaden quit Greggs.", "Does Jaden work at Greggs?"),
        ("Jaden got a job at Greggs.", "Jaden quit Greggs.", "Where does Jaden work?"),
        ("Baler broke.", "Baler going again, 310 bales in.", "Is the baler broken?"),
        ("Ben is in hospital.", "Ben is home again, his son cooks.", "Is Ben in hospital?"),
        ("Kofi is vegetarian.", "The vegetarian thing is over.", "Is Kofi vegetarian?"),
    ],
)
def test_what_is_over_since_stands_beside_the_answer(
    before: str, since: str, question: str
) -> None:
    found = answer([before, since], question)
    assert not found.startswith(("Yes", "No:"))
    assert since in found or found.startswith(NOTHING)


def test_what_fails_again_is_no_repair() -> None:
    found = answer(["The lift is broken.", "The lift is stuck again."], "Is the lift broken?")
    assert found.count("\n") == 0


@pytest.mark.parametrize("question", ["What is Paola learning?", "What is Tom building?"])
def test_a_question_whose_verb_a_small_model_takes_for_a_noun(
    memory: Hindsight, question: str
) -> None:
    memory.retain("b", "Paola is learning Italian.")
    memory.retain("b", "Tom is building a shed.")
    answer = memory.reflect("b", question)
    assert len(answer.sources) == 1
    assert ("Italian" in answer.text) == ("Paola" in question)


def test_what_was_decided_is_no_place_that_somebody_has_been_to(memory: Hindsight) -> None:
    memory.retain("b", "Kim has decided to go to Paris.")
    assert memory.reflect("b", "Where has Kim been?").sources == ()
    memory.retain("b", "Kim went to Malta in 2019.")
    assert "Malta" in memory.reflect("b", "Where has Kim been?").text
    assert "Paris" not in memory.reflect("b", "Where has Kim been?").text
