"""Recognise a conversation without an id that is stored already, whole or in part.

Frameworks hand over their history again and again, often without an id of it. What they repeat is
one conversation that goes on, and no second one that says the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.models import Memory
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.retain.document_diff import RetainDependencies
from hindsight_integrations.retain.request import SharedFields, Submission, Turn
from hindsight_integrations.stores.base import DOCUMENT_CHUNKS, DUPLICATES, MEMORY

LEAST_OVERLAP = 2
"""Pieces that must agree, unless the stored conversation has fewer: "Hi" begins many."""

MOST_DOCUMENTS = 8
"""Stored conversations compared, those with the most turns in common."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a turn, as chunks are cut; `number` is that of the turn."""

    text: str
    turn: Turn
    number: int


@dataclass(frozen=True, slots=True)
class _StoredPiece:
    """A stored chunk; `said_at` is None where no memory tells the time."""

    text: str
    said_at: datetime | None

    def repeats(self, piece: _Piece) -> bool:
        turn = piece.turn
        same_time = not turn.dated or self.said_at is None or self.said_at == turn.said_at
        return same_time and self.text.strip() == piece.text.strip()


def as_continuation(deps: RetainDependencies, bank_id: str, submission: Submission) -> Submission:
    """Return what a conversation without an id adds to the stored one that it repeats.

    It repeats one that it contains from its beginning or from a later turn on, or that contains
    it. A conversation with an id, and one that repeats none, is returned as it is.
    """
    if submission.is_named or submission.mode != "append" or not submission.turns:
        return submission
    turns, graph = submission.turns, deps.graph
    pieces = [
        _Piece(text, turn, number)
        for number, turn in enumerate(turns)
        for text in deps.chunk_texts(turn.text)
    ]
    times = _times(deps, bank_id, pieces, submission.stamp)
    shared = Counter({document_id: len(of_document) for document_id, of_document in times.items()})
    nearest = [document_id for document_id, _ in shared.most_common(MOST_DOCUMENTS)]
    chunks = graph.read(bank_id, DOCUMENT_CHUNKS, nearest)
    for document_id in nearest:
        said = times[document_id]
        stored = [_StoredPiece(c.text, said.get(c.id)) for c in chunks.get(document_id, ())]
        repeated = _repeated(stored, pieces)
        if repeated:
            return replace(
                submission,
                document_id=document_id,
                turns=turns[repeated:],
                replayed=turns[:repeated],
                is_named=True,
            )
    return submission


def _times(
    deps: RetainDependencies, bank_id: str, pieces: Sequence[_Piece], shared: SharedFields
) -> dict[str, dict[str, datetime]]:
    """Return by document when its chunks were said that state what one of the pieces states."""
    prints = {text_fingerprint(each.text, each.turn.speaker): each.turn for each in pieces}
    same = deps.graph.read(bank_id, DUPLICATES, list(prints))
    by_id = {memory_id: prints[key] for key, ids in same.items() for memory_id in ids}
    times: dict[str, dict[str, datetime]] = {}
    for memory in deps.graph.read(bank_id, MEMORY, list(by_id)).values():
        if not _agrees(memory, by_id[memory.id], shared):
            continue
        for source in memory.sources:
            if source.document_id and source.chunk_id:
                said = times.setdefault(source.document_id, {})
                said[source.chunk_id] = source.mentioned_at
    return times


def _agrees(memory: Memory, turn: Turn, shared: SharedFields) -> bool:
    """Return True if a memory was retained with the same fields as the turn would be."""
    fields = {**shared.identifying, **turn.metadata}
    stored = memory.metadata
    if shared.is_of_request:
        stored = {name: value for name, value in stored.items() if name in fields}
    return (memory.scope, set(memory.tags), dict(stored), memory.context) == (
        *(shared.scope, set(shared.tags), fields, shared.context),
    )


def _repeated(stored: Sequence[_StoredPiece], pieces: Sequence[_Piece]) -> int:
    """Return how many of the first turns are stored whole; 0 if it may be chance."""
    least = min(LEAST_OVERLAP, len(stored))
    for start in range(len(stored)):
        overlap = min(len(stored) - start, len(pieces))
        if overlap < least:
            continue
        if all(one.repeats(piece) for one, piece in zip(stored[start:], pieces, strict=False)):
            left = pieces[overlap:]
            return left[0].number if left else pieces[-1].number + 1
    return 0
