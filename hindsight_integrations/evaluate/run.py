"""Remember a dataset's items, ask its questions, and hold the answers against the evidence."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from tempfile import TemporaryDirectory

from hindsight_integrations import checks
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.evaluate.baselines import baseline
from hindsight_integrations.evaluate.dataset import DataBank, DataQuestion, Dataset, load_dataset
from hindsight_integrations.evaluate.metrics import figures, gold_ranks
from hindsight_integrations.evaluate.report import Evaluation, QuestionRow
from hindsight_integrations.evaluate.systems import HindsightSystem, Remembered, System

BUDGETS = (1024, 2048, 4096)
"""Token budgets that each question is asked with."""

Progress = Callable[[str, int, int], None]
"""Called with what is going on ("retain" or "recall"), how much of it is done, and of how much."""


def evaluate(
    data: Dataset | str | os.PathLike[str],
    *,
    engine: Callable[[], Hindsight] | None = None,
    path: str | os.PathLike[str] | None = None,
    max_tokens: Sequence[int] = BUDGETS,
    budget: str = "mid",
    limit_questions: int | None = None,
    every: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure how well recall finds the evidence for a dataset's questions.

    Args:
        data: a dataset, or the JSON file that holds one.
        engine: makes the memory to measure, which is closed afterwards; by default one with all
            defaults, in a temporary folder.
        path: folder to keep that default memory in. The next evaluation there does not retain
            again what has not changed.
        max_tokens: the token budgets each question is asked with.
        budget: how far recall looks: "low", "mid" or "high".
        limit_questions: of each bank ask this many at most.
        every: ask only every so many questions.
        progress: called as the work goes on.

    Raises:
        InvalidInputError: the data or an argument cannot be used.
        HindsightError: an item could not be retained, or a question not be asked at all.
    """
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    if engine is not None and path is not None:
        raise InvalidInputError("both engine and path are given; let the engine choose its folder")
    with _opened(engine, path) as memory:
        system = HindsightSystem(memory, dataset.name, budget)
        return measure(system, dataset, max_tokens, limit_questions, every, progress)


def evaluate_baseline(
    data: Dataset | str | os.PathLike[str],
    name: str,
    *,
    max_tokens: Sequence[int] = BUDGETS,
    limit_questions: int | None = None,
    every: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a plain search on the same items: "chroma" or "bm25"; see `evaluate`.

    Raises:
        InvalidInputError: the data or an argument cannot be used.
        MissingExtraError: "bm25" needs the package bm25s.
    """
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    system = baseline(name)
    try:
        return measure(system, dataset, max_tokens, limit_questions, every, progress)
    finally:
        system.close()


def measure(
    system: System,
    dataset: Dataset,
    max_tokens: Sequence[int] = BUDGETS,
    limit_questions: int | None = None,
    every: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure any system on a dataset; the arguments are those of `evaluate`."""
    budgets = tuple(sorted({checks.positive("max_tokens", tokens) for tokens in max_tokens}))
    if not budgets:
        raise InvalidInputError("max_tokens is empty; give at least one token budget")
    step = checks.positive("every", every)
    if limit_questions is not None:
        checks.positive("limit_questions", limit_questions)
    asked = [bank.questions[::step][:limit_questions] for bank in dataset.banks]
    report = progress or (lambda stage, done, total: None)
    items, questions = sum(len(b.items) for b in dataset.banks), sum(map(len, asked))
    rows: list[QuestionRow] = []
    made: list[Remembered] = []
    starts = accumulate((len(bank.items) for bank in dataset.banks), initial=0)
    for bank, chosen, start in zip(dataset.banks, asked, starts, strict=False):

        def remembering(done: int, start: int = start) -> None:
            report("retain", start + done, items)

        made.append(system.remember(bank, remembering))
        remembering(len(bank.items))
        for row in _rows(system, bank, chosen, budgets):
            rows.append(row)
            report("recall", len(rows), questions)
    spent = [bank.seconds for bank in made if bank.seconds is not None]
    return Evaluation(
        dataset=dataset.name,
        system=system.name,
        budgets=budgets,
        rows=tuple(rows),
        items=items,
        memories=sum(bank.memories for bank in made),
        retain_seconds=sum(spent) if len(spent) == len(made) else None,
    )


def _rows(
    system: System, bank: DataBank, questions: Sequence[DataQuestion], budgets: tuple[int, ...]
) -> Iterator[QuestionRow]:
    texts = {item.id: item.text for item in bank.items}
    for question in questions:
        started = time.perf_counter()
        largest = system.answer(bank, question, budgets[-1])
        seconds = time.perf_counter() - started
        answers = dict.fromkeys(budgets, largest)
        if system.packs:
            smaller = {b: system.answer(bank, question, b) for b in budgets[:-1]}
            answers |= smaller
        hits = {tokens: answer.hits for tokens, answer in answers.items()}
        yield QuestionRow(
            bank=bank.id,
            id=question.id,
            question=question.question,
            category=question.category,
            scored=question.scored,
            ranks=gold_ranks(largest.hits, question.gold, texts),
            figures=figures(hits, question.gold, texts),
            tokens=sum(hit.tokens for hit in largest.hits),
            seconds=seconds,
            failures=tuple(dict.fromkeys(f for a in answers.values() for f in a.failures)),
        )


@contextmanager
def _opened(
    engine: Callable[[], Hindsight] | None, path: str | os.PathLike[str] | None
) -> Iterator[Hindsight]:
    if engine is not None or path is not None:
        with engine() if engine is not None else Hindsight(path) as memory:
            yield memory
        return
    with TemporaryDirectory(prefix="hindsight-evaluate-") as folder, Hindsight(folder) as memory:
        yield memory
