"""Caches of the memories that recall reads, valid for one version of their bank."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.models import MemoryType, proves, states_nothing
from hindsight_integrations.nlp.bm25 import TermIndex
from hindsight_integrations.nlp.late_interaction import TokenTable, token_table
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.recall.advice import states_lasting_fact
from hindsight_integrations.recall.scaling import Scores, standardise
from hindsight_integrations.stores.base import Candidate, StoredBank

T = TypeVar("T")

INFORMATION_WEIGHTS = (0.6, 0.25, 0.45, -0.25)
"""Weights of word rarity, names, a date and length in the information of a turn, a standard
deviation of each. Fitted on the development conversations of the bench, and rounded."""

MAX_CACHED_MEMORIES = 8000
"""Memories cached of all banks together: some 70 MB, most of it vectors."""

MAX_CACHED_BANKS = 8
"""Small banks whose arrays are cached: up to two megabytes each in addition to their memories."""


class Mentions(NamedTuple):
    """Entities that some memories mention, speakers left out.

    Attributes:
        memories: position of the memory of each mention, ascending.
        entities: number of the entity of each mention; each pair stands once.
        numbers: of the entities, by id.
        names: of the entities, by number.
    """

    memories: NDArray[np.intp]
    entities: NDArray[np.intp]
    numbers: Mapping[str, int]
    names: tuple[str, ...]


class Candidates(tuple[Candidate, ...]):
    """Memories in order, with aligned arrays computed once.

    Several recalls may share an instance: nothing in it may be changed.
    """

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Position of each, by id; for the memories of one bank."""
        return {memory.id: position for position, memory in enumerate(self)}

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Embeddings; shape (memories, dimension)."""
        return np.stack([memory.vector for memory in self])

    @cached_property
    def tokens(self) -> TokenTable:
        """Tokens of each, for late interaction."""
        return token_table([memory.interaction for memory in self])

    @cached_property
    def terms(self) -> TermIndex:
        """Lexemes of each, for BM25."""
        return TermIndex([memory.lexemes for memory in self])

    @cached_property
    def lengths(self) -> Scores:
        """Natural logarithm of 10 + the characters of each: differences of a few do not count."""
        return np.log([10.0 + len(memory.text) for memory in self])

    @cached_property
    def speakers(self) -> tuple[str, ...]:
        """Normal form of each speaker's name; empty where there is none."""
        return tuple(entity_norm(memory.speaker or "") for memory in self)

    @cached_property
    def speaker_names(self) -> tuple[str, ...]:
        """Names among `speakers`, sorted."""
        return tuple(sorted(set(filter(None, self.speakers))))

    @cached_property
    def speaker_numbers(self) -> NDArray[np.intp]:
        """Number of the speaker of each, equal for the same; -1 for none."""
        numbers = {name: number for number, name in enumerate(self.speaker_names)}
        return np.array([numbers.get(name, -1) for name in self.speakers], dtype=np.intp)

    @cached_property
    def mentions(self) -> Mentions:
        """Entities that each mentions, except the speakers: these would connect every memory."""
        names = self._linking_entities
        linking = sorted(names)
        numbers = {id: number for number, id in enumerate(linking)}
        pairs = [
            (position, numbers[id])
            for position, memory in enumerate(self)
            for id in dict(memory.entities)
            if id in numbers
        ]
        table = np.array(pairs, dtype=np.intp).reshape(len(pairs), 2)
        return Mentions(table[:, 0], table[:, 1], numbers, tuple(names[id] for id in linking))

    @cached_property
    def _linking_entities(self) -> Mapping[str, str]:
        """Names of the entities, by id, except the speakers."""
        speakers = set(self.speakers)
        names = dict(chain.from_iterable(memory.entities for memory in self))
        return {id: name for id, name in names.items() if entity_norm(name) not in speakers}

    @cached_property
    def mentioned(self) -> Scores:
        """Seconds since 1970 when each was said or written."""
        return np.array([memory.mentioned_at.timestamp() for memory in self])

    @cached_property
    def proofs(self) -> Scores:
        """Number of sources that prove each; 1 for kinds that repetition does not prove."""
        return np.array(
            [m.proof_count if proves(m.type, m.speaker, m.kind) else 1 for m in self],
            dtype=np.float64,
        )

    @cached_property
    def speaking(self) -> NDArray[np.bool_]:
        """True for each memory that has a speaker."""
        return np.array([memory.speaker is not None for memory in self], dtype=np.bool_)

    @cached_property
    def own_words(self) -> Scores:
        """1 for each turn of the agent itself."""
        own = (m.type is MemoryType.EXPERIENCE and m.speaker is not None for m in self)
        return np.fromiter(own, np.float64, len(self))

    @cached_property
    def lasting_fact(self) -> Scores:
        """1 for each memory whose words state a lasting fact about a person; see `advice`."""
        return np.fromiter((states_lasting_fact(m.text) for m in self), np.float64, len(self))

    @cached_property
    def own_share(self) -> float:
        """Degree to which this is a chat with the agent: 1 if it says half of the turns."""
        turns = int(self.speaking.sum())
        return min(1.0, 2.0 * float(self.own_words.sum()) / turns) if turns else 0.0

    @cached_property
    def in_dialogue(self) -> float:
        """Share of turns, 0 to 1, that belong to sessions with several human speakers.

        Such turns explain each other. A monologue has to be understandable by itself, and in a
        chat with an agent the replies repeat the questions.
        """
        turns = [
            (session, speaker)
            for session, speaker in zip(self.sessions.tolist(), self.speakers, strict=True)
            if speaker
        ]
        speakers_per_session = Counter(session for session, _ in set(turns))
        shared_turns = sum(speakers_per_session[session] > 1 for session, _ in turns)
        return shared_turns / len(self) * (1.0 - self.own_share) if turns else 0.0

    @cached_property
    def context(self) -> NDArray[np.bool_]:
        """True for each turn that states nothing."""
        return np.array([states_nothing(memory.kind) for memory in self], dtype=np.bool_)

    @cached_property
    def asking(self) -> Scores:
        """1 for a turn that ends in a question, which seldom holds an answer."""
        ends = np.array([m.text.rstrip().endswith(("?", "？")) for m in self], dtype=np.float64)
        return ends * self.speaking

    @cached_property
    def sessions(self) -> NDArray[np.intp]:
        """Number of each memory's document, from 0; documents of a conversation are sessions."""
        keys = [(memory.bank_id, memory.document_id) for memory in self]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[key] for key in keys], dtype=np.intp)

    @cached_property
    def information(self) -> Scores:
        """Information content of each turn, independent of the question; small talk has little.

        The weighted sum of word rarity, names, a date and (negative) length, each standardised.
        Rarity is the mean of -ln(memories here that have the word).
        """
        if not self.speaking.any():
            return np.zeros(len(self))
        words = [set(memory.lexemes) for memory in self]
        document_frequency = Counter(chain.from_iterable(words))
        rarity = {word: -math.log(count) for word, count in document_frequency.items()}
        word_counts = np.array([len(memory_words) for memory_words in words])
        rarities = np.fromiter(map(rarity.__getitem__, chain.from_iterable(words)), np.float64)
        rare = np.full(len(self), -math.log(len(self)))
        has_words = word_counts > 0
        if has_words.any():
            starts = np.cumsum(word_counts[has_words]) - word_counts[has_words]
            rare[has_words] = np.add.reduceat(rarities, starts) / word_counts[has_words]
        linking = self._linking_entities
        features = (
            rare,
            np.log1p([sum(id in linking for id, _ in memory.entities) for memory in self]),
            np.array([bool(memory.occurred) for memory in self], dtype=np.float64),
            self.lengths,
        )
        weighted = zip(INFORMATION_WEIGHTS, features, strict=True)
        return np.asarray(
            sum(weight * standardise(feature) for weight, feature in weighted) * self.speaking
        )


