"""One pass over the memories that wait to be consolidated.

waiting memories -> similar memories, and earlier conclusions on these -> clusters -> proposals
(no lock held) -> checked again under the bank's lock -> one transaction a round

The proposals of a cluster are dropped if anything they rest on has changed meanwhile; its memories
go on waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hindsight_integrations.errors import ModelError
from hindsight_integrations.history import Change
from hindsight_integrations.models import Memory, MemoryType, ModelUsage, utc_now
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.changes.contradictions import dated_statements, probes
from hindsight_integrations.reflect.clustering import clusters
from hindsight_integrations.reflect.conclusions import (
    checked,
    conclusion,
    dropped_sources,
    encoded,
    text_changes,
)
from hindsight_integrations.reflect.dependencies import (
    FACTS,
    Cluster,
    Draft,
    Proposals,
    ReflectDependencies,
)
from hindsight_integrations.reflect.opinions import held_opinions, revised
from hindsight_integrations.results import Failure
from hindsight_integrations.stores.base import (
    CONCLUSIONS_CITING,
    ENTITY,
    MEMORY,
    RECORD,
    ChangeSet,
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)

NEAREST = 12
"""Memories most similar to a new one that are read with it."""

SHARING = 100
"""Memories with the words of one topic that are read with a new one."""

_ATTEMPTS = 3
"""Rounds in which a memory is tried while others change its cluster, before it has to wait."""
_SLACK = 64
"""Waiting memories read beyond those of a round, to see which still wait."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Outcome of a consolidation.

    Attributes:
        bank_id: the consolidated bank.
        considered: number of memories and conclusions that were read and wait no more.
        created: new observations.
        rewritten: new versions of observations and opinions that gained or lost evidence.
        removed: ids of removed conclusions.
        failures: clusters that failed; their memories wait for the next consolidation.
        usage: tokens and calls of a language model; of a failed call only the tokens.
        capped: whether it stopped at `settings.consolidation_tokens`.
        seconds: duration.
    """

    bank_id: str
    considered: int = 0
    created: tuple[Memory, ...] = ()
    rewritten: tuple[Memory, ...] = ()
    removed: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    usage: ModelUsage = field(default_factory=ModelUsage)
    capped: bool = False
    seconds: float = 0.0

    def __add__(self, other: Consolidation) -> Consolidation:
        return Consolidation(
            self.bank_id,
            self.considered + other.considered,
            self.created + other.created,
            self.rewritten + other.rewritten,
            self.removed + other.removed,
            self.failures + other.failures,
            self.usage + other.usage,
            self.capped or other.capped,
            self.seconds + other.seconds,
        )

    def __repr__(self) -> str:
        parts = [f"considered={self.considered}"]
        parts += [
            f"{name}={len(value)}"
            for name in ("created", "rewritten", "removed", "failures")
            if (value := getattr(self, name))
        ]
        parts += [f"usage={self.usage}"] if self.usage.tokens else []
        return f"Consolidation(bank_id={self.bank_id!r}, {', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class _RoundInput:
    """Records read for one round: the waiting ones and related ones, by id."""

    waiting: Mapping[str, MemoryRecord]
    facts: Mapping[str, MemoryRecord]
    conclusions: Mapping[str, MemoryRecord]
    opinions: Mapping[str, MemoryRecord]
    pairs: Sequence[tuple[str, str]]
    ambiguous: frozenset[str]
    people: frozenset[str]


@dataclass(frozen=True, slots=True)
class _ClusterResult:
    """A cluster with its proposals, and the records made of these."""

    cluster: Cluster
    proposals: Proposals
    records: tuple[MemoryRecord, ...]


def rounds(
    deps: ReflectDependencies, bank: StoredBank, stopping: Callable[[], bool] = lambda: False
) -> Iterator[Consolidation]:
    """Consolidate everything that waits in the bank, a batch at a time.

    The caller may pause between batches, or stop.

    Args:
        deps: dependencies of reflection.
        bank: the bank.
        stopping: returns True once a batch should end early; what it did not reach waits on.

    Raises:
        EmbeddingError, StoreError: a round failed; earlier rounds stay stored.
    """
    attempts_by_id: dict[str, int] = {}
    usage = ModelUsage()
    while True:
        started = time.perf_counter()
        limit = deps.settings.consolidation_batch
        exhausted = [id for id, attempts in attempts_by_id.items() if attempts >= _ATTEMPTS]
        queue = deps.graph.pending_consolidation(bank.bank.id, limit + len(exhausted))
        waiting = [id for id in queue if id not in exhausted][:limit]
        if not waiting:
            return
        done, done_ids = _round(deps, bank, waiting, usage, stopping)
        for id in waiting:
            if id not in done_ids:
                failed = bool(done.failures) or done.capped
                attempts_by_id[id] = _ATTEMPTS if failed else attempts_by_id.get(id, 0) + 1
        usage += done.usage
        yield replace(done, seconds=time.perf_counter() - started)
        if done.capped:
            return


def _round(
    deps: ReflectDependencies,
    bank: StoredBank,
    waiting: Sequence[str],
    spent: ModelUsage,
    stopping: Callable[[], bool],
) -> tuple[Consolidation, set[str]]:
    """Consolidate these; return the outcome, and the ids that wait no more."""
    round_input = _read_round(deps, bank, waiting)
    to_consolidate = clusters(
        bank.bank,
        waiting,
        round_input.pairs,
        {id: record.memory for id, record in round_input.facts.items()},
        {id: record.memory for id, record in round_input.conclusions.items()},
        {
            id: r.vector
            for records in (round_input.facts, round_input.conclusions)
            for id, r in records.items()
        },
        None if deps.consolidator is deps.rules else deps.settings.observation_similarity,
        round_input.ambiguous,
        round_input.people,
    )
    to_consolidate += revised(
        bank.bank, round_input.waiting.keys(), round_input.facts, round_input.opinions
    )
    answers: list[_ClusterResult] = []
    failures: list[Failure] = []
    usage = ModelUsage()
    deferred: set[str] = set()
    capped = False
    for cluster in to_consolidate:
        if stopping():
            deferred |= cluster.new
            continue
        writer = deps.opinions if _topic(cluster) else deps.consolidator
        asks_a_model = writer not in (deps.rules, deps.opinion_rules)
        if asks_a_model and (spent + usage).tokens >= deps.settings.consolidation_tokens:
            capped = True
            deferred |= cluster.new
            continue
        try:
            proposals = writer.propose(cluster)
            usage += proposals.usage
            answers.append(_answer(deps, round_input, cluster, checked(cluster, proposals)))
        except ModelError as error:
            usage += ModelUsage(input_tokens=error.tokens)
            failures.append(Failure(f"consolidating {cluster.subject!r}", error))
            deferred |= cluster.new
    answers = _with_vectors(deps, answers)
    with deps.lock(bank.key):
        done, done_ids = _store(deps, bank, round_input, answers, deferred)
    if done.created or done.rewritten or done.removed:
        deps.flush(bank.key)
    extra = Consolidation(bank.bank.id, failures=tuple(failures), usage=usage, capped=capped)
    return done + extra, done_ids


def _read_round(deps: ReflectDependencies, bank: StoredBank, waiting: Sequence[str]) -> _RoundInput:
    """Read the waiting records, the memories most similar, and the conclusions on all of these."""
    graph, bank_id = deps.graph, bank.bank.id
    records = graph.read(bank_id, RECORD, waiting)
    now = utc_now()
    fresh = deps.evidence(bank_id, records)
    pairs: list[tuple[str, str]] = []
    if fresh:
        vectors = np.stack([record.vector for record in fresh.values()])
        nearest = deps.index.query_many(bank.key, vectors, NEAREST + 1)
        pairs = [(id, other) for id, near in zip(fresh, nearest, strict=True) for other, _ in near]
    if deps.consolidator is deps.rules:
        pairs += _sharing(graph, bank_id, fresh)
    near_by = {other for _, other in pairs} - records.keys()
    facts = fresh | deps.evidence(bank_id, graph.read(bank_id, RECORD, sorted(near_by)))
    resting = graph.read(bank_id, CONCLUSIONS_CITING, list(facts))
    held = held_opinions(graph, bank_id)  # new evidence need not be near to what they rest on
    known = {id for ids in resting.values() for id in ids} | records.keys() | held
    conclusions = {
        id: record
        for id, record in graph.read(bank_id, RECORD, sorted(known)).items()
        if record.memory.derived
        and not record.memory.pinned
        and (record.memory.expires_at is None or record.memory.expires_at > now)
    }
    rested = {s.memory_id for r in conclusions.values() for s in r.memory.sources if s.memory_id}
    rest = graph.read(bank_id, RECORD, sorted(rested - facts.keys()))
    facts |= deps.evidence(bank_id, rest)
    pairs = [(one, other) for one, other in pairs if one in facts and other in facts]
    opinions = {id: r for id, r in conclusions.items() if r.memory.type is MemoryType.OPINION}
    observations = {id: r for id, r in conclusions.items() if id not in opinions}
    ambiguous = frozenset(_ambiguous(graph, bank_id, facts.values()))
    ids = sorted({id for record in facts.values() for id in record.entity_ids})
    named = graph.read(bank_id, ENTITY, ids).values()
    people = frozenset(entity.name for entity in named if entity.kind == "person")
    return _RoundInput(records, facts, observations, opinions, pairs, ambiguous, people)


def _sharing(
    graph: GraphStore, bank_id: str, fresh: Mapping[str, MemoryRecord]
) -> list[tuple[str, str]]:
    """Pair the new memories with all that may share a topic with them, or be changed by them.

    Similar memories do not suffice: which are the nearest depends on what else is stored.
    """
    asked: dict[frozenset[str], list[str]] = {}
    for id, record in fresh.items():
        for statement in dated_statements(record.memory):
            for terms in probes(statement):
                asked.setdefault(terms, []).append(id)
    known = graph.lexeme_stats(bank_id, sorted(set().union(*asked))).frequency
    filter = MemoryFilter(now=utc_now(), types=FACTS)
    pairs: list[tuple[str, str]] = []
    for terms, ids in asked.items():
        if all(known.get(term) for term in terms):
            hits = graph.text_search(bank_id, sorted(terms), filter, SHARING)
            found = [hit.memory_id for hit in hits if terms.issubset(hit.lexemes)]
            pairs += [(id, other) for id in ids for other in found if other != id]
    return pairs


def _ambiguous(graph: GraphStore, bank_id: str, records: Iterable[MemoryRecord]) -> Iterator[str]:
    """Yield the first names of those who changed something that several people have."""
    claims = [one.statement.claims for r in records for one in dated_statements(r.memory)]
    turned = {turn.subject for one in claims for turn in one.change_claims}
    named = {key[1:] for key in turned if key.startswith("@") and " " not in key}
    last = [step.opening[-1] for one in claims for step in one.clause_changes if step.opening]
    named |= {entity_norm(word) for word, tag in last if tag == "NNP"}
    for first in sorted(named):
        similar = graph.similar_entities(bank_id, [first], 12)[first]
        norms = (entity_norm(e.name).split() for e in similar)
        if len({words[-1] for words in norms if len(words) > 1 and words[0] == first}) > 1:
            yield first


def _answer(
    deps: ReflectDependencies, round_input: _RoundInput, cluster: Cluster, proposals: Proposals
) -> _ClusterResult:
    before = {memory.id: memory for memory in cluster.conclusions}
    now, topic = utc_now(), _topic(cluster)
    if topic is not None:  # consolidation revises opinions, and never forms new ones
        proposals = replace(proposals, drafts=tuple(d for d in proposals.drafts if d.rewrites))
    records = tuple(
        conclusion(
            cluster.bank,
            draft,
            round_input.facts,
            before.get(draft.rewrites or ""),
            now,
            topic=topic,
        )
        for draft in proposals.drafts
    )
    return _ClusterResult(cluster, proposals, records)


def _topic(cluster: Cluster) -> str | None:
    """Return the topic of the cluster's opinion; None if it has no opinion."""
    opinions = (held for held in cluster.conclusions if held.type is MemoryType.OPINION)
    return next((cluster.subject for _ in opinions), None)


