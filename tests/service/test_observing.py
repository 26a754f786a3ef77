"""What operators see: logs, the audit log, metrics and traces, none of which holds a secret."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hindsight_integrations import Hindsight, StoreUnavailableError
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.observing import JsonLines
from hindsight_integrations.service.settings import ServiceSettings
from tests.service.served import served

TOKEN = "the-token-of-the-service"
SECRET = "Alice's diary says that she keeps bees."


def test_requests_are_logged_audited_and_counted_without_secrets(
    memory: Hindsight,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO, "hindsight_integrations.service")
    audited = tmp_path / "audit.jsonl"
    monkeypatch.setenv("HINDSIGHT_SERVICE_TOKEN", TOKEN)
    with served(memory, token=TOKEN, audit_log=str(audited)) as url, Hindsight(url) as remote:
        remote.retain("alice", SECRET)
        remote.recall("alice", "What does her diary say?")
        assert (
            httpx.post(f"{url}/v1/engine/retain", json={"bank_id": "bob"}, timeout=60).status_code
            == 401
        )
        assert httpx.get(f"{url}/nowhere/alice/{TOKEN}", timeout=60).status_code == 404
        shown = httpx.get(f"{url}/metrics", timeout=60).text
    entries = [json.loads(line) for line in audited.read_text(encoding="utf-8").splitlines()]
    assert [(each["route"], each["who"], each["status"]) for each in entries] == [
        ("/v1/engine/retain_many", "service", 200),
        ("unknown", "none", 401),
    ]
    assert entries[0]["banks"] == ["alice"]
    assert entries[0]["operation"].startswith("op-")
    assert audited.stat().st_mode & 0o077 == 0
    samples = {
        (sample.name, sample.labels.get("route"), sample.labels.get("status")): sample.value
        for family in text_string_to_metric_families(shown)
        for sample in family.samples
    }
    assert samples["hindsight_requests_total", "/v1/engine/recall", "200"] == 1
    assert samples["hindsight_request_seconds_count", "/v1/engine/recall", None] == 1
    assert samples["hindsight_requests_total", "unknown", "404"] == 1
    assert samples["hindsight_part_healthy", None, None] == 1
    assert ("hindsight_requests_running", None, None) in samples
    lines = [JsonLines().format(record) for record in caplog.records]
    requests = [line for line in map(json.loads, lines) if line["logger"].endswith(".requests")]
    assert {line["route"] for line in requests} >= {"/v1/engine/retain_many", "unknown"}
    assert all(line["level"] == "info" and "seconds" in line for line in requests)
    for written in (*lines, audited.read_text(encoding="utf-8"), shown):
        assert TOKEN not in written
        assert "diary" not in written


def test_an_audit_log_that_cannot_be_written_ends_the_start(memory: Hindsight) -> None:
    with pytest.raises(StoreUnavailableError, match="HINDSIGHT_SERVICE_AUDIT_LOG"):
        create_app(memory, ServiceSettings(audit_log="/nowhere/audit.jsonl"))


@contextmanager
def collector() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Run a collector; yield its address, and what is sent to each of its paths."""
    got: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got[self.path] = got.get(self.path, b"") + body
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


def test_traces_and_durations_reach_a_collector(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    with collector() as (address, got):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "memory-of-tests")
        with served(memory, telemetry=True) as url:
            headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
            httpx.post(f"{url}/v1/engine/banks.list", json={}, headers=headers, timeout=60)
    assert bytes.fromhex(trace) in got["/v1/traces"]
    assert b"POST /v1/engine/banks.list" in got["/v1/traces"]
    assert b"memory-of-tests" in got["/v1/traces"]
    assert b"http.server.request.duration" in got["/v1/metrics"]
