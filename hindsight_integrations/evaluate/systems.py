"""Systems to measure: this package, and two plain searches as baselines.

A system remembers a bank's items and answers its questions. The baselines, vector search in
Chroma and BM25 alone, see every item with its date, its speaker or title, and its text, and return
whole items.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol, cast, get_args

from hindsight_integrations import validation
from hindsight_integrations._version import __version__
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError, InvalidInputError, MissingExtraError
from hindsight_integrations.evaluate.dataset import DataBank, DataItem, DataQuestion
from hindsight_integrations.evaluate.metrics import Hit
from hindsight_integrations.models import Memory, Message
from hindsight_integrations.nlp import tokens
from hindsight_integrations.nlp.embeddings import Embedder, Vectors, as_embedder, query_vector
from hindsight_integrations.nlp.minilm import published
from hindsight_integrations.nlp.model_files import named_encoder
from hindsight_integrations.recall.base import Budget
from hindsight_integrations.results import Recalled, RecallResult
from hindsight_integrations.retain.request import Item

if TYPE_CHECKING:
    from chromadb.api.client import Client

DEPTH = 150
"""Items of an answer: more than any of the usual token budgets holds."""

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Remembered:
    """Number of memories made of a bank's items, and the seconds; None if they were kept."""

    memories: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits of a system, best first, and the parts of it that failed."""

    hits: tuple[Hit, ...]
    failures: tuple[str, ...] = ()


class System(Protocol):
    """A system that retains items and answers questions.

    Attributes:
        name: label in a table.
        packs: True if an answer is made for the token budget asked for. If not, it is a ranking,
            and counts up to where its tokens reach the budget.
    """

    name: str
    packs: bool

    def remember(self, bank: DataBank, report: Callable[[int], None]) -> Remembered:
        """Retain the items of a bank; those of the bank before may be dropped.

        `report` is called with the number of items done.
        """
        ...

    def answer(self, bank: DataBank, question: DataQuestion, max_tokens: int) -> Answer:
        """Answer a question about the bank retained last."""
        ...


class HindsightSystem:
    """This package, through its public methods alone.

    Each bank of the data becomes a bank of its own; one that holds the same items already is kept.
    """

    name = "hindsight"
    packs = True

    def __init__(self, memory: Hindsight, dataset: str, budget: str) -> None:
        self._memory = memory
        self._dataset = dataset
        self._budget: Budget = validation.choice("budget", budget, get_args(Budget))

    def remember(self, bank: DataBank, report: Callable[[int], None]) -> Remembered:
        """Retain conversations by session, and the other items as single texts."""
        bank_id = self.bank_id(bank)
        banks = self._memory.banks
        content = f"items {_fingerprint(bank)}"
        try:
            stored = banks.get(bank_id).background
        except BankNotFoundError:
            stored = None
        if stored == content:
            return Remembered(banks.stats(bank_id).memories, None)
        if stored is not None:
            banks.delete(bank_id)
        banks.create(bank_id, name=f"{self._dataset}: {bank.id}")
        started = time.perf_counter()
        self._retain(bank_id, bank, report)
        seconds = time.perf_counter() - started
        self._memory.wait_idle()  # consolidation ends before the first question
        banks.update(bank_id, background=content)
        return Remembered(banks.stats(bank_id).memories, seconds)

    def answer(self, bank: DataBank, question: DataQuestion, max_tokens: int) -> Answer:
        """Recall with the question's own time, as much as fits the budget given."""
        result = self._memory.recall(
            self.bank_id(bank),
            question.question,
            max_tokens=max_tokens,
            budget=self._budget,
            query_time=question.time,
            fill=True,
        )
        return Answer(hits(result), tuple(map(str, result.failures)))

    def bank_id(self, bank: DataBank) -> str:
        """Return the id of the bank that holds a bank of the data."""
        return f"evaluate/{self._dataset}/{bank.id}"

    def _retain(self, bank_id: str, bank: DataBank, report: Callable[[int], None]) -> None:
        conversations: dict[tuple[str | None, str | None], list[Message]] = {}
        texts: list[Item] = []
        for item in bank.items:
            if item.speaker:
                conversation = conversations.setdefault((item.session, item.title), [])
                conversation.append(Message(item.speaker, item.text, item.ts, item.id))
            else:
                texts.append(Item(item.text, item.ts, item.title, document_id=item.id, id=item.id))
        said = 0
        for (session, title), messages in conversations.items():
            self._memory.retain_messages(bank_id, messages, session=session, context=title)
            said += len(messages)
            report(said)
        result = self._memory.retain_many(
            bank_id, texts, progress=lambda done, total: report(said + done)
        )
        for failed in result.failed:
            raise failed.error


def references(memory: Hindsight, recalled: Memory) -> Iterator[str]:
    """Yield the ids of the items a memory was stated in; for an observation, of those it quotes."""
    for source in recalled.sources:
        if source.memory_id is not None:
            quoted = memory.memories.get(recalled.bank_id, source.memory_id)
            yield from references(memory, quoted)
        elif source.reference is not None:
            yield source.reference


def hits(result: RecallResult) -> tuple[Hit, ...]:
    """Return what was recalled as it is measured."""
    return tuple(map(_hit, result))


