"""Eight threads at work in one bank: nothing hangs, nothing breaks, and the evidence stays true."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import HindsightError, ModelError
from hindsight_integrations.models import Memory, MemoryType, ModelUsage
from hindsight_integrations.reflect.dependencies import Cluster, Proposals
from hindsight_integrations.reflect.rules import RuleConsolidator
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import CONCLUSIONS_CITING
from hindsight_integrations.stores.sync import DivergenceKind

from .priority import yield_to_other_tests

SECONDS = 20
"""Duration of the threads' work; a longer run tests more."""

THREADS = 8
START = datetime(2025, 1, 6, 9, tzinfo=UTC)
PEOPLE = ("Ann", "Bob", "Cleo", "Dan")
THINGS = ("seat map", "booking site", "cargo bike", "spare key", "launch cake", "help page")
TOOLS = ("React", "Vue", "Svelte", "Angular")
SAYINGS = (
    "The {thing} is ready for boat {n}.",
    "I moved the {thing} to {tool} in week {n}.",
    "I'll build the {thing} in {tool} for boat {n}.",
    "Somebody broke the {thing} on day {n}.",
)


def saying(chance: random.Random) -> str:
    return chance.choice(SAYINGS).format(
        thing=chance.choice(THINGS), tool=chance.choice(TOOLS), n=chance.randrange(200)
    )


def all_memories(memory: Hindsight) -> dict[str, Memory]:
    found: dict[str, Memory] = {}
    cursor = None
    while True:
        page = memory.memories.list("b", include_invalid=True, limit=500, cursor=cursor)
        found |= {each.id: each for each in page.items}
        cursor = page.next_cursor
        if cursor is None:
            return found


def assert_the_evidence_is_true(memory: Hindsight) -> None:
    """Every quote stands in its source, every source lives, and none is a conclusion."""
    memories = all_memories(memory)
    observations = [m for m in memories.values() if m.type is MemoryType.OBSERVATION]
    for observation in observations:
        assert observation.sources, observation
        assert observation.proof_count == len({s.memory_id for s in observation.sources})
        for source in observation.sources:
            assert source.memory_id in memories, (observation, source)
            rested = memories[source.memory_id]
            assert source.quote
            assert source.quote in rested.text
            assert rested.invalidated_at is None
            assert rested.type is not MemoryType.OBSERVATION
    resting = memory.runtime.graph.read("b", CONCLUSIONS_CITING, list(memories))
    named = {id for ids in resting.values() for id in ids}
    assert named <= memories.keys()
    keys = [frozenset(s.memory_id for s in each.sources) for each in observations]
    assert len(set(keys)) == len(keys), "two observations rest on the same memories"
    # Chroma's approximate search may lose the way to a vector among many that come and go: the
    # doctor notices, and builds the space again. Nothing else may be wrong.
    found = memory.maintenance.doctor().findings
    assert all(DivergenceKind.UNFOUND in fault.problem for fault in found), found
    assert memory.maintenance.doctor(repair=False).findings == ()


@pytest.mark.slow
def test_eight_threads_leave_the_evidence_true() -> None:
    with Hindsight.in_memory(settings=Settings(consolidation_delay=0.05)) as memory:
        memory.retain("b", "The bank is open.")
        until = time.monotonic() + SECONDS
        unexpected: list[BaseException] = []
        refused: list[HindsightError] = []

        def some_id(chance: random.Random) -> str:
            items = memory.memories.list("b", types=["world"], limit=200).items
            return chance.choice(items).id if items else "none"

        def retain(chance: random.Random) -> None:
            said = START + timedelta(hours=chance.randrange(5000))
            turn = {"speaker": chance.choice(PEOPLE), "text": saying(chance), "timestamp": said}
            memory.retain_messages("b", [turn], session=str(chance.randrange(50)))

        def recall(chance: random.Random) -> None:
            found = memory.recall("b", saying(chance), prefer_observations=chance.random() < 0.5)
            assert not found.failures

        def forget(chance: random.Random) -> None:
            memory.forget("b", some_id(chance))

        def amend(chance: random.Random) -> None:
            memory.memories.update("b", some_id(chance), text=saying(chance))

        def withdraw(chance: random.Random) -> None:
            memory.memories.invalidate("b", some_id(chance), "no more")

        def consolidate(chance: random.Random) -> None:
            memory.consolidate("b")

        kinds: list[Callable[[random.Random], None]] = [
            retain, retain, retain, recall, forget, amend, withdraw, consolidate
        ]  # fmt: skip

        def work(number: int) -> None:
            yield_to_other_tests()
            chance = random.Random(number)
            while time.monotonic() < until and not unexpected:
                try:
                    chance.choice(kinds)(chance)
                except HindsightError as error:
                    refused.append(error)
                except BaseException as error:  # noqa: BLE001 - whatever it is, the test tells it
                    unexpected.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + 120)
        assert not any(thread.is_alive() for thread in threads), "a thread hangs"
        assert unexpected == []
        assert {type(error).__name__ for error in refused} <= {
            "MemoryNotFoundError", "ConflictError"
        }  # fmt: skip
        assert memory.wait_idle(120)
        assert memory.health().ok
        assert memory.observations.list("b").total > 0
        assert_the_evidence_is_true(memory)


