"""While the memory is away searches read the notes, and what changes waits on disk."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hindsight_integrations import (
    Hindsight,
    Item,
    Settings,
    StoreUnavailableError,
    Workspace,
)
from hindsight_integrations.durable import ReplayQueue
from hindsight_integrations.retain.request import SharedFields, text_submission
from hindsight_integrations.workspace import SearchHit, SyncEvent
from tests.durable.memories import SOON, everything, opened, owned_by_another
from tests.embedders import Letters
from tests.stores.chroma_server import free_port, serve
from tests.stores.neo4j_server import Server, or_skip

from .conftest import BANK

NOTE = "memory/2026-02-03.md"


def texts(memory: Hindsight) -> list[str]:
    return sorted(" ".join(each.text.split()) for each in everything(memory, BANK))


def opening(folder: Path) -> Callable[[], Hindsight]:
    return lambda: opened(folder)


def test_an_outage_from_the_start_is_lived_through_with_one_warning(
    folder: Path, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "hindsight_integrations")
    with Workspace(opening(folder), BANK, root, backoff=SOON) as workspace:
        with owned_by_another(folder):
            for _ in range(20):
                (pear, *_) = workspace.search("Where did we plant the pear tree?")
            shed = "2. Planted a pear tree behind the shed."
            assert pear == SearchHit(shed, NOTE, 8, 8, pear.score, source="files")
            assert 0.3 < pear.score < 1
            assert workspace.search("Planted a pear tree", min_score=1.0) == []
            assert workspace.search("Which giraffe?") == []
            assert workspace.get(NOTE, 8, 1).text == pear.text
            for away in (workspace.reflect, lambda id: workspace.get(f"hindsight://facts/{id}")):
                with pytest.raises(StoreUnavailableError, match="in use"):
                    away("world/m-1")
            assert workspace.sync().counts == {"waiting": 2}
            assert workspace.sync().counts == {"waiting": 2}  # and queued once
            receipt = workspace.flush_compaction("We sold the honey at the market.", "s-1")
            assert [id.startswith("op-") for id in receipt.queued] == [True]
            health = workspace.health()
            assert not health
            parts = {part.part: part.detail for part in health.parts}
            assert "in use" in parts["memory"]
            assert "waiting: 3, since" in parts["queue"]
            assert "2 of them wait" in parts["notes"]
            assert len(caplog.records) == 1, caplog.messages
        assert workspace.drain()
        assert workspace.search("Where did we plant the pear tree?")[0].source == "memory"
        stored = texts(workspace.memory)
        assert len(stored) == len(set(stored)) == 8
        assert "We sold the honey at the market." in stored
        assert workspace.sync().counts == {"retained": 2}  # seen stored
        assert workspace.sync().counts == {"unchanged": 2}
        assert workspace.health()
    opened(folder).close()  # what it opened was closed


def test_a_note_that_waited_is_stored_like_one_that_did_not(folder: Path, root: Path) -> None:
    with Workspace(opening(folder), BANK, root, backoff=SOON) as workspace:
        with owned_by_another(folder):
            workspace.sync()
        assert workspace.drain()
        late = {each.text: each for each in everything(workspace.memory, BANK)}
        (root / ".hindsight/workspace.json").unlink()
        workspace.memory.banks.delete(BANK)
        workspace.sync()
        for direct in everything(workspace.memory, BANK):
            of = late[direct.text]
            for field in ("context", "metadata", "mentioned_at", "occurred_start", "document_id",
                          "type", "entities"):  # fmt: skip
                assert getattr(of, field) == getattr(direct, field), field


def test_every_field_of_an_item_comes_through_the_queue(tmp_path: Path) -> None:
    now = datetime(2026, 2, 3, 9, 30, tzinfo=UTC)
    item = Item(
        "---\ntitle: Hives\nweight: 3.5\n---\n# Garden\n\n- Planted a pear.\n- Met Bob.\n",
        None, "notes", "d", {"n": 3, "share": 3.0, "draft": False, "kind": "x"}, ["t"], ["Bob"],
        "opinion", 0.7, "append", now, "s", "id-1", "Ann", "a.md", now, True,
    )  # fmt: skip
    given = text_submission(item, 1000)
    assert len(given.turns) == 2
    assert given.turns[0].context == "notes. Garden"
    queue = ReplayQueue(tmp_path / "q")
    queue.add("b", [given])
    (operation,) = queue.head(1)
    queue.close()
    assert operation.submission == given
    assert {type(each) for each in operation.submission.stamp.metadata.values()} == {
        int, float, bool, str,
    }  # fmt: skip
    assert SharedFields() not in (given.stamp, operation.submission.stamp)


def test_deletions_and_edits_of_an_outage_are_carried_over_in_a_later_process(
    folder: Path, root: Path
) -> None:
    with Workspace(opening(folder), BANK, root) as workspace:
        assert workspace.sync().ok
    with owned_by_another(folder), Workspace(opening(folder), BANK, root) as workspace:
        (root / "MEMORY.md").unlink()
        (root / NOTE).write_text("The hive is red.", encoding="utf-8")
        assert workspace.sync().counts == {"waiting": 2}
        (root / NOTE).write_text("The hive is blue.", encoding="utf-8")
        (root / "new.md").write_text("Wax is kept.", encoding="utf-8")
        events = workspace.sync().events
        assert {(event.path, str(event.action)) for event in events} == {
            ("MEMORY.md", "waiting"), (NOTE, "waiting"), ("new.md", "waiting"),
        }  # fmt: skip
        (root / "new.md").unlink()
    with Workspace(opening(folder), BANK, root) as workspace:
        assert workspace.sync().counts == {"deleted": 2, "retained": 1}
        assert texts(workspace.memory) == ["The hive is blue."]


def test_without_the_fallback_a_search_raises(folder: Path, root: Path) -> None:
    with (
        owned_by_another(folder),
        Workspace(opening(folder), BANK, root, fallback_to_local=False) as workspace,
        pytest.raises(StoreUnavailableError, match="in use"),
    ):
        workspace.search("Where is the pear tree?")


def test_a_broken_store_is_an_outage_too(folder: Path, root: Path) -> None:
    folder.mkdir()
    (folder / "memory.sqlite3").write_bytes(b"no database" * 1000)
    with Workspace(opening(folder), BANK, root) as workspace:
        assert workspace.search("Where is the pear tree?")[0].source == "files"
        assert workspace.sync().counts == {"waiting": 2}


def test_a_store_that_does_not_answer_costs_its_deadline_once(
    folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindsight_integrations.durable.durable_retain._OPENING_TIMEOUT", 0.1)
    hanging = threading.Event()

    def hang() -> Hindsight:
        hanging.wait(60)
        return opened(folder)

    with Workspace(hang, BANK, root, backoff=SOON) as workspace:
        started = time.monotonic()
        for _ in range(20):
            assert workspace.search("Where is the pear tree?")[0].source == "files"
        assert time.monotonic() - started < 2
        hanging.set()
        assert workspace.drain()


@pytest.mark.local
def test_a_healthy_store_is_asked_once_in_five_seconds(memory: Hindsight, root: Path) -> None:
    asked = 0
    graph, get_bank = memory.runtime.graph, memory.runtime.graph.get_bank

    def counted(bank_id: str) -> object:
        nonlocal asked
        asked += bank_id == ""
        return get_bank(bank_id)

    with Workspace(memory, BANK, root) as workspace:
        graph.get_bank = counted  # type: ignore[assignment, method-assign]
        try:
            for _ in range(50):
                workspace.search("Where is the pear tree?")
        finally:
            del graph.get_bank  # type: ignore[method-assign]
    assert asked == 1


def test_watching_through_an_outage_says_when_a_note_waits_and_when_it_is_stored(
    folder: Path, root: Path
) -> None:
    events: list[SyncEvent] = []
    stop = threading.Event()
    workspace = Workspace(opening(folder), BANK, root, retain_debounce_ms=0, backoff=SOON)

    def wait(action: str, count: int) -> None:
        until = time.monotonic() + 60
        while sum(str(event.action) == action for event in events) < count:
            assert time.monotonic() < until, events
            time.sleep(0.02)

    with owned_by_another(folder):
        watching = threading.Thread(target=workspace.watch, args=(stop, events.append))
        watching.start()
        wait("waiting", 2)
    wait("retained", 2)
    stop.set()
    watching.join()
    with workspace:
        assert [str(event.action) for event in events] == ["waiting"] * 2 + ["retained"] * 2
        assert len(texts(workspace.memory)) == 7


# Servers that go away and come back


@pytest.mark.slow
def test_a_chroma_server_that_is_away_at_the_start_and_comes_back(
    folder: Path, root: Path, tmp_path: Path
) -> None:
    port = free_port()

    def open_served() -> Hindsight:
        return Hindsight(
            folder, vectors=f"http://127.0.0.1:{port}", settings=Settings(consolidate=False)
        )

    with Workspace(open_served, BANK, root, backoff=SOON) as workspace:
        assert workspace.search("Where is the pear tree?")[0].source == "files"
        assert workspace.sync().counts == {"waiting": 2}
        (served := tmp_path / "served").mkdir()
        server = serve(served, port)
        try:
            assert workspace.drain(60)
            assert workspace.search("Where is the pear tree?")[0].source == "memory"
        finally:
            server.kill()
            server.wait()
        # The graph still answers: the other arms search it, and what is stored is complete.
        assert workspace.search("Where is the pear tree?")[0].source == "memory"


@pytest.mark.slow
def test_a_neo4j_server_that_is_away_at_the_start_crashes_and_comes_back(
    folder: Path, root: Path, tmp_path: Path
) -> None:
    server = Server(tmp_path / "neo4j")

    def open_served() -> Hindsight:
        return Hindsight(folder, graph=server.address.uri, settings=Settings(consolidate=False))

    with Workspace(open_served, BANK, root, backoff=SOON) as workspace:
        assert workspace.search("Where is the pear tree?")[0].source == "files"
        assert workspace.sync().counts == {"waiting": 2}
        with or_skip():
            server.start()
        try:
            assert workspace.drain(120)
            assert workspace.search("Where is the pear tree?")[0].source == "memory"
            server.kill()
            (root / "new.md").write_text("The hive is blue.", encoding="utf-8")
            assert workspace.sync(["new.md"]).counts == {"waiting": 1}
            assert workspace.search("What colour is the hive?")[0].source == "files"
            assert "waiting: 1" in str(workspace.health())
            server.start()
            assert workspace.drain(120)
            stored = texts(workspace.memory)
            assert len(stored) == len(set(stored)) == 8
            assert workspace.search("What colour is the hive?")[0].source == "memory"
            assert workspace.sync().counts == {"retained": 3}
        finally:
            server.kill()


KILLS = int(os.environ.get("HINDSIGHT_TORTURE_KILLS", "8")) * 5 // 2
"""Processes killed, of which each lives shortly: 20, and 50 in `make torture`."""

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
# What may be loaded before the first fork is loaded once.
import chromadb.api.rust, threadpoolctl
import hindsight_integrations.opening
from hindsight_integrations import ChromaVectors, Hindsight, Settings, Workspace
from hindsight_integrations.durable import Backoff
from hindsight_integrations.nlp import tokens
from hindsight_integrations.nlp.spacy_pipeline import Annotation, Pipeline
from hindsight_integrations.retain.file_dates import file_date
from hindsight_integrations.retain.markdown import markdown_sections
from hindsight_integrations.stores import folder as folders
from tests.bundled import load_before_forks
from tests.embedders import Letters

load_before_forks()
tokens.count("once")
markdown_sections("Once.")
file_date("Once.md")
# The folder is owned until it is given back: to wait for five seconds first opens it no sooner.
folders.SHARING_SECONDS = 0.0
Pipeline.annotate = lambda self, texts: [Annotation(text) for text in texts]
folder, root, rounds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
chance = random.Random(7)

def opening():
    # A Chroma folder that was killed is probed by a process for seconds; the graph is the truth.
    return Hindsight(folder, vectors=ChromaVectors.in_memory(), embedder=Letters(), reranker=None,
                     settings=Settings(consolidate=False), extractor=lambda passage: [passage.text])

def work(first, tell):
    with Workspace(opening, "b", root, backoff=Backoff(0.001, 0.01)) as workspace:
        for n in range(first, first + 1000):
            name = f"note{n}.md"
            (root / name).write_text(f"Kestrel{n} met Osprey{n} at a pier.", encoding="utf-8")
            (event,) = workspace.sync([name]).events
            os.write(tell, f"{n} note {event.action}\\n".encode())
            receipt = workspace.flush_compaction(f"Session{n} ended with Heron{n}.", f"s-{n}")
            os.write(tell, f"{n} flush {'waiting' if receipt.queued else 'retained'}\\n".encode())

for number in range(rounds):
    away = folders.Folder.open(folder) if chance.random() < 0.6 else None
    hear, tell = os.pipe()
    child = os.fork()
    if not child:
        work(number * 1000, tell)
    os.close(tell)
    with open(hear) as told:
        def listen(most):
            for _ in range(chance.randrange(most)):
                print(told.readline(), end="", flush=True)
        listen(8)
        if away is not None:
            away.close()  # the store is back: what waits is replayed
            listen(8)
        time.sleep(chance.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(told.read(), end="", flush=True)
"""


