"""ReflectionChatMemory: insights and recent exchanges, in agents and chat engines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import FunctionTool

from hindsight_integrations import InvalidInputError
from hindsight_integrations.llamaindex import ReflectionChatMemory
from hindsight_integrations.llamaindex.testing import ScriptedChat
from hindsight_integrations.sessions import ReflectionMemory
from tests.llamaindex.engines import assistant, user
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS

LEARNT = "Alice prefers trains to planes."


def learnt(system: str, user: str) -> str:
    return json.dumps({"insights": [{"insight": LEARNT, "importance": 0.9}]})


def told(messages: Sequence[ChatMessage]) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in messages]


def exchanges(learning: ReflectionMemory) -> list[tuple[str, str]]:
    return [(one.query, one.reply) for one in learning.exchanges]


def look(city: str) -> str:
    """Look out of the window."""
    return f"It rains in {city}."


async def test_a_function_agent_sees_insights_and_its_turns_are_committed() -> None:
    learning = ReflectionMemory(learnt, every=1)
    chat = ReflectionChatMemory(learning)
    script = ScriptedChat([("look", {"city": "Oslo"})], "It rains.", "By train.")
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(look)], llm=script.llm)
    await agent.run("How is it in Oslo?", memory=chat)
    assert learning.wait_idle(60)
    await agent.run("And to Porto?", memory=chat)
    seen = told(script.asked[-1])
    assert seen[0][0] == "system"
    assert "[0.90] " + LEARNT in str(seen[0][1])
    assert seen[1:] == [
        ("user", "How is it in Oslo?"),
        ("assistant", "It rains."),
        ("user", "And to Porto?"),
    ]
    assert exchanges(learning) == [
        ("How is it in Oslo?", "It rains."),
        ("And to Porto?", "By train."),
    ]


async def test_reasoning_of_a_react_agent_is_not_committed() -> None:
    learning = ReflectionMemory(learnt, every=0)
    script = ScriptedChat("Thought: I can answer without using any more tools.\nAnswer: Hello.")
    await ReActAgent(tools=[FunctionTool.from_defaults(look)], llm=script.llm).run(
        "Hello?", memory=ReflectionChatMemory(learning)
    )
    assert exchanges(learning) == [("Hello?", "Hello.")]


def test_a_chat_engine_talks_with_it() -> None:
    learning = ReflectionMemory(learnt, every=0)
    chat = ReflectionChatMemory.from_defaults(learning=learning)
    engine = SimpleChatEngine.from_defaults(llm=ScriptedChat("Hi.", "Yes.").llm, memory=chat)
    engine.chat("Hello.")
    engine.chat("Still there?")
    assert exchanges(learning) == [("Hello.", "Hi."), ("Still there?", "Yes.")]
    engine.reset()
    assert exchanges(learning) == []


def test_only_the_newest_turns_that_fit_are_shown() -> None:
    chat = ReflectionChatMemory(ReflectionMemory(learnt, every=0), token_limit=12)
    for n in range(5):
        chat.put_messages([user(f"Query {n}."), assistant(f"Reply {n}.")])
    assert told(chat.get()) == [("user", "Query 4."), ("assistant", "Reply 4.")]
    assert len(chat.get_all()) == 10


def test_reset_and_set_leave_the_insights() -> None:
    learning = ReflectionMemory(learnt, every=1)
    chat = ReflectionChatMemory(learning)
    chat.put_messages([user("Hello."), assistant("Hi.")])
    assert learning.wait_idle(60)
    chat.set([user("Anew.")])
    assert learning.wait_idle(60)
    assert [role for role, _ in told(chat.get())] == ["system", "user"]
    chat.reset()
    assert [each.text for each in learning.insights] == [LEARNT]
    assert chat.get_all() == []


def test_speakers_may_be_named() -> None:
    learning = ReflectionMemory(learnt, every=0)
    chat = ReflectionChatMemory(learning, speakers={"user": "Alice", "assistant": "assistant"})
    chat.put_messages([user("Hello."), assistant("Hi.")])
    assert told(chat.get()) == [("user", "Alice: Hello."), ("assistant", "Hi.")]


def test_restored_from_json_it_says_what_is_missing() -> None:
    chat = ReflectionChatMemory(ReflectionMemory(learnt, every=0), token_limit=500)
    fields: dict[str, Any] = json.loads(json.dumps(chat.to_dict()))
    restored = ReflectionChatMemory.from_dict(fields)
    assert isinstance(restored, BaseMemory)
    assert restored.token_limit == 500
    with pytest.raises(InvalidInputError, match="attach"):
        restored.get()
    restored.attach(ReflectionMemory(learnt, every=0))
    assert restored.get() == []


@pytest.mark.parametrize("bad", [{"token_limit": 0}, {"learning": "alice"}])
def test_a_bad_argument_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        ReflectionChatMemory(**({"learning": ReflectionMemory(learnt)} | bad))
