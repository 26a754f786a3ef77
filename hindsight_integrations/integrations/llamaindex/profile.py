"""A person's profile as a block of LlamaIndex's `Memory`."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.integrations.common import (
    check_picklable,
    checked_memory,
    profile_section,
)
from hindsight_integrations.integrations.llamaindex.conversions import plain_bank


class HindsightProfileBlock(BaseMemoryBlock[str]):  # type: ignore[misc]
    """The profile of a person in a bank: facts, preferences and current matters.

    It only reads; a `HindsightMemoryBlock` beside it retains what is said.

    Args:
        memory: the open memory.
        bank_id: the bank's id.
        person: a name or alias; or a speaker, such as "user".
        name: the block's name in the prompt.
        priority: how late it is left out when the memory overflows; 0 is never.

    Examples:
        >>> import asyncio
        >>> with Hindsight.in_memory() as memory:
        ...     _ = memory.retain("alice", "I am allergic to nuts.", speaker="user")
        ...     block = HindsightProfileBlock(memory, "alice", "user")
        ...     print("I am allergic to nuts." in asyncio.run(block.aget()))
        True
    """

    bank_id: str
    person: str
    _memory: Hindsight = PrivateAttr()

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str,
        person: str = "user",
        *,
        name: str = "Profile",
        priority: int = 0,
    ) -> None:
        super().__init__(
            name=name,
            description="What is remembered of a person.",
            priority=priority,
            bank_id=plain_bank(bank_id),
            person=validation.label("person", person),
        )
        self._memory = checked_memory(memory)

    def __getstate__(self) -> dict[str, Any]:
        check_picklable(self._memory)
        state: dict[str, Any] = super().__getstate__()
        return state

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await in_thread(profile_section, self._memory, self.bank_id, self.person)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store nothing."""
