from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from hindsight_integrations.models import Precision, TimeSpan
from hindsight_integrations.nlp.time import EventAnchor
from hindsight_integrations.recall.arms.temporal import (
    ResolvedEvent,
    event_time,
    resolve_event,
    without_event_clauses,
)
from hindsight_integrations.recall.base import Question
from hindsight_integrations.stores.base import Candidate, LexemeStats, TextHit
from tests.recall.building import (
    NOON,
    asked_tokens,
    bank_search,
    candidate,
    question,
    stored_tokens,
    unit,
)

pytestmark = pytest.mark.ranking

DAY = timedelta(days=1)
TODAY = TimeSpan.of_day(NOON)
MOVED = EventAnchor("before", "Ana moved", None, "before Ana moved")


def told(
    *memories: Candidate, event: Question, anchor: EventAnchor = MOVED
) -> ResolvedEvent | None:
    """The event found, when the arms find these memories in this order."""
    index = type(
        "Index",
        (),
        {"query": lambda *_: [(m.id, float(m.vector @ event.vector)) for m in memories]},
    )()
    known = {memory.id: memory for memory in memories}
    graph: dict[str, Any] = {
        "lexeme_stats": lambda *_: LexemeStats(9, 1.0, {}),
        "filter_ids": lambda bank, ids, filter: set(ids),
        "text_search": lambda *_: [TextHit(m.id, ("move",)) for m in memories],
        "read": lambda bank, kind, ids: {id: known[id] for id in ids},
    }
    return resolve_event(bank_search(hits=40, index=index, **graph), anchor, lambda text: event)


def test_an_event_is_told_by_what_is_near_enough_to_it() -> None:
    event = question(lexemes=["move"])
    found = told(candidate("0", vector=unit(0.5)), candidate("1", vector=unit(0.61)), event=event)
    assert found is not None
    assert found.memory_id == "1"
    assert told(candidate("0", vector=unit(0.59)), event=event) is None
    assert told(event=event) is None


def test_with_tokens_six_tenths_of_the_event_must_be_covered() -> None:
    event = question(lexemes=["move"], tokens=asked_tokens((1, {1: 1.0}), (2, {2: 0.3, 3: 0.9})))
    # Both tokens are in no memory, and count alike: (1 + 0.3) / 2, (1 + 0) / 2, (0 + 0.9) / 2.
    both = candidate("0", interaction=stored_tokens((8, 1), (9, 2)))
    one = candidate("1", interaction=stored_tokens((8, 1)))
    other = candidate("2", interaction=stored_tokens((9, 3)))
    found = told(one, both, other, event=event)
    assert found is not None
    assert found.memory_id == "0"
    assert told(one, other, event=event) is None


def test_the_event_is_looked_for_among_the_best_fifteen() -> None:
    event = question(lexemes=["move"])
    vectors = [np.array(unit(0.1))] * 20
    vectors[14] = np.array(unit(0.9))
    memories = [candidate(f"{n:02}", vector=vector) for n, vector in enumerate(vectors)]
    found = told(*memories, event=event)
    assert found is not None
    assert found.memory_id == "14"
    vectors[14], vectors[15] = vectors[15], vectors[14]
    memories = [candidate(f"{n:02}", vector=vector) for n, vector in enumerate(vectors)]
    assert told(*memories, event=event) is None


def test_an_event_of_a_pronoun_and_one_word_has_to_have_the_word() -> None:
    event = question(lexemes=["away"])
    away = EventAnchor("during", "she was away", None, "while she was away")
    left = candidate("0", text="She left.", vector=unit(0.9), lexemes=["left"])
    gone = candidate("1", text="I am away.", vector=unit(0.7), lexemes=["away"])
    assert told(left, event=event, anchor=away) is None
    found = told(left, gone, event=event, anchor=away)
    assert found is not None
    assert found.memory_id == "1"
    named = EventAnchor("during", "Ana was away", None, "while Ana was away")
    assert told(left, event=event, anchor=named) is not None


def test_the_window_ends_with_the_event_and_is_firm_if_a_distance_is_named() -> None:
    event = question(lexemes=["move"])
    memory = candidate("0", text="Ana moved.", vector=unit(0.9), occurred=[TODAY])
    found = told(memory, event=event)
    assert found is not None
    assert found.window.span.end == TODAY.start
    assert not found.window.firm
    assert found.window.text == "before Ana moved: “Ana moved.”"
    later = EventAnchor("after", "Ana moved", DAY, "a day after Ana moved")
    found = told(memory, event=event, anchor=later)
    assert found is not None
    assert found.window.span.start == TODAY.start + DAY
    assert found.window.firm


def test_a_long_text_is_shortened_to_sixty_characters() -> None:
    event = question(lexemes=["move"])
    found = told(candidate("0", text="x" * 60, vector=unit(0.9)), event=event)
    assert found is not None
    assert found.window.text == f"before Ana moved: “{'x' * 60}”"
    found = told(candidate("0", text="x" * 61, vector=unit(0.9)), event=event)
    assert found is not None
    assert found.window.text == f"before Ana moved: “{'x' * 59}…”"


def test_it_happened_at_the_most_exact_time_named_or_when_it_was_said() -> None:
    month = TimeSpan(NOON - 10 * DAY, NOON + 20 * DAY, Precision.MONTH)
    hour = TimeSpan(NOON, NOON + DAY / 24, Precision.RANGE)
    assert event_time(candidate("0", occurred=[month, TODAY, hour])) == TODAY
    assert event_time(candidate("0", occurred=[hour])) == TODAY
    assert event_time(candidate("0", at=NOON - DAY)) == TimeSpan.of_day(NOON - DAY)
    earlier = TimeSpan.of_day(NOON - DAY)
    assert event_time(candidate("0", occurred=[TODAY, earlier])) == earlier


def test_clauses_that_only_tell_the_time_are_taken_out() -> None:
    asked = "Which room was it before Ana moved?"
    assert without_event_clauses(asked, [MOVED]) == "Which room was it ?"
    during = EventAnchor("during", "the move", None, "during the move")
    assert (
        without_event_clauses("What broke during the move?", [during])
        == "What broke during the move?"
    )
    later = EventAnchor("after", "the move", DAY, "a day after the move")
    assert without_event_clauses("What broke a day after the move?", [later]) == "What broke ?"
    assert without_event_clauses("before Ana moved", [MOVED]) == "before Ana moved"
