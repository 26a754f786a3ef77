"""What is quoted without a language model is told as a fact, of whom and of what it was asked."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight, Message, Settings
from hindsight_integrations.nlp.sentences import parse
from hindsight_integrations.reflect.answers.factual import has_arrived, has_left, is_told
from hindsight_integrations.reflect.answers.named import aliases, may_be, whole_name, words_of

NOTHING = "Nothing known"


def answer(told: str, question: str, speaker: str = "") -> str:
    """Return the answer to a question from one memory."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        if speaker:
            memory.retain_messages("b", [Message(speaker, told)])
        else:
            memory.retain("b", told)
        return memory.reflect("b", question).text


# Of whom it is told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Julian", "Juliane"),
        ("Christin", "Christine"),
        ("Carlos", "Carlo"),
        ("Robert", "Roberts"),
        ("Emil", "Emile"),
    ],
)
def test_names_of_equal_stems_are_two_people(memory: Hindsight, one: str, other: str) -> None:
    memory.retain("b", f"{one} lives in Passau.")
    memory.retain("b", f"{other} lives in Stade.")
    found = memory.reflect("b", f"Where does {one} live?").text
    assert "Passau" in found
    assert "Stade" not in found
    found = memory.reflect("b", f"Where does {other} live?").text
    assert "Stade" in found
    assert "Passau" not in found


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Greta Holm hates queues, says Greta Falk.", "What does Greta Falk hate?", ""),
        ("Greta Holm hates queues, says Greta Falk.", "What does Greta Holm hate?", "queues"),
        ("Greta Holm hates queues.", "What does Greta hate?", "queues"),
        (
            "Uwe Brink lives in Jena, and Ole Brink lives in Gera.",
            "Where does Uwe Brink live?",
            "J",
        ),
        ("Uwe Brink lives in Jena.", "Where does Uwe Brink live?", "Jena"),
        ("Uwe Brink lives in Jena.", "Where does Ole Brink live?", ""),
        ("José's van is in Ulm.", "Where is Jose's van?", "Ulm"),
        ("Greta Falk has left. She lives in Ulm.", "Where does Greta Falk live?", "Ulm"),
        ("Greta Falk has left. She lives in Ulm.", "Where does Greta Holm live?", ""),
    ],
)
def test_a_name_is_compared_as_a_whole(told: str, question: str, expected: str) -> None:
    found = answer(told, question)
    assert found.startswith(NOTHING) is not bool(expected)
    assert expected in found


def test_a_part_of_a_name_stands_for_it_if_nobody_else_has_it() -> None:
    sentence = parse("Greta called Holm.").words
    asked = words_of("Dr Greta Falk")
    assert asked == {"greta", "falk"}
    assert aliases(asked, sentence, ("Greta Falk",)) == {sentence[0]}
    assert aliases(asked, sentence, ("Greta Falk", "Greta Holm")) == set()
    assert whole_name(parse("Then Greta Holm left.").words[1]) == {"greta", "holm"}
    assert may_be(asked, words_of("Greta F."))
    assert not may_be(asked, words_of("Greta H."))


