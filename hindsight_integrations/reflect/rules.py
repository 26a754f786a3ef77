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
from hindsight_integrations.reflect.dependencies import Cluster, Draft, Evidence, Proposals, Removal
from hindsight_integrations.reflect.observation_text import compose, priority
from hindsight_integrations.reflect.topics import (
    DatedStatement,
    Grade,
    Statement,
    Topic,
    alternatives,
)

_CUES = table("reflection")["kinds"]
_KIND_CUES = tuple(
    (kind, re.compile(rf"\b(?:{alternatives(_CUES[kind.value])})\b", re.IGNORECASE))
    for kind in (
        ObservationKind.RISK,
        ObservationKind.CAUSAL,
        ObservationKind.PREFERENCE,
        ObservationKind.STRATEGY,
    )
)
_RECURRENCE = re.compile(rf"\b(?:{alternatives(_CUES['again'])})\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:never|no|not|\w+n['’]t|without|free of)\W+$", re.IGNORECASE)
_LIKING = word_sets("profile")["liking"]
_MIN_PATTERN_DAYS = 3
_KEY_SEPARATORS = str.maketrans("@|>", "   ")
"""Replaces the separators in the key of a topic by blanks."""


def kind_of(
    quotes: Sequence[str],
    times: Sequence[datetime],
    *,
    has_changed: bool = False,
    topic_terms: Set[str] = frozenset(),
) -> ObservationKind:
    """Return the kind of observation that most of the quotes show; else pattern or generalization.

    Tested in this order: risk, causal, preference, strategy. A pattern needs a word in most quotes
    on `_MIN_PATTERN_DAYS` days, or a word of recurrence in most; mentions of a name do not suffice.

    Args:
        quotes: evidence of the observation.
        times: when each was said.
        has_changed: True if later quotes change earlier ones, so that there is no pattern.
        topic_terms: lexemes that all quotes share anyway: those of the topic.
    """
    for kind, cue in _KIND_CUES:
        if _is_majority(sum(map(_kind_test(kind, cue), quotes)), quotes) and (
            kind is not ObservationKind.PREFERENCE or len(_who_likes(quotes)) < 2
        ):
            return kind
    if has_changed:
        return ObservationKind.GENERALIZATION
    days = {time.date() for time in times}
    recurring = sum(bool(_RECURRENCE.search(quote)) for quote in quotes)
    counts = Counter(
        term for quote in quotes for term in _lexemes_without_names(quote) - topic_terms
    )
    is_repeated = any(_is_majority(count, quotes) for count in counts.values())
    if (len(days) >= _MIN_PATTERN_DAYS and is_repeated) or (
        len(days) > 1 and _is_majority(recurring, quotes)
    ):
        return ObservationKind.PATTERN
    return ObservationKind.GENERALIZATION


def _lexemes_without_names(quote: str) -> frozenset[str]:
    """Return the lexemes of a quote without its names, which show no pattern."""
    return frozenset(lexemes(" ".join(word for word in quote.split() if word[:1].islower())))


def _is_majority(count: int, all: Sequence[object]) -> bool:
    return 2 * count > len(all)


def _kind_test(kind: ObservationKind, cue: re.Pattern[str]) -> Callable[[str], bool]:
    """Return a predicate for quotes that show a kind.

    Dislikes of a group that is not named ("the reviewers hate it") are no preference.
    """

    def shown(quote: str) -> bool:
        found = cue.search(quote)
        if found is None or _DENIED.search(quote[: found.start()]):
            return False
        return kind is not ObservationKind.PREFERENCE or None not in _who_likes([quote])

    return shown


def _who_likes(quotes: Iterable[str]) -> set[str | None]:
    """Return who likes or dislikes something in quotes; None for subjects without a name."""
    likers: set[str | None] = set()
    for sentence in map(parse, quotes):
        for verb in sentence.words:
            if verb.lemma in _LIKING and verb.is_verb:
                by = verb.child("nsubj")
                if by is not None:
                    named = by.is_proper or by.lower in ("i", "we", "he", "she")
                    likers.add(by.lower if named else None)
    return likers


MOST_EVIDENCE = 24
"""Most memories cited by an observation: the first, and the latest ones."""

MIN_MEMORIES = {Grade.NOUN: 3, Grade.OWN: 2, Grade.NAME: 2, Grade.PHRASE: 2}
"""Minimum memories of an observation, by the grade of its topic: a bare noun ("the boiler") may
mean different things, so it needs more."""

