"""Pictures of a bank and of a recall: what they show, say, save and keep apart."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import numpy as np
import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.errors import (
    BankNotFoundError,
    EntityNotFoundError,
    InvalidInputError,
    MemoryNotFoundError,
    StoreUnavailableError,
)
from hindsight_integrations.models import Entity, Memory, MemoryType, Precision, TimeSpan
from hindsight_integrations.pictures.drawing import COLOURS, cut, width, wrapped
from hindsight_integrations.pictures.graph import BankGraph, Connection
from hindsight_integrations.pictures.layout import positions
from hindsight_integrations.pictures.picture import InteractivePicture, Picture
from hindsight_integrations.pictures.timeline import BankTimeline, ticks

SVG = "{http://www.w3.org/2000/svg}"
ATTACK = "</script><script>alert(1)</script> \x1b[2J \u202e<img src=x onerror=alert(2)> ]]>"

MENTIONS = {
    "m1": ("Ana", "Ben"),
    "m2": ("Ana", "Ben", "Oslo"),
    "m3": ("Ben", "Cem"),
    "m4": ("Cem", "Dov"),
    "m5": ("Ana",),
}


def told(id: str, text: str, names: tuple[str, ...], day: int, **more: object) -> Memory:
    said = datetime(2025, 3, day, 12, tzinfo=UTC)
    return Memory(id, "bank", text, entities=names, mentioned_at=said, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        given = [
            told(id, f"{' and '.join(names)} met.", names, day)
            for day, (id, names) in enumerate(MENTIONS.items(), start=1)
        ]
        memory.retain_memories("bank", given)
        april = TimeSpan(
            datetime(2024, 4, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC), Precision.MONTH
        )
        memory.retain_memory("time", told("t1", "Ana moved to Oslo.", ("Ana", "Oslo"), 3,
                                          occurred=(april,)))  # fmt: skip
        memory.retain_memory("time", told("t2", "Ben likes tea.", ("Ben",), 9,
                                          type=MemoryType.OPINION))  # fmt: skip
        memory.retain_memory(
            "attack",
            told("a1", f"Ana wrote {ATTACK}", ("Eve </script><script>alert(3)</script>", "Ana"), 1),
        )
        yield memory


def names(graph: BankGraph) -> list[str]:
    return [entity.name for entity in graph.entities]


def pairs(graph: BankGraph) -> dict[frozenset[str], int]:
    name = {entity.id: entity.name for entity in graph.entities}
    return {
        frozenset((name[one.source], name[one.target])): one.memories for one in graph.connections
    }


# The graph of a bank


def test_a_graph_counts_the_memories_that_mention_each_and_both(memory: Hindsight) -> None:
    graph = memory.graph("bank")
    assert {entity.name: entity.mention_count for entity in graph.entities} == {
        "Ana": 3, "Ben": 3, "Cem": 2, "Oslo": 1, "Dov": 1,
    }  # fmt: skip
    assert pairs(graph) == {
        frozenset(pair.split()): count
        for pair, count in {
            "Ana Ben": 2, "Ana Oslo": 1, "Ben Oslo": 1, "Ben Cem": 1, "Cem Dov": 1,
        }.items()
    }  # fmt: skip
    assert (graph.memories, graph.known) == (5, 5)
    assert "5 of 5 entities (all), 5 of 5 connections, from 5 memories." in str(graph)
    ana = next(line for line in str(graph).splitlines() if line.startswith("  Ana"))
    assert ana.endswith("Ben 2, Oslo 1")
    assert repr(graph) == str(graph)


def test_a_graph_around_an_entity_ends_after_some_hops(memory: Hindsight) -> None:
    assert set(names(memory.graph("bank", center="dov", hops=1))) == {"Dov", "Cem"}
    near = memory.graph("bank", center="Dov", hops=2)
    assert set(names(near)) == {"Dov", "Cem", "Ben"}
    assert names(memory.graph("bank", center="Dov", hops=3, limit=2)) == ["Dov", "Cem"]
    assert "3 of 5 entities (the nearest, within 2 hops)" in near.note
    with pytest.raises(EntityNotFoundError, match="no entity 'Zoe'"):
        memory.graph("bank", center="Zoe")
    assert set(names(memory.graph("bank", center="Dov", hops=100))) == set(names(near)) | set(
        names(memory.graph("bank", center="Dov", hops=3))
    )
    for hops in (101, 10**9):
        with pytest.raises(InvalidInputError, match="give at most 100"):
            memory.graph("bank", center="Dov", hops=hops)


def test_filters_choose_what_is_counted(memory: Hindsight) -> None:
    window = (datetime(2025, 3, 3, tzinfo=UTC), None)
    late = memory.graph("bank", window=window)
    assert (late.memories, set(names(late))) == (3, {"Ana", "Ben", "Cem", "Dov"})
    assert set(names(memory.graph("bank", entities=["Oslo"]))) == {"Ana", "Ben", "Oslo"}
    few = memory.graph("bank", limit=2)
    assert len(few.entities) == 2
    assert "2 of 5 entities (the most mentioned)" in few.note
    with pytest.raises(BankNotFoundError):
        memory.graph("nobody's")
    with pytest.raises(InvalidInputError, match="limit"):
        memory.graph("bank", limit=0)
    with pytest.raises(TypeError, match="colour"):
        memory.graph("bank", colour="red")  # type: ignore[call-arg]


async def test_pictures_have_async_variants(memory: Hindsight) -> None:
    assert names(await memory.agraph("bank")) == names(memory.graph("bank"))
    assert (await memory.atimeline("bank")).chosen == 5


def test_a_graph_goes_to_other_programs(memory: Hindsight, tmp_path: Path) -> None:
    graph = memory.graph("bank")
    made = graph.to_networkx()
    ids = {entity.name: entity.id for entity in graph.entities}
    assert made.nodes[ids["Oslo"]]["name"] == "Oslo"
    assert made.edges[ids["Ana"], ids["Ben"]]["weight"] == 2
    read = nx.read_graphml(graph.save(tmp_path / "bank.graphml"))
    assert {values["name"] for _, values in read.nodes(data=True)} == set(ids)
    content = json.loads(graph.save(tmp_path / "bank.json").read_text())
    assert len(content["connections"]) == read.number_of_edges() == 5


def test_drawn_connections_are_the_strongest_and_leave_no_entity_alone() -> None:
    entities = tuple(Entity(f"e{n}", "b", f"N{n}", "person", (), 40 - n) for n in range(20))
    every = [Connection(f"e{a}", f"e{b}", 9) for a, b in combinations(range(19), 2)]
    graph = BankGraph("b", entities, (*every, Connection("e0", "e19", 1)), 100, 20)
    drawn = graph._drawn
    assert len(drawn) == 51
    assert drawn[-1] == Connection("e0", "e19", 1)
    assert "51 of 172 connections (the strongest)" in graph.note


def test_a_layout_is_the_same_again_and_sets_nodes_apart() -> None:
    edges = [(n, n // 2, 1.0) for n in range(1, 60)]
    sizes = [9.0] * 60
    first, again = (positions(edges, sizes, 900.0, 600.0) for _ in range(2))
    assert np.array_equal(first, again)
    assert ((first >= 0) & (first <= (900, 600))).all()
    distance = np.linalg.norm(first[:, None] - first[None], axis=2) + 99 * np.eye(60)
    assert distance.min() > 18
    joined = np.mean([np.linalg.norm(first[a] - first[b]) for a, b, _ in edges])
    assert joined < 0.5 * distance.mean()
    assert positions([], [5.0], 100.0, 50.0).tolist() == [[50.0, 25.0]]


# The timeline


def test_a_timeline_sets_memories_where_they_happened(memory: Hindsight) -> None:
    timeline = memory.timeline("time")
    assert [(event.memory.id, event.at.month, event.span is None) for event in timeline.events] == [
        ("t1", 4, False), ("t2", 3, True),
    ]  # fmt: skip
    assert set(timeline.lanes) == {"Ana", "Ben", "Oslo"}
    text = str(timeline)
    assert "1 Apr 2024 to 30 Apr 2024" in text
    assert "said 9 Mar 2025, 12:00" in text
    assert [e.memory.id for e in memory.timeline("time", types=["opinion"]).events] == ["t2"]
    assert memory.timeline("time", state="invalidated").note == "0 memories."


def test_a_timeline_of_more_memories_than_fit_shows_some_of_all_times(memory: Hindsight) -> None:
    timeline = memory.timeline("bank", limit=2)
    assert [event.memory.id for event in timeline.events] == ["m1", "m3"]
    assert "5 memories, of which 2 are shown, about every 2th as they were stored" in timeline.note


def test_one_date_far_away_does_not_squeeze_the_others() -> None:
    far = TimeSpan(
        datetime(1900, 1, 1, tzinfo=UTC), datetime(1900, 12, 31, tzinfo=UTC), Precision.YEAR
    )
    rest = [told(f"m{n}", "x", (), n + 1) for n in range(20)]
    timeline = BankTimeline("b", (told("old", "y", (), 1, occurred=(far,)), *rest), 21)
    assert "1 Mar 2025" in timeline.note
    assert timeline.note.endswith("2 times beyond stand at the edges.")


@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [
        ("2019-05-01", "2025-06-01", "2020", "2025"),
        ("2025-01-10", "2025-06-01", "Feb 2025", "Jun 2025"),
        ("2025-01-10", "2025-01-18", "10 Jan", "18 Jan"),
        ("2025-01-10T10:00", "2025-01-10T10:40", "10:00", "10:40"),
    ],
)
def test_an_axis_has_round_times(low: str, high: str, first: str, last: str) -> None:
    ends = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (low, high))
    marks = [name for _, name in ticks(*ends)]
    assert (marks[0], marks[-1]) == (first, last)
    assert 3 <= len(marks) <= 11


# A recall


def test_a_plot_shows_ranks_and_the_budget(memory: Hindsight) -> None:
    result = memory.recall("bank", "Who met Dov?", fill=True)
    text = str(result.plot())
    assert text.startswith(f"Recall: Who met Dov? ({len(result)} memories of 5 scored")
    first = next(line for line in text.splitlines() if line.startswith("   1 "))
    assert all(f"#{score.rank}" in first for score in result[0].arms)
    svg = ET.fromstring(result.plot().svg())
    drawn = [element.text for element in svg.iter(f"{SVG}text")]
    assert any((shown or "").startswith("Cem and Dov met.") for shown in drawn)
    small = memory.recall("bank", "Who met Dov?", fill=True, max_tokens=25)
    assert small.left_out
    assert "left out, beyond 25 tokens" in str(small.plot())
    assert str(memory.recall("bank", "Thanks!").plot()).startswith("Recall: Thanks! (0 memories")


def test_a_plot_of_a_memory_shows_its_path_through_the_graph(memory: Hindsight) -> None:
    result = memory.recall("bank", "Dov", arms=["entity"], fill=True)
    far = next(item for item in result if item.id == "m3")
    (score,) = far.arms
    assert [(step.kind, step.text) for step in score.path] == [
        ("entity", "Dov"), ("memory", "Cem and Dov met."), ("entity", "Cem"),
        ("memory", "Ben and Cem met."),
    ]  # fmt: skip
    assert "Dov → “Cem and Dov met.” → Cem → this" in str(result.plot(far))
    svg = result.plot("m3").svg()
    assert ">Cem and Dov met.</text>" in svg
    assert "question" in svg
    assert "Dov → “Cem and Dov met.”" in str(far.plot())
    with pytest.raises(MemoryNotFoundError, match="no memory 'm9'"):
        result.plot("m9")


# Files, pages and safety


def all_pictures(memory: Hindsight, bank: str) -> Iterator[Picture]:
    result = memory.recall(bank, "Ana", fill=True)
    yield from (memory.graph(bank), memory.timeline(bank), result.plot(), result.plot(result[0]))


def test_text_of_a_memory_stays_text_in_every_form(memory: Hindsight) -> None:
    for picture in all_pictures(memory, "attack"):
        svg = picture.svg()
        assert {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()} <= {
            "svg", "title", "desc", "style", "g", "rect", "path", "text",
        }  # fmt: skip
        html = picture.html()
        scripts = 4 if isinstance(picture, InteractivePicture) else 0
        assert html.count("<script") == html.count("</script") == scripts
        assert "<img" not in html
        for form in (svg, html, str(picture), picture._repr_html_()):
            assert "\x1b" not in form
            assert "\u202e" not in form
        shown = picture._repr_html_()
        assert shown.count("<iframe") == ("<script" in html)
        assert "<script" not in shown


def test_nothing_is_loaded_from_elsewhere(memory: Hindsight) -> None:
    for picture in all_pictures(memory, "bank"):
        links = set(re.findall(r"https?://[\w.]+", picture.html()))
        assert links <= {"http://www.w3.org"}  # names of namespaces
        assert "default-src 'none'" in picture.html()


def test_every_form_is_saved_and_others_are_refused(memory: Hindsight, tmp_path: Path) -> None:
    timeline = memory.timeline("time")
    for suffix, start in ((".svg", b"<svg"), (".html", b"<!doctype"), (".png", b"\x89PNG")):
        assert timeline.save(tmp_path / f"a{suffix}").read_bytes().startswith(start)
    saved = json.loads(timeline.save(tmp_path / "a.json").read_text())
    assert [event["named"] for event in saved["events"]] == [True, False]
    with pytest.raises(InvalidInputError, match=r"'a.pdf' .* \.svg, \.png, \.html, \.json"):
        timeline.save(tmp_path / "a.pdf")
    plot = memory.recall("time", "Ana").plot()
    with pytest.raises(InvalidInputError, match="graphml"):
        plot.save("plot.graphml")


def test_a_picture_that_cannot_be_saved_says_where(memory: Hindsight, tmp_path: Path) -> None:
    timeline = memory.timeline("time")
    with pytest.raises(StoreUnavailableError, match=r"none.a\.svg' cannot be written.*folder"):
        timeline.save(tmp_path / "none" / "a.svg")
    with pytest.raises(InvalidInputError, match="path is None; give the path of a file"):
        timeline.save(None)  # type: ignore[arg-type]


def test_a_still_picture_stands_under_the_frame_of_a_notebook(memory: Hindsight) -> None:
    html = memory.graph("bank")._repr_html_()
    (encoded,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    drawn = ET.fromstring(base64.b64decode(encoded))
    assert drawn.get("role") == "img"
    assert drawn.findtext(f"{SVG}desc", "").startswith("5 of 5 entities")
    assert 'sandbox="allow-scripts allow-downloads"' in html
    assert "iframe" not in memory.recall("bank", "Ana").plot()._repr_html_()


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_read_on_their_background(theme: int) -> None:
    paper = luminance(COLOURS["paper"][theme])
    for name, shades in COLOURS.items():
        least = {"ink": 4.5, "soft": 4.5, "paper": 1, "panel": 1, "line": 1.3}.get(name, 3)
        high, low = sorted((paper, luminance(shades[theme])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= least, name


def test_texts_are_cut_to_their_room() -> None:
    text = "A long sentence about nothing in particular"
    assert cut(text, 1000) == text
    assert width(cut(text, 80)) <= 80
    assert cut(text, 80).endswith("…")
    assert wrapped(text, 110, 2) == ["A long sentence", cut("about nothing in particular", 110)]
    assert width("日本") > width("ab")
