"""Pictures of a recall: arms against ranks with what fits the budget, and why one memory came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from hindsight_integrations import display
from hindsight_integrations.explain import BOOST, arm_reason, why
from hindsight_integrations.models import Arm
from hindsight_integrations.pictures.drawing import (
    SMALL,
    TITLE_SIZE,
    Drawing,
    clean,
    cut,
    wrapped,
)
from hindsight_integrations.pictures.picture import Picture
from hindsight_integrations.scores import ArmScore, PathStep, RankedMemory, RankedResult, Signal
from hindsight_integrations.timespan import day_text

ARMS = {Arm.TEMPORAL: "gold", Arm.ENTITY: "orange", Arm.SEMANTIC: "blue", Arm.KEYWORD: "green"}
"""Colour of each arm, in the order they are drawn."""

DRAWN, DRAWN_LEFT_OUT = 20, 8
"""Memories drawn of a result, and of those left out; the rest is counted."""

WIDTH, ROW, HEAD = 1000.0, 30.0, 104.0
TEXT, FIRST_ARM, ARM_STEP = 430.0, 510.0, 62.0
RELEVANCE, BUDGET, BUDGET_END = 735.0, 830.0, 976.0
"""Layout of a plot, in its units: the text's width, and where each column begins."""

TRACK, TRACK_HEAD, ASK_END, MEMORY = 62.0, 84.0, 224.0, 776.0
"""Layout of the plot of one memory: height of an arm, of the title, end of the question and
beginning of the memory."""

SIGNALS, SIGNAL_BARS = 8, 220.0
"""Signals drawn of a memory, largest first, and where their bars begin."""


@dataclass(frozen=True, repr=False)
class RecallPlot(Picture):
    """Ranks of the memories of a result in each arm, their relevance, and the budget they fill.

    Attributes:
        result: the recall.
    """

    result: RankedResult

    @property
    def title(self) -> str:
        """Title of the picture."""
        return f"Recall: {self.result.query}"

    @property
    def note(self) -> str:
        """Sentence that says what is shown, and what is not."""
        result = self.result
        shown = min(DRAWN, len(result.memories))
        of = f"the best {shown} of " if shown < len(result.memories) else ""
        returned = display.counted(len(result.memories), "memory")
        left = f"; {len(result.left_out)} or more left out" if result.left_out else ""
        return (
            f"{of}{returned} of {result.considered} scored, {result.tokens} of {result.max_tokens} "
            f"tokens{left}"
        )

    def __str__(self) -> str:
        arms = "".join(f"{arm.value:>10}" for arm in ARMS)
        lines = [clean(f"{self.title} ({self.note})"), f"   #  relevance{arms}  tokens  memory"]
        lines += [self._line(item) for item in self.result.memories[:DRAWN]]
        if left := self.result.left_out[:DRAWN_LEFT_OUT]:
            lines.append(f"      left out, beyond {self.result.max_tokens} tokens")
            lines += [self._line(item) for item in left]
        return "\n".join(lines)

    def _line(self, item: RankedMemory) -> str:
        ranks = {score.arm: f"#{score.rank}" for score in item.arms}
        cells = "".join(f"{ranks.get(arm, '·'):>10}" for arm in ARMS)
        text = clean(item.text)[:60]
        return f"{item.rank:>4}  {item.relevance:>9.2f}{cells}  {item.tokens or '':>6}  {text}"

    def _drawing(self) -> Drawing:
        drawn = self.result.memories[:DRAWN]
        left = self.result.left_out[:DRAWN_LEFT_OUT]
        height = HEAD + ROW * (len(drawn) + len(left)) + (30 if left else 0) + 26
        drawing = Drawing(WIDTH, height, self.title, f"{self.note}. {self}")
        title = cut(self.title, WIDTH - 48, TITLE_SIZE)
        drawing.text(24, 32, title, size=TITLE_SIZE, font_weight=600)
        drawing.text(24, 51, self.note, size=SMALL, fill="soft")
        self._draw_heads(drawing)
        used, y = 0, HEAD
        for item in drawn:
            self._draw_row(drawing, item, y)
            self._draw_tokens(drawing, used, item.tokens, y)
            used, y = used + item.tokens, y + ROW
        if left:
            drawing.path(f"M24,{y + 4:.0f}H{WIDTH - 24:.0f}", stroke="soft", stroke_dasharray="5 4")
            drawing.text(24, y + 20, f"left out, beyond {self.result.max_tokens} tokens",
                         size=SMALL, fill="soft")  # fmt: skip
            y += 30
        for item in left:
            self._draw_row(drawing, item, y, faint=True)
            y += ROW
        return drawing

    def _draw_heads(self, drawing: Drawing) -> None:
        y = HEAD - 16
        for number, arm in enumerate(ARMS):
            drawing.text(FIRST_ARM + number * ARM_STEP, y, arm.value, size=SMALL, fill="soft",
                         anchor="middle")  # fmt: skip
        drawing.text(RELEVANCE, y, "relevance", size=SMALL, fill="soft")
        budget = f"budget, {self.result.max_tokens} tokens"
        drawing.text(BUDGET, y, budget, size=SMALL, fill="soft")

    def _draw_row(
        self, drawing: Drawing, item: RankedMemory, y: float, faint: bool = False
    ) -> None:
        middle = y + ROW / 2
        ink = "soft" if faint else "ink"
        drawing.text(44, middle + 4, str(item.rank), anchor="end", fill=ink, font_weight=600)
        lead = item.memory.speaker or item.memory.context
        text = f"{lead}: {item.text}" if lead else item.text
        drawing.text(54, middle + 4, cut(text, TEXT - 28), fill=ink)
        for number, arm in enumerate(ARMS):
            x = FIRST_ARM + number * ARM_STEP
            score = next((score for score in item.arms if score.arm is arm), None)
            if score is None:
                drawing.text(x, middle + 4, "·", fill="soft", anchor="middle")
                continue
            strength = 1 / (1 + log2(score.rank) / 2)
            drawing.mark(x, middle, "circle", 12.0, fill=ARMS[arm],
                         fill_opacity=round(0.5 * strength, 2), stroke=ARMS[arm],
                         stroke_width=0.6 + 1.4 * strength)  # fmt: skip
            drawing.text(x, middle + 4, str(score.rank), size=SMALL, anchor="middle")
        drawing.rect(RELEVANCE, middle - 5, 56, 10, fill="panel")
        drawing.rect(RELEVANCE, middle - 5, 56 * item.relevance, 10, fill="grey")
        drawing.text(RELEVANCE + 60, middle + 4, f"{item.relevance:.2f}", size=SMALL, fill="soft")

    def _draw_tokens(self, drawing: Drawing, used: int, tokens: int, y: float) -> None:
        """Draw which part of the budget a memory takes."""
        scale = (BUDGET_END - BUDGET) / max(1, self.result.max_tokens)
        drawing.rect(BUDGET, y + ROW / 2 - 5, BUDGET_END - BUDGET, 10, fill="panel")
        drawing.rect(BUDGET, y + ROW / 2 - 5, used * scale, 10, fill="line")
        wide = max(1.5, tokens * scale)
        drawing.rect(BUDGET + used * scale, y + ROW / 2 - 5, wide, 10, fill="ink")


