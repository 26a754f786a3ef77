"""The audit of a bank: what, when, why, by whom; and no word of what was forgotten."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hindsight_integrations import AuditEntry, Hindsight, InvalidInputError, Settings, acting_as
from hindsight_integrations.cli import app


def done(entries: list[AuditEntry]) -> list[tuple[str, str, str | None]]:
    return [(entry.action, entry.kind, entry.actor) for entry in entries]


def test_every_change_through_the_client_names_its_actor_and_reason(memory: Hindsight) -> None:
    started = datetime.now(UTC)
    with acting_as("ann"):
        (told,) = memory.retain("b", "Ada met Ben in Porto.", document_id="d").stored
        memory.memories.update("b", told.id, tags=["x"], reason="a label was missing")
    with acting_as("bot", "contradicted by the minutes"):
        memory.memories.invalidate("b", told.id)
        memory.memories.restore("b", told.id, "they were wrong")
    memory.entities.merge("b", "Ben", "Ada")
    entries = memory.audit.list("b")
    assert done(entries) == [
        ("create", "document", "ann"),
        ("create", "memory", "ann"),
        ("update", "memory", "ann"),
        ("invalidate", "memory", "bot"),
        ("restore", "memory", "bot"),
        ("merge", "entity", None),
    ]
    assert [entry.reason for entry in entries[2:5]] == [
        "a label was missing", "contradicted by the minutes", "they were wrong",
    ]  # fmt: skip
    assert entries[2].fields == ("tags",)
    assert entries[5].other == memory.entities.get("b", "Ada").id
    assert all(started <= entry.at <= datetime.now(UTC) for entry in entries)
    assert memory.audit.list("b", actor="bot") == entries[3:5]
    assert memory.audit.list("b", id=told.id) == entries[1:5]
    assert memory.audit.list("b", since=entries[4].at) == entries[4:]
    assert memory.audit.list("b", since=datetime.now(UTC) + timedelta(days=1)) == []
    with pytest.raises(InvalidInputError, match="actor"), acting_as(""):
        pass


def test_tasks_at_once_name_each_their_own_actor(memory: Hindsight) -> None:
    async def tell(name: str) -> None:
        with acting_as(name):
            await memory.aretain("b", f"{name} keeps bees.")

    async def together() -> None:
        await asyncio.gather(*map(tell, ("ann", "ben", "cid")))

    asyncio.run(together())
    texts = {m.id: m.text for m in memory.memories.list("b").items}
    told = [entry for entry in memory.audit.list("b") if entry.kind == "memory"]
    assert {(entry.actor, texts[entry.id]) for entry in told} == {
        (name, f"{name} keeps bees.") for name in ("ann", "ben", "cid")
    }


def test_no_word_of_what_was_forgotten_is_left_in_the_audit(folder: Path, tmp_path: Path) -> None:
    with Hindsight(folder, settings=Settings(consolidate=False, purge_interval=0)) as memory:
        with acting_as("ann", "Quokkaville was named"):
            (told,) = memory.retain("b", "Ada keeps a wombat in Quokkaville.").stored
            memory.memories.update("b", told.id, text="Ada keeps a Quokkaville wombat.")
        with acting_as("ann", "on request"):
            memory.forget("b", told.id)
        assert memory.audit.export("b", tmp_path / "audit.jsonl") == 4
        written = (tmp_path / "audit.jsonl").read_text()
        last = json.loads(written.splitlines()[-1])
        assert (last["action"], last["id"], last["actor"], last["reason"]) == (
            "delete", told.id, "ann", "on request",
        )  # fmt: skip
    for file in [tmp_path / "audit.jsonl", *folder.rglob("*")]:
        assert file.is_dir() or b"quokka" not in file.read_bytes().lower(), file
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o077 == 0


def test_work_in_the_background_is_named_and_an_import_carries_the_audit(
    memory: Hindsight, tmp_path: Path
) -> None:
    with acting_as("ann"):
        memory.retain("b", "Ada lives in Porto.", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
        memory.retain("b", "Ada prefers tea to coffee.")
        memory.retain("b", "Ada said that she prefers tea.")
    memory.consolidate("b")
    memory.maintenance.purge("b")
    entries = memory.audit.list("b")
    assert ("delete", "memory", None) in done(entries)
    memory.banks.export("b", tmp_path / "b.jsonl")
    with acting_as("eve"):
        memory.banks.import_(tmp_path / "b.jsonl", "c")
    assert memory.audit.list("c") == entries


@pytest.mark.slow
def test_the_engine_names_itself_and_the_command_lists(folder: Path) -> None:
    with Hindsight(folder, settings=Settings(purge_interval=0.05)) as memory:
        expired = datetime(2020, 1, 1, tzinfo=UTC)
        (told,) = memory.retain("b", "Ada lives in Porto.", expires_at=expired).stored
        while memory.memories.list("b", state="any").items:
            pass
        assert memory.wait_idle(60)
        (last,) = [each for each in memory.audit.list("b") if each.action == "delete"]
        assert (last.id, last.actor, last.reason) == (told.id, "hindsight", "expired")
    command = ["banks", "audit", "b", "--path", str(folder)]
    listed = CliRunner().invoke(app, [*command, "--actor", "hindsight", "--json"])
    assert [each["id"] for each in json.loads(listed.stdout)] == [told.id]
    assert "expired" in CliRunner().invoke(app, command).stdout
