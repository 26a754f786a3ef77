"""How fast memories are made: with the real models, and with mixed vectors for big banks."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hindsight_integrations.benchmark.corpus import Session, sessions
from hindsight_integrations.benchmark.encoder import MixingEncoder
from hindsight_integrations.benchmark.timing import Latency, timed
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.model import Message

BANK = "bench"

REAL = 2000
"""Up to how many turns a bank's vectors are made by the embedder."""

STOCK = 1500
"""Turns whose encodings the bigger banks' are mixed from."""


@dataclass(frozen=True, slots=True)
class RetainFigures:
    """Turns a second by what was retained and how, and one message at a time."""

    rates: dict[str, float]
    single: Latency


@dataclass(frozen=True, slots=True)
class Bank:
    """A bank that was filled: where, and at how many turns a second."""

    folder: Path
    turns: int
    rate: float
    real: bool


def measure_retain(turns: int) -> RetainFigures:
    """Rates with the bundled models, in a folder, after one message has loaded them."""
    story = [
        Session(name, tuple(Message(m.speaker, m.text, m.time, m.id) for m in messages))
        for name, messages in load_story().sessions.items()
    ]
    lines = [m.text for session in sessions(turns, seed=3) for m in session.messages]
    alone = [m for session in sessions(50, seed=4) for m in session.messages]
    with TemporaryDirectory(prefix="hindsight-bench-") as folder, Hindsight(folder) as memory:
        _warm_up(memory)
        many = memory.retain_many("texts", lines)
        rates = {
            "the demo's conversation, by session": _rate(memory, "demo", story),
            "generated conversation, by session": _rate(memory, BANK, sessions(turns)),
            "single texts, by `retain_many`": len(lines) / many.seconds,
        }
        single = timed(lambda m: memory.retain_messages("single", [m], session="s"), alone)
    return RetainFigures(rates, single)


def fill(folder: Path, turns: int) -> Bank:
    """A bank of generated conversation in a folder; see `encoder` on the vectors of big ones."""
    real = turns <= REAL
    with Hindsight(folder, embedder=None if real else mixing_encoder()) as memory:
        _warm_up(memory)
        return Bank(folder, turns, _rate(memory, BANK, sessions(turns)), real)


def mixing_encoder() -> MixingEncoder:
    """What makes the vectors of banks of more than `REAL` turns."""
    return MixingEncoder.of(texts(sessions(STOCK, seed=5)))


def texts(given: Iterable[Session]) -> list[str]:
    """What is said in some conversations, each turn with its speaker."""
    return [f"{m.speaker}: {m.text}" for session in given for m in session.messages]


def _warm_up(memory: Hindsight) -> None:
    memory.retain("warm up", "Ana moved to Porto in May 2021.")
    memory.banks.delete("warm up")


def _rate(memory: Hindsight, bank: str, given: Iterable[Session]) -> float:
    """Turns a second."""
    conversations = list(given)
    started = time.perf_counter()
    for session in conversations:
        memory.retain_messages(bank, session.messages, session=session.id)
    return sum(len(s.messages) for s in conversations) / (time.perf_counter() - started)
