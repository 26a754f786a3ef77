"""Each notebook runs from top to bottom, and is stored with what it shows."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell: nbformat.NotebookNode) -> set[str]:
    """Return the types of a cell's outputs, not their number: flushing varies between runs."""
    return {output.output_type for output in cell.outputs}


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_raises_nothing_and_is_stored_with_its_outputs(
    path: Path, tmp_path: Path
) -> None:
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    client = NotebookClient(fresh, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert fresh.cells
    for was, now in zip(code_cells(stored), code_cells(fresh), strict=True):
        assert kinds(was) == kinds(now), now.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_carries_no_trace_of_the_machine_it_was_run_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for trace in (gettempdir(), str(Path.home()), "Traceback"):
        assert trace not in text
