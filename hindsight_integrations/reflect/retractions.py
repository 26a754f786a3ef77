"""Find what takes back a statement: "It wasn't.", "Just kidding.", "I made that up."."""

from __future__ import annotations

from datetime import timedelta

import regex

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.data import table
from hindsight_integrations.nlp.sentences import sentences

CORRECTION_TIME = timedelta(days=2)
"""Time within which a speaker's next message may correct the one before."""

LONGEST = 9
"""Words of a denial at most: a longer sentence says something of its own."""

_PATTERNS = table("retractions")["patterns"]
_FLAGS = regex.VERBOSE | regex.IGNORECASE
_DENIAL = regex.compile(
    rf"\W* {_PATTERNS['lead']} (?: {_PATTERNS['jests']} | (?: {_PATTERNS['denials']} ) \W* \Z )",
    _FLAGS,
)
_WITHIN = regex.compile(_PATTERNS["within"], _FLAGS)
_RECANTS = regex.compile(_PATTERNS["recants"], _FLAGS)
_ANNOUNCES = regex.compile(_PATTERNS["announces"], _FLAGS)
_CORRECTION = regex.compile(_PATTERNS["corrections"], _FLAGS)
_PUTS_OFF = regex.compile(
    r"\b(?:postpone|reschedule"
    r"|(?:move|push|shift|put)\s(?:it|this|that)\s(?:(?:back|forward|off)\b"
    r"|(?:to|until|till)\s(?:the\s|a\s)?(?:\d|next\b|later\b|another\b|tomorrow\b|week|evening|morning"
    r"|afternoon|mon|tues?|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))",
    regex.IGNORECASE,
)
"""Requests to reschedule what was just announced; a request for another room is none."""
_NEXT = 400
"""Most characters read of what follows a statement."""


def is_retraction(sentence: str) -> bool:
    """Return True if a sentence only retracts the previous one."""
    return len(sentence.split()) <= LONGEST and _DENIAL.match(sentence) is not None


def recants(sentence: str) -> bool:
    """Return True if a sentence takes back an earlier judgement: "I take it all back"."""
    return _RECANTS.search(sentence) is not None


def announces_correction(sentence: str) -> bool:
    """Return True if a sentence says that it corrects an earlier one: "Correction: ..."."""
    return _ANNOUNCES.match(sentence) is not None


def asks_for_another_date(message: str) -> bool:
    """Return True if a message moves what was just announced: "can we move it to Tuesday?"."""
    return _PUTS_OFF.search(message[:_NEXT]) is not None


def retracts_itself(sentence: str) -> bool:
    """Return True if a sentence retracts its own words: "We moved to Mars, as if."."""
    return _WITHIN.search(sentence) is not None


def retraction_after(text: str, quoted: str) -> str:
    """Return the sentence that retracts the quoted one before it; "" if there is none.

    Args:
        text: the whole text.
        quoted: a sentence of it, or several in a row.
    """
    start = text.find(quoted)
    if start < 0:
        return ""
    return retraction_in(text[start + len(quoted) :])


def retraction_in(following: str) -> str:
    """Return the first sentence of a text if it is a retraction; else ""."""
    found = sentences(following[:_NEXT].lstrip(" .!?…,;:)\"'”’\n"))
    return found[0] if found and is_retraction(found[0]) else ""


def documents_of(memory: Memory) -> frozenset[str]:
    """Return the documents and conversations that state a memory."""
    return frozenset(source.document_id for source in memory.sources if source.document_id)


def correction_by(following: Memory, memory: Memory) -> str:
    """Return the sentence with which a speaker soon corrects an own message, or "".

    "No wait, Tuesday the 13th." corrects what the same speaker has just said in the same
    conversation and scope: what another one is told may be of anything, and private.

    Args:
        following: the speaker's next message.
        memory: the message that it may correct.
    """
    elapsed = following.mentioned_at - memory.mentioned_at
    if (
        memory.speaker is None
        or (following.speaker, following.scope) != (memory.speaker, memory.scope)
        or documents_of(following).isdisjoint(documents_of(memory))
        or not timedelta(0) <= elapsed <= CORRECTION_TIME
    ):
        return ""
    found = sentences(following.text[:_NEXT])
    if not found:
        return ""
    corrects = is_retraction(found[0]) or _CORRECTION.match(found[0]) is not None
    return found[0] if corrects else ""
