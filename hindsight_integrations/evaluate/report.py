"""What an evaluation found: figures by question, by category and overall, and how they print."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations._version import __version__
from hindsight_integrations.evaluate.metrics import columns
from hindsight_integrations.evaluate.sections import markdown_table

if TYPE_CHECKING:
    from rich.table import Table

OVERALL = "overall"
"""Name of the row over all scored questions."""


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One question and how it was answered.

    Attributes:
        ranks: gold item to the rank it came back at, None if it did not.
        figures: by name, see `metrics.figures`.
        tokens: of the answer to the largest budget.
        seconds: that the answer to the largest budget took.
        failures: parts of the system that failed on the way.
    """

    bank: str
    id: str
    question: str
    category: str
    scored: bool
    ranks: Mapping[str, int | None]
    figures: Mapping[str, float]
    tokens: int
    seconds: float
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a system reached on a dataset.

    Attributes:
        budgets: token budgets asked for, ascending.
        rows: one a question.
        items: items of the banks that were asked.
        memories: memories they made.
        retain_seconds: what remembering took; None if memories were kept from before.
    """

    dataset: str
    system: str
    budgets: tuple[int, ...]
    rows: tuple[QuestionRow, ...]
    items: int
    memories: int
    retain_seconds: float | None

    @property
    def overall(self) -> Mapping[str, float]:
        """Mean figures of the scored questions; empty if there are none."""
        return self._mean([row for row in self.rows if row.scored])

    @property
    def by_category(self) -> Mapping[str, Mapping[str, float]]:
        """Mean figures of each category, by name, unscored questions included."""
        return {name: self._mean(rows) for name, rows in self._categories()}

    @property
    def items_per_second(self) -> float | None:
        """Items remembered a second; None if memories were kept from before."""
        return self.items / self.retain_seconds if self.retain_seconds else None

    @property
    def mean_tokens(self) -> float:
        """Tokens of an answer to the largest budget."""
        return float(np.mean([row.tokens for row in self.rows])) if self.rows else 0.0

    @property
    def failures(self) -> Mapping[str, int]:
        """What failed on the way to an answer, and how often."""
        return Counter(failure for row in self.rows for failure in row.failures)

    def latency(self, percentile: float) -> float:
        """Milliseconds within which this percentage of the questions was answered."""
        if not self.rows:
            return 0.0
        return float(np.percentile([row.seconds for row in self.rows], percentile)) * 1000

    def table(self) -> str:
        """All figures as a Markdown table in percent, and a line on speed."""
        rows = [[name, *cells] for name, cells in self._cells()]
        head = ["", "questions", *columns(self.budgets)]
        return f"{markdown_table(head, rows)}\n\n{self.summary()}"

    def summary(self) -> str:
        """Speed, size and failures in a line or two."""
        rate = self.items_per_second
        retained = f"retained at {rate:.0f} items/s" if rate else "retained before"
        lines = [
            f"{self.items:,} items, {self.memories:,} memories, {retained}; answers took "
            f"{self.latency(50):.0f} ms (p50) and {self.latency(95):.0f} ms (p95) and "
            f"{self.mean_tokens:,.0f} tokens of {self.budgets[-1]:,}."
        ]
        lines += [f"Failed {count} times: {what}" for what, count in self.failures.items()]
        return "\n".join(lines)

    def content(self) -> dict[str, object]:
        """Everything in the terms of JSON, each question's row included."""
        return {
            "dataset": self.dataset,
            "system": self.system,
            "version": __version__,
            "budgets": self.budgets,
            "items": self.items,
            "memories": self.memories,
            "items_per_second": self.items_per_second,
            "p50_ms": self.latency(50),
            "p95_ms": self.latency(95),
            "mean_tokens": self.mean_tokens,
            "failures": self.failures,
            "overall": self.overall,
            "by_category": self.by_category,
            "questions": [asdict(row) for row in self.rows],
        }

    def to_json(self) -> str:
        """`content` as text."""
        return json.dumps(self.content(), ensure_ascii=False, indent=1)

    def __rich__(self) -> Table:
        from rich.table import Table

        table = Table(title=f"{self.dataset}: {self.system}", caption=self.summary())
        table.add_column("")
        for name in ("n", *columns(self.budgets)):
            table.add_column(name, justify="right")
        for name, cells in self._cells():
            table.add_row(name, *cells, style="bold" if name == OVERALL else None)
        return table

    def _categories(self) -> Iterator[tuple[str, list[QuestionRow]]]:
        for name in sorted({row.category for row in self.rows} - {""}):
            yield name, [row for row in self.rows if row.category == name]

    def _cells(self) -> Iterator[tuple[str, list[str]]]:
        scored = [row for row in self.rows if row.scored]
        for name, rows in ((OVERALL, scored), *self._categories()):
            if rows:
                yield name, [str(len(rows)), *_percent(self._mean(rows))]

    def _mean(self, rows: Sequence[QuestionRow]) -> Mapping[str, float]:
        if not rows:
            return {}
        return {
            name: float(np.mean([row.figures[name] for row in rows]))
            for name in columns(self.budgets)
        }


def comparison(evaluations: Sequence[Evaluation]) -> str:
    """The overall figures of several systems on one dataset, as a Markdown table in percent."""
    head = ["", *columns(evaluations[0].budgets), "p50 ms"]
    rows = [[e.system, *_percent(e.overall), f"{e.latency(50):.0f}"] for e in evaluations]
    return markdown_table(head, rows)


def _percent(figures: Mapping[str, float]) -> list[str]:
    return [f"{100 * value:.1f}" for value in figures.values()]
