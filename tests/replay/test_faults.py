"""A retain at fault is told of or set aside, and holds up no other."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from hindsight_integrations import EmbedderMismatchError, ExtractionError, Hindsight, Settings
from hindsight_integrations.replay import DurableRetain, ReplayQueue
from hindsight_integrations.replay.replayer import TRIES
from hindsight_integrations.retain.extract import SentenceExtractor
from hindsight_integrations.retain.ports import Fact, Passage
from tests.embedders import Letters

from .memories import SOON, everything, opened, submission, texts


@pytest.fixture
def foreign(folder: Path) -> Path:
    """A folder whose bank "foreign" has the vectors of another embedder."""
    with opened(folder, embedder=Letters()) as memory:
        memory.retain("foreign", "Boat 0 is red.")
    return folder


def test_a_refusal_is_told_to_the_caller_that_waits(foreign: Path, queue: Path) -> None:
    with opened(foreign) as memory, DurableRetain(memory, queue) as durable:
        with pytest.raises(EmbedderMismatchError):
            durable.retain("foreign", "Boat 1 is red.")
        many = durable.retain_many("foreign", ["Boat 2 is red.", "Boat 3 is red."])
        assert [failure.index for failure in many.result.failed] == [0, 1]
        assert many.document_ids == many.queued == ()
        assert (durable.state().waiting, durable.set_aside()) == (0, [])
        assert durable.health()


def test_a_retain_at_fault_is_set_aside_and_holds_up_no_other(foreign: Path, queue: Path) -> None:
    with DurableRetain(lambda: opened(foreign), queue, backoff=SOON) as durable:
        with opened(foreign):
            durable.retain("b", "Boat 0 is red.")
            durable.retain_many("foreign", ["Boat 1 is red.", "Boat 2 is red."])
            durable.retain("b", "Boat 3 is red.")
        assert durable.drain()
        assert texts(durable.memory) == ["Boat 0 is red.", "Boat 3 is red."]
        one, two = durable.set_aside()
        assert one.bank_id == "foreign"
        assert "EmbedderMismatchError" in one.reason
        assert "Boat 1 is red." in one.written
        assert not durable.health()
        assert durable.discard([one.id]) == 1
        durable.memory.maintenance.reindex("foreign")
        assert durable.put_back() == 1
        assert durable.drain()
        assert durable.set_aside() == []
        assert "Boat 2 is red." in texts(durable.memory, "foreign")
        assert two.document_id in [m.document_id for m in everything(durable.memory, "foreign")]


def test_a_refusal_after_the_caller_has_gone_is_set_aside(foreign: Path, queue: Path) -> None:
    away = threading.Event()

    def opening() -> Hindsight:
        away.wait()
        return opened(foreign)

    with DurableRetain(opening, queue, patience=0.05) as durable:
        assert durable.retain("foreign", "Boat 1 is red.").queued
        away.set()
        assert durable.drain()
        assert ["Boat 1" in each.written for each in durable.set_aside()] == [True]


class Moody:
    """An extractor that fails at texts it does not like, as often as it was told."""

    id = "moody/1"

    def __init__(self, sentences: SentenceExtractor, failures: int) -> None:
        self.sentences, self.failures = sentences, failures
        self.pause = threading.Event()
        self.pause.set()

    def extract(self, passages: Sequence[Passage], known: Mapping[str, str]) -> list[list[Fact]]:
        self.pause.wait()
        if self.failures and any("poison" in passage.text for passage in passages):
            self.failures -= 1
            raise ExtractionError("the model did not like it")
        return self.sentences.extract(passages, known)


@pytest.fixture
def moody() -> Iterator[Callable[[int], Hindsight]]:
    moody_ones: list[Hindsight] = []

    def open_moody(failures: int) -> Hindsight:
        with Hindsight.in_memory() as usual:
            sentences = usual._core.extractor
        assert isinstance(sentences, SentenceExtractor)
        moody_ones.append(
            Hindsight.in_memory(
                extractor=Moody(sentences, failures), settings=Settings(consolidate=False)
            )
        )
        return moody_ones[-1]

    yield open_moody
    for memory in moody_ones:
        memory.close()


def test_a_failure_that_passes_is_waited_out(
    moody: Callable[[int], Hindsight], queue: Path
) -> None:
    memory = moody(TRIES - 1)
    with DurableRetain(memory, queue, backoff=SOON) as durable:
        receipt = durable.retain("b", "A poison is red.")
        assert durable.drain()
        assert receipt.queued
        assert durable.set_aside() == []
    assert texts(memory) == ["A poison is red."]


def test_a_failure_that_stays_is_set_aside(moody: Callable[[int], Hindsight], queue: Path) -> None:
    memory = moody(1000)
    with DurableRetain(memory, queue, backoff=SOON) as durable:
        durable.retain_many(
            "b", [f"Boat {n} is {'poison' if n == 5 else 'red'}." for n in range(9)]
        )
        assert durable.drain()
        assert ["Boat 5" in each.written for each in durable.set_aside()] == [True]
    assert len(texts(memory)) == 8


def test_a_slow_store_keeps_no_caller_beyond_its_patience(
    moody: Callable[[int], Hindsight], queue: Path
) -> None:
    memory = moody(0)
    extractor = memory._core.extractor
    assert isinstance(extractor, Moody)
    with DurableRetain(memory, queue, patience=0.05) as durable:
        extractor.pause.clear()
        assert durable.retain("b", "Boat 0 is red.").queued
        assert durable.retain("b", "Boat 1 is red.").queued
        extractor.pause.set()
        assert durable.drain()
    assert texts(memory) == ["Boat 0 is red.", "Boat 1 is red."]


def test_a_damaged_entry_is_set_aside(memory: Hindsight, queue: Path) -> None:
    waiting = ReplayQueue(queue)
    waiting.add("b", [submission(f"Boat {n} is red.") for n in range(3)])
    waiting.close()
    with sqlite3.connect(queue) as database:
        database.execute("UPDATE waiting SET submission = '{' WHERE submission LIKE '%Boat 1%'")
    database.close()
    with DurableRetain(memory, queue) as durable:
        assert durable.drain()
        assert ["cannot be read" in each.reason for each in durable.set_aside()] == [True]
    assert texts(memory) == ["Boat 0 is red.", "Boat 2 is red."]
