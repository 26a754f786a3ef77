"""What a person sees of values: a line in a prompt, a table in a notebook."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.cli import tables
from hindsight_integrations.cli.screen import Lines
from hindsight_integrations.display import Share, counted, moment, table
from hindsight_integrations.history import AuditEntry, Change
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


def test_a_namespace_shows_its_methods(memory: Hindsight) -> None:
    assert repr(memory.memories) == "Memories(get, history, invalidate, list, restore, update)"
    assert repr(memory.tags).startswith("Tags(")


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    with Hindsight(tmp_path / "m") as opened:
        assert repr(opened).endswith("m')")
    assert repr(opened).endswith("m', closed)")


def test_a_file_of_a_bank_says_what_is_in_it(tmp_path: Path) -> None:
    path = str(tmp_path / "ann.jsonl")
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain("ann", "Ann lives in Oslo.")
        held = "1 memory, 1 document, 2 entities"
        assert repr(memory.banks.export("ann", path)) == f"ExportResult('ann' to {path!r}: {held})"
        assert repr(memory.banks.import_(path, "copy")) == f"ImportResult('copy': {held})"
        merged = memory.banks.import_(path, "copy", merge=True)
        assert repr(merged) == f"ImportResult('copy': {held}, 1 of them known)"
        assert repr(memory.maintenance.doctor()) == "Diagnosis(0 faults)"


def drawn(drawing: RenderableType, *, terminal: bool) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal, color_system=None)
    console.print(drawing, crop=terminal)
    return console.file.getvalue()


def test_an_id_is_whole_in_a_table_80_characters_wide() -> None:
    id = f"m-{'7' * 20}"
    entry = AuditEntry(SAID, "consolidate", "memory", id, fields=("text",), reason="asked for it")
    memory = Memory(id, "bank", "Alice moved to Bergen. " * 9, mentioned_at=SAID)
    for listing in (tables.audit([entry]), tables.memories(Page((memory,), 1, None))):
        assert id in drawn(listing, terminal=True)


def test_lines_of_a_picture_are_cut_in_a_terminal_and_whole_in_a_pipe() -> None:
    lines = Lines("word " * 50)
    assert drawn(lines, terminal=True) == f"{('word ' * 50)[:79]}…\n"
    assert drawn(lines, terminal=False) == f"{'word ' * 50}\n"


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


def test_a_notebook_shows_what_would_be_forgotten_and_what_changed(memory: Hindsight) -> None:
    dry = memory.forget("bank", text="Mallory", dry_run=True)
    changed = memory.changes("bank", "2025-01-01")
    for shown, caption in ((dry, "1 memory would be forgotten"), (changed, "2 memories new or")):
        html = shown._repr_html_()
        assert {"table", "td"} <= tags_of(html)
        assert caption in html
        assert "Mallory wrote &lt;script&gt;" in html
    nothing = memory.changes("bank", changed.until)
    assert nothing._repr_html_().startswith("<p>Changed(0 memories, 0 observations, 0 deleted")
    with Hindsight.in_memory() as other:
        other.retain("bank", "Alice moved to Bergen.")
        gone = other.forget("bank", text="Bergen")
        assert "<td style" in gone._repr_html_()
        assert gone[0] in gone._repr_html_()


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
