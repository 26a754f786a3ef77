"""From a request to the pool that is ranked.

read the question -> four arms in parallel, a bank at a time -> fuse into a pool
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass, replace
from functools import partial

from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.language.time import QueryTimes, parse_query
from hindsight_integrations.model import Entity
from hindsight_integrations.recall import entity, events, meaning, pathway, temporal
from hindsight_integrations.recall.names import named_entities
from hindsight_integrations.recall.parts import Clock, RecallParts
from hindsight_integrations.recall.pool import Pool, gather, join
from hindsight_integrations.recall.ports import DEPTHS, ArmHit, BankSearch, Question
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.results import Arm, Failure, Window
from hindsight_integrations.storage.requests import StoredBank


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
    stats = parts.graph.lexeme_stats(bank.bank.id, question.lexemes)
    whole = request.arms == frozenset(Arm)
    depth = DEPTHS[request.budget]
    if whole and parts.reranking and stats.documents <= depth.whole:
        depth = depth.tracing()
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
            whole=whole,
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
        arm: parts.started(partial(timed, arm, run))
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
        waiting[Arm.ENTITY] = parts.started(
            partial(timed, Arm.ENTITY, lambda: entity.search(search, named, similar))
        )
    for arm, future in waiting.items():
        collect(arm, future)
    if failures and not rankings:
        raise StoreUnavailableError(
            f"every arm of recall failed on bank {search.bank_id!r}: "
            + "; ".join(map(str, failures))
        ) from failures[0].error
    return rankings
