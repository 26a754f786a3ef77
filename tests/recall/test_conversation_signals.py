from __future__ import annotations

import math

import numpy as np
import pytest

from hindsight_integrations.recall import signals
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.stores.base import LexemeStats
from tests.recall.building import candidate, in_a_row, pool_of

pytestmark = pytest.mark.ranking

NOTHING = np.zeros(5)


def talk(*speakers: str | None) -> Pool:
    memories = [candidate(str(n), speaker=speaker) for n, speaker in enumerate(speakers)]
    return pool_of(memories, neighbours=in_a_row(len(memories)))


# Neighbours


def test_terms_of_the_turn_before_count_more_than_of_the_turn_after() -> None:
    lexical = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    near, far = signals.surroundings(talk(*"ABABA"), lexical, NOTHING)
    # Turn 3 has the matching turn before it (0.6), turn 1 has it after it (0.4).
    assert near == pytest.approx([0.0, 0.4, 0.0, 0.6, 0.0])
    assert far == pytest.approx([1.0, 0.0, 0.0, 0.0, 1.0])


def test_the_cosine_of_the_turn_before_counts_more_than_of_the_turn_after() -> None:
    dense = np.array([0.0, 0.0, 0.5, 0.0, 0.0])
    near, far = signals.surroundings(talk(*"ABABA"), NOTHING, dense)
    # Half of 0.3 and of 0.8.
    assert near == pytest.approx([0.0, 0.15, 0.0, 0.4, 0.0])
    assert far == pytest.approx([0.5, 0.0, 0.0, 0.0, 0.5])


def test_both_sides_and_both_measures_add_up() -> None:
    lexical, dense = np.array([1.0, 0.5, 0.25]), np.array([0.5, 0.0, 1.0])
    near, far = signals.surroundings(talk(*"ABA"), lexical, dense)
    # The middle: 0.6 * 1 + 0.8 * 0.5 before it, and 0.4 * 0.25 + 0.3 * 1 after it.
    assert near == pytest.approx([0.4 * 0.5, 1.0 + 0.4, 0.6 * 0.5])
    assert far == pytest.approx([0.25 + 1.0, 0.0, 1.0 + 0.5])


def test_what_nobody_said_has_no_neighbours() -> None:
    ones = np.ones(3)
    near, far = signals.surroundings(talk("A", None, "A"), ones, ones)
    # One neighbour each, of 1 and 1: the turn after counts 0.4 + 0.3, the one before 0.6 + 0.8.
    assert near == pytest.approx([0.7, 0.0, 1.4])
    assert far == pytest.approx([2.0, 0.0, 2.0])
    near, far = signals.surroundings(talk(None, "A", None), ones, ones)
    assert near == pytest.approx([0.0, 2.1, 0.0])
    assert far == pytest.approx([0.0, 0.0, 0.0])


# Sessions


def sessions(*turns: tuple[str, str, str | None]) -> Pool:
    """Turns as (session, lexeme, speaker) in a bank of 4 memories, 1 of which holds "cat"."""
    memories = [
        candidate(str(n), document=document, lexemes=[lexeme], speaker=speaker)
        for n, (document, lexeme, speaker) in enumerate(turns)
    ]
    return pool_of(memories, stats=LexemeStats(4, 1.0, {"cat": 1, "dog": 4}))


def test_a_session_is_as_near_as_the_mean_of_its_best_three_turns() -> None:
    pool = sessions(*[("one", "x", "A")] * 4, *[("two", "x", "A")] * 2, ("three", "x", "A"))
    dense = np.array([0.9, 0.6, 0.3, 0.0, 0.4, 0.2, 0.9])
    # Means of the best three: 0.6, 0.3 (of the two there are) and 0.9; these lie one deviation,
    # the root of 2/3 of 0.3, from one another. The terms tell nothing apart.
    step = 1 / (2 / 3) ** 0.5
    signal = signals.session(pool, ("cat",), dense)
    assert signal == pytest.approx([0.0] * 4 + [-step] * 2 + [step])


def test_a_session_with_the_terms_is_above_one_without() -> None:
    pool = sessions(("one", "cat", "A"), ("one", "x", "B"), ("two", "y", "A"))
    signal = signals.session(pool, ("cat",), np.array([0.5, 0.5, 0.5]))
    assert signal == pytest.approx([1.0, 1.0, -1.0])


