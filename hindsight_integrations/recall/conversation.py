"""Signals that a conversation gives: the turns around a turn, its session, who said it.

All functions are pure and take the pool's arrays, aligned with its records. Outside a
conversation (nobody speaks) they are zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.language.bm25 import bm25
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.recall.pool import OFFSETS, Pool
from hindsight_integrations.recall.standard import Scores, standardise

NEAR = {-1: (0.6, 0.8), 1: (0.4, 0.3)}
"""Weight of the BM25 and of the cosine of the turn before and after: an answer follows what it
answers more often than it precedes it. Fitted on the development set of the bench."""

BEST_OF_SESSION = 3
"""Turns whose mean cosine stands for their session."""

_TOGETHER = frozenset({"and", "or", "und", "oder", "y", "o", "et", "ou"})
_SOURCE = frozenset({"from", "by", "von"})


def surroundings(pool: Pool, lexical: Scores, dense: Scores) -> tuple[Scores, Scores]:
    """What the turns one away, and two away, have in common with the question."""
    near, far = np.zeros(len(pool)), np.zeros(len(pool))
    for column, offset in enumerate(OFFSETS):
        neighbour = pool.around[:, column]
        there = neighbour >= 0
        if offset in NEAR:
            by_terms, by_meaning = NEAR[offset]
            near[there] += (
                by_terms * lexical[neighbour[there]] + by_meaning * dense[neighbour[there]]
            )
        else:
            far[there] += lexical[neighbour[there]] + dense[neighbour[there]]
    speaking = pool.memories.speaking
    return near * speaking, far * speaking


def session(pool: Pool, lexemes: tuple[str, ...], dense: Scores) -> Scores:
    """How well the whole session of each turn fits the question: its BM25 and best cosines."""
    speaking, of = pool.memories.speaking, pool.memories.sessions
    sessions = int(of.max()) + 1
    if not speaking.any() or sessions < 2:
        return np.zeros(len(pool))
    best: list[list[float]] = [[] for _ in range(sessions)]
    for number, cosine in zip(of.tolist(), dense.tolist(), strict=True):
        best[number].append(cosine)
    terms = pool.memories.terms.asked(lexemes).grouped(of, sessions)
    mean_length = float(terms.lengths.mean())
    by_terms = bm25(terms, pool.stats.frequency, pool.stats.documents, mean_length)
    by_meaning = np.array(
        [np.mean(sorted(values, reverse=True)[:BEST_OF_SESSION]) for values in best]
    )
    together = standardise(by_terms) + standardise(by_meaning)
    return np.asarray(together[of] * speaking)


def speaker_named(pool: Pool, question: str) -> Scores:
    """1 for what was said by the speaker whom the question asks about, else 0."""
    words = entity_norm(question).split()
    speakers = pool.memories.speakers
    named = [(words.index(s.split()[0]), s) for s in set(speakers) if s and s.split()[0] in words]
    teller = _teller(words, sorted(named))
    return np.array([float(speaker == teller) for speaker in speakers])


def _teller(words: Sequence[str], named: Sequence[tuple[int, str]]) -> str | None:
    """Who of the speakers named at these places will have told what is asked for, if one.

    Of two it is the one who acts: "What did Ana recommend to Tom?", "What did Tom hear from Ana?"
    """
    match named:
        case [(_, alone)]:
            return alone
        case [(first, acting), (second, other)] if first != second:
            together = not _TOGETHER.isdisjoint(words[first + 1 : second][-2:])
            if together or "both" in words:
                return None
            return other if words[second - 1] in _SOURCE else acting
    return None


def answers(pool: Pool, lexical: Scores, dense: Scores) -> Scores:
    """For a turn that follows somebody else's question: how much that has in common with ours.

    The square of the mean of both measures, 0 to 1, so that only close questions count.
    """
    before = pool.around[:, OFFSETS.index(-1)]
    speakers, asked = pool.memories.speakers, pool.memories.asking
    replies = np.array(
        [
            p >= 0 and bool(asked[p]) and speakers[p] != s
            for p, s in zip(before, speakers, strict=True)
        ]
    )
    likeness = np.clip((lexical + dense) / 2, 0.0, 1.0)
    found = np.zeros(len(pool))
    found[replies] = likeness[before[replies]] ** 2
    return found
