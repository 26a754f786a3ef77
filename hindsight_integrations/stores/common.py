"""Code shared by all graph stores, so that they refuse, order and rank alike.

Precondition checks of change sets, codecs of times and vectors, cursors, name similarity, and the
parts of applying a change set that do not depend on the database. None of these reads or writes:
the stores pass in what they have. The last section is for users of any graph store.
"""

from __future__ import annotations

import heapq
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import numpy as np
from pydantic import TypeAdapter
from rapidfuzz import fuzz

from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    ConflictError,
    EmbedderMismatchError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.models import (
    Directive,
    Expiry,
    Memory,
    MentalModel,
    Metadata,
    Precision,
    TimeSpan,
    every_item,
)
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores.base import (
    CITED,
    CITED_MODEL,
    ChangeSet,
    GraphStore,
    Kind,
    LexemeStats,
    MemoryFilter,
    MemoryRecord,
    Neighbour,
    OvertakenError,
    Place,
    StoredBank,
    StoreFault,
    UnstagedError,
    Vector,
)
from hindsight_integrations.timespan import as_utc
from hindsight_integrations.validation import MAX_PAGE

D = TypeVar("D")
K = TypeVar("K")
T = TypeVar("T")


UNFINISHED = "import-"
"""Begins the id of a bank that an import fills, until it is complete."""

SCAN_PAGE = 1000
"""Values that `GraphStore.scan` reads at a time."""


# Preconditions


def is_unfinished(bank: StoredBank) -> bool:
    """Return True if an import is filling the bank, or ended before the bank was complete."""
    return bank.importing is not None and bank.bank.id.startswith(UNFINISHED)


def no_bank(bank_id: str) -> BankNotFoundError:
    """Return the error that names a bank which does not exist."""
    return BankNotFoundError(f"no bank {bank_id!r} exists; create it first")


def bank_exists(bank_id: str) -> BankExistsError:
    """Return the error that names a bank which exists already."""
    return BankExistsError(f"bank {bank_id!r} exists already; open it, or choose another id")


def check_unchanged(changes: ChangeSet, fingerprints: Mapping[str, str], version: int) -> None:
    """Check that documents and bank are still those a change set was built from.

    Args:
        changes: the change set.
        fingerprints: of those of the expected documents that exist, by id.
        version: the version of the bank.

    Raises:
        OvertakenError: they are not.
    """
    for id, fingerprint in changes.expected:
        if fingerprints.get(id) != fingerprint:
            raise OvertakenError(
                f"document {id!r} of bank {changes.bank_id!r} was changed by another writer; "
                "read it again"
            )
    if changes.version is not None and changes.version != version:
        raise OvertakenError(
            f"memories of bank {changes.bank_id!r} were changed by another writer; read them again"
        )


def check_records(bank_id: str, records: Mapping[str, bool], stored: Mapping[str, bool]) -> None:
    """Check that no retained document would replace the record of a conversation, or the reverse.

    Args:
        bank_id: the bank.
        records: id to `Document.is_record` of the documents to store.
        stored: the same of those of them that exist.

    Raises:
        ConflictError: one would.
    """
    for id, is_record in records.items():
        if stored.get(id, is_record) == is_record:
            continue
        if is_record:
            raise ConflictError(
                f"bank {bank_id!r} has a retained document {id!r}; give the conversation "
                "another id, or forget that document first"
            )
        raise ConflictError(
            f"document {id!r} of bank {bank_id!r} holds the messages or entries of a "
            "conversation; choose another id, or forget that document first"
        )


def check_new(bank_id: str, ids: Sequence[str], taken: Collection[str]) -> None:
    """Raise `ConflictError` if a new memory exists already, or is twice in the change set."""
    for id in taken:
        raise ConflictError(f"memory {id!r} exists already in bank {bank_id!r}; replace it")
    if len(set(ids)) < len(ids):
        raise ConflictError(f"a change set for bank {bank_id!r} contains a new memory twice")


def check_exists(bank_id: str, ids: Sequence[str], existing: Collection[str]) -> None:
    """Raise `MemoryNotFoundError` if a memory that a change set names does not exist."""
    if missing := [id for id in ids if id not in existing]:
        raise MemoryNotFoundError(
            f"bank {bank_id!r} has no memory {missing[0]!r}; it was deleted, or never stored"
        )


