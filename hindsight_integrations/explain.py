"""Why a recall returned what it did: one layout for terminals, plain text and notebooks.

Everything shown is in the `RecallResult`; nothing is computed again, so an explanation can be
drawn at any time, also of a result that was kept.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, timedelta

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hindsight_integrations.results import Arm, ArmScore, Recalled, RecallResult, Signal, Window
from hindsight_integrations.timespan import TimeSpan, day_text

PLAIN_WIDTH = 96
"""Columns of the plain text, and of the notebook's block."""

DETAILED = 10
"""Memories explained in full; the rest take a line each."""

SIGNALS = 5
"""Signals listed of a memory, the largest."""

BAR = 10
"""Columns of the longest bar."""

SIGNALS_WIDTH = 34
"""Columns of the signals; the arms and their reasons have the rest."""

BOOST = " boost"
"""How the names of the multiplicative boosts end."""

_LAST_STEP = " → a memory"
"""How a path through the graph ends: at the memory that is explained."""

_TELLING = (Arm.TEMPORAL, Arm.PATHWAY, Arm.MEANING, Arm.ENTITY)
"""Of two arms that ranked a memory alike, the one whose reason says more."""

SURROUNDINGS = {
    "neighbours": "the messages beside it fit",
    "further": "messages near it fit",
    "session": "its conversation fits",
    "speaker": "said by the one asked about",
    "pagerank": "the best hits lead to it",
    "shared name": "shares a rare name with a best hit",
    "answers": "answers a question like this one",
    "event": "tells the event that the question counts from",
    "residual": "covers what the best hits lack",
}
"""Signals that no arm tells of, in plain words."""

TELLING_CONTRIBUTION = 0.5
"""From which such a signal is worth naming."""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A recall, explained: print it, leave it at the end of a notebook cell, or give it to rich.

    Attributes:
        result: the recall.
        detailed: memories explained in full; the rest take a line each.
    """

    result: RecallResult
    detailed: int = DETAILED

    def __rich__(self) -> RenderableType:
        """The layout for rich."""
        return Group(*_sections(self.result, self.detailed))

    def __str__(self) -> str:
        console = _console(width=PLAIN_WIDTH)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        console = _console(width=PLAIN_WIDTH, record=True)
        console.print(self)
        block = '<pre style="line-height: 1.3; white-space: pre">{code}</pre>'
        return console.export_html(inline_styles=True, code_format=block)


def explain(result: RecallResult, *, detailed: int = DETAILED) -> Explanation:
    """Why a recall returned what it did.

    Args:
        result: the recall.
        detailed: memories explained in full; the rest take a line each.
    """
    return Explanation(result, detailed)


def why(item: Recalled) -> str:
    """In one line, what brought a memory up: its best arm, and what its surroundings add."""
    parts = []
    if item.arms:
        best = min(item.arms, key=lambda score: (score.rank, _TELLING.index(score.arm)))
        parts.append(f"{best.arm} #{best.rank}: {arm_reason(best)}")
    around = [s for s in item.signals if s.name in SURROUNDINGS]
    strongest = max(around, key=lambda signal: signal.contribution, default=None)
    if strongest and strongest.contribution >= TELLING_CONTRIBUTION:
        parts.append(SURROUNDINGS[strongest.name])
    return "; ".join(parts) or "near what the arms found"


def arm_reason(score: ArmScore) -> str:
    """An arm's reason without the word that only repeats which arm it is."""
    _, _, reason = score.reason.partition(": ")
    if reason.endswith(_LAST_STEP):
        return f"{reason.removesuffix(_LAST_STEP)} → this"
    return reason or score.reason


def said_by(item: Recalled) -> str:
    """Who said a memory, or what it is about, and on which day."""
    memory = item.memory
    lead = memory.speaker or memory.context
    day = day_text(memory.mentioned_at)
    return f"{lead}, {day}" if lead else day


def span_text(span: TimeSpan) -> str:
    """A stretch of time in days, both ends included, or in minutes where it is shorter."""
    last = span.end - timedelta(microseconds=1)
    if span.end.year == MAXYEAR:
        return f"since {day_text(span.start)}" if span.start.year > MINYEAR else "any time"
    if span.start.year == MINYEAR:
        return f"until {day_text(last)}"
    if span.duration < timedelta(days=1):
        return f"{day_text(span.start)}, {span.start:%H:%M} to {span.end:%H:%M}"
    if span.start.date() == last.date():
        return day_text(last)
    return f"{day_text(span.start)} to {day_text(last)}"


def window_text(window: Window) -> str:
    """What words of a question were taken for a time, and for which."""
    return f"{window.text} = {span_text(window.span)}"


def _console(*, width: int, record: bool = False) -> Console:
    """A console that writes nowhere, whatever terminal or notebook this process runs in."""
    return Console(
        file=io.StringIO(),
        width=width,
        record=record,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
        highlight=False,
    )


