"""Finding the names a bank knows: in any case, and persons by a part of their name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hindsight_integrations.model import Entity
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.retain.spans import NameSpan

LONGEST_NAME = 4
"""Words of the longest name looked for."""

_WORD = re.compile(r"(?:#(?=\d))?[^\W_]+[+#]*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_LONGEST_UNSPACED = 8
"""Characters of the longest name looked for in a script that puts no space between words."""
_SEPARATOR = re.compile(r"[ \u00a0.'’&/_-]{1,3}")


def candidate_names(text: str) -> set[str]:
    """The normal forms of all runs of one to four words, any of which may be a known name."""
    return {norm for norm, _, _ in _runs(text)}


def known_names(text: str, known: Mapping[str, Entity]) -> Iterator[NameSpan]:
    """Where the known names stand, parts of persons' full names included; they may overlap.

    Args:
        text: any text.
        known: entities by the normal forms of their names and aliases.
    """
    spellings = _spellings(known)
    if not spellings:
        return
    for norm, start, end in _runs(text):
        if (found := spellings.get(norm)) is not None:
            name, entity = found
            yield NameSpan(start, end, name, entity.kind)


def _spellings(known: Mapping[str, Entity]) -> dict[str, tuple[str, Entity]]:
    """Normal form to spelling and entity; a part that several persons share is nobody's."""
    full: dict[str, tuple[str, Entity]] = {}
    parts: dict[str, tuple[str, Entity] | None] = {}
    for entity in {entity.id: entity for entity in known.values()}.values():
        for name in (entity.name, *entity.aliases):
            full.setdefault(entity_norm(name), (name, entity))
            words = name.split() if entity.kind == "person" else []
            for part in {words[0], words[-1]} if len(words) > 1 else ():
                other = parts.setdefault(entity_norm(part), (part, entity))
                if other is not None and other[1].id != entity.id:
                    parts[entity_norm(part)] = None
    return {norm: found for norm, found in parts.items() if found} | full


def _runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Normal form, start and end of every run of words, and of every run of unspaced script."""
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
