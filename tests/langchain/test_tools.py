"""The tools, alone and in the hands of agents."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.langchain import (
    HindsightToolkit,
    correct_tool,
    forget_tool,
    history_tool,
    recall_tool,
    reflect_tool,
    retain_tool,
)
from hindsight_integrations.results import NOTHING_ASKED, NOTHING_FOUND
from hindsight_integrations.retain.fence import FENCE_START
from tests.langchain.models import Scripted, calling

both = pytest.mark.parametrize("mode", ["sync", "async"])


@dataclass
class Context:
    user: str


async def call(mode: str, tool: BaseTool, **arguments: Any) -> ToolMessage:
    """A tool call as a model makes it."""
    made = {"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"}
    return tool.invoke(made) if mode == "sync" else await tool.ainvoke(made)


async def run(mode: str, agent: Any, text: str, **options: Any) -> list[Any]:
    given = {"messages": [("user", text)]}
    state = (
        agent.invoke(given, **options) if mode == "sync" else await agent.ainvoke(given, **options)
    )
    return list(state["messages"])


@both
async def test_what_one_call_retains_another_recalls_and_a_third_forgets(
    mode: str, engine: Hindsight, bank: str
) -> None:
    verbs = ("retain", "recall", "forget")
    retain, recall, forget = HindsightToolkit(engine, bank, verbs=verbs).get_tools()
    stored = await call(mode, retain, content="Alice moved to Bergen in May 2024.", tags=["move"])
    (memory_id,) = stored.artifact["stored"]
    found = await call(mode, recall, query="Where does Alice live?", tags=["move"])
    assert found.content.startswith(FENCE_START)
    assert f"Alice moved to Bergen in May 2024. (id {memory_id})" in found.content
    assert found.artifact["memories"][0]["id"] == memory_id
    assert found.artifact["memories"][0]["occurred"][0]["start"].startswith("2024-05-01")
    assert (await call(mode, forget, memory_ids=[memory_id])).content == f"Forgotten: {memory_id}"
    gone = await call(mode, recall, query="Where does Alice live?")
    assert gone.content == NOTHING_FOUND
    assert gone.artifact == {"memories": [], "failures": []}


@both
async def test_a_model_is_told_that_what_it_retains_was_refused(mode: str) -> None:
    with Hindsight.in_memory(before_retain=lambda incoming: None) as refusing:
        message = await call(mode, retain_tool(refusing, "b"), content="The code is 4711.")
    assert message.content == "Not remembered: it was refused."
    assert message.artifact == {"stored": [], "known": []}


@both
async def test_what_is_known_already_is_told_with_the_memory_that_says_it(
    mode: str, engine: Hindsight, bank: str
) -> None:
    retain = retain_tool(engine, bank)
    first = await call(mode, retain, content="Alice moved to Bergen in May 2024.")
    again = await call(mode, retain, content="Alice moved to Bergen in May 2024.")
    assert again.content == "Nothing new in it."
    assert again.artifact == {"stored": [], "known": first.artifact["stored"]}


@both
async def test_reflection_without_a_model_answers_with_the_evidence(
    mode: str, engine: Hindsight, bank: str
) -> None:
    stored = engine.retain(bank, "Alice moved to Bergen in May 2024.")
    answer = await call(mode, reflect_tool(engine, bank), query="Where does Alice live?")
    assert "Alice moved to Bergen" in answer.content
    assert answer.artifact == {"sources": list(stored.ids), "structured": None}


class Home(BaseModel):
    city: str


@both
@pytest.mark.local
async def test_reflection_with_a_pinned_model_and_form_gives_its_answer_in_that_form(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Alice moved to Bergen in May 2024.")

    def model(system: str, user: str) -> str:
        if '"city"' in system:
            return '{"city": "Bergen"}'
        return '{"action": "answer", "answer": "She lives in Bergen."}'

    tool = reflect_tool(engine, bank, llm=model, response_schema=Home)
    answer = await call(mode, tool, query="Where does Alice live?")
    assert "She lives in Bergen." in answer.content
    assert answer.artifact["structured"] == {"city": "Bergen"}


@both
@pytest.mark.parametrize("verb", ["recall", "reflect"])
async def test_a_bank_that_does_not_exist_is_an_empty_one(
    mode: str, verb: str, engine: Hindsight, bank: str
) -> None:
    (tool,) = HindsightToolkit(memory=engine, bank_id=bank, verbs=(verb,)).get_tools()  # type: ignore[arg-type]
    message = await call(mode, tool, query="Where does Alice live?")
    assert (message.content, message.status) == (NOTHING_FOUND, "success")
    assert bank not in [known.id for known in engine.banks.list()]


@both
async def test_an_error_of_the_engine_is_an_answer_the_model_can_act_on(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Alice moved to Bergen.")
    message = await call(mode, forget_tool(engine, bank), memory_ids=["m-unknown"])
    assert message.status == "error"
    assert message.content == "forget failed: there is no memory 'm-unknown'; nothing was deleted"
    for tool in (correct_tool(engine, bank), history_tool(engine, bank)):
        given = {"content": "Alice moved to Oslo."} if tool.name == "correct" else {}
        message = await call(mode, tool, memory_id="m-unknown", **given)
        assert message.content == (
            f"{tool.name} failed: there is no memory 'm-unknown'; nothing was changed"
        )


def shown(tool: BaseTool) -> set[str]:
    """Return the parameters that a model is shown."""
    return set(convert_to_openai_tool(tool)["function"]["parameters"]["properties"])


def test_a_model_sees_neither_the_bank_nor_the_runtime_nor_what_is_pinned(
    engine: Hindsight,
) -> None:
    tools = HindsightToolkit(memory=engine, bank_id="b").get_tools()
    assert {tool.name: shown(tool) for tool in tools} == {
        "retain": {"content", "type", "tags"},
        "recall": {"query", "types", "tags"},
        "reflect": {"query"},
    }
    assert shown(forget_tool(engine, "b")) == {"memory_ids"}
    assert shown(recall_tool(engine, "b", types=["world"], scope="s")) == {"query", "tags"}


@both
async def test_a_pinned_argument_holds_whatever_the_model_gives(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Alice lives in Bergen.", tags=["public"])
    engine.retain(bank, "Alice lives in fear of her landlord.", tags=["secret"])
    tool = recall_tool(engine, bank, tags=["public"])
    message = await call(mode, tool, query="Where does Alice live?", tags=["secret"])
    assert [m["text"] for m in message.artifact["memories"]] == ["Alice lives in Bergen."]


@pytest.mark.parametrize("wrong", ["speed", "query"])
def test_only_arguments_of_the_verb_can_be_pinned(wrong: str, engine: Hindsight) -> None:
    with pytest.raises(
        InvalidInputError, match=f"unknown option '{wrong}'; the options are arm_limits,"
    ):
        recall_tool(engine, "b", **{wrong: "x"})


@pytest.mark.parametrize(
    ("pinned", "message"),
    [
        ({"recall": {"max_token": 5}}, "unknown option 'max_token'; the options are arm_limits,"),
        (
            {"forget": {"memory_ids": ["m-1"]}},
            "'forget' has no options to pin; choose from retain,",
        ),
    ],
)
def test_a_toolkit_refuses_what_cannot_be_pinned_when_it_is_made(
    pinned: dict[Any, Any], message: str, engine: Hindsight
) -> None:
    with pytest.raises(ValueError, match=message):
        HindsightToolkit(memory=engine, bank_id="b", pinned=pinned)


@both
async def test_an_agent_calls_the_tools_and_its_checkpoints_hold_what_came_back(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Alice is allergic to nuts.")
    model = Scripted(replies=[calling("recall", query="Alice's allergies"), "No nuts, please."])
    tools = HindsightToolkit(memory=engine, bank_id=bank).get_tools()
    agent = create_agent(model, tools, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    messages = await run(mode, agent, "May I put nuts in?", config=thread)
    assert "allergic to nuts" in messages[2].content
    assert messages[3].content == "No nuts, please."
    kept = agent.get_state(thread).values["messages"][2]
    assert kept.artifact["memories"][0]["text"] == "Alice is allergic to nuts."


@both
async def test_a_function_of_the_runtime_decides_the_bank(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(f"{bank} ann", "Ann's locker is 12.")
    engine.retain(f"{bank} ben", "Ben's locker is 40.")
    tool = recall_tool(engine, lambda runtime: f"{bank} {runtime.context.user}")
    for user, locker in (("ann", "12"), ("ben", "40")):
        model = Scripted(replies=[calling("recall", query="Which locker is mine?"), "There."])
        agent = create_agent(model, [tool], context_schema=Context)
        messages = await run(mode, agent, "Which locker is mine?", context=Context(user))
        assert [m["text"][-3:-1] for m in messages[2].artifact["memories"]] == [locker]


@both
async def test_a_failing_tool_leaves_the_agent_alive_and_told(mode: str, closed: Hindsight) -> None:
    model = Scripted(replies=[calling("recall", query="anything"), "My memory is closed."])
    agent = create_agent(model, [recall_tool(closed, "b")])
    messages = await run(mode, agent, "What do you know?")
    assert (messages[2].status, messages[3].content) == ("error", "My memory is closed.")
    assert "closed" in messages[2].content


@both
async def test_arguments_of_the_wrong_kind_are_told_to_the_model(
    mode: str, engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=[calling("recall", query="x", types=["dreams"]), "I see."])
    agent = create_agent(model, [recall_tool(engine, bank)])
    messages = await run(mode, agent, "What do you know?")
    assert messages[2].status == "error"
    assert "'opinion'" in messages[2].content


@both
async def test_a_function_called_outside_a_graph_is_an_error_that_says_so(
    mode: str, engine: Hindsight
) -> None:
    message = await call(mode, recall_tool(engine, lambda runtime: "b"), query="x")
    assert message.status == "error"
    assert "no graph is running" in message.content


@both
async def test_what_a_model_corrects_stands_corrected_with_its_history(
    mode: str, engine: Hindsight, bank: str
) -> None:
    verbs = ("retain", "correct", "history")
    tools = HindsightToolkit(memory=engine, bank_id=bank, verbs=verbs).get_tools()
    retain, correct, history = tools
    stored = await call(mode, retain, content="Alice moved to Bergen in May 2024.")
    (id,) = stored.artifact["stored"]
    untouched = await call(mode, history, memory_id=id)
    assert untouched.content == "No changes recorded."
    given = {"content": "Alice moved to Oslo.", "happened": "2024-06-03", "speaker": "Bo"}
    done = await call(mode, correct, memory_id=id, reason="She said so.", **given)
    assert done.artifact == {"corrected": id, "text": "Alice moved to Oslo."}
    memory = engine.memories.get(bank, id)
    (span,) = memory.occurred
    assert (memory.speaker, str(span.start.date()), str(span.end.date())) == (
        "Bo",
        "2024-06-03",
        "2024-06-04",
    )
    told = await call(mode, history, memory_id=id)
    assert told.content.startswith(FENCE_START)
    assert (
        "Alice moved to Bergen in May 2024. -> Alice moved to Oslo. (She said so.)" in told.content
    )
    assert {"text", "speaker", "occurred"} <= {c["field"] for c in told.artifact["changes"]}


@both
async def test_what_cannot_be_corrected_is_told_the_model(
    mode: str, engine: Hindsight, bank: str
) -> None:
    correct = correct_tool(engine, bank)
    unknown = await call(mode, correct, memory_id="m-unknown", content="No.")
    assert (unknown.status, "m-unknown" in unknown.content) == ("error", True)
    assert bank not in unknown.content
    assert (await call(mode, history_tool(engine, bank), memory_id="m")).status == "error"
    (id,) = engine.retain(bank, "Alice moved to Bergen.").ids
    for given, fault in (({}, "no correction given"), ({"said": "soon"}, "ISO 8601")):
        refused = await call(mode, correct, memory_id=id, **given)
        assert (refused.status, fault in refused.content) == ("error", True)
    assert engine.memories.history(bank, id) == []


@both
async def test_a_tool_with_one_required_argument_takes_a_text(
    mode: str, engine: Hindsight, bank: str
) -> None:
    retain, recall, reflect = HindsightToolkit(engine, bank).get_tools()

    async def ask(tool: BaseTool, text: str) -> Any:
        return tool.invoke(text) if mode == "sync" else await tool.ainvoke(text)

    assert (await ask(retain, "Alice moved to Bergen.")).startswith("Remembered: m-")
    assert "Alice moved to Bergen." in await ask(recall, "Where is Alice?")
    assert "Alice moved to Bergen." in await ask(reflect, "Where is Alice?")
    (found,) = engine.memories.list(bank).items
    assert await ask(history_tool(engine, bank), found.id) == "No changes recorded."


@pytest.mark.local
def test_a_tool_is_pickled_with_what_it_is_made_of(tmp_path: Path) -> None:
    with Hindsight(tmp_path) as memory:
        memory.retain("b", "Alice moved to Bergen.", tags=["move"])
        memory.retain("b", "Alice moved a chair.")
        recall = recall_tool(memory, "b", name="look_up", tags=["move"])
        recall.metadata = {"team": "north"}
        copy = pickle.loads(pickle.dumps(recall))
        assert (copy.name, copy.metadata, list(copy.args)) == (
            "look_up",
            {"team": "north"},
            ["query", "types"],
        )
        assert "Bergen" in copy.invoke("Where is Alice?")
        assert "chair" not in copy.invoke("Where is Alice?")
        with pytest.raises(InvalidInputError, match="its bank_id cannot"):
            pickle.dumps(recall_tool(memory, lambda: "b"))


@pytest.mark.local
def test_a_tool_of_a_memory_in_ram_says_why_it_cannot_be_pickled(engine: Hindsight) -> None:
    (recall,) = HindsightToolkit(engine, "b", verbs=("recall",)).get_tools()
    with pytest.raises(InvalidInputError, match="an in-memory client cannot be pickled"):
        pickle.dumps(recall)


@both
@pytest.mark.parametrize("make", [recall_tool, reflect_tool])
async def test_a_blank_question_is_answered_with_what_to_do(
    mode: str, make: Any, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth lives in Lisbon.")
    message = await call(mode, make(engine, bank), query=" ")
    assert (message.content, message.status) == (NOTHING_ASKED, "success")


@both
async def test_null_counts_as_not_given(mode: str, engine: Hindsight, bank: str) -> None:
    retain, recall = retain_tool(engine, bank), recall_tool(engine, bank)
    await call(mode, retain, content="Ruth lives in Lisbon.", type=None, tags=None)
    told = await call(mode, recall, query="Where does Ruth live?", types=None, tags=None)
    assert "Ruth lives in Lisbon." in told.content
