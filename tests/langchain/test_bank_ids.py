"""Which bank an adapter takes: a mistyped placeholder is refused, and names no bank for all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.langchain import (
    HindsightChatMessageHistory,
    HindsightMemory,
    HindsightMiddleware,
    HindsightRetriever,
    HindsightStore,
    HindsightToolkit,
    HindsightVectorStore,
    correct_tool,
    forget_tool,
    history_tool,
    recall_node,
    recall_tool,
    reflect_tool,
    retain_node,
    retain_tool,
)
from tests.langchain.models import Scripted


@dataclass
class UserAndTeam:
    user: str
    team: str


MISTYPED = [
    "{context.user_id}",
    "{user-id}",
    "user-{user_id",
    "user_id}",
    "{}",
    "{user_id!s}",
    "{{user_id}}",
    "{user_id} {",
]


def _history(memory: Hindsight, bank: Any) -> object:
    with closing(HindsightStore(memory, "b", path=":memory:")) as store:
        return HindsightChatMessageHistory(memory, bank, session_id="s", store=store)


MAKERS: list[Callable[[Hindsight, Any], object]] = [
    HindsightMiddleware,
    HindsightRetriever,
    lambda memory, bank: HindsightRetriever(memory, ["team", bank]),
    HindsightToolkit,
    HindsightMemory,
    HindsightVectorStore,
    partial(HindsightStore, path=":memory:"),
    _history,
    recall_node,
    retain_node,
    retain_tool,
    recall_tool,
    reflect_tool,
    forget_tool,
    correct_tool,
    history_tool,
]


@pytest.mark.parametrize("bank_id", MISTYPED)
@pytest.mark.parametrize("make", MAKERS)
def test_a_brace_that_is_of_no_placeholder_is_refused_when_an_adapter_is_made(
    make: Callable[[Hindsight, Any], object], bank_id: str, engine: Hindsight
) -> None:
    with pytest.raises(InvalidInputError, match="braces are no placeholder") as refused:
        make(engine, bank_id)
    assert repr(bank_id) in str(refused.value)
    assert "'{user_id}'" in str(refused.value)


@pytest.mark.parametrize("bank_id", [" ann ", "ann\n", " ", 3, None])
@pytest.mark.parametrize("make", MAKERS)
def test_what_is_no_name_of_a_bank_is_refused_when_an_adapter_is_made(
    make: Callable[[Hindsight, Any], object], bank_id: object, engine: Hindsight
) -> None:
    with pytest.raises(InvalidInputError, match="bank_id") as refused:
        make(engine, bank_id)
    assert bank_id != " ann " or "give 'ann' for a new bank" in str(refused.value)


def test_a_text_that_a_function_forgot_to_fill_is_refused(engine: Hindsight, bank: str) -> None:
    remembering = HindsightMiddleware(
        engine, lambda runtime: "{runtime.context.user_id}", on_failure="raise"
    )
    agent = create_agent(Scripted(replies=["Hello."]), middleware=[remembering])
    with pytest.raises(InvalidInputError, match="return an id without braces"):
        agent.invoke({"messages": [("user", "I am Ann.")]})
    assert "{runtime.context.user_id}" not in [known.id for known in engine.banks.list()]


def test_the_value_of_a_placeholder_may_have_braces(engine: Hindsight, bank: str) -> None:
    engine.retain(f"{bank} {{7}}", "Ann parks on level 3.")
    retriever = HindsightRetriever(engine, f"{bank} {{user_id}}", k=1)
    (found,) = retriever.invoke("Where is Ann's car?", {"configurable": {"user_id": "{7}"}})
    assert found.page_content == "Ann parks on level 3."


def test_a_function_without_arguments_gives_the_bank_outside_a_graph(
    engine: Hindsight, bank: str
) -> None:
    user: ContextVar[str] = ContextVar("user")
    user.set(f"{bank} ann")
    engine.retain(f"{bank} ann", "The locker is number 12.")
    for bank_id in (user.get, lambda: user.get(), partial(user.get, "nobody")):
        (found,) = HindsightRetriever(engine, bank_id, k=1).invoke("Which locker?")
        assert found.page_content == "The locker is number 12."
        assert "number 12" in recall_tool(engine, bank_id).invoke("Which locker?")
    token = user.set(f"{bank} ben")
    store = HindsightVectorStore(engine, user.get)
    store.add_documents([Document("The locker is number 40.")])
    user.reset(token)
    (kept,) = engine.memories.list(f"{bank} ben").items
    assert kept.text == "The locker is number 40."


def test_a_function_without_arguments_gives_the_bank_within_an_agent(
    engine: Hindsight, bank: str
) -> None:
    user: ContextVar[str] = ContextVar("user", default=bank)
    remembering = HindsightMiddleware(engine, user.get)
    assert remembering.name == "HindsightMiddleware[user]"
    agent = create_agent(Scripted(replies=["Noted."]), middleware=[remembering])
    agent.invoke({"messages": [("user", "I live in Oslo.")]})
    assert [kept.text for kept in engine.memories.list(bank).items] == ["I live in Oslo.", "Noted."]


def test_one_agent_has_a_bank_for_the_user_and_one_for_the_team_by_lambdas(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(f"{bank} oslo", "The locker is number 12.")
    remembering = [
        HindsightMiddleware(engine, lambda runtime: runtime.context.user),
        HindsightMiddleware(engine, lambda runtime: runtime.context.team, retain="never"),
    ]
    assert remembering[1].name == "HindsightMiddleware[context.team]"
    model = Scripted(replies=["Number 12."])
    agent = create_agent(model, middleware=remembering, context_schema=UserAndTeam)
    asked = {"messages": [("user", "Which locker is ours, in Oslo?")]}
    agent.invoke(asked, context=UserAndTeam(f"{bank} ann", f"{bank} oslo"))
    assert "number 12" in model.system()
    assert engine.banks.stats(f"{bank} ann").memories == 2
    assert engine.banks.stats(f"{bank} oslo").memories == 1


@pytest.mark.parametrize("banks", [["ann", "team"], None, 7])
def test_what_is_not_one_bank_is_refused(engine: Hindsight, banks: Any) -> None:
    with pytest.raises(InvalidInputError, match="the id of one bank, or a function"):
        HindsightMiddleware(engine, banks)


async def test_a_vector_store_s_retriever_fills_its_template_called_by_itself(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(f"{bank} ben", "A memory of another kind.")
    HindsightVectorStore(engine, f"{bank} ben").add_texts(["The ferry leaves at nine."])
    retriever = HindsightVectorStore(engine, f"{bank} {{user_id}}").as_retriever()
    config: RunnableConfig = {"configurable": {"user_id": "ben"}}
    found = [
        retriever.invoke("When does the ferry leave?", config),
        await retriever.ainvoke("When does the ferry leave?", config),
        *retriever.batch(["When does the ferry leave?"], config),
    ]
    assert [[document.page_content for document in each] for each in found] == [
        ["The ferry leaves at nine."]
    ] * 3
