"""A strict type checker passes what the documentation shows, and refuses what would fail."""

from __future__ import annotations

from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

PROGRAM = """
from contextvars import ContextVar
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from hindsight_integrations import Hindsight
from hindsight_integrations.langchain import HindsightMemory
from hindsight_integrations.langchain import HindsightRetreiver  # type: ignore[attr-defined]
from hindsight_integrations.langchain import (
    HindsightMiddleware,
    HindsightRetriever,
    HindsightStore,
    HindsightToolkit,
    HindsightVectorStore,
    recall_node,
    recall_tool,
    retain_node,
)

memory = Hindsight("./memories")
user: ContextVar[str] = ContextVar("user")

retriever = HindsightRetriever(memory=memory, bank_id="a", where={"a": 1}, explain=True, k=3)
documents: list[Document] = retriever.invoke("q")
HindsightRetriever(memory, user.get, tags=["x"], dated=True, min_score=0.1)
HindsightRetriever(memory, ["{user_id}", "team"], options={"budget": "low"}, name="memory")
HindsightRetriever(memory, "a", bogus=1)  # type: ignore[call-arg]
HindsightRetriever(memory, "a", k="three")  # type: ignore[arg-type]

builder = StateGraph(MessagesState)
builder.add_node("recall", recall_node(memory, "a"))
builder.add_node("retain", retain_node(memory, lambda runtime: "a"))
builder.add_edge(START, "recall")
builder.compile()


def agent(model: BaseChatModel, store: BaseStore) -> None:
    middleware = HindsightMiddleware(memory, bank_id=lambda runtime: str(runtime.context))
    create_agent(model, middleware=[middleware], store=HindsightStore(memory, "s", path="s.db"))
    tools: list[BaseTool] = HindsightToolkit(memory, "a", verbs=("recall",)).get_tools()
    create_agent(model, [*tools, recall_tool(memory, user.get)], store=store)


HindsightMemory(memory=memory, bank_id="a")
HindsightVectorStore.from_documents(documents, memory=memory)
HindsightVectorStore(memory, lambda: "a").similarity_search("q", k=2, filter={"a": 1})
"""


@pytest.mark.local
def test_a_strict_type_checker_passes_the_adapters(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    report, errors, _ = api.run(["--strict", str(program)])
    assert (report.strip(), errors) == ("Success: no issues found in 1 source file", "")
