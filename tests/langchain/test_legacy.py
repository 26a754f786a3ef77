"""Classes that LangChain has deprecated, for those who still use them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.langchain import HindsightChatMessageHistory, HindsightStore

both = pytest.mark.parametrize("mode", ["sync", "async"])

TALK: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("Yes.", name="Ann", id="1"),
    AIMessage("", tool_calls=[{"name": "look", "args": {"at": "tent"}, "id": "c"}]),
    ToolMessage("It leaks.", tool_call_id="c"),
    AIMessage("The tent leaks."),
    HumanMessage("Yes.", name="Ann", id="1"),
]


def texts(memory: Hindsight, bank: str) -> list[str]:
    return [m.text for m in memory.memories.list(bank).items]


@both
@pytest.mark.parametrize("session", ["monday", "a.b %2E"])
async def test_a_history_gives_back_every_message_as_it_was_and_remembers_what_was_said(
    mode: str, session: str, engine: Hindsight, bank: str
) -> None:
    with HindsightStore(engine, bank, path=":memory:") as store:
        history = HindsightChatMessageHistory(engine, bank, session_id=session, store=store)
        other = HindsightChatMessageHistory(engine, bank, session_id="a%2Eb %2E", store=store)
        other.add_user_message("Hello.")
        if mode == "sync":
            history.add_messages(TALK[:3])
            history.add_messages(TALK[3:])
            assert history.messages == TALK
            assert "Be brief." not in texts(engine, bank)
            assert "The tent leaks." in texts(engine, bank)
            history.clear()
            assert history.messages == []
        else:
            await history.aadd_messages(TALK)
            assert await history.aget_messages() == TALK
            assert "The tent leaks." in texts(engine, bank)
            await history.aclear()
            assert await history.aget_messages() == []
        assert [m.text for m in other.messages] == ["Hello."]
        assert texts(engine, bank) == ["Hello."]
        history.clear()


@pytest.fixture
def classic() -> Any:
    """The class, where `langchain-classic` is installed."""
    pytest.importorskip("langchain_classic")
    from hindsight_integrations.langchain import HindsightMemory

    return HindsightMemory


@both
async def test_a_classic_memory_recalls_what_it_saved_and_clears_its_own_session_only(
    mode: str, engine: Hindsight, bank: str, classic: Any
) -> None:
    engine.retain(bank, "The tent leaks.")
    memory = classic(memory=engine, bank_id=bank)
    asked, told = {"input": "Where is my car?"}, {"output": "On level 3."}
    if mode == "sync":
        memory.save_context(asked, told)
        shown = memory.load_memory_variables(asked)
        memory.clear()
    else:
        await memory.asave_context(asked, told)
        shown = await memory.aload_memory_variables(asked)
        await memory.aclear()
    assert "assistant: On level 3." in shown["history"]
    assert texts(engine, bank) == ["The tent leaks."]
    memory.clear()


def test_a_classic_memory_reads_an_empty_bank_and_a_blank_question(
    engine: Hindsight, bank: str, classic: Any
) -> None:
    memory = classic(memory=engine, bank_id=bank, memory_key="known")
    assert memory.memory_variables == ["known"]
    assert memory.load_memory_variables({"input": "Who?"}) == {"known": ""}
    assert memory.load_memory_variables({"input": " "}) == {"known": ""}


def test_a_classic_memory_asks_which_of_several_inputs_is_the_question(
    engine: Hindsight, bank: str, classic: Any
) -> None:
    both_given = {"question": "Where is my car?", "language": "English"}
    with pytest.raises(InvalidInputError, match="'language', 'question'"):
        classic(memory=engine, bank_id=bank).load_memory_variables(both_given)
    memory = classic(memory=engine, bank_id=bank, input_key="question", output_key="text")
    memory.save_context(both_given, {"text": "On level 3.", "tokens": "7"})
    assert texts(engine, bank) == ["Where is my car?", "On level 3."]


def test_the_memory_of_classic_chains_is_found_here_too() -> None:
    pytest.importorskip("langchain_classic")
    from hindsight_integrations.integrations.langchain import classic, legacy

    assert legacy.HindsightMemory is classic.HindsightMemory
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = legacy.Nonsense


def test_what_is_no_message_or_store_is_refused(engine: Hindsight, bank: str) -> None:
    with pytest.raises(InvalidInputError, match="give a HindsightStore"):
        HindsightChatMessageHistory(engine, bank, session_id="monday", store=None)  # type: ignore[arg-type]
    with HindsightStore(engine, bank, path=":memory:") as store:
        history = HindsightChatMessageHistory(engine, bank, session_id="monday", store=store)
        assert repr(history).endswith(f"bank_id={bank!r}, session_id='monday')")
        with pytest.raises(InvalidInputError, match="give a BaseMessage"):
            history.add_messages(["Hello."])  # type: ignore[list-item]
        assert history.messages == []
