# mypy: disable-error-code="override"
"""Message history of a session, deprecated by LangChain."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langgraph.store.base import PutOp

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.integrations.common import (
    checked_memory,
    forget_document,
    shown_bank,
)
from hindsight_integrations.integrations.langchain.conversions import (
    BankId,
    ThreadedHistory,
    bank_of,
    checked_bank,
    conversation,
)
from hindsight_integrations.integrations.langchain.store import HindsightStore
from hindsight_integrations.integrations.store_table import as_label

MOST = 2**31
"""Limit of a search for the messages of a history: all of them."""


class HindsightChatMessageHistory(ThreadedHistory):
    """The messages of a session, stored word by word and retained in the bank.

    LangChain has deprecated its base class; new code uses an agent with a checkpointer and
    `HindsightMiddleware`.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime of the graph that runs.
        session_id: your id of the session.
        store: stores the messages word by word; of the same bank.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightChatMessageHistory, HindsightStore

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        store = HindsightStore(memory, "alice", path=":memory:")  # or "./store.sqlite3"
        history = HindsightChatMessageHistory(memory, "alice", session_id="monday", store=store)
        ```

    Use:
        ```python
        history.add_user_message("I moved to Bergen.")
        history.add_ai_message("How do you like it?")
        print(history)
        print(memory.recall("alice", "Where does the user live?").memories[0].text)
        ```

        ```text
        Human: I moved to Bergen.
        AI: How do you like it?
        I moved to Bergen.
        ```

    Use within a chain:
        ```python
        from langchain_core.language_models import FakeListChatModel
        from langchain_core.prompts import ChatPromptTemplate

        model = FakeListChatModel(responses=["You live in Bergen."])  # any chat model
        prompt = ChatPromptTemplate([("placeholder", "{history}"), ("user", "{question}")])
        asked = {"history": history.messages, "question": "Where do I live?"}
        reply = (prompt | model).invoke(asked)
        history.add_messages([reply])
        print(len(history.messages))
        ```

        ```text
        3
        ```
    """

    def __init__(
        self, memory: Hindsight, bank_id: BankId, *, session_id: str, store: HindsightStore
    ) -> None:
        super().__init__()
        self._memory = checked_memory(memory)
        self._bank_id = checked_bank(bank_id)
        self._session = validation.label("session_id", session_id)
        self._namespace = ("chat history", as_label(session_id))
        self._store = validation.instance("store", store, HindsightStore)

    def __repr__(self) -> str:
        bank = shown_bank(self._bank_id)
        return f"{type(self).__name__}({self._memory!r}, {bank}, session_id={self._session!r})"

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, oldest first."""
        items = self._store.search(self._namespace, limit=MOST)
        messages: list[BaseMessage] = messages_from_dict([item.value for item in items])
        return messages

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, and retain them.

        Raises:
            InvalidInputError: one is no message; nothing was stored.
            HindsightError: the messages could not be retained; they are stored.
        """
        given = validation.instances("messages", messages, BaseMessage)
        self._store.batch(
            PutOp(self._namespace, uuid.uuid4().hex, message_to_dict(message), index=False)
            for message in given
        )
        if spoken := conversation(given):
            self._memory.retain_messages(bank_of(self._bank_id), spoken, session=self._session)

    def clear(self) -> None:
        """Delete the session's messages and memories."""
        items = self._store.search(self._namespace, limit=MOST)
        self._store.batch(PutOp(self._namespace, item.key, None) for item in items)
        forget_document(self._memory, bank_of(self._bank_id), self._session)


def __getattr__(name: str) -> object:
    """`HindsightMemory`, which needs `langchain-classic`, only when it is asked for."""
    if name != "HindsightMemory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hindsight_integrations.integrations.langchain.classic import HindsightMemory

    return HindsightMemory
