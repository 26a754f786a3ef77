"""Search, get and reflect on a workspace as tools that a model calls: functions with a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.results import NOTHING_ASKED, NOTHING_FOUND
from hindsight_integrations.retain.fence import fence
from hindsight_integrations.tool_arguments import ToolArguments
from hindsight_integrations.workspace.results import SearchHit
from hindsight_integrations.workspace.workspace import Workspace


class SearchArguments(ToolArguments):
    """Arguments of the model for a search."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(
        description="A question in plain words; times such as 'last spring' are understood."
    )
    max_results: int = Field(6, ge=1, description="Maximum number of results.")
    min_score: float = Field(0.0, ge=0, le=1, description="Leave out results with a lower score.")


class GetArguments(ToolArguments):
    """Arguments of the model for reading a note."""

    model_config = ConfigDict(extra="forbid")
    path: str = Field(description="Path of a note, as memory_search gives it.")
    from_line: int = Field(1, ge=1, description="First line to read.")
    lines: int | None = Field(None, ge=1, description="Number of lines. Default: all.")


class ReflectArguments(ToolArguments):
    """Arguments of the model for a reflection."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(description="A question that needs several memories to answer.")


@dataclass(frozen=True, slots=True)
class WorkspaceTool:
    """A function that a model may call, with its description and arguments.

    Attributes:
        name: name of the function.
        description: what it does, for the model.
        arguments: model of its arguments.
        answer: returns the text for the model; its parameters are the arguments.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    answer: Callable[..., str]

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return self.arguments.model_json_schema()

    def __call__(self, **given: Any) -> str:
        """Return the text for the model.

        Raises:
            InvalidInputError: the arguments do not fit the schema.
            HindsightError: see the method of `Workspace`.
        """
        try:
            arguments = self.arguments(**given)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise InvalidInputError(f"{self.name}: {place}: {first['msg']}") from error
        return self.answer(**arguments.model_dump())

    async def acall(self, **given: Any) -> str:
        """Return the text for the model, without blocking the event loop."""
        return await in_thread(self, **given)

    def schema(self) -> Mapping[str, Any]:
        """Return name, description and parameters, as model providers take a function."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }


def workspace_tools(workspace: Workspace, *, reflect: bool = True) -> tuple[WorkspaceTool, ...]:
    """Return the tools `memory_search`, `memory_get` and `reflect` of a workspace.

    Recalled text is fenced (marked), so that it is not retained as if somebody had said it.
    Adapters turn these into LangChain and LlamaIndex tools.

    Args:
        workspace: the folder and its bank.
        reflect: False to leave the last one out.
    """

    def memory_search(query: str, max_results: int = 6, min_score: float = 0.0) -> str:
        if validation.is_blank(query):
            return NOTHING_ASKED
        hits = workspace.search(query, max_results, min_score)
        return fence("\n".join(map(_line, hits))) if hits else NOTHING_FOUND

    def memory_get(path: str, from_line: int = 1, lines: int | None = None) -> str:
        return fence(workspace.get(path, from_line, lines).text)

    def reflect_on(query: str) -> str:
        if validation.is_blank(query):
            return NOTHING_ASKED
        found = workspace.reflect(query)
        # An agent reads the evidence itself where no rule could answer from it.
        text = found.text if found else found.context.text
        return fence(text) if found.context else NOTHING_FOUND

    tools = (
        WorkspaceTool(
            "memory_search",
            "Search long-term memory: notes, decisions, people, preferences, earlier sessions. "
            "Each result has the note and the lines that hold it.",
            SearchArguments,
            memory_search,
        ),
        WorkspaceTool(
            "memory_get",
            "Read lines of a note that memory_search named, for what stands around a result.",
            GetArguments,
            memory_get,
        ),
        WorkspaceTool(
            "reflect",
            "Think over all that is remembered on a matter, and answer. Slower than memory_search.",
            ReflectArguments,
            reflect_on,
        ),
    )
    return tools if reflect else tools[:-1]


def _line(hit: SearchHit) -> str:
    lines = f":{hit.start_line}-{hit.end_line}" if hit.start_line else ""
    return f"{hit.path}{lines} ({hit.score:.2f}, {hit.source}) {' '.join(hit.text.split())}"
