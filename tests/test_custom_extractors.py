"""Extractors of callers: functions, asynchronous ones and objects, and the facts they give."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from hindsight_integrations import (
    Entity,
    ExtractionError,
    Fact,
    Hindsight,
    InvalidInputError,
    Mention,
    Message,
    Passage,
    Settings,
    SkipReason,
    TimeSpan,
)
from hindsight_integrations.stores.base import VECTOR

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

QUIET = Settings(consolidate=False)


def sentences(passage: Passage) -> list[Fact]:
    return [Fact(part.strip() + ".") for part in passage.text.split(".") if part.strip()]


def opened(extractor: object) -> Hindsight:
    return Hindsight.in_memory(extractor=extractor, settings=QUIET)


def stored(memory: Hindsight, bank: str = "b") -> list[str]:
    return [each.text for each in memory.memories.list(bank).items]


# Kinds of extractors


async def slowly(passage: Passage) -> list[Fact]:
    await asyncio.sleep(0)
    return sentences(passage)


class WithoutId:
    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        return [sentences(passage) for passage in passages]


class Asynchronous:
    id = "asynchronous"

    async def extract(
        self, passages: Sequence[Passage], known: Mapping[str, Entity]
    ) -> list[list[Fact]]:
        return list(await asyncio.gather(*map(slowly, passages)))


KINDS: Sequence[object] = (sentences, slowly, WithoutId(), Asynchronous(), lambda p: [p.text])


@pytest.mark.parametrize("extractor", KINDS)
def test_functions_and_objects_extract_asynchronous_or_not(extractor: object) -> None:
    with opened(extractor) as memory:
        memory.retain("b", "Marta keeps bees.")
        result = memory.retain_many("b", ["The hive is by the lake.", "It is green."])
        assert not result.failed
        assert stored(memory) == ["Marta keeps bees.", "The hive is by the lake.", "It is green."]
        assert memory.retain("b", "It rained.", document_id="d").ids
        again = memory.retain("b", "It rained.", document_id="d")
        assert again.skipped[0].reason is SkipReason.UNCHANGED


@pytest.mark.parametrize("extractor", [slowly, Asynchronous()])
async def test_an_asynchronous_extractor_works_inside_a_running_loop(extractor: object) -> None:
    with opened(extractor) as memory:
        memory.retain("b", "Marta keeps bees.")
        await memory.aretain("b", "The hive is by the lake.")
        assert stored(memory) == ["Marta keeps bees.", "The hive is by the lake."]


@pytest.mark.parametrize("extractor", [3, "text", WithoutId, object()])
def test_what_is_no_extractor_is_refused(extractor: object) -> None:
    with pytest.raises(InvalidInputError, match="extractor"):
        opened(extractor)


def test_an_extractor_is_told_the_bank_and_the_context() -> None:
    seen: list[Passage] = []

    def note(passage: Passage) -> list[Fact]:
        seen.append(passage)
        return [Fact(passage.text)]

    with opened(note) as memory:
        memory.banks.create("garden", mission="Remember what grows.")
        said = datetime(2025, 5, 1, tzinfo=UTC)
        memory.retain(
            "garden", "The figs are ripe.", context="Diary", document_id="d", timestamp=said
        )
        memory.retain_messages("new", [Message("Ana", "Figs?")], session="s", context="Chat")
        memory.memories.update(
            "garden", memory.memories.list("garden").items[0].id, text="The figs are gone."
        )
    first, second, third = seen
    assert first.bank is not None
    assert (first.bank.id, first.bank.mission) == ("garden", "Remember what grows.")
    assert (first.context, first.document_id, first.mentioned_at) == ("Diary", "d", said)
    assert second.bank is not None
    assert (second.bank.id, second.context, second.document_id) == ("new", "Chat", "s")
    assert third.bank is not None
    assert (third.bank.id, third.text) == ("garden", "The figs are gone.")


# Errors


def failing(error: Exception) -> Callable[[Passage], list[Fact]]:
    def fail(passage: Passage) -> list[Fact]:
        raise error

    return fail


@pytest.mark.parametrize("error", [KeyError("date"), RuntimeError("no network"), TimeoutError()])
def test_an_error_of_an_extractor_is_ours_with_its_cause(error: Exception) -> None:
    with opened(failing(error)) as memory:
        with pytest.raises(ExtractionError, match=type(error).__name__) as raised:
            memory.retain("b", "Marta keeps bees.")
        assert raised.value.__cause__ is error
        assert stored(memory) == []
        result = memory.retain_many("b", ["One.", "Two."])
        assert [type(failure.error) for failure in result.failed] == [ExtractionError] * 2


def test_an_error_of_an_asynchronous_extractor_is_ours() -> None:
    async def fail(passage: Passage) -> list[Fact]:
        await asyncio.sleep(0)
        raise ValueError("no quota")

    with opened(fail) as memory, pytest.raises(ExtractionError, match="no quota") as raised:
        memory.retain("b", "Marta keeps bees.")
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.local
def test_an_error_while_a_memory_is_corrected_is_ours(memory: Hindsight) -> None:
    (id,) = memory.retain("b", "Marta keeps bees.").ids
    memory.configure(extractor=failing(OSError("disk")))
    with pytest.raises(ExtractionError, match="disk"):
        memory.memories.update("b", id, text="Marta keeps goats.")
    assert memory.memories.get("b", id).text == "Marta keeps bees."


@pytest.mark.parametrize("answer", [None, "Marta keeps bees.", 3, {"text": "Marta"}])
def test_no_list_of_facts_is_a_failure_and_not_an_empty_one(answer: Any) -> None:
    with opened(lambda passage: answer) as memory, pytest.raises(ExtractionError):
        memory.retain("b", "Marta keeps bees.")


# Facts


GOOD = Fact("Marta keeps bees.")
BAD: Mapping[str, tuple[object, str]] = {
    "empty": (Fact("  "), "blank"),
    "nothing": (Fact(""), "blank"),
    "sure sevenfold": (Fact("Bees swarm.", confidence=7), "confidence is 7"),
    "unsure": (Fact("Bees swarm.", confidence=float("nan")), "confidence"),
    "short vector": (Fact("Bees swarm.", vector=[1.0, 2.0]), "384"),
    "broken vector": (Fact("Bees swarm.", vector=[float("nan")] * 384), "NaN"),
    "worded vector": (Fact("Bees swarm.", vector=["a"] * 384), "numbers"),  # type: ignore[list-item]
    "none": (None, "a fact is None"),
    "number": (42, "a fact is 42"),
    "object": (SimpleNamespace(text="Bees swarm."), "a fact is namespace("),
    "unknown field": ({"text": "Bees swarm.", "mood": 1}, "mood"),
    "no text": ({"type": "world"}, "text"),
    "text of bytes": (Fact(b"Bees."), "b'Bees.'"),  # type: ignore[arg-type]
    "type": (Fact("Bees swarm.", type="rumour"), "rumour"),  # type: ignore[arg-type]
    "time": (Fact("Bees swarm.", occurred=("May",)), "May"),  # type: ignore[arg-type]
    "mention": (Fact("Bees swarm.", mentions=(3,)), "mention"),  # type: ignore[arg-type]
    "nested metadata": (Fact("Bees swarm.", metadata={"a": {"b": 1}}), "metadata"),
    "id": (Fact("Bees swarm.", id=""), "id"),
    "cause": (Fact("Bees swarm.", causes=("x",)), "cause"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_fact_is_skipped_and_counted_and_the_others_are_stored(name: str) -> None:
    bad, reason = BAD[name]
    with opened(lambda passage: [bad, GOOD]) as memory:
        result = memory.retain("b", "Marta keeps bees.")
        assert stored(memory) == [GOOD.text]
        (skipped,) = result.skipped
        assert skipped.reason is SkipReason.INVALID
        assert reason in (skipped.detail or "")
        assert "skipped=1" in repr(result)


def test_if_no_fact_can_be_used_that_is_told_and_nothing_else() -> None:
    with opened(lambda passage: [Fact(""), None]) as memory:
        result = memory.retain("b", "Marta keeps bees.")
        assert [skip.reason for skip in result.skipped] == [SkipReason.INVALID] * 2
        assert not result.stored


def test_causes_follow_the_facts_that_are_left() -> None:
    facts = [Fact(""), Fact("It rained."), Fact("The bees stayed in.", causes=(0, 1))]
    with opened(lambda passage: facts) as memory:
        rained, stayed = memory.retain("b", "It rained, so the bees stayed in.").ids
        stats = memory.banks.stats("b")
        assert stats.links.get("causal") == 1  # type: ignore[call-overload]
        assert rained != stayed


def test_mappings_and_texts_are_facts() -> None:
    span = TimeSpan(datetime(2025, 5, 1), datetime(2025, 5, 2))
    given = [
        "Marta keeps bees.",
        {
            "text": "The hive swarmed.",
            "type": "experience",
            "mentions": ["Hive Nine", Mention("Marta", "person")],
            "occurred": [span, (datetime(2025, 6, 1), datetime(2025, 6, 2))],
            "confidence": 0.5,
        },
    ]
    with opened(lambda passage: given) as memory:
        memory.retain("b", "Marta keeps bees. The hive swarmed.")
        plain, full = memory.memories.list("b").items
        assert plain.text == "Marta keeps bees."
        assert (full.type, full.confidence) == ("experience", 0.5)
        assert full.entities == ("Hive Nine", "Marta")
        assert len(full.occurred) == 2


def test_a_fact_may_carry_id_vector_and_metadata(engine: Hindsight) -> None:
    vector = [0.0] * 383 + [2.0]
    fact = Fact("Marta keeps bees.", id="crm-7", vector=vector, metadata={"source": "crm", "n": 1})
    engine.configure(extractor=lambda passage: [fact])
    result = engine.retain("b", "Marta, bees.", metadata={"n": 0, "of": "import"})
    assert result.ids == ("crm-7",)
    found = engine.memories.get("b", "crm-7")
    assert found.metadata == {"source": "crm", "n": 1, "of": "import"}
    kept = engine.graph_store.read("b", VECTOR, ["crm-7"])["crm-7"]
    assert kept[-1] == pytest.approx(1.0)
    hits = engine.recall("b", "", query_vector=vector, arms=["semantic"])
    assert hits[0].arms[0].score == pytest.approx(1.0, abs=1e-4)


# Facts and memories of ids of the caller


def by_line(passage: Passage) -> list[Fact]:
    """Lines "id: text"."""
    pairs = (line.split(": ", 1) for line in passage.text.splitlines())
    return [Fact(text, id=id) for id, text in pairs]


@pytest.mark.parametrize("document", [None, "d"])
def test_a_fact_of_the_same_id_replaces_and_keeps_history_and_validity(
    engine: Hindsight, document: str | None
) -> None:
    engine.configure(extractor=by_line)
    engine.retain("b", "t1: The ticket is open.", document_id=document)
    first = engine.memories.get("b", "t1")
    engine.memories.update("b", "t1", tags=["triaged"], reason="seen")
    result = engine.retain("b", "t1: The ticket is closed.", document_id=document)
    assert result.ids == ("t1",)
    found = engine.memories.get("b", "t1")
    assert found.text == "The ticket is closed."
    assert found.created_at == first.created_at
    history = [(c.action, c.field, c.old) for c in engine.memories.history("b", "t1")]
    assert ("update", "tags", "") in history
    assert ("replace", "text", "The ticket is open.") in history
    assert [hit.text for hit in engine.recall("b", "ticket")] == ["The ticket is closed."]
    engine.memories.invalidate("b", "t1", "wrong")
    engine.retain("b", "t1: The ticket is reopened.", document_id=document)
    assert engine.memories.get("b", "t1").invalidated_because == "wrong"
    assert not engine.recall("b", "ticket")
    engine.memories.restore("b", "t1")
    assert [hit.text for hit in engine.recall("b", "ticket")] == ["The ticket is reopened."]
    assert engine.maintenance.doctor().findings == ()


def test_a_fact_of_the_same_id_and_text_is_one_source_more(engine: Hindsight) -> None:
    engine.configure(extractor=by_line)
    for _ in range(2):
        result = engine.retain("b", "t1: The ticket is open.")
    assert result.skipped[0].reason is SkipReason.REPEATED
    assert engine.memories.get("b", "t1").proof_count == 2


def test_facts_of_other_ids_are_never_one(engine: Hindsight) -> None:
    engine.configure(extractor=by_line)
    engine.retain("b", "t1: The ticket is open.\nt2: The ticket is open.")
    assert {m.id for m in engine.memories.list("b").items} == {"t1", "t2"}


def test_two_facts_of_one_id_in_one_retain_are_one_and_a_reason(engine: Hindsight) -> None:
    engine.configure(extractor=by_line)
    result = engine.retain("b", "t1: The ticket is open.\nt1: The ticket is blue.")
    assert result.ids == ("t1",)
    assert result.skipped[0].reason is SkipReason.INVALID
    assert "'t1'" in (result.skipped[0].detail or "")


def test_a_fact_does_not_replace_a_conclusion(engine: Hindsight) -> None:
    ids = engine.retain("b", "Marta keeps bees.").ids
    drawn = engine.observations.add("b", "Marta likes insects.", sources=ids)
    engine.configure(extractor=lambda passage: [Fact("Marta left.", id=drawn.id)])
    result = engine.retain("b", "Marta left.")
    assert result.skipped[0].reason is SkipReason.INVALID
    assert engine.memories.get("b", drawn.id).text == "Marta likes insects."
