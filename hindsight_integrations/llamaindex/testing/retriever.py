"""What LlamaIndex's engines count on in a retriever."""

# ruff: noqa: D102 (the name of a test says what it promises)

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

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


class RetrieverTests:
    """What LlamaIndex's engines count on in a retriever."""

    def make_retriever(self, texts: Sequence[str]) -> BaseRetriever:
        """A retriever over just these texts; it should find at least three for a question."""
        raise NotImplementedError

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


def _ids(found: Sequence[NodeWithScore]) -> list[str]:
    return [each.node.node_id for each in found]
