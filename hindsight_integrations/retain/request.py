"""Validate a text or conversation to retain, and convert both to one form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast, get_args

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import MemoryType, Message, Metadata, as_datetime
from hindsight_integrations.normalization import new_id
from hindsight_integrations.retain.fence import strip_fenced
from hindsight_integrations.retain.file_dates import (
    DateSource,
    Section,
    date_changes,
    dated_sections,
    file_date,
)
from hindsight_integrations.retain.markdown import front_matter, markdown_sections
from hindsight_integrations.timespan import as_utc, in_zone, with_offset

UpdateMode: TypeAlias = Literal["replace", "append"]

_SPEAKERS = {
    "human": "user",
    "HumanMessageChunk": "user",
    "user": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "assistant": "assistant",
    "model": "assistant",
}
"""Speaker by LangChain's type of a message, LlamaIndex's role, or that of a chat API."""

_UNSAID = frozenset({"system", "developer", "tool", "function"})
"""Roles of a chat API whose messages are said by neither the user nor the agent."""

_ENVELOPE = frozenset(
    {
        "annotations",
        "audio",
        "function_call",
        "model",
        "reasoning",
        "reasoning_content",
        "refusal",
        "status",
        "stop_reason",
        "stop_sequence",
        "tool_call_id",
        "tool_calls",
        "type",
        "usage",
    }
)
"""Other fields of messages of OpenAI's and Anthropic's APIs, which contain no spoken text."""

_TEXT_PARTS = ("text", "input_text", "output_text")
"""Types of the content parts of a chat API that contain text."""

SPACING = timedelta(microseconds=1)
"""Interval between messages without their own time; keeps their order."""


@dataclass(frozen=True, slots=True)
class Item:
    """One text to retain, as given to `retain_many`; see `Hindsight.retain`.

    Attributes:
        file: path or name of the file that the text comes from. Without a `timestamp` the date is
            taken from the name, the front matter, the first heading or `modified`, in this order;
            a heading that is a date applies to the text below it.
        modified: when the file was last changed. A new time alone does not change the document.
        markdown: True to cut the text at Markdown headings and list items. The headings above a
            section become its context, after `context`; front matter becomes metadata.
    """

    content: str
    timestamp: datetime | date | str | None = None
    context: str | None = None
    document_id: str | None = None
    metadata: Mapping[str, object] | None = field(default=None, hash=False)
    tags: Sequence[str] = ()
    entities: Sequence[str] = ()
    type: MemoryType | str | None = None
    confidence: float | None = None
    update_mode: UpdateMode = "replace"
    expires_at: datetime | None = None
    scope: str | None = None
    id: str | None = None
    speaker: str | None = None
    file: str | None = None
    modified: datetime | None = None
    markdown: bool = False

    def __post_init__(self) -> None:
        for name in ("tags", "entities"):
            given = getattr(self, name)
            if isinstance(given, Iterator):  # read more than once: to check it, and to store it
                object.__setattr__(self, name, tuple(given))


@dataclass(frozen=True, slots=True)
class SharedFields:
    """Fields that all memories of one retain share.

    `is_of_request` is True if the metadata describes the request, such as when it was sent: a turn
    given again with different metadata of this kind is still the same turn.
    """

    context: str | None = None
    metadata: Metadata = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    type: MemoryType | None = None
    confidence: float | None = None
    expires_at: datetime | None = None
    scope: str | None = None
    is_of_request: bool = False

    @property
    def identifying(self) -> Metadata:
        """The metadata that distinguishes turns."""
        return {} if self.is_of_request else self.metadata


@dataclass(frozen=True, slots=True)
class Turn:
    """A text, or one message of a conversation.

    `mentioned_at` is in the zone in which it was said, which tells the day that "today" is. `dated`
    is True if the caller gave it; `reference` is the caller's id of the message; `context` replaces
    the shared context.
    """

    text: str
    mentioned_at: datetime
    dated: bool
    speaker: str | None = None
    reference: str | None = None
    metadata: Metadata = field(default_factory=dict)
    context: str | None = None

    @property
    def said_at(self) -> datetime:
        """When it was said, with the offset from UTC of its zone."""
        return with_offset(self.mentioned_at)

    def context_in(self, shared: SharedFields) -> str | None:
        """Return its own context, or the one shared by all turns of the retain."""
        return self.context or shared.context


@dataclass(frozen=True, slots=True)
class Submission:
    """A document to retain: one text, or the turns of a conversation, in order.

    Attributes:
        is_conversation: True for the turns of a conversation; False for a text, which may have a
            speaker too.
        is_named: False for a conversation without an id from the caller.
        stamp: the fields that all turns share; waiting queues and clients have it by this name.
        replayed: turns before `turns` that are already stored.
        is_window: True if `turns` are the latest turns of the conversation: the first of them may
            already be stored; the others are new, even if they repeat a stored turn.
    """

    document_id: str
    turns: tuple[Turn, ...]
    stamp: SharedFields
    mode: UpdateMode
    is_conversation: bool
    is_named: bool = True
    replayed: tuple[Turn, ...] = ()
    is_window: bool = False

    @property
    def fingerprint(self) -> str:
        """Hash of everything that determines its memories."""
        return digest(*(turn_digest(turn, self.stamp) for turn in self.turns))

    @property
    def is_spoken(self) -> bool:
        """True if somebody is known to say it."""
        return any(turn.speaker is not None for turn in self.turns)


def digest(*parts: object) -> str:
    """Return a hash of the values' texts; no two lists of values are joined to the same text."""
    escaped = (str(part).replace("\x1e", "\x1e0").replace("\x1f", "\x1e1") for part in parts)
    joined = "\x1f".join(escaped).encode(errors="replace")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def turn_digest(turn: Turn, shared: SharedFields) -> str:
    """Return a hash of a turn and the shared fields; the time counts only if the caller gave it."""
    timestamp = as_utc(turn.mentioned_at).isoformat() if turn.dated else ""
    metadata = sorted({**shared.identifying, **turn.metadata}.items())
    return digest(
        turn.text, turn.speaker, timestamp, turn.reference, metadata, turn.context_in(shared),
        shared.tags,
        shared.entities, shared.type, shared.confidence, shared.expires_at, shared.scope,
    )  # fmt: skip