def _with_vectors(
    deps: ReflectDependencies, answers: Sequence[_ClusterResult]
) -> list[_ClusterResult]:
    """Embed the texts of all records in one batch."""
    made = iter(encoded(deps.encoder, [r for answer in answers for r in answer.records]))
    return [
        _ClusterResult(answer.cluster, answer.proposals, tuple(next(made) for _ in answer.records))
        for answer in answers
    ]


def _store(
    deps: ReflectDependencies,
    bank: StoredBank,
    round_input: _RoundInput,
    answers: Iterable[_ClusterResult],
    deferred: set[str],
) -> tuple[Consolidation, set[str]]:
    """Store the proposals that are still valid; under the bank's lock."""
    graph, bank_id = deps.graph, bank.bank.id
    answers = list(answers)
    named = {id for answer in answers for id in (*_read(answer), *answer.cluster.new)}
    current = graph.read(bank_id, MEMORY, sorted(named | round_input.waiting.keys()))
    queue = set(
        graph.pending_consolidation(bank_id, len(round_input.waiting) + len(deferred) + _SLACK)
    )
    unchanged = {
        id
        for id, record in round_input.waiting.items()
        if id in current and id in queue and current[id].updated_at == record.memory.updated_at
    }
    holding = [answer for answer in answers if _holds(answer, current, unchanged)]
    in_doubt = {id for answer in answers if answer not in holding for id in answer.cluster.new}
    done_ids = unchanged - deferred - in_doubt
    created = [r for answer in holding for r, d in _drafted(answer) if d.rewrites is None]
    rewritten = [r for answer in holding for r, d in _drafted(answer) if d.rewrites is not None]
    removals = [removal for answer in holding for removal in answer.proposals.removals]
    removed = tuple(removal.conclusion_id for removal in removals)
    history = [change for answer in holding for change in _changes(answer)]
    graph.apply(
        ChangeSet(
            bank_id,
            remove_memories=removed,
            memories=tuple(created),
            replaced=tuple(rewritten),
            history=tuple(history),
            mark_consolidated=(
                *(id for id in done_ids if id not in removed),
                *(record.memory.id for record in rewritten),
            ),
        )
    )
    done = Consolidation(
        bank_id,
        considered=len(done_ids),
        created=tuple(record.memory for record in created),
        rewritten=tuple(record.memory for record in rewritten),
        removed=removed,
    )
    return done, done_ids | (round_input.waiting.keys() - current.keys())


