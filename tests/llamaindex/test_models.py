"""Models cross the border both ways: ours serve LlamaIndex, LlamaIndex's serve the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import TextNode

from hindsight_integrations import Hindsight, InvalidInputError, MiniLM, ModelError
from hindsight_integrations.llamaindex import FunctionLLM, HindsightEmbedding
from hindsight_integrations.llamaindex.testing import ScriptedChat
from tests.llamaindex.engines import AS_SAID
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS


def test_the_bundled_embedder_serves_an_index() -> None:
    ours = HindsightEmbedding(embed_batch_size=2)
    texts = ["Ruth keeps bees.", "Tomas plays the violin.", "The ferry leaves at nine."]
    expected = MiniLM().embed(texts)
    assert np.allclose(ours.get_text_embedding_batch(texts), expected, atol=1e-5)
    assert np.allclose(asyncio.run(ours.aget_text_embedding_batch(texts)), expected, atol=1e-5)
    assert np.allclose(asyncio.run(ours.aget_text_embedding(texts[0])), expected[0], atol=1e-5)
    assert asyncio.run(ours.aget_query_embedding("bees")) == ours.get_query_embedding("bees")
    assert ours.model_name == MiniLM.id
    index = VectorStoreIndex([TextNode(text=text) for text in texts], embed_model=ours)
    assert index.as_retriever(similarity_top_k=1).retrieve("Who has hives?")[0].text == texts[0]


def test_embedders_of_other_makes_come_through_it() -> None:
    theirs = DeterministicFakeEmbedding(size=24)
    assert len(HindsightEmbedding(theirs).get_text_embedding("Hello.")) == 24

    def function(texts: Sequence[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    assert len(HindsightEmbedding(function).get_query_embedding("Hello.")) == 2
    with pytest.raises(InvalidInputError):
        HindsightEmbedding("all-MiniLM")


def test_an_embedding_of_llama_index_serves_the_engine() -> None:
    for embedder in (MockEmbedding(embed_dim=12), HindsightEmbedding()):
        with Hindsight.in_memory(embedder=embedder, settings=AS_SAID) as engine:
            engine.retain("b", "Ruth keeps bees.")
            assert (
                engine.recall("b", "Who keeps bees?").memories[0].memory.text == "Ruth keeps bees."
            )


def test_a_function_speaks_as_an_llm() -> None:
    asked: list[tuple[str, str]] = []

    def reply(system: str, user: str) -> str:
        asked.append((system, user))
        return "Nine."

    llm = FunctionLLM(reply, model_name="abacus", context_window=5000)
    chat = [ChatMessage("Be kind.", role="system"), ChatMessage("How many?")]
    longer = [*chat, ChatMessage("Of what?", role="assistant"), ChatMessage("Hives.")]

    async def asynchronously() -> list[str]:
        streamed = [str(part.delta) async for part in await llm.astream_chat(chat)]
        completed = [str(part.delta) async for part in await llm.astream_complete("How many?")]
        answered = [str((await llm.achat(chat)).message.content)]
        return [*streamed, *completed, *answered, (await llm.acomplete("How many?")).text]

    assert llm.chat(longer).message.content == "Nine."
    assert asked[-1] == ("Be kind.", "user: How many?\nassistant: Of what?\nuser: Hives.")
    assert llm.complete("How many?").text == "Nine."
    assert asked[-1] == ("", "How many?")
    assert [part.delta for part in llm.stream_chat(chat)] == ["Nine."]
    assert asked[-1] == ("Be kind.", "How many?")
    assert [part.delta for part in llm.stream_complete("How many?")] == ["Nine."]
    assert asyncio.run(asynchronously()) == ["Nine."] * 4
    assert (llm.metadata.model_name, llm.metadata.context_window) == ("abacus", 5000)


def test_a_function_that_returns_no_text_is_reported() -> None:
    llm = FunctionLLM(lambda system, user: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelError, match="NoneType"):
        llm.complete("Hello.")


async def test_a_function_drives_an_agent() -> None:
    llm = FunctionLLM(lambda system, user: "Thought: I can answer.\nAnswer: Nine.")
    assert str(await ReActAgent(tools=[], llm=llm).run("How many?")) == "Nine."


def test_an_llm_of_llama_index_draws_facts_for_the_engine() -> None:
    facts = {"facts": [{"text": "Ruth keeps bees.", "entities": [{"name": "Ruth"}]}]}

    def reply(system: str, user: str) -> str:
        import json

        return json.dumps(facts)

    with Hindsight.in_memory(llm=FunctionLLM(reply), settings=AS_SAID) as engine:
        stored = engine.retain("b", "Well, you know Ruth, with all those bees of hers.").stored
    assert [memory.text for memory in stored] == ["Ruth keeps bees."]


def test_a_function_calling_llm_answers_for_the_engine() -> None:
    with Hindsight.in_memory(settings=AS_SAID) as engine:
        label = engine.retain("b", "Ruth keeps bees.").ids[0][:8]
        step = {"action": "answer", "answer": f"A keeper [{label}].", "sources": [label]}
        script = ScriptedChat([("StepReply", step)])
        reflection = engine.reflect("b", "What is Ruth?", llm=script.llm)
        assert reflection.text.startswith("A keeper")
        assert len(reflection.sources) == 1