def text_submission(item: Item, max_chars: int, zone: tzinfo = UTC) -> Submission:
    """Return the submission of a text; times that carry no zone are in `zone`.

    Raises:
        InvalidInputError: an argument cannot be used.
    """
    if not isinstance(item.content, str):
        raise InvalidInputError(
            f"content is {validation.shown(item.content)}; give text (str), or a LangChain "
            "or LlamaIndex document; for messages use retain_messages, for several texts "
            "retain_many, for a Memory retain_memory"
        )
    clean = strip_fenced(validation.content(item.content, max_chars))
    turn = Turn(
        text=validation.content(clean, max_chars) if clean.strip() else clean,
        mentioned_at=validation.time_or_now("timestamp", item.timestamp, zone),
        dated=item.timestamp is not None,
        speaker=validation.label_or_none("speaker", item.speaker),
        reference=validation.label_or_none("id", item.id),
    )
    turns = _sections(item, turn, zone)
    if item.markdown:
        fields = {**front_matter(clean), **validation.metadata(item.metadata)}
        item = replace(item, metadata=fields)
    return Submission(
        document_id=_document_id(item.document_id),
        turns=turns if clean.strip() else (),
        stamp=_shared_fields(item, zone),
        mode=_mode(item.update_mode),
        is_conversation=False,
    )


def _sections(item: Item, turn: Turn, zone: tzinfo) -> tuple[Turn, ...]:
    """Return the turn with the date of its file, cut at date headings or as Markdown."""
    date = None
    name = validation.label_or_none("file", item.file)
    modified = validation.timestamp("modified", item.modified, zone)
    if modified is not None:
        modified = in_zone(modified, zone)
    is_dated = name is not None and not turn.dated
    if name is not None and is_dated:
        date = file_date(name, turn.text, modified, zone)
    if date is not None:
        given = date.source is not DateSource.MODIFIED
        turn = replace(turn, mentioned_at=date.timestamp, dated=given)
    if item.markdown:
        changes = date_changes(turn.text, date, zone) if is_dated else []
        return tuple(_markdown_turns(item, turn, changes))
    sections = dated_sections(turn.text, date, zone) if is_dated else [Section(turn.text, None)]
    return tuple(_dated(turn, section.text, section.timestamp) for section in sections)


