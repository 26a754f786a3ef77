"""Every method of `hindsight-client` 1.1 runs against the service."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import hindsight_client
import hindsight_client_api.models as wire
import pytest
from hindsight_client_api.exceptions import ApiException

from hindsight_integrations import Hindsight

from .conftest import Service
from .hindsight_client_session import DIFFERS, PAGE, REFUSED, methods, verdict, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning:hindsight_client_api"),
]

BEES = "Alice keeps bees on the roof of the town hall."
JOB = "Alice joined Northwind in March 2021 as a designer."


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The event loop that the client's plain methods run in."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield made
    asyncio.set_event_loop(None)
    made.close()


class Caller:
    """Calls methods of the client by name, and notes them and what refused them."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, target: object, *, twins: bool = False
    ) -> None:
        self._loop, self._target, self._twins = loop, target, twins
        self.called: set[str] = set()
        self.refused: set[str] = set()

    def __call__(self, name: str, /, *args: Any, **options: Any) -> Any:
        self.called.add(f"a{name}" if self._twins else name)
        method = getattr(self._target, f"a{name}" if self._twins else name)
        result = method(*args, **options)
        return self._loop.run_until_complete(result) if inspect.isawaitable(result) else result

    def refuse(self, name: str, /, *args: Any, **options: Any) -> None:
        with pytest.raises((ApiException, aiohttp.ClientResponseError)) as refusal:
            self(name, *args, **options)
        assert refusal.value.status == 501, name
        self.refused.add(name)


def finished(ask: Callable[[], Any]) -> Any:
    """Return the state of an operation once it has ended."""
    for _ in range(200):
        if (state := ask()).status not in ("pending", "processing"):
            return state
        time.sleep(0.02)
    raise AssertionError(f"it is still {state.status}")


