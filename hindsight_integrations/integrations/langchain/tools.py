"""The verbs of memory as tools that a model calls, one by one and as a toolkit.

Arguments pinned when a tool is created are passed in every call and hidden from the model. An
error of the memory becomes the tool's answer, so that the model can correct its call.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, create_model, field_validator

from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.history import Change
from hindsight_integrations.integrations import common
from hindsight_integrations.integrations.arguments import (
    CorrectArguments,
    ForgetArguments,
    HistoryArguments,
    RecallArguments,
    ReflectArguments,
    RetainArguments,
)
from hindsight_integrations.integrations.langchain.conversions import (
    BankField,
    BankId,
    as_document,
    bank_of,
    check_banks,
    checked_bank,
)
from hindsight_integrations.models import Memory
from hindsight_integrations.results import RecallResult, Reflection, RetainResult
from hindsight_integrations.tool_arguments import ToolArguments
from hindsight_integrations.workspace import Workspace, WorkspaceTool
from hindsight_integrations.workspace import workspace_tools as tools_of

Verb: TypeAlias = Literal["retain", "recall", "reflect", "forget", "correct", "history"]


class _Verb(NamedTuple):
    """One verb as a tool: its arguments, its answer, and the artifact for the program."""

    arguments: type[BaseModel]
    answer: Callable[..., tuple[str, Any]]
    artifact: Callable[[Any], dict[str, Any]]


def _retained(result: RetainResult) -> dict[str, Any]:
    known = [skipped.memory_id for skipped in result.skipped if skipped.memory_id]
    return {"stored": list(result.ids), "known": known}


def _recalled(result: RecallResult) -> dict[str, Any]:
    return {
        "memories": [as_document(one).metadata | {"text": one.line} for one in result],
        "failures": [str(failure) for failure in result.failures],
    }


def _reflected(result: Reflection) -> dict[str, Any]:
    form = result.structured
    return {
        "sources": list(result.sources),
        "structured": form.model_dump(mode="json") if isinstance(form, BaseModel) else form,
    }


def _forgotten(ids: tuple[str, ...]) -> dict[str, Any]:
    return {"forgotten": list(ids)}


def _corrected(memory: Memory) -> dict[str, Any]:
    return {"corrected": memory.id, "text": memory.text}


def _changed(changes: tuple[Change, ...]) -> dict[str, Any]:
    return {
        "changes": [
            {"field": c.field, "old": c.old, "new": c.new, "at": c.at.isoformat()} for c in changes
        ]
    }


_VERBS: Mapping[Verb, _Verb] = {
    "retain": _Verb(RetainArguments, common.answer_retain, _retained),
    "recall": _Verb(RecallArguments, common.answer_recall, _recalled),
    "reflect": _Verb(ReflectArguments, common.answer_reflect, _reflected),
    "forget": _Verb(ForgetArguments, common.answer_forget, _forgotten),
    "correct": _Verb(CorrectArguments, common.answer_correct, _corrected),
    "history": _Verb(HistoryArguments, common.answer_history, _changed),
}


def _tool(
    verb: Verb,
    memory: Hindsight,
    bank_id: BankId,
    name: str,
    description: str,
    pinned: Mapping[str, Any],
) -> BaseTool:
    """Return the tool of a verb, called with the bank, the model's arguments and those pinned."""
    arguments, answer, artifact = _VERBS[verb]
    common.checked_memory(memory)
    checked_bank(bank_id)
    if pinned:
        common.check_options(pinned, _PINNABLE[verb])

    def run(*text: str, runtime: ToolRuntime = None, **given: Any) -> tuple[str, Any]:  # type: ignore[assignment]
        try:
            bank = bank_of(bank_id, runtime)
            content, result = answer(
                memory, bank, **{**_first_argument(schema, text), **given, **pinned}
            )
            return content, artifact(result)
        except HindsightError as error:
            raise ToolException(f"{name} failed: {error}") from error

    async def arun(*text: str, runtime: ToolRuntime = None, **given: Any) -> tuple[str, Any]:  # type: ignore[assignment]
        return await in_thread(run, *text, runtime=runtime, **given)

    schema = _schema_without(arguments, pinned)
    tool = _MemoryTool(
        name=name,
        description=description,
        args_schema=schema,
        func=run,
        coroutine=arun,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
    tool._arguments = (verb, memory, bank_id, pinned)
    return tool


def _first_argument(schema: type[BaseModel], text: Sequence[str]) -> dict[str, str]:
    """Map a text that was passed instead of a mapping to the first argument of the schema."""
    return dict(zip(schema.model_fields, text, strict=False))


class _MemoryTool(StructuredTool):
    """A tool of a verb that can be pickled, if its engine can."""

    _arguments: tuple[Verb, Hindsight, BankId, Mapping[str, Any]] = PrivateAttr()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the arguments the tool was created with, and the fields changed since.

        Raises:
            InvalidInputError: the engine is in RAM, or the function of the bank or an argument that
                is pinned cannot be pickled.
        """
        verb, memory, bank_id, pinned = self._arguments
        common.check_picklable(memory)
        for what, value in (("bank_id", bank_id), *pinned.items()):
            try:
                pickle.dumps(value)
            except Exception as error:
                raise InvalidInputError(
                    f"the tool {self.name!r} cannot be pickled, since its {what} cannot: {error}; "
                    "give a text or a function of a module, or create the tool where it is used"
                ) from error
        made = (verb, memory, bank_id, self.name, self.description, dict(pinned))
        names = self.model_fields_set - _SET_AT_CREATION
        return _restored_tool, (made, {name: getattr(self, name) for name in names})


_SET_AT_CREATION = frozenset(
    {"name", "description", "args_schema", "func", "coroutine", "callbacks"}
)
"""Fields that `_tool` sets, or that belong to a process: they are not pickled."""


def _restored_tool(made: tuple[Any, ...], changed: Mapping[str, Any]) -> BaseTool:
    tool = _tool(*made)
    for name, value in changed.items():
        setattr(tool, name, value)
    return tool


def _schema_without(arguments: type[BaseModel], pinned: Mapping[str, Any]) -> type[BaseModel]:
    """Return the schema without the pinned arguments."""
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in arguments.model_fields.items()
        if name not in pinned
    }
    return create_model(
        arguments.__name__, __base__=ToolArguments, __doc__=arguments.__doc__, **fields
    )


def retain_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "retain",
    description: str = "Remember something permanently, beyond this conversation.",
    **pinned: Any,
) -> BaseTool:
    """Return a tool that remembers what the model tells it to.

    Args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime; the model never sees it.
        name: the tool's name.
        description: the tool's description, for the model.
        **pinned: arguments of `Hindsight.retain` to pass in every call.

    Raises:
        InvalidInputError: `Hindsight.retain` has no argument of that name.

    Examples:
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
    return _tool("retain", memory, bank_id, name, description, pinned)


def recall_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "recall",
    description: str = "Look up what was remembered: facts, people, times, earlier conversations.",
    **pinned: Any,
) -> BaseTool:
    """Return a tool that recalls memories for the model, each with its id and the day it was said.

    Takes the arguments of `retain_tool`; `pinned` are arguments of `Hindsight.recall`.

    Raises:
        InvalidInputError: `Hindsight.recall` has no argument of that name.

    Examples:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import recall_tool

        memory = Hindsight.in_memory()
        memory.retain("alice", "Alice moved to Bergen in May 2024.")
        recall = recall_tool(memory, "alice", min_score=0.1, max_tokens=500)
        print(recall.invoke({"query": "What is the capital of Peru?"}))
        ```

        ```text
        No relevant memories found.
        ```
    """
    return _tool("recall", memory, bank_id, name, description, pinned)


