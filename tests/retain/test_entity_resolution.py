"""Entity resolution: merges are right, refusals explained, and only the order counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, groupby
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hindsight_integrations.models import Bank, Entity
from hindsight_integrations.nlp.name_matching import Gate, Match, Relation, compare
from hindsight_integrations.retain.entity_resolution import (
    Resolution,
    Resolver,
    Score,
)
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.stated_names import aliases_stated
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import (
    ENTITY_NAMED,
    ChangeSet,
    GraphStore,
    Kind,
)
from hindsight_integrations.stores.sqlite.graph import SqliteGraph
from hindsight_integrations.stores.testing.samples import EMBEDDER, record

T = TypeVar("T")

NOW = datetime(2024, 3, 1, tzinfo=UTC)


@pytest.fixture
def graph() -> Iterator[SqliteGraph]:
    store = SqliteGraph(None)
    store.create_bank(Bank("b"), EMBEDDER)
    yield store
    store.close()


def person(*names: str) -> list[Mention]:
    return [Mention(name, "person") for name in names]


class Notebook:
    """A bank that is written to fact by fact, as a user would."""

    def __init__(self, graph: GraphStore) -> None:
        self.graph = graph
        self.said = 0

    def retain(
        self, mentions: Sequence[Mention], moment: datetime = NOW, text: str = ""
    ) -> Resolution:
        resolution = Resolver(self.graph, "b").resolve([mentions], [moment], [text])
        self.said += 1
        (ids,) = resolution.entity_ids
        memory = record(
            f"m{self.said}",
            text or "x",
            mentioned_at=moment,
            entities=tuple(resolution.names[entity_id] for entity_id in ids),
        )
        self.graph.apply(
            ChangeSet(
                "b",
                entities=resolution.created + resolution.renamed,
                memories=(replace(memory, entity_ids=ids),),
            )
        )
        return resolution

    def meant(self, *mentions: Mention, moment: datetime = NOW) -> str:
        """Canonical name of what the last mention is taken for."""
        resolution = self.retain(mentions, moment)
        return resolution.names[resolution.decisions[-1].entity_id]


@pytest.fixture
def notebook(graph: SqliteGraph) -> Notebook:
    return Notebook(graph)


# Comparing names


@pytest.mark.parametrize(
    ("one", "other", "kind", "relation"),
    [
        ("Café Central", "cafe central", "place", Relation.SAME),
        ("Dr. Chen", "Chen", "person", Relation.SAME),
        ("Acme Inc.", "Acme GmbH", "organization", Relation.SAME),
        ("The Beatles", "Beatles", "organization", Relation.SAME),
        ("Barnes & Noble", "Barnes and Noble", "organization", Relation.SAME),
        ("St. Paul", "Saint Paul", "place", Relation.SAME),
        ("invoice INV-20417", "INV-20417", "concept", Relation.SAME),
        ("Bob", "Robert Jones", "person", Relation.SHORTER),
        ("Robert", "Robert Jones", "person", Relation.SHORTER),
        ("Frau Müller", "Anna Müller", "person", Relation.SHORTER),
        ("R. Jones", "Robert Jones", "person", Relation.SHORTER),
        ("J. R. Ewing", "John Ross Ewing", "person", Relation.SHORTER),
        ("José García", "Jose Garcia Márquez", "person", Relation.SHORTER),
        ("Robert Jones", "Bob", "person", Relation.FULLER),
        ("NASA", "National Aeronautics and Space Administration", "concept", Relation.ACRONYM),
        ("Pryianka Sharma", "Priyanka Sharma", "person", Relation.VARIANT),
        ("Muhhamed", "Mohammed", "person", Relation.VARIANT),
        ("Fahim", "Faheem", "person", Relation.VARIANT),
        ("Katherine Wood", "Catherine Wood", "person", Relation.VARIANT),
        ("Señora Quiroga", "Elena Quiroga", "person", Relation.SHORTER),
        ("Anthropc", "Anthropic", "organization", Relation.VARIANT),
    ],
)
def test_names_that_may_be_one_things(one: str, other: str, kind: str, relation: Relation) -> None:
    match = compare(one, kind, other, kind)
    assert isinstance(match, Match)
    assert match.relation is relation


@pytest.mark.parametrize(
    ("one", "other", "kind", "gate"),
    [
        ("Al", "Alice", "person", Gate.WORDS),
        ("Ann", "Anna", "person", Gate.WORDS),
        ("Daniel", "Daniela", "person", Gate.WORDS),
        ("Maria Lopez", "Mario Lopez", "person", Gate.WORDS),
        ("Alexander", "Alexandra", "person", Gate.WORDS),
        ("Bob", "Rob", "person", Gate.WORDS),
        ("Maria Lopez", "Maria Kim", "person", Gate.WORDS),
        ("Bus", "British Ultimate Series", "concept", Gate.WORDS),
        ("HP", "House of Plantagenet", "concept", Gate.WORDS),
        ("John A. Smith", "John B. Smith", "person", Gate.WORDS),
        ("Tigran", "Iran", "concept", Gate.WORDS),
        ("York", "New York", "place", Gate.WORDS),
        ("Google", "Google Cloud", "organization", Gate.WORDS),
        ("bob@example.org", "Bob", "person", Gate.WORDS),
        ("Room 101", "Room 102", "concept", Gate.NUMBERS),
        ("PostgreSQL 15", "PostgreSQL", "product", Gate.NUMBERS),
        ("John Smith Jr.", "John Smith", "person", Gate.NUMBERS),
        ("Herr Müller", "Frau Müller", "person", Gate.TITLES),
        ("Mr. Wood", "Katherine Wood", "person", Gate.TITLES),
        ("Señor Wood", "Fräulein Wood", "person", Gate.TITLES),
    ],
)
def test_names_that_are_two_things(one: str, other: str, kind: str, gate: Gate) -> None:
    assert compare(one, kind, other, kind) is gate
    assert compare(other, kind, one, kind) is gate


def test_a_place_or_thing_is_no_person() -> None:
    assert compare("Paris", "place", "Paris Blake", "person") is Gate.KINDS
    assert compare("Windsor", "person", "Windsor Castle", "organization") is Gate.KINDS
    assert isinstance(compare("Melanie", "group", "Melanie Stone", "person"), Match)


NAMES = st.one_of(
    st.text(max_size=30),
    st.lists(
        st.sampled_from(
            "Mr. Mrs. Dr. J M. Jon John Johnny Maria Mariah Lopez Lopes Kim Jr. 2".split()
        ),
        min_size=1,
        max_size=4,
    ).map(" ".join),
)


@given(NAMES, NAMES, st.sampled_from(["person", "concept"]))
@example(":", "::", "person")
@example("John", "J", "person")
@example("Maria Lopez Garcia", "Maria Garcia Kim", "person")
def test_comparing_is_reflexive_and_symmetric(one: str, other: str, kind: str) -> None:
    assert compare(one, kind, one, kind) == Match(Relation.SAME, 1.0)
    forth, back = compare(one, kind, other, kind), compare(other, kind, one, kind)
    assert isinstance(forth, Gate) == isinstance(back, Gate)
    if isinstance(forth, Match) and isinstance(back, Match):
        assert forth.similarity == back.similarity


# Resolving


def test_score_is_the_weighted_sum_by_hand() -> None:
    assert Score(name=0.9, context=0.5, recency=0.25).total == pytest.approx(0.65)


def test_the_threshold_is_the_documented_setting(graph: SqliteGraph) -> None:
    assert Settings().entity_match == 0.6


def test_one_name_is_one_entity_in_any_spelling(notebook: Notebook) -> None:
    first = notebook.retain([Mention("Café Möbius", "place")])
    again = notebook.retain([Mention("cafe mobius", "organization")])
    assert first.entity_ids == again.entity_ids
    assert (len(first.created), len(again.created), len(again.renamed)) == (1, 0, 0)


def test_ids_are_aligned_with_mentions_and_each_comes_once(notebook: Notebook) -> None:
    resolution = notebook.retain(person("Ana", "Tom", "ANA", "tom"))
    assert [resolution.names[i] for i in resolution.entity_ids[0]] == ["Ana", "Tom"]
    assert len(resolution.decisions) == 4


def test_a_first_name_is_the_one_person_who_has_it(notebook: Notebook) -> None:
    notebook.retain(person("Robert Jones"))
    assert notebook.meant(*person("Robert"), moment=NOW + timedelta(days=300)) == "Robert Jones"
    assert notebook.meant(*person("Jones"), moment=NOW + timedelta(days=300)) == "Robert Jones"


def test_a_nickname_needs_evidence(notebook: Notebook) -> None:
    notebook.retain(person("Maya", "Robert Jones"))
    assert notebook.meant(*person("Bob")) == "Bob"


def test_a_nickname_among_the_same_people_is_the_person(notebook: Notebook) -> None:
    notebook.retain(person("Maya", "Robert Jones"))
    assert notebook.meant(*person("Maya", "Bob")) == "Robert Jones"


def test_a_merge_teaches_the_bank_the_name(notebook: Notebook) -> None:
    notebook.retain(person("Robert Jones"))
    (learnt,) = notebook.retain(person("Robert")).renamed
    assert learnt.aliases == ("Robert",)
    assert notebook.graph.read("b", ENTITY_NAMED, ["robert"])["robert"].name == "Robert Jones"
    assert notebook.retain(person("Robert")).renamed == ()


def test_two_persons_of_one_first_name_are_told_apart_by_context(notebook: Notebook) -> None:
    notebook.retain([*person("Maria Lopez"), Mention("Hill Bakery", "organization")])
    notebook.retain([*person("Maria Kim"), Mention("Lakeside College", "organization")])
    later = NOW + timedelta(days=30)
    bakery, college = Mention("Hill Bakery"), Mention("Lakeside College")
    assert notebook.meant(bakery, *person("Maria"), moment=later) == "Maria Lopez"
    assert notebook.meant(college, *person("Maria"), moment=later) == "Maria Kim"
    assert notebook.meant(bakery, *person("Maria"), moment=later) == "Maria Lopez"


def test_a_first_name_of_two_without_context_is_neither(notebook: Notebook) -> None:
    notebook.retain(person("Maria Lopez"))
    notebook.retain(person("Maria Kim"))
    resolution = notebook.retain(person("Maria"), NOW + timedelta(days=30))
    assert resolution.decisions[0].relation is None
    assert dict(resolution.decisions[0].rejected).keys() == {"Maria Lopez", "Maria Kim"}


def test_a_fuller_name_is_taken_while_the_shorter_is_fresh(notebook: Notebook) -> None:
    notebook.retain(person("Omar", "Tigran"))
    tomorrow, later = NOW + timedelta(days=1), NOW + timedelta(days=60)
    assert notebook.meant(*person("Omar", "Tigran Petrosyan"), moment=tomorrow) == "Tigran"
    notebook.retain(person("Omar", "Bob"))
    assert notebook.meant(*person("Omar", "Bob Dylan"), moment=later) == "Bob Dylan"


def test_a_fuller_name_without_shared_context_is_new(notebook: Notebook) -> None:
    notebook.retain(person("Omar", "Bob"))
    assert notebook.meant(*person("Lena", "Bob Dylan")) == "Bob Dylan"


def test_initials_that_stand_for_one_thing_are_not_taken_for_another(notebook: Notebook) -> None:
    abc, american = Mention("ABC"), Mention("American Broadcasting Company")
    notebook.retain([american, abc], NOW, "American Broadcasting Company (ABC)")
    australian = Mention("Australian Broadcasting Corporation")
    first = notebook.retain([australian, abc], NOW, "Australian Broadcasting Corporation (ABC)")
    assert first.decisions[0].relation is None
    assert first.decisions[1].entity_name == "American Broadcasting Company"


def test_a_slip_of_spelling_needs_evidence(notebook: Notebook) -> None:
    notebook.retain([*person("Priyanka"), Mention("Contoso", "organization")])
    later = NOW + timedelta(days=20)
    assert notebook.meant(*person("Pryianka"), moment=later) == "Pryianka"
    assert notebook.meant(Mention("Contoso"), Mention("Northwind"), moment=later) == "Northwind"
    assert notebook.meant(Mention("Contoso"), *person("Priyannka")) == "Priyanka"


def test_a_participant_addressed_by_another_spelling_is_that_person(notebook: Notebook) -> None:
    notebook.retain(person("Faheem", "Katherine"))
    addressed = Mention("Fahim", "person", addressed_as="Faheem")
    decision = notebook.retain([*person("Katherine", "Faheem"), addressed]).decisions[-1]
    assert (decision.entity_name, decision.relation) == ("Faheem", Relation.ADDRESSED)
    assert notebook.meant(*person("Fahim")) == "Faheem"


def test_two_spellings_in_one_statement_are_two_persons(notebook: Notebook) -> None:
    resolution = notebook.retain(person("Alexander Novak", "Aleksander Novak"))
    assert len(resolution.created) == 2
    assert resolution.decisions[1].rejected == (("Alexander Novak", Gate.TOGETHER),)


def test_a_short_and_a_long_form_in_one_statement_are_two_persons(notebook: Notebook) -> None:
    notebook.retain(person("Maya", "Sam Lomax"))
    assert notebook.meant(*person("Maya", "Sam")) == "Sam Lomax"
    assert notebook.meant(*person("Maya", "Sam", "Samantha")) == "Samantha"


def test_a_namesake_who_is_told_apart_is_another_person(notebook: Notebook) -> None:
    notebook.retain(person("Jo Pratt"))
    resolution = notebook.retain(
        person("Joanna Pratt", "Jo"), text="Joanna Pratt (not Jo, the other one) sweeps up."
    )
    assert resolution.names[resolution.decisions[0].entity_id] == "Joanna Pratt"


def test_what_was_refused_is_explained(notebook: Notebook) -> None:
    notebook.retain([Mention("Room 101")])
    (decision,) = notebook.retain([Mention("Room 102")]).decisions
    assert decision.relation is None
    assert decision.score is None
    assert decision.rejected == (("Room 101", Gate.NUMBERS),)


def test_what_was_merged_is_explained(notebook: Notebook) -> None:
    notebook.retain(person("Robert Jones"))
    (decision,) = notebook.retain(person("Robert"), NOW + timedelta(days=7)).decisions
    assert (decision.entity_name, decision.relation) == ("Robert Jones", Relation.SHORTER)
    assert decision.score == Score(name=pytest.approx(0.9), context=0.0, recency=0.0)


def test_a_stated_new_name_is_learnt(notebook: Notebook) -> None:
    twitter, x = Mention("Twitter", "organization"), Mention("X", "organization")
    notebook.retain([twitter])
    notebook.retain([twitter, x], NOW, "Twitter is now called X.")
    assert notebook.meant(x, moment=NOW + timedelta(days=100)) == "Twitter"


def test_entities_the_bank_keeps_apart_are_not_joined_by_a_statement(notebook: Notebook) -> None:
    notebook.retain([Mention("Twitter")])
    notebook.retain([Mention("X")])
    resolution = notebook.retain(
        [Mention("Twitter"), Mention("X")], NOW, "Twitter is now called X."
    )
    assert len(resolution.entity_ids[0]) == 2


def test_a_batch_is_resolved_by_its_own_new_entities(graph: SqliteGraph) -> None:
    facts = [person("Robert Jones"), person("Robert")]
    facts += [[Mention("Room 101")], [Mention("Room 102")]]
    resolution = Resolver(graph, "b").resolve(facts, [NOW] * 4)
    assert [entity.name for entity in resolution.created] == [
        "Robert Jones",
        "Room 101",
        "Room 102",
    ]
    assert resolution.created[0].aliases == ("Robert",)
    assert resolution.renamed == ()


def test_resolving_twice_gives_the_same_partition(graph: SqliteGraph) -> None:
    facts = [person("Ana Silva", "Tom"), person("Ana", "Thomas Berg"), person("Tom", "Anna")] * 3
    runs = [Resolver(graph, "b").resolve(facts, [NOW] * len(facts)) for _ in range(3)]
    named = [[d.entity_name for d in run.decisions] for run in runs]
    assert named[0] == named[1] == named[2]


def test_nothing_to_resolve_is_nothing(graph: SqliteGraph) -> None:
    resolution = Resolver(graph, "b").resolve([[], []], [NOW, NOW])
    assert resolution.entity_ids == ((), ())
    assert resolution.created == ()


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("[Twitter] is now called [X].", "X < Twitter"),
        ("[X], formerly [Twitter], sued.", "X < Twitter"),
        ("[Meta] (previously known as [Facebook])", "Meta < Facebook"),
        ("We renamed [Falcon] to [Osprey].", "Osprey < Falcon"),
        ("[Ingrid Solberg], née [Ingrid Dahl], came.", "Ingrid Solberg < Ingrid Dahl"),
        ("[Robert Jones], nicknamed [Sparky]", "Sparky < Robert Jones"),
        ("[Robert] but everyone calls him [Sparky]", "Sparky < Robert"),
        ("[World Trade Organization] ([WTO])", "WTO < World Trade Organization"),
        ("[Raider] heißt jetzt [Twix]", "Twix < Raider"),
        ("[Bob] ([Alice]'s brother) came", None),
        ("[Bob] called [Alice].", None),
        ("[Bob] moved from [Rome] to [Paris]", None),
        ("", None),
    ],
)
def test_other_names_are_read_from_the_text(text: str, stated: str | None) -> None:
    names = re.findall(r"\[(.*?)\]", text)
    pairs = aliases_stated(re.sub(r"[][]", "", text), [Mention(name) for name in names])
    assert [" < ".join(pair) for pair in pairs] == ([stated] if stated else [])


# Measured on labelled conversations


@dataclass(frozen=True)
class Labelled:
    scene: str
    at: datetime
    text: str
    mentions: tuple[Mention, ...]
    entities: tuple[str, ...]


def labelled() -> list[Labelled]:
    lines = (Path(__file__).parent / "entity_mentions.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    return [
        Labelled(
            row["scene"],
            datetime.fromisoformat(row["at"]).replace(tzinfo=UTC),
            row["text"],
            tuple(Mention(m["name"], m["kind"]) for m in row["mentions"]),
            tuple(m["entity"] for m in row["mentions"]),
        )
        for row in rows
    ]


def in_one_batch(facts: Sequence[Labelled]) -> list[str]:
    with_store = SqliteGraph(None)
    with_store.create_bank(Bank("b"), EMBEDDER)
    resolution = Resolver(with_store, "b").resolve(
        [fact.mentions for fact in facts],
        [fact.at for fact in facts],
        [fact.text for fact in facts],
    )
    with_store.close()
    return [decision.entity_id for decision in resolution.decisions]


def one_by_one(facts: Sequence[Labelled]) -> list[str]:
    store = SqliteGraph(None)
    store.create_bank(Bank("b"), EMBEDDER)
    notebook = Notebook(store)
    resolutions = [notebook.retain(fact.mentions, fact.at, fact.text) for fact in facts]
    store.close()
    return [decision.entity_id for each in resolutions for decision in each.decisions]


@pytest.mark.parametrize("resolve", [in_one_batch, one_by_one])
def test_pairwise_precision_and_recall_on_labelled_conversations(resolve) -> None:  # type: ignore[no-untyped-def]
    """Over all pairs of mentions of a conversation: are they one thing, and are they merged?"""
    both = merged = same = mentions = 0
    for _, scene in groupby(labelled(), key=lambda fact: fact.scene):
        facts = list(scene)
        found = resolve(facts)
        expected = [entity for fact in facts for entity in fact.entities]
        mentions += len(found)
        for (entity, id), (other, other_id) in combinations(zip(expected, found, strict=True), 2):
            same += entity == other
            merged += id == other_id
            both += entity == other and id == other_id
    assert mentions >= 120
    assert both / merged >= 0.97
    assert both / same >= 0.85


def test_known_entities_are_asked_for_together(graph: SqliteGraph) -> None:
    asked: list[int] = []

    class Counting:
        def read(self, bank_id: str, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
            asked.append(len(keys))
            return graph.read(bank_id, kind, keys)

        def similar_entities(
            self, bank_id: str, names: Sequence[str], limit: int
        ) -> dict[str, list[Entity]]:
            asked.append(len(names))
            return graph.similar_entities(bank_id, names, limit)

        def mentioned_together(
            self, bank_id: str, entity_ids: Sequence[str], among: Sequence[str]
        ) -> dict[str, set[str]]:
            asked.append(len(entity_ids))
            return graph.mentioned_together(bank_id, entity_ids, among)

    facts = [person("Ana", "Tom"), [Mention("Lagos", "place")]] * 100
    Resolver(Counting(), "b").resolve(facts, [NOW] * len(facts))
    assert len(asked) <= 12
