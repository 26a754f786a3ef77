"""`python -m benchmarks.speed.observing FILE`: what observations cost and give.

The cost is the time that consolidating takes, and takes again when there is nothing to do. What
they give is counted in tokens: how much context has to be read until the evidence stands in it,
from facts alone and with the observations preferred that quote them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markdown import Markdown

from benchmarks.page import write_section
from benchmarks.speed import machine
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.dataset import DataBank, DataQuestion
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.metrics import Hit, ranked_items
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.evaluate.systems import HindsightSystem, references
from hindsight_integrations.models import MemoryType
from hindsight_integrations.results import Recalled
from hindsight_integrations.settings import Settings

SECTION = "observations"
MAX_TOKENS = 4096

WAYS: Mapping[str, Mapping[str, object]] = {
    "facts alone": {"types": (MemoryType.WORLD, MemoryType.EXPERIENCE, MemoryType.OPINION)},
    "with observations": {},
    "observations preferred": {"prefer_observations": True},
}
"""Options of recall that a question is asked with."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One question, asked in each of `WAYS`.

    Attributes:
        tokens: read, best first, until the evidence that all ways found is complete.
        found: share of the evidence that came back within the budget.
        replaced: whether an observation took the place of a fact as far as the answer was read.
    """

    tokens: tuple[int, ...]
    found: tuple[float, ...]
    replaced: bool


@dataclass(frozen=True, slots=True)
class ObservingFigures:
    """Cost of consolidating the banks of a dataset, and the context its questions then read.

    Attributes:
        memories: that were consolidated.
        observations: that were drawn.
        evidence: memories that these rest on, each counted once an observation.
        retain_seconds: to remember the memories, without consolidating.
        seconds: to consolidate them.
        again: to consolidate once more, with nothing to do.
        readings: one a question whose evidence all ways found, in part at least.
    """

    memories: int
    observations: int
    evidence: int
    retain_seconds: float
    seconds: float
    again: float
    readings: tuple[Reading, ...]


def measure(path: Path, limit: int | None = None) -> ObservingFigures:
    """Remember a dataset's banks, consolidate them, and ask their questions both ways.

    Args:
        path: the dataset, JSON.
        limit: questions of a bank, at most.
    """
    dataset = load_dataset(path)
    memories = observations = evidence = 0
    spent = {"retain": 0.0, "consolidate": 0.0, "again": 0.0}
    readings: list[Reading] = []
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        system = HindsightSystem(memory, dataset.name, "mid")
        for bank in dataset.banks:
            bank_id = system.bank_id(bank)
            remembered = system.remember(bank, lambda done: None)
            memories += remembered.memories
            spent["retain"] += remembered.seconds or 0.0
            for stage in ("consolidate", "again"):
                started = time.perf_counter()
                done = memory.consolidate(bank_id)
                spent[stage] += time.perf_counter() - started
                observations += len(done.created) - len(done.removed)
            drawn = memory.observations.list(bank_id, limit=1000).items
            evidence += sum(each.proof_count for each in drawn)
            read = (_read(memory, bank_id, bank, asked) for asked in bank.questions[:limit])
            readings += filter(None, read)
    return ObservingFigures(
        memories, observations, evidence, spent["retain"], spent["consolidate"], spent["again"],
        tuple(readings),
    )  # fmt: skip


def _read(
    memory: Hindsight, bank_id: str, bank: DataBank, question: DataQuestion
) -> Reading | None:
    """The answers to a question, read until the evidence that they share is complete."""
    texts = {item.id: item.text for item in bank.items}
    answers = [
        memory.recall(
            bank_id,
            question.question,
            max_tokens=MAX_TOKENS,
            query_time=question.time,
            **options,  # type: ignore[arg-type]
        ).memories
        for options in WAYS.values()
    ]
    read = [_places(memory, answer, question, texts) for answer in answers]
    shared = set(read[0]).intersection(*read[1:])
    if not shared:
        return None
    tokens = tuple(max(found[item] for item in shared) for found in read)
    plain, preferring = (
        [item.id for item, spent in _spending(answer) if spent <= most]
        for answer, most in zip(answers[1:], tokens[1:], strict=True)
    )
    return Reading(
        tokens,
        tuple(len(found) / len(question.gold) for found in read),
        preferring != plain,
    )


def _spending(answer: Sequence[Recalled]) -> Iterator[tuple[Recalled, int]]:
    """Each memory, and the tokens read up to its end."""
    yield from zip(answer, accumulate(item.tokens for item in answer), strict=True)


def _places(
    memory: Hindsight,
    found: Sequence[Recalled],
    question: DataQuestion,
    texts: Mapping[str, str],
) -> dict[str, int]:
    """Each piece of evidence that came back, with the tokens read up to it."""
    hits = [
        Hit(tuple(dict.fromkeys(references(memory, item.memory))), item.text, item.tokens)
        for item in found
    ]
    gold = frozenset(question.gold)
    return {
        item.item_id: item.spent for item in ranked_items(hits, gold, texts) if item.item_id in gold
    }


def markdown(found: ObservingFigures, command: str) -> str:
    """The figures as a section of docs/benchmarks.md."""
    thousand = found.memories / 1000
    rows = [
        ("memories", f"{found.memories:,}"),
        ("observations drawn", f"{found.observations:,}"),
        ("memories that one rests on, mean", f"{found.evidence / max(1, found.observations):.1f}"),
        ("to retain 1,000 memories, s", f"{found.retain_seconds / thousand:.1f}"),
        ("to consolidate 1,000 memories, s", f"{found.seconds / thousand:.2f}"),
        ("to consolidate again, with nothing new, ms", f"{1000 * found.again:.1f}"),
    ]
    replaced = [reading for reading in found.readings if reading.replaced]
    parts = [f"`{command}` on {machine.description()}", markdown_table(("cost", ""), rows)]
    for name, chosen in (
        ("all questions", found.readings),
        ("those where observations replaced facts", replaced),
    ):
        if chosen:
            parts.append(markdown_table((f"{name}: {len(chosen)}", *WAYS), _evidence_rows(chosen)))
    return "\n\n".join(parts)


def _evidence_rows(readings: Sequence[Reading]) -> list[tuple[str, ...]]:
    tokens = np.array([reading.tokens for reading in readings])
    found = 100 * np.array([reading.found for reading in readings])
    return [
        ("tokens until the same evidence is complete, mean",
         *(f"{value:,.0f}" for value in tokens.mean(axis=0))),
        ("the same, median", *(f"{value:,.0f}" for value in np.median(tokens, axis=0))),
        (f"evidence within {MAX_TOKENS:,} tokens, %",
         *(f"{value:.1f}" for value in found.mean(axis=0))),
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.observing",
        description="Measure what observations cost, and what context they save.",
    )
    parser.add_argument("file", type=Path, help="the dataset, JSON, as evaluate reads it")
    parser.add_argument("--limit", type=int, metavar="N", help="ask at most N of each bank")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"), metavar="FILE")
    given = parser.parse_args(arguments)
    command = f"python -m benchmarks.speed.observing {given.file.name}"
    text = markdown(measure(given.file, given.limit), command)
    write_section(given.page, SECTION, text)
    Console().print(Markdown(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
