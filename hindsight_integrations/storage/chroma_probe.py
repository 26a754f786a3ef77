"""Trying the files of an embedded Chroma in a process of its own.

Loading a damaged index can end the process that does it, or give an index that finds nothing.
So files that were not left by a clean end are loaded by `python -m` this module first.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from hindsight_integrations.errors import StoreCorruptError
from hindsight_integrations.storage.chroma_client import ChromaClient
from hindsight_integrations.storage.chroma_files import closed_cleanly, holds_index

log = logging.getLogger("hindsight_integrations")

SAMPLE = 20
"""Vectors looked up at the start, in the middle and at the end of each collection."""

TIMEOUT = 600.0
"""Seconds after which an index that does not load counts as damaged."""


def is_sound(folder: Path) -> bool:
    """Whether there is an index in `folder` that can be loaded and finds what it holds."""
    if not holds_index(folder):
        return False
    if closed_cleanly(folder):
        return True
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    command = [sys.executable, "-m", "hindsight_integrations.storage.chroma_probe", str(folder)]
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            env=os.environ | {"PYTHONPATH": path},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("the vector index in %s could not be tried: %s", folder, error)
        return False
    if run.returncode:
        said = run.stderr.strip().splitlines()
        log.warning(
            "the vector index in %s does not load: exit status %d%s",
            folder,
            run.returncode,
            f", {said[-1]}" if said else "",
        )
    return run.returncode == 0


def probe(folder: Path) -> None:
    """Load every collection in `folder`, and look up some of the vectors it holds.

    Raises:
        StoreError: something cannot be read, or is not found.
    """
    client = ChromaClient.embedded(folder)
    for collection in client.collections():
        count = collection.count()
        for offset in sorted({0, count // 2, max(0, count - SAMPLE)}):
            rows = collection.get(limit=SAMPLE, offset=offset, include=["embeddings"])
            if not rows["ids"]:
                continue
            vectors = np.asarray(rows["embeddings"], dtype=np.float32)
            found = collection.query(query_embeddings=vectors, n_results=1, include=["distances"])
            distances = [row[0] if row else np.inf for row in found["distances"] or ()]
            if len(distances) < len(vectors) or not np.all(np.abs(distances) < 0.01):
                raise StoreCorruptError(f"{collection.name} does not find the vectors it holds")
    client.close()


if __name__ == "__main__":
    probe(Path(sys.argv[1]))
