"""The application with the whole of its OpenAPI document: also the errors that each route answers.

FastAPI knows of the answers of a route's function alone. Here are those of the guard, the limits
and the typed errors, by what an operation takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from hindsight_integrations.service.limits import UNLIMITED
from hindsight_integrations.service.security import ENGINE

NEVER_404 = frozenset(
    {
        "create_or_update_bank",
        "file_retain",
        "import_bank_template",
        "list_mental_models",
        "recall_memories",
        "reflect",
        "retain_memories",
        "create_mental_model",
        "update_bank",
        "update_bank_config",
    }
)
"""Operations that create the bank they name, or read a bank that does not exist as empty."""

DESCRIPTIONS = {
    400: "An argument cannot be used; the answer says which, and what to give.",
    401: "The token is missing or wrong.",
    403: "The token is for another bank, or a page of another site asks.",
    404: "There is no such bank, or no such thing in it.",
    408: "The body did not arrive in time.",
    409: "It exists already, or changed meanwhile, or the bank has vectors of another embedder.",
    413: "The body, or a text in it, is too large.",
    421: "The service does not answer to the name in `Host`.",
    422: "The request does not fit the types of the operation, or the guard refuses the text.",
    501: "An option is not offered here, or needs an extra that is not installed.",
    503: "Too many requests wait, or a store or model does not answer; try again.",
    504: "Not done in time. The work goes on.",
}

_ERROR = {
    "title": "Error",
    "type": "object",
    "properties": {"detail": {"type": "string", "title": "Detail"}},
    "required": ["detail"],
}
_ENGINE_ERROR = {
    "title": "EngineError",
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "description": "Class of the error, as in Python."},
                "message": {"type": "string"},
                "tokens": {"type": "integer", "description": "Tokens that a model used."},
            },
            "required": ["type", "message"],
        }
    },
    "required": ["error"],
}
_OF_THE_GUARD = (401, 403, 421)
_OF_ALL = (403, 413, 503)
"""Statuses that both the guard or the limits, and the engine, answer with."""

_OF_THE_ENGINE = (400, 404, 409, 422, 501)


class DescribedApi(FastAPI):
    """A FastAPI application whose OpenAPI document declares the errors of each operation."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            document = super().openapi()
            document["components"]["schemas"] |= {"Error": _ERROR, "EngineError": _ENGINE_ERROR}
            for path, methods in document["paths"].items():
                for method, operation in methods.items():
                    _declare(path, method, operation)
        return super().openapi()


def _declare(path: str, method: str, operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    if "501" in answers and "200" not in answers and "202" not in answers:  # always refused
        answers["501"]["content"] = _content(path, 501)
    for status in _statuses(path, method, operation):
        answers.setdefault(str(status), {})
        answers[str(status)] = {
            "description": DESCRIPTIONS[status],
            "content": _content(path, status),
        }
        if status == 503:
            seconds = {"schema": {"type": "integer"}, "description": "When to try again."}
            answers["503"]["headers"] = {"Retry-After": seconds}
    operation["responses"] = dict(sorted(answers.items()))


def _statuses(path: str, method: str, operation: dict[str, Any]) -> Iterator[int]:
    """Yield the statuses of the errors that an operation can answer."""
    yield from _OF_THE_GUARD
    if path.startswith(UNLIMITED):
        return
    yield from (503, 504)
    parameters = operation.get("parameters", ())
    if "requestBody" in operation:
        yield from (408, 413)
    if operation["tags"] == ["Not offered"]:
        return
    if "requestBody" in operation or parameters:
        yield from (400, 422)
    names_something = "{" in path or path.startswith(ENGINE)
    if names_something and operation["operationId"] not in NEVER_404:
        yield 404
    if names_something and method != "get":
        yield 409
    if "requestBody" in operation or any(one["in"] == "query" for one in parameters):
        yield 501


def _content(path: str, status: int) -> dict[str, Any]:
    error, engine, invalid = (
        {"$ref": f"#/components/schemas/{name}"}
        for name in ("Error", "EngineError", "HTTPValidationError")
    )
    if path.startswith(ENGINE):
        shapes = (
            [error, engine]
            if status in _OF_ALL
            else [engine if status in _OF_THE_ENGINE else error]
        )
    else:
        shapes = [invalid, error] if status == 422 else [error]
    schema = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    return {"application/json": {"schema": schema}}
