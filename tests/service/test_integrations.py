"""Programs made for Hindsight's server, as published, run their flows against the service."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.llamaindex.upstream import WARNINGS

from .conftest import Service

pytestmark = [pytest.mark.slow, WARNINGS]

HERE = Path(__file__).parent / "javascript"
BEES = "Alice keeps bees on the roof of the town hall."
QUESTION = "Where does Alice keep her bees?"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the JavaScript session with its packages, as the lock file has them.

    Without npm or its registry there are none: outside continuous integration the test is skipped.
    """
    folder = tmp_path_factory.mktemp("javascript")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    command = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        if os.environ.get("HINDSIGHT_REQUIRE_NEO4J"):
            raise
        pytest.skip(f"no npm, or no packages from it: {error}")
    return folder


@pytest.mark.parametrize("name", ["@vectorize-io/hindsight-client", "hindsight-client-0.4"])
def test_the_javascript_client(service: Service, packages: Path, name: str) -> None:
    bank = f"javascript {name.rpartition('/')[2]}"
    session = subprocess.run(
        ["node", "flow.mjs", name, service.url, bank],
        cwd=packages, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert session.returncode == 0, session.stderr


async def test_hindsight_langgraph(service: Service) -> None:
    import hindsight_langgraph as published
    from hindsight_client import Hindsight as Client

    client = Client(service.url)
    nodes = {"client": client, "bank_id": "langgraph"}
    model = FakeListChatModel(responses=["Noted.", "On the roof."])

    async def chat(state: MessagesState) -> dict[str, list[AIMessage]]:
        seen.append([str(message.content) for message in state["messages"]])
        return {"messages": [AIMessage(model.invoke(state["messages"]).content)]}

    seen: list[list[str]] = []
    graph = StateGraph(MessagesState)
    graph.add_node("recall", published.create_recall_node(**nodes))
    graph.add_node("chat", chat)
    graph.add_node("retain", published.create_retain_node(**nodes, tags=["chat"]))
    for one, next_one in (("recall", "chat"), ("chat", "retain"), ("retain", END)):
        graph.add_edge(one, next_one)
    graph.add_edge(START, "recall")
    app = graph.compile()
    await app.ainvoke({"messages": [HumanMessage(BEES)]})
    await app.ainvoke({"messages": [HumanMessage(QUESTION)]})
    assert seen[0] == [BEES]  # a bank that is not there yet remembers nothing
    assert any(BEES in text for text in seen[1])
    assert service.memory.tags.list("langgraph")["chat"] >= 1

    tools = {tool.name: tool for tool in published.create_hindsight_tools(**nodes)}
    retain, recall, reflect = (
        next(tool for name, tool in tools.items() if verb in name)
        for verb in ("retain", "recall", "reflect")
    )
    await retain.ainvoke({"content": "Bob sails on Sundays."})
    assert "Bob sails" in await recall.ainvoke({"query": "When does Bob sail?"})
    assert "roof" in await reflect.ainvoke({"query": QUESTION})
    await client.aclose()


async def test_hindsight_llamaindex(service: Service) -> None:
    import hindsight_llamaindex as published
    from hindsight_client import Hindsight as Client
    from llama_index.core.llms import ChatMessage

    client = Client(service.url)
    memory = published.HindsightMemory.from_client(client, "llamaindex", mission="Help Alice.")
    await memory.aput(ChatMessage(role="user", content=BEES))
    given = await memory.aget(QUESTION)
    assert any(BEES in str(message.content) for message in given)
    assert service.memory.banks.get("llamaindex").mission == "Help Alice."

    tools = published.HindsightToolSpec(client=client, bank_id="llamaindex").to_tool_list()
    by_name = {tool.metadata.name: tool for tool in tools}
    recall = next(tool for name, tool in by_name.items() if "recall" in str(name))
    reflect = next(tool for name, tool in by_name.items() if "reflect" in str(name))
    assert "roof" in str(await recall.acall(query=QUESTION))
    assert "roof" in str(await reflect.acall(query=QUESTION))
    await client.aclose()
