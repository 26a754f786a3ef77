"""A bank as a block of LlamaIndex's `Memory`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Unpack

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemory, BaseMemoryBlock
from llama_index.core.utils import get_tokenizer

from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.integrations.common import (
    SPEAKERS,
    OnFailure,
    check_picklable,
    shortened,
)
from hindsight_integrations.integrations.llamaindex.chats import Chats, chat_options
from hindsight_integrations.integrations.llamaindex.conversions import ChatOptions, plain_bank
from hindsight_integrations.integrations.signatures import with_own_signature
from hindsight_integrations.nlp import tokens

Retaining = Literal["eager", "overflow", "never"]


@with_own_signature
class HindsightMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc]
    """A bank as a block of LlamaIndex's `Memory`.

    Once per turn it recalls memories for the user's last message that the chat itself does not
    show. One block serves any number of sessions at once.

    LlamaIndex passes messages to a block only when the short-term memory overflows, at about 21,000
    tokens by default, so most chats would never be retained. With "eager" the block therefore also
    retains the messages it sees when it is read. The last answer of a chat is not among them; call
    `aflush` to retain it.

    Args:
        memory: the open memory.
        bank_id: the bank's id; the first message creates the bank if it does not exist.
        retain: "eager"; "overflow" for only the messages that leave the short-term memory;
            "never".
        separate_sessions: True if a session recalls only its own messages. By default the
            bank's sessions share their memories.
        speakers: roles that are retained, and the names they are retained under. A name is more
            informative than a role: `{"user": "Alice", "assistant": "assistant"}`.
        on_failure: if the memory fails, "warn" logs it, tells the model and continues without
            memory, and what could not be retained is retained with the next message; "raise"
            raises the error.
        name: the block's name in the prompt.
        priority: order of shortening when the memory overflows, higher first; 0 is never.
        **options: options of recall: `max_tokens` (1024), `budget`, `types`, `tags`, `tags_match`,
            `where`, `min_score`.

    Examples:
        >>> import asyncio
        >>> from llama_index.core.memory import Memory
        >>> with Hindsight.in_memory() as memory:
        ...     block = HindsightMemoryBlock(memory, "alice", speakers={"user": "Alice"})
        ...     chat = Memory.from_defaults(session_id="monday", memory_blocks=[block])
        ...     asyncio.run(block.aput([ChatMessage("I moved to Lisbon in March 2021.")]))
        ...     found = asyncio.run(block.aget([ChatMessage("Where do I live?")]))
        ...     print("Alice: I moved to Lisbon in March 2021." in found)
        True
    """

    bank_id: str
    retain: Retaining
    _chats: Chats = PrivateAttr()

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str,
        *,
        retain: Retaining = "eager",
        separate_sessions: bool = False,
        speakers: Mapping[str, str] = SPEAKERS,
        on_failure: OnFailure = "warn",
        name: str = "LongTermMemory",
        priority: int = 1,
        **options: Unpack[ChatOptions],
    ) -> None:
        super().__init__(
            name=name,
            description="What is remembered of earlier conversations.",
            priority=priority,
            accept_short_term_memory=retain != "never",
            bank_id=plain_bank(bank_id),
            retain=retain,
        )
        self._chats = Chats(
            memory, bank_id, speakers, separate_sessions, chat_options(options), on_failure
        )

    def __getstate__(self) -> dict[str, Any]:
        check_picklable(self._chats.memory)
        state: dict[str, Any] = super().__getstate__()
        return state

    async def aflush(self, chat: BaseMemory, session_id: str | None = None) -> None:
        """Retain the messages of a chat memory that were not retained yet.

        Args:
            chat: the `Memory` that this block is part of, or any other.
            session_id: the chat's session, if `chat` has none.
        """
        session = session_id or getattr(chat, "session_id", None)
        await in_thread(self._chats.retain, await chat.aget_all(), session)

    def flush(self, chat: BaseMemory, session_id: str | None = None) -> None:
        """`aflush`, for synchronous code."""
        session = session_id or getattr(chat, "session_id", None)
        self._chats.retain(chat.get_all(), session)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,
    ) -> str:
        return await in_thread(self._turn, messages or [], session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            sessions.setdefault(message.additional_kwargs.get("session_id"), []).append(message)
        for session_id, members in sessions.items():
            await in_thread(self._chats.retain, members, session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return recalled text without its least relevant lines; None if none can stay."""
        tokenizer = tokens.as_tokenizer(get_tokenizer())
        return shortened(content, tokens_to_truncate, tokenizer) if content else None

    def _turn(self, messages: list[ChatMessage], session_id: str | None) -> str:
        recalled = self._chats.recalled(messages, session_id, shown=messages)
        if self.retain == "eager":
            self._chats.retain(messages, session_id)
        return recalled
