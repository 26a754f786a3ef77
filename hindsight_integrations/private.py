"""Files that only their user may open."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE = 0o600
"""Rights of the files that hold memories: their user reads and writes them, nobody else."""


def create_private(path: Path) -> None:
    """Create an empty file that only its user may open; leave one that exists as it is."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
    except FileExistsError:
        return
