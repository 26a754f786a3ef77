"""Statements of Neo4j enter the graph by an index; a name that many mention costs no more."""

from __future__ import annotations

import pytest

from benchmarks.speed.plans import fill, measured

from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

MEMORIES = 4_000
LISTS = {
    *("bank_stats", "find_ids of a big bank", "list_entities"),
    *("who is beside a hub", "companions of a hub", "similar_entities"),
}
"""Questions that read as much as they count or rank: of the bank, or of what is beside a name."""


@pytest.mark.slow
def test_every_statement_on_a_big_bank_starts_at_an_index(empty_neo4j: Address) -> None:
    graph = empty_neo4j.graph()
    fill(graph, MEMORIES)
    asked = {each.name: each for each in measured(graph, MEMORIES)}
    graph.close()
    assert len(asked) > 30
    for each in asked.values():
        scans = {name for name in each.entered if "Scan" in name}
        assert not scans, (each.name, scans)
        assert each.name in LISTS or each.touched < MEMORIES, each
    # 1,600 memories mention it, of which the latest 40 are read.
    assert asked["postings of a hub"].touched < 400
    # Two of those 1,600 are forgotten: the others are not read again.
    assert asked["apply: memories forgotten"].touched < MEMORIES / 4
