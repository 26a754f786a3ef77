"""Statements of a text, sentence by sentence, and the topics that each is about.

A topic is a name that the memory mentions, or a definite noun phrase ("the seat map", "my
thesis"). Which it is the grammar of the sentence decides: headings, fragments, measurements and
greetings have no verb with a subject, and so no topic.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.nlp.syntax import Sentence, Word, parse, parse_ahead
from hindsight_integrations.nlp.word_classes import PERSONS, SUBJECTS, TIME_WORDS, TITLES
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.attribution import (
    FollowUp,
    follow_up,
    is_inside_subject,
    is_placed,
    own_parts,
    reported,
)
from hindsight_integrations.reflect.changes.certainty import bare_sentence
from hindsight_integrations.reflect.changes.claim_model import Claims
from hindsight_integrations.reflect.changes.claims import read_claims

_WORDS = word_sets("reflection", "topics")
_PLAIN = _WORDS["plain"]
_PARTING = _WORDS["parting"]
_PERSON_VERBS = word_sets("names")["person_verbs"] | {"hear", "say"}
_YOU = re.compile(r"\W*(?:[\w'’]+\W+){0,3}you\b|\byour(?:s|self)?\b", re.IGNORECASE)
_COURTESY = re.compile(table("reflection")["topics"]["courtesy"], re.VERBOSE | re.IGNORECASE)

LONGEST_QUOTE = 180
"""Most characters of a sentence that is quoted whole."""
_FEWEST_TERMS = 2
_FEWEST_WORDS = 3
_FEWEST_EXCLAIMED = 5
_ASIDE = re.compile(r"\[[^\]]*\]")
_UNSPACED = re.compile(r"[\u3005-\u30ff\u31f0-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f]+")
_END_OF_SENTENCE = " \t\r\n"
_DEFINITE = frozenset("the this that these those".split())
_MINE = frozenset("my our".split())
_CHOOSING = _WORDS["choosing"]
_PASSING = _WORDS["passing"]
_ANIMALS = _WORDS["animals"]
_GIVING = frozenset("give hand lend show tell offer bring owe pay sell send teach pass".split())
_SPEAKERS = frozenset({"user", "assistant"})
"""Whom notes of an agent are about, as a name is: no topic."""


def alternatives(lines: str) -> str:
    """Return a regular expression that matches any of the lines of a word table."""
    return lines.strip().replace("\n", "|")


class Grade(IntEnum):
    """Rank of a kind of topic: how specific it is."""

    NOUN = 1
    """A noun alone, as in "the boiler": it needs more statements than the others."""
    OWN = 2
    """A noun with its owner, as in "my thesis"."""
    NAME = 3
    PHRASE = 4


@dataclass(frozen=True, slots=True)
class Topic:
    """Subject of a sentence: `key` is equal for all its spellings, and names whose it is.

    `placed` is True for a thing that only tells where something is or happens, and for a name that
    only tells where somebody else is or goes. `firm` is False for a bare noun that is not what the
    sentence is about, and for a name that may be a word opening a sentence ("Dance is fun").
    """

    key: str
    surface: str
    grade: Grade
    placed: bool = field(default=False, compare=False)
    firm: bool = field(default=True, compare=False)

    @property
    def terms(self) -> frozenset[str]:
        """Lexemes of the topic itself."""
        return frozenset(lexemes(self.surface))


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that states something.

    Attributes:
        text: verbatim part of the memory's text.
        topics: by key.
        terms: its lexemes.
        claims: what it says is so, or has changed.
    """

    text: str
    topics: Mapping[str, Topic]
    terms: frozenset[str]
    claims: Claims = field(default_factory=Claims)


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A statement with its memory."""

    memory: Memory
    statement: Statement

    @property
    def at(self) -> datetime:
        """Time of the statement."""
        return self.memory.mentioned_at

    @property
    def text(self) -> str:
        """Text of the statement."""
        return self.statement.text


@lru_cache(maxsize=8192)
def statements(
    text: str,
    names: tuple[str, ...] = (),
    speaker: str | None = None,
    people: frozenset[str] = frozenset(),
) -> tuple[Statement, ...]:
    """Return the sentences of a text that state something, in order.

    Left out are questions, courtesies, text in square brackets, words of others (`attribution`),
    and sentences with fewer than two content words.

    Args:
        text: of a memory.
        names: of the entities it mentions.
        speaker: who said it.
        people: those of the names that are people's, who are no topics.
    """
    return tuple(_statements(text, names, speaker, people))


def read_ahead(memories: Iterable[Memory]) -> None:
    """Parse the sentences of memories together, for `statements`."""
    parse_ahead(
        bare_sentence(memory.text[first:last].strip(_END_OF_SENTENCE))
        for memory in memories
        for first, last in _sentences(memory.text, memory.speaker)
    )


def _statements(
    text: str, names: Sequence[str], speaker: str | None, people: Set[str]
) -> Iterator[Statement]:
    things = [name for name in names if name not in people]
    known = {entity_norm(name): entity_norm(name) for name in names if _is_name(name)}
    for first, last in _sentences(text, speaker):
        sentence = text[first:last].strip(_END_OF_SENTENCE)
        terms = frozenset(lexemes(sentence))
        if not sentence or says_nothing(sentence) or not terms:
            continue
        claims = read_claims(sentence, known, speaker)
        if claims.is_clause or (len(terms) >= _FEWEST_TERMS and not _is_short(sentence)):
            rest = text[last:]
            topics = _topics(sentence, things, speaker, rest) if claims.is_clause else ()
            yield Statement(sentence, {topic.key: topic for topic in topics}, terms, claims)


def _sentences(text: str, speaker: str | None) -> Iterator[tuple[int, int]]:
    """Yield the spans of the speaker's own sentences, split around brackets."""
    ends = sentence_ends(text)
    asides = (match.span() for match in _ASIDE.finditer(text))
    for first, last in own_parts(text, speaker, asides):
        within = ends[bisect_right(ends, first) : bisect_left(ends, last)]
        yield from pairwise([first, *within, last])


