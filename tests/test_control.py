"""Memories are listed, searched and forgotten by any filter, as a plain reading of them says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from hindsight_integrations import (
    EntityNotFoundError,
    Hindsight,
    InvalidInputError,
    Memory,
    MemoryType,
    Source,
)
from hindsight_integrations.stores.base import RECORD
from hindsight_integrations.timespan import Precision, TimeSpan

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

START = datetime(2024, 5, 1, tzinfo=UTC)
WORDS = ("Harbour", "harbour", "cello", "BEES", "É", "100%")
PEOPLE = ("Ann", "Bo")
NAMES = ("Dora", "Cleo", "Porto")
TAGS = ("x", "y", "z")


def said(chance: Random, n: int) -> Memory:
    """A memory of arbitrary fields, about a third of them expired."""
    day = START + timedelta(days=chance.randrange(30))
    occurred = (TimeSpan(day, day + timedelta(days=1), Precision.DAY),) if n % 3 else ()
    return Memory(
        id=f"m{n:02}",
        bank_id="b",
        text=f"{n} {chance.choice(WORDS)} {chance.choice(WORDS)}",
        type=chance.choice((MemoryType.WORLD, MemoryType.EXPERIENCE)),
        occurred=occurred,
        mentioned_at=START + timedelta(days=chance.randrange(30), hours=5),
        speaker=chance.choice((*PEOPLE, None)),
        entities=tuple(name for name in NAMES if chance.random() < 0.4),
        tags=tuple(tag for tag in TAGS if chance.random() < 0.4),
        metadata={"k": chance.randrange(4)} if n % 4 else {},
        scope=chance.choice(("s", "t", None)),
        sources=(Source(f"d{n % 5}", mentioned_at=START),),
        expires_at=START if chance.random() < 0.3 else None,
    )


def filled(engine: Hindsight, count: int, chance: Random) -> list[Memory]:
    """Store memories, a third of them invalidated, and return them as stored."""
    engine.retain_memories("b", [said(chance, n) for n in range(count)])
    for n in range(0, count, 3):
        engine.memories.invalidate("b", f"m{n:02}")
    return [engine.memories.get("b", f"m{n:02}") for n in range(count)]


# The oracle


def in_state(memory: Memory, state: str) -> bool:
    """Return True if the memory is in this state; all expiry of these tests is long past."""
    invalid, expired = memory.invalidated_at is not None, memory.expires_at is not None
    by_name = {"any": True, "invalidated": invalid, "expired": expired}
    return by_name.get(state, not invalid and not expired)


def in_window(memory: Memory, window: tuple[datetime, datetime]) -> bool:
    start, end = window
    if not memory.occurred:
        return start <= memory.mentioned_at < end
    return any(span.start < end and span.end > start for span in memory.occurred)


def meets(memory: Memory, where: dict[str, Any]) -> bool:
    if "$or" in where:
        return any(meets(memory, each) for each in where["$or"])
    if "$not" in where:
        return not meets(memory, where["$not"])
    if "speaker" in where:
        return memory.speaker == where["speaker"]
    k = memory.metadata.get("k")
    return isinstance(k, int) and k >= where["k"]["$gte"]


PASSES: dict[str, Callable[[Memory, Any], bool]] = {
    "text": lambda memory, text: text.lower() in memory.text.lower(),
    "speaker": lambda memory, speaker: memory.speaker == speaker,
    "types": lambda memory, types: memory.type in types,
    "where": meets,
    "scope": lambda memory, scope: memory.scope == scope,
    "entities": lambda memory, names: not {*names}.isdisjoint(memory.entities),
    "window": in_window,
    "as_of": lambda memory, time: memory.mentioned_at <= time,
    "state": in_state,
}


def passes(memory: Memory, options: dict[str, Any]) -> bool:
    """Return True if a plain reading of the options admits the memory."""
    given = {"state": "valid"} | options
    if tags := given.pop("tags", ()):
        match = all if given.pop("tags_match", "any") == "all" else any
        if not match(tag in memory.tags for tag in tags):
            return False
    return all(PASSES[name](memory, value) for name, value in given.items())


def some(chance: Random, state: str | None) -> dict[str, Any]:
    """Return one to three options of arbitrary values, and the state."""
    k, speaker = {"k": {"$gte": chance.randrange(4)}}, {"speaker": chance.choice(PEOPLE)}
    opens = START + timedelta(days=chance.randrange(30))
    values: dict[str, Any] = {
        "text": chance.choice((*WORDS, "1", "no such words")),
        "speaker": chance.choice(PEOPLE),
        "types": [chance.choice(("world", "experience"))],
        "tags": chance.sample(TAGS, 2),
        "where": chance.choice((k, speaker, {"$or": [k, speaker]}, {"$not": k})),
        "scope": chance.choice(("s", "t", "u")),
        "entities": chance.sample(NAMES, chance.randint(1, 2)),
        "window": (opens, opens + timedelta(days=chance.randint(1, 9))),
    }
    options = {name: values[name] for name in chance.sample(sorted(values), chance.randint(1, 3))}
    if "tags" in options:
        options["tags_match"] = chance.choice(("any", "all"))
    return options | ({} if state is None else {"state": state})


def all_pages(engine: Hindsight, limit: int, **options: Any) -> Iterator[Memory]:
    cursor = None
    while True:
        page = engine.memories.list("b", limit=limit, cursor=cursor, **options)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


# Listing


def test_a_list_holds_what_a_plain_reading_finds(engine: Hindsight) -> None:
    chance = Random(20)
    stored = filled(engine, 40, chance)
    for _ in range(150):
        options = some(chance, chance.choice((None, "valid", "invalidated", "expired", "any")))
        expected = [memory for memory in stored if passes(memory, options)]
        assert list(all_pages(engine, 7, **options)) == expected, options
        assert engine.memories.list("b", limit=1, **options).total == len(expected)


def test_a_list_of_a_document_at_a_time(engine: Hindsight) -> None:
    stored = filled(engine, 20, Random(1))
    time = START + timedelta(days=15)
    page = engine.memories.list("b", document_id="d2", as_of=time, state="expired", limit=99)
    expected = [
        memory
        for memory in stored
        if memory.document_id == "d2"
        and memory.expires_at is not None
        and (memory.mentioned_at <= time or memory.invalidated_at is not None)
    ]
    assert list(page.items) == expected
    by_entity = engine.memories.list("b", entity="Dora", include_invalid=True, limit=99)
    assert [memory.id for memory in by_entity.items] == [
        memory.id for memory in stored if "Dora" in memory.entities and memory.expires_at is None
    ]


def test_pages_are_stable_while_others_write(engine: Hindsight) -> None:
    engine.retain_memories("b", [Memory(f"m{n:02}", "b", f"Note {n}.") for n in range(30)])
    gone = {"m01", "m13", "m29"}
    seen: list[str] = []
    for n, memory in enumerate(all_pages(engine, 4, text="note")):
        seen.append(memory.id)
        if n == 5:
            engine.forget("b", sorted(gone))
            engine.memories.update("b", "m02", tags=["read"])
            engine.memories.update("b", "m20", tags=["unread"])
            engine.retain_memories("b", [Memory("late", "b", "A late note.")])
    staying = [f"m{n:02}" for n in range(30) if f"m{n:02}" not in gone]
    assert [id for id in seen if id not in gone] == [*staying, "late"]
    assert len(seen) == len({*seen})
    assert "m13" not in seen


def test_what_changed_since_is_listed(engine: Hindsight) -> None:
    engine.retain_memories("b", [Memory(f"m{n}", "b", f"Note {n}.") for n in range(6)])
    engine.memories.invalidate("b", "m5")
    since = engine.memories.invalidate("b", "m4").updated_at
    engine.memories.update("b", "m1", text="Another note.")
    engine.memories.invalidate("b", "m2")
    engine.memories.restore("b", "m5")
    engine.retain_memories("b", [Memory("new", "b", "A new note.")])
    engine.forget("b", "m3")
    listed = engine.memories.list("b", changed_since=since, state="any").items
    assert [memory.id for memory in listed] == ["m1", "m2", "m4", "m5", "new"]
    valid = engine.memories.list("b", changed_since=since.replace(tzinfo=None)).items
    assert [memory.id for memory in valid] == ["m1", "m5", "new"]
    assert [memory.id for memory in listed if memory.created_at >= since] == ["new"]
    later = engine.memories.get("b", "new").updated_at + timedelta(microseconds=1)
    assert engine.memories.list("b", changed_since=later, state="any").total == 0


# Forgetting


def test_forgetting_takes_what_the_dry_run_lists_and_nothing_else(engine: Hindsight) -> None:
    chance = Random(7)
    stored = filled(engine, 40, chance)
    while stored:
        options = some(chance, chance.choice((None, "valid", "invalidated", "expired", "any")))
        named = {name for memory in stored for name in memory.entities}
        if not named.issuperset(options.get("entities", ())):
            with pytest.raises(EntityNotFoundError):
                engine.forget("b", **options)
            continue
        expected = [memory for memory in stored if passes(memory, {"state": "any"} | options)]
        told = engine.forget("b", dry_run=True, **options)
        assert (told.dry_run, list(told.memories)) == (True, expected), options
        assert [*engine.memories.list("b", state="any", limit=99).items] == stored
        gone = engine.forget("b", **options)
        assert {*gone} == {*told} == {memory.id for memory in expected}
        assert (gone.dry_run, gone.memories) == (False, ())
        stored = [memory for memory in stored if memory not in expected]
        assert [*engine.memories.list("b", state="any", limit=99).items] == stored


def concluded(id: str, *cited: str) -> Memory:
    sources = tuple(Source(memory_id=other) for other in cited)
    return Memory(id, "b", f"Conclusion {id}.", MemoryType.OBSERVATION, sources=sources)


def test_a_dry_run_lists_what_was_derived_from_it(engine: Hindsight) -> None:
    facts = [Memory("one", "b", "One.", tags=("t",)), Memory("two", "b", "Two.")]
    engine.retain_memories("b", facts)
    for each in (concluded("from one", "one"), concluded("from both", "one", "two")):
        engine.retain_memory("b", each)
    engine.retain_memory("b", concluded("from a conclusion", "from one"))
    told = engine.forget("b", tags=["t"], dry_run=True)
    assert [memory.id for memory in told.memories] == ["one"]
    assert {memory.id for memory in told.derived} == {"from one", "from a conclusion"}
    assert [memory.id for memory in told.rewritten] == ["from both"]
    assert engine.memories.list("b").total == 5
    assert {*engine.forget("b", tags=["t"])} == {*told}
    assert [s.memory_id for s in engine.memories.get("b", "from both").sources] == ["two"]


def test_a_dry_run_tells_of_observations_and_mental_models(memory: Hindsight) -> None:
    memory.retain("b", "Alice loves React.", timestamp=START)
    memory.retain("b", "Alice switched to Vue.", timestamp=START + timedelta(days=60))
    memory.consolidate("b")
    (drawn,) = memory.memories.list("b", types=["observation"]).items
    model = memory.mental_models.create("b", "Alice", source_query="What does Alice use?")
    facts: dict[str, Any] = {"entities": ["Alice"], "types": ["world", "experience"]}
    told = memory.forget("b", dry_run=True, **facts)
    assert told.derived == (drawn,)
    assert told.mental_models == (model.id,)
    assert {*memory.forget("b", **facts)} == {*told}
    assert memory.memories.list("b", state="any").total == 0
    assert "React" not in memory.mental_models.get("b", model.id).text


def test_a_session_and_a_document_are_forgotten_with_their_text(engine: Hindsight) -> None:
    talk = [{"speaker": "Ann", "text": "The boat leaves at nine."}]
    engine.retain_messages("b", talk, session="monday")
    engine.retain("b", "The cello is in the attic.", document_id="d")
    told = engine.forget("b", document_id="monday", dry_run=True)
    assert [memory.text for memory in told.memories] == ["The boat leaves at nine."]
    assert [document.id for document in engine.documents.list("b").items] == ["d", "monday"]
    assert engine.forget("b", document_id="monday") == told
    assert [document.id for document in engine.documents.list("b").items] == ["d"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "nothing to forget"),
        ({"tags": [], "where": {}, "entities": []}, "nothing to forget"),
        ({"state": "any"}, "nothing to forget"),
        ({"state": "valid"}, "nothing to forget"),
        ({"as_of": START + timedelta(days=99_999)}, "nothing to forget"),
        ({"as_of": START, "state": "invalidated"}, "nothing to forget"),
        ({"types": ["world", "experience", "opinion", "observation"]}, "nothing to forget"),
        ({"where": {"user": {"$nin": []}}}, "nothing to forget"),
        ({"where": {"$not": {"user": {"$in": []}}}}, "nothing to forget"),
        ({"ids": ["m00"], "dry_run": None}, "dry_run is None; give True or False"),
        ({"where": {"$and": [{}, {"$or": [{}]}]}}, "nothing to forget"),
        ({"text": " "}, "blank"),
        ({"state": "lost"}, "choose from valid"),
        ({"ids": ["m00"], "tags": ["x"]}, "with a filter"),
        ({"document_id": "d0", "speaker": "Ann"}, "with a filter"),
        ({"entities": "Dora"}, "a list"),
        ({"where": {"k": {"$like": 1}}}, "operators"),
    ],
)
def test_what_would_forget_too_much_is_refused(
    memory: Hindsight, options: dict[str, Any], says: str
) -> None:
    memory.retain_memories("b", [Memory("m00", "b", "Dora sails.", entities=("Dora",))])
    with pytest.raises(InvalidInputError, match=says):
        memory.forget("b", **options)
    assert memory.memories.list("b").total == 1


def test_both_have_asynchronous_variants(memory: Hindsight) -> None:
    memory.retain("b", "Dora sails.", tags=["t"])

    async def run() -> None:
        (listed,) = (await memory.memories.alist("b", text="SAILS")).items
        assert await memory.aforget("b", tags=["t"], dry_run=True) == (listed.id,)
        assert await memory.aforget("b", tags=["t"]) == (listed.id,)

    asyncio.run(run())


# Correcting


def test_times_entities_and_speaker_are_corrected_and_found_by(engine: Hindsight) -> None:
    said = datetime(2024, 5, 8, 9, tzinfo=UTC)
    id = engine.retain_messages(
        "b", [{"speaker": "Ann", "text": "Dora sailed to Porto yesterday.", "timestamp": said}]
    ).ids[0]
    old = engine.memories.get("b", id)
    assert {"Dora", "Porto"} <= {*old.entities}
    moved = engine.memories.update("b", id, mentioned_at=said + timedelta(days=30))
    assert moved.occurred_start == datetime(2024, 6, 6, tzinfo=UTC)
    assert moved.entities == old.entities
    march = (datetime(2023, 3, 1, tzinfo=UTC), datetime(2023, 4, 1, tzinfo=UTC))
    new = engine.memories.update(
        "b", id, occurred=[march], entities=["Cleo", "Porto"], speaker="Bo", reason="Misheard."
    )
    assert (new.occurred, new.entities, new.speaker) == (
        (TimeSpan(*march),),
        ("Cleo", "Porto"),
        "Bo",
    )
    assert engine.memories.get("b", id) == new
    for options in ({"window": march}, {"entities": ["Cleo"]}, {"speaker": "Bo"}):
        assert [m.id for m in engine.memories.list("b", **options).items] == [id]
    assert engine.memories.list("b", speaker="Ann").total == 0
    with pytest.raises(EntityNotFoundError):
        engine.entities.get("b", "Dora")
    assert [item.memory.id for item in engine.recall("b", "Cleo", arms=["entity"])] == [id]
    changes = engine.memories.history("b", id)
    assert {c.field for c in changes} == {"mentioned_at", "occurred", "entities", "speaker"}
    assert {c.reason for c in changes if c.field == "speaker"} == {"Misheard."}


def test_what_was_not_found_in_the_text_outlasts_a_new_speaker(engine: Hindsight) -> None:
    day = TimeSpan(START, START + timedelta(days=1), Precision.DAY)
    given = Memory("m", "b", "It rained.", occurred=(day,), entities=("Porto",), speaker="Ann")
    engine.retain_memory("b", given)
    before = engine.graph_store.read("b", RECORD, ["m"])["m"]
    engine.memories.update("b", "m", speaker="Bo")
    after = engine.graph_store.read("b", RECORD, ["m"])["m"]
    assert (after.memory.occurred, after.memory.entities) == ((day,), ("Porto",))
    assert after.fingerprint != before.fingerprint
    assert "bo" in after.lexemes
    engine.memories.update("b", "m", speaker="", entities=[], occurred=[])
    bare = engine.memories.get("b", "m")
    assert (bare.speaker, bare.entities, bare.occurred) == (None, (), ())
