"""Find the newest of several statements of one thing: the code is 12, and later 34."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import regex

from hindsight_integrations.models import MemoryType
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.recall.scaling import Scores

VERSIONS = 20
"""Number of best memories that are compared: lower ones are seldom shown first."""

SHARED = 0.5
"""Minimum share of the longer version's words that both have, and minimum cosine of the two."""

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
    memories: Candidates, total: Scores, order: Sequence[int], question_lexemes: Collection[str]
) -> dict[int, float]:
    """Return how much to add to the total of each newer version to rank it above the older ones.

    Two memories are versions of one statement if one speaker said both, they have most words in
    common, and the newer has all words of the question that the older has; or if the newer says
    that something moved on from what the older says.

    Args:
        memories: the pool.
        total: sums of the contributions, which decide the order.
        order: positions in the pool, best first.
        question_lexemes: lexemes of the question.

    Returns:
        Rise by position, of those that rise.
    """
    statements = [p for p in order[:VERSIONS] if memories[p].type is not MemoryType.OBSERVATION]
    texts = {p: frozenset(lexemes(memories[p].text)) for p in statements}
    candidates = [p for p in statements if len(texts[p]) <= LONGEST]
    words = {p: texts[p] - _CHANGE_WORDS for p in candidates}
    question_words = frozenset(question_lexemes) - _CHANGE_WORDS
    oldest_first = sorted(candidates, key=lambda p: memories.mentioned[p])
    raised_totals = {p: float(total[p]) for p in candidates}
    for number, newer in enumerate(oldest_first):
        targets = [
            raised_totals[older]
            for older in oldest_first[:number]
            if memories.mentioned[older] < memories.mentioned[newer]
            and memories.speaker_numbers[older] == memories.speaker_numbers[newer]
            and (
                _are_versions(words[older], words[newer], question_words)
                or _moves_on(memories[newer].text, words[older] & words[newer], question_words)
            )
            and float(memories.vectors[older] @ memories.vectors[newer]) >= SHARED
        ]
        raised_totals[newer] = max([raised_totals[newer], *(target + STEP for target in targets)])
    return {p: rise for p in candidates if (rise := raised_totals[p] - float(total[p])) > 0}


def _moves_on(newer: str, shared: frozenset[str], question_words: frozenset[str]) -> bool:
    """Return True if a statement says that the older value was replaced, and the question is on it.

    "Bob moved from Leeds to York" shares a word with the question, and the value Leeds with the
    older statement.
    """
    return (
        bool(shared & question_words)
        and bool(shared - question_words)
        and _MOVES_ON.search(newer) is not None
    )


def _are_versions(
    older: frozenset[str], newer: frozenset[str], question_words: frozenset[str]
) -> bool:
    """Return True if two statements differ in a part only, and both match the question equally."""
    shared = older & newer
    if older == newer or len(shared) < SHARED * max(len(older), len(newer)):
        return False
    matched = question_words & older
    return matched <= newer and (
        len(matched) > 1 or (bool(question_words) and question_words <= shared)
    )
