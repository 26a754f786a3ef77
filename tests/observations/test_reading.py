"""Observations are listed, added and asked for, and found by recall."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.conclusions import Quotation, Trend
from hindsight_integrations.errors import InvalidInputError, MemoryNotFoundError
from hindsight_integrations.models import LinkKind, ObservationKind, utc_now
from hindsight_integrations.recall.signals import proof_boost
from hindsight_integrations.settings import Settings

from .statements import REACT, SEAT_MAP, START, VUE, drawn, only, say

# Reading them


def test_only_the_types_asked_for_come_back(memory: Hindsight) -> None:
    say(memory, "The booking site is down.", 0, "Jonas")
    say(memory, "The booking site is down since six.", 90, "Jonas")
    say(memory, REACT)
    say(memory, VUE, 100)
    drawn(memory)
    risks = memory.observations.list("b", types=["risk"]).items
    assert [each.kind for each in risks] == [ObservationKind.RISK]
    asked = memory.observations.observe("b", "the checkout", types=["risk", "causal"])
    assert {each.kind for each in asked} <= {ObservationKind.RISK, ObservationKind.CAUSAL}
    assert memory.observations.list("b", min_confidence=0.3).items == []
    assert memory.observations.observe("b", "the checkout", min_confidence=0.3) == ()
    with pytest.raises(InvalidInputError, match="choose from pattern"):
        memory.observations.list("b", types=["gossip"])


def test_observe_reflects_first_and_gives_the_best_first(memory: Hindsight) -> None:
    say(memory, "The booking site is down.", 0, "Jonas")
    say(memory, "The booking site is down since six.", 90, "Jonas")
    say(memory, REACT)
    say(memory, VUE, 100)
    found = memory.observations.observe("b", "Which framework is the checkout built in?")
    assert "first React, then Vue" in found[0].text
    assert len(memory.observations.observe("b", "the checkout", limit=1)) == 1


def test_observe_gives_context_and_sources(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    found = memory.observations.observe("b", "Which framework is the checkout built in?")
    assert found.sources == tuple(
        dict.fromkeys(source for each in found for source in each.sources)
    )
    assert {item.id for item in found.context} == {each.id for each in found}
    assert "Vue" in found.context.text
    nothing = memory.observations.observe("b", "the checkout", types=["risk"])
    assert (nothing, nothing.sources, len(nothing.context)) == ((), (), 0)


def test_observe_stores_nothing_less_sure_than_it_was_asked_for(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    assert memory.observations.observe("b", "the checkout", min_confidence=0.3) == ()
    assert memory.observations.list("b").items == []


def test_pages_of_observations_lose_none_to_a_filter(memory: Hindsight) -> None:
    for n in range(5):
        kind = "risk" if n % 2 else "pattern"
        memory.retain("b", f"Nothing of number {n}.")
        memory.observations.add("b", f"Number {n} is odd indeed.", type=kind)
    found: list[str] = []
    cursor = None
    while True:
        page = memory.observations.list("b", types=["pattern"], limit=2, cursor=cursor)
        found += [each.text for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [f"Number {n} is odd indeed." for n in (0, 2, 4)]


def test_an_added_observation_survives_the_round_trip(memory: Hindsight) -> None:
    first, second = say(memory, REACT), say(memory, "Nothing else happened at the pier.", 5)
    added = memory.observations.add(
        "b",
        "Inês likes to rebuild things.",
        type="preference",
        sources=[Quotation(first, "build the checkout", START), second],
        reasoning="She did it more than once.",
        tags=["people"],
    )
    (read,) = memory.observations.list("b").items
    assert read == added
    assert read.kind is ObservationKind.PREFERENCE
    assert [piece.quote for piece in read.evidence] == [
        "build the checkout",
        "Nothing else happened at the pier.",
    ]
    assert read.reasoning == "She did it more than once."
    assert (read.confidence, read.proof_count, read.tags) == (0.2, 2, ("people",))
    again = memory.observations.add("b", "Inês likes to rebuild things.", sources=[second])
    assert (again.id, again.proof_count) == (added.id, 2)
    memory.consolidate("b")
    assert memory.observations.list("b").items[0].text == "Inês likes to rebuild things."
    memory.forget("b", [first, second])
    assert memory.observations.list("b").items == []


def test_adding_a_known_text_changes_only_what_is_given_and_its_history_tells_it(
    memory: Hindsight,
) -> None:
    first, second = say(memory, REACT), say(memory, "Nothing else happened at the pier.", 5)
    add = memory.observations.add
    made = add("b", "Inês may be stung.", type="risk", confidence=0.9)
    again = add("b", "Inês may be stung.", sources=[first])
    assert (again.id, again.kind, again.confidence) == (made.id, ObservationKind.RISK, 0.9)
    assert [(c.field, c.old, c.new) for c in again.history] == [("sources", "0", "1")]
    assert add("b", "Inês may be stung.", sources=[first]) == again
    changed = add(
        "b", "Inês may be stung.", type="pattern", confidence=0.5, reasoning="Twice.", tags=["sea"]
    )
    assert (changed.kind, changed.confidence) == (ObservationKind.PATTERN, 0.5)
    assert {(c.field, c.old, c.new) for c in changed.history[1:]} == {
        ("kind", "risk", "pattern"),
        ("confidence", "0.9", "0.5"),
        ("reasoning", None, "Twice."),
        ("tags", "", "sea"),
    }
    computed = add("b", "Inês likes piers.", sources=[first])
    more = add("b", "Inês likes piers.", sources=[second])
    assert computed.confidence < more.confidence == 0.2
    assert [c.field for c in more.history] == ["sources", "confidence"]


def test_a_source_that_cannot_be_one_is_refused(memory: Hindsight) -> None:
    fact = say(memory, REACT)
    added = memory.observations.add("b", "Something.", sources=[fact])
    with pytest.raises(MemoryNotFoundError):
        memory.observations.add("b", "Other.", sources=["nowhere"])
    with pytest.raises(InvalidInputError, match="is itself a conclusion"):
        memory.observations.add("b", "Other.", sources=[added.id])
    with pytest.raises(InvalidInputError, match="is not in memory"):
        memory.observations.add("b", "Other.", sources=[Quotation(fact, "in Angular", START)])


def test_trend_is_told_from_the_times_of_the_evidence(memory: Hindsight) -> None:
    now = utc_now()
    for days, text in ((5, "The booking site is down."), (1, "The booking site is down again.")):
        memory.retain("b", text, timestamp=now - timedelta(days=days))
    assert only(memory).trend is Trend.NEW


# In recall


def test_recall_finds_observations_and_can_prefer_them(memory: Hindsight) -> None:
    react, vue = say(memory, REACT), say(memory, VUE, 100)
    observation = only(memory)
    plain = memory.recall("b", "What is the checkout built in?")
    assert {item.id for item in plain} == {react, vue}  # they take fewer tokens than it does
    preferring = memory.recall("b", "What is the checkout built in?", prefer_observations=True)
    assert [item.id for item in preferring] == [observation.id]
    facts = memory.recall("b", "the checkout", types=["world"], prefer_observations=True)
    assert {item.id for item in facts} == {react, vue}


def test_a_fact_of_which_too_little_is_quoted_stays(memory: Hindsight) -> None:
    long = f"{VUE} Then I drew its forms, its basket and its receipts anew, and slept until noon."
    say(memory, REACT)
    vue = say(memory, long, 100)
    observation = only(memory)
    found = memory.recall("b", "What is the checkout built in?", prefer_observations=True)
    assert vue in {item.id for item in found}
    assert observation.id not in {item.id for item in found}  # it would stand for one fact only


def test_observations_get_the_proof_boost(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    observation = only(memory)
    sources = memory.recall("b", "What is the checkout built in?")
    found = [*sources, *memory.recall("b", "What is the checkout built in?", types=["observation"])]
    signals = {item.id: {s.name: s.value for s in item.signals} for item in found}
    assert signals[observation.id]["proof boost"] == pytest.approx(proof_boost(np.array(2)))
    assert {signals[source]["proof boost"] for source in observation.sources} == {1.0}


def test_a_repetition_is_never_folded_into_an_observation(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    observation = only(memory)
    result = memory.retain("b", observation.text, type="observation")
    assert len(result.stored) == 1


def test_what_is_said_later_is_linked_to_what_was_said_and_not_to_what_was_drawn() -> None:
    linked = []
    settings = Settings(consolidate=False, semantic_link_similarity=0.6)
    for consolidating in (True, False):
        with Hindsight.in_memory(settings=settings) as memory:
            for day, text in enumerate(SEAT_MAP):
                say(memory, text, day)
                if consolidating:
                    memory.consolidate("b")
            linked.append(memory.banks.stats("b").links)
    assert linked[0] == linked[1]
    assert linked[0][LinkKind.SEMANTIC] > 0
