"""Times told by events: "before Alice joined Google" asks for the time before a memory's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hindsight_integrations.language.interaction import held_tokens, maxsim, token_shares
from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.language.time import EventAnchor, anchor_window
from hindsight_integrations.model import Precision, TimeSpan
from hindsight_integrations.recall import meaning, pathway
from hindsight_integrations.recall.fuse import reciprocal_rank_fusion
from hindsight_integrations.recall.ports import BankSearch, Question
from hindsight_integrations.results import Window
from hindsight_integrations.storage.requests import Candidate

CANDIDATES = 15
"""Memories looked at as the event."""

LEAST_COVERAGE = 0.6
"""How much of the event's words the memory must hold, 0 to 1: a guess would be worse than none."""

_EARLIER = frozenset({"before", "until"})


@dataclass(frozen=True, slots=True)
class Told:
    """The window that an anchor asks for, and the memory that tells the event."""

    window: Window
    memory_id: str


def resolve(
    request: BankSearch, anchor: EventAnchor, read: Callable[[str], Question]
) -> Told | None:
    """Find the event of an anchor in the bank; None if no memory tells it.

    Args:
        request: the question and the bank.
        anchor: the event's words, and how the window lies to it.
        read: turns a text into a `Question`.
    """
    event = read(anchor.event)
    search = request.asking(event)
    fused = reciprocal_rank_fusion(
        [hit.memory_id for hit in arm(search)] for arm in (meaning.search, pathway.search)
    )
    told = _best(event, request.graph.candidates(request.bank_id, list(fused)[:CANDIDATES]))
    if told is None:
        return None
    span = anchor_window(anchor, happened(told), request.question.asked_at)
    text = f"{anchor.text}: “{_shortened(told.text)}”"
    return Told(Window(text, span, firm=anchor.offset is not None), told.id)


def without(question: str, anchors: Iterable[EventAnchor]) -> str:
    """The question less the clauses that only told its time; as it was if nothing else is left.

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
    """When what a memory tells took place: the most exact time it names, or when it was said."""
    dated = [span for span in memory.occurred if span.precision is not Precision.RANGE]
    if dated:
        return min(dated, key=lambda span: (span.duration, span.start))
    return TimeSpan.of_day(memory.mentioned_at)


def _best(event: Question, candidates: list[Candidate]) -> Candidate | None:
    if not candidates:
        return None
    if event.tokens is None:
        best = max(candidates, key=lambda each: (float(each.vector @ event.vector), each.id))
        return best if float(best.vector @ event.vector) >= LEAST_COVERAGE else None
    stored = [candidate.interaction for candidate in candidates]
    scores = maxsim(event.tokens, stored, token_shares(event.tokens, held_tokens(stored)))
    place = int(scores.argmax())
    return candidates[place] if scores[place] >= LEAST_COVERAGE else None


def _shortened(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