MIN_PASSAGE = 300
"""Minimum characters of a passage without title; a text with a title is one at any length."""


@dataclass(frozen=True, slots=True)
class RuleConsolidator:
    """Proposes observations by rule; see `Consolidator`."""

    id: str = field(default="rules-2", init=False)

    def propose(self, cluster: Cluster) -> Proposals:
        """Propose observations from the cluster, and the removal of unsupported ones."""
        return _ClusterObservations(cluster).proposals()


class _ClusterObservations:
    """Groups the statements of one cluster into observations."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._statements = [
            statement
            for memory in cluster.memories
            for statement in dated_statements(memory, cluster.speakers)
        ]
        self._non_passages = [one for one in self._statements if not _is_passage(one.memory)]

    def proposals(self) -> Proposals:
        drafts: list[Draft] = []
        removals: list[Removal] = []
        remaining = list(self._cluster.conclusions)
        for group in (
            *(change_groups := self._change_groups()),
            *self._topic_groups(change_groups),
        ):
            citing = [conclusion for conclusion in remaining if _cites_only(conclusion, group)]
            remaining = [conclusion for conclusion in remaining if conclusion not in citing]
            target = citing[0] if citing else None
            removals += [
                Removal(conclusion.id, f"{target.id} says the same.")
                for conclusion in citing[1:]
                if target
            ]
            if target is None or target.id in self._cluster.new or not _cites_all(target, group):
                drafts.append(self._draft(group, target))
        for conclusion in remaining:
            quoted = self._quoted(conclusion)
            if not quoted:
                removals.append(Removal(conclusion.id, "Nothing that it rested on says it still."))
            elif conclusion.id in self._cluster.new:
                drafts.append(self._draft(quoted, conclusion))
            elif self._has_ended(quoted) and _is_rule_text(conclusion):
                removals.append(Removal(conclusion.id, "A later memory says that this has ended."))
            elif any(map(self._is_resumed, quoted)) and _is_rule_text(conclusion):
                removals.append(
                    Removal(conclusion.id, "A later memory says that this is so again.")
                )
        return Proposals(tuple(drafts), tuple(removals))

    def _quoted(self, conclusion: Memory) -> list[DatedStatement]:
        """Return the statements that the evidence of a conclusion quotes, one of each memory.

        If a language model quoted more or less than a statement, its exact words are used. For a
        memory whose text has changed, it is a statement on the topic of the others.
        """
        quotes = {s.memory_id: s.quote or "" for s in conclusion.sources if s.supports}
        of_evidence = [statement for statement in self._statements if statement.memory.id in quotes]
        quoted = [
            statement for statement in of_evidence if quotes[statement.memory.id] in statement.text
        ]
        quoted += [
            DatedStatement(memory, Statement(words, {}, frozenset(lexemes(words))))
            for memory in self._cluster.memories
            if (words := quotes.get(memory.id)) and words in memory.text
        ]
        keys = {key for statement in quoted for key in statement.statement.topics}
        quoted += [
            candidate
            for candidate in of_evidence
            if keys & candidate.statement.topics.keys()
            or any(self._shift(o, candidate) or self._shift(candidate, o) for o in quoted)
        ]
        return _first_per_memory(quoted)

    def _shift(self, older: DatedStatement, newer: DatedStatement) -> ValueChange | None:
        return change(older, newer, self._cluster.ambiguous)

    def _change_groups(self) -> list[list[DatedStatement]]:
        """Return groups of statements that change each other, with repetitions of the old value."""
        ties: dict[int, list[DatedStatement]] = {}
        for newer in self._non_passages:
            for older in self._non_passages if may_change(newer) else ():
                shift = self._shift(older, newer)
                if shift is not None and not (shift.after is None and self._is_resumed(newer)):
                    for linked in (older, *self._repeating_old_value(older, newer, shift)):
                        ties.setdefault(id(linked), []).append(newer)
                        ties.setdefault(id(newer), []).append(linked)
        linked_statements = [statement for statement in self._non_passages if id(statement) in ties]
        groups = (
            _first_per_memory(group) for group in _connected_components(linked_statements, ties)
        )
        return [group for group in groups if len(group) > 1 and self._is_new(group)]

    def _is_resumed(self, ended: DatedStatement) -> bool:
        """Return True if a later statement says that what has ended is so again."""
        return any(
            later.memory.scope == ended.memory.scope and resumes(later, ended)
            for later in self._statements
        )

    def _repeating_old_value(
        self, older: DatedStatement, newer: DatedStatement, shift: ValueChange
    ) -> list[DatedStatement]:
        """Return the plain statements before a change whose topic is the old value."""
        terms = frozenset(lexemes(shift.before))
        keys = {key for key, topic in older.statement.topics.items() if topic.terms == terms}
        return [
            statement
            for statement in self._non_passages
            if statement.at < newer.at
            and statement.memory.scope == older.memory.scope
            and keys & statement.statement.topics.keys()
            and statement.statement.claims.is_plain
        ]

    def _topic_groups(
        self, change_groups: Sequence[Sequence[DatedStatement]]
    ) -> list[list[DatedStatement]]:
        """Return groups of statements that share a topic, from more than one occasion."""
        covered = [{statement.memory.id for statement in group} for group in change_groups]
        by_topic: dict[tuple[str | None, str], list[DatedStatement]] = {}
        for statement in self._non_passages:
            if statement.statement.claims.is_plain:
                for key in statement.statement.topics:
                    by_topic.setdefault((statement.memory.scope, key), []).append(statement)
        groups = (
            (key, _first_per_memory(same_referent))
            for (_, key), group in by_topic.items()
            for same_referent in _same_referent_groups(key, group)
        )
        found = [
            (key, group)
            for key, group in groups
            if self._is_notable(key, group)
            and not any({statement.memory.id for statement in group} <= ids for ids in covered)
        ]
        return [group for key, group in found if not _is_part_of_another(key, group, found)]

    def _is_notable(self, key: str, group: Sequence[DatedStatement]) -> bool:
        topics = [statement.statement.topics[key] for statement in group]
        return (
            len(group) >= MIN_MEMORIES[topics[0].grade]
            and len(set(map(_occasion, group))) > 1
            and self._is_new(group)
            and _is_one_thing(topics)
            and _says_more_than_place(key, group)
            and not self._has_better_topic(topics[0], group)
            and not self._has_ended(group)
        )

    def _is_new(self, group: Sequence[DatedStatement]) -> bool:
        return any(statement.memory.id in self._cluster.new for statement in group)

    def _has_better_topic(self, topic: Topic, group: Sequence[DatedStatement]) -> bool:
        """Return True if the statements share a more specific topic; see `priority`."""
        shared = set.intersection(*(set(statement.statement.topics) for statement in group))
        first = group[0].statement.topics
        return any(priority(first[key]) > priority(topic) for key in shared)

    def _has_ended(self, group: Sequence[DatedStatement]) -> bool:
        """Return True if a later statement on the topic says that it has ended."""
        keys = set.intersection(*(set(statement.statement.topics) for statement in group))
        return any(
            later.at > group[0].at
            and later.memory.scope == group[0].memory.scope
            and any(
                ends(later, topic.terms)
                for key, topic in later.statement.topics.items()
                if key in keys
            )
            for later in self._non_passages
        )

    def _draft(self, evidence: Sequence[DatedStatement], rewritten: Memory | None = None) -> Draft:
        chosen = _first_and_latest(evidence)
        wording = compose(chosen, self._cluster.vectors, self._cluster.ambiguous)
        return Draft(
            text=wording.text,
            evidence=tuple(Evidence(id, words) for id, words in wording.quotes.items()),
            reasoning=wording.reasoning,
            kind=kind_of(
                list(wording.quotes.values()),
                [statement.at for statement in chosen],
                has_changed=wording.earlier is not None,
                topic_terms=_topic_lexemes(chosen),
            ),
            rewrites=rewritten.id if rewritten else None,
            earlier=wording.earlier,
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


def _is_one_thing(topics: Sequence[Topic]) -> bool:
    """Return True unless the statements leave open whether they mean one and the same thing."""
    firm = sum(topic.firm for topic in topics)
    return _is_majority(firm, topics) if topics[0].grade is Grade.NOUN else firm > 0


def _says_more_than_place(key: str, group: Sequence[DatedStatement]) -> bool:
    """Return False if statements have only a place in common: "lives in Hull", "met in Hull".

    Most must be about the place itself, or share another word. Of a thing that has no name, half
    of them suffice.
    """
    topics = [statement.statement.topics[key] for statement in group]
    placed_twice = 2 * sum(topic.placed for topic in topics)
    is_name = topics[0].grade is Grade.NAME
    if placed_twice == 2 * len(group) and len({s.memory.speaker for s in group}) > 1:
        return False
    if placed_twice < len(group) or (placed_twice == len(group) and not is_name):
        return True
    topic_lexemes = frozenset(
        lexemes(
            " ".join(
                [
                    key.translate(_KEY_SEPARATORS),
                    *(name for statement in group for name in statement.memory.entities),
                ]
            )
        )
    )
    counts = Counter(
        term for statement in group for term in statement.statement.terms - topic_lexemes
    )
    return any(2 * count > len(group) for count in counts.values())


def _topic_lexemes(evidence: Sequence[DatedStatement]) -> frozenset[str]:
    """Return the lexemes of the topics, and of their owners, that all statements share."""
    shared = set.intersection(*(set(statement.statement.topics) for statement in evidence))
    return frozenset(lexemes(" ".join(shared).translate(_KEY_SEPARATORS)))


def _first_and_latest(evidence: Sequence[DatedStatement]) -> list[DatedStatement]:
    """Return the first statement and the latest ones, in order of time."""
    ordered = sorted(evidence, key=lambda statement: (statement.at, statement.memory.id))
    return [*ordered[:1], *ordered[1:][-MOST_EVIDENCE + 1 :]]


def _cites_only(observation: Memory, group: Sequence[DatedStatement]) -> bool:
    """Return True if a stored observation cites only memories of the group."""
    return {source.memory_id for source in observation.sources} <= {
        statement.memory.id for statement in group
    }


def _cites_all(observation: Memory, group: Sequence[DatedStatement]) -> bool:
    """Return True if a stored observation cites the memories chosen from the whole group."""
    cited_ids = {source.memory_id for source in observation.sources}
    return cited_ids == {statement.memory.id for statement in _first_and_latest(group)}


def _is_rule_text(observation: Memory) -> bool:
    """Return True if the text was written by rules, which quote the evidence verbatim."""
    return any(f"“{source.quote}” (" in observation.text for source in observation.sources)


def _occasion(statement: DatedStatement) -> tuple[object, ...]:
    return statement.memory.document_id, statement.at.date()


def _same_referent_groups(
    key: str, group: Sequence[DatedStatement]
) -> Iterable[list[DatedStatement]]:
    """Group the statements on a topic by referent.

    A bare noun has one referent for one speaker, within one document, or on one day: "the wall" of
    speakers who share none of these may be two walls. Other topics have one referent.
    """
    if group[0].statement.topics[key].grade is not Grade.NOUN:
        return [list(group)]
    last_by_key: dict[tuple[str, object], DatedStatement] = {}
    ties: dict[int, list[DatedStatement]] = {id(statement): [] for statement in group}
    for statement in group:
        speaker, document = (
            statement.memory.speaker,
            statement.memory.document_id or statement.memory.id,
        )
        for shared in (("speaker", speaker), ("document", document), ("day", statement.at.date())):
            if (previous := last_by_key.get(shared)) is not None:
                ties[id(statement)].append(previous)
                ties[id(previous)].append(statement)
            last_by_key[shared] = statement
    return _connected_components(group, ties)


def _first_per_memory(statements: Sequence[DatedStatement]) -> list[DatedStatement]:
    first = {statement.memory.id: statement for statement in reversed(statements)}
    return list(first.values())[::-1]


def _connected_components(
    statements: Sequence[DatedStatement], ties: Mapping[int, Sequence[DatedStatement]]
) -> Iterator[list[DatedStatement]]:
    """Yield the connected components of the graph of statements, each sorted by time."""
    seen: set[int] = set()
    for start in statements:
        group, frontier = [], [start]
        while frontier:
            statement = frontier.pop()
            if id(statement) not in seen:
                seen.add(id(statement))
                group.append(statement)
                frontier += ties[id(statement)]
        if group:
            yield sorted(group, key=lambda statement: (statement.at, statement.memory.id))


def _is_passage(memory: Memory) -> bool:
    """Return True if the memory is part of a written text, which needs no observation.

    An observation that quotes several passages says less than they do, and replaces them in
    recall: with observations of passages, MuSiQue's All@1024t was 50 instead of 63.
    """
    return memory.speaker is None and (
        memory.context is not None or len(memory.text) >= MIN_PASSAGE
    )
