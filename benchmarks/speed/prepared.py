"""Banks too big to retain while one waits, written straight to the stores.

Retaining 100,000 turns takes the better part of an hour, most of it in the models. What a recall
costs depends on how many memories, names, times, links and vectors there are and how they are
spread, not on what they mean. So these banks hold generated conversation with the names the
generator put there; vectors are mixed from those of real sentences, and the token vectors are
those of one of them; links are as many as retaining makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import islice

import numpy as np

from benchmarks.speed.corpus import Session, Turn, lines, sessions
from hindsight_integrations.client import Hindsight
from hindsight_integrations.models import (
    Bank,
    Chunk,
    Document,
    Entity,
    Link,
    LinkKind,
    Memory,
    Source,
    TimeSpan,
    as_datetime,
)
from hindsight_integrations.nlp.embeddings import Vectors
from hindsight_integrations.nlp.minilm import MemoryMiniLM, bundled
from hindsight_integrations.nlp.text_encoder import EncodedText, TextEncoder
from hindsight_integrations.retain.enrichment import indexed_of, record_of
from hindsight_integrations.retain.links import temporal_links
from hindsight_integrations.stores.base import ChangeSet, EmbedderIdentity, MemoryRecord

SEMANTIC_LINKS = 10
"""Semantic links a memory: as many as retaining makes of real conversation."""

DATED = 3
"""Every so many memories name a day."""

NOISE = 0.6
"""Length of the random part of a vector beside a mixture of unit length."""

STOCK = 300
"""Turns that are really encoded."""

_BATCH = 20
"""Sessions a transaction, some 400 memories."""


def prepare(memory: Hindsight, bank_id: str, turns: int) -> None:
    """Write a bank of so many turns to the stores of a memory."""
    writer = _Writer(bank_id, _stock())
    graph = memory.runtime.graph
    graph.create_bank(Bank(bank_id), EmbedderIdentity(MemoryMiniLM.id, MemoryMiniLM.dimension))
    written = sessions(turns)
    while batch := list(islice(written, _BATCH)):
        graph.apply(writer.changes(batch))
    memory.runtime.flush()


def mixed_vectors(count: int) -> Vectors:
    """The vectors of a prepared bank, in the order of its turns."""
    mixture = _Mixture(_stock())
    return np.stack([mixture.draw().vector for _ in range(count)])


@cache
def _stock() -> Sequence[EncodedText]:
    model = bundled()
    return TextEncoder(model, model).encode(lines(sessions(STOCK, seed=5)))


@dataclass(slots=True)
class _Mixture:
    """Endless encodings, the same from every start."""

    stock: Sequence[EncodedText]
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(6))

    def draw(self) -> EncodedText:
        one, other = (self.stock[i] for i in self.random.integers(len(self.stock), size=2))
        noise = self.random.standard_normal(MemoryMiniLM.dimension, np.float32)
        vector = _unit(one.vector + other.vector) + NOISE * _unit(noise)
        return EncodedText(_unit(vector), one.interaction)


def _unit(vector: Vectors) -> Vectors:
    unit: Vectors = vector / np.linalg.norm(vector)
    return unit


class _Writer:
    """Turns sessions into change sets, one after the other."""

    def __init__(self, bank_id: str, stock: Sequence[EncodedText]) -> None:
        self._bank_id = bank_id
        self._mixture = _Mixture(stock)
        self._entities: dict[str, str] = {}
        self._written: list[Memory] = []
        self._random = np.random.default_rng(7)

    def changes(self, batch: Sequence[Session]) -> ChangeSet:
        known = len(self._entities)
        first = len(self._written)
        records = [
            self._record(session, position, turn)
            for session in batch
            for position, turn in enumerate(session.turns)
        ]
        new = list(self._entities.items())[known:]
        return ChangeSet(
            bank_id=self._bank_id,
            documents=tuple(self._document(session) for session in batch),
            chunks=tuple(chunk for session in batch for chunk in _chunks(session)),
            entities=tuple(Entity(id, self._bank_id, name) for name, id in new),
            memories=tuple(records),
            links=tuple(self._links(first)),
        )

    def _document(self, session: Session) -> Document:
        start = as_datetime(session.messages[0].timestamp)
        return Document(session.id, self._bank_id, session.id, start, start)

    def _record(self, session: Session, position: int, turn: Turn) -> MemoryRecord:
        message, number = turn.message, len(self._written)
        said = as_datetime(message.timestamp)
        source = Source(session.id, f"{session.id}/{position}", position, said, message.id)
        memory = Memory(
            id=f"m-{number}",
            bank_id=self._bank_id,
            text=message.text,
            occurred=() if number % DATED else (TimeSpan.of_day(said - timedelta(days=1)),),
            mentioned_at=said,
            speaker=message.speaker,
            entities=turn.names,
            sources=(source,),
        )
        self._written.append(memory)
        entity_ids = [
            self._entities.setdefault(name, f"e-{len(self._entities)}") for name in turn.names
        ]
        return record_of(memory, indexed_of(memory), self._mixture.draw(), entity_ids)

    def _links(self, first: int) -> Iterator[Link]:
        """Link the memories from number `first` on to those before them."""
        moments = [(memory.id, memory.mentioned_at) for memory in self._written[first:]]
        before = [(memory.id, memory.mentioned_at) for memory in self._written[:first][-20:]]
        yield from temporal_links(moments, before)
        for number in range(max(first, 1), len(self._written)):
            earlier = np.unique(self._random.integers(number, size=SEMANTIC_LINKS))
            for other in earlier.tolist():
                yield Link(f"m-{number}", f"m-{other}", LinkKind.SEMANTIC, 0.75)


def _chunks(session: Session) -> Iterator[Chunk]:
    for position, message in enumerate(session.messages):
        id = f"{session.id}/{position}"
        yield Chunk(id, session.id, position, message.text, id)
