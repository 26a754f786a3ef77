"""One pass over the memories that wait to be consolidated.

waiting memories -> similar memories, and earlier conclusions on these -> clusters -> proposals
(no lock held) -> checked again under the bank's lock -> one transaction per round

Proposals whose evidence has changed meanwhile are dropped; the memories of such a cluster remain in
the queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hindsight_integrations.errors import ModelError
from hindsight_integrations.history import Change
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import Memory, MemoryType, ModelUsage, utc_now
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.changes.contradictions import dated_statements, probes
from hindsight_integrations.reflect.clustering import clusters
from hindsight_integrations.reflect.conclusions import (
    conclusion_record,
    dropped_source_changes,
    text_changes,
    validated,
    with_own_vectors,
)
from hindsight_integrations.reflect.dependencies import (
    FACTS,
    Cluster,
    Draft,
    Proposals,
    ReflectDependencies,
)
from hindsight_integrations.reflect.opinions import opinions_to_revise, valid_opinion_ids
from hindsight_integrations.reflect.topics import read_ahead
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
"""Number of most similar memories that are read for each new memory."""

MOST_TOPIC_HITS = 100
"""Most memories with the words of a topic that are read for each new memory."""

_MAX_ATTEMPTS = 3
"""Rounds in which a memory is tried while other writers change its cluster."""
_SLACK = 64
"""Memories of the queue that are read in addition to those of the round, when it is checked which
of these still wait: others may have been queued before them."""


@dataclass(frozen=True, slots=True)
class Consolidation(JsonForm):
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
    """Records read for one round, by id.

    Attributes:
        waiting: memories and conclusions of the queue.
        facts: waiting and related memories, including the evidence of the conclusions.
        conclusions: observations on the facts.
        opinions: opinions on the facts, and all other valid ones.
        pairs: ids of facts that may belong to one cluster.
        ambiguous: first names that several people have.
        people: names of entities that are persons.
    """

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
    """Consolidate all waiting memories of the bank, in batches.

    The caller may pause between batches, or stop.

    Args:
        deps: dependencies of reflection.
        bank: the bank.
        stopping: returns True once a batch has to end early; clusters not reached remain queued.

    Raises:
        EmbeddingError, StoreError: a round failed; earlier rounds stay stored.
    """
    attempts_by_id: dict[str, int] = {}
    usage = ModelUsage()
    while True:
        started = time.perf_counter()
        limit = deps.settings.consolidation_batch
        exhausted = [id for id, attempts in attempts_by_id.items() if attempts >= _MAX_ATTEMPTS]
        queue = deps.graph.pending_consolidation(bank.bank.id, limit + len(exhausted))
        waiting = [id for id in queue if id not in exhausted][:limit]
        if not waiting:
            return
        done, done_ids = _round(deps, bank, waiting, usage, stopping)
        for id in waiting:
            if id not in done_ids:
                failed = bool(done.failures) or done.capped
                attempts_by_id[id] = _MAX_ATTEMPTS if failed else attempts_by_id.get(id, 0) + 1
        usage += done.usage
        yield replace(done, seconds=time.perf_counter() - started)
        if done.capped:
            return


def _round(
    deps: ReflectDependencies,
    bank: StoredBank,
    waiting_ids: Sequence[str],
    usage_before: ModelUsage,
    stopping: Callable[[], bool],
) -> tuple[Consolidation, set[str]]:
    """Consolidate a batch; return the outcome, and the ids that no longer wait."""
    round_input = _read_round(deps, bank, waiting_ids)
    to_consolidate = clusters(
        bank.bank,
        waiting_ids,
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
    to_consolidate += opinions_to_revise(
        bank.bank, round_input.waiting.keys(), round_input.facts, round_input.opinions
    )
    results: list[_ClusterResult] = []
    failures: list[Failure] = []
    usage = ModelUsage()
    deferred: set[str] = set()
    capped = False
    for cluster in to_consolidate:
        if stopping():
            deferred |= cluster.new
            continue
        consolidator = deps.opinions if _topic(cluster) else deps.consolidator
        asks_a_model = consolidator not in (deps.rules, deps.opinion_rules)
        if asks_a_model and (usage_before + usage).tokens >= deps.settings.consolidation_tokens:
            capped = True
            deferred |= cluster.new
            continue
        try:
            proposals = consolidator.propose(cluster)
            usage += proposals.usage
            results.append(
                _cluster_result(deps, round_input, cluster, validated(cluster, proposals))
            )
        except ModelError as error:
            usage += ModelUsage(input_tokens=error.tokens)
            failures.append(Failure(f"consolidating {cluster.subject!r}", error))
            deferred |= cluster.new
    results = _with_vectors(deps, results)
    with deps.lock(bank.key):
        done, done_ids = _store(deps, bank, round_input, results, deferred)
    if done.created or done.rewritten or done.removed:
        deps.flush(bank.key)
    extra = Consolidation(bank.bank.id, failures=tuple(failures), usage=usage, capped=capped)
    return done + extra, done_ids


def _read_round(
    deps: ReflectDependencies, bank: StoredBank, waiting_ids: Sequence[str]
) -> _RoundInput:
    """Read the waiting records, the most similar memories, and the conclusions on all of these."""
    graph, bank_id = deps.graph, bank.bank.id
    records = graph.read(bank_id, RECORD, waiting_ids)
    now = utc_now()
    new_facts = deps.evidence(bank_id, records)
    pairs: list[tuple[str, str]] = []
    if new_facts:
        vectors = np.stack([record.vector for record in new_facts.values()])
        nearest = deps.index.query_many(bank.key, vectors, NEAREST + 1)
        pairs = [
            (id, second) for id, near in zip(new_facts, nearest, strict=True) for second, _ in near
        ]
    if deps.consolidator is deps.rules:
        pairs += _topic_pairs(graph, bank_id, new_facts)
    similar_ids = {second for _, second in pairs} - records.keys()
    facts = new_facts | deps.evidence(bank_id, graph.read(bank_id, RECORD, sorted(similar_ids)))
    citing = graph.read(bank_id, CONCLUSIONS_CITING, list(facts))
    opinion_ids = valid_opinion_ids(
        graph, bank_id
    )  # new evidence need not be near to what they rest on
    conclusion_ids = {id for ids in citing.values() for id in ids} | records.keys() | opinion_ids
    conclusions = {
        id: record
        for id, record in graph.read(bank_id, RECORD, sorted(conclusion_ids)).items()
        if record.memory.derived
        and not record.memory.pinned
        and (record.memory.expires_at is None or record.memory.expires_at > now)
    }
    cited_ids = {s.memory_id for r in conclusions.values() for s in r.memory.sources if s.memory_id}
    cited_records = graph.read(bank_id, RECORD, sorted(cited_ids - facts.keys()))
    facts |= deps.evidence(bank_id, cited_records)
    pairs = [(first, second) for first, second in pairs if first in facts and second in facts]
    opinions = {id: r for id, r in conclusions.items() if r.memory.type is MemoryType.OPINION}
    observations = {id: r for id, r in conclusions.items() if id not in opinions}
    ambiguous = frozenset(_ambiguous_first_names(graph, bank_id, facts.values()))
    entity_ids = sorted({id for record in facts.values() for id in record.entity_ids})
    entities = graph.read(bank_id, ENTITY, entity_ids).values()
    people = frozenset(entity.name for entity in entities if entity.kind == "person")
    return _RoundInput(records, facts, observations, opinions, pairs, ambiguous, people)


def _topic_pairs(
    graph: GraphStore, bank_id: str, new_facts: Mapping[str, MemoryRecord]
) -> list[tuple[str, str]]:
    """Pair the new memories with those that may share a topic, or change each other.

    Nearest neighbours do not suffice for rules: which are nearest depends on what else is stored.
    """
    ids_by_terms: dict[frozenset[str], list[str]] = {}
    read_ahead(record.memory for record in new_facts.values())
    for id, record in new_facts.items():
        for statement in dated_statements(record.memory):
            for terms in probes(statement):
                ids_by_terms.setdefault(terms, []).append(id)
    frequency = graph.lexeme_stats(bank_id, sorted(set().union(*ids_by_terms))).frequency
    filter = MemoryFilter(now=utc_now(), types=FACTS)
    pairs: list[tuple[str, str]] = []
    for terms, ids in ids_by_terms.items():
        if all(frequency.get(term) for term in terms):
            hits = graph.text_search(bank_id, sorted(terms), filter, MOST_TOPIC_HITS)
            sharing_ids = [hit.memory_id for hit in hits if terms.issubset(hit.lexemes)]
            pairs += [
                (id, sharing_id) for id in ids for sharing_id in sharing_ids if sharing_id != id
            ]
    return pairs


def _ambiguous_first_names(
    graph: GraphStore, bank_id: str, records: Collection[MemoryRecord]
) -> Iterator[str]:
    """Yield first names that several people have, of those that are subjects of changes."""
    read_ahead(record.memory for record in records)
    claims = [dated.statement.claims for r in records for dated in dated_statements(r.memory)]
    changed_subjects = {key for one in claims for end in one.endings for key in end.agents}
    first_names = {key[1:] for key in changed_subjects if key.startswith("@") and " " not in key}
    last_words = [
        step.opening[-1] for dated in claims for step in dated.clause_changes if step.opening
    ]
    first_names |= {entity_norm(word) for word, tag in last_words if tag == "NNP"}
    for first_name in sorted(first_names):
        similar = graph.similar_entities(bank_id, [first_name], 12)[first_name]
        norms = (entity_norm(e.name).split() for e in similar)
        if len({words[-1] for words in norms if len(words) > 1 and words[0] == first_name}) > 1:
            yield first_name


def _cluster_result(
    deps: ReflectDependencies, round_input: _RoundInput, cluster: Cluster, proposals: Proposals
) -> _ClusterResult:
    stored = {memory.id: memory for memory in cluster.conclusions}
    now, topic = utc_now(), _topic(cluster)
    if topic is not None:  # consolidation revises opinions, and never forms new ones
        proposals = replace(proposals, drafts=tuple(d for d in proposals.drafts if d.rewrites))
    records = tuple(
        conclusion_record(
            cluster.bank,
            draft,
            round_input.facts,
            stored.get(draft.rewrites or ""),
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
    deps: ReflectDependencies, results: Sequence[_ClusterResult]
) -> list[_ClusterResult]:
    """Embed the texts of all records in one batch."""
    records = iter(
        with_own_vectors(deps.encoder, [r for result in results for r in result.records])
    )
    return [
        _ClusterResult(
            result.cluster, result.proposals, tuple(next(records) for _ in result.records)
        )
        for result in results
    ]


def _store(
    deps: ReflectDependencies,
    bank: StoredBank,
    round_input: _RoundInput,
    results: Iterable[_ClusterResult],
    deferred: set[str],
) -> tuple[Consolidation, set[str]]:
    """Store the proposals that are still current; call it with the bank's lock held."""
    graph, bank_id = deps.graph, bank.bank.id
    results = list(results)
    ids = {id for result in results for id in (*_ids_read(result), *result.cluster.new)}
    current = graph.read(bank_id, MEMORY, sorted(ids | round_input.waiting.keys()))
    still_waiting = set(
        graph.pending_consolidation(bank_id, len(round_input.waiting) + len(deferred) + _SLACK)
    )
    unchanged = {
        id
        for id, record in round_input.waiting.items()
        if id in current
        and id in still_waiting
        and current[id].updated_at == record.memory.updated_at
    }
    current_results = [result for result in results if _is_current(result, current, unchanged)]
    outdated_ids = {
        id for result in results if result not in current_results for id in result.cluster.new
    }
    done_ids = unchanged - deferred - outdated_ids
    created = [
        r for result in current_results for r, d in _with_drafts(result) if d.rewrites is None
    ]
    rewritten = [
        r for result in current_results for r, d in _with_drafts(result) if d.rewrites is not None
    ]
    removals = [removal for result in current_results for removal in result.proposals.removals]
    removed = tuple(removal.conclusion_id for removal in removals)
    history = [change for result in current_results for change in _changes(result)]
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