def _markdown_turns(
    item: Item, turn: Turn, changes: Sequence[tuple[int, datetime | None]]
) -> Iterator[Turn]:
    """Yield the sections of a Markdown text, each with its headings and the date that applies."""
    for section in markdown_sections(turn.text):
        end = section.start + len(section.text)
        inside = [offset for offset, _ in changes if section.start < offset < end]
        # As sentences: within one, the capital of a heading would make a name of any word.
        context = ". ".join(filter(None, (item.context, *section.headings)))
        for start, stop in pairwise((section.start, *inside, end)):
            dates = [timestamp for offset, timestamp in changes if offset <= start]
            own = replace(turn, context=context) if section.headings else turn
            if turn.text[start:stop].strip():
                yield _dated(own, turn.text[start:stop], dates[-1] if dates else None)


def _dated(turn: Turn, text: str, timestamp: datetime | None) -> Turn:
    """Return a part of a turn, said at a time of its own if it has one."""
    return replace(
        turn,
        text=text,
        mentioned_at=timestamp or turn.mentioned_at,
        dated=turn.dated or timestamp is not None,
    )


def conversation_submission(
    messages: Sequence[object],
    *,
    session: str | None,
    shared: Item,
    max_chars: int,
    zone: tzinfo = UTC,
) -> Submission:
    """Return the submission of a conversation, given as `Message`s or mappings like them.

    `session` is the caller's id of it, `shared` has the fields that all messages share, and times
    that carry no zone are in `zone`.

    Raises:
        InvalidInputError: a message cannot be used.
    """
    turns: list[Turn] = []
    now = validation.time_or_now("timestamp", None, zone)
    for number, message in enumerate(as_messages(messages)):
        text = strip_fenced(validation.text(message.text, f"messages[{number}].text"))
        if validation.is_blank(text):
            continue
        validation.content(text, max_chars)
        timestamp = validation.timestamp(f"messages[{number}].timestamp", message.timestamp, zone)
        turns.append(
            Turn(
                text=text,
                mentioned_at=timestamp or now + number * SPACING,
                dated=timestamp is not None,
                speaker=validation.label(f"messages[{number}].speaker", message.speaker),
                reference=validation.label_or_none(f"messages[{number}].id", message.id),
                metadata=validation.metadata(message.metadata),
            )
        )
    return Submission(
        document_id=_document_id(session, "session"),
        turns=tuple(turns),
        stamp=_shared_fields(shared, zone),
        mode=_mode(shared.update_mode),
        is_conversation=True,
        is_named=session is not None,
    )


def as_messages(messages: Sequence[object]) -> list[Message]:
    """Return the messages of a conversation in any form that `Hindsight.retain_messages` accepts.

    Raises:
        InvalidInputError: one is not a message.
    """
    if isinstance(_history_of(messages), list | tuple):
        raise InvalidInputError(
            f"messages is of the type {type(messages).__name__}, which has messages; give these"
        )
    if isinstance(messages, Mapping | Message):
        raise InvalidInputError("messages is a single value; give a list of messages")
    validation.not_a_table("messages", messages)
    given = validation.items("messages", messages, "a list of messages")
    return [_message(each, number) for number, each in enumerate(given)]


def _history_of(value: object) -> object:
    """Return the messages of a chat history or of a state that holds messages."""
    if isinstance(value, Mapping):
        return value.get("messages")
    return getattr(value, "messages", None)


def _message(given: object, number: int) -> Message:
    if isinstance(given, Message):
        return given
    if isinstance(given, Mapping):
        return _written_message(given) or _mapped_message(given, number)
    if (message := _foreign_message(given)) is not None:
        return message
    raise InvalidInputError(
        f"messages[{number}] is {validation.shown(given)}; give a Message, a mapping "
        "with 'speaker' and 'text', or a LangChain or LlamaIndex message"
    )


