"""What a person sees of values: a line in a prompt, a table in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.display import Share, counted, moment, table
from hindsight_integrations.history import Change
from hindsight_integrations.models import Entity, Memory, Page

SAID = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
ATTACK = "<script>alert(1)</script> \x1b[2J \u202e<img src=x onerror=alert(2)>"


class _Tags(HTMLParser):
    """Collects the tags of a page, and refuses those that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags_of(html: str) -> set[str]:
    parser = _Tags()
    parser.feed(html)
    assert parser.open == []
    return parser.seen


@pytest.fixture(scope="module")
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory() as memory:
        memory.retain("bank", "Alice moved to Bergen in May 2024.", speaker="Bob", timestamp=SAID)
        memory.retain("bank", f"Mallory wrote {ATTACK} on the wall.", timestamp=SAID)
        yield memory


def test_a_line_says_what_a_value_is(memory: Hindsight) -> None:
    page = memory.memories.list("bank", speaker="Bob")
    (stored,) = page
    assert page[0] == stored
    assert len(page) == 1
    line = f"Memory({stored.id!r}: 'Alice moved to Bergen in May 2024.', world, by Bob, "
    assert repr(stored) == f"{line}1 Mar 2025, 09:30)"
    assert repr(page) == f"Page(1 of 1)\n  {stored!r}"
    result = memory.recall("bank", "Where did Alice move?")
    assert repr(result[0]).startswith("Recalled(1: 'Alice moved to Bergen in May 2024.', relevance")
    assert re.fullmatch(
        r"BankStats\('bank': 2 memories, \d entities, 2 documents\)",
        repr(memory.banks.stats("bank")),
    )
    assert "datetime" not in repr((memory.banks.list(), memory.entities.list("bank")))
    assert repr(memory.health()).startswith("Health(ok)\n  ✓ graph")
    gone = memory.forget("bank", speaker="Bob", dry_run=True)
    assert repr(gone) == f"Forgotten(would forget 1)\n  {stored!r}"


def test_a_notebook_shows_tables(memory: Hindsight) -> None:
    result = memory.recall("bank", "Where did Alice move?")
    html = result._repr_html_()
    assert {"table", "caption", "th", "td"} <= tags_of(html)
    for part in ("Alice moved to Bergen in May 2024.", "Bob", "1 Mar 2025, 09:30", "May 2024"):
        assert part in html or part.replace("May 2024", "1 May 2024 to 31 May 2024") in html
    for value in (
        result[0],
        result[0].memory,
        memory.memories.list("bank"),
        memory.entities.list("bank"),
        memory.banks.get("bank"),
        memory.banks.stats("bank"),
        memory.documents.list("bank"),
        memory.health(),
        memory.observations.add("bank", "Alice lives by the sea.", sources=[result[0].id]),
    ):
        html = value._repr_html_()
        assert "table" in tags_of(html)
        # The theme's colours alone, so that dark themes show them too.
        assert not re.search(r"#[0-9a-f]{3,6}|(?<!-)color:", html)


def test_text_of_a_memory_stays_text(memory: Hindsight) -> None:
    result = memory.recall("bank", "What did Mallory write on the wall?", fill=True)
    shown = (result, memory.memories.list("bank"), result.explain())
    for html in (value._repr_html_() for value in shown):
        assert "onerror" in html
        assert not tags_of(html) & {"script", "img"}
        assert "\x1b" not in html
        assert "\u202e" not in html
    for line in (repr(result), repr(result.memories), repr(memory.memories.list("bank"))):
        assert "\x1b" not in line
        assert "\u202e" not in line


def test_long_tables_are_cut_and_empty_columns_left_out() -> None:
    rows = [{"a": number, "b": "", "c": Share(0.25)} for number in range(60)]
    html = table(rows)
    assert html.count("<tr>") == 51
    assert "and 10 more" in html
    assert ">b<" not in html
    assert "width: 25%" in html
    assert tags_of(table([]))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (
            Entity("e", "b", "Ana", "person", ("Annie",), 1),
            "Entity('Ana', person, 1 mention, also 'Annie')",
        ),
        (
            Change("m", "updated", "text", "old", "new", SAID, "wrong"),
            "Change(1 Mar 2025, 09:30: updated text 'old' to 'new', because 'wrong')",
        ),
        (
            Memory("m", "b", "x" * 80, mentioned_at=datetime(2025, 3, 1, tzinfo=UTC)),
            f"Memory('m': '{'x' * 59}…', world, 1 Mar 2025)",
        ),
        (Page([], 0), "Page(0 of 0)"),
        (Memory("m", "b", None, mentioned_at=3), "Memory('m': None, world, 3)"),  # type: ignore[arg-type]
    ],
)
def test_lines_by_hand(value: object, line: str) -> None:
    assert repr(value) == line


def test_words_for_numbers_and_times() -> None:
    assert [counted(n, w) for n, w in ((1, "entity"), (2, "entity"), (0, "chunk"))] == [
        "1 entity", "2 entities", "0 chunks",
    ]  # fmt: skip
    assert (moment(None), moment(SAID.replace(hour=0, minute=0))) == ("", "1 Mar 2025")
