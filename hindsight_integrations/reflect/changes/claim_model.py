"""Claims of a sentence: values that a subject has, and changes that end or replace them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.word_classes import GROUPS, NUMBERS, TIME_WORDS

_TABLE = table("changes")
_ATTITUDES = word_sets("changes", "attitudes")["verbs"]
_CHOOSING = word_sets("changes", "attitudes")["choosing"]
_UNTOLD = word_sets("endings")["another"] | {"new", "old", "bigger", "smaller", "better", "own"}
_FAMILY = {verb: name for name, verbs in _TABLE["families"].items() for verb in verbs.split()}
_GROUPS = tuple(
    (f"{name} {kind}", frozenset(word.replace("_", " ") for word in words.split()))
    for name in ("states", "alternatives")
    for kind, words in _TABLE[name].items()
)


@dataclass(frozen=True, slots=True)
class Value:
    """A phrase that a verb gives its subject as a value.

    Attributes:
        text: as in the sentence, without an article or possessive.
        terms: its lexemes.
        kind: "name", "date", "time", "number", "role", "frequency" or "thing".
    """

    text: str
    terms: frozenset[str]
    kind: str

    @property
    def proper(self) -> frozenset[str]:
        """Lexemes of a name without lower-case words before it; empty for other things."""
        first, _, rest = self.text.partition(" ")
        is_described = self.kind == "name" and first.islower() and rest[:1].isupper()
        return frozenset(lexemes(rest)) if is_described else frozenset()

    @property
    def bare(self) -> frozenset[str]:
        """Lexemes of the modifiers of a group or place: "sales" of "sales team"; else empty."""
        first, _, last = self.text.rpartition(" ")
        return frozenset(lexemes(first)) if first and last in GROUPS else frozenset()

    def is_sibling(self, other: Value) -> bool:
        """Return True for two things with the same head noun: "the Bergen office"."""
        own, others = self.text.casefold().split(), other.text.casefold().split()
        told = not _UNTOLD.intersection(own[:-1] + others[:-1])
        return min(len(own), len(others)) > 1 and own[-1] == others[-1] and told

    def same_kind(self, other: Value) -> bool:
        """Return True if one value may replace the other."""
        here, there = groups_of(self.text), groups_of(other.text)
        if here or there:
            return bool(here & there)
        units = {v.text.casefold().split()[-1] for v in (self, other)} - NUMBERS
        if self.kind == "number" and len(units) > 1 and any(map(str.isalpha, units)):
            return False  # "20 euros", "25 pieces"; "64 GB of memory", "rack 6"
        return self.kind == other.kind != "thing"


class ValueChange(NamedTuple):
    """A change of a subject's value: the value before, and the one after if there is one."""

    subject: str
    before: str
    after: str | None = None


@dataclass(frozen=True, slots=True)
class StateClaim:
    """A state, possession or activity that a sentence claims of its subject.

    Attributes:
        subject: key of whom or what it is said of.
        verb: base form, or the family of verbs it is of.
        values: by the preposition before each, or "obj".
        passive: the subject undergoes it.
        called: lexemes of the phrase of the subject, and of the names in it.
        inner: values inside of these: "Rex" of "has a dog called Rex".
    """

    subject: str
    verb: str
    values: Mapping[str, Value]
    passive: bool = False
    called: tuple[frozenset[str], ...] = ()
    inner: tuple[Value, ...] = ()

    @property
    def terms(self) -> frozenset[str]:
        """Lexemes of all values but times."""
        return timeless(self.values.values())


class NounPhrase(NamedTuple):
    """A noun phrase with all its modifiers.

    Attributes:
        key: of whom or what it means.
        head: lemma of its head.
        terms: its lexemes.
        is_another: it tells one of a kind from another: "the other school".
    """

    key: str | None
    head: str
    terms: frozenset[str]
    is_another: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """A value that a sentence says ended or was replaced, in whatever relation.

    Attributes:
        kind: what the cue is.
        ended: what ended.
        head: lexemes of its last word.
        after: what takes its place, if the cue names it.
        relations: names of the relations that the cue may end; none for any.
        agents: keys of the subject, and of those joined to it.
        mentions: subject and object of the verb, of which the value may be an attribute.
        others: all noun phrases of the sentence.
        verb: lemma of the verb of the cue.
        does: lemma or family of the verb that the ended thing is the complement of, if named.
        limits: lexemes that limit what ended; an earlier statement must have them too.
    """

    kind: Literal["end", "replacement", "shift", "renaming"]
    ended: Value
    head: frozenset[str]
    after: Value | None = None
    relations: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    mentions: tuple[NounPhrase, ...] = ()
    others: tuple[NounPhrase, ...] = ()
    verb: str = ""
    does: str = ""
    limits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ClauseState:
    """Values that a plain clause in the present tense gives its subject, in word order.

    Attributes:
        subject: its words in lower case, without an article.
        speaker: who says it.
        verb: family of the verb.
        values: each with the preposition before it, or "obj".
        terms: lexemes of the clause.
        called: the subject as written.
        passive: the subject undergoes it.
        is_thing: the subject is neither a person nor a group of people.
    """

    subject: tuple[str, ...]
    speaker: str | None
    verb: str
    values: tuple[tuple[str, Value], ...]
    terms: frozenset[str]
    called: Value
    passive: bool
    is_thing: bool


