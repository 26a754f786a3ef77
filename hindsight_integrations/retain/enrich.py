"""What is indexed of a memory: the user's text with what a reader knows from where it stands.

The stored text stays the user's own. The indexed one opens with the date and the speaker (or
the title), so that "what did Maya say in May" finds it by words and by meaning.
"""

from __future__ import annotations

from datetime import datetime

SHORT_REPLY_WORDS = 12
"""A reply of fewer words says little without the question it answers."""


def indexed_text(
    text: str,
    *,
    speaker: str | None = None,
    title: str | None = None,
    said_at: datetime | None = None,
    answers: str | None = None,
) -> str:
    """The text to embed and to take terms from.

    Args:
        text: the memory's own text.
        speaker: who said it.
        title: what it is about.
        said_at: when it was said, if the caller gave a time.
        answers: the question before it in a conversation, if it may answer that.
    """
    date = f"[{said_at.day} {said_at:%B} {said_at.year}] " if said_at else ""
    lead = f"{speaker}: " if speaker else f"{title}: " if title else ""
    asked = f" (asked: {answers})" if answers else ""
    return f"{date}{lead}{text}{asked}"


def answered_question(text: str, preceding: str | None) -> str | None:
    """The last question of the turn before, if `text` is a short reply to it."""
    if preceding is None or len(text.split()) >= SHORT_REPLY_WORDS or text.rstrip().endswith("?"):
        return None
    stripped = preceding.rstrip()
    if not stripped.endswith(("?", "？")):
        return None
    start = max(stripped.rfind(mark, 0, len(stripped) - 1) for mark in ".!?。！？\n")
    return stripped[start + 1 :].strip() or None
