"""The text that is indexed of a memory: the user's own with date, speaker and question.

The stored text stays the user's own. The indexed one opens with the date and the speaker (or
the title), so that "what did Maya say in May" finds it by words and by meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import chain
from typing import NamedTuple

from hindsight_integrations.models import Chunk, Memory
from hindsight_integrations.nlp.bm25 import lexemes, signs, words_of
from hindsight_integrations.nlp.text_encoder import EncodedText
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.stores.base import DOCUMENT_CHUNKS, GraphStore, MemoryRecord
from hindsight_integrations.stores.reads import read_one

SHORT_REPLY_WORDS = 12
"""A reply of fewer words says little without the question it answers."""


class IndexContext(NamedTuple):
    """Parts of the indexed text that are not stored with a memory.

    Attributes:
        dated: True if the caller gave the memory's time.
        preceding: the turn before it in a conversation.
    """

    dated: bool = True
    preceding: str | None = None


_NO_CONTEXT = IndexContext()


def indexed_text(
    text: str,
    *,
    speaker: str | None = None,
    title: str | None = None,
    said_at: datetime | None = None,
    preceding: str | None = None,
) -> str:
    """Return the text to embed and to take terms from.

    Args:
        text: the memory's own text.
        speaker: who said it.
        title: the caller's context, used if there is no speaker.
        said_at: when it was said, if the caller gave a time.
        preceding: the turn before it in a conversation, whose question it may answer.
    """
    date = f"[{said_at.day} {said_at:%B} {said_at.year}] " if said_at else ""
    lead = f"{speaker}: " if speaker else f"{title}: " if title else ""
    question = preceding_question(text, preceding)
    asked = f" (asked: {question})" if question else ""
    return f"{date}{lead}{text}{asked}"


def indexed_of(memory: Memory, context: IndexContext = _NO_CONTEXT) -> str:
    """Return the indexed text of a stored memory."""
    return indexed_text(
        memory.text,
        speaker=memory.speaker,
        title=memory.context,
        said_at=memory.mentioned_at if context.dated else None,
        preceding=context.preceding,
    )


def record_of(
    memory: Memory, indexed: str, encoded: EncodedText, entity_ids: Sequence[str]
) -> MemoryRecord:
    """Return a memory with what the searches need: its indexed text, and the vectors of that.

    `entity_ids` are aligned with `memory.entities`.
    """
    return MemoryRecord(
        memory=memory,
        lexemes=terms_of(memory, indexed),
        vector=encoded.vector,
        fingerprint=text_fingerprint(memory.text, memory.speaker),
        interaction=encoded.interaction,
        entity_ids=tuple(entity_ids),
    )


def terms_of(memory: Memory, indexed: str) -> tuple[str, ...]:
    """Return the terms of a memory: the words of its indexed text, and the signs of its own."""
    own = " ".join(filter(None, (memory.text, memory.speaker, memory.context)))
    return (*lexemes(indexed), *signs(own))


def preceding_question(text: str, preceding: str | None) -> str | None:
    """Return the last question of the turn before, if `text` is a short reply to it."""
    if preceding is None or len(text.split()) >= SHORT_REPLY_WORDS or text.rstrip().endswith("?"):
        return None
    stripped = preceding.rstrip()
    if not stripped.endswith(("?", "？")):
        return None
    start = max(stripped.rfind(mark, 0, len(stripped) - 1) for mark in ".!?。！？\n")
    return stripped[start + 1 :].strip() or None


def index_contexts(
    graph: GraphStore, bank_id: str, records: Iterable[MemoryRecord]
) -> list[IndexContext]:
    """Recover the context that each memory was indexed with, from its terms and document.

    A question that has been removed from the document is not recovered.
    """

    @cache
    def chunks(document_id: str) -> tuple[Chunk, ...]:
        return read_one(graph, bank_id, DOCUMENT_CHUNKS, document_id, ())

    def preceding(memory: Memory) -> Iterator[str]:
        for source in memory.sources:
            for chunk in reversed(chunks(source.document_id) if source.document_id else ()):
                if chunk.position < source.position:
                    yield chunk.text

    return [_index_context(record, preceding(record.memory)) for record in records]


def _index_context(record: MemoryRecord, preceding: Iterable[str]) -> IndexContext:
    """Return the context that accounts for a memory's terms; the latest turn before it is first."""
    words = words_of(record.lexemes)
    questions = (text for text in preceding if preceding_question(record.memory.text, text))
    for question in chain([None], questions):
        for dated in (True, False):
            context = IndexContext(dated, question)
            if _terms(record.memory, context) == words:
                return context
    date_terms = _terms(replace(record.memory, text=""), _NO_CONTEXT)
    return IndexContext(dated=words[: len(date_terms)] == date_terms)


def _terms(memory: Memory, context: IndexContext) -> tuple[str, ...]:
    return tuple(lexemes(indexed_of(memory, context)))
