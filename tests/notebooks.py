"""Run the tutorials and store what they show.

python -m tests.notebooks [NAME ...]        such as 02_recall_explained; by default all

Each runs in a kernel and an empty folder of its own. 12_neo4j needs a server, named as it says.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def store(path: Path) -> None:
    """Run a notebook and write its outputs into it, without times and without flushed pieces."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=300,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        ).execute()
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    for each in NOTEBOOKS:
        if len(sys.argv) == 1 or each.stem in sys.argv[1:]:
            print(each.stem)  # noqa: T201
            store(each)