def reflect_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "reflect",
    description: str = "Think about everything remembered on a topic, and draw a conclusion.",
    **pinned: Any,
) -> BaseTool:
    """Return a tool that answers from memory as a whole; see `Hindsight.reflect`.

    Takes the arguments of `retain_tool`; `pinned` are arguments of `Hindsight.reflect`.

    Raises:
        InvalidInputError: `Hindsight.reflect` has no argument of that name.

    Examples:
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
    return _tool("reflect", memory, bank_id, name, description, pinned)


def forget_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "forget",
    description: str = "Delete memories permanently. Call recall first to get their ids.",
) -> BaseTool:
    """Return a tool that deletes memories by their ids.

    Takes the arguments of `retain_tool` except `pinned`.

    Examples:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import forget_tool

        memory = Hindsight.in_memory()
        stored = memory.retain("alice", "The code of the safe is 4711.")
        forget = forget_tool(memory, "alice")
        print(forget.invoke({"memory_ids": list(stored.ids)}).startswith("Forgotten: m-"))
        ```

        ```text
        True
        ```
    """
    return _tool("forget", memory, bank_id, name, description, {})


def correct_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "correct",
    description: str = "Correct a memory that is wrong. Call recall first to get its id.",
) -> BaseTool:
    """Return a tool that corrects text, times, names, speaker, type or tags of a memory.

    Takes the arguments of `retain_tool` except `pinned`. The old values stay in the history.

    Examples:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import correct_tool, history_tool

        memory = Hindsight.in_memory()
        (id,) = memory.retain("alice", "Alice moved to Bergen in May 2024.").ids
        correct = correct_tool(memory, "alice")
        correct.invoke({"memory_id": id, "content": "Alice moved to Oslo in May 2024."})
        print(memory.memories.get("alice", id).text)
        print("Bergen" in history_tool(memory, "alice").invoke({"memory_id": id}))
        ```

        ```text
        Alice moved to Oslo in May 2024.
        True
        ```
    """
    return _tool("correct", memory, bank_id, name, description, {})


def history_tool(
    memory: Hindsight,
    bank_id: BankId,
    *,
    name: str = "history",
    description: str = "Show the changes of a memory. Call recall first to get its id.",
) -> BaseTool:
    """Return a tool that shows the changes of a memory, when and why.

    Takes the arguments of `retain_tool` except `pinned`.

    Examples:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import history_tool

        memory = Hindsight.in_memory()
        (id,) = memory.retain("alice", "Alice moved to Bergen in May 2024.").ids
        print(history_tool(memory, "alice").invoke({"memory_id": id}))
        ```

        ```text
        No changes recorded.
        ```
    """
    return _tool("history", memory, bank_id, name, description, {})


_FACTORIES: Mapping[Verb, Callable[..., BaseTool]] = {
    "retain": retain_tool,
    "recall": recall_tool,
    "reflect": reflect_tool,
    "forget": forget_tool,
    "correct": correct_tool,
    "history": history_tool,
}


_PINNABLE: Mapping[Verb, Callable[..., Any]] = {
    "retain": Hindsight.retain,
    "recall": Hindsight.recall,
    "reflect": Hindsight.reflect,
}
"""Methods whose arguments can be pinned, by verb."""


def workspace_tools(workspace: Workspace, *, reflect: bool = True) -> list[BaseTool]:
    """Return the tools `memory_search`, `memory_get` and `reflect` of a workspace.

    Args:
        workspace: the folder of notes and its bank.
        reflect: False to leave the last one out.

    Examples:
        ```python
        from pathlib import Path
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import workspace_tools
        from hindsight_integrations.workspace import Workspace

        Path("notes").mkdir()
        Path("notes/MEMORY.md").write_text("Alice prefers tea.")
        with Workspace(Hindsight.in_memory(), "alice", "notes") as workspace:
            workspace.sync()
            search, get, reflect = workspace_tools(workspace)
            print(get.invoke({"path": "MEMORY.md"}))
        ```

        ```text
        <hindsight-memory>
        Alice prefers tea.
        </hindsight-memory>
        ```
    """
    return [_workspace_tool(tool) for tool in tools_of(workspace, reflect=reflect)]


def _workspace_tool(tool: WorkspaceTool) -> BaseTool:
    def run(*text: str, **given: Any) -> str:
        try:
            return tool(**{**_first_argument(tool.arguments, text), **given})
        except HindsightError as error:
            raise ToolException(f"{tool.name} failed: {error}") from error

    async def arun(*text: str, **given: Any) -> str:
        return await in_thread(run, *text, **given)

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.arguments,
        func=run,
        coroutine=arun,
        handle_tool_error=True,
    )


class HindsightToolkit(BaseToolkit):
    """Memory as tools: retain, recall, reflect; and, if asked for, correct, history and forget.

    What `forget` deletes cannot be restored, so a model is given it only by name, as in
    `verbs=("retain", "recall", "forget")`.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime. The model never sees it.
        verbs: the tools to make, "retain", "recall" and "reflect" if left out.
        pinned: for each verb, arguments of every call, which the model does not see either.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightToolkit

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        toolkit = HindsightToolkit(
            memory=memory,
            bank_id="alice",
            verbs=("retain", "recall"),
            pinned={"recall": {"max_tokens": 500}, "retain": {"tags": ["chat"]}},
        )
        tools = toolkit.get_tools()
        ```

    Use:
        ```python
        retain, recall = tools
        retain.invoke({"content": "Alice is allergic to nuts."})
        message = recall.invoke(
            {"name": "recall", "args": {"query": "allergies"}, "id": "1", "type": "tool_call"}
        )
        print(message.artifact["memories"][0]["text"])
        ```

        ```text
        Alice is allergic to nuts.
        ```
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Hindsight = Field(exclude=True)
    bank_id: BankField
    verbs: tuple[Verb, ...] = ("retain", "recall", "reflect")
    pinned: dict[Verb, dict[str, Any]] = Field(default_factory=dict)

    def __init__(self, memory: Hindsight, bank_id: BankId, **fields: Any) -> None:
        check_banks(bank_id)
        super().__init__(**{"memory": memory, "bank_id": bank_id, **fields})

    @field_validator("pinned")
    @classmethod
    def _checked(cls, pinned: dict[Verb, dict[str, Any]]) -> dict[Verb, dict[str, Any]]:
        for verb, options in pinned.items():
            if options and verb not in _PINNABLE:
                raise InvalidInputError(
                    f"{verb!r} has no options to pin; choose from {', '.join(_PINNABLE)}"
                )
            if options:
                common.check_options(options, _PINNABLE[verb])
        return pinned

    def get_tools(self) -> list[BaseTool]:
        """Return the tools in the order of `verbs`."""
        return [
            _FACTORIES[verb](self.memory, self.bank_id, **self.pinned.get(verb, {}))
            for verb in self.verbs
        ]
