"""One recall from request to result: read the question, run the arms, rank the pool, pack it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile
from typing import NamedTuple, NoReturn

import numpy as np

from hindsight_integrations.errors import (
    BankNotFoundError,
    ClosedError,
    EmbeddingError,
    InvalidInputError,
    StoreUnavailableError,
)
from hindsight_integrations.explain import deciding
from hindsight_integrations.models import Arm, Entity, Memory
from hindsight_integrations.nlp.blas import one_core
from hindsight_integrations.nlp.bm25 import question_terms
from hindsight_integrations.nlp.late_interaction import TokenMatrix
from hindsight_integrations.nlp.time import EventAnchor, QueryTimes, parse_query
from hindsight_integrations.recall import packing
from hindsight_integrations.recall.advice import asks_for_advice, times_to_look_up
from hindsight_integrations.recall.ahead import Ahead, begin, is_whole, read_ahead
from hindsight_integrations.recall.arms import entity, keyword, semantic, temporal
from hindsight_integrations.recall.base import (
    DEPTHS,
    ArmHit,
    BankSearch,
    Question,
    Reranker,
)
from hindsight_integrations.recall.dependencies import Clock, RecallDependencies
from hindsight_integrations.recall.entity_notes import (
    entity_notes,
    mentions_in_scope,
    with_observations,
)
from hindsight_integrations.recall.pool import Pool, existing, gather, join, read_whole
from hindsight_integrations.recall.ranking import Ranking, rank, rank_fused, rerank
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.recall.scaling import Scores
from hindsight_integrations.recall.unknown_fields import notes_on_fields
from hindsight_integrations.results import (
    ArmScore,
    EntityNote,
    Failure,
    Recalled,
    RecallResult,
    Window,
)
from hindsight_integrations.stores.base import MEMORY, StoredBank, Vector
from hindsight_integrations.stores.deadline import limited
from hindsight_integrations.stores.soundness import (
    unreadable,
)
from hindsight_integrations.timespan import TimeSpan


class ArmEntry(NamedTuple):
    """An arm, and the conditions under which it runs.

    Attributes:
        search: takes the search, the entities the question names, and the semantic arm's hits.
        after_semantic: wait for the semantic arm, and be given its hits; else they are empty.
        needs_window: run only if the question names a time.
        needs_vector: run only if the question could be embedded.
    """

    search: Callable[[BankSearch, Sequence[Entity], Sequence[ArmHit]], list[ArmHit]]
    after_semantic: bool = False
    needs_window: bool = False
    needs_vector: bool = False


ARMS: Mapping[Arm, ArmEntry] = {
    Arm.SEMANTIC: ArmEntry(lambda search, *_: semantic.search(search), needs_vector=True),
    Arm.KEYWORD: ArmEntry(lambda search, *_: keyword.search(search)),
    Arm.TEMPORAL: ArmEntry(lambda search, *_: temporal.search(search), needs_window=True),
    Arm.ENTITY: ArmEntry(lambda *given: entity.search(*given), after_semantic=True),
}
"""Every arm, and the one place that names them all: a further arm is a module and a line here."""

LEAST_RELEVANCE = 0.0002
"""Relevance at which packing stops. On the bench's development sets 95 to 100 % of the evidence
that fits 4,096 tokens stands above it (docs/benchmarks.md)."""

MOST_TIMES = 16
"""Most times of a question, and most events ("before Alice moved"), that are looked up: each is a
small recall of its own, and nobody asks for so many at once."""


def recall(
    parts: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    current: Callable[[str], StoredBank] | None = None,
) -> RecallResult:
    """Return the memories of these banks that answer the request.

    Args:
        parts: stores, models and settings.
        banks: the banks.
        request: the question.
        current: reads a bank as it is now, if `banks` are as they were read some time ago; so
            that what else is read need not wait for it.

    Raises:
        EmbeddingError: the question could not be embedded, and no arm asked for does without.
        StoreUnavailableError: every arm failed.
    """
    clock = Clock(limit=parts.settings.recall_timeout, turns=parts.turns)
    with clock.working(), limited(clock.left, each=parts.settings.arm_timeout):
        return _recall(parts, gather_pool(parts, banks, request, clock, current), request, clock)


def _recall(
    parts: RecallDependencies, gathered: Gathered, request: RecallRequest, clock: Clock
) -> RecallResult:
    pool, question, banks = gathered.pool, gathered.question, gathered.banks
    with clock.timing("rank"):
        ranking = _rank(parts, banks, pool, question, request, clock)
        beside_the_point = _is_beside_the_point(parts, request, ranking)
        if beside_the_point:
            ranking = replace(ranking, relevance=np.zeros(len(pool)))
    with clock.timing("pack"):
        # A question that names a time may ask for all that happened then.
        asks_for_time = any(window.firm for window in question.windows) or bool(question.events)
        whole = request.fill or (asks_for_time and not beside_the_point)
        least = max(request.min_score or 0.0, 0.0 if whole else LEAST_RELEVANCE)
        order = _in_order(pool, ranking, least)
        tokenizer = parts.tokenizer
        read = partial(_memories, parts, banks, pool)
        ahead = packing.expected_to_fit(pool, order, request.max_tokens)
        order = packing.substitute_observations(
            pool, order, read, tokenizer.count, ahead, prefer=request.prefer_observations
        )
        reader = _LazyMemoryReader(parts, banks, pool, ranking, order, ahead)
        packed = packing.pack(reader, request.max_tokens, tokenizer.count, tokenizer.truncate)
        memories = tuple(
            reader.recalled(index, packed.lines[index], tokens) for index, tokens in packed.taken
        )
        if packed.truncated:
            memories = (replace(memories[0], line=packed.text),)
        left_out = tuple(
            reader.recalled(index, packed.lines[index], 0) for index in packed.left_out
        )
        chunks = packing.source_chunks(parts.graph, memories, request.chunk_tokens, tokenizer)
        notes = _entity_notes(parts, banks, request, gathered, memories)
    return RecallResult(
        bank_ids=request.bank_ids,
        query=request.query,
        memories=memories,
        text=packed.text,
        tokens=packed.tokens,
        max_tokens=request.max_tokens,
        truncated=packed.truncated,
        windows=question.windows,
        entities_named=_names(parts, gathered.named, request.filter.scope),
        chunks=chunks,
        entity_notes=notes,
        left_out=left_out,
        considered=len(pool),
        failures=(*gathered.failures, *ranking.failures, *_unreadable(parts, pool, reader)),
        timings={**clock.seconds, "total": clock.elapsed + clock.seconds.get("turn", 0.0)},
        query_time=request.asked_at,
        notes=notes_on_fields(
            parts.graph, request.bank_ids, request.filter, (each.memory for each in memories)
        ),
    )


def _names(
    parts: RecallDependencies, named: Sequence[Entity], scope: str | None
) -> tuple[str, ...]:
    """Return the names of entities; in a scope, of those that it mentions."""
    if scope is not None:
        named = [
            each for each in named if mentions_in_scope(parts.graph, each.bank_id, [each.id], scope)
        ]
    return tuple(dict.fromkeys(entity.name for entity in named))


def _entity_notes(
    parts: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    gathered: Gathered,
    memories: Sequence[Recalled],
) -> tuple[EntityNote, ...]:
    if not request.entity_tokens:
        return ()
    question, named = gathered.question, gathered.named
    vector = question.vector if question.embedded else None
    asked = parts.alongside(
        lambda: with_observations(parts.graph, parts.index, banks, named, vector, request.filter)
    )
    budget, scope = request.entity_tokens, request.filter.scope
    return entity_notes(parts.graph, memories, budget, parts.tokenizer, asked, scope)


# Gathering


@dataclass(frozen=True, slots=True)
class Gathered:
    """The pool to rank, and the question as it was understood in the banks.

    Attributes:
        banks: as they were read before any memory was.
        named: entities that the question names or the caller asks for.
        failures: arms that failed and were left out.
    """

    banks: tuple[StoredBank, ...]
    pool: Pool
    question: Question
    named: tuple[Entity, ...]
    failures: tuple[Failure, ...]


def gather_pool(
    parts: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    clock: Clock,
    current: Callable[[str], StoredBank] | None = None,
) -> Gathered:
    """Read the question, run the arms on each bank, and join what they found into one pool."""
    lexemes = tuple(question_terms(request.query))
    with clock.timing("read"):
        begun = begin(parts, banks[0], request, lexemes, current)
        times = parse_query(request.query, request.asked_at, hemisphere=parts.settings.hemisphere)
        if asks_for_advice(request.query):
            times = replace(times, windows=times_to_look_up(request.query, times.windows))
        asked_first = sorted(times.windows, key=lambda window: not window.asked)
        named: dict[TimeSpan, Window] = {}
        for each in asked_first:
            named.setdefault(each.span, Window(each.text, each.span, firm=each.asked))
        if not named and request.filter.window and request.arms != frozenset(Arm):
            # An arm that was asked for by name searches the time that was given.
            named = {request.filter.window: Window("the window", request.filter.window)}
        windows = tuple(named.values())[:MOST_TIMES]
        failures: list[Failure] = []
        if len(named) > MOST_TIMES:
            failures.append(_too_many("times", len(named)))
        question = _asked(parts, request.query, request, failures, clock)
        question = replace(question, windows=windows)
        if failures and not _wanted_arms(request, question):
            raise failures[-1].error
    gathered: list[Gathered] = []
    for bank in banks:
        if gathered and not clock.left:
            failures.append(Failure(f"bank {bank.bank.id}", clock.late()))
        else:
            wanted = _wanted_arms(request, question)
            if bank is not banks[0]:
                begun = begin(parts, bank, request, lexemes, current)
            ahead = read_ahead(parts, begun, request, question, Arm.SEMANTIC in wanted)
            gathered.append(_gather_bank(parts, ahead, request, question, times, clock))
    return Gathered(
        banks=tuple(chain.from_iterable(bank.banks for bank in gathered)),
        pool=join([bank.pool for bank in gathered]),
        question=_together([bank.question for bank in gathered]),
        named=tuple(entity for bank in gathered for entity in bank.named),
        failures=(*failures, *(failure for bank in gathered for failure in bank.failures)),
    )


def _asked(
    parts: RecallDependencies,
    text: str,
    request: RecallRequest,
    failures: list[Failure],
    clock: Clock,
) -> Question:
    """Read a text as the question, with the vector that the caller gave, if any.

    If the embedder fails or is late, the question has no vector, and `failures` gets the reason:
    the arms that search without one still answer.

    Raises:
        InvalidInputError: that vector has another dimension than the embedder's.
    """
    given, dimension = request.vector, parts.encoder.embedder.dimension
    if given is not None and given.shape != (dimension,):
        raise InvalidInputError(
            f"query_vector has {given.size} numbers, and the embedder "
            f"{parts.encoder.embedder.id!r} makes {dimension}; give a vector of that embedder"
        )
    vector: Vector = np.zeros(dimension, np.float32)
    tokens = None
    if text:
        try:
            vector, tokens = _encoded(parts, text, clock)
        except StoreUnavailableError as error:
            failures.append(Failure("embedder", error))
        except EmbeddingError as error:
            failures.append(Failure("embedder", error))
            vector, tokens = parts.encoder.without_embedder(text)
    chosen = vector if given is None else given
    return Question(text, request.asked_at, chosen, tokens, tuple(question_terms(text)))


def _gather_bank(
    parts: RecallDependencies,
    ahead: Ahead,
    request: RecallRequest,
    question: Question,
    times: QueryTimes,
    clock: Clock,
) -> Gathered:
    """Run the arms on one bank, and load the pool of what they found."""
    stats, depth = ahead.stats, DEPTHS[request.budget]
    question = _dated(parts, ahead, request, question, times)
    is_small = is_whole(request) and stats.documents <= depth.whole
    if parts.reranking and is_small:
        depth = depth.tracing()
    search = BankSearch(
        *(parts.graph, parts.index, ahead.bank, question, ahead.filter, depth, stats),
        layout=ahead.layout,
        near=ahead.near,
    )
    with clock.timing("pool"):
        whole = read_whole(search, ahead.everything, parts.candidates) if is_small else None
    if whole is not None:
        search = replace(search, held=whole.memories)
    failures: list[Failure] = []
    named = list({one.id: one for one in (*ahead.spoken, *ahead.given.values())}.values())
    if times.anchors and Arm.TEMPORAL in request.arms and question.embedded:
        with clock.timing("events"):
            search = search.asking(_anchored(parts, search, request, times, failures, clock))
    known = search.near is not None or (search.held is not None and question.embedded)
    if known and Arm.ENTITY in request.arms and not search.filter.is_selective:
        search = replace(search, around=parts.alongside(partial(entity.begin, search, named)))
    with clock.timing("arms"):
        rankings = _run_arms(parts, search, request, named, failures, clock)
    with clock.timing("pool"):
        named_ids = [entity.id for entity in named]
        rrf_k = parts.settings.rrf_k
        whole = whole or read_whole(search, ahead.everything, parts.candidates)
        kept = parts.candidates
        pool = gather(
            search, rankings, named_ids, rrf_k, kept, whole, failures, pinned=request.pinned
        )
        pool = replace(pool, called=entity.words_of(named))
    return Gathered((ahead.bank,), pool, search.question, tuple(named), tuple(failures))


def _dated(
    parts: RecallDependencies,
    ahead: Ahead,
    request: RecallRequest,
    question: Question,
    times: QueryTimes,
) -> Question:
    """Return the question with its windows as this bank means them; see `temporal.in_bank`."""
    spans = temporal.in_bank(parts.graph, ahead.bank.bank.id, times.windows, ahead.filter)
    windows = (replace(each, span=spans.get(each.span, each.span)) for each in question.windows)
    return replace(question, windows=tuple(dict.fromkeys(windows)))


def _encoded(
    parts: RecallDependencies, text: str, clock: Clock
) -> tuple[Vector, TokenMatrix | None]:
    """Return a question's vectors. Models of this process compute: they do so in their turn."""
    bounded = clock.within if parts.encoder.in_one_pass else clock.outside
    return bounded(lambda: parts.encoder.question(text))


