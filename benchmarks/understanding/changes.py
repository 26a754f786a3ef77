"""Changes that observations tell: pairs of statements, some of which change each other.

A case is right if an observation names the values before and after, or what is given up. It is
wrong if an observation tells any other change, or rests on a statement that takes its topic back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from benchmarks.understanding import Score, load
from hindsight_integrations import Hindsight, Item, Message
from hindsight_integrations.conclusions import Observation
from hindsight_integrations.reflect.topics import read_ahead
from hindsight_integrations.settings import Settings

_START = datetime(2025, 1, 6, 9, tzinfo=UTC)
_DAYS_BETWEEN = 40
_BANKS = 25
"""Banks of a memory: of hundreds, each statement would be written a third slower."""


def measure(half: str) -> list[Score]:
    """Measure the changes told, and the statements that must not count as proof."""
    score = Score(f"changes, {half.replace('_', ' ')}")
    cases = load("changes", half)
    for start in range(0, len(cases), _BANKS):
        with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
            banks = {f"case-{n}": case for n, case in enumerate(cases[start : start + _BANKS])}
            ids = {bank: _say_all(memory, bank, case["said"]) for bank, case in banks.items()}
            said = (memory.memories.list(bank, limit=100).items for bank in banks)
            read_ahead(chain.from_iterable(said))  # parsed together, in a third of the time
            for bank, case in banks.items():
                _judge(memory, bank, case, ids[bank], score)
    return [score]


def _judge(
    memory: Hindsight, bank: str, case: Mapping[str, Any], ids: Sequence[str | None], score: Score
) -> None:
    memory.consolidate(bank)
    texts = " / ".join(text for _, text in case["said"])
    told = False
    for observation in memory.observations.list(bank).items:
        if tells_change(observation):
            right = case["told"] is not None and _names(observation, case["told"])
            told = told or right
            faults = [] if right else [f"{case['kind']}: {observation.text}"]
        else:
            proof = {ids[index] for index in case["no_proof"]}
            faults = [f"proof: {observation.text}"] if proof & set(observation.sources) else []
        score.wrong += faults
    if told:
        score.right += 1
    elif case["told"] is not None:
        score.missed.append(texts)


def _say_all(
    memory: Hindsight, bank: str, said: Sequence[tuple[str | None, str]]
) -> list[str | None]:
    """Retain the statements of a case; return the id of each one's first memory, as `say` does."""
    if any(speaker for speaker, _ in said):
        return [say(memory, bank, *each, _DAYS_BETWEEN * n) for n, each in enumerate(said)]
    days = [_START + timedelta(days=_DAYS_BETWEEN * n) for n in range(len(said))]
    items = [Item(text, day) for (_, text), day in zip(said, days, strict=True)]
    stored = reversed(memory.retain_many(bank, items).stored)
    first = {each.mentioned_at: each.id for each in stored}
    return [first.get(day) for day in days]


def say(memory: Hindsight, bank: str, speaker: str | None, text: str, day: int) -> str | None:
    """Retain a statement made so many days after the start.

    Returns:
        The id of its first memory; None if it made none, as headings and greetings do.
    """
    said = _START + timedelta(days=day)
    if speaker is None:
        ids = memory.retain(bank, text, timestamp=said).ids
    else:
        ids = memory.retain_messages(bank, [Message(speaker, text, said)], session=str(day)).ids
    return ids[0] if ids else None


def tells_change(observation: Observation) -> bool:
    """Return True if the lead of the observation tells a change."""
    lead = lead_of(observation).casefold()
    return "first " in lead or "then no longer" in lead or "then and now" in lead


def lead_of(observation: Observation) -> str:
    """Return the text before the first quote."""
    return observation.text.partition("“")[0]


def _names(observation: Observation, told: tuple[str, str | None]) -> bool:
    lead = lead_of(observation).casefold()
    before, after = told
    if after is None:
        return before.casefold() in lead and "first " not in lead
    first, _, then = lead.partition(", then ")
    return before.casefold() in first and after.casefold() in then
