"""Read the question, run the arms on each bank, and join what they found into one pool."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np

from hindsight_integrations.errors import (
    BankNotFoundError,
    ClosedError,
    EmbeddingError,
    InvalidInputError,
    StoreUnavailableError,
)
from hindsight_integrations.models import Arm, Entity
from hindsight_integrations.nlp.bm25 import question_terms
from hindsight_integrations.nlp.late_interaction import TokenMatrix
from hindsight_integrations.nlp.time import EventAnchor, QueryTimes, parse_query
from hindsight_integrations.recall.advice import asks_for_advice, times_to_look_up
from hindsight_integrations.recall.arms import entity, keyword, semantic, temporal
from hindsight_integrations.recall.base import DEPTHS, ArmHit, BankSearch, Question
from hindsight_integrations.recall.dependencies import Clock, RecallDependencies
from hindsight_integrations.recall.pool import Pool, gather, join, read_whole_bank
from hindsight_integrations.recall.prefetch import (
    Prefetched,
    finish_reads,
    ranks_whole_bank,
    start_reads,
)
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.results import Failure, Window
from hindsight_integrations.stores.base import StoredBank, Vector
from hindsight_integrations.timespan import TimeSpan

EncodedQuestion: TypeAlias = tuple[Vector, TokenMatrix | None]
"""A question's embedding and its token vectors, if there is an encoder for them."""


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

MOST_TIMES = 16
"""Most times of a question, and most events ("before Alice moved"), that are looked up: each is a
small recall of its own, and nobody asks for so many at once."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The pool to rank, and the question as resolved against the banks.

    Attributes:
        banks: the banks, at the versions they had before any memory was read.
        query_entities: entities that the question names or the caller asks for.
        failures: arms that failed and were left out.
    """

    banks: tuple[StoredBank, ...]
    pool: Pool
    question: Question
    query_entities: tuple[Entity, ...]
    failures: tuple[Failure, ...]


def gather_pool(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    clock: Clock,
    current: Callable[[str], StoredBank] | None = None,
) -> Gathered:
    """Read the question, run the arms on each bank, and join what they found into one pool."""
    lexemes = tuple(question_terms(request.query))
    failures: list[Failure] = []
    with clock.timing("read"):
        # First, because it takes longest and leaves the interpreter free for all else.
        encoding = _begin_encoding(deps, request.query, request, clock)
        pending = start_reads(deps, banks[0], request, lexemes, current)
        times = _query_times(deps, request)
        windows = _question_windows(request, times, failures)
        question = _read_question(deps, request.query, request, failures, encoding)
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
                pending = start_reads(deps, bank, request, lexemes, current)
            prefetched = finish_reads(deps, pending, request, question, Arm.SEMANTIC in wanted)
            gathered.append(_gather_bank(deps, prefetched, request, question, times, clock))
    return Gathered(
        banks=tuple(chain.from_iterable(bank.banks for bank in gathered)),
        pool=join([bank.pool for bank in gathered]),
        question=_merged_question([bank.question for bank in gathered]),
        query_entities=tuple(entity for bank in gathered for entity in bank.query_entities),
        failures=(*failures, *(failure for bank in gathered for failure in bank.failures)),
    )


def _query_times(deps: RecallDependencies, request: RecallRequest) -> QueryTimes:
    """Parse the times of the question; of a request for advice, those worth looking up."""
    times = parse_query(request.query, request.asked_at, hemisphere=deps.settings.hemisphere)
    if asks_for_advice(request.query):
        return replace(times, windows=times_to_look_up(request.query, times.windows))
    return times


def _question_windows(
    request: RecallRequest, times: QueryTimes, failures: list[Failure]
) -> tuple[Window, ...]:
    """Return the windows of the question, each span once, at most `MOST_TIMES`.

    Windows that the question asks for come first. If there are more, `failures` gets the reason.
    """
    windows_by_span: dict[TimeSpan, Window] = {}
    for window in sorted(times.windows, key=lambda window: not window.asked):
        windows_by_span.setdefault(window.span, Window(window.text, window.span, firm=window.asked))
    if not windows_by_span and request.filter.window and request.arms != frozenset(Arm):
        # The caller named the arms: the temporal one searches the window of the filter.
        windows_by_span = {request.filter.window: Window("the window", request.filter.window)}
    if len(windows_by_span) > MOST_TIMES:
        failures.append(_too_many("times", len(windows_by_span)))
    return tuple(windows_by_span.values())[:MOST_TIMES]


