"""Stand-ins for the OpenAI packages of LangChain and LlamaIndex, with replies given by a test.

Pages of the documentation name a real model, so that a reader can run them with a key. The tests
put these two modules in the packages' place; nothing else about the pages is changed.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage

from hindsight_integrations.llamaindex import FunctionLLM

_replies: deque[str] = deque()


def _next_reply(*_: object, **__: object) -> str:
    return _replies.popleft()


class ChatOpenAI(SimpleChatModel):
    """Replaces `langchain_openai.ChatOpenAI`."""

    model: str

    def bind_tools(self, tools: Any, **_: Any) -> ChatOpenAI:
        return self

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    def _call(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        return _next_reply()


def _llama_index_openai(model: str) -> Any:
    return FunctionLLM(_next_reply)


def install(monkeypatch: pytest.MonkeyPatch, replies: Iterable[str]) -> deque[str]:
    """Make both packages importable; returns the replies that are left, the next one first."""
    _replies.clear()
    _replies.extend(replies)
    for name, member, value in (
        ("langchain_openai", "ChatOpenAI", ChatOpenAI),
        ("llama_index.llms.openai", "OpenAI", _llama_index_openai),
    ):
        module = ModuleType(name)
        setattr(module, member, value)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "llama_index.llms", ModuleType("llama_index.llms"))
    return _replies
