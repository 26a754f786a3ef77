"""Words that make a number, decade or duration of what else looks like a time."""

from __future__ import annotations

import re

from hindsight_integrations.nlp.time.grammar import Match
from hindsight_integrations.nlp.time.lexer import TokenKind, fold

OF_ANOTHER = re.compile(r"\s+of (?!(?:the|this) month\b)", re.IGNORECASE)
"""After a day of the month, this makes it one of each or of a named month: "the 6th of July"."""

MORE = re.compile(r"\b(?:half|(?:hundred|thousand)(?:\s+and)?)\s+\Z", re.IGNORECASE)
"""After these a number of years ago is not all of the number."""

HEAT = re.compile(r"\b(?:temperatures?|degrees|heat|humidity)\b")
"""Beside these words "the 90s" are degrees."""

IDIOMS = re.compile(r"\b(?:can|could|able|takes?|within|once|twice|times|usually|always|every)\b")
"""Beside these words "in two weeks" is how long something takes."""

MOST = re.compile(
    r"\b(?:nothing|nobody|never|best|worst|biggest|largest|smallest|highest|lowest|hottest|coldest|wettest|driest|longest|shortest|busiest"
    r"|quietest|fastest|slowest)\b",
    re.IGNORECASE,
)
"""Beside these words "in thirty years" is how long nothing like it was."""

COUNTED = re.compile(
    r"(?:\A|[\s(])(?:[0-9]+(?:st|nd|rd|th)?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|twice|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\s",
    re.IGNORECASE,
)
"""Before "in two days", in a sentence without a verb, these make it how long something took."""

_HEADING = re.compile(r"\W{0,3}([^\W\d_]{3,9}) ?:")
_IN_WORD = re.compile(r"\s+in\s+([^\W\d_]+)")
_LONGEST_IN = 30
"""Characters after a time that are read for "in" and a month."""

_FIRST = re.compile(r"\b(?:first|only|last)\b(?!\s(?:week|month|year)\b)", re.IGNORECASE)


def is_the_most(match: Match) -> bool:
    """Return True for "the first trophy since 1905", which tells how long there was none."""
    own = match.context.text[match.start : match.end]  # "since last November"
    sentence = match.sentence().replace(own, "", 1)
    return MOST.search(sentence) is not None or _FIRST.search(sentence) is not None


def numbers_an_item(match: Match) -> bool:
    """Return True if the number begins the next item of a list: "1) swim by June 2) rest"."""
    text, start = match.context.text, match.start
    return text[match.end : match.end + 1] == ")" and "(" not in text[max(0, start - 80) : start]


def is_in_a_month(match: Match) -> bool:
    """Return True if "last" means last of a month: "the last Friday in June"."""
    within = _IN_WORD.match(match.context.text, match.end, match.end + _LONGEST_IN)
    return within is not None and _month(match, within[1]) is not None


def month_of_heading(match: Match) -> int | None:
    """Return the month that the text begins with: "December: the Old Duke on the 12th?"."""
    heading = _HEADING.match(match.context.text)
    return _month(match, heading[1]) if heading else None


def _month(match: Match, word: str) -> int | None:
    """Return the month that a word names, if it does."""
    language = match.context.language
    entries = (*language.exact.get(word, ()), *language.folded.get(fold(word), ()))
    months = (TokenKind.MONTH, TokenKind.MAYBE_MONTH)
    return next((entry.value for entry in entries if entry.kind in months), None)
