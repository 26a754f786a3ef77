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
"""Minimum coverage of the event's words by its memory, 0 to 1: a wrong event is worse than none."""

YEARS_BACK = 10
"""Years in which the month, day or season of a question is looked for."""

_PRONOUNS = frozenset("i you he she it we they".split())
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
            delay = (mentioned_at - window.end).total_seconds()
            shortest, longest = AFTERMATHS
            aftermath = min(longest, max(shortest, window.duration * AFTERMATH)).total_seconds()
            best = max(best, 0.5 * max(0.0, 1.0 - delay / aftermath))
    return best


def windows_in_bank(
    graph: GraphStore, bank_id: str, windows: Iterable[TimeWindow], filter: MemoryFilter
) -> dict[TimeSpan, TimeSpan]:
    """Map each window's span to the span that is meant in this bank.

    A window without a year ("in May") that is later than all memories moves back to the latest
    year, of at most `YEARS_BACK`, in which the bank has memories; not if the filter names a time
    itself.
    """
    may_shift_years = filter.window is None

    def has_memories(start: datetime, end: datetime) -> bool:
        window = TimeSpan(start, end)
        return graph.find_ids(bank_id, replace(filter, window=window), 0) is None

    def latest_known(span: TimeSpan) -> TimeSpan:
        if has_memories(span.start, LATEST):
            return span
        for years in range(1, YEARS_BACK + 1):
            start, end = (shift(time, Precision.YEAR, -years) for time in (span.start, span.end))
            if has_memories(start, end):
                return TimeSpan(start, end, span.precision)
        return span

    return {
        window.span: latest_known(window.span) if window.yearly and may_shift_years else window.span
        for window in windows
    }


def search(request: BankSearch) -> list[ArmHit]:
    """Return memories whose time overlaps a window of the question, by date fit plus cosine.

    A window that holds more memories than the arm returns is searched twice: for the memories
    nearest to its middle, and for those in it that are most similar to the question.
    """
    reasons: dict[str, str] = {}
    fits: dict[str, float] = {}

    def keep_best(memory_id: str, fit: float, reason: str) -> None:
        if fit > fits.get(memory_id, 0.0):
            fits[memory_id], reasons[memory_id] = fit, reason

    for window in request.question.windows:
        limit = request.depth.hits
        hits = request.graph.time_search(request.bank_id, window.span, request.filter, limit)
        for hit in hits:
            relation = "said" if hit.kind is TimeKind.MENTIONED else "happened"
            occurred = [hit.span] if hit.kind is TimeKind.OCCURRED else []
            mentioned = hit.span.start if hit.kind is TimeKind.MENTIONED else None
            reason = f"time: {relation} {hit.span.start:%d %b %Y}, in {window.text!r}"
            keep_best(hit.memory_id, date_match(window.span, occurred, mentioned), reason)
        if len(hits) == limit and request.question.embedded:
            window_filter = replace(request.filter, window=window.span)
            for memory_id, _ in semantic.nearest(
                request.graph,
                request.index,
                request.bank,
                request.question.vector,
                window_filter,
                limit,
            ):
                keep_best(memory_id, 0.5, f"time: in {window.text!r}")
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
    """The time window that an anchor means, and the id of the memory that tells its event."""

    window: Window
    memory_id: str


def resolve_event(
    request: BankSearch, anchor: EventAnchor, read: Callable[[str], Question]
) -> ResolvedEvent | None:
    """Find the memory of an anchor's event ("before Alice joined"); None if no memory tells it.

    Args:
        request: the question and the bank.
        anchor: the event's words, and the relation of the window to it.
        read: encodes a text as a `Question`.
    """
    event = read(anchor.event)
    search = request.asking(event)
    fused = reciprocal_rank_fusion(
        [hit.memory_id for hit in arm(search)] for arm in (semantic.search, keyword.search)
    )
    candidates = request.graph.read(request.bank_id, CANDIDATE, list(fused)[:CANDIDATES])
    told = [each for each in candidates.values() if _may_tell(each, anchor.event, event)]
    memory = _best_match(event, told)
    if memory is None:
        return None
    span = anchor_window(anchor, event_time(memory), request.question.asked_at)
    text = f"{anchor.text}: “{_shortened(memory.text)}”"
    return ResolvedEvent(Window(text, span, firm=anchor.offset is not None), memory.id)


def without_event_clauses(question: str, anchors: Iterable[EventAnchor]) -> str:
    """Remove the clauses that only give the time; return the question if nothing else is left.

    "Which room was it in before Alice joined?" asks for rooms: with the window known, memories of
    Alice joining would only be in the way. Clauses with "during" and "right after" stay, as events
    at such times are mostly told together with the anchor's.
    """
    remaining = question
    for anchor in anchors:
        if anchor.relation in _EARLIER or anchor.offset is not None:
            remaining = remaining.replace(anchor.text, " ")
    return " ".join(remaining.split()) if lexemes(remaining) else question


def event_time(memory: Candidate) -> TimeSpan:
    """Return the time of a memory's event: the shortest time it names, else the day it was said."""
    dated = [span for span in memory.occurred if span.precision is not Precision.RANGE]
    if dated:
        return min(dated, key=lambda span: (span.duration, span.start))
    return TimeSpan.of_day(memory.mentioned_at)


def _may_tell(memory: Candidate, words: str, event: Question) -> bool:
    """Return False for "while she was away", of which only one word can be compared, and is not.

    Other memories of somebody called "she" are too much like it.
    """
    is_vague = words.casefold().partition(" ")[0] in _PRONOUNS and len(event.lexemes) < 2
    return not is_vague or not set(event.lexemes).isdisjoint(memory.lexemes)


def _best_match(event: Question, candidates: list[Candidate]) -> Candidate | None:
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
