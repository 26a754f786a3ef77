"""Searches of reflection: memories and mental models, with their staleness."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hindsight_integrations.conclusions import Trend, evidence_times
from hindsight_integrations.models import Arm, Memory, MemoryType, MentalModel, is_conclusion
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.tokens import line_cost
from hindsight_integrations.recall.base import Budget
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.request import RecallRequest, recall_request
from hindsight_integrations.reflect.changes.currency import contradicted, contradicting, contradicts
from hindsight_integrations.reflect.scoring import trend
from hindsight_integrations.results import (
    NOTHING_FOUND,
    Failure,
    Recalled,
    RecalledModel,
    RecallResult,
    Staleness,
)
from hindsight_integrations.stores.base import (
    MEMORY,
    MENTAL_MODEL,
    MENTIONS,
    GraphStore,
    MemoryFilter,
    StoredBank,
)

log = logging.getLogger("hindsight_integrations")

WAITING = 1000
"""Most waiting memories that are read to find stale conclusions."""


class SearchResult(NamedTuple):
    """A memory or mental model.

    Attributes:
        source: the memory or mental model.
        waits: it may be out of date, as it does not cover newer memories yet.
        trend: of an observation's evidence over time.
        contradicted: a newer memory says otherwise.
        relevance: probability that a memory belongs to the answer, 0 to 1; 0 of a mental model.
    """

    source: Memory | MentalModel
    waits: bool = False
    trend: Trend | None = None
    contradicted: bool = False
    relevance: float = 0.0

    @property
    def stale(self) -> bool:
        """True if the result should be checked against the facts."""
        return self.waits or self.contradicted or self.trend is Trend.STALE


def find_memories(
    deps: RecallDependencies, bank: StoredBank, request: RecallRequest
) -> tuple[list[SearchResult], tuple[Failure, ...]]:
    """Recall memories, with the state of the conclusions among them.

    A conclusion waits if it waits to be consolidated, or if a waiting memory mentions one of its
    entities.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm failed.
    """
    result = recall(deps, [bank], request)
    for note in result.notes:
        log.warning("a search in bank %r: %s", bank.bank.id, note)
    memories = [item.memory for item in result.memories]
    waiting = _outdated_ids(deps.graph, bank.bank.id, [m.id for m in memories if is_conclusion(m)])

    def as_result(item: Recalled) -> SearchResult:
        memory = item.memory
        found = SearchResult(memory, relevance=item.relevance)
        if not is_conclusion(memory):
            return found
        shown = trend(evidence_times(memory), request.asked_at)
        return found._replace(waits=memory.id in waiting, trend=shown)

    return [as_result(item) for item in result.memories], result.failures


def _outdated_ids(graph: GraphStore, bank_id: str, conclusions: Sequence[str]) -> set[str]:
    """Return the queued ids, and the conclusions that share an entity with a queued memory."""
    if not conclusions:
        return set()
    waiting = graph.pending_consolidation(bank_id, WAITING)
    fresh = {entity for ids in graph.read(bank_id, MENTIONS, waiting).values() for entity in ids}
    about = graph.read(bank_id, MENTIONS, conclusions)
    touched = {id for id in conclusions if not fresh.isdisjoint(about.get(id, ()))}
    return touched.union(waiting)


def types_of(wanted: frozenset[MemoryType], request: RecallRequest) -> frozenset[MemoryType]:
    """Return those of the types that the request admits."""
    return wanted if request.filter.types is None else wanted & request.filter.types


LIKENESS = 0.25
"""Cosine from which a mental model matches a question that shares no word with it."""

MODELS = 5
"""Most mental models that match a question."""

_HEAD = 150
"""Characters of a text without a source query that are compared with a question."""


def find_models(
    deps: RecallDependencies, bank: StoredBank, request: RecallRequest
) -> list[SearchResult]:
    """Return the bank's mental models that match the question, most similar first.

    They have tags, but no types, metadata, scope, times or entities: a request that filters by
    these gets none.
    A request for an earlier state of knowledge gets no text that was written since, and no request
    one that holds nothing.
    """
    filter = request.filter
    if filter.types is not None or filter.where or filter.scope is not None:
        return []
    if filter.window is not None or request.entities or not request.query:
        return []
    models = [m for m in deps.graph.scan(bank.bank.id, MENTAL_MODEL) if _passes(m, filter)]
    if not models:
        return []
    heads = [_head(model) for model in models]
    vector, _ = deps.encoder.question(request.query)
    rows = np.stack([code.vector for code in deps.encoder.encode(heads)])
    likeness = (rows @ vector).tolist()
    terms = set(lexemes(request.query))
    near = [
        (-like, model.id, model)
        for like, model, head in zip(likeness, models, heads, strict=True)
        if like >= LIKENESS or terms.intersection(lexemes(head))
    ]
    likest = [model for _, _, model in sorted(near)[:MODELS]]
    sources = [source for model in likest for source in model.sources]
    stored = deps.graph.read(bank.bank.id, MEMORY, sources)
    return [SearchResult(model, bool(_changed_sources(model, stored))) for model in likest]


def with_changes(results: Sequence[SearchResult]) -> list[SearchResult]:
    """Mark the results that a newer memory among them contradicts or adds to.

    A memory is contradicted by a newer one. So is a mental model, if its text or a memory that it
    was made from is; it waits if one of the memories is new to it. That is cheaper than a search
    with its own source query, as `staleness` makes.
    """
    memories = [result.source for result in results if isinstance(result.source, Memory)]
    facts = [memory for memory in memories if not is_conclusion(memory)]
    outdated = contradicted(facts)

    def with_marks(result: SearchResult) -> SearchResult:
        model = result.source
        if isinstance(model, Memory):
            return result._replace(contradicted=model.id in outdated)
        terms = set(lexemes(_head(model)))
        news = model.source_query is not None and any(
            _adds_to_model(memory, model) and terms.intersection(lexemes(memory.text))
            for memory in memories
        )
        wrong = not outdated.isdisjoint(model.sources) or contradicting(model, facts)
        return result._replace(
            waits=result.waits or news, contradicted=result.contradicted or bool(wrong)
        )

    return [with_marks(result) for result in results]


def _head(model: MentalModel) -> str:
    return f"{model.name}. {model.source_query or model.text[:_HEAD]}"


def _adds_to_model(memory: Memory, model: MentalModel) -> bool:
    known = memory.id in model.sources or memory.created_at <= model.refreshed_at
    return not known and not is_conclusion(memory)


def _passes(model: MentalModel, filter: MemoryFilter) -> bool:
    if model.text in ("", NOTHING_FOUND):  # the sentence, from an earlier version
        return False
    if filter.as_of is not None and model.refreshed_at > filter.as_of:
        return False
    if not filter.tags:
        return True
    shared = set(filter.tags).intersection(model.tags)
    return bool(shared) if filter.tags_match == "any" else len(shared) == len(filter.tags)


def staleness(deps: RecallDependencies, bank: StoredBank, model: MentalModel) -> Staleness:
    """Return changes of a mental model's sources, and new memories, since it was written."""
    stored = deps.graph.read(bank.bank.id, MEMORY, model.sources)
    near = recall(deps, [bank], source_request(model, model.max_tokens, "low")).memories
    facts = [item.memory for item in near if not is_conclusion(item.memory)]
    return replace(
        _changed_sources(model, stored),
        newer=tuple(_newer_matches(near, model)),
        contradicted=_contradicting_ids(model, stored, facts),
    )


