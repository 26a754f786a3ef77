"""Corrections to entities through the engine, and their effect on recall."""

from __future__ import annotations

import pytest

from hindsight_integrations import EntityNotFoundError, Hindsight, InvalidInputError, Message


def test_merged_names_are_one_entity(memory: Hindsight) -> None:
    memory.retain("b", "The contract went to Ferrybell Marine.")
    memory.retain("b", "Northlight Systems hired Ines.")
    merged = memory.entities.merge("b", "Northlight Systems", "Ferrybell Marine")
    assert "Northlight Systems" in merged.aliases
    assert memory.entities.get("b", "Northlight Systems").id == merged.id
    found = memory.recall("b", "Northlight Systems", arms=["entity"])
    assert {item.memory.text for item in found} == {
        "The contract went to Ferrybell Marine.",
        "Northlight Systems hired Ines.",
    }


def test_a_nurse_is_known_by_her_surname_too(memory: Hindsight) -> None:
    memory.retain("b", "Nurse Adjei is on duty.")
    (stored,) = memory.retain("b", "Adjei swapped shifts.").stored
    assert stored.entities == ("Nurse Adjei",)


@pytest.mark.parametrize(
    ("name", "other", "question"),
    [("राम", "रोम", "राम कहाँ है?"), ("ベン", "ペン", "ベン?"), ("กิต", "กุ้ต", "กิต ?")],
)
def test_names_that_differ_in_marks_are_two_entities(
    memory: Hindsight, name: str, other: str, question: str
) -> None:
    memory.retain("b", "He is a doctor in Delhi.", entities=[name])
    memory.retain("b", "The city has many churches.", entities=[other])
    assert memory.entities.get("b", name).id != memory.entities.get("b", other).id
    for found in (
        memory.recall("b", "Which?", entities=[name]),
        memory.recall("b", question, arms=["entity"]),
    ):
        assert [each.memory.text for each in found] == ["He is a doctor in Delhi."]


def test_a_split_gives_the_named_memories_to_the_new_entity(memory: Hindsight) -> None:
    first = memory.retain("b", "Daniel plays the cello.").ids[0]
    other = memory.retain("b", "Daniel runs the harbour office.").ids[0]
    memory.entities.split("b", "Daniel", "Daniel Reyes", [other])
    assert memory.memories.get("b", other).entities == ("Daniel Reyes",)
    assert memory.memories.get("b", first).entities == ("Daniel",)


def test_a_renamed_entity_is_found_by_both_names(memory: Hindsight) -> None:
    kept = memory.retain("b", "Tomek leads Project Heron.").ids[0]
    renamed = memory.entities.rename("b", "Tomek", "Tomek Wolski")
    assert renamed.name == "Tomek Wolski"
    assert "Tomek Wolski" in memory.memories.get("b", kept).entities
    assert memory.entities.alias("b", "Tomek", "Tom W.").id == renamed.id
    for name in ("Tomek", "tomek wolski", "Tom W."):
        assert memory.entities.get("b", name).id == renamed.id


def test_an_unknown_entity_is_named_with_what_comes_near(memory: Hindsight) -> None:
    memory.retain("b", "Zofia Lindqvist leads Project Heron.")
    with pytest.raises(EntityNotFoundError, match=r"Zofia Lindkvist.*did you mean.*Lindqvist"):
        memory.entities.get("b", "Zofia Lindkvist")


def test_an_entity_is_not_merged_with_itself(memory: Hindsight) -> None:
    memory.retain("b", "Tomek leads Project Heron.")
    with pytest.raises(InvalidInputError, match="already the same entity"):
        memory.entities.merge("b", "Tomek", "tomek")


def test_entities_are_listed_most_mentioned_first(memory: Hindsight) -> None:
    for text in ("Maya met Jonas.", "Maya met Tomek.", "Maya met Alice in Lagos."):
        memory.retain("b", text)
    page = memory.entities.list("b", limit=2)
    assert page.items[0].name == "Maya"
    assert page.items[0].mention_count == 3
    assert page.total == 5
    rest = memory.entities.list("b", limit=10, cursor=page.next_cursor)
    assert len(page.items) + len(rest.items) == page.total


