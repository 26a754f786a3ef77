"""A bank goes into a file and comes out of it: nothing is lost on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations import (
    Bank,
    Entity,
    Hindsight,
    Memory,
    MemoryType,
    Precision,
    Source,
    TimeSpan,
)
from hindsight_integrations.models import Chunk, Document, Link, LinkKind, MentalModel
from hindsight_integrations.nlp.late_interaction import DIMENSION
from hindsight_integrations.stores.base import ChangeSet, MemoryRecord
from tests.stores.neo4j_server import Address, empty_neo4j, neo4j_address

from .banks import QUESTIONS, RESTING, SAID, all_of, everything, export, import_

TOKEN_BYTES = 2 + DIMENSION // 2
"""A compressed token vector: its id, and half a byte a number."""


__all__ = ["empty_neo4j", "neo4j_address"]


def answers(memory: Hindsight, bank: str) -> list[list[str]]:
    return [[found.id for found in memory.recall(bank, question)] for question in QUESTIONS]


# There and back


def test_a_bank_goes_to_another_memory_and_back_without_a_byte_changed(
    home: Hindsight, whole: Path, folder: Path, tmp_path: Path
) -> None:
    with Hindsight(folder, settings=RESTING) as other:
        import_(other, whole)
        assert everything(other, "alice") == everything(home, "alice")
        export(other, "alice", tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_a_bank_goes_to_a_server_and_back_without_a_byte_changed(
    home: Hindsight, whole: Path, empty_neo4j: Address, tmp_path: Path
) -> None:
    away = empty_neo4j.graph()
    with Hindsight(tmp_path / "vectors", graph=away, settings=RESTING) as server:
        import_(server, whole)
        assert everything(server, "alice") == everything(home, "alice")
        assert server.maintenance.doctor().findings == ()
        export(server, "alice", tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == whole.read_bytes()
    import_(home, tmp_path / "back.jsonl", "back")
    assert everything(home, "back") == everything(home, "alice")
    home.banks.delete("back")


def test_every_part_is_there_to_be_compared(home: Hindsight, whole: Path) -> None:
    assert all(everything(home, "alice").values())
    kinds = {next(iter(json.loads(line))) for line in whole.read_bytes().splitlines()}
    assert kinds == {
        "hindsight-bank", "document", "chunk", "entity", "edited", "memory", "evidence",
        "waiting", "link", "change", "audit", "model", "end",
    }  # fmt: skip


@pytest.mark.local
def test_under_another_id_only_the_bank_has_another_name(
    home: Hindsight, memory: Hindsight, whole: Path, tmp_path: Path
) -> None:
    result = import_(memory, whole, "eve 😀")
    assert result.bank_id == "eve 😀"
    assert [bank.id for bank in memory.banks.list()] == ["eve 😀"]
    assert everything(memory, "eve 😀") == everything(home, "alice")
    export(memory, "eve 😀", tmp_path / "eve.jsonl")
    before, after = (path.read_bytes().splitlines() for path in (whole, tmp_path / "eve.jsonl"))
    assert before[1:-1] == after[1:-1]


def test_recall_answers_as_before(home: Hindsight, memory: Hindsight, whole: Path) -> None:
    import_(memory, whole)
    assert all(answers(home, "alice"))
    assert answers(memory, "alice") == answers(home, "alice")


def test_an_imported_bank_is_sound_and_goes_on_as_it_would_have(
    memory: Hindsight, whole: Path
) -> None:
    import_(memory, whole)
    assert memory.maintenance.doctor().findings == ()
    assert memory.banks.stats("alice").pending_vectors == 0
    again = memory.retain("alice", "The ferry is blue.", document_id="b", timestamp=SAID)
    assert (again.stored, [skip.reason for skip in again.skipped]) == ((), ["unchanged"])
    (invalid,) = [m for m in all_of(memory, "alice") if m.invalidated_at]
    assert memory.memories.restore("alice", invalid.id).invalidated_at is None
    assert memory.entities.get("alice", "GS").name == "Ghost Ship"
    memory.retain("alice", "Ghost Ship is back.", entities=["GS"], document_id="ghost")
    memory.forget("alice", document_id="ghost")
    assert memory.entities.get("alice", "GS").mention_count == 0


def test_an_empty_bank_can_be_moved(memory: Hindsight, tmp_path: Path) -> None:
    made = memory.banks.create("empty", name="Nobody's")
    assert export(memory, "empty", tmp_path / "file").counts == {}
    memory.banks.delete("empty")
    assert import_(memory, tmp_path / "file").counts == {}
    assert memory.banks.get("empty") == made


@pytest.mark.slow
def test_a_thousand_memories_come_through_in_batches(memory: Hindsight, tmp_path: Path) -> None:
    texts = [f"Parcel {n} went to pier {n % 7} with Captain Vance{n % 50}." for n in range(1000)]
    memory.retain_many("b", texts)
    seen: list[tuple[int, int | None]] = []
    export(memory, "b", tmp_path / "b.gz", progress=lambda *at: seen.append(at))
    total = seen[-1][1]
    assert seen[-1] == (total, total)
    seen.clear()
    import_(memory, tmp_path / "b.gz", "c", progress=lambda *at: seen.append(at))
    checked = [done for done, of in seen if of is None]
    stored = [done for done, of in seen if of is not None]
    assert checked == sorted(checked)
    assert stored == sorted(stored)
    assert seen[-1] == (stored[-1], stored[-1])
    assert everything(memory, "c") == everything(memory, "b")
    for question in ("Where did parcel 77 go?", "What did Captain Vance7 carry to pier 3?"):
        before, after = (memory.recall(bank, question) for bank in ("b", "c"))
        assert [found.id for found in before] == [found.id for found in after]


# Whatever a store can hold

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
MOMENTS = st.datetimes(timezones=st.just(UTC))
SPANS = st.builds(
    lambda start, minutes, precision: TimeSpan(
        start, start + timedelta(minutes=minutes), precision
    ),
    st.datetimes(max_value=datetime(9000, 1, 1), timezones=st.just(UTC)),
    st.integers(1, 10**6),
    st.sampled_from(Precision),
)
VALUES = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, width=64)
).filter(lambda value: value not in (float("inf"), float("-inf")))
SOURCES = st.builds(
    Source, st.none() | TEXTS, st.none() | TEXTS, st.integers(0, 2**40), MOMENTS, st.none() | TEXTS
)
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1)
MEMORIES = st.builds(
    Memory,
    id=st.just(""),
    bank_id=st.just(""),
    text=TEXTS.filter(str.strip),
    type=st.sampled_from(MemoryType),
    occurred=st.lists(SPANS, max_size=2).map(tuple),
    mentioned_at=MOMENTS,
    speaker=st.none() | TEXTS,
    context=st.none() | TEXTS,
    tags=st.lists(TEXTS, max_size=3, unique=True).map(tuple),
    metadata=st.dictionaries(TEXTS, VALUES, max_size=3),
    confidence=st.none() | st.floats(0, 1),
    scope=st.none() | TEXTS,
    sources=st.lists(SOURCES, max_size=2, unique=True).map(tuple),
    created_at=MOMENTS,
    updated_at=MOMENTS,
    expires_at=st.none() | MOMENTS,
    invalidated_at=st.none() | MOMENTS,
    invalidated_because=st.none() | TEXTS,
    kind=st.none() | TEXTS,
    reasoning=st.none() | TEXTS,
)
EVIDENCE = st.builds(
    Source,
    st.none(),
    st.none(),
    st.integers(0, 9),
    MOMENTS,
    st.none() | TEXTS,
    st.sampled_from(["m0", "o0", "o1", "o2"]),
    st.none() | TEXTS,
    st.booleans(),
)
RECORDS = st.builds(
    MemoryRecord,
    memory=MEMORIES,
    lexemes=st.lists(WORDS, max_size=4).map(tuple),
    vector=st.integers(0, 2**32 - 1).map(lambda seed: unit_vector(seed)),
    fingerprint=WORDS,
    interaction=st.none() | st.integers(0, 3).map(lambda tokens: bytes(TOKEN_BYTES * tokens)),
)
NUMBERS = count()


def unit_vector(seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    values = np.random.default_rng(seed).standard_normal(384)
    return (values / np.linalg.norm(values)).astype(np.float32)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(RECORDS, min_size=1, max_size=4),
    st.lists(TEXTS, max_size=3),
    st.lists(st.lists(EVIDENCE, max_size=3, unique=True), max_size=3),
)
def test_whatever_a_store_can_hold_comes_back_the_same(
    home: Hindsight,
    whole: Path,
    records: list[MemoryRecord],
    texts: list[str],
    evidence: list[list[Source]],
) -> None:
    bank, copy, path = f"random {next(NUMBERS)}", f"copy {next(NUMBERS)}", whole.with_suffix(".tmp")
    graph = home.runtime.graph
    graph.create_bank(Bank(bank), home.runtime.embedder_identity)
    ids = [f"m{n}" for n in range(len(records))]
    entity = Entity("e", bank, "É 😀", "thing", ("É2",))
    numbered = [
        replace(
            each, memory=replace(each.memory, id=id, entities=(entity.name,)), entity_ids=("e",)
        )
        for id, each in zip(ids, records, strict=True)
    ]
    on_first = Source(memory_id="m0", mentioned_at=SAID)
    conclusions = [
        replace(
            records[0], memory=replace(records[0].memory, id=f"o{n}", sources=(*given, on_first))
        )
        for n, given in enumerate(evidence)
    ]
    graph.apply(
        ChangeSet(
            bank,
            documents=(Document("d", bank, "f", SAID, SAID),),
            chunks=tuple(Chunk(f"c{n}", "d", n, text, "f") for n, text in enumerate(texts)),
            entities=(entity,),
            memories=(*conclusions, *numbered),
            mental_models=tuple(
                MentalModel(f"mm{n}", bank, text, text, text, n, (text,), (text,), n > 0)
                for n, text in enumerate(texts)
            ),
            mark_consolidated=tuple(ids[1:]),
            links=tuple(Link(id, "m0", LinkKind.CAUSAL, 1 / 3) for id in ids),
        )
    )
    export(home, bank, path)
    import_(home, path, copy)
    assert everything(home, copy) == everything(home, bank)
    home.banks.delete(bank)
    home.banks.delete(copy)
