"""The difference between the stored version of a document and the one that is retained.

Nothing is stored here. The models read each new chunk once, however often the document turns out
to have been changed meanwhile, and never under the bank's lock.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
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
from hindsight_integrations.retain.mentions import candidate_names
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
from hindsight_integrations.stores.common import check_records, read_one

T = TypeVar("T")

STEP = 1 << 20
"""Distance between the positions of two chunks: leaves room for later insertions."""

LEAST_REPEATED = 3
"""Chunks that a window must repeat, unless it goes on behind all that is stored: a question may get
the same answer twice in a row."""

_LONGEST = 10_000
"""Memories of a conversation up to which its speakers are looked up."""
_LATEST = 20
"""Memories, stored last, whose speakers take part in a conversation that is continued."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes to a document's chunks.

    Attributes:
        added: index and position of each given chunk that is new.
        kept: number of given chunks that are stored already.
        removed: stored chunks to remove.
    """

    added: tuple[tuple[int, int], ...]
    kept: int
    removed: tuple[Chunk, ...]


def plan_replacement(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> Plan:
    """Make the document consist of the given chunks.

    A stored chunk is kept if a given one has its fingerprint and the order allows it. New chunks
    get positions between those of their kept neighbours; where no room is left, the chunks after
    them are replaced as well.

    Args:
        stored: the document's chunks, by position.
        fingerprints: of the given chunks, in order.
    """
    kept = _kept(stored, fingerprints)
    added: list[tuple[int, int]] = []
    pending: list[int] = []
    last = 0
    for index in range(len(fingerprints)):
        pending.append(index)
        if index not in kept:
            continue
        limit = kept[index].position
        gap = (limit - last) // len(pending)
        if len(pending) > 1 and gap < 1:
            del kept[index]
            continue
        added += [(n, last + (i + 1) * gap) for i, n in enumerate(pending[:-1])]
        pending = []
        last = limit
    added += [(n, last + (i + 1) * STEP) for i, n in enumerate(pending)]
    kept_ids = {chunk.id for chunk in kept.values()}
    removed = tuple(chunk for chunk in stored if chunk.id not in kept_ids)
    return Plan(tuple(added), len(kept_ids), removed)


def plan_addition(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> Plan:
    """Add the chunks that the document does not have yet after those that it has."""
    known = {chunk.fingerprint for chunk in stored}
    last = stored[-1].position if stored else 0
    new = [n for n, fingerprint in enumerate(fingerprints) if fingerprint not in known]
    added = tuple((n, last + (i + 1) * STEP) for i, n in enumerate(new))
    return Plan(added, len(fingerprints) - len(new), ())


def plan_window(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> Plan:
    """Add what follows those chunks that a window of the conversation repeats at its beginning.

    It repeats the last stored ones, and enough of them: all others are new, also those that say
    what was said before.
    """
    known, given = [chunk.fingerprint for chunk in stored], list(fingerprints)
    overlap = 0
    for start in range(len(known)):
        same = len(known) - start
        is_whole = start == 0 and 1 < same < len(given)
        if (is_whole or same >= LEAST_REPEATED) and known[start:] == given[:same]:
            overlap = same
            break
    last = stored[-1].position if stored else 0
    added = tuple((n, last + (n - overlap + 1) * STEP) for n in range(overlap, len(given)))
    return Plan(added, overlap, ())


def _kept(stored: Sequence[Chunk], fingerprints: Sequence[str]) -> dict[int, Chunk]:
    """Return the stored chunk that each given one equals, by index, in increasing position."""
    waiting: defaultdict[str, deque[Chunk]] = defaultdict(deque)
    for chunk in stored:
        waiting[chunk.fingerprint].append(chunk)
    kept: dict[int, Chunk] = {}
    last = -1
    for index, fingerprint in enumerate(fingerprints):
        candidates = waiting.get(fingerprint)
        while candidates and candidates[0].position <= last:
            candidates.popleft()
        if candidates:
            kept[index] = candidates.popleft()
            last = kept[index].position
    return kept


class Alongside(Protocol):
    """Starts work beside other work; see `RecallDependencies.alongside`."""

    def __call__(self, work: Callable[[], T], /) -> Callable[[], T]:
        """Start the work; return a function that returns its result."""
        ...


@dataclass(frozen=True, slots=True)
class RetainDependencies:
    """Stores, models and settings that a retain works with.

    `lock` gives the writer's lock of a bank, and how often it was taken before; `flush` brings the
    vector index up to date with the graph; `alongside` makes reads at once, each of which is a
    round trip on a server; the functions `before_retain` see each text first.
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

    def pieces(self, text: str) -> list[str]:
        """Return a text cut into the texts of its chunks."""
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
    """A turn's text, and its speaker if known."""

    text: str
    speaker: str | None


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A given chunk: its text, the turn it is part of, and the turn before that one."""

    text: str
    turn: Turn
    fingerprint: str
    preceding: PrecedingTurn | None


@dataclass(frozen=True, slots=True)
class DocumentDiff:
    """A submission, compared with the stored version of its document.

    Attributes:
        submission: the version given.
        stored: the stored document, if there is one.
        is_conversation: `Document.is_conversation` of the document to store.
        last: its last chunk.
        chunks: all chunks of the submission.
        plan: the changes to make.
        latest: the memories stored last of the document that is continued.
    """

    submission: Submission
    stored: Document | None
    is_conversation: bool
    last: Chunk | None
    chunks: tuple[NewChunk, ...]
    plan: Plan
    latest: tuple[Memory, ...] = ()

    @property
    def expected(self) -> tuple[str, str | None]:
        """Id and fingerprint of the stored document, which must still hold at the commit."""
        return self.submission.document_id, self.stored.fingerprint if self.stored else None

    @property
    def unchanged(self) -> bool:
        """True if there is nothing to add or to remove."""
        return not self.plan.added and not self.plan.removed

    @property
    def all_speakers(self) -> tuple[str, ...]:
        """Everybody who takes part in the conversation, each once."""
        before = self.latest if self.submission.is_spoken else ()
        stored = (memory.speaker for memory in before)
        given = (turn.speaker for turn in self.submission.turns)
        return tuple(dict.fromkeys(name for name in (*stored, *given) if name))

    @property
    def continues(self) -> bool:
        """True if its first turn is new and appended to what is stored."""
        return self.submission.mode == "append" and 0 in dict(self.plan.added)


@dataclass(frozen=True, slots=True)
class EncodedFact:
    """An extracted fact with its indexed text and vectors, independent of its position."""

    fact: Fact
    indexed: str
    encoded: EncodedText


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """The facts of a chunk, and those that the extractor gave and that cannot be used."""

    facts: tuple[EncodedFact, ...]
    rejected: tuple[Skipped, ...] = ()


FactsByChunk: TypeAlias = dict[tuple[int, int], ChunkFacts]
"""Facts extracted so far, by the index of the diff and of the chunk in it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact with all that is stored of it except its entities.

    `speakers` are all who take part in its conversation.
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

    If it continues a conversation, its first turn follows the last one stored now, whatever
    another writer may put between the two before the commit.

    Raises:
        ConflictError: the document is a conversation's own record, or a text would replace the
            messages of a conversation, or the reverse.
    """
    diff = _compare(deps, bank_id, submission, tuple(_chunks(deps, submission)))
    if diff.last is None or not diff.continues:
        return diff
    latest = _latest_memories(deps.graph, bank_id, submission.document_id)
    if not submission.is_spoken or _is_of_another_scope(latest, diff.last, submission):
        return replace(diff, latest=latest)
    speakers = {source.chunk_id: m.speaker for m in latest for source in m.sources}
    preceding = PrecedingTurn(diff.last.text, speakers.get(diff.last.id))
    first = submission.turns[0]
    return replace(
        diff,
        chunks=tuple(
            replace(chunk, preceding=preceding) if chunk.turn is first else chunk
            for chunk in diff.chunks
        ),
        latest=latest,
    )


def refresh(deps: RetainDependencies, bank_id: str, diff: DocumentDiff) -> DocumentDiff:
    """Compare the submission again, with the version stored now."""
    compared = _compare(deps, bank_id, diff.submission, diff.chunks)
    return replace(compared, latest=diff.latest)


def _is_of_another_scope(latest: Sequence[Memory], last: Chunk, submission: Submission) -> bool:
    """Return True if the turn before was said in another scope, so that a reply may not name it."""
    there = [m for m in latest if any(source.chunk_id == last.id for source in m.sources)]
    return any(memory.scope != submission.stamp.scope for memory in there or latest)


def _latest_memories(graph: GraphStore, bank_id: str, document_id: str) -> tuple[Memory, ...]:
    """Return the memories of a document that were stored last, in the order of the document."""
    filter = MemoryFilter(now=utc_now(), document_id=document_id, include_invalid=True)
    ids = graph.find_ids(bank_id, filter, _LONGEST) or []

    def position(memory: Memory) -> int:
        return max(s.position for s in memory.sources if s.document_id == document_id)

    return tuple(sorted(graph.read(bank_id, MEMORY, ids[-_LATEST:]).values(), key=position))


def _compare(
    deps: RetainDependencies, bank_id: str, submission: Submission, chunks: tuple[NewChunk, ...]
) -> DocumentDiff:
    """Plan the changes that turn the stored document into the given chunks."""
    # The document first, not at once: what another adds between the two reads is then found when
    # its fingerprint is compared in the transaction.
    stored = read_one(deps.graph, bank_id, DOCUMENT, submission.document_id, None)
    if stored is not None:
        check_records(bank_id, {stored.id: False}, {stored.id: stored.is_record})
    is_conversation = _holds_conversation(deps.graph, bank_id, stored, submission)
    if stored is None:
        old, hidden = [], []
    else:
        reading = deps.alongside(partial(hidden_with, deps.graph, bank_id, stored.id))
        old = list(read_one(deps.graph, bank_id, DOCUMENT_CHUNKS, stored.id, ()))
        hidden = reading()
    forgotten = {source.chunk_id for memory in hidden for source in memory.sources}
    shown = [chunk for chunk in old if chunk.id not in forgotten]
    plan = plan_replacement if submission.mode == "replace" else plan_addition
    if submission.is_window:
        plan = plan_window
    given = [chunk.fingerprint for chunk in chunks]
    changes = plan(shown, given)
    if forgotten:
        changes = _beside_forgotten(changes, old, forgotten, given, submission.mode)
    last = shown[-1] if shown else None
    return DocumentDiff(submission, stored, is_conversation, last, chunks, changes)


def _beside_forgotten(
    plan: Plan,
    stored: Sequence[Chunk],
    forgotten: Set[str | None],
    given: Collection[str],
    mode: UpdateMode,
) -> Plan:
    """Return a plan made without the chunks that were forgotten and wait for their deletion.

    What is given again is stored anew, in place of what waits: else the deletion would take it
    along. An addition leaves the others, which may be restored, and goes behind them.
    """
    waiting = [chunk for chunk in stored if chunk.id in forgotten]
    if mode == "replace":
        return replace(plan, removed=(*plan.removed, *waiting))
    shown = [chunk.position for chunk in stored if chunk.id not in forgotten]
    further = stored[-1].position - (shown[-1] if shown else 0)
    return Plan(
        tuple((index, position + further) for index, position in plan.added),
        plan.kept,
        (*plan.removed, *(chunk for chunk in waiting if chunk.fingerprint in given)),
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
        is_conversation = _was_conversation(graph, bank_id, stored.id, submission)
    if submission.mode == "append" or is_conversation == submission.is_conversation:
        return is_conversation
    held, id = ("a text", "session")
    if is_conversation:
        held, id = ("the messages of a conversation", "document_id")
    raise ConflictError(
        f"document {stored.id!r} of bank {bank_id!r} holds {held}; choose another {id}, give "
        "update_mode='append', or forget that document first"
    )


def _was_conversation(
    graph: GraphStore, bank_id: str, document_id: str, submission: Submission
) -> bool:
    """Return True if a document holds a conversation, as the speakers of its memories tell.

    Each message has a speaker; a text has one speaker at most, mostly none. Where both are
    possible, it is what the submission is.
    """
    stored = {memory.speaker for memory in _latest_memories(graph, bank_id, document_id)}
    if submission.is_conversation:
        return None not in stored
    given = {turn.speaker for turn in submission.turns}
    return bool(stored) and None not in stored and stored != given


def _chunks(deps: RetainDependencies, submission: Submission) -> Iterator[NewChunk]:
    """Cut the turns of a submission into chunks."""
    preceding: PrecedingTurn | None = None
    for turn in submission.turns:
        fields = turn_digest(replace(turn, text=""), submission.stamp)
        for text in deps.pieces(turn.text):
            yield NewChunk(text, turn, digest(deps.extractor.id, fields, text), preceding)
        preceding = PrecedingTurn(turn.text, turn.speaker) if submission.is_spoken else None


def pending_chunks(diffs: Sequence[DocumentDiff], facts: FactsByChunk) -> list[tuple[int, int]]:
    """Return the indexes of the diffs and chunks that are new and not extracted yet."""
    new = [(number, index) for number, diff in enumerate(diffs) for index, _ in diff.plan.added]
    return [key for key in new if key not in facts]


def extract_facts(
    deps: RetainDependencies,
    bank_id: str,
    diffs: Sequence[DocumentDiff],
    wanted: Sequence[tuple[int, int]],
) -> FactsByChunk:
    """Extract the facts of the chunks wanted and encode them, all in one batch.

    Raises:
        ExtractionError: the extractor failed.
        EmbeddingError: the embedder failed.
    """
    new = [(diffs[number], diffs[number].chunks[index]) for number, index in wanted]
    extracted = _extract(deps, bank_id, new)
    texts = [
        [_indexed(diff, fact, chunk) for fact in found.facts]
        for (diff, chunk), found in zip(new, extracted, strict=True)
    ]
    encoded = iter(deps.encoder.encode(list(chain.from_iterable(texts))))
    return {
        key: ChunkFacts(
            tuple(map(_encoded, found.facts, indexed, encoded)),
            found.rejected,
        )
        for key, found, indexed in zip(wanted, extracted, texts, strict=True)
    }


def _encoded(fact: Fact, indexed: str, encoded: EncodedText) -> EncodedFact:
    """Return a fact with its vectors; one that carries a vector keeps it."""
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
    reading = deps.alongside(partial(deps.graph.get_bank, bank_id))
    known = deps.graph.read(bank_id, ENTITY_NAMED, sorted(names))
    stored = reading()
    bank = stored.bank if stored else None
    return deps.extract([_passage(diff, chunk, bank) for diff, chunk in chunks], known)


def _passage(diff: DocumentDiff, chunk: NewChunk, bank: Bank | None) -> Passage:
    turn, submission = chunk.turn, diff.submission
    return Passage(
        text=chunk.text,
        mentioned_at=turn.mentioned_at,
        speaker=turn.speaker,
        addressees=tuple(name for name in diff.all_speakers if name != turn.speaker),
        preceding=chunk.preceding.text if chunk.preceding else None,
        preceding_speaker=chunk.preceding.speaker if chunk.preceding else None,
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
        preceding=chunk.preceding.text if chunk.preceding else None,
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