def _hit(recalled: Recalled) -> Hit:
    references = (source.reference for source in recalled.memory.sources)
    ids = tuple(dict.fromkeys(reference for reference in references if reference))
    return Hit(ids, recalled.line, recalled.tokens)


def _fingerprint(bank: DataBank) -> str:
    """Return a hash of a bank's items and this package's version."""
    content = f"{__version__} {bank.items!r}".encode(errors="replace")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# Baselines


class PlainSearch(Protocol):
    """A search that ranks a list of texts."""

    def search(self, query: str, limit: int) -> list[int]:
        """Return indices of the texts that answer best, best first."""
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


class ChromaSearch:
    """The nearest texts by cosine, in a Chroma collection on disk.

    Args:
        texts: texts to search.
        embedder: embeds the query, and the texts if `vectors` are not given.
        vectors: embeddings of the texts.
    """

    def __init__(
        self, texts: Sequence[str], embedder: Embedder, vectors: Vectors | None = None
    ) -> None:
        import chromadb
        from chromadb.config import Settings

        self._embedder = embedder
        self._folder = TemporaryDirectory(prefix="plain-chroma-")
        settings = Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(Path(self._folder.name), settings=settings)
        self._client = cast("Client", client)  # what it returns; the annotation says less
        self._texts = self._client.create_collection(
            "texts", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        rows = embedder.embed(texts) if vectors is None else vectors
        for start in range(0, len(texts), _BATCH):
            batch = range(start, min(start + _BATCH, len(texts)))
            self._texts.add(
                ids=[str(index) for index in batch],
                embeddings=rows[start : batch.stop],
                documents=[texts[index] for index in batch],
            )

    def search(self, query: str, limit: int) -> list[int]:
        """Return indices of the nearest texts, nearest first."""
        vector = query_vector(self._embedder, query)[None, :]
        count = min(limit, self._texts.count())
        found = self._texts.query(query_embeddings=vector, n_results=count, include=["documents"])
        return [int(index) for index in found["ids"][0]]

    def close(self) -> None:
        """Delete the collection's folder."""
        self._client.close()
        self._folder.cleanup()


class BM25Search:
    """BM25 over stemmed English words without stop words, by the library bm25s.

    Raises:
        MissingExtraError: bm25s is not installed.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            import bm25s
        except ImportError as error:
            raise MissingExtraError("the BM25 baseline needs: pip install bm25s") from error
        self._index = bm25s.BM25()
        self._index.index(_terms(texts), show_progress=False)

    def search(self, query: str, limit: int) -> list[int]:
        """Return indices of the texts that share a term with the query, highest score first."""
        terms = _terms([query])[0]
        if not terms:
            return []
        scores = self._index.get_scores(terms)
        order = (-scores).argsort(kind="stable")[:limit]
        return [int(index) for index in order if scores[index] > 0]

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


def _terms(texts: Sequence[str]) -> list[list[str]]:
    from bm25s import tokenize
    from Stemmer import Stemmer

    stemmer = Stemmer("english")
    terms: list[list[str]] = tokenize(
        list(texts), stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
    )
    return terms


class Baseline:
    """A plain search over the items as a `System`. It ranks and does not pack."""

    packs = False

    def __init__(self, name: str, build: Callable[[Sequence[str]], PlainSearch]) -> None:
        self.name = name
        self._build = build
        self._search: PlainSearch | None = None
        self._hits: list[Hit] = []

    def remember(self, bank: DataBank, report: Callable[[int], None]) -> Remembered:
        """Index the items, which replace those of the bank before."""
        self.close()
        started = time.perf_counter()
        lines = list(map(rendered, bank.items))
        self._search = self._build(lines)
        seconds = time.perf_counter() - started
        self._hits = [
            Hit((item.id,), line, tokens.line_cost(line))
            for item, line in zip(bank.items, lines, strict=True)
        ]
        return Remembered(len(lines), seconds)

    def answer(self, bank: DataBank, question: DataQuestion, max_tokens: int) -> Answer:
        """Return the best items, whatever the budget."""
        found = self._search.search(question.question, DEPTH) if self._search else []
        return Answer(tuple(self._hits[index] for index in found))

    def close(self) -> None:
        """Close the index."""
        if self._search:
            self._search.close()
        self._search = None


def rendered(item: DataItem) -> str:
    """Return an item as a baseline indexes and shows it."""
    date = f"[{item.ts:%Y-%m-%d}] " if item.ts else ""
    lead = "".join(f"{part}: " for part in (item.speaker, item.title) if part)
    return f"{date}{lead}{item.text}"


def chosen_embedder(embedder: object | None) -> Embedder:
    """Return the embedder given, the model of this name, or the one that Chroma itself has."""
    if embedder is None:
        return published()
    return named_encoder(embedder) if isinstance(embedder, str) else as_embedder(embedder)


BASELINES = ("chroma", "bm25")
"""Names of the baselines."""


def baseline(name: str, embedder: object | None = None) -> Baseline:
    """Return the baseline of this name. Raises `InvalidInputError` if there is none."""
    if name not in BASELINES:
        raise InvalidInputError(
            f"there is no baseline {name!r}; choose from {', '.join(BASELINES)}"
        )
    if name == "bm25":
        return Baseline("BM25", BM25Search)
    chosen = chosen_embedder(embedder)
    return Baseline("plain Chroma", lambda texts: ChromaSearch(texts, chosen))
