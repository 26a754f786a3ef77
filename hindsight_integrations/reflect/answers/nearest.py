"""Memories shown where none surely answers: those nearest to the question, said to be no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations.models import ModelUsage
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.search import SearchResult
from hindsight_integrations.results import NOTHING_CERTAIN, NOTHING_KNOWN, Context, Reflection
from hindsight_integrations.stores.base import StoredBank

MOST = 3
"""Most memories shown."""

LEAST_RELEVANCE = 0.15
"""Relevance that the nearest memory must have for any to be shown.

The figures are in docs/understanding.md: of questions in other words than those of the memories the
evidence is shown for 47 %, twice as many as from 0.3 on; for 18 % of other banks' something is.
"""

LEAST_SHARE = 1 / 3
"""Share of the nearest memory's relevance from which others are shown beside it."""


def nearest(
    bank: StoredBank, request: RecallRequest, results: Sequence[SearchResult], context: Context
) -> Reflection:
    """Return the memories of the context nearest to the question, or that nothing is known.

    Args:
        bank: the bank that was asked.
        request: the question.
        results: what was found, with its relevance; what is not among them is not shown.
        context: what fits into the budget.
    """
    relevance = {result.source.id: result.relevance for result in results}
    items = sorted(
        (item for item in context.items if item.id in relevance),
        key=lambda item: -relevance[item.id],
    )
    best = relevance[items[0].id] if items else 0.0
    near = [
        item
        for item in items[:MOST]
        if best >= LEAST_RELEVANCE and relevance[item.id] >= LEAST_SHARE * best
    ]
    lines = [NOTHING_CERTAIN, *(item.text for item in near)]
    text = "\n".join(lines) if near else NOTHING_KNOWN
    shown = tuple(item.id for item in near)
    return replace(quoting(bank, request, context, text, ()), nearest=shown)


def quoting(
    bank: StoredBank,
    request: RecallRequest,
    context: Context,
    text: str,
    sources: tuple[str, ...],
) -> Reflection:
    """Return an answer that quotes memories, made without a language model."""
    usage = ModelUsage()
    return Reflection(bank.bank.id, request.query, text, sources, context, usage, extractive=True)
