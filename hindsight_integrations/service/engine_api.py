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
"""Errors of an import whose cause is the file in the request."""

CHECKPOINTED = frozenset({"retain", "retain_many", "retain_messages"})
"""Verbs whose operation ids a bank stores, so that they are known after a restart."""

FOR_ALL = frozenset({"storage.opened", "storage.check", "storage.embed", "wait_idle"})
"""Verbs that concern no bank, and disclose nothing of what is stored."""


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
            digest, work = await _call(memory, verb, request)
            work = _with_actor(work, request)
            operation = request.headers.get(OPERATION)
            if operation and verb.writes:
                content = await operations.once(f"{verb.name} {operation}", digest, work)
            else:
                content = await run_in_threadpool(work)
        except BodyRefusedError:
            raise
        except HindsightError as error:
            is_bad_file = verb.name == IMPORT and isinstance(error, BAD_FILE)
            return failure(error, 422 if is_bad_file else None)
        except (TypeError, ValueError, RecursionError) as error:
            log.warning("%s was refused: %s", verb.name, type(error).__name__)
            return failure(InvalidInputError(f"{verb.name} cannot take this: {error}"))
        except Exception as error:  # a bug here must not end the service
            log.exception("%s failed", verb.name)
            return failure(HindsightError(f"{verb.name} failed: {type(error).__name__}"))
        return Response(content, media_type="application/json")

    return endpoint


def _with_actor(work: Callable[[], bytes], request: Request) -> Callable[[], bytes]:
    """Return the work, recorded in the audit under the actor and reason of the request."""
    actor, reason = (unquote(request.headers.get(name, "")) for name in (ACTOR, REASON))
    if not actor:
        return work

    def work_as_actor() -> bytes:
        with acting_as(actor, reason or None):
            return work()

    return work_as_actor


def failure(error: Exception, status: int | None = None) -> JSONResponse:
    """Return the answer that reports an error, with its usual status unless one is given."""
    return JSONResponse({"error": error_content(error)}, status or http_status(error))


async def _call(
    memory: Hindsight, verb: Verb, request: Request
) -> tuple[bytes, Callable[[], bytes]]:
    """Return the digest of a call, and the function that carries it out."""
    if verb.name == IMPORT:  # its body is a file, which is not read before access is granted
        query = request.query_params.get("arguments", "{}").encode()
        return await _import(memory, _arguments(verb, query, request), request)
    body = await request.body()
    given = _arguments(verb, body, request)
    digest = hashlib.sha256(body).digest()
    if verb.name == EXPORT:
        return digest, lambda: _exported(memory, given)
    operation = request.headers.get(OPERATION)
    if operation and verb.name in CHECKPOINTED:
        return digest, _checkpointed(memory, verb, given, operation, digest.hex())
    return digest, _bound(memory, verb, given)


def _arguments(verb: Verb, data: bytes, request: Request) -> dict[str, Any]:
    """Return the arguments of a call that the request's token allows; note their banks in it."""
    given = _object(data)
    _check_access(getattr(request.state, "access", Access()), verb, given)
    request.state.banks = [bank for bank in _banks_of(given) if bank]
    return given


def _bound(memory: Hindsight, verb: Verb, given: dict[str, Any]) -> Callable[[], bytes]:
    """Return the function that calls a verb with these arguments."""
    namespace, _, name = verb.name.rpartition(".")
    args, kwargs = verb.read(given)
    owner = getattr(memory, namespace) if namespace else memory
    method: Callable[..., Any] = getattr(owner, name)
    return lambda: verb.written(method(*args, **kwargs))


def _checkpointed(
    memory: Hindsight, verb: Verb, given: dict[str, Any], operation: str, digest: str
) -> Callable[[], bytes]:
    """Return the function that does a retain and has its bank store the operation id with it.

    The function raises `ConflictError` if the bank knows the id as that of another call.
    """
    work = _bound(memory, verb, _identified(verb.name, given, fingerprint(operation, digest)))
    id = f"{verb.name} {operation}"

    def work_with_checkpoint() -> bytes:
        with suppress(BankNotFoundError):  # the first retain into a new bank
            last_part(memory.graph_store, validation.bank_id(given["bank_id"]), id, digest)
        with recording_checkpoint(checkpoint_of(id, digest)):
            return work()

    return work_with_checkpoint


def _identified(verb: str, given: dict[str, Any], operation: str) -> dict[str, Any]:
    """Return the arguments of a retain with an id for each text that has none.

    The id is made of the operation's, so that a text sent again after a restart is recognised.
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


async def _import(
    memory: Hindsight, given: dict[str, Any], request: Request
) -> tuple[bytes, Callable[[], bytes]]:
    """Write the file in the body to disk; return its digest, and the function that imports it."""
    digest = hashlib.sha256()
    # Deleted by the import: the request itself may time out earlier.
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
    """Results of calls that write, by operation id, so that a repeated call is carried out once."""

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
            known.result.add_done_callback(lambda done: self._record_result(id, done))
        elif known.digest != digest:
            raise another_call(id)
        return await asyncio.shield(known.result)

    def _record_result(self, id: str, result: asyncio.Future[bytes]) -> None:
        """Count a result, and forget the oldest ones beyond the limits; forget a failed call."""
        if result.cancelled() or result.exception() is not None:
            del self._known[id]  # one that failed may be tried again
            return
        self._bytes += len(result.result())
        for old in [id for id, known in self._known.items() if known.result.done()]:
            if len(self._known) <= KNOWN_OPERATIONS and self._bytes <= KNOWN_BYTES:
                return
            self._bytes -= len(self._known.pop(old).result.result())
