"""Mental models for reflection: which belong to a question, and which are out of date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.model import Memory, MemoryType, MentalModel
from hindsight_integrations.recall.parts import RecallParts
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.ports import Budget
from hindsight_integrations.recall.request import RecallRequest, recall_request
from hindsight_integrations.reflect.search import Found
from hindsight_integrations.reflections import Staleness
from hindsight_integrations.results import Arm
from hindsight_integrations.storage.requests import MemoryFilter, StoredBank
from hindsight_integrations.storage.values import is_conclusion

LIKENESS = 0.25
"""Cosine from which a mental model belongs to a question that shares no word with it."""

MODELS = 5
"""Mental models that belong to a question, at most."""

_HEAD = 150
"""Characters of a text without a source query that are compared with a question."""


def find_models(parts: RecallParts, bank: StoredBank, request: RecallRequest) -> list[Found]:
    """The bank's mental models that belong to the question, likest first.

    They have tags, but no types, metadata or scope: a request that asks for these gets none.
    Nor does one for what was known then get a text that was written since.
    """
    filter = request.filter
    if filter.types is not None or filter.where or filter.scope is not None:
        return []
    models = [m for m in parts.graph.mental_models(bank.bank.id) if _admitted(m, filter)]
    if not models:
        return []
    heads = [_head(model) for model in models]
    vector, _ = parts.encoder.question(request.query)
    rows = np.stack([code.vector for code in parts.encoder.encode(heads)])
    likeness = (rows @ vector).tolist()
    terms = set(lexemes(request.query))
    near = [
        (-like, model.id, model)
        for like, model, head in zip(likeness, models, heads, strict=True)
        if like >= LIKENESS or terms.intersection(lexemes(head))
    ]
    likest = [model for _, _, model in sorted(near)[:MODELS]]
    sources = [source for model in likest for source in model.sources]
    stored = parts.graph.get_memories(bank.bank.id, sources)
    return [Found(model, bool(_since(model, stored))) for model in likest]


def with_news(found: Sequence[Found]) -> list[Found]:
    """The same; a mental model waits, too, where one of the memories is news to it.

    That is cheaper than to look for news with its own source query, as `staleness` does.
    """
    memories = [each.source for each in found if isinstance(each.source, Memory)]

    def marked(each: Found) -> Found:
        model = each.source
        if not isinstance(model, MentalModel) or model.source_query is None:
            return each
        terms = set(lexemes(_head(model)))
        news = (m for m in memories if _is_news(m, model) and terms.intersection(lexemes(m.text)))
        return each._replace(waits=each.waits or any(True for _ in news))

    return [marked(each) for each in found]


def _head(model: MentalModel) -> str:
    return f"{model.name}. {model.source_query or model.text[:_HEAD]}"


def _is_news(memory: Memory, model: MentalModel) -> bool:
    known = memory.id in model.sources or memory.created_at <= model.refreshed_at
    return not known and not is_conclusion(memory)


def _admitted(model: MentalModel, filter: MemoryFilter) -> bool:
    if filter.as_of is not None and model.refreshed_at > filter.as_of:
        return False
    if not filter.tags:
        return True
    shared = set(filter.tags).intersection(model.tags)
    return bool(shared) if filter.tags_match == "any" else len(shared) == len(filter.tags)


def staleness(parts: RecallParts, bank: StoredBank, model: MentalModel) -> Staleness:
    """What happened to a mental model's sources, and what is new, since it was written."""
    stored = parts.graph.get_memories(bank.bank.id, model.sources)
    return replace(_since(model, stored), newer=tuple(_newer(parts, bank, model)))


def _since(model: MentalModel, stored: Mapping[str, Memory]) -> Staleness:
    """What happened to its sources; `stored` has those that there still are."""
    changed = (
        source
        for source in model.sources
        if (memory := stored.get(source))
        and (memory.invalidated_at is not None or memory.updated_at > model.refreshed_at)
    )
    return Staleness(
        changed=tuple(changed),
        gone=tuple(source for source in model.sources if source not in stored),
    )


def source_request(model: MentalModel, max_tokens: int, budget: Budget = "mid") -> RecallRequest:
    """What a mental model is made from: what answers its source query, under its tags.

    It names all types, and so no other mental model takes part.
    """
    return recall_request(
        model.bank_id,
        model.source_query or model.name,
        max_tokens=max_tokens,
        budget=budget,
        types=MemoryType,
        tags=model.tags,
    )


def _newer(parts: RecallParts, bank: StoredBank, model: MentalModel) -> Iterator[str]:
    """Memories since that its source query brings by their words or meaning.

    A small bank gives all it has to any question, so that it brings them is not enough.
    """
    if model.source_query is None:
        return
    for item in recall(parts, [bank], source_request(model, model.max_tokens, "low")).memories:
        if _is_news(item.memory, model) and any(
            arm is Arm.PATHWAY or (arm is Arm.MEANING and score >= LIKENESS)
            for arm, _, score, _ in item.arms
        ):
            yield item.id
