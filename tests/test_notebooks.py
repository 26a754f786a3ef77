"""Each notebook runs from top to bottom, and is stored with what it shows."""

from __future__ import annotations

import re
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


OTHER_MODELS = {
    "langchain_memory": """
from langchain_core.language_models import FakeListChatModel
real_model = FakeListChatModel(responses=["I am another model."])
""",
    "llamaindex_memory": """
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

def reply(messages, **options):
    if "search_facts" not in str(messages):
        return ChatMessage("I am another model.", role="assistant")
    step = {"action": "answer", "query": "", "answer": "Ruth keeps bees.", "sources": []}
    call = ToolCallBlock(tool_call_id="1", tool_name="StepReply", tool_kwargs=step)
    return ChatMessage(role="assistant", blocks=[call])

real_llm = MockFunctionCallingLLM(response_generator=reply)
""",
}
"""Models without a script, in place of the line `real_... = None` of a notebook."""


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER_MODELS)
def test_a_notebook_runs_with_any_model(name: str, tmp_path: Path) -> None:
    (path,) = (path for path in NOTEBOOKS if path.stem == name)
    notebook = nbformat.read(path, as_version=4)
    (defining,) = [
        cell
        for cell in code_cells(notebook)
        if re.search(r"^real_\w+ = None$", cell.source, re.MULTILINE)
    ]
    defining.source = re.sub(
        r"^real_\w+ = None$", OTHER_MODELS[name], defining.source, flags=re.MULTILINE
    )
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = "".join(
        output.get("text", "") for cell in code_cells(notebook) for output in cell.outputs
    )
    assert "<hindsight-memory>" in shown  # what the model was sent


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_carries_no_trace_of_the_machine_it_was_run_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for trace in (gettempdir(), str(Path.home()), "Traceback"):
        assert trace not in text
