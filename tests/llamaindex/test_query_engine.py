"""HindsightQueryEngine: answers with their sources, with and without a model."""

from __future__ import annotations

import asyncio
import inspect
import re

import pytest
from llama_index.core import PromptTemplate
from llama_index.core.callbacks import (
    CallbackManager,
    CBEventType,
    EventPayload,
    LlamaDebugHandler,
)
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import QueryBundle
from pydantic import BaseModel

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.integrations.llamaindex.conversions import ReflectOptions
from hindsight_integrations.llamaindex import FunctionLLM, HindsightQueryEngine, RecallQuery
from hindsight_integrations.validation import MAX_QUERY
from tests.llamaindex.engines import AS_SAID, Gate


def citing(system: str, user: str) -> str:
    """Answers by citing the first memory it is shown."""
    if '"hives"' in system + user:
        return '{"hives": 9}'
    label = re.findall(r"\[(m-\w+)\]", user)[0]
    return f'{{"action": "answer", "answer": "Nine [{label}].", "sources": ["{label}"]}}'


@pytest.mark.local
def test_with_a_model_the_sources_are_what_it_cites(engine: Hindsight, bank: str) -> None:
    ids = engine.retain(bank, "Ruth has nine hives.", document_id="letter").ids
    engine.retain(bank, "Tomas keeps goats.")
    response = HindsightQueryEngine(engine, bank, llm=FunctionLLM(citing)).query(
        "How many hives has Ruth?"
    )
    assert str(response).startswith("Nine")
    assert [found.node.node_id for found in response.source_nodes] == list(ids)
    assert response.source_nodes[0].node.ref_doc_id == "letter"
    assert response.metadata["model_calls"] == 1