def test_terms_and_cosines_of_a_session_add_up() -> None:
    pool = sessions(("one", "cat", "A"), ("two", "x", "A"), ("three", "y", "A"))
    signal = signals.session(pool, ("cat",), np.array([0.1, 0.1, 0.4]))
    # Terms 1, 0, 0 and cosines 0, 0, 1 in units: each 2 and -1 over the root of 2.
    unit = 0.5**0.5
    assert signal == pytest.approx([2 * unit - unit, -2 * unit, -unit + 2 * unit])


def test_long_sessions_count_against_their_terms_by_the_mean_of_these_sessions() -> None:
    # Lengths 1 and 3, so a mean of 2; k1 = 0.9 and b = 0.4, and idf alike for "cat" and "dog".
    memories = [
        candidate("0", document="one", lexemes=["cat"], speaker="A"),
        candidate("1", document="two", lexemes=["dog"], speaker="A"),
        candidate("2", document="two", lexemes=["x", "y"], speaker="A"),
        candidate("3", document="three", lexemes=["z", "z"], speaker="A"),
    ]
    pool = pool_of(memories, stats=LexemeStats(9, 1.0, {"cat": 2, "dog": 2}))
    signal = signals.session(pool, ("cat", "dog"), np.full(4, 0.5))
    # 1.9 / (1 + 0.9 * (0.6 + 0.4 * length / 2)), of three values with a third of them 0.
    short, long = 1.9 / (1 + 0.9 * 0.8), 1.9 / (1 + 0.9 * 1.2)
    mean = (short + long) / 3
    deviation = math.sqrt(((short - mean) ** 2 + (long - mean) ** 2 + mean**2) / 3)
    expected = [(short - mean) / deviation] + [(long - mean) / deviation] * 2
    assert signal == pytest.approx([*expected, -mean / deviation])


def test_one_session_or_nobody_speaking_tells_nothing() -> None:
    dense = np.array([1.0, 0.0])
    one = sessions(("one", "cat", "A"), ("one", "x", "A"))
    assert signals.session(one, ("cat",), dense).tolist() == [0.0, 0.0]
    texts = sessions(("one", "cat", None), ("two", "x", None))
    assert signals.session(texts, ("cat",), dense).tolist() == [0.0, 0.0]
    mixed = sessions(("one", "cat", "A"), ("two", "x", None))
    assert signals.session(mixed, ("cat",), dense).tolist() == [2.0, 0.0]


# Speakers


@pytest.mark.parametrize(
    ("asked", "tellers"),
    [
        ("What does Ana like?", "Ana"),
        ("What did Ana recommend to Tom?", "Ana"),
        ("What did Tom hear from Ana?", "Ana"),
        ("What was Tom given by Ana?", "Ana"),
        ("What did Ana and Tom eat?", ""),
        ("Did Ana or Tom sing?", ""),
        ("Did Ana, or even Tom sing?", ""),
        ("What do Ana, Tom both like?", ""),
        ("What did they like?", ""),
        ("What did Ana tell Tom about Zoë?", ""),
    ],
)
def test_the_speaker_who_acts_tells_what_is_asked_for(asked: str, tellers: str) -> None:
    pool = talk("Ana", "Tom", "Zoë", None)
    expected = [float(name in tellers.split()) for name in ("Ana", "Tom", "Zoë", "-")]
    assert signals.speaker_named(pool, asked).tolist() == expected


def test_a_speaker_is_named_by_the_first_name() -> None:
    pool = talk("Ana Cruz", "Tom")
    assert signals.speaker_named(pool, "Where is Ana?").tolist() == [1.0, 0.0]
    assert signals.speaker_named(pool, "Where is Cruz?").tolist() == [0.0, 0.0]


def test_a_speaker_is_named_by_a_spelling_that_sounds_the_same() -> None:
    pool = talk("Muhhamed", "Mona")
    assert signals.speaker_named(pool, "Where is Muhammad's car?").tolist() == [1.0, 0.0]
    assert signals.speaker_named(pool, "Was muhammad there, or was it moan?").tolist() == [0.0, 0.0]
    both = talk("Muhhamed", "Muhammad")
    assert signals.speaker_named(both, "Where is Muhammad's car?").tolist() == [0.0, 1.0]
    pool = talk("Sara", "Sarah")
    assert signals.speaker_named(pool, "Where is Sara?").tolist() == [1.0, 0.0]


