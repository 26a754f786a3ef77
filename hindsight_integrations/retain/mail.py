"""Tell the parts of a mail apart: what its author wrote, what it quotes, and its signature."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from hindsight_integrations.models import TurnKind

_SEPARATOR = re.compile(r"--[ \t]*\r?\n")
"""Matches the line before a signature; RFC 3676, section 4.3."""
_QUOTED = re.compile(r"[ \t]*>")
"""Matches the begin of a line that is quoted; RFC 3676, section 4.5."""


def parts(paragraph: str) -> Iterator[str]:
    """Cut a paragraph before a signature separator, and where a quotation begins or ends."""
    lines: list[str] = []
    for line in paragraph.splitlines(keepends=True):
        if lines and (begins_signature(line) or _is_quoted(line) != _is_quoted(lines[-1])):
            yield "".join(lines)
            lines = []
        lines.append(line)
    yield "".join(lines)


def begins_signature(text: str) -> bool:
    """Return True if a text opens with a signature separator."""
    return _SEPARATOR.match(text) is not None


def kind_of_part(text: str) -> TurnKind | None:
    """Return the kind of a part of a mail that is not its author's statement; None for others.

    "On Monday Ann wrote:" may lead into a quotation.
    """
    if begins_signature(text):
        return TurnKind.SIGNATURE
    lines = list(filter(str.strip, text.splitlines()))
    lead = list(takewhile(lambda line: not _is_quoted(line), lines))
    if lead and not lead[-1].rstrip().endswith(":"):
        return None
    quoted = lines[len(lead) :]
    return TurnKind.QUOTATION if quoted and all(map(_is_quoted, quoted)) else None


def _is_quoted(line: str) -> bool:
    return _QUOTED.match(line) is not None
