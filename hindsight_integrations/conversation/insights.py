"""Insights: read from a model's reply, and merged with those there are. Pure functions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel

from hindsight_integrations import checks
from hindsight_integrations.errors import ModelError
from hindsight_integrations.language.llm import Reply, without_thoughts
from hindsight_integrations.naming import text_fingerprint

UNKNOWN_IMPORTANCE = 0.5
"""Of an insight that came without one that can be used."""
SHORTEST_LINE = 10
"""Characters from which a line of a reply is taken for an insight."""
LONGEST = 2_000
"""Characters up to which a text is taken for an insight."""

_LIKE_JSON = re.compile(r"\[\s*[\[{\"]|\{\s*\"")
_BULLET = re.compile(r"\A(?:[-*•–]+\s+|[(\[]?\d{1,3}[.)\]]\s+)?")


@dataclass(frozen=True, slots=True)
class Insight:
    """What was learnt from remarks; `importance` is from 0 to 1."""

    id: str
    text: str
    importance: float
    created_at: datetime


class Drawn(NamedTuple):
    """An insight as a model gave it."""

    text: str
    importance: float = UNKNOWN_IMPORTANCE


class InsightDraft(BaseModel):
    """One thing learnt."""

    insight: str
    importance: float


class InsightsReply(BaseModel):
    """What can be learnt from what was said."""

    insights: list[InsightDraft]


def read_insights(reply: Reply) -> list[Drawn]:
    """The insights of a reply: of its JSON, fenced or not, or else of its lines.

    An empty list in JSON means that there is nothing new to learn.

    Raises:
        ModelError: it holds JSON that was cut off, is too long, or says nothing.
    """
    filled = reply.filled.model_dump() if isinstance(reply.filled, BaseModel) else reply.filled
    drawn = None if filled is None else _listed(filled)
    if drawn is None:
        text = without_thoughts(reply.text)
        drawn = _of_json(text)
        if drawn is None and not (drawn := list(_of_lines(text))):
            raise ModelError(f"the reply holds no insight; it is {checks.shown(text)}")
    return drawn


def merge(known: Iterable[Insight], drawn: Iterable[Insight], most: int) -> tuple[Insight, ...]:
    """The best of both, each once: the most important first, then the latest, at most `most`.

    Case, punctuation and white space make no difference. What is drawn again keeps its place in
    time and the higher importance.
    """
    merged: dict[str, Insight] = {}
    for insight in (*known, *drawn):
        first = merged.setdefault(text_fingerprint(insight.text), insight)
        if insight.importance > first.importance:
            merged[text_fingerprint(insight.text)] = replace(first, importance=insight.importance)
    best = sorted(merged.values(), key=lambda i: (-i.importance, -i.created_at.timestamp()))
    return tuple(best[:most])


def _of_json(text: str) -> list[Drawn] | None:
    """The insights of the first list or object in a text; None if nothing there is like JSON."""
    fence = max(0, text.find("```"))
    starts = {text.find(bracket, fence) for bracket in "[{"} - {-1}
    for start in sorted(starts):
        problem = "it has no insights in it"
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
            if (drawn := _listed(value)) is not None:
                return drawn
        except (ValueError, RecursionError) as error:
            problem = str(error)
        if _LIKE_JSON.match(text, start):  # and no mere [1] in a sentence
            raise ModelError(
                f"the reply's JSON cannot be used ({problem}); it is {checks.shown(text)}"
            )
    return None


def _listed(value: object) -> list[Drawn] | None:
    """Insights in a list, in an object that has it, or in an object that is one; else None."""
    if isinstance(value, Mapping):
        value = value.get("insights", [value])
    if not isinstance(value, list):
        return None
    drawn = [insight for item in value if (insight := _of_item(item))]
    return None if value and not drawn else drawn


def _of_item(item: object) -> Drawn | None:
    fields = item if isinstance(item, Mapping) else {"insight": item}
    text = next((fields[name] for name in ("insight", "text", "content") if name in fields), None)
    if not isinstance(text, str) or not (clean := _tidy(text)) or len(clean) > LONGEST:
        return None
    return Drawn(clean, importance(fields.get("importance")))


def _of_lines(text: str) -> Iterator[Drawn]:
    for line in text.splitlines():
        clean = _BULLET.sub("", _tidy(line))
        announces = clean.endswith(":")  # "Here is what I have learnt:"
        if SHORTEST_LINE <= len(clean) <= LONGEST and not announces:
            yield Drawn(clean)


def importance(value: object) -> float:
    """A number, also one written as text, within 0 to 1; what is none is `UNKNOWN_IMPORTANCE`."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN_IMPORTANCE
    return UNKNOWN_IMPORTANCE if math.isnan(number) else min(1.0, max(0.0, number))


def _tidy(text: str) -> str:
    clean = " ".join(checks.text(text, "an insight").split())
    return "" if checks.is_blank(clean) else clean
