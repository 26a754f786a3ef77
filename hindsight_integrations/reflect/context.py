"""Compose what a bank knows of a query into sections, without a language model.

Items are taken in the order of recall while the text fits the budget, and set out in sections:
mental models, observations, facts and experiences, beliefs. The bank's disposition decides which
notes accompany a memory, never which memories are taken or in what order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hindsight_integrations.conclusions import Trend, evidence_times, quotations
from hindsight_integrations.models import Bank, Disposition, Memory, MemoryType, MentalModel
from hindsight_integrations.nlp.tokens import Tokenizer, line_cost
from hindsight_integrations.normalization import ID_DIGITS
from hindsight_integrations.prompts import TRAITS
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.packing import UNVERIFIED
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.search import (
    SearchResult,
    find_memories,
    find_models,
    with_changes,
)
from hindsight_integrations.rendering import FURTHER, as_item, as_line
from hindsight_integrations.results import (
    NOTHING_FOUND,
    Context,
    ContextItem,
    Failure,
    Section,
)
from hindsight_integrations.stores.base import StoredBank
from hindsight_integrations.timespan import Precision, TimeSpan, day_text

LABEL_DIGITS = 6
"""Digits of a label; labels that would coincide get more."""

TIMES = 3
"""Most dates shown of those a memory names."""

QUOTES = 2
"""Most quotes shown of a conclusion's evidence, the latest."""

DOUBTFUL = 0.5
"""Confidence below which a statement is called uncertain."""

HIGH, LOW = 4, 2
"""Values of a trait of a disposition, 1 to 5, from which on it has an effect."""

WAITS = "stale: the memories have changed since"
CONTRADICTED = "stale: a newer memory says otherwise"

_HASHED = "x-"
_OWN_ID = re.compile(rf"(?!{_HASHED})[a-z]{{1,3}}-[0-9a-f]{{{ID_DIGITS}}}")


def labels(ids: Sequence[str]) -> dict[str, str]:
    """Return a short unique label of each id: its beginning, as long as necessary.

    An id that a caller chose gets digits of its hash, so that all labels look alike.
    """
    whole = {id: id if _OWN_ID.fullmatch(id) else _hashed(id) for id in ids}
    digits = LABEL_DIGITS
    while True:
        cut = {id: text[: text.index("-") + 1 + digits] for id, text in whole.items()}
        if len(set(cut.values())) == len(whole):
            return cut
        digits += 1


def _hashed(text: str) -> str:
    digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=ID_DIGITS // 2)
    return f"{_HASHED}{digest.hexdigest()}"


def memory_line(
    memory: Memory,
    label: str,
    disposition: Disposition,
    *,
    stale: str = "",
    trend: Trend | None = None,
) -> str:
    """Render a memory: date, speaker, text, notes and label.

    Args:
        memory: the memory.
        label: it is cited by this.
        disposition: decides how doubts are shown.
        stale: note that says why it may be out of date, if it may.
        trend: of a conclusion.
    """
    speaker = as_line(memory.speaker or memory.context or "")
    opening = f"{_date_range(memory)}, {speaker}" if speaker else _date_range(memory)
    notes = "; ".join(_notes(memory, disposition, stale, trend))
    note = f" ({notes})" if notes else ""
    opening = opening if memory.is_trusted else f"{UNVERIFIED} {opening}"
    return f"- {opening}: {as_item(memory.text)}{note} [{label}]"


def model_line(model: MentalModel, label: str, *, stale: str = "") -> str:
    """Render a mental model: name, date of its text, text and label."""
    notes = f"as of {day_text(model.refreshed_at)}" + (f"; {stale}" if stale else "")
    text = as_item(model.text)
    return (
        f"- {as_line(model.name)} ({notes}):{FURTHER if FURTHER in text else ' '}{text} [{label}]"
    )


def traits(disposition: Disposition) -> str:
    """Return the instructions of the disposition's traits; "" if all are average."""
    values = ((name, getattr(disposition, name)) for name in TRAITS)
    asked = (TRAITS[name][value >= HIGH] for name, value in values if value <= LOW or value >= HIGH)
    return " ".join(asked)


