"""`python -m benchmarks.quality.languages`: which languages work how well, with which model.

Forty short memories in each of five languages, the same in all of them, each with a question that
shares few words with it. A question is asked of the forty memories of its language; figures are
those of the memory that answers it. Beside them, banks of 45 memories with 30 questions in thirteen
languages, each of another person and style: notes, chats, diaries, minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.quality.command import show_table
from hindsight_integrations.evaluate.dataset import Dataset, parse_dataset
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.report import Evaluation, markdown_table
from hindsight_integrations.evaluate.run import evaluate, evaluate_baseline
from hindsight_integrations.nlp.model_files import list_models

DATA = Path(__file__).parent / "data" / "languages.jsonl"
BANKS = Path(__file__).parent / "data" / "languages"

BUDGET = 4096


def datasets() -> Mapping[str, Dataset]:
    """Return the dataset of each language, by its name."""
    cases: dict[str, list[dict[str, str]]] = {}
    for line in DATA.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        cases.setdefault(case["language"], []).append(case)
    return {language: _dataset(language, some) for language, some in cases.items()}


def _dataset(language: str, cases: Sequence[Mapping[str, str]]) -> Dataset:
    bank = {
        "id": language,
        "items": [{"id": str(n), "text": case["memory"]} for n, case in enumerate(cases)],
        "questions": [
            {"id": str(n), "question": case["query"], "gold": [str(n)]}
            for n, case in enumerate(cases)
        ],
    }
    return parse_dataset({"dataset": f"languages-{language}", "banks": [bank]})


def cells(evaluation: Evaluation) -> list[str]:
    """Return in percent how often the memory came first, among five, and the mean of 1 / rank."""
    first = sum(rank == 1 for row in evaluation.rows for rank in row.ranks.values())
    figures = (first / len(evaluation.rows), evaluation.overall["R@5"], evaluation.overall["MRR"])
    return [f"{100 * figure:.0f}" for figure in figures]


def table(models: Sequence[str]) -> str:
    """Return the figures of each language: recall and plain Chroma by model, and BM25."""
    rows: list[list[str]] = []
    for language, data in datasets().items():
        for model in models:
            ours = evaluate(data, embedder=model, max_tokens=(BUDGET,))
            chroma = evaluate_baseline(data, "chroma", embedder=model, max_tokens=(BUDGET,))
            rows.append([f"{language}, {model}", *cells(ours), *cells(chroma)])
        plain = evaluate_baseline(data, "bm25", max_tokens=(BUDGET,))
        rows.append([f"{language}, BM25 alone", "", "", "", *cells(plain)])
    names = ("R@1", "R@5", "MRR")
    head = ["", *(f"recall {name}" for name in names), *(f"plain {name}" for name in names)]
    return markdown_table(head, rows)


def bank_table(models: Sequence[str]) -> str:
    """Return R@5 and R@10 of each bank, and their means: recall, plain Chroma and BM25."""
    banks = list(map(load_dataset, sorted(BANKS.glob("*.json"))))
    columns: list[tuple[str, list[Evaluation]]] = []
    for model in models:
        ours = [evaluate(bank, embedder=model, max_tokens=(BUDGET,)) for bank in banks]
        plain = [
            evaluate_baseline(bank, "chroma", embedder=model, max_tokens=(BUDGET,))
            for bank in banks
        ]
        columns += [(model, ours), ("plain", plain)]
    columns.append(
        ("BM25", [evaluate_baseline(bank, "bm25", max_tokens=(BUDGET,)) for bank in banks])
    )
    rows = [
        [bank.name.replace("_", ", "), *(_pair([column[n]]) for _, column in columns)]
        for n, bank in enumerate(banks)
    ]
    rows.append(["mean", *(_pair(column) for _, column in columns)])
    return markdown_table(["R@5 / R@10", *(name for name, _ in columns)], rows)


def _pair(evaluations: Sequence[Evaluation]) -> str:
    """Return the means of R@5 and R@10, in percent."""
    means = [np.mean([each.overall[name] for each in evaluations]) for name in ("R@5", "R@10")]
    return " / ".join(f"{100 * mean:.0f}" for mean in means)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code, 2 if a model cannot be used."""
    ready = [state.model.name for state in list_models() if state.ready]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.languages",
        description="Measure recall in several languages.",
    )
    parser.add_argument("--embedder", nargs="+", default=ready, metavar="MODEL", help="models")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the table there")
    parser.add_argument(
        "--section", default="languages", metavar="NAME", help="section of the page"
    )
    given = parser.parse_args(arguments)
    tables = (table, bank_table)
    return show_table(given, lambda: "\n\n".join(make(given.embedder) for make in tables))


if __name__ == "__main__":
    sys.exit(main())
