"""Find names in texts of other languages than English, by their capitals alone.

The model and the rules of `mentions` read English: in other languages they take "Damit" and "Qué"
for names. Here a word is a name if its capital can mark nothing else, or a table knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.language import Capitals
from hindsight_integrations.retain.identifiers import NameSpan
from hindsight_integrations.retain.name_kinds import is_first_name, votes_of_words

_WORDS = word_sets("other_languages")
_FUNCTION_WORDS = (
    _WORDS["question_words"]
    | _WORDS["function_words"]
    | _WORDS["german"]
    | _WORDS["romance_and_others"]
)
_WORD = re.compile(r"(?:\b[dljmnstc]['’])?(?P<word>[^\W\d_]+(?:-[^\W\d_]+)*)", re.IGNORECASE)
_OPENS = re.compile(r"(?:\A|[.!?…:;\n\"“”„«»¿¡()\[\]–—*•-])\s*\Z")
_LONGEST_ACRONYM = 5


def names_elsewhere(text: str, capitals: Capitals) -> Iterator[NameSpan]:
    """Yield the names that the capitals of a text show, with their votes for a kind.

    Within a sentence a capital marks a name, or a noun of any kind in German. There, and where a
    sentence begins, only a given name that the tables know counts, or what follows a title.

    Args:
        text: a text that is not English.
        capitals: what capitals mark in its language.
    """
    if capitals == "nothing":
        return
    run: list[re.Match[str]] = []
    titled, before = False, None
    for word in _WORD.finditer(text):
        opens = _opens(text, word, before)
        joins = bool(run) and text[run[-1].end("word") : word.start("word")] == " "
        if run and not (joins and not opens):
            yield _span(run, titled)
            run = []
        follows_title = before is not None and before["word"].casefold() in _WORDS["titles"]
        if _is_name(word["word"], capitals, opens=opens, titled=follows_title):
            titled = titled if run else follows_title
            run.append(word)
        elif run:
            yield _span(run, titled)
            run = []
        before = word
    if run:
        yield _span(run, titled)


def _opens(text: str, word: re.Match[str], before: re.Match[str] | None) -> bool:
    """Return True for the first word of a sentence, whose capital says nothing."""
    if before is not None and before["word"].casefold() in _WORDS["abbreviations"]:
        return False
    return _OPENS.search(text, max(0, word.start() - 8), word.start()) is not None


def _is_name(word: str, capitals: Capitals, *, opens: bool, titled: bool) -> bool:
    """Return True for a word that is surely a name, or a part of one."""
    lower = word.casefold()
    if not word[0].isupper() or len(word) < 2 or lower in _FUNCTION_WORDS | _WORDS["titles"]:
        return False
    if word.isupper() and len(word) > _LONGEST_ACRONYM:
        return False  # shouted
    if titled:
        return True
    if capitals == "nouns":
        return is_first_name(lower) and lower not in _WORDS["german_nouns"]
    return not opens or is_first_name(lower)


def _span(run: list[re.Match[str]], titled: bool) -> NameSpan:
    start, end = run[0].start("word"), run[-1].end("word")
    words = [word["word"] for word in run]
    votes = votes_of_words([word.casefold() for word in words], titled)
    return NameSpan(start, end, " ".join(words), "concept", votes=votes)
