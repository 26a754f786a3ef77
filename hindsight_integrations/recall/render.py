"""How memories read in a prompt: a date header for each session, a line for each memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from hindsight_integrations.model import Memory


def header(memory: Memory) -> str:
    """When it was said, to the minute: memories of one moment and document share a header."""
    return _stamp(memory.mentioned_at)


@lru_cache(1024)
def _stamp(moment: datetime) -> str:
    return f"[{moment:%d %b %Y, %H:%M}]"


def line(memory: Memory) -> str:
    """Who said it, or what it is about, and the text."""
    lead = memory.speaker or memory.context
    return f"{lead}: {memory.text}" if lead else memory.text


def render(memories: Iterable[Memory]) -> str:
    """Lines under their date headers, headers in the order of their first memory."""
    sections: dict[str, list[str]] = {}
    for memory in memories:
        sections.setdefault(header(memory), []).append(line(memory))
    return "\n".join("\n".join([head, *lines]) for head, lines in sections.items())
