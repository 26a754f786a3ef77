"""Insights: read them from a model's reply, and revise known ones by them. Pure functions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel, Field

from hindsight_integrations import validation
from hindsight_integrations.errors import ModelError
from hindsight_integrations.nlp.llm import Reply, without_thoughts
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.sessions.wording import (
    same,
    says_nothing_new,
    statements,
    supersedes,
)

UNKNOWN_IMPORTANCE = 0.5
"""Importance of an insight that came without a usable one."""
SHORTEST_LINE = 10
"""Fewest characters of a line of a reply that is taken for an insight."""
LONGEST = 2_000
"""Most characters of a text that is taken for an insight."""
MOST_EVIDENCE = 10
"""Most exchanges kept as evidence of an insight, the latest."""

_LIKE_JSON = re.compile(r"\[\s*[\[{\"]|\{\s*\"")
_NUMBER = re.compile(r"\[?(\d{1,4})\]?")
_BULLET = re.compile(r"\A(?:[-*•–]+\s+|[(\[]?\d{1,3}[.)\]]\s+)?")


@dataclass(frozen=True, slots=True)
class Evidence:
    """An exchange that an insight was drawn from.

    Attributes:
        exchange_id: its id; the exchange itself may have left the memory since.
        text: what was said, each speaker on a line of their own, shortened if it was long.
        timestamp: when.
    """

    exchange_id: str
    text: str
    timestamp: datetime


@dataclass(frozen=True, slots=True)
class Insight:
    """A statement learnt from messages.

    Attributes:
        id: made by `ReflectionMemory`.
        text: the statement.
        importance: 0 to 1, as the model said.
        created_at: when it was drawn first.
        evidence: the exchanges it was drawn from, oldest first.
    """

    id: str
    text: str
    importance: float
    created_at: datetime
    evidence: tuple[Evidence, ...] = ()


class Drawn(NamedTuple):
    """An insight as a model gave it, with the numbers of its evidence and of what it replaces."""

    text: str
    importance: float = UNKNOWN_IMPORTANCE
    evidence: tuple[int, ...] = ()
    replaces: tuple[int, ...] = ()


class InsightDraft(BaseModel):
    """One thing learnt."""

    insight: str
    importance: float
    evidence: list[int] = Field(default_factory=list)
    replaces: list[int] = Field(default_factory=list)


class InsightsReply(BaseModel):
    """Reply schema: the insights of one conversation."""

    insights: list[InsightDraft]


def read_insights(reply: Reply) -> list[Drawn]:
    """Read the insights of a reply: from its JSON, fenced or not, or else from its lines.

    A sentence that greets, thanks, asks, offers or speaks of the talk itself is no insight. The
    list is empty if the JSON is, or if the reply says that there is nothing new to learn.

    Raises:
        ModelError: it holds JSON that was cut off, is too long, or says nothing.
    """
    filled = reply.filled.model_dump() if isinstance(reply.filled, BaseModel) else reply.filled
    drawn = None if filled is None else _listed(filled)
    if drawn is not None:
        return drawn
    text = without_thoughts(reply.text)
    drawn = _of_json(text)
    if drawn is None:
        drawn = list(_of_lines(text))
        if not drawn and not says_nothing_new(text):
            raise ModelError(f"the reply contains no insight; it is {validation.shown(text)}")
    return drawn


def revise(
    known: Iterable[Insight], drawn: Sequence[tuple[Insight, Iterable[str]]], most: int
) -> tuple[Insight, ...]:
    """Return the insights that hold after new ones were drawn, the best, at most `most`.

    Args:
        known: the insights so far.
        drawn: the new ones, each with the ids of those that it replaces, as the model says.
        most: how many to return.
    """
    valid = list(known)
    for insight, replaced in drawn:
        replaced_ids = set(replaced)
        valid = [
            old
            for old in valid
            if old.id not in replaced_ids
            and not (old.created_at < insight.created_at and supersedes(insight.text, old.text))
        ]
        valid = list(merge(valid, [insight], len(valid) + 1))
    return merge(valid, (), most)


def merge(known: Iterable[Insight], drawn: Iterable[Insight], most: int) -> tuple[Insight, ...]:
    """Return the best of both, each once, at most `most`; to merge the same again changes nothing.

    The most important stay, and of equals those drawn last, the latest of them first. Two that say
    the same, in the same or in other words, are one: it keeps the text and the date of the first,
    the evidence of both and the higher importance.
    """
    merged: list[Insight] = []
    last_drawn: list[datetime] = []
    known = list(known)
    for number, insight in enumerate((*known, *drawn)):
        index = next((n for n, other in enumerate(merged) if _is_same(other, insight)), None)
        if index is None:
            merged.append(insight)
            last_drawn.append(insight.created_at)
            continue
        merged[index] = _joined(merged[index], insight)
        if number >= len(known):
            last_drawn[index] = max(last_drawn[index], insight.created_at)
    order = sorted(
        range(len(merged)),
        key=lambda n: (-merged[n].importance, -last_drawn[n].timestamp()),
    )
    best = [merged[n] for n in order[:most]]
    return tuple(sorted(best, key=lambda i: (-i.importance, -i.created_at.timestamp())))


def _is_same(first: Insight, second: Insight) -> bool:
    a, b = first.text, second.text
    return text_fingerprint(a) == text_fingerprint(b) or same(a, b)


def _joined(first: Insight, second: Insight) -> Insight:
    by_exchange = {e.exchange_id: e for e in (*first.evidence, *second.evidence)}
    evidence = sorted(by_exchange.values(), key=lambda e: e.timestamp)
    return replace(
        first,
        importance=max(first.importance, second.importance),
        evidence=tuple(evidence[-MOST_EVIDENCE:]),
    )


def _of_json(text: str) -> list[Drawn] | None:
    """Read the first list or object in a text; None if nothing in it looks like JSON."""
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
        if _LIKE_JSON.match(text, start):  # not just [1] in a sentence
            raise ModelError(
                f"the reply's JSON cannot be used ({problem}); it is {validation.shown(text)}"
            )
    return None


def _listed(value: object) -> list[Drawn] | None:
    """Read a list of insights, an object that has one, or an object that is one; else None."""
    if isinstance(value, Mapping):
        value = value.get("insights", [value])
    if not isinstance(value, list):
        return None
    drawn = [insight for item in value if (insight := _of_item(item))]
    if value and not drawn:
        return None
    stated = ((insight, statements(insight.text, listed=True)) for insight in drawn)
    return [insight._replace(text=text) for insight, text in stated if text]


def _of_item(item: object) -> Drawn | None:
    fields = item if isinstance(item, Mapping) else {"insight": item}
    text = next((fields[name] for name in ("insight", "text", "content") if name in fields), None)
    if not isinstance(text, str) or not (clean := _tidy(text)) or len(clean) > LONGEST:
        return None
    return Drawn(
        clean,
        importance(fields.get("importance")),
        _numbers(fields.get("evidence")),
        _numbers(fields.get("replaces")),
    )


def _numbers(value: object) -> tuple[int, ...]:
    """Read a list of whole numbers, also as text; what is no such number is left out."""
    given = value if isinstance(value, list) else [value]
    matches = (_NUMBER.fullmatch(str(item)) for item in given)
    return tuple(int(match[1]) for match in matches if match)


def _of_lines(text: str) -> Iterator[Drawn]:
    for line in text.splitlines():
        tidy = _tidy(line)
        clean = _BULLET.sub("", tidy)
        if not SHORTEST_LINE <= len(clean) <= LONGEST or clean.startswith("#"):
            continue
        if stated := statements(clean, listed=clean != tidy):
            yield Drawn(stated)


def importance(value: object) -> float:
    """Read a number, also as text, clipped to 0 to 1; anything else is `UNKNOWN_IMPORTANCE`."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN_IMPORTANCE
    return UNKNOWN_IMPORTANCE if math.isnan(number) else min(1.0, max(0.0, number))


def _tidy(text: str) -> str:
    clean = " ".join(validation.text(text, "an insight").split())
    return "" if validation.is_blank(clean) else clean
