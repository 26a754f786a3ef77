"""Sentences as words and phrases, by the tags of their words alone.

A phrase is a run of nouns, numbers and adjectives. What depends on what is not asked, so that a
misread grammar does no harm; `word_changes` reads changes from this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word, parse
from hindsight_integrations.reflect.claim_model import Value, groups_of
from hindsight_integrations.reflect.phrases import plain_value

_WORDS = word_sets("word_changes")
_CHANGES = word_sets("changes")
_ATTITUDES = frozenset(table("changes")["attitudes"]["verbs"].split()) - {
    *table("changes")["attitudes"]["choosing"].split(),
    *_WORDS["habits"],
}
NAME = frozenset({"NNP", "NNPS"})
LEAD = frozenset({"DT", "PRP$", "PDT"})
PRESENT = frozenset({"VBZ", "VBP"})
STOPS = frozenset(",;.!:-–—()")
_NOUN = NAME | {"NN", "NNS", "CD", "JJ", "JJR", "JJS", "HYPH", "FW", "ADD", "$"}
_FIRST = frozenset({"i", "we", "my", "our"})


@dataclass(frozen=True, slots=True)
class Phrase:
    """A run of nouns, numbers and adjectives: its place among the words, and what it names."""

    start: int
    end: int
    value: Value
    words: tuple[Word, ...]
    owned: bool

    @property
    def terms(self) -> frozenset[str]:
        """Lexemes of the phrase."""
        return self.value.terms

    @property
    def head(self) -> frozenset[str]:
        """Lexemes of its last word."""
        return frozenset(lexemes(self.words[-1].text))

    @property
    def names(self) -> frozenset[str]:
        """Its proper nouns, in lower case."""
        return frozenset(word.lower for word in self.words if word.tag in NAME)

    @property
    def is_time(self) -> bool:
        """True for units and parts of time alone."""
        return all(word.lemma in _CHANGES["time_words"] for word in self.words)

    def fits(self, other: Phrase) -> bool:
        """Return True if one may take the place of the other."""
        here, there = groups_of(self.value.text), groups_of(other.value.text)
        if here or there:
            return bool(here & there)
        if self.value.kind != other.value.kind or self.is_time or other.is_time:
            return False
        return self.value.kind != "thing" or len(other.words) <= len(self.words)


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence as words and phrases."""

    words: tuple[Word, ...]
    phrases: tuple[Phrase, ...]
    terms: frozenset[str]

    def lower(self, index: int) -> str:
        """Return the word at a place in lower case; "" beyond the ends."""
        return self.words[index].lower if 0 <= index < len(self.words) else ""

    def phrase_at(self, index: int) -> Phrase | None:
        """Return the phrase that begins at a place, after articles and adverbs."""
        while index < len(self.words) and (
            self.words[index].tag in LEAD or self.words[index].tag == "RB"
        ):
            index += 1
        return next((phrase for phrase in self.phrases if phrase.start == index), None)


@dataclass(frozen=True, slots=True)
class Given:
    """What an earlier statement gives its subject.

    Attributes:
        subject: phrases before the verb.
        values: phrases after it.
        verb: lemma of the verb, "" in a line of a form.
        first: the subject is, or belongs to, the speaker.
    """

    text: Text
    subject: tuple[Phrase, ...]
    values: tuple[Phrase, ...]
    verb: str
    first: bool

    @property
    def terms(self) -> frozenset[str]:
        """Lexemes of the subject."""
        return frozenset[str]().union(*(phrase.terms for phrase in self.subject))

    @property
    def names(self) -> frozenset[str]:
        """Names in the subject, in lower case."""
        return frozenset[str]().union(*(phrase.names for phrase in self.subject))


@lru_cache(maxsize=4096)
def read_text(sentence: str) -> Text:
    """Return the words and phrases of a sentence."""
    words = parse(sentence).words
    return Text(words, tuple(_phrases(sentence, words)), frozenset(lexemes(sentence)))


def _phrases(sentence: str, words: Sequence[Word]) -> Iterator[Phrase]:
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and _belongs(words, end, start):
            end += 1
        if end == start:
            start += 1
            continue
        last = words[end - 1]
        text = sentence[words[start].start : last.start + len(last.text)]
        owned = end < len(words) and words[end].tag == "POS"
        yield Phrase(start, end, plain_value(text), tuple(words[start:end]), owned)
        start = end


def _belongs(words: Sequence[Word], at: int, start: int) -> bool:
    word = words[at]
    if at > start and _opens(words[at - 1], word):
        return False
    before_noun = at + 1 < len(words) and words[at + 1].tag.startswith("NN")
    if word.tag in ("VBG", "VBN"):
        return before_noun and at > start
    return word.tag in _NOUN


def _opens(before: Word, word: Word) -> bool:
    """Return True for a word that opens a phrase beside one: "coffee / three weeks ago"."""
    times = ("DATE", "TIME")
    dated = word.label in times and before.label not in times
    return dated or (word.tag in NAME and before.tag in ("NN", "NNS") and before.text.islower())


@lru_cache(maxsize=4096)
def given_by(sentence: str) -> Given | None:
    """Return what a plain statement in the present tense gives its subject."""
    text = read_text(sentence)
    lowered = {word.lower for word in text.words}
    verb = next((w for w in text.words if w.tag in PRESENT or w.tag in ("VBD", "MD")), None)
    if verb is None or verb.tag not in PRESENT or not asserts(text, sentence):
        return None
    if not _WORDS["denies"].isdisjoint(lowered):
        return None
    at = verb.index
    first = at == 0 or any(word.lower in _FIRST for word in text.words[:at])
    for word in text.words[at + 1 :]:
        if word.tag not in ("VBG", "VBN", "RB"):
            break
        verb = word if word.tag != "RB" else verb
    if verb.lemma in _ATTITUDES and verb.tag != "VBN":
        return None
    subject = tuple(phrase for phrase in text.phrases if phrase.end <= at)
    values = tuple(p for p in text.phrases if p.start > at and not _is_complement(text, p))
    return Given(text, subject, values, verb.lemma, first)


def _is_complement(text: Text, phrase: Phrase) -> bool:
    """Return True for an adjective whose noun follows: "engaged to Florian"."""
    follows = phrase.end < len(text.words) and text.words[phrase.end].tag in ("IN", "TO")
    return phrase.words[-1].tag == "JJ" and follows


def asserts(text: Text, sentence: str) -> bool:
    """Return True unless a word makes a sentence a question, plan, wish, report or addition."""
    if not text.words or sentence.rstrip("\"'”’)» ").endswith("?"):
        return False
    spoken = [word.lower for word in text.words]
    told = any(w.lemma in _CHANGES["stories"] and "in" in spoken[: w.index] for w in text.words)
    adds = any(pair in (("too", mark) for mark in STOPS) for pair in pairwise(spoken))
    passing = any(
        one.lower in ("this", "these", "next", "tonight", "tomorrow")
        and (after.lemma in _CHANGES["time_words"])
        and spoken[0] != "from"
        and (one.lower, after.lower) != ("these", "days")
        for one, after in pairwise(text.words)
    )
    return not (adds or passing or told) and _WORDS["unsure"].isdisjoint(spoken)
