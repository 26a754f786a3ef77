"""The temporal arm: memories of the time that the query asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hindsight_integrations.models import Precision, TimeSpan
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.late_interaction import maxsim, token_shares, token_table
from hindsight_integrations.nlp.time import EventAnchor, TimeWindow, anchor_window
from hindsight_integrations.nlp.time.calendar import LATEST, shift
from hindsight_integrations.recall.arms import keyword, semantic
from hindsight_integrations.recall.base import ArmHit, BankSearch, Question
from hindsight_integrations.recall.scaling import reciprocal_rank_fusion
from hindsight_integrations.results import Window
from hindsight_integrations.stores.base import (
    CANDIDATE,
    VECTOR,
    Candidate,
    GraphStore,
    MemoryFilter,
    TimeKind,
)

AFTERMATH = 0.5
"""Share of a window's length after its end in which people still speak of it."""

AFTERMATHS = timedelta(days=3), timedelta(days=14)
"""Shortest and longest time that counts as shortly after: a day's event is told for a few days, a
season's not for another season."""

CANDIDATES = 15
"""Memories looked at as the event that a question counts from."""

LEAST_COVERAGE = 0.6
"""Share of the event's words, 0 to 1, that its memory must hold: a guess is worse than none."""

YEARS_BACK = 10
"""Years in which the month, day or season of a question is looked for."""

_EARLIER = frozenset({"before", "until"})


def date_match(
    window: TimeSpan, occurred: Iterable[TimeSpan], mentioned_at: datetime | None
) -> float:
    """Return how well a memory's times fit a window, from 0 to 1.

    A time that the text names counts by the share of it that lies in the window, as its square
    root, so that "in 2023" says something of May 2023 but less than "7 May" does. The time it was
    said counts 1 inside the window, and from 0.5 down to 0 shortly after it.
    """
    best = 0.0
    for span in occurred:
        shared = (min(span.end, window.end) - max(span.start, window.start)).total_seconds()
        if shared > 0:
            best = max(best, (shared / span.duration.total_seconds()) ** 0.5)
    if mentioned_at is not None:
        if window.contains(mentioned_at):
            best = max(best, 1.0)
        elif mentioned_at >= window.end:
            late = (mentioned_at - window.end).total_seconds()
            shortest, longest = AFTERMATHS
            reach = min(longest, max(shortest, window.duration * AFTERMATH)).total_seconds()
            best = max(best, 0.5 * max(0.0, 1.0 - late / reach))
    return best


def in_bank(
    graph: GraphStore, bank_id: str, windows: Iterable[TimeWindow], filter: MemoryFilter
) -> dict[TimeSpan, TimeSpan]:
    """Return the spans of the windows as this bank means them, by what they are today.

    "In May", asked of notes of which none is as late as this year's May, is the latest May that
    they know of; unless the filter names a time itself.
    """
    open_to_years = filter.window is None

    def known(start: datetime, end: datetime) -> bool:
        window = TimeSpan(start, end)
        return graph.find_ids(bank_id, replace(filter, window=window), 1) != []

    def meant(span: TimeSpan) -> TimeSpan:
        if known(span.start, LATEST):
            return span
        for years in range(1, YEARS_BACK + 1):
            start, end = (shift(time, Precision.YEAR, -years) for time in (span.start, span.end))
            if known(start, end):
                return TimeSpan(start, end, span.precision)
        return span

    return {
        each.span: meant(each.span) if each.yearly and open_to_years else each.span
        for each in windows
    }


