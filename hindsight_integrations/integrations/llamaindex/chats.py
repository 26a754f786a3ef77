"""The chats of a bank: recall once per turn, and retain no message twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import get_args

from llama_index.core.base.llms.types import ChatMessage

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.integrations.common import (
    OVERFETCH,
    OnFailure,
    as_question,
    check_options,
    checked_memory,
    checked_speakers,
    memories_not_shown,
    recall,
    report_failure,
    section,
)
from hindsight_integrations.integrations.llamaindex.conversions import (
    ChatOptions,
    emit_search_events,
    recalled_nodes,
)
from hindsight_integrations.integrations.llamaindex.messages import (
    ROLES,
    Turn,
    conversation,
    last_turn,
)
from hindsight_integrations.nlp import tokens
from hindsight_integrations.normalization import new_id
from hindsight_integrations.prompts import DECODING_ERRORS
from hindsight_integrations.recall.packing import pack
from hindsight_integrations.retain.replay import LEAST_OVERLAP
from hindsight_integrations.retain.request import digest

MAX_TOKENS = 1024
"""Default token budget of recalled text in a chat."""

SESSIONS = 256
"""Sessions whose last turn is cached. After eviction a turn is recalled, and its messages are
compared with the stored ones, a second time."""


def chat_options(given: ChatOptions) -> ChatOptions:
    """Return the options of a chat, with the default budget.

    Raises:
        InvalidInputError: an option has no such name, or a value that cannot be used.
    """
    check_options(given, ChatOptions)
    options: ChatOptions = {"max_tokens": MAX_TOKENS, **given}
    validation.positive("max_tokens", options["max_tokens"])
    return options


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
        if stored_as is None and len(spoken) >= LEAST_OVERLAP and result.document_ids:
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
        result = recall(self.memory, self.bank_id, question, **options)
        emit_search_events(question, recalled_nodes(result))
        new = memories_not_shown(result, (message.content or "" for message in shown))
        packed = pack([one.memory for one in new], room, tokens.count, tokens.truncate)
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
