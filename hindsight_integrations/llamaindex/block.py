"""Long-term memory as a block of LlamaIndex's `Memory`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, Unpack

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemory, BaseMemoryBlock
from llama_index.core.utils import get_tokenizer

from hindsight_integrations import checks
from hindsight_integrations.adapting.texts import shortened
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.language import tokens
from hindsight_integrations.llamaindex.chat import SPEAKERS, Chats, chat_options
from hindsight_integrations.llamaindex.options import ChatOptions

Retaining = Literal["eager", "overflow", "never"]


class HindsightMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc]
    """A bank as a block of LlamaIndex's `Memory`.

    Each turn it recalls once, by the user's last message, what the chat itself does not show.
    One block serves any number of sessions at once.

    LlamaIndex hands messages to a block only when the short-term memory overflows, about 21,000
    tokens at its defaults, so that most chats would never be remembered. The block therefore
    also retains what it sees when it is read ("eager"). The last answer of a chat is seen by
    nobody: `aflush` retains it.

    Args:
        memory: the engine.
        bank_id: which bank; made by the first message if there is none.
        retain: "eager"; "overflow" for only what leaves the short-term memory; "never".
        separate_sessions: whether a session recalls only what was said in it. By default the
            bank's sessions share what they know.
        speakers: roles that are retained, and the names they are retained under. A name says
            more than a role: `{"user": "Alice", "assistant": "assistant"}`.
        name: of the block, in the prompt.
        priority: how late it is shortened when the memory overflows; 0 is never.
        **options: of recall: `max_tokens` (1024), `budget`, `types`, `tags`, `tags_match`,
            `where`, `min_score`.

    Example:
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
        name: str = "LongTermMemory",
        priority: int = 1,
        **options: Unpack[ChatOptions],
    ) -> None:
        super().__init__(
            name=name,
            description="What is remembered of earlier conversations.",
            priority=priority,
            accept_short_term_memory=retain != "never",
            bank_id=checks.bank_id(bank_id),
            retain=retain,
        )
        self._chats = Chats(memory, bank_id, speakers, separate_sessions, chat_options(options))

    async def aflush(self, chat: BaseMemory, session_id: str | None = None) -> None:
        """Retain all that a chat memory holds, and was not retained yet.

        Args:
            chat: the `Memory` that this block is part of, or any other.
            session_id: of the chat, if `chat` has none.
        """
        session = session_id or getattr(chat, "session_id", None)
        await asyncio.to_thread(self._chats.retain, await chat.aget_all(), session)

    def flush(self, chat: BaseMemory, session_id: str | None = None) -> None:
        """`aflush`, for code that is not asynchronous."""
        session = session_id or getattr(chat, "session_id", None)
        self._chats.retain(chat.get_all(), session)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,
    ) -> str:
        return await asyncio.to_thread(self._turn, messages or [], session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            sessions.setdefault(message.additional_kwargs.get("session_id"), []).append(message)
        for session_id, members in sessions.items():
            await asyncio.to_thread(self._chats.retain, members, session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The recalled text without its least relevant lines; None if none can stay."""
        tokenizer = tokens.as_tokenizer(get_tokenizer())
        return shortened(content, tokens_to_truncate, tokenizer) if content else None

    def _turn(self, messages: list[ChatMessage], session_id: str | None) -> str:
        recalled = self._chats.recalled(messages, session_id, shown=messages)
        if self.retain == "eager":
            self._chats.retain(messages, session_id)
        return recalled
