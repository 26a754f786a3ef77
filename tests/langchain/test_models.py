"""The engine's models as LangChain's, and LangChain's as the engine's."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import AIMessage
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from hindsight_integrations import Hindsight, InvalidInputError, MemoryMiniLM, RerankError
from hindsight_integrations.langchain import HindsightEmbeddings, HindsightReranker
from hindsight_integrations.nlp.minilm import bundled
from tests.langchain.models import Scripted

DOCUMENTS = [
    Document("The bicycle is red.", id="a", metadata={"page": 1}),
    Document("Alice works at Northwind.", id="b", metadata={"page": 2}),
    Document("The tent leaks.", id="c", metadata={"page": 3}),
]


def test_embeddings_are_those_of_the_bundled_model() -> None:
    embeddings, model = HindsightEmbeddings(), MemoryMiniLM()
    texts = ["Alice works at Northwind.", "Her bicycle is red."]
    assert np.allclose(embeddings.embed_documents(texts), model.embed(texts))
    assert np.allclose(embeddings.embed_query(texts[0]), model.embed(texts)[0])
    assert embeddings.embed_documents([]) == []


async def test_embeddings_are_the_same_asynchronously() -> None:
    embeddings = HindsightEmbeddings()
    assert await embeddings.aembed_query("Alice") == embeddings.embed_query("Alice")
    assert await embeddings.aembed_documents(["Alice"]) == embeddings.embed_documents(["Alice"])


def test_whatever_the_engine_takes_as_embedder_comes_out_as_langchains() -> None:
    def lengths(texts: Sequence[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    store = InMemoryVectorStore.from_texts(["a", "a long text"], HindsightEmbeddings(lengths))
    assert store.similarity_search("another text", k=1)[0].page_content == "a long text"
    with pytest.raises(InvalidInputError, match="is not an embedder"):
        HindsightEmbeddings("all-MiniLM-L6-v2")


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_documents_are_put_in_order_with_their_scores_and_are_not_changed(mode: str) -> None:
    reranker = HindsightReranker()
    question = "Where does Alice work?"
    found = (
        reranker.compress_documents(DOCUMENTS, question)
        if mode == "sync"
        else await reranker.acompress_documents(DOCUMENTS, question)
    )
    assert found[0].id == "b"
    assert {document.id for document in found} == {"a", "b", "c"}
    scores = [document.metadata["relevance_score"] for document in found]
    assert scores == sorted(scores, reverse=True)
    assert found[0].metadata["page"] == 2
    assert DOCUMENTS[1].metadata == {"page": 2}


def test_only_the_best_documents_are_kept_if_so_asked() -> None:
    assert [d.id for d in HindsightReranker(top_n=1).compress_documents(DOCUMENTS, "tent")] == ["c"]
    assert HindsightReranker(top_n=5).compress_documents([], "tent") == []


def test_whatever_the_engine_takes_as_reranker_comes_out_as_langchains() -> None:
    def shortest(query: str, texts: Sequence[str]) -> list[float]:
        return [-float(len(text)) for text in texts]

    found = HindsightReranker(reranker=shortest).compress_documents(DOCUMENTS, "anything")
    assert [document.id for document in found] == ["c", "a", "b"]


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, float("nan")]])
def test_a_reranker_with_unusable_scores_is_an_error(scores: list[float]) -> None:
    reranker = HindsightReranker(reranker=lambda query, texts: scores)
    with pytest.raises(RerankError, match="one finite number per text"):
        reranker.compress_documents(DOCUMENTS, "anything")


@pytest.mark.parametrize("fields", [{"top_n": 0}, {"reranker": 3}])
def test_what_cannot_rerank_is_refused_at_the_door(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        HindsightReranker(**fields)


def test_a_blank_question_ranks_nothing() -> None:
    assert HindsightReranker().compress_documents(DOCUMENTS, " ") == DOCUMENTS
    assert HindsightReranker(top_n=1).compress_documents(DOCUMENTS, "") == DOCUMENTS[:1]
    with pytest.raises(InvalidInputError, match="query is None; give text"):
        HindsightReranker().compress_documents(DOCUMENTS, None)  # type: ignore[arg-type]


def test_embeddings_take_a_list_and_name_their_model() -> None:
    with pytest.raises(InvalidInputError, match="texts is 'bees'; give a list of texts"):
        HindsightEmbeddings().embed_documents("bees")  # type: ignore[arg-type]
    assert re.fullmatch(r"HindsightEmbeddings\('[^']+'\)", repr(HindsightEmbeddings()))


class Backwards(BaseDocumentCompressor):
    """Prefers what stands last in the alphabet."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        return sorted(documents, key=lambda document: document.page_content, reverse=True)


