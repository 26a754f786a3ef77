"""What the middleware shows a model: nothing that the messages say, and never silently nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelRequest,
    ModelResponse,
    dynamic_prompt,
    wrap_model_call,
)
from langgraph.checkpoint.memory import InMemorySaver

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.langchain import HindsightMiddleware
from hindsight_integrations.retain.fence import FENCE_START
from tests.langchain.models import Scripted, calling
from tests.langchain.test_middleware import weather

both = pytest.mark.parametrize("mode", ["sync", "async"])
THREAD: Any = {"configurable": {"thread_id": "t"}}
OTHER: Any = {"configurable": {"thread_id": "other"}}


async def say(mode: str, agent: Any, text: str, config: Any = THREAD) -> None:
    given = {"messages": [("user", text)]}
    if mode == "sync":
        agent.invoke(given, config)
    else:
        await agent.ainvoke(given, config)


@both
async def test_what_the_thread_itself_says_is_not_shown_a_second_time(
    mode: str, engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["Noted.", "In Oslo.", "In Oslo, I was told."])
    remembering = HindsightMiddleware(engine, bank)
    agent = create_agent(model, middleware=[remembering], checkpointer=InMemorySaver())
    await say(mode, agent, "I live in Oslo.")
    await say(mode, agent, "Where do I live?")
    assert "I live in Oslo." not in model.system(1)
    await say(mode, agent, "Where do I live?", OTHER)
    assert "user: I live in Oslo." in model.system(2)


@both
async def test_memories_that_the_thread_does_not_show_take_the_room_of_those_it_does(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "The red kayak of Ann is kept in the boathouse by the lake.")
    model = Scripted(replies=["Noted.", "In the boathouse."])
    remembering = HindsightMiddleware(engine, bank, max_tokens=40)
    agent = create_agent(model, middleware=[remembering], checkpointer=InMemorySaver())
    await say(mode, agent, "Where is the red kayak of Ann kept, please tell me where it is kept?")
    await say(mode, agent, "Where is the red kayak of Ann kept?")
    assert "boathouse" in model.system(1)
    assert "tell me where" not in model.system(1)


def test_a_thread_that_is_trimmed_is_shown_what_it_lost(engine: Hindsight, bank: str) -> None:
    @wrap_model_call
    def trimming(
        request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return handler(request.override(messages=request.messages[-1:]))

    model = Scripted(replies=["Noted.", "In Oslo."])
    agent = create_agent(
        model,
        middleware=[trimming, HindsightMiddleware(engine, bank)],
        checkpointer=InMemorySaver(),
    )
    for text in ("I live in Oslo.", "Where do I live?"):
        agent.invoke({"messages": [("user", text)]}, THREAD)
    assert "user: I live in Oslo." in model.system(1)


def test_what_a_tool_answers_takes_nothing_from_what_is_shown(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "It rains in Oslo.")
    model = Scripted(replies=[calling("weather", city="Oslo"), "Take an umbrella."])
    agent = create_agent(model, [weather], middleware=[HindsightMiddleware(engine, bank)])
    agent.invoke({"messages": [("user", "Does it rain in Oslo?")]})
    assert "It rains in Oslo." in model.system(0)
    assert model.system(0) == model.system(1)


@both
@pytest.mark.parametrize("place", ["system", "question"])
async def test_memories_that_a_dynamic_prompt_drops_are_reported_once(
    mode: str, place: Any, engine: Hindsight, bank: str, caplog: pytest.LogCaptureFixture
) -> None:
    @dynamic_prompt
    def prompt(request: ModelRequest[Any]) -> str:
        return "Be brief."

    engine.retain(bank, "The user lives in Oslo.")
    model = Scripted(replies=["Hm.", "Hm.", "In Oslo."])
    remembering = HindsightMiddleware(engine, bank, retain="never", place=place)
    agent = create_agent(model, middleware=[remembering, prompt])
    with caplog.at_level(logging.WARNING, "hindsight_integrations"):
        for _ in range(2):
            await say(mode, agent, "Where does the user live?")
    told = [
        record.message for record in caplog.records if "shows the model no memory" in record.message
    ]
    if place == "question":
        assert told == []
        assert "Oslo" in str(model.seen[0][-1].text)
        return
    assert "Oslo" not in model.system(0)
    assert len(told) == 1
    assert "list HindsightMiddleware" in told[0]
    agent = create_agent(model, middleware=[prompt, remembering])
    await say(mode, agent, "Where does the user live?")
    assert model.system(2).startswith("Be brief.\n\n" + FENCE_START)
    assert "Oslo" in model.system(2)


def test_two_middlewares_that_a_prompt_drops_are_both_reported(
    engine: Hindsight, bank: str, caplog: pytest.LogCaptureFixture
) -> None:
    @dynamic_prompt
    def prompt(request: ModelRequest[Any]) -> str:
        return "Be brief."

    made = []
    for name in ("mine", "team"):
        engine.retain(f"{bank} {name}", f"The {name} desk is by the window.")
        made.append(HindsightMiddleware(engine, f"{bank} {name}", retain="never", name=name))
    agent = create_agent(Scripted(replies=["Hm."]), middleware=[*made, prompt])
    with caplog.at_level(logging.WARNING, "hindsight_integrations"):
        agent.invoke({"messages": [("user", "Where is the desk?")]})
    assert [record.message.split()[0] for record in caplog.records] == ["mine", "team"]


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"recall_options": {"max_tokens": "many"}}])
def test_a_budget_that_cannot_be_used_is_refused_at_once(
    options: dict[str, Any], engine: Hindsight
) -> None:
    with pytest.raises(InvalidInputError, match="max_tokens"):
        HindsightMiddleware(engine, "b", **options)


def test_a_representation_tells_engine_bank_and_what_is_retained(engine: Hindsight) -> None:
    told = f"HindsightMiddleware({engine!r}, bank_id='ann', retain='never')"
    assert repr(HindsightMiddleware(engine, "ann", retain="never")) == told
    told = f"HindsightMiddleware({engine!r}, bank_id=by_user(), retain='every_turn')"

    def by_user(runtime: Any) -> str:
        return "ann"

    by_user.__qualname__ = "by_user"
    assert repr(HindsightMiddleware(engine, by_user)) == told
