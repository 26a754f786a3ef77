"""Observations of whole banks, judged line by line.

An observation is right if a label names its subject and holds all its evidence; anything else
that is drawn is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.understanding import Score, load
from benchmarks.understanding.changes import lead_of, say
from hindsight_integrations import Hindsight
from hindsight_integrations.conclusions import Observation
from hindsight_integrations.settings import Settings


def measure(half: str) -> list[Score]:
    """Measure the observations drawn from each bank after all of it is retained."""
    score = Score(f"observations, {half.replace('_', ' ')}")
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for number, bank in enumerate(load("observations", half)):
            _judge(memory, f"bank-{number}", bank, score)
    return [score]


def _judge(memory: Hindsight, bank_id: str, bank: Mapping[str, Any], score: Score) -> None:
    ids = [say(memory, bank_id, speaker, text, day) for day, speaker, text in bank["said"]]
    memory.consolidate(bank_id)
    places = {id: index for index, id in enumerate(ids) if id is not None}
    drawn = memory.observations.list(bank_id, limit=200).items
    matched = [_label(observation, bank["observations"], places) for observation in drawn]
    for observation, label in zip(drawn, matched, strict=True):
        if label is None:
            score.wrong.append(f"{bank['name']}: {observation.text}")
        else:
            score.right += 1
    score.missed += [
        f"{bank['name']}: {' / '.join(label['about'])}"
        for label in bank["observations"]
        if label not in matched
    ]


def _label(
    observation: Observation, labels: list[dict[str, Any]], places: Mapping[str, int]
) -> dict[str, Any] | None:
    """Return the label that the observation agrees with."""
    lead = lead_of(observation).casefold()
    rests_on = {places.get(id) for id in observation.sources}
    return next(
        (
            label
            for label in labels
            if all(word.casefold() in lead for word in label["about"])
            and rests_on <= set(label["of"])
        ),
        None,
    )
