"""One engine for each folder of a process, pickling by arguments, and forks."""

from __future__ import annotations

import asyncio
import copy
import ctypes
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage

from hindsight_integrations import (
    ChromaVectors,
    ClosedError,
    ForkedError,
    Hindsight,
    HindsightError,
    InvalidInputError,
    Settings,
    SqliteGraph,
    StoreCorruptError,
)
from hindsight_integrations.langchain import (
    HindsightMiddleware,
    HindsightRetriever,
    HindsightStore,
    HindsightToolkit,
    HindsightVectorStore,
)
from hindsight_integrations.llamaindex import (
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightProfileBlock,
    HindsightQueryEngine,
)
from hindsight_integrations.llamaindex import HindsightRetriever as NodeRetriever
from hindsight_integrations.llamaindex import HindsightVectorStore as VectorStoreOfNodes
from hindsight_integrations.opened import MemoryOptions
from tests.examples import blocks
from tests.stores.chroma_server import free_port, serve, served

QUIET = Settings(consolidate=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memories"


@pytest.fixture
def memory(folder: Path) -> Iterator[Hindsight]:
    with Hindsight(folder, settings=QUIET) as opened:
        opened.retain("alice", "Alice sings in Bergen.")
        yield opened


def test_a_folder_opened_twice_is_one_engine_until_the_last_is_closed(
    memory: Hindsight, folder: Path
) -> None:
    again = Hindsight(folder.parent / "." / folder.name, settings=QUIET)
    assert again.runtime is memory.runtime
    again.retain("alice", "Alice paints.")
    assert memory.recall("alice", "Who paints?").memories[0].text == "Alice paints."
    memory.close()
    memory.close()
    assert again.recall("alice", "Who paints?").memories[0].text == "Alice paints."
    again.close()
    with pytest.raises(ClosedError):
        again.recall("alice", "Who paints?")
    with Hindsight(folder) as later:
        assert later.runtime is not again.runtime
        assert later.recall("alice", "Who paints?").memories[0].text == "Alice paints."


def test_a_folder_whose_vectors_are_elsewhere_is_refused_before_anything_is_written(
    folder: Path, tmp_path: Path
) -> None:
    with (
        closing(ChromaVectors.in_folder(tmp_path / "elsewhere")) as vectors,
        Hindsight(folder, vectors=vectors, settings=QUIET) as memory,
    ):
        memory.retain("alice", "Alice sings in Bergen.")
        before = {path.name for path in folder.iterdir()}
        with pytest.raises(InvalidInputError, match=r"elsewhere on .* Give the same vectors="):
            Hindsight(folder, settings=QUIET)
        assert {path.name for path in folder.iterdir()} == before
        assert memory.health()
    with Hindsight(folder, settings=QUIET) as memory:  # nobody uses the other one now
        assert memory.health()
        found = memory.recall("alice", "Who sings?", arms=["semantic"])
        assert found[0].text == "Alice sings in Bergen."


def test_a_folder_whose_graph_is_elsewhere_says_how_to_give_it(
    folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite3"
    with Hindsight(folder, graph=SqliteGraph(elsewhere), settings=QUIET) as memory:
        memory.retain("alice", "Alice sings in Bergen.")
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(StoreCorruptError, match="on a server, give its URL, as in graph="):
        Hindsight(folder, settings=QUIET)
    assert {path.name for path in folder.iterdir()} == before
    with Hindsight(folder, graph=SqliteGraph(elsewhere), settings=QUIET) as memory:
        assert memory.recall("alice", "Who sings?")[0].text == "Alice sings in Bergen."


def test_the_models_of_the_later_opening_hold_and_other_settings_are_refused(
    memory: Hindsight, folder: Path
) -> None:
    with Hindsight(folder, settings=QUIET, llm=lambda system, user: "Hm.") as again:
        assert memory.runtime.model is again.runtime.model is not None
    assert memory.runtime.model is not None
    with pytest.raises(InvalidInputError, match=r"other settings \(max_tokens=4096\); "):
        Hindsight(folder, settings=Settings(consolidate=False, max_tokens=7))
    with pytest.raises(InvalidInputError, match="another embedder"):
        Hindsight(folder, settings=QUIET, embedder=lambda texts: [[1.0, 0.0] for _ in texts])
    assert memory.health().ok


def test_engines_and_what_holds_them_are_pickled_by_their_arguments(
    memory: Hindsight, folder: Path
) -> None:
    holders: list[Any] = [
        memory,
        HindsightRetriever(memory=memory, bank_id="alice", k=1),
        HindsightToolkit(memory=memory, bank_id="alice"),
        HindsightMiddleware(memory, "alice"),
        HindsightVectorStore(memory, "alice"),
    ]
    for held, again in zip(holders, pickle.loads(pickle.dumps(holders)), strict=True):
        assert type(again) is type(held)
        store = getattr(again, "_collection", again)
        assert getattr(store, "memory", again).runtime is memory.runtime
    retriever = copy.deepcopy(holders[1])
    assert retriever.invoke("Who sings?")[0].page_content == "Alice sings in Bergen."
    with (
        Hindsight.in_memory() as fleeting,
        pytest.raises(InvalidInputError, match="in-memory client"),
    ):
        pickle.dumps(fleeting)


def test_stores_and_the_parts_of_llamaindex_are_pickled_by_their_settings(
    memory: Hindsight, folder: Path, tmp_path: Path
) -> None:
    def parts(engine: Hindsight) -> list[Any]:
        return [
            HindsightMemoryBlock(engine, "alice"),
            HindsightMemory.from_defaults(memory=engine, bank_id="alice", session_id="s"),
            HindsightProfileBlock(engine, "alice", "Alice"),
            VectorStoreOfNodes(engine, "alice"),
        ]

    block, chat, profile, nodes = pickle.loads(pickle.dumps(parts(memory)))
    assert "sings" in asyncio.run(block.aget([ChatMessage("Who sings?")]))
    assert "sings" in str(chat.get("Who sings?")[0].content)
    assert asyncio.run(profile.aget()) == asyncio.run(parts(memory)[2].aget())
    assert nodes._nodes.memory.runtime is memory.runtime
    for node in (NodeRetriever(memory, "alice"), HindsightQueryEngine(memory, "alice")):
        assert pickle.loads(pickle.dumps(node))._memory.runtime is memory.runtime
    with HindsightStore(memory, "alice", path=tmp_path / "store.db") as store:
        store.put(("notes",), "one", {"text": "Alice sings."})
        with pickle.loads(pickle.dumps(store)) as again:
            assert again.get(("notes",), "one").value == {"text": "Alice sings."}
    with Hindsight.in_memory() as fleeting:
        for part in parts(fleeting):
            with pytest.raises(InvalidInputError, match="in-memory"):
                pickle.dumps(part)


fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def in_child(work: Callable[[], str]) -> str:
    """Return what a function returns in a forked process."""
    context = multiprocessing.get_context("fork")
    said = context.SimpleQueue()
    child = context.Process(target=lambda: said.put(_told(work)))
    child.start()
    child.join(120)
    assert child.exitcode == 0
    return str(said.get())


def _told(work: Callable[[], str]) -> str:
    try:
        return work()
    except HindsightError as error:
        return f"{type(error).__name__}: {error}"


@fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.slow
def test_an_embedded_memory_says_in_a_fork_what_to_do(memory: Hindsight, folder: Path) -> None:
    asked: list[Callable[[], object]] = [
        lambda: memory.recall("alice", "Who sings?"),
        lambda: memory.retain("alice", "Bo paints."),
        lambda: memory.banks.list(),
        lambda: memory.health(),
        lambda: HindsightRetriever(memory=memory, bank_id="alice").invoke("Who sings?"),
    ]
    for ask in asked:
        told = in_child(lambda ask=ask: str(ask()))  # type: ignore[misc]
        assert told.startswith("ForkedError: ")
        assert "open it after forking" in told
        assert "hindsight-memory serve" in told
        assert str(folder) in told
    assert in_child(lambda: memory.close() or "closed") == "closed"  # type: ignore[func-returns-value]
    assert in_child(lambda: repr(Hindsight(folder))).startswith("StoreLockedError: ")
    assert issubclass(ForkedError, ClosedError)
    assert memory.recall("alice", "Who sings?").memories[0].text == "Alice sings in Bergen."


@fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_may_open_a_memory_of_its_own(memory: Hindsight, tmp_path: Path) -> None:
    def own() -> str:
        with Hindsight(tmp_path / "own", settings=QUIET) as mine:
            mine.retain("bo", "Bo paints in Oslo.")
            return mine.recall("bo", "Who paints?").memories[0].text

    assert in_child(own) == "Bo paints in Oslo."


@fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.slow
def test_what_is_on_a_server_is_opened_again_in_a_fork(tmp_path: Path) -> None:
    port = free_port()
    server = serve(tmp_path / "server", port)
    try:
        url = f"http://127.0.0.1:{port}"
        with Hindsight(tmp_path / "shared", vectors=url, settings=QUIET) as memory:
            memory.retain("alice", "Alice sings in Bergen.")

            def use() -> str:
                memory.retain("alice", "Bo paints in Oslo.")
                return memory.recall("alice", "Who sings?").memories[0].text

            assert in_child(use) == "Alice sings in Bergen."
            assert memory.recall("alice", "Who paints?").memories[0].text == "Bo paints in Oslo."
    finally:
        server.kill()
        server.wait()


_EXITS = """
import atexit, os, sys
from hindsight_integrations import Hindsight, Settings

memory = Hindsight(sys.argv[1], settings=Settings(consolidate=False))
memory.retain("alice", "Alice sings in Bergen.")
memory.recall("alice", "Who sings?")
if not os.fork():
    if not os.fork():
        atexit.register(print, "grandchild ends")
        sys.exit(4)
    atexit.register(print, "child ends")
    sys.exit(3 if os.waitstatus_to_exitcode(os.wait()[1]) == 4 else 1)
status = os.waitstatus_to_exitcode(os.wait()[1])
print(status, memory.recall("alice", "Who sings?").memories[0].text)
"""


@fork
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "on_exit"), reason="another libc than glibc")
@pytest.mark.slow
def test_a_child_and_its_child_left_by_sys_exit_end_with_their_status(folder: Path) -> None:
    """Else native libraries wait in their destructors for threads that only the parent has."""
    ran = subprocess.run(
        # Since 3.12 Python warns of every fork with several threads.
        [sys.executable, "-W", "ignore:This process", "-c", _EXITS, str(folder)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert ran.stderr == ""
    assert ran.stdout == "grandchild ends\nchild ends\n3 Alice sings in Bergen.\n"


@fork
@pytest.mark.slow
def test_workers_that_gunicorn_preloads_use_the_servers_of_the_page(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    page = (root / "docs" / "processes.md").read_text(encoding="utf-8")
    (code,) = (b.text for b in blocks(page) if b.text.startswith("# wsgi.py"))
    (command,) = (b.text for b in blocks(page) if b.text.startswith("gunicorn "))
    with served(tmp_path / "server") as url:
        (tmp_path / "wsgi.py").write_text(code.replace("http://localhost:8000", url))
        with Hindsight(tmp_path / "shared", vectors=url, settings=QUIET) as memory:
            memory.retain("jobs", "Job 7 was done by a worker.")
        bound = f"127.0.0.1:{free_port()}"
        server = subprocess.Popen(
            [sys.executable, "-m", *command.split(), "--bind", bound, "--timeout", "120"],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(root)},
        )
        try:
            answer = _answer(f"http://{bound}/?question=Who+did+job+7%3F", server)
            assert answer == "Job 7 was done by a worker."
        finally:
            server.terminate()
            assert server.wait(60) == 0


def _answer(url: str, server: subprocess.Popen[bytes]) -> str:
    """Return what a server answers as soon as it listens."""
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as reply:
                return str(reply.read().decode())
        except urllib.error.URLError:
            assert server.poll() is None
            time.sleep(0.2)


def test_a_later_opening_chooses_the_models_of_all(tmp_path: Path) -> None:
    def reversed_order(query: str, texts: Sequence[str]) -> list[float]:
        return [float(number) for number in range(len(texts))]

    with (
        Hindsight(tmp_path, reranker=None) as first,
        Hindsight(tmp_path, reranker=reversed_order) as second,
    ):
        assert first.reranker is second.reranker is not None
        with Hindsight(tmp_path) as third:
            assert third.reranker is second.reranker
        with Hindsight(tmp_path, reranker=None):
            assert first.reranker is second.reranker is None


@pytest.mark.parametrize("fails", [True, False])
async def test_an_asynchronous_block_waits_for_pending_work_only_if_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    finished = []

    async def use() -> None:
        async with Hindsight(tmp_path) as memory:
            close = memory._runtime.close
            monkeypatch.setattr(
                memory._runtime, "close", lambda *, finish: (finished.append(finish), close())
            )
            if fails:
                raise LookupError

    with pytest.raises(LookupError) if fails else nullcontext():
        await use()
    assert finished == [not fails]


def test_the_constructor_shows_its_arguments() -> None:
    shown = inspect.signature(Hindsight).parameters
    assert [*shown] == ["path", *MemoryOptions.__annotations__]
    assert shown["reranker"].default == "local"
