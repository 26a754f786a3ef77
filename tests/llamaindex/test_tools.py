"""HindsightToolSpec: what its tools say to a model, and what a model cannot do with them."""

from __future__ import annotations

import asyncio
import inspect
import re
from contextvars import ContextVar

import pytest
from llama_index.core.agent.workflow import FunctionAgent

from hindsight_integrations import Hindsight, InvalidInputError, MemoryNotFoundError
from hindsight_integrations.integrations.llamaindex.conversions import ChatOptions
from hindsight_integrations.llamaindex import (
    FunctionLLM,
    HindsightQueryEngine,
    HindsightRetriever,
    HindsightToolSpec,
)
from hindsight_integrations.llamaindex.testing import ScriptedChat
from hindsight_integrations.retain.fence import FENCE_START, strip_fenced
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS


def test_what_is_retained_can_be_recalled_and_forgotten_by_its_id(
    engine: Hindsight, bank: str
) -> None:
    spec = HindsightToolSpec(engine, bank)
    said = spec.retain("Ruth moved to Porto in May 2021.")
    again = spec.retain("Ruth moved to Porto in May 2021.")
    found = spec.recall("Where does Ruth live?")
    assert "Ruth moved to Porto in May 2021." in found
    memory_id = re.findall(r"\(id (.+?)\)", found)[0]
    assert memory_id in said
    assert again == "Nothing new in it."
    assert spec.forget([memory_id]) == f"Forgotten: {memory_id}"
    assert "Porto" not in spec.recall("Where does Ruth live?")


