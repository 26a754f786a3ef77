"""Insights of a reflection memory: read from replies, merged, and superseded.

A case with "reply" is what a model answered, with the insights that are in it. A case with "one"
and "other" is two insights, drawn in this order, which say the same, of which the second supersedes
the first, or neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.understanding import Score, load
from hindsight_integrations.errors import ModelError
from hindsight_integrations.sessions import ReflectionMemory

RELATIONS = ("same", "superseded")


def measure(half: str) -> list[Score]:
    """Return a score of the insights read, and one of each relation between two insights."""
    cases = load("insights", half)
    title = half.replace("_", " ")
    return [
        _reading(Score(f"insights, {title}"), (case for case in cases if "reply" in case)),
        *(_relation(Score(f"insights: {name}, {title}"), name, cases) for name in RELATIONS),
    ]


def _reading(score: Score, cases: Iterable[Mapping[str, Any]]) -> Score:
    for case in cases:
        drawn, expected = _drawn([case["reply"]]), set(case["insights"])
        score.right += len(drawn & expected)
        score.wrong += sorted(drawn - expected)
        score.missed += sorted(expected - drawn)
    return score


def _relation(score: Score, name: str, cases: Iterable[Mapping[str, Any]]) -> Score:
    for case in cases:
        if "one" not in case:
            continue
        one, other = case["one"], case["other"]
        found = _related(one, other)
        line = f"{one} | {other}"
        if found == name == case["relation"]:
            score.right += 1
        elif found == name:
            score.wrong.append(line)
        elif case["relation"] == name:
            score.missed.append(line)
    return score


def _related(one: str, other: str) -> str:
    drawn = _drawn([json.dumps({"insights": [{"insight": text}]}) for text in (one, other)])
    if len(drawn) > 1:
        return "neither"
    return "same" if drawn == {one} else "superseded"


def _drawn(replies: list[str]) -> set[str]:
    """Return the insights kept after these replies of a model."""
    waiting = iter(replies)
    learning = ReflectionMemory(lambda system, user: next(waiting), every=0)
    learning.add_message("user", "Hello.")
    for _ in replies:
        try:
            learning.reflect()
        except ModelError:  # the reply held none, and said so
            continue
    return {insight.text for insight in learning.insights}
