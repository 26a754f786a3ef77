"""Conclusions, which are observations and opinions: check drafts, write, rewrite and read them.

A change of memories rewrites the conclusions on them in the same transaction (`rewritten`): a
forgotten text must not stand in an observation a moment later. So this waits for no background
work and asks no language model: rules write from the evidence that is left. What a model had
written goes on waiting, for that model to write it better.
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


def checked(cluster: Cluster, proposals: Proposals) -> Proposals:
    """Return the proposals if each can be stored as it is.

    Raises:
        ModelError: one names a memory or conclusion that is not of the cluster, quotes words that
            are not there, is blank or too long, or there are too many.
    """
    faults = list(_faults(cluster, proposals))
    if faults:
        raise ModelError(
            f"what was concluded about {cluster.subject!r} cannot be stored: "
            + "; ".join(faults[:3])
            + "; nothing was changed"
        )
    return proposals


def _faults(cluster: Cluster, proposals: Proposals) -> Iterator[str]:
    most = max(MAX_DRAFTS, len(cluster.memories))
    if len(proposals.drafts) > most:
        yield f"{len(proposals.drafts)} conclusions, of at most {most}"
    for draft in proposals.drafts:
        yield from _draft_faults(cluster, draft)
    known = {memory.id for memory in cluster.conclusions}
    touched = [draft.rewrites for draft in proposals.drafts if draft.rewrites is not None]
    touched += [removal.conclusion_id for removal in proposals.removals]
    yield from (f"no conclusion {id!r} is there" for id in touched if id not in known)
    if len(set(touched)) < len(touched):
        yield "a conclusion is changed twice"


def _draft_faults(cluster: Cluster, draft: Draft) -> Iterator[str]:
    texts = {memory.id: memory.text for memory in cluster.memories}
    for what, text in (("text", draft.text), ("reasoning", draft.reasoning)):
        if not text.strip():
            yield f"a blank {what}"
        if len(text) > MAX_TEXT:
            yield f"a {what} of {len(text)} characters, of at most {MAX_TEXT}"
    if not any(piece.supports for piece in draft.evidence):
        yield "no evidence supports it"
    if len({piece.memory_id for piece in draft.evidence}) < len(draft.evidence):
        yield "a memory is given as evidence twice"
    for piece in draft.evidence:
        if piece.memory_id not in texts:
            yield f"no memory {piece.memory_id!r} is there"
        elif not piece.quote.strip() or piece.quote not in texts[piece.memory_id]:
            yield f"{piece.quote[:60]!r} does not stand in memory {piece.memory_id!r}"


def conclusion(
    bank: Bank,
    draft: Draft,
    evidence: Mapping[str, MemoryRecord],
    before: Memory | None,
    now: datetime,
    *,
    topic: str | None = None,
) -> MemoryRecord:
    """Return the memory that a draft becomes, still without its own vector.

    It has the tags, metadata and scope that all its evidence shares, the times of the evidence,
    the date of the latest and the first date of expiry. One that was invalidated stays so.

    Args:
        bank: the bank of the memories.
        draft: text, evidence and reasoning.
        evidence: the memories it rests on, by id.
        before: the conclusion that it replaces.
        now: time of writing.
        topic: subject of an opinion; None for an observation.
    """
    rested = [evidence[piece.memory_id] for piece in draft.evidence]
    facts = [record.memory for record in rested]
    entities = _entities(draft.text, rested)
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
        id=before.id if before else new_id("c-"),
        bank_id=bank.id,
        text=draft.text,
        type=MemoryType.OBSERVATION if topic is None else MemoryType.OPINION,
        occurred=_times(facts),
        mentioned_at=max(fact.mentioned_at for fact in facts),
        context=topic,
        entities=tuple(entities.values()),
        tags=_common_tags(facts),
        metadata=dict(_common_items(facts)),
        confidence=_confidence(bank, draft, facts, topic),
        scope=facts[0].scope,
        sources=sources,
        created_at=before.created_at if before else now,
        updated_at=now,
        expires_at=min((f.expires_at for f in facts if f.expires_at), default=None),
        invalidated_at=before.invalidated_at if before else None,
        invalidated_because=before.invalidated_because if before else None,
        kind=draft.kind,
        reasoning=draft.reasoning,
        derived=True,
    )
    if ended := [end for end in (memory.expires_at, bank.expiry.end_of(memory)) if end]:
        memory = replace(memory, expires_at=min(ended))
    placeholder = EncodedText(rested[0].vector, None)
    return record_of(memory, indexed_of(memory), placeholder, tuple(entities))


def text_changes(
    before: Memory, after: Memory, action: str, reason: str, *, quotable: bool
) -> Iterator[Change]:
    """Yield the history of a rewritten conclusion.

    Args:
        before: the old version.
        after: the new version.
        action: operation that rewrote it.
        reason: why the text changed.
        quotable: keep the old text; False if it rested on a memory that is gone.
    """
    at = after.updated_at
    if before.text != after.text:
        old = before.text if quotable else None
        yield Change(after.id, action, "text", old, after.text, at, reason)
    yield from dropped_sources(before, action, at, but=after.sources)


def dropped_sources(
    before: Memory, action: str, at: datetime, *, but: Sequence[Source] = ()
) -> Iterator[Change]:
    """Yield the history of memories that a conclusion, which may be gone, rests on no more."""
    rests = {source.memory_id for source in but}
    rested = {source.memory_id for source in before.sources if source.memory_id is not None}
    for id in sorted(rested - rests):
        yield Change(id, action, CITED, before.id, None, at)


def encoded(encoder: TextEncoder, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
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
    """Return the entities of the evidence that the text names: id to name."""
    named = {run.norm for run in word_runs(text, _LONGEST_NAME)}
    return {
        entity_id: name
        for record in evidence
        for entity_id, name in zip(record.entity_ids, record.memory.entities, strict=True)
        if entity_norm(name) in named
    }


def _times(facts: Sequence[Memory]) -> tuple[TimeSpan, ...]:
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
    """Return the kind of an observation; a generalization if the memory names no known one."""
    known = {kind.value: kind for kind in ObservationKind}
    return known.get(memory.kind or "", ObservationKind.GENERALIZATION)


@dataclass(frozen=True, slots=True)
class ConclusionUpdate:
    """Effect of a change of memories on the conclusions that rest on them.

    Attributes:
        records: rewritten conclusions.
        removed: ids of conclusions without support.
        history: changes of all of these.
        consolidated: ids of those that need no further consolidation.
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


