"""A conversation as it happens: each message is kept at once, and retained behind the scenes.

Keeping is one small transaction; retaining reads, embeds and may ask a language model, so it runs
in a thread of its own. What goes wrong there is counted, and never reaches the chat.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import Closing, twin
from hindsight_integrations.conversation.background import Tasks
from hindsight_integrations.conversation.record import Record
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import ClosedError, ConflictError
from hindsight_integrations.model import Message, as_moment
from hindsight_integrations.naming import new_id
from hindsight_integrations.results import RecallResult, RetainResult

WINDOW = 6
"""Messages that are read together."""

EVERY = 2
"""Messages from one reading to the next: a turn of each side."""

_PART = "messages"
"""Of the session; what is retained of it is a document of its own, named as the session is."""


class Session(Closing):
    """One conversation with a bank behind it. Threads may share it.

    Every message is stored before `add_message` returns, in the bank's own store, so that it
    outlives the process; `messages` reads it back. Only what is retained becomes memories that
    recall finds: with `auto_retain` in the background, or all at once with `retain`.

    Args:
        memory: an open `Hindsight`, which stays its owner's. Close the session first.
        bank_id: which bank; made if there is none.
        session_id: your id of the conversation. One that is known goes on where it stopped.
        auto_retain: whether every `every` messages the last `window` are retained. Messages that
            were retained before are not read again, only those they are an answer to.
        window: how many messages are read together. If it is less than `every`, some are never
            retained by themselves.
        every: how many messages are added between two readings.
        roles: only messages of these speakers count for `auto_retain` and are retained; all if
            None. Every message is stored.
        context, metadata, tags, scope: of all memories; see `Hindsight.retain_messages`.

    Raises:
        InvalidInputError: an argument cannot be used.
        EmbedderMismatchError: the bank's vectors come from another embedder.
        StoreError: the messages cannot be read or written.

    Example:
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
        self.bank_id = checks.bank_id(bank_id)
        self.session_id = new_id("session-") if session_id is None else session_id
        self._memory = memory
        self._retain = partial(
            memory.retain_messages,
            self.bank_id,
            session=self.session_id,
            context=None if context is None else checks.text(context, "context"),
            metadata=checks.metadata(metadata),
            tags=checks.tags(tags),
            scope=None if scope is None else checks.label("scope", scope),
        )
        self._auto_retain = auto_retain
        self._every = checks.positive("every", every)
        self._roles = None if roles is None else _folded(roles)
        self._turn = Lock()  # guards everything below
        self._record = Record(memory._core, self.bank_id, self.session_id, _PART, Message)
        stored = self.messages
        retained = list(filter(self._is_retained, stored))
        self._count = len(stored)
        self._reached = len(retained)
        self._window = deque(retained, maxlen=checks.positive("window", window))
        self._closed = False
        self._tasks = Tasks("hindsight-session")

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the session, in the order they were added."""
        return tuple(self._record.items().values())

    @property
    def failures(self) -> int:
        """Readings in the background that failed. The next one takes up what they left."""
        return self._tasks.failures

    @property
    def last_error(self) -> Exception | None:
        """Why the last of them failed."""
        return self._tasks.last_error

    def add_message(
        self,
        speaker: str,
        text: str,
        timestamp: datetime | None = None,
        *,
        id: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> Message:
        """Store a message; it is safe when this returns.

        Args:
            speaker: a name, or a role such as "user" or "assistant".
            text: what was said.
            timestamp: when; now if not given, and UTC if it carries no timezone.
            id: your id of the message. The same message again changes nothing.
            metadata: for filtering in recall.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was stored.
            ConflictError: the session has another message of this id.
            StoreError: it could not be stored.
        """
        message = Message(
            speaker=checks.label("speaker", speaker),
            text=checks.content(text, self._memory._core.settings.max_content_chars),
            timestamp=as_moment(checks.moment("timestamp", timestamp)),
            id=new_id("msg-") if id is None else checks.label("id", id),
            metadata=checks.metadata(metadata),
        )
        with self._turn:
            if self._closed:
                raise ClosedError(f"session {self.session_id!r} is closed; open it anew")
            stored = self._record.append(str(message.id), message)
            if stored is not message:
                return self._same(stored, message)
            self._count += 1
            if self._is_retained(message):
                self._reached += 1
                self._window.append(message)
                if self._auto_retain and self._reached % self._every == 0:
                    self._tasks.submit(partial(self._read, tuple(self._window)))
        return message

    def retain(self) -> RetainResult:
        """Retain what of the session is not retained yet, now; `roles` holds here too.

        Raises:
            ExtractionError, EmbeddingError, StoreError: it failed; nothing was stored.
        """
        return self._retain([message for message in self.messages if self._is_retained(message)])

    def recall(self, /, query: str, **options: Any) -> RecallResult:
        """What the bank knows of a question; takes what `Hindsight.recall` takes."""
        return self._memory.recall(self.bank_id, query, **options)

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Wait until what was to be retained by now is, or failed; whether `timeout` sufficed."""
        return self._tasks.wait(timeout)

    def close(self) -> None:
        """Wait until nothing is left to do in the background. Twice is harmless.

        Messages that came after the last reading are stored, but retained only by `retain`, or
        when the session goes on.
        """
        with self._turn:
            self._closed = True
        self._tasks.close()

    def __repr__(self) -> str:
        return (
            f"Session({self.bank_id!r}, {self.session_id!r}, messages={self._count}, "
            f"failures={self.failures})"
        )

    def _read(self, window: Sequence[Message]) -> None:
        if self._record.exists():  # else all was forgotten while the window waited
            self._retain(window)

    def _is_retained(self, message: Message) -> bool:
        return self._roles is None or message.speaker.casefold() in self._roles

    def _same(self, stored: Message, given: Message) -> Message:
        if (stored.speaker, stored.text) == (given.speaker, given.text):
            return stored
        raise ConflictError(
            f"session {self.session_id!r} has another message {given.id!r}; give each an id of "
            "its own, or none"
        )

    aadd_message = twin(add_message)
    aretain = twin(retain)
    arecall = twin(recall)
    await_idle = twin(wait_idle)
    aclose = twin(close)


def _folded(roles: Iterable[str]) -> frozenset[str]:
    given = [roles] if isinstance(roles, str) else roles
    return frozenset(checks.label("a role", role).casefold() for role in given)
