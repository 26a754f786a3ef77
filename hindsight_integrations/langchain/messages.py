"""LangChain's messages and the engine's: what to ask, what to remember, what goes into a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from hindsight_integrations import checks
from hindsight_integrations.adapting.texts import as_question
from hindsight_integrations.model import Message

USER = "user"
ASSISTANT = "assistant"

BEGINNING = ""
"""Marks the place before the first message."""


def question_in(messages: Sequence[BaseMessage]) -> str:
    """What the last human message asks; "" if it says nothing."""
    asked = next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)
    return as_question(str(asked.text)) if asked else ""


def last_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What the human said since the agent last spoke, and what came of it."""
    heard = _heard(messages)
    start = len(heard)
    while start and not isinstance(heard[start - 1], HumanMessage):
        start -= 1
    while start and isinstance(heard[start - 1], HumanMessage):
        start -= 1
    return heard[start:]


def mark_before_last_turn(messages: Sequence[BaseMessage]) -> str | None:
    """Where the last turn begins, for `since`: the id of what stands before it."""
    heard = _heard(messages)
    before = len(heard) - len(last_turn(messages))
    return heard[before - 1].id if before else BEGINNING


def since(messages: Sequence[BaseMessage], mark: str | None) -> list[BaseMessage]:
    """What was said after a mark; the last turn, if what it named is not there any more."""
    heard = _heard(messages)
    if mark == BEGINNING:
        return heard
    ids = [message.id for message in heard]
    if mark is None or mark not in ids:
        return last_turn(messages)
    return heard[ids.index(mark) + 1 :]


def conversation(messages: Sequence[BaseMessage]) -> list[Message]:
    """What was said by the human and the agent; tool calls and their results are no memories."""
    return [
        Message(
            speaker=(message.name or USER) if isinstance(message, HumanMessage) else ASSISTANT,
            text=str(message.text),
            id=message.id,
        )
        for message in _heard(messages)
        if isinstance(message, HumanMessage | AIMessage) and not checks.is_blank(str(message.text))
    ]


def with_section(system: SystemMessage | None, text: str) -> SystemMessage:
    """A system message that ends with `text`; what it was before is left as it is."""
    if system is None:
        return SystemMessage(text)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{text}"})
    block = {"type": "text", "text": text}
    return system.model_copy(update={"content": [*system.content, block]})


def _heard(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Without what nobody said, but a middleware wrote: a summary in place of older messages."""
    return [message for message in messages if "lc_source" not in message.additional_kwargs]
