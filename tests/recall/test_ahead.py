"""What a recall reads before it knows the bank as it is now."""

from __future__ import annotations

import pytest

from hindsight_integrations import BankNotFoundError, Hindsight


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
