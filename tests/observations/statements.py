"""Statements of people in these tests, and the observations that are drawn from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hindsight_integrations import Hindsight, Memory, Message
from hindsight_integrations.conclusions import Observation
from hindsight_integrations.retain.enrichment import indexed_of, record_of
from hindsight_integrations.stores.base import RECORD, ChangeSet

START = datetime(2025, 1, 6, 9, tzinfo=UTC)
REACT = "I'll build the checkout in React, like the kiosk."
VUE = "I spent three nights moving the checkout to Vue, and it's live."

SEAT_MAP = [
    "I want to show the seat map on Thursday.",
    "More time for the seat map at least, says the quokka!",
    "I'll show the seat map with real boats this time.",
    "The seat map needs a legend.",
]


def say(memory: Hindsight, text: str, day: int = 0, speaker: str | None = "Inês") -> str:
    """Retain what somebody says so many days after the start; returns the memory's id."""
    said = START + timedelta(days=day)
    if speaker is None:
        return memory.retain("b", text, timestamp=said).ids[0]
    return memory.retain_messages("b", [Message(speaker, text, said)], session=str(day)).ids[0]


def store_drawn(memory: Hindsight, like: str, conclusion: Memory) -> None:
    """Store a conclusion as the engine's own, with the entities of the one it is like."""
    runtime, indexed = memory.runtime, indexed_of(conclusion)
    entities = runtime.graph.read("b", RECORD, [like])[like].entity_ids
    record = record_of(conclusion, indexed, runtime.encoder.encode([indexed])[0], entities)
    runtime.graph.apply(ChangeSet("b", memories=(record,)))
    runtime.flush()


def drawn(memory: Hindsight) -> list[Observation]:
    memory.consolidate("b")
    return list(memory.observations.list("b").items)


def only(memory: Hindsight) -> Observation:
    found = drawn(memory)
    assert len(found) == 1, [each.text for each in found]
    return found[0]
