"""Our parts keep LlamaIndex's contracts; its own parts keep them too, so the contracts are fair."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from hindsight_integrations import Hindsight
from hindsight_integrations.llamaindex import (
    HindsightMemoryBlock,
    HindsightRetriever,
    HindsightToolSpec,
)
from hindsight_integrations.llamaindex.testing import (
    MemoryBlockTests,
    RetrieverTests,
    ToolSpecTests,
)
from tests.llamaindex import in_memory
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS

_number = itertools.count()


class OnEngine:
    """A new bank for each part that is made."""

    engine: Hindsight
    bank: str

    @pytest.fixture(autouse=True)
    def _engine(self, engine: Hindsight) -> None:
        self.engine = engine

    def new_bank(self) -> str:
        self.bank = f"bank-{next(_number)}"
        return self.bank


class TestHindsightRetriever(OnEngine, RetrieverTests):
    def make_retriever(self, texts: Sequence[str]) -> BaseRetriever:
        bank = self.new_bank()
        self.engine.retain_many(bank, texts)
        return HindsightRetriever(self.engine, bank)


class TestGraphRetriever(OnEngine, RetrieverTests):
    def make_retriever(self, texts: Sequence[str]) -> BaseRetriever:
        bank = self.new_bank()
        self.engine.retain_many(bank, texts)
        return HindsightRetriever(self.engine, bank, arms=["semantic", "entity"])


class TestVectorIndexRetriever(RetrieverTests):
    def make_retriever(self, texts: Sequence[str]) -> BaseRetriever:
        return in_memory.vector_retriever(texts)


class TestEagerBlock(OnEngine, MemoryBlockTests):
    separates_sessions = False

    def make_block(self) -> BaseMemoryBlock[Any]:
        return HindsightMemoryBlock(self.engine, self.new_bank())


class TestOverflowBlock(OnEngine, MemoryBlockTests):
    def make_block(self) -> BaseMemoryBlock[Any]:
        return HindsightMemoryBlock(
            self.engine, self.new_bank(), retain="overflow", separate_sessions=True
        )


class TestVectorMemoryBlock(MemoryBlockTests):
    separates_sessions = False  # it filters by the first session it was read in, whichever asks

    def make_block(self) -> BaseMemoryBlock[Any]:
        return in_memory.vector_block()


class TestFactExtractionMemoryBlock(MemoryBlockTests):
    separates_sessions = False

    def make_block(self) -> BaseMemoryBlock[Any]:
        return in_memory.fact_block()


class TestStaticMemoryBlock(MemoryBlockTests):
    keeps_messages = False

    def make_block(self) -> BaseMemoryBlock[Any]:
        return in_memory.static_block()


class TestHindsightToolSpec(OnEngine, ToolSpecTests):
    def make_spec(self) -> BaseToolSpec:
        return HindsightToolSpec(self.engine, self.new_bank(), forget=True)

    def calls(self) -> Mapping[str, Mapping[str, Any]]:
        self.engine.retain_many(self.bank, ["Ruth keeps bees.", "Tomas plays the violin."])
        ids = [memory.id for memory in self.engine.memories.list(self.bank).items]
        return {
            "retain": {"content": "Ruth moved to Porto in May 2021."},
            "recall": {"query": "Where does Ruth live?"},
            "reflect": {"query": "What do we know of Ruth?"},
            "correct": {"memory_id": ids[0], "content": "Ruth keeps twelve hives."},
            "invalidate": {"memory_id": ids[1], "reason": "He plays the cello."},
            "forget": {"memory_ids": ids[:1]},
        }


class TestClockToolSpec(ToolSpecTests):
    def make_spec(self) -> BaseToolSpec:
        return in_memory.ClockToolSpec()

    def calls(self) -> Mapping[str, Mapping[str, Any]]:
        return in_memory.CLOCK_CALLS
