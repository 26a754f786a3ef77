"""Find the newest of several statements of one thing: the code is 12, and later 34."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import regex

from hindsight_integrations.models import MemoryType
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.recall.scaling import Scores

VERSIONS = 20
"""Best memories that are compared: what stands further down is seldom shown first."""

SHARED = 0.5
"""Share of the words of the longer one that two versions have in common, and cosine of the two."""

LONGEST = 15
"""Most different words of a version: a longer text says more than one thing."""

STEP = 0.01
"""Distance in the total from a version to the newer one before it."""

_CHANGE_WORDS = frozenset(
    stem
    for word in "again actually anymore changed currently instead lately new nowadays now today"
    " updated".split()
    for stem in lexemes(word)
)
"""Words by which a version says that it is the newer one, in English."""

_PAST = regex.compile(
    r"""\b(?: was | were | did | had | been | before | previous(?:ly)? | former(?:ly)? | ago
        | original(?:ly)? | initial(?:ly)? | first | used\ to | earlier | old | ever | once | last
        | yet | history | histories | changed? | changes )\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words of a question that may be about what was, in English."""


_MOVES_ON = regex.compile(
    r"""\b(?: (?:mov|switch|chang|migrat|relocat|transferr|convert)(?:e[ds]?|ing)? \b .{1,80}?
        \b from \b .{1,80}? \b to | left \b .{1,60}? \b for | replac(?:ed|es|ing) )\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words of a statement that names the old value and the new one, in English."""


def asks_for_the_present(question: str) -> bool:
    """Return True if nothing in an English question says that it is about the past."""
    return _PAST.search(question) is None


def newer_version_boost(
    memories: Candidates, total: Scores, order: Sequence[int], asked: Collection[str]
) -> dict[int, float]:
    """Return by how much each newer version has to rise to stand before the older ones.

    Two memories are versions of one statement if one speaker said both, they have most words in
    common, and the newer has all words of the question that the older has; or if the newer says
    that something moved on from what the older says.

    Args:
        memories: the pool.
        total: sums of the contributions, which decide the order.
        order: positions in the pool, best first.
        asked: lexemes of the question.

    Returns:
        Rise by position, of those that rise.
    """
    stated = [p for p in order[:VERSIONS] if memories[p].type is not MemoryType.OBSERVATION]
    texts = {p: frozenset(lexemes(memories[p].text)) for p in stated}
    first = [p for p in stated if len(texts[p]) <= LONGEST]
    words = {p: texts[p] - _CHANGE_WORDS for p in first}
    wanted = frozenset(asked) - _CHANGE_WORDS
    oldest_first = sorted(first, key=lambda p: memories.mentioned[p])
    reached = {p: float(total[p]) for p in first}
    for number, newer in enumerate(oldest_first):
        above = [
            reached[older]
            for older in oldest_first[:number]
            if memories.mentioned[older] < memories.mentioned[newer]
            and memories.speaker_numbers[older] == memories.speaker_numbers[newer]
            and (
                _are_versions(words[older], words[newer], wanted)
                or _moves_on(memories[newer].text, words[older] & words[newer], wanted)
            )
            and float(memories.vectors[older] @ memories.vectors[newer]) >= SHARED
        ]
        reached[newer] = max([reached[newer], *(height + STEP for height in above)])
    return {p: rise for p in first if (rise := reached[p] - float(total[p])) > 0}


def _moves_on(newer: str, shared: frozenset[str], asked: frozenset[str]) -> bool:
    """Return True if a statement says of what was asked that the older value gave way to another.

    "Bob moved from Leeds to York" has a word of the question and the old value.
    """
    return bool(shared & asked) and bool(shared - asked) and _MOVES_ON.search(newer) is not None


def _are_versions(older: frozenset[str], newer: frozenset[str], asked: frozenset[str]) -> bool:
    """Return True if two statements differ in a part only, and not in what is asked about."""
    shared = older & newer
    if older == newer or len(shared) < SHARED * max(len(older), len(newer)):
        return False
    matched = asked & older
    return matched <= newer and (len(matched) > 1 or (bool(asked) and asked <= shared))
