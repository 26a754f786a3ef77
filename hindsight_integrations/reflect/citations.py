"""Citations in a model's answer: those of what was retrieved are kept, all others taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hindsight_integrations.reflect.wording import LABEL_DIGITS

_LABEL = re.compile(rf"(?<![\w-])[a-z]{{1,3}}-[0-9a-f]{{{LABEL_DIGITS},}}(?![\w-])")
_CITATION = re.compile(rf"[ \t]*(?:\[[^\[\]\n]*\]|\([^()\n]*\)|{_LABEL.pattern})")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer with its citations read.

    Attributes:
        text: the answer, with each citation it keeps as "[label]" or "[label, label]".
        sources: ids cited, each once, in order.
        foreign: what looked like a citation, and is of nothing that was retrieved.
    """

    text: str
    sources: tuple[str, ...]
    foreign: tuple[str, ...]


def read_citations(text: str, listed: Iterable[str], ids: Mapping[str, str]) -> Cited:
    """The citations of an answer.

    Args:
        text: the answer, with citations such as "[m-1a2b3c]" or "(m-1a2b3c, m-4d5e6f)".
        listed: what the model named as its sources beside.
        ids: label to id of all that was retrieved.
    """
    cited: dict[str, None] = {}
    foreign: dict[str, None] = {}

    def read(match: re.Match[str]) -> str:
        pieces = [p for p in _LABEL.findall(match[0]) if _resolved(p, ids) or _has_digit(p)]
        if not pieces:
            return match[0]
        known = list(dict.fromkeys(label for p in pieces if (label := _resolved(p, ids))))
        cited.update(dict.fromkeys(ids[label] for label in known))
        foreign.update(dict.fromkeys(p for p in pieces if not _resolved(p, ids)))
        return f" [{', '.join(known)}]" if known else ""

    plain = _CITATION.sub(read, text).strip()
    for each in listed:
        known = [label for p in _LABEL.findall(each) if (label := _resolved(p, ids))]
        cited.update(dict.fromkeys(ids[label] for label in known))
        if each.strip() and not known:
            foreign[each.strip()] = None
    return Cited(plain, tuple(cited), tuple(foreign))


def _resolved(piece: str, ids: Mapping[str, str]) -> str | None:
    """The one label that the piece is; or that begins it, where it is more of the id."""
    near = [label for label, id in ids.items() if piece == label or id.startswith(piece)]
    return near[0] if len(near) == 1 else None


def _has_digit(piece: str) -> bool:
    """Words can look like labels ("mid-decade"), but hold no digit."""
    return any(character.isdigit() for character in piece)
