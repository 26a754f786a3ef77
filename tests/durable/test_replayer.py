"""The replayer: retains are sent in order, also after an outage; a failing one delays no other."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import (
    ClosedError,
    EmbedderMismatchError,
    ExtractionError,
    Hindsight,
    InvalidInputError,
    Settings,
    StoreUnavailableError,
)
from hindsight_integrations.durable import Backoff, DurableRetain, ReplayQueue, replayer
from hindsight_integrations.durable.replayer import BATCH_SIZE, MAX_ATTEMPTS
from hindsight_integrations.models import utc_now
from hindsight_integrations.retain.extraction import Fact, Passage, SentenceExtractor
from tests.embedders import Letters

from .memories import SOON, everything, opened, owned_by_another, submission, texts

# What is retained while the store is away is sent in order when it is back

NEVER = Backoff(3600.0, 3600.0)


@pytest.mark.slow
def test_what_is_retained_while_the_store_is_away_is_stored_in_order_when_it_is_back(
    folder: Path, queue: Path
) -> None:
    said = datetime(2024, 5, 7, tzinfo=UTC)
    with DurableRetain(lambda: opened(folder), queue, backoff=SOON) as durable:
        with owned_by_another(folder):
            first = durable.retain("b", "Boat 0 is red.")
            assert first.result.stored == ()
            assert len(first.queued) == len(first.document_ids) == 1
            durable.retain("b", "Boat 1 is red.", timestamp=said)
            durable.retain_many("b", [f"Boat {n} is red." for n in range(2, 2 + 2 * BATCH_SIZE)])
            durable.retain_messages("b", [{"role": "Ann", "content": "Boat 999 is blue."}])
            state = durable.state()
            assert state.waiting == 3 + 2 * BATCH_SIZE
            assert state.oldest is not None
            assert not durable.drain(0.1)
            assert not durable.health()
            before = utc_now()
        assert durable.drain()
        assert durable.health()
        stored = everything(durable.memory)
        order = [int(m.text.split()[1]) for m in stored]
        assert order == [*range(2 + 2 * BATCH_SIZE), 999]
        assert all(m.mentioned_at < before for m in stored)
        assert next(m for m in stored if m.text == "Boat 1 is red.").mentioned_at == said
        assert {m.proof_count for m in stored} == {1}
        assert durable.state().waiting == 0


def test_a_later_process_sends_what_an_earlier_one_queued(folder: Path, queue: Path) -> None:
    with owned_by_another(folder), DurableRetain(lambda: opened(folder), queue) as durable:
        durable.retain("b", "Boat 0 is red.")
        durable.retain("b", "Boat 1 is red.")
    with DurableRetain(lambda: opened(folder), queue) as durable:
        assert durable.drain()
        assert texts(durable.memory) == ["Boat 0 is red.", "Boat 1 is red."]
    opened(folder).close()  # what a function opened was closed


def test_state_tells_when_the_store_is_asked_again_and_why(folder: Path, queue: Path) -> None:
    with (
        owned_by_another(folder),
        DurableRetain(lambda: opened(folder), queue, backoff=NEVER, patience=1e6) as durable,
    ):
        durable.retain("b", "Boat 0 is red.")
        state = durable.state()
        assert (state.waiting, state.failures, state.sending, state.ok) == (1, 1, True, False)
        assert state.next_attempt is not None
        assert state.next_attempt <= utc_now() + timedelta(hours=1)
        assert "is in use" in str(state.last_error)
        (part,) = durable.health().parts
        assert (part.part, part.ok) == ("queue", False)
        assert "waiting: 1, since" in part.detail
        durable.retain("b", "Boat 1 is red.")
        assert durable.state().failures == 1, "a call made the store be asked before its time"


# A retain at fault is told of or set aside, and holds up no other


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
        with owned_by_another(foreign):
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
        assert durable.requeue() == 1
        assert durable.drain()
        assert durable.set_aside() == []
        assert "Boat 2 is red." in texts(durable.memory, "foreign")
        assert two.document_id in [m.document_id for m in everything(durable.memory, "foreign")]


async def test_an_outage_and_dead_letters_are_told_without_blocking_the_loop(
    foreign: Path, queue: Path
) -> None:
    async with DurableRetain(lambda: opened(foreign), queue, backoff=SOON) as durable:
        with owned_by_another(foreign):
            assert not await durable.aavailable()
            await durable.aretain_many("foreign", ["Boat 1 is red.", "Boat 2 is red."])
        assert await durable.adrain()
        assert await durable.aavailable()
        assert not await durable.anote_failure(InvalidInputError("the text is blank"))
        one, two = await durable.aset_aside()
        assert (one, two) == tuple(durable.set_aside())
        assert await durable.adiscard([one.id]) == 1
        assert await durable.aset_aside() == [two]
        assert await durable.anote_failure(StoreUnavailableError("the server is away"))


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
            sentences = usual.runtime.extractor
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
    memory = moody(MAX_ATTEMPTS - 1)
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


def raising(error: BaseException) -> Hindsight:
    """Return a memory whose extractor raises an error for each text with a poison."""

    def extractor(passage: Passage) -> list[str]:
        if "poison" in passage.text:
            raise error
        return [passage.text]

    return Hindsight.in_memory(extractor=extractor, settings=Settings(consolidate=False))


def test_an_error_with_half_a_character_stops_nothing(
    queue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayer.log, "disabled", True)  # xdist cannot send such a text
    broken = RuntimeError("the model replied \ud83d and broke off")
    with (
        raising(broken) as memory,
        DurableRetain(memory, queue, patience=0.01, backoff=SOON) as durable,
    ):
        durable.retain("b", "A poison is red.")
        assert durable.drain()
        assert "replied \ufffd and" in durable.set_aside()[0].reason
        durable.retain("b", "Boat 1 is red.")
        assert durable.drain()
        assert texts(memory) == ["Boat 1 is red."]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_an_extractor_ends_is_told(queue: Path) -> None:
    with (
        raising(SystemExit(1)) as memory,
        DurableRetain(memory, queue, patience=60, backoff=SOON) as durable,
    ):
        assert durable.retain("b", "A poison is red.").queued
        assert durable.retain("b", "Boat 1 is red.").queued
        assert not durable.drain()
        state = durable.state()
        assert (state.stopped, state.ok, state.waiting) == (True, False, 2)
        assert "open it again" in str(durable.health())


def test_what_close_leaves_to_an_attempt_in_progress_is_closed_when_it_ends(
    folder: Path, queue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(passage: Passage) -> list[str]:
        begun.set()
        go_on.wait(60)
        return [passage.text]

    monkeypatch.setattr("hindsight_integrations.durable.replayer._CLOSE_TIMEOUT", 0.01)
    durable = DurableRetain(lambda: opened(folder, extractor=slow), queue, patience=0.01)
    durable.retain("b", "Boat 0 is red.")
    assert begun.wait(60)
    durable.close()
    (thread,) = [each for each in threading.enumerate() if each.name == "hindsight-replay"]
    go_on.set()
    thread.join(60)
    (later := ReplayQueue(queue)).close()
    with opened(folder) as memory:
        assert texts(memory) == ["Boat 0 is red."]
    assert later.identity
    with DurableRetain(lambda: opened(folder), queue) as after:
        assert after.state().sending
    with pytest.raises(ClosedError):
        durable.retain("b", "Boat 1 is red.")
    durable.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_queue_says_in_a_fork_what_to_do(folder: Path, queue: Path) -> None:
    script = """
