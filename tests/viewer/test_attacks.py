"""HTML, scripts and terminal escapes in memories stay text; forms of other sites are refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from hindsight_integrations import Hindsight
from hindsight_integrations.viewer.protection import POLICY

from .conftest import Read, Reader

SCRIPT = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7777}}"
ATTACK = f"Mallory {SCRIPT} \x1b[2J\x9b31m \u202e{SCRIPT}"
LABEL = f"Mallory {SCRIPT}"
NOW = datetime(2025, 3, 1, tzinfo=UTC)


@pytest.fixture
def hostile(viewed: Hindsight, client: TestClient) -> Reader:
    """A bank in which every text is an attack."""
    bank = f"bank {SCRIPT}"
    reader = Reader(client, bank)
    if any(each.id == bank for each in viewed.banks.list()):
        return reader
    viewed.banks.create(bank, name=ATTACK, mission=ATTACK, background=ATTACK, directives=[ATTACK])
    stored = viewed.retain(
        bank,
        f"{ATTACK} moved to Bergen.",
        timestamp=NOW,
        context=ATTACK,
        document_id=LABEL,
        metadata={LABEL: ATTACK},
        tags=[LABEL],
        entities=[LABEL, f"{LABEL} too"],
        speaker=LABEL,
        scope=LABEL,
    )
    viewed.memories.update(bank, stored.ids[0], text=f"{ATTACK} moved to Oslo.", reason=ATTACK)
    viewed.memories.update(bank, stored.ids[0], entities=[LABEL, f"{LABEL} too"])
    viewed.memories.invalidate(bank, stored.ids[0], ATTACK)
    viewed.memories.restore(bank, stored.ids[0])
    viewed.observations.add(bank, ATTACK, sources=stored.ids, reasoning=ATTACK, tags=[LABEL])
    viewed.retain(bank, ATTACK, type="opinion", confidence=0.5)
    viewed.mental_models.create(bank, LABEL, text=ATTACK, tags=[LABEL])
    viewed.mental_models.create(bank, LABEL, source_query=ATTACK)
    return reader


def addresses(viewed: Hindsight, bank: str) -> list[tuple[str, dict[str, object]]]:
    """Every page of the viewer, with what it shows."""
    (memory, *_) = viewed.memories.list(bank).items
    entities = viewed.entities.list(bank).items
    models = viewed.mental_models.list(bank)
    one: list[tuple[str, dict[str, object]]] = [
        (page, {})
        for page in ("", "bank", "bank/figures", "entities", "suggestions", "observations",
                     "opinions", "models")
    ]  # fmt: skip
    one += [("memories", {"text": "Mallory", "tag": LABEL, "state": "any", "scope": LABEL})]
    one += [(f"memory{rest}", {"id": memory.id})
            for rest in ("", "/edit", "/invalidate", "/restore", "/forget")]  # fmt: skip
    one += [(f"entity{rest}", {"id": entities[0].id})
            for rest in ("", "/rename", "/merge", "/split")]  # fmt: skip
    one += [("entity/merge", {"id": entities[0].id, "into": entities[1].id})]
    one += [(f"{page}{rest}", {"center": LABEL, "entity": LABEL, "tag": LABEL})
            for page in ("graph", "timeline") for rest in ("", "/picture")]  # fmt: skip
    one += [("entities", {"name": LABEL}), ("suggestions", {"compared": 1})]
    one += [(f"model{rest}", {"id": each.id})
            for rest in ("", "/edit", "/refresh") for each in models]  # fmt: skip
    one += [("recall", {"query": ATTACK, "a_fill": "1", "compare": "1", "b_tag": LABEL})]
    return one


def test_every_page_of_the_viewer_is_attacked(viewed: Hindsight, hostile: Reader) -> None:
    app = next(r.app for r in hostile.client.app.routes if getattr(r, "path", "") == "/ui")  # type: ignore[attr-defined]
    pages = {route.path for route in app.routes if "GET" in (getattr(route, "methods", None) or ())}
    tried = {f"/{page}" for page, _ in addresses(viewed, hostile.bank)}
    assert pages - tried == set()


def test_no_text_of_a_memory_becomes_an_element_or_a_terminal_escape(
    viewed: Hindsight, hostile: Reader
) -> None:
    for page, query in addresses(viewed, hostile.bank):
        if page.endswith("/picture"):
            continue  # a page with a script of its own, in a sandbox
        read = hostile.get(page, **query)
        assert "alert(1)" in read.text or page in ("", "entities"), page
        scripts = [a for tag, a in read.tags if tag == "script"]
        assert all(a.get("src", "").startswith("/ui/static/") for a in scripts), page
        images = [a["src"] for tag, a in read.tags if tag == "img"]
        assert all(each.startswith(("/ui/static/", "data:image/svg+xml;")) for each in images), page
        handlers = [n for _, a in read.tags for n in a if n.startswith("on") or n == "style"]
        assert handlers == [], page
        assert all("javascript:" not in a.get("href", "") for _, a in read.tags), page
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", read.html), page
        assert "54439" not in read.html, page


@pytest.mark.parametrize("page", ["graph/picture", "timeline/picture"])
def test_a_picture_is_shut_in_a_sandbox_without_an_origin(hostile: Reader, page: str) -> None:
    answer = hostile.client.get(f"/ui/{page}", params={"bank": hostile.bank})
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert "sandbox allow-scripts allow-downloads" in policy
    assert {"default-src 'none'", "form-action 'none'", "frame-ancestors 'self'"} <= set(policy)
    read = Read(answer.text)
    assert "alert(1)" in answer.text
    assert "<script>alert" not in answer.text
    assert not [a for _, a in read.tags if "onerror" in a or a.get("src")]
    refused = hostile.client.get(f"/ui/{page}", params={"bank": hostile.bank, "limit": "x"})
    assert refused.status_code == 400
    assert "give a number" in refused.text


def test_what_an_address_says_stays_text(hostile: Reader) -> None:
    for page, status, query in (
        ("memories", 400, {"from": ATTACK}),
        ("memories", 400, {"entity": LABEL + "x"}),
        ("memories", 400, {"cursor": ATTACK}),
        ("recall", 400, {"query": ATTACK, "a_arm": ATTACK}),
        ("memory", 404, {"id": LABEL}),
        ("memories", 200, {"done": SCRIPT}),
    ):
        read = hostile.get(page, status, **query)
        assert all(a.get("src", "").startswith("/ui/") for tag, a in read.tags if tag == "script")
        assert not [a for tag, a in read.tags if tag == "img" and "onerror" in a]


def test_answers_forbid_foreign_and_inline_scripts(client: TestClient) -> None:
    page = client.get("/ui/")
    assert page.headers["Content-Security-Policy"] == POLICY
    assert "script-src 'self'" in POLICY
    assert "unsafe" not in POLICY
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Cache-Control"] == "no-store"
    style = client.get("/ui/static/viewer.css")
    assert style.headers["X-Content-Type-Options"] == "nosniff"
    assert client.get("/ui/static/../app.py").status_code == 404
    assert client.get("/ui/static/%2e%2e/app.py").status_code == 404


@pytest.fixture
def kept(viewed: Hindsight, reader: Reader) -> str:
    (id,) = viewed.retain(reader.bank, "Alice moved to Bergen.").ids
    return id


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_that_another_site_sends_is_refused(
    viewed: Hindsight, reader: Reader, kept: str, headers: dict[str, str]
) -> None:
    reader.client.headers.update(headers)
    try:
        refused = reader.send(f"memory/forget?id={kept}", 403)
    finally:
        for name in headers:
            del reader.client.headers[name]
    assert "another site" in refused.text
    assert viewed.memories.get(reader.bank, kept)


@pytest.mark.parametrize("token", ["none", "0" * 64, "é"])
def test_a_form_without_its_token_is_refused(
    viewed: Hindsight, reader: Reader, kept: str, token: str
) -> None:
    refused = reader.send(f"memory/forget?id={kept}", 403, token=token)
    assert "no longer valid" in refused.text
    assert viewed.memories.get(reader.bank, kept)


def test_a_token_is_of_one_browser(
    viewed: Hindsight, reader: Reader, kept: str, client: TestClient
) -> None:
    theirs = TestClient(client.app, base_url="http://localhost:8888")
    page = theirs.get("/ui/memory/forget", params={"bank": reader.bank, "id": kept}).text
    found = re.search(r'name="form_token" value="(\w+)"', page)
    assert found
    reader.send(f"memory/forget?id={kept}", 403, token=found[1])
    cookie = theirs.cookies.jar
    assert all(each.has_nonstandard_attr("HttpOnly") for each in cookie)
    assert viewed.memories.get(reader.bank, kept)


def test_nothing_is_changed_by_a_get(viewed: Hindsight, reader: Reader, kept: str) -> None:
    for page in ("memory/edit", "memory/invalidate", "memory/restore", "memory/forget"):
        reader.get(page, id=kept)
    memory = viewed.memories.get(reader.bank, kept)
    assert memory.invalidated_at is None
    assert viewed.memories.history(reader.bank, kept) == []