@pytest.mark.slow
def test_kills_while_writing_and_replaying_lose_nothing_and_double_nothing(
    folder: Path, tmp_path: Path
) -> None:
    (root := tmp_path / "notes").mkdir()
    script = [sys.executable, "-c", KILLED, str(folder), str(root), str(KILLS)]
    told = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    acknowledged = {(int(n), kind): how for n, kind, how in (line.split() for line in told if line)}
    assert {*acknowledged.values()} == {"waiting", "retained"}

    def opening() -> Hindsight:
        return opened(folder, embedder=Letters(), extractor=lambda passage: [passage.text])

    with Workspace(opening, "b", root) as workspace:
        assert workspace.drain(120)
        assert workspace.sync().ok
        assert workspace.health()
        stored = [each.text for each in everything(workspace.memory)]
        assert {each.proof_count for each in everything(workspace.memory)} == {1}
        assert workspace.memory.maintenance.doctor().findings == ()
    assert len(stored) == len({*stored}), "something was stored twice"
    notes = {path.read_text(encoding="utf-8") for path in root.glob("note*.md")} - {""}
    flushed = {f"Session{n} ended with Heron{n}." for n, kind in acknowledged if kind == "flush"}
    assert notes | flushed <= {*stored}, "something acknowledged was lost"
    assert len({*stored} - notes - flushed) <= KILLS, "at most the one that each kill interrupted"
