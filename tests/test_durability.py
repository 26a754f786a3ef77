"""The two stores stay one: kills, second processes, lost folders, other embedders."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from hindsight_integrations import (
    Arm,
    EmbedderMismatchError,
    Hindsight,
    SchemaVersionError,
)
from hindsight_integrations.stores.base import MEMORY_ID
from tests.embedders import Letters

KILLS = int(os.environ.get("HINDSIGHT_TORTURE_KILLS", "8"))
"""Processes killed; `make torture` kills 20, or as many as it is told."""
SEED = int(os.environ.get("HINDSIGHT_TORTURE_SEED", "7"))
"""Seed of the moments of the kills, so that several runs kill at different ones."""

KILLED = """
import os, random, signal, sys, time
from datetime import datetime, UTC, timedelta
import chromadb.api.rust
import hindsight_integrations.opening
from hindsight_integrations import Hindsight
from hindsight_integrations.nlp import tokens
from tests.bundled import load_before_forks

tokens.count("once")  # what may be loaded before the first fork is loaded once
load_before_forks()
folder, kills, chance = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
start = datetime(2024, 1, 1, tzinfo=UTC)

def write(first, tell):
    with Hindsight(folder) as memory:
        memory.retain("b", f"Process {os.getpid()} loads the models.")
        os.write(tell, b"ready\\n")
        for n in range(first, first + 10_000):
            pages = (f"Page {p} of log {n}: Kestrel{n} met Osprey{n}." for p in range(3))
            said = start + timedelta(hours=n)
            memory.retain("b", "\\n\\n".join(pages), document_id=f"log-{n}", timestamp=said)
            os.write(tell, f"{n}\\n".encode())

