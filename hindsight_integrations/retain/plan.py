"""What of a document has to be read: the difference between what is stored and what is given."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.model import Chunk

STEP = 1 << 20
"""Between the positions of two chunks: room for others to be put between them later."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes to a document's chunks.

    Attributes:
        added: which of the given pieces are new, with the position each gets.
        kept: how many pieces are stored already.
        removed: chunks that are no longer wanted.
    """

    added: tuple[tuple[int, int], ...]
    kept: int
    removed: tuple[Chunk, ...]


def plan_replacement(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> Plan:
    """Make the document consist of the given pieces.

    A stored chunk is kept if a piece has its fingerprint and the order allows it. New pieces
    get positions between those of their kept neighbours; where no room is left, the chunks
    after them are read anew.

    Args:
        stored: the document's chunks, by position.
        fingerprints: of the pieces given, in order.
    """
    kept = _kept(stored, fingerprints)
    added: list[tuple[int, int]] = []
    pending: list[int] = []
    last = 0
    for number in [*range(len(fingerprints)), None]:
        if number is not None and number not in kept:
            pending.append(number)
            continue
        if number is None:
            added += [(n, last + (i + 1) * STEP) for i, n in enumerate(pending)]
            break
        limit = kept[number].position
        gap = (limit - last) // (len(pending) + 1)
        if pending and gap < 1:
            del kept[number]
            pending.append(number)
            continue
        added += [(n, last + (i + 1) * gap) for i, n in enumerate(pending)]
        pending = []
        last = limit
    keeping = {chunk.id for chunk in kept.values()}
    removed = tuple(chunk for chunk in stored if chunk.id not in keeping)
    return Plan(tuple(added), len(keeping), removed)


def plan_addition(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> Plan:
    """Add the pieces that the document does not have yet after those that it has."""
    known = {chunk.fingerprint for chunk in stored}
    last = stored[-1].position if stored else 0
    new = [n for n, fingerprint in enumerate(fingerprints) if fingerprint not in known]
    added = tuple((n, last + (i + 1) * STEP) for i, n in enumerate(new))
    return Plan(added, len(fingerprints) - len(new), ())


def _kept(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> dict[int, Chunk]:
    """Piece number to the stored chunk that it is, in increasing position."""
    waiting: defaultdict[str, deque[Chunk]] = defaultdict(deque)
    for chunk in stored:
        waiting[chunk.fingerprint].append(chunk)
    kept: dict[int, Chunk] = {}
    last = -1
    for number, fingerprint in enumerate(fingerprints):
        candidates = waiting.get(fingerprint)
        while candidates and candidates[0].position <= last:
            candidates.popleft()
        if candidates:
            kept[number] = candidates.popleft()
            last = kept[number].position
    return kept
