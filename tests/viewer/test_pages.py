"""What the pages show."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hindsight_integrations import Hindsight
from hindsight_integrations.models import Memory
from hindsight_integrations.viewer import viewer_app
from hindsight_integrations.viewer.pages import PER_PAGE

from .conftest import SAID, Reader

TEXTS = (
    "Alice moved to Bergen in May 2024.",
    "Alice works at Northwind with Bob Olsen.",
    "Bob Olsen repaired the greenhouse on 3 February 2025.",
)


@pytest.fixture
def story(viewed: Hindsight, reader: Reader) -> tuple[str, ...]:
    """Ids of three memories in the reader's bank."""
    ids = []
    for number, text in enumerate(TEXTS):
        stored = viewed.retain(
            reader.bank,
            text,
            timestamp=SAID + timedelta(days=number),
            speaker="Mara" if number else None,
            document_id=f"letter/{number}",
            tags=["home"] if number == 0 else [],
            metadata={"source": "mail"},
        )
        ids += stored.ids
    return tuple(ids)


def test_an_empty_memory_says_how_to_begin() -> None:
    with Hindsight.in_memory() as memory:
        app = FastAPI()
        app.mount("/ui", viewer_app(memory))
        page = TestClient(app).get("/ui/").text
    assert "hindsight-memory retain" in page


def test_banks_lead_to_a_bank_at_a_glance(
    viewed: Hindsight, reader: Reader, story: tuple[str, ...]
) -> None:
    viewed.banks.update(reader.bank, mission="Remember the letters.")
    front = reader.get("")
    assert f"/ui/bank?bank={reader.bank.replace(' ', '+')}" in front.links()
    glance = reader.get("bank")
    assert "Remember the letters." in glance.text
    assert glance.links("/ui/entity?")
    figures = reader.get("bank/figures").text
    assert "memories 3" in figures


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"text": "GREENHOUSE"}, {2}),
        ({"entity": "Alice"}, {0, 1}),
        ({"speaker": "Mara"}, {1, 2}),
        ({"tag": "home"}, {0}),
        ({"document": "letter/1"}, {1}),
        ({"from": "2024-05-01", "until": "2024-06-01"}, {0}),
        ({"type": ["opinion"]}, set()),
        ({"state": "invalidated"}, set()),
        ({}, {0, 1, 2}),
    ],
)
def test_memories_are_searched_and_filtered(
    reader: Reader, story: tuple[str, ...], query: dict[str, object], expected: set[int]
) -> None:
    page = reader.get("memories", **query)
    assert {n for n, text in enumerate(TEXTS) if text in page.text} == expected
    assert f"{len(expected)} memor" in page.text


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"from": "yesterday"}, "give a date such as"),
        ({"entity": "Zacharias"}, "has no entity 'Zacharias'"),
        ({"state": "lost"}, "choose from valid, invalidated"),
    ],
)
def test_a_filter_that_cannot_be_used_is_explained_on_the_page(
    reader: Reader, story: tuple[str, ...], query: dict[str, str], problem: str
) -> None:
    assert problem in reader.get("memories", 400, **query).text


def test_pages_follow_each_other_without_gap_or_repetition(
    viewed: Hindsight, reader: Reader
) -> None:
    count = PER_PAGE + 7
    memories = [Memory(f"m-{n}", reader.bank, f"Parcel {n} arrived.") for n in range(count)]
    viewed.retain_memories(reader.bank, memories)
    first = reader.get("memories", text="parcel")
    (following,) = first.links("cursor=")
    assert "text=parcel" in following
    second = reader.client.get(following).text
    shown = [n for n in range(count) if f"Parcel {n} arrived." in first.text]
    assert shown == list(range(PER_PAGE))
    assert [n for n in range(count) if f"Parcel {n} arrived." in second] == [
        *range(PER_PAGE, count)
    ]
    assert "First page" in second
    assert "Next page" not in second


def test_a_memory_shows_its_sources_links_conclusions_and_history(
    viewed: Hindsight, reader: Reader, story: tuple[str, ...]
) -> None:
    viewed.memories.update(reader.bank, story[1], tags=["work"], reason="sorted")
    seen = viewed.observations.add(reader.bank, "Alice settled down.", sources=story[:2])
    page = reader.get("memory", id=story[1])
    for part in (TEXTS[1], "Mara", "letter/1", "mail", "Alice settled down.", "because sorted"):
        assert part in page.text
    assert reader.get("memory", id=story[2]).text.count("It is as it was stored.") == 1
    conclusion = reader.get("memory", id=seen.id)
    assert TEXTS[0] in conclusion.text
    assert "supports" in conclusion.text
    assert any(story[0] in link for link in conclusion.links("/ui/memory?"))
    reader.get("memory", 404, id="m-none")


