"""Marks recalled text in a prompt, so that it is never retained as if the user had said it."""

from __future__ import annotations

import re

FENCE_START = "<hindsight-memory>"
FENCE_END = "</hindsight-memory>"

_MARKER = re.compile(f"{FENCE_START}|{FENCE_END}", re.IGNORECASE)


def fence(text: str) -> str:
    """`text` between the markers; markers within it are defused, so that it cannot break out."""
    inner = _MARKER.sub(lambda marker: marker[0].replace("<", "‹"), text)
    return f"{FENCE_START}\n{inner}\n{FENCE_END}"


def strip_fenced(text: str) -> str:
    """`text` without what is fenced in it; unchanged if nothing is.

    Fences may nest. One that never ends reaches to the end of the text: it is better to lose a
    few words than to remember our own. An end without a start is dropped by itself.
    """
    depth = position = 0
    kept: list[str] = []
    for marker in _MARKER.finditer(text):
        if depth == 0:
            kept.append(text[position : marker.start()])
        depth = max(0, depth - 1) if marker[0].startswith("</") else depth + 1
        position = marker.end()
    if not position:
        return text
    if depth == 0:
        kept.append(text[position:])
    # Joined by a line break, two halves of a marker cannot make a whole one.
    return "\n".join(part.strip() for part in kept if part.strip())