def _anchored(
    parts: RecallDependencies,
    search: BankSearch,
    request: RecallRequest,
    times: QueryTimes,
    failures: list[Failure],
    clock: Clock,
) -> Question:
    """Return the question with the windows of its events in this bank; see `temporal.without`.

    Of more than `MOST_TIMES` the first are looked up, as long as there is time.
    """

    def read(text: str) -> Question:
        vector, tokens = _encoded(parts, text, clock)
        return Question(text, request.asked_at, vector, tokens, tuple(question_terms(text)))

    anchors = list(dict.fromkeys(times.anchors))
    until = clock.left - clock.share
    events: dict[EventAnchor, temporal.ResolvedEvent] = {}
    try:
        for anchor in anchors[:MOST_TIMES]:
            if clock.left < until:
                raise clock.late()
            if (event := temporal.resolve(search, anchor, read)) is not None:
                events[anchor] = event
    except (EmbeddingError, StoreUnavailableError) as error:
        failures.append(Failure("events", error))
    if len(anchors) > MOST_TIMES:
        failures.append(_too_many("events", len(anchors)))
    if not events:
        return search.question
    rest = temporal.without(request.query, events)
    same = rest == request.query
    return replace(
        search.question if same else _asked(parts, rest, request, failures, clock),
        windows=(*search.question.windows, *(event.window for event in events.values())),
        events=frozenset(event.memory_id for event in events.values()),
    )


