"""Arguments that a model gives to the tools of memory, with the texts that describe them to it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hindsight_integrations.tool_arguments import ToolArguments


class RetainArguments(ToolArguments):
    """Arguments of the model for retaining something."""

    content: str = Field(description="What to remember, in full sentences with names and dates.")
    type: Literal["world", "experience", "opinion"] | None = Field(
        None,
        description="'world' for a fact, 'experience' for what you did, 'opinion' for a belief.",
    )
    tags: list[str] = Field(default_factory=list, description="Labels to find it by later.")


class RecallArguments(ToolArguments):
    """Arguments of the model for recalling something."""

    query: str = Field(
        description="A question in plain words; times such as 'last spring' are understood."
    )
    types: list[Literal["world", "experience", "opinion", "observation"]] | None = Field(
        None, description="Only memories of these types; all if left out."
    )
    tags: list[str] = Field(
        default_factory=list, description="Only with one of these tags; empty for all."
    )


class ReflectArguments(ToolArguments):
    """Arguments of the model for reflecting on its memories."""

    query: str = Field(description="A question that needs several memories to answer.")


class ForgetArguments(ToolArguments):
    """Arguments of the model for deleting memories."""

    memory_ids: list[str] = Field(description="Ids of the memories, as recall shows them.")


class CorrectArguments(ToolArguments):
    """Arguments of the model for correcting a memory; omitted fields stay unchanged."""

    memory_id: str = Field(description="Id of the memory, as recall shows it.")
    content: str | None = Field(None, description="The whole corrected statement.")
    speaker: str | None = Field(None, description="Who said it; '' for nobody.")
    entities: list[str] | None = Field(None, description="All names it mentions; empty for none.")
    said: str | None = Field(None, description="When it was said, in ISO 8601.")
    happened: str | None = Field(
        None, description="When it happened: a day, or START/END, in ISO 8601."
    )
    type: Literal["world", "experience", "opinion"] | None = Field(
        None, description="The correct type."
    )
    tags: list[str] | None = Field(None, description="All its labels; empty for none.")
    reason: str | None = Field(None, description="Why it was wrong.")


class HistoryArguments(ToolArguments):
    """Arguments of the model for reading the changes of a memory."""

    memory_id: str = Field(description="Id of the memory, as recall shows it.")
