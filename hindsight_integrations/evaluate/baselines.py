"""What memory is measured against: plain vector search in Chroma, and BM25 alone.

Both see every item with its date, its speaker or title, and its text, and return whole items.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast

from hindsight_integrations.errors import InvalidInputError, MissingExtraError
from hindsight_integrations.evaluate.dataset import DataBank, DataItem, DataQuestion
from hindsight_integrations.evaluate.metrics import Hit
from hindsight_integrations.evaluate.systems import Answer, Remembered
from hindsight_integrations.language import tokens
from hindsight_integrations.language.embed import Embedder, Vectors
from hindsight_integrations.language.minilm import bundled
from hindsight_integrations.recall.pack import LINE_BREAK

if TYPE_CHECKING:
    from chromadb.api.client import Client

DEPTH = 150
"""Items of an answer: more than any of the usual token budgets holds."""

_BATCH = 1000


class PlainSearch(Protocol):
    """A search that ranks a list of texts."""

    def search(self, query: str, limit: int) -> list[int]:
        """Places in the list of the texts that answer best, best first."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class ChromaSearch:
    """The nearest texts by cosine, in a Chroma collection on disk.

    Args:
        texts: what is searched.
        embedder: turns the query, and the texts if `vectors` are not given, into vectors.
        vectors: of the texts.
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
                ids=[str(place) for place in batch],
                embeddings=rows[start : batch.stop],
                documents=[texts[place] for place in batch],
            )

    def search(self, query: str, limit: int) -> list[int]:
        """Places of the nearest texts, nearest first."""
        vector = self._embedder.embed([query])
        count = min(limit, self._texts.count())
        found = self._texts.query(query_embeddings=vector, n_results=count, include=["documents"])
        return [int(place) for place in found["ids"][0]]

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
        """Places of the texts that share a term with the query, highest score first."""
        terms = _terms([query])[0]
        if not terms:
            return []
        scores = self._index.get_scores(terms)
        order = (-scores).argsort(kind="stable")[:limit]
        return [int(place) for place in order if scores[place] > 0]

    def close(self) -> None:
        """There is nothing to let go of."""


def _terms(texts: Sequence[str]) -> list[list[str]]:
    from bm25s import tokenize
    from Stemmer import Stemmer

    stemmer = Stemmer("english")
    terms: list[list[str]] = tokenize(
        list(texts), stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
    )
    return terms


class Baseline:
    """A plain search over the items, as a system to measure. It ranks and does not pack."""

    packs = False

    def __init__(self, name: str, build: Callable[[Sequence[str]], PlainSearch]) -> None:
        self.name = name
        self._build = build
        self._search: PlainSearch | None = None
        self._hits: list[Hit] = []

    def remember(self, bank: DataBank, report: Callable[[int], None]) -> Remembered:
        """Index the items; those of the bank before are forgotten."""
        self.close()
        started = time.perf_counter()
        lines = list(map(rendered, bank.items))
        self._search = self._build(lines)
        seconds = time.perf_counter() - started
        self._hits = [
            Hit((item.id,), line, tokens.count(line) + LINE_BREAK)
            for item, line in zip(bank.items, lines, strict=True)
        ]
        return Remembered(len(lines), seconds)

    def answer(self, bank: DataBank, question: DataQuestion, max_tokens: int) -> Answer:
        """The best items, whatever the budget."""
        found = self._search.search(question.question, DEPTH) if self._search else []
        return Answer(tuple(self._hits[place] for place in found))

    def close(self) -> None:
        """Let go of the index."""
        if self._search:
            self._search.close()
        self._search = None


def rendered(item: DataItem) -> str:
    """An item as a baseline indexes and shows it."""
    date = f"[{item.ts:%Y-%m-%d}] " if item.ts else ""
    lead = "".join(f"{part}: " for part in (item.speaker, item.title) if part)
    return f"{date}{lead}{item.text}"


def _plain_chroma() -> Baseline:
    return Baseline("plain Chroma", lambda texts: ChromaSearch(texts, bundled()))


BASELINES: Mapping[str, Callable[[], Baseline]] = MappingProxyType(
    {"chroma": _plain_chroma, "bm25": lambda: Baseline("BM25", BM25Search)}
)
"""The searches that can be measured beside the memory, by name."""


def baseline(name: str) -> Baseline:
    """The baseline of this name. Raises `InvalidInputError` if there is none."""
    if name not in BASELINES:
        raise InvalidInputError(
            f"there is no baseline {name!r}; choose from {', '.join(BASELINES)}"
        )
    return BASELINES[name]()
