"""Each signal of the ranking: its value, and what it adds with the weights as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta
from statistics import fmean, pstdev

import numpy as np
import pytest

from hindsight_integrations.errors import RerankError
from hindsight_integrations.models import Memory, MemoryType, TimeSpan, TurnKind
from hindsight_integrations.recall.base import Question
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.ranking import Ranking, rank, rank_fused, rerank
from hindsight_integrations.recall.relevance import relevance_by_rank
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS, Weights
from hindsight_integrations.results import Window
from hindsight_integrations.stores.base import Candidate, LexemeStats
from tests.recall.building import (
    NOON,
    asked_tokens,
    candidate,
    in_a_row,
    pool_of,
    question,
    stored_tokens,
    unit,
)

pytestmark = pytest.mark.ranking

TODAY = TimeSpan.of_day(NOON)
LAST_YEAR = TimeSpan.of_day(NOON - timedelta(days=365))


WITHOUT_STAND_IN = replace(DEFAULT_WEIGHTS, interaction=0.0)
"""Meaning alone: without token vectors it would count for late interaction as well."""


def ranked(pool: Pool, asked: Question | None = None, head: int = 10) -> Ranking:
    asked = asked or question()
    weights = WITHOUT_STAND_IN if asked.tokens is None else DEFAULT_WEIGHTS
    return rank(pool, asked, head, weights)


def value(ranking: Ranking, name: str) -> list[float]:
    return ranking.values[:, ranking.names.index(name)].tolist()


def added(ranking: Ranking, name: str) -> list[float]:
    return ranking.contributions[:, ranking.names.index(name)].tolist()


def standard(values: Sequence[float]) -> list[float]:
    mean, deviation = fmean(values), pstdev(values)
    return [(value - mean) / deviation for value in values]


def test_the_total_is_the_sum_of_what_the_signals_add_and_makes_the_order() -> None:
    pool = pool_of(
        [
            candidate("0", vector=unit(0.2), speaker="A"),
            candidate("1", vector=unit(0.8)),
            candidate("2", vector=unit(0.6), text="Where?", speaker="B"),
        ]
    )
    ranking = ranked(pool)
    assert ranking.total == pytest.approx(ranking.contributions.sum(axis=1))
    assert ranking.order.tolist() == sorted(range(3), key=lambda i: -ranking.total[i])


@pytest.mark.parametrize("weight", [field.name for field in fields(Weights)])
def test_a_signal_adds_as_many_times_more_as_its_weight_is_raised(weight: str) -> None:
    pool = pool_of(
        [
            candidate(
                str(n),
                speaker="AAB"[n % 3],
                document="one" if n < 3 else "two",
                text="Cats?" if n == 1 else "I like cats.",
                lexemes=["cat", "x"][: 2 - n % 2],
                vector=unit(0.9 - n / 7),
                occurred=[TODAY] * (n % 2),
                entities=["X", "Y"],
                interaction=stored_tokens((9, n % 5)),
                type=MemoryType.EXPERIENCE if n == 4 else MemoryType.WORLD,
            )
            for n in range(5)
        ]
        + [candidate("passage", entities=["X"], interaction=stored_tokens((9, 9)))]
        + [candidate(f"further {n}", vector=unit(-n / 9)) for n in range(7)],
        neighbours=[*in_a_row(5), *[[-1] * 4] * 8],
        stats=LexemeStats(9, 1.0, {"cat": 2, "x": 1}),
    )
    tokens = asked_tokens(*[(id, {id: 1.0}) for id in (1, 2, 9)])
    windows = [Window("today", TODAY, firm=False)]
    text = "What should I get for B?" if weight == "lasting_fact" else "What does B like?"
    asked = question(text, tokens=tokens, lexemes=["x"], windows=windows)
    before = rank(pool, asked, 10, DEFAULT_WEIGHTS)
    raised = replace(DEFAULT_WEIGHTS, **{weight: 3 * getattr(DEFAULT_WEIGHTS, weight)})
    after = rank(pool, asked, 10, raised)
    signal = weight.replace("_", " ")
    assert any(added(before, signal))
    assert added(after, signal) == pytest.approx([3 * x for x in added(before, signal)])


FIRST, SECOND = np.round(relevance_by_rank(2), 6)


# Words and vectors


def test_meaning_is_six_times_the_cosine() -> None:
    pool = pool_of([candidate("0", vector=unit(0.8)), candidate("1", vector=unit(-0.2))])
    ranking = ranked(pool)
    assert value(ranking, "meaning") == pytest.approx([0.8, -0.2])
    assert added(ranking, "meaning") == pytest.approx([4.8, -1.2])
    assert ranking.order.tolist() == [0, 1]


def test_meaning_stands_for_late_interaction_where_there_are_no_token_vectors() -> None:
    texts = pool_of([candidate("0", vector=unit(0.5))])
    turns = pool_of([candidate(speaker, vector=unit(0.5), speaker=speaker) for speaker in "AB"])
    for pool, weight in ((texts, 6.0 + 6.0), (turns, 6.0 * 3.6)):
        ranking = rank(pool, question(), 10, DEFAULT_WEIGHTS)
        cosines = value(ranking, "meaning")
        assert added(ranking, "meaning") == pytest.approx([weight * each for each in cosines])


def test_meaning_adds_the_same_whatever_else_is_in_the_pool() -> None:
    memories = [candidate("0", vector=unit(0.3)), candidate("1", vector=unit(0.2))]
    with_better = [*memories, candidate("2", vector=unit(0.9))]
    expected = pytest.approx([1.8, 1.2])
    assert added(ranked(pool_of(memories)), "meaning") == expected
    assert added(ranked(pool_of(with_better)), "meaning")[:2] == expected


def test_meaning_counts_by_the_share_that_are_no_turns_of_a_dialogue() -> None:
    memories = [
        candidate("0", vector=unit(0.8)),
        candidate("1", vector=unit(0.2), speaker="A"),
        candidate("2", vector=unit(0.2), speaker="B"),
        candidate("3", vector=unit(0.8), speaker="A"),
    ]
    # One in four is none: 6 / 4 times the cosine.
    assert added(ranked(pool_of(memories)), "meaning") == pytest.approx([1.2, 0.3, 0.3, 1.2])
    assert added(ranked(pool_of(memories[1:])), "meaning") == [0.0, 0.0, 0.0]


def test_terms_are_bm25_over_the_logarithm_of_the_memories_halved() -> None:
    # Of a bank of 9 with a mean length of 2; cat is on 1: ln(1 + 8.5 / 1.5). Length 4 of mean 2
    # makes k 0.9 * (0.6 + 0.4 * 2). The logarithm is of 2 more than the bank has.
    pool = pool_of(
        [candidate("0", lexemes=["cat", "cat", "sat", "mat"]), candidate("1", lexemes=["dog"])],
        stats=LexemeStats(9, 2.0, {"cat": 1}),
    )
    ranking = ranked(pool, question(lexemes=["cat"]))
    bm25 = math.log(1 + 8.5 / 1.5) * 2 * 1.9 / (2 + 0.9 * 1.4)
    assert value(ranking, "terms") == pytest.approx([bm25, 0.0])
    assert added(ranking, "terms") == pytest.approx([0.5 * bm25 / math.log(11), 0.0])


def test_length_takes_two_fifths_of_its_logarithm_away() -> None:
    # 4 and 30 characters, and 10 more of each: of two as like the question the shorter is first.
    pool = pool_of([candidate("0", text="a" * 30), candidate("1", text="text")])
    ranking = ranked(pool)
    assert value(ranking, "length") == pytest.approx([math.log(40), math.log(14)])
    assert added(ranking, "length") == pytest.approx([-0.4 * math.log(40), -0.4 * math.log(14)])
    assert ranking.order.tolist() == [1, 0]


def test_the_theme_pushes_down_what_is_unlike_the_ten_best() -> None:
    # The ten best are the axis itself, so their mean is: of the others the likest loses nothing,
    # and 0.3 less like it is three times as much in the total.
    best = [candidate(f"{n}", vector=unit(1.0)) for n in range(10)]
    pool = pool_of([*best, candidate("10", vector=unit(0.2)), candidate("11", vector=unit(0.5))])
    ranking = ranked(pool)
    assert value(ranking, "feedback") == pytest.approx([1.0] * 10 + [0.2, 0.5])
    assert added(ranking, "feedback") == pytest.approx([0.0] * 10 + [-0.9, 0.0])


def test_the_theme_is_the_mean_of_the_best_whatever_the_question() -> None:
    # Nine stand 0.6 along the question and 0.8 across it, one 0.8 along: the mean, of length 1.
    best = [candidate(f"{n}", vector=unit(0.6)) for n in range(9)]
    rest = [candidate("10", vector=(0.0, 1.0)), candidate("11", vector=(0.0, -1.0))]
    ranking = ranked(pool_of([*best, candidate("9", vector=unit(0.8)), *rest]))
    along, across = 9 * 0.6 + 0.8, 9 * 0.8 + 0.6
    assert value(ranking, "feedback")[10:] == pytest.approx(
        [across / math.hypot(along, across), -across / math.hypot(along, across)]
    )


def test_ten_memories_and_what_states_nothing_have_no_theme() -> None:
    best = [candidate(f"{n}", vector=unit(1.0)) for n in range(10)]
    asks = candidate("10", vector=unit(0.5), kind=TurnKind.QUESTION, speaker="A")
    assert "feedback" not in ranked(pool_of(best)).names
    assert "feedback" not in ranked(pool_of([*best, asks])).names


def test_the_theme_counts_less_the_more_the_agent_says() -> None:
    # One of eight turns is the agent's, a quarter of the half from where nothing is left of it.
    turns = [candidate(f"{n}", vector=unit(1.0), speaker="A", document=f"{n}") for n in range(7)]
    own = candidate("7", vector=unit(1.0), speaker="B", type=MemoryType.EXPERIENCE)
    notes = [candidate(f"{n}", vector=unit(1.0)) for n in range(8, 10)]
    rest = [candidate("10", vector=unit(-0.4)), candidate("11", vector=unit(-0.1))]
    ranking = ranked(pool_of([*turns, own, *notes, *rest]))
    assert min(added(ranking, "feedback")) == pytest.approx(-0.9 * 0.75)


def test_opposite_vectors_have_no_theme() -> None:
    best = [candidate(f"{n}", vector=(0.0, (-1.0) ** n)) for n in range(10)]
    ranking = ranked(pool_of([*best, candidate("10", vector=unit(-0.5))]))
    assert added(ranking, "feedback") == [0.0] * 11


# Time


def dated() -> Pool:
    return pool_of(
        [
            candidate("0", occurred=[TODAY], at=NOON - timedelta(days=99)),
            candidate("1", at=NOON - timedelta(days=99)),
        ]
    )


def test_a_date_in_the_window_counts_three() -> None:
    ranking = ranked(dated(), question(windows=[Window("today", TODAY)]))
    assert value(ranking, "date") == [1.0, 0.0]
    assert added(ranking, "date") == [3.0, 0.0]


def test_a_window_that_is_only_hinted_at_counts_three_tenths_of_it() -> None:
    ranking = ranked(dated(), question(windows=[Window("then", TODAY, firm=False)]))
    assert value(ranking, "date") == pytest.approx([0.3, 0.0])
    assert added(ranking, "date") == pytest.approx([0.9, 0.0])


def test_the_best_of_several_windows_counts() -> None:
    windows = [Window("then", TODAY, firm=False), Window("today", TODAY), Window("1", LAST_YEAR)]
    assert value(ranked(dated(), question(windows=windows)), "date") == [1.0, 0.0]


def test_no_window_asked_for_is_no_date() -> None:
    assert added(ranked(dated()), "date") == [0.0, 0.0]


# Conversation


def talk() -> Pool:
    """Five turns of two people; the middle one holds the term and has all of the likeness."""
    return pool_of(
        [
            candidate("0", speaker="A", vector=unit(0.0)),
            candidate("1", speaker="B", vector=unit(-0.6)),
            candidate("2", speaker="A", vector=unit(0.5), lexemes=["cat"], text="Cats?"),
            candidate("3", speaker="B", vector=unit(0.0)),
            candidate("4", speaker="A", vector=unit(0.0)),
        ],
        neighbours=in_a_row(5),
        stats=LexemeStats(5, 1.0, {"cat": 1}),
    )


def test_neighbours_count_1_2_and_those_further_away_a_half() -> None:
    ranking = ranked(talk(), question(lexemes=["cat"]))
    # The term is over its greatest, 1; a cosine below 0 counts nothing. Before the match
    # 0.4 + 0.3 / 2, behind it 0.6 + 0.8 / 2.
    assert value(ranking, "neighbours") == pytest.approx([0.0, 0.55, 0.0, 1.0, 0.0])
    assert added(ranking, "neighbours") == pytest.approx([0.0, 1.2 * 0.55, 0.0, 1.2, 0.0])
    assert value(ranking, "second neighbours") == pytest.approx([1.5, 0.0, 0.0, 0.0, 1.5])
    assert added(ranking, "second neighbours") == pytest.approx([0.75, 0.0, 0.0, 0.0, 0.75])


def test_a_reply_to_a_close_question_counts_up_to_3_5() -> None:
    ranking = ranked(talk(), question(lexemes=["cat"]))
    # The question before has the greatest terms and cosine of all: (1 + 1) / 2, squared.
    assert value(ranking, "answers") == pytest.approx([0.0, 0.0, 0.0, 1.0, 0.0])
    assert added(ranking, "answers") == pytest.approx([0.0, 0.0, 0.0, 3.5, 0.0])
    # Without the term, half of it: squared, a quarter.
    assert added(ranked(talk()), "answers")[3] == pytest.approx(3.5 / 4)


def test_a_turn_that_asks_loses_0_55() -> None:
    ranking = ranked(talk())
    assert value(ranking, "asks") == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert added(ranking, "asks") == [0.0, 0.0, -0.55, 0.0, 0.0]


def test_what_the_one_asked_about_said_counts_3_6() -> None:
    ranking = ranked(talk(), question("What does B like?"))
    assert value(ranking, "speaker") == [0.0, 1.0, 0.0, 1.0, 0.0]
    assert added(ranking, "speaker") == [0.0, 3.6, 0.0, 3.6, 0.0]


def test_substance_counts_two_fifths_of_itself() -> None:
    pool = pool_of(
        [candidate("0", speaker="A", occurred=[TODAY]), candidate("1", speaker="B")],
    )
    ranking = ranked(pool)
    assert value(ranking, "information") == pytest.approx([0.45, -0.45])
    assert added(ranking, "information") == pytest.approx([0.18, -0.18])


def sessions() -> Pool:
    """A session of three turns about cats, the first two of them today, and one of another."""
    old = NOON - timedelta(days=99)
    return pool_of(
        [
            candidate("0", document="one", speaker="A", lexemes=["cat"], vector=unit(0.5)),
            candidate("1", document="one", speaker="B", vector=unit(0.5)),
            candidate("2", document="one", speaker="A", vector=unit(0.5), at=old),
            candidate("3", document="two", speaker="B", vector=unit(0.1), at=old),
        ],
        stats=LexemeStats(4, 1.0, {"cat": 1}),
    )


def test_a_session_counts_two_fifths_of_a_deviation() -> None:
    ranking = ranked(sessions(), question(lexemes=["cat"]))
    # Three turns above one: 1/4 and -3/4 from the mean, of which the deviation is the root of
    # 3/16.
    expected = np.array([1, 1, 1, -3]) / 4 / (3 / 16) ** 0.5
    assert value(ranking, "session") == pytest.approx(expected)
    # The last has nobody beside it: three in four are turns of a dialogue.
    assert added(ranking, "session") == pytest.approx(0.75 * 0.4 * expected)


def test_outside_the_time_asked_for_a_session_gains_nothing_and_loses_as_before() -> None:
    today = question(lexemes=["cat"], windows=[Window("today", TODAY)])
    expected = np.array([1, 1, 0, -3]) / 4 / (3 / 16) ** 0.5
    assert value(ranked(sessions(), today), "session") == pytest.approx(expected)
    hint = question(lexemes=["cat"], windows=[Window("then", TODAY, firm=False)])
    expected = np.array([1, 1, 1, -3]) / 4 / (3 / 16) ** 0.5
    assert value(ranked(sessions(), hint), "session") == pytest.approx(expected)


WORDS_ALONE = ("meaning", "terms", "date", "length", "recency boost", "proof boost")


def test_texts_that_nobody_said_have_no_signals_of_conversation() -> None:
    names = ranked(pool_of([candidate("0"), candidate("1")])).names
    assert names == WORDS_ALONE


def test_statements_alone_in_their_sessions_have_no_signals_of_conversation() -> None:
    pool = pool_of([candidate(name, speaker=name, document=name) for name in "AB"])
    assert ranked(pool).names == WORDS_ALONE


CONVERSATION = (
    "neighbours",
    "second neighbours",
    "session",
    "information",
    "speaker",
    "asks",
    "answers",
)


def two_sessions(*more: Candidate) -> Pool:
    """Four turns for which each signal of conversation is something, and others beside nothing."""
    turns = [
        candidate("0", speaker="A", vector=unit(0.6), lexemes=["cat"], text="Cats?"),
        candidate("1", speaker="B", vector=unit(0.1), occurred=[TODAY]),
        candidate("2", speaker="A", vector=unit(0.2)),
        candidate("3", speaker="B", vector=unit(0.1), document="other"),
        candidate("4", speaker="A", vector=unit(0.1), document="other"),
    ]
    alone = [[-1] * 4] * (len(more) + 2)
    return pool_of(
        [*turns, *more],
        neighbours=[*in_a_row(3), *alone],
        stats=LexemeStats(9, 1.0, {"cat": 1}),
    )


ABOUT_B = question("What does B like?", lexemes=["cat"])


@pytest.mark.parametrize("signal", CONVERSATION)
def test_a_signal_of_conversation_counts_by_the_share_of_turns(signal: str) -> None:
    weight = getattr(DEFAULT_WEIGHTS, signal.replace(" ", "_"))
    full = ranked(two_sessions(), ABOUT_B)
    assert any(value(full, signal))
    assert added(full, signal) == pytest.approx([weight * x for x in value(full, signal)])
    # Five turns among eight memories.
    notes = [candidate(str(n), document="notes") for n in (5, 6, 7)]
    mixed = ranked(two_sessions(*notes), ABOUT_B)
    assert any(value(mixed, signal))
    expected = [0.625 * weight * x for x in value(mixed, signal)]
    assert added(mixed, signal) == pytest.approx(expected)


# The agent's own words


def chat(turns: int, own: int) -> Pool:
    """A chat in which the agent says the last of the turns, with two names on each of them."""
    said_by = ["A"] * (turns - own) + ["agent"] * own
    return pool_of(
        [
            candidate(
                str(n),
                speaker=speaker,
                type=MemoryType.EXPERIENCE if speaker == "agent" else MemoryType.WORLD,
                vector=unit(0.8 - n / 5),
                interaction=stored_tokens((n, n)),
                entities=["X", "Y"],
            )
            for n, speaker in enumerate(said_by)
        ],
        neighbours=in_a_row(turns),
    )


def test_the_agents_own_words_lose_five() -> None:
    ranking = ranked(chat(4, own=1))
    assert value(ranking, "own words") == [0.0, 0.0, 0.0, 1.0]
    assert added(ranking, "own words") == [0.0, 0.0, 0.0, -5.0]
    # As much of them as there may be: by themselves they are no dialogue.
    ranking = ranked(chat(2, own=2))
    assert added(ranking, "own words") == [-5.0, -5.0]


def test_a_question_about_the_agents_own_words_takes_nothing_from_them() -> None:
    assert "own words" not in ranked(chat(4, own=1), question("What did you recommend?")).names


def test_where_only_others_speak_nothing_is_the_agents() -> None:
    assert "own words" not in ranked(talk()).names


def test_in_a_chat_with_the_agent_meaning_counts_as_among_texts() -> None:
    # The agent says a quarter of the turns, which makes half a dialogue of it; then half of them.
    half = ranked(chat(4, own=1))
    assert added(half, "meaning") == pytest.approx([2.4, 1.8, 1.2, 0.6])
    none = ranked(chat(4, own=2))
    assert added(none, "meaning") == pytest.approx([4.8, 3.6, 2.4, 1.2])


def test_in_a_chat_with_the_agent_signals_of_conversation_fade() -> None:
    half = ranked(chat(4, own=1))
    near = value(half, "neighbours")
    # The second turn has 0.8 * 0.8 before it and 0.3 * 0.4 behind it.
    assert near[1] == pytest.approx(0.76)
    assert added(half, "neighbours") == pytest.approx([0.5 * 1.2 * x for x in near])
    assert set(CONVERSATION).isdisjoint(ranked(chat(4, own=2)).names)


def test_in_a_chat_with_the_agent_shared_names_fade() -> None:
    # The last alone covers the second token.
    tokens = asked_tokens((1, {1: 1.0}), (3, {3: 1.0}))
    weights = Weights(interaction=0.0, own_words=0.0)
    half = rank(chat(4, own=1), question(tokens=tokens), 10, weights)
    # Two names a memory link the pool wholly, and half of the graph remains.
    assert any(value(half, "shared name"))
    assert added(half, "shared name") == pytest.approx([x / 2 for x in value(half, "shared name")])
    assert any(value(half, "residual"))
    assert added(half, "residual") == pytest.approx([x / 2 for x in value(half, "residual")])
    flow = value(half, "pagerank")
    logs = [math.log(part / max(flow) + 0.001) for part in flow]
    assert added(half, "pagerank") == pytest.approx([0.5 * 0.55 * x for x in standard(logs)])
    none = rank(chat(4, own=2), question(tokens=tokens), 10, weights)
    assert {"shared name", "pagerank", "residual"}.isdisjoint(none.names)


# Late interaction


def test_late_interaction_counts_six_among_texts() -> None:
    pool = pool_of(
        [
            candidate("0", vector=unit(0.4), interaction=stored_tokens((1, 1))),
            candidate("1", vector=unit(0.2), interaction=stored_tokens((2, 2))),
        ]
    )
    ranking = ranked(pool, question(tokens=asked_tokens((7, {1: 0.8, 2: 0.6}))))
    assert value(ranking, "interaction") == pytest.approx([0.8, 0.6])
    assert added(ranking, "interaction") == pytest.approx([4.8, 3.6])


@pytest.mark.parametrize(("two_models", "weight"), [(False, 0.0), (True, 6.0)])
def test_among_turns_the_cosine_counts_if_late_interaction_is_of_another_model(
    two_models: bool, weight: float
) -> None:
    asked = question(tokens=asked_tokens((7, {1: 0.8, 2: 0.6})), two_models=two_models)
    assert added(ranked(talk(), asked), "meaning")[2] == pytest.approx(0.5 * weight)


@pytest.mark.parametrize(("texts", "weight"), [(0, 21.6), (2, 13.8), (6, 9.9)])
def test_late_interaction_counts_3_6_times_as_much_among_turns(texts: int, weight: float) -> None:
    # Of 2, 4 and 8 memories two are turns: 6 and 15.6 more, or their half or quarter.
    turns = [
        candidate("A", speaker="A", interaction=stored_tokens((1, 1))),
        candidate("B", speaker="B", interaction=stored_tokens((2, 2))),
    ]
    notes = [
        candidate(str(n), document=str(n), interaction=stored_tokens((3, 2))) for n in range(texts)
    ]
    asked = question(tokens=asked_tokens((7, {1: 0.8, 2: 0.6})))
    ranking = ranked(pool_of([*turns, *notes]), asked)
    assert value(ranking, "interaction")[:2] == pytest.approx([0.8, 0.6])
    expected = [0.8 * weight, 0.6 * weight] + [0.6 * weight] * texts
    assert added(ranking, "interaction") == pytest.approx(expected)


def test_tokens_count_by_their_rarity() -> None:
    # Token 1 is in one of three memories, token 2 in two: ln(1 + 2.5 / 1.5), ln(1 + 1.5 / 2.5).
    pool = pool_of(
        [
            candidate("0", interaction=stored_tokens((1, 1))),
            candidate("1", interaction=stored_tokens((2, 2))),
            candidate("2", interaction=stored_tokens((2, 2))),
        ]
    )
    ranking = ranked(pool, question(tokens=asked_tokens((1, {1: 1.0}), (2, {2: 1.0}))))
    one, two = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    share = one / (one + two)
    assert value(ranking, "interaction") == pytest.approx([share, 1 - share, 1 - share])


def test_below_the_head_late_interaction_is_foretold_from_cosine_and_terms() -> None:
    # In the head, interaction is 0.3 + 0.5 * cosine, and 0.1 more for who holds the term. So it
    # is 0.3 + 0.5 * 0.4 + 0.1 of the fourth, and 0.3 + 0.5 * 0.2 of the fifth, whatever they hold.
    tokens = [stored_tokens((9, pattern)) for pattern in (1, 1, 2, 3, 3)]
    cosines = [1.0, 0.8, 0.6, 0.4, 0.2]
    words = [[], ["cat"], [], ["cat"], []]
    pool = pool_of(
        [
            candidate(str(n), vector=unit(cosines[n]), lexemes=words[n], interaction=tokens[n])
            for n in range(5)
        ],
        stats=LexemeStats(9, 1.0, {"cat": 1}),
    )
    weights = Weights(terms=0.0)
    asked = question(lexemes=["cat"], tokens=asked_tokens((7, {1: 0.8, 2: 0.6})))
    ranking = rank(pool, asked, 3, weights)
    assert value(ranking, "interaction") == pytest.approx([0.8, 0.8, 0.6, 0.6, 0.4], abs=1e-6)


# Shared names


def linked() -> Pool:
    """Two memories with three names in common, and two without any: 1.5 names a memory."""
    cosines = [0.8, 0.6, 0.4, 0.2]
    return pool_of(
        [
            candidate(str(n), vector=unit(cosine), entities=["X", "Y", "Z"] * (n < 2))
            for n, cosine in enumerate(cosines)
        ]
    )


def test_a_shared_name_adds_seven_tenths_of_the_way_to_the_hit() -> None:
    ranking = ranked(linked())
    way = 6 * (0.8 - 0.6)
    assert value(ranking, "shared name") == pytest.approx([0.0, 0.7 * way, 0.0, 0.0])
    assert added(ranking, "shared name") == pytest.approx([0.0, 0.7 * way, 0.0, 0.0])


def test_pagerank_counts_55_hundredths_of_its_standardised_logarithm() -> None:
    ranking = ranked(linked())
    # Sources 6, 3 and 2 elevenths. Over the names, the first two halve what they pass on: half
    # of the own source and a quarter of 9/11; the third passes nothing on, and keeps half.
    flow = [6 / 22 + 9 / 44, 3 / 22 + 9 / 44, 2 / 22, 0.0]
    assert value(ranking, "pagerank") == pytest.approx(flow)
    logs = [math.log(part / flow[0] + 0.001) for part in flow]
    expected = [0.55 * deviation for deviation in standard(logs)]
    assert added(ranking, "pagerank") == pytest.approx(expected)


def test_pagerank_and_residual_count_by_how_far_names_link_the_pool() -> None:
    # One name a memory: (1 - 0.7) / 0.8 of the whole.
    pool = pool_of(
        [
            candidate("0", vector=unit(0.8), entities=["X"], interaction=stored_tokens((1, 1))),
            candidate("1", vector=unit(0.2), entities=["X"], interaction=stored_tokens((2, 2))),
        ]
    )
    ranking = ranked(pool, question(tokens=asked_tokens((1, {1: 1.0}), (2, {2: 0.5, 3: 1.0}))))
    assert added(ranking, "pagerank") == pytest.approx([0.375 * 0.55, -0.375 * 0.55])
    # Both are sources; the second covers the second token by half, and stands alone in it.
    assert added(ranking, "residual") == pytest.approx([-0.375, 0.375])


def test_names_on_few_memories_draw_but_do_not_flow() -> None:
    pool = pool_of([candidate(str(n), entities=["X"] * (n < 2)) for n in range(4)])
    names = ranked(pool).names
    assert "shared name" in names
    assert "pagerank" not in names
    assert "residual" not in names
    assert "shared name" not in ranked(pool_of([candidate("0"), candidate("1")])).names


def residual(patterns: Sequence[int], head: int = 10) -> list[float]:
    """The residual of memories of one token each, nearest first; the question has 1, 2 and 3."""
    pool = pool_of(
        [
            candidate(
                str(n),
                vector=unit(0.9 - n / 10),
                entities=["X", "Y"],
                interaction=stored_tokens((9, pattern)),
            )
            for n, pattern in enumerate(patterns)
        ]
    )
    asked = asked_tokens(*[(id, {id: 1.0}) for id in (1, 2, 3)])
    weights = Weights(interaction=0.0)
    return added(rank(pool, question(tokens=asked), head, weights), "residual")


def test_residual_is_what_the_best_three_do_not_cover() -> None:
    # The best three have 1 and 2. Of the others, who has 3 is above who has none, by a third
    # of them: 1/5 and 4/5 from the mean, with a deviation of 2/5.
    assert residual([1, 2, 1, 3, 9]) == pytest.approx([-0.5, -0.5, -0.5, 2.0, -0.5])
    # What the best three cover tells nothing, and the fourth best covers for nobody.
    assert residual([1, 2, 3, 3, 9]) == [0.0] * 5


def test_residual_counts_missing_tokens_by_their_importance() -> None:
    # Tokens 2 and 3 are missing. Token 2 is in one of five memories and token 3 in three, so
    # who covers 2 gains as much more as it is rarer.
    held = [[1], [1], [1, 3], [2], [3], [3]]
    patterns = [1, 1, 1, 2, 3, 9]
    pool = pool_of(
        [
            candidate(
                str(n),
                vector=unit(0.9 - n / 10),
                entities=["X", "Y"],
                interaction=b"".join(stored_tokens((id, patterns[n])) for id in held[n]),
            )
            for n in range(6)
        ]
    )
    asked = asked_tokens(*[(id, {id: 1.0}) for id in (1, 2, 3)])
    ranking = rank(pool, question(tokens=asked), 10, Weights(interaction=0.0))
    two, three = math.log(1 + 5.5 / 1.5), math.log(1 + 3.5 / 3.5)
    share = two / (two + three)
    expected = standard([0.0, 0.0, 0.0, share, 1 - share, 0.0])
    assert value(ranking, "residual") == pytest.approx(expected)


def test_below_the_head_there_is_no_residual() -> None:
    assert residual([1, 2, 1, 3, 9, 3], head=5) == pytest.approx([-0.5, -0.5, -0.5, 2.0, -0.5, 0.0])


# Events and boosts


def test_the_event_counted_from_rises_seven_tenths_of_the_way_to_the_best() -> None:
    pool = pool_of(
        [candidate(str(n), vector=unit(cosine)) for n, cosine in enumerate([0.8, 0.5, 0.2])]
    )
    ranking = ranked(pool, question(events=["2"]))
    assert value(ranking, "event") == [0.0, 0.0, 1.0]
    assert added(ranking, "event") == pytest.approx([0.0, 0.0, 0.7 * 6 * (0.8 - 0.2)])
    assert "event" not in ranked(pool).names


def test_boosts_add_their_logarithms() -> None:
    year_ago = NOON - timedelta(days=365)
    pool = pool_of(
        [candidate("0", proof=10), candidate("1", at=year_ago), candidate("2", occurred=[TODAY])]
    )
    ranking = ranked(pool, question(windows=[Window("then", LAST_YEAR)]))
    assert value(ranking, "recency boost") == pytest.approx([1.1, 0.9, 1.1])
    assert added(ranking, "recency boost") == pytest.approx(np.log([1.1, 0.9, 1.1]))
    assert value(ranking, "proof boost") == pytest.approx([1.05, 1.0, 1.0])
    assert added(ranking, "proof boost") == pytest.approx(np.log([1.05, 1.0, 1.0]))
    assert value(ranking, "temporal boost") == pytest.approx([0.9, 1.1, 0.9])
    assert added(ranking, "temporal boost") == pytest.approx(np.log([0.9, 1.1, 0.9]))
    assert "temporal boost" not in ranked(pool).names


def test_saying_it_again_proves_nothing_of_the_agents_words_or_of_what_states_nothing() -> None:
    pool = pool_of(
        [
            candidate("0", proof=10, speaker="agent", type=MemoryType.EXPERIENCE),
            candidate("1", proof=10, type=MemoryType.EXPERIENCE),
            candidate("2", proof=10, speaker="A", kind=TurnKind.QUESTION.value),
            candidate("3", proof=10, speaker="A"),
        ]
    )
    assert value(ranked(pool), "proof boost") == pytest.approx([1.0, 1.05, 1.0, 1.05])


# Turns that state nothing


def test_turns_that_state_nothing_stand_a_tenth_behind_all_others() -> None:
    asking = TurnKind.QUESTION.value
    memories = [
        candidate("0", vector=unit(0.9), kind=asking),
        candidate("1", vector=unit(0.2)),
        candidate("2", vector=unit(-0.5)),
        candidate("3", vector=unit(0.1), kind=asking),
    ]
    ranking = ranked(pool_of(memories))
    assert value(ranking, "states nothing") == [1.0, 0.0, 0.0, 1.0]
    # From 6 * 0.9 to a tenth below 6 * -0.5; the other keeps its distance.
    assert added(ranking, "states nothing") == pytest.approx([-8.5, 0.0, 0.0, -8.5])
    assert ranking.order.tolist() == [1, 2, 0, 3]
    assert ranking.relevance.tolist() == [0.0, FIRST, SECOND, 0.0]
    fused = rank_fused(pool_of(memories, fused=[0.04, 0.02, 0.01, 0.03]), question())
    assert fused.order.tolist() == [1, 2, 0, 3]
    assert fused.relevance.tolist() == [0.0, FIRST, SECOND, 0.0]


def test_turns_that_state_nothing_and_stand_behind_anyway_stay_where_they_are() -> None:
    asking = TurnKind.QUESTION.value
    pool = pool_of(
        [candidate("0", vector=unit(-0.5), kind=asking), candidate("1", vector=unit(0.5))]
    )
    ranking = ranked(pool)
    assert added(ranking, "states nothing") == [0.0, 0.0]
    assert ranking.order.tolist() == [1, 0]


def test_among_turns_that_all_state_nothing_none_stands_behind() -> None:
    asking = TurnKind.QUESTION.value
    alike = [candidate("0", vector=unit(0.1), kind=asking)]
    assert "states nothing" not in ranked(pool_of(alike)).names
    assert "states nothing" not in ranked(pool_of([candidate("1")])).names


# Without reranking


def test_fused_ranking_goes_by_the_logarithm_of_the_fused_score_and_the_boosts() -> None:
    pool = pool_of(
        [candidate("0", vector=unit(-0.5)), candidate("1", vector=unit(0.5)), candidate("2")],
        fused=[0.01, 0.02, 0.0],
    )
    ranking = rank_fused(pool, question(windows=[Window("today", TODAY)]))
    assert ranking.names == ("fusion", "recency boost", "proof boost", "temporal boost")
    assert value(ranking, "fusion") == [0.01, 0.02, 0.0]
    assert added(ranking, "fusion") == pytest.approx(np.log([0.010001, 0.020001, 0.000001]))
    assert ranking.order.tolist() == [1, 0, 2]
    assert ranking.relevance[[1, 0]].tolist() == [FIRST, SECOND]


# One memory


def ranking_of(total: Sequence[float], relevance: Sequence[float]) -> Ranking:
    table = np.array([total]).T
    order = np.argsort(-np.array(total), kind="stable")
    return Ranking(order, np.array(total), np.array(relevance), ("signal",), table, table)


def test_signals_of_one_memory_are_its_row() -> None:
    signals = ranking_of([1.0, 3.0], [0.5, 0.5]).signals(1)
    assert [tuple(signal) for signal in signals] == [("signal", 3.0, 3.0)]


# Another reranker


class Fixed:
    id = "fixed"

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def score(self, query: str, memories: Sequence[Memory]) -> np.ndarray:
        return np.array(self.scores)


def head(*positions: int) -> dict[int, Memory]:
    return {position: Memory(str(position), "bank", "text") for position in positions}


def test_a_reranker_orders_the_head_and_leaves_the_rest_behind_it() -> None:
    before = ranking_of([3.0, 2.0, 1.0, -1.0], [0.5] * 4)
    after = rerank(before, head(0, 1), question(), Fixed(0.1, 0.9))
    # The range of the totals and 1 more is 5. The first of two gets 5 * 2 above the best, which
    # is 3; the second 5 * (2 - 1/2).
    assert after.total == pytest.approx([3 + 7.5, 3 + 10, 1.0, -1.0])
    assert after.order.tolist() == [1, 0, 2, 3]
    assert after.names == ("signal", "reranker fixed")
    assert after.values[:, 1].tolist() == [0.1, 0.9, 0.0, 0.0]
    assert after.contributions[:, 1] == pytest.approx([7.5, 11.0, 0.0, 0.0])


def test_equal_scores_of_a_reranker_keep_the_order() -> None:
    before = ranking_of([3.0, 2.0, 1.0], [0.5] * 3)
    assert rerank(before, head(0, 1, 2), question(), Fixed(1, 1, 1)).order.tolist() == [0, 1, 2]


def test_a_reranker_that_fails_changes_nothing_but_is_reported() -> None:
    before = ranking_of([1.0, 2.0], [0.5] * 2)
    after = rerank(before, head(1, 0), question(), Fixed(1.0, math.nan))
    assert after.total.tolist() == [1.0, 2.0]
    assert [failure.part for failure in after.failures] == ["reranker"]
    assert isinstance(after.failures[0].error, RerankError)
    assert rerank(before, {}, question(), Fixed()) is before
