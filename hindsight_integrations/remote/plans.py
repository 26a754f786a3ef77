"""Verbs that do work on the client's side too, each as a plan: the calls it makes, in order.

A plan is a generator that yields calls, is given their results, and returns the verb's own. It is
run in a thread or in an event loop alike. Objects of frameworks become plain values here, files are
read and written here, and long lists are sent in batches, between which progress is reported.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

from pydantic import BaseModel

from hindsight_integrations import validation
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.export_import import ExportResult
from hindsight_integrations.export_import.atomic_file import writing
from hindsight_integrations.export_import.bank_file import reading
from hindsight_integrations.models import Memory
from hindsight_integrations.namespaces.audit import write_entries
from hindsight_integrations.namespaces.maintenance import Health, PartHealth
from hindsight_integrations.namespaces.retaining import checked_memories
from hindsight_integrations.reflect.answer import as_form, unwrapped
from hindsight_integrations.remote.wire import AUDIT_EXPORT, BACKUP, EXPORT, IMPORT
from hindsight_integrations.results import Failed, Reflection, RetainResult
from hindsight_integrations.retain.foreign import has_random_id, with_content
from hindsight_integrations.retain.pipeline import (
    as_item,
    check_many,
    reporting,
    warn_of_failed,
)
from hindsight_integrations.retain.request import Item, as_messages, text_submission
from hindsight_integrations.settings import Settings

LONG_POLL = 20.0
"""Seconds that one request waits for background work."""

MEMORIES = 200
"""Memories sent in one request: with vectors, about 2 MB."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the service.

    Attributes:
        verb: see `wire.Verb`.
        arguments: by name.
        content: of a file to be sent, with the arguments beside it.
    """

    verb: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    content: bytes | None = None


Plan: TypeAlias = Generator[Call, Any, Any]


@dataclass(frozen=True, slots=True)
class Client:
    """The client's side of a remote memory: its settings, and health checks of other parts."""

    settings: Settings
    probes: dict[str, Callable[[], tuple[bool, str]]] = field(default_factory=dict)


def plan_of(client: Client, verb: str, given: dict[str, Any]) -> Plan:
    """Return the plan of a call.

    Args:
        client: the client's side.
        verb: see `wire.Verb`.
        given: the arguments by name.
    """
    own = _OWN.get(verb)
    if own is not None:
        return own(client, **given)
    return _simple(verb, given)


def one_call(verb: str, arguments: Mapping[str, object] | None = None) -> Plan:
    """Return the plan that makes a single call and returns its result."""
    return (yield Call(verb, arguments or {}))


def _check_model(llm: object) -> None:
    if llm is not None:
        raise InvalidInputError(
            "llm= cannot be sent to a service; pass the model to the memory that the service opens"
        )


def _simple(verb: str, given: dict[str, Any]) -> Plan:
    progress = validation.progress(given.pop("progress", None))
    _check_model(given.pop("llm", None))
    if "metadata" in given and given["metadata"] is not None:
        given["metadata"] = validation.metadata(given["metadata"])
    result = yield Call(verb, given)
    if progress is not None and isinstance(result, int):
        progress(result, result)
    return result


def _retain(client: Client, bank_id: str, content: object, **options: Any) -> Plan:
    validation.bank_id(bank_id)
    item = _named(client, Item(content, **options))  # type: ignore[arg-type]
    started = time.perf_counter()
    result: RetainResult = yield Call("retain_many", {"bank_id": bank_id, "items": [item]})
    for failure in result.failed:
        raise failure.error
    return replace(result, seconds=time.perf_counter() - started)


def _named(client: Client, given: Item) -> Item:
    """Return an item of plain values, with an id by which it is stored once however often sent.

    Raises:
        InvalidInputError: it cannot be used.
    """
    item = with_content(given)
    submission = text_submission(item, client.settings.max_content_chars, client.settings.zone)
    document_id = submission.document_id
    if has_random_id(item):
        document_id = f"sha256:{submission.fingerprint}"
    named = replace(item, document_id=document_id)
    return Item(**{name: getattr(named, name) for name in Item.__slots__})


def _retain_many(
    client: Client,
    bank_id: str,
    items: Iterable[object],
    progress: bool | Callable[[int, int | None], None] | None = None,
) -> Plan:
    started = time.perf_counter()
    validation.bank_id(bank_id)
    check_many(items)
    validation.progress(progress, or_flag=True)
    total = len(items) if isinstance(items, Sequence) else None
    results: list[RetainResult] = []
    done = 0
    with reporting(progress, total) as report:
        for batch in _batches(items, client.settings.batch_size):
            result = yield from _retain_batch(client, bank_id, batch, done)
            results.append(result)
            done += len(batch)
            report(done, total)
    if not results:
        results.append((yield Call("retain_many", {"bank_id": bank_id, "items": []})))
    merged = RetainResult.merged(bank_id, results)
    warn_of_failed(merged)
    return replace(merged, seconds=time.perf_counter() - started)


