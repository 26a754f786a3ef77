"""Banks: isolated, complete, and gone when deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.documents import Document

from hindsight_integrations import (
    BankExistsError,
    BankNotFoundError,
    Disposition,
    EmbedderMismatchError,
    Hindsight,
    InvalidInputError,
    Memory,
    MemoryNotFoundError,
    MemoryType,
    Message,
    RetainResult,
)
from tests.embedders import Letters


def test_a_bank_keeps_its_profile_over_a_restart(folder: Path) -> None:
    with Hindsight(folder) as memory:
        made = memory.banks.create(
            "alice",
            name="Alice",
            mission="Help Alice plan",
            background="Alice is a designer",
            disposition=Disposition(skepticism=5, literalism=1, empathy=4),
            directives=["Never guess dates", "Answer briefly"],
        )
    with Hindsight(folder) as memory:
        assert memory.banks.get("alice") == made
        assert memory.banks.list() == [made]


def test_update_changes_what_is_given_and_leaves_the_rest(memory: Hindsight) -> None:
    made = memory.banks.create("b", name="Old", mission="Stay")
    changed = memory.banks.update("b", name="New")
    assert changed == replace(made, name="New", updated_at=changed.updated_at)
    assert changed.updated_at >= made.updated_at
    assert memory.banks.get("b") == changed


def test_creating_a_bank_twice_is_refused(memory: Hindsight) -> None:
    memory.banks.create("b")
    with pytest.raises(BankExistsError, match="'b'"):
        memory.banks.create("b")


def test_a_missing_bank_is_named_and_no_other_is(memory: Hindsight) -> None:
    memory.banks.create("bob")  # of somebody else, for all that the caller may know
    for call in (memory.banks.get, memory.banks.delete, lambda bank: memory.recall(bank, "any")):
        with pytest.raises(BankNotFoundError, match=r"'gone'.*banks\.create") as missing:
            call("gone")
        assert "bob" not in str(missing.value)


def test_white_space_around_the_name_of_a_missing_bank_is_pointed_out(memory: Hindsight) -> None:
    with pytest.raises(BankNotFoundError, match="white space around it; give 'ann'") as missing:
        memory.recall(" ann ", "Where does Ann live?")
    assert "create" not in str(missing.value)  # which would be refused


NOTHING: dict[str, Callable[[Hindsight], RetainResult]] = {
    "no messages": lambda memory: memory.retain_messages("b", []),
    "blank messages": lambda memory: memory.retain_messages("b", [Message("Ann", " ")]),
    "a session of none": lambda memory: memory.retain_messages("b", [], session="monday"),
    "no items": lambda memory: memory.retain_many("b", []),
    "items that fail": lambda memory: memory.retain_many("b", ["", {"text": "x"}]),
    "no memories": lambda memory: memory.retain_memories("b", []),
}


@pytest.mark.parametrize("case", NOTHING)
def test_retaining_nothing_creates_no_bank(memory: Hindsight, case: str) -> None:
    result = NOTHING[case](memory)
    assert (result.bank_id, result.stored) == ("b", ())
    assert memory.banks.list() == []
    memory.banks.create("b")
    again = NOTHING[case](memory)
    assert (again.stored, again.skipped, len(again.failed)) == (
        (),
        result.skipped,
        len(result.failed),
    )
    assert memory.documents.list("b").total == 0


def test_replacing_a_conversation_by_nothing_empties_it(memory: Hindsight) -> None:
    memory.retain_messages("b", [Message("Ann", "I live in Oslo.")], session="monday")
    memory.retain_messages("b", [], session="monday", update_mode="replace")
    assert memory.memories.list("b").total == 0


def test_a_batch_for_a_bank_of_another_embedder_is_refused_before_its_items(
    folder: Path,
) -> None:
    with Hindsight(folder) as memory:
        memory.retain("b", "Ann lives in Oslo.")
    documents = [Document("Ann lives in Rome."), Document("Ann lives in Bonn.")]
    with (
        Hindsight(folder, embedder=Letters()) as other,
        pytest.raises(EmbedderMismatchError),
    ):
        other.retain_many("b", documents)


@pytest.mark.parametrize("trait", [0, 6, 2.5, True, "3", None])
def test_a_disposition_out_of_range_is_refused(trait: object) -> None:
    with pytest.raises(InvalidInputError, match=r"skepticism.*1 to 5"):
        Disposition(skepticism=trait)  # type: ignore[arg-type]


def test_nothing_crosses_banks(memory: Hindsight) -> None:
    memory.retain("alice", "Alice keeps bees in Tromsø.")
    memory.retain("bob", "Bob keeps bees in Lisbon.")
    assert [m.memory.bank_id for m in memory.recall("alice", "Who keeps bees?")] == ["alice"]
    both = memory.recall(["alice", "bob"], "Who keeps bees?")
    assert {m.memory.bank_id for m in both} == {"alice", "bob"}


def test_the_same_memory_id_lives_in_two_banks(memory: Hindsight) -> None:
    for bank in ("one", "two"):
        memory.retain_memory(bank, Memory("m1", bank, f"This is bank {bank}."))
    assert memory.memories.get("one", "m1").text == "This is bank one."
    memory.forget("one", "m1")
    assert memory.memories.get("two", "m1").text == "This is bank two."
    assert [m.id for m in memory.recall("two", "Which bank is this?")] == ["m1"]
    with pytest.raises(MemoryNotFoundError, match="m1"):
        memory.memories.get("one", "m1")


def test_a_deleted_bank_is_gone_from_both_stores_and_shows_nothing_when_made_again(
    folder: Path,
) -> None:
    with Hindsight(folder) as memory:
        memory.retain("b", "The cellar code is 4711.")
        memory.retain("other", "The attic code is 1174.")
        key = memory.runtime.bank("b").key
        memory.banks.delete("b")
        assert key not in memory.runtime.index.keys()  # noqa: SIM118 - a method, not a mapping
        memory.retain("b", "Nothing about codes here.")
        texts = [m.memory.text for m in memory.recall("b", "What is the cellar code?")]
        assert texts == ["Nothing about codes here."]
    with Hindsight(folder) as memory:
        assert memory.banks.stats("b").memories == 1
        assert memory.maintenance.doctor().findings == ()


def test_stats_count_what_the_bank_holds(memory: Hindsight) -> None:
    memory.retain("b", "Maya moved to Lagos in May 2024 because she found a job.", document_id="d")
    memory.retain("b", "I think tea is better than coffee.", type="opinion")
    stats = memory.banks.stats("b")
    assert stats.memories == 2
    assert stats.by_type[MemoryType.WORLD] == 1
    assert stats.by_type[MemoryType.OPINION] == 1
    assert stats.documents == 2
    assert stats.entities >= 2
    assert stats.pending_vectors == 0
