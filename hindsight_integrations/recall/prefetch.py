"""The reads that a recall begins with, in one bank."""

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
    """Reads of one bank that need not wait for each other: on servers each is a round trip.

    Attributes:
        bank: as it is now.
        spoken: the entities that the question names.
        given: those that the request asks for, by what it calls them.
        filter: the filter of the request, with the ids of those.
        stats: term statistics for the question.
        everything: returns all memories that pass, or None if they are many; None if not read.
        layout: returns the layout of the bank, or None if it is big; None if not read.
        near: what the index is asked for the semantic arm; None if it does not run, or if the bank
            is known to be so small that all of its vectors are read.
    """

    bank: StoredBank
    spoken: list[Entity]
    given: Mapping[str, Entity]
    filter: MemoryFilter
    stats: LexemeStats
    everything: Callable[[], list[str] | None] | None
    layout: Callable[[], Layout | None] | None
    near: Callable[[], list[tuple[str, float]]] | None


@dataclass(frozen=True, slots=True)
class PendingReads:
    """Reads of one bank that need nothing of the question but its words, as they go on.

    Attributes:
        bank: as it was read before.
        given: the entities that the request asks for, by what it calls them.
        filter: the filter of the request, with the ids of those.
        confirmed: returns the bank as it is now; None if `bank` is that.
        counted: returns term statistics for the question.
        everything: returns all memories that pass, or None if they are many; None if not read.
        layout: returns the layout of the bank, or None if it is big; None if not read.
        spoken: returns the entities that the question names.
    """

    bank: StoredBank
    given: Mapping[str, Entity]
    filter: MemoryFilter
    confirmed: Callable[[], StoredBank] | None
    counted: Callable[[], LexemeStats]
    everything: Callable[[], list[str] | None] | None
    layout: Callable[[], Layout | None] | None
    spoken: Callable[[], list[Entity]]


def start_reads(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    lexemes: tuple[str, ...],
    current: Callable[[str], StoredBank] | None,
) -> PendingReads:
    """Start the first reads of a bank, all at once: they go on while the question is embedded.

    Args:
        deps: stores, models and settings.
        bank: the bank.
        request: the question.
        lexemes: of the question.
        current: reads the bank as it is now, if `bank` is as it was read some time ago.
    """
    graph, id = deps.graph, bank.bank.id
    given: Mapping[str, Entity] = {}
    if request.entities:  # every other read needs their ids
        bank, current = bank if current is None else current(id), None
        given = entity.entities_called(graph, id, request.entities)
    # A name that the bank does not know stays as it is: as an id it admits nothing.
    ids = tuple(given[name].id if name in given else name for name in request.entities)
    filter = replace(request.filter, entity_ids=ids)
    whole = DEPTHS[request.budget].whole
    plain = ranks_whole_bank(request) and filter.is_plain
    selected = ranks_whole_bank(request) and not plain
    return PendingReads(
        bank=bank,
        given=given,
        filter=filter,
        confirmed=None if current is None else deps.alongside(partial(current, id)),
        counted=deps.alongside(partial(graph.lexeme_stats, id, lexemes)),
        layout=deps.alongside(partial(deps.layouts.read, graph, bank, whole)) if plain else None,
        everything=(
            deps.alongside(partial(graph.find_ids, id, filter, whole)) if selected else None
        ),
        spoken=deps.alongside(partial(entity.query_entities, graph, id, request.query)),
    )


def finish_reads(
    deps: RecallDependencies,
    pending: PendingReads,
    request: RecallRequest,
    question: Question,
    by_meaning: bool,
) -> Prefetched:
    """Return what was started to be read of a bank, and what the vector index holds.

    Args:
        deps: stores, models and settings.
        pending: the reads.
        request: the question.
        question: the question as it was read.
        by_meaning: ask the vector index too.
    """
    bank, depth, near = pending.bank, DEPTHS[request.budget], None
    is_small = ranks_whole_bank(request) and deps.layouts.known(bank) <= depth.whole
    if by_meaning and not is_small:  # of a small bank all vectors are read
        most = semantic.fetched(pending.filter, request.arm_limits.get(Arm.SEMANTIC, depth.hits))
        near = deps.alongside(partial(deps.index.query, bank.key, question.vector, most))
    now = bank if pending.confirmed is None else pending.confirmed()
    if now.key != bank.key:  # deleted and made again, or with another embedder
        again = start_reads(deps, now, request, question.lexemes, None)
        return finish_reads(deps, again, request, question, by_meaning)
    stats, layout, everything = pending.counted(), pending.layout, pending.everything
    if layout is not None:
        layout = _confirmed(deps, bank, now, stats, layout, depth.whole)
        everything = partial(_alive, layout, pending.filter)
    spoken = pending.spoken()
    return Prefetched(now, spoken, pending.given, pending.filter, stats, everything, layout, near)


def _confirmed(
    deps: RecallDependencies,
    before: StoredBank,
    now: StoredBank,
    stats: LexemeStats,
    read: Callable[[], Layout | None],
    most: int,
) -> Callable[[], Layout | None]:
    """Return what returns a layout that holds, read once more if it does not.

    It does not if the bank had another version, or if it lacks a memory: one that was stored while
    those after it were read.
    """

    @cache
    def confirmed() -> Layout | None:
        layout = read()
        if layout is None:
            holds = stats.documents > most or now.version == before.version
        else:
            holds = now.version == before.version and len(layout.places) == stats.documents
        if holds:
            return layout
        deps.layouts.forget(now)
        return deps.layouts.read(deps.graph, now, most)

    return confirmed


def _alive(layout: Callable[[], Layout | None], filter: MemoryFilter) -> list[str] | None:
    read = layout()
    return None if read is None else read.alive(filter.now)


def ranks_whole_bank(request: RecallRequest) -> bool:
    """Return True if all memories of a small bank are to be ranked."""
    return request.arms == frozenset(Arm) and not request.arm_limits
