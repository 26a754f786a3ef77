"""Tell from a text that a name is not that of the person whom a reader knows by it."""

from __future__ import annotations

import re

from hindsight_integrations.nlp.data import word_sets

_OWNER = r"(?:the|my|our|your|his|her|their)"
_NOUN = (
    r"(?!(?:and|or|about|after|as|at|because|before|for|from|in|of|on|that|to|when|with) )[\w'’-]+"
)
_NAMED = r"(?:called|named|by the name of)"
_BEFORE = re.compile(
    rf"\b(?:(?:yet )?another|one more|some other|also {_NAMED}"
    rf"|(?:a|an|{_OWNER}) (?:second|third|different|other)|(?:not|n['’]t) (?:my|our|that)"
    rf"|(?:calls?|called|names?|named|christened) {_OWNER} (?:{_NOUN} )?{_NOUN}"
    rf"|(a|an|another|some|one|two) (?:[\w'’-]+ ){{1,4}}(?:(called)|{_NAMED})) \Z",
    re.IGNORECASE,
)
"""Ends before the name: "another Sam", "a crab called Sam", "named the boat Sam"."""
_AFTER = re.compile(
    rf",? ?\((?:not {_OWNER} |no relation\b)|, no relation\b|, not {_OWNER} [\w'’ -]{{1,30}},",
    re.IGNORECASE,
)
"""Begins after the name: "Sam (not the plumber)", "Sam, no relation"."""
_NAMED_BEFORE = re.compile(rf"([\w'’-]+),? (?:(?:is|was) )?{_NAMED} \Z", re.IGNORECASE)
_TOO = re.compile(r" (?:too|as well)\b")
_THE_BEFORE = re.compile(r"\b[Tt]he \Z")
_WHICH = re.compile(r" (?:from|who|that|with|next)\b")
_SENTENCE_BEGINS = re.compile(r"(?:\A|[.!?:;\n])\W*\Z")
_NO_PREDICATE = re.compile(
    r"[.!?,;\n]|\Z| (?:about|to|at|on|in|for|and|but|so|because|again|twice|back|with|while"
    r"|when|as|before|after|earlier|yesterday|today|tonight|this|last|just|right)\b"
)
_REACH = 80
"""Characters before a name that are searched."""


def introduces_another(text: str, start: int, end: int) -> bool:
    """Return True if the text says that the name `text[start:end]` is another bearer's.

    "A customer called Sam about the bill" tells of a call.
    """
    first = max(0, start - _REACH)
    if _AFTER.match(text, end) or _is_of_thing(text, first, start, end):
        return True
    if _THE_BEFORE.search(text, first, start) and _WHICH.match(text, end):
        return True
    before = _BEFORE.search(text, first, start)
    if before is None:
        return False
    is_subject = before[2] and _SENTENCE_BEGINS.search(
        text, max(0, before.start() - _REACH), before.start()
    )
    return not (is_subject and _NO_PREDICATE.match(text, end))


def _is_of_thing(text: str, first: int, start: int, end: int) -> bool:
    """Return True for "the boat is called Sam", and "the boy is called Sam too"."""
    named = _NAMED_BEFORE.search(text, first, start)
    if named is None:
        return False
    is_thing = named[1].casefold() in word_sets("names")["not_persons"]
    return is_thing or _TOO.match(text, end) is not None
