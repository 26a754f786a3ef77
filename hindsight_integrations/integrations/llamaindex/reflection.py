"""A `ReflectionMemory` as the memory of agents and chat engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemory

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.common import SPEAKERS, checked_speakers
from hindsight_integrations.integrations.llamaindex.messages import (
    ROLES,
    TOKEN_LIMIT,
    conversation,
    newest_turns,
)
from hindsight_integrations.nlp import tokens
from hindsight_integrations.sessions import ReflectionMemory


class ReflectionChatMemory(BaseMemory):  # type: ignore[misc]
    """A chat's memory, for agents and chat engines: insights, and the recent exchanges.

    Spoken messages are committed when they are put: no tool results, no system texts, no reasoning.
    `get` returns the insights as a system message, and the recent exchanges that fit `token_limit`.
    Reflection runs in the background. Several chats may share one reflection
    memory one after the other; for chats at the same time give each its own `session_id`.

    Args:
        learning: the reflection memory, which its owner closes.
        token_limit: tokens of the messages that `get` returns.
        speakers: roles that are stored, and the names they are stored under. The assistant's name
            must be one that marks replies, such as "assistant".

    Examples:
        >>> learning = ReflectionMemory(lambda system, user: "Alice keeps bees.", every=1)
        >>> chat = ReflectionChatMemory(learning)
        >>> chat.put(ChatMessage("My bees are well.", role="user"))
        >>> chat.put(ChatMessage("How many hives?", role="assistant"))
        >>> learning.wait_idle()
        True
        >>> [message.role.value for message in chat.get()]
        ['system', 'user', 'assistant']
    """

    token_limit: int
    speakers: dict[str, str]
    _learning: ReflectionMemory | None = PrivateAttr(default=None)

    def __init__(
        self,
        learning: ReflectionMemory | None = None,
        *,
        token_limit: int = TOKEN_LIMIT,
        speakers: Mapping[str, str] = SPEAKERS,
    ) -> None:
        super().__init__(
            token_limit=validation.positive("token_limit", token_limit),
            speakers=checked_speakers(speakers, ROLES),
        )
        if learning is not None:
            self.attach(learning)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "ReflectionChatMemory"

    @classmethod
    def from_defaults(cls, *, learning: ReflectionMemory, **arguments: Any) -> Self:
        """Return a chat memory of a reflection memory."""
        return cls(learning, **arguments)

    def attach(self, learning: ReflectionMemory) -> None:
        """Set the reflection memory of a chat memory that was restored from JSON."""
        if not isinstance(learning, ReflectionMemory):
            raise InvalidInputError(
                f"learning is {validation.shown(learning)}; give a ReflectionMemory"
            )
        self._learning = learning

    def get(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """Return the insights as a system message, and the recent exchanges that fit.

        Args:
            input: the user's next message; not used, since nothing is searched.
            initial_token_count: tokens to leave free.
            **kwargs: arguments of other memories; not used.
        """
        learnt = self._attached.learnt
        room = self.token_limit - initial_token_count - tokens.count(learnt)
        recent = newest_turns(self.get_all(), room)
        return [ChatMessage(learnt, role="system"), *recent] if learnt else recent

    def get_all(self) -> list[ChatMessage]:
        """Return the recent exchanges as messages."""
        return [
            ChatMessage(message["content"], role=message["role"])
            for message in self._attached.context()
            if message["role"] != "system"
        ]

    def put(self, message: ChatMessage) -> None:
        """Add a message, if it was spoken."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Add the messages that were spoken."""
        self._attached.add_messages(conversation(messages, self.speakers))

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Replace the exchanges. The insights stay."""
        self.reset()
        self.put_messages(messages)

    def reset(self) -> None:
        """Delete the exchanges. The insights stay; `ReflectionMemory.purge` deletes both."""
        self._attached.purge(insights=False)

    @property
    def _attached(self) -> ReflectionMemory:
        if self._learning is None:
            raise InvalidInputError(
                "this chat memory was restored without its reflection memory; pass it to `run` "
                "again, or call attach(learning)"
            )
        return self._learning
