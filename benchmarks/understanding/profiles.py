"""Profiles: lines that are true of the person and lasting, in the section where they belong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from benchmarks.understanding import Score, load
from hindsight_integrations import Hindsight, Message, Settings

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def measure(half: str) -> list[Score]:
    """Return the score of the profiles of one half."""
    score = Score(f"profiles, {half.replace('_', ' ')}")
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for number, case in enumerate(load("profiles", half)):
            bank = f"case-{number}"
            for speaker, text, days in case["say"]:
                said = NOW - timedelta(days=days)
                if speaker is None:
                    memory.retain(bank, text, timestamp=said)
                else:
                    memory.retain_messages(bank, [Message(speaker, text, timestamp=said)])
            profile = memory.profile(bank, case["person"], query_time=NOW)
            drawn = [(str(line.section), line.text) for line in profile.lines]
            expected = [(section, text) for section, text in case["expect"]]
            score.right += len(set(drawn) & set(expected))
            context = f"({case['kind']}, {case['person']}: {case['say']})"
            score.wrong += [f"{line} {context}" for line in drawn if line not in expected]
            score.missed += [f"{line} {context}" for line in expected if line not in drawn]
    return [score]