def rewritten(
    deps: ReflectDependencies,
    bank: StoredBank,
    gone: Set[str],
    changed: Mapping[str, MemoryRecord] | None = None,
    *,
    forgetting: bool = False,
) -> ConclusionUpdate:
    """Rewrite the conclusions that rest on these memories; under the bank's lock.

    Args:
        deps: dependencies of reflection.
        bank: the bank of the memories.
        gone: ids of memories that are about to be forgotten or invalidated.
        changed: memories by id, as they are about to be stored.
        forgetting: keep the old texts not even in the history.
    """
    changed = changed or {}
    graph, bank_id = deps.graph, bank.bank.id
    resting = graph.read(bank_id, CONCLUSIONS_CITING, sorted(gone | changed.keys()))
    ids = {id for cited_by in resting.values() for id in cited_by} - gone
    conclusions = graph.read(bank_id, RECORD, sorted(ids))
    if not forgetting:
        conclusions = {
            id: record
            for id, record in conclusions.items()
            if not _stays(record.memory, gone, changed)
        }
    if not conclusions:
        return ConclusionUpdate()
    unquotable: Set[str] = deps.waiting(bank_id)
    if forgetting:  # no trace is left, not even of the sources
        unquotable = conclusions.keys()
        conclusions = {id: _without(record, gone) for id, record in conclusions.items()}
    rested = {s.memory_id for r in conclusions.values() for s in r.memory.sources if s.memory_id}
    facts = graph.read(bank_id, RECORD, sorted(rested - gone))
    admitted = graph.filter_ids(bank_id, list(facts), MemoryFilter(now=utc_now(), types=FACTS))
    facts = {id: changed.get(id, record) for id, record in facts.items() if id in admitted}
    result = ConclusionUpdate()
    for id, record in conclusions.items():
        quotable = id not in unquotable
        result = _combined(result, _rewrite(deps, bank, record, facts, quotable=quotable))
    result = without_repetitions(graph, bank_id, result)
    return replace(result, records=tuple(encoded(deps.encoder, result.records)))


