"""Scripted language models: they reply what a test tells them, and keep what they were asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

from tests.scripted import ToolCallingChatModel

Reply = str | dict[str, Any] | Exception


class Script:
    """A plain function (system, user) -> reply; the last reply is given again and again."""

    def __init__(self, *replies: Reply | Callable[[str, str], Reply]) -> None:
        self._replies = list(replies)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, system: str, user: str) -> str:
        self.asked.append((system, user))
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if callable(reply):
            reply = reply(system, user)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, str) else json.dumps(reply)


def calling(*calls: tuple[str, dict[str, Any]]) -> ToolCallingChatModel:
    """A LangChain chat model that fills in the named forms, one after the other."""
    messages = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": str(number)}])
        for number, (name, args) in enumerate(calls)
    ]
    return ToolCallingChatModel(messages=iter(messages))


def calling_in_llama_index(*calls: tuple[str, dict[str, Any]]) -> MockFunctionCallingLLM:
    """The same, of LlamaIndex."""
    script = iter(calls)

    def reply(messages: Any, **kwargs: Any) -> ChatMessage:
        name, args = next(script)
        block = ToolCallBlock(tool_call_id="1", tool_name=name, tool_kwargs=args)
        return ChatMessage(role="assistant", blocks=[block])

    return MockFunctionCallingLLM(response_generator=reply)


def answer(text: str, sources: Sequence[str] = ()) -> dict[str, Any]:
    return {"action": "answer", "answer": text, "sources": list(sources)}


def search(tool: str, query: str) -> dict[str, Any]:
    return {"action": f"search_{tool}", "query": query}
