"""One recall from request to result: gather a pool, rank it, pack what fits the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile

import numpy as np

from hindsight_integrations.explain import deciding
from hindsight_integrations.models import Entity, Memory, TurnKind
from hindsight_integrations.nlp.blas import one_core
from hindsight_integrations.recall import packing
from hindsight_integrations.recall.base import (
    DEPTHS,
    Question,
    Reranker,
)
from hindsight_integrations.recall.dependencies import Clock, RecallDependencies
from hindsight_integrations.recall.entity_notes import (
    entity_notes,
    mentions_in_scope,
    with_observations,
)
from hindsight_integrations.recall.gathering import Gathered, gather_pool
from hindsight_integrations.recall.pool import Pool, existing
from hindsight_integrations.recall.ranking import Ranking, rank, rank_fused, rerank
from hindsight_integrations.recall.relevance import calibration_for
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.recall.scaling import Scores
from hindsight_integrations.recall.unknown_fields import notes_on_entities, notes_on_fields
from hindsight_integrations.recall.weights import weights_for
from hindsight_integrations.results import (
    ArmScore,
    EntityNote,
    Failure,
    Recalled,
    RecallResult,
)
from hindsight_integrations.stores.base import MEMORY, StoredBank
from hindsight_integrations.stores.deadline import limited
from hindsight_integrations.stores.integrity import (
    unreadable_error,
)

LEAST_RELEVANCE = 0.0002
"""Relevance at which packing stops. On the bench's development sets 95 to 100 % of the evidence
that fits 4,096 tokens stands above it (docs/benchmarks.md)."""


def recall(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    current: Callable[[str], StoredBank] | None = None,
) -> RecallResult:
    """Return the memories of these banks that answer the request.

    Args:
        deps: stores, models and settings.
        banks: the banks.
        request: the question.
        current: reads a bank's current version, if `banks` may be out of date; other reads do not
            wait for it.

    Raises:
        EmbeddingError: the question could not be embedded, and no arm asked for does without.
        StoreUnavailableError: every arm failed.
    """
    clock = Clock(limit=deps.settings.recall_timeout, turns=deps.turns)
    with clock.working(), limited(clock.left, each=deps.settings.arm_timeout):
        return _recall(deps, gather_pool(deps, banks, request, clock, current), request, clock)


def _recall(
    deps: RecallDependencies, gathered: Gathered, request: RecallRequest, clock: Clock
) -> RecallResult:
    pool, question, banks = gathered.pool, gathered.question, gathered.banks
    with clock.timing("rank"):
        ranking = _rank(deps, banks, pool, question, request, clock)
        off_topic = _is_off_topic(deps, request, ranking)
        if off_topic:
            ranking = replace(ranking, relevance=np.zeros(len(pool)))
    with clock.timing("pack"):
        # A question that names a time may ask for all that happened then.
        asks_for_time = any(window.firm for window in question.windows) or bool(question.events)
        takes_all = request.fill or (asks_for_time and not off_topic)
        least_relevance = max(request.min_score or 0.0, 0.0 if takes_all else LEAST_RELEVANCE)
        reader, packed = _pack(deps, banks, pool, ranking, request, least_relevance)
        memories = tuple(
            reader.recalled(index, packed.lines[index], tokens) for index, tokens in packed.taken
        )
        if packed.truncated:
            memories = (replace(memories[0], line=packed.text),)
        left_out = tuple(
            reader.recalled(index, packed.lines[index], 0) for index in packed.left_out
        )
        chunks = packing.source_chunks(deps.graph, memories, request.chunk_tokens, deps.tokenizer)
        notes = _entity_notes(deps, banks, request, gathered, memories)
    return RecallResult(
        bank_ids=request.bank_ids,
        query=request.query,
        memories=memories,
        text=packed.text,
        tokens=packed.tokens,
        max_tokens=request.max_tokens,
        truncated=packed.truncated,
        windows=question.windows,
        entities_named=_names(deps, gathered.query_entities, request.filter.scope),
        chunks=chunks,
        entity_notes=notes,
        left_out=left_out,
        considered=len(pool),
        failures=(*gathered.failures, *ranking.failures, *_unreadable(deps, pool, reader)),
        timings={**clock.seconds, "total": clock.elapsed + clock.seconds.get("turn", 0.0)},
        query_time=request.asked_at,
        notes=(
            *notes_on_entities(
                deps.graph, request.bank_ids, request.entities, gathered.query_entities
            ),
            *notes_on_fields(
                deps.graph,
                request.bank_ids,
                request.filter,
                (recalled.memory for recalled in memories),
            ),
        ),
    )


def _pack(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    pool: Pool,
    ranking: Ranking,
    request: RecallRequest,
    least_relevance: float,
) -> tuple[_LazyMemoryReader, packing.Packed]:
    """Pack the relevant memories into the token budget, observations in place of their facts."""
    tokenizer = deps.tokenizer
    order = _distinct_positions(pool, ranking, least_relevance)
    prefetch = packing.expected_to_fit(pool, order, request.max_tokens)
    order = packing.substitute_observations(
        pool,
        order,
        partial(_read_memories, deps, banks, pool),
        tokenizer.count,
        prefetch,
        prefer=request.prefer_observations,
    )
    reader = _LazyMemoryReader(deps, banks, pool, ranking, order, prefetch)
    packed = packing.pack(reader, request.max_tokens, tokenizer.count, tokenizer.truncate)
    return reader, packed


def _names(
    deps: RecallDependencies, entities: Sequence[Entity], scope: str | None
) -> tuple[str, ...]:
    """Return the names of entities; with a scope, of those that its memories mention."""
    if scope is not None:
        entities = [
            entity
            for entity in entities
            if mentions_in_scope(deps.graph, entity.bank_id, [entity.id], scope)
        ]
    return tuple(dict.fromkeys(entity.name for entity in entities))


def _entity_notes(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    gathered: Gathered,
    memories: Sequence[Recalled],
) -> tuple[EntityNote, ...]:
    if not request.entity_tokens:
        return ()
    question, entities = gathered.question, gathered.query_entities
    vector = question.vector if question.embedded else None
    read_entities = deps.alongside(
        lambda: with_observations(deps.graph, deps.index, banks, entities, vector, request.filter)
    )
    budget, scope = request.entity_tokens, request.filter.scope
    return entity_notes(deps.graph, memories, budget, deps.tokenizer, read_entities, scope)


# Ranking


def _rank(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    pool: Pool,
    question: Question,
    request: RecallRequest,
    clock: Clock,
) -> Ranking:
    if not len(pool):
        return Ranking.empty()
    if not deps.reranking:
        return rank_fused(pool, question)
    head = min(DEPTHS[request.budget].head, deps.settings.rerank_candidates)
    with one_core():
        model = deps.encoder.embedder.id
        calibration = calibration_for(question, model)
        ranking = rank(pool, question, head, weights_for(question, model), calibration)
    if deps.reranker is not None and question.text:
        stating = ranking.order[~pool.memories.context[ranking.order]]
        memories = _read_memories(deps, banks, pool, stating[:head].tolist())
        ranking = rerank(ranking, memories, question, _TimedReranker(deps.reranker, clock))
    return ranking


@dataclass(frozen=True, slots=True)
class _TimedReranker:
    """A reranker that is abandoned when the recall has no time left."""

    reranker: Reranker
    clock: Clock

    @property
    def id(self) -> str:
        return self.reranker.id

    def score(self, query: str, memories: Sequence[Memory]) -> Scores:
        return self.clock.outside(lambda: self.reranker.score(query, memories))


def _is_off_topic(deps: RecallDependencies, request: RecallRequest, ranking: Ranking) -> bool:
    """Return True for a courtesy, and if no memory of the pool is similar to the question.

    A filter by entity or time shows what is asked for, so such a question is never off topic.
    """
    chosen = request.entities or request.filter.window is not None
    return not (ranking.known or chosen) or deps.is_courtesy(request.query)


def _distinct_positions(pool: Pool, ranking: Ranking, least_relevance: float) -> list[int]:
    """Return positions in the pool, best first, without duplicates and irrelevant memories.

    Pinned memories of the pool come first, however relevant they are.
    """
    seen: set[tuple[str, str]] = set()
    order: list[int] = []
    positions: list[int] = ranking.order.tolist()
    relevance: list[float] = ranking.relevance.tolist()
    pinned = [
        p
        for p in (positions if pool.pinned else ())
        if (pool.memories[p].bank_id, pool.memories[p].id) in pool.pinned
    ]
    relevant = takewhile(lambda position: relevance[position] >= least_relevance, positions)
    for position in chain(pinned, relevant):
        memory = pool.memories[position]
        # A fingerprint has the speaker in it, but what is below all mails is the same by whomever.
        signs = memory.kind == TurnKind.SIGNATURE
        key = (memory.bank_id, memory.text if signs else memory.fingerprint)
        if key not in seen:
            seen.add(key)
            order.append(position)
    return order


# Reading


@dataclass(slots=True)
class _LazyMemoryReader:
    """Iterate over the memories of a pool in order; read the store in batches, on demand.

    Attributes:
        order: positions in the pool, best first.
        prefetch: number of the best memories in the first batch.
        read: position and memory of each one read, in order.
        unread_ids: ids that could not be read, by bank.
    """

    deps: RecallDependencies
    banks: Sequence[StoredBank]
    pool: Pool
    ranking: Ranking
    order: Sequence[int]
    prefetch: int
    read: list[tuple[int, Memory]] = field(default_factory=list)
    unread_ids: dict[str, list[str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Memory]:
        for positions in packing.batches(self.order, self.prefetch):
            memories = _read_memories(self.deps, self.banks, self.pool, positions)
            for candidate in (self.pool.memories[p] for p in positions if p not in memories):
                self.unread_ids.setdefault(candidate.bank_id, []).append(candidate.id)
            for position, memory in memories.items():
                self.read.append((position, memory))
                yield memory

    def recalled(self, index: int, line: str, tokens: int) -> Recalled:
        """Return the memory read at `index`, with its scores in the pool and the ranking."""
        position, memory = self.read[index]
        arm_scores = self.pool.arms.get(position, ())
        arms = tuple(self._with_texts(score, memory.bank_id) for score in arm_scores)
        shared_name = self.ranking.shared_names.get(position)
        signal_reasons = deciding(self.ranking.lifts(position), shared_name, index + 1)
        return Recalled(
            memory=memory,
            rank=index + 1,
            relevance=float(self.ranking.relevance[position]),
            total=float(self.ranking.total[position]),
            fused=float(self.pool.fused[position]),
            line=line,
            tokens=tokens,
            arms=arms,
            signals=self.ranking.signals(position),
            reasons=(*signal_reasons, *(arm.reason for arm in arms)),
        )

    def _with_texts(self, score: ArmScore, bank_id: str) -> ArmScore:
        """Return an arm's score, its path completed with the texts of the memories in the pool."""
        if not score.path:
            return score
        memories, steps = self.pool.memories, []
        for step in score.path:
            position = memories.positions.get(step.id, -1) if step.kind == "memory" else -1
            # Of several banks' memories, two may have one id.
            known = position >= 0 and memories[position].bank_id == bank_id
            steps.append(step._replace(text=memories[position].text) if known else step)
        return score._replace(path=tuple(steps))


