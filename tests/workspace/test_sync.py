"""A bank holds what the notes of a folder say, and each memory carries where it is from."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_integrations import (
    Hindsight,
    InvalidInputError,
    Memory,
    MemoryType,
    NoteRules,
    StoreCorruptError,
    Workspace,
)

from .conftest import BANK, CURATED, synced


def held(memory: Hindsight) -> dict[str, Memory]:
    return {" ".join(each.text.split()): each for each in memory.memories.list(BANK).items}


def test_each_memory_carries_path_kind_date_headings_and_front_matter(
    memory: Hindsight, workspace: Workspace, root: Path
) -> None:
    changed = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    os.utime(root / "MEMORY.md", (changed.timestamp(), changed.timestamp()))
    assert workspace.sync().counts == {"retained": 2}
    memories = held(memory)
    dentist = memories["The dentist is tomorrow."]
    assert dentist.document_id == "memory/2026-02-03.md"
    assert dentist.metadata == {
        "source": "workspace", "path": "memory/2026-02-03.md", "type": "daily_log",
    }  # fmt: skip
    assert dentist.context == "daily memory log. Tuesday"
    assert dentist.mentioned_at == datetime(2026, 2, 3, tzinfo=UTC)
    assert dentist.occurred_start == datetime(2026, 2, 4, tzinfo=UTC)
    assert memories["1. Met Bob about the bees."].context == "daily memory log. Tuesday. Garden"

    trains = memories["Alice prefers trains to planes."]
    assert trains.context == "curated long-term memory. Memory"
    assert trains.mentioned_at == changed
    assert trains.metadata == {
        "source": "workspace", "path": "MEMORY.md", "type": "curated",
        "title": "Curated", "tags": "home, work", "draft": False,
    }  # fmt: skip
    item = memories["- Northwind pays for the website project. - The budget is 9,000 euros."]
    assert item.context == "curated long-term memory. Memory. Decisions"
    assert "Memory" not in item.entities
    lease = memories["The lease was signed yesterday."]
    assert lease.mentioned_at == datetime(2026, 1, 5, tzinfo=UTC)
    assert lease.occurred_start == datetime(2026, 1, 4, tzinfo=UTC)
    assert len(memories) == 7  # no heading, no front matter, no session context


def test_a_section_that_did_not_change_is_not_read_again(
    memory: Hindsight, workspace: Workspace, root: Path
) -> None:
    workspace.sync()
    before = held(memory)
    assert workspace.sync().counts == {"unchanged": 2}
    later = datetime.now(UTC) + timedelta(days=1)
    os.utime(root / "MEMORY.md", (later.timestamp(), later.timestamp()))
    assert workspace.sync().counts == {"unchanged": 2}
    edited = CURATED.replace("trains to planes", "boats to planes")
    (root / "MEMORY.md").write_text(edited, encoding="utf-8")
    (event,) = [event for event in workspace.sync().events if event.action == "retained"]
    assert (event.path, event.stored, event.removed) == ("MEMORY.md", 1, 1)
    after = held(memory)
    assert after.keys() - before.keys() == {"Alice prefers boats to planes."}
    assert all(after[text].id == before[text].id for text in after.keys() & before.keys())


def test_renamed_deleted_and_emptied_notes_are_carried_over(
    memory: Hindsight, workspace: Workspace, root: Path
) -> None:
    memory.retain(BANK, "Told in a chat: the hive is blue.", document_id="chat.md")
    workspace.sync()
    (root / "memory/2026-02-03.md").rename(root / "memory/2026-02-10.md")
    result = workspace.sync()
    assert result.paths("deleted") == ["memory/2026-02-03.md"]
    assert result.paths("retained") == ["memory/2026-02-10.md"]
    dentist = held(memory)["The dentist is tomorrow."]
    assert dentist.metadata["path"] == dentist.document_id == "memory/2026-02-10.md"
    assert dentist.occurred_start == datetime(2026, 2, 11, tzinfo=UTC)

    (root / "memory").rename(root / "old")
    (root / "MEMORY.md").write_text(" \n", encoding="utf-8")
    assert workspace.sync(["memory", "MEMORY.md"]).counts == {"deleted": 2}
    assert {*held(memory)} == {"Told in a chat: the hive is blue."}
    assert workspace.sync().counts == {"retained": 1}
    (root / "old/2026-02-10.md").unlink()
    assert workspace.sync().counts == {"deleted": 1}
    assert workspace.sync().counts == {}
    assert [each.id for each in memory.documents.list(BANK).items] == ["chat.md"]


def test_a_folder_that_is_not_the_workspace_deletes_nothing(
    memory: Hindsight, workspace: Workspace, tmp_path: Path
) -> None:
    workspace.sync()
    other = tmp_path / "not mounted"
    other.mkdir()
    assert synced(memory, other).counts == {}
    assert len(held(memory)) == 7


def test_another_bank_of_the_name_is_filled_from_the_beginning(
    memory: Hindsight, workspace: Workspace, root: Path
) -> None:
    workspace.sync()
    memory.banks.delete(BANK)
    (root / "MEMORY.md").unlink()
    assert workspace.sync().counts == {"retained": 1}


def test_patterns_say_which_files_are_notes(memory: Hindsight, root: Path) -> None:
    for name in ("draft.md", "memory/draft-2.md", "memory/plan.org", ".hidden.md", ".git/x.md"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(f"This is {name} of the workspace.", encoding="utf-8")
    rules = NoteRules(include=["*.md", "*.org"], exclude=["draft*", "memory/2026*"])
    result = synced(memory, root, rules=rules)
    assert result.paths("retained") == ["MEMORY.md", "memory/plan.org"]
    # What is no longer included leaves, like a deleted note.
    result = synced(memory, root)
    assert result.paths("deleted") == ["memory/plan.org"]
    for wrong in ({"include": "*.md"}, {"exclude": "*.md"}, {"max_bytes": 0}):
        with pytest.raises(InvalidInputError):
            NoteRules(**wrong)  # type: ignore[arg-type]


def test_links_binary_and_large_files_are_refused_and_what_was_retained_is_kept(
    memory: Hindsight, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("The code of the safe is 1234.", encoding="utf-8")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    (root / "folder").symlink_to(tmp_path)
    (root / "picture.md").write_bytes(b"\x89PNG\0\1\2")
    (root / "latin.md").write_bytes("Die Bienen im März".encode("latin-1"))
    (root / "large.md").write_text("The hive is blue. " * 100, encoding="utf-8")
    rules = NoteRules(max_bytes=1000)
    result = synced(memory, root, rules=rules)
    reasons = {event.path: event.detail for event in result.events if event.action == "refused"}
    assert {*reasons} == {"large.md", "latin.md", "link.md", "picture.md"}
    assert "1,000 bytes" in (reasons["large.md"] or "")
    assert "binary" in (reasons["picture.md"] or "")
    assert not any("safe" in text for text in held(memory))

    (root / "MEMORY.md").write_bytes(b"\0")
    with Workspace(memory, BANK, root, rules=rules) as workspace:
        assert "MEMORY.md" in workspace.sync().paths("refused")
        assert len(held(memory)) == 7
        assert workspace.sync(["link.md", "folder", "folder/secret.md"]).counts == {"refused": 1}
        with pytest.raises(InvalidInputError, match="outside"):
            workspace.sync(["../secret.md"])


def test_a_note_that_cannot_be_stored_is_reported_and_the_others_are_retained(
    memory: Hindsight, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "x" * 200
    (root / name).mkdir()
    (root / name / f"{name}.md").write_text("Its path is longer than an id.", encoding="utf-8")
    result = synced(memory, root)
    assert (result.ok, result.counts) == (False, {"retained": 2, "failed": 1})
    (failed,) = [event for event in result.events if event.action == "failed"]
    assert isinstance(failed.error, InvalidInputError)


def test_a_damaged_record_says_what_to_do(workspace: Workspace, root: Path) -> None:
    workspace.sync()
    record = root / ".hindsight/workspace.json"
    assert json.loads(record.read_text(encoding="utf-8"))
    assert record.stat().st_mode & 0o077 == 0
    record.write_text("{", encoding="utf-8")
    with pytest.raises(StoreCorruptError, match="delete it"):
        workspace.sync()


def test_front_matter_that_cannot_be_read_stays_text(memory: Hindsight, root: Path) -> None:
    (root / "a.md").write_text("---\nkey: [unclosed\n---\nThe hive is blue.", encoding="utf-8")
    (root / "b.md").write_text(
        "+++\nweight = 3\nday = 2026-02-03\n+++\nWax is kept.", encoding="utf-8"
    )
    synced(memory, root)
    memories = held(memory)
    assert "unclosed" in (memories["The hive is blue."].context or "")  # a heading, in Markdown
    wax = memories["Wax is kept."].metadata
    assert (wax["weight"], wax["day"], wax["path"]) == (3, "2026-02-03", "b.md")


def test_a_summary_is_retained_once_as_experience(memory: Hindsight, workspace: Workspace) -> None:
    first = workspace.flush_compaction("We moved the hive to the roof.", "s-1")
    (stored,) = first.result.stored
    assert stored.type is MemoryType.EXPERIENCE
    assert stored.text == "We moved the hive to the roof."
    assert stored.context == "session compaction summary"
    assert abs(stored.mentioned_at - datetime.now(UTC)) < timedelta(minutes=5)
    assert stored.metadata["type"] == "session_summary"
    assert not workspace.flush_compaction("We moved the hive to the roof.", "s-1").result.stored
    assert workspace.flush_compaction("Then we sold the honey.", "s-1").result.stored
    workspace.sync()
    assert {"We moved the hive to the roof.", "Then we sold the honey."} <= held(memory).keys()


async def test_the_asynchronous_variants_do_the_same(workspace: Workspace) -> None:
    assert (await workspace.async_sync()).counts == {"retained": 2}
    hits = await workspace.asearch("When is the dentist?")
    assert hits == workspace.search("When is the dentist?")
    assert await workspace.aget("MEMORY.md") == workspace.get("MEMORY.md")
