"""Mark recalled text in a prompt, so that it is never retained as the user's own."""

from __future__ import annotations

import re

from hindsight_integrations.rendering import FENCE_TAG, without_tags

FENCE_START = f"<{FENCE_TAG}>"
FENCE_END = f"</{FENCE_TAG}>"

_MARKER = re.compile(f"{FENCE_START}|{FENCE_END}", re.IGNORECASE)


def fence(text: str) -> str:
    """Return the text between the markers; whatever looks like a marker within it is escaped."""
    return f"{FENCE_START}\n{without_tags(text, (FENCE_TAG,))}\n{FENCE_END}"


def strip_fenced(text: str) -> str:
    """Return the text without its fenced parts; unchanged if there are none.

    Fences may nest. One that never ends reaches to the end of the text: losing a few words is
    better than remembering recalled ones. An end without a start is removed alone.
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