# The agent


@pytest.mark.parametrize(
    "asked",
    [
        "What did you recommend for my back?",
        "Which novels have you suggested so far?",
        "What had you advised about the visa?",
        "What were you saying about the yeast?",
        "What was the hotel you mentioned called?",
        "Remind me of the dose you told me.",
        "In the list you provided, what came seventh?",
        "What was on day three of the plan you made for me?",
        "Where is the place you just described?",
        "What was in the recipe you've given me?",
        "Which route was it that you’d already suggested?",
        "Is that the tax office you had named?",
        "Can you repeat your last answer?",
        "Which of your replies was about tax?",
        "What was your advice on the mortgage?",
        "What were your recommendations for Rome?",
        "WHAT DID THE ASSISTANT SAY ABOUT MY ESSAY?",
        "Was hast du mir empfohlen?",
        "Welche Bücher haben Sie vorgeschlagen?",
        "Wie lautete dein Vorschlag?",
        "Was waren deine Vorschläge für Rom?",
        "Was stand in Ihrer letzten Antwort?",
        "Qu'as-tu recommandé ?",
        "Que m'avez-vous conseillé ?",
        "Quel livre tu m'as recommandé ?",
        "Quelles étaient tes recommandations ?",
        "Quelle était votre suggestion ?",
        "¿Qué me recomendaste?",
        "¿Qué dijiste sobre el vino?",
        "¿Qué libro me has recomendado?",
        "¿Cuáles fueron tus consejos?",
    ],
)
def test_questions_about_what_the_agent_said_or_did_ask_the_agent(asked: str) -> None:
    assert signals.asks_the_agent(asked)


@pytest.mark.parametrize(
    "asked",
    [
        "Where did I put the spare key?",
        "What do you know about me?",
        "Do you remember where I parked?",
        "What would you recommend for dinner?",
        "Could you suggest a present for Ana?",
        "What do you need to know about my knee?",
        "What did I tell you about my knee?",
        "What have I told you about Ben?",
        "Which advice did my doctor give me?",
        "What did Tom's answer to the landlord say?",
        "What was my recommendation to Tom?",
        "Who told you that?",
        "Who is my travel agent?",
        "How many assistants work at the clinic?",
        "What did Ana recommend?",
        "Was weißt du über mich?",
        "Seit wann haben sie das Haus?",
        "Was war ihr Vorschlag?",
        "Que sais-tu de moi ?",
        "Qu'a-t-elle recommandé ?",
        "¿Qué te dije de mi jefe?",
        "¿Qué me dijo Ana?",
        "",
    ],
)
def test_other_questions_do_not_ask_the_agent(asked: str) -> None:
    assert not signals.asks_the_agent(asked)


# Answers


def dialogue(*turns: tuple[str, str]) -> Pool:
    memories = [candidate(str(n), speaker=who, text=text) for n, (who, text) in enumerate(turns)]
    return pool_of(memories, neighbours=in_a_row(len(memories)))


def test_a_reply_counts_by_the_square_of_what_the_question_before_has_in_common() -> None:
    pool = dialogue(("A", "Where?"), ("B", "There."), ("A", "Ah."))
    lexical, dense = np.array([0.8, 1.0, 1.0]), np.array([0.4, 1.0, 1.0])
    # The mean of 0.8 and 0.4, squared.
    assert signals.answers(pool, lexical, dense) == pytest.approx([0.0, 0.36, 0.0])


def test_a_statement_or_a_question_of_ones_own_has_no_reply() -> None:
    ones = np.ones(3)
    statement = dialogue(("A", "Here."), ("B", "There."), ("A", "Ah."))
    assert signals.answers(statement, ones, ones).tolist() == [0.0, 0.0, 0.0]
    alone = dialogue(("A", "Where?"), ("A", "There."), ("B", "Ah."))
    assert signals.answers(alone, ones, ones).tolist() == [0.0, 0.0, 0.0]


def test_likeness_of_the_question_before_is_kept_from_0_to_1() -> None:
    pool = dialogue(("A", "Where?"), ("B", "There?"), ("A", "Ah."))
    lexical, dense = np.array([1.0, 0.0, 0.0]), np.array([2.0, -0.5, 0.0])
    assert signals.answers(pool, lexical, dense).tolist() == [0.0, 1.0, 0.0]
