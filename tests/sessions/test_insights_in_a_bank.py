"""Insights and remarks that are kept in a bank go on after a restart, and go with the bank."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight, MemoryType
from hindsight_integrations.sessions import ReflectionMemory

from ..scripted import Script, Slow
from .learning import PORTO, TRAINS, as_json, recent, say, texts


def test_it_goes_on_after_a_restart(folder: Path) -> None:
    with Hindsight(folder) as memory:
        model = Script(as_json((TRAINS, 0.9), (PORTO, 0.4)))
        learning = ReflectionMemory(model, memory=memory, bank_id="b", every=4, background=False)
        learning.add_message("user", "Let go.", importance=0.0)
        say(learning, 6)
        kept, insights = learning.recent, learning.insights
        assert [each.text for each in insights] == [TRAINS, PORTO]
        assert len(kept) == 6
    with Hindsight(folder) as memory:
        model = Script(as_json(("Alice has a cat.", 0.6)))
        learning = ReflectionMemory(model, memory=memory, bank_id="b", every=4, background=False)
        assert learning.recent == kept
        assert learning.insights == insights
        learning.add_message("user", "Remark 7.")  # the fourth since the last reflection
        assert texts(learning) == [TRAINS, "Alice has a cat.", PORTO]
        assert recent(learning) == [f"Remark {n}." for n in range(1, 8)]


def test_insights_are_observations_that_recall_finds(memory: Hindsight) -> None:
    model = Script(as_json((TRAINS, 0.9)))
    learning = ReflectionMemory(model, memory=memory, bank_id="b", every=1)
    learning.add_message("user", "I never fly if I can help it.")
    assert learning.wait_idle(60)
    found = memory.recall("b", "How does Alice like to travel?", types=["observation"])
    (observation,) = [each.memory for each in found]
    assert observation.text == TRAINS
    assert observation.type is MemoryType.OBSERVATION
    assert observation.tags == ("insight",)
    assert observation.metadata == {"importance": 0.9}
    assert "Script" in (observation.reasoning or "")
    assert len(memory.memories.list("b").items) == 1  # remarks are no memories


def test_what_is_no_longer_among_the_best_leaves_the_bank(memory: Hindsight) -> None:
    model = Script(as_json((TRAINS, 0.3)), as_json((PORTO, 0.9)), as_json((PORTO, 0.95)))
    learning = ReflectionMemory(model, memory=memory, bank_id="b", insights=1, every=0)
    learning.add_message("user", "Hello.")
    learning.reflect()
    learning.reflect()
    (stored,) = memory.memories.list("b").items
    assert stored.text == PORTO
    memory.memories.update("b", stored.id, metadata={"importance": 0.9, "checked": True})
    learning.reflect()
    (again,) = memory.memories.list("b").items
    assert (again.id, again.metadata) == (stored.id, {"importance": 0.95, "checked": True})


def test_the_bank_has_the_last_word(memory: Hindsight) -> None:
    model = Script(as_json((TRAINS, 0.9), (PORTO, 0.8), ("Alice has a cat.", 0.7)), "[]")
    learning = ReflectionMemory(model, memory=memory, bank_id="b", every=1)
    learning.add_message("user", "Hello.")
    assert learning.wait_idle(60)
    by_text = {each.text: each.id for each in learning.insights}
    memory.forget("b", by_text[TRAINS])
    memory.memories.update("b", by_text[PORTO], text="Alice moved to Porto in May.")
    memory.memories.invalidate("b", by_text["Alice has a cat."])
    assert texts(learning) == ["Alice moved to Porto in May."]
    learning.add_message("user", "Hello again.")
    assert learning.wait_idle(60)
    assert texts(learning) == ["Alice moved to Porto in May."]


def test_a_bank_that_is_deleted_leaves_an_empty_memory_that_goes_on(memory: Hindsight) -> None:
    model = Script(as_json((TRAINS, 0.9)), as_json((PORTO, 0.8)))
    learning = ReflectionMemory(model, memory=memory, bank_id="b", every=1)
    learning.add_message("user", "One.")
    assert learning.wait_idle(60)
    memory.banks.delete("b")
    assert learning.context() == []
    learning.add_message("user", "Two.")
    assert (recent(learning), texts(learning)) == (["Two."], [PORTO])


@pytest.mark.parametrize("forgotten", ["bank", "document"])
def test_what_is_forgotten_while_the_model_thinks_does_not_come_back(
    memory: Hindsight, forgotten: str
) -> None:
    model = Slow(as_json((TRAINS, 0.9)))
    place: dict[str, Any] = {"memory": memory, "bank_id": "b"}
    with ReflectionMemory(model, every=1, **place) as learning:
        learning.add_message("user", "One.")
        assert model.asked.wait(60)
        if forgotten == "bank":
            memory.banks.delete("b")
        else:
            memory.forget("b", document_id="reflection#remarks")
        model.may_answer.set()
        assert learning.wait_idle()
        assert learning.failures == 0
        assert (learning.recent, learning.insights) == ((), ())
        assert [bank.id for bank in memory.banks.list()] == ["b"] * (forgotten == "document")


def test_reflection_memories_of_one_bank_are_told_apart(memory: Hindsight) -> None:
    place: dict[str, Any] = {"memory": memory, "bank_id": "b", "every": 1}
    one = ReflectionMemory(Script(as_json((TRAINS, 0.9))), session_id="one", **place)
    two = ReflectionMemory(Script(as_json((PORTO, 0.9))), session_id="two", **place)
    one.add_message("user", "One.")
    two.add_message("user", "Two.")
    assert (recent(one), texts(one)) == (["One."], [TRAINS])
    assert (recent(two), texts(two)) == (["Two."], [PORTO])


def test_forgetting_its_remarks_takes_the_insights_with_them(memory: Hindsight) -> None:
    learning = ReflectionMemory(Script(as_json((TRAINS, 0.9))), memory=memory, bank_id="b", every=1)
    learning.add_message("user", "One.")
    assert learning.wait_idle(60)
    memory.forget("b", document_id="reflection#remarks")
    assert (learning.recent, learning.insights) == ((), ())
    assert memory.maintenance.doctor().findings == ()


def test_evidence_is_kept_in_the_bank_and_grows(folder: Path) -> None:
    again = "Alice would rather travel by train than by plane."
    items = [
        [{"insight": text, "importance": 0.5, "evidence": [n]}]
        for n, text in ((1, TRAINS), (2, again))
    ]
    model = Script(*map(json.dumps, items))
    with Hindsight(folder) as memory:
        learning = ReflectionMemory(model, memory=memory, bank_id="b", every=0)
        learning.commit("I took the train.", "Again?")
        learning.reflect()
        learning.commit("I never fly.", "I know.")
        learning.reflect()
        insights = learning.insights
    with Hindsight(folder) as memory:
        learning = ReflectionMemory(Script(), memory=memory, bank_id="b")
        assert learning.insights == insights
        (insight,) = insights
        assert [one.text for one in insight.evidence] == [
            "user: I took the train.\nassistant: Again?",
            "user: I never fly.\nassistant: I know.",
        ]
        stored = memory.memories.get("b", insight.id)
        assert stored.proof_count == 2
        assert [source.quote for source in stored.sources] == [one.text for one in insight.evidence]
        assert learning.exchanges[1].reply == "I know."
        assert memory.maintenance.doctor().findings == ()


WRITER = """
import sys
from hindsight_integrations import Hindsight
from hindsight_integrations.sessions import ReflectionMemory

replies = (f"The heron was seen {n} times." for n in range(10_000))
memory = Hindsight(sys.argv[1])
learning = ReflectionMemory(
    lambda system, user: next(replies), memory=memory, bank_id="b", every=3, recent=100,
    background=False,
)
for n in range(10_000):
    learning.add_message("user", f"Remark {n}.")
    print(n, flush=True)
"""


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    said += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.wait()
    process.stdout.close()
    with Hindsight(folder) as memory:
        learning = ReflectionMemory(Script(), memory=memory, bank_id="b", every=0, recent=100)
        kept = recent(learning)
        assert kept == sorted(kept, key=lambda text: int(text[7:-1]))
        assert {f"Remark {n}." for n in said[-99:]} <= set(kept)  # one more may lack its answer
        assert len(learning.insights) >= min(10, len(said) // 3)
        assert memory.maintenance.doctor().findings == ()
