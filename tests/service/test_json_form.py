"""`to_dict()` is what the service's engine API answers, and all that methods return has it."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from datetime import timedelta
from operator import attrgetter
from typing import Any, get_args, get_origin, get_type_hints

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hindsight_integrations import Expiry, Hindsight
from hindsight_integrations.pictures.graph import BankGraph
from hindsight_integrations.pictures.timeline import BankTimeline
from hindsight_integrations.remote.wire import verbs

from .conftest import Service

GARDEN = [
    {"speaker": "Ida", "text": "We planted six pear trees.", "timestamp": "2025-03-08"},
    {"speaker": "Tom", "text": "Ida ordered a seal for the pump.", "timestamp": "2025-05-02"},
    {"speaker": "Ida", "text": "I moved to Bergen in May 2025.", "timestamp": "2025-05-20"},
]


@pytest.fixture(scope="module")
def garden(service: Service) -> Service:
    service.memory.retain_messages("garden", GARDEN, session="spring")
    service.memory.consolidate("garden")
    service.memory.mental_models.create("garden", "pump", text="It is repaired.")
    service.memory.banks.update("garden", expiry=Expiry(timedelta(days=9000)))
    return service


IN_GARDEN = {"bank_id": "garden"}
CALLS: dict[str, dict[str, Any]] = {
    "recall": IN_GARDEN | {"query": "Who planted pear trees in March 2025?"},
    "reflect": IN_GARDEN | {"query": "Who planted pear trees?"},
    "context": IN_GARDEN | {"query": "Who planted pear trees?"},
    "profile": IN_GARDEN | {"person": "Ida"},
    "forget": IN_GARDEN | {"text": "pump", "dry_run": True},
    "health": {},
    "memories.list": IN_GARDEN,
    "entities.list": IN_GARDEN,
    "entities.get": IN_GARDEN | {"name_or_id": "Ida"},
    "documents.get": IN_GARDEN | {"document_id": "spring"},
    "banks.get": IN_GARDEN,
    "banks.stats": IN_GARDEN,
    "observations.list": IN_GARDEN,
    "maintenance.doctor": {},
    "changes.list": IN_GARDEN | {"since": "2025-01-01"},
}


def timeless(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out what differs from call to call."""
    return {key: answer[key] for key in answer.keys() - {"timings", "until", "query_time"}}


@pytest.mark.parametrize("verb", CALLS)
def test_a_result_is_written_as_the_service_answers(garden: Service, verb: str) -> None:
    own = attrgetter(verb)(garden.memory)(**CALLS[verb]).to_dict()
    answer = httpx.post(f"{garden.url}/v1/engine/{verb}", json=CALLS[verb], timeout=60).json()
    assert timeless(own) == timeless(answer)
    assert own.keys() == answer.keys()
    assert json.loads(json.dumps(own)) == own


def test_a_retain_is_written_as_the_service_answers(garden: Service) -> None:
    result = garden.memory.retain_many("notes", ["Ida sings.", "Ida sings.", " "])
    written = result.to_dict()
    assert written == json.loads(verbs(Hindsight)["retain_many"].written(result))
    (failed,) = written["failed"]
    assert failed["error"]["type"] == "InvalidInputError"
    assert written["stored"][0] == result.stored[0].to_dict()


def test_a_recalled_memory_can_be_returned_by_a_route(garden: Service) -> None:
    app = FastAPI()

    @app.get("/recall")
    def recall(question: str) -> list[dict[str, Any]]:
        return [memory.to_dict() for memory in garden.memory.recall("garden", question)]

    @app.get("/unchanged")
    def unchanged(question: str):  # type: ignore[no-untyped-def]
        return garden.memory.recall("garden", question)

    with TestClient(app) as client:
        whole = client.get("/unchanged", params={"question": "Who planted pear trees?"}).json()
        best = client.get("/recall", params={"question": "Who planted pear trees?"}).json()[0]
    assert best["memory"]["text"] == "We planted six pear trees."
    assert best["rank"] == 1
    assert whole["memories"][0]["signals"] == [[*each.values()] for each in best["signals"]]


def test_ranks_signals_and_paths_have_names_and_are_read_back(garden: Service) -> None:
    result = garden.memory.recall("garden", "Who planted pear trees with Ida?")
    written = result.to_dict()
    best = written["memories"][0]
    assert {*best["signals"][0]} == {"name", "value", "contribution"}
    assert {"arm", "rank", "score", "reason", "path"} == {*best["arms"][0]}
    steps = [step for one in written["memories"] for arm in one["arms"] for step in arm["path"]]
    assert {"kind", "id", "text", "link"} == {*steps[0]}
    recall = verbs(Hindsight)["recall"]
    assert recall.result(json.dumps(written).encode()) == result


def returned(hint: Any) -> list[Any]:
    """Return the classes in a type hint, without containers."""
    if get_origin(hint) is None or is_dataclass(get_origin(hint)):
        return [get_origin(hint) or hint, *(one for arg in get_args(hint) for one in returned(arg))]
    return [one for arg in get_args(hint) for one in returned(arg)]


def test_all_that_methods_return_has_a_json_form() -> None:
    pictures, internal = {BankGraph, BankTimeline}, "storage."
    kinds = {
        kind
        for name, verb in verbs(Hindsight).items()
        if not name.startswith(internal)
        for kind in returned(get_type_hints(verb.method)["return"])
        if isinstance(kind, type) and kind.__module__.startswith("hindsight_integrations")
    }
    assert len(kinds) > 20
    assert [kind for kind in kinds - pictures if not hasattr(kind, "to_dict")] == []
