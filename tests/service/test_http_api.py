"""Hindsight's HTTP API: what options mean, which errors have which status, and what is stored."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.models import Bank
from hindsight_integrations.results import NOTHING_KNOWN
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.http_api import hindsight_api
from hindsight_integrations.stores.base import CHECKPOINT

B = "/v1/default/banks/b"
Ask = Callable[..., dict[str, Any]]

TEXTS = {
    "Alice keeps bees on the roof.": ["home", "bees"],
    "Alice keeps hens in the yard.": ["home"],
    "Alice keeps a boat in the harbour.": ["work"],
    "Alice keeps a diary.": [],
}


def application(memory: Hindsight) -> FastAPI:
    app = FastAPI()
    app.include_router(hindsight_api(memory))
    return app


@pytest.fixture
def client(memory: Hindsight) -> Iterator[TestClient]:
    with TestClient(application(memory)) as connected:
        yield connected


@pytest.fixture
def ask(client: TestClient) -> Ask:
    """Return a function that sends a request and returns the answer to it."""

    def asked(method: str, path: str, body: object = None, status: int = 200) -> dict[str, Any]:
        answer = client.request(method, f"{B}{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()  # type: ignore[no-any-return]

    return asked


@pytest.fixture
def tagged(ask: Ask) -> Ask:
    items = [{"content": text, "tags": tags} for text, tags in TEXTS.items()]
    ask("POST", "/memories", {"items": items})
    return ask


def leaf(*tags: str, match: str = "any_strict") -> dict[str, object]:
    return {"tags": list(tags), "match": match}


def recalled(ask: Ask, **options: object) -> set[str]:
    found = ask("POST", "/memories/recall", {"query": "What does Alice keep?", **options})
    names = {text: next(iter(tags), "none") for text, tags in TEXTS.items()}
    names["Alice keeps bees on the roof."] = "bees"
    return {names[each["text"]] for each in found["results"]}


@pytest.mark.parametrize(
    ("tags", "match", "found"),
    [
        (["bees", "work"], "any", {"bees", "work", "none"}),
        (["bees", "work"], "any_strict", {"bees", "work"}),
        (["home", "bees"], "all", {"bees", "none"}),
        (["home", "bees"], "all_strict", {"bees"}),
        (["home"], "exact", {"home"}),
        ([], "exact", {"none"}),
        (["nowhere"], "any_strict", set()),
    ],
)
def test_tags_in_each_mode(tagged: Ask, tags: list[str], match: str, found: set[str]) -> None:
    assert recalled(tagged, tags=tags, tags_match=match) == found


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ({"or": [leaf("bees"), leaf("work")]}, {"bees", "work"}),
        ({"and": [leaf("home"), {"not": leaf("bees")}]}, {"home"}),
        ({"not": leaf("home")}, {"work", "none"}),
        (leaf("home", match="any"), {"bees", "home", "none"}),
    ],
)
def test_tag_groups(tagged: Ask, group: dict[str, object], found: set[str]) -> None:
    assert recalled(tagged, tag_groups=[group]) == found
    assert recalled(tagged, tag_groups=[group, leaf("home")]) == found & {"bees", "home"}


def test_reflection_keeps_to_the_tags_and_a_model_of_others_stays_out(
    tagged: Ask, memory: Hindsight
) -> None:
    memory.mental_models.create("b", "Boats", text="Alice keeps a boat at Bergen.", tags=["work"])
    question = {"query": "What does Alice keep?", "tags": ["bees"], "include": {"facts": {}}}
    for match in ("any", "any_strict"):
        answer = tagged("POST", "/reflect", {**question, "tags_match": match})
        assert "boat" not in answer["text"]
        assert answer["based_on"]["mental_models"] == []
    none = tagged("POST", "/reflect", {"query": "How do I tune a guitar?"})
    assert none["text"] == "Nothing known: no memory answers this."


def test_a_time_ranks_and_leaves_nothing_out(ask: Ask) -> None:
    said = {"Alice met Bob at the lake.": "2023-05-01", "Alice met Bob at the fair.": "2024-05-01"}
    items = [{"content": text, "timestamp": time} for text, time in said.items()]
    ask("POST", "/memories", {"items": items})
    for year, first in ((2023, "lake"), (2024, "fair")):
        window = {"start": f"{year}-04-01T00:00:00Z", "end": f"{year}-06-01T00:00:00Z"}
        query = {"query": "Where did Alice meet Bob?", "temporal_window": window}
        results = ask("POST", "/memories/recall", query)["results"]
        assert first in results[0]["text"]
        assert len(results) == 2


def test_least_scores_leave_out_what_is_below_them(tagged: Ask) -> None:
    everything = recalled(tagged)
    assert recalled(tagged, min_scores={"final": 0.0}) == everything
    for impossible in ({"final": 1.0}, {"final": 3}, {"semantic": 1.1}, {"keyword": 1e9}):
        assert recalled(tagged, min_scores=impossible) == set()
    asked = {"query": "Who keeps bees?"}
    results = tagged("POST", "/memories/recall", asked)["results"]
    for name in ("semantic", "keyword", "final"):
        scores = [each["scores"][name] for each in results if each["scores"][name] is not None]
        floor = max(scores)
        body = {**asked, "min_scores": {name: floor}}
        passed = tagged("POST", "/memories/recall", body)["results"]
        assert [each["scores"][name] for each in passed] == [floor]
    tagged("POST", "/memories/recall", {"query": "x", "min_scores": {"speed": 1}}, 422)
    tagged("POST", "/memories/recall", {"query": "x", "min_scores": {"reranker": 1}}, 501)


def test_entities_come_with_a_recall_unless_they_are_null(tagged: Ask) -> None:
    for include, given in (
        ({}, True),
        ({"include": {"chunks": {}}}, True),
        ({"include": {"entities": None}}, False),
    ):
        answer = tagged("POST", "/memories/recall", {"query": "Who keeps bees?", **include})
        assert ("Alice" in (answer["entities"] or {})) == given


@pytest.mark.parametrize(
    ("budget", "counts"),
    [
        ({}, [2, 1]),
        ({"max_tokens": -1}, [2, 1]),
        ({"max_tokens": 0}, [0, 0]),
        ({"max_tokens_per_observation": 8}, [1, 1]),
        ({"max_tokens": 8, "max_tokens_per_observation": -1}, [1, 0]),
    ],
)
def test_source_facts_keep_to_their_budgets(
    tagged: Ask, memory: Hindsight, budget: dict[str, int], counts: list[int]
) -> None:
    """Each of the texts has seven tokens."""
    ids = {each.text: each.id for each in memory.memories.list("b").items}
    first, second, third, _ = (ids[text] for text in TEXTS)
    memory.observations.add("b", "Alice keeps animals, bees and hens.", sources=[first, second])
    memory.observations.add("b", "Alice has a boat, and sails to the animals.", sources=[third])
    asked = {"query": "Which animals does Alice keep?", "types": ["observation"]}
    body = {**asked, "include": {"source_facts": budget}}
    answer = tagged("POST", "/memories/recall", body)
    assert len(answer["results"]) == 2
    facts = set(answer["source_facts"])
    assert [len(facts & {first, second}), len(facts & {third})] == counts
    assert answer["source_facts_truncated"] == (counts != [2, 1])


def test_a_memory_is_deleted_alone(tagged: Ask, memory: Hindsight) -> None:
    gone, *others = (each.id for each in memory.memories.list("b").items)
    assert tagged("DELETE", f"/memories/{gone}")["deleted_count"] == 1
    assert [each.id for each in memory.memories.list("b").items] == others
    tagged("DELETE", f"/memories/{gone}", None, 404)


def test_what_is_not_offered_is_refused_with_its_reason(tagged: Ask, memory: Hindsight) -> None:
    named = {"entities": [{"text": "Liz"}], "resolve_entities": False}
    id = memory.memories.list("b").items[0].id
    for method, path, body in (
        ("POST", "/memories", {"items": [{"content": "She left.", **named}]}),
        ("PATCH", f"/memories/{id}", {"entities": ["Liz"], "resolve_entities": False}),
        (
            "POST",
            "/memories/recall",
            {"query": "x", "tag_groups": [{"tags": ["h"], "resolve": "fuzzy"}]},
        ),
    ):
        assert "resolve" in tagged(method, path, body, 501)["detail"]
    operation = tagged("POST", "/consolidate", {})["operation_id"]
    path = f"/operations/{operation}?include_payload=true"
    assert "include_payload" in tagged("GET", path, None, 501)["detail"]
    plain = {"content": "She left.", "resolve_entities": False}  # no names to resolve
    tagged("POST", "/memories", {"items": [plain]})


@pytest.mark.parametrize("asynchronous", [True, False])
def test_an_operation_id_stores_once_and_is_known_after_a_restart(
    ask: Ask, memory: Hindsight, asynchronous: bool
) -> None:
    documents = [{"content": f"Alice ran {n} miles.", "document_id": "run"} for n in range(3)]
    documents.append({"content": "Bob rows."})
    body = {"items": documents, "async": asynchronous, "operation_id": "op"}
    assert ask("POST", "/memories", body)["operation_id"] == ("op" if asynchronous else None)
    changes = memory.documents.get("b", "run").updated_at
    ask("POST", "/memories", body)
    assert memory.documents.get("b", "run").updated_at == changes
    assert memory.banks.stats("b").documents == 2
    with TestClient(application(memory)) as another:
        state = another.get(f"{B}/operations/op").json()
        assert (state["status"], state["operation_type"]) == ("completed", "retain")
        assert another.get(f"{B}/operations/other").status_code == 404
        # What clients tell of the request may differ; another text is another call.
        documents[0]["metadata"] = {"sent": "again"}
        assert another.post(f"{B}/memories", json=body).status_code == 200
        documents[-1] = {"content": "Bob sails."}
        refused = another.post(f"{B}/memories", json=body)
        assert refused.status_code == 409
        assert "'op' was already used for another call" in refused.json()["detail"]
    assert memory.banks.stats("b").documents == 2


def test_requests_of_one_operation_that_come_at_once_store_it_once(
    ask: Ask, memory: Hindsight
) -> None:
    ask("PUT", "", {})
    items = [{"content": f"Alice ran {n} miles on day {n}."} for n in range(8)]
    body = {"items": items, "operation_id": "op"}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ask("POST", "/memories", body), range(4)))
    assert memory.banks.stats("b").documents == len(items)
    assert {each.proof_count for each in memory.memories.list("b", limit=500).items} == {1}


def test_ids_of_calls_are_known_for_a_time_and_do_not_pile_up(
    ask: Ask, memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindsight_integrations.service.idempotency.KNOWN_FOR", timedelta(0))
    for number in range(5):
        item = {"content": f"Alice ran {number} miles."}
        ask("POST", "/memories", {"items": [item], "operation_id": f"op-{number}"})
    names = [f"operation:op-{number}" for number in range(5)]
    assert list(memory.graph_store.read("b", CHECKPOINT, names)) == names[-1:]


def test_nothing_is_stored_of_a_request_with_a_fault(ask: Ask) -> None:
    good = {"content": "Alice rows."}
    for bad, status in (
        ({"content": " "}, 400),
        ({"content": "x", "timestamp": "soon"}, 400),
        ({"content": [{"type": "image"}]}, 501),
        ({"content": "x", "observation_scopes": "per_tag"}, 501),
        ({"content": "x" * 2_000_001}, 413),
        ({"text": "x"}, 422),
    ):
        assert "detail" in ask("POST", "/memories", {"items": [good, bad]}, status)
    assert ask("GET", "/memories/list")["total"] == 0
    ask("GET", "/profile", None, 404)


def test_a_coding_agent_asks_a_new_bank_and_stores_its_session(ask: Ask, memory: Hindsight) -> None:
    """The bodies are those of the hooks in the package `hindsight-coding-agents` 0.4.1."""
    question = {"query": "Who is our carrier?", "context": "A new session.", "budget": "high"}
    nothing = ask("POST", "/reflect", {**question, "include": {"facts": {}, "tool_calls": {}}})
    assert (nothing["text"], nothing["based_on"]["memories"]) == (NOTHING_KNOWN, [])
    assert (nothing["trace"]["tool_calls"], nothing["usage"]["total_tokens"]) == ([], 0)
    assert ask("GET", "/mental-models")["items"] == []
    ask("GET", "/profile", None, 404)  # a question makes no bank

    for day, told, scopes in (
        ("20", "Our carrier is Vodafone.", "shared"),
        ("21", "We switched to Telekom.", [[]]),
    ):
        said = [("system", f"REF-ID: {day}"), ("user", told), ("assistant", "Noted.")]
        turns = [
            {"role": role, "content": text, "timestamp": f"2026-11-{day}T10:00:00Z"}
            for role, text in said
        ]
        item = {
            "content": "\n".join(map(json.dumps, turns)),
            "document_id": f"conversation:{day}",
            "tags": ["source:chat", f"session:{day}"],
            "strategy": "conversation",
            "observation_scopes": scopes,
        }
        ask("POST", "/memories", {"items": [item], "async": True})
    assert "Telekom" in ask("POST", "/reflect", question)["text"]
    memory.consolidate("b")
    drawn = memory.memories.list("b", types=["observation"]).items
    assert [each.tags for each in drawn] == [("source:chat",)]


@pytest.mark.parametrize(
    ("method", "path", "body", "made"),
    [
        ("PATCH", "", {"name": "Bees"}, ("Bees", "", [])),
        ("PATCH", "/config", {"updates": {"reflect_mission": "Rowing."}}, ("b", "Rowing.", [])),
        (
            "POST",
            "/mental-models",
            {"id": "m", "name": "B", "source_query": "Q?"},
            ("b", "", ["m"]),
        ),
    ],
)
def test_a_setting_or_mental_model_makes_the_bank(
    ask: Ask,
    memory: Hindsight,
    method: str,
    path: str,
    body: dict[str, object],
    made: tuple[str, str, list[str]],
) -> None:
    """OpenClaw's plugin sets the configuration of a bank, or writes a page, before it retains."""
    ask(method, path, body)
    profile = ask("GET", "/profile")
    models = [model.id for model in memory.mental_models.list("b")]
    assert (profile["name"], profile["mission"], models) == made


