"""Tell the times that a statement names and does not mean: denied ones, and parts of names."""

from __future__ import annotations

import re
from bisect import bisect_left

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.time.grammar import Context

_WORDS = word_sets("names")
_REACH = 40
"""Characters before a time that are read."""

_DENIED = re.compile(
    r"""
    (?: (?<!if\s) (?<!why\s) \bnot | n['’]t
      | \b(?:except(?:ing)?(?:\s for)? | excluding | instead\s of | rather\s than | other\s than
           | apart\s from | but\s not | außer | statt | anstatt | excepto | salvo | sauf ) )
    \s (?: (?:on|in|at|for|am|im|el|le) \s )? (?: (?:this|the) \s )? \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ALSO = re.compile(r"\s(?:and|or|und|oder|y|et)\s(?:on\s)?", re.IGNORECASE)

_WORDS_BEFORE = re.compile(r"((?:[A-ZÀ-Ý][\w’'-]* ){1,4})\Z")
_ADJECTIVAL = re.compile(r"\w{2}(?:y|ful|ic|ing|ed|less|ous|ish|ive|al)\Z")
_WORD_AFTER = re.compile(r" ([A-ZÀ-Ý][\w’'-]*)")
_OPENS = re.compile(r"(?:\A|[.!?:;\n\"“«(\[*•–—-])\s*\Z")
_STREETS = frozenset(
    "Street St Road Rd Avenue Ave Lane Drive Close Terrace Crescent Boulevard Blvd Way".split()
)
_NAMED_BY = re.compile(
    r"\b(?:on|in|at|by|since|until|till|for|from|to|last|this|next|every|the)\s\Z"
)
"""Before a time, these make it one; what follows is another name: "on Friday Legal called"."""
_NO_PART_OF_NAMES = _WORDS["function_words"].union(
    *(_WORDS[key] for key in ("calendar", "places", "peoples", "common_nouns"))
)


def is_denied(context: Context, start: int, denied_until: int) -> bool:
    """Return True for a time that the statement excludes: "not on Monday", "except Thursday".

    Args:
        context: the text.
        start: offset of the time.
        denied_until: offset after the last time that was denied; -1 if none was.
    """
    if context.statement is None:
        return False
    if denied_until >= 0 and _ALSO.fullmatch(context.text, denied_until, start):
        return True
    return _DENIED.search(context.text, max(0, start - _REACH), start) is not None


def is_in_a_name(context: Context, start: int, end: int) -> bool:
    """Return True for a time that is part of a name: "March Road", "Tomorrow Never Dies".

    A word that is as well a person's ("saw Ben Friday") makes no name of it.
    """
    text = context.text
    after = _WORD_AFTER.match(text, end)
    if after and after[1] in _STREETS and text[start:end].split()[-1].istitle():
        return True
    spelled = text[start:end]
    if context.statement is None or not spelled[0].isupper():
        return False
    first = max(0, start - _REACH)
    before = _WORDS_BEFORE.search(text, first, start)
    if before and _makes_a_name(context, before.start(), before[1]):
        return True
    if after is None or after[1] in ("I", "I'm", "I’m", "I'll", "I’ll", "I've", "I’ve"):
        return False
    lower = after[1].casefold()
    if lower in _WORDS["function_words"] and len(lower) > 1 and not after[1].isupper():
        return True
    opens = _OPENS.search(text, first, start) is not None
    named_by = _NAMED_BY.search(text, first, start) is not None
    return not opens and not named_by and _is_common(context, after.start(1), after[1])


def _makes_a_name(context: Context, start: int, words: str) -> bool:
    """Return True if an adjective with a capital before a day makes a name of it: "Freaky Friday".

    "Saw Ben Orr Monday" names somebody beside the day.
    """
    *others, last = words.split()
    opens = not others and _OPENS.search(context.text, max(0, start - _REACH), start)
    if opens or any(is_given_name(word.casefold()) for word in others):
        return False
    common = _is_common(context, start + words.rindex(last), last)
    return common and _ADJECTIVAL.search(last) is not None


def _is_common(context: Context, start: int, word: str) -> bool:
    """Return True for a common word of the dictionary, which only a name writes with a capital."""
    lower = word.casefold()
    if is_given_name(lower) or lower in _NO_PART_OF_NAMES:
        return False
    words = context.statement.words if context.statement else ()
    index = bisect_left(words, start, key=lambda one: one.start)
    found = index < len(words) and words[index].start == start
    return found and words[index].listed and not word.isupper()
