"""The page on the graph in Neo4j: its queries, and its examples with other packages' readers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import neo4j
import pytest
from filelock import FileLock

from hindsight_integrations import ChromaVectors, Hindsight, Message, Settings

from .examples import blocks
from .stores.neo4j_server import CACHE, Address, Server, or_skip, plugins

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/graph.md").read_text(encoding="utf-8")

BESIDE = (
    "langchain-neo4j==0.11.0",
    "llama-index-graph-stores-neo4j==0.8.0",
    "neo4j-graphrag==1.22.0",
    "neo4j==5.28.8",
    "json_repair==0.64.6",
)
"""Packages that read the graph, and the older driver that one of them wants: in a folder apart."""

TELLS_NEIGHBOURS = "MATCH (:Entity {name: 'Ines'})-[r:BESIDE]-(e:Entity) RETURN e.name, r.memories"
SCRIPT = f'''
import sys
import pytest
from tests import openai_models
from tests.examples import blocks
replies = openai_models.install(pytest.MonkeyPatch(), (
    "MATCH (m:Memory)-[:MENTIONS]->(:Entity {{name: 'Porto'}}) RETURN m.text",
    "Ines moved to Porto.", "{TELLS_NEIGHBOURS}",
))
page, uri = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2]
for block in blocks(page):
    if block.language == "python":
        exec(block.text.replace("bolt://localhost:7687", uri), {{}})
assert not replies
import neo4j
print("driver", neo4j.__version__)
'''


@pytest.fixture(scope="module")
def told() -> Iterator[Address]:
    """A server with APOC and the story that the page asks about."""
    with tempfile.TemporaryDirectory(prefix="neo4j-") as home, or_skip():
        server = Server(Path(home), plugins=plugins())
        server.start()
        try:
            _tell(server.address)
            yield server.address
        finally:
            server.kill()


def _tell(address: Address) -> None:
    def said(speaker: str, text: str, minute: int) -> Message:
        return Message(speaker, text, datetime(2024, 5, 7, 9, minute, tzinfo=UTC))

    with Hindsight(
        graph=address.graph(),
        vectors=ChromaVectors.in_memory(),
        settings=Settings(consolidate=False),
    ) as memory:
        memory.retain_messages(
            "alice",
            [
                said("Ines", "I moved to Porto on 12 April 2024 because Bruno found a house.", 0),
                said("Bruno", "The house is near the harbour, and Carla helped me with it.", 1),
                said("Ines", "We moved to Porto with Bruno's piano.", 2),
            ],
            session="spring",
        )
        first = memory.memories.list("alice").items[0]
        memory.observations.add("alice", "Ines lives in Porto.", sources=[first.id])


@pytest.mark.slow
def test_the_queries_of_the_page_find_something_and_start_at_an_index(told: Address) -> None:
    queries = [block.text for block in blocks(PAGE) if block.language == "cypher"]
    assert len(queries) == 10
    with neo4j.GraphDatabase.driver(told.uri, notifications_min_severity="OFF") as driver:
        for query in queries:
            assert driver.execute_query(query).records, query
            plan = driver.execute_query(f"EXPLAIN {query}").summary.plan
            scans = {each for each in _operators(plan) if "Scan" in each and "Index" not in each}
            assert not scans, (query, scans)


def _operators(plan: dict[str, Any]) -> Iterator[str]:
    yield plan["operatorType"]
    for child in plan.get("children", ()):
        yield from _operators(child)


def packages() -> Path:
    """Return the folder of the packages, fetched the first time; skips without a registry."""
    folder = CACHE / "-".join(["beside", *(each.partition("==")[2] for each in BESIDE)])
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "beside.lock"), tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        if not folder.exists():
            target = Path(temporary, "packages")
            fetched = subprocess.run(
                [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "-t", target, *BESIDE],
                capture_output=True,
                text=True,
                check=False,
            )
            if fetched.returncode:
                pytest.skip(f"the package registry cannot be reached: {fetched.stderr[-300:]}")
            target.rename(folder)
    return folder


@pytest.mark.slow
def test_the_readers_of_langchain_and_llamaindex_answer_from_the_graph(
    told: Address, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT / "docs/graph.md"), told.uri],
        env={
            **os.environ,
            "PYTHONPATH": f"{packages()}{os.pathsep}{ROOT}",
            "NEO4J_USERNAME": "neo4j",
            "NEO4J_PASSWORD": "not asked for",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    answer, *beside, driver = ran.stdout.strip().splitlines()
    assert answer == "Ines moved to Porto."
    assert "'e.name': 'Bruno'" in "".join(beside)
    assert driver == "driver 5.28.8"
