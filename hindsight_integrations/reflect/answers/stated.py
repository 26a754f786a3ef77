"""Sentences that state something, each with its grammar and whom its pronouns stand for."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import dataclass, replace

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.sentences import parse, sentences
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.nlp.word_classes import UNSTATED
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.answers.named import (
    gender_in,
    is_person,
    is_person_noun,
)
from hindsight_integrations.reflect.answers.questions import SELF
from hindsight_integrations.reflect.attribution import own_parts

_SPOKEN = re.compile(r"([A-Z][\w.'’-]{0,20}(?: [A-Z][\w.'’-]{0,20}){0,2}): +(?=\S)")
"""Name of who speaks, before the words."""
THIRD = frozenset("he she it they him her his hers their them its".split())
_GENDERED = {
    "man": frozenset("he him his himself".split()),
    "woman": frozenset("she her hers herself".split()),
}
_PLURAL = frozenset("they them their theirs both".split())


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a memory.

    Attributes:
        memory: the memory.
        text: the sentence; with the one before it, if it is only understood so.
        sentence: the sentence, parsed; of one with semicolons, the part between them.
        before: whom the sentence before it is about, for "he" and "she"; empty if it is the first.
        verdict: for a yes-or-no question, True for yes and False for no.
    """

    memory: Memory
    text: str
    sentence: Sentence
    before: frozenset[str] = frozenset()
    verdict: bool | None = None

    @property
    def own_text(self) -> str:
        """The sentence without the one before it, by which it is understood."""
        whole, part = self.text, self.sentence.text
        return part if whole.endswith(part) and self.before else whole


def statements(memory: Memory, before: str = "") -> Iterator[Statement]:
    """Yield the sentences of a memory that state something; `before` is what was said first.

    One with semicolons is preceded by the parts between them, each quoted as the whole.
    """
    memory, told = _as_spoken(memory)
    parts_said = (told[start:end] for start, end in own_parts(told, memory.speaker))
    for text in (sentence for said in parts_said for sentence in sentences(said)):
        parts = text.split("; ")
        for part in (*(parts if parts[1:] else ()), text):
            sentence = parse(part)
            if sentence.words and not text.endswith("?"):
                own = _antecedent(parse(before), sentence) if before else frozenset[str]()
                leans = part is text and _leans(sentence, own)
                yield Statement(memory, f"{before} {text}" if leans else text, sentence, own)
        before = text


def speaker_of(memory: Memory) -> str | None:
    """Return the speaker of a memory, from its field or a label before the text: "Omar: ..."."""
    spoken = _SPOKEN.match(memory.text)
    return memory.speaker or (spoken[1] if spoken and "\n" not in memory.text else None)


def _as_spoken(memory: Memory) -> tuple[Memory, str]:
    """Split a speaker label off a memory's text: "Omar: I sold it."."""
    spoken = _SPOKEN.match(memory.text)
    if memory.speaker is not None or spoken is None or "\n" in memory.text:
        return memory, memory.text
    said = memory.text[spoken.end() :]
    own = any(word.strip(".,!;:").split("'")[0].casefold() in SELF for word in said.split())
    return (replace(memory, speaker=spoken[1]), said) if own else (memory, memory.text)


def is_stated(text: str) -> bool:
    """Return True for a sentence that states a fact: no question, wish or guess."""
    return not text.endswith("?") and not is_guess(parse(text))


def is_guess(sentence: Sentence, without: Container[Word] = ()) -> bool:
    """Return True if a sentence, without some of its words, is uncertain or about nobody."""
    return any(
        word.text.casefold() in UNSTATED or word.lemma in UNSTATED
        for word in sentence.words
        if not word.is_time and word.text != "May" and word not in without
        if not _is_inability(word)
    ) or any(_is_hearsay(word) for word in sentence.words if word not in without)


