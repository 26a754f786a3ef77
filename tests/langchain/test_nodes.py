"""Recall and retain as nodes of graphs built by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.runtime import Runtime

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.langchain import recall_node, retain_node
from hindsight_integrations.retain.fence import FENCE_START
from tests.langchain.models import Scripted

both = pytest.mark.parametrize("mode", ["sync", "async"])


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


async def run(mode: str, graph: Any, text: str, **options: Any) -> Any:
    given = {"messages": [("user", text)]}
    return (
        graph.invoke(given, **options) if mode == "sync" else await graph.ainvoke(given, **options)
    )


def texts(memory: Hindsight, bank: str) -> list[str]:
    return [m.text for m in memory.memories.list(bank).items]


@both
async def test_what_one_thread_retains_another_recalls(
    mode: str, engine: Hindsight, bank: str
) -> None:
    model = Scripted(replies=["Noted.", "On level 3."])
    made = graph(engine, bank, model, checkpointer=InMemorySaver())
    for thread, text in enumerate(["I park on level 3.", "Where did I park?"]):
        state = await run(mode, made, text, config={"configurable": {"thread_id": thread}})
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
async def test_a_function_of_the_runtime_decides_the_bank(
    mode: str, engine: Hindsight, bank: str
) -> None:
    made = graph(
        engine,
        lambda runtime: f"{bank} {runtime.context['user']}",
        Scripted(replies=["Hi.", "Hi."]),
    )
    for user in ("ann", "ben"):
        await run(mode, made, f"I am {user}.", context={"user": user})
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
    with pytest.raises(InvalidInputError, match="no option is called 'tag'"):
        make(engine, "b", tag="a")
