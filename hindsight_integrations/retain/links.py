"""Links of new memories to earlier ones and among themselves: pure functions.

A new memory links to earlier ones, never to itself, and a pair has at most one link of each kind.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import ExtractionError
from hindsight_integrations.models import Link, LinkKind

MIN_TEMPORAL_WEIGHT = 0.3
"""Floor of a temporal link's weight [H]."""

_BLOCK = 1024
"""Rows of the similarity matrix held at once: 20 MB at 5,000 memories."""


def temporal_weight(hours: float, window: float = 24.0) -> float:
    """Return max(0.3, 1 - hours / window), for two memories `hours` apart [H]."""
    return max(MIN_TEMPORAL_WEIGHT, 1.0 - hours / window)


def temporal_links(
    new: Sequence[tuple[str, datetime]],
    earlier: Sequence[tuple[str, datetime]],
    *,
    limit: int = 4,
    window: float = 24.0,
) -> list[Link]:
    """Link each new memory to the memories nearest in time.

    Args:
        new: id and timestamp of the new memories, in the order they were said; each may link to
            new memories before it.
        earlier: id and timestamp of stored memories; those more than `window` hours away are
            ignored.
        limit: most links of a new memory.
        window: largest distance in time, in hours.
    """
    batch = sorted(new, key=lambda item: item[1])
    new_ids = {id for id, _ in batch}
    stored = sorted((timestamp, id) for id, timestamp in dict(earlier).items() if id not in new_ids)
    max_distance = timedelta(hours=window)
    links: list[Link] = []
    for position, (id, timestamp) in enumerate(batch):
        # Differences, since `timestamp - reach` may lie outside the calendar.
        first = bisect_left(stored, -max_distance, key=lambda item: item[0] - timestamp)
        last = bisect_right(stored, max_distance, key=lambda item: item[0] - timestamp)
        # The batch is sorted by time, so the nearest earlier ones directly precede.
        previous = batch[max(0, position - limit) : position]
        # Among equal distances the later turn wins: turns of one minute belong together.
        gaps = [
            (timestamp - other_time, rank, other_id)
            for rank, (other_id, other_time) in enumerate(reversed(previous))
            if timestamp - other_time <= max_distance
        ]
        gaps += [
            (abs(timestamp - other_time), len(previous), other_id)
            for other_time, other_id in stored[first:last]
        ]
        links += [
            Link(id, other_id, LinkKind.TEMPORAL, temporal_weight(gap / timedelta(hours=1), window))
            for gap, _, other_id in heapq.nsmallest(limit, gaps)
        ]
    return links


def semantic_links(
    ids: Sequence[str],
    vectors: NDArray[np.float32],
    nearest: Sequence[Sequence[tuple[str, float]]],
    *,
    threshold: float = 0.7,
    limit: int = 10,
) -> list[Link]:
    """Link each new memory to the most similar memories; the weight is the cosine.

    Args:
        ids: the new memories; each may link to new memories before it.
        vectors: unit vectors of the new memories; shape (len(ids), dimension).
        nearest: for each, stored memories with their cosine.
        threshold: minimum cosine of a link.
        limit: most links of a new memory.
    """
    new_ids = set(ids)
    links: list[Link] = []
    for start in range(0, len(ids), _BLOCK):
        block = vectors[start : start + _BLOCK] @ vectors[: start + _BLOCK].T
        for row, cosines in enumerate(block, start):
            similar = {id: cosine for id, cosine in nearest[row] if id not in new_ids}
            similar |= _top_cosines(ids, cosines[:row], threshold, limit)
            over_threshold = [
                (-cosine, id)
                for id, cosine in similar.items()
                if cosine >= threshold and cosine > 0
            ]
            links += [
                Link(ids[row], other_id, LinkKind.SEMANTIC, min(1.0, -negated))
                for negated, other_id in heapq.nsmallest(limit, over_threshold)
            ]
    return links


def causal_links(ids: Sequence[str], causes: Sequence[Sequence[int]]) -> list[Link]:
    """Link each fact of a passage to the facts that led to it, with weight 1.

    Args:
        ids: id under which each fact is stored; repeated facts share one.
        causes: for each, the positions of its causes.

    Raises:
        ExtractionError: a position is outside the passage.
    """
    pairs: dict[tuple[str, str], None] = {}
    for effect, positions in zip(ids, causes, strict=True):
        for position in positions:
            if not 0 <= position < len(ids):
                raise ExtractionError(
                    f"a fact gives position {position} as its cause, but the passage has "
                    f"{len(ids)} facts; give a position from 0 to {len(ids) - 1}"
                )
            if ids[position] != effect:
                pairs[effect, ids[position]] = None
    return [Link(effect, cause, LinkKind.CAUSAL, 1.0) for effect, cause in pairs]


def _top_cosines(
    ids: Sequence[str], cosines: NDArray[np.float32], threshold: float, limit: int
) -> dict[str, float]:
    """Return the `limit` highest cosines from `threshold`, with all ties of the last."""
    above = np.flatnonzero(cosines >= threshold)
    if 0 < limit < len(above):
        values = cosines[above]
        above = above[values >= np.partition(values, -limit)[-limit]]
    return {ids[index]: float(cosines[index]) for index in above.tolist()}
