"""Explanation of a recall: one layout for terminals, plain text and notebooks.

Everything shown is in the `RecallResult`; nothing is computed again, so a stored result can be
explained at any time.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hindsight_integrations.display import counted
from hindsight_integrations.models import Arm
from hindsight_integrations.rendering import Visible
from hindsight_integrations.scores import ArmScore, RankedMemory, RankedResult, Signal, Window
from hindsight_integrations.timespan import day_text

PLAIN_WIDTH = 96
"""Width of the plain text, and of the notebook's block, in columns."""

DETAILED = 10
"""Memories explained in full; the rest take a line each."""

SIGNALS = 5
"""Signals listed of a memory, largest first."""

BAR = 10
"""Width of the longest bar, in columns."""

SIGNALS_WIDTH = 34
"""Width of the signals, in columns; the arms and their reasons have the rest."""

BOOST = " boost"
"""Suffix of the names of boosts."""

_LAST_STEP = " → a memory"
"""End of a path through the graph: the memory explained."""

_TELLING = (Arm.TEMPORAL, Arm.KEYWORD, Arm.SEMANTIC, Arm.ENTITY)
"""Arms by how much their reasons say: decides between two that ranked a memory alike."""

SURROUNDINGS = {
    "neighbours": "the messages beside it fit",
    "second neighbours": "messages near it fit",
    "session": "its conversation fits",
    "speaker": "said by the one asked about",
    "pagerank": "the best hits lead to it",
    "shared name": "shares a rare name with a best hit",
    "answers": "answers a question like this one",
    "event": "tells the event that the question counts from",
    "residual": "covers what the best hits lack",
    "feedback": "like the best hits together",
    "lasting fact": "says what is always so of somebody",
}
"""Signals that no arm reports, in plain words."""

PLAIN = {
    **SURROUNDINGS,
    "meaning": "close in meaning",
    "interaction": "its words fit those of the question",
    "terms": "has words of the question that are rare here",
    "date": "of the time asked for",
    "newer version": "the newest of several statements of the same",
    "fusion": "found by several searches",
}
"""Signals that can decide, in plain words."""

FROM_BEST = frozenset({"pagerank", "residual", "feedback"})
"""Signals that come from the best hits: of these themselves they say nothing."""

BEST = 3
"""Best hits that give such signals to the others."""

TELLING_CONTRIBUTION = 0.5
"""Contribution from which such a signal is named."""

DECIDING = 2
"""Signals named as those that decided."""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A recall explained: print it, leave it at the end of a notebook cell, or give it to rich.

    Attributes:
        result: the recall.
        detailed: memories explained in full; the rest take a line each.
    """

    result: RankedResult
    detailed: int = DETAILED

    def __rich__(self) -> RenderableType:
        """The layout for rich."""
        return Visible(Group(*_sections(self.result, self.detailed)))

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


def why(item: RankedMemory) -> str:
    """Return in one line why a memory was found: its best arm, and its strongest other signal."""
    parts = []
    if item.arms:
        best = min(item.arms, key=lambda score: (score.rank, _TELLING.index(score.arm)))
        parts.append(f"{best.arm} #{best.rank}: {arm_reason(best)}")
    around = [s for s in item.signals if s.name in SURROUNDINGS]
    strongest = max(around, key=lambda signal: signal.contribution, default=None)
    if strongest and strongest.contribution >= TELLING_CONTRIBUTION:
        parts.append(SURROUNDINGS[strongest.name])
    return "; ".join(parts) or "near what the arms found"


def deciding(lifts: Mapping[str, float], shared_name: str | None, rank: int = 0) -> Iterator[str]:
    """Yield the signals that raised a memory most above the others, each with how far.

    Only signals that speak for a memory are named: that one is not a question, or states something,
    lifts it above those that are or do not, and is no reason.

    Args:
        lifts: by how much each signal raises the memory above the mean of those ranked.
        shared_name: rare name by which it was drawn to one of the best hits.
        rank: its place, from 1; 0 if it is not known.
    """
    own = FROM_BEST if 0 < rank <= BEST else frozenset[str]()
    telling = [
        name
        for name, lift in lifts.items()
        if lift >= TELLING_CONTRIBUTION
        and ((name in PLAIN and name not in own) or name.startswith("reranker "))
    ]
    for name in sorted(telling, key=lambda name: (-lifts[name], name))[:DECIDING]:
        plain = PLAIN.get(name, name)
        if name == "shared name" and shared_name:
            plain = f"shares the rare name {shared_name} with a best hit"
        yield f"{plain}: {lifts[name]:+.1f}"


def arm_reason(score: ArmScore) -> str:
    """Return an arm's reason without its first word, which only repeats the arm."""
    _, _, reason = score.reason.partition(": ")
    if reason.endswith(_LAST_STEP):
        return f"{reason.removesuffix(_LAST_STEP)} → this"
    return reason or score.reason


