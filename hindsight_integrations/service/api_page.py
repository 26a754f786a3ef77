"""The page `/docs`: the operations of the OpenAPI document, as plain HTML without scripts.

It loads nothing, so that it reads the same on a machine without a network, and no other site
learns that it was opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.responses import HTMLResponse

from hindsight_integrations.display import table

PATH = "/docs"

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_STYLE = (
    ":root { color-scheme: light dark; font-family: system-ui, sans-serif } "
    "body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.4 } "
    "details { margin: .3rem 0 } summary { cursor: pointer } code { overflow-wrap: anywhere } "
    "table { margin: .5rem 0 1rem 1rem; border-collapse: collapse }"
)


def add_api_page(app: FastAPI) -> None:
    """Add the page of its OpenAPI document to an application."""

    @app.get(PATH, include_in_schema=False)
    def page() -> HTMLResponse:
        return HTMLResponse(api_page(app.openapi()), headers=_HEADERS)


def api_page(document: Mapping[str, Any]) -> str:
    """Return an OpenAPI document as a page: each operation with arguments and answers."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            entry = "".join(_operation(document, f"{method.upper()} {path}", operation))
            by_tag.setdefault(operation["tags"][0], []).append(entry)
    subjects = "".join(
        f"<h2>{escape(tag)}</h2>{''.join(entries)}" for tag, entries in by_tag.items()
    )
    info = document["info"]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
        '<p>The same for programs: <a href="openapi.json">openapi.json</a>, which API clients such '
        "as Bruno, Insomnia or Postman import to send requests.</p>"
        f"{_errors(document)}{subjects}</main></body></html>"
    )


def _operation(
    document: Mapping[str, Any], request: str, operation: Mapping[str, Any]
) -> Iterator[str]:
    first_line, _, rest = operation.get("description", operation.get("summary", "")).partition("\n")
    yield f"<details><summary><code>{escape(request)}</code> {escape(first_line)}</summary>"
    if rest.strip():
        yield f"<p>{escape(rest.strip())}</p>"
    arguments = [*_parameters(operation), *_body_fields(document, operation)]
    if arguments:
        yield table(arguments, "Arguments", most=len(arguments))
    yield f"<p>Answers: {', '.join(operation['responses'])}</p></details>"


def _errors(document: Mapping[str, Any]) -> str:
    """Return what the statuses of errors mean, which is the same for all operations."""
    errors = {
        status: answer["description"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for status, answer in operation["responses"].items()
        if int(status) >= 400
    }
    rows = [{"status": status, "": errors[status]} for status in sorted(errors)]
    return table(rows, "Errors")


def _parameters(operation: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for one in operation.get("parameters", ()):
        yield _argument(one["name"], one["in"], one["schema"], one.get("required", False), one)


def _body_fields(
    document: Mapping[str, Any], operation: Mapping[str, Any]
) -> Iterator[dict[str, str]]:
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        if "$ref" in schema:
            schema = document["components"]["schemas"][_name(schema)]
        if "properties" not in schema:
            yield _argument("", kind, schema, True, schema)
        for name, field in schema.get("properties", {}).items():
            yield _argument(name, "body", field, name in schema.get("required", ()), field)


def _argument(
    name: str, place: str, schema: Mapping[str, Any], required: bool, described: Mapping[str, Any]
) -> dict[str, str]:
    return {
        "name": name,
        "in": place,
        "type": _type(schema),
        "required": "yes" if required else "",
        "description": described.get("description", ""),
    }


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words: "string", "array of Item", "integer or null"."""
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema or "oneOf" in schema:
        kinds = schema.get("anyOf") or schema["oneOf"]
        return " or ".join(dict.fromkeys(map(_type, kinds)))
    if "enum" in schema:
        return " or ".join(map(repr, schema["enum"]))
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items', {}))}"
    return str(schema.get("type", ""))


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]
