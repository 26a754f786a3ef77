"""HindsightMemory: recent messages and a bank, in agents, chat engines and stored workflows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.llms import ChatMessage
from llama_index.core.workflow import Context

from hindsight_integrations import (
    ExtractionError,
    Hindsight,
    InvalidInputError,
    StoreUnavailableError,
)
from hindsight_integrations.llamaindex import (
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightRetriever,
    HindsightSerializer,
    ReflectionChatMemory,
)
from hindsight_integrations.llamaindex.testing import ScriptedChat
from hindsight_integrations.results import RetainResult
from hindsight_integrations.sessions import ReflectionMemory
from tests.llamaindex.engines import AS_SAID, CountingHindsight, assistant, user
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS


def contents(messages: Sequence[ChatMessage]) -> list[str | None]:
    return [message.content for message in messages]


def remembered(engine: Hindsight, bank: str) -> list[str]:
    return [memory.text for memory in engine.memories.list(bank, limit=1000).items]


def test_what_was_said_on_monday_is_recalled_on_tuesday(engine: Hindsight, bank: str) -> None:
    monday = HindsightMemory(engine, bank, session_id="monday")
    monday.put_messages([user("My sister Ruth keeps bees."), assistant("Where?")])
    assert remembered(engine, bank) == ["My sister Ruth keeps bees.", "Where?"]
    tuesday = HindsightMemory(engine, bank, session_id="tuesday")
    recalled = tuesday.get("Who keeps bees?")
    assert [message.role for message in recalled] == ["system"]
    assert "user: My sister Ruth keeps bees." in str(recalled[0].content)
    assert contents(monday.get("Who keeps bees?")) == ["My sister Ruth keeps bees.", "Where?"]


def test_recalled_text_joins_the_system_message_there_is(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    chat = HindsightMemory(engine, bank, messages=[ChatMessage("Be kind.", role="system")])
    chat.put(user("How many hives has Ruth?"))
    system, question = chat.get()
    assert "nine hives" in str(system.content)
    assert str(system.content).endswith("Be kind.")
    assert question.content == "How many hives has Ruth?"
    assert contents(chat.get_all()) == ["Be kind.", "How many hives has Ruth?"]


def test_only_the_newest_turns_are_shown_but_the_last_one_always(
    engine: Hindsight, bank: str
) -> None:
    chat = HindsightMemory(engine, bank, token_limit=160, max_tokens=100)
    chat.put(ChatMessage("Be kind.", role="system"))
    for n in range(10):
        chat.put_messages([user(f"This is my remark number {n}."), assistant(f"Noted {n}.")])
    shown = [text for text in contents(chat.get()) if text]
    assert shown[0].endswith("Be kind.")
    assert shown[-1] == "Noted 9."
    assert 3 <= len(shown) < 12
    assert shown[0].count("This is my remark number") > 3  # recalled, since they are not shown
    assert [message.role for message in chat.get()[:2]] == ["system", "user"]
    assert len(chat.get(initial_token_count=1000)) == 3
    assert len(chat.get_all()) == 21
    chat.put(user("A long story. " * 100))
    assert contents(chat.get())[-1] == "A long story. " * 100


def test_a_turn_recalls_once(engine: CountingHindsight, bank: str) -> None:
    chat = HindsightMemory(engine, bank)
    chat.put(user("How many hives has Ruth?"))
    engine.asked.clear()
    for given in (None, "How many hives has Ruth?", user("How many hives has Ruth?")):
        chat.get(given)
    chat.put_messages([ChatMessage("{}", role="tool"), assistant("Nine.")])
    chat.get()
    assert engine.asked == ["How many hives has Ruth?"]
    chat.put(user("How many hives has Ruth?"))
    chat.get()
    assert engine.asked == ["How many hives has Ruth?"] * 2


def test_who_writes_into_the_messages_given_does_not_change_the_chat(
    engine: Hindsight, bank: str
) -> None:
    chat = HindsightMemory(engine, bank)
    mine = user("Ruth keeps bees.")
    chat.put(mine)
    for message in (mine, chat.get()[0], chat.get_all()[0]):
        message.blocks[0].text = "changed"
    assert contents(chat.get()) == ["Ruth keeps bees."]


def test_set_replaces_the_chat_and_reset_ends_it_while_the_bank_stays(
    engine: Hindsight, bank: str
) -> None:
    chat = HindsightMemory(engine, bank)
    chat.put(user("Ruth keeps bees."))
    chat.set([user("Tomas keeps goats.")])
    assert contents(chat.get_all()) == ["Tomas keeps goats."]
    chat.reset()
    assert chat.get_all() == []
    assert remembered(engine, bank) == ["Ruth keeps bees.", "Tomas keeps goats."]


def test_asynchronously_it_is_the_same(engine: Hindsight, bank: str) -> None:
    async def talk() -> list[ChatMessage]:
        chat = HindsightMemory(engine, bank, session_id="a")
        await chat.aput(user("Ruth keeps bees."))
        await chat.aput_messages([assistant("Where?"), user("In Porto.")])
        assert await chat.aget_all() == chat.get_all()
        await chat.areset()
        await chat.aset([user("Hello.")])
        return await chat.aget("Who keeps bees?")

    shown = asyncio.run(talk())
    assert "Ruth keeps bees." in str(shown[0].content)
    assert shown[1].content == "Hello."


class FailingOnce(Hindsight):
    """Its store is away for one retain."""

    away = True

    def retain_messages(self, bank_id: str, messages: Any, **options: Any) -> RetainResult:
        if self.away:
            self.away = False
            raise StoreUnavailableError("the store is away")
        return super().retain_messages(bank_id, messages, **options)


def test_what_could_not_be_retained_is_made_good_with_the_next_message() -> None:
    with FailingOnce.in_memory(settings=AS_SAID) as engine:
        chat = HindsightMemory(engine, "b", on_failure="raise")
        with pytest.raises(StoreUnavailableError):
            chat.put(user("Ruth keeps bees."))
        chat.put(assistant("Where?"))
        assert remembered(engine, "b") == ["Ruth keeps bees.", "Where?"]


def test_a_workflow_that_was_stored_goes_on_where_it_was(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    script = ScriptedChat("Nine.", "In Porto, I think.")
    agent = FunctionAgent(tools=[], llm=script.llm, initial_state={"mood": "calm"})

    async def first() -> str:
        context = Context(agent)
        chat = HindsightMemory(engine, bank, session_id="s", types=["world"], token_limit=9000)
        await agent.run("How many hives has Ruth?", ctx=context, memory=chat)
        return json.dumps(context.to_dict())

    async def then(stored: str) -> HindsightMemory:
        serializer = HindsightSerializer(engine)
        context = Context.from_dict(agent, json.loads(stored), serializer=serializer)
        await agent.run("And where are they?", ctx=context)
        restored = await context.store.get("memory")
        assert isinstance(restored, HindsightMemory)
        return restored

    stored = asyncio.run(first())
    assert "nine hives" not in stored
    chat = asyncio.run(then(stored))
    said = ["How many hives has Ruth?", "Nine.", "And where are they?", "In Porto, I think."]
    assert contents(chat.get_all()) == said
    assert (chat.session_id, chat.token_limit, chat.options["types"]) == ("s", 9000, ["world"])
    assert "nine hives" in str(script.asked[1][0].content)
    assert [text for text in remembered(engine, bank) if text in said] == said


def test_a_memory_restored_without_its_engine_says_what_to_do(engine: Hindsight, bank: str) -> None:
    chat = HindsightMemory(engine, bank)
    chat.put(user("Ruth keeps bees."))
    restored = HindsightMemory.from_dict(json.loads(json.dumps(chat.to_dict())))
    with pytest.raises(InvalidInputError, match="HindsightSerializer"):
        restored.get()
    restored.attach(engine)
    assert contents(restored.get()) == ["Ruth keeps bees."]


def test_the_workflows_other_values_are_restored_as_ever(engine: Hindsight, bank: str) -> None:
    chat = HindsightMemory(engine, bank, session_id="inner")
    value = {"said": [user("Hello.")], "numbers": [1, None], "deep": {"chats": [chat]}}
    serializer = HindsightSerializer(engine)
    restored = serializer.deserialize(serializer.serialize(value))
    assert contents(restored["said"]) == ["Hello."]
    assert restored["numbers"] == [1, None]
    assert restored["deep"]["chats"][0].get() == []


def test_chat_engines_take_it(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    retriever = HindsightRetriever(engine, bank)
    for name, make in {
        "simple": lambda **parts: SimpleChatEngine.from_defaults(**parts),
        "context": lambda **parts: ContextChatEngine.from_defaults(retriever, **parts),
        "condense": lambda **parts: CondensePlusContextChatEngine.from_defaults(retriever, **parts),
    }.items():
        script = ScriptedChat("Nine.")
        chat = HindsightMemory(engine, bank, session_id=name)
        talk = make(llm=script.llm, memory=chat)
        assert str(talk.chat("How many hives has Ruth?")) == "Nine."
        assert any("nine hives" in str(message.content) for message in script.asked[-1])
        assert str(asyncio.run(talk.achat("Are you sure?"))) == "Nine."
        streamed = "".join(talk.stream_chat("Really?").response_gen)
        assert streamed == "Nine."
        assert contents(talk.chat_history)[:2] == ["How many hives has Ruth?", "Nine."]
        assert len(talk.chat_history) == 6


def test_its_limit_can_be_made_for_a_model(engine: Hindsight, bank: str) -> None:
    llm = ScriptedChat("Hi.").llm
    made = HindsightMemory.from_defaults([user("Hi.")], llm, memory=engine, bank_id=bank)
    assert made.token_limit == int(0.75 * llm.metadata.context_window)
    assert contents(made.get_all()) == ["Hi."]
    wide = HindsightMemory.from_defaults(memory=engine, bank_id=bank, token_limit=77_000)
    assert wide.token_limit == 77_000


def test_a_limit_that_leaves_no_room_for_messages_is_refused(engine: Hindsight) -> None:
    with pytest.raises(InvalidInputError, match="token_limit is 1000"):
        HindsightMemory(engine, "any", token_limit=1000)


def failing(system: str, user: str) -> str:
    raise RuntimeError("the provider is away")


async def test_an_agent_goes_on_without_a_memory_that_fails_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Hindsight.in_memory(llm=failing) as memory:
        chat = HindsightMemory(memory, "a", session_id="s")
        agent = FunctionAgent(llm=ScriptedChat("Hi Bob.").llm)
        assert str(await agent.run("I am Bob.", memory=chat)) == "Hi Bob."
        assert "continues without memory: retain in bank 'a' failed" in caplog.text
        strict = HindsightMemory(memory, "a", session_id="t", on_failure="raise")
        with pytest.raises(ExtractionError):
            strict.put(user("I am Bob."))
        with pytest.raises(InvalidInputError, match="on_failure is 'log'"):
            HindsightMemory(memory, "a", on_failure="log")  # type: ignore[arg-type]


def test_what_could_not_be_retained_is_retained_with_the_next_message(bank: str) -> None:
    away = [True]

    def facts(system: str, said: str) -> str:
        if away.pop():
            raise RuntimeError("the provider is away")
        away.append(False)
        texts = [text for text in ("I am Bob.", "I keep bees.") if text in said]
        return json.dumps({"facts": [{"text": text, "quote": text} for text in texts]})

    with Hindsight.in_memory(llm=facts) as memory:
        chat = HindsightMemory(memory, bank, session_id="s")
        chat.put(user("I am Bob."))
        assert chat.get_all()[0].content == "I am Bob."
        away.append(False)
        chat.put(user("I keep bees."))
        assert {"I am Bob.", "I keep bees."} <= set(remembered(memory, bank))


def test_an_empty_response_is_not_remembered(engine: Hindsight, bank: str) -> None:
    chat = HindsightMemory(engine, bank, session_id="s")
    engine_of_context = ContextChatEngine.from_defaults(
        HindsightRetriever(engine, bank), llm=ScriptedChat("Hi.").llm, memory=chat
    )
    engine_of_context.chat("Hello, I am Bob, and I keep bees.")
    assert remembered(engine, bank) == ["Hello, I am Bob, and I keep bees."]


@pytest.mark.parametrize("speakers", [{"human": "Ann"}, {"user": ""}, "Ann"])
def test_speakers_that_nobody_would_be_retained_under_are_refused(
    engine: Hindsight, bank: str, speakers: Any
) -> None:
    for make in (HindsightMemory, HindsightMemoryBlock):
        with pytest.raises(InvalidInputError, match="speaker"):
            make(engine, bank, speakers=speakers)
    learning = ReflectionMemory(lambda system, user: "", every=9)
    with pytest.raises(InvalidInputError, match="speaker"):
        ReflectionChatMemory(learning, speakers=speakers)


def test_a_session_without_a_visible_id_is_refused(engine: Hindsight, bank: str) -> None:
    with pytest.raises(InvalidInputError, match="session_id is blank"):
        HindsightMemory(engine, bank, session_id="")
    for make in (HindsightMemory, HindsightMemoryBlock):
        with pytest.raises(InvalidInputError, match="separate_sessions is 'no'"):
            make(engine, bank, separate_sessions="no")  # type: ignore[arg-type]


def test_what_is_no_message_is_refused(engine: Hindsight, bank: str) -> None:
    chat = HindsightMemory(engine, bank, session_id="monday")
    with pytest.raises(InvalidInputError, match="give a ChatMessage"):
        chat.put("Hello.")  # type: ignore[arg-type]
    assert chat.get_all() == []