def _together(questions: Sequence[Question]) -> Question:
    """Return one question for all banks: as read where its events are known, with all windows."""
    first = next((question for question in questions if question.events), questions[0])
    return replace(
        first,
        windows=tuple(dict.fromkeys(window for q in questions for window in q.windows)),
        events=frozenset().union(*(question.events for question in questions)),
    )


def _run_arms(
    parts: RecallDependencies,
    search: BankSearch,
    request: RecallRequest,
    named: Sequence[Entity],
    failures: list[Failure],
    clock: Clock,
) -> Mapping[Arm, Sequence[ArmHit]]:
    """Run all arms asked for at once, those that need the semantic arm's hits after it.

    An arm that fails or is late is added to `failures`.
    """
    rankings: dict[Arm, Sequence[ArmHit]] = {}
    running: dict[Arm, Future[list[ArmHit]]] = {}
    begun: dict[Arm, float] = {}

    def run(arm: Arm, similar: Sequence[ArmHit]) -> list[ArmHit]:
        begun[arm] = clock.elapsed
        with clock.timing(f"arm {arm}"):
            return ARMS[arm].search(_limited(search, arm, request), named, similar)

    wanted = _wanted_arms(request, search.question)

    def start(*, after_semantic: bool) -> None:
        similar = rankings.get(Arm.SEMANTIC, ())
        for arm, entry in wanted.items():
            if entry.after_semantic == after_semantic:
                running[arm] = parts.started(partial(run, arm, similar))

    def collect(arm: Arm) -> None:
        outcome = _outcome(arm, running.pop(arm), begun, parts.settings.arm_timeout, clock)
        if isinstance(outcome, Failure):
            failures.append(outcome)
        else:
            rankings[arm] = outcome

    start(after_semantic=False)
    if Arm.SEMANTIC in running:
        collect(Arm.SEMANTIC)
    start(after_semantic=True)
    for arm in list(running):
        collect(arm)
    if failures and not rankings:
        _raise_that_all_failed(search.bank_id, failures)
    return rankings


