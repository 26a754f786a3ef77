"""Agents and graphs that remember, driven by scripted models."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, SummarizationMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.runtime import Runtime

from hindsight_integrations import ClosedError, Hindsight, InvalidInputError, Settings
from hindsight_integrations.durable import DurableRetain
from hindsight_integrations.langchain import (
    HindsightMiddleware,
    recall_node,
    reflect_tool,
    retain_node,
)
from hindsight_integrations.retain.fence import FENCE_START
from tests.langchain.models import Scripted, calling

Run = Callable[..., Any]


@dataclass
class Context:
    user: str


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


def texts(memory: Hindsight, bank: str) -> list[str]:
    return [m.text for m in memory.memories.list(bank).items]


async def invoke(mode: str, agent: Any, *arguments: Any, **options: Any) -> Any:
    """One run of an agent, synchronous or not."""
    if mode == "sync":
        return agent.invoke(*arguments, **options)
    return await agent.ainvoke(*arguments, **options)


def said(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


both = pytest.mark.parametrize("mode", ["sync", "async"])


@both
async def test_what_was_said_in_one_thread_is_shown_in_another(
    mode: str, engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["Noted.", "In Oslo."])
    remembering = HindsightMiddleware(engine, bank)
    agent = create_agent(model, middleware=[remembering], checkpointer=InMemorySaver())
    await invoke(mode, agent, said("I live in Oslo."), {"configurable": {"thread_id": "1"}})
    await invoke(mode, agent, said("Where do I live?"), {"configurable": {"thread_id": "2"}})
    assert FENCE_START not in model.system(0)
    assert "user: I live in Oslo." in model.system(1)
    assert model.system(1).count(FENCE_START) == 1
    assert texts(engine, bank) == ["I live in Oslo.", "Noted.", "Where do I live?", "In Oslo."]


@both
async def test_the_state_that_comes_out_has_the_messages_and_nothing_of_the_memory(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "The user lives in Oslo.")
    model = Scripted(replies=["In Oslo."])
    agent = create_agent(
        model, system_prompt="Be brief.", middleware=[HindsightMiddleware(engine, bank)]
    )
    state = await invoke(mode, agent, said("Where do I live?"))
    assert set(state) == {"messages"}
    assert [m.content for m in state["messages"]] == ["Where do I live?", "In Oslo."]
    assert model.system().startswith("Be brief.\n\n")
    assert "The user lives in Oslo." in model.system()


def test_recall_runs_once_a_turn_however_often_the_model_is_called(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "The user lives in Oslo.")
    model = Scripted(replies=[calling("weather", city="Oslo"), "Take an umbrella."])
    agent = create_agent(model, [weather], middleware=[HindsightMiddleware(engine, bank)])
    steps = list(agent.stream(said("Do I need an umbrella where I live?"), stream_mode="updates"))
    assert [next(iter(step)) for step in steps] == [
        f"HindsightMiddleware[{bank}].before_agent",
        "model",
        "tools",
        "model",
        f"HindsightMiddleware[{bank}].after_agent",
    ]
    assert model.system(0) == model.system(1)
    assert texts(engine, bank)[1:] == ["Do I need an umbrella where I live?", "Take an umbrella."]


@both
async def test_two_middlewares_recall_and_retain_each_for_its_own_bank(
    mode: str, engine: Hindsight, bank: str
) -> None:
    mine, team = f"{bank} mine", f"{bank} team"
    engine.retain(mine, "My desk is by the window.")
    engine.retain(team, "The desk lamps are in the cellar.")
    model = Scripted(replies=["Take one from the cellar."])
    agent = create_agent(
        model,
        middleware=[
            HindsightMiddleware(engine, mine),
            HindsightMiddleware(engine, team, retain="never"),
        ],
        checkpointer=InMemorySaver(),
    )
    await invoke(
        mode, agent, said("I need a lamp for my desk."), {"configurable": {"thread_id": 1}}
    )
    assert model.system().count(FENCE_START) == 2
    assert model.system().count("by the window") == 1
    assert model.system().count("in the cellar") == 1
    assert len(texts(engine, mine)) == 3
    assert len(texts(engine, team)) == 1


@both
async def test_a_function_of_the_runtime_decides_the_bank(
    mode: str, engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["Hello.", "Hello."])
    remembering = HindsightMiddleware(engine, lambda run: f"{bank} {run.context.user}")
    agent = create_agent(model, middleware=[remembering], context_schema=Context)
    for user in ("ann", "ben"):
        await invoke(mode, agent, said(f"I am {user}."), context=Context(user))
    assert texts(engine, f"{bank} ann") == ["I am ann.", "Hello."]
    assert texts(engine, f"{bank} ben") == ["I am ben.", "Hello."]
    assert bank not in model.system(0)
    assert bank not in model.system(1)


def test_a_thread_retains_each_message_once_over_many_turns(engine: Hindsight, bank: str) -> None:
    model = Scripted(replies=["One.", "Two.", "Three."])
    agent = create_agent(
        model, middleware=[HindsightMiddleware(engine, bank)], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}}
    for number in "abc":
        agent.invoke(said(f"Say letter {number}."), thread)
    assert texts(engine, bank) == [
        "Say letter a.", "One.", "Say letter b.", "Two.", "Say letter c.", "Three.",
    ]  # fmt: skip
    assert {m.document_id for m in engine.memories.list(bank).items} == {"t"}


def test_a_client_that_sends_all_messages_each_time_has_only_the_last_turn_retained(
    engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["A fine name."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, bank)])
    sent = [("user", "I am Ann."), ("assistant", "Hello."), ("user", "My cat is called Pluto.")]
    agent.invoke({"messages": sent})
    assert texts(engine, bank) == ["My cat is called Pluto.", "A fine name."]


def test_a_turn_that_failed_is_retained_with_the_next(engine: Hindsight, bank: str) -> None:
    model = Scripted(replies=["Hello.", OSError("no network"), "Noted."])
    agent = create_agent(
        model, middleware=[HindsightMiddleware(engine, bank)], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}}
    agent.invoke(said("I am Ann."), thread)
    with pytest.raises(OSError, match="no network"):
        agent.invoke(said("I moved to Bergen."), thread)
    agent.invoke(said("I work at the harbour."), thread)
    assert texts(engine, bank)[2:] == ["I moved to Bergen.", "I work at the harbour.", "Noted."]


def test_a_turn_that_could_not_be_retained_is_retained_with_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    down = True

    def embedder(texts: Sequence[str]) -> list[list[float]]:
        if down and not texts[0].startswith("How many numbers"):  # asked when it is plugged in
            raise OSError("the embedding service is away")
        return [[float(len(text)), 1.0] for text in texts]

    with Hindsight.in_memory(embedder=embedder, settings=Settings(consolidate=False)) as memory:
        model = Scripted(replies=["Noted.", "Noted again."])
        agent = create_agent(
            model, middleware=[HindsightMiddleware(memory, "b")], checkpointer=InMemorySaver()
        )
        thread = {"configurable": {"thread_id": "t"}}
        agent.invoke(said("I am Ann."), thread)
        assert "the embedding service is away" in caplog.text
        assert texts(memory, "b") == []
        down = False
        agent.invoke(said("I live in Oslo."), thread)
        assert texts(memory, "b") == ["I am Ann.", "Noted.", "I live in Oslo.", "Noted again."]


def test_a_message_that_is_refused_does_not_hold_up_those_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    short = Settings(max_content_chars=50, consolidate=False)
    with Hindsight.in_memory(settings=short) as memory:
        model = Scripted(replies=["So long!", "Noted."])
        agent = create_agent(
            model, middleware=[HindsightMiddleware(memory, "b")], checkpointer=InMemorySaver()
        )
        thread = {"configurable": {"thread_id": "t"}}
        agent.invoke(said("zebra " * 20), thread)
        assert "content has 120 characters" in caplog.text
        agent.invoke(said("I live in Oslo."), thread)
        assert texts(memory, "b") == ["I live in Oslo.", "Noted."]


def test_what_is_recalled_and_retained_can_be_narrowed(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "The user lives in Oslo.", tags=["work"])
    engine.retain(bank, "The user lives with a cat.", tags=["home"])
    model = Scripted(replies=["Hm."])
    remembering = HindsightMiddleware(
        engine,
        bank,
        recall_options={"tags": ["home"]},
        retain_options={"scope": "chat", "session": "of my own"},
    )
    create_agent(model, middleware=[remembering]).invoke(said("How does the user live?"))
    assert ("cat" in model.system(), "Oslo" in model.system()) == (True, False)
    kept = engine.memories.list(bank, document_id="of my own").items
    assert {memory.scope for memory in kept} == {"chat"}


def test_a_summary_of_the_conversation_is_not_retained_as_if_somebody_had_said_it(
    engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["One.", "Two.", "A SUMMARY", "Three."])
    agent = create_agent(
        model,
        middleware=[
            HindsightMiddleware(engine, bank),
            SummarizationMiddleware(model, trigger=("messages", 5), keep=("messages", 1)),
        ],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "t"}}
    for number in "abc":
        state = agent.invoke(said(f"Say letter {number}."), thread)
    assert "A SUMMARY" in state["messages"][0].content
    assert texts(engine, bank)[-2:] == ["Say letter c.", "Three."]
    assert "A SUMMARY" not in " ".join(texts(engine, bank))


def test_a_fence_that_a_reply_quotes_is_stripped_before_retaining(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "The safe's code is kept by Mara.")
    model = Scripted(replies=[lambda messages: f"I was told: {messages[0].content} Ask Mara."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, bank)])
    agent.invoke(said("Who has the code of the safe?"))
    kept = texts(engine, bank)
    assert sum("kept by Mara" in text for text in kept) == 1
    assert "Ask Mara." in kept[-1]


def test_never_retains_nothing(engine: Hindsight, bank: str) -> None:
    model = Scripted(replies=["Hello."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, bank, retain="never")])
    agent.invoke(said("I am Ann."))
    assert bank not in [known.id for known in engine.banks.list()]


@both
async def test_end_retains_the_conversation_when_told_that_it_is_over_and_only_once(
    mode: str, engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["Hello.", "Noted."])
    remembering = HindsightMiddleware(engine, bank, retain="end", retain_options={"tags": ["chat"]})
    agent = create_agent(model, middleware=[remembering], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    await invoke(mode, agent, said("I am Ann."), thread)
    await invoke(mode, agent, said("I live in Oslo."), thread)
    assert bank not in [known.id for known in engine.banks.list()]
    messages = agent.get_state(thread).values["messages"]
    for _ in range(2):
        if mode == "sync":
            remembering.end(messages, session="t")
        else:
            await remembering.aend(messages, session="t")
    assert texts(engine, bank) == ["I am Ann.", "Hello.", "I live in Oslo.", "Noted."]
    assert engine.memories.list(bank, tags=["chat"]).total == 4


def test_end_takes_messages_in_the_forms_that_chat_models_take(
    engine: Hindsight, bank: str
) -> None:
    remembering = HindsightMiddleware(engine, bank, retain="end")
    remembering.end([("user", "I am Ann."), {"role": "assistant", "content": "Hello."}])
    assert texts(engine, bank) == ["I am Ann.", "Hello."]
    with pytest.raises(InvalidInputError, match="messages is no list of messages"):
        remembering.end([7])  # type: ignore[list-item]


@both
async def test_an_agent_goes_on_without_an_engine_that_fails_and_says_so(
    mode: str, closed: Hindsight, caplog: pytest.LogCaptureFixture
) -> None:
    model = Scripted(replies=["I cannot look it up just now."])
    agent = create_agent(model, middleware=[HindsightMiddleware(closed, "b")])
    with caplog.at_level(logging.WARNING, "hindsight_integrations"):
        state = await invoke(mode, agent, said("Where do I live?"))
    assert state["messages"][-1].content == "I cannot look it up just now."
    assert "memory cannot be read" in model.system()
    assert [("recall" in r.message, "closed" in r.message) for r in caplog.records] == [
        (True, True),
        (False, True),
    ]


@both
async def test_an_engine_that_fails_stops_the_agent_if_it_was_told_to_raise(
    mode: str, closed: Hindsight
) -> None:
    model = Scripted(replies=["Hello."])
    agent = create_agent(model, middleware=[HindsightMiddleware(closed, "b", on_failure="raise")])
    with pytest.raises(ClosedError):
        await invoke(mode, agent, said("Where do I live?"))


@both
async def test_an_agent_with_memory_streams_tokens_as_one_without(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "The user lives in Oslo.")
    model = Scripted(replies=["In Oslo."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, bank)])
    if mode == "sync":
        chunks = list(agent.stream(said("Where do I live?"), stream_mode="messages"))
    else:
        stream = agent.astream(said("Where do I live?"), stream_mode="messages")
        chunks = [chunk async for chunk in stream]
    assert [chunk.content for chunk, _ in chunks] == ["In Oslo."]


def test_a_system_prompt_in_blocks_keeps_its_blocks(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "The user lives in Oslo.")
    cached = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    model = Scripted(replies=["In Oslo."])
    agent = create_agent(
        model,
        system_prompt=SystemMessage(content=[cached]),
        middleware=[HindsightMiddleware(engine, bank)],
    )
    agent.invoke(said("Where do I live?"))
    blocks = model.seen[0][0].content
    assert blocks[0] == cached
    assert "The user lives in Oslo." in blocks[1]["text"]


def test_a_message_without_words_is_neither_asked_nor_retained(
    engine: Hindsight, bank: str
) -> None:
    picture = {"type": "image", "url": "https://example.com/cat.png"}
    model = Scripted(replies=["A cat."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, bank)])
    agent.invoke({"messages": [HumanMessage(content=[picture])]})
    assert model.system() == ""
    assert texts(engine, bank) == ["A cat."]


def test_a_message_longer_than_a_query_may_be_is_asked_by_its_beginning(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "The user lives in Oslo.")
    model = Scripted(replies=["Long."])
    remembering = HindsightMiddleware(engine, bank, on_failure="raise", retain="never")
    agent = create_agent(model, middleware=[remembering])
    agent.invoke(said("Where do I live? Please tell me. " * 1000))
    assert "Oslo" in model.system()


def test_a_courtesy_brings_no_memory_into_the_prompt(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "The user lives in Oslo.")
    model = Scripted(replies=["You are welcome.", "In Oslo."])
    remembering = HindsightMiddleware(engine, bank, on_failure="raise", retain="never")
    agent = create_agent(model, middleware=[remembering])
    agent.invoke(said("Thanks!"))
    assert model.system() == ""
    agent.invoke(said("Where do I live?"))
    assert "Oslo" in model.system()


def test_a_run_that_is_resumed_after_an_interrupt_retains_the_turn_once(
    engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=[calling("weather", city="Oslo"), "It rains."])
    agent = create_agent(
        model,
        [weather],
        middleware=[HindsightMiddleware(engine, bank)],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
    )
    thread = {"configurable": {"thread_id": "t"}}
    agent.invoke(said("How is the weather in Oslo?"), thread)
    assert bank not in [known.id for known in engine.banks.list()]
    agent.invoke(None, thread)
    assert texts(engine, bank) == ["How is the weather in Oslo?", "It rains."]


def test_a_replay_of_a_thread_retains_nothing_twice(engine: Hindsight, bank: str) -> None:
    model = Scripted(replies=[AIMessage("Noted.", id="r"), AIMessage("Noted.", id="r")])
    agent = create_agent(
        model, middleware=[HindsightMiddleware(engine, bank)], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}}
    agent.invoke(said("I live in Oslo."), thread)
    before_model = next(s for s in agent.get_state_history(thread) if s.next == ("model",))
    agent.invoke(None, before_model.config)
    assert texts(engine, bank) == ["I live in Oslo.", "Noted."]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"retain": "sometimes"}, "every_turn, end, never"),
        ({"on_failure": "panic"}, "warn, raise"),
        ({"bank_id": " "}, "blank"),
        ({"recall_options": {"tag": "a"}}, "unknown option 'tag'"),
        ({"retain_options": {"document_id": "d"}}, "unknown option 'document_id'"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_at_once(
    options: dict[str, Any], told: str, closed: Hindsight
) -> None:
    with pytest.raises(InvalidInputError, match=told):
        HindsightMiddleware(closed, **({"bank_id": "b"} | options))


def test_a_bank_with_characters_that_langgraph_reserves_makes_a_usable_agent(
    engine: Hindsight,
) -> None:
    model = Scripted(replies=["Hello."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, "org:team|ann")])
    agent.invoke(said("I am Ann."))
    assert texts(engine, "org:team|ann") == ["I am Ann.", "Hello."]


# Nodes of graphs built by hand


class State(MessagesState):
    memories: str


@dataclass
class Plain:
    talk: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    known: str = ""


def graph(memory: Hindsight, bank: Any, model: Scripted, **options: Any) -> Any:
    """Recall, answer, retain."""

    def answer(state: State) -> dict[str, Any]:
        system = [SystemMessage(state["memories"])] if state["memories"] else []
        return {"messages": [model.invoke([*system, *state["messages"]])]}

    builder = StateGraph(State, context_schema=dict)
    builder.add_sequence(
        [("recall", recall_node(memory, bank)), answer, ("retain", retain_node(memory, bank))]
    )
    builder.add_edge(START, "recall")
    return builder.compile(**options)


@both
async def test_what_one_thread_retains_another_recalls(
    mode: str, engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["Noted.", "On level 3."])
    made = graph(engine, bank, model, checkpointer=InMemorySaver())
    for thread, text in enumerate(["I park on level 3.", "Where did I park?"]):
        state = await invoke(mode, made, said(text), config={"configurable": {"thread_id": thread}})
    assert model.system(0) == ""
    assert "user: I park on level 3." in model.system(1)
    assert model.system(1).count(FENCE_START) == 1
    assert [m.text for m in state["messages"]] == ["Where did I park?", "On level 3."]
    assert texts(engine, bank) == [
        "I park on level 3.",
        "Noted.",
        "Where did I park?",
        "On level 3.",
    ]
    assert {m.document_id for m in engine.memories.list(bank).items} == {"0", "1"}


def test_each_turn_of_a_thread_is_retained_once(engine: Hindsight, bank: str) -> None:
    model = Scripted(replies=["One.", "Two."])
    made = graph(engine, bank, model, checkpointer=InMemorySaver())
    for letter in "ab":
        made.invoke({"messages": [("user", letter * 3)]}, {"configurable": {"thread_id": "t"}})
    assert texts(engine, bank) == ["aaa", "One.", "bbb", "Two."]


@both
async def test_a_function_of_the_runtime_decides_the_bank_of_a_node(
    mode: str, engine: Hindsight, bank: str
) -> None:
    made = graph(
        engine,
        lambda runtime: f"{bank} {runtime.context['user']}",
        Scripted(replies=["Hi.", "Hi."]),
    )
    for user in ("ann", "ben"):
        await invoke(mode, made, said(f"I am {user}."), context={"user": user})
        assert texts(engine, f"{bank} {user}") == [f"I am {user}.", "Hi."]


def test_any_kind_of_state_and_any_of_its_fields_will_do(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ann parks on level 3.")
    builder = StateGraph(Plain)
    recalling = recall_node(engine, bank, messages="talk", into="known", max_tokens=100)
    builder.add_node("recall", recalling)
    builder.add_node("retain", retain_node(engine, bank, messages="talk", tags=["chat"]))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "retain")
    state = builder.compile().invoke({"talk": [("user", "Where is Ann's car?")]})
    assert "level 3" in state["known"]
    assert engine.memories.list(bank, tags=["chat"]).total == 1


def test_messages_need_no_ids(engine: Hindsight, bank: str) -> None:
    talk = [HumanMessage("I am Ann."), AIMessage("Hello."), HumanMessage("I park on level 3.")]
    retain_node(engine, bank)({"messages": talk}, Runtime())
    assert texts(engine, bank) == ["I park on level 3."]


def test_a_state_without_a_question_recalls_and_retains_nothing(
    engine: Hindsight, bank: str
) -> None:
    made: Callable[..., Any] = recall_node(engine, bank)
    assert made({"messages": [AIMessage("Hello.")]}, Runtime()) == {"memories": ""}
    assert made({"messages": []}, Runtime()) == {"memories": ""}
    assert retain_node(engine, bank)({"messages": []}, Runtime()) == {}
    assert bank not in [known.id for known in engine.banks.list()]


@pytest.mark.parametrize("make", [recall_node, retain_node])
def test_what_cannot_be_used_is_refused_when_the_node_is_made(
    make: Callable[..., Any], engine: Hindsight
) -> None:
    with pytest.raises(InvalidInputError, match="blank"):
        make(engine, " ")
    with pytest.raises(InvalidInputError, match="unknown option 'tag'"):
        make(engine, "b", tag="a")


@both
async def test_no_checkpoint_holds_what_was_recalled_and_a_resumed_run_is_shown_it_again(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Alice parks on level 3.")
    saver = InMemorySaver()
    model = Scripted(replies=[RuntimeError("the provider is away"), "Level 3."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, bank)], checkpointer=saver)
    thread = {"configurable": {"thread_id": "1"}}
    with pytest.raises(RuntimeError):
        await invoke(mode, agent, said("Where is Alice's car?"), thread)
    await invoke(mode, agent, None, thread)
    assert ["Alice parks on level 3." in model.system(call) for call in (0, 1)] == [True, True]
    assert len(list(saver.list(thread))) > 2
    held = repr([saver.storage, saver.writes, saver.blobs])
    assert "car?" in held
    assert "level 3" not in held
    assert FENCE_START not in held


def test_what_the_model_is_sent_begins_as_in_the_turn_before(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Alice parks on level 3.")
    model = Scripted(replies=["Level 3.", "In the garage.", "Yes."])
    agent = create_agent(
        model,
        system_prompt="Help.",
        middleware=[HindsightMiddleware(engine, bank, retain="never", place="question")],
        checkpointer=InMemorySaver(),
    )
    for question in ("Where is Alice's car?", "Where is level 3?", "Does Alice park?"):
        agent.invoke(said(question), {"configurable": {"thread_id": "1"}})
    for number, messages in enumerate(model.seen):
        assert [str(m.text) for m in messages[: 2 * number + 1]] == [
            *("Help.", "Where is Alice's car?", "Level 3.", "Where is level 3?", "In the garage.")
        ][: 2 * number + 1]
        question = str(messages[-1].text)
        assert question.startswith(FENCE_START)
        assert "Alice parks on level 3." in question
        assert question.endswith("?")
    with pytest.raises(InvalidInputError, match="place"):
        HindsightMiddleware(engine, bank, place="nowhere")  # type: ignore[arg-type]


def test_memories_stand_before_a_question_of_several_parts(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Alice parks on level 3.")
    model = Scripted(replies=["Level 3."])
    remembering = HindsightMiddleware(engine, bank, retain="never", place="question")
    asked = [{"type": "text", "text": "Where is Alice's car?"}]
    create_agent(model, middleware=[remembering]).invoke({"messages": [HumanMessage(asked)]})
    (question,) = model.seen[0]
    assert isinstance(question.content, list)
    assert question.content[1:] == asked
    assert "level 3" in str(question.content[0])


class Spans(BaseCallbackHandler):
    """Keeps the searches that a trace shows, each with the run it is part of."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.searches: list[tuple[str, str, str]] = []
        self.found: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **run: Any) -> None:
        self.names[run["run_id"]] = str(run.get("name"))

    def on_retriever_start(self, serialized: Any, query: str, **run: Any) -> None:
        self.searches.append((run["name"], query, self.names[run["parent_run_id"]]))

    def on_retriever_end(self, documents: Any, **run: Any) -> None:
        self.found += [document.page_content for document in documents]


