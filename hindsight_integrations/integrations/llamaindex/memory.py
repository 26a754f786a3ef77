"""Long-term memory for chats: a block of LlamaIndex's `Memory`, and a memory without a database.

Both recall once per turn, and retain no message twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Literal, NamedTuple, Self, Unpack, cast, get_args

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemory, BaseMemoryBlock
from llama_index.core.storage.chat_store import BaseChatStore
from llama_index.core.utils import get_tokenizer
from llama_index.core.workflow import JsonSerializer

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.integrations.common import (
    OVERFETCH,
    SPEAKERS,
    OnFailure,
    as_question,
    check_options,
    check_picklable,
    checked_memory,
    checked_speakers,
    recall,
    report_failure,
    section,
    shortened,
)
from hindsight_integrations.integrations.llamaindex.chat_store import SessionMessages
from hindsight_integrations.integrations.llamaindex.conversions import (
    ChatOptions,
    emit_search_events,
    plain_bank,
    recalled_nodes,
)
from hindsight_integrations.models import Message
from hindsight_integrations.nlp import tokens
from hindsight_integrations.normalization import new_id
from hindsight_integrations.prompts import DECODING_ERRORS
from hindsight_integrations.recall.packing import pack
from hindsight_integrations.retain.fence import strip_fenced
from hindsight_integrations.retain.replay import LEAST_OVERLAP
from hindsight_integrations.retain.request import digest

MAX_TOKENS = 1024
"""Default token budget of recalled text in a chat."""

SESSIONS = 256
"""Sessions whose last turn is cached. After eviction a turn is recalled, and its messages are
compared with the stored ones, a second time."""

_REASONING = re.compile(r"\AThought:.*\nAnswer:", re.DOTALL)
"""The text of ReAct agents before their answer: thoughts, calls and the tools' answers."""

TOKEN_LIMIT = 30_000
"""Tokens of a chat's recent messages and recalled text; the default of LlamaIndex's `Memory`."""

CONTEXT_SHARE = 0.75
"""Share of a model's context window, if the model is known; that of LlamaIndex's chat buffer."""

Retaining = Literal["eager", "overflow", "never"]

_EMPTY = "Empty Response"
"""Reply of LlamaIndex's synthesizers if nothing was retrieved."""

ROLES = [role.value for role in MessageRole]
"""Roles of messages in LlamaIndex."""


def chat_options(given: ChatOptions) -> ChatOptions:
    """Return the options of a chat, with the default budget.

    Raises:
        InvalidInputError: an option has no such name, or a value that cannot be used.
    """
    check_options(given, ChatOptions)
    options: ChatOptions = {"max_tokens": MAX_TOKENS, **given}
    validation.positive("max_tokens", options["max_tokens"])
    return options


class Turn(NamedTuple):
    """The user's last message and the one before it: the same until the next turn."""

    question: str
    before: str


def last_turn(messages: Sequence[ChatMessage]) -> Turn | None:
    """Return the current turn of a chat; None without a message of the user.

    Agents pass the user's message a second time while they work with tools: that is one turn.
    """
    users = [n for n, message in enumerate(messages) if message.role == MessageRole.USER]
    if not users:
        return None
    at = users[-1]
    while at and _alike(messages[at - 1], messages[at]):
        at -= 1
    return Turn(messages[at].content or "", (messages[at - 1].content or "") if at else "")


def conversation(messages: Iterable[ChatMessage], speakers: Mapping[str, str]) -> list[Message]:
    """Return the text of the user and the agent, without tools, reasoning and recalled text."""
    spoken = []
    for message in messages:
        text = strip_fenced(message.content or "")
        if message.role == MessageRole.ASSISTANT:
            text = "" if text.strip() == _EMPTY else _REASONING.sub("", text)
        if text.strip() and (speaker := speakers.get(message.role.value)):
            spoken.append(Message(speaker, text.strip()))
    return spoken


def _alike(one: ChatMessage, other: ChatMessage) -> bool:
    return (one.role, one.content) == (other.role, other.content)