# Facts


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Ruth hopes to repair the barn.", "Who repaired the barn?"),
        ("Ruth agreed to repair the barn.", "Who repaired the barn?"),
        ("Ruth works with a crew in Bonn.", "Where does Ruth work?"),
        ("Ruth declined to lead the choir.", "Who leads the choir?"),
        ("Ruth gave up sewing the curtains.", "Who sewed the curtains?"),
        ("Ruth attempted to repair the barn.", "Who repaired the barn?"),
        ("Ruth is about to rent the barn.", "Who rented the barn?"),
        ("Ruth is going to rent the barn.", "Who rented the barn?"),
        ("Ruth must repair the barn.", "Who repaired the barn?"),
        ("Ruth left without closing the barn.", "Who closed the barn?"),
        ("Ruth nearly sold the barn.", "What did Ruth sell?"),
        ("Ruth's plan to buy the barn came to nothing.", "Who bought the barn?"),
        ("Ruth pretends to speak Danish.", "Which languages does Ruth speak?"),
        ("Ruth refuses to have a dog.", "Who has a dog?"),
        ("It is untrue that Ruth lives in Bonn.", "Where does Ruth live?"),
        ("Nora doubts that Ruth lives in Bonn.", "Where does Ruth live?"),
        ("I don't believe that Ruth lives in Bonn.", "Where does Ruth live?"),
        ("The rumour that Ruth lives in Bonn annoys her.", "Where does Ruth live?"),
        ("Ruth longs to move to Bonn.", "Where does Ruth live?"),
        ("Ruth is moving to Bonn in spring.", "Where does Ruth live?"),
        ("Ruth moved her piano to Bonn.", "Where does Ruth live?"),
        ("Ruth moved away in spring.", "Where does Ruth live?"),
        ("Ruth asked for a job at Bosch.", "Where does Ruth work?"),
        ("Ruth chose our wedding cake.", "Is Ruth married?"),
        ("Ruth thought the ladder was in the barn.", "Where is the ladder?"),
        ("I assumed the ladder was in the barn.", "Where is the ladder?"),
        ("The barn is flooded, according to Ruth.", "Is the barn flooded?"),
    ],
)
def test_a_wish_plan_or_doubt_is_no_answer(told: str, question: str) -> None:
    assert answer(told, question).startswith(NOTHING)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Ruth managed to repair the barn.", "Who repaired the barn?", "Ruth"),
        ("Ruth came home and repaired the barn.", "Who repaired the barn?", "Ruth"),
        ("Ruth kept repairing the barn.", "Who repaired the barn?", "Ruth"),
        ("Ole says that Ruth lives in Bonn.", "Where does Ruth live?", "Bonn"),
        ("I know that Ruth lives in Bonn.", "Where does Ruth live?", "Bonn"),
        ("It is true that Ruth lives in Bonn.", "Where does Ruth live?", "Bonn"),
        ("Ruth, who lives in Bonn, wants to learn Danish.", "Where does Ruth live?", "Bonn"),
        ("Ruth lives in Bonn because she wants to study there.", "Where does Ruth live?", "Bonn"),
        ("Ruth moved to Bonn in spring.", "Where does Ruth live?", "Bonn"),
        ("Ruth has moved to Bonn.", "Does Ruth live in Bonn?", "Yes: "),
        ("Ruth moved away in spring.", "Does Ruth still live here?", "No: "),
        ("Ruth started her job at Bosch in May.", "Where does Ruth work?", "Bosch"),
        ("We plan to launch in May 2031.", "When do we launch?", "May 2031"),
        ("Ruth saw Ole leave the barn.", "Who left the barn?", "Ole"),
        ("We agreed to meet at the barn.", "Where do we meet?", "barn"),
        ("I'm glad that Ruth leads the choir.", "Who leads the choir?", "Ruth"),
        ("Ruth wants to buy a barn.", "What does Ruth want to buy?", "barn"),
        ("The barn is flooded, according to the report.", "Is the barn flooded?", "“The barn"),
        ("Ruth tried to repair the barn.", "Did Ruth repair the barn?", "“Ruth tried"),
        ("I think the ladder is in the barn.", "Where is the ladder?", "barn"),
        ("One rang, the other did not; the seal came off.", "What came off?", "seal"),
    ],
)
def test_what_is_done_said_or_known_is_an_answer(told: str, question: str, expected: str) -> None:
    found = answer(told, question)
    assert expected in found
    assert found.startswith("Yes: ") is (expected == "Yes: ")


@pytest.mark.parametrize(
    ("text", "verb", "told"),
    [
        ("Ruth promised to come.", "come", False),
        ("Ruth promised to come and sing.", "sing", False),
        ("Ruth went on singing.", "went", True),
        ("Ruth sings, and Ole refuses to dance.", "sings", True),
        ("That's where Ruth sings.", "sings", True),
        ("The hope is that Ruth joined the choir.", "joined", False),
        ("The truth is that Ruth joined the choir.", "joined", True),
        ("Ruth went home after closing the barn.", "closing", True),
        ("Ruth went home instead of closing the barn.", "closing", False),
    ],
)
def test_a_verb_is_told_as_a_fact(text: str, verb: str, told: bool) -> None:
    words = parse(text).words
    assert is_told(next(word for word in words if word.text == verb)) is told


