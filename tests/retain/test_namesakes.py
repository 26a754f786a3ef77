"""Another bearer of a known name is not taken for the known one."""

from __future__ import annotations

import re

import pytest

from hindsight_integrations import Hindsight, Message
from hindsight_integrations.retain.namesakes import introduces_another


def of_another(text: str, name: str = "Sam") -> bool:
    start = text.index(name)
    return introduces_another(text, start, start + len(name))


@pytest.mark.parametrize(
    "text",
    [
        "Another Sam joined the team.",
        "The other Sam called, the one from the gym.",
        "Met a different Sam at the pub.",
        "We caught a crab called Sam.",
        "A man named Sam knocked at the door.",
        "Some guy called Sam rang.",
        "A guy called Sam from the record shop emailed.",
        "A boy in his class is also called Sam.",
        "Their boy is called Sam as well.",
        "We named the boat Sam.",
        "They called the new baby Sam.",
        "The boat is called Sam.",
        "The Sam from next door broke a window.",
        "It was not our Sam.",
        "My cousin Sam (not the plumber) is getting married.",
        "Sam, not the plumber, is getting married.",
        "Sam, no relation, wrote to us.",
    ],
)
def test_a_text_tells_of_another_bearer(text: str) -> None:
    assert of_another(text)


@pytest.mark.parametrize(
    "text",
    [
        "Sam joined another team.",
        "My cousin Sam is getting married.",
        "He is called Sam by everyone.",
        "Our payroll lead, called Sam by everyone, is on leave.",
        "A customer called Sam about the bill.",
        "A friend called Sam yesterday.",
        "I called the plumber and Sam.",
        "I called my brother about Sam.",
        "My brother is called Sam.",
        "Call Sam as well.",
        "The boat that Sam bought leaks.",
        "I asked Sam, not Tom.",
        "Invite Sam, not the neighbours.",
        "On the other hand, Sam was right.",
        "I told the other team Sam was ill.",
    ],
)
def test_a_text_tells_of_the_one_that_is_known(text: str) -> None:
    assert not of_another(text)


@pytest.mark.parametrize("known", ["Sam runs payroll.", "Sam Okoye runs payroll."])
def test_another_bearer_does_not_join_the_known_one(memory: Hindsight, known: str) -> None:
    (first,) = memory.retain("b", known).stored
    for text in (
        "We caught a crab called Sam.",
        "Another Sam joined today.",
        "The other Sam left.",
    ):
        (stored,) = memory.retain("b", text).stored
        assert stored.entities == ()
    (entity,) = memory.entities.list("b").items
    assert (entity.name, entity.aliases, entity.mention_count) == (first.entities[0], (), 1)
    (stored,) = memory.retain("b", "Sam is on leave.").stored
    assert stored.entities == first.entities, "the plain case still joins"


def test_a_name_that_the_bank_does_not_know_is_an_entity_however_it_comes(
    memory: Hindsight,
) -> None:
    (stored,) = memory.retain("b", "A woman named Odalys bought the boat.").stored
    assert stored.entities == ("Odalys",)
    (stored,) = memory.retain("b", "Had another Guinness.").stored
    (again,) = memory.retain("b", "Had yet another Guinness.").stored
    assert stored.entities == again.entities == ("Guinness",), "only people are told apart"


def test_the_speaker_and_names_that_the_caller_gives_stay(memory: Hindsight) -> None:
    memory.retain("b", "Sam runs payroll.")
    (stored,) = memory.retain("b", "Another Sam joined today.", entities=["Sam"]).stored
    assert stored.entities == ("Sam",)
    (stored,) = memory.retain_messages("b", [Message("Sam", "Another Sam joined.")]).stored
    assert stored.entities == ("Sam",)


@pytest.mark.parametrize(
    "text",
    [
        "a " + "a-a " * 50_000 + "Sam" + ", not the" + " x" * 50_000,
        "A guy called Sam about it " * 8_000,
        "- " * 100_000 + "Sam",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_text_takes_no_time(text: str) -> None:
    told = [introduces_another(text, *name.span()) for name in re.finditer("Sam", text)]
    assert not told[0]