@dataclass(slots=True)
class _Session:
    """The text recalled for a session's turn, and digests of the messages that are stored."""

    recalled: tuple[Turn | None, str] = (None, "")
    retained: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Chats:
    """The chats that share a bank, each with its session.

    Attributes:
        memory: the open memory.
        bank_id: the bank they share.
        speakers: roles that are retained, and their names.
        separate: True if a session recalls only its own messages.
        options: options of recall.
        on_failure: "warn" logs a failure of the memory and continues without it; "raise" raises.
        unnamed: the key of the chat without an id.
        _document: id of the document of that chat, once it is long enough to be recognised when it
            is replayed.
    """

    memory: Hindsight
    bank_id: str
    speakers: Mapping[str, str]
    separate: bool
    options: ChatOptions
    on_failure: OnFailure = "warn"
    _sessions: dict[str, _Session] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    unnamed: str = field(default_factory=lambda: new_id("chat-"))
    _document: str | None = None

    def __post_init__(self) -> None:
        checked_memory(self.memory)
        self.speakers = checked_speakers(self.speakers, ROLES)
        validation.flag("separate_sessions", self.separate)
        validation.choice("on_failure", self.on_failure, get_args(OnFailure))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the settings and the id of the unnamed chat; the copy begins with empty caches."""
        named = (self.memory, self.bank_id, self.speakers, self.separate, self.options)
        settings = (*named, self.on_failure)
        return partial(Chats, *settings, unnamed=self.unnamed, _document=self._document), ()

    def recalled(
        self,
        messages: Sequence[ChatMessage],
        session_id: str | None,
        shown: Sequence[ChatMessage],
    ) -> str:
        """Return memories on the last turn, fenced, without the messages `shown`; or ""."""
        turn = last_turn(messages)
        question = as_question(turn.question) if turn else ""
        if not question:
            return ""
        session = self._session(session_id)
        known, text = session.recalled
        if known != turn:
            try:
                text = self._recall(question, session_id, shown)
            except HindsightError as error:
                self._report(f"recall in bank {self.bank_id!r}", error)
                return DECODING_ERRORS
            session.recalled = turn, text
        return text

    def retain(self, messages: Iterable[ChatMessage], session_id: str | None) -> None:
        """Retain the messages that are not stored yet."""
        retained = self._session(session_id).retained
        spoken = conversation(messages, self.speakers)
        digests = [digest(message.speaker, message.text) for message in spoken]
        first = next((n for n, known in enumerate(digests) if known not in retained), None)
        if first is None:
            return
        stored_as = self._stored_as(session_id)
        try:
            result = self.memory.retain_messages(
                self.bank_id,
                spoken[max(0, first - 1) :],  # with the question that a short reply answers
                session=stored_as,
                scope=self._scope(session_id),
            )
        except HindsightError as error:
            self._report(f"retain in bank {self.bank_id!r}", error)
            if isinstance(error, InvalidInputError):  # it would be refused again
                retained.update(digests)
            return
        retained.update(digests)
        if stored_as is None and len(spoken) >= LEAST_OVERLAP:
            self._document = result.document_ids[0]

    def adopt(self, session_id: str) -> str:
        """Return the session to retain in; None if the engine has to recognise the chat."""
        if session_id != self.unnamed or self._document is None:
            return session_id
        with self._lock:
            self._sessions[self._document] = self._sessions.pop(session_id, _Session())
            self.unnamed = new_id("chat-")
            document_id, self._document = self._document, None
        return document_id

    def _stored_as(self, session_id: str | None) -> str | None:
        """Return the session to retain in; None lets the engine recognise a replayed chat."""
        if session_id not in (None, self.unnamed):
            return session_id
        return self.unnamed if self.separate else self._document

    def _recall(self, question: str, session_id: str | None, shown: Sequence[ChatMessage]) -> str:
        room = self.options["max_tokens"]
        options = {**self.options, "scope": self._scope(session_id), "max_tokens": OVERFETCH * room}
        visible = "\n".join(message.content or "" for message in shown)
        result = recall(self.memory, self.bank_id, question, **options)
        emit_search_events(question, recalled_nodes(result))
        unseen = [each.memory for each in result if each.memory.text not in visible]
        packed = pack(unseen, room, tokens.count, tokens.truncate)
        return section(packed.text)

    def _report(self, what: str, error: HindsightError) -> None:
        report_failure(self.on_failure, "the chat", what, error)

    def _scope(self, session_id: str | None) -> str | None:
        return (session_id or self.unnamed) if self.separate else None

    def _session(self, session_id: str | None) -> _Session:
        key = session_id or self.unnamed
        with self._lock:
            session = self._sessions.pop(key, None) or _Session()
            self._sessions[key] = session
            if len(self._sessions) > SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        return session


class HindsightMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc]
    """A bank as a block of LlamaIndex's `Memory`.

    Once per turn it recalls memories for the user's last message that the chat itself does not
    show. One block serves any number of sessions at once.

    LlamaIndex passes messages to a block only when the short-term memory overflows, at about 21,000
    tokens by default, so most chats would never be retained. With "eager" the block therefore also
    retains the messages it sees when it is read. The last answer of a chat is not among them; call
    `aflush` to retain it.

    Args:
        memory: the open memory.
        bank_id: the bank's id; the first message creates the bank if it does not exist.
        retain: "eager"; "overflow" for only the messages that leave the short-term memory;
            "never".
        separate_sessions: True if a session recalls only its own messages. By default the
            bank's sessions share their memories.
        speakers: roles that are retained, and the names they are retained under. A name is more
            informative than a role: `{"user": "Alice", "assistant": "assistant"}`.
        on_failure: if the memory fails, "warn" logs it, tells the model and continues without
            memory, and what could not be retained is retained with the next message; "raise"
            raises the error.
        name: the block's name in the prompt.
        priority: order of shortening when the memory overflows, higher first; 0 is never.
        **options: options of recall: `max_tokens` (1024), `budget`, `types`, `tags`, `tags_match`,
            `where`, `min_score`.

    Examples:
        >>> import asyncio
        >>> from llama_index.core.memory import Memory
        >>> with Hindsight.in_memory() as memory:
        ...     block = HindsightMemoryBlock(memory, "alice", speakers={"user": "Alice"})
        ...     chat = Memory.from_defaults(session_id="monday", memory_blocks=[block])
        ...     asyncio.run(block.aput([ChatMessage("I moved to Lisbon in March 2021.")]))
        ...     found = asyncio.run(block.aget([ChatMessage("Where do I live?")]))
        ...     print("Alice: I moved to Lisbon in March 2021." in found)
        True
    """

    bank_id: str
    retain: Retaining
    _chats: Chats = PrivateAttr()

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str,
        *,
        retain: Retaining = "eager",
        separate_sessions: bool = False,
        speakers: Mapping[str, str] = SPEAKERS,
        on_failure: OnFailure = "warn",
        name: str = "LongTermMemory",
        priority: int = 1,
        **options: Unpack[ChatOptions],
    ) -> None:
        super().__init__(
            name=name,
            description="What is remembered of earlier conversations.",
            priority=priority,
            accept_short_term_memory=retain != "never",
            bank_id=plain_bank(bank_id),
            retain=retain,
        )
        self._chats = Chats(
            memory, bank_id, speakers, separate_sessions, chat_options(options), on_failure
        )

    def __getstate__(self) -> dict[str, Any]:
        check_picklable(self._chats.memory)
        state: dict[str, Any] = super().__getstate__()
        return state

    async def aflush(self, chat: BaseMemory, session_id: str | None = None) -> None:
        """Retain the messages of a chat memory that were not retained yet.

        Args:
            chat: the `Memory` that this block is part of, or any other.
            session_id: the chat's session, if `chat` has none.
        """
        session = session_id or getattr(chat, "session_id", None)
        await in_thread(self._chats.retain, await chat.aget_all(), session)

    def flush(self, chat: BaseMemory, session_id: str | None = None) -> None:
        """`aflush`, for synchronous code."""
        session = session_id or getattr(chat, "session_id", None)
        self._chats.retain(chat.get_all(), session)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,
    ) -> str:
        return await in_thread(self._turn, messages or [], session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            sessions.setdefault(message.additional_kwargs.get("session_id"), []).append(message)
        for session_id, members in sessions.items():
            await in_thread(self._chats.retain, members, session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return recalled text without its least relevant lines; None if none can stay."""
        tokenizer = tokens.as_tokenizer(get_tokenizer())
        return shortened(content, tokens_to_truncate, tokenizer) if content else None

    def _turn(self, messages: list[ChatMessage], session_id: str | None) -> str:
        recalled = self._chats.recalled(messages, session_id, shown=messages)
        if self.retain == "eager":
            self._chats.retain(messages, session_id)
        return recalled


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