@pytest.mark.parametrize("twins", [False, True], ids=["plain", "async"])
def test_every_method_of_the_client_itself(
    service: Service, loop: asyncio.AbstractEventLoop, tmp_path: Path, twins: bool
) -> None:
    client = hindsight_client.Hindsight(service.url)
    call = Caller(loop, client, twins=twins)
    b = f"client-{twins}"
    assert call("get_version").api_version == "1.1.0"
    made = call("create_bank", b, name="Ana", mission="Help.", disposition_empathy=5)
    assert (made.name, made.mission, made.disposition.empathy) == ("Ana", "Help.", 5)
    call("set_mission", b, "Help Alice.")
    call("set_reflect_mission", b, "Help Alice with her bees.")
    assert call("get_bank_config", b)["overrides"]["reflect_mission"] == "Help Alice with her bees."
    assert (
        call("update_bank_config", b, disposition_skepticism=4)["config"]["disposition_skepticism"]
        == 4
    )
    call.refuse("update_bank_config", b, retain_mission="Only bees.")

    with client.suspend_retains():
        assert call("retain", b, "Nothing.").items_count == 0
    said = datetime(2024, 5, 7, tzinfo=UTC)
    call("retain", b, JOB, timestamp=said, tags=["work"], document_id="cv/1",
         metadata={"k": "v"}, entities=[{"text": "Northwind"}])  # fmt: skip
    call("retain_batch", b, [{"content": BEES, "tags": ["home"]}], document_tags=["all"],
         retain_async=True, operation_id="op-1")  # fmt: skip
    again = call("retain_batch", b, [{"content": BEES}], retain_async=True, operation_id="op-1")
    assert again.operation_id == "op-1"
    notes = tmp_path / "notes.md"
    notes.write_text("# Honey\n\nThe honey of 2023 was dark.", encoding="utf-8")
    assert len(call("retain_files", b, [notes]).operation_ids) == 1
    listed = call("list_memories", b, search_query="roof")
    assert (listed.total, listed.items[0].proof_count) == (1, 1)  # stored once
    assert call("list_memories", b, tags=["work"], tags_match="any_strict").total == 1

    found = call("recall", b, "Where did Alice work in spring 2021?", include_entities=True,
                 include_chunks=True, include_source_facts=True, trace=True)  # fmt: skip
    assert found.results[0].text == JOB
    assert found.results[0].metadata == {"k": "v"}
    assert found.results[0].scores.final > 0
    assert found.chunks[found.results[0].chunk_id].text == JOB
    assert "Northwind" in found.entities
    assert found.trace["results"][0]["reasons"]
    answer = call("reflect", b, "Where does Alice keep bees?", include_facts=True,
                  include_tool_calls=True)  # fmt: skip
    assert BEES in answer.text
    assert [fact.text for fact in answer.based_on.memories] == [BEES]
    call.refuse("reflect", b, "Where?", response_schema={"type": "object"})

    rule = call("create_directive", b, "brief", "Be brief.", priority=2)
    assert call("list_directives", b).items == [rule]
    assert call("get_directive", b, rule.id) == rule
    assert (
        call("update_directive", b, rule.id, content="Be very brief.").content == "Be very brief."
    )
    call("delete_directive", b, rule.id)
    assert call("list_directives", b).total == 0

    model = call("create_mental_model", b, "Bees", "Where are the bees?", id=f"bees-{twins}",
                 trigger={"refresh_after_consolidation": True})  # fmt: skip
    assert model.mental_model_id == f"bees-{twins}"
    written = call("get_mental_model", b, model.mental_model_id)
    assert "roof" in written.content
    assert written.trigger.refresh_after_consolidation
    assert call("list_mental_models", b, detail="metadata").items[0].content is None
    assert call("update_mental_model", b, written.id, name="Hives").name == "Hives"
    refreshed = call("refresh_mental_model", b, written.id)
    status = client.operations.get_operation_status
    ask = lambda: loop.run_until_complete(status(b, refreshed.operation_id))  # noqa: E731
    assert finished(ask).status == "completed"
    assert call("get_mental_model_history", b, written.id)
    call.refuse("clear_mental_model", b, written.id)
    call.refuse("dry_run_refresh_mental_model", b, written.id)
    call("delete_mental_model", b, written.id)
    call.refuse("create_mental_model", b, "Bees", "Bees?", trigger={"refresh_cron": "* * * * *"})

    call.refuse("get_knowledge_base_tree", b)
    call.refuse("create_knowledge_folder", b, "f")
    call.refuse("create_knowledge_page", b, "p", "q?")
    call.refuse("get_knowledge_page", b, "p")
    call.refuse("search_knowledge_base", b, "q")
    call.refuse("update_knowledge_node", b, "n", name="m")
    call.refuse("delete_knowledge_node", b, "n")
    call.refuse("export_knowledge_base", b)
    call.refuse("export_documents", b)

    archive = call("export_bank", b, poll_interval=0.02)
    for name, arguments in (("import_bank", [archive]), ("clone_bank", [])):
        target = f"{name}-{twins}"
        options = {"target_bank_id": target}
        operation = call(name, b, *arguments, **options)
        ask = lambda id=operation: loop.run_until_complete(status(b, id))  # noqa: E731
        assert finished(ask).result_metadata == {"bank_id": target}
        assert service.memory.banks.stats(target).memories == 3
        with pytest.raises(ApiException, match="another target_bank_id"):
            call(name, b, *arguments, **options)
    assert call("reset_bank_config", b)["overrides"] == {}
    call("delete_bank", b)
    assert call("recall", b, "Where are the bees?").results == []
    call("close")
    own = inspect.getmembers(hindsight_client.Hindsight, inspect.isfunction)
    plain = {name for name, _ in own if hasattr(hindsight_client.Hindsight, f"a{name}")}
    assert call.called == {f"a{name}" if twins else name for name in plain}


