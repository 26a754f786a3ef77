"""Conclusions, which are observations and opinions: check drafts, write, rewrite and read them.

A change of memories rewrites the conclusions that cite them in the same transaction
(`rewrite_conclusions`), so that no forgotten text remains in an observation. Hence it needs neither
the background worker nor a language model: rules write from the remaining evidence. A conclusion
that a model had written stays pending, for the model to improve it later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hindsight_integrations.conclusions import Observation, Opinion, evidence_times, quotations
from hindsight_integrations.errors import ModelError
from hindsight_integrations.history import Change
from hindsight_integrations.models import (
    Bank,
    Memory,
    MemoryType,
    ObservationKind,
    Source,
    TimeSpan,
    utc_now,
)
from hindsight_integrations.nlp.text_encoder import EncodedText, TextEncoder
from hindsight_integrations.normalization import entity_norm, new_id, word_runs
from hindsight_integrations.reflect.clustering import in_order
from hindsight_integrations.reflect.dependencies import (
    FACTS,
    MAX_DRAFTS,
    MAX_TEXT,
    Cluster,
    Draft,
    Proposals,
    ReflectDependencies,
)
from hindsight_integrations.reflect.scoring import (
    UNDECIDED,
    belief,
    observation_confidence,
    trend,
)
from hindsight_integrations.retain.enrichment import indexed_of, record_of
from hindsight_integrations.stores.base import (
    CITED,
    CONCLUSIONS_CITING,
    MEMORY,
    RECORD,
    ChangeSet,
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)

_MOST_TIMES = 8
_LONGEST_NAME = 4
_REASON = "A memory that it rested on was changed or taken away."


def validated(cluster: Cluster, proposals: Proposals) -> Proposals:
    """Return the proposals if all of them can be stored.

    Raises:
        ModelError: one cites a memory or conclusion outside the cluster, quotes words that are not
            in the memory, is blank or too long, or there are too many.
    """
    faults = list(_problems(cluster, proposals))
    if faults:
        raise ModelError(
            f"what was concluded about {cluster.subject!r} cannot be stored: "
            + "; ".join(faults[:3])
            + "; nothing was changed"
        )
    return proposals


def _problems(cluster: Cluster, proposals: Proposals) -> Iterator[str]:
    limit = max(MAX_DRAFTS, len(cluster.memories))
    if len(proposals.drafts) > limit:
        yield f"{len(proposals.drafts)} conclusions, of at most {limit}"
    for draft in proposals.drafts:
        yield from _draft_problems(cluster, draft)
    stored_ids = {memory.id for memory in cluster.conclusions}
    changed_ids = [draft.rewrites for draft in proposals.drafts if draft.rewrites is not None]
    changed_ids += [removal.conclusion_id for removal in proposals.removals]
    yield from (f"no conclusion {id!r} is there" for id in changed_ids if id not in stored_ids)
    if len(set(changed_ids)) < len(changed_ids):
        yield "a conclusion is changed twice"


def _draft_problems(cluster: Cluster, draft: Draft) -> Iterator[str]:
    texts = {memory.id: memory.text for memory in cluster.memories}
    for part, text in (("text", draft.text), ("reasoning", draft.reasoning)):
        if not text.strip():
            yield f"a blank {part}"
        if len(text) > MAX_TEXT:
            yield f"a {part} of {len(text)} characters, of at most {MAX_TEXT}"
    if not any(evidence.supports for evidence in draft.evidence):
        yield "no evidence supports it"
    if len({evidence.memory_id for evidence in draft.evidence}) < len(draft.evidence):
        yield "a memory is given as evidence twice"
    for evidence in draft.evidence:
        if evidence.memory_id not in texts:
            yield f"no memory {evidence.memory_id!r} is there"
        elif not evidence.quote.strip() or evidence.quote not in texts[evidence.memory_id]:
            yield f"{evidence.quote[:60]!r} does not stand in memory {evidence.memory_id!r}"


def conclusion_record(
    bank: Bank,
    draft: Draft,
    evidence: Mapping[str, MemoryRecord],
    previous: Memory | None,
    now: datetime,
    *,
    topic: str | None = None,
) -> MemoryRecord:
    """Build the record of a drafted conclusion, with a placeholder for its vector.

    It has the tags, metadata and scope common to all its evidence, the times of the evidence, the
    date of the latest and the earliest expiry. If the previous version was invalidated, so is it.

    Args:
        bank: the bank of the memories.
        draft: text, evidence and reasoning.
        evidence: records of the cited memories, by id.
        previous: the conclusion that it replaces.
        now: time of writing.
        topic: topic of an opinion; None for an observation.
    """
    cited = [evidence[piece.memory_id] for piece in draft.evidence]
    facts = [record.memory for record in cited]
    entities = _entities(draft.text, cited)
    sources = tuple(
        Source(
            mentioned_at=fact.mentioned_at,
            memory_id=fact.id,
            quote=piece.quote,
            supports=piece.supports,
        )
        for piece, fact in zip(draft.evidence, facts, strict=True)
    )
    memory = Memory(
        id=previous.id if previous else new_id("c-"),
        bank_id=bank.id,
        text=draft.text,
        type=MemoryType.OBSERVATION if topic is None else MemoryType.OPINION,
        occurred=_latest_times(facts),
        mentioned_at=max(fact.mentioned_at for fact in facts),
        context=topic,
        entities=tuple(entities.values()),
        tags=_common_tags(facts),
        metadata=dict(_common_items(facts)),
        confidence=_confidence(bank, draft, facts, topic),
        scope=facts[0].scope,
        sources=sources,
        created_at=previous.created_at if previous else now,
        updated_at=now,
        expires_at=min((f.expires_at for f in facts if f.expires_at), default=None),
        invalidated_at=previous.invalidated_at if previous else None,
        invalidated_because=previous.invalidated_because if previous else None,
        kind=draft.kind,
        reasoning=draft.reasoning,
        derived=True,
    )
    if ends := [end for end in (memory.expires_at, bank.expiry.end_of(memory)) if end]:
        memory = replace(memory, expires_at=min(ends))
    placeholder = EncodedText(cited[0].vector, None)
    return record_of(memory, indexed_of(memory), placeholder, tuple(entities))


def text_changes(
    old_version: Memory, new_version: Memory, action: str, reason: str, *, quotable: bool
) -> Iterator[Change]:
    """Yield the entries of the history for a rewritten conclusion.

    Args:
        old_version: the conclusion before.
        new_version: the conclusion after.
        action: operation that rewrote it.
        reason: why the text changed.
        quotable: keep the old text in the history; False if it may quote a forgotten memory.
    """
    at = new_version.updated_at
    if old_version.text != new_version.text:
        old_text = old_version.text if quotable else None
        yield Change(new_version.id, action, "text", old_text, new_version.text, at, reason)
    yield from dropped_source_changes(old_version, action, at, kept_sources=new_version.sources)


def dropped_source_changes(
    conclusion: Memory, action: str, at: datetime, *, kept_sources: Sequence[Source] = ()
) -> Iterator[Change]:
    """Yield an entry for the history of each memory that a conclusion no longer cites."""
    kept_ids = {source.memory_id for source in kept_sources}
    old_ids = {source.memory_id for source in conclusion.sources if source.memory_id is not None}
    for id in sorted(old_ids - kept_ids):
        yield Change(id, action, CITED, conclusion.id, None, at)


def with_own_vectors(encoder: TextEncoder, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Return the records with the vectors of their own texts.

    Raises:
        EmbeddingError: the embedder failed.
    """
    codes = encoder.encode([indexed_of(record.memory) for record in records])
    return [
        replace(record, vector=code.vector, interaction=code.interaction)
        for record, code in zip(records, codes, strict=True)
    ]


