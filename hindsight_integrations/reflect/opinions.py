"""Opinions: what the statements on a topic come to, and how sure one may be of it.

A belief starts at one half. Each statement that supports it takes away a part of the doubt, each
that contradicts it a part of the belief; how large a part, the bank's skepticism says. Where the
belief falls below one half, the opposite is believed, and the opinion is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.model import Bank, Memory
from hindsight_integrations.reflect.cluster import in_order
from hindsight_integrations.reflect.contradict import Told, told
from hindsight_integrations.reflect.observe import day, quote, voice
from hindsight_integrations.reflect.polarity import polarity
from hindsight_integrations.reflect.ports import Draft, Evidence, Matter, Proposals, Removal
from hindsight_integrations.storage.requests import MemoryRecord

RATES = {1: 0.5, 2: 0.4, 3: 0.3, 4: 0.2, 5: 0.12}
"""Part of the doubt, or of the belief, that one statement takes away, by skepticism."""

UNDECIDED = 0.5
MOST_EVIDENCE = 24
SHOWN = 2
"""Statements for it, and against it, that the text quotes: the latest."""


def belief(supports: Sequence[bool], skepticism: int = 3) -> float:
    """How far to believe what these statements support or contradict, in order of time; 0 to 1.

    From 1/2, each that supports gives b + r (1 - b), each that contradicts b - r b, with the r
    of `RATES`.
    """
    rate = RATES[skepticism]
    believed = UNDECIDED
    for support in supports:
        believed += rate * (1 - believed) if support else -rate * believed
    return round(believed, 6)


def revised(
    bank: Bank,
    waiting: Set[str],
    facts: Mapping[str, MemoryRecord],
    opinions: Mapping[str, MemoryRecord],
) -> Iterator[Matter]:
    """The opinions that have to be looked at again, each with its evidence and what is new.

    Args:
        bank: whose opinions they are.
        waiting: ids of memories and conclusions that were not reflected on yet.
        facts: memories by id, those that the opinions rest on among them.
        opinions: by id, as they were formed.
    """
    for id, record in opinions.items():
        held = record.memory
        topic = held.context or held.text
        terms = frozenset(lexemes(topic))
        rested = {source.memory_id for source in held.sources}
        fresh = {
            each
            for each, fact in facts.items()
            if each in waiting
            and each not in rested
            and fact.memory.scope == held.scope
            and _on_topic(terms, lexemes(fact.memory.text))
        }
        new = fresh | (waiting & {id})
        if new and held.invalidated_at is None:
            mine = {each: facts[each] for each in facts if each in rested | fresh}
            yield Matter(
                bank=bank,
                subject=topic,
                memories=in_order(each.memory for each in mine.values()),
                new=frozenset(new),
                conclusions=(held,),
                vectors={each: fact.vector for each, fact in mine.items()},
            )


@dataclass(frozen=True, slots=True)
class OpinionRules:
    """Forms opinions by the words that praise and blame; see `Consolidator`.

    Of a matter it reads the statements that share most of the words of its topic, which is
    `Matter.subject`. One topic has one opinion.
    """

    id: str = field(default="opinions-1", init=False)

    def propose(self, matter: Matter) -> Proposals:
        """The opinion that the statements come to; nothing if none of them judges."""
        judged = _judged(matter)
        held = matter.conclusions[0] if matter.conclusions else None
        if not judged:
            return _withdrawn(matter)
        signs = [sign > 0 for _, sign in judged]
        favourable = belief(signs, matter.bank.disposition.skepticism) >= UNDECIDED
        agreeing = [sign == favourable for sign in signs]
        if not any(agreeing):
            return _withdrawn(matter)
        text = _text(matter.subject, [each for each, _ in judged], agreeing, favourable=favourable)
        evidence = tuple(
            Evidence(each.memory.id, quote(each.text, None), supports)
            for (each, _), supports in zip(judged, agreeing, strict=True)
        )
        if held is not None and held.text == text and held.id not in matter.new:
            return Proposals()
        reasoning = _reasoning(agreeing, held, favourable=favourable)
        draft = Draft(text, evidence, reasoning, rewrites=held.id if held else None)
        return Proposals((draft,))


def _withdrawn(matter: Matter) -> Proposals:
    """An opinion goes if what it rested on has changed, and nothing judges of its topic still."""
    gone = (each.id for each in matter.conclusions if each.id in matter.new)
    reason = "Nothing that it rested on judges of it still."
    return Proposals(removals=tuple(Removal(id, reason) for id in gone))


def _on_topic(topic: frozenset[str], terms: Iterable[str]) -> bool:
    """Whether they share most of the words of the topic."""
    return 2 * len(topic.intersection(terms)) >= max(1, len(topic))


def _judged(matter: Matter) -> list[tuple[Told, int]]:
    """Of each memory the first statement on the topic that speaks well or ill of it."""
    topic = frozenset(lexemes(matter.subject))
    found: dict[str, tuple[Told, int]] = {}
    for memory in matter.memories:
        for each in told(memory):
            sign = polarity(each.text) if _on_topic(topic, each.statement.terms) else 0
            if sign:
                found.setdefault(memory.id, (each, sign))
    ordered = sorted(found.values(), key=lambda pair: (pair[0].at, pair[0].memory.id))
    return ordered[-MOST_EVIDENCE:]


def _text(topic: str, judged: Sequence[Told], agreeing: Sequence[bool], *, favourable: bool) -> str:
    """Which way it goes and by how many, the latest words for it, and the latest against it."""
    well = [t for t, agrees in zip(judged, agreeing, strict=True) if agrees == favourable]
    ill = [t for t, agrees in zip(judged, agreeing, strict=True) if agrees != favourable]
    stance = "well" if favourable else "ill"
    name = f"{topic[:1].upper()}{topic[1:]}"
    lead = f"{name} is {stance} spoken of ({len(well)} for, {len(ill)} against)"
    mine, others = (well, ill) if favourable else (ill, well)
    text = f"{lead}: {_spoken(mine)}."
    if others:
        text += f" {'Against' if favourable else 'For'} it: {_spoken(others)}."
    return text


def _spoken(judged: Sequence[Told]) -> str:
    return "; ".join(
        (f"{voice(each.memory.speaker)}, " if each.memory.speaker else "")
        + f"“{quote(each.text, None)}” ({day(each.at)})"
        for each in judged[-SHOWN:]
    )


def _reasoning(agreeing: Sequence[bool], held: Memory | None, *, favourable: bool) -> str:
    weighed = f"{sum(agreeing)} statements support it, {len(agreeing) - sum(agreeing)} do not."
    turned = held is not None and (" is well " in held.text) != favourable
    return f"What was believed before is contradicted. {weighed}" if turned else weighed
