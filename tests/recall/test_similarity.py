"""Likeness of the pool to the question, and whether the bank knows of it; worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.ranking import Ranking, rank
from hindsight_integrations.recall.relevance import Calibration
from hindsight_integrations.recall.signals import names_someone_unknown
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS
from hindsight_integrations.stores.base import LexemeStats
from tests.recall.building import asked_tokens, candidate, pool_of, question, stored_tokens, unit

pytestmark = pytest.mark.ranking

KNOWS_FROM_A_HALF = Calibration(1.0, 1.0, 0.0, 0.0, minimum_similarity=((1, 0.5),), hint=0.2)


def ranked(pool: Pool, *lexemes: str) -> Ranking:
    asked = question(tokens=asked_tokens((7, {1: 0.8, 2: 0.6})), lexemes=lexemes)
    return rank(pool, asked, 10, DEFAULT_WEIGHTS, KNOWS_FROM_A_HALF)


def test_a_lift_is_the_distance_from_the_mean_of_the_pool() -> None:
    # Six times the cosine: 4.8 and -1.2, whose mean is 1.8.
    pool = pool_of([candidate("0", vector=unit(0.8)), candidate("1", vector=unit(-0.2))])
    ranking = rank(pool, question(), 10, replace(DEFAULT_WEIGHTS, interaction=0.0))
    assert [ranking.lifts(n)["meaning"] for n in (0, 1)] == pytest.approx([3.0, -3.0])


@pytest.mark.parametrize(("minimum", "known"), [(0.79, True), (0.81, False)])
def test_beside_another_model_likeness_is_late_interaction_alone(
    minimum: float, known: bool
) -> None:
    pool = pool_of(
        [
            candidate("0", vector=unit(-0.9), interaction=stored_tokens((1, 1))),
            candidate("1", vector=unit(0.9), interaction=stored_tokens((2, 2))),
        ]
    )
    calibration = replace(KNOWS_FROM_A_HALF, minimum_similarity=((1, minimum),))
    asked = question(tokens=asked_tokens((7, {1: 0.8, 2: 0.6})), lexemes=["cat"], two_models=True)
    ranking = rank(pool, asked, 10, DEFAULT_WEIGHTS, calibration)
    assert ranking.similarity == pytest.approx(0.8)
    assert ranking.known is known


@pytest.mark.parametrize(("best", "known"), [(0.4, True), (0.1, False)])
def test_likeness_is_the_mean_of_cosine_and_late_interaction(best: float, known: bool) -> None:
    # Late interaction is 0.8 and 0.6; the second memory has the lower mean.
    pool = pool_of(
        [
            candidate("0", vector=unit(best), interaction=stored_tokens((1, 1))),
            candidate("1", vector=unit(best - 0.2), interaction=stored_tokens((2, 2))),
        ]
    )
    ranking = ranked(pool, "absent")
    assert ranking.similarity == pytest.approx((best + 0.8) / 2)
    assert ranking.known is known


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("cat", True),  # as long as the mean: the whole weight of the word
        ("cat x", True),  # twice as long: 1.9 / (1 + 0.9 * 1.4), 84 % of it
        ("cat x y", False),  # 1.9 / (1 + 0.9 * 1.8), 73 %; of 1.9 that is still more than 0.8
        ("x", False),
    ],
)
def test_a_memory_with_four_fifths_of_the_terms_is_known_however_unlike(
    words: str, known: bool
) -> None:
    pool = pool_of(
        [candidate("0", lexemes=words.split(), interaction=stored_tokens((3, 3)))],
        stats=LexemeStats(9, 1.0, {"cat": 1}),
    )
    ranking = ranked(pool, "cat")
    assert ranking.similarity == pytest.approx(0.0, abs=1e-6)
    assert ranking.known is known


def test_a_question_without_terms_of_its_own_counts_as_known() -> None:
    pool = pool_of([candidate("0", interaction=stored_tokens((3, 3)))])
    assert ranked(pool).known
    assert not ranked(pool, "absent").known


def test_an_entity_that_the_question_names_stands_for_a_part_of_the_likeness() -> None:
    # Late interaction is 0.8 and the cosine -0.1: 0.35. Knowing takes 0.5, or 0.3 with a hint.
    memory = candidate("0", vector=unit(-0.1), interaction=stored_tokens((1, 1)))
    assert not ranked(pool_of([memory]), "absent").known
    assert ranked(pool_of([memory], named=["Rome"]), "absent").known
    unlike = candidate("0", vector=unit(-0.3), interaction=stored_tokens((1, 1)))
    assert not ranked(pool_of([unlike], named=["Rome"]), "absent").known


@pytest.mark.parametrize(
    ("text", "cosine", "known"),
    [
        ("Where is the key to the house?", 0.3, False),
        ("Wo ist der Schlüssel für das Haus?", 0.3, True),
        ("Wo ist der Schlüssel für das Haus?", 0.1, False),
    ],
)
def test_another_language_than_english_has_to_be_no_more_like_than_in_a_bank_of_a_hundred(
    text: str, cosine: float, known: bool
) -> None:
    # The likeness is 0.55 or 0.45. A hundred memories take 0.5, and a thousand 0.6.
    memory = candidate("0", vector=unit(cosine), interaction=stored_tokens((1, 1)))
    pool = pool_of([memory], stats=LexemeStats(1000, 1.0, {}))
    asked = question(text, tokens=asked_tokens((7, {1: 0.8, 2: 0.6})), lexemes=["absent"])
    minima = ((1, 0.4), (100, 0.5), (1000, 0.6))
    calibration = Calibration(1.0, 1.0, 0.0, 0.0, minimum_similarity=minima, hint=0.0)
    assert rank(pool, asked, 10, DEFAULT_WEIGHTS, calibration).known is known


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("What is Bogdan's dog called?", True),
        ("did Nadia, or else Bogdan, call?", True),
        ('Has anybody read "The Bogdan Papers"?', True),
        ("What is Nadia's dog called?", False),
        ("Bogdan is who?", False),  # so might "Pottery is what?" begin
        ("Nadia called. Bogdan too?", False),
        ("Nadia: hello\nBogdan: hello", False),
        ("what did bogdan say?", False),
        ("Is GRE or TOEFL next?", False),  # rather an exam or a unit than a person
        ("Where shall we eat in Lisbon on Friday in May?", False),
        ("Give me a recipe for American pancakes at Easter.", False),
        ("Did I call, or Mr Nadia?", False),
        ("", False),
    ],
)
def test_someone_unknown_is_a_name_inside_a_sentence_that_no_memory_has(
    text: str, unknown: bool
) -> None:
    assert (
        names_someone_unknown(text, pool_of([], stats=LexemeStats(9, 1.0, {"nadia": 2}))) is unknown
    )


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("When does the ferry leave with Nadia?", True),
        ("When does the ferry leave with Bogdan?", False),
        # German nouns have capitals.
        ("Wann fährt denn die Fähre mit Bogdan und der Familie?", True),
    ],
)
def test_an_unknown_name_takes_more_likeness_in_english(text: str, known: bool) -> None:
    # The likeness is 0.45. A hundred memories take 0.4, and 0.5 where a name is unknown.
    memory = candidate("0", vector=unit(0.1), interaction=stored_tokens((1, 1)))
    pool = pool_of([memory], stats=LexemeStats(100, 1.0, {"nadia": 1}))
    asked = question(text, tokens=asked_tokens((7, {1: 0.8, 2: 0.6})), lexemes=["absent"])
    calibration = Calibration(
        1.0, 1.0, 0.0, 0.0, minimum_similarity=((100, 0.4),), hint=0.0, unknown_name=0.1
    )
    assert rank(pool, asked, 10, DEFAULT_WEIGHTS, calibration).known is known
