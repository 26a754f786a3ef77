"""How far a newer version of a statement rises above the older one, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest

from hindsight_integrations.models import MemoryType
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.recall.ranking import rank
from hindsight_integrations.recall.versions import newer_version_boost
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS
from hindsight_integrations.stores.base import Candidate
from tests.recall.building import NOON, candidate, pool_of, question, unit

pytestmark = pytest.mark.ranking


def told(*texts: str, speaker: str | None = None) -> list[Candidate]:
    """Statements of equal vectors, one a day."""
    days = [NOON + timedelta(days=day) for day in range(len(texts))]
    return [
        candidate(text, text=text, at=day, speaker=speaker)
        for text, day in zip(texts, days, strict=True)
    ]


def rises(
    memories: Sequence[Candidate], asked: str, total: Sequence[float] = (2.0, 1.0)
) -> dict[int, float]:
    totals = np.array(total)
    order = np.argsort(-totals, kind="stable").tolist()
    return newer_version_boost(Candidates(memories), totals, order, lexemes(asked))


WHERE = "Where does Ole live?"
BERGEN, OSLO, TROMSO = (f"Ole lives in {town}." for town in ("Bergen", "Oslo", "Tromso"))


def test_the_newer_version_rises_a_step_above_the_older() -> None:
    # From 1 to a hundredth above 2.
    assert rises(told(BERGEN, OSLO), WHERE) == pytest.approx({1: 1.01})
    # What stands above the older one anyway stays where it is.
    assert rises(told(BERGEN, OSLO), WHERE, (1.0, 2.0)) == {}


def test_of_three_versions_the_newest_rises_above_the_one_that_has_risen() -> None:
    # The second goes to 3.01, and the third from 2 to 3.02.
    expected = pytest.approx({1: 2.01, 2: 1.02})
    assert rises(told(BERGEN, OSLO, TROMSO), WHERE, (3.0, 1.0, 2.0)) == expected


def test_the_ranking_puts_the_newer_version_first_unless_the_past_is_asked_about() -> None:
    older, newer = told(BERGEN, OSLO)
    pool = pool_of([older, candidate("newer", text=OSLO, at=newer.mentioned_at, vector=unit(-0.1))])
    ranking = rank(pool, question(WHERE, lexemes=lexemes(WHERE)), 10, DEFAULT_WEIGHTS)
    column = ranking.names.index("newer version")
    assert ranking.values[:, column].tolist() == [0.0, 1.0]
    before = ranking.total - ranking.contributions[:, column]
    assert before[0] > before[1]
    rise = before[0] - before[1] + 0.01
    assert ranking.contributions[:, column] == pytest.approx([0.0, rise])
    assert ranking.order.tolist() == [1, 0]
    past = question("Where did Ole live before?", lexemes=lexemes(WHERE))
    assert rank(pool, past, 10, DEFAULT_WEIGHTS).order.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("older", "newer", "versions"),
    [
        ("Ole Berg lives at Pier 4.", "Ole Berg lives at Quay 9.", True),  # three of five
        ("Ole lives in dry Bergen.", "Ole lives in wet Oslo.", True),  # half of four
        ("Ole lives in far dry Bergen.", "Ole lives in far off cold wet Oslo.", False),
    ],
)
def test_versions_share_half_of_the_longer_ones_words(
    older: str, newer: str, versions: bool
) -> None:
    assert bool(rises(told(older, newer), WHERE)) is versions


@pytest.mark.parametrize(("cosine", "versions"), [(0.51, True), (0.49, False)])
def test_versions_are_alike_in_meaning_too(cosine: float, versions: bool) -> None:
    older, newer = told(BERGEN, OSLO)
    pair = [
        candidate("older", text=BERGEN, at=older.mentioned_at, vector=(1.0, 0.0)),
        candidate("newer", text=OSLO, at=newer.mentioned_at, vector=unit(cosine)),
    ]
    assert bool(rises(pair, WHERE)) is versions


def test_a_text_of_more_than_fifteen_words_says_more_than_one_thing() -> None:
    names = [f"x{n}" for n in range(13)]
    older, newer = (f"Ole lives {' '.join([*names[:12], town])}" for town in ("Bergen", "Oslo"))
    assert rises(told(older, newer), WHERE) == pytest.approx({1: 1.01})
    older, newer = (f"Ole lives {' '.join([*names, town])}" for town in ("Bergen", "Oslo"))
    assert rises(told(older, newer), WHERE) == {}


@pytest.mark.parametrize(("others", "versions"), [(18, True), (19, False)])
def test_only_the_twenty_best_are_compared(others: int, versions: bool) -> None:
    noise = [f"Number {n} is up." for n in range(others)]
    totals = [50.0, *(40.0 - n for n in range(others)), 1.0]
    assert bool(rises(told(BERGEN, *noise, OSLO), WHERE, totals)) is versions


def test_the_same_said_again_is_no_newer_version() -> None:
    assert (
        rises(told("My dentist is Dr. Moll.", "My dentist is now Dr. Moll."), "My dentist?") == {}
    )


def test_a_question_about_now_need_not_find_that_word_in_the_versions() -> None:
    pair = told("My dentist is Dr. Moll.", "My dentist is Dr. Fenn.")
    assert rises(pair, "Who is my dentist now?") == pytest.approx({1: 1.01})


def test_what_shares_one_of_the_questions_words_is_not_what_it_asks_for() -> None:
    pair = told("The boat is in Kiel.", "The boat is in Rome.")
    assert rises(pair, "Where is the boat?") == pytest.approx({1: 1.01})
    assert rises(pair, "Who sold us the boat?") == {}


def test_what_moved_on_names_the_old_value_and_rises() -> None:
    moved = "Ole moved from Bergen to Oslo."
    assert rises(told(BERGEN, moved), WHERE) == pytest.approx({1: 1.01})
    # Something else of Ole's moved: of the older statement it has no more than his name.
    other = "Ole moved his boat from Rome to Kiel."
    assert rises(told(BERGEN, other), WHERE) == {}
    # It has the value, and is not what the question asks for.
    assert rises(told("The fair is in Bergen.", moved), "Where is the fair?") == {}


def test_statements_of_two_speakers_and_of_none_are_no_versions() -> None:
    older, newer = "I live in Bergen.", "I live in Oslo."
    asked = "Where do I live?"
    assert rises(told(older, newer, speaker="Tom"), asked) == pytest.approx({1: 1.01})
    ana = candidate("ana", text="Hello.", speaker="Ana")
    totals = (2.0, 1.0, 0.0)
    for one, other in (("Tom", "Ana"), ("Tom", None), (None, "Tom")):
        first, second = (
            candidate(text, text=text, speaker=who, at=NOON + timedelta(days=day))
            for day, (text, who) in enumerate([(older, one), (newer, other)])
        )
        assert rises([first, second, ana], asked, totals) == {}


def test_observations_and_statements_of_one_moment_are_no_versions() -> None:
    pair = told(BERGEN, OSLO)
    seen = candidate("seen", text=OSLO, at=pair[1].mentioned_at, type=MemoryType.OBSERVATION)
    assert rises([pair[0], seen], WHERE) == {}
    assert rises([pair[0], candidate("same", text=OSLO)], WHERE) == {}