def _contradicting_ids(
    model: MentalModel, stored: Mapping[str, Memory], facts: Sequence[Memory]
) -> tuple[str, ...]:
    """Return the ids of the memories that contradict the model's text, or one of its sources."""
    sources = [memory for memory in stored.values() if not is_conclusion(memory)]
    against = (
        fact.id
        for fact in facts
        if fact.id not in model.sources and any(contradicts(fact, source) for source in sources)
    )
    return tuple(dict.fromkeys((*against, *contradicting(model, facts))))


def _changed_sources(model: MentalModel, stored: Mapping[str, Memory]) -> Staleness:
    """Return the changes of the sources since the text was written."""
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
    """Return the request for the memories of a mental model: its source query under its tags.

    It names all types, and so matches no other mental model.
    """
    return recall_request(
        model.bank_id,
        model.source_query or model.name,
        max_tokens=max_tokens,
        budget=budget,
        types=MemoryType,
        tags=model.tags,
    )


def _newer_matches(near: Sequence[Recalled], model: MentalModel) -> Iterator[str]:
    """Yield newer memories that match the source query by words or by meaning.

    A small bank returns all its memories for any question, so being recalled is not enough.
    """
    if model.source_query is None:
        return
    for item in near:
        if _adds_to_model(item.memory, model) and any(
            found.arm is Arm.KEYWORD or (found.arm is Arm.SEMANTIC and found.score >= LIKENESS)
            for found in item.arms
        ):
            yield item.id


def with_mental_models(
    deps: RecallDependencies,
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
        for found in with_changes([*find_models(deps, bank, request), *own]):
            if not isinstance(found.source, MentalModel):
                continue
            tokens = line_cost(found.source.text, deps.tokenizer.count)
            if tokens <= left:
                left -= tokens
                models.append(RecalledModel(found.source, found.stale, tokens))
    return replace(result, mental_models=tuple(models))
