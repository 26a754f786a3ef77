"""Vector indexes compared: `HINDSIGHT_GRAPH=bolt://... python -m benchmarks.speed.vectors`.

Each holds the same vectors, mixed from those of real turns, written in pages as the outbox writes
them, and is asked for as many neighbours as a recall looks at. Neo4j's is measured if there is a
URL, of a server without a password. Quality is the share of the truly nearest that it finds. Each
runs in a process of its own; memory is what that grows by.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.page import write_section
from benchmarks.speed import machine
from benchmarks.speed.prepared import mixed_vectors
from hindsight_integrations.stores.base import VectorIndex
from hindsight_integrations.stores.chroma.index import ChromaVectors

NEAREST = 160
"""Neighbours asked for: as many as recall looks at."""

PAGE = 500
"""Vectors written at once, as the outbox does."""

QUESTIONS = 50
BANK, SECTION = "compared", "vectors"


@dataclass(frozen=True, slots=True)
class Figures:
    """Measurements of one index; memory and disk in bytes, None where a server has them."""

    quality: float
    written_a_second: float
    query_ms: float
    memory: int | None
    disk: int | None


def chroma(folder: Path) -> VectorIndex:
    """Open Chroma embedded, as a memory in a folder has it."""
    return ChromaVectors.in_folder(folder)


def neo4j(url: str, folder: Path) -> VectorIndex:
    """Open Neo4j's vector index."""
    from hindsight_integrations.stores.neo4j import Neo4jVectors

    return Neo4jVectors(url, namespace=BANK)


def qdrant_by_langchain(folder: Path) -> VectorIndex:
    """Open Qdrant's local mode through LangChain."""
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    from hindsight_integrations.langchain import GivenVectors, LangChainVectors

    def where(field: str, value: str) -> Mapping[str, object]:
        match = models.MatchValue(value=value)
        condition = models.FieldCondition(key=f"metadata.{field}", match=match)
        return {"filter": models.Filter(must=[condition])}

    client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
    size = models.VectorParams(size=384, distance=models.Distance.COSINE)
    client.create_collection(BANK, vectors_config=size)
    return LangChainVectors(QdrantVectorStore(client, BANK, embedding=GivenVectors()), where)


def chroma_by_llamaindex(folder: Path) -> VectorIndex:
    """Open Chroma through LlamaIndex."""
    import chromadb
    from llama_index.vector_stores.chroma import ChromaVectorStore

    from hindsight_integrations.llamaindex import LlamaIndexVectors

    client = chromadb.PersistentClient(str(folder))
    collection = client.create_collection(BANK, metadata={"hnsw:space": "cosine"})
    return LlamaIndexVectors(ChromaVectorStore(chroma_collection=collection))


def measure(open_index: Callable[[Path], VectorIndex], folder: Path, count: int) -> Figures:
    """Fill an index and ask it; the bank is dropped at the end."""
    mixed = mixed_vectors(count + QUESTIONS)
    vectors, questions = mixed[:count], mixed[count:]
    truth = np.argsort(-(questions @ vectors.T), axis=1)[:, :NEAREST]
    before = machine.peak_memory()
    index = open_index(folder)
    try:
        started = time.perf_counter()
        for first in range(0, count, PAGE):
            page = vectors[first : first + PAGE]
            index.upsert(BANK, [f"m{n}" for n in range(first, first + len(page))], page)
        written = count / (time.perf_counter() - started)
        index.query(BANK, questions[0], NEAREST)  # loads it
        found, seconds = [], []
        for question in questions:
            started = time.perf_counter()
            hits = index.query(BANK, question, NEAREST)
            seconds.append(time.perf_counter() - started)
            found.append({int(id[1:]) for id, _ in hits})
        memory = machine.peak_memory() - before
        quality = [len(got & {*best.tolist()}) for got, best in zip(found, truth, strict=True)]
        disk = machine.disk_usage(folder) if folder.exists() else 0
        index.drop(BANK)
    finally:
        index.close()
    served = disk == 0
    return Figures(
        quality=statistics.mean(quality) / min(NEAREST, count),
        written_a_second=written,
        query_ms=1000 * statistics.median(seconds),
        memory=None if served else memory,
        disk=None if served else disk,
    )


def compare(count: int, url: str | None) -> dict[str, Figures]:
    """Measure each index in a process of its own; Neo4j's if there is a URL."""
    indexes: dict[str, Callable[[Path], VectorIndex]] = {"Chroma, embedded": chroma}
    if url:
        indexes["Neo4j's vector index"] = partial(neo4j, url)
    indexes["Qdrant, local, by LangChain"] = qdrant_by_langchain
    indexes["Chroma by LlamaIndex"] = chroma_by_llamaindex
    figures = {}
    for name, open_index in indexes.items():
        with (
            TemporaryDirectory(prefix="hindsight-bench-", ignore_cleanup_errors=True) as folder,
            ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process,
        ):
            place = Path(folder, "index")
            figures[name] = process.submit(measure, open_index, place, count).result()
    return figures


def table(figures: Mapping[str, Figures]) -> str:
    """Return the figures as a Markdown table."""
    lines = [
        "| index | nearest found | written/s | query, ms (p50) | memory, MB | disk, MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, each in figures.items():
        sizes = [f"{size / 1e6:.0f}" if size is not None else "server" for size in
                 (each.memory, each.disk)]  # fmt: skip
        lines.append(
            f"| {name} | {each.quality:.3f} | {each.written_a_second:,.0f} | {each.query_ms:.1f} | "
            + " | ".join(sizes)
            + " |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the table into docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vectors", type=int, default=10_000, metavar="N")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"), metavar="FILE")
    given = parser.parse_args()
    text = table(compare(given.vectors, os.environ.get("HINDSIGHT_GRAPH")))
    command = " ".join(["python -m benchmarks.speed.vectors", *sys.argv[1:]])
    about = f"`{command}` on {machine.description()}"
    write_section(given.page, SECTION, f"{about} {given.vectors:,} vectors.\n\n{text}")
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
