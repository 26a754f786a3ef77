"""A search cites lines that hold the memory, and `get` reads nothing but notes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import (
    Hindsight,
    HindsightError,
    InvalidInputError,
    MemoryNotFoundError,
    NotFoundError,
    Workspace,
)
from hindsight_integrations.workspace import SearchHit
from hindsight_integrations.workspace.locations import LineIndex

from .conftest import BANK, CURATED, DAILY, synced

QUESTIONS = (
    "When is the dentist?",
    "Who pays for the website project?",
    "What did we plant behind the shed?",
    "When was the lease signed?",
)


def cited(root: Path, hit: SearchHit) -> str:
    lines = (root / hit.path).read_text(encoding="utf-8").split("\n")
    return " ".join("\n".join(lines[hit.start_line - 1 : hit.end_line]).split())


def check(workspace: Workspace, root: Path) -> int:
    """Assert that each hit in a note is in the lines it cites; return how many there are."""
    hits = [hit for question in QUESTIONS for hit in workspace.search(question)]
    in_notes = [hit for hit in hits if hit.start_line]
    for hit in in_notes:
        assert " ".join(hit.text.split()) in cited(root, hit)
    assert all(hit.path.startswith("hindsight://facts/") for hit in hits if not hit.start_line)
    return len(in_notes)


def test_the_lines_cited_hold_the_memory_also_after_edits(workspace: Workspace, root: Path) -> None:
    workspace.sync()
    assert check(workspace, root) > len(QUESTIONS)
    (dentist, *_) = workspace.search("When is the dentist?")
    assert (dentist.path, dentist.start_line, dentist.end_line) == ("memory/2026-02-03.md", 3, 3)

    # Edited, and not retained yet: what moved is found, what is gone is not cited.
    edited = "A new first line.\n\n" + DAILY.replace("dentist is", "doctor comes")
    (root / "memory/2026-02-03.md").write_text(edited, encoding="utf-8")
    (root / "MEMORY.md").write_text(CURATED.replace("\n", "\r\n"), encoding="utf-8", newline="")
    assert check(workspace, root)
    (dentist, *_) = workspace.search("When is the dentist?")
    assert (dentist.start_line, dentist.end_line) == (0, 0)
    (pear, *_) = workspace.search("What did we plant behind the shed?")
    assert pear.start_line == DAILY.split("\n").index("2. Planted a pear tree behind the shed.") + 3

    workspace.sync()
    assert check(workspace, root)
    (doctor, *_) = workspace.search("When does the doctor come?")
    assert doctor.start_line == 5
    (root / "memory/2026-02-03.md").unlink()
    assert check(workspace, root)


def test_of_two_places_that_say_the_same_each_memory_has_its_own(
    memory: Hindsight, workspace: Workspace, root: Path
) -> None:
    text = "# May\n\n- Milk\n- Milk and honey\n\n# June\n\nBought milk and honey.\n\n- Honey\n"
    (root / "MEMORY.md").write_text(text, encoding="utf-8")
    workspace.sync()
    lines = {hit.text: hit.start_line for hit in workspace.search("milk and honey", 20)}
    assert {name: lines[name] for name in ("- Milk and honey", "Bought milk and honey.")} == {
        "- Milk and honey": 4,
        "Bought milk and honey.": 8,
    }


def test_a_hit_has_score_entities_and_a_uri_where_there_is_no_note(
    memory: Hindsight, workspace: Workspace
) -> None:
    assert workspace.search("Who pays?") == []  # there is no bank yet
    workspace.sync()
    memory.retain(BANK, "Maya thinks that bees are clever.", type="opinion", confidence=0.7)
    (hit, *_) = workspace.search("What does Maya think of bees?", max_results=1)
    assert hit.path.startswith("hindsight://facts/opinion/")
    assert (hit.start_line, hit.end_line, hit.confidence) == (0, 0, 0.7)
    assert "Maya" in hit.entities
    assert 0 < hit.score <= 1
    assert workspace.get(hit.path).text == hit.text
    assert workspace.search("What does Maya think of bees?", min_score=1.0) == []
    with pytest.raises(MemoryNotFoundError):
        workspace.get("hindsight://facts/world/m-0")
    with pytest.raises(InvalidInputError):
        workspace.search("bees", max_results=0)


def test_the_budgets_of_a_host_are_passed_to_recall(memory: Hindsight, root: Path) -> None:
    synced(memory, root)
    query = "What is in the notes about Northwind, Bob, Ana and Alice?"
    for given_name, ours in (("low", "low"), ("mid", "mid"), ("medium", "mid"), ("high", "high")):
        expected = memory.recall(BANK, query, budget=ours, max_tokens=30, min_score=0.0)
        with Workspace(memory, BANK, root, recall_budget=given_name, max_tokens=30) as workspace:
            hits = workspace.search(query, 50)
        assert [hit.text for hit in hits] == [m.text for m in expected]
        assert expected.tokens <= 30
    for wrong in ({"recall_budget": "huge"}, {"max_tokens": 0}, {"retain_debounce_ms": -1}):
        with pytest.raises(InvalidInputError):
            Workspace(memory, BANK, root, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="not a folder"):
        Workspace(memory, BANK, root / "MEMORY.md")


# get


def test_get_reads_lines(workspace: Workspace) -> None:
    whole = workspace.get("memory/2026-02-03.md")
    assert (whole.text + "\n", whole.start_line, whole.end_line) == (DAILY, 1, 8)
    part = workspace.get("memory/2026-02-03.md", from_line=3, lines=2)
    assert (part.text, part.start_line, part.end_line) == ("The dentist is tomorrow.\n", 3, 4)
    assert workspace.get("memory/2026-02-03.md", from_line=8, lines=99).end_line == 8
    with pytest.raises(NotFoundError, match="8 lines"):
        workspace.get("memory/2026-02-03.md", from_line=9)
    for wrong in ({"from_line": 0}, {"lines": 0}):
        with pytest.raises(InvalidInputError):
            workspace.get("MEMORY.md", **wrong)


ATTACKS = (
    "", ".", "..", "/", "//", "../secret.md", "memory/../../secret.md", "memory/../MEMORY.md",
    "./MEMORY.md", "/etc/passwd", "memory//2026-02-03.md", "memory/2026-02-03.md/", "~/secret.md",
    "MEMORY.md\0", "..\\secret.md", "memory\\2026-02-03.md", "memory.MD", "memory.md", "Memory.md",
    "MEMORY.MD", "Memory/2026-02-03.md", "SOUL.md", "soul.md", "memory/Agents.MD", "SOUL.md ",
    "MEMORY.md.", "MEMORY.md::$DATA", "C:\\MEMORY.md", "file:///MEMORY.md", "link.md",
    "up/secret.md", "inner/2026-02-03.md", ".hindsight/workspace.json", ".env", ".git/x.md",
    "memory", "pipe.md", "％2e％2e/secret.md", "%2e%2e/secret.md", "․․/secret.md",
    "hindsight://facts/../../secret.md", "hindsight://../secret.md",
)  # fmt: skip


def test_get_cannot_leave_the_root_nor_read_what_is_no_note(
    workspace: Workspace, root: Path, tmp_path: Path
) -> None:
    workspace.sync()
    secret = tmp_path / "secret.md"
    secret.write_text("The code of the safe is 1234.", encoding="utf-8")
    (root / "link.md").symlink_to(secret)
    (root / "up").symlink_to(tmp_path)
    (root / "inner").symlink_to(root / "memory")
    (root / ".env").write_text("KEY=1", encoding="utf-8")
    os.mkfifo(root / "pipe.md")
    read = []
    for path in (*ATTACKS, str(secret)):
        with contextlib.suppress(HindsightError):
            workspace.get(path)
            read.append(path)
    assert read == []


def test_get_of_no_text_is_refused(workspace: Workspace) -> None:
    for wrong in (None, 3, b"MEMORY.md", Path("MEMORY.md")):
        with pytest.raises(NotFoundError):
            workspace.get(wrong)  # type: ignore[arg-type]


# Lines

WORDS = st.lists(st.sampled_from(["milk", "honey", "bee", "-"]), min_size=1, max_size=4)


@given(st.lists(WORDS, min_size=1, max_size=8), st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_every_line_is_found_where_it_is(rows: list[list[str]], blanks: list[int]) -> None:
    """Of lines that say the same, the one in order is found, with other white space too."""
    texts = [" ".join(row) for row in rows]
    written: list[str] = []
    numbers = []
    for text, blank in zip(texts, blanks, strict=False):
        written += [""] * blank
        numbers.append(len(written) + 1)
        written.append("  " + text.replace(" ", "\t"))
    index = LineIndex("\n".join(written))
    for text in texts:
        found = index.locate(text, text, texts)
        assert found is not None
        assert found.start == found.end
        assert " ".join(written[found.start - 1].split()) == text
        assert found.start == numbers[texts.index(text)]