def _retain_batch(
    client: Client, bank_id: str, batch: Sequence[object], first: int
) -> Generator[Call, Any, RetainResult]:
    """Retain some items; an item that cannot be used is reported, and the others are sent."""
    usable: dict[int, Item] = {}
    failed: list[Failed] = []
    for index, given in enumerate(batch, start=first):
        try:
            usable[index] = _named(client, as_item(given, index))
        except HindsightError as error:
            failed.append(Failed(index, error))
    result: RetainResult = yield Call(
        "retain_many", {"bank_id": bank_id, "items": list(usable.values())}
    )
    indexes = list(usable)
    failed += [replace(each, index=indexes[each.index]) for each in result.failed]
    return replace(result, failed=tuple(failed))


def _batches(items: Iterable[object], size: int) -> Iterator[list[object]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _retain_messages(
    client: Client, bank_id: str, messages: Sequence[object], **options: Any
) -> Plan:
    given = {"bank_id": bank_id, "messages": as_messages(messages), **options}
    validation.metadata(options.get("metadata"))
    return (yield Call("retain_messages", given))


def _retain_memories(
    client: Client,
    bank_id: str,
    memories: Sequence[Memory],
    vectors: Any = None,
    **options: Any,
) -> Plan:
    given, codes = checked_memories(memories, vectors, sys.maxsize)  # the service has the limit
    results: list[RetainResult] = []
    for start in range(0, max(1, len(given)), MEMORIES):
        end = start + MEMORIES
        batch = {"bank_id": bank_id, "memories": given[start:end], "vectors": codes[start:end]}
        batch |= options
        results.append((yield Call("retain_memories", batch)))
    return RetainResult.merged(bank_id, results)


def _reflect(
    client: Client,
    bank_id: str,
    query: str,
    llm: object = None,
    response_schema: Any = None,
    **options: Any,
) -> Plan:
    _check_model(llm)
    form = None if response_schema is None else as_form(response_schema)
    is_class = isinstance(response_schema, type)
    schema = form.model_json_schema() if form is not None and is_class else response_schema
    given = {"bank_id": bank_id, "query": query, "response_schema": schema, **options}
    result: Reflection = yield Call("reflect", given)
    if form is None or not issubclass(form, BaseModel):
        return result
    return replace(result, structured=unwrapped(form.model_validate(result.structured)))


def _wait_idle(client: Client, timeout: float | None = None) -> Plan:
    if timeout is not None:
        validation.seconds("timeout", timeout, zero=True)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = LONG_POLL if deadline is None else max(0.0, deadline - time.monotonic())
        idle = yield Call("wait_idle", {"timeout": min(LONG_POLL, left)})
        if idle or (deadline is not None and time.monotonic() >= deadline):
            return idle


def _health(client: Client) -> Plan:
    """Ask the service, and the parts of this process that use it, such as a queue."""
    found: Health = yield Call("health")
    around = tuple(PartHealth(part, *ask()) for part, ask in client.probes.items())
    return Health((*found.parts, *around))


def _export(
    client: Client,
    bank_id: str,
    path: str | os.PathLike[str],
    progress: Callable[[int, int | None], None] | None = None,
) -> Plan:
    started = time.perf_counter()
    validation.progress(progress)
    with writing(path) as out:
        content: bytes = yield Call(EXPORT, {"bank_id": bank_id})
        out.write(content)
    end = json.loads(content.rstrip().rpartition(b"\n")[2])["end"]
    total = sum(end["counts"].values())
    if progress is not None:
        progress(total, total)
    return ExportResult(
        bank_id, os.fspath(path), end["counts"], end["sha256"], time.perf_counter() - started
    )


def _import(
    client: Client,
    path: str | os.PathLike[str],
    bank_id: str | None = None,
    *,
    reembed: bool = False,
    merge: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> Plan:
    validation.progress(progress)
    given = {"bank_id": bank_id, "reembed": reembed, "merge": merge}
    with reading(path) as file:
        file.stream.seek(0, io.SEEK_SET)
        result = yield Call(IMPORT, given, file.stream.read())
    if progress is not None:
        total = sum(result.counts.values())
        progress(total, total)
    return result


def _export_audit(client: Client, bank_id: str, path: str | os.PathLike[str]) -> Plan:
    entries = yield Call("audit.list", {"bank_id": bank_id})
    return write_entries(entries, path)


def _backup(client: Client, path: object, *, progress: object = None) -> Plan:
    yield from ()
    raise InvalidInputError(
        "a backup is written on the machine of the memory; run there: hindsight-memory "
        "backup FILE --path FOLDER (the service may keep running)"
    )


_OWN: Mapping[str, Callable[..., Plan]] = {
    "retain": _retain,
    "retain_many": _retain_many,
    "retain_messages": _retain_messages,
    "retain_memories": _retain_memories,
    "reflect": _reflect,
    "wait_idle": _wait_idle,
    "health": _health,
    "maintenance.health": _health,
    AUDIT_EXPORT: _export_audit,
    BACKUP: _backup,
    EXPORT: _export,
    IMPORT: _import,
}