def purpose(bank: Bank) -> str:
    """Return mission and background of the bank as text."""
    described = (("What it is for", bank.mission), ("What the agent is", bank.background))
    return " ".join(f"{what}: {' '.join(text.split())}" for what, text in described if text.strip())


def after_blank(text: str) -> str:
    """Return the text with a leading blank, to follow a sentence; "" if it is empty."""
    return f" {text}" if text else ""


def when(span: TimeSpan) -> str:
    """Render a time with the precision it was given: "2021", "Mar 2021", "7 May 2025"."""
    start, end = span.wall_clock()
    if span.precision is Precision.YEAR:
        return str(start.year)
    if span.precision is Precision.DECADE:
        return f"{start.year}s"
    if span.precision is Precision.MONTH:
        return f"{start:%b} {start.year}"
    if span.precision in (Precision.HOUR, Precision.MINUTE):
        return f"{day_text(start)}, {start:%H:%M}"
    return _from_to(start, end - timedelta(microseconds=1))


def _from_to(first: datetime, last: datetime) -> str:
    if first.date() == last.date():
        return day_text(first)
    return f"{day_text(first)} to {day_text(last)}"


def _date_range(memory: Memory) -> str:
    """Render when a memory was said; of a conclusion, the range of its evidence."""
    seen = evidence_times(memory)
    return _from_to(seen[0], seen[-1])


def _notes(
    memory: Memory, disposition: Disposition, stale: str, trend: Trend | None
) -> Iterator[str]:
    if stale:
        yield stale
    elif trend is Trend.STALE:
        yield f"stale: nothing new since {day_text(evidence_times(memory)[-1])}"
    if memory.type is MemoryType.OBSERVATION:
        going = None if stale or trend is Trend.STALE else trend
        yield ", ".join(filter(None, [memory.kind, _proof(memory), going]))
    yield from (
        when(t) for t in memory.occurred[:TIMES] if str(t.wall_clock()[0].year) not in memory.text
    )
    yield from _doubts(memory, disposition)
    if disposition.literalism >= HIGH:
        yield from (
            f"“{as_line(piece.quote)}”" for piece in quotations(memory)[-QUOTES:] if piece.quote
        )


def _proof(memory: Memory) -> str:
    return "from 1 memory" if memory.proof_count == 1 else f"from {memory.proof_count} memories"


def _doubts(memory: Memory, disposition: Disposition) -> Iterable[str]:
    """Yield notes on confidence: as figures for a sceptical bank, none for a trusting one."""
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


BLANK_LINE = 1
"""Tokens that the line between two sections may add."""

MODEL_SHARE = 0.5
"""Share of the budget for all mental models together; the first may take all of it."""

SECTION_OF = {
    MemoryType.OBSERVATION: Section.OBSERVATIONS,
    MemoryType.WORLD: Section.FACTS,
    MemoryType.EXPERIENCE: Section.FACTS,
    MemoryType.OPINION: Section.BELIEFS,
}


@dataclass(frozen=True, slots=True)
class Composed:
    """Items that fit a budget, and their text.

    Attributes:
        items: by section, in the order of recall.
        text: preface and sections.
        tokens: of the text.
        truncated: no item fits, and the text is the beginning of the best; or the preface is
            left out.
    """

    items: tuple[ContextItem, ...]
    text: str
    tokens: int
    truncated: bool = False


def context(deps: RecallDependencies, bank: StoredBank, request: RecallRequest) -> Context:
    """Compose what the bank knows about the request's question.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm of recall failed.
    """
    memories, failures = find_memories(deps, bank, request)
    results = [*find_models(deps, bank, request), *memories]
    return context_of_results(
        bank.bank, request, results, failures, deps.tokenizer, preface(bank.bank)
    )