def test_a_name_said_to_be_another_is_learnt(memory: Hindsight) -> None:
    memory.retain("b", "The contract went to Ferrybell Marine.")
    memory.retain("b", "Tideline Systems, formerly Ferrybell Marine, moved to Oslo.")
    assert memory.entities.get("b", "Tideline Systems") == memory.entities.get(
        "b", "Ferrybell Marine"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The mayor of Bonn is now Katja Dorn.",
        "My doctor in Porto is now Dr. Sousa.",
        "The wife of Karl goes by Ines.",
        "The son of Mrs. Klein goes by Jonas.",
        "The man who bought Nortek is now Omar Diaz.",
        "The CEO of my old firm, Nortek, is now Omar Diaz.",
        "The CEO of Halden and Nortek is now Omar Diaz.",
        "The street behind Aldi is known as Elm Row.",
        "The dog of Karl Otto, known as Rex, barks.",
        "Ben Orr (formerly Google) joined us as CTO.",
        "Ana Ruiz, formerly Acme, runs sales.",
        "Our goalkeeper Ben Orr is now Karl Otto.",
        "Die Chefin von Nortek heißt jetzt Ines Maas.",
    ],
)
def test_who_holds_an_office_or_had_an_employer_is_not_called_by_its_name(
    memory: Hindsight, text: str
) -> None:
    assert memory.retain("b", text).joined == ()


@pytest.mark.parametrize(
    ("text", "name", "entity"),
    [
        ("Our client Acme is now called Halden Optics.", "Halden Optics", "Acme"),
        ("My old firm, Nortek, is now Halden.", "Halden", "Nortek"),
        ("I heard that Nortek is now called Halden.", "Halden", "Nortek"),
        ("We moved in and Ferrybell is now called Brightwater.", "Brightwater", "Ferrybell"),
        ("I work at Meta (formerly Facebook).", "Meta", "Facebook"),
        ("Ana Ruiz is now Ana Berg.", "Ana Berg", "Ana Ruiz"),
        ("We had dinner with Ida Moe, known as Bee.", "Bee", "Ida Moe"),
        ("Karl's friend Jonathan Reed is known as Jono.", "Jono", "Jonathan Reed"),
        ("I met Karl Otto, everyone calls him Charlie.", "Charlie", "Karl Otto"),
    ],
)
def test_another_name_of_what_the_statement_is_of_is_learnt(
    memory: Hindsight, text: str, name: str, entity: str
) -> None:
    (joined,) = memory.retain("b", text).joined
    assert (joined.name, joined.entity) == (name, entity)


@pytest.mark.parametrize(
    ("known", "text", "meant"),
    [
        ("Ben Hall is our plumber.", "Ben, the neighbour's dog, bit the postman.", False),
        ("Ben Hall is our plumber.", "The storm named Ben hit the coast.", False),
        ("Bella Ross is my boss.", "Bella, our cat, is ill.", False),
        ("Max Weber joined us.", "My dog Max ate my shoe.", False),
        ("Charlotte Webb adopted a dog.", "Charlotte, North Carolina, is hot.", False),
        ("Amber Stone is a vet.", "The amber stone fell out of the ring.", False),
        ("Rose Marsh runs the shop.", "We walked by the rose marsh.", False),
        ("Olive Branch teaches.", "They held out an olive branch.", False),
        ("Hunter Green is our coach.", "I painted the hall hunter green.", False),
        ("Amber Stone is a vet.", "the amber stone fell out", False),
        ("Victoria Webb is a nurse.", "The pub on Victoria Lane is closed.", False),
        ("Ben Hall is our plumber.", "Ben, the plumber, came at nine.", True),
        ("Ben Hall is our plumber.", "Ben, the dog's owner, called.", True),
        ("Ben Hall is our plumber.", "Ben walked the dog.", True),
        ("Charlotte Webb adopted a dog.", "Charlotte, Ben and Ines came.", True),
        ("Charlotte Webb adopted a dog.", "Charlotte, my cousin, is hot.", True),
        ("Max Weber joined us.", "My friend Max ate my lunch.", True),
        ("Amber Stone is a vet.", "talked to amber stone about the cat", True),
        ("Ben Hall is our plumber.", "Lunch with ben hall tomorrow.", True),
    ],
)
def test_a_part_of_a_persons_name_is_that_person_unless_the_text_calls_it_otherwise(
    memory: Hindsight, known: str, text: str, meant: bool
) -> None:
    memory.retain("b", known)
    (stored,) = memory.retain("b", text).stored
    assert (" ".join(known.split()[:2]) in stored.entities) is meant


