"""Test loading of the files of an embedded Chroma, in a process of its own.

Loading a damaged index can end the process that does it, or give an index that finds nothing. So
files that were not left by a clean end are loaded by `python -m` this module first.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from hindsight_integrations.errors import StoreCorruptError, StoreUnavailableError
from hindsight_integrations.stores.chroma.client import MACHINE_FAULTS, ChromaClient
from hindsight_integrations.stores.chroma.files import closed_cleanly, holds_index

log = logging.getLogger("hindsight_integrations")

SAMPLE = 20
"""Vectors looked up at the start, in the middle and at the end of each collection."""

UNAVAILABLE = 75
"""Exit status of a probe that failed because of the machine, not of the files."""

TIMEOUT = 600.0
"""Seconds after which an index that does not load counts as damaged."""


def is_sound(folder: Path) -> bool:
    """Return True if `folder` has an index that can be loaded and finds the vectors it holds.

    Raises:
        StoreUnavailableError: the machine has no room or no rights to load it.
    """
    if not holds_index(folder):
        return False
    if closed_cleanly(folder):
        return True
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    command = [sys.executable, "-m", "hindsight_integrations.stores.chroma.probe", str(folder)]
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
        log.warning("the vector index in %s could not be checked: %s", folder, error)
        return False
    lines = run.stderr.strip().splitlines()
    if run.returncode == UNAVAILABLE:
        raise StoreUnavailableError(lines[-1] if lines else f"{folder} cannot be read or written")
    if run.returncode:
        log.warning(
            "the vector index in %s cannot be loaded: exit status %d%s",
            folder,
            run.returncode,
            f", {lines[-1]}" if lines else "",
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
                raise StoreCorruptError(f"{collection.name} does not find the vectors it contains")
    client.close()


def _main(folder: Path) -> int:
    try:
        probe(folder)
    except StoreUnavailableError as error:
        text = " ".join(str(error).split())
        if not any(sign in text.lower() for sign in MACHINE_FAULTS):
            raise
        sys.stderr.write(f"{text}\n")
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
