"""Retains while a store is away: on disk first, sent in order, stored once."""

from __future__ import annotations

import inspect
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations import (
    ClosedError,
    ContentTooLargeError,
    EmbedderMismatchError,
    ExtractionError,
    Hindsight,
    InvalidInputError,
    Item,
    SchemaVersionError,
    Settings,
    StoreUnavailableError,
)
from hindsight_integrations.model import Memory, MemoryType, utc_now
from hindsight_integrations.replay import Backoff, DurableRetain, ReplayQueue
from hindsight_integrations.replay.operation import Operation, together
from hindsight_integrations.replay.replayer import BATCH, TRIES
from hindsight_integrations.results import SkipReason
from hindsight_integrations.retain.extract import SentenceExtractor
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.ports import Fact, Passage
from hindsight_integrations.retain.request import (
    Stamp,
    Submission,
    Turn,
    UpdateMode,
    text_submission,
)
from hindsight_integrations.storage.requests import Mark

from .storage.chroma_server import free_port, serve

SOON = Backoff(0.001, 0.01)
NEVER = Backoff(3600.0, 3600.0)


def opened(folder: Path, **options: Any) -> Hindsight:
    """A memory that stores what it is told, and nothing by itself."""
    return Hindsight(folder, settings=Settings(consolidate=False), **options)


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as engine:
        yield engine


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    return tmp_path / "retains é.queue"


def everything(memory: Hindsight, bank: str = "b") -> list[Memory]:
    """All memories, in the order they were stored."""
    page = memory.memories.list(bank, limit=1000)
    found = [*page.items]
    while page.next_cursor:
        page = memory.memories.list(bank, limit=1000, cursor=page.next_cursor)
        found += page.items
    return found


def texts(memory: Hindsight, bank: str = "b") -> list[str]:
    return [m.text for m in everything(memory, bank)]


def submission(text: str, document_id: str | None = None) -> Submission:
    return text_submission(Item(text, document_id=document_id), 1000)


# Backoff


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


# The queue on disk

moments = st.datetimes(timezones=st.just(UTC))
words = st.text(st.characters(exclude_categories=["Cs"]))
metadata = st.dictionaries(
    words,
    words | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False,
        allow_infinity=False),
)  # fmt: skip
submissions = st.builds(
    Submission,
    words,
    st.lists(
        st.builds(Turn, words, moments, st.booleans(), st.none() | words, st.none() | words,
            metadata)
    ).map(tuple),
    st.builds(
        Stamp, st.none() | words, metadata, st.lists(words).map(tuple), st.lists(words).map(tuple),
        st.none() | st.sampled_from(MemoryType), st.none() | st.floats(0, 1), st.none() | moments,
        st.none() | words,
    ),
    st.sampled_from(["replace", "append"]),
    st.booleans(),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=40)  # each waits for the disk
@given(given=st.lists(submissions, max_size=4))
def test_what_is_queued_is_read_back_equal_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, given: list[Submission]
) -> None:
    path = tmp_path_factory.mktemp("queue") / "q"
    first = ReplayQueue(path)
    first.add("b", given)
    first.close()
    again = ReplayQueue(path)
    read = [each.submission for each in again.head(10)]
    again.close()
    assert read == given
    assert [each.fingerprint for each in read] == [each.fingerprint for each in given]


@given(data=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans())))
def test_one_transaction_holds_one_bank_one_caller_and_no_document_twice(
    data: list[tuple[str, str, bool]],
) -> None:
    waiting = [
        Operation(number, "op", bank, document, utc_now(), "{}")
        for number, (bank, document, _) in enumerate(data)
    ]
    count = together(waiting, lambda each: data[each.number][2])
    taken = data[:count]
    documents = {document for _, document, _ in taken}
    assert len({(bank, caller) for bank, _, caller in taken}) == min(1, len(data))
    assert len(documents) == count
    if count < len(data):
        bank, document, caller = data[count]
        assert (bank, caller) != (data[0][0], data[0][2]) or document in documents


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (x)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInputError, match="file of its own"):
        ReplayQueue(path)
    assert path.read_bytes() == before


def test_a_queue_of_a_newer_release_is_refused(queue: Path) -> None:
    ReplayQueue(queue).close()
    with sqlite3.connect(queue) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(SchemaVersionError, match="99"):
        ReplayQueue(queue)


def test_a_queue_in_a_folder_that_does_not_exist_says_what_to_check(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="check path and rights"):
        ReplayQueue(tmp_path / "nowhere" / "q")


def test_a_closed_queue_says_so(queue: Path) -> None:
    closed = ReplayQueue(queue)
    closed.close()
    closed.close()
    with pytest.raises(ClosedError):
        closed.head(1)