def _limited(search: BankSearch, arm: Arm, request: RecallRequest) -> BankSearch:
    """Return the search with the limit that the caller set for this arm, if any."""
    limit = request.arm_limits.get(arm)
    return search if limit is None else replace(search, depth=replace(search.depth, hits=limit))


def _outcome(
    arm: Arm,
    future: Future[list[ArmHit]],
    begun: Mapping[Arm, float],
    timeout: float,
    clock: Clock,
) -> list[ArmHit] | Failure:
    """Return what an arm found, or why it did not answer within `timeout` seconds of its start.

    Seconds in which it waits for a thread, because many recall at once, do not count; but it gets
    no more than its share of the time of the recall.
    """
    started = clock.elapsed
    until = started + clock.share
    while True:
        end = min(until, begun.get(arm, clock.elapsed) + timeout)
        try:
            return future.result(timeout=max(0.0, end - clock.elapsed))
        except TimeoutError as error:
            if future.done():  # its own error
                return Failure(f"arm {arm}", error)
            if clock.elapsed < min(until, begun.get(arm, math.inf) + timeout):
                continue  # it waited for a thread
            future.cancel()  # it may still wait for one
            waited = min(timeout, until - started)
            return Failure(f"arm {arm}", StoreUnavailableError(f"no answer in {waited:g} s"))
        except Exception as error:  # noqa: BLE001 - reported in the result; the others answer
            return Failure(f"arm {arm}", error)