def _confidence(bank: Bank, draft: Draft, facts: Sequence[Memory], topic: str | None) -> float:
    skepticism = bank.disposition.skepticism
    if topic is None:
        return observation_confidence(len(draft.evidence), skepticism)
    dated = zip((fact.mentioned_at for fact in facts), draft.evidence, strict=True)
    in_time = sorted(dated, key=lambda pair: (pair[0], pair[1].memory_id))
    return belief([piece.supports for _, piece in in_time], skepticism)


def _entities(text: str, evidence: Sequence[MemoryRecord]) -> dict[str, str]:
    """Map id to name of those entities of the evidence that the text names."""
    named = {run.norm for run in word_runs(text, _LONGEST_NAME)}
    return {
        entity_id: name
        for record in evidence
        for entity_id, name in zip(record.entity_ids, record.memory.entities, strict=True)
        if entity_norm(name) in named
    }


def _latest_times(facts: Sequence[Memory]) -> tuple[TimeSpan, ...]:
    return tuple(sorted({span for fact in facts for span in fact.occurred})[-_MOST_TIMES:])


def _common_tags(facts: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(tag for tag in facts[0].tags if all(tag in fact.tags for fact in facts))


def _common_items(facts: Sequence[Memory]) -> list[tuple[str, str | int | float | bool]]:
    return [
        (name, value)
        for name, value in facts[0].metadata.items()
        if all(name in fact.metadata and fact.metadata[name] == value for fact in facts)
    ]


def observation(memory: Memory, history: Sequence[Change], now: datetime) -> Observation:
    """Return a memory of type observation, also one retained by a caller, as an `Observation`."""
    confidence = memory.confidence
    return Observation(
        kind=kind(memory),
        confidence=observation_confidence(memory.proof_count) if confidence is None else confidence,
        tags=memory.tags,
        **_common_fields(memory, history, now),
    )


def opinion(memory: Memory, history: Sequence[Change], now: datetime) -> Opinion:
    """Return a memory of type opinion, also one retained by a caller, as an `Opinion`."""
    return Opinion(
        topic=memory.context or "",
        confidence=UNDECIDED if memory.confidence is None else memory.confidence,
        **_common_fields(memory, history, now),
    )


def _common_fields(memory: Memory, history: Sequence[Change], now: datetime) -> dict[str, Any]:
    times = evidence_times(memory)
    return {
        "id": memory.id,
        "bank_id": memory.bank_id,
        "text": memory.text,
        "evidence": quotations(memory),
        "proof_count": memory.proof_count,
        "first_seen": times[0],
        "last_seen": times[-1],
        "trend": trend(times, now),
        "reasoning": memory.reasoning or "",
        "history": tuple(history),
    }


def kind(memory: Memory) -> ObservationKind:
    """Return the kind of an observation; a generalization if the memory has no known kind."""
    known = {kind.value: kind for kind in ObservationKind}
    return known.get(memory.kind or "", ObservationKind.GENERALIZATION)


@dataclass(frozen=True, slots=True)
class ConclusionUpdate:
    """Effect of a change of memories on the conclusions that cite them.

    Attributes:
        records: rewritten conclusions.
        removed: ids of conclusions that have lost all support.
        history: entries for the history of all of these.
        consolidated: ids of rewritten conclusions that need no further consolidation.
    """

    records: tuple[MemoryRecord, ...] = ()
    removed: tuple[str, ...] = ()
    history: tuple[Change, ...] = ()
    consolidated: tuple[str, ...] = ()

    def joined_to(self, changes: ChangeSet) -> ChangeSet:
        """Return the change set with these changes added."""
        return replace(
            changes,
            remove_memories=(*changes.remove_memories, *self.removed),
            replaced=(*changes.replaced, *self.records),
            history=(*changes.history, *self.history),
            mark_consolidated=(*changes.mark_consolidated, *self.consolidated),
        )


def rewrite_conclusions(
    deps: ReflectDependencies,
    bank: StoredBank,
    withdrawn: Set[str],
    changed: Mapping[str, MemoryRecord] | None = None,
    *,
    forgetting: bool = False,
) -> ConclusionUpdate:
    """Rewrite the conclusions that cite these memories; call it with the bank's lock held.

    Args:
        deps: dependencies of reflection.
        bank: the bank of the memories.
        withdrawn: ids of memories that are about to be forgotten or invalidated.
        changed: records that are about to be stored, by id.
        forgetting: remove the old texts from the history as well.
    """
    changed = changed or {}
    graph, bank_id = deps.graph, bank.bank.id
    citing = graph.read(bank_id, CONCLUSIONS_CITING, sorted(withdrawn | changed.keys()))
    ids = {id for cited_by in citing.values() for id in cited_by} - withdrawn
    conclusions = graph.read(bank_id, RECORD, sorted(ids))
    if not forgetting:
        conclusions = {
            id: record
            for id, record in conclusions.items()
            if not _is_unaffected(record.memory, withdrawn, changed)
        }
    if not conclusions:
        return ConclusionUpdate()
    unquotable: Set[str] = deps.waiting(bank_id)
    if forgetting:  # no trace is left, not even of the sources
        unquotable = conclusions.keys()
        conclusions = {
            id: _without_sources(record, withdrawn) for id, record in conclusions.items()
        }
    cited_ids = {s.memory_id for r in conclusions.values() for s in r.memory.sources if s.memory_id}
    facts = graph.read(bank_id, RECORD, sorted(cited_ids - withdrawn))
    valid_ids = graph.filter_ids(bank_id, list(facts), MemoryFilter(now=utc_now(), types=FACTS))
    facts = {id: changed.get(id, record) for id, record in facts.items() if id in valid_ids}
    result = ConclusionUpdate()
    for id, record in conclusions.items():
        quotable = id not in unquotable
        result = _merged(result, _rewrite(deps, bank, record, facts, quotable=quotable))
    result = without_duplicates(graph, bank_id, result)
    return replace(result, records=tuple(with_own_vectors(deps.encoder, result.records)))


def without_duplicates(
    graph: GraphStore, bank_id: str, result: ConclusionUpdate
) -> ConclusionUpdate:
    """Remove rewritten observations that now have the same evidence as another observation."""
    observations = [
        record.memory for record in result.records if _is_derived_observation(record.memory)
    ]
    sources = sorted({s.memory_id for m in observations for s in m.sources if s.memory_id})
    cited_by = graph.read(bank_id, CONCLUSIONS_CITING, sources).values() if sources else ()
    others = {id for ids in cited_by for id in ids} - {r.memory.id for r in result.records}
    other_observations = graph.read(bank_id, MEMORY, sorted(others - {*result.removed})).values()
    evidence_seen = {
        _evidence_ids(memory) for memory in other_observations if _is_derived_observation(memory)
    }
    duplicates = []
    for memory in observations:
        if _evidence_ids(memory) in evidence_seen and not memory.pinned:
            duplicates.append(memory)
        evidence_seen.add(_evidence_ids(memory))
    duplicate_ids = {memory.id for memory in duplicates}
    return ConclusionUpdate(
        tuple(record for record in result.records if record.memory.id not in duplicate_ids),
        (*result.removed, *duplicate_ids),
        result.history,
        tuple(id for id in result.consolidated if id not in duplicate_ids),
    )


def _is_derived_observation(memory: Memory) -> bool:
    return memory.derived and memory.type is MemoryType.OBSERVATION


def _evidence_ids(memory: Memory) -> frozenset[str | None]:
    return frozenset(source.memory_id for source in memory.sources)


def _is_unaffected(old: Memory, withdrawn: Set[str], changed: Mapping[str, MemoryRecord]) -> bool:
    """Return True if a conclusion is pinned and all its quotes remain valid."""
    cited = [source for source in old.sources if source.memory_id is not None]
    texts = {id: record.memory.text for id, record in changed.items()}
    return old.pinned and all(
        source.memory_id not in withdrawn
        and (source.quote or "") in texts.get(source.memory_id or "", source.quote or "")
        for source in cited
    )


def _without_sources(record: MemoryRecord, withdrawn: Set[str]) -> MemoryRecord:
    sources = tuple(s for s in record.memory.sources if s.memory_id not in withdrawn)
    return replace(record, memory=replace(record.memory, sources=sources))


def _rewrite(
    deps: ReflectDependencies,
    bank: StoredBank,
    record: MemoryRecord,
    facts: Mapping[str, MemoryRecord],
    *,
    quotable: bool,
) -> ConclusionUpdate:
    old = record.memory
    remaining = tuple(s for s in old.sources if s.memory_id is None or s.memory_id in facts)
    if not any(source.supports for source in remaining):
        return _removal_update(old)
    if not old.derived:  # written by a caller: only the sources change
        updated = replace(record, memory=replace(old, sources=remaining, updated_at=utc_now()))
        history = tuple(text_changes(old, updated.memory, "rewrite", _REASON, quotable=quotable))
        return ConclusionUpdate((updated,), history=history, consolidated=(old.id,))
    is_opinion = old.type is MemoryType.OPINION
    rules = deps.opinion_rules if is_opinion else deps.rules
    evidence = {
        id: facts[id] for id in {source.memory_id for source in remaining} if id is not None
    }
    cluster = Cluster(
        bank=bank.bank,
        subject=old.context or "",
        memories=in_order(fact.memory for fact in evidence.values()),
        new=frozenset({old.id}),
        conclusions=(replace(old, sources=remaining),),
        vectors={id: fact.vector for id, fact in evidence.items()},
    )
    drafts = rules.propose(cluster).drafts
    if not drafts:
        return _removal_update(old)
    topic = (old.context or old.text) if is_opinion else None
    new = conclusion_record(bank.bank, drafts[0], evidence, old, utc_now(), topic=topic)
    history = tuple(text_changes(old, new.memory, "rewrite", _REASON, quotable=quotable))
    consolidator = deps.opinions if is_opinion else deps.consolidator
    consolidated = (old.id,) if consolidator is rules else ()
    return ConclusionUpdate((new,), history=history, consolidated=consolidated)


def _removal_update(old: Memory) -> ConclusionUpdate:
    return ConclusionUpdate(
        removed=(old.id,), history=tuple(dropped_source_changes(old, "rewrite", utc_now()))
    )


def _merged(first: ConclusionUpdate, second: ConclusionUpdate) -> ConclusionUpdate:
    return ConclusionUpdate(
        first.records + second.records,
        first.removed + second.removed,
        first.history + second.history,
        first.consolidated + second.consolidated,
    )