def no_staged_vector(bank_id: str, lacking: Sequence[str], embedder_id: str) -> UnstagedError:
    """Return the error for memories that have no staged vector."""
    return UnstagedError(
        f"{len(lacking)} memories of bank {bank_id!r} have no staged vector of "
        f"{embedder_id!r}; embed and stage them first",
        memory_ids=lacking,
    )


def unsupported(bank_id: str, conclusion_id: str) -> ConflictError:
    """Return the error for a conclusion none of whose evidence exists."""
    return ConflictError(
        f"conclusion {conclusion_id!r} rests on no memory that still exists in bank "
        f"{bank_id!r}; draw it again from existing memories"
    )


def is_conclusion(memory: Memory) -> bool:
    """Return True if the memory cites other memories as its evidence."""
    return any(source.memory_id is not None for source in memory.sources)


@contextmanager
def storable() -> Iterator[None]:
    """Map what a driver raises for values that no store can hold to `InvalidInputError`."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"a text contains half a character (a lone surrogate): {error}; replace it first"
        ) from error
    except OverflowError as error:
        raise InvalidInputError(
            f"a number is too large to store: {error}; numbers have at most 64 bits"
        ) from error


# Values


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND

_DAY = 86_400_000_000
LENGTH_CLASSES = (_DAY, 31 * _DAY, 366 * _DAY, 36_525 * _DAY, 1 << 60)
"""Longest times of each class, in microseconds. Those of a class that overlap a window lie no
further from its middle than half the window and half this."""


def micros(timestamp: datetime) -> int:
    """Return microseconds since 1970 in UTC; exact for the years 1 to 9999."""
    return (as_utc(timestamp) - _EPOCH) // _MICROSECOND


def micros_or_none(timestamp: datetime | None) -> int | None:
    """Return `micros` of a timestamp that may be absent."""
    return None if timestamp is None else micros(timestamp)


def timestamp(value: int) -> datetime:
    """Return the timestamp that `micros` was given."""
    return _EPOCH + value * _MICROSECOND


def timestamp_or_none(value: int | None) -> datetime | None:
    """Return `timestamp` of a value that may be absent."""
    return None if value is None else timestamp(value)


class TimeRow(NamedTuple):
    """A time of a memory, in microseconds since 1970, as searches in time read it.

    Attributes:
        ordinal: 0 for the time the memory was said, from 1 for those its text names.
        length_class: index into `LENGTH_CLASSES`.
        middle: sum of start and end: twice the midpoint, without rounding.
    """

    ordinal: int
    length_class: int
    middle: int
    start: int
    end: int
    precision: Precision


def time_rows(memory: Memory) -> list[TimeRow]:
    """Return all times of a memory."""
    said = min(micros(memory.mentioned_at), _LAST - 1)
    spans = [(said, said + 1, Precision.MINUTE)]
    spans += [(micros(s.start), micros(s.end), s.precision) for s in memory.occurred]
    return [
        TimeRow(ordinal, _length_class(end - start), start + end, start, end, precision)
        for ordinal, (start, end, precision) in enumerate(spans)
    ]


class MiddleRange(NamedTuple):
    """Bounds of the middles of one length class that can overlap a window; see `TimeRow`."""

    length_class: int
    low: int
    middle: int
    high: int


def middle_ranges(window: TimeSpan) -> list[MiddleRange]:
    """Return where the times that overlap a window have their middles, by length class."""
    start, end = micros(window.start), micros(window.end)
    return [
        MiddleRange(number, start + end - reach, start + end, start + end + reach)
        for number, longest in enumerate(LENGTH_CLASSES)
        for reach in (end - start + longest,)
    ]


def _length_class(duration: int) -> int:
    return next(n for n, longest in enumerate(LENGTH_CLASSES) if duration <= longest)


def vector_bytes(vector: Vector, dimension: int) -> bytes:
    """Return little-endian float32. Raises `EmbedderMismatchError` on another shape."""
    if vector.shape != (dimension,):
        raise EmbedderMismatchError(
            f"a vector has shape {vector.shape}, but the bank's embedder makes "
            f"({dimension},); use that embedder, or reindex the bank"
        )
    return vector.astype("<f4", copy=False).tobytes()


def vector_of(data: bytes) -> Vector:
    """Return the vector that `vector_bytes` was given; read-only."""
    return np.frombuffer(data, dtype="<f4")


def by_cosine(hits: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return (id, cosine) by cosine, ties by id; rounding takes some cosines out of -1 to 1."""
    within = ((id, min(1.0, max(-1.0, cosine))) for id, cosine in hits)
    return sorted(within, key=lambda hit: (-hit[1], hit[0]))