def context_of_results(
    bank: Bank,
    request: RecallRequest,
    results: Sequence[SearchResult],
    failures: tuple[Failure, ...],
    tokenizer: Tokenizer,
    preface: str = "",
) -> Context:
    """Compose the results of a request into a context."""
    composed = compose(bank, with_changes(results), request.max_tokens, tokenizer, preface)
    text = composed.text if results else tokenizer.truncate(NOTHING_FOUND, request.max_tokens)
    return Context(
        bank_id=bank.id,
        query=request.query,
        text=text,
        items=composed.items,
        tokens=composed.tokens if results else tokenizer.count(text),
        max_tokens=request.max_tokens,
        truncated=composed.truncated,
        failures=failures,
    )


def preface(bank: Bank) -> str:
    """Return the bank's directives, and the instructions of its disposition."""
    rules = [f"{number}. {rule}" for number, rule in enumerate(bank.directives, start=1)]
    asked = traits(bank.disposition)
    return "\n".join([*(["## Directives", *rules] if rules else []), *([asked] if asked else [])])


def compose(
    bank: Bank,
    results: Sequence[SearchResult],
    max_tokens: int,
    tokenizer: Tokenizer,
    preface: str = "",
) -> Composed:
    """Compose as many results as fit the budget, best first, into sections.

    An item that does not fit is left out whole, and a shorter one after it may still fit. If
    none fits, the best is cut.

    Args:
        bank: its disposition decides on notes.
        results: in the order in which they are taken: mental models first, then as recalled.
        max_tokens: budget of the text, in tokens.
        tokenizer: counts and cuts.
        preface: text before the sections; left out if it exceeds the budget.
    """
    items = _items(bank, results)
    count = tokenizer.count
    opening = preface if preface and line_cost(preface, count) <= max_tokens else ""
    fitting = _within_budget(items, max_tokens, count, opening)
    text = _text(fitting, opening)
    while fitting and count(text) > max_tokens:  # joined lines can be more tokens than their sum
        fitting.pop()
        text = _text(fitting, opening)
    if fitting or not items:
        return Composed(tuple(_by_section(fitting)), text, count(text), opening != preface)
    text = tokenizer.truncate(_text(items[:1], ""), max_tokens)
    return Composed((items[0],), text, count(text), truncated=True)


def _items(bank: Bank, results: Sequence[SearchResult]) -> list[ContextItem]:
    names = labels([result.source.id for result in results])
    items = []
    for result in results:
        source, note = result.source, _note(result)
        label = names[source.id]
        if isinstance(source, MentalModel):
            section, line = Section.MENTAL_MODELS, model_line(source, label, stale=note)
        else:
            section = SECTION_OF[source.type]
            line = memory_line(source, label, bank.disposition, stale=note, trend=result.trend)
        items.append(ContextItem(label, section, line, source, result.stale))
    return items


def _note(result: SearchResult) -> str:
    if result.contradicted:
        return CONTRADICTED
    return WAITS if result.waits else ""


def _within_budget(
    items: Iterable[ContextItem], max_tokens: int, count: Callable[[str], int], opening: str
) -> list[ContextItem]:
    fitting: list[ContextItem] = []
    open_sections: set[Section] = set()
    tokens = line_cost(opening, count) if opening else 0
    for item in items:
        cost = line_cost(item.text, count)
        if item.section not in open_sections:
            cost += line_cost(_heading(item.section), count) + BLANK_LINE
        is_further_model = item.section is Section.MENTAL_MODELS and fitting
        if tokens + cost <= max_tokens * (MODEL_SHARE if is_further_model else 1):
            tokens += cost
            open_sections.add(item.section)
            fitting.append(item)
    return fitting


def _by_section(items: Iterable[ContextItem]) -> list[ContextItem]:
    """Sort by section; keep the order within each."""
    order = list(Section)
    return sorted(items, key=lambda item: order.index(item.section))


def _text(items: Sequence[ContextItem], opening: str) -> str:
    blocks = [opening] if opening else []
    for section in Section:
        lines = [item.text for item in items if item.section is section]
        if lines:
            blocks.append("\n".join([_heading(section), *lines]))
    return "\n\n".join(blocks)


def _heading(section: Section) -> str:
    return f"## {section}"
