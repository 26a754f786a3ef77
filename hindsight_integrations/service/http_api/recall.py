"""Recall and reflect."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from pydantic import JsonValue

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import DocumentNotFoundError
from hindsight_integrations.models import Memory, MemoryType, MentalModel
from hindsight_integrations.recall.request import RecallOptions, SearchOptions
from hindsight_integrations.results import NOTHING_KNOWN, Recalled, RecallResult, Reflection
from hindsight_integrations.service.http_api import answers, conversions, listing, requests
from hindsight_integrations.service.http_api.filters import as_time, tag_options
from hindsight_integrations.service.http_api.routing import BANK, refuse, router
from hindsight_integrations.service.http_api.routing import Memory as MemoryOf
from hindsight_integrations.stores.base import MEMORY

routes = router("Memory")

CHUNK_TOKENS, ENTITY_TOKENS, SOURCE_TOKENS = 8192, 500, 4096
"""Budgets of what is included, where a request names none; those of Hindsight 1.1."""


@routes.post(f"{BANK}/memories/recall", operation_id="recall_memories")
def recall_memories(memory: MemoryOf, bank_id: str, body: requests.Recall) -> answers.Recalled:
    """Recall memories, best first; none from a bank that is not there."""
    if body.min_scores and body.min_scores.reranker is not None:
        raise refuse("the reranker has no separate score here; use min_scores.final")
    if not listing.has_bank(memory, bank_id):
        return answers.Recalled(results=[])
    found = memory.recall(bank_id, body.query, **_options(memory, bank_id, body))
    memories = _in_window_first(memory, bank_id, body, found)
    memories = [each for each in memories if _passes(each, body.min_scores)]
    include = body.include or requests.RecallInclude()
    answer = answers.Recalled(
        results=[conversions.result(each.memory, conversions.scores(each)) for each in memories],
        trace=_trace(found) if body.trace else None,
        entities=_entities(found) if include.entities else None,
        chunks=_chunks(memory, bank_id, found) if include.chunks else None,
    )
    if include.source_facts:
        answer.source_facts, answer.source_facts_truncated = _source_facts(
            memory, bank_id, [each.memory for each in memories], include.source_facts
        )
    return answer


def _search_options(memory: Hindsight, bank_id: str, body: requests.Search) -> SearchOptions:
    options: SearchOptions = {"max_tokens": body.max_tokens, "budget": body.budget or "mid"}
    tags = tag_options(memory, bank_id, body.tags, body.tags_match, body.tag_groups)
    return {**options, **tags}


def _options(memory: Hindsight, bank_id: str, body: requests.Recall) -> RecallOptions:
    include = body.include or requests.RecallInclude()
    options: RecallOptions = {
        "query_time": as_time("query_timestamp", body.query_timestamp),
        "chunk_tokens": _budget(include.chunks, CHUNK_TOKENS),
        "entity_tokens": _budget(include.entities, ENTITY_TOKENS),
        "prefer_observations": bool(body.prefer_observations),
    }
    options.update(_search_options(memory, bank_id, body))  # type: ignore[typeddict-item]
    if body.types:
        options["types"] = body.types
    if body.min_scores and body.min_scores.final is not None:
        options["min_score"] = min(max(body.min_scores.final, 0.0), 1.0)
    return options


def _budget(given: requests.TokenBudget | None, usual: int) -> int:
    if given is None:
        return 0
    return usual if given.max_tokens is None else given.max_tokens


def _in_window_first(
    memory: Hindsight, bank_id: str, body: requests.Recall, found: RecallResult
) -> Sequence[Recalled]:
    """Return the memories of the asked time before the others, within the token budget."""
    window = body.temporal_window
    if window is None:
        return found.memories
    options = _options(memory, bank_id, body)
    options["window"] = (window.start, window.end)
    inside = memory.recall(bank_id, body.query, **options)
    merged = {each.id: each for each in chain(inside.memories, found.memories)}
    shown: list[Recalled] = []
    used = 0
    for each in merged.values():
        used += each.tokens
        if used > found.max_tokens and shown:
            break
        shown.append(each)
    return shown


def _passes(recalled: Recalled, floors: requests.MinScores | None) -> bool:
    """Return True if the memory has all scores that are asked for, at least as high."""
    if floors is None:
        return True
    scores = conversions.scores(recalled)
    pairs = (
        (floors.semantic, scores.semantic),
        (floors.keyword, scores.keyword),
        (floors.final, scores.final),
    )
    return all(floor is None or (score is not None and score >= floor) for floor, score in pairs)


def _entities(found: RecallResult) -> dict[str, answers.EntityState]:
    return {
        note.entity.name: answers.EntityState(
            entity_id=note.entity.id,
            canonical_name=note.entity.name,
            observations=[conversions.said(each) for each in note.observations],
        )
        for note in found.entity_notes
    }


def _chunks(memory: Hindsight, bank_id: str, found: RecallResult) -> dict[str, answers.ChunkText]:
    documents = dict.fromkeys(chunk.document_id for chunk in found.chunks)
    indexes: dict[str, int] = {}
    for document_id in documents:
        with suppress(DocumentNotFoundError):  # deleted since
            indexes |= listing.chunk_indexes(memory, bank_id, document_id)
    return {
        chunk.id: answers.ChunkText(
            id=chunk.id, text=chunk.text, chunk_index=indexes.get(chunk.id, 0)
        )
        for chunk in found.chunks
    }


def _source_facts(
    memory: Hindsight, bank_id: str, memories: Sequence[Memory], budget: requests.SourceBudget
) -> tuple[dict[str, answers.Result], bool]:
    """Return the memories that the observations rest on, and True if the budgets left some out."""
    total = SOURCE_TOKENS if budget.max_tokens is None else budget.max_tokens
    left, of_each = _unlimited_if_negative(total), budget.max_tokens_per_observation
    facts: dict[str, answers.Result] = {}
    complete = True
    for observation in memories:
        if observation.type is not MemoryType.OBSERVATION:
            continue
        left_here = _unlimited_if_negative(of_each)
        ids = [id for id in conversions.source_ids(observation) or () if id not in facts]
        for fact in memory.graph_store.read(bank_id, MEMORY, ids).values():
            tokens = memory.runtime.tokenizer.count(fact.text)
            if tokens > min(left, left_here):
                complete = False
                break
            left, left_here = left - tokens, left_here - tokens
            facts[fact.id] = conversions.result(fact)
    return facts, not complete


def _unlimited_if_negative(tokens: int) -> float:
    return float("inf") if tokens < 0 else tokens


def _trace(found: RecallResult) -> dict[str, JsonValue]:
    return {
        "query": found.query,
        "considered": found.considered,
        "windows": [{"text": w.text, "span": str(w.span), "firm": w.firm} for w in found.windows],
        "entities_named": list(found.entities_named),
        "failures": [str(failure) for failure in found.failures],
        "notes": list(found.notes),
        "timings": dict(found.timings or {}),
        "results": [
            {
                "id": each.id,
                "rank": each.rank,
                "reasons": list(each.reasons),
                "arms": {arm.arm.value: {"rank": arm.rank, "score": float(arm.score)}
                         for arm in each.arms},
            }
            for each in found
        ],
    }  # fmt: skip


# Reflect


@routes.post(f"{BANK}/reflect", operation_id="reflect")
def reflect(memory: MemoryOf, bank_id: str, body: requests.Reflect) -> answers.Reflected:
    """Answer from memory; without a language model by quotations with citations.

    Nothing is known in a bank that is not there: an agent asks before it retains.
    """
    _check_offered(memory, body)
    include = body.include or requests.ReflectInclude()
    if not listing.has_bank(memory, bank_id):
        return _nothing_known(include)
    query = body.query
    if body.context and memory.runtime.model is not None:  # quotations answer the question alone
        query = f"{query}\n\n{body.context}"
    options = _search_options(memory, bank_id, body)
    if body.fact_types or body.exclude_mental_models:
        options["types"] = body.fact_types or listing.ALL_TYPES
    done = memory.reflect(bank_id, query, response_schema=body.response_schema, **options)
    structured = done.structured
    return answers.Reflected(
        text=done.text,
        based_on=_based_on(memory, done) if include.facts is not None else None,
        structured_output=structured if isinstance(structured, dict) else None,
        usage=answers.Usage(
            input_tokens=done.usage.input_tokens,
            output_tokens=done.usage.output_tokens,
            total_tokens=done.usage.tokens,
        ),
        trace=_lookups(done, include.tool_calls) if include.tool_calls is not None else None,
    )


def _nothing_known(include: requests.ReflectInclude) -> answers.Reflected:
    nothing = answers.BasedOn(memories=[], mental_models=[], directives=[])
    return answers.Reflected(
        text=NOTHING_KNOWN,
        based_on=nothing if include.facts is not None else None,
        usage=answers.Usage(),
        trace=answers.Trace(tool_calls=[], llm_calls=[])
        if include.tool_calls is not None
        else None,
    )


def _check_offered(memory: Hindsight, body: requests.Reflect) -> None:
    if body.exclude_mental_model_ids:
        raise refuse("single mental models cannot be excluded here; use exclude_mental_models")
    if body.response_schema is not None and memory.runtime.model is None:
        raise refuse("response_schema needs a language model, but this service has none")
    searching = (
        body.reflect_search_observations_max_tokens,
        body.reflect_search_observations_include_entities,
    )
    if any(value is not None for value in searching):
        raise refuse(
            "the searches of a reflection cannot be configured separately here; use max_tokens"
        )


def _based_on(memory: Hindsight, done: Reflection) -> answers.BasedOn:
    sources = [item.source for item in done.context.items if item.id in done.sources]
    return answers.BasedOn(
        memories=[conversions.fact(each) for each in sources if isinstance(each, Memory)],
        mental_models=[
            answers.CitedModel(id=each.id, text=each.text)
            for each in sources
            if isinstance(each, MentalModel)
        ],
        directives=[
            answers.CitedDirective(id=each.id, name=each.name, content=each.text)
            for each in memory.directives.list(done.bank_id, active=True)
        ],
    )


def _lookups(done: Reflection, asked: dict[str, JsonValue]) -> answers.Trace:
    with_output = asked.get("output", True)
    calls = [
        answers.ToolCall(
            tool=lookup.tool.value,
            input={"query": lookup.query},
            output={"ids": list(lookup.found)} if with_output else None,
        )
        for lookup in done.lookups
    ]
    return answers.Trace(tool_calls=calls, llm_calls=[])