def metadata_text(metadata: Metadata) -> str:
    """Return metadata as JSON. Raises `InvalidInputError` for a number that is not finite."""
    try:
        return json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidInputError(
            f"metadata {dict(metadata)!r} contains a number that is not finite; leave it out"
        ) from error


def expiry_text(expiry: Expiry) -> str:
    """Return the rules of a bank as JSON, times in seconds."""
    default = expiry.default and expiry.default.total_seconds()
    rules = {
        name: {key: after and after.total_seconds() for key, after in getattr(expiry, name).items()}
        for name in ("types", "tags")
    }
    return json.dumps({"default": default, **rules}, ensure_ascii=False)


def expiry_of(text: str) -> Expiry:
    """Return the rules that `expiry_text` was given; none for an empty object."""

    def time(seconds: float | None) -> timedelta | None:
        return None if seconds is None else timedelta(seconds=seconds)

    stored = json.loads(text)
    rules = {
        name: {key: time(after) for key, after in stored.get(name, {}).items()}
        for name in ("types", "tags")
    }
    return Expiry(time(stored.get("default")), **rules)


_DIRECTIVES = TypeAdapter(tuple[Directive, ...])


def directives_text(directives: tuple[Directive, ...]) -> str:
    """Return the named directives of a bank as JSON."""
    return _DIRECTIVES.dump_json(directives).decode()


def directives_of(text: str) -> tuple[Directive, ...]:
    """Return the directives that `directives_text` was given."""
    return _DIRECTIVES.validate_json(text)


# Answers


def in_order(keys: Iterable[str], values: Mapping[str, T]) -> dict[str, T]:
    """Return the values of the keys that have one, in the order of the keys."""
    return {key: values[key] for key in keys if key in values}


def reader_of(readers: Mapping[Kind[Any], T], kind: Kind[Any]) -> T:
    """Return the function for a kind. Raises `InvalidInputError` if the method does not take it."""
    if kind not in readers:
        raise InvalidInputError(f"a {kind.name} cannot be read this way; see Kind in stores.base")
    return readers[kind]


def in_documents(places: Iterable[Place]) -> list[list[str]]:
    """Return the ids of the memories of each document, in the order of its text."""
    documents: dict[str, list[str]] = {}
    for place in sorted(places, key=lambda place: (place.position, place.number)):
        if place.document_id is not None:
            documents.setdefault(place.document_id, []).append(place.memory_id)
    return list(documents.values())


class DocumentPosition(NamedTuple):
    """The ids of the memories of a document, in order, and the position of one among them."""

    ids: Sequence[str]
    position: int


def document_positions(documents: Iterable[Sequence[str]]) -> dict[str, DocumentPosition]:
    """Return the position of each memory, given the ids in each document in order."""
    return {id: DocumentPosition(ids, n) for ids in documents for n, id in enumerate(ids)}


def neighbours_in(
    positions: Mapping[str, DocumentPosition], ids: Iterable[str], distance: int
) -> list[Neighbour]:
    """Return the neighbours of memories in their documents."""
    size = max(distance, 0)
    found: list[Neighbour] = []
    for id in dict.fromkeys(ids):
        if id in positions:
            group, n = positions[id]
            before = group[max(n - size, 0) : n][::-1]
            found += neighbours_around(id, before, group[n + 1 : n + 1 + size])
    return found


def neighbours_around(id: str, before: Sequence[str], after: Sequence[str]) -> list[Neighbour]:
    """Return a memory's neighbours by offset, given the ids on either side, nearest first."""
    return [
        *(Neighbour(id, before[-offset - 1], offset) for offset in range(-len(before), 0)),
        *(Neighbour(id, other, offset) for offset, other in enumerate(after, start=1)),
    ]


# Lexemes

POSTINGS_READ = 10_000
"""Postings that a term search reads, of the rarest lexemes first: about 8 ms in SQLite and 30 in
Neo4j. If these give enough memories, further lexemes are looked up only among these memories."""

COMMON_LEXEMES = 8
"""Most lexemes, the rarest first, that are looked up among memories already found: each takes about
a millisecond, and the most common ones have almost no weight."""

RARE_LEXEMES = 200
"""Most lexemes whose postings were read for common ones to be looked up too. A longer question has
enough of them, and an index takes a limited number of clauses (Lucene 1,024)."""


