"""Select the recalled memories to show a model: those that its messages do not contain yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage, HumanMessage

from hindsight_integrations.integrations.common import section
from hindsight_integrations.nlp import tokens
from hindsight_integrations.recall.dated_lines import DatedLines
from hindsight_integrations.results import RecallResult

OVERFETCH = 2
"""Factor of the budget that is recalled in a conversation that goes on, since what it shows is
left out."""


class Found(TypedDict):
    """The memories recalled for a turn, as a state holds them.

    Attributes:
        first: text that stands before them, fenced; or "".
        memories: of each, best first, when it was said (ISO 8601), its line, and its text alone.
        max_tokens: budget of what is shown.
    """

    first: str
    memories: list[tuple[str, str, str]]
    max_tokens: int


def found(result: RecallResult, first: str, max_tokens: int) -> Found:
    """Return what a turn recalled."""
    memories = [(each.mentioned_at.isoformat(), each.line, each.memory.text) for each in result]
    return Found(first=first, memories=memories, max_tokens=max_tokens)


def memories_not_shown(recalled: Found, messages: Sequence[BaseMessage]) -> str:
    """Return the text of the memories that a conversation does not show up to its question.

    What follows the question does not count, so that the text is the same in each call of a turn.

    Args:
        recalled: what the turn recalled.
        messages: those that the model is sent.
    """
    asked = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    visible = _flat("\n".join(str(m.text) for m in messages[: asked[-1] + 1 if asked else None]))
    new = [(said, line) for said, line, text in recalled["memories"] if _flat(text) not in visible]
    shown = section(_fitting(new, recalled["max_tokens"]))
    return "\n".join(filter(None, (recalled["first"], shown)))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _fitting(lines: Sequence[tuple[str, str]], max_tokens: int) -> str:
    """Return the lines that fit, each under its date; the beginning of the first if none does."""
    taken = DatedLines(tokens.count)
    left = max_tokens
    for said, line in lines:
        when = datetime.fromisoformat(said)
        cost = taken.cost(when, line)
        if cost <= left:
            left -= cost
            taken.add(when, line)
    if lines and not taken:
        return tokens.truncate(lines[0][1], max_tokens)
    return taken.text()


class _Watched(NamedTuple):
    """A text of a request, and what is called when it is no longer part of it."""

    text: str
    on_loss: Callable[[], None]


class WatchedRequest(ModelRequest[Any]):
    """A request that tells when another middleware drops a text from it."""

    _watched: tuple[_Watched, ...]

    def override(self, **changes: Any) -> ModelRequest[Any]:
        """Return the changed request, and tell if a text is gone."""
        changed = super().override(**changes)
        kept = []
        for each in self._watched:
            if _shows(changed, each.text):
                kept.append(each)
            else:
                each.on_loss()
        object.__setattr__(changed, "_watched", tuple(kept))
        return changed


def watched(
    request: ModelRequest[Any], text: str, on_loss: Callable[[], None]
) -> ModelRequest[Any]:
    """Return a copy of a request that shows a text, which tells when the text is dropped."""
    copy = WatchedRequest(
        model=request.model,
        messages=request.messages,
        system_message=request.system_message,
        tool_choice=request.tool_choice,
        tools=request.tools,
        response_format=request.response_format,
        state=request.state,
        runtime=request.runtime,
        model_settings=request.model_settings,
    )
    before: tuple[_Watched, ...] = getattr(request, "_watched", ())
    object.__setattr__(copy, "_watched", (*before, _Watched(text, on_loss)))
    return copy


def _shows(request: ModelRequest[Any], text: str) -> bool:
    system = request.system_message
    if system is not None and text in str(system.text):
        return True
    return any(text in str(message.text) for message in request.messages)
