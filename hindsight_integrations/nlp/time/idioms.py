"""Words that make a number, decade or duration of what else looks like a time."""

from __future__ import annotations

import re

from hindsight_integrations.nlp.time.grammar import Match

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
