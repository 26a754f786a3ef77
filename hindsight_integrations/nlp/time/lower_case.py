"""Months in lower case that are words as well, as chats write them: "in may", "to 14 march"."""

from __future__ import annotations

from bisect import bisect_left

from hindsight_integrations.nlp.spacy_pipeline import Token as Word
from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.calendar import When
from hindsight_integrations.nlp.time.grammar import Match
from hindsight_integrations.nlp.time.lexer import TokenKind

IN_MONTH = "((?<=[IN SINCE UNTIL FROM EDGE])|(?<=EDGE OF))MAYBE_MONTH|MAYBE_MONTH (?=OF? YEAR)"
"""A month after a word that makes it one, or before its year."""

ON_DAY = (
    "(?<=[TO NOW UNTIL BY FROM SINCE FOR])NUMBER MAYBE_MONTH|NUMBER MAYBE_MONTH (?=NOW|END|DASH)"
)
"""A day of it after such a word, or where the clause ends."""

_MAY = 5

_ONWARDS = frozenset({"onwards", "onward", "latest", "instead", "already", "too"})
"""Adverbs that may follow a date; after another one "may" is a verb ("3 may also come")."""

_COUNTING = frozenset("only all just another other first last these those about some".split())
"""Before a number, these make it one of people: "only 3 may"."""

_WAYS = frozenset("against through past toward towards into along across out down up".split())
"""After "march", these make it a verb: "12 march against the bill"."""


def lower_case_month(match: Match) -> When | None:
    """Read a month in lower case: "in may", "may 2021", "end of may"; not "the end may come"."""
    month = match.tokens[0]
    if month.value == _MAY and len(match.tokens) == 1 and _is_verb(match):
        return None
    return match.context.when(month)


def lower_case_day(match: Match) -> When | None:
    """Read a day of a month in lower case: "moved to 14 march", "now 3 may"; not "3 may come"."""
    number, month = match.all(TokenKind.NUMBER)[0], match.all(TokenKind.MAYBE_MONTH)[0]
    if match.context.word_before(match.start).casefold() in _COUNTING:
        return None
    if _is_verb(match) if month.value == _MAY else _marches(match):
        return None
    return calendar.yearly_day(month.value, number.value)


def _following(match: Match) -> Word | None:
    """Return the word after the match with its tag, if it has one."""
    words = match.context.statement.words if match.context.statement else ()
    index = bisect_left(words, match.end, key=lambda word: word.start)
    return words[index] if index < len(words) else None


def _is_verb(match: Match) -> bool:
    """Return True for a "may" that a verb, an adverb or a subject follows."""
    following = _following(match)
    if following is None:
        return False
    adverb = following.tag[:2] == "RB" and following.text.casefold() not in _ONWARDS
    return adverb or following.tag in ("VB", "PRP")


def _marches(match: Match) -> bool:
    """Return True for a "march" on a way or in a compound: "12 march against", "3 march hares"."""
    following = _following(match)
    if following is None:
        return False
    return following.tag in ("NN", "NNS") or following.text.casefold() in _WAYS