def says_nothing(sentence: str) -> bool:
    """Return True for a question, a courtesy or a short exclamation."""
    ending = sentence.rstrip("\"'”’)» ")[-1:]
    exclaimed = ending in "!！" and len(sentence.split()) < _FEWEST_EXCLAIMED
    return ending in "?？؟" or exclaimed or bool(_COURTESY.match(sentence))


def _is_short(sentence: str) -> bool:
    """Return True for a text with too few words to be a statement."""
    return len(sentence.split()) < _FEWEST_WORDS and not _UNSPACED.search(sentence)


def _topics(text: str, names: Sequence[str], speaker: str | None, rest: str) -> Iterator[Topic]:
    if _YOU.search(text) or (speaker is None and text[-1].isalnum()):
        return  # it addresses somebody, or is a heading
    sentence = parse(bare_sentence(text))
    if follow_up(sentence, rest) is FollowUp.TAKES_BACK:
        return
    others = reported(sentence)
    for word in sentence.words:
        if (
            word.tag in ("NN", "NNS", "NNP", "NNPS")
            and word.dep not in ("compound", "poss")
            and word.index not in others
            and not is_inside_subject(sentence, word)
        ):
            yield from _noun_phrase(sentence, word, speaker)
    yield from _named(sentence, names, speaker, others)


def _noun_phrase(sentence: Sentence, word: Word, speaker: str | None) -> Iterator[Topic]:
    """Yield the topic of a definite noun with its modifiers; none if the noun is too general."""
    determiner = word.child("det", "poss")
    definite = determiner is not None and determiner.lower in _DEFINITE | _MINE
    if not definite or determiner is None or _is_plain(word) or word.lower in _SPEAKERS:
        return
    if word.lemma in PERSONS:
        return
    parts = [
        each
        for each in word.children("compound", "amod", "nmod")
        if each.tag[:2] in ("NN", "JJ", "VB") and not _is_plain(each)
        and each.tag not in ("JJR", "JJS", "VBN", "VBD") and each.index < word.index
    ]  # fmt: skip
    if parts and parts[-1].index + 1 != word.index:
        return
    parting = [each for each in word.children("amod", "nummod") if each.lower in _PARTING]
    if parting and parting[-1].index + 1 == (parts or [word])[0].index:
        parts = [parting[-1], *parts]  # "the big mixer" is not "the used mixer"
    parts = [*parts, word]
    surface = sentence.text[parts[0].start : word.start + len(word.text)]
    mine = f"i|{speaker or ''}" if determiner.lower in _MINE else ""
    telling = [each for each in parts if each not in parting]
    grade = Grade.PHRASE if len(telling) > 1 else Grade.OWN if mine else Grade.NOUN
    if (grade is not Grade.PHRASE and _is_one_of_several(sentence, word)) or (
        grade is Grade.NOUN and not _may_be_the_only_one(word, determiner)
    ):
        return
    lemmas = " ".join(sorted(lexemes(surface)))
    if lemmas:
        placed = is_placed(sentence, word, "", own=False)
        firm = grade is not Grade.NOUN or word.dep in SUBJECTS
        yield Topic(f"{mine}>{lemmas}", surface, grade, placed, firm)


def _is_one_of_several(sentence: Sentence, noun: Word) -> bool:
    """Return True for a noun that further words choose from others of its kind.

    "The combination of mint and salt", "the game I played" and "my favourite game" are another
    thing each time.
    """
    described = noun.children("relcl", "acl")
    of = [way for way in noun.children("prep") if way.lower == "of"]
    chosen = noun.children("amod", "nummod")
    return bool(described or of) or any(
        word.lower in _CHOOSING or word.tag in ("JJR", "JJS", "CD") for word in chosen
    )


