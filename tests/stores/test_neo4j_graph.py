"""Neo4j as the graph store: the contract, and what only a server has to stand up to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.errors import (
    BankNotFoundError,
    SchemaVersionError,
    StoreUnavailableError,
)
from hindsight_integrations.models import (
    Bank,
    LinkKind,
    MemoryType,
    MentalModel,
    Source,
    TimeSpan,
    utc_now,
)
from hindsight_integrations.stores.base import (
    CANDIDATE,
    CHECKPOINT,
    CONCLUSIONS_CITING,
    COOCCURRENCES,
    ENTITY_NAMED,
    MEMORY,
    MEMORY_ID,
    MENTIONS,
    ChangeSet,
    Condition,
    GraphStore,
    MemoryFilter,
    QueueCheckpoint,
    StagedVector,
)
from hindsight_integrations.stores.neo4j import Neo4jGraph, connection, relating, searching
from hindsight_integrations.stores.neo4j.connection import Transaction
from hindsight_integrations.stores.neo4j.filters import indexed, metadata_facet, terms_of
from hindsight_integrations.stores.neo4j.nodes import sources_of, text_of
from hindsight_integrations.stores.neo4j.schema import MIGRATIONS
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.testing import GraphStoreContract
from hindsight_integrations.stores.testing.samples import (
    ALL,
    EMBEDDER,
    VALID,
    ago,
    changed,
    chunk,
    day,
    document,
    entity,
    keep,
    link,
    record,
    source,
)
from tests.processes import starting

from .common_words import check_common_words
from .neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

SYNTAX = (
    "'}) DETACH DELETE n //",
    '"}) MATCH (n) RETURN n',
    "`Memory` {key: $key}",
    "bank:* OR *:*",
    '") +bank:x (" \\',
    "+a -b && c || !d ^2 ~1 /r.*/ [a TO b] {x}",
    "AND",
    "x\u3000y\u2028z\x00w",
)


@pytest.fixture
def graph(empty_neo4j: Address) -> Iterator[Neo4jGraph]:
    graph = empty_neo4j.graph()
    yield graph
    graph.close()


@pytest.fixture
def bank(graph: Neo4jGraph) -> str:
    return graph.create_bank(Bank("b"), EMBEDDER).key


@pytest.mark.slow
class TestContract(GraphStoreContract):
    FILTERS = 20

    @pytest.mark.parametrize("far", [False, True])
    def test_what_is_read_ahead_is_what_would_be_read_next(
        self, graph: Neo4jGraph, monkeypatch: pytest.MonkeyPatch, far: bool
    ) -> None:
        monkeypatch.setattr(connection, "FAR_SECONDS", -1.0 if far else 9.0)
        super().test_what_is_read_ahead_is_what_would_be_read_next(graph)
        entities, given = ["e:ann"], (2, 1, VALID)
        plain, ahead = (graph.surroundings("b", entities, [], *given, n) for n in (0, 5))
        assert (len(ahead.mentions) > len(plain.mentions)) == far

    def test_common_words_are_looked_for_among_what_rare_ones_found(
        self, graph: Neo4jGraph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        check_common_words(graph, searching, monkeypatch)


# The database


@pytest.mark.slow
def test_a_bank_that_another_process_deletes_or_makes_again_is_never_mixed_up(
    graph: Neo4jGraph, empty_neo4j: Address
) -> None:
    graph.create_bank(Bank("b"), EMBEDDER)
    keep(graph, record("a", entities=("Ann",)))
    other = empty_neo4j.graph()
    assert graph.filter_ids("b", ["a"], VALID) == {"a"}  # knows the key of the bank from now on
    other.delete_bank("b")
    with pytest.raises(BankNotFoundError, match="'b'"):
        graph.filter_ids("b", ["a"], VALID)
    other.create_bank(Bank("b"), EMBEDDER)
    keep(other, record("c"))
    assert graph.filter_ids("b", ["a", "c"], VALID) == {"c"}
    other.update_bank("b", Bank("renamed"))
    with pytest.raises(BankNotFoundError, match="'b'"):
        graph.filter_ids("b", ["c"], VALID)
    assert graph.filter_ids("renamed", ["c"], VALID) == {"c"}
    other.close()


def test_rows_of_what_is_deleted_meanwhile_are_left_out() -> None:
    found = [([[None, None], ["a", 1], []],)]
    assert Transaction(lambda cypher, params: found).collected("") == [("a", 1), ()]


@pytest.mark.slow
def test_opening_again_changes_nothing(graph: Neo4jGraph, empty_neo4j: Address) -> None:
    def schema() -> list[object]:
        names = empty_neo4j.run("SHOW INDEXES YIELD name, state RETURN name, state ORDER BY name")
        return [*names, *empty_neo4j.run("MATCH (s:HindsightStore) RETURN s.version")]

    before = schema()
    for version in (len(MIGRATIONS), 0):  # 0: the first opening was interrupted
        empty_neo4j.run("MATCH (s:HindsightStore) SET s.version = $version", version=version)
        empty_neo4j.graph().close()
        assert schema() == before
    assert all(record["state"] == "ONLINE" for record in before[:-1])  # type: ignore[index]


@pytest.mark.slow
def test_a_database_of_a_newer_release_is_refused_and_left_alone(
    graph: Neo4jGraph, empty_neo4j: Address
) -> None:
    empty_neo4j.run("MATCH (s:HindsightStore) SET s.version = 99")
    try:
        with pytest.raises(SchemaVersionError, match=r"99.*upgrade"):
            empty_neo4j.graph()
    finally:
        empty_neo4j.run("MATCH (s:HindsightStore) SET s.version = $v", v=len(MIGRATIONS))


@pytest.mark.slow
def test_a_database_from_before_conclusions_is_upgraded_and_all_valid_memories_wait(
    graph: Neo4jGraph, bank: str, empty_neo4j: Address
) -> None:
    keep(graph, record("a", sources=(source("d"), source("e"))), record("b"))
    keep(graph, record("wrong", invalidated_at=ago(1)))
    empty_neo4j.run("MATCH (m:Memory) REMOVE m:Waiting, m.proofs")
    empty_neo4j.run(
        "MATCH (m:Memory {id: 'a'}) SET m.sources = "
        '[\'["d", null, 3, "2024-05-01T00:00:00.000000+00:00", null]\', m.sources[1]]'
    )
    keep(graph, checkpoint=QueueCheckpoint("queue", 7))
    keep(graph, checkpoint=QueueCheckpoint("operation:op", 4))
    empty_neo4j.run("MATCH (s:HindsightStore) SET s.version = 1")
    newer = empty_neo4j.graph()
    assert newer.pending_consolidation("b", 9) == ["a", "b"]
    assert newer.read("b", MEMORY, ["a"])["a"].sources[0].position == 3
    assert [each.proof_count for each in newer.read("b", CANDIDATE, ["a", "b"]).values()] == [2, 1]
    marks = newer.read("b", CHECKPOINT, ["operation:op", "queue"])
    assert marks["queue"] == QueueCheckpoint("queue", 7)
    assert marks["operation:op"].expires_at is not None
    left = marks["operation:op"].expires_at - utc_now()
    assert timedelta(days=29) < left <= timedelta(days=30)
    newer.close()


@pytest.mark.slow
def test_names_from_before_their_vowel_signs_counted_are_found(
    graph: Neo4jGraph, bank: str, empty_neo4j: Address
) -> None:
    told = record("a", entities=("राम",), speaker="राम")
    keep(graph, told, record("b", entities=("Café",), speaker="Café"), record("c", speaker="रोम"))
    related_before = related(empty_neo4j)
    empty_neo4j.run(
        "MATCH (n:Name {norm: 'राम'}) SET n.key = replace(n.key, 'राम', 'र म'), "
        "n.norm = 'र म', n.grams = replace(n.grams, 'राम', 'र')"
    )
    empty_neo4j.run("MATCH (s:Speaker {name: 'रोम'}) DETACH DELETE s")
    empty_neo4j.run(
        "MATCH (s:Speaker {name: 'राम'}) SET s.key = replace(s.key, 'राम', 'र म') "
        "WITH s MATCH (m:Memory {id: 'c'}) MERGE (m)-[:SAID_BY]->(s)"
    )
    empty_neo4j.run("MATCH (s:HindsightStore) SET s.version = 8")
    newer = empty_neo4j.graph()
    named = newer.read("b", ENTITY_NAMED, ["राम", "र म", "cafe"])
    assert {norm: each.name for norm, each in named.items()} == {"राम": "राम", "cafe": "Café"}
    assert newer.similar_entities("b", ["राम"], 1) == {"राम": [named["राम"]]}
    assert related(empty_neo4j) == related_before
    assert newer.check(repair=False) == []
    newer.close()


@pytest.mark.slow
def test_a_database_that_does_not_exist_is_named(empty_neo4j: Address) -> None:
    absent = replace(empty_neo4j, database="absent")
    with pytest.raises(StoreUnavailableError, match=r"absent.*database="):
        absent.graph()


@pytest.mark.slow
def test_a_routing_address_works_too(graph: Neo4jGraph, empty_neo4j: Address) -> None:
    routing = empty_neo4j.uri.replace("bolt", "neo4j", 1)
    other = replace(empty_neo4j, uri=routing).graph()
    other.create_bank(Bank("b"), EMBEDDER)
    assert graph.get_bank("b") is not None
    other.close()


@pytest.mark.slow
def test_the_graph_is_worth_looking_at(graph: Neo4jGraph, bank: str, empty_neo4j: Address) -> None:
    keep(
        graph,
        record("a", "Ann met Bob", entities=("Ann",), sources=(source("d", 0, "c"),)),
        record("b", sources=(source("d", 1),), occurred=(day(2024, 5, 2),)),
        documents=(document("d"),),
        chunks=(chunk("c", "d"),),
        links=(link("a", "b", 0.5),),
        entities=(entity("Ann", "Annie"),),
    )
    because = Source(memory_id="a", quote="Ann met Bob")
    unless = Source(memory_id="b", supports=False)
    keep(graph, record("o", type=MemoryType.OBSERVATION, sources=(because, unless)))
    for pattern in (
        "(:Observation {id: 'o'})-[:EVIDENCE {quote: 'Ann met Bob', supports: true}]->"
        "(:Memory {id: 'a'})",
        "(:Observation {id: 'o'})-[:EVIDENCE {supports: false}]->(:Memory:Waiting {id: 'b'})",
        "(:Memory {id: 'a', text: 'Ann met Bob'})-[:MENTIONS]->(:Entity {name: 'Ann'})",
        "(:Entity {aliases: ['Annie']})<-[:NAMES]-(:Name {norm: 'annie'})",
        "(:Memory {id: 'a'})-[:LINK {kind: 'semantic', weight: 0.5}]->(:Memory {id: 'b'})",
        "(:Memory {id: 'a'})-[:FROM]->(:Chunk {id: 'c'})-[:OF]->(:Document {id: 'd'})",
        "(:Memory {id: 'b'})-[:FROM]->(:Document {id: 'd'})",
        "(:Memory {id: 'b'})-[:AT]->(:Time {precision: 'day', "
        "since: '2024-05-02T00:00:00.000000+00:00'})",
    ):
        assert empty_neo4j.run(f"MATCH {pattern} RETURN 1"), pattern


@pytest.mark.slow
def test_purging_leaves_no_node_behind(graph: Neo4jGraph, bank: str, empty_neo4j: Address) -> None:
    keep(graph, record("a", "x", entities=("Ann",), sources=(source("d"),)), record("b"))
    keep(graph, documents=(document("d"),), chunks=(chunk("c", "d"),), links=(link("a", "b"),))
    keep(graph, record("o", sources=(Source(memory_id="a"),)), checkpoint=QueueCheckpoint("q", 1))
    keep(graph, mental_models=(MentalModel("z", "b", "n", "t"),))
    keep(graph, staged=(StagedVector("a", record("a").vector, None, EMBEDDER),))
    graph.delete_bank("b")
    graph.acknowledge(each.ticket for each in graph.pending_vectors(99))
    while graph.purge_deleted(3):
        assert graph.check(repair=False) == []
    assert empty_neo4j.run("MATCH (n) WHERE NOT n:HindsightStore RETURN n") == []


# Relationships for people


def related(address: Address) -> list[list[object]]:
    """Return all relationships, and the properties and nodes that a reader of the graph sees."""
    rows = address.run(
        "MATCH (a)-[r]->(b) RETURN type(r) AS kind, coalesce(a.key, a.id) AS a, "
        "coalesce(b.key, b.id) AS b, [k IN keys(r) | k + toString(r[k])] AS r "
        "ORDER BY kind, a, b"
    )
    nodes = address.run(
        "MATCH (n:Memory|Time|Speaker|Bank) RETURN n.key AS key, n.said_at, n.starts, n.ends, "
        "n.name, n.sources, n.semantic_links, n.causal_links ORDER BY key"
    )
    ends = sorted([row["kind"], row["a"], row["b"], sorted(row["r"])] for row in rows)
    return [*ends, *(list(row.values()) for row in nodes)]


STRIPPED = (
    "MATCH ()-[r:IN|NEXT|SAID_BY|IS|BESIDE]->() DELETE r",
    "MATCH (s:Speaker) DELETE s",
    "MATCH (m:Memory) REMOVE m.said_at",
    "MATCH (t:Time) REMOVE t.starts, t.ends",
    "MATCH ()-[x:MENTIONS]->() REMOVE x.entity, x.seq",
    "MATCH ()-[f:FROM]->() REMOVE f.position, f.said_at",
    "MATCH (b:Bank) REMOVE b.semantic_links, b.temporal_links, b.causal_links",
)
"""Makes a graph what the release before version 6 of the schema wrote."""


@pytest.mark.slow
def test_a_graph_of_an_older_release_is_related_when_it_is_opened(
    graph: Neo4jGraph, bank: str, empty_neo4j: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = generated(Random(5), 90)
    said_in = tuple(document(id) for id in "de")
    graph.apply(replace(changes, documents=said_in))
    graph.apply(ChangeSet("b", remove_memories=tuple(r.memory.id for r in changes.memories[:9])))
    moved = graph.find_ids("b", replace(ALL, document_id="d"), 999) or []
    assert len(moved) > 9
    graph.apply(ChangeSet("b", sources=tuple((id, source("e", 3)) for id in moved[::2])))
    graph.apply(ChangeSet("b", remove_documents=("d",)))  # half of them are now of the other
    assert graph.check(repair=False) == []
    before = related(empty_neo4j)
    assert {"IN", "NEXT", "SAID_BY", "IS", "BESIDE", "FROM"} <= {str(row[0]) for row in before}
    for statement in STRIPPED:
        empty_neo4j.run(statement)
    listed = {
        row["key"]: [
            json.dumps([g.document_id, g.chunk_id, g.position, text_of(g.mentioned_at),
                        g.reference, g.memory_id, g.quote, g.supports])
            for g in sources_of(row["sources"])
        ]
        for row in empty_neo4j.run("MATCH (m:Memory) RETURN m.key AS key, m.sources AS sources")
    }  # fmt: skip
    empty_neo4j.run(
        "UNWIND keys($listed) AS key MATCH (m:Memory {key: key}) SET m.sources = $listed[key]",
        listed=listed,
    )
    empty_neo4j.run("MATCH (s:HindsightStore) SET s.version = 5")
    page = relating._upgrade_page
    monkeypatch.setattr(relating, "WRITE_BATCH", 40)
    monkeypatch.setattr(relating, "_upgrade_page", _stopping(page))
    with pytest.raises(KeyboardInterrupt):
        empty_neo4j.graph()
    monkeypatch.setattr(relating, "_upgrade_page", page)
    newer = empty_neo4j.graph()
    assert related(empty_neo4j) == before
    assert newer.check(repair=False) == []
    for statement in (*STRIPPED[:2], STRIPPED[-1]):
        empty_neo4j.run(statement)
    assert {each.problem for each in newer.check(repair=True) if each.repaired} == {
        "is not related to its bank",
        "does not lead to the next",
        "differs from the memories",
        "counts beside others differ",
        "counts of links differ",
    }
    assert related(empty_neo4j) == before
    newer.close()


def _stopping(page: Callable[..., str | None]) -> Callable[..., str | None]:
    """Return an upgrade of pages that is interrupted at its third."""
    pages = iter([page, page])

    def upgrade(*given: Any) -> str | None:
        for each in pages:
            return each(*given)
        raise KeyboardInterrupt

    return upgrade


# Several at once


def _retain(address: Address, process: int) -> None:
    graph = address.graph()
    for n in range(20):
        id = f"{process}-{n}"
        given = replace(record(id, "shared word", entities=("Ann",)), entity_ids=(id,))
        graph.apply(ChangeSet("b", entities=(entity("ANN", id=id),), memories=(given,)))
    graph.close()


@pytest.mark.slow
def test_two_processes_that_name_one_person_make_one_entity(
    graph: Neo4jGraph, bank: str, empty_neo4j: Address
) -> None:
    context = starting()
    processes = [context.Process(target=_retain, args=(empty_neo4j, n)) for n in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    (ann,) = graph.list_entities("b", limit=9).items
    assert ann.mention_count == 40
    assert graph.lexeme_stats("b", ["shared"]).frequency == {"shared": 40}
    assert len({pending.ticket for pending in graph.pending_vectors(99)}) == 40
    assert graph.check(repair=False) == []


# Beside the embedded store


def generated(random: Random, count: int) -> ChangeSet:
    """Memories that share words, people, times, documents and tags, as those of a chat do."""
    words = [f"w{n}" for n in range(80)]
    people = [f"Person {n}" for n in range(12)] + ["Ann Lee", "Anne Lea", "Li"]
    memories = []
    for n in range(count):
        start = ago(random.uniform(0, 900))
        memories.append(
            record(
                f"m{random.randrange(10**6):06}-{n}",
                " ".join(random.choices(words, [1 / (w + 1) for w in range(80)], k=9)),
                seed=n,
                type=random.choice(list(MemoryType)),
                entities=tuple(random.sample(people, random.randrange(4))),
                occurred=tuple(
                    TimeSpan(start, start + timedelta(days=random.uniform(0.01, 400)))
                    for _ in range(random.randrange(3))
                ),
                mentioned_at=ago(random.randrange(900)),
                tags=tuple(random.sample("xyz", random.randrange(3))),
                metadata={"n": random.choice([1, 2.5, "1", True]), "s": random.choice("ab")},
                scope=random.choice(["p", "q", None]),
                speaker=random.choice(["ANN LEE", "Nobody", None]),
                sources=(source(random.choice(["d", "e", None]), random.randrange(50)),),
                invalidated_at=random.choice([None, None, None, ago(100)]),
                expires_at=random.choice([None, None, ago(1), ago(-1)]),
            )
        )
    ids = [each.memory.id for each in memories]
    concluded = [
        record(
            f"o{n:03}",
            type=MemoryType.OBSERVATION,
            sources=tuple(
                Source(memory_id=id, mentioned_at=ago(k), supports=k == 0 or random.random() < 0.7)
                for k, id in enumerate(
                    [random.choice(ids), *random.sample([*ids, "gone", "o000"], 3)]
                )
            ),
        )
        for n in range(count // 5)
    ]
    return ChangeSet(
        "b",
        entities=tuple(entity(name) for name in people),
        memories=(*memories, *concluded),
        mark_consolidated=tuple(random.sample(ids, count // 2)),
        links=tuple(
            link(one, other, random.choice([0.3, 0.5, 0.9]), random.choice([*LinkKind]))
            for one, other in (random.sample(ids, 2) for _ in range(4 * count))
        ),
    )


FILTERS = (
    VALID,
    ALL,
    replace(VALID, types=frozenset({MemoryType.WORLD, MemoryType.OPINION})),
    replace(VALID, tags=("x", "y"), tags_match="all"),
    replace(VALID, scope="p", document_id="d"),
    replace(VALID, where=(Condition("n", "$gte", 1), Condition("s", "$ne", "a"))),
    replace(VALID, entity_ids=("e:ann lee", "e:li"), as_of=ago(200)),
    replace(VALID, window=TimeSpan(ago(300), ago(100))),
)


@pytest.mark.slow
def test_both_stores_answer_alike(graph: Neo4jGraph, bank: str) -> None:
    random = Random(11)
    changes = generated(random, 500)
    embedded = SqliteGraph(None)
    embedded.create_bank(Bank("b"), EMBEDDER)
    ids = [each.memory.id for each in changes.memories]
    people = [each.id for each in changes.entities]

    def answers(store: GraphStore, filter: MemoryFilter) -> dict[str, object]:
        window = TimeSpan(ago(400), ago(200))
        page = store.list_memories("b", filter, limit=20)
        return {
            "text": store.text_search("b", ["w0", "w7", "w30", "w79", "none"], filter, 25),
            "time": store.time_search("b", window, filter, 25),
            "postings": store.postings("b", people, 7, filter),
            "links": store.links("b", ids[:60], 3, filter),
            "surroundings": store.surroundings("b", people, ids[:60], 7, 3, filter),
            "matching": store.find_ids("b", filter, 999),
            "admitted": store.filter_ids("b", ids, filter),
            "page": (list(page.items), page.total),
            "neighbours": store.neighbours("b", ids, 2, filter),
            "cooccurring": store.read("b", COOCCURRENCES, people),
            "together": store.mentioned_together("b", people, people[::2]),
            "similar": store.similar_entities("b", ("an le", "Person 1"), 5),
            "entities": list(store.list_entities("b", limit=99).items),
            "statistics": (store.lexeme_stats("b", ["w0", "w79"]), store.bank_stats("b")),
            "mentions": store.read("b", MENTIONS, ids),
            "memories": store.read("b", MEMORY, ids),
            "proofs": [
                (each.id, each.proof_count) for each in store.read("b", CANDIDATE, ids).values()
            ],
            "resting": store.read("b", CONCLUSIONS_CITING, ids),
            "waiting": store.pending_consolidation("b", 999),
        }

    kept = [each for each in changes.memories if each.memory.document_id != "e"]
    renewed = tuple(changed(each, text="new") for each in kept[51:90:8])
    for change in (
        changes,
        ChangeSet("b", remove_documents=("e",), remove_memories=tuple(ids[:50:7])),
        ChangeSet("b", replaced=renewed),
    ):
        assert graph.apply(change) == embedded.apply(change)
        for filter in FILTERS:
            ours, theirs = answers(graph, filter), answers(embedded, filter)
            for what, answer in ours.items():
                assert answer == theirs[what], (what, filter)
    embedded.close()


# What a user sends


@pytest.mark.slow
@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_is_only_text(graph: Neo4jGraph, bank: str, text: str) -> None:
    given = record(
        "m", text, entities=(text,), tags=(text,), scope=text, metadata={text: text},
        sources=(source(text),),
    )  # fmt: skip
    keep(graph, replace(given, lexemes=(text,)), record("other", "x y z w bank a b"))
    conditions = (Condition(text, "$eq", text), Condition(text, "$gte", text))
    for filter in (
        replace(VALID, tags=(text,)),
        replace(VALID, scope=text),
        replace(VALID, where=conditions),
        replace(VALID, document_id=text),
    ):
        assert graph.find_ids("b", filter, 9) == ["m"]
        assert [hit.memory_id for hit in graph.text_search("b", [text], filter, 9)] == ["m"]
    assert [hit.memory_id for hit in graph.text_search("b", [text], ALL, 9)] == ["m"]
    assert [each.name for each in graph.similar_entities("b", [text], 9)[text]] == [text]
    assert [each.name for each in graph.read("b", ENTITY_NAMED, [text]).values()] == [text]
    assert graph.check(repair=False) == []


@pytest.mark.slow
def test_other_banks_cannot_crowd_out_hits(graph: Neo4jGraph, bank: str) -> None:
    graph.create_bank(Bank("loud"), EMBEDDER)
    keep(graph, *(record(f"m{n}", "word " * 9, bank_id="loud", tags=("t",)) for n in range(300)))
    keep(graph, record("m", "a word said once in a long text", tags=("t",)))
    assert [hit.memory_id for hit in graph.text_search("b", ["word"], VALID, 1)] == ["m"]
    assert graph.find_ids("b", replace(VALID, tags=("t",)), 1) == ["m"]


@pytest.mark.slow
def test_many_times_of_one_memory_do_not_hide_another(graph: Neo4jGraph, bank: str) -> None:
    keep(graph, record("many", occurred=tuple(day(2024, 6, n) for n in range(3, 28))))
    keep(graph, record("other", occurred=(day(2024, 6, 29),)))
    hits = graph.time_search("b", day(2024, 6, 1, days=30), VALID, 2)
    assert [hit.memory_id for hit in hits] == ["many", "other"]


# Nodes that contradict each other


@pytest.mark.slow
def test_conclusions_on_a_lost_memory_are_put_right(
    graph: Neo4jGraph, bank: str, empty_neo4j: Address
) -> None:
    def on(*ids: str) -> tuple[Source, ...]:
        return tuple(Source(memory_id=id) for id in ids)

    keep(graph, *map(record, "xyz"))
    keep(graph, record("on-y", sources=on("y")), record("top", sources=on("on-y")))
    keep(graph, record("on-both", sources=on("y", "x")), record("on-z", sources=on("z")))
    empty_neo4j.run("MATCH (m:Memory {id: 'y'}) DETACH DELETE m")
    empty_neo4j.run("MATCH (:Memory {id: 'on-z'})-[e:EVIDENCE]->() DELETE e")
    wrong = {
        ("evidence is none of the memories", 2),
        ("nothing supports the conclusion", 1),
        ("relationships of evidence differ from the sources", 1),
    }
    assert wrong <= {(fault.problem, fault.count) for fault in graph.check(repair=False)}
    repaired = graph.check(repair=True)
    assert wrong <= {(fault.problem, fault.count) for fault in repaired}
    assert all(fault.repaired for fault in repaired)
    assert graph.check(repair=False) == []
    assert list(graph.scan("b", MEMORY_ID)) == ["x", "z", "on-both", "on-z"]
    assert graph.read("b", CONCLUSIONS_CITING, ["x", "z"]) == {"x": ("on-both",), "z": ("on-z",)}
    assert graph.pending_consolidation("b", 9) == ["x", "z", "on-both"]


REPAIRABLE = {
    "Time": "MATCH (t:Time {ordinal: 1}) SET t.since = '2000'",
    "Entity": "MATCH (e:Entity) SET e.mention_count = 7, e.first_seen = null",
    "Lexeme": "MATCH (l:Lexeme {lexeme: 'word'}) DELETE l",
    "Name": "MATCH (e:Entity) CREATE (:Name {key: split(e.key, '|')[0] + '|lost'})",
    "Vector": "MATCH (m:Memory {id: 'x'}) CREATE (:Vector {key: m.key + 'lost'})",
    "PendingVector": "MATCH (p:PendingVector {memory_id: 'x'}) SET p.memory = 'lost'",
}


@pytest.mark.slow
@pytest.mark.parametrize("label", REPAIRABLE)
def test_what_can_be_computed_is_found_and_put_right(
    graph: Neo4jGraph, bank: str, empty_neo4j: Address, label: str
) -> None:
    def seen() -> tuple[object, ...]:
        return (
            graph.list_memories("b", VALID, limit=9),
            graph.time_search("b", day(2024, 5, 1, days=9), VALID, 9),
            graph.lexeme_stats("b", ["word", "x"]),
            graph.list_entities("b", limit=9),
        )

    keep(graph, *(record(id, f"word {id}", entities=("Ann",)) for id in "xy"))
    keep(graph, record("z", entities=("Ann",), occurred=(day(2024, 5, 2),)))
    before = seen()
    empty_neo4j.run(REPAIRABLE[label])
    found = graph.check(repair=False)
    assert {fault.table for fault in found} == {label}
    assert not any(fault.repaired for fault in found)
    assert [replace(fault, repaired=True) for fault in found] == graph.check(repair=True)
    assert graph.check(repair=False) == []
    assert seen() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "table", "problem"),
    [
        ("MATCH (v:Vector) DELETE v", "Memory", "no vector"),
        ("MATCH (n:Name) DETACH DELETE n", "Entity", "no name"),
    ],
)
def test_what_cannot_be_computed_is_reported(
    graph: Neo4jGraph, bank: str, empty_neo4j: Address, lost: str, table: str, problem: str
) -> None:
    keep(graph, record("m", entities=("Ann",)))
    empty_neo4j.run(lost)
    found = [fault for fault in graph.check(repair=True) if fault.table == table]
    assert [(fault.problem, fault.count, fault.repaired) for fault in found] == [
        (problem, 1, False)
    ]


# Values


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)


@given(NUMBERS, NUMBERS)
def test_metadata_of_a_field_sorts_as_its_numbers_do(one: float, other: float) -> None:
    first, second = metadata_facet("k", one), metadata_facet("k", other)
    assert (first < second) == (one < other)
    assert (first == second) == (one == other)


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Co")), min_size=1)))
def test_terms_come_back_whatever_they_hold(terms: list[str]) -> None:
    assert terms_of(indexed(terms)) == tuple(terms)
