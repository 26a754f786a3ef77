"""Answers without a language model: given where the bank holds one, and only there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from benchmarks.understanding import Score, load
from hindsight_integrations import Hindsight, Message, Settings
from hindsight_integrations.results import Reflection


def measure(half: str) -> list[Score]:
    """Return the score of the answers to one half's questions, and of those left unanswered."""
    name = half.replace("_", " ")
    answered, unanswered = Score(f"answers, {name}"), Score(f"nothing known, {name}")
    cases = load("answers", half)
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for case in cases:
            if "memories" in case:
                _retain(memory, case)
        for case in cases:
            if "question" not in case:
                continue
            asked = datetime.fromisoformat(case.get("asked", "2025-07-01"))
            found = memory.reflect(
                case["bank"], case["question"], query_time=asked.replace(tzinfo=UTC)
            )
            _count(answered, unanswered, case, found)
    return [answered, unanswered]


def _retain(memory: Hindsight, case: dict[str, Any]) -> None:
    for turn in case["memories"]:
        at = datetime.fromisoformat(turn["at"]).replace(tzinfo=UTC)
        if "speaker" in turn:
            message = Message(turn["speaker"], turn["text"], timestamp=at)
            memory.retain_messages(case["bank"], [message])
        else:
            memory.retain(case["bank"], turn["text"], timestamp=at)


def _count(answered: Score, unanswered: Score, case: dict[str, Any], found: Reflection) -> None:
    line = f"{case['bank']}: {case['question']} labelled {case['expect']}: {found.text!r}"
    if not case["expect"]:
        if found:
            unanswered.wrong.append(line)
        else:
            unanswered.right += 1
    elif not found:
        answered.missed.append(line)
    elif found.text.count("\n") < LONGEST and all(part in found.text for part in case["expect"]):
        answered.right += 1
    else:
        answered.wrong.append(line)


LONGEST = 5
"""Most further lines of an answer: a list of everything known is none."""