def without_repetitions(
    graph: GraphStore, bank_id: str, result: ConclusionUpdate
) -> ConclusionUpdate:
    """Remove observations that are left with just the memories that another rests on."""
    ours = [record.memory for record in result.records if _is_own_observation(record.memory)]
    sources = sorted({s.memory_id for m in ours for s in m.sources if s.memory_id})
    cited_by = graph.read(bank_id, CONCLUSIONS_CITING, sources).values() if sources else ()
    others = {id for ids in cited_by for id in ids} - {r.memory.id for r in result.records}
    known = graph.read(bank_id, MEMORY, sorted(others - {*result.removed})).values()
    taken = {_evidence(memory) for memory in known if _is_own_observation(memory)}
    repeated = []
    for memory in ours:
        if _evidence(memory) in taken and not memory.pinned:
            repeated.append(memory)
        taken.add(_evidence(memory))
    gone = {memory.id for memory in repeated}
    return ConclusionUpdate(
        tuple(record for record in result.records if record.memory.id not in gone),
        (*result.removed, *gone),
        result.history,
        tuple(id for id in result.consolidated if id not in gone),
    )


def _is_own_observation(memory: Memory) -> bool:
    return memory.derived and memory.type is MemoryType.OBSERVATION


def _evidence(memory: Memory) -> frozenset[str | None]:
    return frozenset(source.memory_id for source in memory.sources)


def _stays(old: Memory, gone: Set[str], changed: Mapping[str, MemoryRecord]) -> bool:
    """Return True for a pinned conclusion of which every quote still stands."""
    cited = [source for source in old.sources if source.memory_id is not None]
    texts = {id: record.memory.text for id, record in changed.items()}
    return old.pinned and all(
        source.memory_id not in gone
        and (source.quote or "") in texts.get(source.memory_id or "", source.quote or "")
        for source in cited
    )


def _without(record: MemoryRecord, gone: Set[str]) -> MemoryRecord:
    sources = tuple(s for s in record.memory.sources if s.memory_id not in gone)
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
    rests = tuple(s for s in old.sources if s.memory_id is None or s.memory_id in facts)
    if not any(source.supports for source in rests):
        return _removed(old)
    if not old.derived:  # written by a caller: only the sources change
        own = replace(record, memory=replace(old, sources=rests, updated_at=utc_now()))
        history = tuple(text_changes(old, own.memory, "rewrite", _REASON, quotable=quotable))
        return ConclusionUpdate((own,), history=history, consolidated=(old.id,))
    is_opinion = old.type is MemoryType.OPINION
    writer = deps.opinion_rules if is_opinion else deps.rules
    mine = {id: facts[id] for id in {source.memory_id for source in rests} if id is not None}
    cluster = Cluster(
        bank=bank.bank,
        subject=old.context or "",
        memories=in_order(fact.memory for fact in mine.values()),
        new=frozenset({old.id}),
        conclusions=(replace(old, sources=rests),),
        vectors={id: fact.vector for id, fact in mine.items()},
    )
    drafts = writer.propose(cluster).drafts
    if not drafts:
        return _removed(old)
    topic = (old.context or old.text) if is_opinion else None
    new = conclusion(bank.bank, drafts[0], mine, old, utc_now(), topic=topic)
    history = tuple(text_changes(old, new.memory, "rewrite", _REASON, quotable=quotable))
    asked = deps.opinions if is_opinion else deps.consolidator
    consolidated = (old.id,) if asked is writer else ()
    return ConclusionUpdate((new,), history=history, consolidated=consolidated)


def _removed(old: Memory) -> ConclusionUpdate:
    return ConclusionUpdate(
        removed=(old.id,), history=tuple(dropped_sources(old, "rewrite", utc_now()))
    )


def _combined(one: ConclusionUpdate, other: ConclusionUpdate) -> ConclusionUpdate:
    return ConclusionUpdate(
        one.records + other.records,
        one.removed + other.removed,
        one.history + other.history,
        one.consolidated + other.consolidated,
    )
