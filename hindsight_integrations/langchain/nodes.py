"""Recall and retain as nodes of a LangGraph graph that is built by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from hindsight_integrations.adapting.banks import recall
from hindsight_integrations.adapting.options import check_options, options_of
from hindsight_integrations.adapting.texts import section
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.langchain.bank import BankId, bank_of, checked_bank, thread_of
from hindsight_integrations.langchain.messages import conversation, last_turn, question_in

Node: TypeAlias = Callable[[Any, Runtime[Any]], dict[str, Any]]


def recall_node(
    memory: Hindsight,
    bank_id: BankId,
    *,
    messages: str = "messages",
    into: str = "memories",
    **options: Any,
) -> Node:
    """A node that recalls what bears on the last human message.

    It writes text for a prompt into the state: fenced, so that no later retaining takes it for
    something that was said; empty if nothing was found.

    Args:
        memory: the engine.
        bank_id: which bank: its id, or a function of the runtime.
        messages: the field of the state that holds the conversation.
        into: the field that the text goes into.
        **options: anything else that `Hindsight.recall` takes.

    Raises:
        InvalidInputError: the bank cannot be used, or an option has no such name.

    Example:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import recall_node, retain_node
        from langgraph.graph import START, MessagesState, StateGraph

        class State(MessagesState):
            memories: str

        def answer(state: State):  # here you would call a model
            return {"messages": [("assistant", f"I was told: {state['memories']}")]}

        memory = Hindsight.in_memory()
        memory.retain("alice", "Alice parks on level 3.")
        builder = StateGraph(State)
        builder.add_node("recall", recall_node(memory, "alice"))
        builder.add_node("answer", answer)
        builder.add_node("retain", retain_node(memory, "alice"))
        builder.add_edge(START, "recall")
        builder.add_edge("recall", "answer")
        builder.add_edge("answer", "retain")
        graph = builder.compile()

        state = graph.invoke({"messages": [("user", "Where is my car? I am Alice.")]})
        print("level 3" in state["messages"][-1].content)
        for retained in memory.memories.list("alice", types=["world"]).items:
            print(retained.text)
        ```

        ```text
        True
        Alice parks on level 3.
        Where is my car? I am Alice.
        ```
    """
    checked_bank(bank_id)
    check_options(options, options_of(Hindsight.recall))

    def recalling(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        question = question_in(_messages(state, messages))
        if not question:
            return {into: ""}
        found = recall(memory, bank_of(bank_id, runtime), question, **options)
        return {into: section(found.text)}

    return recalling


def retain_node(
    memory: Hindsight, bank_id: BankId, *, messages: str = "messages", **options: Any
) -> Node:
    """A node that retains the last turn: what the human said, and what was answered.

    With a checkpointer, a thread is a session of the bank, in which nothing is stored twice.

    Args:
        memory: the engine.
        bank_id: which bank: its id, or a function of the runtime.
        messages: the field of the state that holds the conversation.
        **options: anything else that `Hindsight.retain_messages` takes, such as `tags`.

    Raises:
        InvalidInputError: the bank cannot be used, or an option has no such name.

    Example:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import retain_node
        from langgraph.graph import START, MessagesState, StateGraph

        memory = Hindsight.in_memory()
        builder = StateGraph(MessagesState)
        builder.add_node("retain", retain_node(memory, "alice", tags=["chat"]))
        builder.add_edge(START, "retain")
        builder.compile().invoke({"messages": [("user", "I park on level 3.")]})
        print(memory.recall("alice", "Where is the car?", tags=["chat"]).memories[0].text)
        ```

        ```text
        user: I park on level 3.
        ```
    """
    checked_bank(bank_id)
    check_options(options, options_of(Hindsight.retain_messages))

    def retaining(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        said = conversation(last_turn(_messages(state, messages)))
        if said:
            bank = bank_of(bank_id, runtime)
            memory.retain_messages(bank, said, **{"session": thread_of(runtime), **options})
        return {}

    return retaining


def _messages(state: Any, field: str) -> Sequence[BaseMessage]:
    """The conversation in a state, which may be a mapping, a dataclass or a pydantic model."""
    found: Sequence[BaseMessage] = (
        state[field] if isinstance(state, Mapping) else getattr(state, field)
    )
    return found
