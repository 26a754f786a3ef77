"""Observations without a language model: rules that propose none in doubt.

Statements that change each other make an observation, and those that share a topic and were said
on more than one occasion. Both depend on the statements alone, never on when they were read: so
memories that are consolidated one by one, in any order, or all at once yield the same observations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_integrations.models import Memory, ObservationKind
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import parse
from hindsight_integrations.reflect.changes.claim_model import ValueChange
from hindsight_integrations.reflect.changes.contradictions import (
    change,
    dated_statements,
    ends,
    may_change,
    resumes,
)
from hindsight_integrations.reflect.changes.model import DatedStatement
from hindsight_integrations.reflect.dependencies import Cluster, Draft, Evidence, Proposals, Removal
from hindsight_integrations.reflect.observation_text import compose, priority
from hindsight_integrations.reflect.topics import Grade, Statement, Topic, alternatives

_CUES = table("reflection")["kinds"]
_READ = tuple(
    (kind, re.compile(rf"\b(?:{alternatives(_CUES[kind.value])})\b", re.IGNORECASE))
    for kind in (
        ObservationKind.RISK,
        ObservationKind.CAUSAL,
        ObservationKind.PREFERENCE,
        ObservationKind.STRATEGY,
    )
)
_AGAIN = re.compile(rf"\b(?:{alternatives(_CUES['again'])})\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:never|no|not|\w+n['’]t|without|free of)\W+$", re.IGNORECASE)
_LIKING = word_sets("profile")["liking"]
_DAYS_OF_A_PATTERN = 3
_MARKS = str.maketrans("@|>", "   ")
"""Marks in the key of a topic."""


def kind_of(
    quotes: Sequence[str],
    times: Sequence[datetime],
    *,
    has_changed: bool = False,
    known: Set[str] = frozenset(),
) -> ObservationKind:
    """Return the kind that most of the quotes show; else pattern or generalization.

    Tested in this order: risk, causal, preference, strategy. A pattern is what most of the quotes
    say in the same words, or of what comes again; three mentions of a thing are none.

    Args:
        quotes: evidence of the observation.
        times: when each was said.
        has_changed: later ones change the earlier ones, so that there is no pattern.
        known: lexemes that all quotes share anyway: those of the topic.
    """
    for kind, cue in _READ:
        if _are_most(sum(map(_shows(kind, cue), quotes)), quotes) and (
            kind is not ObservationKind.PREFERENCE or len(_likers(quotes)) < 2
        ):
            return kind
    if has_changed:
        return ObservationKind.GENERALIZATION
    days = {time.date() for time in times}
    again = sum(bool(_AGAIN.search(quote)) for quote in quotes)
    said = Counter(term for quote in quotes for term in _plain_terms(quote) - known)
    alike = any(_are_most(count, quotes) for count in said.values())
    if (len(days) >= _DAYS_OF_A_PATTERN and alike) or (len(days) > 1 and _are_most(again, quotes)):
        return ObservationKind.PATTERN
    return ObservationKind.GENERALIZATION


def _plain_terms(quote: str) -> frozenset[str]:
    """Return the lexemes of a quote without its names: these are mentions, not what is said."""
    return frozenset(lexemes(" ".join(word for word in quote.split() if word[:1].islower())))


def _are_most(count: int, quotes: Sequence[str]) -> bool:
    return 2 * count > len(quotes)


def _shows(kind: ObservationKind, cue: re.Pattern[str]) -> Callable[[str], bool]:
    """Return what tells whether a quote shows a kind: "the reviewers hate it" is no preference."""

    def shown(quote: str) -> bool:
        found = cue.search(quote)
        if found is None or _DENIED.search(quote[: found.start()]):
            return False
        return kind is not ObservationKind.PREFERENCE or None not in _likers([quote])

    return shown


def _likers(quotes: Iterable[str]) -> set[str | None]:
    """Return who likes or dislikes something in quotes; None for whom no name tells."""
    likers: set[str | None] = set()
    for sentence in map(parse, quotes):
        for verb in sentence.words:
            if verb.lemma in _LIKING and verb.is_verb:
                by = sentence.child(verb, "nsubj")
                if by is not None:
                    named = by.is_proper or by.lower in ("i", "we", "he", "she")
                    likers.add(by.lower if named else None)
    return likers


MOST_EVIDENCE = 24
"""Most memories that an observation rests on: the first, and the latest ones."""

FEWEST = {Grade.NOUN: 3, Grade.OWN: 2, Grade.NAME: 2, Grade.PHRASE: 2}
"""Fewest memories of an observation, by the grade of its topic: "the boiler" may be any."""

PASSAGE = 300
"""Fewest characters of a passage: a text without speaker; one with a title always is one."""


@dataclass(frozen=True, slots=True)
class RuleConsolidator:
    """Proposes observations by rule; see `Consolidator`."""

    id: str = field(default="rules-2", init=False)

    def propose(self, cluster: Cluster) -> Proposals:
        """Propose what the memories of the cluster say together."""
        return _Assignment(cluster).proposals()


class _Assignment:
    """One cluster, while its statements are assigned to observations."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._all = [
            statement
            for memory in cluster.memories
            for statement in dated_statements(memory, cluster.speakers)
        ]
        self._said = [one for one in self._all if not _is_passage(one.memory)]

    def proposals(self) -> Proposals:
        drafts: list[Draft] = []
        removals: list[Removal] = []
        left = list(self._cluster.conclusions)
        for group in (*(changed := self._changed()), *self._repeated(changed)):
            mine = [held for held in left if _rests_on(held, group)]
            left = [held for held in left if held not in mine]
            home = mine[0] if mine else None
            removals += [Removal(held.id, f"{home.id} says the same.") for held in mine[1:] if home]
            if home is None or home.id in self._cluster.new or not _is_told(home, group):
                drafts.append(self._draft(group, home))
        for held in left:
            quoted = self._quoted(held)
            if not quoted:
                removals.append(Removal(held.id, "Nothing that it rested on says it still."))
            elif held.id in self._cluster.new:
                drafts.append(self._draft(quoted, held))
            elif self._is_contested(quoted) and _is_by_rule(held):
                removals.append(Removal(held.id, "A later memory says that this has ended."))
            elif any(map(self._is_resumed, quoted)) and _is_by_rule(held):
                removals.append(Removal(held.id, "A later memory says that this is so again."))
        return Proposals(tuple(drafts), tuple(removals))

    def _quoted(self, conclusion: Memory) -> list[DatedStatement]:
        """Return the statements that the evidence of a conclusion quotes.

        If a language model quoted more or less than a statement, exactly these words. For a memory
        whose text has changed, its statement on the topic of the others.
        """
        quotes = {s.memory_id: s.quote or "" for s in conclusion.sources if s.supports}
        mine = [statement for statement in self._all if statement.memory.id in quotes]
        quoted = [statement for statement in mine if quotes[statement.memory.id] in statement.text]
        quoted += [
            DatedStatement(memory, Statement(words, {}, frozenset(lexemes(words))))
            for memory in self._cluster.memories
            if (words := quotes.get(memory.id)) and words in memory.text
        ]
        keys = {key for statement in quoted for key in statement.statement.topics}
        quoted += [
            one
            for one in mine
            if keys & one.statement.topics.keys()
            or any(self._shift(o, one) or self._shift(one, o) for o in quoted)
        ]
        return _one_per_memory(quoted)

    def _shift(self, older: DatedStatement, newer: DatedStatement) -> ValueChange | None:
        return change(older, newer, self._cluster.ambiguous)

    def _changed(self) -> list[list[DatedStatement]]:
        """Return groups of statements that change each other, with what repeats the old value."""
        ties: dict[int, list[DatedStatement]] = {}
        for newer in self._said:
            for older in self._said if may_change(newer) else ():
                shift = self._shift(older, newer)
                if shift is not None and not (shift.after is None and self._is_resumed(newer)):
                    for one in (older, *self._repeating(older, newer, shift)):
                        ties.setdefault(id(one), []).append(newer)
                        ties.setdefault(id(newer), []).append(one)
        tied = [statement for statement in self._said if id(statement) in ties]
        groups = (_one_per_memory(group) for group in _components(tied, ties))
        return [group for group in groups if len(group) > 1 and self._is_new(group)]

    def _is_resumed(self, ended: DatedStatement) -> bool:
        """Return True if a later statement says that what has ended is so again."""
        return any(
            later.memory.scope == ended.memory.scope and resumes(later, ended)
            for later in self._all
        )

    def _repeating(
        self, older: DatedStatement, newer: DatedStatement, shift: ValueChange
    ) -> list[DatedStatement]:
        """Return the statements before a change that share the topic of the old value."""
        terms = frozenset(lexemes(shift.before))
        keys = {key for key, topic in older.statement.topics.items() if topic.terms == terms}
        return [
            one
            for one in self._said
            if one.at < newer.at
            and one.memory.scope == older.memory.scope
            and keys & one.statement.topics.keys()
            and one.statement.claims.is_plain
        ]

    def _repeated(self, changed: Sequence[Sequence[DatedStatement]]) -> list[list[DatedStatement]]:
        """Return groups of statements that share a topic, from more than one occasion."""
        told = [{statement.memory.id for statement in group} for group in changed]
        among: dict[tuple[str | None, str], list[DatedStatement]] = {}
        for statement in self._said:
            if statement.statement.claims.is_plain:
                for key in statement.statement.topics:
                    among.setdefault((statement.memory.scope, key), []).append(statement)
        groups = (
            (key, _one_per_memory(one))
            for (_, key), group in among.items()
            for one in _of_one_thing(key, group)
        )
        found = [
            (key, group)
            for key, group in groups
            if self._is_worth_telling(key, group)
            and not any({one.memory.id for one in group} <= ids for ids in told)
        ]
        return [group for key, group in found if not _is_part_of_another(key, group, found)]

    def _is_worth_telling(self, key: str, group: Sequence[DatedStatement]) -> bool:
        topics = [statement.statement.topics[key] for statement in group]
        return (
            len(group) >= FEWEST[topics[0].grade]
            and len(set(map(_occasion, group))) > 1
            and self._is_new(group)
            and (topics[0].grade is not Grade.NAME or _says_more(key, group))
            and not self._is_overshadowed(topics[0], group)
            and not self._is_contested(group)
        )

    def _is_new(self, group: Sequence[DatedStatement]) -> bool:
        return any(statement.memory.id in self._cluster.new for statement in group)

    def _is_overshadowed(self, topic: Topic, group: Sequence[DatedStatement]) -> bool:
        """Return True if the statements share a topic that says more than this one."""
        shared = set.intersection(*(set(one.statement.topics) for one in group))
        first = group[0].statement.topics
        return any(priority(first[key]) > priority(topic) for key in shared)

    def _is_contested(self, group: Sequence[DatedStatement]) -> bool:
        """Return True if a later statement on the topic says that it has ended."""
        keys = set.intersection(*(set(one.statement.topics) for one in group))
        return any(
            later.at > group[0].at
            and later.memory.scope == group[0].memory.scope
            and any(
                ends(later, topic.terms)
                for key, topic in later.statement.topics.items()
                if key in keys
            )
            for later in self._said
        )

    def _draft(self, evidence: Sequence[DatedStatement], rewritten: Memory | None = None) -> Draft:
        kept = _kept(evidence)
        composed = compose(kept, self._cluster.vectors, self._cluster.ambiguous)
        return Draft(
            text=composed.text,
            evidence=tuple(Evidence(id, words) for id, words in composed.quotes.items()),
            reasoning=composed.reasoning,
            kind=kind_of(
                list(composed.quotes.values()),
                [statement.at for statement in kept],
                has_changed=composed.earlier is not None,
                known=_known(kept),
            ),
            rewrites=rewritten.id if rewritten else None,
            earlier=composed.earlier,
        )


