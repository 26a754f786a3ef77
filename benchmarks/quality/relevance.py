"""`python -m benchmarks.quality.relevance FILES`: what relevance means, and where recall stops.

Beside its own questions each bank is asked those of other banks and small talk, which it cannot
answer. With several files, the calibration is fitted on all but one, and measured on that one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.command import run_study, study_parser
from benchmarks.quality.fitting import gold_positions
from benchmarks.quality.study import Case, Study
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.dataset import DataQuestion, Dataset
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.metrics import figures
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.evaluate.systems import HindsightSystem, hits
from hindsight_integrations.recall.base import DEPTHS
from hindsight_integrations.recall.ranking import rank
from hindsight_integrations.recall.relevance import (
    BUNDLED,
    Calibration,
    calibration_for,
    features,
    logistic,
)
from hindsight_integrations.recall.scaling import Scores
from hindsight_integrations.recall.weights import Weights

SMALL_TALK = (
    "Thanks!", "ok", "Hello there", "good morning", "lol", "bye", "Have a nice day!", "hmm",
    "That is great, thank you so much!", "Great job!", "sounds good", "never mind", "yes please",
    "What is 2+2?", "Translate 'cat' into French.", "Write a haiku about autumn.",
    "Sort these numbers: 3, 1, 2", "How do I reverse a list in Python?", "Tell me a joke",
    "What is the boiling point of water?",
)  # fmt: skip

FOREIGN = 12
"""Questions of each other file that a bank is asked."""

DEEP = 150
"""Best memories of each ranking that count: those below are hardly ever evidence."""

BINS = 15
"""Bins of equal width of the calibration error."""

UNANSWERABLE = 0.6
"""Weight of the questions without answer beside those with one, together."""

BUDGET = 4096


@dataclass(frozen=True, slots=True)
class Judged:
    """The best memories of one ranking: features of `relevance.features`, and which are gold."""

    features: Scores
    gold: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """One dataset's rankings: of its own questions, and of those it cannot answer.

    Attributes:
        used: the calibration that recall uses for them.
    """

    name: str
    own: tuple[Judged, ...]
    foreign: tuple[Judged, ...]
    used: Calibration = BUNDLED


@dataclass(frozen=True, slots=True)
class Stop:
    """Effect of stopping where relevance ends, beside filling the budget.

    Attributes:
        kept: share of the evidence of the full budget that default recall has.
        tokens: mean tokens of default recall.
        silent_small: share of small talk that brings nothing.
        silent_foreign: share of other banks' questions that bring nothing.
    """

    kept: float
    tokens: float
    silent_small: float
    silent_foreign: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code, 2 for bad input."""
    given = study_parser(
        "relevance",
        "Measure how well relevance is calibrated, and what recall leaves out.",
        "relevance",
    ).parse_args(arguments)

    def report(memories: Mapping[Path, Hindsight]) -> str:
        datasets = list(map(load_dataset, memories))
        stores = list(memories.values())
        asked = [*rankings(datasets, stores, given.every)]
        stops = [*stopping(datasets, stores, given.every)]
        return table(asked, stops)

    return run_study(given, report)


def rankings(
    datasets: Sequence[Dataset], memories: Sequence[Hindsight], every: int = 1
) -> Iterator[Asked]:
    """Yield the rankings of each dataset, whose banks are in the memory at its index."""
    for dataset, memory in zip(datasets, memories, strict=True):
        own = Study(memory, dataset, every=every)
        foreign = Study(memory, with_foreign_questions(dataset, datasets))
        used = calibration_for(own.cases[0].question, memory.embedder.id) or BUNDLED
        yield Asked(dataset.name, _judged(own), _judged(foreign), used)


def foreign_questions(dataset: Dataset, datasets: Sequence[Dataset]) -> list[DataQuestion]:
    """Return questions of the other datasets, which this one cannot answer."""
    return [
        question
        for other in datasets
        if other is not dataset
        for question in _spread([q for bank in other.banks for q in bank.scored()], FOREIGN)
    ]


