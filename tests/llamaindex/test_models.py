"""Models of the engine serve LlamaIndex, its models serve the engine; postprocessors of both."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import Field

from hindsight_integrations import (
    Hindsight,
    InvalidInputError,
    MemoryMiniLM,
    ModelError,
    RerankError,
    TimeSpan,
)
from hindsight_integrations.llamaindex import (
    FunctionLLM,
    HindsightEmbedding,
    HindsightMemory,
    HindsightQueryEngine,
    HindsightRerank,
    HindsightRetriever,
    HindsightTimeFilter,
)
from hindsight_integrations.llamaindex.testing import ScriptedChat
from hindsight_integrations.nlp.embeddings import as_embedder
from tests.llamaindex.engines import AS_SAID
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS


def test_the_bundled_embedder_serves_an_index() -> None:
    ours = HindsightEmbedding(embed_batch_size=2)
    texts = ["Ruth keeps bees.", "Tomas plays the violin.", "The ferry leaves at nine."]
    expected = MemoryMiniLM().embed(texts)
    assert np.allclose(ours.get_text_embedding_batch(texts), expected, atol=1e-5)
    assert np.allclose(asyncio.run(ours.aget_text_embedding_batch(texts)), expected, atol=1e-5)
    assert np.allclose(asyncio.run(ours.aget_text_embedding(texts[0])), expected[0], atol=1e-5)
    assert asyncio.run(ours.aget_query_embedding("bees")) == ours.get_query_embedding("bees")
    assert ours.model_name == MemoryMiniLM.id
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


# Postprocessors


TEXTS = [
    "The bakery on Harbour Street closes on Mondays.",
    "Ruth Amsel repaired the old lighthouse at Cabo Raso.",
    "Tomas teaches the violin to children.",
]


def nodes(texts: Sequence[str] = TEXTS) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(text=text, id_=f"n{n}"), score=1.0)
        for n, text in enumerate(texts)
    ]


def dated(**metadata: str) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=str(metadata), metadata=dict(metadata)))


def test_what_answers_comes_first_with_its_score() -> None:
    ranked = HindsightRerank().postprocess_nodes(nodes(), query_str="Who repaired the lighthouse?")
    assert ranked[0].text == TEXTS[1]
    scores = [each.score or 0 for each in ranked]
    assert len(ranked) == 3
    assert scores == sorted(scores, reverse=True)
    assert 0.5 < scores[0] <= 1
    best = HindsightRerank(top_n=1)
    found = asyncio.run(best.apostprocess_nodes(nodes(), query_str="violin"))
    assert [each.text for each in found] == [TEXTS[2]]
    assert best.postprocess_nodes([], query_str="violin") == []


def test_any_reranker_of_the_engine_ranks_nodes() -> None:
    def longest(query: str, texts: Sequence[str]) -> list[float]:
        return [float(len(text)) for text in texts]

    ranked = HindsightRerank(longest).postprocess_nodes(nodes(), query_str="?")
    assert [each.node.node_id for each in ranked] == ["n1", "n0", "n2"]


def test_scores_that_are_none_are_refused() -> None:
    for broken in ([1.0], [1.0, float("nan"), 0.0]):
        rerank = HindsightRerank(lambda query, texts, scores=broken: scores)
        with pytest.raises(RerankError, match="one finite number per text"):
            rerank.postprocess_nodes(nodes(), query_str="?")
    with pytest.raises(InvalidInputError, match="query_str"):
        HindsightRerank().postprocess_nodes(nodes())
    with pytest.raises(InvalidInputError, match="top_n"):
        HindsightRerank(top_n=0)


def test_a_postprocessor_of_llama_index_reranks_the_engines_recall() -> None:
    class Last(SimilarityPostprocessor):
        def _postprocess_nodes(self, given: list[NodeWithScore], query_bundle: object = None):
            return given[::-1]

    with Hindsight.in_memory(reranker=Last(), settings=AS_SAID) as engine:
        engine.retain_many("b", TEXTS)
        result = engine.recall("b", "Who repaired the lighthouse?")
    assert not result.failures
    assert result.memories[0].memory.text != TEXTS[1]


def test_a_question_that_names_a_time_keeps_what_is_of_that_time() -> None:
    spring = dated(
        occurred_start="2021-03-01T00:00:00+00:00",
        occurred_end="2021-04-01T00:00:00+00:00",
        mentioned_at="2024-01-01T00:00+00:00",
    )
    said = dated(mentioned_at="2021-05-07T10:00+00:00")
    later = dated(mentioned_at="2023-05-07T10:00+00:00")
    undated = dated(title="none")
    given = [spring, said, later, undated]
    of_the_time = HindsightTimeFilter()
    ask = "Where did she work in spring 2021?"
    assert of_the_time.postprocess_nodes(given, query_str=ask) == [spring, said]
    assert of_the_time.postprocess_nodes(given, query_str="Where did she work?") == given
    assert of_the_time.postprocess_nodes(given) == given
    keeping = HindsightTimeFilter(keep_undated=True)
    assert keeping.postprocess_nodes(given, query_str=ask) == [spring, said, undated]


def test_a_window_of_yours_holds_for_every_question() -> None:
    start, end = datetime(2021, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC)
    given = [dated(date=f"{year}-06-01") for year in (2020, 2021, 2022)]
    for window in ((start, end), TimeSpan(start, end)):
        kept = HindsightTimeFilter(window, time_key="date").postprocess_nodes(given, query_str="?")
        assert kept == [given[1]]
    with pytest.raises(InvalidInputError, match="'someday'"):
        HindsightTimeFilter(window, time_key="date").postprocess_nodes([dated(date="someday")])


def test_both_work_in_a_query_engine_over_a_bank(engine: Hindsight, bank: str) -> None:
    for year in (2019, 2020, 2021):
        engine.retain(bank, f"In {year} Ruth had {year - 2010} hives.")
        engine.retain(bank, f"In {year} the bakery had a new oven.")
    asking = RetrieverQueryEngine.from_args(
        HindsightRetriever(engine, bank, arms=["semantic"]),
        llm=MockLLM(),
        node_postprocessors=[HindsightTimeFilter(), HindsightRerank(top_n=1)],
    )
    for answer in (
        asking.query("How many hives had Ruth in 2020?"),
        asyncio.run(asking.aquery("How many hives had Ruth in 2020?")),
    ):
        assert [found.text for found in answer.source_nodes] == ["In 2020 Ruth had 10 hives."]


def shout(texts: Sequence[str]) -> list[list[float]]:
    """Embed texts by their length: a model that a copy in another process can have."""
    return [[float(len(text)), 1.0] for text in texts]


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    """Rank the longest text first."""
    return [float(len(text)) for text in texts]


def echo(system: str, user: str) -> str:
    """Repeat the question."""
    return user


def test_pickled_models_are_the_same_models() -> None:
    def copy(made: Any) -> Any:
        return pickle.loads(pickle.dumps(made))

    given = HindsightEmbedding(shout, embed_batch_size=7)
    copied = copy(given)
    assert copied.get_text_embedding("Hello") == given.get_text_embedding("Hello")
    assert (copied.model_name, copied.embed_batch_size) == (given.model_name, 7)
    assert len(copy(HindsightEmbedding()).get_text_embedding("Hello")) == 384
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in ("Bo is tall.", "x" * 40)]
    rerank = copy(HindsightRerank(by_length, top_n=1))
    assert rerank.postprocess_nodes(nodes, query_str="How tall is Bo?")[0].text == "x" * 40
    assert copy(FunctionLLM(echo)).complete("Hello").text == "Hello"
    window = TimeSpan(datetime(2021, 5, 1, tzinfo=UTC), datetime(2021, 6, 1, tzinfo=UTC))
    dated = [
        NodeWithScore(node=TextNode(text=day, metadata={"date": day}))
        for day in ("2020-05-01", "2021-05-02")
    ]
    times = copy(HindsightTimeFilter(window, time_key="date"))
    assert [one.text for one in times.postprocess_nodes(dated)] == ["2021-05-02"]


@pytest.mark.parametrize(
    "given", [MockEmbedding(embed_dim=8), DeterministicFakeEmbedding(size=8), shout]
)
def test_an_embedder_of_the_engine_is_pickled_with_the_model_it_has(given: Any) -> None:
    made = HindsightEmbedding(as_embedder(given))
    copied = pickle.loads(pickle.dumps(made))
    assert copied.get_text_embedding("Hello") == made.get_text_embedding("Hello")
    assert copied.get_query_embedding("Hello?") == made.get_query_embedding("Hello?")
    assert copied.model_name == made.model_name


def test_a_model_that_cannot_be_pickled_is_refused_instead_of_exchanged() -> None:
    parts = [
        HindsightEmbedding(lambda texts: [[1.0] for _ in texts]),
        HindsightRerank(lambda query, texts: [1.0 for _ in texts]),
        FunctionLLM(lambda system, user: user),
    ]
    for part in parts:
        with pytest.raises(InvalidInputError, match="cannot be pickled"):
            pickle.dumps(part)


class Listener(BaseEventHandler):
    """Keeps LlamaIndex's events of searches and rerankings."""

    events: list[Any] = Field(default_factory=list)

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        if isinstance(event, RetrievalEndEvent | ReRankStartEvent | ReRankEndEvent):
            self.events.append(event)


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener, root = Listener(), get_dispatcher()
    before = list(root.event_handlers)
    root.add_event_handler(listener)
    yield listener
    root.event_handlers = before


