"""What is indexed of a memory: the user's text with what a reader knows from where it stands.

The stored text stays the user's own. The indexed one opens with the date and the speaker (or
the title), so that "what did Maya say in May" finds it by words and by meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from hindsight_integrations.language.encode import EncodedText
from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.model import Memory
from hindsight_integrations.naming import text_fingerprint
from hindsight_integrations.storage.requests import MemoryRecord

SHORT_REPLY_WORDS = 12
"""A reply of fewer words says little without the question it answers."""


class Standing(NamedTuple):
    """What a memory does not tell by itself of the text that is indexed of it.

    Attributes:
        dated: whether it has a time of its own: not if the caller gave a text none.
        preceding: the turn before it in a conversation.
    """

    dated: bool = True
    preceding: str | None = None


_BY_ITSELF = Standing()


def indexed_text(
    text: str,
    *,
    speaker: str | None = None,
    title: str | None = None,
    said_at: datetime | None = None,
    preceding: str | None = None,
) -> str:
    """The text to embed and to take terms from.

    Args:
        text: the memory's own text.
        speaker: who said it.
        title: what it is about.
        said_at: when it was said, if the caller gave a time.
        preceding: the turn before it in a conversation, whose question it may answer.
    """
    date = f"[{said_at.day} {said_at:%B} {said_at.year}] " if said_at else ""
    lead = f"{speaker}: " if speaker else f"{title}: " if title else ""
    question = answered_question(text, preceding)
    asked = f" (asked: {question})" if question else ""
    return f"{date}{lead}{text}{asked}"


def indexed_of(memory: Memory, standing: Standing = _BY_ITSELF) -> str:
    """The same, of a memory as it is stored."""
    return indexed_text(
        memory.text,
        speaker=memory.speaker,
        title=memory.context,
        said_at=memory.mentioned_at if standing.dated else None,
        preceding=standing.preceding,
    )


def record_of(
    memory: Memory, indexed: str, encoded: EncodedText, entity_ids: Sequence[str]
) -> MemoryRecord:
    """A memory with what is stored for the searches.

    Args:
        memory: the memory itself.
        indexed: what is indexed of it.
        encoded: that text's vectors.
        entity_ids: entities it mentions, aligned with `memory.entities`.
    """
    return MemoryRecord(
        memory=memory,
        lexemes=tuple(lexemes(indexed)),
        vector=encoded.vector,
        fingerprint=text_fingerprint(memory.text, memory.speaker),
        interaction=encoded.interaction,
        entity_ids=tuple(entity_ids),
    )


def answered_question(text: str, preceding: str | None) -> str | None:
    """The last question of the turn before, if `text` is a short reply to it."""
    if preceding is None or len(text.split()) >= SHORT_REPLY_WORDS or text.rstrip().endswith("?"):
        return None
    stripped = preceding.rstrip()
    if not stripped.endswith(("?", "？")):
        return None
    start = max(stripped.rfind(mark, 0, len(stripped) - 1) for mark in ".!?。！？\n")
    return stripped[start + 1 :].strip() or None
