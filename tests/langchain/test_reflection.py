"""A reflection memory as the memory of an agent, and as a message history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from hindsight_integrations import ClosedError, Hindsight, InvalidInputError
from hindsight_integrations.langchain import ReflectionChatMessageHistory, ReflectionMiddleware
from hindsight_integrations.sessions import ReflectionMemory
from tests.langchain.models import Scripted, calling

both = pytest.mark.parametrize("mode", ["sync", "async"])

LEARNT = "Alice prefers trains to planes."


def learnt(system: str, user: str) -> str:
    return json.dumps({"insights": [{"insight": LEARNT, "importance": 0.9}]})


def said(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


async def invoke(mode: str, agent: Any, *arguments: Any) -> Any:
    return agent.invoke(*arguments) if mode == "sync" else await agent.ainvoke(*arguments)


def shown(learning: ReflectionMemory) -> list[tuple[str, str]]:
    return [(exchange.query, exchange.reply) for exchange in learning.exchanges]


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [str(message.text) for message in messages if not isinstance(message, SystemMessage)]


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


@both
async def test_insights_and_earlier_exchanges_are_shown_and_turns_committed(mode: str) -> None:
    learning = ReflectionMemory(learnt, every=1)
    model = Scripted(replies=["Again?", "By train."])
    agent = create_agent(model, middleware=[ReflectionMiddleware(learning)])
    await invoke(mode, agent, said("I took the train."))
    assert learning.wait_idle(60)
    state = await invoke(mode, agent, said("How do I get to Porto?"))
    system, *rest = model.seen[-1]
    assert "[0.90] " + LEARNT in str(system.text)
    assert texts(rest) == ["I took the train.", "Again?", "How do I get to Porto?"]
    assert texts(state["messages"]) == ["How do I get to Porto?", "By train."]
    assert shown(learning) == [
        ("I took the train.", "Again?"),
        ("How do I get to Porto?", "By train."),
    ]


@both
async def test_in_a_thread_nothing_is_shown_or_committed_twice(mode: str) -> None:
    learning = ReflectionMemory(learnt, every=0)
    model = Scripted(replies=["Noted.", "Oslo."])
    middleware = [ReflectionMiddleware(learning)]
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    await invoke(mode, agent, said("I live in Oslo."), thread)
    await invoke(mode, agent, said("Where do I live?"), thread)
    assert texts(model.seen[-1]) == ["I live in Oslo.", "Noted.", "Where do I live?"]
    assert shown(learning) == [("I live in Oslo.", "Noted."), ("Where do I live?", "Oslo.")]


def test_tool_calls_and_their_results_are_no_part_of_an_exchange() -> None:
    learning = ReflectionMemory(learnt, every=0)
    model = Scripted(replies=[calling("weather", city="Oslo"), "It rains."])
    create_agent(model, [weather], middleware=[ReflectionMiddleware(learning)]).invoke(
        said("How is it in Oslo?")
    )
    assert shown(learning) == [("How is it in Oslo?", "It rains.")]


def test_each_user_may_have_a_memory_of_their_own() -> None:
    memories = {name: ReflectionMemory(learnt, every=0) for name in ("alice", "ben")}
    middleware = ReflectionMiddleware(lambda runtime: memories[runtime.context["user"]])
    agent = create_agent(Scripted(replies=["Hello.", "Hi."]), middleware=[middleware])
    agent.invoke(said("I am Alice."), context={"user": "alice"})
    agent.invoke(said("I am Ben."), context={"user": "ben"})
    assert shown(memories["alice"]) == [("I am Alice.", "Hello.")]
    assert shown(memories["ben"]) == [("I am Ben.", "Hi.")]


def test_a_memory_that_fails_does_not_stop_the_agent_unless_it_should(
    engine: Hindsight, bank: str, caplog: pytest.LogCaptureFixture
) -> None:
    learning = ReflectionMemory(learnt)
    learning.close()
    agent = create_agent(Scripted(replies=["Hello."]), middleware=[ReflectionMiddleware(learning)])
    assert texts(agent.invoke(said("Hello?"))["messages"])[-1] == "Hello."
    assert "committing a turn failed" in caplog.text
    strict = ReflectionMiddleware(learning, on_failure="raise")
    with pytest.raises(ClosedError):
        create_agent(Scripted(replies=["Hello."]), middleware=[strict]).invoke(said("Hello?"))


def test_what_is_no_reflection_memory_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="ReflectionMemory"):
        ReflectionMiddleware("alice")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="ReflectionMemory"):
        ReflectionChatMessageHistory("alice")  # type: ignore[arg-type]


TALK: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("Does it leak?", name="Ann"),
    AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}]),
    ToolMessage("It leaks.", tool_call_id="c"),
    AIMessage("The tent leaks."),
]


@both
async def test_a_history_keeps_what_was_said_and_shows_insights(mode: str) -> None:
    learning = ReflectionMemory(learnt, every=1)
    history = ReflectionChatMessageHistory(learning)
    if mode == "sync":
        history.add_messages(TALK)
    else:
        await history.aadd_messages(TALK)
    assert learning.wait_idle(60)
    system, question, reply = history.messages if mode == "sync" else await history.aget_messages()
    assert LEARNT in str(system.text)
    assert (question.type, question.name, question.text) == ("human", "Ann", "Does it leak?")
    assert (reply.type, reply.text) == ("ai", "The tent leaks.")
    if mode == "sync":
        history.clear()
    else:
        await history.aclear()
    assert history.messages == []