def with_foreign_questions(dataset: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    """Return the dataset with questions that it cannot answer, put to its first bank."""
    small_talk = (DataQuestion(text, text, ("none",)) for text in SMALL_TALK)
    asked = (*foreign_questions(dataset, datasets), *small_talk)
    unknown = tuple(replace(question, gold=("none",)) for question in asked)
    return replace(dataset, banks=(replace(dataset.banks[0], questions=unknown),))


def _spread(questions: Sequence[DataQuestion], count: int) -> Sequence[DataQuestion]:
    return questions[:: max(1, len(questions) // count)][:count]


def _judged(study: Study) -> tuple[Judged, ...]:
    return tuple(_judged_case(case, study.weights_in_use(case)) for case in study.cases)


def _judged_case(case: Case, weights: Weights) -> Judged:
    ranking = rank(case.pool, case.question, DEPTHS["mid"].head, weights, BUNDLED)
    best = ranking.order[:DEEP]
    gold = np.isin(best, [*chain.from_iterable(gold_positions(case))])
    all_features = features(ranking.total, ranking.similarity, case.pool.stats.documents)
    return Judged(all_features[best], gold)


def fit(asked: Sequence[Asked], rounds: int = 25) -> NDArray[np.float64]:
    """Return the coefficients of the features and the intercept, by Newton's method.

    Each dataset counts the same, and its questions without answer `UNANSWERABLE` of its own.
    """
    groups = [(one.own, 1.0) for one in asked] + [(one.foreign, UNANSWERABLE) for one in asked]
    judged = [(each, weight / len(some)) for some, weight in groups for each in some]
    x = np.concatenate([each.features for each, _ in judged])
    x = np.column_stack([x, np.ones(len(x))])
    y = np.concatenate([each.gold for each, _ in judged]).astype(np.float64)
    weights = np.concatenate([np.full(len(each.gold), weight) for each, weight in judged])
    found = np.zeros(x.shape[1])
    for _ in range(rounds):
        p = logistic(x @ found)
        curvature = (x * (weights * p * (1 - p))[:, None]).T @ x
        found = found + np.linalg.solve(
            curvature + 1e-9 * np.eye(len(found)), x.T @ (weights * (y - p))
        )
    return found


def calibration_error(judged: Sequence[Judged], coefficients: NDArray[np.float64]) -> float:
    """Return the expected calibration error (Naeini et al., AAAI 2015), in bins of equal width."""
    x = np.concatenate([each.features for each in judged])
    gold = np.concatenate([each.gold for each in judged])
    p = logistic(x @ coefficients[:-1] + coefficients[-1])
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    gaps = [
        (inside.mean(), abs(p[inside].mean() - gold[inside].mean()))
        for number in range(BINS)
        if (inside := bins == number).any()
    ]
    return float(sum(share * gap for share, gap in gaps))


def stopping(
    datasets: Sequence[Dataset], memories: Sequence[Hindsight], every: int = 1
) -> Iterator[Stop]:
    """Yield what default recall leaves out of each dataset, and when it says nothing."""
    for dataset, memory in zip(datasets, memories, strict=True):
        system = HindsightSystem(memory, dataset.name, "mid")
        found: list[tuple[float, float]] = []
        tokens: list[int] = []
        for bank in dataset.banks:
            texts = {item.id: item.text for item in bank.items}
            for question in bank.scored(every):
                bank_id = system.bank_id(bank)
                full = system.answer(bank, question, BUDGET)
                part = memory.recall(
                    bank_id, question.question, max_tokens=BUDGET, query_time=question.time
                )
                tokens.append(part.tokens)
                found.append(
                    tuple(  # type: ignore[arg-type]
                        figures({BUDGET: each}, question.gold, texts)[f"R@{BUDGET}t"]
                        for each in (hits(part), full.hits)
                    )
                )
        kept, whole = np.mean(found, axis=0)
        first = system.bank_id(dataset.banks[0])
        unknown = with_foreign_questions(dataset, datasets).banks[0].questions
        silent = [not memory.recall(first, q.question, query_time=q.time) for q in unknown]
        others = len(unknown) - len(SMALL_TALK)
        yield Stop(
            float(kept / whole),
            float(np.mean(tokens)),
            float(np.mean(silent[others:])),
            float(np.mean(silent[:others])) if others else 0.0,
        )


def table(asked: Sequence[Asked], stops: Sequence[Stop]) -> str:
    """Return one row for each dataset, and the coefficients fitted on all of them."""
    rows = []
    for one, stop in zip(asked, stops, strict=True):
        rest = [other for other in asked if other is not one]
        used = one.used
        in_use = np.array([used.share, used.similarity, used.size, used.intercept])
        left_out = f"{calibration_error(one.own, fit(rest)):.3f}" if rest else "-"
        rows.append(
            [
                one.name,
                f"{calibration_error(one.own, in_use):.3f}",
                left_out,
                f"{100 * stop.kept:.1f}",
                f"{stop.tokens:.0f}",
                f"{100 * stop.silent_small:.0f}",
                f"{100 * stop.silent_foreign:.0f}",
            ]
        )
    head = [
        "",
        "calibration error",
        "left out of the fit",
        "evidence kept %",
        "tokens",
        "silent: small talk %",
        "other banks' questions %",
    ]
    fitted = ", ".join(f"{value:.3f}" for value in fit(asked))
    return f"{markdown_table(head, rows)}\nFitted on all: {fitted}."


if __name__ == "__main__":
    sys.exit(main())