import os, sys
from hindsight_integrations import ForkedError, Hindsight, Settings
from hindsight_integrations.durable import DurableRetain
opening = lambda: Hindsight(sys.argv[1], settings=Settings(consolidate=False))
durable = DurableRetain(opening, sys.argv[2], patience=120)
durable.retain("b", "Boat 0 is red.")
if not (child := os.fork()):
    retain = lambda: durable.retain("b", "Boat 1 is red.")
    for ask in (retain, durable.available, durable.state, durable.health):
        try:
            ask()
        except ForkedError as error:
            print("open it after forking" in str(error), flush=True)
    durable.close()
    sys.exit()
print(os.waitpid(child, 0)[1])
print(durable.retain("b", "Boat 2 is red.").queued, durable.drain(), flush=True)
durable.close()
"""
    command = [sys.executable, "-c", script, str(folder), str(queue)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=120)
    assert told.stdout.split("\n") == ["True"] * 4 + ["0", "() True", ""]


def test_a_slow_store_keeps_no_caller_beyond_its_patience(
    moody: Callable[[int], Hindsight], queue: Path
) -> None:
    memory = moody(0)
    extractor = memory.runtime.extractor
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


# How long a store that is away is left alone


@given(
    first=st.floats(1e-6, 1e3),
    factor=st.floats(1, 1e6),
    failures=st.integers(1, 100_000),
    chance=st.floats(0, 1),
)
def test_a_wait_is_never_longer_than_its_ceiling_and_ceilings_never_fall(
    first: float, factor: float, failures: int, chance: float
) -> None:
    backoff = Backoff(first, first * factor)
    assert 0 <= backoff.wait(failures, chance) <= backoff.ceiling(failures) <= backoff.longest
    assert first <= backoff.ceiling(failures) <= backoff.ceiling(failures + 1)
    assert backoff.wait(failures, 1.0) == backoff.ceiling(failures)


def test_ceilings_double_up_to_a_minute() -> None:
    assert [Backoff().ceiling(n) for n in range(1, 10)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize("pair", [(0, 1), (-1, 1), (2, 1), (1, float("inf")), (float("nan"), 1)])
def test_a_backoff_without_sense_is_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError, match="above 0"):
        Backoff(*pair)
