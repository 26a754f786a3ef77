"""Messages of a session come back by its id, in LlamaIndex's memories and in ours."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from hindsight_integrations import Hindsight, InvalidInputError, Redactor
from hindsight_integrations.llamaindex import (
    HindsightChatStore,
    HindsightMemory,
    HindsightSerializer,
    HindsightToolSpec,
)
from hindsight_integrations.llamaindex.testing import ScriptedChat
from tests.llamaindex.engines import AS_SAID, assistant, user
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


def test_a_tilde_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with HindsightChatStore("~/chats.sqlite3") as chats:
        chats.add_message("s", ChatMessage("My train is late."))
        with pickle.loads(pickle.dumps(chats)) as again:
            assert again.get_keys() == ["s"]
    assert (tmp_path / "chats.sqlite3").exists()


def test_the_memories_of_llamaindex_keep_their_messages_in_it() -> None:
    with HindsightChatStore(":memory:") as chats:
        first = ChatMemoryBuffer.from_defaults(chat_store=chats, chat_store_key="monday")
        first.put(ChatMessage("I moved to Lisbon."))
        second = ChatMemoryBuffer.from_defaults(chat_store=chats, chat_store_key="monday")
        assert second.get_all() == [ChatMessage("I moved to Lisbon.")]


def test_a_store_without_a_session_is_refused(engine: Hindsight, bank: str) -> None:
    with pytest.raises(InvalidInputError, match="give its session_id"):
        HindsightMemory(engine, bank, chat_store=SimpleChatStore())


async def test_a_session_comes_back_from_its_bank_in_the_next_process(tmp_path: Path) -> None:
    script = ScriptedChat([("recall", {"query": "bees"})], "Yes.", "As I said: Ruth.")
    with Hindsight(tmp_path, settings=AS_SAID) as memory:
        agent = FunctionAgent(tools=HindsightToolSpec(memory, "b").to_tool_list(), llm=script.llm)
        monday = HindsightMemory(memory, "b", session_id="monday")
        monday.put_messages([user("My sister Ruth keeps bees."), assistant("Yes?"), user("Yes.")])
        await agent.run("Who keeps bees?", memory=monday)
        said = monday.get_all()
        assert [message.role.value for message in said[3:]] == [
            *("user", "assistant", "tool", "assistant")
        ]
        retained = memory.memories.list("b").total
    with Hindsight(tmp_path, settings=AS_SAID) as memory:
        resumed = HindsightMemory(memory, "b", session_id="monday")
        assert resumed.get_all() == said
        assert pickle.loads(pickle.dumps(resumed)).get_all() == said
        resumed.put(user("Thanks!"))
        assert memory.memories.list("b").total == retained + 1
        assert len(HindsightMemory(memory, "b", session_id="monday").get_all()) == len(said) + 1
        for bank, session in [("b", "tuesday"), ("other", "monday")]:
            assert HindsightMemory(memory, bank, session_id=session).get_all() == []
        assert [bank.id for bank in memory.banks.list()] == ["b"]
        resumed.reset()
        assert HindsightMemory(memory, "b", session_id="monday").get_all() == []
        assert memory.memories.list("b").total == retained + 1


def test_what_was_forgotten_does_not_come_back_with_its_session(
    engine: Hindsight, bank: str
) -> None:
    chat = HindsightMemory(engine, bank, session_id="monday")
    chat.put_messages([user("Ruth keeps bees."), user("Tomas keeps goats.")])
    (bees,) = [m.id for m in engine.memories.list(bank).items if "bees" in m.text]
    engine.forget(bank, [bees])
    HindsightMemory(engine, bank, session_id="monday").put(user("Bo runs."))
    assert {m.text for m in engine.memories.list(bank).items} == {"Tomas keeps goats.", "Bo runs."}
    engine.forget(bank, document_id="monday")
    assert engine.storage.record(bank, "monday#chat") is None
    again = HindsightMemory(engine, bank, session_id="monday")
    assert again.get_all() == []
    assert engine.documents.list(bank).items == []
    again.put(user("Hello, I am Ann."))
    assert [m.text for m in engine.memories.list(bank).items] == ["Hello, I am Ann."]


def test_a_bank_keeps_no_messages_that_are_kept_elsewhere_or_have_no_session(
    engine: Hindsight, bank: str
) -> None:
    HindsightMemory(engine, bank).put(user("Ruth keeps bees."))
    kept_by_the_caller = [user("Tomas keeps goats.")]
    HindsightMemory(engine, bank, session_id="a", messages=kept_by_the_caller).put(user("Yes."))
    HindsightMemory(engine, bank, session_id="b", chat_store=None).put(user("Bo runs."))
    with HindsightChatStore(":memory:") as chats:
        HindsightMemory(engine, bank, session_id="c", chat_store=chats).put(user("Cy swims."))
    assert not [each.id for each in engine.documents.list(bank).items if "#" in each.id]
    for session in "abc":
        assert HindsightMemory(engine, bank, session_id=session).get_all() == []


def test_no_message_passes_a_hook_that_texts_are_to_pass_before_they_are_stored() -> None:
    with Hindsight.in_memory(settings=AS_SAID, before_retain=Redactor()) as memory:
        HindsightMemory(memory, "b", session_id="s").put(user("My mail is ann@example.org."))
        (document,) = memory.documents.list("b").items
        assert "ann@" not in str(memory.documents.chunks("b", document.id))
        assert HindsightMemory(memory, "b", session_id="s").get_all() == []


def test_a_workflow_that_was_restored_goes_on_with_its_messages_in_the_bank(
    engine: Hindsight, bank: str
) -> None:
    serializer = HindsightSerializer(engine)
    chat = HindsightMemory(engine, bank, session_id="monday")
    chat.put(user("Ruth keeps bees."))
    stored = serializer.serialize({"memory": chat})
    chat.put(assistant("Where?"))
    restored: HindsightMemory = serializer.deserialize(stored)["memory"]
    restored.put(assistant("How many?"))
    restored.put(user("Nine."))
    resumed = HindsightMemory(engine, bank, session_id="monday").get_all()
    assert [each.content for each in resumed] == ["Ruth keeps bees.", "How many?", "Nine."]


def test_what_is_no_chat_store_is_refused(engine: Hindsight, bank: str) -> None:
    with pytest.raises(InvalidInputError, match='"bank" or None'):
        HindsightMemory(engine, bank, session_id="s", chat_store="chats.sqlite3")  # type: ignore[arg-type]


def test_a_store_in_a_file_can_be_copied_and_one_in_memory_cannot(
    engine: Hindsight, bank: str, tmp_path: Path
) -> None:
    with HindsightChatStore(tmp_path / "chats.sqlite3") as chats:
        chats.add_message("monday", ChatMessage("Hello."))
        with copy.deepcopy(chats) as copied:
            assert copied.get_keys() == ["monday"]
    with HindsightChatStore(":memory:") as chats:
        for made in (copy.deepcopy, pickle.dumps):
            with pytest.raises(InvalidInputError, match="give it a file"):
                made(chats)