def lexeme_statistics(
    documents: int, length: int, lexemes: Iterable[str], counts: Mapping[str, int]
) -> LexemeStats:
    """Return statistics of a bank with this many valid memories and lexemes in them."""
    frequency = dict.fromkeys(lexemes, 0) | dict(counts)
    return LexemeStats(documents, length / documents if documents else 0.0, frequency)


def lexeme_counts(memories: Iterable[Sequence[str]]) -> Counter[str]:
    """Return the number of memories that contain each lexeme."""
    return Counter(lexeme for lexemes in memories for lexeme in set(lexemes))


# Faults and cursors


def merge_faults(faults: Iterable[StoreFault]) -> list[StoreFault]:
    """Return the faults with those of one kind added up."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for fault in faults:
        counts[fault.table, fault.problem, fault.repaired] += fault.count
    return [
        StoreFault(table, problem, count, repaired)
        for (table, problem, repaired), count in counts.items()
    ]


# Cursors of pages name the last item shown: `m12` is the twelfth memory stored, `e3:e-9f` the
# entity `e-9f`, which three memories mention, `d:notes.md` the document `notes.md`.

_DIGITS = 13
"""Most digits of a memory's number: no bank has stored so many."""


def memory_cursor(sequence: int) -> str:
    """Return the cursor of a page that ends with the memory of this number in storing order."""
    return f"m{sequence}"


def after_memory(cursor: str | None) -> int:
    """Return the number that `memory_cursor` was given; 0 for the first page.

    Raises:
        InvalidInputError: `memory_cursor` did not make it.
    """
    if cursor is None:
        return 0
    digits = cursor.removeprefix("m")
    if cursor[:1] != "m" or not _is_number(digits) or len(digits) > _DIGITS:
        raise _foreign(cursor)
    return int(digits)


def entity_cursor(mention_count: int, id: str) -> str:
    """Return the cursor of a page that ends with this entity, the most mentioned first."""
    return f"e{mention_count}:{id}"


def after_entity(cursor: str | None) -> tuple[int | None, str]:
    """Return the mentions and id that `entity_cursor` was given; (None, "") for the first page.

    Raises:
        InvalidInputError: `entity_cursor` did not make it.
    """
    if cursor is None:
        return None, ""
    count, colon, id = cursor.removeprefix("e").partition(":")
    if cursor[:1] != "e" or not colon or not _is_number(count):
        raise _foreign(cursor)
    return int(count), id


def document_cursor(id: str) -> str:
    """Return the cursor of a page that ends with this document, in order of id."""
    return f"d:{id}"


def after_document(cursor: str | None) -> str:
    """Return the id that `document_cursor` was given; "" for the first page.

    Raises:
        InvalidInputError: `document_cursor` did not make it.
    """
    if cursor is None:
        return ""
    if not cursor.startswith("d:"):
        raise _foreign(cursor)
    return cursor.removeprefix("d:")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _foreign(cursor: str) -> InvalidInputError:
    return InvalidInputError(
        f"{cursor!r} is not a cursor of this list; give one that it returned, or none"
    )


# Names of entities

RAREST_TRIGRAMS = 8
"""Trigrams of a name that a store looks up, the rarest; others add candidates but no results."""

COMMON_NAMES = 500
"""Names that a store reads per trigram or word; one shared by more names narrows nothing."""


def trigrams(norm: str) -> frozenset[str]:
    """Return the runs of three characters of a normalised name, its ends marked by blanks."""
    padded = f" {norm} "
    return frozenset(padded[n : n + 3] for n in range(max(1, len(padded) - 2)))


def grams_of(norm: str) -> list[str]:
    """Return the sorted keys that find a name in another spelling: its trigrams, and "=word"."""
    return sorted(trigrams(norm).union(f"={word}" for word in norm.split()))


def name_similarity(first: str, second: str) -> float:
    """Return the similarity of two normalised names, 0 to 100, by edits and by shared words.

    The mean of rapidfuzz's `ratio`, which a shared first name alone does not satisfy, and its
    `token_set_ratio`, which "Alice" and "Alice Smith" satisfy fully.
    """
    return (fuzz.ratio(first, second) + fuzz.token_set_ratio(first, second)) / 2


