"""Retain a dataset's items, ask its questions, and compare the answers with the evidence."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from tempfile import TemporaryDirectory

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.evaluate.dataset import DataBank, DataQuestion, Dataset
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.metrics import (
    Hit,
    figures,
    gold_ranks,
    hits_for_passages,
    session_figures,
    session_order,
)
from hindsight_integrations.evaluate.report import Evaluation, QuestionRow
from hindsight_integrations.evaluate.systems import HindsightSystem, Remembered, System, baseline

BUDGETS = (1024, 2048, 4096)
"""Token budgets that each question is asked with by default."""

Progress = Callable[[str, int, int], None]
"""Called with the stage ("retain" or "recall"), the number done, and the total."""


def evaluate(
    data: Dataset | str | os.PathLike[str],
    *,
    engine: Callable[[], Hindsight] | None = None,
    path: str | os.PathLike[str] | None = None,
    embedder: object | None = None,
    max_tokens: Sequence[int] = BUDGETS,
    budget: str = "mid",
    limit_questions: int | None = None,
    every: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure how well recall finds the evidence for a dataset's questions.

    Args:
        data: a dataset, or the JSON file that holds one; see `load_dataset` for other formats.
        engine: opens the memory to measure, which is closed afterwards; by default one with all
            defaults, in a temporary folder.
        path: folder to keep that default memory in. The next evaluation there retains only
            items that have changed.
        embedder: of that default memory; see `Hindsight`.
        max_tokens: the token budgets each question is asked with.
        budget: how far recall looks: "low", "mid" or "high".
        limit_questions: most questions asked of each bank.
        every: step through the questions of all banks. Banks without a question are not retained.
        progress: called as the work goes on.

    Raises:
        InvalidInputError: the data or an argument cannot be used.
        HindsightError: an item could not be retained, or a question not be asked at all.
    """
    if engine is not None and not callable(engine):
        raise InvalidInputError(
            f"engine is {validation.shown(engine)}; give a function that opens a memory, since it "
            "is closed afterwards"
        )
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    if engine is not None and (path is not None or embedder is not None):
        raise InvalidInputError(
            "engine is given, and path or embedder too; let the engine choose both"
        )
    with _opened(engine, path, embedder) as memory:
        system = HindsightSystem(memory, dataset.name, budget)
        return measure(system, dataset, max_tokens, limit_questions, every, progress)


def evaluate_baseline(
    data: Dataset | str | os.PathLike[str],
    name: str,
    *,
    embedder: object | None = None,
    max_tokens: Sequence[int] = BUDGETS,
    limit_questions: int | None = None,
    every: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a plain search on the same items: "chroma" or "bm25"; see `evaluate`.

    "chroma" searches with the embedder, by default the one that Chroma itself has.

    Raises:
        InvalidInputError: the data or an argument cannot be used.
        MissingExtraError: "bm25" needs the package bm25s.
    """
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    system = baseline(name, embedder)
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
    budgets = tuple(sorted({validation.positive("max_tokens", tokens) for tokens in max_tokens}))
    if not budgets:
        raise InvalidInputError("max_tokens is empty; give at least one token budget")
    step = validation.positive("every", every)
    if limit_questions is not None:
        validation.positive("limit_questions", limit_questions)
    asked = _selected_questions(dataset, step, limit_questions)
    report = progress or (lambda stage, done, total: None)
    items, questions = sum(len(b.items) for b, _ in asked), sum(len(some) for _, some in asked)
    rows: list[QuestionRow] = []
    made: list[Remembered] = []
    starts = accumulate((len(bank.items) for bank, _ in asked), initial=0)
    for (bank, chosen), start in zip(asked, starts, strict=False):

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


def _selected_questions(
    dataset: Dataset, step: int, limit: int | None
) -> list[tuple[DataBank, tuple[DataQuestion, ...]]]:
    """Return every `step`-th question of the dataset, by bank, at most `limit` per bank."""
    starts = accumulate((len(bank.questions) for bank in dataset.banks), initial=0)
    chosen = (
        (bank, bank.questions[-start % step :: step][:limit])
        for bank, start in zip(dataset.banks, starts, strict=False)
    )
    return [(bank, questions) for bank, questions in chosen if questions]


def _rows(
    system: System, bank: DataBank, questions: Sequence[DataQuestion], budgets: tuple[int, ...]
) -> Iterator[QuestionRow]:
    texts = {item.id: item.text for item in bank.items}
    sessions = {item.id: item.session for item in bank.items if item.session}
    several = len(set(sessions.values())) > 1
    for question in questions:
        started = time.perf_counter()
        largest = system.answer(bank, question, budgets[-1])
        seconds = time.perf_counter() - started
        answers = dict.fromkeys(budgets, largest)
        if system.packs:
            smaller = {b: system.answer(bank, question, b) for b in budgets[:-1]}
            answers |= smaller
        gold_sessions = question.gold_sessions if several else ()
        order = session_order(largest.hits, gold_sessions, texts, sessions)
        hits: dict[int, Sequence[Hit]] = {tokens: a.hits for tokens, a in answers.items()}
        evidence = {id: texts[id] for id in question.gold}
        if question.passages:
            passages = {f"{each.item_id}: {each.text}": each for each in question.passages}
            hits = {tokens: hits_for_passages(some, passages) for tokens, some in hits.items()}
            evidence = {id: passage.text for id, passage in passages.items()}
        gold = tuple(evidence)
        yield QuestionRow(
            bank=bank.id,
            id=question.id,
            question=question.question,
            category=question.category,
            scored=question.scored,
            ranks=gold_ranks(hits[budgets[-1]], gold, evidence),
            figures=figures(hits, gold, evidence) | session_figures(order, gold_sessions),
            tokens=sum(hit.tokens for hit in largest.hits),
            seconds=seconds,
            failures=tuple(dict.fromkeys(f for a in answers.values() for f in a.failures)),
        )


@contextmanager
def _opened(
    engine: Callable[[], Hindsight] | None,
    path: str | os.PathLike[str] | None,
    embedder: object | None,
) -> Iterator[Hindsight]:
    if engine is not None:
        with engine() as memory:
            yield memory
        return
    with ExitStack() as stack:
        folder = path or stack.enter_context(TemporaryDirectory(prefix="hindsight-evaluate-"))
        yield stack.enter_context(Hindsight(folder, embedder=embedder))
