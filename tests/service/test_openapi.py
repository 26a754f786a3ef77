"""The OpenAPI document declares the errors of each route, and `/docs` shows it offline."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.openapi import DESCRIPTIONS, NEVER_404
from hindsight_integrations.service.settings import ServiceSettings

B = "/v1/default/banks/{bank_id}"
TOKEN = "the-token-of-the-service"
HERE: dict[str, Any] = {"base_url": "http://localhost:8888"}
TOLD = HERE | {"headers": {"Authorization": f"Bearer {TOKEN}"}}
Operation = tuple[str, str]


@pytest.fixture
def client(memory: Hindsight) -> TestClient:
    memory.retain("b", "Alice keeps bees.", document_id="d")
    settings = ServiceSettings(token=TOKEN, max_body_bytes=1000)
    return TestClient(create_app(memory, settings), **TOLD)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document of a service with a token; each app makes its own, which takes a second."""
    with Hindsight.in_memory() as memory:
        app = create_app(memory, ServiceSettings(token=TOKEN, max_body_bytes=1000))
        return dict(TestClient(app, **TOLD).get("/openapi.json").json())


def fitting(content: dict[str, Any], operation: Operation, answer: Any) -> str:
    """Return the fault of an answer that its operation does not declare; "" for none."""
    method, path = operation
    declared = content["paths"][path][method.lower()]["responses"]
    status = str(answer.status_code)
    if status not in declared:
        return f"{status} is not declared, but {sorted(declared)}"
    schema = declared[status]["content"]["application/json"]["schema"]
    components = {"components": content["components"]}
    faults = Draft202012Validator(schema | components).iter_errors(answer.json())
    return "; ".join(fault.message for fault in faults)


REFUSED: list[tuple[int, Operation, dict[str, Any]]] = [
    (400, ("GET", f"{B}/memories/list"), {"params": {"type": "x"}}),
    (400, ("POST", f"{B}/memories/recall"), {"json": {"query": " "}}),
    (401, ("GET", f"{B}/stats"), {"headers": {"Authorization": "Bearer wrong"}}),
    (401, ("GET", "/health"), {"headers": {"Authorization": "Bearer wrong"}}),
    (403, ("GET", "/v1/default/banks"), {"headers": {"Origin": "http://elsewhere.example"}}),
    (404, ("GET", f"{B}/documents/{{document_id}}"), {}),
    (404, ("POST", f"{B}/mental-models/{{mental_model_id}}/refresh"), {}),
    (413, ("POST", f"{B}/memories"), {"json": {"items": [{"content": "x" * 2000}]}}),
    (421, ("GET", "/metrics"), {"headers": {"Host": "elsewhere.example"}}),
    (422, ("POST", f"{B}/memories/recall"), {"json": {}}),
    (422, ("GET", f"{B}/memories/list"), {"params": {"limit": "many"}}),
    (501, ("GET", f"{B}/webhooks"), {}),
    (501, ("PATCH", f"{B}/config"), {"json": {"updates": {"llm_model": "x"}}}),
    (400, ("POST", "/v1/engine/recall"), {"json": {"bank_id": "b", "query": " "}}),
    (400, ("POST", "/v1/engine/recall"), {"json": {"bank": "b"}}),
    (401, ("POST", "/v1/engine/recall"), {"headers": {"Authorization": "Bearer wrong"}}),
    (404, ("POST", "/v1/engine/recall"), {"json": {"bank_id": "x", "query": "Who?"}}),
    (409, ("POST", "/v1/engine/banks.create"), {"json": {"bank_id": "b"}}),
    (413, ("POST", "/v1/engine/retain"), {"json": {"bank_id": "b", "content": "x" * 2000}}),
]


@pytest.mark.parametrize(("status", "operation", "given"), REFUSED)
def test_each_error_is_declared_with_the_schema_of_its_body(
    client: TestClient,
    document: dict[str, Any],
    status: int,
    operation: Operation,
    given: dict[str, Any],
) -> None:
    method, path = operation
    address = re.sub(r"{\w+}", "x", path.replace("{bank_id}", "b"))
    answer = client.request(method, address, **given)
    assert answer.status_code == status, answer.text
    assert fitting(document, operation, answer) == ""


