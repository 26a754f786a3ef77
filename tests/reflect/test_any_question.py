"""A question of any words is read, or left alone: nothing is raised."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hindsight_integrations.reflect.answers.indirect import direct
from hindsight_integrations.reflect.answers.questions import read_question

OPENINGS = (
    "",
    "list the ",
    "list all ",
    "name all the ",
    "do you know if ",
    "tell me how many ",
    "did ",
    "who is ",
    "can you tell me who ",
    "I wonder whether ",
    "how ",
    "what ",
    "is ",
    "where did ",
)
WORDS = tuple(
    (
        "tools team uses that we Tom jazz x . , ? 2 in is are be have did can I my your "
        "Mr Dr Aunt ( ' -- 😀 to say anything about before still use or how many what's "
        "who where likes not all job 's"
    ).split()
)


@given(st.sampled_from(OPENINGS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
@example("list all ", ["that", "tell"])
@example("do you know if ", ["how", "are", ",", "name"])
@example("", ["did", "what's"])
@example("who is ", ["Mr"])
def test_any_words_are_read_as_a_question_or_not(opening: str, words: list[str]) -> None:
    asked = opening + " ".join(words)
    put = direct(asked)
    assert put.strip()
    query = read_question(put)
    assert query is None or query.asked


@pytest.mark.parametrize(
    ("asked", "put"),
    [
        ("Do you know if Tom likes jazz?", "Does Tom like jazz?"),
        ("List the tools the team uses.", "Which tools does the team use?"),
        ("list all that tell", "list all that tell"),
        ("Who likes jazz?", "Who likes jazz?"),
    ],
)
def test_an_indirect_question_is_put_directly(asked: str, put: str) -> None:
    assert direct(asked) == put
