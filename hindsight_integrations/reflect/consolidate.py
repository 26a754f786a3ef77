"""One pass over what waits to be reflected on.

waiting memories -> what they are like, and what was concluded of that -> matters -> proposals
(no lock held) -> checked again under the bank's lock -> one transaction a round

What was proposed of a matter is dropped if anything it rests on has changed meanwhile; its
memories go on waiting, and are looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hindsight_integrations.errors import ModelError
from hindsight_integrations.language.llm import ModelUsage
from hindsight_integrations.model import Change, Memory, MemoryType, utc_now
from hindsight_integrations.reflect.cluster import matters
from hindsight_integrations.reflect.opinions import revised
from hindsight_integrations.reflect.parts import ReflectParts
from hindsight_integrations.reflect.ports import Draft, Matter, Proposals
from hindsight_integrations.reflect.proposals import checked
from hindsight_integrations.reflect.record import conclusion, encoded, is_drawn, left, told
from hindsight_integrations.results import Failure
from hindsight_integrations.storage.requests import (
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.storage.values import is_conclusion

FACTS = frozenset({MemoryType.WORLD, MemoryType.EXPERIENCE, MemoryType.OPINION})
"""Types that an observation may rest on, if they are no conclusions themselves."""

NEAREST = 12
"""Memories most like a new one that are looked at."""

_ATTEMPTS = 3
"""How often a matter that others change meanwhile is looked at anew, before it has to wait."""
_SLACK = 64


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a consolidation did.

    Attributes:
        considered: memories and conclusions that were reflected on.
        created: observations that are new.
        rewritten: observations and opinions that gained or lost evidence, as they read now.
        removed: ids of those taken away.
        failures: matters that could not be reflected on; they wait for the next time.
        usage: what asking a language model took; of a call that failed only the tokens.
        capped: whether it stopped for `settings.consolidation_tokens`.
        seconds: how long it took.
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
class _Scene:
    """What was read for one round: what waits, what it may have to do with, by id."""

    waiting: Mapping[str, MemoryRecord]
    facts: Mapping[str, MemoryRecord]
    conclusions: Mapping[str, MemoryRecord]
    opinions: Mapping[str, MemoryRecord]
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Answered:
    """A matter with what was proposed of it, and the records that come of that."""

    matter: Matter
    proposals: Proposals
    records: tuple[MemoryRecord, ...]


def rounds(parts: ReflectParts, bank: StoredBank) -> Iterator[Consolidation]:
    """Reflect on all that waits in the bank, a batch at a time.

    Whoever iterates may pause in between, or stop.

    Raises:
        EmbeddingError, StoreError: it failed; what earlier rounds stored stays.
    """
    passed_over: dict[str, int] = {}
    usage = ModelUsage()
    while True:
        started = time.perf_counter()
        limit = parts.settings.consolidation_batch
        tired = [id for id, attempts in passed_over.items() if attempts >= _ATTEMPTS]
        queue = parts.graph.unreflected(bank.bank.id, limit + len(tired))
        waiting = [id for id in queue if id not in tired][:limit]
        if not waiting:
            return
        done, settled = _round(parts, bank, waiting, usage)
        for id in waiting:
            if id not in settled:
                failed = bool(done.failures) or done.capped
                passed_over[id] = _ATTEMPTS if failed else passed_over.get(id, 0) + 1
        usage += done.usage
        yield replace(done, seconds=time.perf_counter() - started)
        if done.capped:
            return


def _round(
    parts: ReflectParts, bank: StoredBank, waiting: Sequence[str], spent: ModelUsage
) -> tuple[Consolidation, set[str]]:
    """Reflect on these; returns what was done, and which of them wait no more."""
    scene = _scene(parts, bank, waiting)
    found = matters(
        bank.bank,
        waiting,
        scene.pairs,
        {id: record.memory for id, record in scene.facts.items()},
        {id: record.memory for id, record in scene.conclusions.items()},
        {id: r.vector for each in (scene.facts, scene.conclusions) for id, r in each.items()},
        parts.settings.observation_similarity,
    )
    found += revised(bank.bank, scene.waiting.keys(), scene.facts, scene.opinions)
    answered: list[_Answered] = []
    failures: list[Failure] = []
    usage = ModelUsage()
    unasked: set[str] = set()
    capped = False
    for matter in found:
        writer = parts.opinions if _topic(matter) else parts.consolidator
        asks_a_model = writer not in (parts.rules, parts.opinion_rules)
        if asks_a_model and (spent + usage).tokens >= parts.settings.consolidation_tokens:
            capped = True
            unasked |= matter.new
            continue
        try:
            proposals = writer.propose(matter)
            usage += proposals.usage
            answered.append(_answered(parts, scene, matter, checked(matter, proposals)))
        except ModelError as error:
            usage += ModelUsage(input_tokens=error.tokens)
            failures.append(Failure(f"consolidating {matter.subject!r}", error))
            unasked |= matter.new
    answered = _with_vectors(parts, answered)
    with parts.lock(bank.key):
        done, settled = _store(parts, bank, scene, answered, unasked)
    if done.created or done.rewritten or done.removed:
        parts.flush()
    extra = Consolidation(bank.bank.id, failures=tuple(failures), usage=usage, capped=capped)
    return done + extra, settled


def _scene(parts: ReflectParts, bank: StoredBank, waiting: Sequence[str]) -> _Scene:
    """Read what waits, the memories most like it, and the conclusions on all of these."""
    graph, bank_id = parts.graph, bank.bank.id
    records = graph.get_records(bank_id, waiting)
    now = utc_now()
    fresh = _evidence(parts, bank_id, records)
    pairs: list[tuple[str, str]] = []
    if fresh:
        vectors = np.stack([record.vector for record in fresh.values()])
        nearest = parts.index.query_many(bank.key, vectors, NEAREST + 1)
        pairs = [(id, other) for id, near in zip(fresh, nearest, strict=True) for other, _ in near]
    near_by = {other for _, other in pairs} - records.keys()
    facts = fresh | _evidence(parts, bank_id, graph.get_records(bank_id, sorted(near_by)))
    resting = graph.resting_on(bank_id, list(facts))
    known = {id for ids in resting.values() for id in ids} | records.keys()
    conclusions = {
        id: record
        for id, record in graph.get_records(bank_id, sorted(known)).items()
        if is_drawn(record.memory)
        and (record.memory.expires_at is None or record.memory.expires_at > now)
    }
    rested = {s.memory_id for r in conclusions.values() for s in r.memory.sources if s.memory_id}
    rest = graph.get_records(bank_id, sorted(rested - facts.keys()))
    facts |= _evidence(parts, bank_id, rest)
    pairs = [(one, other) for one, other in pairs if one in facts and other in facts]
    opinions = {id: r for id, r in conclusions.items() if r.memory.type is MemoryType.OPINION}
    observations = {id: r for id, r in conclusions.items() if id not in opinions}
    return _Scene(records, facts, observations, opinions, pairs)


def _evidence(
    parts: ReflectParts, bank_id: str, records: Mapping[str, MemoryRecord]
) -> dict[str, MemoryRecord]:
    """Those of the memories that conclusions may be drawn from."""
    filter = MemoryFilter(now=utc_now(), types=FACTS)
    admitted = parts.graph.admitted(bank_id, list(records), filter)
    return {
        id: record
        for id, record in records.items()
        if id in admitted and not is_conclusion(record.memory)
    }


def _answered(
    parts: ReflectParts, scene: _Scene, matter: Matter, proposals: Proposals
) -> _Answered:
    before = {memory.id: memory for memory in matter.conclusions}
    now, topic = utc_now(), _topic(matter)
    if topic is not None:  # an opinion is moved by what is said, and none is formed unasked
        proposals = replace(proposals, drafts=tuple(d for d in proposals.drafts if d.rewrites))
    records = tuple(
        conclusion(
            matter.bank, draft, scene.facts, before.get(draft.rewrites or ""), now, topic=topic
        )
        for draft in proposals.drafts
    )
    return _Answered(matter, proposals, records)


def _topic(matter: Matter) -> str | None:
    """What the matter's opinion is on; None if it has no opinion."""
    opinions = (each for each in matter.conclusions if each.type is MemoryType.OPINION)
    return next((matter.subject for _ in opinions), None)


