"""What was stored and not struck off the queue is not stored twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.model import utc_now
from hindsight_integrations.replay import DurableRetain, ReplayQueue
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.request import UpdateMode
from hindsight_integrations.storage.requests import Mark

from .memories import everything, submission, texts

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