def test_what_tools_recalled_is_stripped_before_it_could_be_retained(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth keeps bees.")
    spec = HindsightToolSpec(engine, bank)
    for answer in (spec.recall("bees"), spec.reflect("bees")):
        assert answer.startswith(FENCE_START)
        assert "Ruth keeps bees." in answer
        assert strip_fenced(answer) == ""


def test_a_missing_bank_is_an_empty_one(engine: Hindsight) -> None:
    spec = HindsightToolSpec(engine, "nobody")
    for answer in (spec.recall("bees?"), spec.reflect("bees?")):
        assert "No relevant memories found." in answer
    with pytest.raises(MemoryNotFoundError):
        spec.forget(["m-1"])
    assert "nobody" not in [each.id for each in engine.banks.list()]


def test_options_bind_every_tool(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Tomas keeps goats.", tags=["work"])
    spec = HindsightToolSpec(engine, bank, tags=["home"])
    spec.retain("Ruth keeps bees.")
    for answer in (spec.recall("Who keeps bees?"), spec.reflect("Who keeps bees?")):
        assert "Ruth keeps bees." in answer
        assert "goats" not in answer
    with pytest.raises(InvalidInputError, match="bank"):
        HindsightToolSpec(engine, bank, banks=["other"])  # type: ignore[call-arg]


def test_a_model_sees_each_parameter_described_and_never_the_bank(
    engine: Hindsight, bank: str
) -> None:
    for tool in HindsightToolSpec(engine, bank, forget=True).to_tool_list():
        schema = tool.metadata.get_parameters_dict()
        assert bank not in str(tool.metadata.to_openai_tool())
        optional = {"content", "speaker", "entities", "said", "happened", "reason"}
        left = optional if tool.metadata.name == "correct" else set()
        assert set(schema["properties"]) - left == set(schema["required"])
        assert all(parameter["description"] for parameter in schema["properties"].values())
    assert schema["properties"]["memory_ids"]["items"] == {"type": "string"}


@pytest.mark.local
def test_reflect_asks_the_model_it_was_given(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth keeps bees.")

    def answer(system: str, user: str) -> str:
        label = re.findall(r"\[(m-\w+)\]", user)[0]
        return f'{{"action": "answer", "answer": "She is a keeper [{label}].", "sources": []}}'

    spec = HindsightToolSpec(engine, bank, llm=FunctionLLM(answer))
    assert "She is a keeper" in spec.reflect("What is Ruth?")


async def test_an_agent_remembers_looks_up_and_deletes(engine: Hindsight, bank: str) -> None:
    ids = engine.retain(bank, "Ruth has nine hives.").ids
    script = ScriptedChat(
        [("recall", {"query": "How many hives has Ruth?"}), ("recall", {"query": "Ruth"})],
        [("retain", {"content": "Ruth has ten hives."}), ("forget", {"memory_ids": list(ids)})],
        [("forget", {"memory_ids": ["m-none"]})],
        "Done.",
    )
    agent = FunctionAgent(
        tools=HindsightToolSpec(engine, bank, forget=True).to_tool_list(), llm=script.llm
    )
    output = await agent.run("Ruth has ten hives now, not nine.")
    assert [memory.text for memory in engine.memories.list(bank).items] == ["Ruth has ten hives."]
    results = [str(message.content) for message in script.asked[-1] if message.role == "tool"]
    assert all("nine hives" in result for result in results[:2])
    assert "no memory 'm-none'" in results[-1]
    assert [call.tool_output.is_error for call in output.tool_calls] == [False] * 4 + [True]


async def test_an_agent_corrects_and_marks_as_wrong_but_is_given_forget_only_on_request(
    engine: Hindsight, bank: str
) -> None:
    (hives,) = engine.retain(bank, "Ruth has nine hives.").ids
    (goats,) = engine.retain(bank, "Tomas keeps goats.").ids
    script = ScriptedChat(
        [("correct", {"memory_id": hives, "content": "Ruth has ten hives."})],
        [("invalidate", {"memory_id": goats, "reason": "He said that he never had any."})],
        [("correct", {"memory_id": "m-none", "content": "Nobody sings."})],
        "Done.",
    )
    tools = HindsightToolSpec(engine, bank).to_tool_list()
    assert [tool.metadata.name for tool in tools] == [
        *("retain", "recall", "reflect", "correct", "invalidate")
    ]
    output = await FunctionAgent(tools=tools, llm=script.llm).run("Ten hives, and no goats.")
    assert [call.tool_output.is_error for call in output.tool_calls] == [False, False, True]
    assert [memory.text for memory in engine.memories.list(bank).items] == ["Ruth has ten hives."]
    withdrawn = engine.memories.restore(bank, goats)
    assert withdrawn.text == "Tomas keeps goats."
    assert engine.memories.history(bank, goats)[0].reason == "He said that he never had any."
    with pytest.raises(MemoryNotFoundError, match="nothing was changed"):
        HindsightToolSpec(engine, "nobody").invalidate("m-1", "no")


async def test_tools_that_users_share_work_on_the_bank_of_each_run(
    engine: Hindsight, bank: str
) -> None:
    user: ContextVar[str] = ContextVar("user")
    tools = HindsightToolSpec(engine, lambda: f"{bank} {user.get()}").to_tool_list()

    async def tell(name: str) -> None:
        user.set(name)
        script = ScriptedChat([("retain", {"content": f"I am {name}."})], "Noted.")
        await FunctionAgent(tools=tools, llm=script.llm).run(f"I am {name}.")

    await asyncio.gather(tell("Ann"), tell("Ben"))
    for name in ("Ann", "Ben"):
        retriever = HindsightRetriever(engine, lambda: f"{bank} {user.get()}")
        user.set(name)
        assert [found.text for found in await retriever.aretrieve("Who?")] == [f"I am {name}."]
        asking = HindsightQueryEngine(engine, lambda: f"{bank} {user.get()}")
        assert f"I am {name}." in str(await asking.aquery("Who am I?"))


def test_a_part_of_the_tools_can_be_chosen(engine: Hindsight, bank: str) -> None:
    tools = HindsightToolSpec(engine, bank).to_tool_list([("recall", "arecall")])
    assert [tool.metadata.name for tool in tools] == ["recall"]


def test_options_of_a_chat_are_known_to_recall_and_to_reflect() -> None:
    for verb in (Hindsight.recall, Hindsight.reflect):
        assert set(ChatOptions.__annotations__) <= set(inspect.signature(verb).parameters)


async def test_a_memory_is_corrected_and_its_history_told(engine: Hindsight, bank: str) -> None:
    spec = HindsightToolSpec(engine, bank)
    (id,) = engine.retain(bank, "Ruth moved to Porto in May 2021.").ids
    correct, history = spec.to_tool_list([("correct", "acorrect"), ("history", "ahistory")])
    assert (correct.metadata.name, history.metadata.name) == ("correct", "history")
    assert history(memory_id=id).content == "No changes recorded."
    happened = "2021-06-01/2021-07-01"
    given = {"content": "Ruth moved to Faro.", "happened": happened, "reason": "Typo."}
    await correct.acall(memory_id=id, **given)
    memory = engine.memories.get(bank, id)
    assert (memory.text, memory.occurred[0].end.month) == ("Ruth moved to Faro.", 7)
    told = (await history.acall(memory_id=id)).content
    assert "Ruth moved to Porto in May 2021. -> Ruth moved to Faro. (Typo.)" in told
    assert strip_fenced(told) == ""
    with pytest.raises(InvalidInputError, match="no correction given"):
        spec.correct(id)
    with pytest.raises(MemoryNotFoundError):
        spec.history("m-unknown")
