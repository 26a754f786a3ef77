"""The face of a reflection memory: context for a model, what it refuses, asynchronous twins."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from llama_index.core.llms import ChatMessage

from hindsight_integrations import ClosedError, Hindsight, InvalidInputError
from hindsight_integrations.conversation import ReflectionMemory

from .learning import PORTO, TRAINS, as_json, recent, texts
from .scripted import LlamaIndexModel, Script, lang_chain

# Context


def test_context_is_system_insights_recent_prompt() -> None:
    learning = ReflectionMemory(Script(as_json((PORTO, 0.4), (TRAINS, 0.9))), every=3)
    learning.add_message("user", "I took the train.")
    learning.add_message("AI", "Was it late?")
    learning.add_message("Bob", "It always is.")
    context = learning.context("Book me a trip.", system="You are a travel agent.")
    assert [(m["role"], m["content"]) for m in context] == [
        ("system", "You are a travel agent."),
        ("system", context[1]["content"]),
        ("user", "I took the train."),
        ("assistant", "Was it late?"),
        ("user", "Bob: It always is."),
        ("user", "Book me a trip."),
    ]
    lines = context[1]["content"].splitlines()
    assert lines[0] == "<hindsight-memory>"
    assert lines[2:] == [f"- {TRAINS}", f"- {PORTO}", "</hindsight-memory>"]


def test_context_without_any_of_them() -> None:
    learning = ReflectionMemory(Script())
    assert learning.context() == []
    assert learning.context("Hello?") == [{"role": "user", "content": "Hello?"}]


def test_context_goes_into_chat_models_as_it_is() -> None:
    learning = ReflectionMemory(Script("[]"))
    learning.add_message("user", "Hello.")
    context = learning.context("Who am I?", system="Be brief.")
    assert lang_chain("Alice.").invoke(context).content == "Alice."
    messages = [ChatMessage(**message) for message in context]
    assert str(LlamaIndexModel(reply="Alice.").chat(messages)) == "assistant: Alice."


def test_insights_in_a_prompt_are_never_retained_as_if_they_had_been_said(
    memory: Hindsight,
) -> None:
    learning = ReflectionMemory(Script(as_json((TRAINS, 0.9))), every=1)
    learning.add_message("user", "I took the train.")
    memory.retain_messages("b", learning.context("Hello?"))
    assert all(TRAINS not in each.text for each in memory.memories.list("b").items)


# At the door


@pytest.mark.parametrize(
    "bad",
    [
        {"llm": 5},
        {"bank_id": "b"},
        {"recent": 0},
        {"insights": 0},
        {"every": -1},
        {"threshold": 1.5},
        {"threshold": True},
    ],
    ids=str,
)
def test_a_bad_argument_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        ReflectionMemory(**({"llm": Script()} | bad))


@pytest.mark.parametrize(
    "bad",
    [
        {"speaker": ""},
        {"text": " \u200b"},
        {"text": None},
        {"timestamp": 5},
        {"importance": 2},
        {"importance": "high"},
        {"importance": float("nan")},
    ],
    ids=str,
)
def test_a_bad_remark_is_refused_and_not_kept(bad: dict[str, Any]) -> None:
    learning = ReflectionMemory(Script())
    with pytest.raises(InvalidInputError):
        learning.add_message(**({"speaker": "user", "text": "Hello."} | bad))
    assert learning.recent == ()


def test_a_closed_one_takes_no_more() -> None:
    with ReflectionMemory(Script()) as learning:
        learning.add_message("user", "Hello.")
    learning.close()
    with pytest.raises(ClosedError):
        learning.add_message("user", "Too late.")
    assert recent(learning) == ["Hello."]


def test_a_repr_shows_no_secret() -> None:
    model = lang_chain("sk-secret")
    assert repr(ReflectionMemory(model)) == "ReflectionMemory(GenericFakeChatModel, failures=0)"


# Asynchronous twins


async def test_twins_do_the_same_inside_a_running_loop(memory: Hindsight) -> None:
    model = Script(as_json((TRAINS, 0.9)), as_json((PORTO, 0.4)))
    async with ReflectionMemory(model, memory=memory, bank_id="b", every=2) as learning:
        await learning.aadd_message("user", "One.")
        await learning.aadd_message("user", "Two.")
        assert texts(learning) == [TRAINS]
        assert len(await learning.areflect()) == 2
        assert await learning.await_idle()
        assert await learning.acontext("Hm?") == learning.context("Hm?")


def test_every_method_has_a_twin_of_the_same_signature() -> None:
    for name in ("add_message", "reflect", "context", "wait_idle", "close"):
        twin = getattr(ReflectionMemory, f"a{name}")
        assert inspect.iscoroutinefunction(twin)
        assert inspect.signature(twin) == inspect.signature(getattr(ReflectionMemory, name))
