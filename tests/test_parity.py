"""The same memories in SQLite and in Neo4j: every question has the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from hindsight_integrations import Arm, Hindsight, Message, RecallResult, Settings
from hindsight_integrations.benchmark.corpus import START, questions, sessions
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.storage.chroma_vectors import ChromaVectors
from hindsight_integrations.storage.neo4j import Neo4jGraph

from .storage.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

GENERATED = 500


@dataclass(frozen=True)
class Talk:
    """Sessions of messages, and questions with the moment they are asked."""

    sessions: dict[str, list[Message]]
    questions: list[tuple[str, datetime]]


def story() -> Talk:
    told = load_story()
    return Talk(
        {
            name: [Message(m.speaker, m.text, m.time, m.id) for m in messages]
            for name, messages in told.sessions.items()
        },
        [(each.question, each.asked_at) for each in told.questions],
    )


def generated() -> Talk:
    asked = questions(24) + questions(12, dated=True)
    return Talk(
        {session.id: session.messages for session in sessions(GENERATED)},
        [(question, START.replace(year=START.year + 1)) for question in asked],
    )


TALKS = {"story": story, "generated": generated}


def retained(memory: Hindsight, talk: Talk) -> None:
    for name, messages in talk.sessions.items():
        memory.retain_messages("b", messages, session=name)


def on_neo4j(address: Address) -> Hindsight:
    return Hindsight(
        graph=Neo4jGraph(address.uri, **address.options()),
        vectors=ChromaVectors.in_memory(),
        settings=Settings(consolidate=False),
    )
