"""What a bank knows of a question, assembled without a language model.

mental models -> observations -> facts and experiences -> beliefs: what is found is taken in the
order of recall while the text fits the budget, and set out in these sections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Bank, MemoryType, MentalModel
from hindsight_integrations.recall.parts import RecallParts
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.model_search import find_models, with_news
from hindsight_integrations.reflect.search import Found, find_memories
from hindsight_integrations.reflect.wording import labels, memory_line, model_line, traits
from hindsight_integrations.reflections import NOTHING_FOUND, Context, ContextItem, Section
from hindsight_integrations.results import Failure
from hindsight_integrations.storage.requests import StoredBank

LINE_BREAK = 1
"""Tokens that joining two lines may add."""

MODEL_SHARE = 0.5
"""Part of the budget that mental models may take together; the first may take all of it."""

SECTION_OF = {
    MemoryType.OBSERVATION: Section.OBSERVATIONS,
    MemoryType.WORLD: Section.FACTS,
    MemoryType.EXPERIENCE: Section.FACTS,
    MemoryType.OPINION: Section.BELIEFS,
}


@dataclass(frozen=True, slots=True)
class Composed:
    """Items that fit a budget, and the text they make.

    `truncated`: none fits, and the text is the beginning of the best; or the preface does not.
    """

    items: tuple[ContextItem, ...]
    text: str
    tokens: int
    truncated: bool = False


def context(parts: RecallParts, bank: StoredBank, request: RecallRequest) -> Context:
    """What the bank knows of the request's question.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm of recall failed.
    """
    memories, failures = find_memories(parts, bank, request)
    found = [*find_models(parts, bank, request), *memories]
    return set_out(bank.bank, request, found, failures, parts.tokenizer, preface(bank.bank))


def set_out(
    bank: Bank,
    request: RecallRequest,
    found: Sequence[Found],
    failures: tuple[Failure, ...],
    tokenizer: Tokenizer,
    preface: str = "",
) -> Context:
    """What was found for a request, as a context."""
    made = compose(bank, with_news(found), request.max_tokens, tokenizer, preface)
    text = made.text if found else tokenizer.truncate(NOTHING_FOUND, request.max_tokens)
    return Context(
        bank_id=bank.id,
        query=request.query,
        text=text,
        items=made.items,
        tokens=made.tokens if found else tokenizer.count(text),
        max_tokens=request.max_tokens,
        truncated=made.truncated,
        failures=failures,
    )


def preface(bank: Bank) -> str:
    """The bank's directives, and what its disposition asks of a reader."""
    rules = [f"{number}. {rule}" for number, rule in enumerate(bank.directives, start=1)]
    asked = traits(bank.disposition)
    return "\n".join([*(["## Directives", *rules] if rules else []), *([asked] if asked else [])])


def compose(
    bank: Bank, found: Sequence[Found], max_tokens: int, tokenizer: Tokenizer, preface: str = ""
) -> Composed:
    """The found, best first, as many as fit, set out in sections.

    An item that does not fit is left out whole, and a shorter one after it may still fit. If
    none does, the best is cut.

    Args:
        bank: whose disposition words the lines.
        found: in the order in which they are taken: mental models first, then as recalled.
        max_tokens: budget of the text, in tokens.
        tokenizer: counts and cuts.
        preface: stands before the sections; left out if it is longer than the budget.
    """
    items = _items(bank, found)
    count = tokenizer.count
    opening = preface if preface and count(preface) + LINE_BREAK <= max_tokens else ""
    taken = _taken(items, max_tokens, count, opening)
    text = _text(taken, opening)
    while taken and count(text) > max_tokens:  # joined lines can be more tokens than their sum
        taken.pop()
        text = _text(taken, opening)
    if taken or not items:
        return Composed(tuple(_sorted(taken)), text, count(text), opening != preface)
    text = tokenizer.truncate(_text(items[:1], ""), max_tokens)
    return Composed((items[0],), text, count(text), truncated=True)


def _items(bank: Bank, found: Sequence[Found]) -> list[ContextItem]:
    names = labels([each.source.id for each in found])
    items = []
    for each in found:
        source, waits, trend = each
        label = names[source.id]
        if isinstance(source, MentalModel):
            section, line = Section.MENTAL_MODELS, model_line(source, label, waits=waits)
        else:
            section = SECTION_OF[source.type]
            line = memory_line(source, label, bank.disposition, waits=waits, trend=trend)
        items.append(ContextItem(label, section, line, source, each.stale))
    return items


def _taken(
    items: Iterable[ContextItem], max_tokens: int, count: Callable[[str], int], opening: str
) -> list[ContextItem]:
    taken: list[ContextItem] = []
    opened: set[Section] = set()
    spent = count(opening) + LINE_BREAK if opening else 0
    for item in items:
        cost = count(item.text) + LINE_BREAK
        if item.section not in opened:
            cost += count(_heading(item.section)) + 2 * LINE_BREAK
        is_further_model = item.section is Section.MENTAL_MODELS and taken
        if spent + cost <= max_tokens * (MODEL_SHARE if is_further_model else 1):
            spent += cost
            opened.add(item.section)
            taken.append(item)
    return taken


def _sorted(items: Iterable[ContextItem]) -> list[ContextItem]:
    """By section; within one, as they were."""
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
