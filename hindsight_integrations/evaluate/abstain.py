"""`python -m hindsight_integrations.evaluate.abstain FILES`: when does recall say nothing?

Each question is put to its own bank and to one that holds nothing of it: another bank of its file,
and a bank of the next file. The best score of each answer tells what any `min_score` would do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.evaluate.command import run_study, study_parser
from hindsight_integrations.evaluate.dataset import DataQuestion, Dataset, load_dataset
from hindsight_integrations.evaluate.sections import markdown_table
from hindsight_integrations.evaluate.systems import HindsightSystem

THRESHOLDS = (0.40, 0.425, 0.45, 0.475, 0.50, 0.55)


@dataclass(frozen=True, slots=True)
class Confidence:
    """Best scores of the answers to one file's questions, from banks that know and do not.

    `evidence` are the scores of the gold items that came back; those that did not are 0.
    """

    dataset: str
    known: tuple[float, ...]
    evidence: tuple[float, ...]
    unknown: tuple[float, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code, 2 for bad input."""
    given = study_parser(
        "abstain",
        "Measure what min_score does to questions a bank can and cannot answer.",
        "abstain",
    ).parse_args(arguments)

    def report(memories: Mapping[Path, Hindsight]) -> str:
        datasets = list(map(load_dataset, memories))
        return table(list(measure(datasets, list(memories.values()), given.every)))

    return run_study(given, report)


def measure(
    datasets: Sequence[Dataset], memories: Sequence[Hindsight], every: int = 1
) -> Iterator[Confidence]:
    """The best scores for each dataset, its memory beside it.

    Raises:
        InvalidInputError: there is only one bank in all: nothing to ask what is not known.
    """
    if sum(len(dataset.banks) for dataset in datasets) < 2:
        raise InvalidInputError("there is only one bank; give a file with two, or two files")
    systems: list[HindsightSystem] = []
    for dataset, memory in zip(datasets, memories, strict=True):
        systems.append(HindsightSystem(memory, dataset.name, "mid"))
        for bank in dataset.banks:
            systems[-1].remember(bank, lambda done: None)
    for place, (dataset, memory) in enumerate(zip(datasets, memories, strict=True)):
        known: list[float] = []
        evidence: list[float] = []
        unknown: list[float] = []
        elsewhere = (place + 1) % len(datasets)
        for number, bank in enumerate(dataset.banks):
            others = []
            if len(dataset.banks) > 1:
                other = dataset.banks[(number + 1) % len(dataset.banks)]
                others.append((memory, systems[place].bank_id(other)))
            if elsewhere != place:
                other = datasets[elsewhere].banks[0]
                others.append((memories[elsewhere], systems[elsewhere].bank_id(other)))
            for question in bank.scored(every):
                scores = _scores(memory, systems[place].bank_id(bank), question)
                known.append(max(scores.values(), default=0.0))
                evidence += [scores.get(item_id, 0.0) for item_id in question.gold]
                for there, there_id in others:
                    unknown.append(max(_scores(there, there_id, question).values(), default=0.0))
        yield Confidence(dataset.name, tuple(known), tuple(evidence), tuple(unknown))


def table(found: Sequence[Confidence]) -> str:
    """Per `min_score` and dataset: answers lost, evidence lost with them, silence where due."""
    head = ["min_score", *(f"{each.dataset}: lost / evidence lost / silent" for each in found)]
    rows = []
    for threshold in THRESHOLDS:
        cells = [
            " / ".join(
                f"{100 * share:.1f}"
                for share in (
                    _below(each.known, threshold),
                    _below(each.evidence, threshold) - _below(each.evidence, 1e-9),
                    _below(each.unknown, threshold),
                )
            )
            for each in found
        ]
        rows.append([f"{threshold:g}", *cells])
    return markdown_table(head, rows)


def _below(scores: Sequence[float], threshold: float) -> float:
    return sum(score < threshold for score in scores) / len(scores) if scores else 0.0


def _scores(memory: Hindsight, bank: str, question: DataQuestion) -> dict[str, float]:
    """Item id to the best score of what stands for it."""
    result = memory.recall(bank, question.question, query_time=question.time)
    found: dict[str, float] = {}
    for recalled in result:
        for source in recalled.memory.sources:
            name = source.reference or ""
            found[name] = max(found.get(name, 0.0), recalled.score)
    return found


if __name__ == "__main__":
    sys.exit(main())