def _unreadable(
    deps: RecallDependencies, pool: Pool, reader: _LazyMemoryReader
) -> Iterator[Failure]:
    """Yield a failure for each memory that could not be read although it still exists."""
    missing = dict.fromkeys(pool.unreadable)
    for bank_id, ids in reader.unread_ids.items():
        missing |= dict.fromkeys(existing(deps.graph, bank_id, ids))
    for bank_id, id in missing:
        yield Failure(f"memory {id}", unreadable_error(bank_id, id))


def _read_memories(
    deps: RecallDependencies, banks: Sequence[StoredBank], pool: Pool, positions: Sequence[int]
) -> dict[int, Memory]:
    """Read the memories at positions of the pool, in this order, without those deleted since."""
    read: dict[tuple[str, str], Memory] = {}
    for bank in banks:
        id = bank.bank.id
        ids = [m.id for m in map(pool.memories.__getitem__, positions) if m.bank_id == id]
        load = partial(deps.graph.read, id, MEMORY)
        for memory in deps.memories.read(bank, ids, load).values():
            # The cached memory's metadata may be changed by whoever gets it: give out a copy.
            copied = replace(memory, metadata=dict(memory.metadata)) if memory.metadata else memory
            read[id, memory.id] = copied
    keys = {p: (pool.memories[p].bank_id, pool.memories[p].id) for p in positions}
    return {p: read[key] for p, key in keys.items() if key in read}