@dataclass(frozen=True, repr=False)
class MemoryPlot(Picture):
    """Draw why a memory was recalled: the arms that found it, the path through the graph, signals.

    Attributes:
        item: the memory in its result.
        query: the question, if it is known.
    """

    item: RankedMemory
    query: str = ""

    @property
    def title(self) -> str:
        """Title of the picture."""
        return f"Why memory {self.item.rank} was recalled"

    @property
    def _signals(self) -> list[Signal]:
        shown = [one for one in self.item.signals if not one.name.endswith(BOOST)]
        return shown[:SIGNALS]

    def __str__(self) -> str:
        asked = f": {self.query}" if self.query else ""
        lines = [clean(f"{self.title}{asked}"), f"  {clean(self.item.text)}"]
        lines += [
            clean(f"{score.arm.value} #{score.rank}: {_told(score)}") for score in self.item.arms
        ]
        if not self.item.arms:
            lines.append(f"  {why(self.item)}")
        for signal in self._signals:
            bar = "▇" * max(1, round(4 * abs(signal.contribution)))
            lines.append(f"{signal.name:>20} {signal.contribution:+6.2f} {bar}")
        return "\n".join(lines)

    def _drawing(self) -> Drawing:
        item, arms = (
            self.item,
            [score for arm in ARMS for score in self.item.arms if score.arm is arm],
        )
        tracks = TRACK * max(2, len(arms))
        top = TRACK_HEAD + tracks + 40
        drawing = Drawing(WIDTH, top + 20 * len(self._signals) + 34, self.title, str(self))
        drawing.text(24, 32, self.title, size=TITLE_SIZE, font_weight=600)
        note = f"relevance {item.relevance:.2f}, {item.tokens} tokens of the result"
        drawing.text(24, 51, note, size=SMALL, fill="soft")
        middle = TRACK_HEAD + tracks / 2
        for number, score in enumerate(arms):
            self._draw_track(drawing, score, TRACK_HEAD + TRACK * (number + 0.5), middle)
        if not arms:
            drawing.path(f"M{ASK_END},{middle}H{MEMORY}", stroke="line", stroke_width=2,
                         stroke_dasharray="5 4")  # fmt: skip
            drawing.text(500, middle - 8, why(item), anchor="middle", fill="soft")
        self._draw_box(drawing, 24, ASK_END, middle, "question", self.query or "(the question)")
        said = f"memory, {day_text(item.mentioned_at)}"
        lead = f"{item.memory.speaker}: " if item.memory.speaker else ""
        self._draw_box(drawing, MEMORY, WIDTH - 24, middle, said, f"{lead}{item.text}")
        self._draw_signals(drawing, top)
        return drawing

    def _draw_box(
        self, drawing: Drawing, left: float, right: float, middle: float, head: str, text: str
    ) -> None:
        lines = wrapped(text, right - left - 24, 4)
        tall = 30 + 16 * len(lines)
        drawing.rect(left, middle - tall / 2, right - left, tall, rx=8, fill="panel", stroke="line")
        drawing.text(left + 12, middle - tall / 2 + 17, head, size=SMALL, fill="soft")
        for number, line in enumerate(lines):
            drawing.text(left + 12, middle - tall / 2 + 35 + 16 * number, line)

    def _draw_track(self, drawing: Drawing, score: ArmScore, y: float, middle: float) -> None:
        """Draw one arm as a line from the question to the memory, with its path or its reason."""
        colour, bend = ARMS[score.arm], 46.0
        drawing.path(
            f"M{ASK_END},{middle}C{ASK_END + bend},{middle} {ASK_END},{y} {ASK_END + bend},{y}"
            f"H{MEMORY - bend}C{MEMORY},{y} {MEMORY - bend},{middle} {MEMORY},{middle}",
            stroke=colour, stroke_width=2 + 2 / (1 + log2(score.rank)),
        )  # fmt: skip
        left = ASK_END + bend + 6
        drawing.text(left, y - 8, f"{score.arm.value} #{score.rank}", fill=colour, font_weight=600)
        steps = score.path[:-1]
        if not steps:
            room = MEMORY - bend - left
            drawing.text(left, y + 16, cut(arm_reason(score), room, SMALL), size=SMALL, fill="soft")
            return
        first = left + 96
        step = (MEMORY - bend - first) / len(steps)
        for number, node in enumerate(steps):
            self._draw_step(drawing, node, first + step * (number + 0.5), y, step - 10)

    def _draw_step(self, drawing: Drawing, step: PathStep, x: float, y: float, room: float) -> None:
        if step.kind == "entity":
            drawing.mark(x, y, "circle", 7.0, fill="orange", stroke="paper", stroke_width=2)
            drawing.text(x, y + 21, cut(step.text, room), anchor="middle", font_weight=600)
            return
        drawing.rect(x - 7, y - 7, 14, 14, rx=3, fill="paper", stroke="orange", stroke_width=2)
        label = cut(step.text or "a memory", room, SMALL)
        drawing.text(x, y + 21, label, size=SMALL, anchor="middle", fill="soft")
        if step.link:
            drawing.text(x, y - 12, f"{step.link} link", size=SMALL, anchor="middle", fill="soft")

    def _draw_signals(self, drawing: Drawing, top: float) -> None:
        if not self._signals:
            return
        drawing.text(24, top - 8, "signals: how far each raised or lowered it", size=SMALL,
                     fill="soft")  # fmt: skip
        most = max(0.0, *(one.contribution for one in self._signals))
        least = min(0.0, *(one.contribution for one in self._signals))
        scale = (BUDGET_END - SIGNAL_BARS) / ((most - least) or 1.0)
        zero = SIGNAL_BARS - least * scale
        for number, signal in enumerate(self._signals):
            y = top + 20 * number + 14
            long = abs(signal.contribution) * scale
            raised = signal.contribution >= 0
            drawing.text(150, y + 4, signal.name, anchor="end")
            drawing.text(160, y + 4, f"{signal.contribution:+.2f}", size=SMALL, fill="soft")
            drawing.rect(zero if raised else zero - long, y - 6, long, 12,
                         fill="blue" if raised else "orange")  # fmt: skip
        end = top + 20 * len(self._signals) + 8
        drawing.path(f"M{zero},{top}V{end}", stroke="soft")


def _told(score: ArmScore) -> str:
    """Return the path with the texts of its memories, or the arm's reason."""
    return _path(score.path) or arm_reason(score)


def _path(path: Sequence[PathStep]) -> str:
    told = []
    for step in path[:-1]:
        if step.kind == "entity":
            told.append(step.text)
        else:
            told.append(f"“{cut(step.text, 300)}”" if step.text else "a memory")
    return " → ".join([*told, "this"]) if told else ""
