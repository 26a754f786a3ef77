"""Chat models that say what a test tells them to, and keep what they were sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

Reply = AIMessage | str | Exception | Callable[[list[BaseMessage]], str]


class Scripted(BaseChatModel):
    """Gives its replies in order; `seen` holds the messages of each call."""

    replies: list[Any]
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    tools_bound: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        self.tools_bound[:] = tools
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        reply = self.replies[len(self.seen)]
        self.seen.append(list(messages))
        if isinstance(reply, Exception):
            raise reply
        said = reply(messages) if callable(reply) else reply
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])

    def system(self, call: int = -1) -> str:
        """The system message of a call, or nothing."""
        found = [str(m.text) for m in self.seen[call] if isinstance(m, SystemMessage)]
        return "\n".join(found)


def calling(name: str, **arguments: Any) -> AIMessage:
    """A reply that calls one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])
