"""A durable retain does what a retain does, and what was stored is never stored twice."""

from __future__ import annotations

import inspect
import sqlite3
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from langchain_core.documents import Document

from hindsight_integrations import (
    ContentTooLargeError,
    Hindsight,
    InvalidInputError,
    Item,
    Settings,
)
from hindsight_integrations.durable import DurableRetain, ReplayQueue
from hindsight_integrations.models import utc_now
from hindsight_integrations.results import SkipReason
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.request import UpdateMode
from hindsight_integrations.stores.base import CHECKPOINT, QueueCheckpoint

from .memories import everything, submission, texts

# A durable retain does what a retain does, while its store answers

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


def test_messages_sent_again_without_times_are_known(memory: Hindsight, queue: Path) -> None:
    """A chat that resends itself at each turn: a time of arrival would make each line new."""
    chat = [{"role": "Ann", "content": f"Boat {n} is red."} for n in range(3)]
    with DurableRetain(memory, queue) as durable:
        for turns in (1, 2, 3):
            durable.retain_messages("b", chat[:turns], session="s")
    assert texts(memory) == ["Boat 0 is red.", "Boat 1 is red.", "Boat 2 is red."]


def test_a_framework_s_document_without_an_id_is_stored_once(
    memory: Hindsight, queue: Path
) -> None:
    page = Document("Boat 1 is red.", metadata={"source": "boats.txt"})
    with DurableRetain(memory, queue) as durable:
        first = durable.retain("b", page)
        again = durable.retain_many("b", [page])
    assert first.document_ids == again.document_ids
    (document,) = memory.documents.list("b").items
    assert document.id == first.document_ids[0]
    assert texts(memory) == ["Boat 1 is red."]


# The face


def test_retaining_nothing_queues_nothing_and_creates_no_bank(tmp_path: Path) -> None:
    with Hindsight.in_memory() as memory, DurableRetain(memory, tmp_path / "queue") as durable:
        for receipt in (durable.retain_messages("b", []), durable.retain_many("b", [""])):
            assert (receipt.document_ids, receipt.queued, receipt.result.stored) == ((), (), ())
        assert memory.banks.list() == []


@pytest.mark.parametrize("name", ["retain", "retain_messages", "retain_many"])
def test_a_durable_retain_takes_what_a_retain_takes(name: str) -> None:
    usual = dict(inspect.signature(getattr(Hindsight, name)).parameters)
    usual.pop("progress", None)
    assert dict(inspect.signature(getattr(DurableRetain, name)).parameters) == usual


async def test_twins_do_the_same_inside_a_running_loop(memory: Hindsight, queue: Path) -> None:
    async with DurableRetain(memory, queue) as durable:
        receipt = await durable.aretain("b", "Boat 0 is red.")
        assert [m.text for m in receipt.result.stored] == ["Boat 0 is red."]
        assert await durable.adrain()
        assert await durable.astate() == durable.state()
        assert {part.part for part in (await durable.ahealth()).parts} >= {"graph", "queue"}


# Submissions stored but not acknowledged are not stored twice

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
        store_unacknowledged(memory, died)
        stored = everything(memory)
        died.close()
        assert durable.drain()
    assert everything(memory) == stored


def store_unacknowledged(memory: Hindsight, died: ReplayQueue) -> None:
    """Store what is queued, like a sender that is killed before it acknowledges."""
    runtime = memory.runtime
    for each in died.head(100):
        mark = QueueCheckpoint(died.identity, each.number)
        retain(runtime.retaining, runtime.bank_or_new("b"), [each.submission], mark)


MEANWHILE: dict[str, Callable[[Hindsight], object]] = {
    "forgotten": lambda m: m.forget("b", document_id="d"),
    "replaced": lambda m: m.retain("b", "Boat 1 is blue.", document_id="d"),
    "appended to": lambda m: m.retain(
        "b", "Boat 1 is blue.", document_id="d", update_mode="append"
    ),
}


@pytest.mark.local
@pytest.mark.parametrize("change", MEANWHILE.values(), ids=MEANWHILE)
@pytest.mark.parametrize("mode", ["replace", "append"])
def test_what_others_did_to_a_stored_retain_before_it_was_struck_stands(
    memory: Hindsight, queue: Path, change: Callable[[Hindsight], object], mode: UpdateMode
) -> None:
    died = ReplayQueue(queue)
    assert died.claim()
    with DurableRetain(memory, queue) as durable:
        durable.retain("b", "Boat 0 is red.", document_id="d", update_mode=mode)
        store_unacknowledged(memory, died)
        change(memory)
        stored = everything(memory)
        died.close()
        durable.retain("b", "Boat 2 is green.")
        assert durable.drain()
    assert everything(memory)[: len(stored)] == stored
    assert texts(memory)[len(stored) :] == ["Boat 2 is green."]


@pytest.mark.local
def test_a_retain_that_changes_nothing_is_marked_too(memory: Hindsight, queue: Path) -> None:
    with DurableRetain(memory, queue) as durable:
        name = durable._queue.identity
        marks = []
        for _ in range(2):
            durable.retain("b", "Boat 0 is red.", document_id="d")
            marks.append(memory.runtime.graph.read("b", CHECKPOINT, [name])[name].number)
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
