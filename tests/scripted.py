"""Language models that say what a test tells them to, and keep what they were asked."""

from __future__ import annotations

import threading
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from pydantic import Field


class Script:
    """A function (system, user) -> reply; an exception among the replies is raised."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, system: str, user: str) -> str:
        self.asked.append((system, user))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


class Slow:
    """A model that answers when it is told to."""

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked = threading.Event()
        self.may_answer = threading.Event()

    def __call__(self, system: str, user: str) -> str:
        self.asked.set()
        assert self.may_answer.wait(60)
        return self.reply


def lang_chain(reply: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(reply)]))


class ScriptedLLM(CustomLLM):
    """A LlamaIndex model that completes text."""

    replies: list[str]
    asked: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.asked.append(prompt)
        return CompletionResponse(
            text=self.replies.pop(0),
            additional_kwargs={"prompt_tokens": 11, "completion_tokens": 5},
        )

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


class ToolCallingChatModel(GenericFakeChatModel):
    """A LangChain chat model that says it can call tools, and may or may not do so."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self