def test_a_bank_that_was_refused_stays_if_something_was_retained(
    ask: Ask, memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = memory.banks.update

    def retained_meanwhile(bank_id: str, **fields: object) -> Bank:
        memory.retain(bank_id, "Alice rows.")
        return update(bank_id, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(memory.banks, "update", retained_meanwhile)
    ask("PUT", "", {"retain_mission": "Only bees."}, 501)
    assert [each.text for each in memory.memories.list("b").items] == ["Alice rows."]


def test_a_bank_that_cannot_be_as_asked_is_not_made(ask: Ask) -> None:
    for method, path, body in (
        ("PUT", "", {"retain_mission": "Only bees."}),
        ("PATCH", "", {"retain_mission": "Only bees."}),
        ("PATCH", "/config", {"updates": {"retain_mission": "Only bees."}}),
        (
            "POST",
            "/mental-models",
            {"name": "Bees", "source_query": "Where?", "trigger": {"mode": "delta"}},
        ),
        ("POST", "/import", {"version": "1", "bank": {"retain_mission": "Only bees."}}),
        ("POST", "/import?dry_run=true", {"version": "1", "bank": {"retain_mission": "Bees."}}),
        ("POST", "/import", {"version": "2"}),
    ):
        ask(method, path, body, 501)
        ask("GET", "/profile", None, 404)
    ask("PUT", "", {"enable_reranking": True, "disposition_empathy": 5})
    assert ask("GET", "/config")["overrides"] == {"disposition_empathy": 5}
    detail = ask("PATCH", "/config", {"updates": {"enable_reranking": False}}, 501)["detail"]
    assert "it is True for all banks" in detail


def test_lists_are_cut_and_counted(tagged: Ask) -> None:
    texts = list(TEXTS)[::-1]
    for offset in range(5):
        page = tagged("GET", f"/memories/list?limit=2&offset={offset}")
        assert [each["text"] for each in page["items"]] == texts[offset : offset + 2]
        assert page["total"] == 4
    assert tagged("GET", "/memories/list?limit=0")["items"] == []
    assert tagged("GET", "/memories/list?consolidation_state=pending")["total"] == 4
    assert tagged("GET", "/memories/list?consolidation_state=done")["total"] == 0
    assert tagged("GET", "/memories/list?start_date=2999-01-01T00:00:00Z")["total"] == 0
    tagged("GET", "/memories/list?limit=-1", None, 422)
    tagged("GET", "/stats/memories-timeseries?period=1y", None, 400)


def test_an_operation_that_fails_says_why_and_runs_again(
    client: TestClient, memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.banks.create("b")

    def away(_: str) -> None:
        raise StoreUnavailableError("the graph is away")

    monkeypatch.setattr(memory, "consolidate", away)
    begun = client.post(f"{B}/consolidate").json()["operation_id"]
    path = f"{B}/operations/{begun}"
    while (state := client.get(path).json())["status"] in ("pending", "processing"):
        time.sleep(0.01)
    assert state["error_message"] == "StoreUnavailableError: the graph is away"
    monkeypatch.undo()
    assert client.post(f"{path}/retry").json()["success"]
    while (state := client.get(path).json())["status"] in ("pending", "processing"):
        time.sleep(0.01)
    assert state["status"] == "completed"
    assert client.delete(f"{path}/delete").json()["success"]


def test_a_store_that_is_away_asks_to_come_again(
    client: TestClient, memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailableError("the graph is away")

    monkeypatch.setattr(memory.banks, "list", away)
    answer = client.get("/v1/default/banks")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.json() == {"detail": "the graph is away"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (rb'{"query": ["SECRETTEXT", "\ud83d"]}', 422),
        (rb'{"query": "SECRETTEXT", "max_tokens": "\ud83d"}', 422),
        (rb'{"query": "SECRETTEXT", "min_scores": {"\ud83d": 1}}', 422),
        (b'{"query": "SECRETTEXT", "max_tokens": NaN}', 400),
        (b'{"query": "SECRETTEXT", "min_scores": {"final": NaN}}', 400),
        (b'{"query": "SECRETTEXT", "min_scores": {"final": -Infinity}}', 400),
        (b'{"query": "SECRETTEXT", "min_scores": {"final": 1e999}}', 400),
        (b'{"query": "SECRETTEXT", "max_tokens": ' + b"9" * 5000 + b"}", 400),
        (b'{"query": "SECRETTEXT", ', 422),
        (b'{"query": ' + b"[" * 100_000, 400),
    ],
    ids=range(10),
)
def test_a_body_that_cannot_be_used_is_refused_and_repeated_nowhere(
    ask: Ask, memory: Hindsight, body: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    ask("PUT", "", {})
    peer = ("127.0.0.1", 50_000)
    app = create_app(memory)
    with TestClient(app, "http://localhost", client=peer, raise_server_exceptions=False) as client:
        headers = {"Content-Type": "application/json"}
        answer = client.post(f"{B}/memories/recall", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]
    assert "SECRETTEXT" not in answer.text + caplog.text


def test_times_are_iso_8601_whatever_the_field(tagged: Ask) -> None:
    assert tagged("GET", "/memories/list?start_date=2030-01-01")["total"] == 0
    assert tagged("GET", "/memories/list?start_date=2020-01-01T00:00:00Z")["total"] == len(TEXTS)
    for number in ("2030", "1e3", "86400"):  # not seconds since 1970
        tagged("GET", f"/memories/list?start_date={number}", status=422)
        tagged("GET", f"/memories/list?end_date={number}", status=422)
    end = "2031-01-01T00:00:00Z"
    body: dict[str, object] = {"query": "Alice", "temporal_window": {"start": 2030, "end": end}}
    tagged("POST", "/memories/recall", body, 422)
    body["temporal_window"] = {"start": "2030-01-01", "end": end}
    assert tagged("POST", "/memories/recall", body)["results"]


def test_traits_that_are_not_given_stay(ask: Ask) -> None:
    traits = {"skepticism": 5, "literalism": 4, "empathy": 1}
    assert ask("PUT", "", {"disposition": traits})["disposition"] == traits
    assert ask("PATCH", "", {"disposition": {"empathy": 2}})["disposition"] == traits | {
        "empathy": 2
    }
    assert ask("PUT", "", {"disposition": {}})["disposition"] == traits | {"empathy": 2}
    changed = ask("PUT", "/profile", {"disposition": {"literalism": 1}})
    assert changed["disposition"] == {"skepticism": 5, "literalism": 1, "empathy": 2}
    ask("PATCH", "", {"disposition": {"empathy": 6}}, 422)


def test_a_mental_model_that_is_refused_makes_no_bank(ask: Ask, memory: Hindsight) -> None:
    ask("POST", "/mental-models", {"name": " ", "source_query": "Q?"}, 400)
    assert not memory.banks.list()


def test_chunks_are_numbered_within_their_document(ask: Ask, client: TestClient) -> None:
    text = "\n\n".join(f"Person{n} keeps bees in town {n}. " * 30 for n in range(5))
    ask("POST", "/memories", {"items": [{"content": text, "document_id": "d"}]})
    chunks = ask("GET", "/documents/d/chunks")["items"]
    assert [each["chunk_index"] for each in chunks] == list(range(len(chunks)))
    assert len(chunks) > 1
    assert ask("GET", "/documents/d/chunks?offset=1&limit=1")["items"] == chunks[1:2]
    alone = client.get(f"/v1/default/chunks/{chunks[1]['chunk_id']}").json()
    assert alone["chunk_index"] == 1
    body = {"query": "Who keeps bees?", "include": {"chunks": {}}}
    found = ask("POST", "/memories/recall", body)["chunks"]
    indexes = {each["chunk_id"]: each["chunk_index"] for each in chunks}
    assert found
    assert all(each["chunk_index"] == indexes[id] for id, each in found.items())


def test_metrics_are_described_as_text(memory: Hindsight) -> None:
    described = create_app(memory).openapi()["paths"]["/metrics"]["get"]["responses"]["200"]
    assert list(described["content"]) == ["text/plain"]
