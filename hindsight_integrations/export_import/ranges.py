"""Ranges and sizes of what a file to import may hold; a true checksum says nothing about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from hindsight_integrations.history import AuditEntry
from hindsight_integrations.models import Bank, Document, Entity, Link, Memory, MentalModel
from hindsight_integrations.nlp.bm25 import LONGEST
from hindsight_integrations.stores.base import EntityNames, MemoryRecord
from hindsight_integrations.stores.integrity import checked_interaction

MOST_INTERACTION = 1 << 20
"""Bytes of token vectors of a memory: 130 for each of some 8,000 tokens."""

MOST_TEXT = 2_000_000
"""Characters of a memory's or a chunk's text: those that one retain takes, by default."""

MOST_NAMED = 100_000
"""Names, tags, times or metadata of a memory, or items of any list: no text holds so many."""

MOST_ENTITIES = 1000
"""Entities of a memory: more than a text of theirs names, and few enough to count each pair."""

MOST_LABEL = 256
"""Characters of an action, a kind and the name of a field."""

MOST_NAME = 1000
"""Characters of an id, a name, a tag, and of whatever else is no text."""

MOST_NOTE = 20_000
"""Characters of a part of a bank's profile, a question, a reason, or a value of metadata."""

_MOST = {
    **dict.fromkeys(("text", "quote", "old", "new", "context", "reasoning"), MOST_TEXT),
    **dict.fromkeys(("mission", "background", "directives", "source_query"), MOST_NOTE),
    **dict.fromkeys(("reason", "invalidated_because", "metadata"), MOST_NOTE),
}
"""Most characters by field, where that is not `MOST_NAME`."""

_AROUND = 4000
"""Terms of a memory that its speaker, title, date and question may add."""

_A_LITTLE = 1e-3
"""Rounding of a cosine, which is the weight of some links."""


def check_ranges(part: object) -> None:
    """Check that the fields of a part have values that a store could have given it.

    Raises:
        ValueError: one has not.
    """
    _check_fields(part.memory if isinstance(part, MemoryRecord) else part)
    if isinstance(part, MemoryRecord):
        _check_record(part)
    elif isinstance(part, AuditEntry):
        if any(len(value) > MOST_LABEL for value in (part.action, part.kind, *part.fields)):
            raise ValueError(f"an audit label is longer than {MOST_LABEL} characters")
    elif isinstance(part, Link) and not 0 < part.weight <= 1 + _A_LITTLE:
        raise ValueError(f"the weight of a link is {part.weight}; it must be above 0 and at most 1")
    elif isinstance(part, Entity | EntityNames) and not all(
        name.strip() for name in (part.name, *part.aliases)
    ):
        raise ValueError("a name is blank")
    if (count := _least_number(part)) < 0:
        raise ValueError(f"a number is {count}; it must be at least 0")


def _least_number(part: object) -> int:
    """Return the least of the numbers of a part that count something."""
    if isinstance(part, Entity):
        return part.mention_count
    if isinstance(part, Document):
        return part.chunk_count
    return part.max_tokens if isinstance(part, MentalModel) else 0


def _check_fields(part: object) -> None:
    """Check the sizes of all texts and lists of a part, and of what it consists of."""
    for each in fields(part):  # type: ignore[arg-type]
        is_profile = isinstance(part, Bank) and each.name == "name"  # as long as a mission
        _check_field("mission" if is_profile else each.name, getattr(part, each.name))


def _check_field(name: str, value: object) -> None:
    if isinstance(value, str):
        if len(value) > (most := _MOST.get(name, MOST_NAME)):
            raise ValueError(f"{name} has {len(value):,} characters; at most {most:,} are allowed")
    elif isinstance(value, tuple | Mapping):
        if len(value) > MOST_NAMED:
            raise ValueError(f"there are {len(value):,} {name}; at most {MOST_NAMED:,} are allowed")
        for item in value.values() if isinstance(value, Mapping) else value:
            _check_field(name, item)
    elif is_dataclass(value):
        _check_fields(value)


def _check_record(record: MemoryRecord) -> None:
    _check_memory(record.memory)
    _check_field("fingerprint", record.fingerprint)
    _check_field("entities", record.entity_ids)
    length = float(np.linalg.norm(record.vector.astype(np.float64)))
    if not math.isfinite(length) or not length:
        raise ValueError("a vector is zero, or contains numbers that are not finite")
    tokens = checked_interaction(record.interaction) or b""
    if len(tokens) > MOST_INTERACTION:
        raise ValueError(
            f"the token vectors of a memory have {len(tokens):,} bytes; at most "
            f"{MOST_INTERACTION:,} are allowed"
        )
    most = len(record.memory.text) * 2 + _AROUND
    if len(record.lexemes) > most:
        raise ValueError(
            f"a memory has {len(record.lexemes):,} terms; its text allows at most {most:,}"
        )
    if any(not 0 < len(lexeme) <= LONGEST or " " in lexeme for lexeme in record.lexemes):
        raise ValueError(f"a term of a memory is not a word of 1 to {LONGEST} characters")


def _check_memory(memory: Memory) -> None:
    if memory.confidence is not None and not 0 <= memory.confidence <= 1:
        raise ValueError(f"a confidence is {memory.confidence}; it must be from 0 to 1")
    if (count := len(memory.entities)) > MOST_ENTITIES:
        raise ValueError(f"a memory has {count:,} entities; at most {MOST_ENTITIES:,} are allowed")
    if not memory.text.strip():
        raise ValueError("a memory has no text")