def _ids_read(result: _ClusterResult) -> Iterator[str]:
    """Yield the ids of the memories that proposals cite, and of the cluster's conclusions."""
    for draft in result.proposals.drafts:
        yield from (piece.memory_id for piece in draft.evidence)
    yield from (memory.id for memory in result.cluster.conclusions)


def _is_current(result: _ClusterResult, current: Mapping[str, Memory], unchanged: set[str]) -> bool:
    """Return True if the memories, quotes and conclusions behind the proposals are unchanged."""
    if not result.cluster.new <= unchanged:
        return False
    changed_ids = {draft.rewrites for draft in result.proposals.drafts}
    changed_ids |= {removal.conclusion_id for removal in result.proposals.removals}
    versions = {memory.id: memory.updated_at for memory in result.cluster.conclusions}
    conclusions_current = all(
        id in current and current[id].updated_at == versions[id]
        for id in changed_ids
        if id is not None
    )
    return conclusions_current and all(
        piece.memory_id in current
        and current[piece.memory_id].invalidated_at is None
        and piece.quote in current[piece.memory_id].text
        for draft in result.proposals.drafts
        for piece in draft.evidence
    )


def _with_drafts(result: _ClusterResult) -> Iterator[tuple[MemoryRecord, Draft]]:
    yield from zip(result.records, result.proposals.drafts, strict=True)


def _changes(result: _ClusterResult) -> Iterator[Change]:
    """Yield entries for the history: the earlier text of each conclusion, and why it changed."""
    old_versions = {memory.id: memory for memory in result.cluster.conclusions}
    for record, draft in _with_drafts(result):
        memory = record.memory
        if draft.rewrites is not None:
            quotable = draft.rewrites not in result.cluster.new
            old_version = old_versions[draft.rewrites]
            yield from text_changes(
                old_version, memory, "consolidate", draft.reasoning, quotable=quotable
            )
        elif draft.earlier is not None and draft.earlier != memory.text:
            yield Change(
                memory.id, "consolidate", "text", draft.earlier, memory.text, memory.updated_at,
                draft.reasoning,
            )  # fmt: skip
    for removal in result.proposals.removals:
        yield from dropped_source_changes(
            old_versions[removal.conclusion_id], "consolidate", utc_now()
        )