def said_by(item: RankedMemory) -> str:
    """Return the speaker of a memory, or its context, and the day."""
    memory = item.memory
    lead = memory.speaker or memory.context
    day = day_text(memory.mentioned_at)
    return f"{lead}, {day}" if lead else day


def window_text(window: Window) -> str:
    """Return the words of a question that name a time, and that time."""
    return f"{window.text} = {window.span!s}"


def _console(*, width: int, record: bool = False) -> Console:
    """Return a console that writes nowhere, whatever terminal or notebook this process runs in."""
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


def _sections(result: RankedResult, detailed: int) -> Iterator[RenderableType]:
    if result.failures:
        yield _failures(result)
    yield Panel(_question(result), title="recall", title_align="left", border_style="cyan")
    for item in result.memories[:detailed]:
        yield _detail(item)
    yield from _brief("Also returned", result.memories[detailed:])
    yield from _brief(f"Left out, beyond {result.max_tokens} tokens", result.left_out)
    yield _timings(result)


def _failures(result: RankedResult) -> RenderableType:
    lines = [Text(str(failure)) for failure in result.failures]
    advice = Text("The answer below was made without them.", style="dim")
    title = f"{counted(len(lines), 'part')} of this recall FAILED"
    return Panel(Group(*lines, advice), title=title, title_align="left", border_style="bold red")


def _question(result: RankedResult) -> RenderableType:
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
    for note in result.notes:
        facts.add_row("note", Text(note, style="yellow"))
    return facts


def _size(result: RankedResult) -> str:
    if not result.memories:
        return f"nothing, of {result.considered} memories scored"
    size = (
        f"{counted(len(result.memories), 'memory')} of {result.considered} scored, "
        f"{result.tokens} of {result.max_tokens} tokens"
    )
    return f"{size}; the best was cut to fit" if result.truncated else size


def _detail(item: RankedMemory) -> RenderableType:
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


def _brief(title: str, items: Sequence[RankedMemory]) -> Iterator[RenderableType]:
    """Yield a table with a line a memory: rank, score, ranks in the arms, and text."""
    if not items:
        return
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(justify="right", style="cyan", width=3)
    table.add_column(width=4)
    table.add_column(style="dim", width=max(len(_arm_ranks(item)) for item in items))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for item in items:
        table.add_row(str(item.rank), f"{item.score:.2f}", _arm_ranks(item), Text(item.line))
    legend = ", ".join(f"{arm[0].upper()} {arm}" for arm in Arm)
    head = Text.assemble((title, "bold"), (f"  (rank in {legend})", "dim"))
    yield Padding(Group(head, table), (1, 0, 0, 0))


def _arm_ranks(item: RankedMemory) -> str:
    return " ".join(f"{score.arm[0].upper()}{score.rank}" for score in item.arms)


def _timings(result: RankedResult) -> RenderableType:
    timings = result.timings or {}
    parts: Iterable[str] = (
        f"{stage} {seconds * 1000:.0f}" for stage, seconds in timings.items() if stage != "total"
    )
    total = f"{timings['total'] * 1000:.0f} ms" if "total" in timings else "not timed"
    line = Text(f"{total}", style="bold")
    if detail := ", ".join(parts):
        line.append(f"  ({detail})", style="dim")
    return Padding(line, (1, 0, 0, 0))