def search(request: BankSearch) -> list[ArmHit]:
    """Return memories whose time overlaps a window of the question, by fit plus cosine.

    A window that holds more memories than the arm returns is read twice: those nearest its
    middle, and those in it that are most like the question.
    """
    reasons: dict[str, str] = {}
    fits: dict[str, float] = {}

    def keep(memory_id: str, fit: float, reason: str) -> None:
        if fit > fits.get(memory_id, 0.0):
            fits[memory_id], reasons[memory_id] = fit, reason

    for window in request.question.windows:
        limit = request.depth.hits
        hits = request.graph.time_search(request.bank_id, window.span, request.filter, limit)
        for hit in hits:
            said = "said" if hit.kind is TimeKind.MENTIONED else "happened"
            occurred = [hit.span] if hit.kind is TimeKind.OCCURRED else []
            mentioned = hit.span.start if hit.kind is TimeKind.MENTIONED else None
            reason = f"time: {said} {hit.span.start:%d %b %Y}, in {window.text!r}"
            keep(hit.memory_id, date_match(window.span, occurred, mentioned), reason)
        if len(hits) == limit and request.question.embedded:
            inside = replace(request.filter, window=window.span)
            for memory_id, _ in semantic.nearest(
                request.graph, request.index, request.bank, request.question.vector, inside, limit
            ):
                keep(memory_id, 0.5, f"time: in {window.text!r}")
    if not fits:
        return []
    vectors = request.graph.read(request.bank_id, VECTOR, list(fits))
    query = request.question.vector
    ranked = [
        ArmHit(memory_id, fit + float(vectors[memory_id] @ query), reasons[memory_id])
        for memory_id, fit in fits.items()
        if memory_id in vectors
    ]
    ranked.sort(key=lambda hit: (-hit.score, hit.memory_id))
    return ranked[: request.depth.hits]


@dataclass(frozen=True, slots=True)
class ResolvedEvent:
    """The window that an anchor asks for, and the id of the memory that tells its event."""

    window: Window
    memory_id: str


def resolve(
    request: BankSearch, anchor: EventAnchor, read: Callable[[str], Question]
) -> ResolvedEvent | None:
    """Find the event of an anchor in the bank; None if no memory tells it.

    Args:
        request: the question and the bank.
        anchor: the event's words, and the position of the window relative to it.
        read: turns a text into a `Question`.
    """
    event = read(anchor.event)
    search = request.asking(event)
    fused = reciprocal_rank_fusion(
        [hit.memory_id for hit in arm(search)] for arm in (semantic.search, keyword.search)
    )
    found = request.graph.read(request.bank_id, CANDIDATE, list(fused)[:CANDIDATES])
    memory = _best(event, list(found.values()))
    if memory is None:
        return None
    span = anchor_window(anchor, happened(memory), request.question.asked_at)
    text = f"{anchor.text}: “{_shortened(memory.text)}”"
    return ResolvedEvent(Window(text, span, firm=anchor.offset is not None), memory.id)


def without(question: str, anchors: Iterable[EventAnchor]) -> str:
    """Remove the clauses that only told the time; return the question if nothing else is left.

    "Which room was it in before Alice joined?" asks for rooms: with the window known, what is
    said of Alice joining would only stand in the way. Of what came during an event or right after
    it, people mostly speak in the same breath: those clauses stay.
    """
    rest = question
    for anchor in anchors:
        if anchor.relation in _EARLIER or anchor.offset is not None:
            rest = rest.replace(anchor.text, " ")
    return " ".join(rest.split()) if lexemes(rest) else question


def happened(memory: Candidate) -> TimeSpan:
    """Return when the event of a memory took place: its most exact time, or the day it was said."""
    dated = [span for span in memory.occurred if span.precision is not Precision.RANGE]
    if dated:
        return min(dated, key=lambda span: (span.duration, span.start))
    return TimeSpan.of_day(memory.mentioned_at)


def _best(event: Question, candidates: list[Candidate]) -> Candidate | None:
    if not candidates:
        return None
    if event.tokens is None:
        best = max(candidates, key=lambda memory: (float(memory.vector @ event.vector), memory.id))
        return best if float(best.vector @ event.vector) >= LEAST_COVERAGE else None
    stored = [candidate.interaction for candidate in candidates]
    scores = maxsim(event.tokens, stored, token_shares(event.tokens, token_table(stored)))
    index = int(scores.argmax())
    return candidates[index] if scores[index] >= LEAST_COVERAGE else None


def _shortened(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
