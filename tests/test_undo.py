"""Forgetting that can be undone for a time, and is final then."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hindsight_integrations import (
    Arm,
    Hindsight,
    InvalidInputError,
    MemoryNotFoundError,
    Message,
    Settings,
    SkipReason,
)
from hindsight_integrations.cli import app

DAY = timedelta(days=1)
SAID = datetime(2024, 5, 7, tzinfo=UTC)
BEES, QUESTION = "Ada keeps bees in Porto.", "Where does Ada keep bees?"


def recalled(memory: Hindsight, **options: object) -> set[str]:
    found = memory.recall("b", QUESTION, fill=True, **options)  # type: ignore[arg-type]
    return {each.memory.text for each in found}


def test_what_is_forgotten_for_a_time_is_in_no_answer_and_comes_back_as_it_was(
    memory: Hindsight,
) -> None:
    (bees,) = memory.retain("b", BEES, timestamp=SAID, tags=["x"]).stored
    ends = datetime.now(UTC) + 9 * DAY
    (second,) = memory.retain("b", "Ada keeps bees in Braga too.", expires_at=ends).stored
    memory.memories.update("b", bees.id, pinned=True)
    memory.consolidate("b")
    told = memory.forget("b", tags=["x"], after=DAY, dry_run=True)
    assert told.until is None
    assert BEES in recalled(memory)
    gone = memory.forget("b", [bees.id, second.id], after=DAY)
    assert (set(gone), gone.dry_run) == ({bees.id, second.id}, False)
    assert gone.until is not None
    assert abs(gone.until - datetime.now(UTC) - DAY) < timedelta(minutes=1)
    for arm in Arm:
        assert recalled(memory, arms=[arm]) == set()
    assert recalled(memory, as_of=datetime.now(UTC)) == set()
    assert "bees" not in memory.reflect("b", QUESTION).text.lower()
    assert memory.memories.list("b").total == 0
    hidden = memory.memories.list("b", state="invalidated").items
    assert {m.id for m in hidden} == {bees.id, second.id}
    assert "restored until" in (hidden[0].invalidated_because or "")
    memory.forget("b", bees.id, after=2 * DAY)  # a longer time; what it was before is kept
    back = memory.memories.restore("b", bees.id)
    assert (back.pinned, back.expires_at, back.invalidated_at) == (True, None, None)
    assert memory.memories.restore("b", second.id).expires_at == ends
    assert BEES in recalled(memory)
    assert memory.maintenance.purge("b") == 0
    actions = [entry.action for entry in memory.audit.list("b", id=bees.id)]
    assert actions == ["create", "update", "forget", "forget", "restore"]


def a_day_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("grace", "purging"):
        name = f"hindsight_integrations.namespaces.{module}.utc_now"
        monkeypatch.setattr(name, lambda: datetime.now(UTC) + 1.01 * DAY)


def test_when_the_time_is_over_it_is_deleted_and_its_document_with_it(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.retain("b", f"{BEES}\n\nBen keeps goats.", document_id="d")
    memory.retain(
        "b", "Cid keeps cats in Faro.\n\nThe library opens at nine on Mondays.", document_id="e"
    )
    cats = memory.memories.list("b", text="cats").items[0]
    for document in ("d", "e"):
        assert len(memory.forget("b", document_id=document, after=DAY)) == 2
    memory.memories.restore("b", cats.id)
    assert memory.documents.get("b", "d")
    a_day_passes(monkeypatch)
    (bees,) = memory.memories.list("b", text="bees", state="any").items
    with pytest.raises(MemoryNotFoundError, match="could be restored until"):
        memory.memories.restore("b", bees.id)
    assert memory.maintenance.purge("b") == 3
    assert [m.text for m in memory.memories.list("b", state="any").items] == [cats.text]
    assert memory.memories.history("b", bees.id) == []
    assert [each.id for each in memory.documents.list("b").items] == ["e"]


def test_a_document_retained_again_within_its_time_is_stored_anew_and_stays(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{BEES}\n\nBen keeps goats."
    memory.retain("b", BEES, document_id="other")  # the same statement, which stays
    first = memory.retain("b", text, document_id="d").stored
    memory.forget("b", document_id="d", after=DAY)
    again = memory.retain("b", text, document_id="d")
    assert {m.text for m in again.stored} == {m.text for m in first}
    assert {s.reason for s in again.skipped} <= {SkipReason.REPEATED}
    with pytest.raises(MemoryNotFoundError):  # what was hidden has been replaced
        memory.memories.get("b", first[0].id)
    a_day_passes(monkeypatch)
    assert memory.maintenance.purge("b") == 0
    assert {BEES, "Ben keeps goats."} == {m.text for m in memory.memories.list("b").items}
    assert memory.documents.get("b", "d")
    assert memory.retain("b", text, document_id="d").skipped[0].reason is SkipReason.UNCHANGED


def test_a_conversation_goes_on_while_its_forgotten_turns_wait(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [("Ada", BEES), ("Ben", "I keep goats in Braga."), ("Ada", "My sister sails in Faro.")]
    messages = [Message(speaker, said) for speaker, said in turns]
    memory.retain_messages("b", messages[:2], session="s")
    memory.forget("b", document_id="s", after=DAY)
    memory.retain_messages("b", messages[1:], session="s")
    goats, sister = memory.memories.list("b").items
    assert ("goats" in goats.text, "sails" in sister.text) == (True, True)
    (bees,) = memory.memories.list("b", state="any", text="bees").items
    assert memory.memories.restore("b", bees.id).sources[0].position < sister.sources[0].position
    memory.forget("b", document_id="s", after=DAY)
    memory.memories.restore("b", sister.id)
    a_day_passes(monkeypatch)
    assert memory.maintenance.purge("b") == 2
    assert [m.id for m in memory.memories.list("b", state="any").items] == [sister.id]


@pytest.mark.parametrize("after", [timedelta(0), -DAY, 7, "a day", timedelta.max])
def test_no_span_of_time_is_refused(memory: Hindsight, after: object) -> None:
    (bees,) = memory.retain("b", BEES).stored
    with pytest.raises(InvalidInputError, match="timedelta"):
        memory.forget("b", bees.id, after=after)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_pinned_observation_does_not_keep_it_and_no_word_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(purge_interval=0, consolidate=False)
    with Hindsight(folder, settings=settings) as memory:
        (one,) = memory.retain("b", "Ada keeps a wombat in Quokkaville.").stored
        memory.retain("b", "Ada feeds her wombat in Quokkaville daily.")
        memory.consolidate("b")
        for observation in memory.memories.list("b", types=["observation"]).items:
            memory.memories.update("b", observation.id, pinned=True)
        ids = [m.id for m in memory.memories.list("b", state="any").items]
        assert len(memory.forget("b", ids, after=DAY)) == len(ids)
        a_day_passes(monkeypatch)
        assert memory.maintenance.purge("b") == len(ids)
        assert memory.memories.history("b", one.id) == []
    for file in folder.rglob("*"):
        assert file.is_dir() or b"quokka" not in file.read_bytes().lower(), file


@pytest.mark.slow
def test_the_command_forgets_for_a_time(folder: Path) -> None:
    with Hindsight(folder) as memory:
        (bees,) = memory.retain("default", BEES).stored
    shared = ["--path", str(folder), "--json"]
    command = ["memories", "forget", bees.id, "--undo-for", "3", *shared]
    assert "until" in json.loads(CliRunner().invoke(app, command).stdout)
    assert CliRunner().invoke(app, ["recall", QUESTION, *shared]).exit_code == 3
    assert CliRunner().invoke(app, ["memories", "restore", bees.id, *shared]).exit_code == 0
    assert CliRunner().invoke(app, ["recall", QUESTION, *shared]).exit_code == 0
