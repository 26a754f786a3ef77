"""Actors for tests: a model that follows a script, and a chat with a short memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import BaseMemoryBlock, Memory
from sqlalchemy.ext.asyncio import create_async_engine


class ScriptedChat:
    """A model that says what a script says, and keeps what it was asked.

    Args:
        *replies: in order; the last is repeated. Text is an answer; a list of (tool, arguments)
            calls tools.

    Attributes:
        llm: the model, for any agent or engine.
        asked: the messages of each call.
    """

    def __init__(self, *replies: str | Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self._replies = list(replies)
        self.asked: list[list[ChatMessage]] = []
        self.llm = MockFunctionCallingLLM(response_generator=self._reply, is_chat_model=True)

    def _reply(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        self.asked.append([message.model_copy(deep=True) for message in messages])
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, str):
            return ChatMessage(reply, role=MessageRole.ASSISTANT)
        blocks = [
            ToolCallBlock(tool_call_id=f"call-{n}", tool_name=tool, tool_kwargs=dict(arguments))
            for n, (tool, arguments) in enumerate(reply)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


@asynccontextmanager
async def short_chat(*blocks: BaseMemoryBlock[Any], **options: Any) -> AsyncIterator[Memory]:
    """LlamaIndex's `Memory` over some blocks, with a database that is closed afterwards."""
    database = create_async_engine("sqlite+aiosqlite:///:memory:")
    try:
        yield Memory.from_defaults(memory_blocks=list(blocks), async_engine=database, **options)
    finally:
        await database.dispose()