def test_entities_are_listed_found_and_shown_with_their_memories(
    reader: Reader, story: tuple[str, ...]
) -> None:
    assert "Bob Olsen" in reader.get("entities").text
    found = reader.get("entities", name="Bob Olson")
    assert "Bob Olsen" in found.text
    assert "Bergen" not in found.text
    page = reader.get("entity", id="Bob Olsen")
    assert TEXTS[1] in page.text
    assert TEXTS[0] not in page.text
    assert "Northwind" in page.text.split("Memories that mention it")[0]
    assert "Comparing names" in reader.get("suggestions").text
    assert "No two entities look like one." in reader.get("suggestions", compared=1).text
    reader.get("entity", 404, id="Zacharias")


def test_observations_show_their_evidence_and_history(
    viewed: Hindsight, reader: Reader, story: tuple[str, ...]
) -> None:
    viewed.observations.add(reader.bank, "Alice settled down.", sources=story[:1], confidence=0.4)
    viewed.observations.add(reader.bank, "Alice settled down.", sources=story[1:2], confidence=0.4)
    viewed.observations.add(reader.bank, "Bob is handy.", type="risk", sources=story[2:])
    page = reader.get("observations")
    for part in (
        "Alice settled down.",
        "Rests on 2 memories",
        TEXTS[0],
        TEXTS[1],
        "1 change since",
    ):
        assert part in page.text
    risks = reader.get("observations", kind="risk").text
    assert "Bob is handy." in risks
    assert "Alice settled" not in risks
    assert "Bob is handy." not in reader.get("observations", least="0.35").text
    assert "give a number" in reader.get("observations", 400, least="high").text


def test_opinions_show_their_evidence(viewed: Hindsight, reader: Reader) -> None:
    viewed.retain(reader.bank, "Trains are better than planes.", type="opinion", confidence=0.8)
    page = reader.get("opinions")
    assert "Trains are better than planes." in page.text
    assert "80% sure" in page.text


def test_mental_models_say_what_changed_since_they_were_written(
    viewed: Hindsight, reader: Reader, story: tuple[str, ...]
) -> None:
    model = viewed.mental_models.create(
        reader.bank, "Alice's home", source_query="Where does Alice live?"
    )
    assert "Alice's home" in reader.get("models").text
    assert "up to date" in reader.get("model", id=model.id).text
    viewed.retain(reader.bank, "Alice lives in Oslo now, she moved there in March 2025.")
    page = reader.get("model", id=model.id).text
    assert "What changed since it was written" in page
    assert "Oslo" in page


def test_a_recall_shows_why_each_memory_came_and_what_was_left_out(
    reader: Reader, story: tuple[str, ...]
) -> None:
    assert "What came back" not in reader.get("recall").text
    read = reader.get("recall", query="Where did Alice move?")
    (plot,) = (a for tag, a in read.tags if tag == "img" and a["src"].startswith("data:"))
    assert "3 memories of 3 scored" in plot["alt"]
    page = read.text
    assert TEXTS[0] in page
    for part in ("Why it came", "semantic", "Raises it by", "Names known Alice", "3 memories"):
        assert part in page
    short = reader.get("recall", query="Alice Bob Olsen", a_tokens=30, a_fill="1").text
    assert "Left out: no room in the budget" in short


def test_two_settings_are_compared_side_by_side(reader: Reader, story: tuple[str, ...]) -> None:
    both = {"query": "Alice", "compare": "1", "a_fill": "1", "b_entity": "Bob Olsen", "b_fill": "1"}
    page = reader.get("recall", **both).text
    one, other = page.split("With settings B")
    one = one.split("With settings A")[1]
    assert TEXTS[0] in one
    assert "only here" in one
    assert TEXTS[0] not in other
    assert TEXTS[2] in other


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"a_tokens": "0"}, "max_tokens is 0"),
        ({"a_tokens": "many"}, "give a number"),
        ({"a_arm": "north"}, "unknown arm"),
    ],
)
def test_a_setting_that_cannot_be_used_is_explained_beside_it(
    reader: Reader, story: tuple[str, ...], query: dict[str, str], problem: str
) -> None:
    assert problem in reader.get("recall", 400, query="Alice", **query).text


def test_what_is_not_there_is_said_on_a_page(reader: Reader) -> None:
    assert "there is no bank" in reader.get("bank", 404).text
    assert "There is no such page." in reader.get("attic", 404).text
    assert "the address has no 'id'" in reader.get("memory", 400).text.replace("&#39;", "'")