def embeddings() -> Embeddings:
    return DeterministicFakeEmbedding(size=16)


def extracting(*facts: str) -> Scripted:
    """A chat model that draws these facts from whatever it is shown."""
    drawn = [{"text": fact, "type": "world", "entities": [], "causes": []} for fact in facts]
    call: Any = {"name": "Reply", "args": {"facts": drawn}, "id": "1"}
    return Scripted(replies=[AIMessage("", tool_calls=[call])] * 3)


def test_langchains_embeddings_go_into_the_engine() -> None:
    with Hindsight.in_memory(embedder=embeddings()) as memory:
        memory.retain("b", "Alice works at Northwind.")
        (found,) = memory.recall("b", "Alice works at Northwind.").memories
        assert found.text == "Alice works at Northwind."


def test_langchains_compressor_goes_into_the_engine() -> None:
    with Hindsight.in_memory(reranker=Backwards()) as memory:
        for text in ("Alice likes apples.", "Alice likes zebras.", "Alice likes melons."):
            memory.retain("b", text)
        found = memory.recall("b", "What does Alice like?")
        assert [memory.text[12:] for memory in (m.memory for m in found)] == [
            "zebras.", "melons.", "apples.",
        ]  # fmt: skip


def test_langchains_chat_model_goes_into_the_engine() -> None:
    with Hindsight.in_memory(llm=extracting("Alice has a desk at Northwind.")) as memory:
        memory.retain("b", "So, yeah, that desk at Northwind, it's mine, says Alice.")
        texts = [stored.text for stored in memory.memories.list("b").items]
        assert texts == ["Alice has a desk at Northwind."]


def test_an_engines_own_models_come_out_as_langchains() -> None:
    def shortest(query: str, texts: Sequence[str]) -> list[float]:
        return [-float(len(text)) for text in texts]

    with Hindsight.in_memory(embedder=embeddings(), reranker=shortest) as memory:
        assert len(HindsightEmbeddings(memory.embedder).embed_query("Alice")) == 16
        reranker = HindsightReranker(reranker=memory.reranker)
        found = reranker.compress_documents(DOCUMENTS, "anything")
        assert [document.id for document in found] == ["c", "a", "b"]


def test_all_engines_and_bridges_of_a_process_share_the_bundled_model() -> None:
    with Hindsight.in_memory() as one, Hindsight.in_memory(embedder=embeddings()) as other:
        late = [one.reranker, other.reranker, HindsightReranker().reranker]
        assert len({id(each.encoder) for each in late} | {id(one.embedder)}) == 1
    with Hindsight.in_memory(reranker=None) as without:
        assert without.reranker is None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_the_engines_models_can_be_copied_and_pickled(copied: Callable[[Any], Any]) -> None:
    embeddings = copied(HindsightEmbeddings())
    assert embeddings.embed_query("Who?") == HindsightEmbeddings().embed_query("Who?")
    reranker = copied(HindsightReranker(top_n=1))
    assert reranker.reranker.encoder is bundled()  # which the process shares
    own = copied(HindsightEmbeddings(MemoryMiniLM(threads=1)))
    assert own.embed_query("Who?") == pytest.approx(embeddings.embed_query("Who?"), abs=1e-6)