@pytest.mark.parametrize(
    ("text", "name", "joined"),
    [
        ("Peter Novak fixed the boiler. Peter, my nephew, watched him.", "Peter", False),
        ("David Ross is my landlord. My brother David is staying here.", "David", False),
        ("Calvin Klein has a sale. My cousin Calvin has a breakdown.", "Calvin", False),
        ("Ernst & Young audits us. Ernst is out.", "Ernst", False),
        ("Bruno chewed the remote. Bruno K. bought us a new one.", "Bruno", False),
        ("Ford recalls 2,000 cars. Mr Ford recalls nothing.", "Mr Ford", False),
        ("My brother David Ross is back. My brother David is staying here.", "David", True),
        ("Peter Novak fixed the boiler. Peter watched my nephew.", "Peter", True),
        ("Bruno K. bought a remote. Bruno likes it.", "Bruno", True),
        ("Mr Ford came at two. Ford was in a hurry.", "Ford", True),
    ],
)
def test_a_short_name_is_not_the_fuller_one_that_the_text_tells_apart(
    memory: Hindsight, text: str, name: str, joined: bool
) -> None:
    assert [one.name for one in memory.retain("b", text).joined] == [name] * joined


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Marta brought her dog, Oskar, who barked.", {"Marta": "person", "Oskar": "concept"}),
        ("I dreamed of a parrot called Vincent.", {"Vincent": "concept"}),
        ("Leo is our tabby. Leo is 4 and loves tuna.", {"Leo": "concept"}),
        ("Sadie and Max got married. Sadie is the goat.", {"Sadie": "concept", "Max": "person"}),
        ("Our dog Bella and our son Max slept.", {"Bella": "concept", "Max": "person"}),
        ("The dog Anna found is ill.", {"Anna": "person"}),
        ("Ben is a lion of a man.", {"Ben": "person"}),
        ("Tom is the dog's best friend.", {"Tom": "person"}),
        ("Anna & Tom came to dinner.", {"Anna": "person", "Tom": "person"}),
        ("Ernst & Young audits us.", {"Ernst & Young": "organization"}),
        ("Cllr Marsh opened it. Cllr Bello was ill.", {"Cllr Marsh": "person"}),
        ("Aunt Bea uses pork.", {"Aunt Bea": "person"}),
    ],
)
def test_what_a_sentence_calls_a_name_tells_its_kind(
    memory: Hindsight, text: str, kinds: dict[str, str]
) -> None:
    memory.retain("b", text)
    assert {name: memory.entities.get("b", name).kind for name in kinds} == kinds


def test_names_in_a_row_are_as_many_people(memory: Hindsight) -> None:
    text = "According to Wendy, Emil has left the choir. Emil says he has only taken a break."
    (stored,) = memory.retain("b", text).stored
    assert stored.entities == ("Wendy", "Emil")
    assert memory.retain("b", "Anna Berg is my cousin.").stored[0].entities == ("Anna Berg",)
    assert memory.entities.get("b", "Anna Berg").kind != "place"


@pytest.mark.parametrize(
    ("speaker", "reply", "spelling"),
    [
        ("Faheem", "Fahim, your oud is out of tune.", "Fahim"),
        ("Mohammed", "Muhhamed, you forgot the bread.", "Muhhamed"),
        ("Mohammed", "How are you, Mohamed?", "Mohamed"),
        ("Katerina", "Welcome back Catarina!", "Catarina"),
        ("Jon", "My boss John is away.", None),
        ("Jon", "I met Ola, John, and Bert.", None),
    ],
)
def test_a_hearer_who_is_addressed_by_another_spelling_is_one_person(
    memory: Hindsight, speaker: str, reply: str, spelling: str | None
) -> None:
    said = [Message(speaker, "I like fish."), Message("Salma", reply)]
    result = memory.retain_messages("b", said)
    aliases = memory.entities.get("b", speaker).aliases
    assert aliases == ((spelling,) if spelling else ())
    joined = [(one.name, one.entity, one.reason.split()[2]) for one in result.joined]
    assert joined == ([(spelling, speaker, "addresses")] if spelling else [])
