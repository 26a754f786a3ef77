"""Memory of a chat without a database: its recent messages, and a bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, Unpack, cast, get_args

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemory
from llama_index.core.storage.chat_store import BaseChatStore
from llama_index.core.workflow import JsonSerializer

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.common import (
    SPEAKERS,
    OnFailure,
    check_picklable,
    checked_speakers,
)
from hindsight_integrations.integrations.llamaindex.chat_store import SessionMessages
from hindsight_integrations.integrations.llamaindex.chats import Chats, chat_options
from hindsight_integrations.integrations.llamaindex.conversions import ChatOptions, plain_bank
from hindsight_integrations.integrations.llamaindex.messages import (
    ROLES,
    TOKEN_LIMIT,
    newest_turns,
)
from hindsight_integrations.integrations.signatures import with_own_signature
from hindsight_integrations.normalization import new_id

CONTEXT_SHARE = 0.75
"""Share of a model's context window, if the model is known; that of LlamaIndex's chat buffer."""


@with_own_signature
class HindsightMemory(BaseMemory):  # type: ignore[misc]
    """A chat's memory for agents and chat engines: its recent messages, and a bank.

    Each message is retained when it is added with `put`. `get` returns the recent messages that fit
    `token_limit`, preceded by memories that they do not show (recalled once per turn). Unlike
    LlamaIndex's `Memory` it needs no database, and a workflow context that contains it can be
    serialised; see `HindsightSerializer`.

    Args:
        memory: the open memory.
        bank_id: the bank's id; the first message creates the bank if it does not exist.
        session_id: your id for the chat, under which its messages are found again. Without one, a
            chat that repeats a stored chat continues it, unless sessions are separate.
        chat_store: where the messages of a session are stored verbatim: "bank" for a record in the
            bank (not if the memory has a `before_retain`, which this would bypass); a LlamaIndex
            chat store, such as `HindsightChatStore`; or None for nowhere.
        token_limit: maximum tokens of the messages that `get` returns.
        messages: the chat so far, if stored elsewhere. They are retained with the next message.
        separate_sessions: True if a session recalls only its own messages.
        speakers: roles that are retained, and the names they are retained under.
        on_failure: if the memory fails, "warn" logs it, tells the model and continues without
            memory, and what could not be retained is retained with the next message; "raise"
            raises the error.
        **options: options of recall: `max_tokens` (1024), `budget`, `types`, `tags`, `tags_match`,
            `where`, `min_score`.

    Raises:
        InvalidInputError: an argument cannot be used, or `max_tokens` leaves no room for a message.

    Examples:
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
    on_failure: OnFailure
    options: dict[str, Any]
    _chats: Chats | None = PrivateAttr(default=None)
    _store: BaseChatStore | SessionMessages | None = PrivateAttr(default=None)
    _restored: bool = PrivateAttr(default=False)

    def __init__(
        self,
        memory: Hindsight | None = None,
        bank_id: str = "",
        *,
        session_id: str | None = None,
        token_limit: int = TOKEN_LIMIT,
        messages: Sequence[ChatMessage] = (),
        chat_store: BaseChatStore | Literal["bank"] | None = "bank",
        separate_sessions: bool = False,
        speakers: Mapping[str, str] = SPEAKERS,
        on_failure: OnFailure = "warn",
        **options: Unpack[ChatOptions],
    ) -> None:
        chosen = chat_options(options)
        if validation.positive("token_limit", token_limit) <= chosen["max_tokens"]:
            raise InvalidInputError(
                f"token_limit is {token_limit}, but the recalled text alone may take "
                f"{chosen['max_tokens']}; give a higher token_limit or a lower max_tokens"
            )
        if not isinstance(chat_store, BaseChatStore) and chat_store not in ("bank", None):
            raise InvalidInputError(
                f"chat_store is {validation.shown(chat_store)}; give a chat store, such as "
                'HindsightChatStore("./chats.sqlite3"), "bank" or None'
            )
        if isinstance(chat_store, BaseChatStore) and (session_id is None or messages):
            raise InvalidInputError(
                "a chat_store provides the messages of a session; give its session_id, and no "
                "messages"
            )
        super().__init__(
            bank_id=plain_bank(bank_id),
            session_id=new_id("chat-")
            if session_id is None
            else validation.label("session_id", session_id),
            token_limit=token_limit,
            messages=list(messages),
            separate_sessions=validation.flag("separate_sessions", separate_sessions),
            speakers=checked_speakers(speakers, ROLES),
            on_failure=validation.choice("on_failure", on_failure, get_args(OnFailure)),
            options=chosen,
        )
        if memory is not None:
            self._chats = self._chats_with(memory)
            if session_id is None:
                self._chats.unnamed = self.session_id
        if chat_store != "bank":
            self._store = chat_store
        elif memory is not None and session_id is not None and not messages:
            self._store = _bank_records(memory, bank_id)
        if self._store is not None:
            self.messages = self._store.get_messages(self.session_id)

    def __getstate__(self) -> dict[str, Any]:
        check_picklable(self._chats.memory if self._chats else None)
        state: dict[str, Any] = super().__getstate__()
        return state

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
        """Return a memory whose `token_limit` fits a model, if one is given."""
        window = int(llm.metadata.context_window * CONTEXT_SHARE) if llm else TOKEN_LIMIT
        return cls(
            memory,
            bank_id,
            messages=chat_history or (),
            token_limit=token_limit or window,
            **arguments,
        )

    def attach(self, memory: Hindsight, chat_store: BaseChatStore | None = None) -> None:
        """Set the `Hindsight` of a chat memory that was restored from JSON, and its chat store.

        By default messages go on in the record of the bank, if they were stored there.
        """
        self._chats = self._chats_with(memory)
        self._store = chat_store or self._store
        kept = SessionMessages(memory, self.bank_id)
        if self._store is None and kept.has(self.session_id):
            self._store, self._restored = kept, True

    def _chats_with(self, memory: Hindsight) -> Chats:
        options = cast(ChatOptions, self.options)
        named = (memory, self.bank_id, self.speakers, self.separate_sessions, options)
        return Chats(*named, self.on_failure)

    def get(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """Return recent messages that fit, preceded by memories that they do not show.

        Args:
            input: the user's next message, if it has not been added yet.
            initial_token_count: tokens to leave free.
            **kwargs: arguments of other memories; not used.
        """
        room = self.token_limit - self.options["max_tokens"] - initial_token_count
        recent = newest_turns(self.messages, room)
        coming = ChatMessage(input) if isinstance(input, str) else input
        messages = [*self.messages, coming] if coming else self.messages
        recalled = self._attached.recalled(messages, self.session_id, shown=recent)
        # Agents write into the messages they are given; the chat stays as it was.
        return _with_recalled(recalled, [message.model_copy(deep=True) for message in recent])

    def get_all(self) -> list[ChatMessage]:
        """Return all messages of this chat."""
        return [message.model_copy(deep=True) for message in self.messages]

    def put(self, message: ChatMessage) -> None:
        """Add a message, and retain it."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, and retain them."""
        given = validation.instances("messages", messages, ChatMessage)
        self.messages.extend(message.model_copy(deep=True) for message in given)
        self._store_messages(given)
        self._attached.retain(self.messages, self.session_id)
        self.session_id = self._attached.adopt(self.session_id)

    def _store_messages(self, messages: Sequence[ChatMessage]) -> None:
        if self._store is not None and self._restored:  # the stored chat may have newer messages
            self._store.set_messages(self.session_id, self.messages)
            self._restored = False
        elif self._store is not None:
            for message in messages:
                self._store.add_message(self.session_id, message)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Replace the chat's messages. Those that were retained stay in the bank."""
        self.reset()
        self.put_messages(messages)

    def reset(self) -> None:
        """Remove the chat's messages. Those that were retained stay in the bank."""
        self.messages.clear()
        if self._store is not None:
            self._store.delete_messages(self.session_id)

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Return all fields except the `Hindsight`, ready for JSON."""
        return {**self.model_dump(mode="json", **kwargs), "class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **kwargs: Any) -> Self:
        """Return the chat memory of `to_dict`; call `attach` to set its `Hindsight`."""
        fields = {**data, **kwargs}
        fields.pop("class_name", None)
        return cls(**fields.pop("options"), **fields)

    @property
    def _attached(self) -> Chats:
        if self._chats is None:
            raise InvalidInputError(
                "this chat memory was restored without its Hindsight memory; restore the "
                "context with HindsightSerializer(memory), or call attach(memory)"
            )
        return self._chats


class HindsightSerializer(JsonSerializer):  # type: ignore[misc]
    """Restore a workflow's context, and set the `Hindsight` of each chat memory in it.

    The `Hindsight` itself is not serialised, because it holds open files.

    Args:
        memory: the open memory.
        chat_store: the store that the chats' further messages are kept in, if they have one.
        **options: options of LlamaIndex's `JsonSerializer`.

    Examples:
        >>> with Hindsight.in_memory() as memory:
        ...     chat = HindsightMemory(memory, "alice", session_id="monday")
        ...     chat.put(ChatMessage("I moved to Lisbon in March 2021."))
        ...     stored = HindsightSerializer(memory).serialize({"memory": chat})
        ...     restored = HindsightSerializer(memory).deserialize(stored)["memory"]
        ...     print(restored.session_id, len(restored.get_all()))
        monday 1
    """

    def __init__(
        self, memory: Hindsight, *, chat_store: BaseChatStore | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self._memory = memory
        self._store = chat_store

    def deserialize_value(self, data: Any) -> Any:
        """Return the value, with its `Hindsight` if it is a chat memory."""
        value = super().deserialize_value(data)
        if isinstance(value, HindsightMemory):
            value.attach(self._memory, self._store)
        return value


def _bank_records(memory: Hindsight, bank_id: str) -> SessionMessages | None:
    """Return the records of a bank; None if it has a `before_retain`, which they would bypass."""
    return None if memory.storage.opened().guarded else SessionMessages(memory, bank_id)


def _with_recalled(recalled: str, messages: list[ChatMessage]) -> list[ChatMessage]:
    """Put recalled text at the start of the system message, or in a system message of its own."""
    if not recalled:
        return messages
    for message in messages:
        if message.role == MessageRole.SYSTEM:
            message.blocks = [TextBlock(text=recalled), *message.blocks]
            return messages
    return [ChatMessage(recalled, role=MessageRole.SYSTEM), *messages]
