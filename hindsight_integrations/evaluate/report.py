"""Results of an evaluation: figures by question, by category and overall, and their layout."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations._version import __version__
from hindsight_integrations.evaluate.metrics import columns, hit_columns

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

OVERALL = "overall"
"""Name of the row of means over all scored questions."""

EVERYTHING = "unscored too"
"""Name of the row of means over all questions, if some are not scored."""


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """Figures of one question.

    Attributes:
        ranks: gold item to its rank, None if it did not come back.
        figures: by name, see `metrics.figures` and `metrics.session_figures`.
        tokens: of the answer to the largest budget.
        seconds: duration of the answer to the largest budget.
        failures: parts of the system that failed.
    """

    bank: str
    id: str
    question: str
    category: str
    scored: bool
    ranks: Mapping[str, int | None] = field(hash=False)
    figures: Mapping[str, float] = field(hash=False)
    tokens: int
    seconds: float
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of a system on a dataset.

    Attributes:
        budgets: token budgets asked for, ascending.
        rows: one a question.
        items: items of the banks that were asked.
        memories: memories made of them.
        retain_seconds: time to retain; None if memories were kept from before.
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
        return self._mean([row for row in self.rows if row.scored], columns(self.budgets))

    @property
    def by_category(self) -> Mapping[str, Mapping[str, float]]:
        """Mean figures of each category, by name, unscored questions included."""
        names = columns(self.budgets)
        return {name: self._mean(rows, names) for name, rows in self._categories()}

    @property
    def hits(self) -> Mapping[str, Mapping[str, float]]:
        """Mean hit@k, and recall@k and hit@k by session, of each row of the table, by name.

        Those by session are there if banks have several sessions.
        """
        return {name: self._mean(rows, hit_columns()) for name, rows in self._row_groups()}

    @property
    def items_per_second(self) -> float | None:
        """Items retained a second; None if memories were kept from before."""
        return self.items / self.retain_seconds if self.retain_seconds else None

    @property
    def mean_tokens(self) -> float:
        """Mean tokens of an answer to the largest budget."""
        return float(np.mean([row.tokens for row in self.rows])) if self.rows else 0.0

    @property
    def failures(self) -> Mapping[str, int]:
        """Parts that failed while answering, and how often."""
        return Counter(failure for row in self.rows for failure in row.failures)

    def latency(self, percentile: float) -> float:
        """Return the milliseconds within which this percentage of the questions was answered."""
        if not self.rows:
            return 0.0
        return float(np.percentile([row.seconds for row in self.rows], percentile)) * 1000

    def table(self) -> str:
        """Return all figures as Markdown tables in percent, and a line on speed."""
        tables = [
            markdown_table(["", "questions", *names], [[name, *cells] for name, cells in rows])
            for names, rows in self._tables()
        ]
        return "\n\n".join([*tables, self.summary()])

    def summary(self) -> str:
        """Return speed, size and failures in a line or two."""
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
        """Return everything as JSON values, a row for each question included."""
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
            "hits": self.hits,
            "questions": [asdict(row) for row in self.rows],
        }

    def to_json(self) -> str:
        """Return `content` as JSON text."""
        return json.dumps(self.content(), ensure_ascii=False, indent=1)

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        tables: list[Table] = []
        for names, rows in self._tables():
            table = Table(title=None if tables else f"{self.dataset}: {self.system}")
            table.add_column("")
            for name in ("n", *names):
                table.add_column(name, justify="right")
            for name, cells in rows:
                table.add_row(name, *cells, style="bold" if name == OVERALL else None)
            tables.append(table)
        return Group(*tables, Text(self.summary()))  # a caption would be as narrow as its table

    def _categories(self) -> Iterator[tuple[str, list[QuestionRow]]]:
        for name in sorted({row.category for row in self.rows} - {""}):
            yield name, [row for row in self.rows if row.category == name]

    def _row_groups(self) -> Iterator[tuple[str, list[QuestionRow]]]:
        scored = [row for row in self.rows if row.scored]
        if scored:
            yield OVERALL, scored
        if len(scored) < len(self.rows):
            yield EVERYTHING, list(self.rows)
        yield from self._categories()

    def _tables(self) -> Iterator[tuple[tuple[str, ...], list[tuple[str, list[str]]]]]:
        """Yield the columns of each table, and its rows as label and cells."""
        for names in (columns(self.budgets), hit_columns()):
            known = [name for name in names if any(name in row.figures for row in self.rows)]
            groups = list(self._row_groups())
            means = [(name, len(rows), self._mean(rows, known)) for name, rows in groups]
            rows = [
                (name, [str(count), *(_percent(mean.get(each)) for each in known)])
                for name, count, mean in means
            ]
            yield tuple(known), rows

    def _mean(self, rows: Sequence[QuestionRow], names: Sequence[str]) -> Mapping[str, float]:
        """Return the mean of each figure over the rows that have it."""
        values = {
            name: [row.figures[name] for row in rows if name in row.figures] for name in names
        }
        return {name: float(np.mean(some)) for name, some in values.items() if some}


def comparison(evaluations: Sequence[Evaluation]) -> str:
    """Return the overall figures of several systems on one dataset, as Markdown tables."""
    names, speed = columns(evaluations[0].budgets), "p50 ms"
    rows = [
        [e.system, *(_percent(e.overall.get(name)) for name in names), f"{e.latency(50):.0f}"]
        for e in evaluations
    ]
    hits = [(e.system, e.hits.get(OVERALL, {})) for e in evaluations]
    known = [name for name in hit_columns() if any(name in mean for _, mean in hits)]
    others = [[system, *(_percent(mean.get(name)) for name in known)] for system, mean in hits]
    return "\n\n".join(
        (markdown_table(["", *names, speed], rows), markdown_table(["", *known], others))
    )


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column holds labels, the others numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"
