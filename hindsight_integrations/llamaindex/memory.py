"""Long-term memory as the memory of a chat: its recent messages, and a bank behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemory
from llama_index.core.workflow import JsonSerializer

from hindsight_integrations import checks
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.language import tokens
from hindsight_integrations.llamaindex.chat import SPEAKERS, Chats, chat_options
from hindsight_integrations.llamaindex.options import ChatOptions
from hindsight_integrations.naming import new_id

TOKEN_LIMIT = 30_000
"""Of a chat's recent messages with what is recalled; the default of LlamaIndex's `Memory`."""

CONTEXT_SHARE = 0.75
"""Of a model's context window, if the model is known; the share of LlamaIndex's chat buffer."""


class HindsightMemory(BaseMemory):  # type: ignore[misc]
    """A chat's memory, for agents and chat engines: its recent messages, and a bank.

    Each message is retained when it is put. `get` gives the recent messages that fit
    `token_limit`, and before them, once a turn, what the bank holds beyond them. Unlike
    LlamaIndex's `Memory` it needs no database, and a workflow's context that holds it can be
    serialised: see `HindsightSerializer`.

    Args:
        memory: the engine.
        bank_id: which bank; made by the first message if there is none.
        session_id: your id of the chat; a new one if not given.
        token_limit: of the messages that `get` gives.
        messages: the chat so far. They are retained with the next one.
        separate_sessions: whether a session recalls only what was said in it.
        speakers: roles that are retained, and the names they are retained under.
        **options: of recall: `max_tokens` (1024), `budget`, `types`, `tags`, `tags_match`,
            `where`, `min_score`.

    Raises:
        InvalidInputError: an option has no such name, or no message fits beside `max_tokens`.

    Example:
        >>> with Hindsight.in_memory() as memory:
        ...     monday = HindsightMemory(memory, "alice", session_id="monday")
        ...     monday.put(ChatMessage("I moved to Lisbon in March 2021."))
        ...     tuesday = HindsightMemory(memory, "alice", session_id="tuesday")
        ...     recalled = tuesday.get("Where do I live?")[0].content
        ...     print("user: I moved to Lisbon in March 2021." in recalled)
        True
    """

    bank_id: str
    session_id: str
    token_limit: int
    messages: list[ChatMessage]
    separate_sessions: bool
    speakers: dict[str, str]
    options: dict[str, Any]
    _chats: Chats | None = PrivateAttr(default=None)

    def __init__(
        self,
        memory: Hindsight | None = None,
        bank_id: str = "",
        *,
        session_id: str | None = None,
        token_limit: int = TOKEN_LIMIT,
        messages: Sequence[ChatMessage] = (),
        separate_sessions: bool = False,
        speakers: Mapping[str, str] = SPEAKERS,
        **options: Unpack[ChatOptions],
    ) -> None:
        chosen = chat_options(options)
        if checks.positive("token_limit", token_limit) <= chosen["max_tokens"]:
            raise InvalidInputError(
                f"token_limit is {token_limit}, and recalled text alone may take "
                f"{chosen['max_tokens']}; give more, or a lower max_tokens"
            )
        super().__init__(
            bank_id=checks.bank_id(bank_id),
            session_id=session_id or new_id("chat-"),
            token_limit=token_limit,
            messages=list(messages),
            separate_sessions=separate_sessions,
            speakers=dict(speakers),
            options=chosen,
        )
        if memory is not None:
            self.attach(memory)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightMemory"

    @classmethod
    def from_defaults(
        cls,
        chat_history: Sequence[ChatMessage] | None = None,
        llm: LLM | None = None,
        *,
        memory: Hindsight,
        bank_id: str,
        token_limit: int | None = None,
        **arguments: Any,
    ) -> Self:
        """A memory whose `token_limit` is made for a model, if one is given."""
        window = int(llm.metadata.context_window * CONTEXT_SHARE) if llm else TOKEN_LIMIT
        return cls(
            memory,
            bank_id,
            messages=chat_history or (),
            token_limit=token_limit or window,
            **arguments,
        )

    def attach(self, memory: Hindsight) -> None:
        """Give a memory that was restored from JSON its engine."""
        self._chats = Chats(
            memory,
            self.bank_id,
            self.speakers,
            self.separate_sessions,
            cast(ChatOptions, self.options),
        )

    def get(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """Recent messages that fit, before them what the bank holds beyond them.

        Args:
            input: the user's next message, if it was not put yet.
            initial_token_count: tokens to leave free.
            **kwargs: of other memories; not used.
        """
        recent = self._recent(self.token_limit - self.options["max_tokens"] - initial_token_count)
        coming = ChatMessage(input) if isinstance(input, str) else input
        said = [*self.messages, coming] if coming else self.messages
        recalled = self._attached.recalled(said, self.session_id, shown=recent)
        # Agents write into the messages they are given; the chat stays as it was.
        return _with_recalled(recalled, [message.model_copy(deep=True) for message in recent])

    def get_all(self) -> list[ChatMessage]:
        """All messages of this chat."""
        return [message.model_copy(deep=True) for message in self.messages]

    def put(self, message: ChatMessage) -> None:
        """Add a message, and retain what was said."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, and retain what was said."""
        self.messages.extend(message.model_copy(deep=True) for message in messages)
        self._attached.retain(self.messages, self.session_id)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Make the chat consist of these messages. What was retained stays in the bank."""
        self.messages.clear()
        self.put_messages(messages)

    def reset(self) -> None:
        """Begin the chat anew. What was retained stays in the bank."""
        self.messages.clear()

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """All but the engine, ready for JSON."""
        return {**self.model_dump(mode="json", **kwargs), "class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **kwargs: Any) -> Self:
        """What `to_dict` gave. It has no engine, until `attach` gives it one."""
        fields = {**data, **kwargs}
        fields.pop("class_name", None)
        return cls(**fields.pop("options"), **fields)

    @property
    def _attached(self) -> Chats:
        if self._chats is None:
            raise InvalidInputError(
                "this chat memory was restored without its engine; restore the context with "
                "HindsightSerializer(memory), or call attach(memory)"
            )
        return self._chats

    def _recent(self, room: int) -> list[ChatMessage]:
        """System messages, and the newest turns that fit beside them; never less than the last."""
        system = [message for message in self.messages if message.role == MessageRole.SYSTEM]
        spoken = [message for message in self.messages if message.role != MessageRole.SYSTEM]
        users = [n for n, message in enumerate(spoken) if message.role == MessageRole.USER]
        *earlier, start = sorted({0, *users})
        spent = sum(map(_tokens, [*system, *spoken[start:]]))
        for turn in reversed(earlier):
            spent += sum(map(_tokens, spoken[turn:start]))
            if spent > room:
                break
            start = turn
        return [*system, *spoken[start:]]


class HindsightSerializer(JsonSerializer):  # type: ignore[misc]
    """Restores a workflow's context, and gives each chat memory in it its engine.

    The engine is no part of what is stored: it is open files.

    Args:
        memory: the engine.
        **options: those of LlamaIndex's `JsonSerializer`.

    Example:
        >>> with Hindsight.in_memory() as memory:
        ...     chat = HindsightMemory(memory, "alice", session_id="monday")
        ...     chat.put(ChatMessage("I moved to Lisbon in March 2021."))
        ...     stored = HindsightSerializer(memory).serialize({"memory": chat})
        ...     restored = HindsightSerializer(memory).deserialize(stored)["memory"]
        ...     print(restored.session_id, len(restored.get_all()))
        monday 1
    """

    def __init__(self, memory: Hindsight, **options: Any) -> None:
        super().__init__(**options)
        self._memory = memory

    def deserialize_value(self, data: Any) -> Any:
        """The value, with its engine if it is a chat memory."""
        value = super().deserialize_value(data)
        if isinstance(value, HindsightMemory):
            value.attach(self._memory)
        return value


def _tokens(message: ChatMessage) -> int:
    extra = str(message.additional_kwargs) if message.additional_kwargs else ""
    return tokens.count(message.content or "") + tokens.count(extra)


def _with_recalled(recalled: str, messages: list[ChatMessage]) -> list[ChatMessage]:
    """The messages, with recalled text at the start of the system message, or in one of its own."""
    if not recalled:
        return messages
    for message in messages:
        if message.role == MessageRole.SYSTEM:
            message.blocks = [TextBlock(text=recalled), *message.blocks]
            return messages
    return [ChatMessage(recalled, role=MessageRole.SYSTEM), *messages]