first = 0
for _ in range(kills):
    hear, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(hear)
        write(first, tell)
    os.close(tell)
    with open(hear) as told:
        assert told.readline() == "ready\\n"
        acknowledged = [told.readline() for _ in range(chance.randrange(5))]
        time.sleep(chance.uniform(0.0, 0.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        acknowledged += told.read().split()
    print(*map(int, acknowledged), flush=True)
    first = int(acknowledged[-1]) + 2 if acknowledged else first
"""


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(folder: Path) -> None:
    script = [sys.executable, "-c", KILLED, str(folder), str(KILLS), str(SEED)]
    run = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True)
    rounds = [[*map(int, line.split())] for line in run.stdout.splitlines()]
    assert len(rounds) == KILLS
    acknowledged = [n for told in rounds for n in told]
    assert acknowledged
    chance = random.Random(SEED)
    with Hindsight(folder) as memory:
        graph, index = memory.runtime.graph, memory.runtime.index
        for n in range(acknowledged[-1] + 2):
            held = len(memory.memories.list("b", document_id=f"log-{n}").items)
            assert held in (0, 3), "half a document is visible"
        stored = set(graph.scan("b", MEMORY_ID))
        assert index.ids(memory.runtime.bank("b").key) == stored
        for n in chance.sample(acknowledged, 12) + acknowledged[-3:]:
            # Thousands of pages mean nearly the same, and an index of them is approximate.
            near = {"document_id": f"log-{n}"}
            found = memory.recall("b", f"Osprey{n}", arms=["semantic"], where=near)
            assert len(found) == 3, (n, "semantic")
            for arm in ("keyword", "entity"):
                found = memory.recall("b", f"Who is Osprey{n}?", arms=[arm])
                assert f"log-{n}" in [m.memory.document_id for m in found], (n, arm)
            hour = memory.memories.list("b", document_id=f"log-{n}").items[0].mentioned_at
            day = f"What happened on {hour.day} {hour:%B} {hour.year}?"
            found = memory.recall("b", day, arms=["temporal"], max_tokens=20_000)
            assert f"log-{n}" in [m.memory.document_id for m in found]
        assert memory.maintenance.doctor().findings == ()


@pytest.mark.slow
def test_a_second_process_is_told_the_way_out(folder: Path) -> None:
    code = f"from hindsight_integrations import Hindsight; Hindsight({str(folder)!r})"
    with Hindsight(folder) as memory:
        memory.retain("b", "Mine.")
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode != 0
    assert "StoreLockedError" in run.stderr
    assert str(os.getpid()) in run.stderr
    assert "hindsight-memory serve" in run.stderr
    subprocess.run([sys.executable, "-c", code], check=True)


def filled(folder: Path, count: int = 12) -> list[str]:
    with Hindsight(folder) as memory:
        for n in range(count):
            memory.retain("b", f"Boat {n} is moored at pier {n * 7}.", document_id=f"d{n}")
        memory.wait_idle()
        return [m.id for m in memory.memories.list("b").items]


@pytest.mark.slow
def test_a_lost_chroma_folder_is_made_again(folder: Path) -> None:
    ids = filled(folder)
    shutil.rmtree(folder / "chroma")
    with Hindsight(folder) as memory:
        diagnosis = memory.maintenance.doctor()
        assert diagnosis.healthy
        found = memory.recall("b", "Where is boat 3 moored?", arms=["semantic"])
        assert "Boat 3 is moored at pier 21." in [m.memory.text for m in found]
        assert memory.runtime.index.ids(memory.runtime.bank("b").key) == set(ids)


@pytest.mark.local
def test_doctor_puts_back_what_the_index_lost_and_takes_out_what_it_should_not_have(
    memory: Hindsight,
) -> None:
    stored = [memory.retain("b", f"Boat {n} is blue.").ids[0] for n in range(5)]
    memory.wait_idle()
    key = memory.runtime.bank("b").key
    held = memory.runtime.index.ids(key)
    memory.runtime.index.delete(key, stored[:2])
    memory.runtime.index.upsert(key, ["ghost"], np.ones((1, 384), dtype=np.float32))
    looked = memory.maintenance.doctor(repair=False)
    assert not looked.healthy
    assert sum(finding.count for finding in looked.findings) == 3
    memory.maintenance.doctor()
    assert memory.runtime.index.ids(key) == held
    assert memory.maintenance.doctor().findings == ()


@pytest.mark.slow
def test_doctor_repairs_tables_that_lost_rows(folder: Path) -> None:
    said = datetime(2024, 5, 7, tzinfo=UTC)
    with Hindsight(folder) as memory:
        memory.retain("b", "The Kestrel met the Osprey at the pier.", timestamp=said, tags=["sea"])
        memory.retain("b", "The Osprey is being painted.", timestamp=said, tags=["sea"])
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        for table in ("times", "tags", "grams", "lexeme_counts", "cooccurrence"):
            assert database.execute(f"DELETE FROM {table}").rowcount > 0, table
    database.close()
    with Hindsight(folder) as memory:
        diagnosis = memory.maintenance.doctor()
        assert {fault.table for fault in diagnosis.findings} >= {"times", "tags", "grams"}
        assert diagnosis.healthy
        assert memory.maintenance.doctor().findings == ()
        for arm in Arm:
            query = "Who met the Osprey on 7 May 2024?"
            found = memory.recall("b", query, arms=[arm], tags=["sea"])
            assert "The Kestrel met the Osprey at the pier." in [m.memory.text for m in found], arm


@pytest.mark.slow
def test_another_embedder_is_refused_until_the_bank_is_reindexed(folder: Path) -> None:
    ids = filled(folder)
    with Hindsight(folder, embedder=Letters()) as memory:
        with pytest.raises(EmbedderMismatchError, match=r"MiniLM.*letters/1.*reindex"):
            memory.recall("b", "boats")
        with pytest.raises(EmbedderMismatchError):
            memory.retain("b", "Another boat.")
        seen: list[tuple[int, int]] = []
        assert memory.maintenance.reindex("b", progress=lambda *at: seen.append(at)) == len(ids)
        assert seen[-1] == (len(ids), len(ids))
        assert len(memory.recall("b", "Where is boat 3 moored?", arms=["semantic"])) == len(ids)
        memory.retain("b", "Another boat.")
        assert memory.maintenance.doctor().findings == ()
    with Hindsight(folder) as memory, pytest.raises(EmbedderMismatchError):
        memory.recall("b", "boats")


@pytest.mark.slow
def test_an_interrupted_reindex_leaves_the_bank_as_it_was(folder: Path) -> None:
    ids = filled(folder)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with Hindsight(folder, embedder=Letters()) as memory, pytest.raises(KeyboardInterrupt):
        memory.maintenance.reindex("b", progress=stop)
    with Hindsight(folder) as memory:
        assert len(memory.recall("b", "Where is boat 3 moored?")) == len(ids)


def test_a_folder_of_a_newer_release_is_refused(folder: Path) -> None:
    filled(folder, 1)
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        database.execute("PRAGMA user_version = 9999")
    database.close()
    with pytest.raises(SchemaVersionError, match="9999"):
        Hindsight(folder)


def test_an_expired_memory_is_purged(memory: Hindsight) -> None:
    memory.retain("b", "Old.", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    memory.retain("b", "New.")
    assert memory.maintenance.purge("b") == 1
    assert [m.text for m in memory.memories.list("b").items] == ["New."]


def test_health_tells_each_part(memory: Hindsight) -> None:
    health = memory.health()
    assert health
    assert {part.part for part in health.parts} == {"graph", "vectors", "in step", "reflecting"}
    assert json.dumps([part.detail for part in health.parts])


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 2), reason="Python starts no thread then (gh-114570)"
)
@pytest.mark.slow
def test_a_thread_that_outlives_the_main_one_retains_and_recalls(tmp_path: Path) -> None:
    code = f"""
import threading
from hindsight_integrations import Hindsight

def late():
    threading.main_thread().join()
    memory.retain_many("b", [f"Ana's boat number {{n}} lies in Porto." for n in range(40)])
    found = memory.recall("b", "Whose boats lie in Porto?")
    memory.close()
    print(len(found.memories), found.failures)

memory = Hindsight({str(tmp_path / "m")!r})
threading.Thread(target=late).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "40 ()", done.stderr
