"""Texts between an agent and its memory: what is asked, what is shown, what a tool answers.

All that comes from memory is fenced, so that it is not retained as if somebody had said it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations import checks
from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.prompts import REMEMBERED
from hindsight_integrations.recall.render import header
from hindsight_integrations.reflections import NOTHING_FOUND, Reflection
from hindsight_integrations.results import Recalled, RecallResult, RetainResult
from hindsight_integrations.retain.fence import fence, strip_fenced


def as_question(message: str) -> str:
    """What recall is asked by a message of any length; "" if it says nothing."""
    text = strip_fenced(message).strip()
    return "" if checks.is_blank(text) else text[: checks.MAX_QUERY]


def section(memories: str) -> str:
    """Recalled text as it goes into a prompt: introduced and fenced; "" if there is none."""
    return fence(f"{REMEMBERED}\n{memories}") if memories else ""


def shortened(recalled: str, saving: int, tokenizer: Tokenizer) -> str | None:
    """Such a section, `saving` tokens shorter by its least relevant lines; None if none can stay.

    A line goes whole: half a statement can say the opposite.
    """
    room = tokenizer.count(recalled) - saving
    lines = recalled.splitlines()[2:-1]  # less the marks and the introduction
    while lines:
        lines.pop()
        while lines and lines[-1].startswith("["):  # the date of lines that are gone
            lines.pop()
        text = section("\n".join(lines))
        if lines and tokenizer.count(text) <= room:
            return text
    return None


def told_of_retain(result: RetainResult) -> str:
    """What a tool answers that has retained."""
    return f"Remembered: {', '.join(result.ids)}" if result.stored else "Nothing new in it."


def told_of_recall(found: RecallResult) -> str:
    """What a tool answers that has recalled: memories, each with when it was said and its id."""
    return fence("\n".join(map(_line, found))) if found else NOTHING_FOUND


def told_of_reflect(found: Reflection) -> str:
    """What a tool answers that has reflected."""
    return fence(found.text) if found.context else NOTHING_FOUND


def told_of_forget(ids: Sequence[str]) -> str:
    """What a tool answers that has forgotten."""
    return f"Forgotten: {', '.join(ids)}"


def _line(recalled: Recalled) -> str:
    return f"{header(recalled.memory)} {recalled.text} (id {recalled.id})"
