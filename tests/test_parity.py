"""The same memories in SQLite and in Neo4j: every question has the same answer."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.speed.corpus import START, questions, sessions
from hindsight_integrations import Arm, Hindsight, Message, Settings
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.stores.base import GraphStore, Vector

from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

ARMS: tuple[Arm | None, ...] = (None, *Arm)
"""Each of them alone, and all together."""


@dataclass(frozen=True)
class Talk:
    """Messages by session, and questions with the moment they are asked."""

    sessions: dict[str, list[Message]]
    questions: list[tuple[str, datetime]]


def story() -> Talk:
    """The demo's."""
    told = load_story()
    return Talk(
        {
            name: [Message(m.speaker, m.text, m.time, m.id) for m in messages]
            for name, messages in told.sessions.items()
        },
        [(each.question, each.asked_at) for each in told.questions],
    )


def generated() -> Talk:
    """500 messages, which become 500 memories."""
    asked = questions(16) + questions(8, dated=True)
    return Talk(
        {session.id: session.messages for session in sessions(500)},
        [(question, START.replace(year=START.year + 1)) for question in asked],
    )


class Exact:
    """A vector index that looks at every vector.

    Chroma's is approximate: two of the same vectors may differ in the last of the 200 nearest,
    and here nothing may differ but the graph.
    """

    def __init__(self) -> None:
        self._spaces: defaultdict[str, dict[str, Vector]] = defaultdict(dict)

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._spaces[bank_key] |= dict(zip(ids, vectors, strict=True))

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        for id in ids:
            self._spaces[bank_key].pop(id, None)

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        return self.query_many(bank_key, vector[np.newaxis], limit)[0]

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        ids = sorted(held := self._spaces[bank_key])
        if not ids:
            return [[] for _ in vectors]
        cosines = vectors @ np.stack([held[id] for id in ids]).T
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :limit]
        return [
            [(ids[place], float(row[place])) for place in places]
            for row, places in zip(cosines, nearest, strict=True)
        ]

    def ids(self, bank_key: str) -> set[str]:
        return set(self._spaces[bank_key])

    def keys(self) -> set[str]:
        return set(self._spaces)

    def drop(self, bank_key: str) -> None:
        self._spaces.pop(bank_key, None)

    def close(self) -> None:
        """Nothing is held open."""


PATIENT = Settings(consolidate=False, recall_timeout=120, arm_timeout=60)
"""Longer than a busy machine takes to plan what it is asked for the first time."""


def answers(graph: GraphStore | None, talk: Talk) -> dict[tuple[str, str], object]:
    """Return what is stored, and what each arm finds for each question: ids in order, and text."""
    with Hindsight.in_memory(graph=graph, vectors=Exact(), settings=PATIENT) as memory:
        for name, messages in talk.sessions.items():
            memory.retain_messages("b", messages, session=name)
        given: dict[tuple[str, str], object] = {("", "stored"): memory.banks.stats("b")}
        for question, asked_at in talk.questions:
            for arm in ARMS:
                result = memory.recall("b", question, arms=arm and [arm], query_time=asked_at)
                ids = [item.id for item in (*result.memories, *result.left_out)]
                given[question, arm or "all"] = (ids, result.considered, result.text)
        return given


@pytest.fixture
def same_ids(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Restart the sequence of ids: equal scores are ordered by ids, which are random otherwise."""

    def restart() -> None:
        random = Random(11)
        monkeypatch.setattr(
            uuid, "uuid4", lambda: uuid.UUID(int=random.getrandbits(128), version=4)
        )

    return restart


@pytest.mark.slow
@pytest.mark.xdist_group("neo4j")
@pytest.mark.parametrize("telling", [story, generated])
def test_every_question_has_the_same_answer_in_either_graph(
    telling: Callable[[], Talk], same_ids: Callable[[], None], request: pytest.FixtureRequest
) -> None:
    talk = telling()
    same_ids()
    in_sqlite = answers(None, talk)
    address: Address = request.getfixturevalue("empty_neo4j")  # not kept from others before
    graph = address.graph()
    same_ids()
    in_neo4j = answers(graph, talk)
    graph.close()
    assert len(in_sqlite) == 1 + len(talk.questions) * len(ARMS)
    assert in_neo4j == in_sqlite
