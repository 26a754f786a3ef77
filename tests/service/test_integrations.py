"""Programs made for Hindsight's server, as published, run their flows against the service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from hindsight_integrations import Hindsight
from tests.llamaindex.upstream import WARNINGS

from .conftest import Service
from .served import served

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


TOKEN = "the-token-of-the-service"

STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
if [ "$1 $2" = "sandbox get" ]; then printf 'Sandbox:\\n  Id: 1\\n\\nPolicy:\\n  version: 1\\n'; fi
if [ "$1 $2" = "policy set" ]; then cp "$5" "$CALLS.yaml"; fi
"""
"""An `openshell` or `openclaw` that notes how it is called, and the policy it is given."""


def test_the_setup_of_hindsight_nemoclaw(packages: Path, tmp_path: Path) -> None:
    """OpenClaw is configured for the service; its address, token and bank then serve a client."""
    calls, settings = tmp_path / "calls", tmp_path / ".openclaw" / "openclaw.json"
    settings.parent.mkdir()
    settings.write_text('{"gateway": {"port": 18789}}', encoding="utf-8")
    for name in ("openshell", "openclaw"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(STAND_IN, encoding="utf-8")
        program.chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    given = os.environ | {"HOME": str(tmp_path), "PATH": path, "CALLS": str(calls)}

    def node(*command: str) -> str:
        ran = subprocess.run(
            ["node", *command], cwd=packages, env=given, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    program = "node_modules/@vectorize-io/hindsight-nemoclaw/dist/cli.js"
    with Hindsight.in_memory() as memory, served(memory, token=TOKEN) as url:
        shown = node(
            *(program, "setup", "--sandbox", "desk", "--api-url", url),
            *("--api-token", TOKEN, "--bank-prefix", "ana"),
        )
        assert "Setup complete" in shown
        node("configured.mjs", str(settings))
        assert memory.banks.stats("ana-openclaw").memories == 1
    written = json.loads(settings.read_text(encoding="utf-8"))
    assert written["gateway"] == {"port": 18789}  # what was there stays
    first, second, third, last = calls.read_text(encoding="utf-8").splitlines()
    assert first == "openclaw plugins install @vectorize-io/hindsight-openclaw"
    assert second == "openshell sandbox get desk"
    assert third.startswith("openshell policy set desk --policy ")
    assert last == "openclaw gateway restart"
    # It opens the sandbox for its vendor's address, whatever URL it is given.
    policy = calls.with_suffix(".yaml").read_text(encoding="utf-8")
    assert "host: api.hindsight.vectorize.io" in policy


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