def _wanted_arms(request: RecallRequest, question: Question) -> dict[Arm, ArmEntry]:
    """Return the arms asked for, without those that lack the window or vector they need."""
    return {
        arm: entry
        for arm, entry in ARMS.items()
        if arm in request.arms
        and (question.windows or not entry.needs_window)
        and (question.embedded or not entry.needs_vector)
    }


def _too_many(what: str, number: int) -> Failure:
    error = InvalidInputError(
        f"the question names {number:,} {what}, and only the first {MOST_TIMES} were looked up; "
        "ask in parts"
    )
    return Failure(what, error)


def _raise_that_all_failed(bank_id: str, failures: Sequence[Failure]) -> NoReturn:
    first = failures[0].error
    if isinstance(first, ClosedError | BankNotFoundError):  # closed or deleted meanwhile
        raise first
    raise StoreUnavailableError(
        f"every arm of recall failed on bank {bank_id!r}: " + "; ".join(map(str, failures))
    ) from first


# Ranking


def _rank(
    parts: RecallDependencies,
    banks: Sequence[StoredBank],
    pool: Pool,
    question: Question,
    request: RecallRequest,
    clock: Clock,
) -> Ranking:
    if not len(pool):
        return Ranking.empty()
    if not parts.reranking:
        return rank_fused(pool, question)
    head = min(DEPTHS[request.budget].head, parts.settings.rerank_candidates)
    with one_core():
        ranking = rank(pool, question, head, parts.weights, parts.calibration)
    if parts.reranker is not None and question.text:
        stating = ranking.order[~pool.memories.context[ranking.order]]
        memories = _memories(parts, banks, pool, stating[:head].tolist())
        ranking = rerank(ranking, memories, question, _TimedReranker(parts.reranker, clock))
    return ranking


@dataclass(frozen=True, slots=True)
class _TimedReranker:
    """A reranker that is given up when the recall's time is."""

    reranker: Reranker
    clock: Clock

    @property
    def id(self) -> str:
        return self.reranker.id

    def score(self, query: str, memories: Sequence[Memory]) -> Scores:
        return self.clock.outside(lambda: self.reranker.score(query, memories))