def test_a_plan_is_told_if_a_plan_will_do() -> None:
    leave = parse("We plan to leave in May.").words[3]
    assert is_told(leave, planned=True)
    assert not is_told(leave)


@pytest.mark.parametrize(
    ("text", "arrived", "left"),
    [
        ("Ruth moved to Bonn.", True, False),
        ("Ruth moved from Jena to Bonn.", True, False),
        ("Ruth moved out of Bonn.", False, True),
        ("Ruth moved away.", False, True),
        ("Ruth is moving to Bonn.", False, False),
        ("Ruth moved the piano to Bonn.", False, False),
    ],
)
def test_who_moved_lives_where_she_moved_to(text: str, arrived: bool, left: bool) -> None:
    verb = next(word for word in parse(text).words if word.lemma == "move")
    assert has_arrived(verb) is arrived
    assert has_left(verb) is left


# What is asked for


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("The plumber is Mr Sand.", "What is the plumber's number?", ""),
        ("The plumber's number is 0664 55512.", "What is the plumber's number?", "0664"),
        ("The delivery is huge.", "What is the delivery time?", ""),
        ("The delivery time is nine days.", "What is the delivery time?", "nine days"),
        ("The lease is with Bosch.", "What is the date of the lease?", ""),
        ("The lease is from 4 May 2024.", "What is the date of the lease?", "4 May 2024"),
        ("The lease partner is Bosch.", "What is the type of the lease?", ""),
        ("The password is hunter2.", "What is the password?", "hunter2"),
        ("Ole is in group 7.", "How old is Ole?", ""),
        ("Ole was 20 days at sea.", "How old is Ole?", ""),
        ("Ole is 20 minutes late.", "How old is Ole?", ""),
        ("Ole is 47 years old.", "How old is Ole?", "47"),
        ("Ole is 47.", "How old is Ole?", "47"),
        ("Ole turned 47 in May.", "How old is Ole?", "47"),
        ("The barn is 90 years old.", "How old is the barn?", "90"),
        ("The course is on Monday.", "How long is the course?", ""),
        ("The course lasts three weeks.", "How long does the course last?", "three weeks"),
        ("Ruth begged Kolb in Wels for a discount.", "Where is Ruth?", ""),
        ("Ruth is our colleague at the bank.", "Where is Ruth?", ""),
        ("Ruth is in Wels.", "Where is Ruth?", "Wels"),
        ("Ruth is staying at the mill.", "Where is Ruth?", "mill"),
        ("I've put the ladder in the barn.", "Where is the ladder?", "barn"),
        ("Ruth won a wool goat (Ole, who knitted it, blushed).", "What is the goat called?", ""),
        ("Ruth has a goat, Moritz.", "What is Ruth's goat called?", "Moritz"),
        ("The goat is called Moritz.", "What is the goat called?", "Moritz"),
        ("Ruth Holm giggled, luckily.", "Who is Ruth Holm?", ""),
        ("Ruth Holm is back.", "Who is Ruth Holm?", ""),
        ("Ruth Holm is our dentist.", "Who is Ruth Holm?", "dentist"),
        ("Ruth Holm works as a dentist.", "Who is Ruth Holm?", "dentist"),
        ("Ruth Holm, the dentist, giggled.", "Who is Ruth Holm?", "dentist"),
        ("Ruth Holm leads the choir.", "Who is Ruth Holm?", "choir"),
        ("Our dentist is Ruth Holm.", "Who is Ruth Holm?", "dentist"),
        ("Ruth Holm giggled.", "What does Ruth Holm do?", ""),
        ("Ruth Holm does the accounts.", "What does Ruth Holm do?", "accounts"),
    ],
)
def test_the_answer_is_of_the_sort_that_is_asked_for(
    told: str, question: str, expected: str
) -> None:
    found = answer(told, question)
    assert found.startswith(NOTHING) is not bool(expected)
    assert expected in found


def test_a_move_to_come_is_quoted_without_a_yes() -> None:
    for question in ("Is Ole moving out?", "Does Ole still live here?"):
        assert answer("I'm moving out on 3 June.", question, "Ole").startswith("Ole: “")
