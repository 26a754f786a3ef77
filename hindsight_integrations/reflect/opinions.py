"""Opinions: form them on a topic, by rule or with a model, and revise them on new statements.

The rules count the sentences that plainly praise or blame the topic (`stance`), and weigh them
(`scoring.belief`). If the belief falls below one half, the opposite is believed, and the opinion is
rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from hindsight_integrations.errors import StoreError
from hindsight_integrations.models import Bank, Memory, MemoryType, utc_now
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.sentences import parse, sentences
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.request import recall_request
from hindsight_integrations.reflect.clustering import in_order
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
    Evidence,
    Proposals,
    ReflectDependencies,
    Removal,
)
from hindsight_integrations.reflect.observation_text import day, quote, voice
from hindsight_integrations.reflect.retractions import recants, retraction_after, retracts_itself
from hindsight_integrations.reflect.scoring import UNDECIDED, belief
from hindsight_integrations.reflect.stance import Stance, judgement
from hindsight_integrations.stores.base import (
    MEMORY,
    RECORD,
    ChangeSet,
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.common import every_memory

MOST_EVIDENCE = 24
SHOWN = 2
"""Statements for and against it that the text quotes, the latest of each."""

TOKENS = 4096
"""Most tokens of the memories that an opinion is formed from."""

ATTEMPTS = 3
"""Times that an opinion is formed while others change its memories."""


def revised(
    bank: Bank,
    waiting: Set[str],
    facts: Mapping[str, MemoryRecord],
    opinions: Mapping[str, MemoryRecord],
) -> Iterator[Cluster]:
    """Yield the opinions to be revised, each with its evidence and the new statements.

    Args:
        bank: the bank of the opinions.
        waiting: ids of memories and conclusions that wait to be consolidated.
        facts: memories by id, including the evidence of the opinions.
        opinions: stored opinions by id.
    """
    for id, record in opinions.items():
        held = record.memory
        topic = held.context or held.text
        terms = frozenset(lexemes(topic))
        rested = {source.memory_id for source in held.sources}
        fresh = {
            fact_id
            for fact_id, fact in facts.items()
            if fact_id in waiting
            and fact_id not in rested
            and fact.memory.scope == held.scope
            and _on_topic(terms, lexemes(fact.memory.text))
        }
        new = fresh | (waiting & {id})
        if new and held.invalidated_at is None:
            mine = {fact_id: facts[fact_id] for fact_id in facts if fact_id in rested | fresh}
            yield Cluster(
                bank=bank,
                subject=topic,
                memories=in_order(fact.memory for fact in mine.values()),
                new=frozenset(new),
                conclusions=(held,),
                vectors={fact_id: fact.vector for fact_id, fact in mine.items()},
            )


@dataclass(frozen=True, slots=True)
class OpinionRules:
    """Forms opinions by plain praise and blame of the topic; see `Consolidator`.

    The topic is `Cluster.subject`. One topic has one opinion.
    """

    id: str = field(default="opinions-2", init=False)

    def propose(self, cluster: Cluster) -> Proposals:
        """Propose the opinion that the statements support; none if no statement judges."""
        judged = _judged(cluster)
        held = cluster.conclusions[0] if cluster.conclusions else None
        if not judged:
            return _withdrawn(cluster)
        signs = [each.judgement.sign > 0 for each in judged]
        favourable = belief(signs, cluster.bank.disposition.skepticism) >= UNDECIDED
        agreeing = [sign == favourable for sign in signs]
        if not any(agreeing):
            return _withdrawn(cluster)
        if held is None and 2 * sum(agreeing) <= len(agreeing):
            return Proposals()  # who is for it and who is against it are as many
        text = _text(cluster.subject, judged, favourable=favourable)
        evidence = tuple(
            Evidence(each.memory.id, quote(each.text, None), supports)
            for each, supports in zip(judged, agreeing, strict=True)
        )
        if held is not None and held.text == text and held.id not in cluster.new:
            return Proposals()
        reasoning = _reasoning(agreeing, held, favourable=favourable)
        draft = Draft(text, evidence, reasoning, rewrites=held.id if held else None)
        return Proposals((draft,))


def _withdrawn(cluster: Cluster) -> Proposals:
    """Remove opinions whose evidence has changed, if no statement judges their topic."""
    gone = (held.id for held in cluster.conclusions if held.id in cluster.new)
    reason = "Nothing that it rested on judges of it still."
    return Proposals(removals=tuple(Removal(id, reason) for id in gone))


def _on_topic(topic: frozenset[str], terms: Iterable[str]) -> bool:
    """Return True if the terms share most of the words of the topic."""
    return 2 * len(topic.intersection(terms)) >= max(1, len(topic))


_RENEWING = word_sets("stance")["renewing"]
_NOT_DONE = frozenset("will would could should must may might want need refuse promise".split())


class _Judged(NamedTuple):
    """A sentence of a memory that judges the topic."""

    memory: Memory
    text: str
    judgement: Stance


def _judged(cluster: Cluster) -> list[_Judged]:
    """Return the first sentence of each memory that judges the topic, oldest first.

    A memory that both praises and blames is left out, as are the words of an assistant, and what
    the next sentence takes back ("Just kidding.").
    """
    found = []
    for memory in cluster.memories:
        if memory.speaker is not None and memory.type is MemoryType.EXPERIENCE:
            continue
        judged = [
            _Judged(memory, sentence, read)
            for sentence in sentences(memory.text)
            if (read := judgement(sentence, cluster.subject))
            and not retracts_itself(sentence)
            and not retraction_after(memory.text, sentence)
        ]
        if len({each.judgement.sign for each in judged}) == 1:
            found.append(judged[0])
    found.sort(key=lambda each: (each.memory.mentioned_at, each.memory.id))
    last = max(_renewals(cluster), default=None)
    found = [each for each in found if last is None or each.memory.mentioned_at >= last]
    return found[-MOST_EVIDENCE:]


def _renewals(cluster: Cluster) -> Iterator[datetime]:
    """Yield when memories say that the topic was replaced, mended or made anew, or is no more.

    What was thought of the old pump is no opinion of the new one.
    """
    terms = frozenset(lexemes(cluster.subject))
    for memory in cluster.memories:
        for sentence in sentences(memory.text):
            words = parse(sentence).words
            told = {form for word in words if word.is_verb for form in (word.lemma, word.lower)}
            done = any(word.tag in ("VBD", "VBN") and word.lemma in _RENEWING for word in words)
            renewed = done and not told & _NOT_DONE
            if terms <= frozenset(lexemes(sentence)) and (renewed or recants(sentence)):
                yield memory.mentioned_at


def _text(topic: str, judged: Sequence[_Judged], *, favourable: bool) -> str:
    """Return the text: stance, counts, the latest quotes for it and the latest against it."""
    well = [each for each in judged if each.judgement.sign > 0]
    ill = [each for each in judged if each.judgement.sign < 0]
    stance = "well" if favourable else "ill"
    name = f"{topic[:1].upper()}{topic[1:]}"
    verb = "are" if all(each.judgement.plural for each in judged) else "is"
    lead = f"{name} {verb} {stance} spoken of ({len(well)} for, {len(ill)} against)"
    mine, others = (well, ill) if favourable else (ill, well)
    text = f"{lead}: {_spoken(mine)}."
    if others:
        text += f" {'Against' if favourable else 'For'} it: {_spoken(others)}."
    return text


def _spoken(judged: Sequence[_Judged]) -> str:
    return "; ".join(
        (f"{voice(each.memory.speaker)}, " if each.memory.speaker else "")
        + f"“{quote(each.text, None)}” ({day(each.memory.mentioned_at)})"
        for each in judged[-SHOWN:]
    )


def _reasoning(agreeing: Sequence[bool], held: Memory | None, *, favourable: bool) -> str:
    weighed = f"{sum(agreeing)} statements support it, {len(agreeing) - sum(agreeing)} do not."
    turned = held is not None and (" well spoken of" in held.text) != favourable
    return f"What was believed before is contradicted. {weighed}" if turned else weighed


def form(
    deps: ReflectDependencies,
    recalling: RecallDependencies,
    bank: StoredBank,
    topic: str,
    scope: str | None,
) -> tuple[Memory, ...]:
    """Form the opinions on a topic from the memories of it; none if no statement judges.

    Raises:
        ModelError: the language model failed; nothing was changed.
        StoreError: others kept changing the memories it rests on.
    """
    for _ in range(ATTEMPTS):
        cluster, facts = _cluster(deps, recalling, bank, topic, scope)
        proposals = checked(cluster, deps.opinions.propose(cluster))
        before = {memory.id: memory for memory in cluster.conclusions}
        now = utc_now()
        records = [
            conclusion(bank.bank, draft, facts, before.get(draft.rewrites or ""), now, topic=topic)
            for draft in proposals.drafts
        ]
        records = encoded(deps.encoder, records)
        texts = {record.memory.id: record.memory.text for record in records}
        removed = tuple(removal.conclusion_id for removal in proposals.removals)
        history = [
            change
            for draft, record in zip(proposals.drafts, records, strict=True)
            if (old := before.get(draft.rewrites or ""))
            for change in text_changes(
                old, record.memory, "form", draft.reasoning, quotable=old.id not in cluster.new
            )
        ]
        history += [change for id in removed for change in dropped_sources(before[id], "form", now)]
        changes = ChangeSet(
            bank.bank.id,
            remove_memories=removed,
            memories=tuple(r for r in records if r.memory.id not in before),
            replaced=tuple(r for r in records if r.memory.id in before),
            history=tuple(history),
            mark_consolidated=tuple(texts),
        )
        if _applied(deps, bank, cluster, changes):
            kept = [old for id, old in before.items() if id not in texts and id not in removed]
            return (*kept, *(record.memory for record in records))
    raise StoreError(
        f"other writers kept changing the memories about {topic!r} while the opinion "
        "was formed; try again"
    )


def _cluster(
    deps: ReflectDependencies,
    recalling: RecallDependencies,
    bank: StoredBank,
    topic: str,
    scope: str | None,
) -> tuple[Cluster, Mapping[str, MemoryRecord]]:
    graph, bank_id = deps.graph, bank.bank.id
    request = recall_request(bank_id, topic, max_tokens=TOKENS, types=FACTS, scope=scope)
    held = _held(deps, bank_id, topic, scope)
    wanted = {item.id for item in recall(recalling, [bank], request)}
    wanted |= {s.memory_id for memory in held for s in memory.sources if s.memory_id}
    evidence = deps.evidence(bank_id, graph.read(bank_id, RECORD, sorted(wanted)))
    facts = {id: record for id, record in evidence.items() if record.memory.scope == scope}
    waiting = deps.waiting(bank_id) if held else set()
    weighed = {s.memory_id for memory in held for s in memory.sources}
    cluster = Cluster(
        bank=bank.bank,
        subject=topic,
        memories=in_order(record.memory for record in facts.values()),
        new=frozenset(facts.keys() - weighed) | (waiting & {memory.id for memory in held}),
        conclusions=in_order(held),
        vectors={id: record.vector for id, record in facts.items()},
    )
    return cluster, facts


def held_opinions(graph: GraphStore, bank_id: str) -> set[str]:
    """Return the ids of all opinions that the engine formed and that hold now."""
    opinions = frozenset({MemoryType.OPINION})
    filter = MemoryFilter(now=utc_now(), types=opinions, derived=True)
    return {memory.id for memory in every_memory(graph, bank_id, filter)}


def _held(deps: ReflectDependencies, bank_id: str, topic: str, scope: str | None) -> list[Memory]:
    """Return the opinions that the engine formed on the topic before."""
    opinions = frozenset({MemoryType.OPINION})
    filter = MemoryFilter(now=utc_now(), types=opinions, scope=scope, derived=True)
    return [
        memory
        for memory in every_memory(deps.graph, bank_id, filter)
        if memory.scope == scope and entity_norm(memory.context or "") == entity_norm(topic)
    ]


def _applied(
    deps: ReflectDependencies, bank: StoredBank, cluster: Cluster, changes: ChangeSet
) -> bool:
    """Store the opinions; return False if their evidence has changed meanwhile."""
    read = {memory.id: memory.updated_at for memory in (*cluster.memories, *cluster.conclusions)}
    with deps.lock(bank.key):
        now = deps.graph.read(bank.bank.id, MEMORY, sorted(read))
        if {id: memory.updated_at for id, memory in now.items()} != read:
            return False
        deps.graph.apply(changes)
    deps.flush(bank.key)
    return True
