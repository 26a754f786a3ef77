"""Times that short texts name: plans in the future, reports in the past, and words that are none.

A case of kind "plan" or "report" lists the spans that its text names, one of kind "none" lists
nothing. One of kind "unsure" could mean either of the two days listed: a span that holds both, or
no span, is right, and a span of one of them is wrong.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from benchmarks.understanding import Score, load
from hindsight_integrations import Hindsight, TimeSpan

KINDS = ("plan", "report", "none", "unsure")


def measure(half: str) -> list[Score]:
    """Retain the cases of one half, each in a bank of its own; score the times by kind."""
    scores = {kind: Score(f"times: {kind}, {half.replace('_', ' ')}") for kind in KINDS}
    with Hindsight.in_memory() as memory:
        for number, case in enumerate(load("times", half)):
            said = _timestamp(case["said"])
            bank = f"case-{number}"
            memory.retain(bank, case["text"], timestamp=said)
            spans = [span for one in memory.memories.list(bank).items for span in one.occurred]
            _count(scores[case["kind"]], case, spans)
    return list(scores.values())


def _count(score: Score, case: dict[str, Any], spans: list[TimeSpan]) -> None:
    labelled = [(_timestamp(start), _timestamp(end)) for start, end in case["times"]]
    drawn = [(span.start, span.end) for span in spans]
    line = f"{case['text']!r} said {case['said']}: {[_shown(span) for span in spans]}"
    if case["kind"] == "unsure":
        holds_all = all(s <= start and end <= e for s, e in drawn for start, end in labelled)
        right = holds_all
    else:
        right = sorted(drawn) == labelled
    if right:
        score.right += 1
    elif drawn:
        score.wrong.append(line)
    else:
        score.missed.append(line)


def _timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _shown(span: TimeSpan) -> str:
    return f"{span.start:%Y-%m-%dT%H:%M} to {span.end:%Y-%m-%dT%H:%M}"