def _sections(result: RecallResult, detailed: int) -> Iterator[RenderableType]:
    if result.failures:
        yield _failures(result)
    yield Panel(_question(result), title="recall", title_align="left", border_style="cyan")
    for item in result.memories[:detailed]:
        yield _detail(item)
    yield from _brief("Also returned", result.memories[detailed:])
    yield from _brief(f"Left out, beyond {result.max_tokens} tokens", result.left_out)
    yield _timings(result)


def _failures(result: RecallResult) -> RenderableType:
    lines = [Text(str(failure)) for failure in result.failures]
    advice = Text("The answer below was made without them.", style="dim")
    title = f"{len(lines)} part{'s' * (len(lines) > 1)} of this recall FAILED"
    return Panel(Group(*lines, advice), title=title, title_align="left", border_style="bold red")


def _question(result: RecallResult) -> RenderableType:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    facts.add_row("question", Text(result.query, style="bold"))
    facts.add_row("bank", Text(", ".join(result.bank_ids)))
    if result.query_time:
        facts.add_row("asked on", day_text(result.query_time))
    times = [Text(window_text(window)) for window in result.windows]
    facts.add_row("times", Group(*times) if times else Text("none named", style="dim"))
    names = ", ".join(result.entities_named)
    facts.add_row("names", Text(names) if names else Text("none that the bank knows", style="dim"))
    facts.add_row("answer", _size(result))
    return facts


def _size(result: RecallResult) -> str:
    if not result.memories:
        return f"nothing, of {result.considered} memories scored"
    returned = len(result.memories)
    size = (
        f"{returned} memor{'y' if returned == 1 else 'ies'} of {result.considered} scored, "
        f"{result.tokens} of {result.max_tokens} tokens"
    )
    return f"{size}; the best was cut to fit" if result.truncated else size


def _detail(item: Recalled) -> RenderableType:
    head = Text.assemble(
        (f"{item.rank:>2}", "bold cyan"), f"  {item.score:.2f}  ", (said_by(item), "bold")
    )
    head.append(f"  {item.tokens} tokens  {item.id}", style="dim")
    columns = Table.grid(padding=(0, 3), expand=True)
    columns.add_column(ratio=1)
    columns.add_column(width=SIGNALS_WIDTH)
    columns.add_row(_arms(item.arms), _signals(item.signals))
    body = Group(Text(item.memory.text), columns)
    return Padding(Group(head, Padding(body, (0, 0, 0, 4))), (1, 0, 0, 0))


def _arms(scores: Sequence[ArmScore]) -> RenderableType:
    if not scores:
        return Text("found by no arm of its own", style="dim")
    table = Table.grid(padding=(0, 1))
    table.add_column(style="green", width=max(map(len, Arm)))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for score in sorted(scores, key=lambda s: (s.rank, s.arm)):
        number = f"{score.score:.2f}"
        table.add_row(score.arm, f"#{score.rank}", number, Text(arm_reason(score)))
    return table


def _signals(signals: Sequence[Signal]) -> RenderableType:
    main = [signal for signal in signals if not signal.name.endswith(BOOST)][:SIGNALS]
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, max_width=18)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    largest = max((abs(signal.contribution) for signal in main), default=0.0) or 1.0
    for signal in main:
        style = "cyan" if signal.contribution >= 0 else "red"
        bar = "▇" * max(1, round(BAR * abs(signal.contribution) / largest))
        table.add_row(Text(signal.name), f"{signal.contribution:+.2f}", Text(bar, style))
    boosts = [signal for signal in signals if signal.name.endswith(BOOST) and signal.value != 1]
    named = ", ".join(f"{s.name.removesuffix(BOOST)} ×{s.value:.2f}" for s in boosts)
    return Group(table, Text(f"boosts {named}", style="dim")) if named else table


def _brief(title: str, items: Sequence[Recalled]) -> Iterator[RenderableType]:
    """A line for each: its rank and score, its rank in the arms that found it, and its text."""
    if not items:
        return
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(justify="right", style="cyan", width=3)
    table.add_column(width=4)
    table.add_column(style="dim", width=max(len(_places(item)) for item in items))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for item in items:
        table.add_row(str(item.rank), f"{item.score:.2f}", _places(item), Text(item.text))
    legend = ", ".join(f"{arm[0].upper()} {arm}" for arm in Arm)
    head = Text.assemble((title, "bold"), (f"  (rank in {legend})", "dim"))
    yield Padding(Group(head, table), (1, 0, 0, 0))


def _places(item: Recalled) -> str:
    return " ".join(f"{score.arm[0].upper()}{score.rank}" for score in item.arms)


def _timings(result: RecallResult) -> RenderableType:
    timings = result.timings or {}
    parts: Iterable[str] = (
        f"{stage} {seconds * 1000:.0f}" for stage, seconds in timings.items() if stage != "total"
    )
    total = f"{timings['total'] * 1000:.0f} ms" if "total" in timings else "not timed"
    line = Text(f"{total}", style="bold")
    if detail := ", ".join(parts):
        line.append(f"  ({detail})", style="dim")
    return Padding(line, (1, 0, 0, 0))
