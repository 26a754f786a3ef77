"""Read what a text says of names: that two are one thing's, or that they are not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from hindsight_integrations.nlp.name_matching import acronym, parse

_NEW_THEN_OLD = re.compile(
    r"""
    \W* (?: (?:which|who) \s )?
    (?: (?:(?:was|were) \s)? (?:formerly|previously|originally|once)
        (?:\s (?:known \s as|called|named))?
      | used \s to \s be (?:\s (?:known \s as|called|named))?
      | is \s the \s new \s name \s (?:of|for)
      | (?:is \s|was \s)? short \s for
      | née | né | born | f/?k/?a | früher | ehemals | anciennement | antes )
    \s (?:the \s)? \W*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OLD_THEN_NEW = re.compile(
    r"""
    \W* (?: (?:which|who|that) \s )?
    (?: (?:is|are) \s (?:now|nowadays|currently) (?:\s (?:called|named|known \s as))?
      | (?:(?:is|was|has \s been|had \s been|got|have|has|had) \s)?
        (?:(?:now|since|just|recently) \s)? (?:renamed|rebranded)
        (?:\s (?:itself|themselves|himself|herself))? (?:\s (?:to|as))?
      | (?:(?:has|have|had) \s)? changed \s (?:its|their|his|her) \s name \s to
      | (?:(?:is|was) \s)? (?:(?:also|better) \s)? known \s as
      | goes \s by | a\.?k\.?a\.? | alias | nicknamed
      | (?:(?:but|and) \s)? (?:everyone|everybody|we|they|people|friends|i)
        \s calls? \s (?:him|her|them|it)
      | heißt \s (?:jetzt|nun) | s['’]appelle \s désormais | ahora \s se \s llama )
    \s (?:the \s)? \W*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RENAMING = re.compile(r"\b(?:re-?nam|rebrand)(?:ed|es|ing|e)?\s(?:the\s)?\W*\Z", re.IGNORECASE)
_INTO = re.compile(r"\W* (?:to|as|into) (?:the )?\W*")
_BRACKET = re.compile(r" \(\W?")
_NAME_GOES_ON = re.compile(r" [^\W\d_]*[A-Z]|['’-]\w")
_NAME_CAME_BEFORE = re.compile(r"[A-Z]\w* \Z")


def aliases_stated(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of a new and an old name that the text says to be the same thing's.

    Args:
        text: a statement.
        names: the names it mentions; only neighbouring ones are paired.
    """
    spans = sorted(
        {(start, start + len(name)) for name in names if (start := find_name(text, name)) >= 0}
    )
    stated: list[tuple[str, str]] = []
    for (start, end), (next_start, next_end) in pairwise(spans):
        first, second, gap = text[start:end], text[next_start:next_end], text[end:next_start]
        if _NAME_GOES_ON.match(text, next_end) or _NAME_CAME_BEFORE.search(text, 0, start):
            continue  # parts of longer names
        if _NEW_THEN_OLD.fullmatch(gap):
            stated.append((first, second))
        elif (
            _OLD_THEN_NEW.fullmatch(gap)
            or (_INTO.fullmatch(gap) and _RENAMING.search(text, 0, start))
            or (_BRACKET.fullmatch(gap) and acronym(parse(first).norm) == parse(second).norm)
        ):
            stated.append((second, first))
    return stated


def find_name(text: str, name: str) -> int:
    """Return the offset of a name as a whole word or words; -1 if it does not occur.

    Without a regular expression: for hundreds of names a second, each would be compiled.
    """
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if not (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])):
            break
        start = text.find(name, start + 1)
    return start


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_IS_NOT = re.compile(
    r"""
    (?: \b(?:is|was|are|were) \s (?:not|no) | \b(?:is|was|are|were)n['’]t
      | \bnot \s to \s be \s (?:confused|mistaken) \s (?:with|for) | \bno \s relation \s (?:of|to)
      | \bnot \s related \s to | \bnot \s the \s same \s (?:\w+\s)? (?:as|person \s as) )
    \s (?:(?:my|our|the|his|her|their|your|that|this) \s)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KIN_OR_ROLE = re.compile(r"(?:[a-z]+ )?")


def names_denied(text: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the names that the text says not to be those of somebody else it speaks of.

    "He is not my uncle Bob" denies Bob; "He is not Bob's uncle" does not.
    """
    longest = sorted(names, key=len, reverse=True)
    for denial in _IS_NOT.finditer(text):
        role = _KIN_OR_ROLE.match(text, denial.end())
        starts = {denial.end(), role.end() if role else denial.end()}
        denied = (n for n in longest if n and any(_names(text, start, n) for start in starts))
        yield from islice(denied, 1)


def _names(text: str, start: int, name: str) -> bool:
    """Return True if the text has this name at an offset, and not its possessive."""
    after = text[start + len(name) : start + len(name) + 1]
    return text.startswith(name, start) and not (_in_word(after) or after in ("'", "’"))