def _begin_encoding(
    deps: RecallDependencies, text: str, request: RecallRequest, clock: Clock
) -> Callable[[], EncodedQuestion]:
    """Start to encode a text; return a function that waits for its embedding and token vectors.

    A model in this process uses the CPU, so it keeps its turn; a remote one lets others work.

    Raises:
        InvalidInputError: the caller's vector has another dimension than the embedder's.
    """
    caller_vector, dimension = request.vector, deps.encoder.embedder.dimension
    if caller_vector is not None and caller_vector.shape != (dimension,):
        raise InvalidInputError(
            f"query_vector has {caller_vector.size} numbers, but the embedder "
            f"{deps.encoder.embedder.id!r} makes {dimension}; give a vector of that "
            "embedder"
        )
    if not text:
        return lambda: (np.zeros(dimension, np.float32), None)
    return clock.begin(lambda: deps.encoder.question(text), foreign=not deps.encoder.in_one_pass)


def _read_question(
    deps: RecallDependencies,
    text: str,
    request: RecallRequest,
    failures: list[Failure],
    encoding: Callable[[], EncodedQuestion],
) -> Question:
    """Return a text as the question; a vector given by the caller replaces its embedding.

    If the embedder fails or is late, the question has no vector, and `failures` gets the reason:
    the arms that search without one still answer.
    """
    vector: Vector = np.zeros(deps.encoder.embedder.dimension, np.float32)
    tokens = None
    try:
        vector, tokens = encoding()
    except StoreUnavailableError as error:
        failures.append(Failure("embedder", error))
    except EmbeddingError as error:
        failures.append(Failure("embedder", error))
        vector, tokens = deps.encoder.without_embedder(text)
    search_vector = vector if request.vector is None else request.vector
    two_models = tokens is not None and not deps.encoder.in_one_pass
    lexemes = tuple(question_terms(text))
    return Question(text, request.asked_at, search_vector, tokens, lexemes, two_models=two_models)


def _gather_bank(
    deps: RecallDependencies,
    prefetched: Prefetched,
    request: RecallRequest,
    question: Question,
    times: QueryTimes,
    clock: Clock,
) -> Gathered:
    """Run the arms on one bank, and load the pool of what they found."""
    stats, depth = prefetched.stats, DEPTHS[request.budget]
    question = _with_bank_windows(deps, prefetched, request, question, times)
    is_small = ranks_whole_bank(request) and stats.documents <= depth.whole_bank
    if deps.reranking and is_small:
        depth = depth.tracing()
    search = BankSearch(
        *(deps.graph, deps.index, prefetched.bank, question, prefetched.filter, depth, stats),
        layout=prefetched.layout,
        index_hits=prefetched.index_hits,
    )
    with clock.timing("pool"):
        whole_bank = (
            read_whole_bank(search, prefetched.find_all, deps.candidates) if is_small else None
        )
    if whole_bank is not None:
        search = replace(search, bank_candidates=whole_bank.memories)
    failures: list[Failure] = []
    entities = (*prefetched.query_entities, *prefetched.filter_entities.values())
    query_entities = list({named.id: named for named in entities}.values())
    if times.anchors and Arm.TEMPORAL in request.arms and question.embedded:
        with clock.timing("events"):
            search = search.asking(
                _with_event_windows(deps, search, request, times, failures, clock)
            )
    can_prefetch = search.index_hits is not None or (
        search.bank_candidates is not None and question.embedded
    )
    if can_prefetch and Arm.ENTITY in request.arms and not search.filter.is_selective:
        search = replace(
            search,
            surroundings=deps.alongside(
                partial(entity.prefetch_surroundings, search, query_entities)
            ),
        )
    with clock.timing("arms"):
        rankings = _run_arms(deps, search, request, query_entities, failures, clock)
    with clock.timing("pool"):
        entity_ids = [named.id for named in query_entities]
        rrf_k = deps.settings.rrf_k
        whole_bank = whole_bank or read_whole_bank(search, prefetched.find_all, deps.candidates)
        cache = deps.candidates
        pool = gather(
            search, rankings, entity_ids, rrf_k, cache, whole_bank, failures, pinned=request.pinned
        )
        pool = replace(pool, entity_words=entity.words_of(query_entities))
    return Gathered(
        (prefetched.bank,), pool, search.question, tuple(query_entities), tuple(failures)
    )


def _with_bank_windows(
    deps: RecallDependencies,
    prefetched: Prefetched,
    request: RecallRequest,
    question: Question,
    times: QueryTimes,
) -> Question:
    """Replace the spans of the question's windows by those meant in this bank.

    See `temporal.windows_in_bank`.
    """
    spans = temporal.windows_in_bank(
        deps.graph, prefetched.bank.bank.id, times.windows, prefetched.filter
    )
    windows = (
        replace(window, span=spans.get(window.span, window.span)) for window in question.windows
    )
    return replace(question, windows=tuple(dict.fromkeys(windows)))


