"""Reading a submission: what of it is new, which facts it holds, and their vectors.

Nothing is stored here. The models read each piece once, however often the document turns out to
have been changed meanwhile, and never under the bank's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from hindsight_integrations.errors import ExtractionError
from hindsight_integrations.language.encode import EncodedText, TextEncoder
from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Chunk, Document, Memory, Source, utc_now
from hindsight_integrations.retain import chunk
from hindsight_integrations.retain.enrich import indexed_text
from hindsight_integrations.retain.gazetteer import candidate_names
from hindsight_integrations.retain.plan import Plan, plan_addition, plan_replacement
from hindsight_integrations.retain.ports import Extractor, Fact, Passage
from hindsight_integrations.retain.request import Stamp, Submission, Turn, digest, turn_digest
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.requests import MemoryFilter

_LONGEST = 10_000
"""Memories of a conversation up to which it is looked up who spoke in it."""
_LATEST = 20
"""Memories, stored last, whose speakers take part in a conversation that goes on."""


@dataclass(frozen=True, slots=True)
class RetainParts:
    """What a retain works with.

    `lock` gives the writer's lock of a bank; `flush` brings the vector index up to date with the
    graph.
    """

    graph: GraphStore
    index: VectorIndex
    encoder: TextEncoder
    extractor: Extractor
    tokenizer: Tokenizer
    settings: Settings
    lock: Callable[[str], AbstractContextManager[object]]
    flush: Callable[[], None]


class Said(NamedTuple):
    """What was said, and by whom, if that is known."""

    text: str
    speaker: str | None


@dataclass(frozen=True, slots=True)
class Piece:
    """A new chunk: its text, the turn it is part of, and what was said before that turn."""

    text: str
    turn: Turn
    fingerprint: str
    preceding: Said | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A submission, compared with what is stored of its document.

    `last` is the end of what is stored; `speakers` are those of the conversation it goes on with.
    """

    submission: Submission
    stored: Document | None
    last: Chunk | None
    pieces: tuple[Piece, ...]
    plan: Plan
    speakers: tuple[str, ...] = ()

    @property
    def expected(self) -> tuple[str, str | None]:
        """The document it was compared with, by its fingerprint, if there was one."""
        return self.submission.document_id, self.stored.fingerprint if self.stored else None

    @property
    def unchanged(self) -> bool:
        """Whether the document stays as it is."""
        return not self.plan.added and not self.plan.removed

    @property
    def goes_on(self) -> bool:
        """Whether its first turn is new, and said in a conversation that is added to."""
        adds = self.submission.is_conversation and self.submission.mode == "append"
        return adds and 0 in dict(self.plan.added)


@dataclass(frozen=True, slots=True)
class Reading:
    """A fact as the models read it, wherever in the document its piece comes to stand."""

    fact: Fact
    indexed: str
    encoded: EncodedText


Readings: TypeAlias = dict[tuple[int, int], list[Reading]]
"""What was read so far, by the number of the draft and of the piece in it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact with all that is stored of it save its entities."""

    fact: Fact
    piece: Piece
    stamp: Stamp
    source: Source
    indexed: str
    encoded: EncodedText


def read_draft(parts: RetainParts, bank_id: str, submission: Submission) -> Draft:
    """Compare a submission with what is stored of its document.

    If it goes on with a conversation, its first turn was said after the last one stored by now,
    whatever another writer may yet put between the two.
    """
    draft = _compared(parts, bank_id, submission, tuple(_pieces(parts, submission)))
    if draft.last is None or not draft.goes_on:
        return draft
    said = _said_lately(parts.graph, bank_id, submission.document_id)
    speakers = {source.chunk_id: m.speaker for m in said for source in m.sources}
    before = Said(draft.last.text, speakers.get(draft.last.id))
    first = submission.turns[0]
    return replace(
        draft,
        pieces=tuple(replace(p, preceding=before) if p.turn is first else p for p in draft.pieces),
        speakers=tuple(memory.speaker for memory in said if memory.speaker),
    )


def _said_lately(graph: GraphStore, bank_id: str, document_id: str) -> list[Memory]:
    """The latest memories of a document."""
    filter = MemoryFilter(now=utc_now(), document_id=document_id, include_invalid=True)
    ids = graph.matching(bank_id, filter, _LONGEST) or []
    return list(graph.get_memories(bank_id, ids[-_LATEST:]).values())


def renewed(parts: RetainParts, bank_id: str, draft: Draft) -> Draft:
    """Compare it again, with what is stored by now."""
    compared = _compared(parts, bank_id, draft.submission, draft.pieces)
    return replace(compared, speakers=draft.speakers)


def _compared(
    parts: RetainParts, bank_id: str, submission: Submission, pieces: tuple[Piece, ...]
) -> Draft:
    stored = parts.graph.get_document(bank_id, submission.document_id)
    chunks = parts.graph.get_chunks(bank_id, submission.document_id) if stored else []
    compare = plan_replacement if submission.mode == "replace" else plan_addition
    plan = compare(chunks, [piece.fingerprint for piece in pieces])
    return Draft(submission, stored, chunks[-1] if chunks else None, pieces, plan)


