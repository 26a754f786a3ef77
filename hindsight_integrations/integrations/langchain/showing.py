"""Select the recalled memories to show a model: those that its messages do not contain yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage, HumanMessage

from hindsight_integrations.integrations.common import memories_not_shown, section
from hindsight_integrations.nlp import tokens
from hindsight_integrations.recall.dated_lines import DatedLines
from hindsight_integrations.results import Recalled


class TurnMemories(NamedTuple):
    """The memories recalled for a turn.

    Attributes:
        profile: section that is shown before them, fenced; or "".
        memories: the memories, best first.
        max_tokens: token budget of the memories shown.
    """

    profile: str
    memories: tuple[Recalled, ...]
    max_tokens: int


def section_for(recalled: TurnMemories, messages: Sequence[BaseMessage]) -> str:
    """Return the section of the memories that a conversation does not show up to its question.

    Messages after the question are ignored, so that the text is the same in each call of a turn.

    Args:
        recalled: the memories of the turn.
        messages: the messages of the request to the model.
    """
    humans = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    until_question = messages[: humans[-1] + 1 if humans else None]
    visible = [str(message.text) for message in until_question]
    new = memories_not_shown(recalled.memories, visible)
    shown = section(_fitting(new, recalled.max_tokens))
    return "\n".join(filter(None, (recalled.profile, shown)))


def _fitting(memories: Sequence[Recalled], max_tokens: int) -> str:
    """Return the lines that fit, each under its date; the beginning of the first if none does."""
    lines = DatedLines(tokens.count)
    left = max_tokens
    for each in memories:
        cost = lines.cost(each.mentioned_at, each.line)
        if cost <= left:
            left -= cost
            lines.add(each.mentioned_at, each.line)
    if memories and not lines:
        return tokens.truncate(memories[0].line, max_tokens)
    return lines.text()


class _Watched(NamedTuple):
    """A text of a request, and the function to call when the request no longer contains it."""

    text: str
    on_loss: Callable[[], None]


class WatchedRequest(ModelRequest[Any]):
    """A request that reports when another middleware drops a watched text from it."""

    _watched: tuple[_Watched, ...]

    def override(self, **changes: Any) -> ModelRequest[Any]:
        """Return the changed request, and report each watched text that it lost."""
        changed = super().override(**changes)
        remaining = []
        for watched in self._watched:
            if _contains(changed, watched.text):
                remaining.append(watched)
            else:
                watched.on_loss()
        object.__setattr__(changed, "_watched", tuple(remaining))
        return changed


def watch_for_loss(
    request: ModelRequest[Any], text: str, on_loss: Callable[[], None]
) -> ModelRequest[Any]:
    """Return a copy of a request that calls `on_loss` when the text is dropped from it."""
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


def _contains(request: ModelRequest[Any], text: str) -> bool:
    system = request.system_message
    if system is not None and text in str(system.text):
        return True
    return any(text in str(message.text) for message in request.messages)
