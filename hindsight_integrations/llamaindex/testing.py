"""Contract tests for any LlamaIndex retriever, memory block or tool spec, ours or yours.

    from hindsight_integrations.llamaindex.testing import RetrieverTests

    class TestMyRetriever(RetrieverTests):
        def make_retriever(self, texts):
            return MyRetriever(texts)

Derive a test class, make the part in question, and let pytest run it. Each test is one behaviour
that LlamaIndex's agents and engines rely on. No test needs a network, a model or a plugin of
pytest. For failures that show values, call `pytest.register_assert_rewrite` with the name of this
module before it is imported.
"""

# ruff: noqa: D102 (the name of a test says what it checks)

from __future__ import annotations

import asyncio
import inspect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.tools.tool_spec.base import BaseToolSpec
from llama_index.core.utils import get_tokenizer
from sqlalchemy.ext.asyncio import create_async_engine

__all__ = ["MemoryBlockTests", "RetrieverTests", "ScriptedChat", "ToolSpecTests", "short_chat"]


class ScriptedChat:
    """A model that replies by a script, and records the messages it was asked.

    Args:
        *replies: in order; the last is repeated. Text is an answer; a list of (tool, arguments)
            calls tools.

    Attributes:
        llm: the model, for any agent or engine.
        asked: the messages of each call.
    """

    def __init__(self, *replies: str | Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self._replies = list(replies)
        self.asked: list[list[ChatMessage]] = []
        self.llm = MockFunctionCallingLLM(response_generator=self._reply, is_chat_model=True)

    def _reply(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        self.asked.append([message.model_copy(deep=True) for message in messages])
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, str):
            return ChatMessage(reply, role=MessageRole.ASSISTANT)
        blocks = [
            ToolCallBlock(tool_call_id=f"call-{n}", tool_name=tool, tool_kwargs=dict(arguments))
            for n, (tool, arguments) in enumerate(reply)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


@asynccontextmanager
async def short_chat(*blocks: BaseMemoryBlock[Any], **options: Any) -> AsyncIterator[Memory]:
    """LlamaIndex's `Memory` over some blocks, with a database that is closed afterwards."""
    database = create_async_engine("sqlite+aiosqlite:///:memory:")
    try:
        yield Memory.from_defaults(memory_blocks=list(blocks), async_engine=database, **options)
    finally:
        await database.dispose()


TEXTS = (
    "Ruth Amsel repaired the old lighthouse at Cabo Raso in 2019.",
    "The bakery on Harbour Street closes on Mondays.",
    "Tomas teaches the violin to children in the evening.",
    "The ferry to the island takes forty minutes.",
)
QUESTIONS = {
    "Who repaired the lighthouse?": TEXTS[0],
    "When is the bakery closed?": TEXTS[1],
    "Who teaches the violin?": TEXTS[2],
}
ODD_QUESTIONS = ("灯台を修理したのは誰？", "🏮?", 'who "repaired" it\n(really)?', "%s {x} $or")


class RetrieverTests(ABC):
    """The behaviour of a retriever that LlamaIndex's engines rely on."""

    @abstractmethod
    def make_retriever(self, texts: Sequence[str]) -> BaseRetriever:
        """Return a retriever over just these texts that finds at least three for a question."""

    def test_the_text_that_answers_comes_first(self) -> None:
        retriever = self.make_retriever(TEXTS)
        for question, answer in QUESTIONS.items():
            assert answer in retriever.retrieve(question)[0].get_content()

    def test_scores_fall(self) -> None:
        scores = [found.score for found in self.make_retriever(TEXTS).retrieve("the ferry")]
        assert scores
        assert all(isinstance(score, float) for score in scores)
        assert scores == sorted(scores, reverse=True)

    def test_each_node_comes_once_and_keeps_its_id(self) -> None:
        retriever = self.make_retriever(TEXTS)
        first, second = (_ids(retriever.retrieve("the lighthouse")) for _ in range(2))
        assert first == second
        assert len(set(first)) == len(first)

    def test_a_query_bundle_asks_what_its_text_asks(self) -> None:
        retriever = self.make_retriever(TEXTS)
        assert _ids(retriever.retrieve(QueryBundle("the ferry"))) == _ids(
            retriever.retrieve("the ferry")
        )

    def test_asynchronously_it_finds_the_same(self) -> None:
        retriever = self.make_retriever(TEXTS)
        found = asyncio.run(retriever.aretrieve("the lighthouse"))
        assert _ids(found) == _ids(retriever.retrieve("the lighthouse"))

    def test_asynchronously_it_has_a_way_of_its_own(self) -> None:
        # The inherited one runs the synchronous one, and the event loop stands still.
        kind: Any = type(self.make_retriever(TEXTS))
        assert kind._aretrieve is not BaseRetriever._aretrieve

    def test_many_may_ask_at_once(self) -> None:
        retriever = self.make_retriever(TEXTS)

        async def ask() -> Any:
            return await asyncio.gather(*map(retriever.aretrieve, QUESTIONS))

        for found, answer in zip(asyncio.run(ask()), QUESTIONS.values(), strict=True):
            assert answer in found[0].get_content()

    def test_nothing_is_found_where_nothing_is(self) -> None:
        assert self.make_retriever([]).retrieve("the lighthouse") == []

    def test_any_text_may_be_asked(self) -> None:
        retriever = self.make_retriever(TEXTS)
        for question in ODD_QUESTIONS:
            assert isinstance(retriever.retrieve(question), list)

    def test_nodes_survive_json(self) -> None:
        for found in self.make_retriever(TEXTS).retrieve("the lighthouse"):
            node = TextNode.from_json(found.node.to_json())
            assert (node.node_id, node.text) == (found.node.node_id, found.node.get_content())
            assert node.metadata == found.node.metadata

    def test_a_query_engine_answers_from_it(self) -> None:
        retriever = self.make_retriever(TEXTS)
        engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
        expected = _ids(retriever.retrieve("the lighthouse"))
        assert _ids(engine.query("the lighthouse").source_nodes) == expected
        assert _ids(asyncio.run(engine.aquery("the lighthouse")).source_nodes) == expected

    def test_it_can_be_fused_with_others(self) -> None:
        retriever = self.make_retriever(TEXTS)
        fusion = QueryFusionRetriever(
            [retriever, retriever], llm=MockLLM(), num_queries=1, use_async=False
        )
        assert TEXTS[0] in fusion.retrieve("Who repaired the lighthouse?")[0].get_content()


def _ids(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [node.node.node_id for node in nodes]


PLACES = ("Oslo", "Lima", "Cairo", "Perth", "Quito", "Turin", "Osaka", "Dakar")


class MemoryBlockTests(ABC):
    """The behaviour of a block that LlamaIndex's `Memory` relies on.

    Attributes:
        keeps_messages: whether messages that were put can be read; False for fixed contents.
        separates_sessions: whether messages are read only in the session they were put in.
    """

    keeps_messages = True
    separates_sessions = True

    fact = "My sister Ruth keeps bees in Porto."
    question = "Where does my sister keep bees?"
    telling = "Porto"

    @abstractmethod
    def make_block(self) -> BaseMemoryBlock[Any]:
        """Return a new, empty block."""

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
        # `Memory` passes an empty list for a block that returned nothing.
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

            pytest.skip("the block keeps no messages, or does not separate sessions")


def _is_content(content: object) -> bool:
    """Return True for a block's valid results: text, blocks of content, or messages."""
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


_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names of functions that model providers accept."""

_DESCRIPTION = 1024
"""Characters of a description that they accept."""


class ToolSpecTests(ABC):
    """The behaviour of a tool spec that LlamaIndex's agents and their models rely on."""

    @abstractmethod
    def make_spec(self) -> BaseToolSpec:
        """Return the tools."""

    @abstractmethod
    def calls(self) -> Mapping[str, Mapping[str, Any]]:
        """Return valid arguments of each tool, by its name. Called after `make_spec`."""

    def test_every_tool_is_tried_here(self) -> None:
        names = {tool.metadata.name for tool in self.make_spec().to_tool_list()}
        assert names == set(self.calls())

    def test_names_and_descriptions_are_such_as_models_take(self) -> None:
        for tool in self.make_spec().to_tool_list():
            assert _TOOL_NAME.fullmatch(tool.metadata.name or "")
            assert 0 < len(tool.metadata.description) <= _DESCRIPTION
            assert json.dumps(tool.metadata.to_openai_tool())

    def test_a_schema_asks_for_what_the_tool_needs(self) -> None:
        tools = {tool.metadata.name: tool for tool in self.make_spec().to_tool_list()}
        for name, arguments in self.calls().items():
            schema = tools[name].metadata.get_parameters_dict()
            assert set(schema.get("required", [])) <= set(arguments) <= set(schema["properties"])

    def test_both_ways_of_a_tool_take_the_same(self) -> None:
        spec = self.make_spec()
        for names in spec.spec_functions:
            if not isinstance(names, str):
                first, second = (inspect.signature(getattr(spec, name)) for name in names)
                assert first.parameters == second.parameters
                assert inspect.iscoroutinefunction(getattr(spec, names[1]))

    def test_each_tool_answers(self) -> None:
        tools = {tool.metadata.name: tool for tool in self.make_spec().to_tool_list()}
        for name, arguments in self.calls().items():
            assert tools[name].call(**arguments).content

    def test_each_tool_answers_asynchronously(self) -> None:
        tools = {tool.metadata.name: tool for tool in self.make_spec().to_tool_list()}
        for name, arguments in self.calls().items():
            assert asyncio.run(tools[name].acall(**arguments)).content

    def test_a_function_agent_works_with_them(self) -> None:
        tools = self.make_spec().to_tool_list()
        calls = [(name, arguments) for name, arguments in self.calls().items()]
        script = ScriptedChat(*([call] for call in calls), "Done.")
        agent = FunctionAgent(tools=tools, llm=script.llm)
        asyncio.run(self._run(agent, "Work.", [name for name, _ in calls]))

    def test_a_react_agent_works_with_them(self) -> None:
        tools = self.make_spec().to_tool_list()
        calls = self.calls()
        steps = [
            f"Thought: I need {name}.\nAction: {name}\nAction Input: {json.dumps(dict(arguments))}"
            for name, arguments in calls.items()
        ]
        script = ScriptedChat(*steps, "Thought: I can answer.\nAnswer: Done.")
        agent = ReActAgent(tools=tools, llm=script.llm)
        asyncio.run(self._run(agent, "Work.", list(calls)))

    def test_an_agent_survives_a_tool_called_wrongly(self) -> None:
        tools = self.make_spec().to_tool_list()
        wrong = {"no_such_argument": 1}
        script = ScriptedChat([(tool.metadata.get_name(), wrong) for tool in tools], "Done.")

        async def work() -> Any:
            return await FunctionAgent(tools=tools, llm=script.llm).run("Work.")

        output = asyncio.run(work())
        assert str(output) == "Done."
        assert all(call.tool_output.is_error for call in output.tool_calls)

    async def _run(self, agent: FunctionAgent | ReActAgent, task: str, names: list[str]) -> None:
        output = await agent.run(task)
        assert str(output) == "Done."
        assert [call.tool_name for call in output.tool_calls] == names
        assert [str(c.tool_output) for c in output.tool_calls if c.tool_output.is_error] == []
