"""Find names in texts of other languages than English, by their capitals alone.

The model and the rules of `mentions` read English: in other languages they take "Damit" and "Qué"
for names. Here a word is a name if its capital can mark nothing else, or a table knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.language import Capitals
from hindsight_integrations.retain.identifiers import NameSpan
from hindsight_integrations.retain.name_kinds import GAZETTEER_WEIGHT, is_first_name, votes_of_words

_WORDS = word_sets("other_languages")
_FUNCTION_WORDS = (
    _WORDS["question_words"]
    | _WORDS["function_words"]
    | _WORDS["german"]
    | _WORDS["romance_and_others"]
)
_PLACES = word_sets("names")["places"]
_WORD = re.compile(r"(?:\b[dljmnstc]['’])?(?P<word>[^\W\d_]+(?:-[^\W\d_]+)*)", re.IGNORECASE)
_OPENS = re.compile(r"(?:\A|[.!?…:;\n\"“”„«»¿¡()\[\]–—*•-])\s*\Z")
_LONGEST_ACRONYM = 5


def names_elsewhere(text: str, capitals: Capitals) -> Iterator[NameSpan]:
    """Yield the names that the capitals of a text show, with their votes for a kind.

    Within a sentence a capital marks a name, or any noun in German. There, and where a sentence
    begins, a word is a name only if a table knows it or it follows a title.

    Args:
        text: a text that is not English.
        capitals: what capitals mark in its language.
    """
    if capitals == "nothing":
        return
    run: list[_Word] = []
    for word in _words(text):
        follows = bool(run) and not word.opens and text[run[-1].end : word.start] == " "
        is_name = _is_name(word, capitals)
        if run and not (follows and is_name):
            yield _span(text, run)
            run = []
        if is_name:
            run.append(word)
    if run:
        yield _span(text, run)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text.

    Attributes:
        opens: it begins a sentence, so that its capital says nothing.
        title: the title before it, None if there is none.
    """

    text: str
    start: int
    end: int
    opens: bool
    title: re.Match[str] | None

    @property
    def lower(self) -> str:
        return self.text.casefold()

    @property
    def is_known(self) -> bool:
        """True for a given name or a place of the tables."""
        given = is_first_name(self.lower) or self.lower in _WORDS["given_names"]
        return given or self.lower in _PLACES


def _words(text: str) -> Iterator[_Word]:
    before: re.Match[str] | None = None
    for match in _WORD.finditer(text):
        last = "" if before is None else before["word"].casefold()
        opens = _OPENS.search(text, max(0, match.start() - 8), match.start()) is not None
        opens = opens and last not in _WORDS["abbreviations"]
        title = before if last in _WORDS["titles"] and not opens else None
        yield _Word(match["word"], match.start("word"), match.end("word"), opens, title)
        before = match


def _is_name(word: _Word, capitals: Capitals) -> bool:
    """Return True for a word that is surely a name, or a part of one."""
    if not _is_capitalised(word):
        return False
    if word.title is not None:
        return True
    if capitals == "nouns":
        return word.is_known and word.lower not in _WORDS["german_nouns"]
    return not word.opens or word.is_known


def _is_capitalised(word: _Word) -> bool:
    shouted = word.text.isupper() and len(word.text) > _LONGEST_ACRONYM
    is_word = word.lower in _FUNCTION_WORDS or word.lower in _WORDS["titles"]
    return word.text[0].isupper() and len(word.text) > 1 and not shouted and not is_word


def _span(text: str, run: Sequence[_Word]) -> NameSpan:
    title = run[0].title
    start, end = run[0].start, run[-1].end
    if title is not None and title["word"][0].isupper():
        start = title.start("word")
    votes = votes_of_words([word.lower for word in run], title is not None)
    if run[0].lower in _WORDS["given_names"]:
        votes["person"] += GAZETTEER_WEIGHT
    return NameSpan(start, end, text[start:end], "concept", votes=votes)
