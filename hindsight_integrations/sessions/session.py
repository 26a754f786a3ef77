"""A conversation as it happens: each message is stored at once, and retained in the background.

Storing is one small transaction; retaining reads, embeds and may ask a language model, so it runs
in a thread of its own. Its failures are counted, and never reach the chat.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import ClosedError, ConflictError, InvalidInputError
from hindsight_integrations.models import Message, RecordPart
from hindsight_integrations.normalization import new_id
from hindsight_integrations.results import RecallResult, RetainResult
from hindsight_integrations.sessions.conversation import Conversation, Record

WINDOW = 6
"""Messages that are retained together."""

EVERY = 2
"""Number of messages from one retain to the next: a turn of each side."""

_PART: RecordPart = "messages"
"""Part of the session; its retained messages are a document with the id of the session."""


class Session(Conversation):
    """One conversation with a bank behind it. Threads may share it.

    Every message is stored before `add_message` returns, in the bank's own store, so that it
    outlives the process; `messages` reads it back. Only retained messages become memories that
    recall finds: with `auto_retain` in the background, or all at once with `retain`. A retain in
    the background that fails is counted in `failures`, and the next one includes its messages.
    Messages after the last automatic retain stay stored when the session is closed, and are
    retained by `retain` or when the session goes on.

    Args:
        memory: an open `Hindsight`, which its owner closes after the session.
        bank_id: the bank; created if there is none.
        session_id: your id of the conversation. A known one goes on where it stopped.
        auto_retain: after every `every` messages, retain the last `window`. Of messages retained
            before, only those that new ones answer are read again. May be changed at any time:
            `session.auto_retain = True`.
        window: number of messages, of all speakers, that are retained together. If it is less
            than `every`, or `roles` leaves more between, some are never retained automatically.
        every: number of messages from one automatic retain to the next.
        roles: only messages of these speakers count for `every`; all if None. Every message is
            stored, and retained with the window it is in.
        context, metadata, tags, scope: of all memories; see `Hindsight.retain_messages`.

    Raises:
        InvalidInputError: an argument cannot be used.
        EmbedderMismatchError: the bank's vectors come from another embedder.
        StoreError: the messages cannot be read or written.

    Examples:
        >>> with Hindsight.in_memory() as memory, Session(memory, "alice") as session:
        ...     _ = session.add_message("user", "I moved to Lisbon in May.")
        ...     _ = session.retain()
        ...     print(session.recall("Where does she live?").memories[0].memory.text)
        I moved to Lisbon in May.
    """

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str,
        session_id: str | None = None,
        *,
        auto_retain: bool = False,
        window: int = WINDOW,
        every: int = EVERY,
        roles: Iterable[str] | None = None,
        context: str | None = None,
        metadata: Mapping[str, object] | None = None,
        tags: Sequence[str] = (),
        scope: str | None = None,
    ) -> None:
        super().__init__("hindsight-session")
        self.bank_id = validation.bank_id(bank_id)
        self.session_id = new_id("session-") if session_id is None else session_id
        self._memory = validation.memory("memory", memory)
        self._retain = partial(
            memory.retain_messages,
            self.bank_id,
            session=self.session_id,
            context=None if context is None else validation.text(context, "context"),
            metadata=validation.metadata(metadata),
            tags=validation.tags(tags),
            scope=validation.label_or_none("scope", scope),
        )
        self.auto_retain = auto_retain
        self._every = validation.positive("every", every)
        self._roles = None if roles is None else _folded(roles)
        self._record = Record(memory.storage, self.bank_id, self.session_id, _PART, Message)
        stored = self.messages
        self._count = len(stored)
        self._reached = sum(map(self._counts, stored))
        self._window = deque(stored, maxlen=validation.positive("window", window))

    @property
    def auto_retain(self) -> bool:
        """True if messages are retained in the background.

        It may be set while the session runs. Messages that came while it was off are retained
        with the next window as far as it reaches back, and by `retain`.
        """
        return self._auto_retain

    @auto_retain.setter
    def auto_retain(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise InvalidInputError(f"auto_retain is {validation.shown(value)}; give True or False")
        self._auto_retain = value

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the session, in the order they were added."""
        return tuple(self._record.items().values())

    def add_message(
        self,
        speaker: str,
        text: str,
        timestamp: datetime | None = None,
        *,
        id: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> Message:
        """Store a message; it is on disk when this returns.

        Args:
            speaker: a name, or a role such as "user" or "assistant".
            text: what was said.
            timestamp: when; now if not given, and in `settings.timezone` if it carries no
                timezone.
            id: your id of the message. The same message again changes nothing.
            metadata: for filtering in recall.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was stored.
            ConflictError: the session has another message of this id.
            StoreError: it could not be stored.
        """
        message = Message(
            speaker=validation.label("speaker", speaker),
            text=validation.content(text, self._memory.settings.max_content_chars),
            timestamp=validation.time_or_now("timestamp", timestamp, self._memory.settings.zone),
            id=new_id("msg-") if id is None else validation.label("id", id),
            metadata=validation.metadata(metadata),
        )
        with self._turn:
            if self._closed:
                raise ClosedError(f"session {self.session_id!r} is closed; open a new one")
            stored = self._record.append(str(message.id), message)
            if stored is not message:
                return self._same(stored, message)
            self._count += 1
            self._window.append(message)
            if self._counts(message):
                self._reached += 1
                if self._auto_retain and self._reached % self._every == 0:
                    self._tasks.submit(partial(self._retain_window, tuple(self._window)))
        return message

    def retain(self) -> RetainResult:
        """Retain all messages that are not retained yet, now.

        Raises:
            ExtractionError, EmbeddingError, StoreError: it failed; nothing was stored.
        """
        return self._retain(self.messages)

    def recall(self, /, query: str, **options: Any) -> RecallResult:
        """Recall from the bank; takes what `Hindsight.recall` takes."""
        return self._memory.recall(self.bank_id, query, **options)

    def __repr__(self) -> str:
        return (
            f"Session({self.bank_id!r}, {self.session_id!r}, messages={self._count}, "
            f"failures={self.failures})"
        )

    def _retain_window(self, window: Sequence[Message]) -> None:
        if self._record.exists():  # else the session was forgotten while the window waited
            self._retain(window)

    def _counts(self, message: Message) -> bool:
        return self._roles is None or message.speaker.casefold() in self._roles

    def _same(self, stored: Message, given: Message) -> Message:
        if (stored.speaker, stored.text) == (given.speaker, given.text):
            return stored
        raise ConflictError(
            f"session {self.session_id!r} already has another message with id {given.id!r}; "
            "give each message its own id, or none"
        )

    aadd_message = async_variant(add_message)
    aretain = async_variant(retain)
    arecall = async_variant(recall)


def _folded(roles: Iterable[str]) -> frozenset[str]:
    given = validation.items_or_one("roles", roles, "a list of roles")
    return frozenset(validation.label("a role", role).casefold() for role in given)
