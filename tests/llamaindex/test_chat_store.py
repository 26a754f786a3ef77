"""Messages of a session come back by its id, in LlamaIndex's memories and in ours."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.llamaindex import (
    HindsightChatStore,
    HindsightMemory,
    HindsightSerializer,
    HindsightToolSpec,
)
from hindsight_integrations.llamaindex.testing import ScriptedChat
from tests.llamaindex.engines import assistant, user
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS


def test_it_answers_as_the_chat_store_of_llamaindex() -> None:
    def told(store: BaseChatStore) -> list[object]:
        answers: list[object] = [store.get_messages("a.b"), store.delete_message("a.b", 0)]
        store.set_messages("a.b", [user("one"), user("two")])
        store.add_message("a.b", assistant("three"))
        store.add_message("x%", user("other"))
        answers += [list(store.get_messages("a.b")), sorted(store.get_keys())]
        answers += [store.delete_message("a.b", 1), store.delete_message("a.b", 7)]
        answers += [store.delete_last_message("a.b"), list(store.get_messages("a.b"))]
        store.set_messages("a.b", [user("new")])
        answers += [list(store.get_messages("a.b")), store.delete_messages("a.b")]
        return [*answers, store.get_messages("a.b"), store.get_messages("x%")]

    with HindsightChatStore(":memory:") as ours:
        assert told(ours) == told(SimpleChatStore())


async def test_a_session_goes_on_in_the_next_process_with_its_tool_calls(
    engine: Hindsight, bank: str, tmp_path: Path
) -> None:
    path = tmp_path / "chats.sqlite3"
    script = ScriptedChat([("recall", {"query": "bees"})], "Ruth does.", "As I said: Ruth.")
    agent = FunctionAgent(tools=HindsightToolSpec(engine, bank).to_tool_list(), llm=script.llm)
    with HindsightChatStore(path) as chats:
        monday = HindsightMemory(engine, bank, session_id="monday", chat_store=chats)
        monday.put(user("My sister Ruth keeps bees."))
        await agent.run("Who keeps bees?", memory=monday)
        said = monday.get_all()
    with pickle.loads(pickle.dumps(chats)) as again:  # as in another process: from its file
        resumed = HindsightMemory(engine, bank, session_id="monday", chat_store=again)
        assert resumed.get_all() == said
        assert [message.role.value for message in said] == [
            *("user", "user", "assistant", "tool", "assistant")
        ]
        other = HindsightMemory(engine, bank, session_id="tuesday", chat_store=again)
        assert other.get_all() == []
        retained = engine.memories.list(bank).total
        await agent.run("Who?", memory=resumed)
        assert engine.memories.list(bank).total == retained + 2
        stored = HindsightSerializer(engine).serialize({"memory": resumed})
        serializer = HindsightSerializer(engine, chat_store=again)
        restored: HindsightMemory = serializer.deserialize(stored)["memory"]
        restored.put(user("Thanks!"))
        assert again.get_messages("monday")[-1].content == "Thanks!"
        restored.reset()
        assert again.get_messages("monday") == []


def test_the_memories_of_llamaindex_keep_their_messages_in_it() -> None:
    with HindsightChatStore(":memory:") as chats:
        first = ChatMemoryBuffer.from_defaults(chat_store=chats, chat_store_key="monday")
        first.put(ChatMessage("I moved to Lisbon."))
        second = ChatMemoryBuffer.from_defaults(chat_store=chats, chat_store_key="monday")
        assert second.get_all() == [ChatMessage("I moved to Lisbon.")]


def test_a_store_without_a_session_is_refused(engine: Hindsight, bank: str) -> None:
    with pytest.raises(InvalidInputError, match="give its session_id"):
        HindsightMemory(engine, bank, chat_store=SimpleChatStore())
