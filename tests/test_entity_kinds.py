"""The kind of an entity follows what all its memories tell of it, not only the first."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight, Message
from hindsight_integrations.stores.base import GraphStore

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]


def kind(memory: Hindsight, name: str) -> str:
    return memory.entities.get("b", name).kind


def retained(memory: Hindsight, *texts: str) -> None:
    for text in texts:
        memory.retain("b", text)


def test_a_later_mention_tells_the_kind(engine: Hindsight) -> None:
    retained(engine, "Zayd has a cold.")
    assert kind(engine, "Zayd") == "concept"
    retained(engine, "Zayd's wife is a nurse.")
    assert kind(engine, "Zayd") == "person"
    assert engine.entities.list("b").items[0].mention_count == 2


def test_mentions_that_disagree_leave_the_kind_open(engine: Hindsight) -> None:
    retained(engine, "Brix's wife is a nurse.")
    assert kind(engine, "Brix") == "person"
    retained(engine, "We had dinner at the Brix.")
    assert kind(engine, "Brix") == "concept"


def test_the_order_of_the_mentions_decides_nothing(memory: Hindsight) -> None:
    texts = ["Zayd has a cold.", "Zayd's wife is a nurse.", "We met at Zayd.", "Zayd's son is six."]
    for bank, order in (("one", texts), ("two", texts[::-1])):
        for text in order:
            memory.retain(bank, text)
        assert memory.entities.get(bank, "Zayd").kind == "person"


def test_who_speaks_is_a_person_whatever_the_name_is_said_of(engine: Hindsight) -> None:
    engine.retain_messages("b", [Message("Maya", "I moved to Porto."), Message("Ana", "Good.")])
    retained(engine, "My dog, Maya, is ill.", "My dog, Maya, ran away.")
    assert kind(engine, "Maya") == "person"
    assert kind(engine, "Ana") == "person"


def test_a_role_that_speaks_is_no_person(memory: Hindsight) -> None:
    memory.retain_messages("b", [Message("Assistant", "Hello, I am here."), Message("Ana", "Hi!")])
    retained(memory, "We met at the Assistant.", "The Assistant, a bar, is closed.")
    assert all(each.kind != "person" for each in memory.entities.list("b") if each.name != "Ana")


def test_one_mention_does_not_outvote_many(memory: Hindsight) -> None:
    retained(
        memory, *(f"Brix's {whose} moved out." for whose in ("wife", "son", "sister", "mother"))
    )
    retained(memory, "We had dinner at the Brix.")
    assert kind(memory, "Brix") == "person"


def test_a_corrected_text_tells_the_kind(memory: Hindsight) -> None:
    stored = memory.retain("b", "Zayd has a cold.").ids[0]
    memory.memories.update("b", stored, text="Zayd's wife has a cold.")
    assert kind(memory, "Zayd") == "person"


def test_a_name_given_with_a_text_gets_its_kind_from_the_text(memory: Hindsight) -> None:
    memory.retain("b", "Zayd's wife is a nurse.", entities=["Zayd"])
    assert kind(memory, "Zayd") == "person"
    memory.retain("b", "The parcel came.", entities=["Zayd"])
    assert kind(memory, "Zayd") == "person", "a name alone says nothing of a kind"


@pytest.mark.local
def test_memories_are_read_again_only_if_a_text_says_otherwise(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    retained(memory, "Ana's wife is a nurse.", "Zayd has a cold.", "I work at Bravita.")
    assert kind(memory, "Bravita") == "organization"
    graph: GraphStore = memory.runtime.graph
    read: list[str] = []
    postings = type(graph).postings

    def counted(self: GraphStore, bank_id: str, entity_ids: list[str], *rest: object) -> object:
        read.extend(entity_ids)
        return postings(self, bank_id, entity_ids, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(type(graph), "postings", counted)
    memory.retain("b", "Ana and Zayd are here.", entities=["Ana"])
    memory.retain("b", "We had lunch at Bravita.", entities=["Bravita"])
    assert read == []
    memory.retain("b", "Zayd's wife is here.")
    assert read == [memory.entities.get("b", "Zayd").id]


def test_of_new_names_any_mention_of_the_batch_tells_the_kind(memory: Hindsight) -> None:
    memory.retain_many("b", ["Zayd has a cold.", "Zayd's wife is a nurse."])
    assert kind(memory, "Zayd") == "person"


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("Juno", ["Juno brought in a mouse.", "Fed Juno and changed her litter."]),
        ("Juno", ["Took Juno to the vet."]),
        ("Gerald", ["Gerald failed his MOT.", "Parked Gerald by the barn."]),
        ("Gerald", ["Gerald conked out again."]),
        ("Minka", ["Frau Kessler's cat is called Minka.", "Minka is missing me, says Elif."]),
        ("Vogelsang", ["I wrote to Vogelsang, they make pumps.", "Vogelsang has answered."]),
        ("Vogelsang", ["Vogelsang are recalling the pumps.", "Rang Vogelsang for a part."]),
    ],
)
def test_animals_vehicles_and_makes_are_no_persons(
    memory: Hindsight, name: str, texts: list[str]
) -> None:
    retained(memory, *texts)
    assert kind(memory, name) != "person"


@pytest.mark.parametrize(
    "text",
    [
        "Gerald took his daughter to school and she cried.",
        "Juno's mother is a nurse.",
        "Juno took the dog to the vet. Juno's wife paid.",
        "Ask a Ms. Van Wyk.",
        "Anna needs new tyres.",
        "The vet said Anna could pick up the dog.",
        "A Tom called about the flat.",
        "Anna were there at noon.",
        "The photos from Jule Arens are in the folder.",
    ],
)
def test_people_with_the_same_names_stay_persons(memory: Hindsight, text: str) -> None:
    retained(memory, text)
    assert "person" in {entity.kind for entity in memory.entities.list("b").items}


def test_a_firm_that_acts_is_no_place(memory: Hindsight) -> None:
    retained(memory, "Back from Brightwater, good meeting, they want phase two.")
    assert kind(memory, "Brightwater") == "concept"
    retained(memory, "We moved to Wexcombe.", "The hotel in Wexcombe asked for samples.")
    assert kind(memory, "Wexcombe") == "place"


def test_what_notes_are_written_in_is_no_place(memory: Hindsight) -> None:
    retained(memory, "We now write release notes in Notion.")
    assert kind(memory, "Notion") == "concept"


def test_a_trade_ends_the_name_of_a_firm(memory: Hindsight) -> None:
    retained(memory, "Whitney Sawmill delivered the beams.", "Rang Hollins Joinery.")
    assert kind(memory, "Whitney Sawmill") == kind(memory, "Hollins Joinery") == "organization"
