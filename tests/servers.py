"""Both servers without docker, as the tests start them: `python -m tests.servers FOLDER`.

They keep their data in the folder, listen on this machine alone, without a password, and end with
this process.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

from .stores.chroma_server import served
from .stores.neo4j_server import Server


def main(folder: Path) -> None:
    """Start them, print the variables that name them, and wait to be ended."""
    ended = threading.Event()
    # A handler, since a thread that a library made takes a signal that only this one blocks.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    graph = Server(folder.absolute() / "neo4j", lasting=True)
    graph.start()
    try:
        with served(folder / "chroma") as vectors:
            sys.stdout.write(
                f"export HINDSIGHT_GRAPH={graph.address.uri} HINDSIGHT_VECTORS={vectors}\n"
            )
            sys.stdout.flush()
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    finally:
        graph.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.servers FOLDER")
    main(Path(sys.argv[1]))