def _with_vectors(parts: ReflectParts, answered: Sequence[_Answered]) -> list[_Answered]:
    """All texts embedded in one go."""
    made = iter(encoded(parts.encoder, [r for each in answered for r in each.records]))
    return [
        _Answered(each.matter, each.proposals, tuple(next(made) for _ in each.records))
        for each in answered
    ]


def _store(
    parts: ReflectParts,
    bank: StoredBank,
    scene: _Scene,
    answered: Iterable[_Answered],
    unasked: set[str],
) -> tuple[Consolidation, set[str]]:
    """Commit what still holds; under the bank's lock."""
    graph, bank_id = parts.graph, bank.bank.id
    answered = list(answered)
    named = {id for each in answered for id in (*_read(each), *each.matter.new)}
    current = graph.get_memories(bank_id, sorted(named | scene.waiting.keys()))
    queue = set(graph.unreflected(bank_id, len(scene.waiting) + len(unasked) + _SLACK))
    unchanged = {
        id
        for id, record in scene.waiting.items()
        if id in current and id in queue and current[id].updated_at == record.memory.updated_at
    }
    holding = [each for each in answered if _holds(each, current, unchanged)]
    in_doubt = {id for each in answered if each not in holding for id in each.matter.new}
    settled = unchanged - unasked - in_doubt
    created = [r for each in holding for r, d in _drafted(each) if d.rewrites is None]
    rewritten = [r for each in holding for r, d in _drafted(each) if d.rewrites is not None]
    removals = [removal for each in holding for removal in each.proposals.removals]
    removed = tuple(removal.conclusion_id for removal in removals)
    history = [change for each in holding for change in _changes(each)]
    graph.apply(
        ChangeSet(
            bank_id,
            remove_memories=removed,
            memories=tuple(created),
            replaced=tuple(rewritten),
            history=tuple(history),
            reflected=(
                *(id for id in settled if id not in removed),
                *(record.memory.id for record in rewritten),
            ),
        )
    )
    done = Consolidation(
        bank_id,
        considered=len(settled),
        created=tuple(record.memory for record in created),
        rewritten=tuple(record.memory for record in rewritten),
        removed=removed,
    )
    return done, settled | (scene.waiting.keys() - current.keys())