def test_what_was_struck_leaves_no_text_and_no_room_behind(queue: Path) -> None:
    waiting = ReplayQueue(queue)
    waiting.close()
    empty = queue.stat().st_size
    waiting = ReplayQueue(queue)
    added = waiting.add("b", [submission(f"The secret is osprey{n}. " * 30) for n in range(200)])
    waiting.close()
    assert b"osprey" in queue.read_bytes()
    assert queue.stat().st_size > 2 * empty
    waiting = ReplayQueue(queue)
    waiting.strike(added)
    waiting.close()
    assert b"osprey" not in queue.read_bytes()
    assert queue.stat().st_size == empty


def test_a_queue_of_an_older_release_gets_a_name_and_keeps_what_waits(queue: Path) -> None:
    older = ReplayQueue(queue)
    added = older.add("b", [submission("Boat 0 is red.")])
    older.close()
    with sqlite3.connect(queue) as database:
        database.execute("DROP TABLE queue")
        database.execute("PRAGMA user_version = 1")
    database.close()
    newer = ReplayQueue(queue)
    assert len(newer.identity) == 16
    assert newer.identity != older.identity
    assert tuple(newer.head(9)) == added
    newer.close()
    again = ReplayQueue(queue)
    assert again.identity == newer.identity
    again.close()


