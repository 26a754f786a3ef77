"""Plans and times of the queries of a big bank in Neo4j: `python -m benchmarks.speed.plans URL`.

Fills a bank of 100,000 synthetic memories, of which four in ten mention one entity, asks the store
what recall, reading and counting ask it, changes it, and prints of each how long it took, how many
records the server touched, and the ways in which its plans enter the graph. The database has to be
a spare one: the bank is deleted at the end.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from hindsight_integrations.models import Bank, MemoryType, TimeSpan
from hindsight_integrations.stores import base
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    EntityMerge,
    EntityNames,
    MemoryFilter,
)
from hindsight_integrations.stores.neo4j import Neo4jGraph
from hindsight_integrations.stores.neo4j.connection import Database, Row, _Attempt
from hindsight_integrations.stores.neo4j.filters import indexed
from hindsight_integrations.stores.testing.samples import (
    changed,
    chunk,
    document,
    entity,
    link,
    record,
    source,
)

BANK = "plans"
DIMENSION = 8
_PAGE = 2_000
_ENTITIES = 3_000
_START = datetime(2020, 1, 1, tzinfo=UTC)

_FILL = """
    MATCH (b:Bank {key: $bank}) UNWIND range($first, $last) AS n
    WITH b, n, $prefix + 'm' + toString(n) AS key,
        datetime('2020-01-01T00:00:00Z') + duration({minutes: n}) AS at
    WITH b, n, key, at, toString(at.year) + substring(toString(at), 4, 12) +
        ':00.000000+00:00' AS said
    CREATE (m:Memory {key: key, id: 'm' + toString(n), bank: $bank, seq: n, text: 'Text ' + n,
        type: CASE n % 50 WHEN 0 THEN 'observation' ELSE 'world' END, tags: [], metadata: '{}',
        occurred: [], mentioned_at: said, created_at: said, updated_at: said, said_at: at,
        sources: [], proofs: 1, document_id: 'd' + toString(n / 20), place: n,
        lexemes: $words[n % size($words)], facets: ['document:d' + toString(n / 20)],
        fingerprint: toString(n), derived: false, pinned: false})-[:IN]->(b)
    CREATE (:Vector {key: key, vector: $vector})
    CREATE (m)-[:AT]->(:Time {key: key + '|0', bank: $bank, ordinal: 0, length_class: 0,
        middle: at.epochSeconds * 1000000, since: said, until: said, precision: 'second',
        starts: at, ends: at})
    FOREACH (_ IN CASE n % 50 WHEN 0 THEN [1] ELSE [] END | SET m:Observation)
    WITH m, n
    UNWIND CASE WHEN n % 5 < 2 THEN [0, 1 + n % $entities] ELSE [1 + n % $entities] END AS e
    MATCH (entity:Entity {key: $prefix + 'e' + toString(e)})
    CREATE (m)-[:MENTIONS {ordinal: e, entity: entity.key, seq: n}]->(entity)"""

_NAME = """
    MATCH (b:Bank {key: $bank}) UNWIND range(0, $entities) AS n
    CREATE (e:Entity {key: $prefix + 'e' + toString(n), id: 'e' + toString(n), bank: $bank,
        name: 'Name ' + n, kind: 'person', aliases: [], edited: false, mention_count: $degree,
        first_seen: '2020-01-01T00:01:00.000000+00:00',
        last_seen: '2030-01-01T00:00:00.000000+00:00'})
        -[:IN]->(b)
    CREATE (:Name {key: $prefix + 'name ' + toString(n), bank: $bank, norm: 'name ' + toString(n),
        grams: $grams, seq: n})-[:NAMES]->(e)"""

_LINK = """
    UNWIND range($first, $last) AS n MATCH (a:Memory {key: $prefix + 'm' + toString(n)})
    MATCH (b:Memory {key: $prefix + 'm' + toString(n - 1)})
    CREATE (a)-[:LINK {kind: 'semantic', weight: 0.7}]->(b) CREATE (b)-[:NEXT]->(a)"""

_BESIDE = """
    MATCH (hub:Entity {key: $prefix + 'e0'}) UNWIND range(1, $entities) AS n
    MATCH (e:Entity {key: $prefix + 'e' + toString(n)}) CREATE (hub)-[:BESIDE {memories: 7}]->(e)"""


@dataclass
class QueryCost:
    """Measured cost of a query to the store, or of a change.

    Attributes:
        milliseconds: the quickest of three times; of a change, the only one, planning included.
        touched: records that the server touched ("db hits").
        entered: operators by which its plans enter the graph.
    """

    name: str
    milliseconds: float = 0.0
    touched: int = 0
    entered: set[str] = field(default_factory=set)


def fill(graph: Neo4jGraph, memories: int) -> None:
    """Make the bank, past the rules of the store, which would take an hour."""
    graph.create_bank(Bank(BANK), EmbedderIdentity("none", DIMENSION))
    database = graph._database
    words = [indexed([f"w{n}", "often"]) for n in range(500)]
    vector = np.eye(1, DIMENSION, dtype=np.float32).tobytes()

    def run(cypher: str, **params: Any) -> None:
        bank = graph._banks.on(BANK)
        database.write(
            lambda tx: tx.run(cypher, bank=bank.key, prefix=bank.prefix, entities=_ENTITIES,
                              degree=memories // 20, **params)
        )  # fmt: skip

    graph.get_bank(BANK)
    run(_NAME, grams=indexed(["nam"]))
    for first in range(1, memories + 1, _PAGE):
        last = min(first + _PAGE - 1, memories)
        run(_FILL, first=first, last=last, words=words, vector=vector)
        run(_LINK, first=max(first, 2), last=last)
    run(_BESIDE)
    run(
        "UNWIND range(0, 499) AS n CREATE (:Lexeme {key: $prefix + 'w' + toString(n), "
        "bank: $bank, lexeme: 'w' + toString(n), memories: $held})",
        held=memories // 500,
    )
    run(
        "MATCH (b:Bank {key: $bank}) SET b.sequence = $held, b.valid_memories = $held, "
        "b.valid_lexemes = 2 * $held, b.semantic_links = $held - 1",
        held=memories,
    )
    database.reads.run("CALL db.awaitIndexes(300)")
    database.reads.run("CALL db.prepareForReplanning(300)")  # plans depend on what is counted


def questions(graph: Neo4jGraph, memories: int) -> Mapping[str, Callable[[], object]]:
    """Return the queries to measure, by name."""
    now = _START + timedelta(days=3650)
    valid = MemoryFilter(now)
    about = replace(valid, types=frozenset({MemoryType.OBSERVATION}), entity_ids=("e0",))
    day = TimeSpan(_START + timedelta(days=1), _START + timedelta(days=2))
    some = [f"m{n}" for n in range(1, memories, memories // 40)]
    return {
        "places of new memories": lambda: graph.places(BANK, memories - 20, 2_000),
        "get_bank": lambda: graph.get_bank(BANK),
        "bank_stats": lambda: graph.bank_stats(BANK),
        "lexeme_stats": lambda: graph.lexeme_stats(BANK, ["w3", "w4"]),
        "text_search": lambda: graph.text_search(BANK, ["w3"], valid, 150),
        "time_search": lambda: graph.time_search(BANK, day, valid, 150),
        "find_ids of a big bank": lambda: graph.find_ids(BANK, valid, 2000),
        "find_ids of a document": lambda: graph.find_ids(
            BANK, replace(valid, document_id="d7"), 2000
        ),
        "find_ids of observations on a hub": lambda: graph.find_ids(BANK, about, 2000),
        "filter_ids": lambda: graph.filter_ids(BANK, some, valid),
        "postings of a hub": lambda: graph.postings(BANK, ["e0"], 40, valid),
        "surroundings": lambda: graph.surroundings(BANK, ["e0", "e5"], some, 40, 4, valid),
        "surroundings ahead": lambda: graph.surroundings(BANK, ["e5"], some[:10], 40, 4, valid, 80),
        "neighbours": lambda: graph.neighbours(BANK, some, 2, valid),
        "names": lambda: graph.read(BANK, base.ENTITY_NAMED, ["name 0", "name 7"]),
        "entities": lambda: graph.read(BANK, base.ENTITY, ["e0", "e7"]),
        "who is beside a hub": lambda: graph.read(BANK, base.COOCCURRENCES, ["e0"]),
        "who of some is beside a hub": lambda: graph.mentioned_together(
            BANK, ["e0", "e5"], [f"e{n}" for n in range(40)]
        ),
        "candidates": lambda: graph.read(BANK, base.CANDIDATE, some),
        "memories": lambda: graph.read(BANK, base.MEMORY, some),
        "companions of a hub": lambda: graph.read(BANK, base.COMPANIONS, ["e0"]),
        "similar_entities": lambda: graph.similar_entities(BANK, ["name 7"], 20),
        "list_memories": lambda: graph.list_memories(BANK, valid, limit=20),
        "list_entities": lambda: graph.list_entities(BANK, limit=20),
        "find_ids of observations on a name": lambda: graph.find_ids(
            BANK, replace(about, entity_ids=("e7",)), 2000
        ),
        "documents": lambda: graph.read(BANK, base.DOCUMENT, ["d7"]),
        "same documents": lambda: graph.read(BANK, base.SAME_DOCUMENTS, ["f7"]),
        "chunks of documents": lambda: graph.read(BANK, base.DOCUMENT_CHUNKS, ["d7"]),
        "history": lambda: graph.read(BANK, base.HISTORY, some),
        "conclusions citing": lambda: graph.read(BANK, base.CONCLUSIONS_CITING, some),
        "duplicates": lambda: graph.read(BANK, base.DUPLICATES, ["7", "8"]),
        "pending_consolidation": lambda: graph.pending_consolidation(BANK, 100),
        "pending_vectors": lambda: graph.pending_vectors(100),
    }


def changes() -> Mapping[str, ChangeSet]:
    """Return changes to the bank, by name; each is applied once, in this order."""
    said = [
        record(f"new {n}", bank_id=BANK, entities=("Ann", f"Name {n}"), speaker="Ann",
               sources=(source("new", n, f"new/{n}"),))
        for n in range(5)
    ]  # fmt: skip
    named = [*(entity(f"Name {n}", bank=BANK) for n in range(5)), entity("Ann", bank=BANK)]
    corrected = [changed(each, text=f"Corrected {n}") for n, each in enumerate(said)]
    return {
        "apply: a conversation": ChangeSet(
            BANK,
            expected=(("new", None),),
            documents=(document("new", bank=BANK),),
            chunks=tuple(chunk(f"new/{n}", "new", n) for n in range(5)),
            entities=tuple(named),
            memories=tuple(said),
            links=tuple(link(f"new {n}", f"m{n + 1}") for n in range(5)),
        ),
        "apply: repetitions, names": ChangeSet(
            BANK,
            names=(EntityNames("e7", "Name 7", ("Seventh",)),),
            sources=(("m7", source("new", 9)),),
            version=0,
        ),
        "apply: corrections": ChangeSet(BANK, entities=tuple(named), replaced=tuple(corrected)),
        "apply: a merge": ChangeSet(BANK, entity_edits=(EntityMerge("e9", "e8"),)),
        "apply: a document forgotten": ChangeSet(BANK, remove_documents=("new",)),
        "apply: memories forgotten": ChangeSet(BANK, remove_memories=("m11", "m12")),
    }


def measured(graph: Neo4jGraph, memories: int) -> Iterator[QueryCost]:
    """Yield what each question took, then what each change did."""
    yield from _profiled(graph, memories)
    for name, change in changes().items():
        yield _changed(graph, name, change)


def _changed(graph: Neo4jGraph, name: str, change: ChangeSet) -> QueryCost:
    cost = QueryCost(name)
    plain = _Attempt.run

    def profiled(_: _Attempt, driver: Any, cypher: str, params: Mapping[str, Any]) -> list[Row]:
        result = driver.run(f"PROFILE {cypher}", {**params})
        rows = [tuple(row) for row in result.values()]
        _add_profile(cost, result.consume().profile)
        return rows

    started = time.perf_counter()
    _Attempt.run = profiled  # type: ignore[method-assign, assignment]
    try:
        graph.apply(change)
    finally:
        _Attempt.run = plain  # type: ignore[method-assign]
    cost.milliseconds = 1000 * (time.perf_counter() - started)
    return cost


def _profiled(graph: Neo4jGraph, memories: int) -> Iterator[QueryCost]:
    database = graph._database
    plain = Database.query
    for name, ask in questions(graph, memories).items():
        cost = QueryCost(name)
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            ask()
            seconds.append(time.perf_counter() - started)
        cost.milliseconds = 1000 * min(seconds)
        sent: list[tuple[str, Mapping[str, Any]]] = []

        def recorded(
            cypher: str, params: Mapping[str, Any], *given: Any, sent: Any = sent
        ) -> list[Row]:
            sent.append((cypher, params))
            return plain(database, cypher, params, *given)

        graph._banks._execute = recorded
        database.query = recorded  # type: ignore[method-assign, assignment]
        try:
            ask()
        finally:
            graph._banks._execute = database.query = plain.__get__(database)  # type: ignore[method-assign]
        for cypher, params in sent:
            with database._session("READ") as session:
                profile = session.run(f"PROFILE {cypher}", {**params}).consume().profile
            _add_profile(cost, profile)
        yield cost


def _add_profile(cost: QueryCost, profile: Any) -> None:
    for step in _steps(profile):
        cost.touched += step.get("dbHits", 0)
        if not step.get("children"):
            cost.entered.add(step["operatorType"].partition("@")[0])


def _steps(profile: Any) -> Iterator[Any]:
    yield profile
    for child in profile.get("children", ()):
        yield from _steps(child)


def main() -> None:
    """Fill, measure, print a table, and remove the bank."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url", help="a spare Neo4j database without a password")
    parser.add_argument("--memories", type=int, default=100_000)
    given = parser.parse_args()
    graph = Neo4jGraph(given.url)
    fill(graph, given.memories)
    sys.stdout.write("| query | ms | records touched | enters by |\n|---|---:|---:|---|\n")
    for each in measured(graph, given.memories):
        entered = ", ".join(sorted(each.entered - {"Argument", "EmptyRow"}))
        row = f"| {each.name} | {each.milliseconds:.1f} | {each.touched:,} | {entered} |\n"
        sys.stdout.write(row)
        sys.stdout.flush()
    graph.delete_bank(BANK)
    while graph.purge_deleted(10_000):
        continue
    graph.close()


if __name__ == "__main__":
    main()
