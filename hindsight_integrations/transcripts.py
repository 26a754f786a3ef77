"""Conversations and memories that people have elsewhere, retained with speakers and dates.

Read are exports of ChatGPT, Claude, sessions of coding agents, mem0 and Letta.

Only what the user and the agent said is read: no thinking, no calls of tools and their results, no
instructions that a program put in their mouths.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from zipfile import BadZipFile, ZipFile

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.migration import from_mem0
from hindsight_integrations.models import Message
from hindsight_integrations.results import RetainResult
from hindsight_integrations.retain.foreign import plain_metadata
from hindsight_integrations.retain.request import Item, message_text
from hindsight_integrations.timespan import in_zone

T = TypeVar("T", Message, Item)

__all__ = [
    "ImportedTranscripts",
    "Transcript",
    "conversation_in",
    "import_transcripts",
    "read_transcripts",
]

ASSISTANT = "assistant"

_ROLES = {"user": "user", "human": "user", "assistant": ASSISTANT}

_INJECTED = re.compile(
    r"<(?P<tag>system-reminder|environment_context|user_instructions|command-name|command-message"
    r"|command-args|local-command-stdout|local-command-caveat|INSTRUCTIONS)>.*?</(?P=tag)>",
    re.DOTALL,
)
"""Elements that coding agents put into the user's messages."""

_CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
"""Members of an exported archive that hold conversations."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation.

    Attributes:
        source: the format it is from, such as "chatgpt".
        session: its id, with the source before it.
        title: its title, or "".
        messages: what was said, in order, each with its time and id.
    """

    source: str
    session: str
    title: str
    messages: tuple[Message, ...]


Read: TypeAlias = Iterator["Transcript | Item"]


@dataclass(frozen=True, slots=True)
class ImportedTranscripts:
    """Outcome of an import.

    Attributes:
        sessions: conversations that were read.
        items: memories and blocks that were read.
        result: what was stored and skipped of both.
    """

    sessions: int
    items: int
    result: RetainResult


def import_transcripts(
    memory: Hindsight,
    bank_id: str,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    user: str = "user",
    progress: Callable[[int, int | None], None] | None = None,
) -> ImportedTranscripts:
    """Retain an export of conversations or memories; imported again, only what is new is stored.

    A conversation is a session whose id names its source, such as "chatgpt:68a1...", and its
    messages keep their ids, so that a later export with more messages adds just those.

    Args:
        memory: an open memory.
        bank_id: the bank; made if there is none.
        path: an exported file or its archive (.zip), or a folder of session files (.jsonl).
        format: one of `FORMATS`; told by the content if None.
        user: name of the person who speaks as the user.
        progress: called with (conversations and items done, number of both), after each
            conversation and each batch of items.

    Raises:
        InvalidInputError: the file cannot be read, or is of no known format.
        HindsightError: a conversation could not be stored; those before it are.
    """
    validation.memory("memory", memory)
    read = [*read_transcripts(path, format=format, user=user)]
    results: list[RetainResult] = []
    items = [one for one in read if not isinstance(one, Transcript)]
    transcripts = [one for one in read if isinstance(one, Transcript)]
    for done, one in enumerate(transcripts, start=1):
        results.append(
            memory.retain_messages(
                bank_id,
                [_in_zone(each, memory.settings.zone) for each in one.messages],
                session=one.session,
                context=one.title or None,
                metadata={"source": one.source},
            )
        )
        if progress is not None:
            progress(done, len(read))
    if items:
        dated = [_in_zone(one, memory.settings.zone) for one in items]

        def report(done: int, _: int | None) -> None:
            if progress is not None:
                progress(len(transcripts) + done, len(read))

        results.append(memory.retain_many(bank_id, dated, progress=report))
    return ImportedTranscripts(len(transcripts), len(items), RetainResult.merged(bank_id, results))


def _in_zone(said: T, zone: tzinfo) -> T:
    """Return a message or item at the same time in the zone of the people who said it."""
    if not isinstance(said.timestamp, datetime):
        return said
    return replace(said, timestamp=in_zone(said.timestamp, zone))


