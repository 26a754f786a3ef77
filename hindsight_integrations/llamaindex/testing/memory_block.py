"""What LlamaIndex's `Memory` counts on in a block."""

# ruff: noqa: D102 (the name of a test says what it promises)

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.utils import get_tokenizer

from hindsight_integrations.llamaindex.testing.script import short_chat

PLACES = ("Oslo", "Lima", "Cairo", "Perth", "Quito", "Turin", "Osaka", "Dakar")


class MemoryBlockTests:
    """What LlamaIndex's `Memory` counts on in a block.

    Attributes:
        keeps_messages: whether what is put can be read again; False for fixed contents.
        separates_sessions: whether it is read only in the session it was put in.
    """

    keeps_messages = True
    separates_sessions = True

    fact = "My sister Ruth keeps bees in Porto."
    question = "Where does my sister keep bees?"
    telling = "Porto"

    def make_block(self) -> BaseMemoryBlock[Any]:
        """A new, empty block."""
        raise NotImplementedError

    def test_an_empty_block_can_be_read(self) -> None:
        block = self.make_block()
        for messages in (None, [], [ChatMessage(self.question)]):
            assert _is_content(asyncio.run(block.aget(messages, session_id="a")))

    def test_what_is_put_is_read_again(self) -> None:
        self._need(self.keeps_messages)
        assert self.telling in self._read(self._told(), "a")

    def test_reading_changes_nothing(self) -> None:
        block = self._told()
        assert self._read(block, "a") == self._read(block, "a")

    def test_a_session_does_not_read_what_was_put_in_another(self) -> None:
        self._need(self.keeps_messages and self.separates_sessions)
        assert self.telling not in self._read(self._told(), "b")

    def test_messages_from_the_short_term_memory_can_be_refused(self) -> None:
        block = self.make_block()
        block.accept_short_term_memory = False
        told = [ChatMessage(self.fact)]
        asyncio.run(block.aput(told, from_short_term_memory=True, session_id="a"))
        assert self.telling not in self._read(block, "a")

    def test_messages_without_text_do_no_harm(self) -> None:
        block = self.make_block()
        call = ToolCallBlock(tool_call_id="1", tool_name="look", tool_kwargs={})
        silent = [
            ChatMessage(blocks=[ImageBlock(url="https://example.com/bees.png")]),
            ChatMessage(role=MessageRole.ASSISTANT, blocks=[call]),
            ChatMessage("42", role=MessageRole.TOOL, additional_kwargs={"tool_call_id": "1"}),
        ]
        asyncio.run(block.aput(silent, from_short_term_memory=True, session_id="a"))
        assert _is_content(asyncio.run(block.aget(silent, session_id="a")))

    def test_shortened_it_saves_at_least_what_was_asked(self) -> None:
        block = self._told()
        content = asyncio.run(block.aget([ChatMessage(self.question)], session_id="a"))
        full = _tokens(content)
        for asked in (1, full // 2, full, 2 * full):
            shorter = asyncio.run(block.atruncate(content, asked))
            assert shorter is None or _tokens(shorter) <= max(0, full - asked)

    def test_where_nothing_is_nothing_is_shortened(self) -> None:
        # `Memory` hands over an empty list for a block that had nothing to say.
        assert not asyncio.run(self.make_block().atruncate([], 10))

    def test_a_memory_shows_it(self) -> None:
        self._need(self.keeps_messages)

        async def talk() -> Any:
            async with short_chat(self.make_block(), session_id="a") as chat:
                await chat.memory_blocks[0].aput([ChatMessage(self.fact)], session_id="a")
                await chat.aput(ChatMessage("Hello!"))
                return await chat.aget(input=self.question)

        shown = asyncio.run(talk())
        assert self.telling in _text(shown)
        assert shown[-1].content == "Hello!"

    def test_what_leaves_the_short_term_memory_is_found_in_the_block(self) -> None:
        self._need(self.keeps_messages)
        block = self.make_block()

        async def talk() -> Any:
            async with short_chat(block, session_id="a", token_limit=80) as chat:
                for place in PLACES:
                    await chat.aput(ChatMessage(f"In {place} I bought a blue umbrella."))
                    await chat.aput(ChatMessage("Noted.", role=MessageRole.ASSISTANT))
                return await chat.aget_all(status=MessageStatus.ARCHIVED)

        gone = _text(asyncio.run(talk()))
        left = [place for place in PLACES if place in gone]
        assert left
        for place in left:
            assert place in self._read(block, "a", f"What did I buy in {place}?")

    def test_a_memory_without_room_goes_on(self) -> None:
        block = self._told()
        block.priority = 1

        async def talk() -> Any:
            async with short_chat(block, session_id="a", token_limit=12) as chat:
                await chat.aput(ChatMessage(self.question))
                return await chat.aget()

        assert asyncio.run(talk())[-1].content == self.question

    def _told(self) -> BaseMemoryBlock[Any]:
        block = self.make_block()
        asyncio.run(block.aput([ChatMessage(self.fact)], session_id="a"))
        return block

    def _read(self, block: BaseMemoryBlock[Any], session: str, question: str = "") -> str:
        asked = [ChatMessage(question or self.question)]
        return _text(asyncio.run(block.aget(asked, session_id=session)))

    def _need(self, ability: bool) -> None:
        if not ability:
            import pytest

            pytest.skip("this block does not claim to do so")


def _is_content(content: object) -> bool:
    """Whether a block may return this: text, blocks of content, or messages."""
    if isinstance(content, list):
        return all(isinstance(part, ChatMessage) for part in content) or all(
            hasattr(part, "block_type") for part in content
        )
    return isinstance(content, str)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [part.text if isinstance(part, TextBlock) else part.content for part in content or ()]
    return "\n".join(part or "" for part in parts)


def _tokens(content: Any) -> int:
    return len(get_tokenizer()(_text(content)))
