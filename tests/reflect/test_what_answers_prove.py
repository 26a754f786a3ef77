"""Answers without a language model: none that the sentence quoted does not prove."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message, Settings

SAID = datetime(2025, 5, 14, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory() -> Hindsight:
    return Hindsight.in_memory(settings=Settings(consolidate=False))


def answer(memory: Hindsight, told: str | list[str], question: str, speaker: str = "") -> str:
    """Return the answer to a question from what was told, a day apart; empty if there is none."""
    texts = [told] if isinstance(told, str) else told
    bank = f"b{abs(hash((tuple(texts), question)))}"
    for day, text in enumerate(texts):
        at = SAID + timedelta(days=day)
        if speaker:
            memory.retain_messages(bank, [Message(speaker, text, timestamp=at)])
        else:
            memory.retain(bank, text, timestamp=at)
    found = memory.reflect(bank, question, query_time=SAID + timedelta(days=len(texts)))
    return found.text if found else ""


@pytest.mark.parametrize(
    ("told", "question", "known"),
    [
        ("Mr Hall takes warfarin.", "Does Mrs Hall take warfarin?", False),
        ("Mr Hall takes warfarin.", "Does Mr. Hall take warfarin?", True),
        ("Mr Hall takes warfarin.", "Does Dr Hall take warfarin?", True),
        ("Mr Hall takes warfarin.", "Does Hall take warfarin?", True),
        ("Mrs Hall lives in Bonn.", "Where does Mr Hall live?", False),
        ("Aunt Rosa lives in Vigo.", "Where does Uncle Rosa live?", False),
        ("Aunt Rosa lives in Vigo.", "Where does Rosa live?", True),
        ("Mr Hall retired in 2020. He lives in Bonn.", "Where does Mrs Hall live?", False),
        ("Mr and Mrs Hall moved in 2019.", "When did Mr Hall move?", True),
        ("Captain Hall owns two horses.", "How many horses does Judge Hall own?", False),
        ("Karl Hall lives in Bonn.", "Where does Mrs Hall live?", False),
        ("Karla Hall lives in Bonn.", "Where does Mrs Hall live?", True),
    ],
)
def test_titles_tell_people_apart(memory: Hindsight, told: str, question: str, known: bool) -> None:
    assert bool(answer(memory, told, question)) is known


def test_a_speaker_with_another_title_is_another_person(memory: Hindsight) -> None:
    assert not answer(memory, "I live in Bonn.", "Where does Mrs Hall live?", "Mr Hall")
    assert answer(memory, "I live in Bonn.", "Where does Mr Hall live?", "Mr Hall")


@pytest.mark.parametrize(
    ("told", "question", "lead"),
    [
        # "from" denies only with a verb of leaving
        ("Tim suffers from asthma.", "Does Tim suffer from asthma?", "Yes: "),
        ("Ana comes from Porto.", "Does Ana come from Porto?", "Yes: "),
        ("Karl bought the car from Ida.", "Did Karl buy the car from Ida?", "Yes: "),
        ("Karl bought the car from Ida.", "Did Karl buy the car for Ida?", ""),
        ("Mia flew from Rome.", "Did Mia fly to Rome?", ""),
        ("Dana moved from Porto to Faro.", "Did Dana move from Porto to Faro?", "Yes: "),
        ("Dana moved from Porto to Faro.", "Did Dana move from Faro to Porto?", "No: "),
        ("Dana moved from Porto to Faro.", "Does Dana live in Porto?", "No: "),
        ("Dana moved from Porto to Faro.", "Does Dana live in Faro?", "Yes: "),
        # tense
        ("Mia pays next week.", "Has Mia paid?", ""),
        ("Mia is buying the house next year.", "Did Mia buy the house?", ""),
        ("Ben arrives tomorrow.", "Has Ben arrived?", ""),
        ("The road was closed.", "Is the road closed?", ""),
        ("The road was closed.", "Was the road closed?", "Yes: "),
        ("The road is closed.", "Was the road closed?", ""),
        ("Ben had paid.", "Does Ben pay?", ""),
        ("Ana has lived in Rome.", "Does Ana live in Rome?", ""),
        ("Ana has lived in Rome since 2010.", "Does Ana live in Rome?", "Yes: "),
        ("Mia has paid the bill.", "Did Mia pay the bill?", "Yes: "),
        ("Ben paid.", "Has Ben paid?", "Yes: "),
        ("The server has been migrated.", "Is the server migrated?", "Yes: "),
        # parts and pictures of a thing
        ("Mia sold her share of the flat.", "Did Mia sell the flat?", ""),
        ("Mia sold the flat.", "Did Mia sell the flat?", "Yes: "),
        ("Ben paid half of the bill.", "Did Ben pay the bill?", ""),
        ("Ben paid half the bill.", "Did Ben pay the bill?", ""),
        ("Kim bought a picture of a boat.", "Did Kim buy a boat?", ""),
        ("Kim bought a ticket for the boat.", "Did Kim buy the boat?", ""),
        ("Ida missed one day of the trip.", "Did Ida miss the trip?", ""),
        ("Kim repaired the boat in the yard.", "Did Kim repair the boat?", "Yes: "),
        ("Kim sold the flat and the car.", "Did Kim sell the car?", "Yes: "),
        # occasions, kinds and companions
        ("Tim doesn't drive at night.", "Does Tim drive?", ""),
        ("Tim doesn't drive at night.", "Does Tim drive at night?", "No: "),
        ("Tim can't swim in the sea.", "Can Tim swim?", ""),
        ("Kim doesn't own the shop alone.", "Does Kim own the shop?", ""),
        ("Mia didn't buy a red car.", "Did Mia buy a car?", ""),
        ("Mia bought a red car.", "Did Mia buy a car?", "Yes: "),
        ("Mia sold the red car.", "Did Mia sell the car?", ""),
        ("The museum is closed on Mondays.", "Is the museum closed?", ""),
        ("The museum is closed today.", "Is the museum closed?", "Yes: "),
        ("Felix plays chess with Omar.", "Does Felix play chess?", "Yes: "),
        ("Ana works at Bosch in Ulm.", "Does Ana work at Bosch?", "Yes: "),
        ("Mia sold the car to Tom on Friday.", "Did Mia sell the car?", "Yes: "),
    ],
)
def test_yes_and_no_are_only_said_of_what_is_proven(
    memory: Hindsight, told: str, question: str, lead: str
) -> None:
    assert answer(memory, told, question).startswith(f"{lead}“{told}”")


@pytest.mark.parametrize(
    ("told", "question", "lead"),
    [
        ("I was able to afford it before.", "Am I able to afford it?", ""),
        ("I don't eat meat at lunch.", "Do I eat meat?", ""),
        ("I don't eat meat.", "Do I eat meat?", "No: "),
        ("I hate cold coffee.", "Do I like coffee?", ""),
        ("I hate Tom's dog.", "Do I like dogs?", ""),
        ("I love dogs.", "Do I like dogs?", "Yes: "),
        ("I've read two of the twelve books.", "How many books have I read?", "two: "),
        ("We sold 3 of the 10 lamps.", "How many lamps did we sell?", "3: "),
        ("We sold ten lamps.", "How many lamps did we sell?", "ten: "),
    ],
)
def test_a_speaker_is_held_to_what_was_said(
    memory: Hindsight, told: str, question: str, lead: str
) -> None:
    assert answer(memory, told, question, "ann").startswith(f"{lead}ann: “{told}”")


@pytest.mark.parametrize(
    ("told", "question", "known"),
    [
        ("Mia wrote a review of the book.", "Who wrote the book?", False),
        ("Mia wrote a book review.", "Who wrote the book?", False),
        ("Mia wrote a review of the book.", "Who wrote a review of the book?", True),
        ("Mia sold her share of the flat.", "Who sold the flat?", False),
        ("We sold most of the 10 lamps.", "How many lamps did we sell?", False),
        ("Kai was fired by Lou after Mia complained.", "Who fired Mia?", False),
        ("Kai was fired by Lou after Mia complained.", "Who fired Kai?", True),
        ("Kai gave Lou the map that Mia drew.", "Who gave Mia the map?", False),
        ("Kai gave Lou the map that Mia drew.", "Who gave Lou the map?", True),
        ("Kai gave Lou the map that Mia drew.", "Who drew the map?", True),
        ("Lou hired Kai when Mia left the firm.", "Who hired Mia?", False),
        ("Lou hired Kai when Mia left the firm.", "Who left the firm?", True),
        ("Pat earns less than Lena.", "Who earns more than Lena?", False),
        ("Pat earns more than Lena.", "Who earns more than Lena?", True),
        ("Felix no longer plays chess with Irina.", "Who plays chess with Irina?", False),
        ("Felix stopped playing chess with Irina.", "Who does Felix play chess with?", False),
        ("Kim washed and dried the cups.", "Who washed the cups?", True),
        ("The crane broke, and Hamid repaired it.", "Who repaired the crane?", True),
        ("Risk: the venue burned down.", "What is the venue?", False),
        ("Reminder: Kai lost the wifi password.", "What is the wifi password?", False),
        ("Wifi password: hunter2.", "What is the wifi password?", True),
        ("Note: the venue is the Town Hall.", "What is the venue?", True),
    ],
)
def test_roles_are_those_of_the_question(
    memory: Hindsight, told: str, question: str, known: bool
) -> None:
    assert bool(answer(memory, told, question)) is known


@pytest.mark.parametrize(
    ("told", "question", "known"),
    [
        ("Theo told us about his brother. He lives in Osaka.", "Where does Theo live?", False),
        ("Theo told us about his sister. He lives in Osaka.", "Where does Theo live?", True),
        ("Theo told us about his sister. She lives in Osaka.", "Where does Theo live?", False),
        ("Theo moved in May. He lives in Osaka.", "Where does Theo live?", True),
        ("Theo called his brother and he lives in Osaka.", "Where does Theo live?", False),
        ("Theo sold the car because she moved to Osaka.", "Where does Theo live?", False),
        ("Theo sold the car because he moved to Osaka.", "Where does Theo live?", True),
        ("Ana called the plumber. She lives in Osaka.", "Where does Ana live?", False),
        ("Ana is a nurse. She lives in Osaka.", "Where does Ana live?", True),
        ("Ana works as a nurse in Bonn. She owns two cats.", "How many cats does Ana own?", True),
        ("Ana visited Omar. He lives in Osaka.", "Where does Ana live?", False),
        ("Ana visited Omar. She lives in Osaka.", "Where does Ana live?", True),
    ],
)
def test_he_and_she_are_only_whom_they_can_be(
    memory: Hindsight, told: str, question: str, known: bool
) -> None:
    assert bool(answer(memory, told, question)) is known


@pytest.mark.parametrize(
    ("told", "later", "question"),
    [
        ("I take warfarin.", "Dr Hale took me off warfarin.", "Do I take warfarin?"),
        ("I take warfarin.", "Dr Hale took me off it.", "Do I take warfarin?"),
        ("I work at Siemens.", "I got fired today.", "Do I work at Siemens?"),
        ("I work at Siemens.", "I got fired today.", "Where do I work?"),
        ("I have a dog, Rex.", "Rex died.", "Do I have a dog?"),
        ("I drive a Skoda.", "The car was written off.", "Do I drive a Skoda?"),
        ("I am engaged to Tom.", "We broke up.", "Am I engaged?"),
        ("I am the CFO.", "I resigned.", "Am I the CFO?"),
        ("The launch is on 3 June.", "The launch was cancelled on 1 June.", "When is the launch?"),
        ("I own two horses.", "I sold one of the horses.", "How many horses do I own?"),
    ],
)
def test_what_may_have_ended_is_quoted_with_what_hints_at_it(
    memory: Hindsight, told: str, later: str, question: str
) -> None:
    found = answer(memory, [told, later], question, "ann")
    assert found.startswith("- ")
    assert f"“{told}”" in found
    assert f"- ann: “{later}”" in found


@pytest.mark.parametrize(
    ("told", "besides", "question"),
    [
        (
            "I have about forty succulents.",
            "How do I get rid of gnats, the whole windowsill is full of them.",
            "How many succulents do I have?",
        ),
        (
            "I'm learning the cello.",
            "I give up on the printer.",
            "What instrument am I learning?",
        ),
        (
            "The kids adore dinosaurs.",
            "My kids and I drew another boat like the last one.",
            "What do my kids like?",
        ),
    ],
    ids=["get rid", "give up", "like"],
)
def test_what_speaks_of_another_matter_is_not_quoted_beside_the_answer(
    memory: Hindsight, told: str, besides: str, question: str
) -> None:
    assert answer(memory, [told, besides], question, "ann").startswith(f"ann: “{told}”")


@pytest.mark.parametrize(
    ("told", "later", "question", "lead"),
    [
        ("I take warfarin.", "I sold my bike.", "Do I take warfarin?", "Yes: "),
        ("I work at Siemens.", "I cancelled my gym pass.", "Do I work at Siemens?", "Yes: "),
        ("I own two horses.", "I lost my keys.", "How many horses do I own?", "two: "),
        ("I work at Bosch in Ulm.", "The theatre in Ulm closed.", "Do I work at Bosch?", "Yes: "),
        ("I play chess with Omar.", "I no longer play chess with Ira.", "Who do I play with?", ""),
        ("I play the harp.", "The meeting ended early.", "Do I play the harp?", "Yes: "),
    ],
)
def test_the_end_of_another_thing_is_no_hint(
    memory: Hindsight, told: str, later: str, question: str, lead: str
) -> None:
    assert answer(memory, [told, later], question, "ann").startswith(f"{lead}ann: “{told}”")
