"""A name where it stands in a text, and which of several overlapping ones to keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameSpan:
    """`text[start:end]` names `name` (as it is best spelled), a thing of `kind`."""

    start: int
    end: int
    name: str
    kind: str


def longest(spans: Iterable[NameSpan]) -> list[NameSpan]:
    """The longest spans that do not overlap, in text order; among equals the earlier given wins."""
    chosen: list[NameSpan] = []
    for span in sorted(spans, key=lambda span: span.start - span.end):
        if all(span.end <= other.start or other.end <= span.start for other in chosen):
            chosen.append(span)
    return sorted(chosen, key=lambda span: span.start)
