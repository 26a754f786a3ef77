"""Find names that the bank knows in a text, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hindsight_integrations.models import Entity
from hindsight_integrations.normalization import MARKS, entity_norm
from hindsight_integrations.retain.identifiers import NameSpan

LONGEST_NAME = 4
"""Words of the longest known name that is searched."""

_WORD = re.compile(rf"(?:#(?=\d))?[^\W_]+(?:[{MARKS}]+[^\W_]*)*[+#]*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_LONGEST_UNSPACED = 8
"""Characters of the longest known name searched in a script without spaces."""
_SEPARATOR = re.compile(r"[ \u00a0.'’&/_-]{1,3}")


def candidate_names(text: str) -> set[str]:
    """Return the normal forms of all runs of one to four words: each may be a known name."""
    return {norm for norm, _, _ in _runs(text)}


def known_names(text: str, spelled: Mapping[str, tuple[str, Entity]]) -> Iterator[NameSpan]:
    """Yield the known names in a text, and parts of persons' full names; they may overlap.

    Args:
        text: any text.
        spelled: see `spellings`.
    """
    if not spelled:
        return
    for norm, start, end in _runs(text):
        if (spelling := spelled.get(norm)) is not None:
            name, entity = spelling
            yield NameSpan(start, end, name, entity.kind)


def spellings(known: Mapping[str, Entity]) -> dict[str, tuple[str, Entity]]:
    """Return spelling and entity by normal form; a part that several persons share is left out."""
    full: dict[str, tuple[str, Entity]] = {}
    parts: dict[str, tuple[str, Entity] | None] = {}
    for entity in {entity.id: entity for entity in known.values()}.values():
        for name in entity.names:
            full.setdefault(entity_norm(name), (name, entity))
            words = name.split() if entity.kind == "person" else []
            for part in {words[0], words[-1]} if len(words) > 1 else ():
                other = parts.setdefault(entity_norm(part), (part, entity))
                if other is not None and other[1].id != entity.id:
                    parts[entity_norm(part)] = None
    return {norm: part for norm, part in parts.items() if part} | full


def _runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield normal form, start and end of every run of words, and of unspaced characters."""
    growing: list[tuple[str, int]] = []
    last_end = 0
    for match in _WORD.finditer(text):
        word, start, end = entity_norm(match.group()), match.start(), match.end()
        if not _SEPARATOR.fullmatch(text, last_end, start):
            growing.clear()
        growing = [(f"{norm} {word}", first) for norm, first in growing[1 - LONGEST_NAME :]]
        growing.append((word, start))
        for norm, first in growing:
            yield norm, first, end
        last_end = end
    for match in _UNSPACED.finditer(text):
        run, offset = match.group(), match.start()
        for start in range(len(run)):
            for end in range(start + 2, min(len(run), start + _LONGEST_UNSPACED) + 1):
                yield entity_norm(run[start:end]), offset + start, offset + end
