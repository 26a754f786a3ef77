"""What the memory block and the chat memory share: one recall a turn, no message kept twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hindsight_integrations.adapting.banks import recall
from hindsight_integrations.adapting.options import check_options
from hindsight_integrations.adapting.texts import as_question, section
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.language import tokens
from hindsight_integrations.llamaindex.options import ChatOptions
from hindsight_integrations.model import Message
from hindsight_integrations.naming import new_id
from hindsight_integrations.recall.pack import pack
from hindsight_integrations.retain.fence import strip_fenced
from hindsight_integrations.retain.request import digest

SPEAKERS = {"user": "user", "assistant": "assistant"}
"""Roles whose messages are retained, and the name each is retained under."""

MAX_TOKENS = 1024
"""Of recalled text in a chat, unless its options say otherwise."""

MORE = 2
"""Times the budget that is recalled, since what the chat shows is left out."""

SESSIONS = 256
"""Sessions whose last turn is kept in mind. One that was dropped costs a recall more, and a look
at what is stored of it."""

_REASONING = re.compile(r"\AThought:.*\nAnswer:", re.DOTALL)
"""What ReAct agents leave before their answer: thoughts, calls and what the tools said."""


def chat_options(given: ChatOptions) -> ChatOptions:
    """The options of a chat, with a budget fit for one.

    Raises:
        InvalidInputError: one has no such name.
    """
    check_options(given, ChatOptions.__annotations__)
    return {"max_tokens": MAX_TOKENS, **given}


class Turn(NamedTuple):
    """What the user said last, and what was said before it: stays the same until the next turn."""

    question: str
    before: str


def last_turn(messages: Sequence[ChatMessage]) -> Turn | None:
    """The turn that a chat has come to; None if the user said nothing yet.

    Agents hand over the user's message a second time while they work with tools: that is one turn.
    """
    at = max((n for n, each in enumerate(messages) if each.role == MessageRole.USER), default=None)
    if at is None:
        return None
    while at and _alike(messages[at - 1], messages[at]):
        at -= 1
    return Turn(messages[at].content or "", (messages[at - 1].content or "") if at else "")


def said(messages: Iterable[ChatMessage], speakers: Mapping[str, str]) -> list[Message]:
    """What was said in messages: no tools, no system texts, no reasoning, nothing we recalled."""
    found = []
    for message in messages:
        text = strip_fenced(message.content or "")
        if message.role == MessageRole.ASSISTANT:
            text = _REASONING.sub("", text)
        if text.strip() and (speaker := speakers.get(message.role.value)):
            found.append(Message(speaker, text.strip()))
    return found


def _alike(one: ChatMessage, other: ChatMessage) -> bool:
    return (one.role, one.content) == (other.role, other.content)


@dataclass(slots=True)
class _Session:
    """What is known of a session: what was recalled for its turn, which messages are stored."""

    recalled: tuple[Turn | None, str] = (None, "")
    retained: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Chats:
    """The chats that share a bank, each by its session.

    Attributes:
        memory: the engine.
        bank_id: the bank they share.
        speakers: roles that are retained, and under which names.
        separate: whether a session recalls only what was said in it.
        options: of recall.
    """

    memory: Hindsight
    bank_id: str
    speakers: Mapping[str, str]
    separate: bool
    options: ChatOptions
    _sessions: dict[str, _Session] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _unnamed: str = field(default_factory=lambda: new_id("chat-"))

    def recalled(
        self,
        messages: Sequence[ChatMessage],
        session_id: str | None,
        shown: Sequence[ChatMessage],
    ) -> str:
        """What the bank holds on the last turn, fenced, without what is `shown` anyway; or ""."""
        turn = last_turn(messages)
        question = as_question(turn.question) if turn else ""
        if not question:
            return ""
        session = self._session(session_id)
        known, text = session.recalled
        if known != turn:
            text = self._recall(question, session_id, shown)
            session.recalled = turn, text
        return text

    def retain(self, messages: Iterable[ChatMessage], session_id: str | None) -> None:
        """Remember what was said, save what is stored already."""
        retained = self._session(session_id).retained
        told = said(messages, self.speakers)
        marks = [digest(message.speaker, message.text) for message in told]
        first = next((place for place, mark in enumerate(marks) if mark not in retained), None)
        if first is None:
            return
        self.memory.retain_messages(
            self.bank_id,
            told[max(0, first - 1) :],  # with the question that a short reply answers
            session=session_id or self._unnamed,
            scope=self._scope(session_id),
        )
        retained.update(marks)

    def _recall(self, question: str, session_id: str | None, shown: Sequence[ChatMessage]) -> str:
        room = self.options["max_tokens"]
        options = {**self.options, "scope": self._scope(session_id), "max_tokens": MORE * room}
        visible = "\n".join(message.content or "" for message in shown)
        unseen = [
            one.memory
            for one in recall(self.memory, self.bank_id, question, **options)
            if one.memory.text not in visible
        ]
        packed = pack(unseen, room, tokens.count, tokens.truncate)
        return section(packed.text)

    def _scope(self, session_id: str | None) -> str | None:
        return (session_id or self._unnamed) if self.separate else None

    def _session(self, session_id: str | None) -> _Session:
        key = session_id or self._unnamed
        with self._lock:
            session = self._sessions.pop(key, None) or _Session()
            self._sessions[key] = session
            if len(self._sessions) > SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        return session