def test_without_a_model_it_sets_out_what_is_known(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    response = HindsightQueryEngine(engine, bank).query(QueryBundle("How many hives has Ruth?"))
    assert "Ruth has nine hives." in str(response)
    assert [found.text for found in response.source_nodes] == ["Ruth has nine hives."]
    assert response.metadata["model_calls"] == 0


@pytest.mark.local
def test_a_missing_bank_is_an_empty_one(engine: Hindsight, bank: str) -> None:
    engine.banks.create(bank)
    llm = FunctionLLM(citing)
    empty, missing = (HindsightQueryEngine(engine, each, llm=llm) for each in (bank, "nobody"))
    assert str(missing.query("Who?")) == str(empty.query("Who?")) == "No relevant memories found."


@pytest.mark.local
def test_a_form_is_filled_in(engine: Hindsight, bank: str) -> None:
    class Hives(BaseModel):
        hives: int

    engine.retain(bank, "Ruth has nine hives.")
    asking = HindsightQueryEngine(engine, bank, llm=FunctionLLM(citing), response_schema=Hives)
    assert asking.query("How many hives has Ruth?").metadata["structured"] == Hives(hives=9)


def test_filters_reach_reflection_and_a_query_brings_its_own(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth keeps bees.", tags=["a"])
    engine.retain(bank, "Tomas keeps bees too.", tags=["b"])
    asking = HindsightQueryEngine(engine, bank, tags=["a"])
    assert [n.text for n in asking.query("Who keeps bees?").source_nodes] == ["Ruth keeps bees."]
    other = asking.query(RecallQuery("Who keeps bees?", options={"tags": ["b"]}))
    assert [n.text for n in other.source_nodes] == ["Tomas keeps bees too."]
    with pytest.raises(InvalidInputError, match="chunk_tokens"):
        asking.query(RecallQuery("Who?", options={"chunk_tokens": 5}))
    with pytest.raises(InvalidInputError, match="model"):
        HindsightQueryEngine(engine, bank, model="gpt")  # type: ignore[call-arg]


def test_mental_models_are_sources_too(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth keeps bees.")
    model = engine.mental_models.create(bank, "Ruth", text="Ruth is a beekeeper in Porto.")
    nodes = HindsightQueryEngine(engine, bank).query("Who is Ruth?").source_nodes
    found = next(each.node for each in nodes if each.node.node_id == model.id)
    assert found.metadata == {"bank_id": bank, "type": "mental_model", "name": "Ruth"}
    assert found.text == "Ruth is a beekeeper in Porto."


async def test_the_event_loop_goes_on_while_it_reflects() -> None:
    gate = Gate()
    async with Hindsight.in_memory(reranker=gate, settings=AS_SAID) as engine:
        await engine.aretain("b", "Ruth keeps bees.")
        asking = asyncio.create_task(HindsightQueryEngine(engine, "b").aquery("bees?"))
        await asyncio.sleep(0)
        gate.open.set()
        assert "Ruth keeps bees." in str(await asking)
    assert gate.passed


def test_options_are_those_of_reflect() -> None:
    parameters = set(inspect.signature(Hindsight.reflect).parameters)
    assert set(ReflectOptions.__annotations__) == parameters - {"self", "bank_id", "query"}


class OneForEach(BaseQuestionGenerator):
    """The question itself, to every tool."""

    def generate(self, tools: object, query: QueryBundle) -> list[SubQuestion]:
        return [
            SubQuestion(sub_question=query.query_str, tool_name=tool.name)
            for tool in tools  # type: ignore[attr-defined]
        ]

    async def agenerate(self, tools: object, query: QueryBundle) -> list[SubQuestion]:
        return self.generate(tools, query)

    def _get_prompts(self) -> dict[str, object]:
        return {}

    def _update_prompts(self, prompts: object) -> None:
        raise NotImplementedError


def test_as_a_tool_it_serves_engines_of_engines(engine: Hindsight, bank: str) -> None:
    engine.retain(f"{bank}-1", "Ruth has nine hives.")
    engine.retain(f"{bank}-2", "Tomas has three hives.")
    tools = [HindsightQueryEngine(engine, f"{bank}-{n}").as_tool(name=f"bank{n}") for n in (1, 2)]
    assert "nine hives" in tools[0].call("How many hives are there?").content
    assert "three hives" in asyncio.run(tools[1].acall(input="How many hives are there?")).content
    both = SubQuestionQueryEngine.from_defaults(
        tools,
        llm=MockLLM(),
        question_gen=OneForEach(),
        response_synthesizer=get_response_synthesizer(llm=MockLLM()),
        use_async=False,
        verbose=False,
    ).query("How many hives are there?")
    assert {"Ruth has nine hives.", "Tomas has three hives."} <= {
        found.text for found in both.source_nodes
    }


@pytest.mark.local
async def test_an_answer_streams_with_and_without_a_model(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    for options in ({}, {"llm": FunctionLLM(citing)}):
        plain = HindsightQueryEngine(engine, bank, **options).query("How many hives has Ruth?")
        asking = HindsightQueryEngine(engine, bank, streaming=True, **options)
        response = asking.query("How many hives has Ruth?")
        pieces = list(response.response_gen)
        assert "".join(pieces) == str(plain)
        assert len(pieces) > 1
        assert len(response.source_nodes) == 1
        later = await asking.aquery("How many hives has Ruth?")
        assert "".join([piece async for piece in later.async_response_gen()]) == str(plain)


async def test_a_synthesizer_words_the_answer_with_its_prompts_and_streams(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth has nine hives.")
    for streaming in (False, True):
        synthesizer = get_response_synthesizer(llm=MockLLM(), streaming=streaming)
        asking = HindsightQueryEngine(engine, bank, response_synthesizer=synthesizer)
        name = "response_synthesizer:text_qa_template"
        assert name in asking.get_prompts()
        asking.update_prompts({name: PromptTemplate("Of {context_str}, {query_str} Briefly!")})
        response = asking.query("How many hives has Ruth?")
        said = "".join(response.response_gen) if streaming else str(response)
        assert "Ruth has nine hives." in said
        assert said.endswith("How many hives has Ruth? Briefly!")
        assert [found.text for found in response.source_nodes] == ["Ruth has nine hives."]
        assert "nine" in str(await asking.aquery("How many hives has Ruth?"))
    with pytest.raises(
        InvalidInputError, match="'llm' cannot be combined with a response_synthesizer"
    ):
        HindsightQueryEngine(engine, bank, response_synthesizer=synthesizer, llm=MockLLM())


async def test_callbacks_are_told_of_a_question_and_its_answer(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth lives in Lisbon.")
    told = LlamaDebugHandler(print_trace_on_end=False)
    asking = HindsightQueryEngine(engine, bank, callback_manager=CallbackManager([told]))
    asking.query("Where does Ruth live?")
    await asking.aquery("Where does Ruth live?")
    pairs = told.get_event_pairs(CBEventType.QUERY)
    for start, end in pairs:
        assert start.payload == {EventPayload.QUERY_STR: "Where does Ruth live?"}
        assert "Lisbon" in str(end.payload[EventPayload.RESPONSE])
    assert len(pairs) == 2
    with pytest.raises(InvalidInputError, match="characters"):
        asking.query("x" * (MAX_QUERY + 1))
    *_, (_, failed) = told.get_event_pairs(CBEventType.QUERY)
    assert isinstance(failed.payload[EventPayload.EXCEPTION], InvalidInputError)
