"""Reindexing gives the same vectors, tokens and terms as retaining."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from hindsight_integrations import Hindsight, Memory, Message, Settings
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.embeddings import Vectors
from hindsight_integrations.nlp.late_interaction import decompress
from hindsight_integrations.nlp.minilm import MemoryMiniLM, bundled
from hindsight_integrations.retain.enrichment import IndexContext, index_contexts, indexed_of
from hindsight_integrations.stores.base import (
    EVERYTHING,
    MEMORY_ID,
    RECORD,
    ChangeSet,
    MemoryRecord,
)
from hindsight_integrations.stores.sqlite import SqliteGraph

SAID = datetime(2024, 5, 7, 9, 30, tzinfo=UTC)
REPLY = "In Porto, since March."
NOTE = "The ferry is blue."
SETTINGS = Settings(consolidate=False, chunk_tokens=32)


class Renamed:
    """The default model under another id."""

    id = "renamed/1"
    dimension = MemoryMiniLM.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        return bundled().embed(texts)


def turns(session: str) -> list[Message]:
    """A conversation; the one called "dated" tells its times."""
    said = [
        ("Ada", "I unpacked all the boxes, and I am tired of carrying things up and down. It took "
         "the whole week. Where do you live now, Bo?"),
        ("Bo", REPLY),
        ("Bo", "And you? Tell me of the house. Is it by the river, as you wished it to be?"),
        ("Ada", "It is not. I looked at nine of them first.\n\nThe rent was the trouble."),
    ]  # fmt: skip
    return [
        Message(speaker, text, SAID + n * timedelta(minutes=1) if session == "dated" else None)
        for n, (speaker, text) in enumerate(said)
    ]


def lived_in(memory: Hindsight) -> None:
    """A bank of all that is indexed in a way of its own."""
    for session in ("dated", "undated"):
        memory.retain_messages("b", turns(session), session=session, tags=[session])
    memory.retain_messages("b", [Message("Cy", "Who feeds the cat?", SAID)], session="turn by turn")
    late = [Message("Di", "Cy does.", SAID)]
    memory.retain_messages("b", late, session="turn by turn", update_mode="append")
    memory.retain("b", NOTE, document_id="notes")
    memory.retain("b", "Heron is late.\n\nKestrel is not.", context="Projects", timestamp=SAID)
    memory.retain_memory("b", Memory("own", "b", "The code is 4711.", mentioned_at=SAID))
    memory.retain("b", "The harbour has 40 berths.", document_id="harbour")
    memory.retain("b", "The harbour has 40 berths.", document_id="again", timestamp=SAID)
    for start in ("Ada likes tea", "Ada likes green tea", "Ada likes tea with milk"):
        memory.retain("b", f"{start} in the morning.", timestamp=SAID)
    memory.observations.add("b", "Ada drinks tea.")


def records(memory: Hindsight) -> dict[str, MemoryRecord]:
    graph = memory.runtime.graph
    return graph.read("b", RECORD, list(graph.scan("b", MEMORY_ID)))


def assert_same(found: dict[str, MemoryRecord], before: dict[str, MemoryRecord]) -> None:
    assert list(found) == list(before)
    for id, record in found.items():
        old = before[id]
        assert record.lexemes == old.lexemes
        tokens, held = decompress(record.interaction or b""), decompress(old.interaction or b"")
        np.testing.assert_array_equal(tokens.ids, held.ids)
        # A model's last digits depend on what else is in its batch.
        np.testing.assert_allclose(record.vector, old.vector, atol=1e-6)
        np.testing.assert_allclose(tokens.vectors, held.vectors, atol=0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the bank, and a file of it."""
    folder = tmp_path_factory.mktemp("reindex")
    with Hindsight(folder / "memory", settings=SETTINGS) as memory:
        lived_in(memory)
        memory.banks.export("b", folder / "bank")
    return folder


@pytest.fixture
def memory(folder: Path) -> Iterator[Hindsight]:
    """A memory that has the bank."""
    with Hindsight.in_memory(settings=SETTINGS) as memory:
        memory.banks.import_(folder / "bank")
        yield memory


def test_a_bank_is_indexed_in_each_way_that_retaining_has(memory: Hindsight) -> None:
    graph, stored = memory.runtime.graph, records(memory)
    stood = index_contexts(graph, "b", stored.values())
    assert {(each.dated, each.preceding is not None) for each in stood} == {
        (dated, answers) for dated in (True, False) for answers in (True, False)
    }
    for record, standing in zip(stored.values(), stood, strict=True):
        assert record.lexemes == tuple(lexemes(indexed_of(record.memory, standing)))


