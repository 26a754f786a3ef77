"""Signals that a conversation gives: the turns around a turn, its session, who said it.

All functions are pure and take the pool's arrays, aligned with its records. Outside a
conversation (nobody speaks) they are zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.language.lexemes import bm25
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.recall.pool import OFFSETS, Pool
from hindsight_integrations.recall.standard import Scores, standardise

NEAR = {-1: (0.6, 0.8), 1: (0.4, 0.3)}
"""Weight of the BM25 and of the cosine of the turn before and after: an answer follows what it
answers more often than it precedes it. Fitted on the development set of the bench."""

BEST_OF_SESSION = 3
"""Turns whose mean cosine stands for their session."""

SUBSTANCE = (0.6, 0.25, 0.45, -0.25)
"""What rarity of the words, names, a date and the length count in the substance of a turn, by
standard deviation. Fitted on the development conversations of the bench, and rounded."""


_TOGETHER = frozenset({"and", "or", "und", "oder", "y", "o", "et", "ou"})
_SOURCE = frozenset({"from", "by", "von"})


def in_conversation(pool: Pool) -> NDArray[np.bool_]:
    """Whether each memory was said by somebody."""
    return np.array([memory.speaker is not None for memory in pool.memories])


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
    speaking = in_conversation(pool)
    return near * speaking, far * speaking


def session(pool: Pool, lexemes: tuple[str, ...], dense: Scores) -> Scores:
    """How well the whole session of each turn fits the question: its BM25 and best cosines."""
    speaking = in_conversation(pool)
    keys = [(memory.bank_id, memory.document_id) for memory in pool.memories]
    numbers = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    of = np.array([numbers[key] for key in keys], dtype=np.intp)
    if not speaking.any() or len(numbers) < 2:
        return np.zeros(len(pool))
    terms: list[list[str]] = [[] for _ in numbers]
    best: list[list[float]] = [[] for _ in numbers]
    for i, memory in enumerate(pool.memories):
        terms[of[i]] += memory.lexemes
        best[of[i]].append(float(dense[i]))
    mean_length = sum(map(len, terms)) / len(terms)
    by_terms = bm25(lexemes, terms, pool.stats.frequency, pool.stats.documents, mean_length)
    by_meaning = np.array(
        [np.mean(sorted(values, reverse=True)[:BEST_OF_SESSION]) for values in best]
    )
    together = standardise(by_terms) + standardise(by_meaning)
    return np.asarray(together[of] * speaking)


def speaker_named(pool: Pool, question: str) -> Scores:
    """1 for what was said by the speaker whom the question asks about, else 0."""
    words = entity_norm(question).split()
    speakers = [entity_norm(memory.speaker or "") for memory in pool.memories]
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


def answers(pool: Pool, asked: Scores, lexical: Scores, dense: Scores) -> Scores:
    """For a turn that follows somebody else's question: how much that has in common with ours.

    The square of the mean of both measures, 0 to 1, so that only close questions count. `asked`
    is what `asks` gives.
    """
    before = pool.around[:, OFFSETS.index(-1)]
    speakers = [memory.speaker for memory in pool.memories]
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


def substance(pool: Pool) -> Scores:
    """How much each turn says, whatever is asked: its rare words, names and dates, for its length.

    Small talk has little of them. Rarity is the mean of -ln(memories of the pool that have it).
    """
    speaking = in_conversation(pool)
    if not speaking.any():
        return np.zeros(len(pool))
    words = [set(memory.lexemes) for memory in pool.memories]
    held = Counter(chain.from_iterable(words))
    rarity = {word: -math.log(count) for word, count in held.items()}
    commonest = -math.log(len(pool))
    speakers = {entity_norm(name) for name in {m.speaker for m in pool.memories} if name}
    measured = np.array(
        [
            (
                sum(map(rarity.__getitem__, distinct)) / len(distinct) if distinct else commonest,
                math.log1p(sum(entity_norm(name) not in speakers for _, name in memory.entities)),
                bool(memory.occurred),
                math.log(10 + len(memory.text)),
            )
            for memory, distinct in zip(pool.memories, words, strict=True)
        ]
    )
    columns = zip(SUBSTANCE, measured.T, strict=True)
    return np.asarray(sum(weight * standardise(column) for weight, column in columns) * speaking)


def asks(pool: Pool) -> Scores:
    """1 for a turn that ends in a question, which seldom holds an answer."""
    return np.array(
        [
            float(m.speaker is not None and m.text.rstrip().endswith(("?", "？")))
            for m in pool.memories
        ]
    )
