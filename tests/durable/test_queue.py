"""The queue on disk: entries are kept until acknowledged, and then leave nothing behind."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations import (
    ClosedError,
    InvalidInputError,
    SchemaVersionError,
    StoreUnavailableError,
)
from hindsight_integrations.durable import DurableRetain, ReplayQueue
from hindsight_integrations.durable.queue import Operation, batch_length
from hindsight_integrations.models import MemoryType, utc_now
from hindsight_integrations.retain.request import SharedFields, Submission, Turn
from tests.interrupted import interrupt_transactions

from .memories import opened, owned_by_another, submission

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
        SharedFields, st.none() | words, metadata, st.lists(words).map(tuple),
        st.lists(words).map(tuple),
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
    count = batch_length(waiting, lambda each: data[each.number][2])
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
    with pytest.raises(InvalidInputError, match="give the queue its own file"):
        ReplayQueue(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [1, 99])
def test_a_queue_of_another_release_is_refused(queue: Path, version: int) -> None:
    ReplayQueue(queue).close()
    with sqlite3.connect(queue) as database:
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    with pytest.raises(SchemaVersionError, match=f"has schema version {version}"):
        ReplayQueue(queue)


def test_a_queue_in_a_folder_that_does_not_exist_says_what_to_check(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="check the path and its permissions"):
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
    waiting.acknowledge(added)
    waiting.close()
    assert b"osprey" not in queue.read_bytes()
    assert queue.stat().st_size == empty


def test_what_was_discarded_leaves_no_text_while_the_queue_is_open(queue: Path) -> None:
    waiting = ReplayQueue(queue)
    kept, bad = waiting.add("b", [submission("It is heron."), submission("It is osprey.")])
    waiting.set_aside(bad, "too long")
    assert waiting.discard([bad.id]) == 1
    files = [file.read_bytes() for file in queue.parent.glob(f"{queue.name}*")]
    assert not any(b"osprey" in content for content in files)
    assert any(b"heron" in content for content in files)
    assert [operation.id for operation in waiting.head(9)] == [kept.id]
    waiting.close()


def test_an_interrupted_retain_leaves_the_queue_usable(
    queue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt = interrupt_transactions(monkeypatch)
    waiting = ReplayQueue(queue)
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        waiting.add("b", [submission("It is heron.")])
    other = ReplayQueue(queue)
    added = other.add("b", [submission("It is osprey.")])
    added += waiting.add("b", [submission("It is a gull.")])
    assert [operation.id for operation in waiting.head(9)] == [each.id for each in added]
    other.close()
    waiting.close()


@pytest.fixture
def full_disk() -> Iterator[Callable[[int], None]]:
    """Lets no file of this process grow beyond so many bytes: the system refuses the write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_nothing_is_acknowledged_and_what_waits_is_kept(
    folder: Path, queue: Path, full_disk: Callable[[int], None]
) -> None:
    with owned_by_another(folder), DurableRetain(lambda: opened(folder), queue) as durable:
        durable.retain("b", "There was room for this.")
        full_disk(50_000)
        with pytest.raises(StoreUnavailableError, match="disk"):
            durable.retain("b", "There is none for this. " * 10_000)
        assert durable.state().waiting == 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        durable.retain("b", "There is again.")
        assert durable.state().waiting == 2
