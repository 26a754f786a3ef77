"""Requests for advice: what they are, which times they look up, and what bears on them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.nlp.time.query import TimeWindow
from hindsight_integrations.recall.advice import (
    asks_for_advice,
    states_lasting_fact,
    times_to_look_up,
)
from hindsight_integrations.recall.ranking import rank
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS
from hindsight_integrations.timespan import TimeSpan, as_utc
from tests.recall.building import candidate, pool_of, question

ASKED_AT = as_utc(datetime(2025, 11, 20))


@pytest.mark.parametrize(
    "text",
    [
        "Can you recommend a quiet hotel in Porto?",
        "Could you please help me plan the weekend?",
        "What should I cook for Ana's birthday?",
        "Where should we stay in Lisbon?",
        "Where in Bergen do I look for boots?",
        "Which phone would you buy?",
        "How could I get fitter by the spring?",
        "How do I best get from Leeds to Oslo?",
        "Should I take the job in Bristol?",
        "We have an afternoon in Rome. Any ideas?",
        "What are some good podcasts I could try?",
        "What's a nice present for a boy of ten?",
        "Suggest a film for tonight.",
    ],
)
def test_what_to_do_or_take_is_a_request_for_advice(text: str) -> None:
    assert asks_for_advice(text)


@pytest.mark.parametrize(
    "text",
    [
        "What did you recommend for my knee?",
        "Which film did you suggest last week?",
        "What time should I pick up Ana?",
        "When should I take the tablets?",
        "How much should I pay the plumber?",
        "Where can I find my passport?",
        "Where do we stay in Crete?",
        "What is the best restaurant that Ana went to?",
        "What are some of Ana's hobbies?",
        "Who suggested the new logo?",
        "How many times can I be late?",
        "What does Bo recommend in his talk?",
        "Any idea what it was last time?",
        "The shop should I think be open. It was closed on Monday.",
        "Ana: It rains all week.\nBo: Then what should we do with the children?",
        "",
    ],
)
def test_what_is_remembered_is_none(text: str) -> None:
    assert not asks_for_advice(text)


@pytest.mark.parametrize(
    "text",
    [
        "I avoid palm oil.",
        "I'm allergic to wool.",
        "Milk upsets my stomach.",
        "Our flat allows no pets.",
        "Coriander tastes of soap to me.",
        "User prefers window seats.",
        "Not a fan of musicals.",
        "We went to the opera in 2019. I can't stand it since.",
    ],
)
def test_what_is_always_so_of_somebody_stands(text: str) -> None:
    assert states_lasting_fact(text)


@pytest.mark.parametrize(
    "text",
    [
        "The ferry to Crete leaves at nine.",
        "I met the new lead in Leeds.",
        "We were in Rome last spring.",
        "Dad painted the hall every second summer.",
        "Shall we meet at the station?",
        "The client pays within a week.",
        "",
    ],
)
def test_what_happened_or_is_of_things_does_not(text: str) -> None:
    assert not states_lasting_fact(text)


@pytest.mark.parametrize("words", ["what are some ", "so should i ", "what's some way ", "my a "])
def test_long_texts_that_almost_are_requests_take_no_more_than_their_length(words: str) -> None:
    text = words * (200_000 // len(words))  # pytest ends what takes the square of that
    assert not asks_for_advice(text)
    states_lasting_fact(text)


def window(days: int, *, yearly: bool = False) -> TimeWindow:
    return TimeWindow(TimeSpan(ASKED_AT, ASKED_AT + timedelta(days=days)), "then", yearly=yearly)


@pytest.mark.ranking
def test_seasons_and_years_of_a_plan_are_not_looked_up() -> None:
    day, month, may, year = window(1), window(31), window(31, yearly=True), window(365)
    plan = "Where should I go?"
    assert times_to_look_up(plan, [day, month, may, year]) == (day, month)
    assert times_to_look_up(f"{plan} Last year was dull.", [may, year]) == (may, year)


@pytest.mark.ranking
def test_for_a_request_a_lasting_fact_counts_a_half_and_words_in_common_nothing() -> None:
    pool = pool_of(
        [
            candidate("0", text="The Indian place opens at six.", lexemes=["indian", "place"]),
            candidate("1", text="I avoid spicy food."),
        ]
    )
    asked = question("What should I try at the Indian place?", lexemes=["indian", "place"])
    ranking = rank(pool, asked, 10, DEFAULT_WEIGHTS)
    column = ranking.names.index("lasting fact")
    assert ranking.values[:, column].tolist() == [0.0, 1.0]
    assert ranking.contributions[:, column].tolist() == [0.0, 0.5]
    assert "terms" not in ranking.names
    remembered = question("When does the Indian place open?", lexemes=["indian", "place"])
    names = rank(pool, remembered, 10, DEFAULT_WEIGHTS).names
    assert "terms" in names
    assert "lasting fact" not in names


FACTS = [
    "The new Indian place on Mill Street opens at six.",
    "Ana had her birthday at the new Indian place in May.",
    "The Indian place took over the old bank.",
    "The new menu on Mill Street came out on Monday.",
]


def test_what_somebody_cannot_eat_comes_before_what_happened_at_the_place(
    memory: Hindsight,
) -> None:
    stomach = "Spicy food is off the menu since my ulcer."
    memory.retain_messages(
        "b", [{"role": "user", "content": text, "name": "Bo"} for text in [*FACTS, stomach]]
    )
    asked = "Which curry should I try at the new Indian place?"
    found = memory.recall("b", asked, query_time=ASKED_AT)
    signals = {signal.name: signal.value for signal in found[0].signals}
    assert found[0].memory.text.endswith(stomach)
    assert signals["lasting fact"] == 1.0
    assert "terms" not in signals
    told = memory.recall("b", "When did Ana have her birthday?", query_time=ASKED_AT)
    assert told[0].memory.text.endswith(FACTS[1])


def test_what_somebody_says_alone_is_ranked_by_meaning(memory: Hindsight) -> None:
    memory.retain_messages("b", [{"role": "user", "content": text, "name": "Bo"} for text in FACTS])
    found = memory.recall("b", "Where is food served?")
    assert any(signal.name == "meaning" and signal.contribution for signal in found[0].signals)