def _is_beside_the_point(
    parts: RecallDependencies, request: RecallRequest, ranking: Ranking
) -> bool:
    """Return True for a courtesy, and for a question that nothing in the pool is like."""
    chosen = request.entities or request.filter.window is not None
    return not (ranking.known or chosen) or parts.is_courtesy(request.query)


def _in_order(pool: Pool, ranking: Ranking, least: float) -> list[int]:
    """Return positions in the pool, best first, without repetitions and the less relevant.

    The pinned memories that were asked for stand first.
    """
    seen: set[tuple[str, str]] = set()
    order: list[int] = []
    positions: list[int] = ranking.order.tolist()
    relevance: list[float] = ranking.relevance.tolist()
    first = [p for p in positions if (pool.memories[p].bank_id, pool.memories[p].id) in pool.pinned]
    relevant = takewhile(lambda position: relevance[position] >= least, positions)
    for position in chain(first, relevant):
        memory = pool.memories[position]
        key = (memory.bank_id, memory.fingerprint)
        if key not in seen:
            seen.add(key)
            order.append(position)
    return order


# Reading


@dataclass(slots=True)
class _LazyMemoryReader:
    """Iterates over the memories of a pool in order, reading the store as far as it is used.

    Attributes:
        order: positions in the pool, best first.
        ahead: number of the best that are read at once.
        read: position and memory of each one read, in order.
        lost: bank to ids of those that could not be read.
    """

    parts: RecallDependencies
    banks: Sequence[StoredBank]
    pool: Pool
    ranking: Ranking
    order: Sequence[int]
    ahead: int
    read: list[tuple[int, Memory]] = field(default_factory=list)
    lost: dict[str, list[str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Memory]:
        further = range(self.ahead, len(self.order), packing.READ_AHEAD)
        for start, size in ((0, self.ahead), *((each, packing.READ_AHEAD) for each in further)):
            ahead = self.order[start : start + size]
            found = _memories(self.parts, self.banks, self.pool, ahead)
            for candidate in (self.pool.memories[p] for p in ahead if p not in found):
                self.lost.setdefault(candidate.bank_id, []).append(candidate.id)
            for position, memory in found.items():
                self.read.append((position, memory))
                yield memory

    def recalled(self, index: int, line: str, tokens: int) -> Recalled:
        """Return the memory read at `index`, with its scores in the pool and the ranking."""
        position, memory = self.read[index]
        found = self.pool.arms.get(position, ())
        arms = tuple(self._with_texts(score, memory.bank_id) for score in found)
        shared_name = self.ranking.shared_names.get(position)
        decided = deciding(self.ranking.lifts(position), shared_name)
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
            reasons=(*decided, *(arm.reason for arm in arms)),
        )

    def _with_texts(self, score: ArmScore, bank_id: str) -> ArmScore:
        """Return an arm's score with the texts of the memories on its path, if they were ranked."""
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
    parts: RecallDependencies, pool: Pool, reader: _LazyMemoryReader
) -> Iterator[Failure]:
    """Yield a failure for each memory that could not be read, and still exists."""
    lost = dict.fromkeys(pool.unreadable)
    for bank_id, ids in reader.lost.items():
        lost |= dict.fromkeys(existing(parts.graph, bank_id, ids))
    for bank_id, id in lost:
        yield Failure(f"memory {id}", unreadable(bank_id, id))


def _memories(
    parts: RecallDependencies, banks: Sequence[StoredBank], pool: Pool, positions: Sequence[int]
) -> dict[int, Memory]:
    """Read the memories at these positions of the pool, in that order, less those deleted since."""
    read: dict[tuple[str, str], Memory] = {}
    for bank in banks:
        id = bank.bank.id
        wanted = [m.id for m in map(pool.memories.__getitem__, positions) if m.bank_id == id]
        load = partial(parts.graph.read, id, MEMORY)
        for memory in parts.memories.read(bank, wanted, load).values():
            # The cached memory's metadata may be changed by whoever gets it: give out a copy.
            own = replace(memory, metadata=dict(memory.metadata)) if memory.metadata else memory
            read[id, memory.id] = own
    keys = {p: (pool.memories[p].bank_id, pool.memories[p].id) for p in positions}
    return {p: read[key] for p, key in keys.items() if key in read}