def test_a_store_that_does_not_answer_and_the_state_of_the_parts_are_declared(
    client: TestClient,
    document: dict[str, Any],
    memory: Hindsight,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the graph does not answer")

    monkeypatch.setattr(Hindsight, "recall", fail)
    for operation, body in (
        (("POST", f"{B}/memories/recall"), {"query": "Who?"}),
        (("POST", "/v1/engine/recall"), {"bank_id": "b", "query": "Who?"}),
    ):
        answer = client.post(operation[1].replace("{bank_id}", "b"), json=body)
        assert answer.status_code == 503
        assert fitting(document, operation, answer) == ""
    assert fitting(document, ("GET", "/health"), client.get("/health")) == ""
    memory.close()
    unwell = client.get("/health")
    assert unwell.status_code == 503
    assert fitting(document, ("GET", "/health"), unwell) == ""


def test_a_full_queue_and_a_late_answer_are_declared(
    document: dict[str, Any], memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(memory.banks), "list", lambda _: time.sleep(0.3) or [])
    late = TestClient(
        create_app(memory, ServiceSettings(token=TOKEN, request_timeout=0.05)), **TOLD
    )
    operation = ("GET", "/v1/default/banks")
    answer = late.get(operation[1])
    assert answer.status_code == 504
    assert fitting(document, operation, answer) == ""
    busy = document["paths"][operation[1]]["get"]["responses"]["503"]
    assert busy["headers"]["Retry-After"]["schema"] == {"type": "integer"}


def test_an_operation_that_declares_no_404_answers_of_a_bank_that_does_not_exist(
    client: TestClient, document: dict[str, Any]
) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "recall_memories": {"query": "Who?"},
        "reflect": {"query": "Who?"},
        "retain_memories": {"items": [{"content": "Bob keeps hens."}]},
        "create_mental_model": {"name": "Hens", "source_query": "Who keeps hens?"},
        "import_bank_template": {"version": "1"},
        "update_bank_config": {"updates": {}},
    }
    left = set(NEVER_404)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = operation["operationId"]
            if name not in NEVER_404:
                continue
            left.discard(name)
            assert "404" not in operation["responses"]
            address = path.replace("{bank_id}", f"new bank of {name}")
            given: dict[str, Any] = {"json": bodies.get(name, {})}
            if name == "file_retain":
                file = ("a.txt", b"Bob keeps hens.")
                given = {"files": {"files": file}, "data": {"request": "{}"}}
            answer = client.request(method, address, **given)
            assert answer.status_code not in (404, 405), (name, answer.text)
    assert not left


def test_every_declared_error_has_a_description_and_a_schema(document: dict[str, Any]) -> None:
    statuses: set[int] = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert answer["description"], (method, path, status)
                    assert "$ref" in str(answer["content"]["application/json"]["schema"])
                    statuses.add(int(status))
            assert {"401", "403", "421"} <= operation["responses"].keys()
            assert ("413" in operation["responses"]) == ("requestBody" in operation)
    assert statuses == {*DESCRIPTIONS}


def test_the_page_of_the_interface_loads_nothing_and_names_every_operation(
    client: TestClient, document: dict[str, Any]
) -> None:
    answer = client.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answer.text
    assert re.findall(r"(?:src|href|action)=[\"']([^\"']*)", page) == ["openapi.json"]
    assert not re.search(r"https?://|<script|@import|url\(", page)
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
    assert client.get("/redoc").status_code == 404
    alone = TestClient(client.app, **HERE)
    assert alone.get("/docs", headers={"Origin": "http://elsewhere.example"}).status_code == 403


def test_the_address_alone_leads_to_the_viewer(client: TestClient) -> None:
    answer = client.get("/", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/")
    assert "text/html" in client.get("/").headers["content-type"]