def test_every_method_of_the_generated_client(
    service: Service, loop: asyncio.AbstractEventLoop
) -> None:
    client = hindsight_client.Hindsight(service.url)
    calls = {name: Caller(loop, api) for name, api in _apis(client).items()}
    b = "generated"
    banks, memory, documents = calls["Banks"], calls["Memory"], calls["Documents"]
    banks("create_or_update_bank", b, wire.CreateBankRequest(name="Ana"))
    banks("update_bank", b, wire.CreateBankRequest(mission="Help."))
    traits = wire.DispositionTraits(skepticism=5, literalism=1, empathy=3)
    update = wire.UpdateDispositionRequest(disposition=traits)
    assert banks("update_bank_disposition", b, update).disposition.skepticism == 5
    background = banks("add_bank_background", b, wire.AddBackgroundRequest(content="Is kind."))
    assert (background.background, background.mission) == ("Is kind.", "Help.")
    assert banks("get_bank_profile", b).name == "Ana"
    changed = wire.BankConfigUpdate(updates={"reflect_mission": "Help all."})
    assert banks("update_bank_config", b, changed).config["reflect_mission"] == "Help all."
    assert banks("get_bank_config", b).overrides["disposition_skepticism"] == 5
    _memories(calls, b)
    _entities_and_documents(calls, b)
    assert banks("get_agent_stats", b).total_nodes == 3
    assert sum(x.world for x in banks("get_memories_timeseries", b, period="1h").buckets) == 3
    assert [x.fact_count for x in banks("list_banks", q="generat").banks] == [3]
    begun = banks("trigger_consolidation", b)
    operations = calls["Operations"]
    state = lambda: operations("get_operation_status", b, begun.operation_id)  # noqa: E731
    assert finished(state).status == "completed"
    observed = service.memory.observations.list(b).items
    assert memory("list_observation_scopes", b).total == bool(observed)
    banks("clear_observations", b)
    _mental_models(calls, b)
    _operations(service.memory, calls, b)
    _templates(calls, b)
    _transfer(calls, b)
    assert calls["Monitoring"]("get_liveness").status == "alive"
    assert calls["Monitoring"]("get_readiness")["status"] == "healthy"
    assert calls["Monitoring"]("health_endpoint_health_get")["status"] == "healthy"
    assert calls["Monitoring"]("get_version").features.document_export_api is False
    assert "hindsight_requests_total" in calls["Monitoring"]("metrics_endpoint_metrics_get")
    assert documents("delete_document", b, "cv/1").memory_units_deleted == 1
    assert memory("clear_bank_memories", b).deleted_count == 2
    assert banks("reset_bank_config", b).overrides == {}
    _refusals(calls, b)
    assert banks("delete_bank", b).success
    client.close()
    called = {method for call in calls.values() for method in call.called}
    known = {method for names in methods().values() for method in names}
    assert known == called
    assert {name for call in calls.values() for name in call.refused} == REFUSED
    assert set(DIFFERS) <= known - REFUSED
    assert {verdict(name) for name in known} == {"works", "differs", "refused"}


def _apis(client: hindsight_client.Hindsight) -> dict[str, Any]:
    import hindsight_client_api.api as generated

    return {name: getattr(generated, f"{name}Api")(client._api_client) for name in methods()}


