"""Prefetching: the first reads of a recall in one bank, run concurrently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial

from hindsight_integrations.models import Arm, Entity
from hindsight_integrations.recall.arms import entity, semantic
from hindsight_integrations.recall.base import DEPTHS, Question
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.layout import Layout
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.stores.base import LexemeStats, MemoryFilter, StoredBank


@dataclass(frozen=True, slots=True)
class Prefetched:
    """Results of the reads of one bank that run concurrently: on servers each is a round trip.

    Attributes:
        bank: the bank at its current version.
        query_entities: the entities that the question names.
        filter_entities: the entities of the request's filter, by the name or id given.
        filter: the filter of the request, with the ids of `filter_entities`.
        stats: term statistics for the question.
        find_all: returns the ids of all memories that pass the filter, or None if they are too
            many to be ranked whole; None if not read.
        layout: returns the layout of the bank, or None if it is big; None if not read.
        index_hits: returns the index's hits for the semantic arm; None if the arm does not run, or
            if the bank is so small that all of its vectors are read.
    """

    bank: StoredBank
    query_entities: list[Entity]
    filter_entities: Mapping[str, Entity]
    filter: MemoryFilter
    stats: LexemeStats
    find_all: Callable[[], list[str] | None] | None
    layout: Callable[[], Layout | None] | None
    index_hits: Callable[[], list[tuple[str, float]]] | None


@dataclass(frozen=True, slots=True)
class PendingReads:
    """Running reads of one bank that need only the words of the question, not its vector.

    Attributes:
        bank: the bank as last read, perhaps some time ago.
        filter_entities: the entities of the request's filter, by the name or id given.
        filter: the filter of the request, with the ids of `filter_entities`.
        current_bank: returns the bank at its current version; None if `bank` is current.
        term_stats: returns term statistics for the question.
        find_all: returns the ids of all memories that pass the filter, or None if they are too
            many to be ranked whole; None if not read.
        layout: returns the layout of the bank, or None if it is big; None if not read.
        query_entities: returns the entities that the question names.
    """

    bank: StoredBank
    filter_entities: Mapping[str, Entity]
    filter: MemoryFilter
    current_bank: Callable[[], StoredBank] | None
    term_stats: Callable[[], LexemeStats]
    find_all: Callable[[], list[str] | None] | None
    layout: Callable[[], Layout | None] | None
    query_entities: Callable[[], list[Entity]]


def start_reads(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    lexemes: tuple[str, ...],
    current: Callable[[str], StoredBank] | None,
) -> PendingReads:
    """Start the first reads of a bank concurrently; they run while the question is embedded.

    Args:
        deps: stores, models and settings.
        bank: the bank.
        request: the question.
        lexemes: of the question.
        current: reads the bank's current version, if `bank` may be out of date.
    """
    graph, id = deps.graph, bank.bank.id
    filter_entities: Mapping[str, Entity] = {}
    if request.entities:  # every other read needs their ids
        bank, current = bank if current is None else current(id), None
        filter_entities = entity.entities_by_reference(graph, id, request.entities)
    # A name that the bank does not know stays as it is: as an id it admits nothing.
    ids = tuple(
        filter_entities[name].id if name in filter_entities else name for name in request.entities
    )
    filter = replace(request.filter, entity_ids=ids)
    size_limit = DEPTHS[request.budget].whole_bank
    reads_layout = ranks_whole_bank(request) and filter.is_plain
    finds_all = ranks_whole_bank(request) and not reads_layout
    return PendingReads(
        bank=bank,
        filter_entities=filter_entities,
        filter=filter,
        current_bank=None if current is None else deps.alongside(partial(current, id)),
        term_stats=deps.alongside(partial(graph.lexeme_stats, id, lexemes)),
        layout=deps.alongside(partial(deps.layouts.read, graph, bank, size_limit))
        if reads_layout
        else None,
        find_all=(
            deps.alongside(partial(graph.find_ids, id, filter, size_limit)) if finds_all else None
        ),
        query_entities=deps.alongside(partial(entity.query_entities, graph, id, request.query)),
    )


def finish_reads(
    deps: RecallDependencies,
    pending: PendingReads,
    request: RecallRequest,
    question: Question,
    asks_index: bool,
) -> Prefetched:
    """Wait for the pending reads of a bank, and start the query of its vector index.

    Args:
        deps: stores, models and settings.
        pending: the reads.
        request: the request.
        question: the question, embedded if that was possible.
        asks_index: also query the vector index, for the semantic arm.
    """
    bank, depth, index_hits = pending.bank, DEPTHS[request.budget], None
    is_small = ranks_whole_bank(request) and deps.layouts.known_size(bank) <= depth.whole_bank
    if asks_index and not is_small:  # of a small bank all vectors are read
        most = semantic.index_limit(
            pending.filter, request.arm_limits.get(Arm.SEMANTIC, depth.hits)
        )
        index_hits = deps.alongside(partial(deps.index.query, bank.key, question.vector, most))
    current = bank if pending.current_bank is None else pending.current_bank()
    if current.key != bank.key:  # deleted and made again, or with another embedder
        restarted = start_reads(deps, current, request, question.lexemes, None)
        return finish_reads(deps, restarted, request, question, asks_index)
    stats, layout, find_all = pending.term_stats(), pending.layout, pending.find_all
    if layout is not None:
        layout = _verified_layout(deps, bank, current, stats, layout, depth.whole_bank)
        find_all = partial(_unexpired_ids, layout, pending.filter)
    query_entities = pending.query_entities()
    return Prefetched(
        current,
        query_entities,
        pending.filter_entities,
        pending.filter,
        stats,
        find_all,
        layout,
        index_hits,
    )


def _verified_layout(
    deps: RecallDependencies,
    before: StoredBank,
    now: StoredBank,
    stats: LexemeStats,
    read_layout: Callable[[], Layout | None],
    size_limit: int,
) -> Callable[[], Layout | None]:
    """Return a function that returns a current layout, reading it again if it is outdated.

    A layout is outdated if it is of another version of the bank, or if it lacks a memory that was
    stored while later ones were read.
    """

    @cache
    def verified() -> Layout | None:
        layout = read_layout()
        if layout is None:
            is_current = stats.documents > size_limit or now.version == before.version
        else:
            is_current = now.version == before.version and len(layout.places) == stats.documents
        if is_current:
            return layout
        deps.layouts.forget(now)
        return deps.layouts.read(deps.graph, now, size_limit)

    return verified


def _unexpired_ids(
    read_layout: Callable[[], Layout | None], filter: MemoryFilter
) -> list[str] | None:
    layout = read_layout()
    return None if layout is None else layout.unexpired_ids(filter.now)


def ranks_whole_bank(request: RecallRequest) -> bool:
    """Return True if all memories of a small bank are to be ranked."""
    return request.arms == frozenset(Arm) and not request.arm_limits
