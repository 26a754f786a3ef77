"""Decide whether a sentence states something certain and lasting: no question, guess or story.

These are properties of a whole sentence, which hold of all that its clauses claim, or of one clause
(`is_undoubted`). Whose words a sentence has is `attribution`, what takes it back `retractions`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word, parse
from hindsight_integrations.nlp.word_classes import FINITE, HEDGES
from hindsight_integrations.reflect.attribution import reported
from hindsight_integrations.reflect.changes.phrases import PhraseReader

_TABLE = table("changes")
_WORDS = word_sets("changes")
_LABEL = re.compile(r"^[-*•#>\s]*(?:\[?[A-Za-z]+[- ]?\d+\]?\s*:\s+)?")
"""Mark of a list or key of a ticket before a sentence."""
_IRONIC = re.compile(_TABLE["chat"]["ironic"], re.VERBOSE | re.IGNORECASE)
_HEARSAY = re.compile(_TABLE["chat"]["hearsay"])
_CITED = re.compile(_TABLE["chat"]["cited"], re.IGNORECASE)
_REJECTED = re.compile(_TABLE["chat"]["rejected"], re.IGNORECASE)
_SIMILE = re.compile(r"\b[Aa]s \w+ as (?:an? [a-z]+|[A-Z]\w+) *[.!]*$")
"""A simile that ends a sentence, often in irony: "as clean as a pigsty", "as warm as Iceland"."""
_UNSURE = (_IRONIC, _HEARSAY, _CITED, _REJECTED, _SIMILE)

CLAUSE_LIMITS = frozenset({"only", "once", "while", "until"})
"""Words of doubt that limit only the clause they stand in: ", only the piano stayed"."""
_DOUBTS = (_WORDS["stories"] - {"play", "season"}) | HEDGES | _WORDS["doubts"]
_SAYING = _WORDS["reporting"] - _WORDS["asserting"] | _WORDS["saying"]
_JOINED_IN = word_sets("frames")["joined_in"]
_COMPLEMENT = frozenset({"IN", "DT", "PRP$", "NN", "NNS", "NNP", "RB", "JJ"})


def bare_sentence(text: str) -> str:
    """Return a sentence without a leading list mark or ticket key."""
    return _LABEL.sub("", text, count=1)


def is_unsure(text: str) -> bool:
    """Return True for irony, hearsay, a cited source, and text labelled as rejected."""
    return any(one.search(text) for one in _UNSURE)


def is_sure_and_lasting(text: str, speaker: str | None = None) -> bool:
    """Return True for a sentence without doubt, hearsay or a limited time span.

    Args:
        text: one sentence.
        speaker: who says it.
    """
    bare = bare_sentence(text)
    reader = CertaintyReader(parse(bare), {}, speaker)
    unsure = is_unsure(bare) or bool(reported(reader.sentence))
    return reader.is_sure and not unsure and not reader.is_passing


def is_undoubted(words: Sequence[Word]) -> bool:
    """Return True for a sentence without a word of doubt."""
    return not any(
        (
            (word.lemma in _DOUBTS or word.lower in _DOUBTS)
            and word.lower not in CLAUSE_LIMITS
            and not _is_of_group(words, word)
        )
        or (word.lemma in _SAYING and word.tag.startswith("VB") and not _is_made(words, word))
        for word in words
    )


def _is_of_group(words: Sequence[Word], word: Word) -> bool:
    """Return True for a genre word that modifies a group: "film" of "film club"."""
    after = next(iter(words[word.index + 1 : word.index + 2]), word)
    return word.lemma in _WORDS["stories"] and after.lemma in _JOINED_IN


def _is_made(words: Sequence[Word], verb: Word) -> bool:
    """Return True for a language or tool: "is written in X"; no story is told."""
    after = words[verb.index + 1 : verb.index + 2]
    if verb.lemma == "seem" and after:  # "and he seems happier"
        own = verb.index and words[verb.index - 1].lower in ("he", "she", "they", "we")
        return bool(own) and after[0].tag.startswith("JJ")
    told = any(word.dep == "ccomp" and word.head is verb for word in words)
    before = words[verb.index - 1] if verb.index else verb
    if before.text in (",", ";") and verb.tag == "VB":
        return True  # ", ask who signs there"
    if before.text == "," and verb.tag == "VBZ":  # ", says the patients bite less"
        return any(w.tag in FINITE for w in words[verb.index + 1 :])
    if verb.lemma == "plan" and verb.tag == "VBN":  # "is (now) planned for 3 May"
        return any(w.lemma == "be" for w in words[max(0, verb.index - 2) : verb.index])
    return verb.lemma == "write" and not told and bool(after) and after[0].tag in _COMPLEMENT


@dataclass(slots=True)
class CertaintyReader(PhraseReader):
    """Judges how certain one parsed sentence is."""

    @property
    def is_sure(self) -> bool:
        """True for a sentence that is no question, has no doubt, and tells no fiction."""
        is_question = self.sentence.text.rstrip("\"'”’)» ").endswith("?")
        told = self._is_made_up() or self.is_quoted
        return not (is_question or self._is_hedged() or told or self._is_unreal())

    def _is_made_up(self) -> bool:
        words = self.sentence.words
        return any(word.lemma in _WORDS["stories"] and word.head.lower == "in" for word in words)

    def _is_unreal(self) -> bool:
        """Return True for a conditional opening: "If I sold ...", "While she visits, ..."."""
        words = self.sentence.words
        if words and words[0].lower in ("if", "unless", "while", "whenever"):
            return True
        if not words or words[0].lower not in ("had", "were", "should"):
            return False
        verb = words[0].head if words[0].dep.startswith("aux") else words[0]
        subjects = verb.children("nsubj", "nsubjpass")
        return any(subject.index < 4 for subject in subjects)

    @property
    def adds(self) -> bool:
        """True for an additive word such as "also", unless in a phrase beside the clause."""
        words = self.sentence.words
        if {"as", "well"} <= {word.lower for word in words}:
            return True
        return any(
            word.lower in _WORDS["additive"]
            and not (self._accompanies(word) or self.is_degree(word))
            for word in words
        )

    def _accompanies(self, word: Word) -> bool:
        """Return True for a word of an absolute phrase: ", still living out of boxes"."""
        verb = word.head
        before = self.sentence.words[word.index - 1] if word.index else word
        return verb.dep == "advcl" and verb.tag == "VBG" and before.text == ","

    def _is_hedged(self) -> bool:
        """Return True for a hedge; "almost every day" only limits the day."""
        words = self.sentence.words
        return any(
            word.lower in HEDGES
            and not (word.lower in _WORDS["degrees"] and after.lower in _WORDS["quantifiers"])
            for word, after in zip(words, [*words[1:], *words[-1:]], strict=True)
        )

    @property
    def is_passing(self) -> bool:
        """True for a state that holds for a limited time only."""
        return self.is_limited_in_time or any(map(self._is_of_today, self.sentence.words))

    @property
    def is_limited_in_time(self) -> bool:
        """True for a span ("for two weeks"), a return, or a word such as "temporarily"."""
        return self.comes_back or any(
            word.lower in _WORDS["temporary"]
            or (word.lower in _WORDS["spans"] and not self.is_no_span(word) and self._spans(word))
            for word in self.sentence.words
        )

    def _spans(self, word: Word) -> bool:
        """Return True for a preposition of a time."""
        return any(
            below.lemma in _WORDS["time_words"] or below.lower in _WORDS["time_words"]
            for below in word.children("pobj", "advmod", "pcomp")
        )

    def _is_of_today(self, word: Word) -> bool:
        """Return True for a time around now: "tonight", "this week"."""
        if self.is_no_span(word):
            return False
        near = word.head.lemma in _WORDS["time_words"]
        return word.lower in ("tonight", "tomorrow") or (
            word.lower in ("this", "these", "next") and near
        )
