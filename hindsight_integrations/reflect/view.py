"""Stored memories as the observations and opinions that a reader sees."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hindsight_integrations.conclusions import Observation, Opinion, moments, quotations
from hindsight_integrations.model import Change, Memory, ObservationKind
from hindsight_integrations.reflect.confidence import observation_confidence
from hindsight_integrations.reflect.opinions import UNDECIDED
from hindsight_integrations.reflect.trend import trend


def observation(memory: Memory, history: Sequence[Change], now: datetime) -> Observation:
    """A memory of type observation, also one that somebody retained as such."""
    times = moments(memory)
    confidence = memory.confidence
    return Observation(
        id=memory.id,
        bank_id=memory.bank_id,
        text=memory.text,
        kind=kind(memory),
        confidence=observation_confidence(memory.proof_count) if confidence is None else confidence,
        evidence=quotations(memory),
        proof_count=memory.proof_count,
        first_seen=times[0],
        last_seen=times[-1],
        trend=trend(times, now),
        reasoning=memory.reasoning or "",
        tags=memory.tags,
        history=tuple(history),
    )


def opinion(memory: Memory, history: Sequence[Change], now: datetime) -> Opinion:
    """A memory of type opinion, also one that somebody retained as such."""
    times = moments(memory)
    return Opinion(
        id=memory.id,
        bank_id=memory.bank_id,
        topic=memory.context or "",
        text=memory.text,
        confidence=UNDECIDED if memory.confidence is None else memory.confidence,
        evidence=quotations(memory),
        proof_count=memory.proof_count,
        first_seen=times[0],
        last_seen=times[-1],
        trend=trend(times, now),
        reasoning=memory.reasoning or "",
        history=tuple(history),
    )


def kind(memory: Memory) -> ObservationKind:
    """Its kind; a generalization, where nobody said which of those there are."""
    known = {each.value: each for each in ObservationKind}
    return known.get(memory.kind or "", ObservationKind.GENERALIZATION)