class VersionedCache(Generic[T]):
    """LRU cache of the last `limit` memories in some form. Thread-safe.

    The key includes the bank's version, so an entry is never used after a write; entries of older
    versions are no longer read and are evicted first.
    """

    def __init__(self, limit: int = MAX_CACHED_MEMORIES) -> None:
        self._limit = limit
        self._lock = Lock()
        self._items: OrderedDict[tuple[str, int, str], T] = OrderedDict()

    def read(
        self,
        bank: StoredBank,
        ids: Iterable[str],
        load: Callable[[list[str]], Mapping[str, T]],
    ) -> dict[str, T]:
        """Return those of the ids that exist, in the order given.

        Args:
            bank: the bank, read before any of its memories, so that the memories loaded are at
                least as new as its version.
            ids: ids of memories of the bank.
            load: reads memories by id, as far as they exist; called with the ids not in the cache.
        """
        keys = {id: (bank.key, bank.version, id) for id in ids}
        read: dict[str, T] = {}
        with self._lock:
            for id, key in keys.items():
                if key in self._items:
                    self._items.move_to_end(key)
                    read[id] = self._items[key]
        missing = [id for id in keys if id not in read]
        if missing:
            loaded = load(missing)
            read.update(loaded)
            with self._lock:
                self._items.update((keys[id], item) for id, item in loaded.items())
                while len(self._items) > self._limit:
                    self._items.popitem(last=False)
        return {id: read[id] for id in keys if id in read}


class CandidateCache:
    """Caches of single candidates, and of all candidates of small banks with their arrays."""

    def __init__(self) -> None:
        self.single: VersionedCache[Candidate] = VersionedCache()
        self._whole_banks: VersionedCache[Candidates] = VersionedCache(MAX_CACHED_BANKS)

    def all_of(
        self,
        bank: StoredBank,
        ids: Sequence[str],
        load: Callable[[list[str]], Mapping[str, Candidate]],
    ) -> Candidates:
        """Return the candidates that exist, in order, with any arrays computed by earlier calls."""
        key = "\n".join(ids)  # no id has a line break; see `validation.label`

        def read_all(_: list[str]) -> dict[str, Candidates]:
            return {key: Candidates(self.single.read(bank, ids, load).values())}

        return self._whole_banks.read(bank, [key], read_all)[key]