@pytest.fixture
def full_disk() -> Iterator[Callable[[int], None]]:
    """Lets no file of this process grow beyond so many bytes: the system refuses the write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_nothing_is_acknowledged_and_what_waits_is_kept(
    folder: Path, queue: Path, full_disk: Callable[[int], None]
) -> None:
    with opened(folder), DurableRetain(lambda: opened(folder), queue) as durable:
        durable.retain("b", "There was room for this.")
        full_disk(50_000)
        with pytest.raises(StoreUnavailableError, match="disk"):
            durable.retain("b", "There is none for this. " * 10_000)
        assert durable.state().waiting == 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        durable.retain("b", "There is again.")
        assert durable.state().waiting == 2


# A store that answers


def test_a_retain_that_reaches_its_store_is_stored_on_return(
    memory: Hindsight, queue: Path
) -> None:
    with DurableRetain(memory, queue) as durable:
        receipt = durable.retain("b", "Alice joined Northwind.", document_id="d", tags=["work"])
        assert receipt.queued == ()
        assert receipt.document_ids == ("d",)
        assert [m.text for m in receipt.result.stored] == texts(memory)
        again = durable.retain("b", "Alice joined Northwind.", document_id="d", tags=["work"])
        assert [skip.reason for skip in again.result.skipped] == [SkipReason.UNCHANGED]
        assert durable.state().waiting == 0
        assert durable.memory is memory
    memory.retain("b", "A memory that was given stays open.")


def test_the_memorys_health_tells_of_its_queue(memory: Hindsight, queue: Path) -> None:
    def parts() -> dict[str, bool]:
        return {part.part: part.ok for part in memory.health().parts}

    with DurableRetain(memory, queue) as durable:
        assert parts()["queue"]
        assert durable.health() == memory.health()
        with sqlite3.connect(queue) as damage:
            damage.execute("DROP TABLE waiting")
        damage.close()
        assert not parts()["queue"]
    assert "queue" not in parts()


def test_bad_input_is_refused_before_it_is_queued(memory: Hindsight, queue: Path) -> None:
    with DurableRetain(memory, queue) as durable:
        for call in (
            lambda: durable.retain("b", "  "),
            lambda: durable.retain("", "text"),
            lambda: durable.retain("b", "text", confidence=7),
            lambda: durable.retain_messages("b", [{"role": "user"}]),
            lambda: durable.retain_many("b", "one text"),
        ):
            with pytest.raises(InvalidInputError):
                call()
        assert durable.state().waiting == 0
        assert durable.set_aside() == []


def test_the_limit_of_the_memorys_settings_holds_at_the_door(queue: Path) -> None:
    short = Settings(max_content_chars=10)
    with (
        Hindsight.in_memory(settings=short) as memory,
        DurableRetain(memory, queue) as durable,
        pytest.raises(ContentTooLargeError),
    ):
        durable.retain("b", "More than ten characters.")


def test_many_are_stored_and_those_at_fault_are_told(memory: Hindsight, queue: Path) -> None:
    items: list[Item | Mapping[str, object] | str] = [
        "Boat 0 is red.",
        " ",
        {"content": "Boat 2 is red.", "document_id": "d"},
        {"text": "no content"},
        Item("Boat 4 is red.", document_id="d"),
    ]
    with DurableRetain(memory, queue) as durable:
        receipt = durable.retain_many("b", items)
        assert [failure.index for failure in receipt.result.failed] == [1, 3]
        assert sorted(texts(memory)) == ["Boat 0 is red.", "Boat 4 is red."]
        assert len(receipt.document_ids) == 3
        assert durable.retain_many("b", []).result.stored == ()


def test_calls_from_many_threads_each_get_their_own_result(memory: Hindsight, queue: Path) -> None:
    receipts: dict[int, list[str]] = {}
    with DurableRetain(memory, queue, patience=60.0) as durable:

        def call(n: int) -> None:
            stored = durable.retain("b", f"Boat {n} is red.").result.stored
            receipts[n] = [m.text for m in stored]

        threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert receipts == {n: [f"Boat {n} is red."] for n in range(8)}


# A store that is away


@pytest.mark.slow
def test_what_is_retained_while_the_store_is_away_is_stored_in_order_when_it_is_back(
    folder: Path, queue: Path
) -> None:
    said = datetime(2024, 5, 7, tzinfo=UTC)
    with DurableRetain(lambda: opened(folder), queue, backoff=SOON) as durable:
        with opened(folder):  # the folder is another's: what it is asked is refused
            first = durable.retain("b", "Boat 0 is red.")
            assert first.result.stored == ()
            assert len(first.queued) == len(first.document_ids) == 1
            durable.retain("b", "Boat 1 is red.", timestamp=said)
            durable.retain_many("b", [f"Boat {n} is red." for n in range(2, 2 + 2 * BATCH)])
            durable.retain_messages("b", [{"role": "Ann", "content": "Boat 999 is blue."}])
            state = durable.state()
            assert state.waiting == 3 + 2 * BATCH
            assert state.oldest is not None
            assert not durable.drain(0.1)
            assert not durable.health()
            before = utc_now()
        assert durable.drain()
        assert durable.health()
        stored = everything(durable.memory)
        order = [int(m.text.split()[1]) for m in stored]
        assert order == [*range(2 + 2 * BATCH), 999]
        assert all(m.mentioned_at < before for m in stored)
        assert next(m for m in stored if m.text == "Boat 1 is red.").mentioned_at == said
        assert {m.proof_count for m in stored} == {1}
        assert durable.state().waiting == 0


def test_a_later_process_sends_what_an_earlier_one_queued(folder: Path, queue: Path) -> None:
    with opened(folder), DurableRetain(lambda: opened(folder), queue) as durable:
        durable.retain("b", "Boat 0 is red.")
        durable.retain("b", "Boat 1 is red.")
    with DurableRetain(lambda: opened(folder), queue) as durable:
        assert durable.drain()
        assert texts(durable.memory) == ["Boat 0 is red.", "Boat 1 is red."]
    opened(folder).close()  # what a function opened was closed


def test_state_tells_when_the_store_is_asked_again_and_why(folder: Path, queue: Path) -> None:
    with (
        opened(folder),
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


def test_messages_sent_again_without_times_are_known(memory: Hindsight, queue: Path) -> None:
    """A chat that resends itself at each turn: a time of arrival would make each line new."""
    chat = [{"role": "Ann", "content": f"Boat {n} is red."} for n in range(3)]
    with DurableRetain(memory, queue) as durable:
        for turns in (1, 2, 3):
            durable.retain_messages("b", chat[:turns], session="s")
    assert texts(memory) == ["Boat 0 is red.", "Boat 1 is red.", "Boat 2 is red."]


REPLAYED: dict[str, Callable[[DurableRetain], object]] = {
    "a text": lambda d: d.retain("b", "Boat 0 is red.\n\nBoat 1 is red."),
    "a text with a time": lambda d: d.retain("b", "Seen today.", timestamp=utc_now()),
    "a document": lambda d: d.retain("b", "Boat 2 is red.", document_id="known"),
    "an addition": lambda d: d.retain(
        "b", "Boat 3 is red.", document_id="known", update_mode="append"
    ),
    "a repetition": lambda d: d.retain("b", "The first boat is green."),
    "a conversation": lambda d: d.retain_messages("b", [{"role": "Ann", "content": "Ahoy Bob!"}]),
    "an addition to a session": lambda d: d.retain_messages(
        "b",
        [{"role": "Ann", "content": "Boat 4 is red."}, {"role": "Bob", "content": "Ahoy!"}] * 2,
        session="known",
    ),
    "many": lambda d: d.retain_many("b", [f"Boat {n} is black." for n in range(5)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", REPLAYED.values(), ids=REPLAYED)
def test_what_was_stored_and_not_struck_is_not_stored_twice(
    memory: Hindsight, queue: Path, call: Callable[[DurableRetain], object]
) -> None:
    memory.retain("b", "The first boat is green.", document_id="known")
    memory.retain_messages("b", [{"role": "Ann", "content": "Ahoy!"}], session="known")
    died = ReplayQueue(queue)
    assert died.claim()
    with DurableRetain(memory, queue) as durable:
        call(durable)
        store_unstruck(memory, died)
        stored = everything(memory)
        died.close()
        assert durable.drain()
    assert everything(memory) == stored


def store_unstruck(memory: Hindsight, died: ReplayQueue) -> None:
    """Store what is queued, as a sender does that is killed before it can strike it."""
    core = memory._core
    for each in died.head(100):
        mark = Mark(died.identity, each.number)
        retain(core.retaining, core.bank_or_new("b"), [each.submission], mark)


MEANWHILE: dict[str, Callable[[Hindsight], object]] = {
    "forgotten": lambda m: m.forget("b", document_id="d"),
    "replaced": lambda m: m.retain("b", "Boat 1 is blue.", document_id="d"),
    "appended to": lambda m: m.retain(
        "b", "Boat 1 is blue.", document_id="d", update_mode="append"
    ),
}


@pytest.mark.parametrize("change", MEANWHILE.values(), ids=MEANWHILE)
@pytest.mark.parametrize("mode", ["replace", "append"])
def test_what_others_did_to_a_stored_retain_before_it_was_struck_stands(
    memory: Hindsight, queue: Path, change: Callable[[Hindsight], object], mode: UpdateMode
) -> None:
    died = ReplayQueue(queue)
    assert died.claim()
    with DurableRetain(memory, queue) as durable:
        durable.retain("b", "Boat 0 is red.", document_id="d", update_mode=mode)
        store_unstruck(memory, died)
        change(memory)
        stored = everything(memory)
        died.close()
        durable.retain("b", "Boat 2 is green.")
        assert durable.drain()
    assert everything(memory)[: len(stored)] == stored
    assert texts(memory)[len(stored) :] == ["Boat 2 is green."]


def test_a_retain_that_changes_nothing_is_marked_too(memory: Hindsight, queue: Path) -> None:
    with DurableRetain(memory, queue) as durable:
        name = durable._queue.identity
        marks = []
        for _ in range(2):
            durable.retain("b", "Boat 0 is red.", document_id="d")
            marks.append(memory._core.graph.mark("b", name))
        assert 0 < marks[0] < marks[1]
        assert len(texts(memory)) == 1


def test_a_queue_put_back_from_a_backup_loses_nothing_and_repeats_nothing(
    memory: Hindsight, queue: Path
) -> None:
    waiting = ReplayQueue(queue)
    waiting.add("b", [submission("Boat 0 is red.", "d")])
    waiting.close()
    backup = queue.read_bytes()
    with DurableRetain(memory, queue) as durable:
        for n in range(1, 9):
            durable.retain("b", f"Boat {n} is red.")
    memory.forget("b", document_id="d")
    stored = texts(memory)
    queue.write_bytes(backup)
    with DurableRetain(memory, queue) as durable:
        durable.retain("b", "Boat 9 is red.")
        assert durable.drain()
    assert texts(memory) == [*stored, "Boat 9 is red."]


# A retain at fault


class Letters:
    """An embedder of another make: counts letters."""

    id = "letters/1"
    dimension = 26

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = [[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts]
        return np.array(rows, dtype=np.float32)


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


# Several who share a queue


@pytest.mark.slow
def test_one_sends_for_all_and_another_takes_over(folder: Path, queue: Path) -> None:
    names: list[str] = []

    def opening(name: str) -> Callable[[], Hindsight]:
        def open_folder() -> Hindsight:
            names.append(name)
            return opened(folder)

        return open_folder

    first = DurableRetain(opening("first"), queue)
    with first, DurableRetain(opening("second"), queue) as second:
        assert second.retain("b", "Boat 0 is red.").queued
        assert not second.state().sending
        assert "another process sends" in str(second.state())
        assert second.drain()
        assert texts(first.memory) == ["Boat 0 is red."]
        assert names == ["first"]
        first.close()
        second.retain("b", "Boat 1 is red.")
        assert second.drain()
        assert names == ["first", "second"]
        assert texts(second.memory) == ["Boat 0 is red.", "Boat 1 is red."]


# The face


@pytest.mark.parametrize("name", ["retain", "retain_messages", "retain_many"])
def test_a_durable_retain_takes_what_a_retain_takes(name: str) -> None:
    usual = dict(inspect.signature(getattr(Hindsight, name)).parameters)
    usual.pop("progress", None)
    assert dict(inspect.signature(getattr(DurableRetain, name)).parameters) == usual


def test_every_method_has_a_twin_of_the_same_signature() -> None:
    functions = inspect.getmembers(DurableRetain, inspect.isfunction)
    plain = [(name, f) for name, f in functions if not inspect.iscoroutinefunction(f)]
    for name, method in plain:
        if not name.startswith("_"):
            twin = getattr(DurableRetain, f"a{name}")
            assert inspect.iscoroutinefunction(twin)
            assert inspect.signature(twin) == inspect.signature(method)


async def test_twins_do_the_same_inside_a_running_loop(memory: Hindsight, queue: Path) -> None:
    async with DurableRetain(memory, queue) as durable:
        receipt = await durable.aretain("b", "Boat 0 is red.")
        assert [m.text for m in receipt.result.stored] == ["Boat 0 is red."]
        assert await durable.adrain()
        assert await durable.astate() == durable.state()
        assert {part.part for part in (await durable.ahealth()).parts} >= {"graph", "queue"}


# Kills

WRITER = """
import sys, time
from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.replay import Backoff, DurableRetain

