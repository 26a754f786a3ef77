"""One recall, from request to result.

read the question -> four arms in parallel, a bank at a time -> fuse into a pool -> rank -> pack
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, TimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.language.encode import TextEncoder
from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.language.time import QueryTimes, parse_query
from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Entity, Memory
from hindsight_integrations.recall import entity, events, meaning, pathway, render, temporal
from hindsight_integrations.recall.kept import Kept
from hindsight_integrations.recall.names import named_entities
from hindsight_integrations.recall.notes import entity_notes, source_chunks
from hindsight_integrations.recall.pack import pack
from hindsight_integrations.recall.pool import Pool, gather, join
from hindsight_integrations.recall.ports import DEPTHS, ArmHit, BankSearch, Question, Reranker
from hindsight_integrations.recall.prefer import with_observations
from hindsight_integrations.recall.rank import (
    DEFAULT_WEIGHTS,
    Ranking,
    Weights,
    rank,
    rank_fused,
    rerank,
)
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.recall.standard import Scores
from hindsight_integrations.results import Arm, Failure, Recalled, RecallResult, Window
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.requests import Candidate, StoredBank

_READ_AHEAD = 64
"""Memories read from the graph at a time while the budget is filled."""


@dataclass(frozen=True, slots=True)
class RecallParts:
    """What a recall works with.

    `reranker` takes the place of the built-in order for the head; `reranking` off leaves the
    order of the fusion.
    """

    graph: GraphStore
    index: VectorIndex
    encoder: TextEncoder
    tokenizer: Tokenizer
    executor: Executor
    settings: Settings
    reranker: Reranker | None = None
    reranking: bool = True
    weights: Weights = DEFAULT_WEIGHTS
    candidates: Kept[Candidate] = field(default_factory=Kept)
    memories: Kept[Memory] = field(default_factory=Kept)


@dataclass(slots=True)
class Clock:
    """Seconds spent by stage; a stage that runs once a bank adds up."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time until the block ends to the stage's."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the banks gave to be ranked, and the question as it was understood there.

    Attributes:
        named: names in the question that a bank knows.
        failures: arms that failed and were left out.
    """

    pool: Pool
    question: Question
    named: tuple[str, ...]
    failures: tuple[Failure, ...]


def recall(parts: RecallParts, banks: Sequence[StoredBank], request: RecallRequest) -> RecallResult:
    """The memories of these banks that answer the request.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm failed.
    """
    clock = Clock()
    started = time.perf_counter()
    gathered = gather_pool(parts, banks, request, clock)
    pool, question = gathered.pool, gathered.question
    with clock.timing("rank"):
        ranking = _rank(parts, banks, pool, question, request)
    with clock.timing("pack"):
        scores = ranking.scores
        order = _in_order(pool, ranking, scores, request.min_score)
        if request.prefer_observations:
            order = with_observations(parts.graph, pool, order)
        read: list[tuple[int, Memory]] = []
        packed = pack(
            _reading(parts, banks, pool, order, read),
            request.max_tokens,
            parts.tokenizer.count,
            parts.tokenizer.truncate,
        )
        found = tuple(
            _recalled(pool, ranking, scores, *read[place], place, tokens)
            for place, tokens in packed.taken
        )
        if packed.truncated:
            found = (replace(found[0], text=packed.text),)
        left_out = tuple(
            _recalled(pool, ranking, scores, *read[place], place, 0) for place in packed.left_out
        )
        chunks = source_chunks(parts.graph, found, request.chunk_tokens, parts.tokenizer)
        notes = entity_notes(parts.graph, found, request.entity_tokens, parts.tokenizer)
    return RecallResult(
        bank_ids=request.bank_ids,
        query=request.query,
        memories=found,
        text=packed.text,
        tokens=packed.tokens,
        max_tokens=request.max_tokens,
        truncated=packed.truncated,
        windows=question.windows,
        entities_named=gathered.named,
        chunks=chunks,
        entity_notes=notes,
        left_out=left_out,
        considered=len(pool),
        failures=(*gathered.failures, *ranking.failures),
        timings={**clock.seconds, "total": time.perf_counter() - started},
        query_time=request.asked_at,
    )


def gather_pool(
    parts: RecallParts, banks: Sequence[StoredBank], request: RecallRequest, clock: Clock
) -> Gathered:
    """Read the question, and let the arms find in each bank what is to be ranked."""
    with clock.timing("read"):
        question, times = read_question(parts, request)
    found = [_ask(parts, bank, request, question, times, clock) for bank in banks]
    return Gathered(
        pool=join([each.pool for each in found]),
        question=_together([each.question for each in found]),
        named=tuple(dict.fromkeys(name for each in found for name in each.named)),
        failures=tuple(failure for each in found for failure in each.failures),
    )


def read_question(parts: RecallParts, request: RecallRequest) -> tuple[Question, QueryTimes]:
    """Embed the question, take its terms, and find the times it speaks of."""
    times = parse_query(request.query, request.asked_at, hemisphere=parts.settings.hemisphere)
    question = _read(parts, request.query, request)
    windows = tuple(Window(found.text, found.span) for found in times.windows)
    return replace(question, windows=windows), times


def _read(parts: RecallParts, text: str, request: RecallRequest) -> Question:
    vector, tokens = parts.encoder.question(text)
    return Question(text, request.asked_at, vector, tokens, tuple(lexemes(text)))


def _ask(
    parts: RecallParts,
    bank: StoredBank,
    request: RecallRequest,
    question: Question,
    times: QueryTimes,
    clock: Clock,
) -> Gathered:
    """Run the arms on one bank and gather what they found."""
    depth = DEPTHS[request.budget]
    stats = parts.graph.lexeme_stats(bank.bank.id, question.lexemes)
    search = BankSearch(parts.graph, parts.index, bank, question, request.filter, depth, stats)
    failures: list[Failure] = []
    named = named_entities(parts.graph, bank.bank.id, request.query)
    if times.anchors and Arm.TEMPORAL in request.arms:
        with clock.timing("events"):
            search = search.asking(_anchored(parts, search, request, times))
    with clock.timing("arms"):
        rankings = _run_arms(parts, search, request, named, failures, clock)
    with clock.timing("pool"):
        pool = gather(
            search,
            rankings,
            [entity.id for entity in named],
            parts.settings.rrf_k,
            parts.candidates,
            whole=request.arms == frozenset(Arm),
        )
    names = tuple(entity.name for entity in named)
    return Gathered(pool, search.question, names, tuple(failures))


def _anchored(
    parts: RecallParts, search: BankSearch, request: RecallRequest, times: QueryTimes
) -> Question:
    """The question with the windows that its events give in this bank; see `events.without`."""

    def read(text: str) -> Question:
        return _read(parts, text, request)

    found = [(anchor, events.resolve(search, anchor, read)) for anchor in times.anchors]
    told = {anchor: event for anchor, event in found if event is not None}
    if not told:
        return search.question
    rest = events.without(request.query, told)
    return replace(
        search.question if rest == request.query else read(rest),
        windows=(*search.question.windows, *(event.window for event in told.values())),
        events=frozenset(event.memory_id for event in told.values()),
    )


def _together(questions: Sequence[Question]) -> Question:
    """One question for all banks: as understood where its events are told, with all windows."""
    first = next((q for q in questions if q.events), questions[0])
    return replace(
        first,
        windows=tuple(dict.fromkeys(window for q in questions for window in q.windows)),
        events=frozenset().union(*(q.events for q in questions)),
    )


def _run_arms(
    parts: RecallParts,
    search: BankSearch,
    request: RecallRequest,
    named: Sequence[Entity],
    failures: list[Failure],
    clock: Clock,
) -> Mapping[Arm, Sequence[ArmHit]]:
    """All arms asked for, at once; the entity arm starts from what the meaning arm found."""

    def timed(arm: Arm, run: Callable[[], list[ArmHit]]) -> list[ArmHit]:
        with clock.timing(f"arm {arm}"):
            return run()

    runs: dict[Arm, Callable[[], list[ArmHit]]] = {
        Arm.MEANING: lambda: meaning.search(search),
        Arm.PATHWAY: lambda: pathway.search(search),
        Arm.TEMPORAL: lambda: temporal.search(search),
    }
    if not search.question.windows:
        del runs[Arm.TEMPORAL]
    waiting: dict[Arm, Future[list[ArmHit]]] = {
        arm: parts.executor.submit(timed, arm, run)
        for arm, run in runs.items()
        if arm in request.arms
    }
    rankings: dict[Arm, Sequence[ArmHit]] = {}

    def collect(arm: Arm, future: Future[list[ArmHit]]) -> None:
        try:
            rankings[arm] = future.result(timeout=parts.settings.arm_timeout)
        except TimeoutError:
            late = StoreUnavailableError(f"no answer in {parts.settings.arm_timeout:g} s")
            failures.append(Failure(f"arm {arm}", late))
        except Exception as error:  # noqa: BLE001 - reported in the result; the others answer
            failures.append(Failure(f"arm {arm}", error))

    if Arm.MEANING in waiting:
        collect(Arm.MEANING, waiting.pop(Arm.MEANING))
    if Arm.ENTITY in request.arms:
        similar = rankings.get(Arm.MEANING, ())
        waiting[Arm.ENTITY] = parts.executor.submit(
            timed, Arm.ENTITY, lambda: entity.search(search, named, similar)
        )
    for arm, future in waiting.items():
        collect(arm, future)
    if failures and not rankings:
        raise StoreUnavailableError(
            f"every arm of recall failed on bank {search.bank_id!r}: "
            + "; ".join(map(str, failures))
        ) from failures[0].error
    return rankings


def _rank(
    parts: RecallParts,
    banks: Sequence[StoredBank],
    pool: Pool,
    question: Question,
    request: RecallRequest,
) -> Ranking:
    if not len(pool):
        return Ranking.empty()
    if not parts.reranking:
        return rank_fused(pool, question)
    head = min(DEPTHS[request.budget].head, parts.settings.rerank_candidates)
    ranking = rank(pool, question, head, parts.weights)
    if parts.reranker is not None:
        first = ranking.order[:head].tolist()
        head_memories = _memories(parts, banks, pool, first)
        ranking = rerank(ranking, head_memories, question, parts.reranker)
    return ranking


def _in_order(pool: Pool, ranking: Ranking, scores: Scores, min_score: float | None) -> list[int]:
    """Positions in the pool, best first, without repetitions and what falls short."""
    said: set[tuple[str, str]] = set()
    order: list[int] = []
    for position in ranking.order.tolist():
        memory = pool.memories[position]
        key = (memory.bank_id, memory.fingerprint)
        if key in said or (min_score is not None and scores[position] < min_score):
            continue
        said.add(key)
        order.append(position)
    return order


def _memories(
    parts: RecallParts, banks: Sequence[StoredBank], pool: Pool, positions: Sequence[int]
) -> dict[int, Memory]:
    """The memories at these positions of the pool, in that order, less those gone meanwhile."""
    found: dict[tuple[str, str], Memory] = {}
    for bank in banks:
        id = bank.bank.id
        wanted = [m.id for m in map(pool.memories.__getitem__, positions) if m.bank_id == id]
        load = partial(parts.graph.get_memories, id)
        for memory in parts.memories.read(bank, wanted, load).values():
            found[id, memory.id] = _to_give(memory)
    keys = {p: (pool.memories[p].bank_id, pool.memories[p].id) for p in positions}
    return {p: found[key] for p, key in keys.items() if key in found}


def _to_give(memory: Memory) -> Memory:
    """The memory, for somebody who may change what can be changed of it."""
    return replace(memory, metadata=dict(memory.metadata)) if memory.metadata else memory


def _reading(
    parts: RecallParts,
    banks: Sequence[StoredBank],
    pool: Pool,
    order: Sequence[int],
    read: list[tuple[int, Memory]],
) -> Iterator[Memory]:
    """The memories in order, read as far as they are asked for; `read` gets what was given."""
    for start in range(0, len(order), _READ_AHEAD):
        found = _memories(parts, banks, pool, order[start : start + _READ_AHEAD])
        for position, memory in found.items():
            read.append((position, memory))
            yield memory


def _recalled(
    pool: Pool,
    ranking: Ranking,
    scores: Scores,
    position: int,
    memory: Memory,
    place: int,
    tokens: int,
) -> Recalled:
    return Recalled(
        memory=memory,
        rank=place + 1,
        score=round(float(scores[position]), 6),
        total=float(ranking.total[position]),
        fused=float(pool.fused[position]),
        text=render.line(memory),
        tokens=tokens,
        arms=pool.arms[position],
        signals=ranking.signals(position),
    )
