"""Tell from a text that a name is not that of the person whom a reader knows by it."""

from __future__ import annotations

import re

_OWNER = r"(?:the|my|our|your|his|her|their)"
_BEFORE = re.compile(
    rf"\b(?:(?:yet )?another|one more|some other|(?:a|an|{_OWNER}) (?:second|third|different|other)"
    r"|(a|an|another|some|one|two) (?:[\w'’-]+ ){1,4}(?:(called)|named|by the name of)) \Z",
    re.IGNORECASE,
)
"""Ends before the name: "another Sam", "the other Anna", "a crab called Sam"."""
_AFTER = re.compile(
    rf",? ?\((?:not {_OWNER} |no relation\b)|, no relation\b|, not {_OWNER} [\w'’ -]{{1,30}},",
    re.IGNORECASE,
)
"""Begins after the name: "Sam (not the plumber)", "Sam, no relation"."""
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
    if _AFTER.match(text, end):
        return True
    before = _BEFORE.search(text, max(0, start - _REACH), start)
    if before is None:
        return False
    is_subject = before[2] and _SENTENCE_BEGINS.search(text, 0, before.start())
    return not (is_subject and _NO_PREDICATE.match(text, end))
