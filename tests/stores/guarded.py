"""Proxy that gives a Chroma server TLS and a token, neither of which Chroma has."""

from __future__ import annotations

import http.client
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


def certificate(folder: Path) -> tuple[Path, Path]:
    """A new certificate for 127.0.0.1, which is its own authority, and its key."""
    if shutil.which("openssl") is None:
        if os.environ.get("HINDSIGHT_REQUIRE_NEO4J") == "1":  # a server without TLS is half a test
            pytest.fail("needs the command openssl to make a certificate; install it")
        pytest.skip("needs the command openssl to make a certificate")
    made, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=guarded", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(made)),
        ],
        capture_output=True,
        check=True,
    )
    return made, key


@contextmanager
def guarded(port: int, token: str, secured: tuple[Path, Path]) -> Iterator[str]:
    """The URL where the server at `port` can be asked, over TLS, by those who show the token."""

    class Guard(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers["Authorization"] != f"Bearer {token}":
                self.answer(401, b"show your token")
                return
            inner = http.client.HTTPConnection("127.0.0.1", port)
            inner.request(self.command, self.path, body, {"Content-Type": "application/json"})
            answer = inner.getresponse()
            self.answer(answer.status, answer.read())
            inner.close()

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a test's output is its own."""

        do_GET = do_POST = do_PUT = do_DELETE = pass_on  # noqa: N815 - names of the base class

    class Front(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing: a handshake that fails is told by the client."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*secured)
    with Front(("127.0.0.1", 0), Guard) as server:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
