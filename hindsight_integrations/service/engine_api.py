"""The whole Python API over HTTP: `POST /v1/engine/{verb}` with its arguments as a JSON object.

It is what `Hindsight("http://localhost:8888")` speaks. A program in another language may, too:
times are ISO 8601, and an error is `{"error": {"type": ..., "message": ...}}`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from hindsight_integrations import validation
from hindsight_integrations.acting import acting_as
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import (
    AccessDeniedError,
    BankNotFoundError,
    HindsightError,
    InvalidInputError,
    SchemaVersionError,
    StoreCorruptError,
    error_content,
    http_status,
)
from hindsight_integrations.remote.connection import ACTOR, OPERATION, REASON
from hindsight_integrations.remote.wire import EXPORT, IMPORT, NOT_OFFERED, Verb, verbs
from hindsight_integrations.retain.pipeline import recording_checkpoint
from hindsight_integrations.retain.request import digest as fingerprint
from hindsight_integrations.service.idempotency import another_call, checkpoint_of, last_part
from hindsight_integrations.service.limits import BodyRefusedError
from hindsight_integrations.service.security import Access

log = logging.getLogger("hindsight_integrations.service")

KNOWN_OPERATIONS = 1000
"""Operations whose results are kept for clients that ask again."""

KNOWN_BYTES = 64_000_000
"""Bytes of results that are kept at most."""

BAD_FILE = (SchemaVersionError, StoreCorruptError)
"""Errors of an import that tell of the file it was sent."""

CHECKPOINTED = frozenset({"retain", "retain_many", "retain_messages"})
"""Verbs whose operation ids a bank stores, so that they are known after a restart."""

FOR_ALL = frozenset({"storage.opened", "storage.check", "storage.embed", "wait_idle"})
"""Verbs that concern no bank, and tell nothing of what is remembered."""


def reading_verbs() -> frozenset[str]:
    """Return the verbs that change nothing."""
    return frozenset(name for name, verb in verbs(Hindsight).items() if not verb.writes)


def engine_api(memory: Hindsight) -> APIRouter:
    """Return the routes of the engine API for a memory."""
    router = APIRouter(prefix="/v1/engine", tags=["Engine"])
    operations = Operations()
    for verb in verbs(Hindsight).values():
        if verb.name in NOT_OFFERED:
            continue
        summary = (verb.method.__doc__ or "").split("\n", 1)[0]
        router.add_api_route(
            f"/{verb.name}",
            _endpoint(memory, verb, operations),
            methods=["POST"],
            summary=summary,
            operation_id=f"engine_{verb.name}",
            response_class=Response,
            openapi_extra={"requestBody": _body_of(verb)},
        )
    router.add_api_route("/{verb}", _unknown, methods=["POST"], include_in_schema=False)
    return router


async def _unknown(verb: str) -> Response:
    near = get_close_matches(verb, verbs(Hindsight).keys() - NOT_OFFERED, n=1)
    hint = f", did you mean {near[0]!r}" if near else ""
    error = InvalidInputError(f"there is no verb {verb[:80]!r} here{hint}; /docs lists them all")
    return failure(error, 404)


def _body_of(verb: Verb) -> dict[str, Any]:
    """Return the description of a verb's arguments for the OpenAPI document."""
    if verb.name == IMPORT:
        file = {"schema": {"type": "string", "format": "binary"}}
        return {"content": {"application/octet-stream": file}, "required": True}
    parameters = verb.signature.parameters.values()
    schema = {
        "type": "object",
        "properties": {each.name: {"description": str(each.annotation)} for each in parameters},
        "required": [each.name for each in parameters if each.default is each.empty],
        "additionalProperties": False,
    }
    return {"content": {"application/json": {"schema": schema}}, "required": True}


