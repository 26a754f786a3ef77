"""Reading a submission: what of it is new, which facts it holds, and their vectors.

All of this runs outside the bank's lock; nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from hindsight_integrations.errors import ExtractionError
from hindsight_integrations.language.encode import EncodedText, TextEncoder
from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Chunk, Document, Source
from hindsight_integrations.retain import chunk
from hindsight_integrations.retain.enrich import answered_question, indexed_text
from hindsight_integrations.retain.names import candidate_names
from hindsight_integrations.retain.plan import Plan, plan_addition, plan_replacement
from hindsight_integrations.retain.ports import Extractor, Fact, Passage
from hindsight_integrations.retain.request import Stamp, Submission, Turn, digest, turn_digest
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.ports import GraphStore, VectorIndex


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


@dataclass(frozen=True, slots=True)
class Piece:
    """A new chunk: its text, the turn it is part of, and what went before it."""

    text: str
    turn: Turn
    fingerprint: str
    preceding: Turn | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A submission, compared with what is stored of its document."""

    submission: Submission
    stored: Document | None
    pieces: tuple[Piece, ...]
    plan: Plan

    @property
    def unchanged(self) -> bool:
        """Whether the document stays as it is."""
        return not self.plan.added and not self.plan.removed


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
    """Compare a submission with what is stored of its document."""
    graph = parts.graph
    stored = graph.get_document(bank_id, submission.document_id)
    chunks = graph.get_chunks(bank_id, submission.document_id) if stored else []
    pieces = tuple(_pieces(parts, submission, chunks))
    compare = plan_replacement if submission.mode == "replace" else plan_addition
    plan = compare(chunks, [piece.fingerprint for piece in pieces])
    return Draft(submission, stored, pieces, plan)


def _pieces(parts: RetainParts, submission: Submission, chunks: Sequence[Chunk]) -> Iterator[Piece]:
    preceding: Turn | None = None
    for turn in submission.turns:
        told = turn_digest(replace(turn, text=""), submission.stamp)
        for text in chunk.split(turn.text, parts.settings.chunk_tokens, parts.tokenizer.count):
            yield Piece(text, turn, digest(parts.extractor.id, told, text), preceding)
        preceding = turn if submission.is_conversation else None


def read_statements(
    parts: RetainParts, bank_id: str, drafts: Sequence[Draft]
) -> list[list[Statement]]:
    """Extract the facts of what is new in each draft, and encode them, all in one go.

    Raises:
        ExtractionError: the extractor failed.
        EmbeddingError: the embedder failed.
    """
    new = [
        (number, position, draft.pieces[place])
        for number, draft in enumerate(drafts)
        for place, position in draft.plan.added
    ]
    found = _facts(parts, bank_id, [(drafts[number], piece) for number, _, piece in new])
    rows = [
        (number, fact, piece, _source(drafts[number], position, piece))
        for (number, position, piece), facts in zip(new, found, strict=True)
        for fact in facts
    ]
    indexed = [_indexed(drafts[number], fact, piece) for number, fact, piece, _ in rows]
    statements: list[list[Statement]] = [[] for _ in drafts]
    for (number, fact, piece, source), text, code in zip(
        rows, indexed, parts.encoder.encode(indexed), strict=True
    ):
        stamp = drafts[number].submission.stamp
        statements[number].append(Statement(fact, piece, stamp, source, text, code))
    return statements


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
    speakers = dict.fromkeys(other.speaker for other in submission.turns if other.speaker)
    return Passage(
        text=piece.text,
        mentioned_at=turn.mentioned_at,
        speaker=turn.speaker,
        addressees=tuple(name for name in speakers if name != turn.speaker),
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
    before = piece.preceding.text if piece.preceding else None
    return indexed_text(
        fact.text,
        speaker=turn.speaker,
        title=draft.submission.stamp.context,
        said_at=turn.mentioned_at if turn.dated else None,
        answers=answered_question(fact.text, before),
    )


def changed_meanwhile(parts: RetainParts, bank_id: str, draft: Draft) -> bool:
    """Whether the document is another one by now than the draft was made from."""
    now = parts.graph.get_document(bank_id, draft.submission.document_id)
    then = draft.stored
    return (now and now.fingerprint) != (then and then.fingerprint)


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
