"""Corrections that do not get lost, wrong types that are named, codes that differ in case."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight, InvalidInputError, MemoryNotFoundError


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