@dataclass(frozen=True, slots=True)
class ClauseChange:
    """A change that a plain clause tells, in word order.

    Attributes:
        cue: how it says so.
        speaker: who says it.
        opening: the words before the cue in lower case, each with its tag.
        verb: family of the verb.
        before: the value that ends, if it is named.
        after: the value that begins, if it is named.
        theme: lexemes of what is moved.
        whose: possessive pronoun before what is moved.
        slot: preposition before the value.
        limits: lexemes that limit the value; an earlier statement must have them too.
        place: a model labels the value that begins as a place's name.
        firm: a model labels it as an organisation's.
        bare: the values have no article or possessive.
        inner: the last name beside the value that ends: "standups over Slack".
        successor: who does instead what the subject no longer does: "Bob does".
        stand_in: who or what does instead what the value did, with the lexemes of what that is.
    """

    cue: Literal["move", "leave", "end", "now"]
    speaker: str | None
    opening: tuple[tuple[str, str], ...]
    verb: str
    before: Value | None = None
    after: Value | None = None
    theme: frozenset[str] = frozenset()
    slot: str = ""
    limits: frozenset[str] = frozenset()
    place: bool = False
    is_organisation: bool = False
    bare: bool = False
    whose: str = ""
    inner: tuple[str, Value] | None = None
    successor: Value | None = None
    substitute: tuple[Value, frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """Everything that a sentence claims.

    Attributes:
        state_claims: what it says is so; the subject is "" for one named before.
        is_clause: it has a verb with a subject, and asserts something.
        is_plain: it is a clause, and neither denies anything, nor says that anything changes, nor
            what might be: it may be proof of its topics.
        ended: what it says has ended, also if it is unclear for how long.
        endings: what its cues say has ended or been replaced.
        current: of these, what it says is so since something changed.
        states: what its clauses give their subjects, if it is plain and sure.
        clause_changes: what its clauses say has changed, if it is plain and sure.
    """

    state_claims: tuple[StateClaim, ...] = ()
    is_clause: bool = False
    is_plain: bool = False
    ended: tuple[Value, ...] = ()
    endings: tuple[Ending, ...] = ()
    current: tuple[StateClaim, ...] = ()
    clause_states: tuple[ClauseState, ...] = ()
    clause_changes: tuple[ClauseChange, ...] = ()

    @property
    def may_change(self) -> bool:
        """True if the sentence may change an earlier statement."""
        return bool(self.endings or self.current or self.clause_changes)


def joined(claims: Sequence[Claims]) -> Claims:
    """Merge the claims of the parts of a sentence, of which at most one has a clause."""
    clauses = [one for one in claims if one.is_clause]
    return Claims(
        tuple(state_claim for one in claims for state_claim in one.state_claims),
        bool(clauses),
        bool(clauses) and all(one.is_plain for one in clauses),
        tuple(value for one in claims for value in one.ended),
        tuple(ending for one in claims for ending in one.endings),
        tuple(state_claim for one in claims for state_claim in one.current),
        tuple(state for one in claims for state in one.clause_states),
        tuple(change for one in claims for change in one.clause_changes),
    )


def family(lemma: str, verb: str) -> str:
    """Return the family of a verb with its particle; the verb itself if it has none."""
    return _FAMILY.get(verb) or _FAMILY.get(lemma) or verb


def groups_of(text: str) -> frozenset[str]:
    """Return the names of the groups of alternatives that a thing belongs to."""
    name = text.casefold().replace("’", "'")
    return frozenset(group for group, members in _GROUPS if name in members)


def members(group: str) -> frozenset[str]:
    """Return the members of a group of alternatives."""
    return dict(_GROUPS)[group]


def is_attitude(verb: str, *, choosing: bool = False) -> bool:
    """Return True for a verb of feeling or speech; with `choosing`, not for verbs of choosing."""
    return verb in _ATTITUDES and not (choosing and verb in _CHOOSING)


def timeless(values: Iterable[Value]) -> frozenset[str]:
    """Return the lexemes of the values that are not times."""
    return terms_of(value for value in values if not is_time(value))


def terms_of(values: Iterable[Value]) -> frozenset[str]:
    """Return the lexemes of several values."""
    return frozenset[str]().union(*(value.terms for value in values))


def is_time(value: Value) -> bool:
    """Return True for a date, a time of day, or a part of the day: "the morning"."""
    last = value.text.split()[-1].casefold()
    return value.kind in ("date", "time", "frequency") or last in TIME_WORDS
