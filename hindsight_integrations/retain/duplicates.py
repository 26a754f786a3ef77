"""Whether two statements are one, said twice.

Similarity alone cannot tell. By all-MiniLM-L6-v2, "Alice moved from Paris to Berlin" and "from
Berlin to Paris" are at cosine 0.998, "The test passed before the deploy" and "after the deploy"
at 0.98, and Chinese or Thai sentences whose words it does not know at 1.0. So the wording has to
agree too: a statement stored twice costs a few bytes, one folded into another is lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from hindsight_integrations.model import Memory
from hindsight_integrations.naming import entity_norm, text_fingerprint

_FILLERS = frozenset(
    {"a", "an", "the", "has", "have", "that", "just", "so", "very", "really", "actually"}
    | {"honestly", "definitely", "truly", "oh", "ah", "hey", "hi", "wow", "um", "uh", "please"}
)
"""English words that may come or go without making another statement of it."""

_CONTRACTIONS = (("n't", " not"), ("'re", " are"), ("'m", " am"), ("'ll", " will"), ("'ve", ""))

_OPENING = "\"'“„‘«‹([{¡¿「『（"
_CLOSING = "\"'”“’»›)]}.,;:!?…。，、！？；：」』）؟،؛।"
_DASHES = "-–—"
_QUESTION = re.compile("[?？؟]")


def same_statement(new: Memory, old: Memory, cosine: float, *, threshold: float = 0.97) -> bool:
    """Whether `new` says what `old` says, and nothing would be lost if only `old` were kept.

    They must be alike (texts of equal fingerprint, or a cosine from `threshold` [H]) and agree in

    - all that recall can filter by: type, speaker, scope, tags, metadata, expiry;
    - wording, but for fillers and punctuation: so in numbers, identifiers, negations, word order;
    - whether it is asked or stated;
    - the times they name: "I went running today" said on two days is two events;
    - the people and things named: neither names one instead of another's.
    """
    alike = cosine >= threshold or (
        text_fingerprint(new.text, new.speaker) == text_fingerprint(old.text, old.speaker)
    )
    return (
        alike
        and old.invalidated_at is None
        and _partition(new) == _partition(old)
        and _wording(new.text) == _wording(old.text)
        and bool(_QUESTION.search(new.text)) == bool(_QUESTION.search(old.text))
        and {(t.start, t.end) for t in new.occurred} == {(t.start, t.end) for t in old.occurred}
        and _compatible(new.entities, old.entities)
    )


def _partition(memory: Memory) -> tuple[object, ...]:
    return (
        memory.type,
        memory.speaker,
        memory.scope,
        frozenset(memory.tags),
        dict(memory.metadata),
        memory.expires_at,
    )


def _wording(text: str) -> list[str]:
    """The words in order, without fillers; signs of numbers and symbols belong to the words."""
    folded = unicodedata.normalize("NFC", text).casefold().replace("’", "'")
    for short, long in _CONTRACTIONS:
        folded = folded.replace(short, long)
    words = [word.lstrip(_OPENING).rstrip(_CLOSING) for word in folded.split()]
    words = [word for word in words if word.strip(_DASHES)]
    return [word for word in words if word not in _FILLERS] or words or [folded]


def _compatible(new: Iterable[str], old: Iterable[str]) -> bool:
    """Whether one set of names holds the other.

    A name may be missing from one, whose extractor did not know it yet; but two that each lack
    one of the other's speak of different people.
    """
    first, second = {entity_norm(name) for name in new}, {entity_norm(name) for name in old}
    return first <= second or second <= first
