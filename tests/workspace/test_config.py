"""Configuration with a host's keys, the tools it gives an agent, and guidance that works."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from hindsight_integrations import (
    Hindsight,
    InvalidInputError,
    NotFoundError,
    StoreUnavailableError,
    Workspace,
)
from hindsight_integrations.errors import MissingExtraError
from hindsight_integrations.results import NOTHING_ASKED
from hindsight_integrations.retain.fence import FENCE_START, strip_fenced
from hindsight_integrations.workspace import (
    GUIDANCE,
    SyncEvent,
    WorkspaceConfig,
    WorkspaceTool,
    workspace_tools,
)
from tests.durable.memories import opened, owned_by_another
from tests.service.served import served

from .conftest import BANK

FILE = """\
{
  // what a host writes
  baseUrl: 'PLACE', bankId: "alice",
  retainOnWrite: true, retainDebounceMs: 0,
  recallBudget: "medium", maxTokens: 1024,
  fallback_to_local: false, reflectEnabled: false,
}
"""


def test_a_file_of_json5_in_both_spellings_opens_a_watched_workspace(
    root: Path, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "hindsight.json5"
    file.write_text(FILE.replace("PLACE", str(folder)), encoding="utf-8")
    config = WorkspaceConfig.load(file)
    assert config == WorkspaceConfig(
        str(folder), "alice", True, 0, "medium", 1024, fallback_to_local=False,
        reflect_enabled=False,
    )  # fmt: skip
    events: list[SyncEvent] = []
    with config.open(root, on_event=events.append) as workspace:
        with pytest.raises(InvalidInputError, match="already being watched"):
            workspace.start_watching()
        (root / "new.md").write_text("The hive is blue.", encoding="utf-8")
        assert [tool.name for tool in config.tools(workspace)] == ["memory_search", "memory_get"]
    assert {event.path for event in events} >= {"MEMORY.md", "new.md"}
    with opened(folder) as memory:
        assert "The hive is blue." in [each.text for each in memory.memories.list(BANK).items]
    with (
        owned_by_another(folder),
        config.open(root) as workspace,
        pytest.raises(StoreUnavailableError, match="in use"),
    ):
        workspace.search("Who met Bob?")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bankID": "x"}, "bankId"),
        ({"bankId": "x", "bank_id": "x"}, "both spellings"),
        ({"maxTokens": 0}, "max_tokens"),
        ({"recallBudget": "huge"}, "recall_budget"),
        ({"retainOnWrite": "yes"}, "retain_on_write"),
        ({"retainDebounceMs": -1}, "retain_debounce_ms"),
        ({"bankId": ""}, "bank"),
        ({"baseUrl": 7}, "base_url"),
    ],
)
def test_wrong_keys_and_values_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        WorkspaceConfig.from_mapping(values)


def test_a_base_url_names_a_server_or_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, object]] = []
    monkeypatch.setattr(Hindsight, "from_env", lambda **options: given.append(options))
    for url in (None, "neo4j+s://graph:7687", "http://localhost:8888", "memories"):
        WorkspaceConfig(url).open_memory()
    assert given == [
        {}, {"graph": "neo4j+s://graph:7687"}, {"path": "http://localhost:8888"},
        {"path": "memories"},
    ]  # fmt: skip


def test_a_service_holds_the_notes_and_may_go_away(memory: Hindsight, root: Path) -> None:
    with served(memory) as url:
        config = WorkspaceConfig(url, BANK, retain_on_write=False)
        workspace = config.open(root)
        assert workspace.sync().ok
        hit = workspace.search("What did we plant behind the shed?", max_results=1)[0]
        assert (hit.path, hit.start_line) == ("memory/2026-02-03.md", 8)
        assert memory.documents.get(BANK, "memory/2026-02-03.md")
        assert "Northwind" in workspace.reflect("Who pays for the website project?").text
        assert not isinstance(hit.score, type(None))
    with workspace:
        (local, *_) = workspace.search("pear tree shed")
        assert local.path == "memory/2026-02-03.md"
        assert not workspace.health()


def test_a_file_that_is_none_and_a_missing_package_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json5"
    for text in ("[1]", "{", "{bankId: 'a', bankId: 'b'}"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidInputError, match=r"a\.json5"):
            WorkspaceConfig.load(file)
    monkeypatch.setitem(__import__("sys").modules, "json5", None)
    with pytest.raises(MissingExtraError, match=r"\[workspace\]"):
        WorkspaceConfig.load(file)


# Tools


def by_name(workspace: Workspace) -> dict[str, WorkspaceTool]:
    return {tool.name: tool for tool in workspace_tools(workspace)}


def test_the_tools_answer_a_model(workspace: Workspace) -> None:
    tools = by_name(workspace)
    assert "No relevant" in tools["reflect"](query="bees?")
    workspace.sync()
    found = tools["memory_search"](query="What did we plant behind the shed?", max_results=1)
    assert "memory/2026-02-03.md:8-8 (" in found
    assert "pear tree" in found
    assert found.startswith(FENCE_START)
    assert strip_fenced(found) == ""
    assert "pear tree" in tools["memory_get"](path="memory/2026-02-03.md", from_line=8, lines=1)
    answer = tools["reflect"](query="Who pays for the website project?")
    assert "Northwind" in answer
    assert "trains" in tools["reflect"](query="What are Alice's likes when travelling?")
    assert asyncio.run(tools["reflect"].acall(query="Who pays for the website project?")) == answer
    with pytest.raises(NotFoundError):
        tools["memory_get"](path="../secret.md")
    for wrong in ({}, {"query": "x", "bank_id": "other"}, {"query": "x", "max_results": 0}):
        with pytest.raises(InvalidInputError, match="memory_search"):
            tools["memory_search"](**wrong)
    assert tools["memory_search"](query="pear tree", max_results=None, min_score=None)
    for tool in ("memory_search", "reflect"):
        assert tools[tool](query=" ") == NOTHING_ASKED
    schema = tools["memory_get"].schema()
    assert schema["parameters"]["required"] == ["path"]
    assert schema["parameters"]["properties"].keys() == {"path", "from_line", "lines"}


async def test_the_tools_of_both_frameworks_answer_alike(workspace: Workspace) -> None:
    from hindsight_integrations.langchain import workspace_tools as for_langchain
    from hindsight_integrations.llamaindex import workspace_tools as for_llamaindex

    workspace.sync()
    given = {"query": "What did we plant behind the shed?", "max_results": 1}
    plain = by_name(workspace)["memory_search"](**given)
    chain, index = for_langchain(workspace), for_llamaindex(workspace)
    assert [tool.name for tool in chain] == [tool.metadata.name for tool in index]
    assert chain[0].invoke(given) == await chain[0].ainvoke(given) == plain
    assert index[0].call(**given).content == (await index[0].acall(**given)).content == plain
    assert index[0].metadata.get_parameters_dict()["required"] == ["query"]
    assert "memory_get failed: there is no note" in chain[1].invoke({"path": "../x.md"})
    assert len(for_langchain(workspace, reflect=False)) == 2


def test_guidance_names_calls_that_answer_without_a_language_model(workspace: Workspace) -> None:
    workspace.sync()
    tools = by_name(workspace)
    calls = {
        occasion: re.findall(r'(\w+)\("([^"]+)"\)', " ".join(text.split()))
        for occasion, text in GUIDANCE.items()
    }
    assert calls.keys() == {"heartbeat", "pre_session", "on_demand"}
    assert all(calls.values())
    for name, query in (call for of_one in calls.values() for call in of_one):
        asked = "Who pays for the website project?" if query == "..." else query
        assert tools[name](query=asked)
    named = {name for text in GUIDANCE.values() for name in re.findall(r"memory_\w+", text)}
    assert named <= tools.keys()
