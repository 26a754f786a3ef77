"""Observations without a language model: rules that lean towards saying nothing.

A statement belongs to one observation at most. It first joins one that is there already; else
statements that change each other make one, then those that share a topic and were said on more
than one occasion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.model import Memory
from hindsight_integrations.reflect.cluster import changes, cosine, shared_topics
from hindsight_integrations.reflect.contradict import Told, told
from hindsight_integrations.reflect.kinds import kind_of
from hindsight_integrations.reflect.observe import common_topics, compose
from hindsight_integrations.reflect.ports import Draft, Evidence, Matter, Proposals, Removal
from hindsight_integrations.reflect.topics import Grade, Statement, Topic

MOST_EVIDENCE = 24
"""Memories that an observation rests on: the first, and the latest ones."""

PASSAGE = 300
"""Characters from which a text that nobody said is a passage, as one with a title always is."""

PAIR_MARGIN = {Grade.PHRASE: 0.0, Grade.NAME: 0.1, Grade.NOUN: 0.22, Grade.WORD: 0.25}
"""What a topic that only two memories share adds to the cosine that is asked for."""
_PAIR = 2


@dataclass(frozen=True, slots=True)
class RuleConsolidator:
    """Proposes observations by rule; see `Consolidator`.

    Args:
        similarity: cosine from which memories that share a phrase are of one matter.
    """

    similarity: float = 0.45
    id: str = field(default="rules-1", init=False)

    def propose(self, matter: Matter) -> Proposals:
        """What the memories of the matter say together."""
        return _Reading(matter, self.similarity).proposals()


@dataclass(slots=True, eq=False)
class _Held:
    """An observation that is there already, with what is left of its evidence."""

    memory: Memory
    evidence: list[Told]
    gained: bool = False

    @property
    def memories(self) -> set[str]:
        return {each.memory.id for each in self.evidence}


class _Reading:
    """One matter, while its statements find their places."""

    def __init__(self, matter: Matter, similarity: float) -> None:
        self._matter = matter
        self._similarity = similarity
        self._free = [each for memory in matter.memories for each in told(memory, matter.speakers)]
        self._held = [_Held(each, self._quoted(each)) for each in matter.conclusions]
        self._take([each for held in self._held for each in held.evidence])
        self._free = [each for each in self._free if not _is_passage(each.memory)]

    def proposals(self) -> Proposals:
        removals = tuple(self._merged())
        self._join()
        drafts = [self._draft(group) for group in self._changed()]
        drafts += [self._draft(group) for group in self._repeated()]
        for held in self._held:
            if not held.evidence:
                reason = "Nothing that it rested on says it still."
                removals = (*removals, Removal(held.memory.id, reason))
            elif held.gained or held.memory.id in self._matter.new:
                drafts.append(self._draft(held.evidence, held.memory))
        return Proposals(tuple(drafts), removals)

    def _quoted(self, conclusion: Memory) -> list[Told]:
        """The statements that its evidence quotes.

        Where a language model quoted more or less than a statement, just these words. Of a memory
        whose text has changed, the statement that is of the same matter still.
        """
        quotes = {s.memory_id: s.quote or "" for s in conclusion.sources if s.supports}
        mine = [each for each in self._free if each.memory.id in quotes]
        found = [each for each in mine if quotes[each.memory.id] in each.text]
        found += [
            Told(memory, Statement(words, {}, frozenset(lexemes(words))))
            for memory in self._matter.memories
            if (words := quotes.get(memory.id)) and words in memory.text
        ]
        found = _one_a_memory(found)
        keys = {topic.key for topic in common_topics(found)}
        found += [each for each in mine if keys & each.statement.topics.keys()]
        return _one_a_memory(found)

    def _merged(self) -> Iterator[Removal]:
        """Of two that say nearly the same, the older takes over the evidence of the other."""
        for one, other in combinations(tuple(self._held), 2):
            if other in self._held and one in self._held and self._nearly_same(one, other):
                one.evidence += [e for e in other.evidence if e.memory.id not in one.memories]
                one.gained = True
                self._held.remove(other)
                yield Removal(other.memory.id, f"{one.memory.id} says the same.")

    def _nearly_same(self, one: _Held, other: _Held) -> bool:
        """Whether all of their evidence is on one topic, told by the same, and tied by it."""
        keys = {topic.key for topic in common_topics([*one.evidence, *other.evidence])}
        voices = ({each.memory.speaker for each in held.evidence} for held in (one, other))
        return (
            bool(keys)
            and len(set(map(frozenset, voices))) == 1
            and any(
                keys & {topic.key for topic in self._shared(a, b)}
                for a in one.evidence
                for b in other.evidence
            )
        )

    def _join(self) -> None:
        """Give new statements to the observation they belong to."""
        for each in tuple(self._free):
            if each.memory.id in self._matter.new:
                home = next((held for held in self._held if self._belongs(each, held)), None)
                if home is not None:
                    home.evidence.append(each)
                    home.gained = True
                    self._take([each])

    def _belongs(self, one: Told, held: _Held) -> bool:
        if one.memory.id in held.memories:
            return False
        keys = {topic.key for topic in common_topics(held.evidence)}
        if keys and not any(one.statement.speaks_of(key) for key in keys):
            return False
        return any(
            keys & {topic.key for topic in self._shared(one, each)} or self._changes(one, each)
            for each in held.evidence
        )

    def _changed(self) -> Iterator[list[Told]]:
        """Statements of which one changes the other."""
        shifting = [each for each in self._free if each.may_change]
        pairs = {
            frozenset((id(one), id(other)))
            for one in shifting
            for other in self._free
            if self._changes(one, other)
        }
        among = [each for each in self._free if any(id(each) in pair for pair in pairs)]
        yield from self._groups(among, lambda one, other: frozenset((id(one), id(other))) in pairs)

    def _repeated(self) -> Iterator[list[Told]]:
        """Statements that share a topic, from more than one occasion."""
        for key in _keys(self._free):
            among = [each for each in self._free if key in each.statement.topics]

            def tied(one: Told, other: Told, key: str = key) -> bool:
                return any(topic.key == key for topic in self._shared(one, other))

            for group in self._groups(among, tied, occasions=2):
                if self._is_slight(key, group):
                    self._free += group
                else:
                    yield group

    def _is_slight(self, key: str, group: Sequence[Told]) -> bool:
        """Whether it is no more than two statements that are not alike enough."""
        margin = PAIR_MARGIN[min(each.statement.topics[key].grade for each in group)]
        return len(group) == _PAIR and self._alike(*group) < self._similarity + margin

    def _groups(
        self, among: Sequence[Told], tied: Callable[[Told, Told], bool], occasions: int = 1
    ) -> Iterator[list[Told]]:
        """Those that are tied to each other, if more than one, and not all known of old."""
        for group in map(_one_a_memory, _components(among, tied)):
            is_new = any(each.memory.id in self._matter.new for each in group)
            if len(group) > 1 and is_new and len(set(map(_occasion, group))) >= occasions:
                self._take(group)
                yield group

    def _take(self, told: Sequence[Told]) -> None:
        taken = set(map(id, told))
        self._free = [each for each in self._free if id(each) not in taken]

    def _shared(self, one: Told, other: Told) -> list[Topic]:
        return shared_topics(one, other, self._alike(one, other), self._similarity)

    def _changes(self, one: Told, other: Told) -> bool:
        return changes(one, other, self._alike(one, other), self._similarity)

    def _alike(self, one: Told, other: Told) -> float:
        vectors = self._matter.vectors
        return cosine(vectors[one.memory.id], vectors[other.memory.id])

    def _draft(self, evidence: Sequence[Told], rewritten: Memory | None = None) -> Draft:
        ordered = sorted(evidence, key=lambda each: (each.at, each.memory.id))
        kept = [*ordered[:1], *ordered[1:][-MOST_EVIDENCE + 1 :]]
        composed = compose(kept, self._matter.vectors)
        return Draft(
            text=composed.text,
            evidence=tuple(Evidence(id, words) for id, words in composed.quotes.items()),
            reasoning=composed.reasoning,
            kind=kind_of(
                list(composed.quotes.values()),
                [each.at for each in kept],
                has_changed=composed.earlier is not None,
            ),
            rewrites=rewritten.id if rewritten else None,
            earlier=composed.earlier,
        )


def _keys(statements: Sequence[Told]) -> list[str]:
    """Topics of more than one statement: the most telling first, and of these the frequent."""
    topics = {key: topic for each in statements for key, topic in each.statement.topics.items()}
    counts = Counter(key for each in statements for key in each.statement.topics)
    often = [key for key, count in counts.items() if count > 1]
    return sorted(often, key=lambda key: (-topics[key].grade, -counts[key], key))


def _occasion(told: Told) -> tuple[object, ...]:
    return told.memory.document_id, told.at.date()


def _one_a_memory(statements: Sequence[Told]) -> list[Told]:
    return list({each.memory.id: each for each in reversed(statements)}.values())[::-1]


def _components(
    statements: Sequence[Told], tied: Callable[[Told, Told], bool]
) -> Iterator[list[Told]]:
    left = list(statements)
    while left:
        group, edge = [], [left.pop(0)]
        while edge:
            one = edge.pop()
            group.append(one)
            edge += [other for other in left if tied(one, other)]
            left = [other for other in left if not any(other is each for each in edge)]
        yield group


def _is_passage(memory: Memory) -> bool:
    """Whether it is part of a written text, which tells its matter itself.

    What rules quote of several passages says less than they do, and takes their place in recall:
    with observations of passages, MuSiQue's All@1024t was 50 instead of 63.
    """
    return memory.speaker is None and (memory.context is not None or len(memory.text) >= PASSAGE)