def _may_be_the_only_one(noun: Word, determiner: Word) -> bool:
    """Return True for "the boiler": "this boiler" may be any, and "the game" is soon another.

    So is "the dog": of somebody's own and the neighbour's, no sentence says which it is.
    """
    is_plural = noun.tag == "NNS" and noun.lower.endswith("s")
    several = noun.lemma in _PASSING | _ANIMALS
    return determiner.lower == "the" and not is_plural and not several


def _is_plain(word: Word) -> bool:
    """Return True for a word too general to distinguish topics."""
    return (
        word.lower in _PLAIN
        or word.lemma in _PLAIN
        or word.lemma in TIME_WORDS
        or not any(map(str.isalpha, word.text))
        or not lexemes(word.text)
    )


def _named(
    sentence: Sentence, names: Sequence[str], speaker: str | None, others: Set[int]
) -> Iterator[Topic]:
    """Yield the names of things that the sentence says something of, each with its holder.

    A person is no topic: very different things are said of one.
    """
    holder = _holder(sentence, speaker)
    if holder is None:
        return
    for name in names:
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence.text, re.IGNORECASE)
        if (
            match is None
            or not _is_name(name)
            or _is_person(name)
            or _is_addressed(sentence.text, match)
        ):
            continue
        words = [w for w in sentence.words if match.start() <= w.start < match.end()]
        firm = _is_name_for_sure(match, words)
        head = next((w for w in words if not match.start() <= w.head.start < match.end()
                     or w.dep == "ROOT"), None)  # fmt: skip
        if head is None or firm is None or not any(word.tag.startswith("NN") for word in words):
            continue
        if head.label == "NORP" and head.dep in ("compound", "amod"):
            continue  # "Thai food"
        if head.index in others or is_inside_subject(sentence, head) or _is_given(sentence, head):
            continue
        norm = entity_norm(name)
        if holder == f"@{norm}" and not any(map(str.isdigit, name)):
            continue  # it is whom the sentence is about: a person, for all that is certain
        subject = head.head if head.dep == "conj" else head
        acts = head.dep in ("nsubj", "nsubjpass")
        if subject.dep == "nsubj" and subject.head.lemma in _PERSON_VERBS:
            continue  # a person, whatever the bank takes it for: "Zayd giggles"
        if acts and holder.startswith("@") and holder != f"@{norm}":
            continue  # it acts beside the holder: "Sam is ill, Dilek covers for him"
        own = "" if holder == f"@{norm}" else holder
        placed = is_placed(sentence, head, holder.partition("@")[2])
        yield Topic(f"{own}>@{norm}", match.group(), Grade.NAME, placed, firm)


def _is_name_for_sure(match: re.Match[str], words: Sequence[Word]) -> bool | None:
    """Return whether words are the name, and not a common noun; None for a common noun.

    "My city" is not the game called City, and the "Dance" that opens a sentence may be either.
    """
    spelling = match.group()
    if any(word.is_proper for word in words) or re.search("[A-Z0-9]", spelling[1:]):
        return True
    return match.start() > 0 if spelling[0].isupper() else None


def _is_given(sentence: Sentence, name: Word) -> bool:
    """Return True for the "Bo" of "gave the key to Bo": something is given to people."""
    way = name.head
    gives = way.lower == "to" and way.head.lemma in _GIVING
    return name.dep == "dative" or (name.dep == "pobj" and (way.dep == "dative" or gives))


def _holder(sentence: Sentence, speaker: str | None) -> str | None:
    """Return the key of the person a sentence is about: its speaker or its first name.

    None for "he" or "she", who may be anybody.
    """
    if speaker is not None:
        return f"i|{speaker}"
    subject = next((w for w in sentence.words if w.dep in ("nsubj", "nsubjpass")), None)
    if subject is not None and subject.lower in ("he", "she"):
        return None
    if subject is None or not subject.text[:1].isupper():
        return ""
    if subject.lower in ("i", "we"):
        return "i|"
    if subject.child("det") or not subject.is_noun:
        return ""
    parts = [w.text for w in subject.subtree(frozenset({"prep", "relcl", "appos"}))]
    return f"@{entity_norm(' '.join(parts))}"


def _is_name(name: str) -> bool:
    """Return True for a plausible name: a tagger also marks "Alice loves React" as one."""
    words = [word for word in name.split() if word.isalpha()]
    return not any(word.islower() for word in words) or len(words) == 1


def _is_person(name: str) -> bool:
    words = [word.casefold().rstrip(".") for word in name.split()]
    return is_given_name(words[0]) or words[0] in TITLES


def _is_addressed(text: str, match: re.Match[str]) -> bool:
    """Return True for a name that is only addressed: "Maya, look"."""
    before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
    called = after[:1] in (",", "!") and (not before or before[-1] in ",!")
    return called or (before[-1:] == "," and not after.strip(".!…🙏😊 "))
