"""The verbs of memory as tools that a model calls.

What is pinned when a tool is made is passed at every call and not shown to the model. An error
of the engine becomes the tool's answer, so that the model can mend its call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field, create_model

from hindsight_integrations.adapting import banks, texts
from hindsight_integrations.adapting.options import check_options, options_of
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import HindsightError
from hindsight_integrations.langchain.bank import BankId, bank_of, checked_bank
from hindsight_integrations.langchain.documents import as_document

Answer = tuple[str, dict[str, Any]]
"""What the model reads, and the artifact for the program."""


class RetainArguments(BaseModel):
    """What the model says to retain something."""

    content: str = Field(description="What to remember, in full sentences that name who and when.")
    type: Literal["world", "experience", "opinion"] | None = Field(
        None,
        description="'world' for a fact, 'experience' for what you did, 'opinion' for a belief.",
    )
    tags: list[str] = Field(default_factory=list, description="Labels to find it by later.")


class RecallArguments(BaseModel):
    """What the model says to recall something."""

    query: str = Field(description="A question in plain words; times such as 'last spring' count.")
    types: list[Literal["world", "experience", "opinion", "observation"]] | None = Field(
        None, description="Only memories of these types; all if left out."
    )
    tags: list[str] = Field(default_factory=list, description="Only memories with one of these.")


class ReflectArguments(BaseModel):
    """What the model says to have its memories thought over."""

    query: str = Field(description="A question that takes several memories to answer.")


class ForgetArguments(BaseModel):
    """What the model says to have memories deleted."""

    ids: list[str] = Field(description="Ids of the memories, as recall shows them.")


def retain_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "retain",
    description: str = "Remember something for good, beyond this conversation.",
    **pinned: Any,
) -> BaseTool:
    """A tool that remembers what the model tells it to.

    Args:
        memory: the engine.
        bank_id: which bank; the model never sees it.
        name: of the tool.
        description: what the model is told it does.
        **pinned: arguments of `Hindsight.retain` that every call is made with.

    Raises:
        InvalidInputError: `Hindsight.retain` has no argument of that name.

    Example:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import retain_tool

        memory = Hindsight.in_memory()
        retain = retain_tool(memory, "alice", tags=["chat"])
        print(list(retain.args))
        ```

        ```text
        ['content', 'type']
        ```

        ```python
        retain.invoke({"content": "Alice moved to Bergen in May 2024."})
        print(memory.recall("alice", "Where is Alice?", tags=["chat"]).memories[0].text)
        ```

        ```text
        Alice moved to Bergen in May 2024.
        ```
    """

    def act(bank: str, content: str, **options: Any) -> Answer:
        result = memory.retain(bank, content, **options)
        known = [skipped.memory_id for skipped in result.skipped if skipped.memory_id]
        return texts.told_of_retain(result), {"stored": list(result.ids), "known": known}

    return _tool(name, description, RetainArguments, act, memory.retain, bank_id, pinned)


def recall_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "recall",
    description: str = "Look up what was remembered: facts, people, times, earlier conversations.",
    **pinned: Any,
) -> BaseTool:
    """A tool that recalls memories for the model, each with its id and the day it was said.

    Args:
        memory: the engine.
        bank_id: which bank; the model never sees it.
        name: of the tool.
        description: what the model is told it does.
        **pinned: arguments of `Hindsight.recall` that every call is made with.

    Raises:
        InvalidInputError: `Hindsight.recall` has no argument of that name.

    Example:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import recall_tool

        memory = Hindsight.in_memory()
        memory.retain("alice", "Alice moved to Bergen in May 2024.")
        recall = recall_tool(memory, "alice", min_score=0.45, max_tokens=500)
        print(recall.invoke({"query": "What is the capital of Peru?"}))
        ```

        ```text
        No relevant memories found.
        ```
    """

    def act(bank: str, query: str, **options: Any) -> Answer:
        result = banks.recall(memory, bank, query, **options)
        artifact = {
            "memories": [as_document(found).metadata | {"text": found.text} for found in result],
            "failures": [str(failure) for failure in result.failures],
        }
        return texts.told_of_recall(result), artifact

    return _tool(name, description, RecallArguments, act, memory.recall, bank_id, pinned)


def reflect_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "reflect",
    description: str = "Think over all that was remembered on a matter, and conclude.",
    **pinned: Any,
) -> BaseTool:
    """A tool that answers from memory as a whole; see `Hindsight.reflect`.

    Args:
        memory: the engine.
        bank_id: which bank; the model never sees it.
        name: of the tool.
        description: what the model is told it does.
        **pinned: arguments of `Hindsight.reflect` that every call is made with.

    Raises:
        InvalidInputError: `Hindsight.reflect` has no argument of that name.

    Example:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import reflect_tool

        memory = Hindsight.in_memory()  # with llm=..., the answer is that model's
        memory.retain("alice", "Alice moved to Bergen in May 2024.")
        reflect = reflect_tool(memory, "alice", max_tokens=1000)
        print("Bergen" in reflect.invoke({"query": "Where does Alice live these days?"}))
        ```

        ```text
        True
        ```
    """

    def act(bank: str, query: str, **options: Any) -> Answer:
        result = banks.reflect(memory, bank, query, **options)
        form = result.structured
        artifact = {
            "sources": list(result.sources),
            "structured": form.model_dump(mode="json") if isinstance(form, BaseModel) else form,
        }
        return texts.told_of_reflect(result), artifact

    return _tool(name, description, ReflectArguments, act, memory.reflect, bank_id, pinned)


def forget_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "forget",
    description: str = "Delete memories for good. Recall first, for their ids.",
) -> BaseTool:
    """A tool that deletes memories by their ids.

    Args:
        memory: the engine.
        bank_id: which bank; the model never sees it.
        name: of the tool.
        description: what the model is told it does.

    Example:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import forget_tool

        memory = Hindsight.in_memory()
        stored = memory.retain("alice", "The code of the safe is 4711.")
        forget = forget_tool(memory, "alice")
        print(forget.invoke({"ids": list(stored.ids)}).startswith("Forgotten: m-"))
        ```

        ```text
        True
        ```
    """

    def act(bank: str, ids: Sequence[str]) -> Answer:
        gone = banks.forget(memory, bank, ids)
        return texts.told_of_forget(gone), {"forgotten": list(gone)}

    return _tool(name, description, ForgetArguments, act, memory.forget, bank_id, {})


def _tool(
    name: str,
    description: str,
    arguments: type[BaseModel],
    act: Callable[..., Answer],
    verb: Callable[..., object],
    bank_id: BankId,
    pinned: Mapping[str, Any],
) -> BaseTool:
    """`act` as a tool: called with the bank, what the model gave, and what is pinned."""
    checked_bank(bank_id)
    check_options(pinned, options_of(verb))

    def run(runtime: ToolRuntime = None, **given: Any) -> Answer:  # type: ignore[assignment]
        try:
            return act(bank_of(bank_id, runtime), **{**given, **pinned})
        except HindsightError as error:
            raise ToolException(f"{name} failed: {error}") from error

    async def arun(runtime: ToolRuntime = None, **given: Any) -> Answer:  # type: ignore[assignment]
        return await asyncio.to_thread(run, runtime, **given)

    return StructuredTool(
        name=name,
        description=description,
        args_schema=_without(arguments, pinned),
        func=run,
        coroutine=arun,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _without(arguments: type[BaseModel], pinned: Mapping[str, Any]) -> type[BaseModel]:
    """The arguments that are left to the model."""
    shown: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in arguments.model_fields.items()
        if name not in pinned
    }
    return create_model(arguments.__name__, __doc__=arguments.__doc__, **shown)
