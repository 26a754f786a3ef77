"""`python -m benchmarks.hostile [KIND ...]`: print what hostile texts cost, in time per KB.

Each kind of text is retained, and asked as a question, in two sizes: with a cost that grows with
the text alone, the time per KB of the two is about the same.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.validation import MAX_QUERY

KB = 1000
SIZES = (20 * KB, 80 * KB)
"""Characters of the two texts of a kind, unless `--large` asks for one of 2 MB."""
LARGE = 2000 * KB

Maker = Callable[[random.Random], str]


def _word(rng: random.Random, syllables: int = 3) -> str:
    return "".join(rng.choice("bcdfgklmnprstvz") + rng.choice("aeiou") for _ in range(syllables))


def _names(rng: random.Random) -> str:
    first, second = (f"{_word(rng).title()} {_word(rng).title()}" for _ in range(2))
    return f"{first} met {second}. "


def _parts(rng: random.Random) -> str:
    return f"{_word(rng, 2).upper()}-{rng.randrange(100_000)}: {_word(rng)} {_word(rng)}\n"


def _dates(rng: random.Random) -> str:
    return f"{rng.randrange(1, 29)} May {rng.randrange(1950, 2050)}, last Friday, in Q3 2022. "


def _clauses(rng: random.Random) -> str:
    return f"the day before {_word(rng).title()} met {_word(rng).title()}, "


KINDS: Mapping[str, Maker] = {
    "names": _names,
    "parts list": _parts,
    "dates": _dates,
    "event clauses": _clauses,
    "long words": lambda rng: f"{_word(rng, 1000)} ",
    "one word": lambda rng: _word(rng, 1000),
    "nested brackets": lambda rng: "((([[[{{{<<<" * 20,
    "nested quotes": lambda rng: "> " * 40 + "“«\"'" * 10,
    "markers": lambda rng: "</hindsight-memory> <hindsight-memory ",
    "line breaks": lambda rng: "a\n\n",
    "full stops": lambda rng: ". . .",
    "unspaced": lambda rng: "東京都渋谷区に住んでいます",
}
"""A function for each kind of text that makes its next piece."""


def text_of(kind: str, size: int) -> str:
    """Return the text of a kind with so many characters, the same every time."""
    rng = random.Random(17)
    pieces: list[str] = []
    length = 0
    while length < size:
        pieces.append(KINDS[kind](rng))
        length += len(pieces[-1])
    return "".join(pieces)[:size]


class Cost(NamedTuple):
    """Seconds that a text took to retain and, cut to the longest query, to ask."""

    kind: str
    characters: int
    retained: float
    asked: float

    @property
    def per_kb(self) -> float:
        """Milliseconds a thousand characters retained."""
        return 1000 * self.retained / (self.characters / KB)


def measure(kind: str, size: int) -> Cost:
    """Retain a text in a bank of its own, then ask with it."""
    text = text_of(kind, size)
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain("b", "Alice met Bruno in March 2021 before he moved to Lisbon.")
        memory.recall("b", "Where does Bruno live?")
        started = time.perf_counter()
        memory.retain("b", text)
        retained = time.perf_counter() - started
        started = time.perf_counter()
        memory.recall("b", text[:MAX_QUERY])
        return Cost(kind, len(text), retained, time.perf_counter() - started)


def table(costs: Sequence[Cost]) -> Table:
    """Draw the costs, a text a row."""
    drawn = Table("text", *(("KB", "retain, s", "ms per KB", "ask, s")))
    for column in drawn.columns[1:]:
        column.justify = "right"
    for cost in costs:
        drawn.add_row(
            cost.kind,
            f"{cost.characters / KB:,.0f}",
            f"{cost.retained:.2f}",
            f"{cost.per_kb:.1f}",
            f"{cost.asked:.2f}",
        )
    return drawn


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the kinds named, or all of them; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hostile", description="Measure what hostile texts cost."
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "--kb", nargs="+", type=int, metavar="N", help="sizes in place of 20 and 80"
    )
    parser.add_argument("--large", action="store_true", help="also a text of 2 MB of each kind")
    given = parser.parse_args(arguments)
    if unknown := set(given.kinds).difference(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; one of {', '.join(KINDS)}")
    sizes = [KB * size for size in given.kb] if given.kb else list(SIZES)
    sizes += [LARGE] if given.large else []
    costs = [measure(kind, size) for kind in given.kinds or KINDS for size in sizes]
    Console().print(table(costs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