def newest_turns(messages: Sequence[ChatMessage], room: int) -> list[ChatMessage]:
    """Return system messages and the newest turns that fit beside them, at least the last."""
    system = [message for message in messages if message.role == MessageRole.SYSTEM]
    spoken = [message for message in messages if message.role != MessageRole.SYSTEM]
    users = [n for n, message in enumerate(spoken) if message.role == MessageRole.USER]
    *earlier, start = sorted({0, *users})
    spent = sum(map(_tokens, [*system, *spoken[start:]]))
    for turn in reversed(earlier):
        spent += sum(map(_tokens, spoken[turn:start]))
        if spent > room:
            break
        start = turn
    return [*system, *spoken[start:]]


def _tokens(message: ChatMessage) -> int:
    extra = str(message.additional_kwargs) if message.additional_kwargs else ""
    return tokens.count(message.content or "") + tokens.count(extra)


def _with_recalled(recalled: str, messages: list[ChatMessage]) -> list[ChatMessage]:
    """Put recalled text at the start of the system message, or in a system message of its own."""
    if not recalled:
        return messages
    for message in messages:
        if message.role == MessageRole.SYSTEM:
            message.blocks = [TextBlock(text=recalled), *message.blocks]
            return messages
    return [ChatMessage(recalled, role=MessageRole.SYSTEM), *messages]
