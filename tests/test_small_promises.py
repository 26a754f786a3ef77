"""Corrections that do not get lost, wrong types that are named, codes that differ in case."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import (
    BankNotFoundError,
    ClosedError,
    Hindsight,
    InvalidInputError,
    MemoryNotFoundError,
    Settings,
)
from hindsight_integrations.stores.base import ChangeSet
from hindsight_integrations.stores.sqlite import SqliteGraph


def together(*calls: Callable[[], object]) -> None:
    with ThreadPoolExecutor(len(calls)) as threads:
        for done in [threads.submit(call) for call in calls]:
            done.result()


def test_aliases_and_profiles_given_by_two_threads_are_all_kept(folder: Path) -> None:
    with Hindsight(folder) as memory:
        memory.retain("b", "Anna lives in Porto.")

        def aliases(start: int) -> None:
            for n in range(start, start + 15):
                memory.entities.alias("b", "Anna", f"Name{n}")

        def profile(field: str) -> None:
            for n in range(15):
                memory.banks.update("b", **{field: f"{field} {n}"})  # type: ignore[arg-type]
                assert getattr(memory.banks.get("b"), field) == f"{field} {n}"

        together(lambda: aliases(0), lambda: aliases(100))
        assert len(memory.entities.get("b", "Anna").aliases) == 30
        together(lambda: profile("mission"), lambda: profile("background"), lambda: profile("name"))


def test_an_entity_is_split_only_by_memories_that_mention_it(memory: Hindsight) -> None:
    memory.retain("b", "Anna lives in Porto.")
    (other,) = memory.retain("b", "The kettle is red.").ids
    for id in ("m-none", other):
        with pytest.raises(MemoryNotFoundError, match="that mentions 'Anna'"):
            memory.entities.split("b", "Anna", "Anna Smith", [id])
    names = {entity.name for entity in memory.entities.list("b").items}
    assert "Anna Smith" not in names
    assert {"Anna", "Porto"} <= names


def test_texts_whose_codes_differ_in_case_are_both_kept(memory: Hindsight) -> None:
    pairs = (
        ("The password of the router is abC9xq.", "The password of the router is aBc9xq."),
        ("The notes are in src/Main.py now.", "The notes are in src/main.py now."),
        ("The key is called apiKey there.", "The key is called apikey there."),
    )
    for one, other in pairs:
        assert memory.retain("b", one).stored
        assert memory.retain("b", other).stored
    assert memory.retain("b", "The kettle is RED and old.").stored
    assert not memory.retain("b", "The kettle is red and old.").stored


WRONG: dict[str, Callable[[Hindsight, Any], object]] = {
    "recall types": lambda m, v: m.recall("b", "Who?", types=v),
    "recall tags": lambda m, v: m.recall("b", "Who?", tags=v),
    "recall where": lambda m, v: m.recall("b", "Who?", where=v),
    "recall arms": lambda m, v: m.recall("b", "Who?", arms=v),
    "recall entities": lambda m, v: m.recall("b", "Who?", entities=v),
    "recall bank": lambda m, v: m.recall(v, "Who?"),
    "retain tags": lambda m, v: m.retain("b", "Bo is here.", tags=v),
    "retain entities": lambda m, v: m.retain("b", "Bo is here.", entities=v),
    "retain messages": lambda m, v: m.retain_messages("b", v),
    "list types": lambda m, v: m.memories.list("b", types=v),
    "list cursor": lambda m, v: m.memories.list("b", cursor=v),
    "entities cursor": lambda m, v: m.entities.list("b", cursor=v),
    "directives": lambda m, v: m.banks.update("b", directives=v),
    "forget": lambda m, v: m.forget("b", v),
    "split": lambda m, v: m.entities.split("b", "Anna", "Ann", v),
    "alias": lambda m, v: m.entities.alias("b", "Anna", v),
    "export": lambda m, v: m.banks.export("b", v),
    "import": lambda m, v: m.banks.import_(v),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_value_of_the_wrong_type_is_named(
    memory: Hindsight, call: Callable[[Hindsight, Any], object]
) -> None:
    memory.retain("b", "Anna lives in Porto.")
    for value in (5, 3.5, True, object(), b"x"):
        with pytest.raises(InvalidInputError):
            call(memory, value)


def test_a_path_with_a_null_character_is_refused(memory: Hindsight) -> None:
    memory.banks.create("b")
    with pytest.raises(InvalidInputError, match="path of a file"):
        memory.banks.export("b", "\0")
    with pytest.raises(InvalidInputError, match="path of a file"):
        memory.banks.import_("\0")


def test_a_closing_client_refuses_calls_and_ends_those_that_run(folder: Path) -> None:
    settings = Settings(consolidate=True, consolidation_delay=60.0)
    memory = Hindsight(folder, settings=settings)
    memory.retain("b", "Anna lives in Porto.")
    working, ends = threading.Event(), []

    def work(call: Callable[[int], object]) -> None:
        for n in itertools.count():
            try:
                call(n)
                working.set()
            except Exception as error:  # noqa: BLE001 - looked at below
                ends.append(error)
                return

    calls: list[Callable[[int], object]] = [
        lambda n: memory.retain("b", f"Anna saw ship {n} leave the harbour."),
        lambda n: memory.recall("b", "Where does Anna live?"),
        lambda n: memory.memories.list("b"),
    ]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    working.wait(60)
    started = time.monotonic()
    memory.close()
    assert time.monotonic() - started < 10  # it waits for nothing but the calls that write
    for thread in threads:
        thread.join(60)
    assert [type(error) for error in ends] == [ClosedError] * len(calls)
    with pytest.raises(ClosedError):
        memory.consolidate("b")
    with Hindsight(folder, settings=settings) as again:
        assert again.maintenance.doctor(repair=False).healthy


def test_a_retain_beside_the_deletion_of_its_bank_says_so(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.retain("b", "Anna lives in Porto.")
    apply = SqliteGraph.apply

    def deleting(graph: SqliteGraph, changes: ChangeSet) -> object:
        monkeypatch.setattr(SqliteGraph, "apply", apply)
        memory.banks.delete("b")
        return apply(graph, changes)

    monkeypatch.setattr(SqliteGraph, "apply", deleting)
    with pytest.raises(BankNotFoundError, match="'b'"):
        memory.retain("b", "Bruno sails to Madeira.")
    assert memory.retain("b", "Bruno sails to Madeira.").stored
    assert [m.text for m in memory.memories.list("b").items] == ["Bruno sails to Madeira."]
    assert memory.maintenance.doctor(repair=False).healthy


def test_the_temporal_arm_searches_a_window_that_is_given(memory: Hindsight) -> None:
    for month in (3, 6):
        memory.retain("b", f"Anna paid invoice {month}.", timestamp=datetime(2024, month, 5))
    window = (datetime(2024, 6, 1), datetime(2024, 7, 1))
    found = memory.recall("b", "What did Anna pay?", arms=["temporal"], window=window)
    assert [item.text for item in found] == ["Anna paid invoice 6."]


def test_the_keyword_arm_finds_signs(memory: Hindsight) -> None:
    for text in (
        "The shirt is 100% wool.",
        "The shirt has 100 buttons.",
        "It was 50% off.",
        "A block ends with }.",
        "Write {x} there.",
        "Anna writes C++.",
        "Anna got a C.",
    ):
        memory.retain("b", text)
    for query, first, others in (
        ("%", "It was 50% off.", {"The shirt is 100% wool."}),
        ("}", "A block ends with }.", {"Write {x} there."}),
        ("100%", "The shirt is 100% wool.", {"The shirt has 100 buttons."}),
        ("C++", "Anna writes C++.", {"Anna got a C."}),
        ("{x}", "Write {x} there.", {"A block ends with }."}),
    ):
        found = [item.text for item in memory.recall("b", query, arms=["keyword"], fill=True)]
        assert (found[0], set(found[1:])) == (first, others)
        assert first in [item.text for item in memory.recall("b", query)]
    assert not memory.recall("b", "?!", arms=["keyword"], fill=True)
