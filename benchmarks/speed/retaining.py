"""Speed of retaining, and the banks that recall is measured on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from benchmarks.speed.corpus import sessions
from benchmarks.speed.place import Place
from benchmarks.speed.prepared import prepare
from benchmarks.speed.timing import Latency, timed
from hindsight_integrations.client import Hindsight
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.models import Message

BANK = "bench"

REAL = 2000
"""Turns up to which a bank is retained; larger ones are written straight to the stores."""


@dataclass(frozen=True, slots=True)
class Retained:
    """Amounts that are retained to measure it.

    Attributes:
        turns: of generated conversation.
        sessions: of the demo's conversation; all, if None.
        singles: messages retained one at a time.
    """

    turns: int
    sessions: int | None
    singles: int


@dataclass(frozen=True, slots=True)
class RetainFigures:
    """Turns a second by what was retained and how, and one message at a time."""

    rates: dict[str, float]
    single: Latency


@dataclass(frozen=True, slots=True)
class FilledBank:
    """A bank of generated conversation: its stores, its turns, and whether it was prepared.

    `seconds` is the time it took to fill.
    """

    place: Place
    turns: int
    prepared: bool
    seconds: float


def measure_retain(place: Place, amount: Retained) -> RetainFigures:
    """Measure rates with the bundled models, after one message has loaded them."""
    story = [
        (name, [message.said for message in messages])
        for name, messages in islice(load_story().sessions.items(), amount.sessions)
    ]
    lines = [m.text for session in sessions(amount.turns, seed=3) for m in session.messages]
    alone = [m for session in sessions(amount.singles, seed=4) for m in session.messages]
    with place.open() as memory:
        memory.retain("warm up", "Ana moved to Porto in May 2021.")
        many = memory.retain_many("texts", lines)
        rates = {
            "the demo's conversation, by session": _rate(memory, "demo", story),
            "generated conversation, by session": _rate(memory, BANK, _generated(amount.turns)),
            "single texts, by `retain_many`": len(lines) / many.seconds,
        }
        single = timed(lambda m: memory.retain_messages("single", [m], session="s"), alone)
    return RetainFigures(rates, single)


def fill(place: Place, turns: int) -> FilledBank:
    """Fill a bank with generated conversation; see `prepared` on the large ones."""
    prepared = turns > REAL
    started = time.perf_counter()
    with place.open() as memory:
        if prepared:
            prepare(memory, BANK, turns)
        else:
            _rate(memory, BANK, _generated(turns))
    return FilledBank(place, turns, prepared, time.perf_counter() - started)


def _generated(turns: int) -> list[tuple[str, list[Message]]]:
    return [(session.id, session.messages) for session in sessions(turns)]


def _rate(memory: Hindsight, bank: str, given: Sequence[tuple[str, list[Message]]]) -> float:
    """Retain conversations; return the turns a second."""
    started = time.perf_counter()
    for session, messages in given:
        memory.retain_messages(bank, messages, session=session)
    return sum(len(messages) for _, messages in given) / (time.perf_counter() - started)