folder, queue, url, first = *sys.argv[1:4], int(sys.argv[4])
opening = lambda: Hindsight(folder, vectors=url, settings=Settings(consolidate=False))
with DurableRetain(opening, queue, backoff=Backoff(0.05, 0.5)) as durable:
    for n in range(first, first + 100_000):
        receipt = durable.retain("b", f"Kestrel{n} met Osprey{n} at pier {n}.")
        print(n, "queued" if receipt.queued else "stored", flush=True)
        time.sleep(0.02)
"""


KILLED_BEFORE_STRIKING = """
import os, signal, sys
from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.replay import DurableRetain, ReplayQueue

ReplayQueue.strike = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
memory = Hindsight(sys.argv[1], settings=Settings(consolidate=False))
with DurableRetain(memory, sys.argv[2]) as durable:
    durable.retain_many("b", [{"content": f"Boat {n} is red.", "document_id": f"d{n}"}
                              for n in range(3)])
"""


@pytest.mark.slow
def test_a_process_killed_between_the_commit_and_the_striking_doubles_nothing(
    folder: Path, queue: Path
) -> None:
    script = [sys.executable, "-c", KILLED_BEFORE_STRIKING, str(folder), str(queue)]
    assert subprocess.run(script, check=False).returncode == -signal.SIGKILL
    with opened(folder) as memory:
        stored = everything(memory)
        assert [m.text for m in stored] == [f"Boat {n} is red." for n in range(3)]
        memory.forget("b", document_id="d1")
        with DurableRetain(memory, queue) as durable:
            assert durable.drain()
            assert durable.set_aside() == []
        assert everything(memory) == [stored[0], stored[2]]


@pytest.mark.slow
def test_kills_of_the_process_and_of_the_server_lose_nothing_and_double_nothing(
    folder: Path, queue: Path, tmp_path: Path
) -> None:
    chance = random.Random(11)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    (served := tmp_path / "served").mkdir()
    folder.mkdir()
    acknowledged: dict[int, str] = {}
    server = serve(served, port)
    for _ in range(3):
        first = max(acknowledged, default=-2) + 2
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(queue), url, str(first)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(chance.randrange(5, 30))]
        server.kill()
        server.wait()
        lines += [process.stdout.readline() for _ in range(chance.randrange(20, 60))]
        server = serve(served, port)
        time.sleep(chance.uniform(0.05, 1.0))
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        acknowledged |= {int(n): how for n, how in (line.split() for line in lines)}
    assert set(acknowledged.values()) == {"queued", "stored"}
    with DurableRetain(lambda: opened(folder, vectors=url), queue) as durable:
        assert durable.drain(120)
        assert durable.set_aside() == []
        stored = everything(durable.memory)
        numbers = [int(m.text.split()[-1][:-1]) for m in stored]
        assert numbers == sorted(set(numbers)), "something doubled, or came out of order"
        assert set(acknowledged) <= set(numbers), "something acknowledged was lost"
        unheard = set(numbers) - set(acknowledged)  # on disk, killed before it was printed
        assert all(n - 1 in acknowledged for n in unheard)
        assert {m.proof_count for m in stored} == {1}
        said = [m.mentioned_at for m in stored]
        assert said == sorted(said)
        assert durable.memory.maintenance.doctor().findings == ()
    server.kill()
    server.wait()