@both
async def test_recall_is_a_search_in_the_traces_of_an_agent(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Alice parks on level 3.")
    spans = Spans()
    remembering = HindsightMiddleware(engine, bank, name="memory")
    agent = create_agent(Scripted(replies=["Level 3."]), middleware=[remembering])
    await invoke(mode, agent, said("Where is Alice's car?"), {"callbacks": [spans]})
    assert spans.searches == [("memory", "Where is Alice's car?", "memory.before_agent")]
    assert spans.found == ["Alice parks on level 3."]


def test_a_queue_retains_in_the_background_what_a_turn_said(
    engine: Hindsight, bank: str, tmp_path: Path
) -> None:
    model = Scripted(replies=["Noted.", "Good."])
    with DurableRetain(engine, tmp_path / "retains.queue", patience=0.001) as durable:
        remembering = HindsightMiddleware(engine, bank, durable=durable)
        agent = create_agent(model, middleware=[remembering])
        agent.invoke(said("I live in Oslo."))
        assert durable.drain()
        assert texts(engine, bank) == ["I live in Oslo.", "Noted."]


def test_no_stream_shows_what_was_recalled(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Alice parks on level 3.")
    model = Scripted(replies=["In the garage."])
    agent = create_agent(model, middleware=[HindsightMiddleware(engine, bank)])
    seen = list(agent.stream(said("Where is Alice's car?"), stream_mode=["values", "updates"]))
    assert "level 3" in model.system()
    assert "level 3" not in repr(seen)


def test_the_replies_of_the_engine_s_own_model_are_no_part_of_the_stream(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "I live in Oslo.")
    inner = GenericFakeChatModel(
        messages=iter([AIMessage('{"action": "answer", "answer": "Oslo.", "sources": []}')])
    )
    model = Scripted(replies=[calling("reflect", query="Where do I live?"), "In Oslo."])
    agent = create_agent(model, [reflect_tool(engine, bank, llm=inner)])
    streamed = agent.stream(said("Where do I live?"), stream_mode="messages")
    assert not [message.content for message, _ in streamed if "action" in str(message.content)]


def test_speakers_have_names_of_their_own_or_are_left_out(engine: Hindsight, bank: str) -> None:
    model = Scripted(replies=["Bob owes Ann 5 euros."])
    remembering = HindsightMiddleware(engine, bank, speakers={"user": "Ann"})
    create_agent(model, middleware=[remembering]).invoke(said("Bob owes me 5 euros."))
    assert [(m.speaker, m.text) for m in engine.memories.list(bank)] == [
        ("Ann", "Bob owes me 5 euros.")
    ]
    with pytest.raises(InvalidInputError, match="speakers is"):
        HindsightMiddleware(engine, bank, speakers={"human": "Ann"})


def test_what_a_limit_says_in_the_agent_s_name_is_not_retained(
    engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=[calling("weather", city="Oslo")])
    limit = ModelCallLimitMiddleware(run_limit=1, exit_behavior="end")
    agent = create_agent(model, [weather], middleware=[limit, HindsightMiddleware(engine, bank)])
    last = agent.invoke(said("Does it rain in Oslo?"))["messages"][-1]
    assert "limit" in last.content
    assert texts(engine, bank) == ["Does it rain in Oslo?"]


def test_nodes_take_messages_as_chat_models_do(engine: Hindsight, bank: str) -> None:
    class Plain(TypedDict):
        messages: list[Any]
        memories: str

    engine.retain(bank, "Alice parks on level 3.")
    builder = StateGraph(Plain)
    builder.add_node("recall", recall_node(engine, bank))
    builder.add_node("retain", retain_node(engine, bank, speakers={"user": "Ann"}))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "retain")
    graph = builder.compile()
    for question in (
        {"role": "user", "content": "Where is Alice's car?"},
        ("user", "Where does Alice park?"),
    ):
        assert "level 3" in graph.invoke({"messages": [question], "memories": ""})["memories"]
    assert {m.speaker for m in engine.memories.list(bank) if "?" in m.text} == {"Ann"}
    for state in ({"text": "Hello."}, object()):
        with pytest.raises(InvalidInputError, match="the state has no 'messages'; name the field"):
            recall_node(engine, bank)(state, None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no list of messages"):
        graph.invoke({"messages": [{"text": "?"}], "memories": ""})


@pytest.mark.parametrize(
    "alone", ["I park on level 3.", {"role": "user", "content": "I park on level 3."}]
)
def test_nodes_take_a_message_that_stands_alone(
    engine: Hindsight, bank: str, alone: object
) -> None:
    state = {"messages": alone}
    retain_node(engine, bank)(state, Runtime())
    assert texts(engine, bank) == ["I park on level 3."]
    assert "level 3" in recall_node(engine, bank)(state, Runtime())["memories"]
