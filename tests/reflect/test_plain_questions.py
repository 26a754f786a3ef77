"""Plain memories answer plain questions without a language model, and those alone."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight, Message, Settings

NOTHING = "Nothing known"


def check(told: str, question: str, expected: str, speaker: str = "") -> None:
    """Expect an answer with some words from one memory; none if there are no words."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        if speaker:
            memory.retain_messages("b", [Message(speaker, told)])
        else:
            memory.retain("b", told)
        found = memory.reflect("b", question).text
    assert found.startswith(NOTHING) is not bool(expected), found
    assert expected in found


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Ana eats fish.", "Who doesn't eat fish?", ""),
        ("Ana eats fish.", "What doesn't Ana eat?", ""),
        ("Ana lives in Rome.", "Where doesn't Ana live?", ""),
        ("Ana is the lead.", "Who is not the lead?", ""),
        ("Ana has a car.", "Who doesn't have a car?", ""),
        ("Ana came because she was bored.", "Why didn't Ana come?", ""),
        ("The invoice was paid.", "Which invoice was not paid?", ""),
        ("The shop opens on Mondays.", "When doesn't the shop open?", ""),
        ("Our provider is Acme.", "Which provider don't we use?", ""),
        ("I don't hate coriander.", "What don't I like?", ""),
        ("Ana doesn't eat fish.", "Who doesn't eat fish?", "Ana"),
        ("Ana doesn't eat fish.", "What doesn't Ana eat?", "fish"),
        ("Ana is not the lead.", "Who is not the lead?", "Ana"),
        ("Ana doesn't have a car.", "Who doesn't have a car?", "Ana"),
        ("Ana can't come because she is ill.", "Why can't Ana come?", "ill"),
        ("I hate coriander.", "What don't I like?", "coriander"),
        ("I can't stand coriander.", "What don't I like?", "coriander"),
    ],
)
def test_what_is_not_so_is_answered_by_a_denial(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Mr Chen's contract ends on 31 December.", "When does Mr Chen's contract end?", "31 Dec"),
        ("Mr Chen's contract ends on 31 December.", "When does Mr Holt's contract end?", ""),
        (
            "Gran's apple cake needs five apples.",
            "How many apples does Gran's apple cake need?",
            "five",
        ),
        ("Gran's apple cake needs five apples.", "How many apples does Gran's plum cake need?", ""),
        ("The leak was fixed by Yusuf.", "Has the leak been fixed?", "Yes"),
        ("The leak will be fixed by Yusuf.", "Has the leak been fixed?", "will be"),
        ("The leak was found by Yusuf.", "Has the leak been fixed?", ""),
        (
            "I've been learning Japanese since January.",
            "How long have I been learning Japanese?",
            "since",
        ),
        (
            "I've been teaching Japanese since January.",
            "How long have I been learning Japanese?",
            "",
        ),
        ("Julia is getting married in Cork.", "Where is Julia getting married?", "Cork"),
        ("Julia is getting divorced in Cork.", "Where is Julia getting married?", ""),
        ("Julia wants to get married in Cork.", "Where is Julia getting married?", ""),
        ("Alice and Rob got engaged on 3 May.", "Who got engaged?", "Alice"),
        ("Alice and Rob got engaged on 3 May.", "When did Rob get engaged?", "3 May"),
        ("Alice got fired on 3 May.", "When did Alice get engaged?", ""),
        ("Tom's car got stolen in Rome.", "Where did Tom's car get stolen?", "Rome"),
        ("Tom got his car washed in Rome.", "Where did Tom get washed?", ""),
        ("Customers complained about slow pages.", "What did customers complain about?", "slow"),
        ("Customers asked about slow pages.", "What did customers complain about?", ""),
        ("My running shoes are in the hall.", "Where are my running shoes?", "hall"),
        ("My sister's running shoes are in the hall.", "Where are my running shoes?", ""),
        ("My walking shoes are in the hall.", "Where are my running shoes?", ""),
    ],
)
def test_the_verb_of_a_question_is_found(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("The bridge was closed because of the flood.", "Why was the bridge closed?", "flood"),
        ("The bridge was closed because of the flood.", "Why was the road closed?", ""),
    ],
)
def test_why_something_is_done_to_a_thing(told: str, question: str, expected: str) -> None:
    check(told, question, expected)
