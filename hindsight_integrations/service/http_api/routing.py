"""Parts that all routers share: the memory behind them, errors as statuses, and refusals."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, NoReturn, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, http_status
from hindsight_integrations.service.http_api.operations import Operations

T = TypeVar("T")

BANK = "/v1/default/banks/{bank_id}"
"""Beginning of the paths of one bank."""

MAX_PAGE = 1000
"""Longest page of a list, as of the Python API."""

MAX_OFFSET = 10_000_000


class FiniteRequest(Request):
    """A request whose JSON has the numbers of the standard: neither NaN nor an infinite one."""

    async def json(self) -> Any:
        """Return the body from JSON.

        Raises:
            HTTPException: 400 for a number that JSON does not have, or that is too large.
            ValueError: it is not JSON.
        """
        return json.loads(await self.body(), parse_constant=_refuse, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise HTTPException(400, f"the body contains {text[:20]}; give finite numbers")


def _invalid(error: RequestValidationError) -> JSONResponse:
    """Return the answer to a request that does not fit the types of the route.

    It does not repeat what was sent, which may be private, long, or no valid Unicode.
    """
    detail = [
        {
            "type": each["type"],
            "loc": [validation.well_formed(p) if isinstance(p, str) else p for p in each["loc"]],
            "msg": validation.well_formed(each["msg"]),
        }
        for each in error.errors()
    ]
    return JSONResponse({"detail": detail}, 422)


class TypedErrors(APIRoute):
    """A route that answers typed errors with their status, and their text as `detail`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route with its errors mapped."""
        handle = super().get_route_handler()

        async def mapped(request: Request) -> Response:
            try:
                return await handle(FiniteRequest(request.scope, request.receive))
            except RequestValidationError as error:
                return _invalid(error)
            except HindsightError as error:
                status = http_status(error)
                headers = {"Retry-After": "1"} if status == 503 else None
                raise HTTPException(status, str(error), headers) from error

        return mapped


def router(tag: str) -> APIRouter:
    """Return a router for one subject of the interface."""
    return APIRouter(route_class=TypedErrors, tags=[tag])


def refuse(reason: str) -> HTTPException:
    """Return the answer to what this engine does not have: 501 and the reason."""
    return HTTPException(501, reason)


async def _memory(request: Request) -> Hindsight:
    memory: Hindsight = request.state.hindsight_memory
    return memory


async def _operations(request: Request) -> Operations:
    operations: Operations = request.state.hindsight_operations
    return operations


Memory = Annotated[Hindsight, Depends(_memory)]
Jobs = Annotated[Operations, Depends(_operations)]
Limit = Annotated[int, Query(ge=0, le=MAX_PAGE)]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]


def check_access(request: Request, bank_id: str) -> None:
    """Refuse a bank that the request names beside the one of its path, if its token excludes it."""
    access = getattr(request.state, "access", None)
    if access is not None and not access.allows(bank_id):
        raise HTTPException(403, f"this token is not valid for the bank {bank_id!r}")


def part_of(values: Sequence[T], limit: int, offset: int) -> Sequence[T]:
    """Return `limit` values from `offset` on."""
    return values[offset : offset + limit]
