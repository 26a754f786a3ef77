"""The temporal arm: memories of the time that the question asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from hindsight_integrations.model import TimeSpan
from hindsight_integrations.recall import meaning
from hindsight_integrations.recall.ports import ArmHit, BankSearch
from hindsight_integrations.storage.requests import (
    TimeKind,
)

AFTERMATH = 0.5
"""Share of a window's length after its end in which people still speak of it."""

AFTERMATHS = timedelta(days=3), timedelta(days=14)
"""The shortest and the longest time that counts as shortly after: a day's event is told for a
few days, a season's not for another season."""


def date_match(
    window: TimeSpan, occurred: Iterable[TimeSpan], mentioned_at: datetime | None
) -> float:
    """How well a memory's times fit a window, from 0 to 1.

    A time that the text names counts by the share of it that lies in the window, as its square
    root, so that "in 2023" says something of May 2023 but less than "7 May" does. The moment it
    was said counts fully inside the window, and less and less shortly after it.
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


def search(request: BankSearch) -> list[ArmHit]:
    """Memories whose time overlaps a window of the question, by fit and likeness.

    A window that holds more memories than the arm returns is read twice: those nearest its
    middle, and those in it that are most like the question.
    """
    reasons: dict[str, str] = {}
    fits: dict[str, float] = {}
    for window in request.question.windows:
        limit = request.depth.hits
        hits = request.graph.time_search(request.bank_id, window.span, request.filter, limit)
        for hit in hits:
            said = "said" if hit.kind is TimeKind.MENTIONED else "happened"
            occurred = [hit.span] if hit.kind is TimeKind.OCCURRED else []
            mentioned = hit.span.start if hit.kind is TimeKind.MENTIONED else None
            _keep(
                fits,
                reasons,
                hit.memory_id,
                date_match(window.span, occurred, mentioned),
                f"time: {said} {hit.span.start:%d %b %Y}, in {window.text!r}",
            )
        if len(hits) == limit:
            inside = replace(request.filter, window=window.span)
            for memory_id, _ in meaning.nearest(
                request.graph, request.index, request.bank, request.question.vector, inside, limit
            ):
                _keep(fits, reasons, memory_id, 0.5, f"time: in {window.text!r}")
    if not fits:
        return []
    vectors = request.graph.vectors(request.bank_id, list(fits))
    found = [
        ArmHit(
            memory_id, fit + float(vectors[memory_id] @ request.question.vector), reasons[memory_id]
        )
        for memory_id, fit in fits.items()
        if memory_id in vectors
    ]
    found.sort(key=lambda hit: (-hit.score, hit.memory_id))
    return found[: request.depth.hits]


def _keep(
    fits: dict[str, float], reasons: dict[str, str], memory_id: str, fit: float, reason: str
) -> None:
    if fit > fits.get(memory_id, 0.0):
        fits[memory_id] = fit
        reasons[memory_id] = reason
