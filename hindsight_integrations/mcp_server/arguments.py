"""Arguments of the tools of the MCP server, with the texts that describe them to a model."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from hindsight_integrations.integrations import arguments
from hindsight_integrations.tool_arguments import ToolArguments

TOKENS = 1024
"""Default token budget of a recall: an agent's context window is shared with other tools."""

Type = Literal["world", "experience", "opinion", "observation"]


class NoArguments(ToolArguments):
    """No arguments."""


class Retain(arguments.RetainArguments):
    """Arguments of `retain`."""

    timestamp: datetime | None = Field(
        None, description="When it was said, in ISO 8601, if not just now."
    )


class Recall(arguments.RecallArguments):
    """Arguments of `recall`."""

    max_tokens: int = Field(TOKENS, ge=1, description="Maximum tokens of memories.")


class Reflect(arguments.ReflectArguments):
    """Arguments of `reflect`."""

    max_tokens: int = Field(TOKENS, ge=1, description="Maximum tokens of evidence.")


class Filters(ToolArguments):
    """Filter of memories: only those that meet all given conditions."""

    text: str | None = Field(None, description="Only those whose text contains this.")
    speaker: str | None = Field(None, description="Only those that this person said.")
    types: list[Type] | None = Field(None, description="Only these types.")
    tags: list[str] = Field(
        default_factory=list, description="Only with one of these tags; empty for all."
    )
    entities: list[str] = Field(
        default_factory=list,
        description="Only those that mention one of these names; empty for all.",
    )


class Forget(Filters):
    """Arguments of `forget`."""

    ids: list[str] = Field(default_factory=list, description="Ids, as recall shows them.")
    document_id: str | None = Field(None, description="All of this document or session.")
    dry_run: bool | None = Field(
        None,
        description="True only shows what would be deleted. Default: false for ids, else true.",
    )


class ListMemories(Filters):
    """Arguments of `list_memories`."""

    document_id: str | None = Field(None, description="Only those of this document or session.")
    state: Literal["valid", "invalidated", "expired", "any"] = Field(
        "valid", description="'invalidated' for those that were marked as wrong."
    )
    limit: int = Field(20, ge=1, le=100, description="Maximum memories per page.")
    cursor: str | None = Field(None, description="The cursor shown at the end of the last page.")


class Why(ToolArguments):
    """Arguments of `why`."""

    query: str = Field(description="The question, as it was given to recall.")
    memory_id: str | None = Field(
        None, description="A memory to explain, returned or not. Default: all returned memories."
    )


class Named(ToolArguments):
    """Arguments that name an entity."""

    name: str = Field(description="A name or alias.")


class Person(ToolArguments):
    """Arguments of `profile`."""

    person: str = Field("user", description="A name, alias or speaker.")


class MarkWrong(ToolArguments):
    """Arguments of `mark_wrong`."""

    memory_id: str = Field(description="Id of the memory, as recall shows it.")
    reason: str = Field(description="Why it is wrong, and who said so.")


class Restore(ToolArguments):
    """Arguments of `restore`."""

    memory_id: str = Field(description="Id of the memory.")


class Merge(ToolArguments):
    """Arguments of `merge_entities`."""

    source: str = Field(description="The name that becomes an alias.")
    target: str = Field(description="The entity to merge into.")


class Paged(ToolArguments):
    """Arguments of a list in pages."""

    limit: int = Field(20, ge=1, le=100, description="Maximum items per page.")
    cursor: str | None = Field(None, description="The cursor shown at the end of the last page.")


class SetMentalModel(ToolArguments):
    """Arguments of `set_mental_model`."""

    name: str = Field(description="Its name.")
    text: str | None = Field(None, description="The summary.")
    source_query: str | None = Field(
        None, description="Instead of text: the question whose answer from memory is stored."
    )
