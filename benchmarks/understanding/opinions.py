"""Opinions: formed from plain judgements only, and of the stance that these have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from benchmarks.understanding import Score, load
from hindsight_integrations import Hindsight, Settings

START = datetime(2025, 1, 6, 9, tzinfo=UTC)


def measure(half: str) -> list[Score]:
    """Return the score of the opinions formed on the topics of one half."""
    score = Score(f"opinions, {half.replace('_', ' ')}")
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for number, case in enumerate(load("opinions", half)):
            bank = f"case-{number}"
            for day, text in enumerate(case["say"]):
                memory.retain(bank, text, timestamp=START + timedelta(days=day))
            formed = memory.opinions.form(bank, case["topic"])
            _count(score, case, stance(formed[0].text) if formed else None)
    return [score]


def stance(text: str) -> str:
    """Return the stance that the text of an opinion states: "well" or "ill"."""
    return "well" if " well spoken of" in text else "ill"


def _count(score: Score, case: dict[str, object], held: str | None) -> None:
    line = f"{case['topic']}: {held}, labelled {case['expect']} ({case['kind']}): {case['say']}"
    if held is not None and held == case["expect"]:
        score.right += 1
    elif held is not None:
        score.wrong.append(line)
    elif case["expect"] is not None:
        score.missed.append(line)
