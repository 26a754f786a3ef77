"""Shared parts of all pages: the request, templates, addresses, notices and reading of forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import urlencode

import jinja2
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup, escape

from hindsight_integrations import display
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import utc_now
from hindsight_integrations.pictures.picture import as_image
from hindsight_integrations.rendering import visible
from hindsight_integrations.timespan import day_text
from hindsight_integrations.viewer.notices import Notice, Notices
from hindsight_integrations.viewer.protection import COOKIE, FIELD, FormTokens

PER_PAGE = 50
"""Rows of a page of a list."""


class PageRequest:
    """Read a request for a page, and render the page as its answer.

    Attributes:
        http: the request as Starlette gives it.
        memory: the memory that is viewed.
        notices: what was done, each with the way to undo it.
    """

    def __init__(self, request: Request) -> None:
        state = request.app.state
        self.http = request
        self.memory: Hindsight = state.memory
        self.notices: Notices = state.notices
        self._tokens: FormTokens = state.tokens
        self._environment: jinja2.Environment = state.environment

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the address that have a value."""
        return {name: value for name, value in self.http.query_params.items() if value.strip()}

    def value(self, name: str) -> str:
        """Return a parameter of the address; "" if it has none."""
        return self.query.get(name, "")

    @cached_property
    def bank_id(self) -> str:
        """The bank that the address names.

        Raises:
            InvalidInputError: it names none.
        """
        return self.required("bank")

    def required(self, name: str) -> str:
        """Return a parameter of the address that the page cannot do without.

        Raises:
            InvalidInputError: it is missing.
        """
        value = self.http.query_params.get(name, "")
        if not value:
            raise InvalidInputError(f"the address has no {name!r}; use a link of the viewer")
        return value

    def every(self, name: str) -> list[str]:
        """Return all values of a parameter of the address that are not blank."""
        return [value for value in self.http.query_params.getlist(name) if value.strip()]

    def link(self, page: str, **parameters: object) -> str:
        """Return the address of a page, in the same bank unless another is given.

        Parameters that are None, empty or False are left out.
        """
        bank = self.http.query_params.get("bank")
        given = {"bank": bank, **parameters}
        shown = {name: value for name, value in given.items() if value not in (None, "", (), [])}
        query = urlencode({k: v for k, v in shown.items() if v is not False}, doseq=True)
        path: str = self.http.url_for(page).path
        return f"{path}?{query}" if query else path

    def here(self, **changed: object) -> str:
        """Return the address of this page with some parameters changed."""
        return self.here_as(self.http.scope["route"].name, **changed)

    def here_as(self, page: str, **changed: object) -> str:
        """Return the address of another page with the parameters of this one, some changed."""
        parameters: dict[str, object] = {
            name: self.http.query_params.getlist(name) for name in self.http.query_params
        }
        return self.link(page, **(parameters | changed))

    def asset(self, name: str) -> str:
        """Return the address of a file of the viewer."""
        path: str = self.http.url_for("static", path=name).path
        return path

    def page(self, template: str, status: int = 200, **values: object) -> HTMLResponse:
        """Return a page as the answer."""
        browser = self._tokens.browser(self.http)
        text = self._environment.get_template(template).render(
            request=self,
            here_is=template.removesuffix(".html"),
            bank_id=self.http.query_params.get("bank"),
            notice=self.notices.get(self.http.query_params.get("done")),
            form_token=self._tokens.token(browser),
            token_field=FIELD,
            now=utc_now(),
            **values,
        )
        answer = HTMLResponse(text, status)
        if COOKIE not in self.http.cookies:
            answer.set_cookie(
                COOKIE,
                browser,
                path=self.http.scope.get("root_path") or "/",
                httponly=True,
                samesite="strict",
                secure=self.http.url.scheme == "https",
            )
        return answer

    def done(self, notice: Notice, page: str, **parameters: object) -> RedirectResponse:
        """Return to a page, with a notice of what was done."""
        return self.done_at(self.link(page, **parameters), notice)

    def done_at(self, address: str, notice: Notice) -> RedirectResponse:
        """Return to the page at an address of this viewer, with a notice of what was done."""
        key = self.notices.add(replace(notice, address=address))
        return RedirectResponse(
            f"{address}{'&' if '?' in address else '?'}done={key}", status_code=303
        )

    def check(self, token: str) -> None:
        """Raise HTTPException if a form's token is not that of this browser."""
        self._tokens.check(self.http, token)


class Form:
    """The fields of a form that this viewer sent."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self._fields = fields

    def text(self, name: str) -> str:
        """Return a field with the line feeds of Python; "" if the form has no such field."""
        values = self._fields.get(name, [""])
        return values[0].replace("\r\n", "\n")

    def given(self, name: str) -> str | None:
        """Return a field without the blanks around it; None if it is empty."""
        return self.text(name).strip() or None

    def all(self, name: str) -> list[str]:
        """Return the values of a field that may be sent several times."""
        return self._fields.get(name, [])

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field that are not blank."""
        return [line.strip() for line in self.text(name).split("\n") if line.strip()]


async def _form(request: Request) -> Form:
    sent = await request.form()
    fields = {
        name: [value for value in sent.getlist(name) if isinstance(value, str)] for name in sent
    }
    form = Form(fields)
    PageRequest(request).check(form.text(FIELD))
    return form


PageRequestDep = Annotated[PageRequest, Depends(PageRequest)]
"""The request, as a parameter of a page."""

FormDep = Annotated[Form, Depends(_form)]
"""The form that was sent, as a parameter of an action; its token is checked."""


def time_given(name: str, text: str | None) -> datetime | None:
    """Return an ISO 8601 date or time that a form names; None if it names none.

    Raises:
        InvalidInputError: it is no date.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(
            f"{name} is {text!r}; give a date such as 2025-05-07, or 2025-05-07T13:56"
        ) from error


def number_given(name: str, text: str | None, kind: Callable[[str], Any]) -> Any:
    """Return a number that a form names; None if it names none.

    Raises:
        InvalidInputError: it is no number.
    """
    try:
        return kind(text) if text else None
    except ValueError as error:
        raise InvalidInputError(f"{name} is {text!r}; give a number") from error


# Templates


def environment() -> jinja2.Environment:
    """Return the templates: every value is escaped, and its control characters are visible."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("hindsight_integrations.viewer"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        moment=display.moment,
        day=day_text,
        verbatim=verbatim,
        as_image=as_image,
        percent=lambda share: f"{100 * min(max(share, 0.0), 1.0):.0f}%",
        counted=lambda number, noun: f"{number:,} {display.inflected(noun, number)}",
    )
    return made


def _shown(value: object) -> object:
    """Return a value of a template as a person sees it, without active control characters."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def as_shown(text: str) -> str:
    """Return a text as a form shows it and a browser sends it back.

    Control characters are shown as escapes there, and saved as such with a text that was changed.
    """
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def verbatim(text: str) -> Markup:
    """Return an id or a query exact, for a field that is sent back: control characters encoded."""
    parts = (f"&#x{ord(c):x};" if visible(c) != c else str(escape(c)) for c in text)
    return Markup("".join(parts))
