"""The benchmark: what it feeds, and that a run writes its section and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.speed.__main__ import main
from benchmarks.speed.corpus import questions, sessions
from benchmarks.speed.event_loop import measure
from benchmarks.speed.machine import disk_usage, import_seconds, peak_memory
from benchmarks.speed.place import Place
from benchmarks.speed.prepared import mixed_vectors, prepare
from benchmarks.speed.ratio import Extent, in_turns, table
from benchmarks.speed.ratio import measure as measure_ratio
from benchmarks.speed.scale import main as measure_scale
from benchmarks.speed.timing import timed
from hindsight_integrations import Hindsight
from hindsight_integrations.errors import InvalidInputError

from .stores.chroma_server import served
from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]


def test_the_corpus_is_the_same_for_the_same_seed() -> None:
    assert list(sessions(60)) == list(sessions(60))
    assert list(sessions(60)) != list(sessions(60, seed=9))
    assert questions(8) == questions(8)


def test_the_corpus_has_the_turns_asked_for_in_order_of_time() -> None:
    turns = [message for session in sessions(500) for message in session.messages]
    moments = [message.timestamp for message in turns if message.timestamp]
    assert len(moments) == 500
    assert moments == sorted(moments)
    assert len({message.text for message in turns}) > 490
    assert not [m.text for m in turns if "{" in m.text or "}" in m.text]


@pytest.mark.slow
def test_a_prepared_bank_is_sound_and_found_by_every_arm(tmp_path: Path) -> None:
    said = [message for session in sessions(130) for message in session.messages]
    with Hindsight(tmp_path / "bank") as memory:
        prepare(memory, "bench", 130)
        assert memory.banks.stats("bench").memories == 130
        assert memory.banks.stats("bench").pending_vectors == 0
        assert not memory.maintenance.doctor(repair=False).findings
        for arm in ("semantic", "keyword", "entity"):
            assert memory.recall("bench", said[40].text, arms=[arm])
        assert memory.recall("bench", "What happened in January 2019?", arms=["temporal"])


@pytest.mark.slow
def test_mixed_vectors_are_unit_deterministic_and_spread() -> None:
    vectors = mixed_vectors(60)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors[:40], mixed_vectors(40))
    cosines = (vectors @ vectors.T)[~np.eye(len(vectors), dtype=bool)]
    assert cosines.max() < 0.97  # no two would be taken for the same statement


def test_percentiles_are_of_the_work_alone() -> None:
    latency = timed(lambda number: sum(range(number)), [10] * 50)
    assert 0 < latency.p50 <= latency.p95 < 10


def test_machine_figures_are_in_bytes_and_seconds(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_bytes(b"12345")
    assert disk_usage(tmp_path) == 5
    assert peak_memory() > 20_000_000
    assert 0 < import_seconds("import json", times=1) < 30


@pytest.mark.slow
def test_a_run_writes_its_section_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Mine\n\n<!-- speed:start -->\nold\n<!-- speed:end -->\n\nend\n")
    assert main(["--quick", "--sizes", "60", "--page", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Mine\n\n<!-- speed:start -->\n")
    assert text.endswith("<!-- speed:end -->\n\nend\n")
    assert "old" not in text
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
    assert {"all arms, reranked", "semantic alone", "plain Chroma", "disk, MB"} <= set(rows)
    assert rows["memories"] == "| memories | 60 |"


@pytest.mark.slow
def test_many_banks_and_one_are_filled_and_used_in_processes_of_their_own(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert measure_scale(["--shapes", "2x40", "--page", str(page)]) == 0
    rows = {
        line.split("|")[1].strip(): line for line in page.read_text().splitlines() if "|" in line
    }
    assert rows["banks x memories"] == "| banks x memories | 2 x 40 |"
    assert {"filled, memories/s", "disk, MB", "open, s", "recall, ms"} <= set(rows)
    assert float(rows["disk, MB"].split("|")[2]) > 0
    with pytest.raises(SystemExit):
        measure_scale(["--shapes", "0x40"])


def test_two_are_timed_in_turns_on_the_same_cases() -> None:
    done: list[str] = []
    pair = in_turns(lambda n: done.append(f"a{n}"), lambda n: done.append(f"b{n}"), range(3))
    assert done == ["b0", "a0", "a1", "b1", "b2", "a2"]
    assert 0 < pair.embedded.p50 <= pair.embedded.p95
    assert min(pair.seconds) > 0


@pytest.mark.slow
def test_two_places_get_the_same_bank_and_a_ratio(tmp_path: Path) -> None:
    one, other = Place(tmp_path / "one"), Place(tmp_path / "other")
    found = measure_ratio(one, other, 60, Extent(questions=4, turns=20, sentences=2))
    assert 0.2 < found.recall.served.p50 / found.recall.embedded.p50 < 5
    assert found.turns == 20
    assert "**ratio of the p50s**" in table({60: found})


@pytest.fixture
def servers(
    empty_neo4j: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    (tmp_path / "chroma").mkdir()
    monkeypatch.setenv("HINDSIGHT_GRAPH", empty_neo4j.uri)
    with served(tmp_path / "chroma") as url:
        monkeypatch.setenv("HINDSIGHT_VECTORS", url)
        yield


@pytest.mark.slow
def test_a_run_on_servers_writes_a_section_of_its_own_and_leaves_them_empty(
    servers: None, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    assert main(["--servers", "--quick", "--sizes", "60", "--page", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!-- servers:start -->")
    assert "| all arms, reranked |" in text
    assert "disk, MB" not in text
    with Place().open() as memory:
        assert memory.banks.list() == []


@pytest.mark.slow
def test_servers_that_hold_banks_are_left_alone(servers: None, tmp_path: Path) -> None:
    with Place().open() as memory:
        memory.retain("mine", "Ana moved to Porto.")
        with pytest.raises(InvalidInputError, match="banks on the servers"):
            main(["--servers", "--quick", "--page", str(tmp_path / "page.md")])
        assert memory.banks.stats("mine").memories == 1
        assert [bank.id for bank in memory.banks.list()] == ["mine"]


def test_servers_without_a_url_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_GRAPH", "neo4j://localhost:7687")
    monkeypatch.delenv("HINDSIGHT_VECTORS", raising=False)
    with pytest.raises(InvalidInputError, match="HINDSIGHT_VECTORS not set"):
        main(["--servers", "--page", str(tmp_path / "page.md")])


@pytest.mark.slow
def test_a_task_beside_calls_is_watched_until_they_are_done() -> None:
    found = measure(recalls=4, messages=4, turns=20)
    assert list(found) == ["nothing", "4 recalls at once", "4 messages retained"]
    nothing, *calls = found.values()
    assert nothing.seconds >= 1.0
    assert all(0 < stall.p99 <= stall.worst for stall in calls)