def test_reindexing_makes_the_vectors_that_retaining_made(memory: Hindsight) -> None:
    before = records(memory)
    assert memory.maintenance.reindex("b") == len(before)
    assert_same(records(memory), before)


def test_another_embedder_is_given_the_texts_that_were_retained(
    memory: Hindsight, folder: Path
) -> None:
    seen: list[tuple[int, int | None]] = []
    with Hindsight.in_memory(settings=SETTINGS, embedder=Renamed()) as other:
        other.banks.import_(folder / "bank", reembed=True, progress=lambda *at: seen.append(at))
        with Hindsight.in_memory(settings=SETTINGS) as same:
            same.banks.import_(folder / "bank", reembed=True)
            assert_same(records(other), records(same))
        assert other.runtime.index.ids(other.runtime.bank("b").key) == set(records(memory))
        assert seen[-1] == (seen[-1][1], seen[-1][1])
        other.retain("b", "The ferry is red.")
        assert other.maintenance.doctor().findings == ()


def test_reindexing_gives_the_terms_of_this_release(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr("hindsight_integrations.retain.enrichment.signs", lambda text: [])
        memory.retain_messages(
            "b",
            [Message("Ada", "What share of it is wool?", SAID), Message("Bo", "It is 100%.", SAID)],
            session="shares",
        )
        bo = memory.retain("b", "A block ends with }.").ids[0]
    reply = next(r for r in records(memory).values() if r.memory.text == "It is 100%.")
    assert "share" in reply.lexemes  # still known to be indexed with its question
    graph = memory.runtime.graph
    pending = graph.pending_consolidation("b", 999)
    graph.apply(ChangeSet("b", mark_consolidated=(bo,)))
    for _ in range(2):
        memory.maintenance.reindex("b")
        found = [
            [item.text for item in memory.recall("b", sign, arms=["keyword"])] for sign in "%}"
        ]
        assert found == [["It is 100%."], ["A block ends with }."]]
        assert records(memory)[reply.memory.id].lexemes == (*reply.lexemes, "100%", "%")
    assert graph.pending_consolidation("b", 999) == [id for id in pending if id != bo]


def test_a_bank_that_another_process_writes_to_is_reindexed_with_all_it_holds(
    folder: Path,
) -> None:
    with Hindsight(folder, settings=replace(SETTINGS, batch_size=2)) as memory:
        memory.retain_many("b", [f"Boat {n} is red." for n in range(4)])
    with (
        Hindsight(folder, settings=replace(SETTINGS, batch_size=2), embedder=Renamed()) as memory,
        closing(SqliteGraph(folder / "memory.sqlite3")) as other,
    ):
        ids = other.find_ids("b", EVERYTHING, 9) or []
        records = other.read("b", RECORD, ids)
        first = records[ids[0]]
        new = replace(first, memory=replace(first.memory, id="new", text="New."), fingerprint="q")
        told: list[tuple[int, int]] = []

        def progress(done: int, of: int) -> None:
            told.append((done, of))
            if done == 2:  # as another process would: one is stored, and one is corrected
                other.apply(ChangeSet("b", memories=(new,), replaced=(first,)))

        assert memory.maintenance.reindex("b", progress=progress) == 5
        assert told == [(2, 4), (4, 4), (6, 6)]
        assert {m.id for m in memory.recall("b", "New boat", fill=True).memories} >= {"new"}
        assert memory.maintenance.doctor().findings == ()


def test_new_tags_leave_the_index_as_it_is(memory: Hindsight) -> None:
    before = records(memory)
    for id in before:
        memory.memories.update("b", id, tags=["other"])
    assert_same(records(memory), before)


def test_a_corrected_reply_still_answers_its_question(memory: Hindsight) -> None:
    before = records(memory)
    changed = [id for id, record in before.items() if record.memory.text in (REPLY, NOTE)]
    assert len(changed) == 3
    for id in changed:
        memory.memories.update("b", id, text="In Faro, since May.")
        assert ("ask" in records(memory)[id].lexemes) == ("ask" in before[id].lexemes)
        memory.memories.update("b", id, text=before[id].memory.text)
    assert_same(records(memory), before)


@pytest.mark.parametrize("session", ["dated", "undated"])
def test_a_reply_whose_question_is_gone_is_indexed_without(memory: Hindsight, session: str) -> None:
    rest = turns(session)[1:]
    memory.retain_messages("b", rest, session=session, tags=[session], update_mode="replace")
    [reply] = [
        each
        for each in records(memory).values()
        if each.memory.text == REPLY and each.memory.document_id == session
    ]
    [standing] = index_contexts(memory.runtime.graph, "b", [reply])
    assert standing == IndexContext(dated=session == "dated", preceding=None)
