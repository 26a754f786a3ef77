"""Retaining a memory under an id that the bank has: it is replaced, as by a correction."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import ConflictError, Hindsight, Memory, Settings, SkipReason

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

SAID = datetime(2025, 3, 1, tzinfo=UTC)
LIVES = Memory(
    "crm-1", "b", "Dana lives in Turin.", entities=("Dana", "Turin"), tags=("crm",),
    metadata={"v": 1}, mentioned_at=SAID,
)  # fmt: skip


def test_the_new_content_is_found_and_the_old_is_in_the_history(engine: Hindsight) -> None:
    engine.retain_memory("b", LIVES)
    moved = replace(
        LIVES, text="Dana lives in Lyon.", entities=("Dana", "Lyon"), metadata={"v": 2},
        mentioned_at=SAID + timedelta(days=9),
    )  # fmt: skip
    result = engine.retain_memory("b", moved)
    assert (result.ids, result.replaced, result.skipped) == (("crm-1",), ("crm-1",), ())
    assert len(engine.memories.list("b").items) == 1
    found = engine.memories.get("b", "crm-1")
    assert (found.text, found.entities, found.metadata) == (moved.text, ("Dana", "Lyon"), {"v": 2})
    assert found.mentioned_at == moved.mentioned_at
    assert [hit.text for hit in engine.recall("b", "Where does Dana live?")] == [moved.text]
    assert not engine.recall("b", "Turin?", arms=["keyword"], entities=["Dana"], tags=["none"])
    fields = {c.field: (c.old, c.new) for c in engine.memories.history("b", "crm-1")}
    assert fields["text"] == (LIVES.text, moved.text)
    assert {"entities", "metadata", "mentioned_at"} <= set(fields)
    assert engine.maintenance.doctor().findings == ()


def test_the_same_again_is_skipped_whenever_it_was_said(engine: Hindsight) -> None:
    engine.retain_memory("b", LIVES)
    for again in (LIVES, replace(LIVES, mentioned_at=SAID + timedelta(days=1))):
        result = engine.retain_memory("b", again)
        assert result.skipped[0].reason is SkipReason.UNCHANGED
        assert not result.stored
    assert engine.memories.history("b", "crm-1") == []


def test_another_vector_alone_replaces(engine: Hindsight) -> None:
    engine.retain_memory("b", LIVES)
    vector = [1.0] + [0.0] * 383
    assert engine.retain_memory("b", LIVES, vector=vector).replaced == ("crm-1",)
    assert engine.retain_memory("b", LIVES, vector=vector).skipped
    (hit,) = engine.recall("b", "", query_vector=vector)
    assert hit.arms[0].score == pytest.approx(1.0, abs=1e-4)


def test_what_is_invalid_stays_so(engine: Hindsight) -> None:
    engine.retain_memory("b", LIVES)
    engine.memories.invalidate("b", "crm-1", "a mix-up")
    engine.retain_memory("b", replace(LIVES, text="Dana lives in Lyon."))
    assert engine.memories.get("b", "crm-1").invalidated_because == "a mix-up"
    assert not engine.recall("b", "Where does Dana live?")
    engine.memories.restore("b", "crm-1")
    assert engine.recall("b", "Where does Dana live?")


def test_conclusions_that_quote_it_are_rewritten_as_after_a_correction(engine: Hindsight) -> None:
    corrected = {}
    for bank in ("by upsert", "by update"):
        for number, what in enumerate(("boats", "a legend", "more light")):
            said = SAID + timedelta(days=number * 20)
            text = f"The seat map needs {what}."
            engine.retain_memory(bank, Memory(f"m{number}", bank, text, mentioned_at=said))
        engine.observations.add(bank, "The map is late.", sources=["m0", "m1"])
        engine.consolidate(bank)
        assert "legend" in engine.context(bank, "What does the seat map need?").text
        text = "The seat map needs no more."
        if bank == "by upsert":
            said = SAID + timedelta(days=20)
            engine.retain_memory(bank, Memory("m1", bank, text, mentioned_at=said))
        else:
            engine.memories.update(bank, "m1", text=text)
        corrected[bank] = [
            (o.text, [(e.memory_id, e.quote) for e in o.evidence])
            for o in engine.observations.list(bank).items
        ]
        assert not any("legend" in text for text, _ in corrected[bank])
    assert corrected["by upsert"] == corrected["by update"]


def test_what_the_engine_drew_is_not_replaced() -> None:
    with Hindsight.in_memory(settings=Settings(consolidation_delay=0.0)) as memory:
        for day, what in enumerate(("boats", "a legend", "more light")):
            said = SAID + timedelta(days=20 * day)
            text = f"The seat map needs {what}."
            memory.retain_memory("b", Memory(f"m{day}", "b", text, mentioned_at=said))
        assert memory.wait_idle(60)
        drawn = [o.id for o in memory.observations.list("b").items]
        for id in drawn:
            with pytest.raises(ConflictError, match="another"):
                memory.retain_memory("b", Memory(id, "b", "Something else."))
