"""Mental models in the result of a recall that asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations.models import MentalModel
from hindsight_integrations.nlp.tokens import line_cost
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.search import SearchResult, find_models, with_news
from hindsight_integrations.results import RecalledModel, RecallResult
from hindsight_integrations.stores.base import StoredBank


def with_mental_models(
    parts: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    result: RecallResult,
) -> RecallResult:
    """Return the result with the mental models on its question, most similar first.

    One that does not fit what is left of `mental_model_tokens` is left out whole.
    """
    left = request.mental_model_tokens
    models: list[RecalledModel] = []
    for bank in banks if left else ():
        own = [SearchResult(m.memory) for m in result if m.memory.bank_id == bank.bank.id]
        for found in with_news([*find_models(parts, bank, request), *own]):
            if not isinstance(found.source, MentalModel):
                continue
            tokens = line_cost(found.source.text, parts.tokenizer.count)
            if tokens <= left:
                left -= tokens
                models.append(RecalledModel(found.source, found.stale, tokens))
    return replace(result, mental_models=tuple(models))
