"""The page of the HTTP API, made from the OpenAPI document; see tests/documentation.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from hindsight_integrations import Hindsight
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.security import ENGINE

REFUSED = "Not offered"
"""Tag of the operations that answer 501."""

INTRODUCTION = """
Of `hindsight-memory serve` ([service.md](service.md)), which has it at `/openapi.json`, with the
errors of each request, and at `/docs` as a page. Arguments are JSON;
those in **bold** are required. Times are ISO 8601.

| status | |
|---|---|
| 400, 422 | an argument is wrong; the answer says which, and what is expected |
| 401, 403 | the token is missing or wrong; it is for another bank, or another site asked |
| 404, 409 | there is no such thing; it exists already, or the operation's id is taken |
| 408, 413 | the body came too slowly; it is too large |
| 421 | the service does not answer to this name (`Host`) |
| 501 | this is not offered; the answer says why |
| 503, 504 | too much to do (`Retry-After`); the work goes on, and asking again gives its result |
"""


def document() -> dict[str, Any]:
    """Return the OpenAPI document of the service."""
    with Hindsight.in_memory() as memory:
        return create_app(memory).openapi()


def http_api_page(made: str) -> str:
    """Return the page.

    Args:
        made: the line that says how it is made.
    """
    content = document()
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = defaultdict(list)
    for path, methods in content["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append((method.upper(), path, operation))
    engine, refused = by_tag.pop("Engine"), by_tag.pop(REFUSED)
    lines = ["# HTTP API", "", made, INTRODUCTION, "## Hindsight's API", ""]
    for tag, operations in sorted(by_tag.items()):
        lines += [f"### {tag}", "", "| request | | query | body |", "|---|---|---|---|"]
        for method, path, operation in operations:
            query = _fields(_query(operation))
            body = _fields(_body(content, operation))
            lines.append(f"| `{method} {path}` | {_first_line(operation)} | {query} | {body} |")
        lines.append("")
    lines += ["### Refused with 501", ""]
    lines += [f"- `{method} {path}`" for method, path, _ in refused]
    verbs = (
        f"`POST {ENGINE}` and the verb. The answer is what the result's `to_dict()` is in Python."
    )
    lines += ["", "## The whole Python API", "", verbs, ""]
    return "\n".join([*lines, *_engine(content, engine), ""])


def _engine(
    content: Mapping[str, Any], operations: list[tuple[str, str, dict[str, Any]]]
) -> Iterator[str]:
    yield from ("| verb | | arguments |", "|---|---|---|")
    for _, path, operation in sorted(operations, key=lambda each: ("." in each[1], each[1])):
        arguments = _fields(_body(content, operation))
        yield f"| `{path.removeprefix(ENGINE)}` | {_first_line(operation)} | {arguments} |"


def _first_line(operation: Mapping[str, Any]) -> str:
    text: str = operation.get("description") or operation["summary"]
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _query(operation: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the name of each argument in the query, and True if it is required."""
    for each in operation.get("parameters", ()):
        if each["in"] == "query":
            yield each["name"], each.get("required", False)


def _body(content: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the name of each field of the body, and True if it is required."""
    kinds = operation.get("requestBody", {}).get("content", {})
    for kind, described in kinds.items():
        schema = _resolved(content, described["schema"])
        if kind == "application/octet-stream":
            yield "the file", True
        for name in schema.get("properties", ()):
            yield name, name in schema.get("required", ())


def _resolved(content: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = next(iter(schema.get("anyOf", ())), schema)  # the other is null
    if "$ref" in schema:
        return content["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _fields(named: Iterator[tuple[str, bool]]) -> str:
    return ", ".join(f"**`{name}`**" if required else f"`{name}`" for name, required in named)
