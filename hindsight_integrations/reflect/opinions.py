"""Opinions: form them on a topic, by rule or with a model, and revise them on new statements.

The rules count the sentences that plainly praise or blame the topic (`stance`), and weigh them
(`scoring.belief`). If the belief falls below one half, the opposite is believed, and the opinion is
rewritten.
"""

from __future__ import annotations

import re
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
    Evidence,
    Proposals,
    ReflectDependencies,
    Removal,
)
from hindsight_integrations.reflect.observation_text import day, quote, voice
from hindsight_integrations.reflect.retractions import recants, retraction_after, retracts_itself
from hindsight_integrations.reflect.scoring import UNDECIDED, belief
from hindsight_integrations.reflect.stance import Stance, judgement, speaks_against
from hindsight_integrations.stores.base import (
    MEMORY,
    RECORD,
    ChangeSet,
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.reads import every_memory

MOST_EVIDENCE = 24
SHOWN = 2
"""Latest statements for, and latest against, that the text quotes."""

TOKENS = 4096
"""Token budget of the memories that an opinion is formed from."""

ATTEMPTS = 3
"""Attempts to form an opinion while other writers change its evidence."""


def opinions_to_revise(
    bank: Bank,
    waiting_ids: Set[str],
    facts: Mapping[str, MemoryRecord],
    opinions: Mapping[str, MemoryRecord],
) -> Iterator[Cluster]:
    """Yield a cluster for each opinion to revise: its evidence and new statements on its topic.

    Args:
        bank: the bank of the opinions.
        waiting_ids: ids of memories and conclusions that wait to be consolidated.
        facts: memories by id, including the evidence of the opinions.
        opinions: stored opinions by id.
    """
    for id, record in opinions.items():
        opinion = record.memory
        topic = opinion.context or opinion.text
        terms = frozenset(lexemes(topic))
        cited_ids = {source.memory_id for source in opinion.sources}
        new_statements = {
            fact_id
            for fact_id, fact in facts.items()
            if fact_id in waiting_ids
            and fact_id not in cited_ids
            and fact.memory.scope == opinion.scope
            and _is_on_topic(terms, lexemes(fact.memory.text))
        }
        new = new_statements | (waiting_ids & {id})
        if new and opinion.invalidated_at is None:
            relevant = {
                fact_id: facts[fact_id]
                for fact_id in facts
                if fact_id in cited_ids | new_statements
            }
            yield Cluster(
                bank=bank,
                subject=topic,
                memories=in_order(fact.memory for fact in relevant.values()),
                new=frozenset(new),
                conclusions=(opinion,),
                vectors={fact_id: fact.vector for fact_id, fact in relevant.items()},
            )


@dataclass(frozen=True, slots=True)
class OpinionRules:
    """Forms opinions by plain praise and blame of the topic; see `Consolidator`.

    The topic is `Cluster.subject`. One topic has one opinion.
    """

    id: str = field(default="opinions-2", init=False)

    def propose(self, cluster: Cluster) -> Proposals:
        """Propose the opinion that the statements support; none if no statement is a judgement."""
        judging = _judging_sentences(cluster)
        stored = cluster.conclusions[0] if cluster.conclusions else None
        if not judging:
            return _removals(cluster)
        signs = [sentence.judgement.sign > 0 for sentence in judging]
        favourable = belief(signs, cluster.bank.disposition.skepticism) >= UNDECIDED
        agreeing = [sign == favourable for sign in signs]
        if not any(agreeing):
            return _removals(cluster)
        doubting = _doubting(cluster, judging, favourable=favourable)
        if stored is None and 2 * sum(agreeing) <= len(agreeing) + doubting:
            return Proposals()  # as many are for it as against it
        text = _text(cluster.subject, judging, favourable=favourable)
        evidence = tuple(
            Evidence(sentence.memory.id, quote(sentence.text, None), supports)
            for sentence, supports in zip(judging, agreeing, strict=True)
        )
        if stored is not None and stored.text == text and stored.id not in cluster.new:
            return Proposals()
        reasoning = _reasoning(agreeing, stored, favourable=favourable)
        draft = Draft(text, evidence, reasoning, rewrites=stored.id if stored else None)
        return Proposals((draft,))


def _removals(cluster: Cluster) -> Proposals:
    """Propose to remove the opinions whose evidence has changed."""
    removed_ids = (opinion.id for opinion in cluster.conclusions if opinion.id in cluster.new)
    reason = "Nothing that it rested on judges of it still."
    return Proposals(removals=tuple(Removal(id, reason) for id in removed_ids))


def _is_on_topic(topic: frozenset[str], terms: Iterable[str]) -> bool:
    """Return True if the terms contain at least half of the words of the topic."""
    return 2 * len(topic.intersection(terms)) >= max(1, len(topic))


_RENEWING = word_sets("stance")["renewing"]
_NOT_DONE = frozenset("will would could should must may might want need refuse promise".split())


class _JudgingSentence(NamedTuple):
    """A sentence of a memory that praises or blames the topic."""

    memory: Memory
    text: str
    judgement: Stance


def _judging_sentences(cluster: Cluster) -> list[_JudgingSentence]:
    """Return the first sentence of each memory that praises or blames the topic, oldest first.

    Excluded are memories that do both, turns of an assistant, and sentences that the next one
    retracts ("Just kidding.").
    """
    judging = []
    for memory in cluster.memories:
        if memory.speaker is not None and memory.type is MemoryType.EXPERIENCE:
            continue
        candidates = [
            _JudgingSentence(memory, sentence, stance)
            for sentence in sentences(memory.text)
            if (stance := judgement(sentence, cluster.subject))
            and not retracts_itself(sentence)
            and not retraction_after(memory.text, sentence)
        ]
        if len({sentence.judgement.sign for sentence in candidates}) == 1:
            judging.append(candidates[0])
    judging.sort(key=lambda sentence: (sentence.memory.mentioned_at, sentence.memory.id))
    last_renewal = max(_renewals(cluster), default=None)
    if last_renewal is not None:
        judging = [one for one in judging if one.memory.mentioned_at >= last_renewal]
    return judging[-MOST_EVIDENCE:]


def _doubting(cluster: Cluster, judging: Sequence[_JudgingSentence], *, favourable: bool) -> int:
    """Count the memories that may speak against a belief, though they judge nothing for certain.

    "X is slow on my machine" and "X is boring, there, I said it" are no plain judgements, but a
    single word of praise does not outweigh them.
    """
    certain = {sentence.memory.id for sentence in judging}
    renewed = max(_renewals(cluster), default=None)
    return sum(
        any(
            speaks_against(1 if favourable else -1, sentence, cluster.subject)
            for sentence in sentences(memory.text)
            if not sentence.endswith("?")
        )
        for memory in cluster.memories
        if memory.id not in certain
        and (renewed is None or memory.mentioned_at >= renewed)
        and (memory.speaker is None or memory.type is not MemoryType.EXPERIENCE)
    )


def _renewals(cluster: Cluster) -> Iterator[datetime]:
    """Yield the times at which memories say that the topic was replaced, mended or removed.

    What was thought of the old pump is no opinion of the new one.
    """
    terms = frozenset(lexemes(cluster.subject))
    new = re.compile(rf"\b(?:new|replacement) {re.escape(cluster.subject)}\b", re.IGNORECASE)
    for memory in cluster.memories:
        for sentence in sentences(memory.text):
            words = parse(sentence).words
            verbs = {form for word in words if word.is_verb for form in (word.lemma, word.lower)}
            done = any(word.tag in ("VBD", "VBN") and word.lemma in _RENEWING for word in words)
            renewed = (done or new.search(sentence)) and not verbs & _NOT_DONE
            if terms <= frozenset(lexemes(sentence)) and (renewed or recants(sentence)):
                yield memory.mentioned_at


def _text(topic: str, judging: Sequence[_JudgingSentence], *, favourable: bool) -> str:
    """Return the text: stance, counts, the latest quotes for it and the latest against it."""
    praise = [sentence for sentence in judging if sentence.judgement.sign > 0]
    blame = [sentence for sentence in judging if sentence.judgement.sign < 0]
    stance = "well" if favourable else "ill"
    name = f"{topic[:1].upper()}{topic[1:]}"
    verb = "are" if all(sentence.judgement.plural for sentence in judging) else "is"
    lead = f"{name} {verb} {stance} spoken of ({len(praise)} for, {len(blame)} against)"
    supporting, opposing = (praise, blame) if favourable else (blame, praise)
    text = f"{lead}: {_quotation_of(supporting)}."
    if opposing:
        text += f" {'Against' if favourable else 'For'} it: {_quotation_of(opposing)}."
    return text


def _quotation_of(judging: Sequence[_JudgingSentence]) -> str:
    return "; ".join(
        (f"{voice(sentence.memory.speaker)}, " if sentence.memory.speaker else "")
        + f"“{quote(sentence.text, None)}” ({day(sentence.memory.mentioned_at)})"
        for sentence in judging[-SHOWN:]
    )


def _reasoning(agreeing: Sequence[bool], stored: Memory | None, *, favourable: bool) -> str:
    counts = f"{sum(agreeing)} statements support it, {len(agreeing) - sum(agreeing)} do not."
    is_reversed = stored is not None and (" well spoken of" in stored.text) != favourable
    return f"What was believed before is contradicted. {counts}" if is_reversed else counts


def form(
    deps: ReflectDependencies,
    recalling: RecallDependencies,
    bank: StoredBank,
    topic: str,
    scope: str | None,
) -> tuple[Memory, ...]:
    """Form the opinions on a topic from memories of it; none if no statement is a judgement.

    Raises:
        ModelError: the language model failed; nothing was changed.
        StoreError: other writers changed the evidence in each of `ATTEMPTS` attempts.
    """
    for _ in range(ATTEMPTS):
        cluster, facts = _cluster(deps, recalling, bank, topic, scope)
        proposals = validated(cluster, deps.opinions.propose(cluster))
        before = {memory.id: memory for memory in cluster.conclusions}
        now = utc_now()
        records = [
            conclusion_record(
                bank.bank, draft, facts, before.get(draft.rewrites or ""), now, topic=topic
            )
            for draft in proposals.drafts
        ]
        records = with_own_vectors(deps.encoder, records)
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
        history += [
            change for id in removed for change in dropped_source_changes(before[id], "form", now)
        ]
        changes = ChangeSet(
            bank.bank.id,
            remove_memories=removed,
            memories=tuple(r for r in records if r.memory.id not in before),
            replaced=tuple(r for r in records if r.memory.id in before),
            history=tuple(history),
            mark_consolidated=tuple(texts),
        )
        if _store_if_current(deps, bank, cluster, changes):
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
    stored = _stored_opinions(deps, bank_id, topic, scope)
    fact_ids = {item.id for item in recall(recalling, [bank], request)}
    fact_ids |= {s.memory_id for memory in stored for s in memory.sources if s.memory_id}
    evidence = deps.evidence(bank_id, graph.read(bank_id, RECORD, sorted(fact_ids)))
    facts = {id: record for id, record in evidence.items() if record.memory.scope == scope}
    waiting_ids = deps.waiting(bank_id) if stored else set()
    cited_ids = {s.memory_id for memory in stored for s in memory.sources}
    cluster = Cluster(
        bank=bank.bank,
        subject=topic,
        memories=in_order(record.memory for record in facts.values()),
        new=frozenset(facts.keys() - cited_ids) | (waiting_ids & {memory.id for memory in stored}),
        conclusions=in_order(stored),
        vectors={id: record.vector for id, record in facts.items()},
    )
    return cluster, facts


def valid_opinion_ids(graph: GraphStore, bank_id: str) -> set[str]:
    """Return the ids of all valid opinions that the engine formed."""
    opinions = frozenset({MemoryType.OPINION})
    filter = MemoryFilter(now=utc_now(), types=opinions, derived=True)
    return {memory.id for memory in every_memory(graph, bank_id, filter)}


def _stored_opinions(
    deps: ReflectDependencies, bank_id: str, topic: str, scope: str | None
) -> list[Memory]:
    """Return the stored opinions that the engine formed on the topic."""
    opinions = frozenset({MemoryType.OPINION})
    filter = MemoryFilter(now=utc_now(), types=opinions, scope=scope, derived=True)
    return [
        memory
        for memory in every_memory(deps.graph, bank_id, filter)
        if memory.scope == scope and entity_norm(memory.context or "") == entity_norm(topic)
    ]


def _store_if_current(
    deps: ReflectDependencies, bank: StoredBank, cluster: Cluster, changes: ChangeSet
) -> bool:
    """Store the opinions; return False if their evidence has changed since it was read."""
    versions = {
        memory.id: memory.updated_at for memory in (*cluster.memories, *cluster.conclusions)
    }
    with deps.lock(bank.key):
        current = deps.graph.read(bank.bank.id, MEMORY, sorted(versions))
        if {id: memory.updated_at for id, memory in current.items()} != versions:
            return False
        deps.graph.apply(changes)
    deps.flush(bank.key)
    return True