def _memories(calls: dict[str, Caller], b: str) -> None:
    memory = calls["Memory"]
    items = [
        {"content": JOB, "document_id": "cv/1", "tags": ["work"]},
        {"content": [{"type": "text", "text": BEES}], "tags": ["home", "bees"]},
        {"content": "Bob sails on Sundays."},
    ]
    given = [wire.MemoryItem.from_dict(item) for item in items]
    assert memory("retain_memories", b, wire.RetainRequest(items=given)).items_count == 3
    recall = wire.RecallRequest.from_dict(
        {"query": "What does Alice keep?", "tag_groups": [{"not": {"tags": ["work"]}}]}
    )
    found = memory("recall_memories", b, recall).results
    assert found[0].text == BEES
    assert JOB not in [each.text for each in found]
    answer = memory("reflect", b, wire.ReflectRequest(query="What does Alice keep?"))
    assert BEES in answer.text
    listed = memory("list_memories", b, limit=1, offset=1, time_field="created_at",
                    start_date="2024-01-01T00:00:00Z")  # fmt: skip
    assert (listed.total, listed.items[0].text) == (3, BEES)  # the second latest
    bees = listed.items[0].id
    fixed = wire.UpdateMemoryRequest(text=BEES.replace("bees", "hives"), reason="hives, not bees")
    assert "hives" in memory("update_memory", b, bees, fixed)["text"]
    wrong = wire.UpdateMemoryRequest(state="invalidated", reason="moved")
    assert memory("update_memory", b, bees, wrong)["invalidation_reason"] == "moved"
    assert memory("list_memories", b, state="invalidated").total == 1
    memory("update_memory", b, bees, wire.UpdateMemoryRequest(state="valid"))
    assert memory("get_memory", b, bees)["state"] == "valid"
    changes = memory("get_observation_history", b, bees)
    assert BEES in [change["previous_text"] for change in changes]
    assert memory("clear_memory_observations", b, bees).deleted_count == 0
    graph = memory("get_graph", b)
    assert len(graph.nodes) == graph.total_units == 3
    assert [(tag.tag, tag.count) for tag in memory("list_tags", b, q="*E*").items] == [
        ("bees", 1), ("home", 1),
    ]  # fmt: skip


def _entities_and_documents(calls: dict[str, Caller], b: str) -> None:
    entities, documents = calls["Entities"], calls["Documents"]
    names = {each.canonical_name: each for each in entities("list_entities", b).items}
    assert names["Alice"].mention_count == 2
    assert entities("get_entity", b, names["Alice"].id).observations == []
    graph = entities("get_entity_graph", b)
    assert {"Alice", "Northwind"} <= {node.data.label for node in graph.nodes}
    assert graph.total_edges >= 1
    listed = documents("list_documents", b, tags=["work"])
    assert [each.id for each in listed.items] == ["cv/1"]
    assert documents("get_document", b, "cv/1").original_text == JOB
    chunk = documents("list_document_chunks", b, "cv/1").items[0]
    assert documents("get_chunk", chunk.chunk_id) == chunk
    assert documents("update_document", b, "cv/1", wire.UpdateDocumentRequest(tags=["cv"])).success
    assert documents("get_document", b, "cv/1").tags == ["cv"]
    with pytest.raises(ApiException) as refusal:
        calls["Files"]("file_retain", b, [("n.bin", b"\xff\xfe")], request="{}")
    assert refusal.value.status == 501


def _mental_models(calls: dict[str, Caller], b: str) -> None:
    models, directives = calls["MentalModels"], calls["Directives"]
    given = wire.CreateMentalModelRequest(name="Bees", source_query="What does Alice keep?")
    id = models("create_mental_model", b, given).mental_model_id
    assert "hives" in models("get_mental_model", b, id).content
    assert models("list_mental_models", b).total == 1
    models("update_mental_model", b, id, wire.UpdateMentalModelRequest(tags=["x"]))
    models("refresh_mental_model", b, id)
    assert models("get_mental_model_history", b, id) is not None
    one = directives("create_directive", b, wire.CreateDirectiveRequest(name="n", content="Be."))
    off = wire.UpdateDirectiveRequest(is_active=False)
    assert directives("update_directive", b, one.id, off).is_active is False
    assert directives("list_directives", b).total == 0
    assert directives("list_directives", b, active_only=False).total == 1
    assert directives("get_directive", b, one.id).content == "Be."


def _operations(memory: Hindsight, calls: dict[str, Caller], b: str) -> None:
    call = calls["Operations"]
    ended = call("list_operations", b, status="completed").operations
    assert {"consolidation", "refresh_mental_model"} <= {each.operation_type for each in ended}
    for name in ("cancel_operation", "retry_operation"):
        with pytest.raises(ApiException) as conflict:
            call(name, b, ended[0].id)
        assert conflict.value.status == 409
    assert call("delete_operation", b, ended[0].id).success
    with pytest.raises(ApiException) as gone:
        call("get_operation_status", b, ended[0].id)
    assert gone.value.status == 404


