"""The words of a text, and which of them look like (part of) a name."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hindsight_integrations.language.pipeline import Annotation
from hindsight_integrations.language.sentences import sentence_ends
from hindsight_integrations.retain import lexicon
from hindsight_integrations.retain.nicknames import is_given_name

_WORD = re.compile(r"[^\W_]+[+#]*(?:(?:['’&-]|(?<=\b[^\W\d_])\.|\.(?=\d))[^\W_]+[+#]*)*")
_ENDING = re.compile(r"(?:['’](?:s|m|ve|ll|d|re)|(?<=s)['’])\Z", re.IGNORECASE)
_STRETCHED = re.compile(r"(?!iii)([^\W\d_])\1\1")
"""An exclamation: "Nooo", "AAAA"."""
_OPENING = re.compile(r"(?:[\n:;|>•*\"“«(\[–—]|\s-)\s*\Z")
_GERMAN_WORDS = frozenset(
    {"der", "die", "das", "und", "ist", "nicht", "ein", "eine", "ich", "mit", "auf", "für", "wir"}
)
_ENGLISH_WORDS = frozenset({"the", "and", "is", "of", "to", "a", "you", "was", "for", "it", "that"})
_FINITE = frozenset({"VBZ", "VBD", "MD"})
"""Tags of the verbs that stand right after a single name."""
_BEFORE_NAMES = lexicon.TITLES | {"in", "nach", "aus", "bei", "mit", "von"}

_ORDINARY = lexicon.FUNCTION_WORDS | lexicon.OPENERS
_ORDINARY_OR_ACRONYM = frozenset({"us", "who", "pc"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        lower: in lower case, without a possessive or contracted ending.
        stem_end: where it ends, leaving that ending out.
        tag: its Penn tag; "" without a model.
        sentence: the number of its sentence.
        opens: it begins a sentence or a quotation, where a capital says nothing.
        listed: a dictionary has it, as far as is known.
    """

    text: str
    lower: str
    start: int
    stem_end: int
    end: int
    tag: str
    sentence: int
    opens: bool
    listed: bool

    @property
    def is_capital(self) -> bool:
        """Whether it has a capital letter: "Bob", "iPhone", "NASA"."""
        return self.text[0].isalpha() and self.text != self.text.lower()

    @property
    def is_tagged_proper(self) -> bool:
        """Whether the model reads it as a proper noun."""
        return self.tag in ("NNP", "NNPS")


def read_words(text: str, annotation: Annotation) -> list[Word]:
    """The words of a text, with the tags that its annotation gives them."""
    ends = sentence_ends(text)
    token_starts = [token.start for token in annotation.tokens]
    words: list[Word] = []
    for match in _WORD.finditer(text):
        start = match.start()
        token = bisect_right(token_starts, start) - 1
        sentence = bisect_right(ends, start)
        opens = (
            not words
            or words[-1].sentence != sentence
            or _OPENING.search(text, words[-1].end, start) is not None
        )
        stem = _ENDING.sub("", match.group())
        words.append(
            Word(
                text=match.group(),
                lower=stem.casefold(),
                start=start,
                stem_end=start + len(stem),
                end=match.end(),
                tag=annotation.tokens[token].tag if token >= 0 else "",
                sentence=sentence,
                opens=opens,
                listed=annotation.tokens[token].listed if token >= 0 else True,
            )
        )
    return words


def proper_nouns(words: Sequence[Word]) -> list[bool]:
    """For each word, whether it looks like (part of) a name.

    A capital says so inside a sentence; where it is expected anyway (at its beginning, in a
    headline, for a noun of German) the tag, a table of given names or another place in the text
    must agree, or it is no word of the language and a verb follows.
    """
    if not any(word.is_capital for word in words):
        return [False] * len(words)
    shouted = _sentences_of(words, 3, 0.5, lambda word: len(word.text) > 1 and word.text.isupper())
    headlines = _sentences_of(words, 5, 0.8, lambda word: word.text[0].isupper())
    capital_nouns = _is_german(words)
    inside = {word.lower for word in words if word.is_capital and not word.opens}

    def is_proper(word: Word, before: Word | None, after: Word | None) -> bool:
        if not word.is_capital or word.lower in lexicon.CALENDAR or _STRETCHED.search(word.lower):
            return False
        if word.text.isupper() and len(word.text) > 1 and word.sentence in shouted:
            return False
        if word.lower in _ORDINARY:
            return word.text.isupper() and word.lower in _ORDINARY_OR_ACRONYM
        if any(letter.isupper() for letter in word.text[1:]):
            return True
        if word.sentence in headlines or capital_nouns:
            if before is not None and before.lower in _BEFORE_NAMES:
                return True
        elif not word.opens or word.is_tagged_proper or word.lower in inside:
            return True
        elif after is not None and after.is_capital and not (word.tag or after.opens):
            return True  # without a model, two capitals in a row
        elif after is not None and after.tag in _FINITE and after.listed and not word.listed:
            return True  # no word of the language, and it does something
        return is_given_name(word.lower) and word.lower not in lexicon.ALSO_WORDS

    around = zip([None, *words], words, [*words[1:], None], strict=False)
    return [is_proper(word, before, after) for before, word, after in around]


def _sentences_of(
    words: Sequence[Word], least: int, share: float, test: Callable[[Word], bool]
) -> set[int]:
    """Sentences of at least so many words of which more than that share passes the test."""
    lengths = Counter(word.sentence for word in words)
    passed = Counter(word.sentence for word in words if test(word))
    return {
        number
        for number, count in passed.items()
        if lengths[number] >= least and count > share * lengths[number]
    }


def _is_german(words: Sequence[Word]) -> bool:
    """Whether the text is in a language that writes all nouns with a capital."""
    german = sum(word.lower in _GERMAN_WORDS for word in words)
    return german > 1 and german > sum(word.lower in _ENGLISH_WORDS for word in words)
