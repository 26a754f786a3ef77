"""An open memory in the workers of pools and of gunicorn: it works, or says at once what to do."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from hindsight_integrations import ForkedError, Hindsight, Settings, StoreLockedError

from .processes import starting
from .stores.chroma_server import free_port, served
from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

ROOT = Path(__file__).parents[1]
QUIET = Settings(consolidate=False)
LONG = 120
"""Seconds after which a task hangs."""

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
    pytest.mark.slow,
]

inherited: Hindsight | None = None


def inherit(memory: Hindsight) -> None:
    global inherited
    inherited = memory


def use(memory: Hindsight | None, text: str) -> str:
    engine = memory or inherited
    assert engine is not None
    engine.retain("b", text)
    return engine.recall("b", text).memories[0].text


def answered(method: str, memory: Hindsight, *, given: bool) -> str:
    """Return what a task in a pool answers that is given the memory itself, or its worker is."""
    context = starting() if method == "forkserver" else multiprocessing.get_context(method)
    text = f"Bo paints in Oslo by {method}."
    start = {} if given else {"initializer": inherit, "initargs": (memory,)}
    with context.Pool(1, **start) as pool:  # type: ignore[arg-type]
        task = partial(use, memory if given else None)
        return str(pool.map_async(task, [text]).get(LONG)[0])


@pytest.mark.parametrize("given", [True, False], ids=["task", "initializer"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_is_told_at_once_that_a_folder_is_open_elsewhere(
    method: str, given: bool, tmp_path: Path
) -> None:
    """A worker that could not read its task would end, and the pool wait for it for ever."""
    with Hindsight(tmp_path, settings=QUIET) as memory:
        memory.retain("b", "Alice sings in Bergen.")
        with pytest.raises((ForkedError, StoreLockedError), match="hindsight-memory serve"):
            answered(method, memory, given=given)
        assert memory.recall("b", "Who sings?").memories[0].text == "Alice sings in Bergen."


def test_what_was_unpickled_is_opened_as_soon_as_the_folder_is_free(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    with Hindsight(path, settings=QUIET) as memory:
        memory.retain("b", "Alice sings in Bergen.")
        code = (
            "import pickle, sys; m = pickle.load(sys.stdin.buffer)\n"
            "try: m.banks.list()\n"
            "except Exception as error: print(type(error).__name__, flush=True)\n"
            "sys.stdin.buffer.readline()\n"
            "with m: print(m.recall('b', 'Who sings?').memories[0].text)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        process.stdin.write(pickle.dumps(memory))
        process.stdin.flush()
        assert process.stdout.readline() == b"StoreLockedError\n"
    told, _ = process.communicate(b"\n", timeout=LONG)
    assert told == b"Alice sings in Bergen.\n"
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("method", "given"), [("fork", False), ("spawn", True), ("forkserver", True)]
)
def test_a_pool_uses_what_is_on_servers(
    method: str, given: bool, tmp_path: Path, empty_neo4j: Address
) -> None:
    with (
        served(tmp_path) as vectors,
        Hindsight(graph=empty_neo4j.uri, vectors=vectors, settings=QUIET) as memory,
    ):
        memory.retain("b", "Alice sings in Bergen.")
        assert answered(method, memory, given=given) == f"Bo paints in Oslo by {method}."
        assert memory.recall("b", "Who paints?").memories[0].text.startswith("Bo paints")


WSGI = """
from hindsight_integrations import Hindsight

memory = Hindsight.from_env()
memory.retain("jobs", "Job 7 was done by a worker.")


def app(environ, start_response):
    found = memory.recall("jobs", "Who did job 7?").memories
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [found[0].text.encode()]
"""


@contextmanager
def preloaded(folder: Path, **variables: str) -> Iterator[str]:
    """The address of two workers of gunicorn that share a memory opened before they were forked."""
    (folder / "wsgi.py").write_text(WSGI)
    bound = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", "wsgi:app"]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [*command, "--bind", bound, "--timeout", str(LONG)],
            cwd=folder,
            env={**os.environ, "HOME": str(folder), "PYTHONPATH": str(ROOT), **variables},
            stderr=log,
        )
    try:
        yield f"http://{bound}/"
    finally:
        server.terminate()
        assert server.wait(60) == 0


def asked(url: str) -> tuple[int, str]:
    """Return the status and the text of an answer, as soon as the server listens."""
    until = time.monotonic() + LONG
    while True:
        try:
            with urllib.request.urlopen(url, timeout=LONG) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()
        except urllib.error.URLError:
            assert time.monotonic() < until
            time.sleep(0.2)


def test_workers_that_gunicorn_preloads_say_at_once_that_a_folder_does_not_outlive_it(
    tmp_path: Path,
) -> None:
    with preloaded(tmp_path, HINDSIGHT_PATH="./memories") as url:
        assert [asked(url)[0] for _ in range(4)] == [500] * 4
        told = (tmp_path / "log").read_text()
    assert "ForkedError" in told
    assert "gunicorn without preload_app" in told


def test_workers_that_gunicorn_preloads_use_a_graph_and_vectors_on_servers(
    tmp_path: Path, empty_neo4j: Address
) -> None:
    servers = {"HINDSIGHT_GRAPH": empty_neo4j.uri}
    with (
        served(tmp_path / "chroma") as vectors,
        preloaded(tmp_path, HINDSIGHT_VECTORS=vectors, **servers) as url,
    ):
        assert [asked(url) for _ in range(4)] == [(200, "Job 7 was done by a worker.")] * 4
