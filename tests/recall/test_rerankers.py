from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from hindsight_integrations.errors import InvalidInputError, RerankError
from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.embeddings import Encoded
from hindsight_integrations.nlp.projection import load_projection
from hindsight_integrations.recall.rerankers import (
    LateInteraction,
    as_reranker,
    best_first,
    checked_scores,
)
from tests.recall.building import direction

pytestmark = pytest.mark.ranking

MEMORIES = [Memory(text, "bank", text) for text in ("a", "bb", "cc")]
REST = Memory("d", "bank", "d", speaker="Ana")


class Letters:
    """A token encoder to which each letter is a token, at right angles to all others."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def encode(self, texts: Sequence[str]) -> Encoded:
        self.sizes.append(len(texts))
        axes = load_projection().axes
        letters = [[ord(letter) for letter in text if letter.islower()] for text in texts]
        return Encoded(
            np.zeros((len(texts), 384), np.float32),
            tuple(
                np.array([axes @ direction({n - 96: 1.0}) for n in line], np.float32).reshape(
                    -1, 384
                )
                for line in letters
            ),
            tuple(np.array(line, np.int32) for line in letters),
        )


def test_late_interaction_is_the_share_of_the_question_that_a_text_covers() -> None:
    memories = [Memory(text, "bank", text) for text in ("ab", "a", "c", "ac")]
    scores = LateInteraction(Letters()).score("ab", memories)  # type: ignore[arg-type]
    # a is in three of four, b in one.
    a, b = math.log(1 + 1.5 / 3.5), math.log(1 + 3.5 / 1.5)
    share = a / (a + b)
    assert scores == pytest.approx([1.0, share, 0.0, share], abs=0.01)


def test_late_interaction_reads_who_speaks_and_128_texts_at_once() -> None:
    encoder = Letters()
    memories = [Memory("x", "bank", "x", speaker="b")] * 130
    scores = LateInteraction(encoder).score("b", memories)  # type: ignore[arg-type]
    assert scores == pytest.approx([1.0] * 130, abs=0.01)
    assert encoder.sizes == [128, 2, 1]


def test_the_best_come_first_and_equals_in_their_order() -> None:
    reranker = as_reranker(lambda query, texts: [0.2, 0.9, 0.2])
    assert best_first(reranker, "q", MEMORIES) == [(1, 0.9), (0, 0.2), (2, 0.2)]
    assert best_first(reranker, "q", MEMORIES, 2) == [(1, 0.9), (0, 0.2)]
    assert best_first(reranker, "q", []) == []


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, math.nan], [[1.0, 2.0, 3.0]]])
def test_scores_must_be_one_finite_number_a_text(scores: object) -> None:
    with pytest.raises(RerankError, match="return one finite number per text"):
        checked_scores(as_reranker(lambda query, texts: scores), "q", MEMORIES)


def test_functions_and_cross_encoders_are_given_the_question_and_the_lines() -> None:
    given: list[object] = []

    def scored(query: str, texts: Sequence[str]) -> list[float]:
        given.append((query, list(texts)))
        return [float(len(text)) for text in texts]

    class CrossEncoder:
        def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            given.append(list(pairs))
            return [-float(len(text)) for _, text in pairs]

    reranker = as_reranker(scored)
    assert reranker.id == "scored"
    assert reranker.score("q", [*MEMORIES, REST]).tolist() == [1.0, 2.0, 2.0, 6.0]
    assert as_reranker(CrossEncoder()).score("q", MEMORIES).tolist() == [-1.0, -2.0, -2.0]
    assert given[0] == ("q", ["a", "bb", "cc", "Ana: d"])
    assert given[1] == [("q", "a"), ("q", "bb"), ("q", "cc")]
    assert as_reranker(reranker) is reranker
    with pytest.raises(InvalidInputError, match="reranker is 7;"):
        as_reranker(7)


class Compressor:
    """A LangChain document compressor that gives these of the documents."""

    def __init__(self, *places: object) -> None:
        self.places = places

    def compress_documents(self, documents: Sequence[object], query: str) -> Sequence[object]:
        return [
            documents[place]
            if isinstance(place, int) and place < len(documents)
            else SimpleNamespace(metadata={"place": place})
            for place in self.places
        ]


def test_documents_are_scored_by_the_order_they_come_back_in() -> None:
    pytest.importorskip("langchain_core")
    # 3, 2 and 1 for the first of three and so on; what was dropped is below, in its order.
    assert as_reranker(Compressor(2, 0)).score("q", MEMORIES).tolist() == [2.0, -4.0, 3.0]
    assert as_reranker(Compressor(1)).score("q", MEMORIES).tolist() == [-3.0, 3.0, -5.0]


def test_nodes_are_scored_by_the_order_they_come_back_in() -> None:
    schema = pytest.importorskip("llama_index.core.schema")
    given: list[float] = []

    class Postprocessor:
        def postprocess_nodes(
            self, nodes: Sequence[object], query_str: str | None = None
        ) -> Sequence[object]:
            assert query_str == "q"
            assert all(isinstance(node, schema.NodeWithScore) for node in nodes)
            given.extend(node.score for node in nodes)
            return [nodes[2], nodes[0]]

    assert as_reranker(Postprocessor()).score("q", MEMORIES).tolist() == [2.0, -4.0, 3.0]
    # Nothing is known of them before.
    assert given == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("place", [3, -1, "0"])
def test_documents_that_were_not_given_are_refused(place: object) -> None:
    pytest.importorskip("langchain_core")
    strange = Compressor()
    strange.compress_documents = lambda documents, query: [  # type: ignore[method-assign]
        SimpleNamespace(metadata={"place": place})
    ]
    with pytest.raises(RerankError, match="a document that was not passed to it"):
        as_reranker(strange).score("q", MEMORIES)
    with pytest.raises(RerankError, match="returned nothing"):
        as_reranker(Compressor()).score("q", MEMORIES)
