"""Each notebook runs from top to bottom, and is stored with what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from .stores.neo4j_server import empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell: nbformat.NotebookNode) -> set[str]:
    """Return the types of a cell's outputs, not their number: flushing varies between runs."""
    return {output.output_type for output in cell.outputs}


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    """One kernel for all, so that libraries and models are loaded once."""
    manager = KernelManager()
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


def run(
    notebook: nbformat.NotebookNode, kernel: KernelManager, folder: Path, **environ: str
) -> list[nbformat.NotebookNode]:
    """Run a notebook in an empty folder, without names of another; return its code cells."""
    first = f"%reset -f\nimport os\nos.chdir({str(folder)!r})\nos.environ |= {environ!r}\ndel os"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(first))
    client = NotebookClient(notebook, km=kernel, timeout=300)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()  # the kernel goes on
    return code_cells(notebook)[1:]


def _marked(path: Path) -> Any:
    group = "neo4j" if path.stem == "12_neo4j" else "notebooks"
    return pytest.param(path, id=path.stem, marks=pytest.mark.xdist_group(group))


@pytest.mark.slow
@pytest.mark.parametrize("path", [*map(_marked, NOTEBOOKS)])
def test_a_notebook_raises_nothing_and_is_stored_with_its_outputs(
    path: Path, tmp_path: Path, kernel: KernelManager, request: pytest.FixtureRequest
) -> None:
    environ = {}
    if path.stem == "12_neo4j":
        address = request.getfixturevalue("empty_neo4j")
        environ = {
            "HINDSIGHT_GRAPH": address.uri,
            "NEO4J_USERNAME": address.user or "neo4j",
            "NEO4J_PASSWORD": address.password or "not asked for",
            "NEO4J_DATABASE": address.database,
        }
    stored = code_cells(nbformat.read(path, as_version=4))
    fresh = run(nbformat.read(path, as_version=4), kernel, tmp_path, **environ)
    assert fresh
    for was, now in zip(stored, fresh, strict=True):
        assert kinds(was) == kinds(now), now.source


PROGRESS = """
from hindsight_integrations import Hindsight
memory = Hindsight.in_memory()
memory.retain_many("bees", ["Wax melts.", "Smoke calms bees."], progress=True)
memory.close()
"""


@pytest.mark.slow
@pytest.mark.xdist_group("notebooks")
def test_a_progress_bar_in_a_notebook_warns_of_nothing(
    tmp_path: Path, kernel: KernelManager
) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROGRESS)])
    (cell,) = run(notebook, kernel, tmp_path)
    shown = str(cell.outputs)
    assert "2/2" in shown
    assert "Warning" not in shown


TUTORIALS = [path for path in NOTEBOOKS if path.stem != "14_folder_of_notes"]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_ends_in_a_picture_and_names_its_model_in_one_line(path: Path) -> None:
    cells = code_cells(nbformat.read(path, as_version=4))
    assert [1 for cell in cells if re.search(MODEL, cell.source, re.MULTILINE)] == [1]
    shown = {kind for output in cells[-1].outputs for kind in output.get("data", {})}
    assert shown & {"image/png", "image/svg+xml", "text/html"}


MODEL = r"^llm = None\b.*$"
"""The line of a notebook that chooses the model."""

OTHER_MODELS = {
    "06_langchain_agent": """
from langchain_core.language_models import FakeListChatModel
llm = FakeListChatModel(responses=["I am another model."])
""",
    "07_langgraph": """
from langchain_core.language_models import FakeListChatModel
llm = FakeListChatModel(responses=["I am another model."])
""",
    "08_llamaindex_agent": """
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

def reply(messages, **options):
    if "search_facts" not in str(messages):
        return ChatMessage("I am another model.", role="assistant")
    step = {"action": "answer", "query": "", "answer": "Ruth keeps bees.", "sources": []}
    call = ToolCallBlock(tool_call_id="1", tool_name="StepReply", tool_kwargs=step)
    return ChatMessage(role="assistant", blocks=[call])

llm = MockFunctionCallingLLM(response_generator=reply)
""",
}
"""Models without a script, in place of the line `llm = None` of a notebook."""


@pytest.mark.slow
@pytest.mark.xdist_group("notebooks")
@pytest.mark.parametrize("name", OTHER_MODELS)
def test_a_notebook_runs_with_any_model(name: str, tmp_path: Path, kernel: KernelManager) -> None:
    (path,) = (path for path in NOTEBOOKS if path.stem == name)
    notebook = nbformat.read(path, as_version=4)
    (defining,) = (cell for cell in code_cells(notebook) if re.search(MODEL, cell.source, re.M))
    defining.source = re.sub(MODEL, OTHER_MODELS[name], defining.source, flags=re.MULTILINE)
    cells = run(notebook, kernel, tmp_path)
    shown = "".join(output.get("text", "") for cell in cells for output in cell.outputs)
    assert "<hindsight-memory>" in shown  # what the model was sent
    assert "I am another model." in shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_carries_no_trace_of_the_machine_it_was_run_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for trace in (gettempdir(), str(Path.home()), "Traceback"):
        assert trace not in text
