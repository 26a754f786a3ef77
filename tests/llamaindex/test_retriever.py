"""HindsightRetriever: what its nodes tell, its filters, and the engines it serves."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.llms.mock import MockLLM
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.query_engine import RetrieverQueryEngine, RouterQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import MetadataMode, QueryBundle
from llama_index.core.tools import QueryEngineTool, ToolMetadata
from llama_index.core.vector_stores import FilterCondition, MetadataFilter, MetadataFilters

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.llamaindex import (
    FunctionLLM,
    HindsightMemory,
    HindsightQueryEngine,
    HindsightRetriever,
    HindsightToolSpec,
    RecallQuery,
)
from hindsight_integrations.recall.request import RecallOptions
from hindsight_integrations.results import NOTHING_ASKED
from tests.llamaindex.engines import AS_SAID, Gate


def texts(retriever: HindsightRetriever, query: str | QueryBundle) -> list[str]:
    return [found.text for found in retriever.retrieve(query)]


def test_a_node_tells_what_is_known_of_its_memory(engine: Hindsight, bank: str) -> None:
    stored = engine.retain(
        bank,
        "Ruth Amsel moved to Lisbon in March 2021.",
        document_id="letter-7",
        timestamp=datetime(2021, 4, 2, 9, 30, tzinfo=UTC),
        tags=["family"],
        metadata={"page": 3},
        speaker="Tomas",
    )
    found = HindsightRetriever(engine, bank).retrieve("Where did Ruth Amsel move?")[0]
    assert found.node.node_id == stored.ids[0]
    assert found.node.ref_doc_id == "letter-7"
    assert 0 <= found.score <= 1
    expected = {
        "bank_id": bank,
        "type": "world",
        "mentioned_at": "2021-04-02T09:30+00:00",
        "occurred_start": "2021-03-01T00:00:00+00:00",
        "occurred_end": "2021-04-01T00:00:00+00:00",
        "speaker": "Tomas",
        "tags": ["family"],
        "page": 3,
        "document_id": "letter-7",
    }
    assert expected.items() <= found.metadata.items()
    assert "Ruth Amsel" in found.metadata["entities"]
    assert any("meaning" in reason for reason in found.metadata["reasons"])


def test_a_model_reads_who_said_it_and_when_but_no_bookkeeping(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "I keep bees.", speaker="Ruth", metadata={"row": 12})
    found = HindsightRetriever(engine, bank).retrieve("Who keeps bees?")[0]
    shown = found.node.get_content(MetadataMode.LLM)
    assert "speaker: Ruth" in shown
    assert "I keep bees." in shown
    assert "row" not in shown
    assert "reasons" not in shown
    assert found.node.get_content(MetadataMode.EMBED).strip() == "I keep bees."


def test_metadata_of_yours_cannot_pass_for_the_memorys_own(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth keeps bees.", metadata={"type": "rumour", "bank_id": "other"})
    metadata = HindsightRetriever(engine, bank).retrieve("Who keeps bees?")[0].metadata
    assert (metadata["type"], metadata["bank_id"]) == ("world", bank)


def test_filters_of_the_constructor_reach_recall(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth keeps bees.", tags=["a"], metadata={"year": 2020})
    engine.retain(bank, "Tomas keeps bees too.", tags=["b"], metadata={"year": 2022})
    engine.retain(bank, "I like bees.", type="opinion", metadata={"year": 2021})
    ask = "Who keeps bees?"
    assert texts(HindsightRetriever(engine, bank, tags=["a"]), ask) == ["Ruth keeps bees."]
    assert texts(HindsightRetriever(engine, bank, types=["opinion"]), ask) == ["I like bees."]
    assert len(texts(HindsightRetriever(engine, bank, similarity_top_k=2), ask)) == 2
    assert texts(HindsightRetriever(engine, bank, min_score=1.0), ask) == []
    later = HindsightRetriever(engine, bank, where={"year": {"$gt": 2021}})
    assert texts(later, ask) == ["Tomas keeps bees too."]


def test_metadata_filters_of_llama_index_become_conditions(engine: Hindsight, bank: str) -> None:
    for year in range(2018, 2024):
        engine.retain(bank, f"Ruth had {year - 2000} hives.", metadata={"year": year, "by": "r"})
    inner = MetadataFilters(filters=[MetadataFilter(key="year", value=[2019, 2021], operator="in")])
    filters = MetadataFilters(
        filters=[
            MetadataFilter(key="by", value="r"),
            MetadataFilter(key="year", value=2019, operator=">"),
            MetadataFilter(key="year", value=2023, operator="<="),
            inner,
        ]
    )
    retriever = HindsightRetriever(engine, bank, filters=filters)
    assert texts(retriever, "How many hives?") == ["Ruth had 21 hives."]


@pytest.fixture(scope="module")
def shelf(engine: Hindsight) -> str:
    """A bank with the fields that filters can name."""
    engine.retain(
        "shelf",
        "Ruth keeps bees in Lisbon.",
        document_id="d1",
        speaker="Tomas",
        tags=["family"],
        timestamp=datetime(2024, 5, 7, 13, 56, tzinfo=UTC),
        metadata={"topics": '["bees", "honey"]', "marks": "[1, 12]", "place": "the Roof"},
    )
    engine.retain(
        "shelf",
        "Nora keeps bees, I think.",
        document_id="d2",
        type="opinion",
        tags=["work"],
        timestamp=datetime(2024, 6, 1, tzinfo=UTC),
        metadata={"topics": "[]", "marks": "[2]"},
    )
    return "shelf"


def one(key: str, value: Any, operator: str = "==") -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=operator)


@pytest.mark.parametrize(
    ("filters", "condition", "expected"),
    [
        ([one("speaker", "Tomas")], "and", ["d1"]),
        ([one("type", "opinion")], "and", ["d2"]),
        ([one("document_id", "d1")], "and", ["d1"]),
        ([one("document_id", "d1")], "not", ["d2"]),
        ([one("mentioned_at", "2024-05-31", ">")], "and", ["d2"]),
        ([one("mentioned_at", "2024-05-07T13:56+00:00")], "and", ["d1"]),
        ([one("entities", "Ruth")], "and", ["d1"]),
        ([one("entities", ["Nora", "Zoe"], "any")], "and", ["d2"]),
        ([one("entities", ["Ruth", "Lisbon"], "all")], "and", ["d1"]),
        ([one("entities", ["Ruth", "Nora"], "all")], "and", []),
        ([one("tags", "work", "contains")], "and", ["d2"]),
        ([one("topics", "bees", "contains")], "and", ["d1"]),
        ([one("topics", "bee", "contains")], "and", []),
        ([one("topics", ["wax", "honey"], "any")], "and", ["d1"]),
        ([one("marks", 2, "contains")], "and", ["d2"]),
        ([one("topics", None, "is_empty")], "and", ["d2"]),
        ([one("place", None, "is_empty")], "and", ["d2"]),
        ([one("place", "Roof", "text_match")], "and", ["d1"]),
        ([one("place", "roof", "text_match")], "and", []),
        ([one("place", "roof", "text_match_insensitive")], "and", ["d1"]),
        ([one("speaker", "Tomas"), one("type", "opinion")], "or", ["d1", "d2"]),
        ([one("speaker", "Tomas"), one("type", "opinion")], "and", []),
        ([one("marks", "[2]"), one("marks", "[1, 12]")], "and", []),
    ],
)
def test_filters_test_all_fields_by_all_operators(
    engine: Hindsight,
    shelf: str,
    filters: list[MetadataFilter],
    condition: str,
    expected: list[str],
) -> None:
    given = MetadataFilters(filters=filters, condition=FilterCondition(condition))
    found = HindsightRetriever(engine, shelf, filters=given).retrieve("Who keeps bees?")
    assert sorted(node.metadata["document_id"] for node in found) == expected


def test_a_query_brings_filters_of_its_own(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth keeps bees.", tags=["a"])
    engine.retain(bank, "Tomas keeps bees too.", tags=["b"])
    retriever = HindsightRetriever(engine, bank, tags=["a"])
    asked = RecallQuery("Who keeps bees?", options={"tags": ["b"]})
    assert texts(retriever, asked) == ["Tomas keeps bees too."]
    engine_of_queries = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert [n.text for n in engine_of_queries.query(asked).source_nodes] == [
        "Tomas keeps bees too."
    ]


def test_what_cannot_be_used_is_refused_at_once(engine: Hindsight) -> None:
    no_list = MetadataFilters(filters=[MetadataFilter(key="a", value="x", operator="any")])
    no_text = MetadataFilters(filters=[MetadataFilter(key="a", value=1, operator="text_match")])
    no_time = MetadataFilters(filters=[MetadataFilter(key="mentioned_at", value="soon")])
    refused: list[tuple[dict[str, object], str]] = [
        ({"tpyes": ["world"]}, "tpyes"),
        ({"similarity_top_k": 0}, "similarity_top_k"),
        ({"filters": no_list}, "give a list"),
        ({"filters": MetadataFilters(filters=[]), "where": {"a": 1}}, "both"),
    ]
    for options, word in refused:
        with pytest.raises(InvalidInputError, match=word):
            HindsightRetriever(engine, "any", **options)  # type: ignore[arg-type]
    for filters, word in ((no_text, "text"), (no_time, "ISO 8601")):
        with pytest.raises(InvalidInputError, match=word):
            HindsightRetriever(engine, "any", filters=filters).retrieve("?")
    with pytest.raises(InvalidInputError, match=r"Hindsight\('./mem'\)"):
        HindsightRetriever("./mem", "any")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"Hindsight\('./mem'\)"):
        HindsightMemory("./mem", "any")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="top_k"):
        HindsightRetriever(engine, "any").retrieve(
            RecallQuery("?", options={"top_k": 1})  # type: ignore[typeddict-unknown-key]
        )


def test_a_missing_bank_is_an_empty_one(engine: Hindsight, bank: str) -> None:
    engine.retain(bank, "Ruth keeps bees.")
    assert HindsightRetriever(engine, "nobody").retrieve("Who keeps bees?") == []
    assert HindsightRetriever(engine, ["nobody", "no one"]).retrieve("Who?") == []
    both = HindsightRetriever(engine, ["nobody", bank])
    assert texts(both, "Who keeps bees?") == ["Ruth keeps bees."]


def test_options_are_those_of_recall() -> None:
    parameters = set(inspect.signature(Hindsight.recall).parameters)
    assert set(RecallOptions.__annotations__) == parameters - {"self", "bank_id", "query"}


async def test_the_event_loop_goes_on_while_it_retrieves() -> None:
    gate = Gate()
    async with Hindsight.in_memory(reranker=gate, settings=AS_SAID) as engine:
        await engine.aretain("b", "Ruth keeps bees.")
        retrieving = asyncio.create_task(HindsightRetriever(engine, "b").aretrieve("bees?"))
        await asyncio.sleep(0)
        gate.open.set()
        assert [found.text for found in await retrieving] == ["Ruth keeps bees."]
    assert gate.passed


def test_a_part_of_recall_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken(query: str, texts: Sequence[str]) -> list[float]:
        raise RuntimeError("no reranker today")

    with Hindsight.in_memory(reranker=broken, settings=AS_SAID) as engine:
        engine.retain("b", "Ruth keeps bees.")
        with caplog.at_level(logging.WARNING, "hindsight_integrations"):
            assert texts(HindsightRetriever(engine, "b"), "bees?") == ["Ruth keeps bees."]
    assert "no reranker today" in caplog.text


class ByWord(BaseSelector):
    """Selects the choice whose description shares a word with the question."""

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts: Mapping[str, object]) -> None:
        raise NotImplementedError

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        words = set(query.query_str.lower().strip("?").split())
        best = next(n for n, c in enumerate(choices) if words & set(c.description.split()))
        return SelectorResult(selections=[SingleSelection(index=best, reason="a word")])

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return self._select(choices, query)


def test_a_router_sends_each_question_to_its_bank(engine: Hindsight, bank: str) -> None:
    engine.retain(f"{bank}-bees", "Ruth has nine hives.")
    engine.retain(f"{bank}-boats", "The ferry leaves at nine.")
    tools = [
        QueryEngineTool.from_defaults(
            RetrieverQueryEngine.from_args(
                HindsightRetriever(engine, f"{bank}-{topic}"), llm=MockLLM()
            ),
            name=topic,
            description=words,
        )
        for topic, words in (("bees", "hives honey"), ("boats", "ferry boats"))
    ]
    router = RouterQueryEngine(selector=ByWord(), query_engine_tools=tools, llm=MockLLM())
    for question, text in (
        ("How many hives?", "Ruth has nine hives."),
        ("When does the ferry leave?", "The ferry leaves at nine."),
    ):
        assert [found.text for found in router.query(question).source_nodes] == [text]
        assert [n.text for n in asyncio.run(router.aquery(question)).source_nodes] == [text]


def test_retrievers_of_two_banks_are_fused(engine: Hindsight, bank: str) -> None:
    engine.retain(f"{bank}-bees", "Ruth has nine hives.")
    engine.retain(f"{bank}-boats", "The ferry leaves at nine.")
    fusion = QueryFusionRetriever(
        [HindsightRetriever(engine, f"{bank}-{topic}") for topic in ("bees", "boats")],
        llm=MockLLM(),
        num_queries=1,
        use_async=False,
    )
    both = {"Ruth has nine hives.", "The ferry leaves at nine."}
    assert {found.text for found in fusion.retrieve("What is nine?")} == both
    assert {found.text for found in asyncio.run(fusion.aretrieve("What is nine?"))} == both


def test_what_several_questions_find_gains_by_each(engine: Hindsight, bank: str) -> None:
    """The best of two questions has the reciprocal rank, 1 / 60, of both."""
    engine.retain_many(bank, ["Ruth keeps nine hives.", "Tomas plays the violin."])
    retriever = HindsightRetriever(engine, bank, similarity_top_k=2)
    fused = QueryFusionRetriever(
        [retriever],
        llm=FunctionLLM(lambda system, user: "Who has bees?"),
        num_queries=2,
        similarity_top_k=10,
        use_async=False,
        mode=FUSION_MODES.RECIPROCAL_RANK,
    )
    found = fused.retrieve("Who keeps nine hives?")
    assert [each.text for each in found] == ["Ruth keeps nine hives.", "Tomas plays the violin."]
    assert found[0].score == pytest.approx(2 / 60)
    assert found[0].metadata["reasons"]


def test_it_returns_a_handful_unless_told_how_many(engine: Hindsight, bank: str) -> None:
    engine.retain_many(bank, [f"Parcel {number} went to harbour {number}." for number in range(30)])
    asked = "Which parcel went to which harbour?"
    assert len(texts(HindsightRetriever(engine, bank), asked)) == 10
    assert len(texts(HindsightRetriever(engine, bank, similarity_top_k=15), asked)) == 15
    assert texts(HindsightRetriever(engine, bank), "Thanks!") == []


def test_the_entity_arm_alone_walks_the_graph_and_says_by_which_path(
    engine: Hindsight, bank: str
) -> None:
    engine.retain_many(
        bank,
        [
            "Ruth Amsel works at Northwind.",
            "Northwind was founded by Tomas Brandt.",
            "The bakery on Harbour Street closes on Mondays.",
        ],
    )
    found = HindsightRetriever(engine, bank, arms=["entity"]).retrieve("Ruth Amsel")
    assert {node.text for node in found} == {
        "Ruth Amsel works at Northwind.",
        "Northwind was founded by Tomas Brandt.",
    }
    (path,) = [node.metadata["reasons"] for node in found if "Tomas" in node.text]
    assert any("Northwind" in reason for reason in path)


def test_the_number_of_nodes_can_be_changed_later(engine: Hindsight, bank: str) -> None:
    engine.retain_many(bank, [f"Parcel {number} went to harbour {number}." for number in range(30)])
    retriever = HindsightRetriever(engine, bank, similarity_top_k=15)
    asked = "Which parcel went to which harbour?"
    retriever.similarity_top_k = 1
    assert (retriever.similarity_top_k, len(texts(retriever, asked))) == (1, 1)
    assert len(texts(retriever, "Thanks!")) == 1
    retriever.similarity_top_k = None
    assert (len(texts(retriever, asked)), texts(retriever, "Thanks!")) == (10, [])
    with pytest.raises(InvalidInputError, match="similarity_top_k"):
        retriever.similarity_top_k = 0
    assert repr(retriever) == (
        f"HindsightRetriever({engine!r}, bank_id={bank!r}, similarity_top_k=None)"
    )


def test_texts_to_embed_in_place_of_the_question_are_searched_by(
    engine: Hindsight, bank: str
) -> None:
    engine.retain_many(bank, ["The cello is in the attic.", "Two goats graze by the river."])
    by_meaning = HindsightRetriever(engine, bank, similarity_top_k=1, arms=["semantic"])
    question = "What is there?"
    for strings, expected in (
        (["Animals with horns eat grass near the water."], "Two goats graze by the river."),
        (["A musical instrument is kept under the roof."], "The cello is in the attic."),
        (["Animals with horns.", "They eat grass.", "Water."], "Two goats graze by the river."),
    ):
        made_up = QueryBundle(question, custom_embedding_strs=strings)
        assert texts(by_meaning, made_up) == [expected]
    vector = engine.embedder.embed(["The cello is in the attic."])[0]
    own = RecallQuery(question, ["Goats."], options={"query_vector": vector})
    assert texts(by_meaning, own) == ["The cello is in the attic."]


@pytest.mark.parametrize("blank", ["", " \n", "\u200b"])
async def test_a_blank_question_finds_no_nodes(engine: Hindsight, bank: str, blank: str) -> None:
    engine.retain(bank, "Ruth lives in Lisbon.")
    retriever = HindsightRetriever(engine, bank, similarity_top_k=3)
    assert retriever.retrieve(blank) == await retriever.aretrieve(blank) == []
    assert str(HindsightQueryEngine(engine, bank).query(blank)) == NOTHING_ASKED
    recall = HindsightToolSpec(engine, bank).to_tool_list(["recall"])[0]
    assert recall(query=blank).content == NOTHING_ASKED


def test_a_blank_question_with_texts_to_embed_in_its_place_is_searched(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth lives in Lisbon.")
    question = QueryBundle("", custom_embedding_strs=["Ruth lives in Lisbon."])
    assert texts(HindsightRetriever(engine, bank), question) == ["Ruth lives in Lisbon."]
