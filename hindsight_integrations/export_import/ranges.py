"""Ranges and sizes of what a file to import may hold; a true checksum says nothing about them."""

from __future__ import annotations

import math

import numpy as np

from hindsight_integrations.history import AuditEntry
from hindsight_integrations.models import Chunk, Link, Memory
from hindsight_integrations.nlp.bm25 import LONGEST
from hindsight_integrations.stores.base import MemoryRecord
from hindsight_integrations.stores.soundness import sound_interaction

MOST_INTERACTION = 1 << 20
"""Bytes of token vectors of a memory: 130 for each of some 8,000 tokens."""

MOST_TEXT = 2_000_000
"""Characters of a memory's or a chunk's text: those that one retain takes, by default."""

MOST_NAMED = 100_000
"""Names, tags, times or metadata of a memory: no text holds so many."""

MOST_LABEL = 256
"""Characters of an action, a kind and the name of a field."""

_AROUND = 4000
"""Terms of a memory that its speaker, title, date and question may add."""

_A_LITTLE = 1e-3
"""Rounding of a cosine, which is the weight of some links."""


def check_ranges(part: object) -> None:
    """Check that the fields of a part have values that a store could have given it.

    Raises:
        ValueError: one has not.
    """
    if isinstance(part, MemoryRecord):
        _check_record(part)
    elif isinstance(part, Chunk):
        _check_text("chunk", part.text)
    elif isinstance(part, AuditEntry):
        _check_text("reason", part.reason or "")
        if any(len(value) > MOST_LABEL for value in (part.action, part.kind, *part.fields)):
            raise ValueError(f"a label of the audit is longer than {MOST_LABEL} characters")
    elif isinstance(part, Link) and not 0 < part.weight <= 1 + _A_LITTLE:
        raise ValueError(f"the weight of a link is {part.weight}; it is above 0 and at most 1")


def _check_record(record: MemoryRecord) -> None:
    _check_memory(record.memory)
    length = float(np.linalg.norm(record.vector.astype(np.float64)))
    if not math.isfinite(length) or not length:
        raise ValueError("a vector is zero, or has numbers that are not finite")
    tokens = sound_interaction(record.interaction) or b""
    if len(tokens) > MOST_INTERACTION:
        raise ValueError(f"the token vectors of a memory have {len(tokens):,} bytes")
    most = len(record.memory.text) * 2 + _AROUND
    if len(record.lexemes) > most:
        raise ValueError(f"a memory has {len(record.lexemes):,} terms, and its text {most:,}")
    if any(not 0 < len(lexeme) <= LONGEST or " " in lexeme for lexeme in record.lexemes):
        raise ValueError(f"a term of a memory is no word of 1 to {LONGEST} characters")


def _check_memory(memory: Memory) -> None:
    if memory.confidence is not None and not 0 <= memory.confidence <= 1:
        raise ValueError(f"a confidence is {memory.confidence}; it is from 0 to 1")
    if not memory.text.strip():
        raise ValueError("a memory has no text")
    _check_text("memory", memory.text)
    for what in ("entities", "tags", "occurred", "metadata"):
        if (number := len(getattr(memory, what))) > MOST_NAMED:
            raise ValueError(f"a memory has {number:,} {what}; it has at most {MOST_NAMED:,}")


def _check_text(what: str, text: str) -> None:
    if len(text) > MOST_TEXT:
        raise ValueError(f"a {what} has {len(text):,} characters; it has at most {MOST_TEXT:,}")
