"""Memories stored as given: all are checked before any is stored."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Barrier, Thread
from typing import Any

import pytest

from hindsight_integrations import (
    EmbeddingError,
    Hindsight,
    InvalidInputError,
    Memory,
    NotFoundError,
)


def _memories(*texts: str) -> list[Memory]:
    return [Memory(f"m{n}", "b", text) for n, text in enumerate(texts)]


def test_one_that_cannot_be_used_leaves_nothing_stored(memory: Hindsight) -> None:
    many = _memories(*(f"Fact {n}." for n in range(80)), " ")
    with pytest.raises(InvalidInputError, match=r"memories\[80\]: content is blank"):
        memory.retain_memories("b", many)
    with pytest.raises(InvalidInputError):
        memory.retain_memory("b", many[-1])
    with pytest.raises(NotFoundError):
        memory.banks.get("b")


def test_a_vector_that_cannot_be_used_leaves_nothing_stored(memory: Hindsight) -> None:
    many = _memories(*(f"Fact {n}." for n in range(80)))
    vectors: list[Any] = [None] * 79 + [[1.0, 2.0]]
    with pytest.raises(EmbeddingError):
        memory.retain_memories("b", many, vectors=vectors)
    assert memory.memories.list("b").items == []


def test_two_of_one_id_and_too_few_vectors_are_told_apart(memory: Hindsight) -> None:
    one = _memories("A.")[0]
    with pytest.raises(InvalidInputError, match=r"memories\[1\] has the id 'm0' of an earlier one"):
        memory.retain_memories("b", [one, one])
    with pytest.raises(InvalidInputError, match="vectors has 2 items for 1 memories"):
        memory.retain_memories("b", [one], vectors=[None, None])


def test_writers_of_one_id_replace_each_other(memory: Hindsight) -> None:
    memory.banks.create("b")
    barrier, failures = Barrier(4), list[BaseException]()

    def write(number: int) -> None:
        barrier.wait()
        try:
            memory.retain_memories("b", [Memory("m", "b", f"Version {number}.")])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)

    threads = [Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [m.id for m in memory.memories.list("b").items] == ["m"]


def test_ids_with_blanks_are_not_mixed_up_between_scopes(memory: Hindsight) -> None:
    said = datetime(2025, 1, 1, tzinfo=UTC)
    pairs = (("plan b", "finance"), ("c", "finance"), ("plan", "press"), ("b c", "press"))
    for id, scope in pairs:
        memory.retain_memory(
            "b", Memory(id, "b", f"The plan of {scope}: {id}.", mentioned_at=said, scope=scope)
        )
    for scope in ("press", "finance"):
        found = memory.recall("b", "What is the plan?", scope=scope, fill=True)
        assert {(r.memory.id, r.memory.scope) for r in found} == {p for p in pairs if p[1] == scope}
