"""Terms of a text, and BM25 scores of documents by the terms they share with a query."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.nlp.data import word_sets

if TYPE_CHECKING:
    from Stemmer import Stemmer

LONGEST = 64
"""Characters of a lexeme; a longer one is truncated."""

# Written without spaces: Han with its iteration marks, kana, Thai, Lao, Myanmar, Khmer.
_UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_HANGUL = "\uac00-\ud7a3"
# To Python, the vowel signs of Indic scripts are no part of their words.
_LETTER = rf"(?:[^\W{_UNSPACED}]|[\u0900-\u0963\u0966-\u0dff])"
_EMOJI = "[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
# A word, or several with single signs between them: an identifier, address, number, version.
_COMPOUND = rf"{_LETTER}+(?:(?:://|[-.'@:/&=?%~+]){_LETTER}+)*(?:\+\+|\#(?!\w))?"
_CHUNK = re.compile(rf"{_COMPOUND}|[{_UNSPACED}]+|{_FLAG}|{_EMOJI}")
_PART = re.compile(
    rf"(?P<hangul>[{_HANGUL}]+)|(?P<unspaced>[{_UNSPACED}]+)|(?P<emoji>{_FLAG}|{_EMOJI})"
    rf"|(?P<word>(?:(?![_{_HANGUL}]){_LETTER})+)"
)
_PERCENTAGE = re.compile(r"(?<!\w)\d{1,18}(?:\.\d{1,18})?%(?!\w)")
# No letter, digit or emoji; of these, `_SIGNS` and symbols are no punctuation of plain prose.
_MARK = re.compile(rf"(?!{_EMOJI}|{_FLAG})[^\w\s]")
_SIGNS = frozenset("#$%&*+/<=>@[\\]^`{|}~\u00a7\u00b6")
_ACRONYM = re.compile(r"(?:[a-z]\.)+[a-z]")

_DIGIT_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ENGLISH_ENDING = re.compile(r"'(?:s|m|d|re|ve|ll)$")
_CYRILLIC = re.compile("[\u0400-\u04ff]+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
# Accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowels: often left out in writing.
# The breve of the Cyrillic short i and short u never is: they are letters of their own.
_OPTIONAL_MARKS = re.compile(
    "(?<![\u0438\u0443])\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05c7\u064b-\u0652\u0670]"
)
_PLAIN_SIGNS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u2010\u2011\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff", "")
)

_STOP_WORDS = word_sets("text")["stop_words"]


def lexemes(text: str) -> list[str]:
    """Return the terms of a text, in order, repetitions included.

    Case, accents and width do not count. English words are stemmed and stop words left out; words
    in Cyrillic are stemmed as Russian. Negations stay ("don't" gives "not"). "INV-20417" gives
    "inv-20417", "inv" and "20417"; "3,000" gives "3000", "7th" gives "7". Han, kana, Thai, Lao,
    Khmer and Myanmar give pairs of neighbouring characters, Hangul gives words and pairs; each
    emoji is a lexeme.

    A lexeme has 1 to 64 characters, none of them a space, a quotation mark or a control
    character.
    """
    terms: list[str] = []
    for chunk in _CHUNK.findall(_folded(text)):
        # Long chunks are rare and would fill the cache.
        terms += _analysed(chunk) if len(chunk) <= LONGEST else _analyse(chunk)
    return terms


def lexemes_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the terms of several texts."""
    return frozenset(term for text in texts for term in lexemes(text))


def signs(text: str) -> list[str]:
    """Return the signs and percentages in a text, each once: "}", "€" and "%", "100%".

    Punctuation of plain prose is none. No lexeme is a sign or a percentage.
    """
    folded = _folded(text)
    return [*dict.fromkeys(_PERCENTAGE.findall(folded)), *_signs_in(folded)]


def question_terms(text: str) -> list[str]:
    """Return the terms to ask an index of lexemes and signs for.

    A sign inside a word, as in an address, or of a percentage is not asked for by itself.
    """
    folded = _folded(text)
    percentages = dict.fromkeys(_PERCENTAGE.findall(folded))
    rest = _CHUNK.sub(" ", _PERCENTAGE.sub(" ", folded))
    return [*lexemes(text), *percentages, *_signs_in(rest)]