def _is_hearsay(word: Word) -> bool:
    """Return True for hearsay: "according to Mia", not "according to the contract"."""
    if word.lower != "according":
        return False
    sources = (source for source in word.subtree() if source.index > word.index + 1)
    return any(is_person(source) or source.tag == "PRP" for source in sources)


def _is_inability(word: Word) -> bool:
    """Return True for an inability: "could not stand the noise", not "could not have heard it"."""
    verb = word.head
    if word.text.casefold() != "could" or not verb.is_denied:
        return False
    return verb.lemma != "be" and len(verb.children("aux")) == 1


def _leans(sentence: Sentence, before: frozenset[str]) -> bool:
    """Return True if a pronoun of the sentence refers to the subject of the previous one."""
    return bool(before) and any(word.text.casefold() in THIRD for word in sentence.words)


def _antecedent(before: Sentence, sentence: Sentence) -> frozenset[str]:
    """Return the possible antecedent of a pronoun; of two persons "she" may be either."""
    several = any(
        word.children("conj") for word in before.words if word.dep in ("nsubj", "nsubjpass")
    )
    spoken = {word.text.casefold() for word in sentence.words}
    if several and spoken.isdisjoint(_PLURAL):
        return frozenset()
    subject = _subject_words(before)
    genders = {gender for gender, pronouns in _GENDERED.items() if spoken & pronouns}
    if not genders or not subject:
        return subject
    rivals = people_beside(before, subject)
    fits = gender_in(subject) in ("", *genders)
    return frozenset() if not fits or rivals - {_other(genders)} else subject


def _other(genders: Set[str]) -> str:
    """Return the gender that a pronoun excludes; "-" if it excludes none."""
    return "-" if len(genders) > 1 else {"man": "woman", "woman": "man"}[next(iter(genders))]


def people_beside(sentence: Sentence, names: Container[str]) -> set[str]:
    """Return the genders of other people in a sentence than the named; "" if not known."""
    return {
        gender_in([entity_norm(word.text), word.lemma])
        for word in sentence.words
        if entity_norm(word.text) not in names and not word.is_time  # "April"
        if is_person(word) or is_another(word, names)
    }


def is_another(noun: Word, names: Container[str]) -> bool:
    """Return True for another person than the named: "brother" of "Theo and his brother"."""
    return is_person_noun(noun) and not _is_of(noun, names)


def may_mean(pronoun: str, words: Iterable[str]) -> bool:
    """Return True unless the gender of a name excludes the pronoun."""
    genders = {gender for gender, own in _GENDERED.items() if pronoun in own}
    return not genders or gender_in(words) in ("", *genders)


def _is_of(noun: Word, names: Container[str]) -> bool:
    """Return True if a noun describes the named person: "Ana is a nurse", "Ana, a nurse"."""
    head = noun.head
    beside = [*noun.children("appos")]
    if noun.dep in ("appos", "compound", "nmod"):
        beside.append(head)
    if head.lemma in ("be", "become"):
        beside += head.children("nsubj")
    if head.lemma == "as":
        beside += head.head.children("nsubj")
    return any(entity_norm(word.text) in names for word in beside)


def _subject_words(sentence: Sentence) -> frozenset[str]:
    """Return the folded words of the single subject of a sentence."""
    subjects = [word for word in sentence.words if word.dep in ("nsubj", "nsubjpass")]
    if not subjects:  # "Meeting with Okafor."
        names = [word for word in sentence.words if word.is_proper and word.dep != "compound"]
        subjects = names if len(names) == 1 and is_person(names[0]) else []
    if len(subjects) != 1:
        return frozenset()
    words = (word.text for word in same_thing(subjects[0]))
    return frozenset(entity_norm(word) for word in words if lexemes(word))  # "we" is nobody's name


def same_thing(noun: Word) -> set[Word]:
    """Return a noun and words with the same referent: "my daughter Yasmin", "Ana and Ben"."""
    found, waiting = set(), [noun]
    while waiting:
        here = waiting.pop()
        found.add(here)
        waiting += here.children("compound", "appos", "conj", "nmod", "flat")
    return found
