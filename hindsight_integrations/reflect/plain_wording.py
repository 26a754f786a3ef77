"""Judgements in plain words: what only marks an opinion goes, and figures of speech become plain.

The grammar of a sentence is read after this (`stance`). Nothing is rewritten that could turn the
judgement round, or make one of a sentence that has none.
"""

from __future__ import annotations

import re

_WISHED = re.compile(r"\s+(?:one|you|i|we) could (?:ever )?(?:wish|ask|hope) for\b", re.IGNORECASE)
_EXCLAIMED = re.compile(
    r"What (an? [\w ,-]+?) ((?:(?:[Tt]he|[Tt]his|[Tt]hat|[Oo]ur|[Mm]y) |(?=[A-Z]))[\w' -]+?) "
    r"(is|are|was|were)\s*[!.]*$"
)

_VIEWS = (
    r"in my (?:humble )?(?:opinion|view|experience|book)",
    r"to be (?:honest|frank|fair)",
    r"as far as i(?:'|’)m concerned",
    "if you ask me|personally|honestly|frankly|for me|imh?o|tbh|ngl",
)
_OPENINGS = (
    r"(?:i(?:'|’)m )?sorry,? but",
    "gotta say|i must say",
    r"(?:\w+ )?(?:note|update|verdict):",
)
_ENDINGS = (
    r"don(?:'|’)t @ me",
    "from start to finish|through and through",
    "in every (?:way|respect)",
    "no doubt about it|all a?round|hands down|bar none",
)
_OPENS = re.compile(rf"^(?:{'|'.join((*_VIEWS, *_OPENINGS))})[,:]? +", re.IGNORECASE)
_ENDS = re.compile(rf",? +(?:{'|'.join((*_VIEWS, *_ENDINGS))})(?=[ .!]*$)", re.IGNORECASE)
"""Words at either end that stress a judgement, or mark it as an opinion."""

_COULD_NOT_BE_MORE = re.compile(
    r"\b((?:i|we|you|they) )?(?:could(?:n(?:'|’)?t| not)|can(?:not|(?:'|’)t)) "
    r"(be|have been) (?:any )?(?:more |(?=happier|kinder|easier|nicer|friendlier))([a-z-]+)\b",
    re.IGNORECASE,
)
_COMPARED = {
    "happier": "happy",
    "kinder": "kind",
    "easier": "easy",
    "nicer": "nice",
    "friendlier": "friendly",
}


def plain_wording(text: str) -> str:
    """Return a sentence in plain words and order.

    "In my view the portal is slow, tbh" becomes "the portal is slow", "What a lovely place Rome
    is!" becomes "Rome is a lovely place.", and "She couldn't be more helpful" becomes "She is very
    helpful".
    """
    text = _WISHED.sub("", text.strip())
    text = _ENDS.sub("", _OPENS.sub("", text)).replace(" = ", " is ")
    text = _COULD_NOT_BE_MORE.sub(_utmost, text)
    exclaimed = _EXCLAIMED.match(text)
    return f"{exclaimed[2]} {exclaimed[3]} {exclaimed[1]}." if exclaimed else text


def _utmost(found: re.Match[str]) -> str:
    subject, verb, quality = found[1] or "", found[2].lower(), found[3].lower()
    present = {"": "is", "i ": "am"}.get(subject.lower(), "are")
    past = "were" if present == "are" else "was"
    said = present if verb == "be" else past
    return f"{subject}{said} very {_COMPARED.get(quality, quality)}"
