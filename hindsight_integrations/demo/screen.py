"""Layout of the demo: the story, each question side by side, the tally.

Marks and weight carry the meaning, colours only repeat it. Fits 80 to 100 columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from hindsight_integrations.demo.compare import Answer, Comparison, Hit, K, Retained
from hindsight_integrations.demo.story import Story, StoryQuestion
from hindsight_integrations.explain import window_text
from hindsight_integrations.timespan import day_text

FOUND, MISSING = "✓", "✗"

_GOOD, _BAD = "bold green", "bold red"

_PYTHON = (
    "from hindsight_integrations import Hindsight",
    'memory = Hindsight("./memories"); memory.retain("me", "I moved to Lisbon last week.")',
    'print(memory.recall("me", "Where do I live?").explain())',
)
_COMMAND = 'hindsight-memory demo --question "Who has a cat?"'
"""Commands shown at the end."""


def opening(story: Story) -> RenderableType:
    """Return the panel that introduces the story."""
    first, last = story.messages[0].time, story.messages[-1].time
    *others, final = story.speakers
    text = Text.assemble(
        (f"{len(story.messages)} messages", "bold"),
        f" between {', '.join(others)} and {final}, "
        f"from {day_text(first)} to {day_text(last)}. Jobs change, a launch slips twice, "
        "people who never meet share a project. Each question goes to plain vector search and "
        f"to recall: same messages, same embedder, first {K} answers each.",
    )
    return Panel(text, title="hindsight-memory demo", title_align="left", border_style="cyan")


def retained(done: Retained, messages: int) -> RenderableType:
    """Return the line on what was retained, and how fast."""
    stats = done.stats
    links = sum(stats.links.values())
    line = Text.assemble(
        (f"{FOUND} ", _GOOD),
        (f"{stats.memories} memories", "bold"),
        f", {stats.entities} entities, {links:,} links in {stats.documents} conversations",
    )
    speed = f" retained in {done.seconds:.1f} s, {messages / done.seconds:.0f} messages a second"
    line.append(speed if done.new else " were here already: nothing to do", style="dim")
    return Padding(line, (0, 1, 1, 1))


def comparison(found: Comparison, story: Story, number: int) -> RenderableType:
    """Return a question with the hits of both searches."""
    question = found.question
    title = Text.assemble((f" {number} ", "bold cyan"), (f"{question.kind} ", "dim"))
    columns = Table.grid(expand=True, padding=(0, 2))
    columns.add_column(ratio=1)
    columns.add_column(ratio=1)
    columns.add_row(_head("plain vector search", found.plain), _head("recall", found.recall))
    columns.add_row(_hits(found.plain, question, story), _hits(found.recall, question, story))
    return Group(
        Rule(title, align="left", style="cyan", characters="─"),
        Text(f" {question.question}", style="bold"),
        *_understood(found),
        Padding(columns, (1, 1, 0, 1)),
        *_reasons(found),
        Text(),
    )


def tally(comparisons: Sequence[Comparison], seconds: float) -> RenderableType:
    """Return the score of each search by question and in all, and the next steps."""
    asked = [c for c in comparisons if c.question.evidence]
    table = Table(box=box.SIMPLE_HEAD, expand=True, show_footer=True, pad_edge=False)
    table.add_column("question", footer="all the evidence found", ratio=1, no_wrap=True)
    for name, answers in (
        ("plain", [c.plain for c in asked]),
        ("recall", [c.recall for c in asked]),
    ):
        complete = sum(answer.complete for answer in answers)
        table.add_column(name, footer=f"{complete} of {len(asked)}", justify="right", width=12)
    for found in asked:
        text = Text(found.question.question, overflow="ellipsis")
        table.add_row(text, _score(found.plain), _score(found.recall))
    typical = median(c.recall.seconds for c in comparisons)
    summary = Text.assemble(
        (f"{seconds:.1f} s in all", "bold"),
        f", {typical * 1000:.0f} ms a recall. No LLM, no server, nothing left this machine.",
    )
    summary.append(f"\nAsk your own: {_COMMAND}", style="dim")
    code = Text("\n".join(_PYTHON))
    ahead = Panel(code, title="go on in Python", title_align="left", border_style="green")
    return Group(Rule(style="cyan"), *([table] if asked else []), Padding(summary, (0, 1)), ahead)


def _head(name: str, answer: Answer) -> Text:
    text = Text(name, style="bold underline")
    if answer.ranks:
        style = _GOOD if answer.complete else _BAD
        mark = FOUND if answer.complete else MISSING
        text.append_text(Text(f"  {mark} {answer.found} of {len(answer.ranks)}", style))
    return text


def _hits(answer: Answer, question: StoryQuestion, story: Story) -> RenderableType:
    """Return a line a message, evidence in full; then the evidence that is missing."""
    lines = Table.grid(padding=(0, 1), expand=True)
    lines.add_column(width=1)
    lines.add_column(width=3, justify="right")
    lines.add_column(ratio=1)
    for number, hit in enumerate(answer.hits, start=1):
        lines.add_row(*_hit(number, hit, in_full=hit.is_evidence or not question.evidence))
    for message_id, rank in zip(question.evidence, answer.ranks, strict=True):
        if rank is None or rank > K:
            missing = _one_line(story.message(message_id).line, "red")
            lines.add_row(Text(MISSING, _BAD), Text(str(rank or "-"), _BAD), missing)
    return lines


def _hit(rank: int, hit: Hit, in_full: bool) -> Sequence[RenderableType]:
    style = _GOOD if hit.is_evidence else "dim"
    if in_full:
        shown: RenderableType = Group(Text(hit.message.line), Text(hit.why, "cyan"))
    else:
        shown = _one_line(hit.message.line, "dim")
    return Text(FOUND if hit.is_evidence else "", style), Text(str(rank), style), shown


def _one_line(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _understood(found: Comparison) -> Iterator[RenderableType]:
    """Yield the times and names that recall read in the question."""
    grid = Table.grid(padding=(0, 1))
    for window in found.result.windows:
        grid.add_row("time", Text(window_text(window)))
    if names := found.result.entities_named:
        grid.add_row("names", Text(", ".join(names)))
    if grid.row_count:
        grid.style = "dim"
        yield Padding(grid, (0, 1))


def _reasons(found: Comparison) -> Iterator[RenderableType]:
    """Yield the answer, why plain search fails where it does, and failures of recall."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column()
    if found.question.answer:
        grid.add_row("answer", Text(found.question.answer, "bold"))
    if not found.plain.complete:
        grid.add_row("plain", Text(found.question.why))
    for failure in found.result.failures:
        grid.add_row(Text("FAILED", _BAD), Text(str(failure), _BAD))
    if grid.row_count:
        yield Padding(grid, (1, 1, 0, 1))


def _score(answer: Answer) -> Text:
    mark, style = (FOUND, _GOOD) if answer.complete else (MISSING, _BAD)
    return Text(f"{mark} {answer.found} of {len(answer.ranks)}", style)
