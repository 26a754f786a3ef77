"""Protection of the viewer: headers that allow no foreign script, and forms of its own only."""

from __future__ import annotations

import hmac
import secrets
from typing import Final
from urllib.parse import urlsplit

from fastapi import HTTPException, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

COOKIE: Final = "hindsight_viewer"
"""Name of the cookie that a form's token belongs to."""

FIELD: Final = "form_token"
"""Name of the field that carries the token."""

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content-Security-Policy: files of the viewer alone; no inline script, style or frame."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Protection:
    """ASGI middleware: refuses what another site sends, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if "/static/" not in scope["path"]:
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        if scope["method"] not in SAFE and is_foreign(Headers(scope=scope)):
            refusal = PlainTextResponse("this form was sent by another site", status_code=403)
            await refusal(scope, receive, send_protected)
            return
        await self._app(scope, receive, send_protected)


def is_foreign(headers: Headers) -> bool:
    """Return True if a browser says that a page of another origin sent the request."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host", "")


class FormTokens:
    """Tokens of forms, each valid for one browser and as long as this process runs."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def browser(self, request: Request) -> str:
        """Return the browser's name of its cookie; a new one if it has none."""
        return request.cookies.get(COOKIE) or secrets.token_urlsafe(24)

    def token(self, browser: str) -> str:
        """Return the token of a browser's forms."""
        return hmac.new(self._secret, browser.encode(), "sha256").hexdigest()

    def check(self, request: Request, token: str) -> None:
        """Raise HTTPException with status 403 if the token is not that of the browser."""
        browser = request.cookies.get(COOKIE, "")
        if not browser or not hmac.compare_digest(self.token(browser).encode(), token.encode()):
            raise HTTPException(
                403, "This form is no longer valid. Go back, reload the page, and send it again."
            )
