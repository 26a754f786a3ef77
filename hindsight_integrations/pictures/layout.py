"""Positions of the nodes of a graph: a force-directed layout, the same for the same graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STEPS = 160
"""Steps of the layout of up to 150 nodes; a larger graph takes fewer, each of which costs more."""

GRAVITY = 0.06
"""Pull to the middle, as a share of the distance: keeps parts without a connection near."""

EVENNESS = 0.4
"""Share of the even spread in the positions: the middle of a large graph is crowded otherwise."""

GOLDEN_ANGLE = 2.39996
"""Angle between neighbouring seeds of a sunflower, in radians: spreads the start evenly."""

_Positions = NDArray[np.float64]


def positions(
    edges: Sequence[tuple[int, int, float]],
    sizes: Sequence[float],
    width: float,
    height: float,
) -> _Positions:
    """Place nodes in a rectangle, connected ones near each other, none on another.

    Fruchterman and Reingold, "Graph Drawing by Force-directed Placement" (1991), with gravity.

    Args:
        edges: pairs of nodes with a weight from 0 to 1.
        sizes: radius of each node; the most important stand first, and start in the middle.
        width: of the rectangle.
        height: of the rectangle.

    Returns:
        Shape (nodes, 2).
    """
    count = len(sizes)
    if count < 2:
        return np.full((count, 2), (width / 2, height / 2))
    spacing = (width * height / count) ** 0.5
    order = np.arange(count)
    angle, distance = order * GOLDEN_ANGLE, spacing * 0.6 * np.sqrt(order + 0.5)
    place = np.stack([np.cos(angle) * distance, np.sin(angle) * distance], axis=1)
    place *= (width / max(width, height), height / max(width, height))
    ends = np.array([edge[:2] for edge in edges], dtype=np.intp).reshape(-1, 2)
    pull = np.array([0.25 + 0.75 * edge[2] for edge in edges])[:, None]
    shape = np.array([height / width, 1.0]) * GRAVITY
    steps = STEPS if count <= 150 else max(40, STEPS * 150 // count)
    for step in range(steps):
        force = _repulsion(place, spacing) - place * shape * 2
        along = place[ends[:, 0]] - place[ends[:, 1]]
        strength = np.linalg.norm(along, axis=1, keepdims=True) / spacing * pull
        np.add.at(force, ends[:, 0], -along * strength)
        np.add.at(force, ends[:, 1], along * strength)
        length = np.linalg.norm(force, axis=1, keepdims=True) + 1e-9
        heat = spacing * 1.2 * (1 - step / steps) + 0.5
        place = place + force / length * np.minimum(length, heat)
    return _apart(_fitted(place, width, height), np.asarray(sizes, dtype=float), width, height)


def _repulsion(place: _Positions, spacing: float) -> _Positions:
    push = spacing**2 / (_squared_distances(place) + 1e-3)
    return _pushed(place, push)


def _squared_distances(place: _Positions) -> _Positions:
    across: _Positions = np.subtract.outer(place[:, 0], place[:, 0])
    down: _Positions = np.subtract.outer(place[:, 1], place[:, 1])
    across *= across
    down *= down
    across += down
    return across


def _pushed(place: _Positions, push: _Positions) -> _Positions:
    """Sum the pushes on each node, each along the line from the other node."""
    # Not by `@`: the threads of BLAS wait for each other where other programs take the cores.
    pulled = np.einsum("ij,jk->ik", push, place)
    moved: _Positions = place * push.sum(axis=1, keepdims=True) - pulled
    return moved


def _fitted(place: _Positions, width: float, height: float) -> _Positions:
    """Stretch positions until they fill the rectangle, those that crowd more than others."""
    low, high = place.min(axis=0), place.max(axis=0)
    share = (place - low) / np.maximum(high - low, 1e-6)
    even = np.argsort(np.argsort(place, axis=0), axis=0) / (len(place) - 1)
    fitted: _Positions = ((1 - EVENNESS) * share + EVENNESS * even) * (width, height)
    return fitted


def _apart(place: _Positions, sizes: _Positions, width: float, height: float) -> _Positions:
    """Push nodes that overlap off each other."""
    least = sizes[:, None] + sizes[None, :] + 8.0
    np.fill_diagonal(least, 0.0)
    for _ in range(24):
        distance = np.sqrt(_squared_distances(place)) + 1e-6
        overlap = np.maximum(least - distance, 0.0)
        if not overlap.any():
            break
        place = place + _pushed(place, overlap / distance) * 0.35
        place = np.clip(place, 0.0, (width, height))
    return place
