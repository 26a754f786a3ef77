"""Conclusions from running notes and chats: what is denied, given away, only a place, or plain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message

START = datetime(2025, 1, 6, 9, tzinfo=UTC)
ASKED = START + timedelta(days=20)


def _tell(memory: Hindsight, *texts: str) -> None:
    for day, text in enumerate(texts):
        memory.retain("b", text, timestamp=START + timedelta(days=3 * day))


def _say(memory: Hindsight, *turns: tuple[str, str]) -> None:
    for day, (speaker, text) in enumerate(turns):
        said = START + timedelta(days=3 * day)
        memory.retain_messages("b", [Message(speaker, text, said)], session=str(day))


def _profile(memory: Hindsight, person: str) -> list[str]:
    return [line.text for line in memory.profile("b", person, query_time=ASKED).lines]


def _observations(memory: Hindsight) -> list[str]:
    memory.consolidate("b")
    return [observation.text for observation in memory.observations.list("b").items]


def _opinions(memory: Hindsight, topic: str) -> list[str]:
    return [opinion.text for opinion in memory.opinions.form("b", topic)]


@pytest.mark.parametrize(
    "later",
    [
        "Sofia is not moving to Dublin.",
        "Sofia is no longer moving to Dublin.",
        "Correction: Sofia is not moving to Dublin, it is Sofia Lind of sales who is.",
        "Correction: the move of Sofia to the Dublin office is off.",
    ],
)
def test_a_plan_that_is_denied_or_corrected_later_is_left_out(
    memory: Hindsight, later: str
) -> None:
    _tell(memory, "Sofia is moving to the Dublin office in September.", later)
    assert _profile(memory, "Sofia") == []


@pytest.mark.parametrize(
    "later", ["Sofia is not moving to Cork.", "Correction: Sofia has two keys, not three."]
)
def test_a_plan_stands_if_something_else_is_denied_or_corrected(
    memory: Hindsight, later: str
) -> None:
    told = "Sofia is moving to Dublin in September."
    _tell(memory, told, later)
    assert told in _profile(memory, "Sofia")


@pytest.mark.parametrize(
    "text",
    [
        "I work as a freelance illustrator.",
        "I work as a night porter at the Ritz.",
        "I work from home.",
        "I got the job at the aquarium!",
        "I've started at Monzo as a data analyst.",
        "I run every morning before work.",
        "I walk to chapel every Sunday.",
        "I swim on Mondays.",
        "I grow tomatoes.",
        "I'm the designer here, I live in Accra.",
        "I've moved from Accra to Kumasi, my wife got a post there.",
    ],
)
def test_a_trade_a_new_post_and_a_habit_are_facts(memory: Hindsight, text: str) -> None:
    _say(memory, ("Kofi", text))
    assert _profile(memory, "Kofi") == [text]


@pytest.mark.parametrize(
    "text",
    [
        "We work as a team.",
        "I work as a rule from ten to six.",
        "My brother works as a freelance illustrator.",
        "I got the job done at last.",
        "I found a job for my brother at Shell.",
        "I almost got the job at Shell.",
        "I got a job at the aquarium for the summer.",
        "In 2010 I started at Shell as a cleaner.",
        "I started at the bottom as a cleaner.",
        "I never swim on Mondays.",
        "I swim on Monday.",
        "I used to run every morning.",
        "I would run every morning.",
        "If I run every morning my knee hurts.",
        "I run every morning this week.",
        "I kill you every day.",
        "I work on Tuesdays.",
        "I play Thistle, a halfling rogue.",
        "I hate Mondays.",
        "I grow old.",
        "My name is Ishmael. No, that's the first line, sorry.",
    ],
)
def test_what_only_looks_like_a_trade_post_or_habit_is_no_fact(
    memory: Hindsight, text: str
) -> None:
    _say(memory, ("Kofi", text))
    assert _profile(memory, "Kofi") == []


def test_what_the_speaker_only_gathers_is_no_preference(memory: Hindsight) -> None:
    _say(memory, ("Jean", "Noor prefers essays, I gather."))
    assert _profile(memory, "Noor") == []


def test_a_pet_that_was_given_away_is_left_out(memory: Hindsight) -> None:
    _say(memory, ("Ingrid", "Pablo has a cat."), ("Pablo", "I gave the cat to my cousin."))
    assert _profile(memory, "Pablo") == []


def test_a_pet_that_is_given_something_stays(memory: Hindsight) -> None:
    _say(memory, ("Ingrid", "Pablo has a cat."), ("Pablo", "I gave the cat a bath."))
    assert _profile(memory, "Pablo") == ["Pablo has a cat."]


def test_a_game_that_was_lost_ends_no_habit(memory: Hindsight) -> None:
    told = "I play chess with Hedwig on Wednesdays."
    _say(memory, ("Otto", told), ("Otto", "I played chess with Hedwig and lost."))
    assert told in _profile(memory, "Otto")


def test_who_is_in_a_numbered_place_is_the_subject(memory: Hindsight) -> None:
    _tell(
        memory,
        "Bed 3, Mr Baptiste, takes warfarin.",
        "Mr Baptiste was switched from warfarin to apixaban by Dr Lund.",
    )
    (text,) = _observations(memory)
    assert text.startswith("On Mr Baptiste, first warfarin, then apixaban: ")


@pytest.mark.parametrize(
    "texts",
    [
        ("Sam is ill, Dilek covers for the week.", "Sam has hurt a wrist, Dilek does the till."),
        ("The choir sang in the paper mill.", "Ana lost her scarf in the paper mill."),
    ],
)
def test_a_second_person_or_a_place_in_common_is_no_topic(
    memory: Hindsight, texts: tuple[str, ...]
) -> None:
    _tell(memory, *texts)
    assert _observations(memory) == []


def test_a_cuisine_is_no_topic(memory: Hindsight) -> None:
    _say(memory, ("Ulrike", "She loves Thai food."), ("Ulrike", "We cooked Thai, of course."))
    assert _observations(memory) == []


def test_a_place_of_several_is_no_topic_but_a_fact_of_each(memory: Hindsight) -> None:
    _say(
        memory,
        ("Ulrike", "I work at the Goethe Institute."),
        ("Petra", "I work at the Goethe Institute too."),
    )
    openings = {text.partition(":")[0] for text in _observations(memory)}
    assert openings == {"Ulrike", "Petra"}


def test_what_is_said_of_a_place_itself_is_observed(memory: Hindsight) -> None:
    _tell(memory, "The choir sang in the paper mill.", "The paper mill is damp.")
    (text,) = _observations(memory)
    assert text.startswith("On the paper mill: ")


@pytest.mark.parametrize(
    ("before", "after", "lead"),
    [
        ("Opening hours are 9 to 5.", "Opening hours are now 8 to 4.", "On the opening hours, "),
        (
            "Sunday training is at 8.",
            "Sunday training is now at 9.",
            "On the Sunday training, first 8, then 9: ",
        ),
    ],
)
def test_a_subject_is_called_as_it_was_spelled(
    memory: Hindsight, before: str, after: str, lead: str
) -> None:
    _tell(memory, before, after)
    (text,) = _observations(memory)
    assert text.startswith(lead)


def test_a_value_at_the_end_of_a_sentence_has_no_full_stop_in_the_lead(memory: Hindsight) -> None:
    _say(memory, ("Emeka", "We use GraphPad."), ("Emeka", "We moved from GraphPad to R."))
    (text,) = _observations(memory)
    assert text.startswith("Emeka, first GraphPad, then R: ")


@pytest.mark.parametrize(
    "against",
    ["The linter is slow on my machine.", "The linter is boring, there, I said it."],
)
def test_one_statement_is_no_opinion_if_another_may_speak_against_it(
    memory: Hindsight, against: str
) -> None:
    _say(memory, ("Ravi", "The linter is brilliant."), ("Chen", against))
    assert _opinions(memory, "linter") == []


def test_several_statements_outweigh_one_that_may_speak_against_them(memory: Hindsight) -> None:
    _say(
        memory,
        ("Ravi", "The linter is brilliant."),
        ("Olga", "I love the linter."),
        ("Chen", "The linter is slow on my machine."),
    )
    (text,) = _opinions(memory, "linter")
    assert text.startswith("Linter is well spoken of (2 for, 0 against)")


@pytest.mark.parametrize(
    ("later", "formed"),
    [
        ("The new dishwasher arrives on Thursday.", False),
        ("We need a new dishwasher.", True),
        ("The new neighbour is nice to the patient in bed 3.", True),
    ],
)
def test_what_was_thought_before_there_was_a_new_one_does_not_count(
    memory: Hindsight, later: str, *, formed: bool
) -> None:
    _tell(memory, "The dishwasher is unreliable.", later)
    assert bool(_opinions(memory, "dishwasher")) is formed
