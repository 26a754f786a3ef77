"""A memory can be given wherever its id is taken, in this process and to a service."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError

import pytest

from hindsight_integrations import (
    Hindsight,
    InvalidInputError,
    Memory,
    MemoryNotFoundError,
    Quotation,
    Settings,
)
from hindsight_integrations.models import utc_now

from .service.served import served


@pytest.fixture(params=["here", "service"])
def memory(request: pytest.FixtureRequest) -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as opened:
        opened.retain_many("garden", ["Ida planted six pear trees.", "Tom repaired the pump."])
        opened.retain("office", "The printer is out of ink.")
        if request.param == "here":
            yield opened
        else:
            with served(opened) as url, Hindsight(url) as client:
                yield client


def test_a_recalled_memory_is_corrected_withdrawn_and_read(memory: Hindsight) -> None:
    (trees,) = memory.recall("garden", "pear trees", min_score=0.3)
    corrected = memory.memories.update("garden", trees, text="Ida planted seven pear trees.")
    assert memory.memories.get("garden", trees).text == "Ida planted seven pear trees."
    assert trees.text == "Ida planted six pear trees."
    assert memory.memories.invalidate("garden", corrected).invalidated_at
    assert memory.memories.restore("garden", memory_id=trees.memory) == memory.memories.get(
        "garden", trees.id
    )
    assert len(memory.memories.history("garden", trees)) >= 3


def test_a_recalled_memory_cannot_be_changed_in_place(memory: Hindsight) -> None:
    trees = memory.recall("garden", "pear trees")[0]
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'text'"):
        trees.text = "Ida planted seven pear trees."  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(trees)) == trees


def test_memories_are_forgotten_one_or_several(memory: Hindsight) -> None:
    trees, pump = memory.memories.list("garden")
    assert memory.forget("garden", memory.recall("garden", "pear trees")[0]) == (trees.id,)
    assert memory.forget("garden", [pump], dry_run=True).memories == (pump,)
    for whole in (memory.recall("garden", "pump"), memory.memories.list("garden")):
        with pytest.raises(InvalidInputError, match="give the memories that are meant"):
            memory.forget("garden", whole)  # type: ignore[arg-type]
    assert memory.forget("garden", memory.memories.list("garden").items) == (pump.id,)
    with pytest.raises(MemoryNotFoundError, match=f"no memory '{trees.id}'"):
        memory.forget("garden", [trees.id, pump])


def test_observations_cite_memories_and_are_memories(memory: Hindsight) -> None:
    trees, pump = memory.memories.list("garden")
    quoted = Quotation(pump.id, "repaired the pump", utc_now())
    made = memory.observations.add("garden", "The garden is kept.", sources=[trees, quoted])
    assert set(made.sources) == {trees.id, pump.id}
    assert {each.quote for each in made.evidence} >= {"repaired the pump"}
    assert memory.forget("garden", made) == (made.id,)


def test_an_entity_is_split_by_memories(memory: Hindsight) -> None:
    (trees,) = memory.memories.list("garden", entity="Ida")
    assert memory.entities.split("garden", "Ida", "Ida Lund", [trees]).name == "Ida Lund"


def test_a_memory_of_another_bank_is_refused(memory: Hindsight) -> None:
    ink = memory.recall("office", "ink")[0]
    before = memory.memories.list("garden").items
    for refused in (
        lambda: memory.forget("garden", ink),
        lambda: memory.forget("garden", [*before, ink]),
        lambda: memory.memories.invalidate("garden", ink.memory),
    ):
        with pytest.raises(InvalidInputError, match="of bank 'office', but the bank given is 'ga"):
            refused()
    assert memory.memories.list("garden").items == before


@pytest.mark.parametrize("wrong", [17, None, ["m-1"], Memory, {"id": "m-1"}])
def test_what_is_no_memory_is_refused_with_what_may_be_given(
    memory: Hindsight, wrong: object
) -> None:
    with pytest.raises(InvalidInputError, match="give the id of a memory, or a memory itself"):
        memory.memories.get("garden", wrong)  # type: ignore[arg-type]
    if not isinstance(wrong, list):
        with pytest.raises(InvalidInputError, match=r"give (memories, or their ids|the id)"):
            memory.forget("garden", wrong)  # type: ignore[arg-type]


def test_what_has_an_id_is_refused_by_naming_it() -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("garden", "Ida planted six pear trees.")
        ida, garden = memory.entities.get("garden", "Ida"), memory.banks.get("garden")
        with pytest.raises(InvalidInputError, match=f"give its id, '{ida.id}'"):
            memory.entities.mentions("garden", ida)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="give its id, 'garden'"):
            memory.banks.stats(garden)  # type: ignore[arg-type]
