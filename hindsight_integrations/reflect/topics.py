"""What a text states, sentence by sentence, and what each sentence may be about.

No parser is run: a topic is a name the memory mentions, two content words side by side ("seat
map"), or a noun by its place, after an article or a preposition ("the launch", "by the window").
Two sentences speak of one matter if they share a topic and their memories are alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise

from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.language.sentences import sentence_ends
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.reflect import vocabulary


class Grade(IntEnum):
    """How much it tells that two sentences share a topic."""

    WORD = 0
    """A content word; with a common subject it can make a matter."""
    NOUN = 1
    NAME = 2
    PHRASE = 3


@dataclass(frozen=True, slots=True)
class Topic:
    """What a sentence may be about: `key` is equal for all its spellings."""

    key: str
    surface: str
    grade: Grade


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that states something.

    Attributes:
        text: part of the memory's text, to the letter.
        topics: by key.
        terms: its lexemes.
    """

    text: str
    topics: Mapping[str, Topic]
    terms: frozenset[str]

    def speaks_of(self, key: str) -> bool:
        """Whether it has the topic, or for other than a name, at least its words."""
        return key in self.topics or (
            not key.startswith("@") and all(part in self.terms for part in key.split())
        )


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int
    lexeme: str | None
    is_plain: bool = False


LONGEST_QUOTE = 180
"""Characters of a sentence that is quoted whole."""
_FEWEST_TERMS = 2
_FEWEST_WORDS = 3
_FEWEST_EXCLAIMED = 5
_SHORTEST_TERM = 3

_WORD = re.compile(r"[^\W_]+(?:[-.'’@/][^\W_]+)*")
_LIKE_A_VERB = "ed"
_LIKE_AN_ADJECTIVE = ("ful", "ous", "less", "able", "ible", "ive")
_ASIDE = re.compile(r"\[[^\]]*\]")
_UNSPACED = re.compile(r"[\u3005-\u30ff\u31f0-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f]+")
_UNSPACED_PHRASE = 4
"""Characters in a row, in a script without spaces, that are as telling as a phrase."""
_END_OF_SENTENCE = " \t\r\n"


@lru_cache(maxsize=8192)
def statements(text: str, names: tuple[str, ...] = ()) -> tuple[Statement, ...]:
    """The sentences of a text that state something, in order.

    Left out are questions, courtesies, what stands in square brackets, and what has fewer than
    two content words.

    Args:
        text: of a memory.
        names: of the entities it mentions.
    """
    return tuple(_statements(text, names))


def _statements(text: str, names: Sequence[str]) -> Iterator[Statement]:
    start = 0
    asides = [match.span() for match in _ASIDE.finditer(text)]
    for end in sentence_ends(text):
        for first, last in _outside(start, end, asides):
            sentence = text[first:last].strip(_END_OF_SENTENCE)
            if sentence and not says_nothing(sentence):
                terms = frozenset(lexemes(sentence))
                if len(terms) >= _FEWEST_TERMS:
                    topics = {topic.key: topic for topic in _topics(sentence, names)}
                    yield Statement(sentence, topics, terms)
        start = end


def _outside(start: int, end: int, asides: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in asides:
        if first < end and last > start:
            yield start, max(start, first)
            start = min(end, last)
    yield start, end


def says_nothing(sentence: str) -> bool:
    """Whether it is a question, a courtesy, or too short to state anything."""
    ending = sentence.rstrip("\"'”’)» ")[-1:]
    words = len(sentence.split())
    exclaimed = ending in "!！" and words < _FEWEST_EXCLAIMED
    short = words < _FEWEST_WORDS and not _UNSPACED.search(sentence)
    return ending in "?？؟" or exclaimed or short or bool(vocabulary.COURTESY.match(sentence))


def _topics(sentence: str, names: Sequence[str]) -> Iterator[Topic]:
    """Words first, then nouns, so that the best grade of a key stays."""
    words = [_word(match) for match in _WORD.finditer(sentence)]
    own = [] if vocabulary.YOU.search(sentence) else words
    for word in own:
        if word.lexeme and word.text.casefold() not in vocabulary.VERBS:
            yield Topic(word.lexeme, word.text, Grade.WORD)
    for place in range(len(own)):
        if place and words[place - 1].text.casefold() in vocabulary.LEADS:
            noun = _noun(sentence, words[place:])
            if noun is not None and noun.lexeme is not None:
                yield Topic(noun.lexeme, noun.text, Grade.NOUN)
    for left, right in pairwise(words):
        beside = sentence[left.end : right.start] == " "
        is_name = left.text[0].isupper() and right.text[0].isupper()
        is_clause = _is_verb(right) or left.text.casefold() in vocabulary.VERBS
        if left.lexeme and right.lexeme and beside and not (is_name or is_clause):
            surface = sentence[left.start : right.end]
            yield Topic(f"{left.lexeme} {right.lexeme}", surface, Grade.PHRASE)
    for run in _UNSPACED.findall(sentence):
        for start in range(len(run) - _UNSPACED_PHRASE + 1):
            part = run[start : start + _UNSPACED_PHRASE]
            yield Topic(part, part, Grade.PHRASE)
    yield from _named(sentence, names)


def _noun(sentence: str, words: Sequence[_Word]) -> _Word | None:
    """The last of the content words that stand side by side: "the old stone pier" is a pier.

    Or the one before it, if the last looks like a verb ("the scanners arrived").
    """
    run: list[_Word] = []
    for word in words:
        if run and sentence[run[-1].end : word.start] != " ":
            break
        if word.lexeme is not None:
            run.append(word)
        elif run or not word.is_plain:
            break
    return run[-2] if len(run) > 1 and _is_verb(run[-1]) else run[-1] if run else None


def _is_verb(word: _Word) -> bool:
    return word.text.endswith(_LIKE_A_VERB) or word.text.casefold() in vocabulary.VERBS


def _word(match: re.Match[str]) -> _Word:
    text = match.group()
    lexeme = next(iter(lexemes(text)), None)
    plain = (
        re.sub(r"['’]s$", "", text.casefold()) in vocabulary.PLAIN
        or lexeme in vocabulary.PLAIN
        or text.endswith(_LIKE_AN_ADJECTIVE)
    )
    if lexeme is None or plain or _is_slight(lexeme):
        return _Word(text, *match.span(), None, plain)
    return _Word(text, *match.span(), lexeme)


def _is_slight(lexeme: str) -> bool:
    """Whether it is a number, or too short to be a word of its own."""
    return lexeme.isdigit() or len(lexeme) < _SHORTEST_TERM or bool(_UNSPACED.match(lexeme))


def _named(sentence: str, names: Sequence[str]) -> Iterator[Topic]:
    """The names that stand in the sentence, but for those it only calls upon ("Maya, look")."""
    for name in names:
        if not is_name(name):
            continue
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE):
            before, after = sentence[: match.start()].rstrip(), sentence[match.end() :].lstrip()
            called = after[:1] in (",", "!") and (not before or before[-1] in ",!")
            called = called or (before[-1:] == "," and not after.strip(".!…🙏😊 "))
            if not called:
                yield Topic(f"@{entity_norm(name)}", match.group(), Grade.NAME)
                break


@lru_cache(maxsize=8192)
def is_name(name: str) -> bool:
    """Whether it may be one: a tagger takes "Alice loves React" for one, too."""
    small = [word for word in name.split() if word.islower() and word.isalpha()]
    sentence = any(word in vocabulary.VERBS or word in vocabulary.PLAIN for word in small)
    return not sentence and entity_norm(name) not in vocabulary.PLAIN
