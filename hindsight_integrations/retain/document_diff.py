"""The difference between the stored version of a document and a submitted one.

Nothing is stored here. The models read each new chunk once, even if the document is changed by
another writer meanwhile, and never under the bank's lock.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from hindsight_integrations.errors import ConflictError
from hindsight_integrations.models import Bank, Chunk, Document, Entity, Memory, Source, utc_now
from hindsight_integrations.nlp.text_encoder import EncodedText, TextEncoder
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.results import Skipped
from hindsight_integrations.retain import chunking
from hindsight_integrations.retain.enrichment import indexed_text
from hindsight_integrations.retain.extraction import Extractor, Fact, Passage
from hindsight_integrations.retain.extractors import ExtractedFacts, extract_all
from hindsight_integrations.retain.guard import BeforeRetain
from hindsight_integrations.retain.hidden import hidden_with
from hindsight_integrations.retain.known_names import candidate_names
from hindsight_integrations.retain.request import (
    SharedFields,
    Submission,
    Turn,
    UpdateMode,
    digest,
    turn_digest,
)
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import (
    DOCUMENT,
    DOCUMENT_CHUNKS,
    ENTITY_NAMED,
    MEMORY,
    GraphStore,
    MemoryFilter,
    VectorIndex,
)
from hindsight_integrations.stores.reads import read_one
from hindsight_integrations.stores.refusals import check_records

T = TypeVar("T")

STEP = 1 << 20
"""Distance between the positions of two chunks, which leaves gaps for later insertions."""

MIN_WINDOW_OVERLAP = 3
"""Minimum number of stored chunks that a window must repeat, unless it repeats the whole document:
a question may get the same answer twice in a row."""

_MAX_CONVERSATION = 10_000
"""Most memories of a conversation whose speakers are looked up."""
_LATEST_MEMORIES = 20
"""Latest memories whose speakers count as participants of a continued conversation."""


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """Changes to a document's chunks.

    Attributes:
        added: index and position of each submitted chunk that is new.
        kept_count: number of submitted chunks that are stored already.
        removed: stored chunks to remove.
    """

    added: tuple[tuple[int, int], ...]
    kept_count: int
    removed: tuple[Chunk, ...]


def plan_replacement(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> ChunkPlan:
    """Plan changes after which the document consists of the submitted chunks.

    A stored chunk is kept if a submitted one has its fingerprint and the order allows it. New
    chunks get positions between those of their kept neighbours; where no gap is left, the chunks
    after them are replaced as well. `stored` is in the order of positions.
    """
    matched = _match_stored(stored, fingerprints)
    added: list[tuple[int, int]] = []
    pending: list[int] = []
    last_position = 0
    for index in range(len(fingerprints)):
        pending.append(index)
        if index not in matched:
            continue
        limit = matched[index].position
        gap = (limit - last_position) // len(pending)
        if len(pending) > 1 and gap < 1:
            del matched[index]
            continue
        added += _placed(pending[:-1], last_position, gap)
        pending = []
        last_position = limit
    added += _placed(pending, last_position)
    kept_ids = {chunk.id for chunk in matched.values()}
    removed = tuple(chunk for chunk in stored if chunk.id not in kept_ids)
    return ChunkPlan(tuple(added), len(kept_ids), removed)


def plan_addition(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> ChunkPlan:
    """Plan to append the submitted chunks that the document does not have yet."""
    known = {chunk.fingerprint for chunk in stored}
    new = [index for index, fingerprint in enumerate(fingerprints) if fingerprint not in known]
    added = tuple(_placed(new, _last_position(stored)))
    return ChunkPlan(added, len(fingerprints) - len(new), ())


def plan_window(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> ChunkPlan:
    """Plan to append the part of a sliding window over a conversation that is not stored yet.

    The window overlaps if its first chunks equal the last stored ones, and enough of them
    (`MIN_WINDOW_OVERLAP`). All chunks after the overlap are new, even if they repeat earlier ones.
    """
    known, given = [chunk.fingerprint for chunk in stored], list(fingerprints)

    def overlaps(length: int) -> bool:
        is_whole_document = 1 < length == len(known) < len(given)
        is_enough = is_whole_document or length >= MIN_WINDOW_OVERLAP
        return is_enough and known[-length:] == given[:length]

    overlap = next(filter(overlaps, range(len(known), 0, -1)), 0)
    added = _placed(range(overlap, len(given)), _last_position(stored))
    return ChunkPlan(tuple(added), overlap, ())


def _placed(indexes: Iterable[int], after: int, gap: int = STEP) -> list[tuple[int, int]]:
    """Return these indexes of chunks with the positions after one, so far apart."""
    return [(index, after + step * gap) for step, index in enumerate(indexes, 1)]


def _last_position(stored: Sequence[Chunk]) -> int:
    return stored[-1].position if stored else 0


def _match_stored(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> dict[int, Chunk]:
    """Match submitted chunks to stored ones by fingerprint: index to chunk, in increasing order."""
    unmatched: defaultdict[str, deque[Chunk]] = defaultdict(deque)
    for chunk in stored:
        unmatched[chunk.fingerprint].append(chunk)
    matched: dict[int, Chunk] = {}
    last_position = -1
    for index, fingerprint in enumerate(fingerprints):
        candidates = unmatched.get(fingerprint)
        while candidates and candidates[0].position <= last_position:
            candidates.popleft()
        if candidates:
            matched[index] = candidates.popleft()
            last_position = matched[index].position
    return matched


class Alongside(Protocol):
    """Submits work to an executor; see `RecallDependencies.alongside`."""

    def __call__(self, work: Callable[[], T], /) -> Callable[[], T]:
        """Submit the work; return a function that waits for its result."""
        ...


@dataclass(frozen=True, slots=True)
class RetainDependencies:
    """Stores, models and settings of retain.

    Attributes:
        lock: returns the writer's lock of a bank; entering it gives the number of earlier entries.
        flush: brings the vector index up to date with the graph.
        alongside: runs reads concurrently, each of which is a round trip on a server.
        before_retain: guards that see each text first.
    """

    graph: GraphStore
    index: VectorIndex
    encoder: TextEncoder
    extractor: Extractor
    tokenizer: Tokenizer
    settings: Settings
    lock: Callable[[str], AbstractContextManager[int]]
    flush: Callable[[str | None], None]
    alongside: Alongside
    before_retain: tuple[BeforeRetain, ...] = ()

    def chunk_texts(self, text: str) -> list[str]:
        """Split a text into the texts of its chunks."""
        return list(chunking.split(text, self.settings.chunk_tokens, self.tokenizer.count))

    def extract(
        self, passages: Sequence[Passage], known: Mapping[str, Entity]
    ) -> list[ExtractedFacts]:
        """Return the facts of each passage, each fact checked; see `extract_all`."""
        return extract_all(
            self.extractor,
            passages,
            known,
            dimension=self.encoder.embedder.dimension,
            max_chars=self.settings.max_content_chars,
        )


class PrecedingTurn(NamedTuple):
    """A turn's text, and its speaker if known; of no turn, neither."""

    text: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A submitted chunk: its text, its turn, and the turn before that one."""

    text: str
    turn: Turn
    fingerprint: str
    preceding: PrecedingTurn


@dataclass(frozen=True, slots=True)
class DocumentDiff:
    """A submission, compared with the stored version of its document.

    Attributes:
        submission: the submitted version.
        stored: the stored document, if there is one.
        is_conversation: `Document.is_conversation` of the document to store.
        last_chunk: last stored chunk.
        chunks: all chunks of the submission.
        plan: the changes to make.
        latest_memories: latest memories of the document, if a conversation is continued.
    """

    submission: Submission
    stored: Document | None
    is_conversation: bool
    last_chunk: Chunk | None
    chunks: tuple[NewChunk, ...]
    plan: ChunkPlan
    latest_memories: tuple[Memory, ...] = ()

    @property
    def expected(self) -> tuple[str, str | None]:
        """Id and fingerprint that the stored document must still have at the commit."""
        return self.submission.document_id, self.stored.fingerprint if self.stored else None

    @property
    def unchanged(self) -> bool:
        """True if there is nothing to add or to remove."""
        return not self.plan.added and not self.plan.removed

    @property
    def all_speakers(self) -> tuple[str, ...]:
        """Everybody who takes part in the conversation, each once."""
        before = self.latest_memories if self.submission.is_spoken else ()
        stored = (memory.speaker for memory in before)
        given = (turn.speaker for turn in self.submission.turns)
        return tuple(dict.fromkeys(name for name in (*stored, *given) if name))

    @property
    def continues(self) -> bool:
        """True if its first turn is new and appended to the stored document."""
        return self.submission.mode == "append" and 0 in dict(self.plan.added)


@dataclass(frozen=True, slots=True)
class EncodedFact:
    """An extracted fact with its indexed text and vectors, independent of its position."""

    fact: Fact
    indexed: str
    encoded: EncodedText


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """The usable facts that the extractor returned for a chunk, and the rejected ones."""

    facts: tuple[EncodedFact, ...]
    rejected: tuple[Skipped, ...] = ()


FactsByChunk: TypeAlias = dict[tuple[int, int], ChunkFacts]
"""Facts extracted so far, by the index of the diff and of the chunk in it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact with all that is stored of it except its entities.

    Attributes:
        speakers: all participants of its conversation.
    """

    fact: Fact
    chunk: NewChunk
    shared: SharedFields
    source: Source
    indexed: str
    encoded: EncodedText
    speakers: tuple[str, ...] = ()


def diff_document(deps: RetainDependencies, bank_id: str, submission: Submission) -> DocumentDiff:
    """Compare a submission with the stored version of its document.

    If it continues a conversation, its first turn is read as a reply to the last turn stored now,
    even if another writer adds a turn between the two before the commit.

    Raises:
        ConflictError: the document is the record of a conversation, or a text would replace the
            messages of a conversation, or the reverse.
    """
    diff = _compare(deps, bank_id, submission, tuple(_chunks(deps, submission)))
    if diff.last_chunk is None or not diff.continues:
        return diff
    latest = _latest_memories(deps.graph, bank_id, submission.document_id)
    if not submission.is_spoken or _is_in_another_scope(latest, diff.last_chunk, submission):
        return replace(diff, latest_memories=latest)
    speakers = {source.chunk_id: m.speaker for m in latest for source in m.sources}
    preceding = PrecedingTurn(diff.last_chunk.text, speakers.get(diff.last_chunk.id))
    first = submission.turns[0]
    return replace(
        diff,
        chunks=tuple(
            replace(chunk, preceding=preceding) if chunk.turn is first else chunk
            for chunk in diff.chunks
        ),
        latest_memories=latest,
    )


def refresh(deps: RetainDependencies, bank_id: str, diff: DocumentDiff) -> DocumentDiff:
    """Compare the submission again, with the current version of the document."""
    compared = _compare(deps, bank_id, diff.submission, diff.chunks)
    return replace(compared, latest_memories=diff.latest_memories)


def _is_in_another_scope(
    latest: Sequence[Memory], last_chunk: Chunk, submission: Submission
) -> bool:
    """Return True if the last turn is of another scope, so that a reply must not quote it."""
    of_last_chunk = [
        m for m in latest if any(source.chunk_id == last_chunk.id for source in m.sources)
    ]
    return any(memory.scope != submission.stamp.scope for memory in of_last_chunk or latest)


def _latest_memories(graph: GraphStore, bank_id: str, document_id: str) -> tuple[Memory, ...]:
    """Return the latest memories of a document, in the order of the document."""
    filter = MemoryFilter(now=utc_now(), document_id=document_id, include_invalid=True)
    ids = graph.find_ids(bank_id, filter, _MAX_CONVERSATION) or []

    def position(memory: Memory) -> int:
        return max(s.position for s in memory.sources if s.document_id == document_id)

    return tuple(
        sorted(graph.read(bank_id, MEMORY, ids[-_LATEST_MEMORIES:]).values(), key=position)
    )


def _compare(
    deps: RetainDependencies, bank_id: str, submission: Submission, chunks: tuple[NewChunk, ...]
) -> DocumentDiff:
    """Plan the changes that turn the stored document into the submitted chunks."""
    # The document is read before its chunks, not concurrently: if another writer adds chunks
    # between the reads, the comparison of fingerprints in the transaction detects it.
    stored = read_one(deps.graph, bank_id, DOCUMENT, submission.document_id, None)
    if stored is not None:
        check_records(bank_id, {stored.id: False}, {stored.id: stored.is_record})
    is_conversation = _holds_conversation(deps.graph, bank_id, stored, submission)
    if stored is None:
        stored_chunks, hidden_memories = [], []
    else:
        read_hidden = deps.alongside(partial(hidden_with, deps.graph, bank_id, stored.id))
        stored_chunks = list(read_one(deps.graph, bank_id, DOCUMENT_CHUNKS, stored.id, ()))
        hidden_memories = read_hidden()
    hidden_ids = {source.chunk_id for memory in hidden_memories for source in memory.sources}
    visible = [chunk for chunk in stored_chunks if chunk.id not in hidden_ids]
    plan = plan_replacement if submission.mode == "replace" else plan_addition
    if submission.is_window:
        plan = plan_window
    fingerprints = [chunk.fingerprint for chunk in chunks]
    changes = plan(visible, fingerprints)
    if hidden_ids:
        changes = _with_hidden_chunks(
            changes, stored_chunks, hidden_ids, fingerprints, submission.mode
        )
    last = visible[-1] if visible else None
    return DocumentDiff(submission, stored, is_conversation, last, chunks, changes)


def _with_hidden_chunks(
    plan: ChunkPlan,
    stored: Sequence[Chunk],
    hidden_ids: Set[str | None],
    fingerprints: Collection[str],
    mode: UpdateMode,
) -> ChunkPlan:
    """Complete a plan that ignores hidden chunks: forgotten ones that await deletion.

    A chunk that is submitted again is stored as a new one and the hidden one is removed: otherwise
    its deletion would remove both. An append leaves other hidden chunks, which may be restored, and
    is positioned after them.
    """
    hidden = [chunk for chunk in stored if chunk.id in hidden_ids]
    if mode == "replace":
        return replace(plan, removed=(*plan.removed, *hidden))
    visible = [chunk for chunk in stored if chunk.id not in hidden_ids]
    offset = stored[-1].position - _last_position(visible)
    return ChunkPlan(
        tuple((index, position + offset) for index, position in plan.added),
        plan.kept_count,
        (*plan.removed, *(chunk for chunk in hidden if chunk.fingerprint in fingerprints)),
    )


def _holds_conversation(
    graph: GraphStore, bank_id: str, stored: Document | None, submission: Submission
) -> bool:
    """Return True if the document holds a conversation once the submission is stored.

    What is appended does not change what a document is.

    Raises:
        ConflictError: a text would replace a conversation, or the reverse.
    """
    if stored is None:
        return submission.is_conversation
    is_conversation = stored.is_conversation
    if is_conversation is None:  # an earlier version stored it
        is_conversation = _looks_like_conversation(graph, bank_id, stored.id, submission)
    if submission.mode == "append" or is_conversation == submission.is_conversation:
        return is_conversation
    content, argument = ("a text", "session")
    if is_conversation:
        content, argument = ("the messages of a conversation", "document_id")
    raise ConflictError(
        f"document {stored.id!r} of bank {bank_id!r} holds {content}; choose another {argument}, "
        "give update_mode='append', or forget that document first"
    )


def _looks_like_conversation(
    graph: GraphStore, bank_id: str, document_id: str, submission: Submission
) -> bool:
    """Infer from the speakers of its memories if a document holds a conversation.

    Each message has a speaker; a text has at most one, mostly none. If the speakers fit both, the
    document is taken for the kind of the submission.
    """
    stored = {memory.speaker for memory in _latest_memories(graph, bank_id, document_id)}
    if submission.is_conversation:
        return None not in stored
    given = {turn.speaker for turn in submission.turns}
    return bool(stored) and None not in stored and stored != given


def _chunks(deps: RetainDependencies, submission: Submission) -> Iterator[NewChunk]:
    """Cut the turns of a submission into chunks."""
    preceding = PrecedingTurn()
    for turn in submission.turns:
        fields = turn_digest(replace(turn, text=""), submission.stamp)
        for text in deps.chunk_texts(turn.text):
            yield NewChunk(text, turn, digest(deps.extractor.id, fields, text), preceding)
        if submission.is_spoken:
            preceding = PrecedingTurn(turn.text, turn.speaker)


def pending_chunks(diffs: Sequence[DocumentDiff], facts: FactsByChunk) -> list[tuple[int, int]]:
    """Return the indexes (diff, chunk) of new chunks whose facts have not been extracted yet."""
    new = [(number, index) for number, diff in enumerate(diffs) for index, _ in diff.plan.added]
    return [key for key in new if key not in facts]


def extract_facts(
    deps: RetainDependencies,
    bank_id: str,
    diffs: Sequence[DocumentDiff],
    pending: Sequence[tuple[int, int]],
) -> FactsByChunk:
    """Extract the facts of the pending chunks and encode them, in one batch.

    Raises:
        ExtractionError: the extractor failed.
        EmbeddingError: the embedder failed.
    """
    diffs_and_chunks = [(diffs[number], diffs[number].chunks[index]) for number, index in pending]
    extracted = _extract(deps, bank_id, diffs_and_chunks)
    texts = [
        [_indexed(diff, fact, chunk) for fact in chunk_facts.facts]
        for (diff, chunk), chunk_facts in zip(diffs_and_chunks, extracted, strict=True)
    ]
    encoded = iter(deps.encoder.encode(list(chain.from_iterable(texts))))
    return {
        key: ChunkFacts(
            tuple(map(_encoded, chunk_facts.facts, indexed, encoded)), chunk_facts.rejected
        )
        for key, chunk_facts, indexed in zip(pending, extracted, texts, strict=True)
    }


def _encoded(fact: Fact, indexed: str, encoded: EncodedText) -> EncodedFact:
    """Add the vectors to a fact; a vector given by the extractor takes precedence."""
    if fact.vector is not None:
        encoded = replace(encoded, vector=np.asarray(fact.vector, dtype=np.float32))
    return EncodedFact(fact, indexed, encoded)


def new_statements(number: int, diff: DocumentDiff, facts: FactsByChunk) -> list[Statement]:
    """Return the statements that the diff with this index adds, in order."""
    speakers = diff.all_speakers
    return [
        Statement(
            fact=fact.fact,
            chunk=diff.chunks[index],
            shared=diff.submission.stamp,
            source=_source(diff, position, diff.chunks[index]),
            indexed=fact.indexed,
            encoded=fact.encoded,
            speakers=speakers,
        )
        for index, position in diff.plan.added
        for fact in facts[number, index].facts
    ]


def _extract(
    deps: RetainDependencies, bank_id: str, chunks: Sequence[tuple[DocumentDiff, NewChunk]]
) -> list[ExtractedFacts]:
    """Return the facts of each chunk."""
    if not chunks:
        return []
    names = set().union(*(candidate_names(chunk.text) for _, chunk in chunks))
    read_bank = deps.alongside(partial(deps.graph.get_bank, bank_id))
    known_entities = deps.graph.read(bank_id, ENTITY_NAMED, sorted(names))
    stored = read_bank()
    bank = stored.bank if stored else None
    return deps.extract([_passage(diff, chunk, bank) for diff, chunk in chunks], known_entities)


def _passage(diff: DocumentDiff, chunk: NewChunk, bank: Bank | None) -> Passage:
    turn, submission = chunk.turn, diff.submission
    return Passage(
        text=chunk.text,
        mentioned_at=turn.mentioned_at,
        speaker=turn.speaker,
        addressees=tuple(name for name in diff.all_speakers if name != turn.speaker),
        preceding=chunk.preceding.text,
        preceding_speaker=chunk.preceding.speaker,
        title=turn.context_in(submission.stamp),
        type=submission.stamp.type,
        bank=bank,
        document_id=submission.document_id,
    )


def _source(diff: DocumentDiff, position: int, chunk: NewChunk) -> Source:
    return Source(
        document_id=diff.submission.document_id,
        chunk_id=_chunk_id(diff, position, chunk),
        position=position,
        mentioned_at=chunk.turn.said_at,
        reference=chunk.turn.reference,
    )


def _indexed(diff: DocumentDiff, fact: Fact, chunk: NewChunk) -> str:
    turn = chunk.turn
    return indexed_text(
        fact.text,
        speaker=turn.speaker,
        title=turn.context_in(diff.submission.stamp),
        said_at=turn.said_at if turn.dated else None,
        preceding=chunk.preceding.text,
    )


def new_chunks(diff: DocumentDiff) -> Iterator[Chunk]:
    """Yield the chunks that a diff adds, with their ids and positions."""
    for index, position in diff.plan.added:
        chunk = diff.chunks[index]
        yield Chunk(
            id=_chunk_id(diff, position, chunk),
            document_id=diff.submission.document_id,
            position=position,
            text=chunk.text,
            fingerprint=chunk.fingerprint,
        )


def _chunk_id(diff: DocumentDiff, position: int, chunk: NewChunk) -> str:
    """Return an id that differs from that of an earlier chunk at the same position."""
    return f"{diff.submission.document_id}/{position}/{chunk.fingerprint[:8]}"