def words_of(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the lexemes among the terms of an index."""
    return tuple(term for term in terms if term not in signs(term))


def _signs_in(folded: str) -> list[str]:
    marks = dict.fromkeys(_MARK.findall(folded))
    return [mark for mark in marks if mark in _SIGNS or category(mark) in ("Sc", "Sm", "So")]


def _folded(text: str) -> str:
    """Return the text in lower case, without accents and typographic variants."""
    if text.isascii():
        folded = text.lower()
    else:
        folded = normalize("NFKC", text).casefold().translate(_PLAIN_SIGNS)
        folded = normalize("NFC", _OPTIONAL_MARKS.sub("", normalize("NFD", folded)))
    return _DIGIT_GROUPS.sub("", folded)


def _analyse(chunk: str) -> tuple[str, ...]:
    """Return the lexemes of a chunk: the whole if it is a compound, and its parts."""
    if chunk.endswith("n't"):
        return ("not",)
    chunk = _ENGLISH_ENDING.sub("", chunk)
    if _ACRONYM.fullmatch(chunk):
        chunk = chunk.replace(".", "")
    parts = list(_PART.finditer(chunk))
    is_compound = bool(parts) and parts[0][0] != chunk
    whole = (chunk[:LONGEST],) if is_compound else ()
    return (*whole, *(lexeme for part in parts for lexeme in _part_lexemes(part)))


_analysed = lru_cache(maxsize=65_536)(_analyse)


def _part_lexemes(match: re.Match[str]) -> Iterator[str]:
    """Yield the lexemes of a part of a chunk, by its script."""
    part, kind = match[0], match.lastgroup
    if kind == "word" and part.isascii():
        if part not in _STOP_WORDS:
            ordinal = _ORDINAL.fullmatch(part)
            yield (ordinal[1] if ordinal else _stem(part, "english"))[:LONGEST]
        return
    if _CYRILLIC.fullmatch(part):
        yield _stem(part, "russian")[:LONGEST]
        return
    if kind != "unspaced" or len(part) == 1:
        yield part[:LONGEST]
    if kind == "unspaced" or (kind == "hangul" and len(part) > 2):
        yield from map("".join, pairwise(part))


_stemming = Lock()


@cache
def _stemmer(language: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(language, 0)  # its own cache off: lexemes are cached here


def _stem(word: str, language: str) -> str:
    if len(word) > LONGEST or not word.isalpha():
        return word
    with _stemming:  # a stemmer is not thread-safe
        stem: str = _stemmer(language).stemWord(word)
    return stem


K1 = 0.9
"""Saturation: the lower, the sooner repetitions of a term stop counting."""
B = 0.4
"""Length normalisation, from 0 (none) to 1 (full).

Both from Trotman, Jia and Crane, "Towards an Efficient and Effective Search Engine", 2012. On
conversations and on encyclopaedia passages they measured better than the usual 1.2 and 0.75."""


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Counts of a query's terms in documents.

    Attributes:
        terms: the distinct terms.
        counts: shape (documents, terms).
        lengths: lexemes of each document; shape (documents,).
    """

    terms: tuple[str, ...]
    counts: NDArray[np.float64]
    lengths: NDArray[np.float64]

    @classmethod
    def of(cls, documents: Sequence[Sequence[str]], query: Sequence[str]) -> TermCounts:
        """Count the terms of one query in the lexemes of each document."""
        terms = {term: column for column, term in enumerate(dict.fromkeys(query))}
        counts = np.zeros((len(documents), len(terms)))
        for row, document in enumerate(documents):
            if not terms.keys().isdisjoint(document):  # cheap, and true of few documents
                for lexeme in document:
                    if lexeme in terms:
                        counts[row, terms[lexeme]] += 1
        lengths = np.array([len(document) for document in documents], dtype=np.float64)
        return cls(tuple(terms), counts, lengths)

    def grouped(self, numbers: NDArray[np.intp], groups: int) -> TermCounts:
        """Return the counts of groups of documents, given the group of each."""
        counts = np.zeros((groups, len(self.terms)))
        np.add.at(counts, numbers, self.counts)
        lengths = np.bincount(numbers, self.lengths, groups).astype(np.float64)
        return TermCounts(self.terms, counts, lengths)


class TermIndex:
    """Terms of some documents, for one query or many: from the second on, an inverted index.

    Args:
        documents: the lexemes of each.
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._documents = documents
        self._first: TermCounts | None = None

    @cached_property
    def _rows(self) -> Mapping[str, Sequence[int]]:
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, document in enumerate(self._documents):
            for lexeme in document:
                rows[lexeme].append(row)
        return rows

    def asked(self, query: Sequence[str]) -> TermCounts:
        """Count the terms of a query, given as its lexemes, in each document."""
        terms = tuple(dict.fromkeys(query))
        first = self._first
        if first is None:
            first = self._first = TermCounts.of(self._documents, terms)
        if first.terms == terms:
            return first
        counts = np.zeros((len(first.lengths), len(terms)))
        for column, term in enumerate(terms):
            if term in self._rows:
                counts[:, column] = np.bincount(self._rows[term], minlength=len(counts))
        return TermCounts(terms, counts, first.lengths)


def idf(frequency: int, documents: int) -> float:
    """Return ln(1 + (N - n + 0.5) / (n + 0.5)): the weight of a term in n of N documents.

    The 1 inside the logarithm (as in Lucene) keeps it positive for frequent terms.
    """
    return math.log1p((max(documents - frequency, 0) + 0.5) / (frequency + 0.5))


def bm25(
    asked: TermCounts,
    frequency: Mapping[str, int],
    n_documents: int,
    mean_length: float,
    *,
    k1: float = K1,
    b: float = B,
) -> NDArray[np.float64]:
    """Return the BM25 score of each document.

    Sum over the distinct terms t of the query, with f the count of t in the document and L its
    length: idf(t) * f * (k1 + 1) / (f + k1 * (1 - b + b * L / mean_length)).

    Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
    2009, with the IDF of `idf`.

    Args:
        asked: counts of the query's terms in the documents to score, which may be a few of the
            collection's.
        frequency: number of documents of the collection that have each term.
        n_documents: documents of the collection.
        mean_length: their mean number of lexemes.
        k1: see `K1`.
        b: see `B`.

    Returns:
        Shape (documents,), not negative.
    """
    damping = k1 * (1 - b + b * asked.lengths[:, None] / max(mean_length, 1.0))
    weights = np.array([idf(frequency.get(term, 0), n_documents) for term in asked.terms], float)
    return np.asarray((asked.counts * (k1 + 1) / (asked.counts + damping)) @ weights)