@pytest.mark.local
def test_reranking_and_inner_searches_are_told_to_the_instrumentation(
    engine: Hindsight, bank: str, listener: Listener
) -> None:
    engine.retain(bank, "Ruth keeps nine hives.")
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in ("Tea is hot.", "Bo is tall.")]
    HindsightRerank(top_n=1).postprocess_nodes(nodes, query_str="How tall is Bo?")
    started, ended = listener.events
    assert (started.top_n, len(started.nodes)) == (1, 2)
    assert [node.text for node in ended.nodes] == ["Bo is tall."]
    listener.events.clear()

    def answer(system: str, user: str) -> str:
        label = re.findall(r"\[(m-\w+)\]", user)[0]
        return f'{{"action": "answer", "answer": "Nine [{label}].", "sources": []}}'

    HindsightQueryEngine(engine, bank, llm=FunctionLLM(answer)).query("How many hives has Ruth?")
    found = [node.text for event in listener.events for node in event.nodes]
    assert found == ["Ruth keeps nine hives."]
    listener.events.clear()
    HindsightQueryEngine(engine, bank).query("How many hives has Ruth?")  # without a model
    (search,) = listener.events
    assert [node.text for node in search.nodes] == ["Ruth keeps nine hives."]
    listener.events.clear()
    HindsightMemory(engine, bank, session_id="s").get("How many hives has Ruth?")
    (search,) = listener.events
    assert search.str_or_query_bundle == "How many hives has Ruth?"


@pytest.mark.parametrize("make", [HindsightEmbedding, HindsightRerank])
def test_models_can_be_copied(make: Callable[[], Any]) -> None:
    made = make()
    for copied in (copy.deepcopy(made), made.model_copy(deep=True)):
        assert type(copied) is make
        assert copied.model_dump() == made.model_dump()


def test_a_blank_question_ranks_no_nodes() -> None:
    given = nodes()
    assert HindsightRerank().postprocess_nodes(given, query_str=" ") == given
    assert HindsightRerank(top_n=1).postprocess_nodes(given, query_str="") == given[:1]