def _templates(calls: dict[str, Caller], b: str) -> None:
    call = calls["BankTemplates"]
    template = call("export_bank_template", b)
    assert [each.name for each in template.directives] == ["n"]
    dry = call("import_bank_template", "from-template", template, dry_run=True)
    assert dry.mental_models_created == [template.mental_models[0].id]
    done = call("import_bank_template", "from-template", template)
    assert (done.directives_created, done.config_applied) == (["n"], True)
    assert call("import_bank_template", "from-template", template).directives_updated == ["n"]
    again = call("export_bank_template", "from-template")
    assert (again.directives, again.bank) == (template.directives, template.bank)
    calls["Banks"]("delete_bank", "from-template")


def _transfer(calls: dict[str, Caller], b: str) -> None:
    call, operations = calls["BankTransfer"], calls["Operations"]
    begun = call("export_bank_transfer", b)
    made = finished(lambda: operations("get_operation_status", b, begun.operation_id))
    archive = calls["DocumentTransfer"]("download_file", made.result_metadata["storage_key"])
    first = call("import_bank_transfer", b, bytes(archive), target_bank_id="imported")
    second = call("clone_bank", b, "cloned")
    for each in (first, second):
        state = finished(lambda id=each.operation_id: operations("get_operation_status", b, id))
        assert state.status == "completed", state.error_message
        assert state.result_metadata["bank_id"] in ("imported", "cloned")


def _refusals(calls: dict[str, Caller], b: str) -> None:
    for api, names in methods().items():
        for name in sorted(REFUSED.intersection(names)):
            kind = type(calls[api]._target)
            method = getattr(kind, name)
            calls[api].refuse(name, *_arguments(method, b))
    assert calls["MentalModels"]("delete_mental_model", b, _first(calls, b))
    assert calls["Directives"]("delete_directive", b, _directive(calls, b))


def _first(calls: dict[str, Caller], b: str) -> str:
    return str(calls["MentalModels"]("list_mental_models", b).items[0].id)


def _directive(calls: dict[str, Caller], b: str) -> str:
    return str(calls["Directives"]("list_directives", b, active_only=False).items[0].id)


BODIES = {
    "CreateBankAliasRequest": wire.CreateBankAliasRequest(alias="a"),
    "SetBankAliasPrimaryRequest": wire.SetBankAliasPrimaryRequest(primary=True),
    "DryRunExtractRequest": wire.DryRunExtractRequest(content=wire.Content("x")),
    "CreateFolderRequest": wire.CreateFolderRequest(name="f"),
    "CreatePageRequest": wire.CreatePageRequest(name="p", source_query="q?"),
    "UpdateNodeRequest": wire.UpdateNodeRequest(name="n"),
    "PromptPreviewRequest": wire.PromptPreviewRequest(),
    "ConsolidationStrategiesPreviewRequest": wire.ConsolidationStrategiesPreviewRequest(
        strategies=[]
    ),
    "CreateWebhookRequest": wire.CreateWebhookRequest(url="http://localhost"),
    "UpdateWebhookRequest": wire.UpdateWebhookRequest(enabled=False),
}


def _arguments(method: Callable[..., Any], b: str) -> list[Any]:
    """Return arguments for a method that is refused: a text, or the body it takes."""
    required = [
        parameter
        for name, parameter in inspect.signature(method).parameters.items()
        if name != "self" and parameter.default is inspect.Parameter.empty
    ]
    made: list[Any] = []
    for parameter in required:
        kind = str(parameter.annotation)
        other = b"x" if "bytes" in kind.lower() else b
        made.append(next((body for name, body in BODIES.items() if name in kind), other))
    return made


def test_the_page_has_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == written()
