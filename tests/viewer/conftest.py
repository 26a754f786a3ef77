"""A viewer of a memory in a bare application, and a browser without scripts that reads it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.viewer import viewer_app

VOID = frozenset({"meta", "link", "input", "img", "br", "hr"})
SAID = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)


@dataclass
class Read(HTMLParser):
    """A page as a browser reads it.

    Attributes:
        tags: of each element, its name and attributes.
        text: all text in one.
    """

    html: str
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.feed(self.html)
        assert self._open == [], f"never closed: {self._open}"
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"

    def links(self, label: str = "") -> list[str]:
        """Addresses of the links whose path ends so."""
        return [a["href"] for tag, a in self.tags if tag == "a" and label in a.get("href", "")]


class Reader:
    """A browser without scripts, in one bank."""

    def __init__(self, client: TestClient, bank: str) -> None:
        self.client = client
        self.bank = bank

    def get(self, page: str, status: int = 200, **query: object) -> Read:
        answer = self.client.get(f"/ui/{page}", params={"bank": self.bank, **query})
        assert answer.status_code == status, answer.text
        return Read(answer.text)

    def send(self, page: str, status: int = 303, token: str = "", **sent: object) -> Read:
        """Fill in a form and send it; return the page that it leads to.

        Args:
            page: with its query, as `memory/edit?id=...`.
            status: of the answer.
            token: of the form; that of the page if not given.
            sent: fields, beside those the page has.
        """
        path, _, query = page.partition("?")
        address = f"/ui/{path}?bank={self.bank}&{query}"
        shown = self.client.get(address)
        if shown.status_code == 405:  # the form is on another page
            shown = self.client.get("/ui/suggestions", params={"bank": self.bank, "compared": 1})
        fields = {"form_token": token or _token(shown.text), **sent}
        answer = self.client.post(address, data=fields, follow_redirects=False)
        assert answer.status_code == status, answer.text
        if status != 303:
            return Read(answer.text) if "<html" in answer.text else Read(f"<p>{answer.text}</p>")
        return Read(self.client.get(answer.headers["location"]).text)

    def undo(self, page: Read) -> Read:
        """Press the button of the notice on a page."""
        key = next(a["value"] for tag, a in page.tags if a.get("name") == "key")
        return self.send("undo", key=key, token=_token(page.html))


def _token(html: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', html)
    return found[1] if found else "none"


@pytest.fixture(scope="package")
def viewed() -> Iterator[Hindsight]:
    """A memory that the tests of the viewer share; each has a bank of its own."""
    with Hindsight.in_memory(settings=Settings(consolidate=False, purge_interval=0)) as memory:
        yield memory


@pytest.fixture(scope="package")
def client(viewed: Hindsight) -> Iterator[TestClient]:
    app = FastAPI()
    app.mount("/ui", viewer_app(viewed))
    with TestClient(app, base_url="http://localhost:8888") as client:
        yield client


_numbers = itertools.count()


@pytest.fixture
def reader(client: TestClient) -> Reader:
    return Reader(client, f"bank {next(_numbers)}")
