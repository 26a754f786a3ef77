"""HindsightMemoryBlock: what it retains and when, what it recalls, and how it is shortened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer, InsertMethod
from llama_index.core.workflow import Context

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.llamaindex import HindsightMemoryBlock, HindsightToolSpec
from hindsight_integrations.llamaindex.testing import ScriptedChat, short_chat
from hindsight_integrations.nlp import tokens
from hindsight_integrations.retain.fence import FENCE_END, FENCE_START, fence
from tests.llamaindex.engines import AS_SAID, CountingHindsight, Gate, assistant, user
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS


def remembered(engine: Hindsight, bank: str, session: str | None = None) -> list[str]:
    if bank not in {each.id for each in engine.banks.list()}:
        return []
    page = engine.memories.list(bank, document_id=session, limit=1000)
    return [memory.text for memory in sorted(page.items, key=lambda one: one.mentioned_at)]


async def test_a_short_chat_is_remembered_though_nothing_overflows(
    engine: Hindsight, bank: str
) -> None:
    block = HindsightMemoryBlock(engine, bank)
    async with short_chat(block, session_id="s") as chat:
        await chat.aput(user("My sister Ruth keeps bees."))
        await chat.aget()
        assert remembered(engine, bank, "s") == ["My sister Ruth keeps bees."]
        await chat.aput(assistant("How many hives does she have?"))
        await block.aflush(chat)
    assert remembered(engine, bank, "s")[1:] == ["How many hives does she have?"]


async def test_on_overflow_only_what_leaves_is_retained_until_it_is_flushed(
    engine: Hindsight, bank: str
) -> None:
    block = HindsightMemoryBlock(engine, bank, retain="overflow")
    async with short_chat(block, session_id="s") as chat:
        await chat.aput(user("My sister Ruth keeps bees."))
        await chat.aget()
        assert remembered(engine, bank) == []
        await block.aflush(chat)
        assert remembered(engine, bank) == ["My sister Ruth keeps bees."]


async def test_told_never_to_retain_it_only_recalls(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    block = HindsightMemoryBlock(engine, bank, retain="never")
    async with short_chat(block, session_id="s", token_limit=160) as chat:
        for n in range(20):
            await chat.aput(user(f"Message number {n} is about weather."))
        shown = await chat.aget(input="How many hives has Ruth?")
    assert "nine hives" in (shown[0].content or "")
    assert remembered(engine, bank) == ["Ruth has nine hives."]


@pytest.mark.slow
@pytest.mark.parametrize("retain", ["overflow", "eager"])
async def test_of_a_chat_of_200_messages_that_overflows_nothing_is_lost(
    engine: Hindsight, bank: str, retain: Any
) -> None:
    block = HindsightMemoryBlock(engine, bank, retain=retain)
    told = [f"On day {n} I saw {n + 3} herons at the weir." for n in range(100)]
    async with short_chat(block, session_id="s", token_limit=1500, token_flush_size=300) as chat:
        for n, text in enumerate(told):
            await chat.aput(user(text))
            await chat.aput(assistant(f"I noted the herons of day {n}."))
            if n % 10 == 0:
                await chat.aget()
        assert len(await chat.aget_all()) == 200
        await block.aflush(chat)
        await block.aflush(chat)
    kept = remembered(engine, bank, "s")
    assert len(kept) == 200
    assert set(told) <= set(kept)


async def test_an_agents_turn_recalls_once_and_the_same_words_later_again(
    engine: CountingHindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    spec = HindsightToolSpec(engine, bank)
    note = ("retain", {"content": "Ruth asked about hives."})
    script = ScriptedChat([note], [note], "Nine.", [note], "Still nine.")
    agent = FunctionAgent(tools=spec.to_tool_list(["retain"]), llm=script.llm)
    async with short_chat(HindsightMemoryBlock(engine, bank), session_id="s") as chat:
        context = Context(agent)
        engine.asked.clear()
        await agent.run("How many hives has Ruth?", memory=chat, ctx=context)
        assert engine.asked == ["How many hives has Ruth?"]
        await agent.run("How many hives has Ruth?", memory=chat, ctx=context)
        assert engine.asked == ["How many hives has Ruth?"] * 2
    assert all("nine hives" in str(asked[0].content) for asked in script.asked[:3])


async def test_sessions_do_not_mix_though_one_block_serves_them(
    engine: Hindsight, bank: str
) -> None:
    block = HindsightMemoryBlock(engine, bank)

    async def talk(name: str, animal: str) -> str:
        async with short_chat(block, session_id=name) as chat:
            await chat.aput(user(f"I am {name} and I keep {animal}."))
            await chat.aget()
            await chat.aput(assistant(f"Hello {name}!"))
            await chat.aput(user(f"What does {name} keep?"))
            await chat.aget()
            return " ".join(remembered(engine, bank, name))

    people = {"Ruth": "bees", "Tomas": "goats", "Alice": "hens", "Bruno": "ducks"}
    texts = await asyncio.gather(*(talk(*each) for each in people.items()))
    for (name, animal), text in zip(people.items(), texts, strict=True):
        assert text == f"I am {name} and I keep {animal}. Hello {name}! What does {name} keep?"


async def test_sessions_share_what_they_know_unless_they_are_separate(
    engine: Hindsight, bank: str
) -> None:
    for separate, shared in ((False, True), (True, False)):
        block = HindsightMemoryBlock(engine, f"{bank}-{separate}", separate_sessions=separate)
        await block.aget([user("My sister Ruth keeps bees.")], session_id="monday")
        found = await block.aget([user("Who keeps bees?")], session_id="tuesday")
        assert ("Ruth keeps bees" in found) is shared
        again = await block.aget([user("Who keeps bees?")], session_id="monday")
        assert "Ruth keeps bees" in again


async def test_what_the_chat_shows_is_not_recalled_as_well(engine: Hindsight, bank: str) -> None:
    block = HindsightMemoryBlock(engine, bank)
    engine.retain(bank, "Ruth sells her honey in Porto.")
    chat = [user("My sister Ruth keeps bees."), assistant("Lovely!"), user("Tell me of Ruth.")]
    await block.aget(chat[:1], session_id="s")
    found = await block.aget(chat, session_id="s")
    assert "Ruth sells her honey in Porto." in found
    assert "keeps bees" not in found


@pytest.mark.parametrize("insert", list(InsertMethod))
async def test_recalled_text_is_fenced_and_never_retained(
    engine: Hindsight, bank: str, insert: InsertMethod
) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    block = HindsightMemoryBlock(engine, bank)
    script = ScriptedChat(f"You told me: {fence('Ruth has nine hives.')}")
    agent = FunctionAgent(tools=[], llm=script.llm)
    async with short_chat(block, session_id="s", insert_method=insert) as chat:
        await agent.run("How many hives has Ruth?", memory=chat)
        await block.aflush(chat)
    prompt = "\n".join(str(message.content) for message in script.asked[0])
    assert prompt.index(FENCE_START) < prompt.index("nine hives") < prompt.index(FENCE_END)
    assert remembered(engine, bank, "s") == ["How many hives has Ruth?", "You told me:"]


async def test_of_an_agents_reasoning_only_the_answer_is_retained(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    block = HindsightMemoryBlock(engine, bank)
    script = ScriptedChat(
        'Thought: Look.\nAction: recall\nAction Input: {"query": "hives of Ruth"}',
        "Thought: I can answer.\nAnswer: She has nine.",
    )
    agent = ReActAgent(tools=HindsightToolSpec(engine, bank).to_tool_list(), llm=script.llm)
    async with short_chat(block, session_id="s") as chat:
        await agent.run("How many hives has Ruth?", memory=chat)
        await block.aflush(chat)
    assert remembered(engine, bank, "s") == ["How many hives has Ruth?", "She has nine."]


async def test_names_stand_for_roles(engine: Hindsight, bank: str) -> None:
    block = HindsightMemoryBlock(engine, bank, speakers={"user": "Alice"})
    said = [user("I keep bees."), assistant("Nice."), ChatMessage("Be kind.", role="system")]
    await block.aput(said, session_id="s")
    kept = engine.memories.list(bank).items
    assert [(memory.speaker, memory.text) for memory in kept] == [("Alice", "I keep bees.")]


async def test_a_short_reply_keeps_the_question_it_answers(engine: Hindsight, bank: str) -> None:
    block = HindsightMemoryBlock(engine, bank)
    chat = [assistant("Did you ever own a lighthouse?")]
    await block.aput(chat, session_id="s")
    await block.aput([*chat, user("Yes, I did.")], session_id="s")
    found = next(one for one in engine.recall(bank, "lighthouse") if one.memory.speaker == "user")
    assert any("lighthous" in arm.reason for arm in found.arms)


async def test_a_whole_book_may_be_pasted_into_the_chat(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    block = HindsightMemoryBlock(engine, bank, retain="never")
    pasted = "How many hives has Ruth? " + "It rained all day. " * 2000
    assert "nine hives" in await block.aget([user(pasted)], session_id="s")
    assert await block.aget([user(" \n")], session_id="s") == ""


async def test_the_event_loop_goes_on_while_it_recalls() -> None:
    gate = Gate()
    async with Hindsight.in_memory(reranker=gate, settings=AS_SAID) as engine:
        await engine.aretain("b", "Ruth has nine hives.")
        block = HindsightMemoryBlock(engine, "b")
        reading = asyncio.create_task(block.aget([user("How many hives?")], session_id="s"))
        await asyncio.sleep(0)
        gate.open.set()
        assert "nine hives" in await reading
    assert gate.passed


def test_another_memory_can_be_flushed_too(engine: Hindsight, bank: str) -> None:
    block = HindsightMemoryBlock(engine, bank)
    buffer = ChatMemoryBuffer.from_defaults(chat_history=[user("My sister keeps bees.")])
    block.flush(buffer, session_id="old")
    assert remembered(engine, bank, "old") == ["My sister keeps bees."]


async def test_a_full_memory_shortens_it_and_stays_within_its_limit(
    engine: Hindsight, bank: str
) -> None:
    engine.retain_many(bank, [f"Ruth bought hive number {n} in Porto." for n in range(30)])
    block = HindsightMemoryBlock(engine, bank, retain="never")
    async with short_chat(block, session_id="s", token_limit=300) as chat:
        await chat.aput(user("Which hives did Ruth buy in Porto?"))
        shown = await chat.aget()
    assert FENCE_END in (shown[0].content or "")
    # The template around the blocks is not part of what LlamaIndex counts.
    assert 150 < sum(tokens.count(message.content or "") for message in shown) <= 300 + 30


def test_an_option_of_no_such_name_is_refused(engine: Hindsight) -> None:
    with pytest.raises(InvalidInputError, match="max_token'"):
        HindsightMemoryBlock(engine, "any", max_token=5)  # type: ignore[call-arg]


async def test_agents_of_a_workflow_share_a_chat(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    script = ScriptedChat("Nine.")
    agent = FunctionAgent(name="keeper", description="Knows bees.", tools=[], llm=script.llm)
    workflow = AgentWorkflow(agents=[agent], root_agent="keeper")
    async with short_chat(HindsightMemoryBlock(engine, bank), session_id="s") as chat:
        assert str(await workflow.run("How many hives has Ruth?", memory=chat)) == "Nine."
    assert "nine hives" in str(script.asked[0][0].content)
