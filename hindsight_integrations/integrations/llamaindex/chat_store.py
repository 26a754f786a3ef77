"""Verbatim messages of chats: LlamaIndex's chat store in a file, and records in a bank."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store import BaseChatStore

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import ContextManaged
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError, InvalidInputError
from hindsight_integrations.integrations.common import forget_document
from hindsight_integrations.integrations.store_table import Row, StoreTable, as_label
from hindsight_integrations.models import RecordPart, utc_now
from hindsight_integrations.normalization import new_id
from hindsight_integrations.sessions.conversation import Record
from hindsight_integrations.stores.servers import IN_MEMORY

_PART: RecordPart = "chat"
"""Part of a session that its messages are recorded as, in the document `<session_id>#chat`."""

_BANK = "chats"
"""The part of the file that messages are in; a `HindsightStore` may have others."""


class HindsightChatStore(ContextManaged, BaseChatStore):  # type: ignore[misc]
    """The verbatim messages of each chat by session id, including tool calls.

    Pass it to LlamaIndex's own memories, or to `HindsightMemory(..., chat_store=...)` to replace
    its record in the bank. Several processes may share the file.

    Args:
        path: the SQLite file, for example in the memory's folder; ":memory:" for a store that is
            lost when closed.

    Raises:
        StoreUnavailableError: the file cannot be read or written.

    Examples:
        >>> with HindsightChatStore(":memory:") as chats:
        ...     chats.add_message("monday", ChatMessage("I moved to Lisbon."))
        ...     print(chats.get_keys(), chats.get_messages("monday")[0].content)
        ['monday'] I moved to Lisbon.
    """

    path: str
    _table: StoreTable = PrivateAttr()
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path=os.path.expanduser(path))
        self._table = StoreTable(self.path)

    def __reduce__(self) -> tuple[type[HindsightChatStore], tuple[str]]:
        """Pickle the path; the copy opens the same file."""
        if self.path == IN_MEMORY:
            raise InvalidInputError(
                "an in-memory chat store cannot be pickled or copied, because the copy would be "
                "empty; give it a file as path"
            )
        return type(self), (os.path.abspath(self.path),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> HindsightChatStore:
        made, arguments = self.__reduce__()
        return made(*arguments)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightChatStore"

    def set_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        """Replace the messages of a chat."""
        with self._lock, self._table.transaction():
            for row in self._rows(key):
                self._delete(key, row)
            for message in messages:
                self._add(key, message)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a chat, oldest first; empty if the chat is unknown."""
        with self._lock, self._table.transaction():
            return [_message(row) for row in self._rows(key)]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message to a chat."""
        with self._lock, self._table.transaction():
            self._add(key, message)

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete a chat, and return its messages; None if it is unknown."""
        with self._lock, self._table.transaction():
            rows = self._rows(key)
            for row in rows:
                self._delete(key, row)
        return [_message(row) for row in rows] or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at a position, and return it; None if there is none."""
        with self._lock, self._table.transaction():
            rows = self._rows(key)
            if not -len(rows) <= idx < len(rows):
                return None
            self._delete(key, rows[idx])
        return _message(rows[idx])

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the last message of a chat, and return it; None if there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """Return the session ids of all chats that have a message."""
        with self._lock, self._table.transaction():
            rows = list(self._table.scan(_BANK, ()))
        return list(dict.fromkeys(str(row.value["session"]) for row in rows))

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            self._table.close()

    def _rows(self, key: str) -> list[Row]:
        return list(self._table.scan(_BANK, _namespace(key)))

    def _add(self, key: str, message: ChatMessage) -> None:
        value: dict[str, Any] = {"session": key, "message": message.model_dump(mode="json")}
        namespace = _namespace(key)
        self._table.put(_BANK, namespace, new_id("m-"), value, text="", ttl=None, now=utc_now())

    def _delete(self, key: str, row: Row) -> None:
        self._table.delete(_BANK, _namespace(key), row.key)


def _namespace(key: str) -> tuple[str]:
    return (as_label(validation.label("session_id", key)),)


def _message(row: Row) -> ChatMessage:
    return ChatMessage.model_validate(row.value["message"])


@dataclass(frozen=True, slots=True)
class _Put:
    """A message as LlamaIndex writes it, and the id it is recorded under."""

    id: str
    message: dict[str, Any]


class SessionMessages:
    """The verbatim messages of chats, as records of the bank that retains them.

    They are deleted with the bank, and with the session's document when that is forgotten.

    Args:
        memory: the open memory.
        bank_id: the bank; the first message creates it if it does not exist.
    """

    def __init__(self, memory: Hindsight, bank_id: str) -> None:
        self._memory = memory
        self._bank_id = bank_id
        self._records: dict[str, Record[_Put]] = {}

    def __reduce__(self) -> tuple[type[SessionMessages], tuple[Hindsight, str]]:
        return type(self), (self._memory, self._bank_id)

    def has(self, key: str) -> bool:
        """Return True if messages of the session were recorded."""
        try:
            return self._memory.storage.record(self._bank_id, f"{key}#{_PART}") is not None
        except BankNotFoundError:
            return False

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a session, oldest first; empty if it was forgotten."""
        if not self.has(key):
            return []
        puts = self._record(key).items().values()
        return [ChatMessage.model_validate(each.message) for each in puts]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message to a session."""
        put = _Put(new_id("m-"), message.model_dump(mode="json"))
        self._record(key).append(put.id, put)

    def set_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        """Replace the messages of a session."""
        self.delete_messages(key)
        for message in messages:
            self.add_message(key, message)

    def delete_messages(self, key: str) -> None:
        """Delete the messages of a session; its memories stay."""
        self._records.pop(key, None)
        forget_document(self._memory, self._bank_id, f"{key}#{_PART}")

    def _record(self, key: str) -> Record[_Put]:
        if key not in self._records:
            storage = self._memory.storage
            self._records[key] = Record(storage, self._bank_id, key, _PART, _Put)
        return self._records[key]
