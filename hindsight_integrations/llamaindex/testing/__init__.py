"""Contract tests for any LlamaIndex retriever, memory block or tool spec, ours or yours.

    from hindsight_integrations.llamaindex.testing import RetrieverTests

    class TestMyRetriever(RetrieverTests):
        def make_retriever(self, texts):
            return MyRetriever(texts)

Derive a test class, make the part in question, and let pytest run it. Each test is one promise
that LlamaIndex's agents and engines count on. Nothing here needs a network, a model or a plugin
of pytest's. For failures that show values, call `pytest.register_assert_rewrite` with the name of
this module before it is imported.
"""

from hindsight_integrations.llamaindex.testing.memory_block import MemoryBlockTests
from hindsight_integrations.llamaindex.testing.retriever import RetrieverTests
from hindsight_integrations.llamaindex.testing.script import ScriptedChat, short_chat
from hindsight_integrations.llamaindex.testing.tool_spec import ToolSpecTests

__all__ = ["MemoryBlockTests", "RetrieverTests", "ScriptedChat", "ToolSpecTests", "short_chat"]
