"""A server on loopback that speaks the chat protocol of Ollama, with one scripted reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHOWN = {"model_info": {"qwen3.context_length": 40_960}, "capabilities": ["completion", "tools"]}
"""The reply to `POST /api/show`, which LlamaIndex asks for the length of the context."""


@contextmanager
def served(reply: dict[str, object]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve `POST /api/chat` and `/api/show`; yields the URL and the requests, as they come.

    The reply is the content of the message, as JSON; or the arguments of the one tool that the
    request offers, as a model called with tools replies.
    """
    asked: list[dict[str, Any]] = []

    def said(request: dict[str, Any]) -> dict[str, object]:
        message: dict[str, object] = {"role": "assistant", "content": json.dumps(reply)}
        if tools := request.get("tools"):
            call = {"name": tools[0]["function"]["name"], "arguments": reply}
            message |= {"content": "", "tool_calls": [{"function": call}]}
        return {
            "model": request["model"],
            "created_at": "2025-05-07T13:56:00Z",
            "message": message,
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 1,
            "eval_count": 1,
        }

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({"path": self.path} | request)
            body = json.dumps(SHOWN if self.path == "/api/show" else said(request)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Content-Length", str(len(body) + 1))
            self.end_headers()
            self.wfile.write(body + b"\n")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