def _endpoint(memory: Hindsight, verb: Verb, operations: Operations) -> Callable[..., Any]:
    async def endpoint(request: Request) -> Response:
        try:
            digest, work = await _work(memory, verb, request)
            work = _acted(work, request)
            operation = request.headers.get(OPERATION)
            if operation and verb.writes:
                content = await operations.once(f"{verb.name} {operation}", digest, work)
            else:
                content = await run_in_threadpool(work)
        except BodyRefusedError:
            raise
        except HindsightError as error:
            is_of_file = verb.name == IMPORT and isinstance(error, BAD_FILE)
            return failure(error, 422 if is_of_file else None)
        except (TypeError, ValueError, RecursionError) as error:
            log.warning("%s was refused: %s", verb.name, type(error).__name__)
            return failure(InvalidInputError(f"{verb.name} cannot take this: {error}"))
        except Exception as error:  # a fault of ours: others go on
            log.exception("%s failed", verb.name)
            return failure(HindsightError(f"{verb.name} failed: {type(error).__name__}"))
        return Response(content, media_type="application/json")

    return endpoint


def _acted(work: Callable[[], bytes], request: Request) -> Callable[[], bytes]:
    """Return the work, done by whom the request names."""
    actor, reason = (unquote(request.headers.get(name, "")) for name in (ACTOR, REASON))
    if not actor:
        return work

    def acted() -> bytes:
        with acting_as(actor, reason or None):
            return work()

    return acted


def failure(error: Exception, status: int | None = None) -> JSONResponse:
    """Return the answer that reports an error, with its usual status unless one is given."""
    return JSONResponse({"error": error_content(error)}, status or http_status(error))


async def _work(
    memory: Hindsight, verb: Verb, request: Request
) -> tuple[bytes, Callable[[], bytes]]:
    """Return the digest of a call, and the function that does it."""
    access: Access = getattr(request.state, "access", Access())
    if verb.name == IMPORT:
        given = _object(request.query_params.get("arguments", "{}").encode())
        _check_access(access, verb, given)
        request.state.banks = [bank for bank in _banks_of(given) if bank]
        return await _importing(memory, given, request)
    body = await request.body()
    given = _object(body)
    _check_access(access, verb, given)
    request.state.banks = [bank for bank in _banks_of(given) if bank]
    digest = hashlib.sha256(body).digest()
    if verb.name == EXPORT:
        return digest, lambda: _exported(memory, given)
    operation = request.headers.get(OPERATION) if verb.name in CHECKPOINTED else None
    if operation:
        given = _identified(verb.name, given, fingerprint(operation, digest.hex()))
    args, kwargs = verb.read(given)
    method = _bound(memory, verb)
    if not operation:
        return digest, lambda: verb.written(method(*args, **kwargs))

    def once() -> bytes:
        named = f"{verb.name} {operation}"
        with suppress(BankNotFoundError):  # the first of a new bank
            bank_id = validation.bank_id(given["bank_id"])
            last_part(memory.graph_store, bank_id, named, digest.hex())
        with recording_checkpoint(checkpoint_of(named, digest.hex())):
            return verb.written(method(*args, **kwargs))

    return digest, once


def _identified(verb: str, given: dict[str, Any], operation: str) -> dict[str, Any]:
    """Return the arguments of a retain with an id for each text that has none.

    It is made of the operation: sent again after a restart, the text is known by it.
    """

    def identified(item: Any, index: int) -> Any:
        item = {"content": item} if isinstance(item, str) else item
        if not isinstance(item, dict) or item.get("document_id") is not None:
            return item
        return item | {"document_id": f"doc-{fingerprint(operation, index)}"}

    items = given.get("items")
    if verb == "retain_many" and isinstance(items, list):
        return given | {"items": [identified(item, index) for index, item in enumerate(items)]}
    return dict(identified(given, 0)) if verb == "retain" else given


def _bound(memory: Hindsight, verb: Verb) -> Callable[..., Any]:
    space, _, name = verb.name.rpartition(".")
    method: Callable[..., Any] = getattr(getattr(memory, space) if space else memory, name)
    return method


