"""Statements that are somebody else's, are not meant, or say nothing together: none is told of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations.models import Bank, Memory, ObservationKind
from hindsight_integrations.reflect.changes.contradictions import dated_statements
from hindsight_integrations.reflect.dependencies import Cluster
from hindsight_integrations.reflect.observation_text import compose
from hindsight_integrations.reflect.rules import RuleConsolidator, kind_of
from hindsight_integrations.reflect.stance import judgement
from hindsight_integrations.reflect.topics import DatedStatement, statements

NOW = datetime(2025, 3, 3, 9, tzinfo=UTC)
GENERAL = ObservationKind.GENERALIZATION


def keys(text: str, *names: str) -> set[str]:
    """Return the keys of the topics of a text."""
    return {key for each in statements(text, names, "Ebo") for key in each.topics}


def drawn(*said: str, speaker: str | None = "Ebo", names: tuple[str, ...] = ()) -> list[str]:
    """Return the texts of what is drawn from statements of different days."""
    memories = tuple(
        Memory(
            f"{day}",
            "b",
            text,
            mentioned_at=NOW + timedelta(days=day),
            speaker=speaker,
            entities=tuple(name for name in names if name in text),
        )
        for day, text in enumerate(said)
    )
    cluster = Cluster(
        bank=Bank("b"),
        subject="it",
        memories=memories,
        new=frozenset(memory.id for memory in memories),
        conclusions=(),
        vectors={},
        speakers=frozenset({speaker} if speaker else ()),
        ambiguous=frozenset(),
    )
    return [draft.text for draft in RuleConsolidator().propose(cluster).drafts]


@pytest.mark.parametrize(
    "text",
    [
        "The leaflet claims the sauna is spotless.",
        "The sauna is heaven, said no guest ever.",
        "I adore the sauna, said the caretaker.",
        "Ruta thinks the sauna is spotless.",
        "According to the leaflet, the sauna is spotless.",
        "The sauna is as hot as a fridge.",
        "The guests of the sauna are noisy.",
        "The sauna's neighbours are awful.",
        "I hid behind the sauna's door.",
        "The foreman says the sauna is finished. I'll believe it when I see it.",
        "We have rented the sauna for good. So much for that.",
        "We have rented the sauna for good. Just kidding.",
    ],
)
def test_a_report_a_jest_and_what_is_of_a_thing_are_not_on_the_thing(text: str) -> None:
    assert ">sauna" not in keys(text)


@pytest.mark.parametrize(
    "text",
    [
        "The sauna is spotless.",
        "I say the sauna is spotless.",
        "I cleaned the sauna on Sunday.",
        "Ruta says she cleaned the sauna.",
        "Ruta cleaned the sauna and said the boiler hums.",
        "The sauna is as old as our house.",
        "The sauna is finished. It took nine weeks.",
    ],
)
def test_what_is_said_of_a_thing_itself_is_on_it(text: str) -> None:
    assert ">sauna" in keys(text)


def test_an_adjective_tells_two_things_of_one_name_apart() -> None:
    assert keys("The big kiln broke.") != keys("The used kiln arrived.")
    assert keys("The big kiln broke.") == keys("I sharpened the big kiln.")
    assert drawn("The big kiln broke.", "The old kiln came back.", "I oiled the green kiln.") == []


def test_a_place_where_others_are_is_nothing_to_tell() -> None:
    names = ("Kiruna", "Pertti", "Aino")
    assert drawn("Pertti sings in Kiruna.", "Aino is stuck in Kiruna.", names=names) == []
    assert drawn("He sings in Kiruna.", "He owns a kiosk in Kiruna.", speaker=None) == []
    (mine,) = drawn("I sang in Kiruna.", "I bought a kiosk in Kiruna.", names=names)
    assert mine.startswith("Ebo on Kiruna: ")
    (same,) = drawn("Pertti lives in Kiruna.", "Aino still lives in Kiruna.", names=names)
    assert same.startswith("Ebo on Kiruna: ")
    (itself,) = drawn("Kiruna has a new station.", "Kiruna was dark all day.", names=names)
    assert itself.startswith("Ebo on Kiruna: ")


def test_what_somebody_calls_theirs_is_named_after_them() -> None:
    said = ("My loom is slow.", "I have oiled my loom.")
    (told,) = drawn(*said)
    assert told.startswith("Ebo's loom: ")
    (told,) = drawn(*said, speaker="user")
    assert told.startswith("The user's loom: ")
    (told,) = drawn(*said, speaker=None)
    assert told.startswith("The writer's loom: ")
    (told,) = drawn("Our loom is slow.", "I have oiled our loom.")
    assert told.startswith("Ebo on their loom: ")


def test_a_role_is_worded_as_one() -> None:
    names = ("Saab",)
    (told,) = drawn("User drives a Saab.", "User washed the Saab twice.", speaker=None, names=names)
    assert told.startswith("On the user and Saab: ")


def evidence(*said: str) -> list[DatedStatement]:
    made = [
        Memory(f"{day}", "b", text, mentioned_at=NOW + timedelta(days=day))
        for day, text in enumerate(said)
    ]
    return [one for memory in made for one in dated_statements(memory)]


def test_reasons_name_the_writer_too() -> None:
    composed = compose(evidence("My loom is slow.", "I have oiled my loom."), {})
    assert "speak of the writer's loom" in composed.reasoning


@pytest.mark.parametrize(
    ("quotes", "kind"),
    [
        (["He's afraid of the office.", "The office has approved it."], GENERAL),
        (["The canoe is dangerously good.", "Nothing beats the canoe, it is dangerously fast."],
         GENERAL),
        (["The relay never fails.", "The relay never crashes."], GENERAL),
        (["The critics hate the tent.", "The critics loved the tent."], GENERAL),
        (["Ana loves the tent.", "Bo hates the tent."], GENERAL),
        (["Ana loves the tent.", "Ana prefers the tent."], ObservationKind.PREFERENCE),
        (["I love the tent.", "I hate the tent.", "It is blue."], ObservationKind.PREFERENCE),
        (["The relay failed.", "The relay crashed.", "It is old."], ObservationKind.RISK),
    ],
)  # fmt: skip
def test_a_kind_is_what_most_quotes_show_of_the_one_who_says_so(
    quotes: list[str], kind: ObservationKind
) -> None:
    assert kind_of(quotes, [NOW] * len(quotes)) is kind


def test_three_mentions_are_no_pattern() -> None:
    days = [NOW + timedelta(days=n) for n in range(3)]
    mentions = ["The van has a clutch.", "We sold the van.", "Olaf found the van."]
    assert kind_of(mentions, days, topic_terms=frozenset({"van"})) is GENERAL
    people = ["Olaf and Ida were in the van.", "Ida sold the van.", "The van is red."]
    assert kind_of(people, days, topic_terms=frozenset({"van"})) is GENERAL
    often = ["The van stalled.", "The van stalled at noon.", "Then the van stalled."]
    assert kind_of(often, days, topic_terms=frozenset({"van"})) is ObservationKind.PATTERN
    weekly = ["We wash the van every week.", "The van is always full.", "The van is red."]
    assert kind_of(weekly, days, topic_terms=frozenset({"van"})) is ObservationKind.PATTERN


@pytest.mark.parametrize(
    ("text", "topic", "sign"),
    [
        ("I've never been so pleased with the kettle.", "kettle", None),
        ("I have hardly ever been more disappointed with the kettle.", "kettle", None),
        ("I'm a big fan of nothing before noon.", "nothing", None),
        ("I hate everything.", "everything", None),
        ("I've been very pleased with the kettle.", "kettle", 1),
        ("The kettle never fails.", "kettle", 1),
        ("I hate the kettle.", "kettle", -1),
    ],
)
def test_quantifiers_and_turned_praise_judge_nothing(
    text: str, topic: str, sign: int | None
) -> None:
    read = judgement(text, topic)
    assert (read and read.sign) == sign
