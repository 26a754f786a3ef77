"""Who does what in a question and a sentence, and what was said later and ends an answer."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Settings

NOTHING = "Nothing known"
START = datetime(2026, 3, 2)


def ask(question: str, *told: str) -> str:
    """Return the answer from memories of one day each, asked after the last."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for day, text in enumerate(told):
            memory.retain("b", text, timestamp=START + timedelta(days=day))
        asked_at = START + timedelta(days=len(told))
        return memory.reflect("b", question, query_time=asked_at).text


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Harwell is suing Brixmoor over deliveries.", "Is Brixmoor suing Harwell?", ""),
        ("Harwell is suing Brixmoor over deliveries.", "Is Harwell suing Brixmoor?", "Yes"),
        ("Mrs Okafor is not diabetic; her sister is.", "Is Mrs Okafor diabetic?", "not diabetic"),
        ("Mrs Okafor's sister is diabetic.", "Is Mrs Okafor diabetic?", ""),
        (
            "The contract was drafted by Conrad Eames and signed by Paul Stubbs.",
            "Who signed the contract?",
            "Stubbs",
        ),
        ("The contract was signed and Paul Stubbs drafted the will.", "Who signed the will?", ""),
        ("Mr Lund had his hip replaced in Malmo.", "Where was Mr Lund's hip replaced?", "Malmo"),
        ("Mr Lund wants to have his hip replaced in Malmo.", "Where was his hip replaced?", ""),
        ("Ada is allergic to cats, so we can't get one.", "What is Ada allergic to?", "cats"),
        ("We can't say that Ada is allergic to cats.", "What is Ada allergic to?", ""),
        ("Brenda is on the Team plan with 12 seats.", "Which plan is Brenda on?", "Team"),
        ("Brenda is on the committee.", "Which plan is Brenda on?", ""),
        ("Brenda is working on a plan.", "Which plan is Brenda on?", ""),
        (
            "Gwen bought the meadow from the Pine family.",
            "Who did Gwen buy the meadow from?",
            "Pin",
        ),
        ("Gwen bought the meadow from savings.", "Who did Gwen buy the meadow from?", ""),
        ("The freezer is set to 80 degrees.", "What temperature is the freezer set to?", "80"),
        ("The freezer is set to alarm.", "What temperature is the freezer set to?", ""),
        ("Rehearsals are on Fridays now.", "On which day do we rehearse?", "Fridays"),
        ("Ana's rehearsals are on Fridays.", "On which day do we rehearse?", ""),
        ("It was Hugo who forgot the batteries.", "Who forgot the batteries?", "Hugo"),
        ("It was not Hugo who forgot the batteries.", "Who forgot the batteries?", ""),
        ("My best friend Salome will be my witness.", "Who will be my witness?", "Salome"),
        ("Salome's friend will be in Rome.", "Who will be my witness?", ""),
        ("Our landlord, Mr Prior, is not raising the rent.", "Who is our landlord?", "Prior"),
        ("Our landlord is not Mr Prior.", "Who is our landlord?", ""),
    ],
)
def test_a_sentence_answers_in_the_roles_of_the_question(
    told: str, question: str, expected: str
) -> None:
    found = ask(question, told)
    assert found.startswith(NOTHING) is not bool(expected), found
    assert expected in found


def test_a_number_that_is_nearly_so_is_quoted_but_not_given_as_the_number() -> None:
    question = "How many baguettes do we sell?"
    assert ask(question, "We sell about 180 baguettes.").startswith("“We sell about 180")
    assert ask(question, "We sell 180 baguettes.").startswith("180: ")
    assert ask(question, "We sell more than 180 baguettes.").startswith(NOTHING)


def test_what_was_going_to_be_does_not_tell_who_will() -> None:
    was = "Hanne was going to sing the solo, but she lost her voice."
    assert ask("Who will sing the solo?", was).startswith(NOTHING)
    assert "Hanne" in ask("Who will sing the solo?", "Hanne is going to sing the solo.")


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        (
            "Where does our flour come from?",
            "Our flour comes from the Dutton mill.",
            "Since the mill flooded, our flour comes from Shipley's.",
        ),
        (
            "On which day do we rehearse?",
            "We rehearse on Wednesdays in the hall.",
            "Rehearsals are on Thursdays now.",
        ),
        (
            "Which plan is Brenda on?",
            "Brenda is on the Team plan.",
            "Brenda upgraded from the Team plan to the Business plan.",
        ),
    ],
)
def test_a_newer_value_is_quoted_alone(question: str, older: str, newer: str) -> None:
    found = ask(question, older, newer)
    assert newer in found
    assert older not in found


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        (
            "Which airport do we fly from?",
            "We fly from Gatwick on 3 June.",
            "Change of plan, the flight is from Luton, not Gatwick.",
        ),
        (
            "Who is Benno engaged to?",
            "Benno is engaged to a Danish girl, Freja.",
            "Benno and Freja have broken off the engagement.",
        ),
        (
            "Who owes me 75 euros?",
            "Kasimir owes me 75 euros for the electricity.",
            "Kasimir paid me back the 75 euros.",
        ),
        (
            "Is the centrifuge broken?",
            "The centrifuge broke down during run 12.",
            "The centrifuge was repaired by Voss Instruments.",
        ),
        ("Who carries the radio?", "Maud carries the radio.", "Maud handed the radio to Joaquin."),
    ],
)
def test_a_hint_that_it_no_longer_holds_is_quoted_with_an_answer(
    question: str, older: str, newer: str
) -> None:
    found = ask(question, older, newer)
    assert found.index(newer) < found.index(older)
    assert not found.startswith("Yes")


@pytest.mark.parametrize(
    ("question", "told", "beside"),
    [
        (
            "Which airport do we fly from?",
            "We fly from Gatwick on 3 June.",
            "Ruth flies from Luton, not Gatwick.",
        ),
        ("Where does Kasimir live?", "Kasimir lives in Graz.", "Kasimir paid me back."),
        (
            "Who calibrates the scale?",
            "Priya calibrates the scale on Fridays.",
            "The scale was repaired by Voss.",
        ),
    ],
)
def test_what_ends_something_else_is_not_quoted(question: str, told: str, beside: str) -> None:
    found = ask(question, told, beside)
    assert told in found
    assert beside not in found