def _with_event_windows(
    deps: RecallDependencies,
    search: BankSearch,
    request: RecallRequest,
    times: QueryTimes,
    failures: list[Failure],
    clock: Clock,
) -> Question:
    """Resolve the question's events in this bank, and add their windows to the question.

    The clauses of the events are removed; see `temporal.without_event_clauses`. At most
    `MOST_TIMES` events are looked up, using at most the recall's share of the time left.
    """

    def read(text: str) -> Question:
        vector, tokens = _begin_encoding(deps, text, request, clock)()
        return Question(text, request.asked_at, vector, tokens, tuple(question_terms(text)))

    anchors = list(dict.fromkeys(times.anchors))
    least_left = clock.left - clock.share
    events: dict[EventAnchor, temporal.ResolvedEvent] = {}
    try:
        for anchor in anchors[:MOST_TIMES]:
            if clock.left < least_left:
                raise clock.late()
            if (event := temporal.resolve_event(search, anchor, read)) is not None:
                events[anchor] = event
    except (EmbeddingError, StoreUnavailableError) as error:
        failures.append(Failure("events", error))
    if len(anchors) > MOST_TIMES:
        failures.append(_too_many("events", len(anchors)))
    if not events:
        return search.question
    remaining = temporal.without_event_clauses(request.query, events)
    question = search.question
    if remaining != request.query:
        encoding = _begin_encoding(deps, remaining, request, clock)
        question = _read_question(deps, remaining, request, failures, encoding)
    return replace(
        question,
        windows=(*search.question.windows, *(event.window for event in events.values())),
        events=frozenset(event.memory_id for event in events.values()),
    )


def _merged_question(questions: Sequence[Question]) -> Question:
    """Merge the questions of several banks: the first with known events, all windows and events."""
    first = next((question for question in questions if question.events), questions[0])
    return replace(
        first,
        windows=tuple(dict.fromkeys(window for q in questions for window in q.windows)),
        events=frozenset().union(*(question.events for question in questions)),
    )


def _run_arms(
    deps: RecallDependencies,
    search: BankSearch,
    request: RecallRequest,
    query_entities: Sequence[Entity],
    failures: list[Failure],
    clock: Clock,
) -> Mapping[Arm, Sequence[ArmHit]]:
    """Run all requested arms concurrently; those that need the semantic arm's hits run after it.

    An arm that fails or is late is added to `failures`.
    """
    rankings: dict[Arm, Sequence[ArmHit]] = {}
    running: dict[Arm, Future[list[ArmHit]]] = {}
    start_times: dict[Arm, float] = {}

    def run(arm: Arm, similar: Sequence[ArmHit]) -> list[ArmHit]:
        start_times[arm] = clock.elapsed
        with clock.timing(f"arm {arm}"):
            return ARMS[arm].search(_limited(search, arm, request), query_entities, similar)

    wanted = _wanted_arms(request, search.question)

    def start(*, after_semantic: bool) -> None:
        similar = rankings.get(Arm.SEMANTIC, ())
        for arm, entry in wanted.items():
            if entry.after_semantic == after_semantic:
                running[arm] = deps.started(partial(run, arm, similar))

    def collect(arm: Arm) -> None:
        outcome = _outcome(arm, running.pop(arm), start_times, deps.settings.arm_timeout, clock)
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
    start_times: Mapping[Arm, float],
    timeout: float,
    clock: Clock,
) -> list[ArmHit] | Failure:
    """Return an arm's hits, or why it did not answer within `timeout` seconds of its start.

    Seconds spent waiting for a thread, because many recalls run at once, do not count, but the arm
    gets no more than its share of the recall's time.
    """
    started = clock.elapsed
    deadline = started + clock.share
    while True:
        end = min(deadline, start_times.get(arm, clock.elapsed) + timeout)
        try:
            return future.result(timeout=max(0.0, end - clock.elapsed))
        except TimeoutError as error:
            if future.done():  # its own error
                return Failure(f"arm {arm}", error)
            if clock.elapsed < min(deadline, start_times.get(arm, math.inf) + timeout):
                continue  # it waited for a thread
            future.cancel()  # it may still wait for one
            waited = end - start_times.get(arm, started)
            return Failure(f"arm {arm}", StoreUnavailableError(f"no answer in {waited:g} s"))
        except Exception as error:  # noqa: BLE001 - reported in the result; the others answer
            return Failure(f"arm {arm}", error)


def _wanted_arms(request: RecallRequest, question: Question) -> dict[Arm, ArmEntry]:
    """Return the requested arms, without those that lack the time window or vector they need."""
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
