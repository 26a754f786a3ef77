"""A memory behind a service: the same API, and what only a connection can meet."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from hindsight_integrations import (
    AccessDeniedError,
    BankNotFoundError,
    ClosedError,
    ContentTooLargeError,
    Hindsight,
    InvalidInputError,
    Item,
    Memory,
    RetainResult,
    Settings,
    StoreCorruptError,
    StoreUnavailableError,
    acting_as,
)
from hindsight_integrations.remote.connection import OPERATION, Request
from hindsight_integrations.remote.wire import NAMESPACES
from tests.service.served import served

TOKEN, ALICES = "the-token-of-the-service", "the-token-of-alice"
SAID = "Alice joined Northwind in March 2021 as a designer."
ASKED = "Where did Alice work in spring 2021?"


@pytest.fixture(scope="module")
def local() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as engine:
        yield engine


@pytest.fixture(scope="module")
def url(local: Hindsight) -> Iterator[str]:
    with served(local) as address:
        yield address


def test_results_are_those_of_the_memory_itself(local: Hindsight, url: str, tmp_path: Path) -> None:
    with Hindsight(url) as memory:
        assert isinstance(memory, Hindsight)
        assert repr(memory) == f"Hindsight('{url}')"
        assert repr(memory.memories) == "Memories(get, history, invalidate, list, restore, update)"
        said = datetime(2024, 5, 7, 13, 56, tzinfo=UTC)
        stored = memory.retain("same", SAID, timestamp=said, metadata={"n": 1.5, "ok": True})
        assert stored.stored[0] == local.memories.get("same", stored.ids[0])
        here, there = local.recall("same", ASKED), memory.recall("same", ASKED)
        assert there.memories[0].memory == here.memories[0].memory
        assert (there.text, there.windows) == (here.text, here.windows)
        assert len(there[0].signals) == len(here[0].signals)
        assert "Northwind" in str(there.explain())
        for name in ("banks.stats", "memories.list", "entities.list", "documents.list"):
            space, method = name.split(".")
            both = [getattr(getattr(each, space), method)("same") for each in (local, memory)]
            assert both[0] == both[1], name
        assert memory.settings == local.settings
        assert memory.embedder.embed(["a", "b"]) == pytest.approx(local.embedder.embed(["a", "b"]))
        path = tmp_path / "bank.jsonl.gz"
        assert memory.banks.export("same", path).counts["memory"] == 1
        assert memory.banks.import_(path, "copy").bank_id == "copy"
        assert memory.forget("copy", stored.ids, dry_run=True).memories[0].text == SAID
        assert memory.forget("copy", stored.ids) == stored.ids


def test_who_acts_and_pictures_are_those_of_the_memory_itself(
    local: Hindsight, url: str, tmp_path: Path
) -> None:
    with Hindsight(url) as memory:
        with acting_as("ann@example.org", "Anns Wunsch: Löschen"):
            memory.retain("acted", "Alice met Bob in Porto in May 2021.")
        entries = memory.audit.list("acted")
        assert {(each.actor, each.reason) for each in entries if each.kind == "memory"} == {
            ("ann@example.org", "Anns Wunsch: Löschen")
        }
        assert entries == local.audit.list("acted")
        assert memory.audit.export("acted", tmp_path / "here.jsonl") == len(entries)
        assert local.audit.export("acted", tmp_path / "there.jsonl") == len(entries)
        written = [(tmp_path / name).read_bytes() for name in ("here.jsonl", "there.jsonl")]
        assert written[0] == written[1]
        assert memory.graph("acted") == local.graph("acted")
        assert memory.timeline("acted") == local.timeline("acted")
    # No request makes the service write a file of the client's choice.
    given = {"bank_id": "acted", "path": str(tmp_path / "nowhere")}
    assert httpx.post(f"{url}/v1/engine/audit.export", json=given, timeout=60).status_code == 404


def test_a_file_that_is_no_bank_is_the_senders_fault(url: str, tmp_path: Path) -> None:
    assert httpx.post(f"{url}/v1/engine/banks.import_", content=b"{", timeout=60).status_code == 422
    (tmp_path / "broken.jsonl").write_text("{\n")
    with Hindsight(url) as memory, pytest.raises(StoreCorruptError, match="line 1"):
        memory.banks.import_(tmp_path / "broken.jsonl")


def test_no_namespace_is_left_out(local: Hindsight) -> None:
    assert {name for name in vars(local) if not name.startswith("_")} == set(NAMESPACES)


def test_errors_are_those_of_the_memory_itself(url: str) -> None:
    with Hindsight(url) as memory:
        with pytest.raises(BankNotFoundError, match="there is no bank 'nobody'"):
            memory.banks.get("nobody")
        with pytest.raises(InvalidInputError, match="budget is 'huge'; choose from low"):
            memory.recall("b", "?", budget="huge")
        with pytest.raises(
            TypeError, match=r"unexpected keyword argument 'topk'; arguments: bank_id"
        ):
            memory.recall("b", "?", topk=3)  # type: ignore[call-arg]
        result = memory.retain_many("b", ["fine", 7, Item("x", confidence=3.0)])
        assert [(each.index, type(each.error)) for each in result.failed] == [
            (1, InvalidInputError),
            (2, InvalidInputError),
        ]
        with pytest.raises(InvalidInputError, match="llm= cannot be sent"):
            memory.reflect("b", "?", llm=lambda system, user: "")
        with pytest.raises(InvalidInputError, match="in the service's process"):
            memory.graph_store  # noqa: B018
    with pytest.raises(ClosedError):
        memory.banks.list()
    with pytest.raises(InvalidInputError, match="embedder= cannot be combined"):
        Hindsight(url, embedder="e5-small-v2")


def test_json_is_refused_or_read_as_the_memory_itself_does(url: str) -> None:
    def post(verb: str, status: int, **given: object) -> dict[str, Any]:
        answer = httpx.post(
            f"{url}/v1/engine/{verb}", json={"bank_id": "json", **given}, timeout=60
        )
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    items = [{"content": SAID}, {"content": "x", "timestmap": "2024-05-07T13:56:00Z"}]
    retained = post("retain_many", 200, items=items)
    assert len(retained["stored"]) == 1
    (failed,) = retained["failed"]
    assert "unknown fields ['timestmap'] in items[1]" in failed["error"]["message"]
    assert len(post("recall", 200, query=ASKED, types="world")["memories"]) == 1
    wrong = post("recall", 400, query=ASKED, types="facts")
    assert "type is 'facts'; choose from world" in wrong["error"]["message"]
    disposition = {"skepticism": 1, "literalism": 1, "empathy": 1, "humour": 5}
    assert "disposition" in str(post("banks.update", 400, disposition=disposition)["error"])
    other = post("recall", 400, query=ASKED, top_k=3)["error"]["message"]
    assert "for a number of memories, take result[:3]" in other
    unknown = post("recal", 404, query=ASKED)
    assert "there is no verb 'recal' here, did you mean 'recall'" in unknown["error"]["message"]


def test_a_long_list_is_sent_in_batches_that_report(url: str) -> None:
    reports: list[tuple[int, int | None]] = []
    with Hindsight(url) as memory:
        texts = (f"Item number {number} is here." for number in range(70))
        result = memory.retain_many("many", texts, progress=lambda *at: reports.append(at))
    assert len(result.ids) == 70
    assert reports == [(64, None), (70, None)]


async def test_changes_and_news_are_those_of_the_memory_itself(local: Hindsight, url: str) -> None:
    async with Hindsight(url) as memory:
        (told,) = memory.retain("told", "Ada loves React.").stored
        assert memory.changes("told", told.created_at).memories == (told,)
        news = memory.changes.news("told", interval=0.01)
        waiting = asyncio.ensure_future(anext(news))
        await asyncio.sleep(0.1)
        memory.retain("told", "Ada switched to Vue and won't go back.")
        await asyncio.to_thread(local.consolidate, "told")
        assert "first React, then Vue" in (await asyncio.wait_for(waiting, 60)).text
        await news.aclose()


async def test_asynchronous_calls_overlap_without_threads(url: str) -> None:
    async with Hindsight(url) as memory:
        await memory.aretain("alice", SAID)
        before = threading.active_count()
        calls = [asyncio.ensure_future(memory.arecall("alice", ASKED)) for _ in range(8)]
        await asyncio.sleep(0)
        ours = {thread.name for thread in threading.enumerate() if "asyncio" in thread.name}
        results = await asyncio.gather(*calls)
    assert [each[0].text for each in results] == [SAID] * 8
    assert ours == set()
    assert before


def test_a_call_that_writes_is_done_once_however_often_it_is_sent(
    local: Hindsight, url: str
) -> None:
    with Hindsight(url) as memory:
        connection = memory._connection  # type: ignore[attr-defined]
        body = b'{"bank_id": "once", "items": [{"content": "Bruno keeps bees."}]}'
        answers = [connection.send(Request("retain_many", body, "op-1")).content for _ in range(3)]
        assert len(set(answers)) == 1
        assert local.banks.stats("once").memories == 1
        assert local.banks.stats("once").documents == 1
        other = httpx.post(
            f"{url}/v1/engine/retain_many",
            content=body.replace(b"bees", b"cats"),
            headers={OPERATION: "op-1"},
            timeout=60,
        )
        assert (other.status_code, other.json()["error"]["type"]) == (409, "ConflictError")


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("retain", {"content": "Bruno keeps bees."}),
        ("retain_many", {"items": ["Bruno keeps bees."]}),
        ("retain_messages", {"messages": [{"role": "user", "content": "Bruno keeps bees."}]}),
    ],
)
def test_the_id_of_a_call_is_of_no_other_one_after_a_restart(
    local: Hindsight, verb: str, given: dict[str, object]
) -> None:
    def sent(text: str) -> httpx.Response:
        body = json.dumps(given | {"bank_id": verb}).replace("Bruno keeps bees.", text)
        headers = {OPERATION: "op-1"}
        return httpx.post(f"{address}/v1/engine/{verb}", content=body, headers=headers, timeout=60)

    for _ in range(2):  # the second service knows nothing of the first
        with served(local) as address:
            assert sent("Bruno keeps bees.").status_code == 200
            refused = sent("Bruno keeps cats.")
            assert (refused.status_code, refused.json()["error"]["type"]) == (409, "ConflictError")
    with served(local) as address:
        assert sent("Bruno keeps cats.").status_code == 409
    assert [each.text for each in local.memories.list(verb).items] == ["Bruno keeps bees."]


def test_an_answer_that_is_lost_is_asked_for_again(
    url: str, local: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hindsight(url) as memory:
        client = memory._connection._threads  # type: ignore[attr-defined]
        sent, lost = client.send, []

        def losing(request: httpx.Request) -> httpx.Response:
            answer: httpx.Response = sent(request)
            if len(lost) < 2:
                lost.append(request.url.path)
                raise httpx.ReadError("the connection broke")
            return answer

        monkeypatch.setattr(client, "send", losing)
        result: RetainResult = memory.retain("lost", "Carla moved to Porto.")
    assert lost == ["/v1/engine/retain_many"] * 2
    assert len(result.stored) == 1
    assert local.banks.stats("lost").documents == 1


def test_work_that_outlasts_a_request_is_waited_for(local: Hindsight) -> None:
    with served(local, request_timeout=0.05) as address, Hindsight(address) as memory:
        result = memory.retain_many("slow", [f"Person{n} lives in town {n}." for n in range(40)])
    assert len(result.ids) == 40


def test_tokens_reach_what_they_are_for(local: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    local.retain("alice", SAID)
    local.retain("bob", "Bob lives in Oslo.")
    with served(local, token=TOKEN, bank_tokens={"alice": ALICES}) as address:
        host = address.removeprefix("http://")
        with Hindsight(f"http://:{ALICES}@{host}") as memory:
            assert ALICES not in repr(memory)
            assert memory.recall("alice", ASKED)
            for attempt in (
                lambda: memory.recall(["alice", "bob"], "?"),
                lambda: memory.retain("bob", "No."),
                memory.banks.list,
            ):
                with pytest.raises(AccessDeniedError):
                    attempt()
            named_otherwise = Memory("m-1", "bob", "Alice likes tea.")
            memory.retain_memory("alice", named_otherwise)
            assert local.memories.get("alice", "m-1").text == "Alice likes tea."
        with Hindsight(address) as memory, pytest.raises(AccessDeniedError, match="HINDSIGHT_SERV"):
            memory.retain("bob", "No.")
        monkeypatch.setenv("HINDSIGHT_SERVICE_TOKEN", TOKEN)
        with Hindsight(address) as memory:
            assert {bank.id for bank in memory.banks.list()} >= {"alice", "bob"}
    assert local.banks.stats("bob").memories == 1


def test_what_is_no_service_or_takes_no_more_is_told(local: Hindsight) -> None:
    start = "start it with: hindsight-memory serve"
    with pytest.raises(StoreUnavailableError, match=f"{start} --port 1$"):
        Hindsight("http://127.0.0.1:1")
    with pytest.raises(InvalidInputError, match="not the URL of a service"):
        Hindsight("http://")
    with (
        served(local, max_body_bytes=2000) as address,
        Hindsight(address) as memory,
        pytest.raises(ContentTooLargeError),
    ):
        memory.retain("b", "long " * 1000)


@pytest.mark.parametrize("url", ["http://[::1", "http://:x", "HTTP://:x", "http://:s3cret/@h:1"])
def test_an_address_that_is_none_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(InvalidInputError, match="not the URL of a service") as refused:
        Hindsight(url)
    assert "s3cret" not in "".join(traceback.format_exception(refused.value))


def test_a_token_is_stripped_or_refused_without_showing_it(
    local: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.retain("alice", SAID)
    with served(local, token=TOKEN) as address:
        monkeypatch.setenv("HINDSIGHT_SERVICE_TOKEN", f" {TOKEN}\n")
        with Hindsight(address) as memory:
            memory.retain("alice", "Alice likes tea.")
        place = address.removeprefix("http://")
        for token in ("s3cret\u00e9", "s3cret\nX-Other: 1"):
            monkeypatch.setenv("HINDSIGHT_SERVICE_TOKEN", token)
            for given in (address, f"http://:{token}@{place}", f"http://:{quote(token)}@{place}"):
                if "\n" in given:
                    continue  # no URL at all
                with pytest.raises(InvalidInputError, match="printable ASCII") as refused:
                    Hindsight(given)
                assert "s3cret" not in "".join(traceback.format_exception_only(refused.value))


@pytest.mark.parametrize(
    "after",
    ["Fri, 27 Nov 2020 17:00:00 GMT", "-1", "soon", "nan", "Fri, 27 Nov 2020 17:00:00 -0000"],
)
def test_a_service_that_asks_to_come_again_is_asked_again(after: str) -> None:
    busy = httpx.Response(503, json={"detail": "busy"}, headers={"Retry-After": after})
    with (
        answering([busy, httpx.Response(500, json={"error": "boom"})]) as address,
        pytest.raises(StoreUnavailableError, match=r'answered 500: .*"boom"'),
    ):
        Hindsight(address)


@pytest.mark.parametrize("error", ["boom", ["boom"], {"message": "boom"}, None])
def test_an_error_of_a_proxy_is_that_of_a_service_that_cannot_be_used(error: object) -> None:
    with (
        answering([httpx.Response(502, json={"error": error})]) as address,
        pytest.raises(StoreUnavailableError, match="answered 502"),
    ):
        Hindsight(address)


@contextmanager
def answering(answers: list[httpx.Response]) -> Iterator[str]:
    """Answer requests with these in turn; yield the URL."""
    left = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            answer = next(left)
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_service_that_is_away_is_told_when_what_was_unpickled_is_used(local: Hindsight) -> None:
    """A worker of a pool that fails to unpickle its task ends, and the pool waits for ever."""
    with served(local) as there, Hindsight(there) as memory:
        pickled = pickle.dumps(memory)
        with pickle.loads(pickled) as other:
            assert other.settings == memory.settings
    with (
        pickle.loads(pickled) as early,
        pytest.raises(StoreUnavailableError, match=re.escape(there)),
    ):
        early.banks.list()


def test_it_is_pickled_as_its_address_and_outlives_a_fork(url: str) -> None:
    with Hindsight(url) as memory, pickle.loads(pickle.dumps(memory)) as other:
        memory.retain("forked", SAID)
        assert other.recall("forked", ASKED)[0].text == SAID
        script = (
            "import os, sys\n"
            "from hindsight_integrations import Hindsight\n"
            "memory = Hindsight(sys.argv[1])\n"
            "child = os.fork()\n"
            "assert memory.recall('forked', 'Alice?')\n"
            "if child: assert os.waitpid(child, 0)[1] == 0\n"
        )
        subprocess.run([sys.executable, "-c", script, url], check=True, timeout=60)
