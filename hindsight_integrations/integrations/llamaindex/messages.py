"""Read the messages of a LlamaIndex chat: its last turn, what was said, what fits a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hindsight_integrations.models import Message
from hindsight_integrations.nlp import tokens
from hindsight_integrations.retain.fence import strip_fenced

TOKEN_LIMIT = 30_000
"""Tokens of a chat's recent messages and recalled text; the default of LlamaIndex's `Memory`."""

ROLES = [role.value for role in MessageRole]
"""Roles of messages in LlamaIndex."""

_REASONING = re.compile(r"\AThought:.*\nAnswer:", re.DOTALL)
"""The text of ReAct agents before their answer: thoughts, calls and the tools' answers."""

_EMPTY = "Empty Response"
"""Reply of LlamaIndex's synthesizers if nothing was retrieved."""


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