def _mapped_message(given: Mapping[Any, Any], number: int) -> Message:
    """Return a message from a mapping like `Message`, or a message of a chat API."""
    known = {"role": "speaker", "content": "text", "time": "timestamp"}
    named = {
        known.get(key, key): value
        for key, value in given.items()
        if value is None or not validation.is_missing(value)  # an empty cell of a table
    }
    if "role" in given:
        named = {key: value for key, value in named.items() if key not in _ENVELOPE}
        role, name = given["role"], named.pop("name", given.get("speaker"))
        named["speaker"] = _SPEAKERS.get(role, role) if isinstance(role, str) else role
        if name is not None and named["speaker"] == "user":
            named["speaker"] = name
        if "text" in named or not _ENVELOPE.isdisjoint(given):  # a call of a tool has no content
            named["text"] = "" if role in _UNSAID else message_text(named.get("text"))
    try:
        return Message(**named)
    except TypeError as error:
        raise InvalidInputError(
            f"messages[{number}] has the fields {sorted(map(str, given))}; give 'speaker' "
            "and 'text' (or 'role' and 'content', as in chat APIs), and optionally "
            "'timestamp', 'id' and 'metadata'"
        ) from error


def message_text(content: object) -> Any:
    """Return the text of a chat API's content: that of its text parts; "" for None."""
    if content is None:
        return ""
    if not isinstance(content, list | tuple):
        return content
    parts = (part for part in content if isinstance(part, Mapping))
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") in _TEXT_PARTS)


def _foreign_message(value: object) -> Message | None:
    """Return a LangChain message or a LlamaIndex `ChatMessage`; None for other objects.

    The text is blank, so that nothing is retained, unless it was said by the user or the agent.
    """
    kind = getattr(value, "role", None) or getattr(value, "type", None)
    if not isinstance(kind, str) or not hasattr(value, "content"):
        return None
    said: Any = value
    text = said.text if isinstance(getattr(said, "text", None), str) else said.content
    role = str(getattr(kind, "value", kind))
    return _said(role, getattr(said, "name", None), text, getattr(said, "id", None))


def _written_message(given: Mapping[Any, Any]) -> Message | None:
    """Return a message of LangChain from the JSON it is kept in; None for other mappings.

    `messages_to_dict` and the files of chat histories have the fields in `data`, beside the type.
    """
    fields = given["data"] if isinstance(given.get("data"), Mapping) else given
    kind = fields.get("role") if given.get("type") == "chat" else given.get("type")
    if not isinstance(kind, str) or kind not in _SPEAKERS.keys() | _UNSAID:
        return None
    if "content" not in fields or not {"role", "speaker"}.isdisjoint(given):
        return None
    return _said(kind, fields.get("name"), message_text(fields["content"]), fields.get("id"))


def _said(role: str, name: Any, text: Any, id: Any) -> Message:
    """Return a message of a framework; blank, unless the user or the agent said it."""
    speaker = _SPEAKERS.get(role)
    named = name if speaker == "user" else None
    return Message(named or speaker or "system", str(text or "") if speaker else "", id=id)


def _document_id(given: str | None, what: str = "document_id") -> str:
    return new_id("doc-") if given is None else validation.label(what, given)


def _mode(mode: str) -> UpdateMode:
    for allowed in get_args(UpdateMode):
        if isinstance(mode, str) and mode == allowed:
            return cast(UpdateMode, allowed)
    raise InvalidInputError(f"update_mode is {validation.shown(mode)}; give 'replace' or 'append'")


def _shared_fields(item: Item, zone: tzinfo) -> SharedFields:
    context, expires_at = item.context, validation.timestamp("expires_at", item.expires_at, zone)
    if context is not None:
        context = validation.text(context, "context", most=validation.MAX_CONTEXT)
    return SharedFields(
        context=context,
        metadata=validation.metadata(item.metadata),
        tags=validation.tags(item.tags),
        entities=validation.entities(item.entities),
        type=None if item.type is None else validation.memory_type(item.type),
        confidence=validation.confidence(item.confidence),
        expires_at=None if expires_at is None else as_datetime(expires_at),
        scope=validation.label_or_none("scope", item.scope),
    )
