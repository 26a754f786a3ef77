"""`python -m benchmarks.quality.reflection FILES`: what reflect says without a language model.

Each bank is asked its own questions, and then questions of the other files, which it cannot answer.
An answer counts as right if it cites evidence; memories shown as the nearest are no answer.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.command import run_study, study_parser
from benchmarks.quality.relevance import foreign_questions
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.dataset import DataQuestion, Dataset
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.evaluate.systems import HindsightSystem, references

COLUMNS = (
    "", "questions", "answered", "rightly", "nearest shown", "with evidence",
    "other banks' questions", "answered", "nearest shown",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """What reflect said to one question.

    Attributes:
        answers: it gave an answer, with citations.
        shows: it gave no answer, and showed the nearest memories.
        has_evidence: evidence is among what it cited or showed.
    """

    answers: bool
    shows: bool
    has_evidence: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code, 2 for bad input."""
    given = study_parser(
        "reflection", "Measure what reflect says without a language model.", "reflection"
    ).parse_args(arguments)

    def report(memories: Mapping[Path, Hindsight]) -> str:
        datasets = list(map(load_dataset, memories))
        rows = [
            row(dataset, datasets, memory, given.every)
            for dataset, memory in zip(datasets, memories.values(), strict=True)
        ]
        together = [sum(column) for column in zip(*(figures for _, figures in rows), strict=True)]
        rows = [*rows, ("together", together)] if len(rows) > 1 else rows
        return markdown_table(COLUMNS, [[name, *map(str, figures)] for name, figures in rows])

    return run_study(given, report)


def row(
    dataset: Dataset, datasets: Sequence[Dataset], memory: Hindsight, every: int
) -> tuple[str, Sequence[int]]:
    """Return the name of a dataset and its figures, in the order of `COLUMNS`."""
    system = HindsightSystem(memory, dataset.name, "mid")
    own: list[Said] = []
    for bank in dataset.banks:
        system.remember(bank, lambda _: None)
        own += said(memory, system.bank_id(bank), bank.scored(every))
    first_bank = system.bank_id(dataset.banks[0])
    foreign = said(memory, first_bank, foreign_questions(dataset, datasets))
    return dataset.name, (
        len(own),
        sum(each.answers for each in own),
        sum(each.answers and each.has_evidence for each in own),
        sum(each.shows for each in own),
        sum(each.shows and each.has_evidence for each in own),
        len(foreign),
        sum(each.answers for each in foreign),
        sum(each.shows for each in foreign),
    )


def said(memory: Hindsight, bank_id: str, questions: Sequence[DataQuestion]) -> list[Said]:
    """Return what reflect said to each question of a bank."""
    found = []
    for question in questions:
        reflection = memory.reflect(bank_id, question.question, query_time=question.time)
        ids = reflection.sources or reflection.nearest
        stated = {
            each for id in ids for each in references(memory, memory.memories.get(bank_id, id))
        }
        found.append(
            Said(
                answers=bool(reflection),
                shows=bool(reflection.nearest),
                has_evidence=not stated.isdisjoint(question.gold),
            )
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
