"""Memories expire by the rules of their bank, pinned ones never, and the expired are deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_integrations import (
    EmbedderMismatchError,
    Expiry,
    Hindsight,
    InvalidInputError,
    Memory,
    MemoryType,
    Message,
    Settings,
)
from hindsight_integrations.models import utc_now
from hindsight_integrations.stores.base import EVERYTHING

from .embedders import Letters
from .engines import empty_neo4j, engine, neo4j_address
from .waiting import until

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
RULES = Expiry(7 * DAY, types={"opinion": 2 * DAY}, tags={"chat": HOUR, "brief": DAY, "law": None})


def texts(engine: Hindsight, **options: object) -> list[str]:
    return sorted(m.text for m in engine.memories.list("b", **options).items)  # type: ignore[arg-type]


def lifetime(memory: Memory) -> timedelta | None:
    return memory.expires_at and memory.expires_at - memory.created_at


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 7 * DAY),
        ({"type": "opinion"}, 2 * DAY),
        ({"type": "opinion", "tags": ["brief", "other"]}, DAY),
        ({"tags": ["brief", "chat", "law"]}, HOUR),
        ({"tags": ["law"]}, None),
    ],
)
def test_the_narrowest_rule_says_how_long_a_memory_lives(
    engine: Hindsight, fields: dict[str, object], expected: timedelta | None
) -> None:
    engine.banks.create("b", expiry=RULES)
    (stored,) = engine.retain("b", "Ann rowed to Bergen.", **fields).stored  # type: ignore[arg-type]
    assert lifetime(stored) == expected
    given = Memory("m", "b", "Bo sold the cello.", MemoryType(str(fields.get("type", "world"))))
    (ready,) = engine.retain_memory("b", given).stored
    assert lifetime(ready) == (2 * DAY if "type" in fields else 7 * DAY)
    assert engine.memories.get("b", "m") == ready
    retagged = engine.memories.update("b", "m", tags=fields.get("tags", []))  # type: ignore[arg-type]
    assert lifetime(retagged) == expected


def test_an_expiry_of_its_own_stands_above_the_rules(engine: Hindsight) -> None:
    engine.banks.create("b", expiry=RULES)
    end = utc_now() + 900 * DAY
    (stored,) = engine.retain("b", "The lease ends in 2031.", expires_at=end).stored
    engine.banks.update("b", expiry=Expiry(HOUR))
    assert engine.memories.update("b", stored.id, tags=["chat"]).expires_at == end
    earlier = engine.memories.update("b", stored.id, expires_at=end - DAY)
    assert earlier.expires_at == end - DAY
    assert [c.field for c in engine.memories.history("b", stored.id)] == ["tags", "expires_at"]


def test_new_rules_count_for_what_is_stored(engine: Hindsight) -> None:
    (kept,) = engine.retain("b", "Ann rowed to Bergen.", tags=["law"]).stored
    (brief,) = engine.retain("b", "Ann rowed to Bergen again.", tags=["chat"]).stored
    engine.consolidate("b")
    conclusions = engine.observations.list("b").items
    bank = engine.banks.update("b", expiry=Expiry(tags={"chat": DAY}))
    assert engine.banks.get("b").expiry == bank.expiry
    assert engine.memories.get("b", kept.id).expires_at is None
    assert lifetime(engine.memories.get("b", brief.id)) == DAY
    assert engine.graph_store.pending_consolidation("b", 9) == []
    for conclusion in conclusions:  # it expires with the first memory it rests on
        end = engine.memories.get("b", conclusion.id).expires_at
        cited = [piece.memory_id for piece in conclusion.evidence]
        assert end == (brief.created_at + DAY if brief.id in cited else None)
    engine.banks.update("b", expiry=Expiry())
    assert engine.memories.get("b", brief.id).expires_at is None


def test_retaining_an_id_again_does_not_renew_it(engine: Hindsight) -> None:
    engine.banks.create("b", expiry=RULES)
    given = Memory("m", "b", "Bo sold the cello.")
    (first,) = engine.retain_memory("b", given).stored
    assert engine.retain_memory("b", given).skipped
    (other,) = engine.retain_memory("b", Memory("m", "b", "Bo sold the cello and the bow.")).stored
    assert other.expires_at == first.expires_at
    assert "expires_at" not in [c.field for c in engine.memories.history("b", "m")]


def test_what_expired_is_in_no_answer_and_soon_deleted(engine: Hindsight) -> None:
    engine.retain("b", "Ann rowed to Bergen.", tags=["old"], document_id="d")
    engine.retain("b", "Bo sold the cello.")
    (old,) = engine.memories.list("b", tags=["old"]).items
    engine.memories.update("b", old.id, expires_at=utc_now() - DAY)
    assert texts(engine) == ["Bo sold the cello."]
    assert "Ann" not in engine.recall("b", "Who rowed to Bergen?", fill=True).text
    assert "rowed" not in engine.context("b", "Who rowed to Bergen?").text
    assert not engine.reflect("b", "Who rowed to Bergen?")
    assert engine.maintenance.purge("b") == 1
    assert texts(engine, state="any") == ["Bo sold the cello."]
    assert engine.memories.history("b", old.id) == []


def test_an_open_memory_deletes_what_expires_while_it_waits(tmp_path: Path) -> None:
    settings = Settings(consolidate=False, purge_interval=0.05)
    with Hindsight(tmp_path / "m", settings=settings) as memory:
        memory.banks.create("b", expiry=Expiry(timedelta(milliseconds=1)))
        memory.retain("b", "Ann rowed to Bergen.")
        until(lambda: not memory.banks.stats("b").memories, 20)


def test_a_reopened_memory_deletes_what_expired_meanwhile(tmp_path: Path) -> None:
    never, hourly = (Settings(consolidate=False, purge_interval=s) for s in (0, 3600))
    with Hindsight(tmp_path / "m", settings=never) as memory:
        memory.retain("b", "Ann rowed to Bergen.", expires_at=utc_now() - DAY)
        assert memory.banks.stats("b").memories == 1
    with Hindsight(tmp_path / "m", settings=hourly) as memory:
        until(lambda: not memory.banks.stats("b").memories, 20)


def test_a_memory_of_another_embedder_is_forgotten_and_expires(tmp_path: Path) -> None:
    never, often = (Settings(consolidate=False, purge_interval=s) for s in (0, 0.05))
    with Hindsight(tmp_path / "m", settings=never) as memory:
        memory.retain("b", "Ann rowed to Bergen.", expires_at=utc_now() - DAY)
        memory.retain_messages(
            "b",
            [Message("Bo", "Did Ann sell the quokka?"), Message("Ann", "Yes, on Monday.")],
            session="s",
        )
        memory.retain("b", "Ada keeps a wombat in Leeds.", document_id="first")
        memory.retain("b", "Ada feeds her wombat in Leeds daily.")
        memory.retain("b", "Ada walks her wombat in Leeds.")
        memory.consolidate("b")
        derived = memory.memories.list("b", types=["observation"]).items
        assert derived
        assert memory.forget("b", document_id="first", dry_run=True).rewritten
    with Hindsight(tmp_path / "m", settings=often, embedder=Letters()) as memory:
        rowed = replace(EVERYTHING, text="rowed")
        until(lambda: not memory.graph_store.find_ids("b", rowed, 9), 20)
        (asked,) = memory.graph_store.find_ids("b", replace(EVERYTHING, text="quokka"), 9) or ()
        assert asked in memory.forget("b", asked, dry_run=True)
        assert asked in memory.forget("b", asked)
        assert memory.forget("b", document_id="first", after=DAY).until
        with pytest.raises(EmbedderMismatchError):
            memory.recall("b", "Who sold what?")
        assert memory.maintenance.purge("b") == 0
    with Hindsight(tmp_path / "m", settings=never) as memory:
        held = memory.memories.list("b").items
        assert not any(word in each.text for each in held for word in ("keeps", "quokka", "rowed"))
        assert "Ada walks her wombat in Leeds." in [each.text for each in held]
        assert memory.recall("b", "What did Ann do on Monday?", arms=["keyword"])
        assert memory.maintenance.doctor().findings == ()


# Pinning


def test_a_pinned_memory_never_expires(engine: Hindsight) -> None:
    engine.banks.create("b", expiry=RULES)
    (stored,) = engine.retain("b", "Ann is allergic to nuts.").stored
    pinned = engine.memories.update("b", stored.id, pinned=True)
    assert (pinned.pinned, pinned.expires_at) == (True, None)
    engine.banks.update("b", expiry=Expiry(timedelta(microseconds=1)))
    assert texts(engine) == ["Ann is allergic to nuts."]
    assert engine.maintenance.purge("b") == 0
    released = engine.memories.update("b", stored.id, pinned=False)
    assert lifetime(released) == timedelta(microseconds=1)
    with pytest.raises(InvalidInputError, match="never expires"):
        engine.memories.update("b", stored.id, pinned=True, expires_at=utc_now())


def test_a_pinned_memory_is_not_given_an_expiry(engine: Hindsight) -> None:
    (made,) = engine.retain("b", "The boiler is red.", confidence=0.5).stored
    pinned = engine.memories.update("b", made.id, pinned=True)
    with pytest.raises(InvalidInputError, match="a pinned memory never expires"):
        engine.memories.update("b", made.id, expires_at=datetime(2100, 1, 1, tzinfo=UTC))
    assert engine.memories.get("b", made.id) == pinned
    end = datetime(2100, 1, 1, tzinfo=UTC)
    assert engine.memories.update("b", made.id, pinned=False, expires_at=end).expires_at == end


def test_an_expiry_and_a_confidence_are_removed_by_none(engine: Hindsight) -> None:
    end = datetime(2100, 1, 1, tzinfo=UTC)
    (made,) = engine.retain("b", "The boiler is red.", confidence=0.5, expires_at=end).stored
    kept = engine.memories.update("b", made.id, tags=["home"])
    assert (kept.confidence, kept.expires_at) == (0.5, end)
    bare = engine.memories.update("b", made.id, confidence=None, expires_at=None)
    assert (bare.confidence, bare.expires_at) == (None, None)
    engine.banks.update("b", expiry=Expiry(default=timedelta(days=9)))
    engine.memories.update("b", made.id, expires_at=end)
    ruled = engine.memories.update("b", made.id, expires_at=None)
    assert ruled.expires_at == made.created_at + timedelta(days=9)


def test_pinned_memories_come_first_in_recall_and_context_where_asked(engine: Hindsight) -> None:
    fillers = [f"Ship {n} left the harbour of Bergen on day {n}." for n in range(30)]
    engine.retain_many("b", fillers)
    (stored,) = engine.retain("b", "Ann is allergic to nuts.", tags=["health"]).stored
    engine.memories.update("b", stored.id, pinned=True)
    question = "When did ship 7 leave the harbour?"
    first = engine.recall("b", question, pinned=True, max_tokens=60)
    assert first[0].id == stored.id
    assert "Ship 7" in first[1].text
    assert stored.id not in [m.id for m in engine.recall("b", question, max_tokens=60)]
    assert "nuts" in engine.context("b", question, pinned=True, max_tokens=80).text
    assert "nuts" in engine.context("b", "Thanks!", pinned=True).text
    assert "nuts" not in engine.context("b", question, pinned=True, tags=["ships"]).text
    assert "nuts" in engine.recall("b", question, pinned=True, budget="low", arms=["temporal"]).text


def test_a_pinned_memory_is_not_shown_as_a_part_of_an_observation(engine: Hindsight) -> None:
    engine.retain("b", "Alice loves React.", timestamp=datetime(2025, 1, 6))
    engine.retain("b", "Alice switched to Vue.", timestamp=datetime(2025, 3, 9))
    engine.consolidate("b")
    question = "Which framework does Alice use?"
    shown = {m.memory.type for m in engine.recall("b", question, prefer_observations=True)}
    assert shown == {MemoryType.OBSERVATION}
    (fact,) = engine.memories.list("b", text="Vue", types=["world"]).items
    engine.memories.update("b", fact.id, pinned=True)
    ids = [m.id for m in engine.recall("b", question, prefer_observations=True)]
    assert fact.id in ids


def test_a_pinned_observation_is_never_rewritten_by_news(engine: Hindsight) -> None:
    engine.retain("b", "Alice loves React.", timestamp=datetime(2025, 1, 6))
    engine.retain("b", "Alice switched to Vue.", timestamp=datetime(2025, 3, 9))
    engine.consolidate("b")
    before = {o.id: o.text for o in engine.observations.list("b").items}
    assert before
    for id in before:
        engine.memories.update("b", id, pinned=True)
    engine.retain("b", "Alice switched to Svelte.", timestamp=datetime(2025, 6, 9))
    engine.consolidate("b")
    assert {id: engine.memories.get("b", id).text for id in before} == before
    # Its evidence may expire: unseen, it stays.
    for fact in engine.memories.list("b", types=["world"]).items:
        engine.memories.update("b", fact.id, expires_at=utc_now() - DAY)
    engine.maintenance.purge("b")
    assert {id: engine.memories.get("b", id).text for id in before} == before


# Elsewhere


def test_rules_and_pins_travel_with_an_exported_bank(engine: Hindsight, tmp_path: Path) -> None:
    engine.banks.create("b", expiry=RULES)
    (stored,) = engine.retain("b", "Ann is allergic to nuts.").stored
    (pinned,) = engine.retain("b", "Bo sold the cello.").stored
    engine.memories.update("b", pinned.id, pinned=True)
    engine.banks.export("b", tmp_path / "b.jsonl")
    engine.banks.import_(tmp_path / "b.jsonl", "copy")
    assert engine.banks.get("copy").expiry == RULES
    assert engine.memories.get("copy", stored.id).expires_at == stored.expires_at
    assert engine.memories.get("copy", pinned.id).pinned


@pytest.mark.parametrize(
    "rules",
    [
        lambda: Expiry(timedelta(0)),
        lambda: Expiry(3600),  # type: ignore[arg-type]
        lambda: Expiry(types={"fact": DAY}),
        lambda: Expiry(tags=["chat"]),  # type: ignore[arg-type]
    ],
)
def test_rules_that_cannot_hold_are_refused(rules: object) -> None:
    with pytest.raises(InvalidInputError, match="expiry"):
        rules()  # type: ignore[operator]
