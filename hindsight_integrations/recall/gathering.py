"""Read the question, run the arms on each bank, and join what they found into one pool."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple, NoReturn

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
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    clock: Clock,
    current: Callable[[str], StoredBank] | None = None,
) -> Gathered:
    """Read the question, run the arms on each bank, and join what they found into one pool."""
    lexemes = tuple(question_terms(request.query))
    with clock.timing("read"):
        begun = start_reads(deps, banks[0], request, lexemes, current)
        times = parse_query(request.query, request.asked_at, hemisphere=deps.settings.hemisphere)
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
        question = _asked(deps, request.query, request, failures, clock)
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
                begun = start_reads(deps, bank, request, lexemes, current)
            prefetched = finish_reads(deps, begun, request, question, Arm.SEMANTIC in wanted)
            gathered.append(_gather_bank(deps, prefetched, request, question, times, clock))
    return Gathered(
        banks=tuple(chain.from_iterable(bank.banks for bank in gathered)),
        pool=join([bank.pool for bank in gathered]),
        question=_merged_question([bank.question for bank in gathered]),
        named=tuple(entity for bank in gathered for entity in bank.named),
        failures=(*failures, *(failure for bank in gathered for failure in bank.failures)),
    )


def _asked(
    deps: RecallDependencies,
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
    given, dimension = request.vector, deps.encoder.embedder.dimension
    if given is not None and given.shape != (dimension,):
        raise InvalidInputError(
            f"query_vector has {given.size} numbers, but the embedder "
            f"{deps.encoder.embedder.id!r} makes {dimension}; give a vector of that "
            "embedder"
        )
    vector: Vector = np.zeros(dimension, np.float32)
    tokens = None
    if text:
        try:
            vector, tokens = _encoded(deps, text, clock)
        except StoreUnavailableError as error:
            failures.append(Failure("embedder", error))
        except EmbeddingError as error:
            failures.append(Failure("embedder", error))
            vector, tokens = deps.encoder.without_embedder(text)
    chosen = vector if given is None else given
    return Question(text, request.asked_at, chosen, tokens, tuple(question_terms(text)))


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
    is_small = ranks_whole_bank(request) and stats.documents <= depth.whole
    if deps.reranking and is_small:
        depth = depth.tracing()
    search = BankSearch(
        *(deps.graph, deps.index, prefetched.bank, question, prefetched.filter, depth, stats),
        layout=prefetched.layout,
        near=prefetched.near,
    )
    with clock.timing("pool"):
        whole = (
            read_whole_bank(search, prefetched.everything, deps.candidates) if is_small else None
        )
    if whole is not None:
        search = replace(search, held=whole.memories)
    failures: list[Failure] = []
    named = list({one.id: one for one in (*prefetched.spoken, *prefetched.given.values())}.values())
    if times.anchors and Arm.TEMPORAL in request.arms and question.embedded:
        with clock.timing("events"):
            search = search.asking(
                _with_event_windows(deps, search, request, times, failures, clock)
            )
    known = search.near is not None or (search.held is not None and question.embedded)
    if known and Arm.ENTITY in request.arms and not search.filter.is_selective:
        search = replace(search, around=deps.alongside(partial(entity.begin, search, named)))
    with clock.timing("arms"):
        rankings = _run_arms(deps, search, request, named, failures, clock)
    with clock.timing("pool"):
        named_ids = [entity.id for entity in named]
        rrf_k = deps.settings.rrf_k
        whole = whole or read_whole_bank(search, prefetched.everything, deps.candidates)
        kept = deps.candidates
        pool = gather(
            search, rankings, named_ids, rrf_k, kept, whole, failures, pinned=request.pinned
        )
        pool = replace(pool, entity_words=entity.words_of(named))
    return Gathered((prefetched.bank,), pool, search.question, tuple(named), tuple(failures))


def _with_bank_windows(
    deps: RecallDependencies,
    prefetched: Prefetched,
    request: RecallRequest,
    question: Question,
    times: QueryTimes,
) -> Question:
    """Return the question with its windows as this bank means them; see `temporal.in_bank`."""
    spans = temporal.in_bank(deps.graph, prefetched.bank.bank.id, times.windows, prefetched.filter)
    windows = (replace(each, span=spans.get(each.span, each.span)) for each in question.windows)
    return replace(question, windows=tuple(dict.fromkeys(windows)))


def _encoded(
    deps: RecallDependencies, text: str, clock: Clock
) -> tuple[Vector, TokenMatrix | None]:
    """Return a question's vectors. Models of this process compute: they do so in their turn."""
    bounded = clock.within if deps.encoder.in_one_pass else clock.outside
    return bounded(lambda: deps.encoder.question(text))


def _with_event_windows(
    deps: RecallDependencies,
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
        vector, tokens = _encoded(deps, text, clock)
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
        search.question if same else _asked(deps, rest, request, failures, clock),
        windows=(*search.question.windows, *(event.window for event in events.values())),
        events=frozenset(event.memory_id for event in events.values()),
    )


def _merged_question(questions: Sequence[Question]) -> Question:
    """Return one question for all banks: as read where its events are known, with all windows."""
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
                running[arm] = deps.started(partial(run, arm, similar))

    def collect(arm: Arm) -> None:
        outcome = _outcome(arm, running.pop(arm), begun, deps.settings.arm_timeout, clock)
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