def _is_part_of_another(
    key: str, group: Sequence[DatedStatement], groups: Iterable[tuple[str, list[DatedStatement]]]
) -> bool:
    """Return True if another group has the same thing, all these statements, and further ones."""
    own, terms = {id(one) for one in group}, group[0].statement.topics[key].terms
    return any(
        own < {id(one) for one in other} and other[0].statement.topics[named].terms == terms
        for named, other in groups
    )


def _says_more(key: str, group: Sequence[DatedStatement]) -> bool:
    """Return False for statements that only happen in one place: "lives in Hull", "met in Hull".

    Most have to say something of the place itself, or the same of whatever is there.
    """
    placed = sum(one.statement.topics[key].placed for one in group)
    if 2 * placed < len(group):
        return True
    named = frozenset(
        lexemes(
            " ".join([key.translate(_MARKS), *(n for one in group for n in one.memory.entities)])
        )
    )
    said = Counter(term for one in group for term in one.statement.terms - named)
    return any(2 * count > len(group) for count in said.values())


def _known(evidence: Sequence[DatedStatement]) -> frozenset[str]:
    """Return the lexemes of the topics that all statements share, and of their holders."""
    shared = set.intersection(*(set(one.statement.topics) for one in evidence))
    return frozenset(lexemes(" ".join(shared).translate(_MARKS)))


