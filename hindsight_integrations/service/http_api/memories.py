"""Memories: retain, list, read, correct and delete them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Literal, get_args

from fastapi import File, Form, Query, UploadFile
from pydantic import ValidationError

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import (
    LinkKind,
    Memory,
    MemoryState,
    MemoryType,
    as_datetime,
)
from hindsight_integrations.namespaces.selection import SelectionOptions
from hindsight_integrations.retain.document_diff import RetainDependencies
from hindsight_integrations.retain.pipeline import retain, submission_of
from hindsight_integrations.retain.request import (
    Item,
    Submission,
    conversation_submission,
    digest,
)
from hindsight_integrations.service.http_api import answers, conversions, listing, requests
from hindsight_integrations.service.http_api.filters import TagsMatch, as_time, tag_options
from hindsight_integrations.service.http_api.routing import (
    BANK,
    MAX_PAGE,
    Jobs,
    Limit,
    Offset,
    part_of,
    refuse,
    router,
)
from hindsight_integrations.service.http_api.routing import (
    Memory as MemoryOf,
)
from hindsight_integrations.service.idempotency import DONE, checkpoint_of, in_turn, last_part
from hindsight_integrations.stores.base import CONCLUSIONS_CITING, EVERYTHING, NO_LIMIT
from hindsight_integrations.stores.reads import read_one
from hindsight_integrations.transcripts import conversation_in

routes = router("Memory")

_MILLISECONDS = re.compile(r"\d{13}")
"""Time since 1970, from 2001 to 2286."""

MAX_LINKS = 20
"""Most links of a memory in a graph."""

TimeField = Literal["created_at", "mentioned_at", "occurred_start", "updated_at"]


# Retain


def _text(content: str | list[requests.TextBlock | requests.OtherBlock]) -> str:
    if isinstance(content, str):
        return content
    if any(isinstance(block, requests.OtherBlock) for block in content):
        raise refuse("images and files are not supported here; send their texts")
    return "\n\n".join(block.text for block in content if isinstance(block, requests.TextBlock))


def _item(given: requests.RetainItem, tags: Sequence[str]) -> Item:
    if given.timestamp == "unset":
        raise refuse(
            "every memory has a time here; give one, or leave timestamp out for the current time"
        )
    if given.observation_scopes not in (None, "shared", [[]]):
        raise refuse(
            "observations rest on memories with any tags here, and have the tags that all "
            "of them share; leave observation_scopes out, or give 'shared'"
        )
    if given.entities:
        _check_resolving(given.resolve_entities)
    return Item(
        _text(given.content),
        timestamp=as_time("timestamp", given.timestamp),
        context=given.context or None,
        document_id=given.document_id,
        metadata=given.metadata,
        tags=tuple(dict.fromkeys((*(given.tags or ()), *tags))),
        entities=tuple(entity.text for entity in given.entities or ()),
        update_mode=given.update_mode or "replace",
    )


def _check_resolving(resolve_entities: bool) -> None:
    if not resolve_entities:
        raise refuse(
            "names are always matched with the bank's entities here; leave out resolve_entities"
        )


def _submission(deps: RetainDependencies, bank_id: str, item: Item) -> Submission:
    """Return the submission of a text; of one that is a conversation, its turns.

    Clients send the whole conversation again, or its latest turns, with metadata that describes the
    request. Stored turns stay, and new ones are added. Some clients give each request a document of
    its own, named by session and time: the session is the document then.
    """
    zone = deps.settings.zone
    said_at = validation.timestamp("timestamp", item.timestamp, zone)
    messages = conversation_in(item.content, said_at or _session_start(item))
    if messages is None:
        return submission_of(deps, bank_id, item)
    session = _session_of_window(item)
    given = item if item.document_id and not session else replace(item, update_mode="append")
    conversation = conversation_submission(
        messages,
        session=session or item.document_id,
        shared=given,
        max_chars=deps.settings.max_content_chars,
        zone=zone,
    )
    stamp = replace(conversation.stamp, is_of_request=True)
    return replace(conversation, stamp=stamp, is_window=session is not None)


def _session_start(item: Item) -> datetime | None:
    """Return when the session began, which an import of old sessions has in its metadata."""
    started_at = (item.metadata or {}).get("session_started_at", "")
    try:
        return as_time("session_started_at", str(started_at))
    except InvalidInputError:  # metadata may hold any text
        return None


def _session_of_window(item: Item) -> str | None:
    """Return the session that a document's id names before the time in milliseconds, if it does."""
    session = (item.metadata or {}).get("session_id")
    named, _, time = (item.document_id or "").rpartition("-")
    return named if named and named == session and _MILLISECONDS.fullmatch(time) else None


