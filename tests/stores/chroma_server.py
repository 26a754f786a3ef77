"""A real Chroma server for tests."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_CHROMA = (
    "import chromadb_rust_bindings, sys; chromadb_rust_bindings.cli(['chroma', *sys.argv[1:]])"
)
"""The command `chroma`, without the client that it loads beside the server: a second less."""


def serve(folder: Path, port: int) -> subprocess.Popen[bytes]:
    server = subprocess.Popen(
        [sys.executable, "-c", _CHROMA, "run", "--path", str(folder), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return server
    server.kill()
    raise AssertionError("chroma run did not come up")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a server on a folder and yield its URL."""
    port = free_port()
    server = serve(folder, port)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()
