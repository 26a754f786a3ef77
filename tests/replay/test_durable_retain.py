"""A durable retain does what a retain does, while its store answers."""

from __future__ import annotations

import inspect
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from hindsight_integrations import (
    ContentTooLargeError,
    Hindsight,
    InvalidInputError,
    Item,
    Settings,
)
from hindsight_integrations.replay import DurableRetain
from hindsight_integrations.results import SkipReason

from .memories import texts

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