class Pausing:
    """A consolidator that lets the test do something while it thinks."""

    id = "pausing"

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def propose(self, matter: Cluster) -> Proposals:
        proposals = RuleConsolidator().propose(matter)
        self._meanwhile()
        return proposals


def two_facts(memory: Hindsight) -> tuple[str, str]:
    texts = ("I drew the seat map today.", "The seat map has boats now.")
    first, second = (
        memory.retain_messages(
            "b",
            [{"speaker": "Ann", "text": text, "timestamp": START + timedelta(days=30 * n)}],
            session=str(n),
        ).ids[0]
        for n, text in enumerate(texts)
    )
    return first, second


def consolidating_while(memory: Hindsight, meanwhile: Callable[[], object]) -> None:
    """Consolidate once, with something happening after the proposals and before the writing."""
    runtime, once = memory.runtime, iter([meanwhile])
    pausing = Pausing(lambda: next(once, lambda: None)())
    runtime.reflecting = replace(runtime.reflecting, consolidator=pausing)
    memory.consolidate("b")


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as engine:
        yield engine


def test_a_source_forgotten_meanwhile_is_no_evidence(memory: Hindsight) -> None:
    first, _ = two_facts(memory)
    consolidating_while(memory, lambda: memory.forget("b", first))
    assert memory.observations.list("b").items == []
    assert_the_evidence_is_true(memory)


def test_a_source_corrected_meanwhile_is_read_again(memory: Hindsight) -> None:
    _, second = two_facts(memory)
    text = "The seat map has trains now."
    consolidating_while(memory, lambda: memory.memories.update("b", second, text=text))
    (found,) = memory.observations.list("b").items
    assert text in found.text
    assert_the_evidence_is_true(memory)


def test_two_who_consolidate_at_once_draw_it_once(memory: Hindsight) -> None:
    two_facts(memory)

    def another() -> None:
        thread = threading.Thread(target=memory.consolidate, args=("b",))
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), "a lock is held while the consolidator thinks"

    consolidating_while(memory, another)
    assert memory.observations.list("b").total == 1
    assert_the_evidence_is_true(memory)


def test_a_run_stops_at_its_tokens_and_what_is_left_waits() -> None:
    class Costly(RuleConsolidator):
        def propose(self, matter: Cluster) -> Proposals:
            return replace(RuleConsolidator().propose(matter), usage=ModelUsage(1, 90, 10))

    settings = Settings(consolidate=False, consolidation_tokens=100)
    with Hindsight.in_memory(settings=settings) as memory:
        two_facts(memory)
        for n, text in enumerate(("The booking site is down.", "The booking site is slow.")):
            memory.retain("b", text, timestamp=START + timedelta(days=30 * n))
        runtime = memory.runtime
        runtime.reflecting = replace(runtime.reflecting, consolidator=Costly())
        done = memory.consolidate("b")
        assert (done.capped, done.usage.calls, len(done.created)) == (True, 1, 1)
        again = memory.consolidate("b")
        assert (again.capped, again.considered, len(again.created)) == (False, 2, 1)
        assert repr(again).startswith("Consolidation(bank_id='b', considered=2, created=1, usage=")


def test_a_consolidator_that_fails_changes_nothing_and_is_reported(memory: Hindsight) -> None:
    class Failing:
        id = "failing"

        def propose(self, matter: Cluster) -> Proposals:
            raise ModelError("no usable reply")

    two_facts(memory)
    runtime = memory.runtime
    good = runtime.reflecting
    runtime.reflecting = replace(good, consolidator=Failing())
    done = memory.consolidate("b")
    assert [str(failure.error) for failure in done.failures] == ["no usable reply"]
    assert memory.observations.list("b").items == []
    runtime.reflecting = good
    memory.consolidate("b")
    assert memory.observations.list("b").total == 1