def _read(answer: _ClusterResult) -> Iterator[str]:
    """Yield the ids that the proposals rest on, and those they change."""
    for draft in answer.proposals.drafts:
        yield from (piece.memory_id for piece in draft.evidence)
    yield from (memory.id for memory in answer.cluster.conclusions)


def _holds(answer: _ClusterResult, current: Mapping[str, Memory], unchanged: set[str]) -> bool:
    """Return True if nothing that the proposals were drawn from has changed meanwhile."""
    if not answer.cluster.new <= unchanged:
        return False
    touched = {draft.rewrites for draft in answer.proposals.drafts}
    touched |= {removal.conclusion_id for removal in answer.proposals.removals}
    before = {memory.id: memory.updated_at for memory in answer.cluster.conclusions}
    same = all(
        id in current and current[id].updated_at == before[id] for id in touched if id is not None
    )
    return same and all(
        piece.memory_id in current
        and current[piece.memory_id].invalidated_at is None
        and piece.quote in current[piece.memory_id].text
        for draft in answer.proposals.drafts
        for piece in draft.evidence
    )


def _drafted(answer: _ClusterResult) -> Iterator[tuple[MemoryRecord, Draft]]:
    yield from zip(answer.records, answer.proposals.drafts, strict=True)


def _changes(answer: _ClusterResult) -> Iterator[Change]:
    """Yield the history: the earlier text of each conclusion, and why it changed."""
    before = {memory.id: memory for memory in answer.cluster.conclusions}
    for record, draft in _drafted(answer):
        memory = record.memory
        if draft.rewrites is not None:
            quotable = draft.rewrites not in answer.cluster.new
            old = before[draft.rewrites]
            yield from text_changes(old, memory, "consolidate", draft.reasoning, quotable=quotable)
        elif draft.earlier is not None and draft.earlier != memory.text:
            yield Change(
                memory.id, "consolidate", "text", draft.earlier, memory.text, memory.updated_at,
                draft.reasoning,
            )  # fmt: skip
    for removal in answer.proposals.removals:
        yield from dropped_sources(before[removal.conclusion_id], "consolidate", utc_now())