def _kept(evidence: Sequence[DatedStatement]) -> list[DatedStatement]:
    """Return the first statement and the latest ones, in order of time."""
    ordered = sorted(evidence, key=lambda statement: (statement.at, statement.memory.id))
    return [*ordered[:1], *ordered[1:][-MOST_EVIDENCE + 1 :]]


def _rests_on(held: Memory, group: Sequence[DatedStatement]) -> bool:
    """Return True if all that a stored observation rests on is in the group."""
    return {source.memory_id for source in held.sources} <= {one.memory.id for one in group}


def _is_told(held: Memory, group: Sequence[DatedStatement]) -> bool:
    """Return True if a stored observation rests on the whole group."""
    rested = {source.memory_id for source in held.sources}
    return rested == {one.memory.id for one in _kept(group)}


def _is_by_rule(held: Memory) -> bool:
    """Return True for the text of rules, which quotes its evidence literally."""
    return any(f"“{source.quote}” (" in held.text for source in held.sources)


def _occasion(statement: DatedStatement) -> tuple[object, ...]:
    return statement.memory.document_id, statement.at.date()


def _of_one_thing(key: str, group: Sequence[DatedStatement]) -> Iterable[list[DatedStatement]]:
    """Return the statements on a topic in groups that surely mean the same thing.

    "The wall" of one speaker is that of another if both speak of it in one conversation, or on one
    day: else each may have a wall.
    """
    if group[0].statement.topics[key].grade is not Grade.NOUN:
        return [list(group)]
    last: dict[tuple[str, object], DatedStatement] = {}
    ties: dict[int, list[DatedStatement]] = {id(one): [] for one in group}
    for one in group:
        speaker, document = one.memory.speaker, one.memory.document_id or one.memory.id
        for shared in (("speaker", speaker), ("document", document), ("day", one.at.date())):
            if (before := last.get(shared)) is not None:
                ties[id(one)].append(before)
                ties[id(before)].append(one)
            last[shared] = one
    return _components(group, ties)


def _one_per_memory(statements: Sequence[DatedStatement]) -> list[DatedStatement]:
    first = {statement.memory.id: statement for statement in reversed(statements)}
    return list(first.values())[::-1]


def _components(
    statements: Sequence[DatedStatement], ties: Mapping[int, Sequence[DatedStatement]]
) -> Iterator[list[DatedStatement]]:
    """Yield the connected groups of statements, in order of time."""
    seen: set[int] = set()
    for first in statements:
        group, edge = [], [first]
        while edge:
            one = edge.pop()
            if id(one) not in seen:
                seen.add(id(one))
                group.append(one)
                edge += ties[id(one)]
        if group:
            yield sorted(group, key=lambda one: (one.at, one.memory.id))


def _is_passage(memory: Memory) -> bool:
    """Return True if the memory is part of a written text, which is clear by itself.

    An observation that quotes several passages says less than they do, and replaces them in
    recall: with observations of passages, MuSiQue's All@1024t was 50 instead of 63.
    """
    return memory.speaker is None and (memory.context is not None or len(memory.text) >= PASSAGE)
