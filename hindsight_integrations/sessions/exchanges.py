"""Exchanges of a conversation: a query and its replies, which are kept or dropped together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

RECENCY = 0.6
"""Weight of an exchange said at this time."""
SUBSTANCE = 0.4
"""Weight that the length of an exchange adds, at most."""
FADING = timedelta(hours=24)
"""Age at which the weight of recency has halved."""
FULL_CHARS = 500
"""Characters from which a longer text adds no weight."""

ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "agent": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
}
"""Speakers, in lower case, with their role for a chat model. All others are users with a name."""


def is_reply(speaker: str) -> bool:
    """Return True if this speaker replies: the assistant."""
    return ROLES.get(speaker.casefold()) == "assistant"


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """Something said or seen.

    Attributes:
        id: made by `ReflectionMemory`.
        speaker: a name, or a role such as "user".
        text: what was said.
        timestamp: when.
        importance: 0 to 1 if the caller gave one; None to weigh by age and length.
        reflected: True if a reflection has read it.
        exchange: id of the exchange it belongs to; its own id if "".
    """

    id: str
    speaker: str
    text: str
    timestamp: datetime
    importance: float | None = None
    reflected: bool = False
    exchange: str = ""

    def weight(self, now: datetime) -> float:
        """Return the weight at `now`, as that of an exchange of this entry alone."""
        return Exchange((self,)).weight(now)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A query and the replies to it; the reply may be missing, or stand alone.

    Attributes:
        entries: what was said, in order; at least one.
    """

    entries: tuple[MemoryEntry, ...]

    @property
    def id(self) -> str:
        """Id of the exchange."""
        return exchange_of(self.entries[0])

    @property
    def query(self) -> str:
        """Text of what the assistant replied to; "" if it spoke unasked."""
        return "\n".join(entry.text for entry in self.entries if not is_reply(entry.speaker))

    @property
    def reply(self) -> str:
        """Text of the assistant's replies; "" if there is none yet."""
        return "\n".join(entry.text for entry in self.entries if is_reply(entry.speaker))

    @property
    def timestamp(self) -> datetime:
        """Time of the latest entry."""
        return max(entry.timestamp for entry in self.entries)

    @property
    def importance(self) -> float | None:
        """The highest importance that the caller gave; None if it gave none."""
        given = [entry.importance for entry in self.entries if entry.importance is not None]
        return max(given, default=None)

    @property
    def reflected(self) -> bool:
        """True if a reflection has read all of it."""
        return all(entry.reflected for entry in self.entries)

    def weight(self, now: datetime) -> float:
        """Return the weight at `now`, 0 to 1: the caller's importance, 0.0 included, or a formula.

        0.6 / (1 + hours / 24) + 0.4 * min(1, characters / 500). A future date counts as no age.
        """
        if self.importance is not None:
            return self.importance
        age = max(timedelta(), now - self.timestamp)
        chars = sum(len(entry.text) for entry in self.entries)
        return RECENCY / (1 + age / FADING) + SUBSTANCE * min(1.0, chars / FULL_CHARS)


def exchange_of(entry: MemoryEntry) -> str:
    """Return the id of the exchange that an entry belongs to."""
    return entry.exchange or entry.id


def exchanges_of(entries: Iterable[MemoryEntry]) -> list[Exchange]:
    """Group entries into exchanges, in the order in which these began."""
    grouped: dict[str, list[MemoryEntry]] = {}
    for entry in entries:
        grouped.setdefault(exchange_of(entry), []).append(entry)
    return [Exchange(tuple(members)) for members in grouped.values()]


def overflowing(exchanges: Sequence[Exchange], recent: int, waiting: int) -> list[Exchange]:
    """Return the exchanges to drop because there are too many.

    Args:
        exchanges: all, oldest first.
        recent: number of the latest that are kept in any case.
        waiting: number of the latest beyond which those no reflection has read are dropped too.
    """
    old, rest = exchanges[:-waiting], exchanges[-waiting:]
    return [*old, *(exchange for exchange in rest[:-recent] if exchange.reflected)]