def _object(body: bytes) -> dict[str, Any]:
    given = validation.from_json(body or b"{}", "the body")
    if not isinstance(given, dict):
        raise InvalidInputError("the body is not a JSON object; give the arguments by name")
    return given


def _check_access(access: Access, verb: Verb, given: Mapping[str, Any]) -> None:
    """Refuse a call that names a bank which the request's token is not for.

    Raises:
        AccessDeniedError: it does, or it names no bank and the token is that of one.
        InvalidInputError: what it names as a bank is neither an id nor a list of ids.
    """
    for bank_id in () if verb.name in FOR_ALL else _banks_of(given):
        if not access.allows(bank_id):
            named = "all banks" if bank_id is None else f"the bank {bank_id!r}"
            raise AccessDeniedError(f"this needs the token of the service, or of {named}")


def _banks_of(given: Mapping[str, Any]) -> Sequence[str | None]:
    """Return the banks that the arguments name; None for no single one.

    Only the types that the verbs read as ids pass: of a value that is checked as one text and read
    as another, the check would say nothing.

    Raises:
        InvalidInputError: `bank_id` is neither text nor a list of texts.
    """
    named = given.get("bank_id")
    several = named if isinstance(named, list) else [named]
    if named is not None and not all(isinstance(each, str) for each in several):
        raise InvalidInputError(
            f"bank_id is {validation.shown(named)}; give a bank's id as text, or a list of ids"
        )
    return several or [None]


def _exported(memory: Hindsight, given: dict[str, Any]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="hindsight-export-") as folder:
        path = Path(folder) / "bank.jsonl"
        memory.banks.export(given.get("bank_id"), path)  # type: ignore[arg-type]
        return path.read_bytes()


async def _importing(
    memory: Hindsight, given: dict[str, Any], request: Request
) -> tuple[bytes, Callable[[], bytes]]:
    """Keep the content of a file on disk until it is imported."""
    digest = hashlib.sha256()
    # Removed by the import: the request itself may be given up before it.
    with tempfile.NamedTemporaryFile(prefix="hindsight-import-", delete=False) as file:
        try:
            async for part in request.stream():
                digest.update(part)
                await run_in_threadpool(file.write, part)
        except BaseException:
            Path(file.name).unlink()
            raise

    def work() -> bytes:
        try:
            result = memory.banks.import_(
                file.name,
                given.get("bank_id"),
                reembed=given.get("reembed", False),
                merge=given.get("merge", False),
            )
        finally:
            with suppress(FileNotFoundError):
                Path(file.name).unlink()
        return verbs(Hindsight)[IMPORT].written(result)

    return digest.digest(), work


@dataclass(slots=True)
class _Operation:
    digest: bytes
    result: asyncio.Future[bytes]


class Operations:
    """Results of calls that write, by their ids: each is done once, however often it is sent."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Operation] = OrderedDict()
        self._bytes = 0

    async def once(self, id: str, digest: bytes, work: Callable[[], bytes]) -> bytes:
        """Do the work, or return the result of the same work.

        Raises:
            ConflictError: the id is that of another call.
        """
        known = self._known.get(id)
        if known is None:
            known = _Operation(digest, asyncio.ensure_future(run_in_threadpool(work)))
            self._known[id] = known
            known.result.add_done_callback(lambda done: self._ended(id, done))
        elif known.digest != digest:
            raise another_call(id)
        return await asyncio.shield(known.result)

    def _ended(self, id: str, result: asyncio.Future[bytes]) -> None:
        if result.cancelled() or result.exception() is not None:
            del self._known[id]  # one that failed may be tried again
            return
        self._bytes += len(result.result())
        done = [each for each, known in self._known.items() if known.result.done()]
        for old in done:
            if len(self._known) <= KNOWN_OPERATIONS and self._bytes <= KNOWN_BYTES:
                return
            self._bytes -= len(self._known.pop(old).result.result())
