"""Sentences that state something, each with its grammar and whom its pronouns stand for."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.sentences import Sentence, parse, sentences
from hindsight_integrations.reflect.answers.named import folded, is_person
from hindsight_integrations.reflect.answers.questions import SELF, WORDS
from hindsight_integrations.reflect.attribution import own_parts

_SPOKEN = re.compile(r"([A-Z][\w.'’-]{0,20}(?: [A-Z][\w.'’-]{0,20}){0,2}): +(?=\S)")
"""Name of who speaks, before the words."""
THIRD = frozenset("he she it they him her his hers their them its".split())
_PLURAL = frozenset("they them their theirs both".split())
TIMES = ("DATE", "TIME")


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
    """Return who speaks in a memory, by its speaker or the name before its words: "Omar: ..."."""
    spoken = _SPOKEN.match(memory.text)
    return memory.speaker or (spoken[1] if spoken and "\n" not in memory.text else None)


def _as_spoken(memory: Memory) -> tuple[Memory, str]:
    """Return a memory with the speaker that its text names, and the rest: "Omar: I sold it."."""
    spoken = _SPOKEN.match(memory.text)
    if memory.speaker is not None or spoken is None or "\n" in memory.text:
        return memory, memory.text
    said = memory.text[spoken.end() :]
    own = any(word.strip(".,!;:").split("'")[0].casefold() in SELF for word in said.split())
    return (replace(memory, speaker=spoken[1]), said) if own else (memory, memory.text)


def is_stated(text: str) -> bool:
    """Return True for a sentence told as a fact: no question, wish or guess."""
    return not text.endswith("?") and not is_guess(parse(text))


def is_guess(sentence: Sentence, without: Container[int] = ()) -> bool:
    """Return True if a sentence, without some of its words, may not be so, or is so of nobody."""
    return any(
        word.text.casefold() in WORDS["unstated"] or word.lemma in WORDS["unstated"]
        for i, word in enumerate(sentence.words)
        if word.label not in TIMES and word.text != "May" and i not in without
        if not _is_inability(sentence, i)
    ) or any(_is_hearsay(sentence, i) for i in range(len(sentence.words)) if i not in without)


def _is_hearsay(sentence: Sentence, index: int) -> bool:
    """Return True for "according to Mia", not for "according to the contract"."""
    if sentence.words[index].lower != "according":
        return False
    sources = [sentence.words[i] for i in sentence.subtree(index) if i > index + 1]
    return any(is_person(word) or word.tag == "PRP" for word in sources)


def _is_inability(sentence: Sentence, index: int) -> bool:
    """Return True for "could not stand the noise", not for "could not have heard it"."""
    word = sentence.words[index]
    if word.text.casefold() != "could" or not sentence.children(word.head, "neg"):
        return False
    verb = sentence.words[word.head]
    return verb.lemma != "be" and len(sentence.children(word.head, "aux")) == 1


def _leans(sentence: Sentence, before: frozenset[str]) -> bool:
    """Return True if a pronoun of the sentence stands for the subject of the one before it."""
    return bool(before) and any(word.text.casefold() in THIRD for word in sentence.words)


def _antecedent(before: Sentence, sentence: Sentence) -> frozenset[str]:
    """Return whom a pronoun of the sentence may stand for; of two, "she" may be either."""
    several = any(
        before.children(i, "conj")
        for i, word in enumerate(before.words)
        if word.dep in ("nsubj", "nsubjpass")
    )
    plural = any(word.text.casefold() in _PLURAL for word in sentence.words)
    return frozenset() if several and not plural else _subject_words(before)


def _subject_words(sentence: Sentence) -> frozenset[str]:
    """Return the words, folded, of the only subject of a sentence."""
    subjects = [i for i, w in enumerate(sentence.words) if w.dep in ("nsubj", "nsubjpass")]
    if len(subjects) != 1:
        return frozenset()
    words = (sentence.words[i].text for i in same_thing(sentence, subjects[0]))
    return frozenset(folded(word) for word in words if lexemes(word))  # "we" is nobody's name


def same_thing(sentence: Sentence, noun: int) -> set[int]:
    """Return a noun and the words that name the same thing: "my daughter Yasmin", "Ana and Ben"."""
    found, waiting = set(), [noun]
    while waiting:
        here = waiting.pop()
        found.add(here)
        waiting += sentence.children(here, "compound", "appos", "conj", "nmod", "flat")
    return found