def _pieces(parts: RetainParts, submission: Submission) -> Iterator[Piece]:
    preceding: Said | None = None
    for turn in submission.turns:
        told = turn_digest(replace(turn, text=""), submission.stamp)
        for text in chunk.split(turn.text, parts.settings.chunk_tokens, parts.tokenizer.count):
            yield Piece(text, turn, digest(parts.extractor.id, told, text), preceding)
        preceding = Said(turn.text, turn.speaker) if submission.is_conversation else None


def unread(drafts: Sequence[Draft], readings: Readings) -> list[tuple[int, int]]:
    """Numbers of the drafts and pieces that are new and not read yet."""
    new = [(n, place) for n, draft in enumerate(drafts) for place, _ in draft.plan.added]
    return [key for key in new if key not in readings]


def read_pieces(
    parts: RetainParts, bank_id: str, drafts: Sequence[Draft], wanted: Sequence[tuple[int, int]]
) -> Readings:
    """Extract the facts of the pieces wanted, and encode them, all in one go.

    Raises:
        ExtractionError: the extractor failed.
        EmbeddingError: the embedder failed.
    """
    new = [(drafts[number], drafts[number].pieces[place]) for number, place in wanted]
    found = _facts(parts, bank_id, new)
    rows = [
        (key, fact, _indexed(draft, fact, piece))
        for key, (draft, piece), facts in zip(wanted, new, found, strict=True)
        for fact in facts
    ]
    readings: Readings = {key: [] for key in wanted}
    encoded = parts.encoder.encode([text for _, _, text in rows])
    for (key, fact, text), code in zip(rows, encoded, strict=True):
        readings[key].append(Reading(fact, text, code))
    return readings


def statements_of(number: int, draft: Draft, readings: Readings) -> list[Statement]:
    """What is new in the draft of this number, in order, all of it read."""
    return [
        Statement(
            fact=reading.fact,
            piece=draft.pieces[place],
            stamp=draft.submission.stamp,
            source=_source(draft, position, draft.pieces[place]),
            indexed=reading.indexed,
            encoded=reading.encoded,
        )
        for place, position in draft.plan.added
        for reading in readings[number, place]
    ]


def _facts(
    parts: RetainParts, bank_id: str, pieces: Sequence[tuple[Draft, Piece]]
) -> list[list[Fact]]:
    if not pieces:
        return []
    names = set().union(*(candidate_names(piece.text) for _, piece in pieces))
    known = parts.graph.lookup_entities(bank_id, sorted(names))
    found = parts.extractor.extract([_passage(draft, piece) for draft, piece in pieces], known)
    if len(found) != len(pieces):
        raise ExtractionError(
            f"extractor {parts.extractor.id!r} answered {len(found)} of {len(pieces)} passages; "
            "it must give a list of facts for each, empty if there are none"
        )
    return found


def _passage(draft: Draft, piece: Piece) -> Passage:
    turn, submission = piece.turn, draft.submission
    speakers = dict.fromkeys([*draft.speakers, *(other.speaker for other in submission.turns)])
    return Passage(
        text=piece.text,
        mentioned_at=turn.mentioned_at,
        speaker=turn.speaker,
        addressees=tuple(name for name in speakers if name and name != turn.speaker),
        preceding=piece.preceding.text if piece.preceding else None,
        preceding_speaker=piece.preceding.speaker if piece.preceding else None,
        title=submission.stamp.context,
        type=submission.stamp.type,
    )


def _source(draft: Draft, position: int, piece: Piece) -> Source:
    return Source(
        document_id=draft.submission.document_id,
        chunk_id=_chunk_id(draft.submission.document_id, position, piece),
        position=position,
        mentioned_at=piece.turn.mentioned_at,
        reference=piece.turn.reference,
    )


def _indexed(draft: Draft, fact: Fact, piece: Piece) -> str:
    turn = piece.turn
    return indexed_text(
        fact.text,
        speaker=turn.speaker,
        title=draft.submission.stamp.context,
        said_at=turn.mentioned_at if turn.dated else None,
        preceding=piece.preceding.text if piece.preceding else None,
    )


def new_chunks(draft: Draft) -> Iterator[Chunk]:
    """The chunks a draft adds, in their places."""
    document_id = draft.submission.document_id
    for number, position in draft.plan.added:
        piece = draft.pieces[number]
        chunk_id = _chunk_id(document_id, position, piece)
        yield Chunk(chunk_id, document_id, position, piece.text, piece.fingerprint)


def _chunk_id(document_id: str, position: int, piece: Piece) -> str:
    """Unlike that of a chunk that stood in the same place before."""
    return f"{document_id}/{position}/{piece.fingerprint[:8]}"
