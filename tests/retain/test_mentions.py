"""Names are found where a reader sees them, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.spacy_pipeline import Annotation
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain.known_names import candidate_names
from hindsight_integrations.retain.mentions import find_all_names
from tests.bundled import PIPELINE

KNOWN = {
    entity_norm(name): Entity(f"e-{name}", "b", name, kind)
    for name, kind in [
        ("Bob", "person"),
        ("Will", "person"),
        ("May", "person"),
        ("Priya Sharma", "person"),
        ("New York", "place"),
        ("PostgreSQL", "product"),
        ("Slack", "product"),
        ("王伟", "person"),
    ]
}


def found(text: str, known: dict[str, Entity] | None = None) -> list[str]:
    (annotation,) = PIPELINE.annotate([text])
    return [span.name for span in find_all_names([annotation], known or {})[0]]


def kinds(text: str) -> dict[str, str]:
    (annotation,) = PIPELINE.annotate([text])
    return {span.name: span.kind for span in find_all_names([annotation], {})[0]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Thanks, Priya! See you soon.", ["Priya"]),
        ("Started Augmentin, stopped the Naproxen.", ["Augmentin", "Naproxen"]),
        ("Hey Mel! Good to see you!", ["Mel"]),
        ("Melanie, how are the kids?", ["Melanie"]),
        ("So excited! I'm off to Paris.", ["Paris"]),
        ("I met Dr. Chen and Frau Müller there.", ["Dr. Chen", "Frau Müller"]),
        ("Dr. Wei Chen called.", ["Wei Chen"]),
        ("Bob's Toyota broke down near the lake.", ["Bob", "Toyota"]),
        ("She studies at the University of Michigan.", ["University of Michigan"]),
        ("We watched The Lord of the Rings.", ["The Lord of the Rings"]),
        ("They read J. K. Rowling aloud.", ["J. K. Rowling"]),
        ("Major League Baseball pays General Motors.", ["Major League Baseball", "General Motors"]),
        ("PostgreSQL is faster than it was.", ["PostgreSQL"]),
        ("Did you read https://foo.com/Bar_Baz by Anna?", ["Anna"]),
        ("Bob and Alice came along.", ["Bob", "Alice"]),
        ("The US and the UK signed it.", ["US", "UK"]),
        ("Jean-Luc O'Brien was late.", ["Jean-Luc O'Brien"]),
        ("Alice loves React.", ["Alice", "React"]),
        ("Tom prefers Vim.", ["Tom", "Vim"]),
        ("Juan de la Cruz likes Berlin.", ["Juan de la Cruz", "Berlin"]),
        ("Ruth rang at half past nine last night.", ["Ruth"]),
        ("Will Grace be there?", ["Grace"]),
        ("Will Smith is here.", ["Will Smith"]),
        ("At midnight on New Year's Eve Callum called.", ["Callum"]),
        ("She died on Boxing Day 2011 in Leeds.", ["Leeds"]),
    ],
)  # fmt: skip
def test_names_are_found(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "Hey! Wow, that's great. Congrats!",
        "On Monday, 3 May 2023 at 5pm, or in the Summer.",
        "Thanks so much. Absolutely! Sounds good. Yeah, Totally.",
        "I THINK THIS IS VERY LOUD INDEED",
        "It took 3 hours, cost $20 and grew by 5% in 2x the time.",
        "I'm sure I'll go, and I've said so. You're right.",
        "Awww, woohoo! LOL",
        "AAAA finally. Nooo, Uuuh!",
        "Agent note: Do Not Promise delivery dates before they confirm.",
        "Any Other Business: the boat needs a new mainsail before the season.",
        "",
        "   \n",
        "😀 👍🏽",
    ],
)
def test_greetings_times_and_exclamations_are_no_names(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Pay invoice INV-20417 today.", ["INV-20417"]),
        ("Meet me in Room 101, not room 102.", ["Room 101", "room 102"]),
        ("We run v2.5 of it on PostgreSQL 16.", ["v2.5", "PostgreSQL 16"]),
        ("Mail bob@example.org or ask @priya_k.", ["bob@example.org", "@priya_k"]),
        ("Go #LakersNation, see #4521.", ["LakersNation", "#4521"]),
        ("Flight LH454 leaves from gate B12.", ["Flight LH454", "gate B12"]),
        ("Meet at 10:30am on 2023-05-01, a 3-year-old 2nd try, 5km.", []),
    ],
)
def test_identifiers_are_found_whole(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("did bob call?", ["Bob"]),
        ("ask BOB'S sister", ["Bob"]),
        ("priya said so, and sharma too", ["Priya", "Sharma"]),
        ("we use postgresql in new york", ["PostgreSQL", "New York"]),
        ("Will you come? I will.", []),
        ("I think Will will come.", ["Will"]),
        ("We meet in May, on May 3.", []),
        ("They asked May about it.", ["May"]),
        ("there is some slack in the plan", []),
        ("post it in Slack, please", ["Slack"]),
        ("我们在北京见了王伟。", ["王伟"]),
        ("bobsled and newyork", []),
    ],
)
def test_known_names_are_found_in_any_case_unless_ordinary_words(
    text: str, names: list[str]
) -> None:
    assert [n for n in found(text, KNOWN) if entity_norm(n) != "beijing"] == names


def test_a_part_that_two_known_persons_share_is_neither() -> None:
    known = {
        name: Entity(name, "b", name.title(), "person") for name in ("maria lopez", "maria kim")
    }
    assert found("i saw maria and lopez", known) == ["Lopez"]


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Thanks, Priya! It works.", "Priya", "person"),
        ("I saw Mrs. Novak there.", "Mrs. Novak", "person"),
        ("She left Acme GmbH.", "Acme GmbH", "organization"),
        ("He swam in Crystal Lake.", "Crystal Lake", "place"),
        ("Meet in Room 101.", "Room 101", "concept"),
        ("He sailed on the Aurora to Oslo.", "Aurora", "concept"),
        ("The Queen Mary 2 docked.", "Queen Mary", "concept"),
        ("He bought a John Deere tractor there.", "John Deere", "concept"),
        ("She read about the Battle of Hastings.", "Battle of Hastings", "event"),
        ("They sang Fauré's Requiem in the hall.", "Fauré's Requiem", "concept"),
        ("Tomorrow is April Fools.", "April Fools", "concept"),
        ("Kev & Shaz join us there.", "Kev & Shaz", "concept"),
        ("He lived with the Brandt family in Kiel.", "Brandt", "concept"),
        ("We work in Tower 7 with them.", "Tower 7", "concept"),
        ("He was born in Ulm and moved to Wrexbury.", "Wrexbury", "place"),
        ("We only managed a weekend in Wrexbury.", "Wrexbury", "place"),
        ("My contract at Bravita ends soon.", "Bravita", "organization"),
        ("The deposit went to Bravita on time.", "Bravita", "concept"),
        ("We moved from Aberdeen to Wrexbury.", "Wrexbury", "place"),
        ("He lands at Wrexbury soon.", "Wrexbury", "place"),
        ("Chelsea and Sydney both want the seat.", "Sydney", "concept"),
        ("We moved the agents to Bravita there.", "Bravita", "concept"),
        ("On that day Oxford beat Cambridge.", "Oxford", "concept"),
        ("On that day Oxford beat Cambridge.", "Cambridge", "concept"),
        ("They won 2-1 at Barrow Town.", "Barrow Town", "concept"),
        ("I asked Morgan Stanley about it.", "Morgan Stanley", "concept"),
        ("Zayd called his sister last night.", "Zayd", "person"),
        ("Zayd lost his keys again, he is at home.", "Zayd", "person"),
        ("Bravita closed her account.", "Bravita", "concept"),
        ("Ravi from Bravita wants a call.", "Bravita", "concept"),
        ("Ravi will ask Decathlon for a discount.", "Decathlon", "concept"),
        ("They hired Zayd as second tester.", "Zayd", "person"),
        ("Ravi told Zayd his plan.", "Zayd", "person"),
        ("Gwil retires in June after 31 years on this round.", "Gwil", "person"),
        ("We named the boat Lucy.", "Lucy", "concept"),
        ("We named the baby Lucy.", "Lucy", "person"),
    ],
)
def test_kinds_follow_the_words_around(text: str, name: str, kind: str) -> None:
    assert kinds(text)[name] == kind


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1) quit Twitter 2) read more", ["Twitter"]),
        ("It stands Bears 24, Packers 17.", ["Bears", "Packers"]),
        ("We flew to Faro 27 Dec.", ["Faro"]),
        ("We lost to Rovers 2-1 again.", ["Rovers"]),
    ],
)
def test_a_number_that_counts_something_else_is_no_part_of_a_name(
    text: str, names: list[str]
) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Иван Петров живёт в Москве.", ["Иван Петров", "Москве"]),
        ("田中さんは『坊っちゃん』を読んだ。", ["田中", "坊っちゃん"]),
        ("アルベルト・アインシュタインは物理学者だ。", ["アルベルト・アインシュタイン"]),
        ("Herr Müller ging nach Berlin und kaufte dort ein Haus.", ["Herr Müller", "Berlin"]),
    ],
)  # fmt: skip
def test_other_languages_are_read_by_rule(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Zofia leads the Heron project.", ["Zofia", "Heron"]),
        ("Ferrybell won the contract.", ["Ferrybell"]),
        ("Kubernetes crashed again.", ["Kubernetes"]),
        ("Pottery is my hobby.", []),
        ("Gardening helps me relax.", []),
        ("Chocolate makes me happy.", []),
        ("Hmm was it good?", []),
    ],
)
def test_what_opens_a_sentence_is_a_name_if_no_dictionary_has_it(
    text: str, names: list[str]
) -> None:
    assert found(text) == names


def test_without_a_model_capitals_inside_a_sentence_still_tell() -> None:
    def bare(text: str) -> list[str]:
        return [span.name for span in find_all_names([Annotation(text)], {})[0]]

    assert bare("Yesterday we saw Priya Sharma in Lagos.") == ["Priya Sharma", "Lagos"]
    assert bare("Robert called. Dinner was late. It was good.") == ["Robert"]


@settings(max_examples=200)
@given(st.text(st.one_of(st.characters(), st.sampled_from("ABab .,'#@-12\n。")), max_size=120))
def test_spans_are_ordered_inside_the_text_and_do_not_overlap(text: str) -> None:
    spans = find_all_names([Annotation(text)], KNOWN)[0]
    places = [place for span in spans for place in (span.start, span.end)]
    assert places == sorted(places)
    assert all(0 <= span.start < span.end <= len(text) and span.name for span in spans)


def test_candidate_names_hold_every_known_name_that_is_found() -> None:
    for text in ("did bob's boss see priya sharma?", "O’Brien in NEW YORK", "我们在北京见了王伟。"):
        hits = {entity_norm(name) for name in found(text, KNOWN)} & KNOWN.keys()
        assert hits <= candidate_names(text)
    assert {"bob", "c++", "o brien", "jean luc picard", "cafe mobius"} <= candidate_names(
        "Bob, C++, O'Brien; Jean-Luc Picard: Café Möbius"
    )
    assert "bob alice" not in candidate_names("Bob, Alice! Bob? Alice")


@pytest.mark.slow
def test_candidate_names_stay_linear_on_long_text() -> None:
    assert len(candidate_names("word " * 50_000)) == 4
    assert len(candidate_names("我们在北京" * 20_000)) < 100


def test_most_mentions_of_the_labelled_conversations_are_found() -> None:
    lines = (Path(__file__).parent / "entity_mentions.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    labelled = missed = invented = 0
    for row, annotation in zip(rows, PIPELINE.annotate([r["text"] for r in rows]), strict=True):
        expected = {entity_norm(m["name"]) for m in row["mentions"][1:]}
        names = {entity_norm(span.name) for span in find_all_names([annotation], {})[0]}
        labelled += len(expected)
        missed += len(expected - names)
        invented += len(names - expected)
    assert labelled >= 120
    assert missed / labelled <= 0.15
    assert invented / labelled <= 0.15


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("League opener: beat Kingsbury Rangers 2:1 at home.", ["Kingsbury Rangers"]),
        ("Let the flat of 7 Cooper's Row to Gwen Pritchard.", ["Cooper's Row", "Gwen Pritchard"]),
        ("The Death Row Records box is at Ana's.", ["Death Row Records", "Ana"]),
    ],
)
def test_a_score_or_who_gets_it_is_no_part_of_a_name(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("#4401 told her to restart the spooler.", "#4401", "concept"),
        ("We go to Schloss Erlen. Schloss Erlen was free.", "Schloss Erlen", "place"),
        ("Thought about selling Cooper's Row.", "Cooper's Row", "place"),
        ("Okonjo O2 back to 2 L, saturation fine.", "Okonjo O2", "concept"),
        ("Gwen told her to restart the spooler.", "Gwen", "person"),
    ],
)
def test_a_number_is_no_person(text: str, name: str, kind: str) -> None:
    assert kinds(text)[name] == kind


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Go there by Reports > Vouchers, Anna.", ["Anna"]),
        ("Anna > Ben at chess.", ["Anna", "Ben"]),
        ("The shop: Open Wed-Sun 10.30", []),
        ("It failed.\nE  AssertionError: the zone differs", ["AssertionError"]),
        ("Info: ID 7c1d0e4a  Who: ci  Created: 2024-02-20", ["7c1d0e4a"]),
        ("Children: two of them.", []),
        ("Assert that the flag is False at the end.", []),
    ],
)
def test_menus_days_marks_of_tests_and_labels_are_no_names(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_who_is_of_a_firm_is_not_named_like_it() -> None:
    names = kinds("From June the engineer is Ms Calloway of Fernley Heat, who answers by day.")
    assert names == {"Ms Calloway": "person", "Fernley Heat": "concept"}
    assert kinds("Joan of Arc was brave.") == {"Joan of Arc": "person"}
    assert kinds("Tetherlock Installations wrote.") == {"Tetherlock Installations": "organization"}
