"""Requests that the OpenAPI document admits, and some that it forbids, never break the service."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.internal.conjecture import utils
from schemathesis.core.result import Ok

from .conftest import Service

pytestmark = pytest.mark.slow

NAMES = {"bank_id": "b", "document_id": "d", "entity_id": "Alice", "tag": "t"}
"""Names of what is there: what is not is soon refused."""


class Many(utils.many):
    """Hypothesis' `many` with the method that hypothesis-jsonschema 0.23 calls, and it now lacks.

    Later releases of schemathesis do without, but exclude the `jsonschema-rs` of langgraph-cli.
    """

    _turns: Iterator[None] | None = None

    def more(self) -> bool:
        if self._turns is None:
            self._turns = iter(self.__enter__())
        for _ in self._turns:
            return True
        self.__exit__(None)
        return False


def test_no_request_breaks_the_service(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.memory.retain("b", "Alice keeps bees.", document_id="d", tags=["t"])
    if not hasattr(utils.many, "more"):
        monkeypatch.setattr(utils, "many", Many)
    document = httpx.get(f"{service.url}/openapi.json", timeout=60).json()
    # A group within a group within itself is more than this release of schemathesis makes.
    leaf = {"$ref": "#/components/schemas/TagLeaf"}
    document["components"]["schemas"]["TagNot"]["properties"]["not"] = leaf
    schema = schemathesis.openapi.from_dict(document)
    faults: list[str] = []
    tried = 0
    for found in schema.exclude(tag="Not offered").get_all_operations():
        assert isinstance(found, Ok), found.err()
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=2, suppress_health_check=list(HealthCheck))
        def ask(case: schemathesis.Case) -> None:
            for name, value in NAMES.items():
                if name in case.path_parameters:
                    case.path_parameters[name] = value
            answer = case.call(base_url=service.url)
            if str(answer.status_code) not in case.operation.definition.raw["responses"]:
                faults.append(f"{answer.status_code} is not declared: {case.as_curl_command()}")
            if answer.status_code >= 500 and answer.status_code != 501:
                faults.append(f"{answer.status_code} {case.as_curl_command()}: {answer.text}")

        ask()
        tried += 1
    assert tried > 50
    assert not faults, "\n".join(faults)
