"""How memories and mental models read in a context: a line each, with dates, doubts and a label.

The bank's disposition decides what is said of a memory beside its text, never which memories
there are or in what order they stand.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from hindsight_integrations.conclusions import Trend, moments, quotations
from hindsight_integrations.model import Bank, Disposition, Memory, MemoryType, MentalModel
from hindsight_integrations.naming import ID_DIGITS
from hindsight_integrations.prompts import TRAITS
from hindsight_integrations.timespan import Precision, TimeSpan, day_text

LABEL_DIGITS = 6
"""Digits of a label: two of a million memories in a hundred thousand contexts would share it."""

TIMES = 3
"""Times that a memory names, shown at most."""

QUOTES = 2
"""Quotes shown of a conclusion's evidence at most, the latest."""

DOUBTFUL = 0.5
"""Confidence below which a statement is called uncertain."""

HIGH, LOW = 4, 2
"""From where a trait of a disposition, 1 to 5, changes anything."""

WAITS = "stale: the memories have changed since"

_FURTHER = "\n  "
"""Before each further line of an item."""

_OWN_ID = re.compile(rf"[a-z]{{1,3}}-[0-9a-f]{{{ID_DIGITS}}}")


def labels(ids: Sequence[str]) -> dict[str, str]:
    """What each id is cited by: its beginning, as long as tells it from the others.

    An id that a caller chose himself gets digits of its hash, so that all labels look alike.
    """
    whole = {each: each if _OWN_ID.fullmatch(each) else _hashed(each) for each in ids}
    digits = LABEL_DIGITS
    while True:
        found = {each: text[: text.index("-") + 1 + digits] for each, text in whole.items()}
        if len(set(found.values())) == len(whole):
            return found
        digits += 1


def _hashed(text: str) -> str:
    digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=ID_DIGITS // 2)
    return f"x-{digest.hexdigest()}"


def memory_line(
    memory: Memory,
    label: str,
    disposition: Disposition,
    *,
    waits: bool = False,
    trend: Trend | None = None,
) -> str:
    """A memory: when it was said, by whom, its text, what is to be known of it, and its label.

    Args:
        memory: which one.
        label: what it is cited by.
        disposition: how doubts are shown.
        waits: whether it is a conclusion that newer memories are not in yet.
        trend: of a conclusion.
    """
    lead = memory.speaker or memory.context
    head = f"{_seen(memory)}, {lead}" if lead else _seen(memory)
    notes = "; ".join(_notes(memory, disposition, waits, trend))
    note = f" ({notes})" if notes else ""
    return f"- {head}: {_indented(memory.text)}{note} [{label}]"


def model_line(model: MentalModel, label: str, *, waits: bool = False) -> str:
    """A mental model: its name, when it was written, its text, and its label."""
    notes = f"as of {day_text(model.refreshed_at)}" + (f"; {WAITS}" if waits else "")
    text = _indented(model.text)
    return f"- {model.name} ({notes}):{_FURTHER if _FURTHER in text else ' '}{text} [{label}]"


def traits(disposition: Disposition) -> str:
    """What the disposition asks of a reader; nothing if it is even-tempered."""
    values = ((name, getattr(disposition, name)) for name in TRAITS)
    asked = (TRAITS[name][value >= HIGH] for name, value in values if value <= LOW or value >= HIGH)
    return " ".join(asked)


def purpose(bank: Bank) -> str:
    """What the bank is for and what its agent is, as its owner wrote it."""
    told = (("What it is for", bank.mission), ("What the agent is", bank.background))
    return " ".join(f"{what}: {' '.join(text.split())}" for what, text in told if text.strip())


def after_blank(text: str) -> str:
    """The text with a blank before it, to follow a sentence; nothing if there is no text."""
    return f" {text}" if text else ""


def when(span: TimeSpan) -> str:
    """A time no more exactly than it was told: "2021", "Mar 2021", "7 May 2025"."""
    last = span.end - timedelta(microseconds=1)
    if span.precision is Precision.YEAR:
        return str(span.start.year)
    if span.precision is Precision.DECADE:
        return f"{span.start.year}s"
    if span.precision is Precision.MONTH:
        return f"{span.start:%b} {span.start.year}"
    if span.precision in (Precision.HOUR, Precision.MINUTE):
        return f"{day_text(span.start)}, {span.start:%H:%M}"
    return _from_to(span.start, last)


def _from_to(first: datetime, last: datetime) -> str:
    if first.date() == last.date():
        return day_text(first)
    return f"{day_text(first)} to {day_text(last)}"


def _seen(memory: Memory) -> str:
    """When it was said; of a conclusion, when the first and the last of its evidence was."""
    seen = moments(memory)
    return _from_to(seen[0], seen[-1])


def _notes(
    memory: Memory, disposition: Disposition, waits: bool, trend: Trend | None
) -> Iterator[str]:
    if waits:
        yield WAITS
    elif trend is Trend.STALE:
        yield f"stale: nothing new since {day_text(moments(memory)[-1])}"
    if memory.type is MemoryType.OBSERVATION:
        going = None if waits or trend is Trend.STALE else trend
        yield ", ".join(filter(None, [memory.kind, _proof(memory), going]))
    yield from (when(t) for t in memory.occurred[:TIMES] if str(t.start.year) not in memory.text)
    yield from _doubts(memory, disposition)
    if disposition.literalism >= HIGH:
        yield from (f"“{piece.quote}”" for piece in quotations(memory)[-QUOTES:] if piece.quote)


def _proof(memory: Memory) -> str:
    return "from 1 memory" if memory.proof_count == 1 else f"from {memory.proof_count} memories"


def _doubts(memory: Memory, disposition: Disposition) -> Iterable[str]:
    """How sure it is: in figures for a sceptic, not at all for the trusting."""
    if disposition.skepticism <= LOW:
        return
    sceptic = disposition.skepticism >= HIGH
    against = sum(not source.supports for source in memory.sources)
    if against:
        yield f"contested: {memory.proof_count} for, {against} against"
    if memory.confidence is not None and (sceptic or memory.type is MemoryType.OPINION):
        yield f"confidence {memory.confidence:.2f}"
    elif memory.confidence is not None and memory.confidence < DOUBTFUL:
        yield "uncertain"
    elif sceptic and memory.proof_count == 1:
        yield "said once"


def _indented(text: str) -> str:
    """Further lines of a text under its first, where none can pass for an item or a heading."""
    return _FURTHER.join(line for line in text.strip().splitlines() if line.strip())