def _parts(submissions: Sequence[Submission], most: int) -> Iterator[list[Submission]]:
    """Yield parts in which no two texts are of the same document, each for one transaction.

    A conversation without an id is alone in its part: it may continue a stored one.
    """
    part: dict[str, Submission] = {}
    for submission in submissions:
        alone = not (submission.is_named and all(each.is_named for each in part.values()))
        if part and (alone or len(part) >= most or submission.document_id in part):
            yield list(part.values())
            part = {}
        part[submission.document_id] = submission
    if part:
        yield list(part.values())


def store(
    memory: Hindsight, bank_id: str, items: Sequence[Item], operation_id: str | None = None
) -> None:
    """Retain items in order, once for each operation id.

    All are checked before the first is stored, and a part is stored whole or not at all. What an
    earlier call of the same operation id stored is not stored again; its metadata may differ,
    since clients describe the request there.

    Raises:
        ConflictError: the operation id is that of a call with other texts.
    """
    runtime = memory.runtime
    validation.bank_id(bank_id)
    submissions = [_submission(runtime.retaining, bank_id, item) for item in items]
    bank = runtime.bank_or_new(bank_id)
    parts = list(_parts(submissions, runtime.settings.batch_size))
    if operation_id is None:
        for part in parts:
            retain(runtime.retaining, bank, part)
    else:
        hashed = digest(*((item.content, item.document_id, item.update_mode) for item in items))
        with in_turn(bank_id, operation_id):
            stored = last_part(runtime.graph, bank_id, operation_id, hashed)
            for place, part in enumerate(parts, start=1):
                number = DONE if place == len(parts) else place
                if number > stored:
                    checkpoint = checkpoint_of(operation_id, hashed, number)
                    retain(runtime.retaining, bank, part, checkpoint)
    runtime.reflect_later(bank_id)


@routes.post(f"{BANK}/memories", operation_id="retain_memories")
def retain_memories(
    memory: MemoryOf, jobs: Jobs, bank_id: str, body: requests.Retain
) -> answers.Retained:
    """Retain texts, a conversation as its turns. They are stored when this answers."""
    given = body.operation_id
    operation_id = validation.label("operation_id", given) if given else None
    items = [_item(each, body.document_tags or ()) for each in body.items]
    store(memory, bank_id, items, operation_id)
    done = None
    if body.asynchronous:
        done = jobs.note(bank_id, "retain", id=operation_id, items=len(items)).id
    return answers.Retained.model_validate(
        {
            "bank_id": bank_id,
            "items_count": len(items),
            "async": body.asynchronous,
            "operation_id": done,
            "operation_ids": [done] if done else None,
        }
    )


@routes.post(f"{BANK}/files/retain", operation_id="file_retain", tags=["Files"])
def file_retain(
    memory: MemoryOf,
    jobs: Jobs,
    bank_id: str,
    files: Annotated[list[UploadFile], File()],
    request: Annotated[str, Form()] = "{}",
) -> answers.FilesRetained:
    """Retain text files: UTF-8, Markdown by its headings. Other kinds are refused."""
    try:
        given = requests.FilesGiven.model_validate_json(request)
    except ValidationError as error:
        raise InvalidInputError(f"the field 'request' cannot be read: {error}") from error
    described = given.files_metadata or [requests.FileMetadata() for _ in files]
    if len(described) != len(files):
        raise InvalidInputError(
            f"there are {len(files)} files but metadata for {len(described)}; give one for each"
        )
    if given.parser or any(each.parser for each in described):
        raise refuse("text files are always read directly here; leave out parser")
    items = [_file_item(file, each) for file, each in zip(files, described, strict=True)]
    store(memory, bank_id, items)
    done = [
        jobs.note(bank_id, "file_convert_retain", filename=file.filename or "") for file in files
    ]
    return answers.FilesRetained(operation_ids=[each.id for each in done])