def read_transcripts(
    path: str | os.PathLike[str], *, format: str | None = None, user: str = "user"
) -> Read:
    """Yield the conversations of an export, as transcripts, and its memories, as items.

    Args:
        path: an exported file or its archive (.zip), or a folder of session files (.jsonl).
        format: one of `FORMATS`; told by the content if None.
        user: name of the person who speaks as the user.

    Raises:
        InvalidInputError: the file cannot be read, or is of no known format.
    """
    validation.label("user", user)
    if format is not None:
        validation.choice("format", format, FORMATS)
    for name, text in _files(Path(validation.file_path("path", path))):
        data = _parsed(name, text)
        kind = format or _format_of(data)
        if kind is None:
            raise InvalidInputError(
                f"{name} is not a supported export; the formats are {', '.join(FORMATS)}"
            )
        try:
            for one in FORMATS[kind](data, user):
                if not isinstance(one, Transcript) or one.messages:
                    yield one
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"{name} is not a complete export of the format {kind!r}: {error!r}"
            ) from error


def _files(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file to read."""
    try:
        if path.is_dir():
            for file in sorted(path.rglob("*.jsonl")):
                yield str(file), file.read_text(encoding="utf-8")
        elif path.suffix.lower() == ".zip":
            with ZipFile(path) as archive:
                names = sorted(filter(_CONVERSATIONS.fullmatch, archive.namelist()))
                if not names:
                    raise InvalidInputError(f"{path} contains no conversations.json")
                for name in names:
                    yield f"{path}/{name}", archive.read(name).decode("utf-8")
        else:
            yield str(path), path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, BadZipFile) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error


def _parsed(name: str, text: str) -> Any:
    """Return the content of a JSON file; of JSON Lines, the list of its objects.

    The last line of a session that is being written may be cut off, and is left out.
    """
    if not name.endswith(".jsonl"):
        return validation.from_json(text, name)
    lines = [line for line in text.split("\n") if line.strip()]
    return [validation.from_json(line, name) for line in lines[:-1]] + _last(lines)


def _last(lines: list[str]) -> list[Any]:
    try:
        return [json.loads(line) for line in lines[-1:]]
    except (ValueError, RecursionError):
        return []


def _format_of(data: Any) -> str | None:
    """Return the format of an export, by the fields of its objects."""
    if isinstance(data, dict):
        if _LETTA.intersection(data):
            return "letta"
        data = data.get("results", data.get("memories"))
    if not isinstance(data, list):
        return None
    fields = {key for one in data[:20] if isinstance(one, dict) for key in one}
    for field, name in _TELLING.items():
        if field in fields:
            return name
    return None


_LETTA = frozenset(("agents", "core_memory", "passages", "archival_memory"))
"""Fields of which each tells an object of Letta."""

_TELLING = {
    "mapping": "chatgpt",
    "chat_messages": "claude",
    "sessionId": "claude-code",
    "payload": "codex",
    "parentId": "openclaw",
    "memory": "mem0",
    "archive_id": "letta",
}
"""A field that only objects of this format have."""


# Formats


def _chatgpt(data: Any, user: str) -> Read:
    for one in data:
        nodes: Mapping[str, Any] = one["mapping"]
        # The tree has a branch for each edit; the current one is what the user sees.
        at, branch = one.get("current_node"), []
        while at in nodes:
            branch.append(nodes[at].get("message"))
            at = nodes[at].get("parent")
        said = (
            _Said(
                message["id"],
                message["author"]["role"],
                _chatgpt_text(message),
                message.get("create_time"),
            )
            for message in reversed(branch)
            if message
        )
        id = one.get("conversation_id") or one["id"]
        yield _transcript("chatgpt", id, one.get("title"), said, one.get("create_time"), user)


def _chatgpt_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or {}
    hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if hidden or content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    return "\n".join(part for part in content.get("parts") or () if isinstance(part, str))


def _claude(data: Any, user: str) -> Read:
    for one in data:
        said = (
            _Said(each["uuid"], each["sender"], _text_of(each), each.get("created_at"))
            for each in one["chat_messages"]
        )
        begun = one.get("created_at")
        yield _transcript("claude", one["uuid"], one.get("name"), said, begun, user)


def _claude_code(data: Any, user: str) -> Read:
    sessions: dict[str, list[_Said]] = {}
    titles: dict[str, str] = {}
    for line in data:
        if line.get("type") not in _ROLES or line.get("isMeta") or line.get("isSidechain"):
            continue
        message = line["message"]
        said = _Said(
            line["uuid"], message["role"], message_text(message.get("content")), line["timestamp"]
        )
        sessions.setdefault(line["sessionId"], []).append(said)
        titles.setdefault(line["sessionId"], Path(line.get("cwd") or "").name)
    for id, said_in in sessions.items():
        yield _transcript("claude-code", id, titles[id], said_in, None, user)


def _codex(data: Any, user: str) -> Read:
    meta = next((line["payload"] for line in data if line.get("type") == "session_meta"), None)
    if meta is None:
        raise InvalidInputError("a Codex session must begin with a line of type 'session_meta'")
    said = (
        _Said(
            None,
            line["payload"].get("role"),
            message_text(line["payload"]["content"]),
            line["timestamp"],
        )
        for line in data
        if line.get("type") == "response_item" and line["payload"].get("type") == "message"
    )
    title = Path(meta.get("cwd") or "").name
    yield _transcript("codex", meta["id"], title, said, meta.get("timestamp"), user)


def _openclaw(data: Any, user: str) -> Read:
    head = next((line for line in data if line.get("type") == "session"), None)
    if head is None:
        raise InvalidInputError("an OpenClaw session must begin with a line of type 'session'")
    said = (
        _Said(
            line["id"],
            line["message"].get("role"),
            message_text(line["message"].get("content")),
            line.get("timestamp"),
        )
        for line in data
        if line.get("type") == "message"
    )
    title = Path(head.get("cwd") or "").name
    yield _transcript("openclaw", head["id"], title, said, head.get("timestamp"), user)


def _mem0(data: Any, user: str) -> Read:
    return iter(from_mem0(data))


def _letta(data: Any, user: str) -> Read:
    if isinstance(data, list):  # passages alone, as the API lists them
        data = {"passages": data}
    for block in data.get("blocks") or data.get("core_memory") or ():
        written = block.get("updated_at") or block.get("created_at")
        yield from _letta_note("block", block, block.get("value"), written, block.get("label"))
    yield from _letta_passages(data)
    for agent in data.get("agents") or [data]:
        if agent is not data:
            yield from _letta_passages(agent)
        said = (
            _Said(one.get("id"), one.get("role"), _letta_text(one), one.get("created_at"))
            for one in agent.get("messages") or ()
        )
        name = agent.get("name") or ""
        yield _transcript("letta", agent.get("id") or name, name, said, None, user)


def _letta_passages(holder: Mapping[str, Any]) -> Iterator[Item]:
    """Yield archival memory; a passage is dated by its creation, which Letta lets one set."""
    for one in holder.get("passages") or holder.get("archival_memory") or ():
        if not one.get("is_deleted"):
            yield from _letta_note("passage", one, one["text"], one.get("created_at"))


def _letta_note(
    kind: str, one: Mapping[str, Any], text: object, written: Any, label: str | None = None
) -> Iterator[Item]:
    """Yield a block or a passage as an item, if it has a text."""
    if validation.is_blank(str(text or "")):
        return
    yield Item(
        str(text),
        timestamp=_time(written),
        context=label,
        document_id=f"letta:{kind}:{one.get('id') or one['label']}",
        metadata=plain_metadata({"source": "letta", **(one.get("metadata") or {})}),
        tags=one.get("tags") or (),
    )


def _letta_text(message: Mapping[str, Any]) -> str:
    """Return what was said: events wrap a user's words in JSON, the agent's are sent by a tool."""
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        if function.get("name") == "send_message":
            arguments = validation.from_json(function["arguments"], "what send_message is given")
            return str(arguments["message"])
    text = _text_of(message)
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(event, dict) or "type" not in event:
        return text
    return str(event.get("message") or "") if event["type"] == "user_message" else ""


FORMATS: Mapping[str, Callable[[Any, str], Read]] = {
    "chatgpt": _chatgpt,
    "claude": _claude,
    "claude-code": _claude_code,
    "codex": _codex,
    "openclaw": _openclaw,
    "mem0": _mem0,
    "letta": _letta,
}
"""Readers of the parsed content of an export, by name of the format."""


# Conversations given as a text


_NOT_SAID = frozenset(("system", "developer", "tool", "toolResult", "function", "action"))
"""Roles of messages that neither the user nor the agent says."""

_MARKED = re.compile(r"\s*\[role: ([^\]\n]+)\]\n(.*?)\n\[\1:end\](?=\s|\Z)\s*", re.DOTALL)
"""A turn between lines that name its role."""

_LABELLED = re.compile(r"^(User|Assistant):", re.MULTILINE)
"""The start of a turn of a pair."""


def conversation_in(text: str, begun: datetime | None = None) -> tuple[Message, ...] | None:
    """Return what the user and the agent say in a text that is a conversation; None for others.

    It is one if all of it is a JSON list of messages, each with "role" and "content"; or such
    messages as JSON Lines; or turns between lines "[role: user]" and "[user:end]"; or pairs of
    "User: ..." and "Assistant: ...". The content is a text or blocks, of which those of text
    count; "timestamp" is ISO 8601.

    Args:
        text: as a client sends it.
        begun: when the messages before the first one with a time were said, if known.
    """
    marked = text.lstrip().startswith("[role:")
    given = _marked(text) if marked else _labelled(text) or _json_messages(text)
    try:
        if not given or any(one["role"] not in _ROLES.keys() | _NOT_SAID for one in given):
            return None
        said = [
            _Said(None, one["role"], message_text(one["content"]), one.get("timestamp"))
            for one in given
        ]
        return _transcript("", "", None, said, begun, "user").messages
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, InvalidInputError):
        return None  # of another form


def _json_messages(text: str) -> list[Any]:
    """Return the elements of a JSON list, or the values of JSON Lines; [] of another text."""
    if not text.lstrip().startswith(("[", "{")):
        return []
    try:
        if text.lstrip()[0] == "[":
            return list(json.loads(text))
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return []


def _marked(text: str) -> list[dict[str, str]]:
    """Return the marked turns that a text consists of; [] if it has more than these."""
    turns, at = [], 0
    while at < len(text):
        found = _MARKED.match(text, at)
        if found is None:
            return []
        turns.append({"role": found[1], "content": found[2]})
        at = found.end()
    return turns


def _labelled(text: str) -> list[dict[str, str]]:
    """Return the turns of a text that consists of pairs; [] of another text.

    A line of a turn that looks like the start of another leaves no pairs, or an odd one.
    """
    before, *parts = _LABELLED.split(text)
    labels = parts[::2]
    if before.strip() or labels != ["User", "Assistant"] * (len(labels) // 2):
        return []
    turns = zip(labels, parts[1::2], strict=True)
    return [{"role": label.lower(), "content": said} for label, said in turns]


# Shared by the formats


@dataclass(frozen=True, slots=True)
class _Said:
    """A message as exported; its time is seconds since 1970, ISO 8601 or None."""

    id: str | None
    role: str | None
    text: str
    time: float | str | None


def _text_of(message: Mapping[str, Any]) -> str:
    return message_text(message.get("content")) or message.get("text") or ""


def _transcript(
    source: str, id: str, title: str | None, said: Iterable[_Said], begun: Any, user: str
) -> Transcript:
    """Return a transcript; a message without a time was said at that of the one before."""
    messages: list[Message] = []
    last = _time(begun)
    for one in said:
        speaker = _ROLES.get(one.role or "")
        text = _INJECTED.sub("", one.text).strip()
        last = _time(one.time) or last
        if speaker is None or not text or text.startswith("# AGENTS.md instructions"):
            continue
        name = user if speaker == "user" else ASSISTANT
        messages.append(Message(name, text, last, None if one.id is None else str(one.id)))
    return Transcript(source, f"{source}:{id}", (title or "").strip(), tuple(messages))


def _time(value: Any) -> datetime | None:
    if value is None or value == "":
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInputError(f"the time {value!r} in the export is not ISO 8601") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