def _read(answered: _Answered) -> Iterator[str]:
    """What the proposals rest on, and what they change."""
    for draft in answered.proposals.drafts:
        yield from (piece.memory_id for piece in draft.evidence)
    yield from (memory.id for memory in answered.matter.conclusions)


def _holds(answered: _Answered, current: Mapping[str, Memory], unchanged: set[str]) -> bool:
    """Whether nothing that the proposals were drawn from has changed meanwhile."""
    if not answered.matter.new <= unchanged:
        return False
    touched = {draft.rewrites for draft in answered.proposals.drafts}
    touched |= {removal.conclusion_id for removal in answered.proposals.removals}
    before = {memory.id: memory.updated_at for memory in answered.matter.conclusions}
    same = all(
        id in current and current[id].updated_at == before[id] for id in touched if id is not None
    )
    return same and all(
        piece.memory_id in current
        and current[piece.memory_id].invalidated_at is None
        and piece.quote in current[piece.memory_id].text
        for draft in answered.proposals.drafts
        for piece in draft.evidence
    )


def _drafted(answered: _Answered) -> Iterator[tuple[MemoryRecord, Draft]]:
    yield from zip(answered.records, answered.proposals.drafts, strict=True)


def _changes(answered: _Answered) -> Iterator[Change]:
    """What goes into the history: the text that a conclusion had before, and why it changed."""
    before = {memory.id: memory for memory in answered.matter.conclusions}
    for record, draft in _drafted(answered):
        memory = record.memory
        if draft.rewrites is not None:
            quotable = draft.rewrites not in answered.matter.new
            old = before[draft.rewrites]
            yield from told(old, memory, "consolidate", draft.reasoning, quotable=quotable)
        elif draft.earlier is not None and draft.earlier != memory.text:
            yield Change(
                memory.id, "consolidate", "text", draft.earlier, memory.text, memory.updated_at,
                draft.reasoning,
            )  # fmt: skip
    for removal in answered.proposals.removals:
        yield from left(before[removal.conclusion_id], "consolidate", utc_now())