def _file_item(file: UploadFile, given: requests.FileMetadata) -> Item:
    name = file.filename or "file"
    try:
        text = file.file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse(f"{name!r} is not UTF-8 text; convert it to text or Markdown") from error
    return Item(
        text,
        timestamp=as_time("timestamp", given.timestamp),
        context=given.context or name,
        document_id=given.document_id or name,
        metadata=given.metadata,
        tags=tuple(given.tags or ()),
        markdown=name.lower().endswith((".md", ".markdown")),
    )


# Read


@routes.get(f"{BANK}/memories/list", operation_id="list_memories")
def list_memories(
    memory: MemoryOf,
    bank_id: str,
    type: str | None = None,
    q: str | None = None,
    consolidation_state: Literal["pending", "done", "failed"] | None = None,
    state: Literal["valid", "invalidated", "any"] | None = None,
    document_id: str | None = None,
    entity_id: str | None = None,
    tags: Annotated[list[str] | None, Query()] = None,
    tags_match: TagsMatch = "any",
    time_field: TimeField = "mentioned_at",
    start_date: requests.Time | None = None,
    end_date: requests.Time | None = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> answers.MemoryList:
    """List memories, the latest stored first; none for a bank that is not there."""
    options = _selection(memory, bank_id, type, q, entity_id, state)
    if tags is not None and listing.has_bank(memory, bank_id):
        options.update(tag_options(memory, bank_id, tags, tags_match))  # type: ignore[typeddict-item]
    tests: list[listing.Test] = []
    if start_date or end_date:
        tests.append(_between(time_field, start_date, end_date))
    if consolidation_state:
        tests.append(_consolidated(memory, bank_id, consolidation_state))
    shown, total = listing.latest(
        memory, bank_id, options, limit, offset, document_id=document_id, tests=tests
    )
    items = [conversions.memory_item(each) for each in shown]
    return answers.MemoryList(items=items, total=total, limit=limit, offset=offset)


def _selection(
    memory: Hindsight,
    bank_id: str,
    type: str | None,
    q: str | None,
    entity_id: str | None = None,
    state: str | None = None,
) -> SelectionOptions:
    """Return the options of a list that these parameters ask for."""
    options: SelectionOptions = {}
    if type:
        options["types"] = [type]
    if q:
        options["text"] = q
    if entity_id and listing.has_bank(memory, bank_id):
        options["entities"] = [entity_id]
    if state:
        options["state"] = validation.choice("state", state, get_args(MemoryState))
    return options


def _between(field: str, start: datetime | None, end: datetime | None) -> listing.Test:
    """Return a test of whether a time of a memory lies between two others, both included."""
    since = as_datetime(start) if start else None
    until = as_datetime(end) if end else None

    def is_between(memory: Memory) -> bool:
        time = getattr(memory, field)
        return bool(time) and (since is None or time >= since) and (until is None or time <= until)

    return is_between


def _consolidated(memory: Hindsight, bank_id: str, state: str) -> listing.Test:
    """Return a test of whether a memory's consolidation is pending or done, as `state` says."""
    if state == "failed" or not listing.has_bank(memory, bank_id):
        return lambda _: False  # what fails stays pending here
    pending = set(memory.graph_store.pending_consolidation(bank_id, NO_LIMIT))
    return lambda each: (each.id in pending) == (state == "pending")


@routes.get(f"{BANK}/memories/{{memory_id:path}}/history", operation_id="get_observation_history")
def get_observation_history(
    memory: MemoryOf, bank_id: str, memory_id: str
) -> list[answers.HistoryEntry]:
    """Return the changes of a memory, the latest first."""
    memory.memories.get(bank_id, memory_id)
    return [
        answers.HistoryEntry(
            changed_at=change.at.isoformat(),
            action=change.action,
            field=change.field,
            previous_text=change.old if change.field == "text" else None,
            previous_value=change.old,
            new_value=change.new,
            reason=change.reason,
        )
        for change in memory.memories.history(bank_id, memory_id)[::-1]
    ]


@routes.get(f"{BANK}/memories/{{memory_id:path}}", operation_id="get_memory")
def get_memory(memory: MemoryOf, bank_id: str, memory_id: str) -> answers.MemoryDetail:
    """Return a memory, also an invalidated one."""
    return conversions.memory_detail(memory.memories.get(bank_id, memory_id))


# Change


@routes.patch(f"{BANK}/memories/{{memory_id:path}}", operation_id="update_memory")
def update_memory(
    memory: MemoryOf, bank_id: str, memory_id: str, body: requests.MemoryChanges
) -> answers.MemoryDetail:
    """Correct a memory, or mark it as wrong or right; the old values are in its history."""
    if body.context is not None:
        raise refuse("the context of a memory cannot be changed here; leave it out")
    if body.entities is not None:
        _check_resolving(body.resolve_entities)
    if body.reason is not None and body.state is None and body.text is None:
        validation.reason(body.reason)
    changes: dict[str, object] = {
        "text": body.text,
        "type": body.fact_type,
        "entities": body.entities,
        "mentioned_at": as_time("mentioned_at", body.mentioned_at),
        "occurred": _occurred(body, memory.memories.get(bank_id, memory_id)),
    }
    given = {name: value for name, value in changes.items() if value is not None}
    if given:
        memory.memories.update(bank_id, memory_id, reason=body.reason, **given)  # type: ignore[arg-type]
    if body.state == "invalidated":
        memory.memories.invalidate(bank_id, memory_id, body.reason)
    elif body.state == "valid":
        memory.memories.restore(bank_id, memory_id, body.reason)
    return conversions.memory_detail(memory.memories.get(bank_id, memory_id))


def _occurred(body: requests.MemoryChanges, old: Memory) -> list[tuple[datetime, datetime]] | None:
    """Return the times that a memory gets; None if they stay."""
    if not {"occurred_start", "occurred_end"} & body.model_fields_set:
        return None
    start = as_time("occurred_start", body.occurred_start)
    end = as_time("occurred_end", body.occurred_end)
    if "occurred_start" not in body.model_fields_set:
        start = old.occurred_start
    if "occurred_end" not in body.model_fields_set:
        end = old.occurred_end
    if start is None and end is None:
        return []
    if start is None or end is None or as_datetime(end) <= as_datetime(start):
        raise InvalidInputError(
            "occurred_start and occurred_end belong together; give both, the end after the "
            "start, or clear both"
        )
    return [(start, end)]


@routes.delete(f"{BANK}/memories", operation_id="clear_bank_memories")
def clear_bank_memories(memory: MemoryOf, bank_id: str, type: str | None = None) -> answers.Deleted:
    """Delete all memories of a bank with their documents; or those of a type."""
    count = 0
    if type:
        count = len(memory.forget(bank_id, types=[type]))
    else:
        while page := memory.documents.list(bank_id, limit=MAX_PAGE).items:
            count += sum(len(memory.documents.delete(bank_id, each.id)) for each in page)
        count += sum(len(memory.forget(bank_id, types=[each])) for each in listing.ALL_TYPES)
    return answers.Deleted(message=f"{count} memories were deleted", deleted_count=count)


@routes.delete(
    f"{BANK}/memories/{{memory_id:path}}/observations", operation_id="clear_memory_observations"
)
def clear_memory_observations(
    memory: MemoryOf, bank_id: str, memory_id: str
) -> answers.ObservationsCleared:
    """Delete the observations that rest on a memory."""
    memory.memories.get(bank_id, memory_id)
    citing = read_one(memory.graph_store, bank_id, CONCLUSIONS_CITING, memory_id, ())
    drawn = [
        each for each in citing
        if memory.memories.get(bank_id, each).type is MemoryType.OBSERVATION
    ]  # fmt: skip
    return answers.ObservationsCleared(
        deleted_count=len(memory.forget(bank_id, drawn)) if drawn else 0
    )


# Views


@routes.get(f"{BANK}/graph", operation_id="get_graph")
def get_graph(
    memory: MemoryOf,
    bank_id: str,
    type: str | None = None,
    limit: Limit = 1000,
    q: str | None = None,
    tags: Annotated[list[str] | None, Query()] = None,
    tags_match: TagsMatch = "all_strict",
    document_id: str | None = None,
    chunk_id: str | None = None,
) -> answers.Graph:
    """Return the latest memories and the links between them."""
    memory.banks.get(bank_id)
    options = _selection(memory, bank_id, type, q)
    options.update(tag_options(memory, bank_id, tags, tags_match))  # type: ignore[typeddict-item]
    tests: list[listing.Test] = []
    if chunk_id:
        tests.append(lambda each: any(source.chunk_id == chunk_id for source in each.sources))
    shown, total = listing.latest(
        memory, bank_id, options, limit, document_id=document_id, tests=tests
    )
    ids = [each.id for each in shown]
    links = memory.graph_store.links(bank_id, ids, MAX_LINKS, EVERYTHING) if ids else []
    inside = set(ids)
    return answers.Graph(
        nodes=[_node(each) for each in shown],
        edges=[
            _edge(link.source_id, link.target_id, link.kind, link.weight)
            for link in links
            if link.source_id in inside and link.target_id in inside
        ],
        table_rows=[conversions.memory_item(each) for each in shown],
        total_units=total,
        limit=limit,
    )


def _node(memory: Memory) -> answers.Node:
    item = conversions.memory_item(memory)
    return answers.Node(
        data=answers.NodeData(
            id=item.id, label=item.text[:60], text=item.text, date=item.date,
            context=item.context, entities=item.entities,
        )
    )  # fmt: skip


def _edge(source: str, target: str, kind: LinkKind, weight: float) -> answers.Edge:
    data = answers.EdgeData(
        id=f"{source}-{kind.value}-{target}", source=source, target=target,
        linkType=kind.value, weight=weight,
    )  # fmt: skip
    return answers.Edge(data=data)


@routes.get(f"{BANK}/tags", operation_id="list_tags")
def list_tags(
    memory: MemoryOf,
    bank_id: str,
    q: str | None = None,
    source: Literal["memories", "mental_models"] = "memories",
    limit: Limit = 100,
    offset: Offset = 0,
) -> answers.TagList:
    """List tags, the most frequent first; `q` is a pattern with `*`."""
    if source == "memories":
        counts = memory.tags.list(bank_id)
    else:
        models = memory.mental_models.list(bank_id)
        counts = dict(sorted(Counter(tag for each in models for tag in each.tags).items()))
    pattern = (q or "*").casefold()
    found = [
        answers.Tag(tag=tag, count=count)
        for tag, count in counts.items()
        if fnmatchcase(tag.casefold(), pattern)
    ]
    return answers.TagList(
        items=list(part_of(found, limit, offset)), total=len(found), limit=limit, offset=offset
    )


@routes.delete(f"{BANK}/memories/{{memory_id:path}}", operation_id="delete_memory")
def delete_memory(memory: MemoryOf, bank_id: str, memory_id: str) -> answers.Deleted:
    """Delete a memory for good, with its history: an addition to Hindsight's interface."""
    gone = memory.forget(bank_id, [memory.memories.get(bank_id, memory_id).id])
    return answers.Deleted(message=f"Memory {memory_id!r} was deleted", deleted_count=len(gone))
