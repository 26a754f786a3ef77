"""What a recall reads before it knows the bank as it is now."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_integrations import (
    Arm,
    BankNotFoundError,
    ChromaVectors,
    Hindsight,
    Recalled,
    StoreUnavailableError,
)

TOLD = (
    "repaired a boat in Lyon",
    "has 100% of the shares in a bakery",
    "plays the cello on Sundays",
    "went to a concert with Dana",
)


@pytest.mark.parametrize("entities", [(), ("Bruno",)])
def test_a_bank_that_was_made_again_is_searched_as_it_is(
    memory: Hindsight, entities: tuple[str, ...]
) -> None:
    memory.retain("b", "Bruno keeps bees in Porto.")
    assert memory.recall("b", "Where does Bruno keep bees?").memories
    memory.banks.delete("b")
    with pytest.raises(BankNotFoundError, match=r"banks\.create"):
        memory.recall("b", "Where does Bruno keep bees?")
    memory.retain("b", "Bruno keeps goats in Lyon.")
    found = memory.recall("b", "Where does Bruno keep goats?", entities=entities)
    (hit,) = found.memories
    assert hit.memory.text == "Bruno keeps goats in Lyon."
    assert {arm.arm for arm in hit.arms} >= {"semantic", "keyword"}
    assert found.failures == ()


def test_a_change_by_another_is_seen_at_once(memory: Hindsight) -> None:
    (id,) = memory.retain("b", "Bruno keeps bees in Porto.").ids
    assert memory.recall("b", "Where does Bruno keep bees?").text
    memory.memories.update("b", id, text="Bruno keeps bees in Lyon.")
    (hit,) = memory.recall("b", "Where does Bruno keep bees?").memories
    assert hit.memory.text == "Bruno keeps bees in Lyon."


class Gone:
    """A vector index that can be written, and answers no question."""

    def __init__(self) -> None:
        self._index = ChromaVectors.in_memory()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def query(self, *given: Any) -> Any:
        raise StoreUnavailableError("gone")


def test_a_small_bank_is_searched_without_the_index(memory: Hindsight) -> None:
    """With the ranks and scores that the arms have when they are asked for one by one."""
    told = [f"{name} {what}." for name in ("Ada", "Bo", "Cy") for what in TOLD]
    with Hindsight.in_memory(vectors=Gone()) as without:
        for each in (memory, without):
            each.retain_many("b", told)
        for question in ("Who repaired the boat in Lyon?", "100% of what?", "music"):
            memory.recall("b", question)  # from now on it is known to be small
            found, other = (each.recall("b", question) for each in (memory, without))
            assert found.failures == other.failures == ()
            assert found.text == other.text
            for arm in (Arm.SEMANTIC, Arm.KEYWORD):
                alone = memory.recall("b", question, arms=[arm], fill=True)
                scores = {hit.memory.text: _score(hit, arm) for hit in alone}
                assert scores or (arm, question) == (Arm.KEYWORD, "music")
                for hit in found:
                    assert _score(hit, arm) == scores.get(hit.memory.text)


def _score(hit: Recalled, arm: Arm) -> tuple[int, float, str] | None:
    return next(((a.rank, round(a.score, 4), a.reason) for a in hit.arms if a.arm is arm), None)
