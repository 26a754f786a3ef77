"""The command line, each command in a process forked from one that has loaded its libraries.

To load them takes a command two seconds, which is most of the time of the pages that show many.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

LIBRARIES = ("chromadb.api.rust", "hindsight_integrations.opening", "spacy")
"""Loaded before, beside the models."""

_CALLER = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    call = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
    socket.send_fds(server, [b"\\n"], [0, 1, 2])
    server.sendall(json.dumps(call).encode() + b"\\n")
    sys.exit(server.recv(1)[0])
"""
"""Give a command to the server, with the streams of this process; exit as it does."""


@contextmanager
def forking(folder: Path) -> Iterator[str]:
    """Yield a shell command that does what `hindsight-memory` does, with the same arguments."""
    path, caller = folder / "commands", folder / "call.py"
    caller.write_text(_CALLER, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(path)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield f"{sys.executable} -I -S {caller} {path}"
        finally:
            server.kill()


def serve(path: str) -> None:
    """Fork a process for each call; return in that process, set up as the call says."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes of calls
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        os.write(1, b"ready\n")
        call, _ = listening.accept()
        while os.fork():
            call.close()
            call, _ = listening.accept()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, *_ = socket.recv_fds(call, 1, 3)
    with call.makefile("rb") as lines:
        given = json.loads(lines.readline())
    if command := os.fork():
        _answer(call, streams, command)
    call.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(given["folder"])
    os.environ.clear()
    os.environ.update(given["environment"])
    sys.argv = ["hindsight-memory", *given["arguments"]]
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")


def _answer(call: socket.socket, streams: list[int], command: int) -> NoReturn:
    """Tell the caller how its command ended."""
    for stream in streams:
        os.close(stream)
    _, status = os.waitpid(command, 0)
    call.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))
    os._exit(0)


if __name__ == "__main__":
    from hindsight_integrations.cli import main

    from .bundled import load_before_forks

    for library in LIBRARIES:
        importlib.import_module(library)
    load_before_forks()
    serve(sys.argv[1])
    main()