def names_sharing(norm: str, sharing: Mapping[str, Collection[K]]) -> set[K]:
    """Return the names worth comparing: those that share a rare trigram or a word.

    Args:
        norm: the normalised name.
        sharing: each of its `grams_of` to the names that have it too.
    """
    runs = trigrams(norm)
    shared = [gram for gram in sharing if sharing[gram] and gram in runs]
    rarest = heapq.nsmallest(RAREST_TRIGRAMS, shared, key=lambda gram: len(sharing[gram]))
    chosen = [*rarest, *(gram for gram in sharing if gram not in runs)]
    return {name for gram in chosen for name in sharing[gram]}


def most_similar(norm: str, names: Iterable[tuple[str, str]], limit: int) -> list[str]:
    """Return the ids of the `limit` entities most similar to a name, ties by id.

    Args:
        norm: the normalised name.
        names: entity id with each of its normalised names.
        limit: most ids.
    """
    best: defaultdict[str, float] = defaultdict(float)
    for id, name in names:
        best[id] = max(best[id], name_similarity(norm, name))
    return heapq.nsmallest(max(limit, 0), best, key=lambda id: (-best[id], id))


def spellings(names: Iterable[str]) -> dict[str, str]:
    """Return normalised names to their first spelling, in order."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(entity_norm(name), name)
    return first


# Applying a change set


def mentioned_keys(record: MemoryRecord, entity_keys: Mapping[str, K]) -> list[K]:
    """Return the keys of the entities that a memory mentions, each once, in order.

    Raises:
        InvalidInputError: it does not give an id for each of its entities' names.
    """
    if len(record.entity_ids) != len(record.memory.entities):
        raise InvalidInputError(
            f"memory {record.memory.id!r} has {len(record.memory.entities)} entity names "
            f"but {len(record.entity_ids)} entity ids; give one id per name"
        )
    return list(dict.fromkeys(entity_keys[id] for id in record.entity_ids))


def text_left(texts: Iterable[str]) -> str:
    """Return the text of a chunk of which a memory was removed.

    Args:
        texts: of the memories still stated in it, in storing order.
    """
    return "\n".join(texts)


def histories_to_forget(
    removed_ids: Iterable[str],
    not_derived: Sequence[str],
    models: Iterable[MentalModel],
    citing: Callable[[Sequence[str]], Mapping[str, Iterable[str]]],
    cited_once: Callable[[Sequence[str], str], Iterable[str]],
) -> tuple[set[str], set[str]]:
    """Find the histories to remove together with memories, because they may quote these.

    These are the histories of the memories, and of all conclusions and mental models that cite them
    or have cited them, directly or through others. If only a derived conclusion is removed, no
    other history is: it says no more than its sources.

    Args:
        removed_ids: ids of the memories to remove.
        not_derived: those of them that are not `derived`.
        models: all mental models of the bank.
        citing: memory ids to the conclusions that cite each (`CONCLUSIONS_CITING`).
        cited_once: memory ids and a field (`CITED` or `CITED_MODEL`) to the `old` values that
            their histories have in changes of that field.

    Returns:
        Ids of memories and ids of mental models.
    """
    models = list(models)
    to_follow = {*not_derived, *(id for ids in citing(not_derived).values() for id in ids)}
    memories, forgotten_models = {*removed_ids, *to_follow}, set[str]()
    while to_follow:
        ids = sorted(to_follow)
        forgotten_models.update(cited_once(ids, CITED_MODEL))
        forgotten_models.update(m.id for m in models if not to_follow.isdisjoint(m.sources))
        to_follow = set(cited_once(ids, CITED)) - memories
        memories |= to_follow
    return memories, forgotten_models


# Above the port


ATTEMPTS = 30
_PAUSE = 0.1
"""Seconds by which the longest wait between two attempts grows with each. The wait is random, so
that of several processes each gets its turn: eight at once took up to 14 attempts."""


def attempts() -> Iterator[int]:
    """Yield the numbers of attempts from 1, pausing before each but the first."""
    yield 1
    for number in range(2, ATTEMPTS + 1):
        time.sleep(random.uniform(0, (number - 1) * _PAUSE))
        yield number


def read_one(graph: GraphStore, bank_id: str, kind: Kind[T], key: str, default: D) -> T | D:
    """Return the value of one key, or the default; see `GraphStore.read`."""
    return graph.read(bank_id, kind, [key]).get(key, default)


def every_memory(graph: GraphStore, bank_id: str, filter: MemoryFilter) -> Iterator[Memory]:
    """Iterate over the memories of a bank that pass the filter, in storing order."""
    return every_item(
        lambda cursor: graph.list_memories(bank_id, filter, limit=MAX_PAGE, cursor=cursor)
    )
