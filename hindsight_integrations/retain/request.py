"""What is to be retained, checked at the door and put in one form for text and conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from hindsight_integrations import checks
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.model import MemoryType, Message, Metadata, as_moment
from hindsight_integrations.naming import new_id
from hindsight_integrations.retain.fence import strip_fenced

UpdateMode: TypeAlias = Literal["replace", "append"]

SPACING = timedelta(microseconds=1)
"""Between messages that carry no time of their own: keeps their order."""


@dataclass(frozen=True, slots=True)
class Item:
    """One text to retain, as a caller gives it to `retain_many`; see `Hindsight.retain`."""

    content: str
    timestamp: datetime | None = None
    context: str | None = None
    document_id: str | None = None
    metadata: Mapping[str, object] | None = None
    tags: Sequence[str] = ()
    entities: Sequence[str] = ()
    type: MemoryType | str | None = None
    confidence: float | None = None
    update_mode: UpdateMode = "replace"
    expires_at: datetime | None = None
    scope: str | None = None
    id: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Stamp:
    """What all memories of one retain share."""

    context: str | None = None
    metadata: Metadata = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    type: MemoryType | None = None
    confidence: float | None = None
    expires_at: datetime | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A text, or one message of a conversation.

    `dated` tells whether the caller gave the time; `reference` is the caller's id of it.
    """

    text: str
    mentioned_at: datetime
    dated: bool
    speaker: str | None = None
    reference: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """A document to retain: one text, or the turns of a conversation, in order."""

    document_id: str
    turns: tuple[Turn, ...]
    stamp: Stamp
    mode: UpdateMode
    is_conversation: bool

    @property
    def fingerprint(self) -> str:
        """Hash of everything its memories are made of."""
        return digest(*(turn_digest(turn, self.stamp) for turn in self.turns))


def digest(*parts: object) -> str:
    """Hash of some values' texts."""
    joined = "\x1f".join(map(str, parts)).encode(errors="replace")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def turn_digest(turn: Turn, stamp: Stamp) -> str:
    """Hash of a turn and its stamp; the moment counts only if the caller gave it."""
    moment = turn.mentioned_at.isoformat() if turn.dated else ""
    metadata = sorted({**stamp.metadata, **turn.metadata}.items())
    return digest(
        turn.text, turn.speaker, moment, turn.reference, metadata, stamp.context, stamp.tags,
        stamp.entities, stamp.type, stamp.confidence, stamp.expires_at, stamp.scope,
    )  # fmt: skip


def text_submission(item: Item, max_chars: int) -> Submission:
    """A text, checked.

    Raises:
        InvalidInputError: an argument cannot be used; the message says which and why.
    """
    clean = strip_fenced(checks.content(item.content, max_chars))
    turn = Turn(
        text=checks.content(clean, max_chars) if clean.strip() else clean,
        mentioned_at=as_moment(checks.moment("timestamp", item.timestamp)),
        dated=item.timestamp is not None,
        speaker=None if item.speaker is None else checks.label("speaker", item.speaker),
        reference=None if item.id is None else checks.label("id", item.id),
    )
    return Submission(
        document_id=_document_id(item.document_id),
        turns=(turn,) if clean.strip() else (),
        stamp=_stamp(item),
        mode=_mode(item.update_mode),
        is_conversation=item.speaker is not None,
    )


def conversation_submission(
    messages: Sequence[Message | Mapping[str, object]],
    *,
    session: str | None,
    stamp: Item,
    max_chars: int,
) -> Submission:
    """A conversation, checked. Messages may be `Message`s or mappings with the same names.

    Raises:
        InvalidInputError: a message cannot be used; the message says which and why.
    """
    if isinstance(messages, str | Mapping | Message):
        raise InvalidInputError("messages is a single value; give a list of messages")
    turns: list[Turn] = []
    now = as_moment(None)
    for number, given in enumerate(messages):
        message = _message(given, number)
        text = strip_fenced(checks.text(message.text, f"messages[{number}].text"))
        if checks.is_blank(text):
            continue
        checks.content(text, max_chars)
        moment = checks.moment(f"messages[{number}].timestamp", message.timestamp)
        turns.append(
            Turn(
                text=text,
                mentioned_at=as_moment(moment) if moment else now + number * SPACING,
                dated=moment is not None,
                speaker=checks.label(f"messages[{number}].speaker", message.speaker),
                reference=None if message.id is None else checks.label("id", message.id),
                metadata=checks.metadata(message.metadata),
            )
        )
    return Submission(
        document_id=_document_id(session, "session"),
        turns=tuple(turns),
        stamp=_stamp(stamp),
        mode=_mode(stamp.update_mode),
        is_conversation=True,
    )


def _message(given: Message | Mapping[str, object], number: int) -> Message:
    if isinstance(given, Message):
        return given
    if isinstance(given, Mapping):
        known = {"role": "speaker", "content": "text", "time": "timestamp"}
        named = {known.get(key, key): value for key, value in given.items()}
        if isinstance(stamp := named.get("timestamp"), str):
            named["timestamp"] = _iso(stamp, number)
        try:
            return Message(**named)  # type: ignore[arg-type]
        except TypeError as error:
            raise InvalidInputError(
                f"messages[{number}] has the fields {sorted(given)}; give 'speaker' and 'text', "
                "and if you like 'timestamp', 'id' and 'metadata'"
            ) from error
    raise InvalidInputError(
        f"messages[{number}] is a {type(given).__name__}; give a Message, or a mapping with "
        "'speaker' and 'text'"
    )


def _iso(text: str, number: int) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(
            f"messages[{number}].timestamp is {text!r}; give ISO 8601, such as 2024-05-07T13:56"
        ) from error


def _document_id(given: str | None, what: str = "document_id") -> str:
    return new_id("doc-") if given is None else checks.label(what, given)


def _mode(mode: str) -> UpdateMode:
    if mode == "replace":
        return "replace"
    if mode == "append":
        return "append"
    raise InvalidInputError(f"update_mode is {mode!r}; give 'replace' or 'append'")


def _stamp(item: Item) -> Stamp:
    expires_at = checks.moment("expires_at", item.expires_at)
    return Stamp(
        context=None if item.context is None else checks.text(item.context, "context"),
        metadata=checks.metadata(item.metadata),
        tags=checks.tags(item.tags),
        entities=tuple(checks.label("an entity", name) for name in item.entities),
        type=None if item.type is None else checks.memory_type(item.type),
        confidence=checks.confidence(item.confidence),
        expires_at=None if expires_at is None else as_moment(expires_at),
        scope=None if item.scope is None else checks.label("scope", item.scope),
    )
