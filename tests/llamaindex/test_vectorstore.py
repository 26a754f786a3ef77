"""HindsightVectorStore: under an index and a pipeline, by every mode, filter and deletion."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import (
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import VectorStoreQueryMode

from hindsight_integrations import ConflictError, Hindsight, InvalidInputError
from hindsight_integrations.llamaindex import FunctionLLM, HindsightTransform, HindsightVectorStore


@pytest.fixture
def store(engine: Hindsight, bank: str) -> HindsightVectorStore:
    store = HindsightVectorStore(engine, bank)
    texts = {
        "ferry": "The ferry to Skye leaves at nine.",
        "boat": "The boat to Skye sails at noon.",
        "bicycle": "Her bicycle is red.",
    }
    pages = {"ferry": 1, "boat": 2, "bicycle": 3}
    store.add(
        [
            TextNode(
                id_=id,
                text=text,
                metadata={"page": pages[id], "kinds": ["x", id]},
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"d-{id[0]}")},
            )
            for id, text in texts.items()
        ]
    )
    return store


def only(key: str, value: Any, operator: str = "==") -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


def found(store: HindsightVectorStore, question: str | None = None, **query: Any) -> list[str]:
    asked = VectorStoreQuery(query_str=question, **{"similarity_top_k": 9, **query})
    result = store.query(asked)
    assert result.similarities == sorted(result.similarities or [], reverse=True) or (
        asked.mode == VectorStoreQueryMode.MMR
    )
    return result.ids or []


def test_an_index_over_the_store_inserts_retrieves_and_deletes(
    engine: Hindsight, bank: str
) -> None:
    store = HindsightVectorStore(engine, bank)
    index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
    index.insert(Document(text="The ferry to Skye leaves at nine.", id_="a", metadata={"p": [1]}))
    index.insert(Document(text="Her bicycle is red.", id_="b"))
    (best,) = index.as_retriever(similarity_top_k=1).retrieve("When does the boat go?")
    assert best.text == "The ferry to Skye leaves at nine."
    assert best.node.ref_doc_id == "a"
    assert best.metadata == {"p": [1]}
    assert 0 <= best.score <= 1
    again = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(embed_dim=3))
    filtered = again.as_retriever(filters=only("p", 1, "contains"), similarity_top_k=5)
    assert [each.node.ref_doc_id for each in filtered.retrieve("bicycle")] == ["a"]
    index.delete_ref_doc("a")
    assert [each.text for each in again.as_retriever().retrieve("When?")] == ["Her bicycle is red."]


async def test_asynchronous_use_is_the_same(engine: Hindsight, bank: str) -> None:
    store = HindsightVectorStore(engine, bank)
    index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
    await index.ainsert(Document(text="Her bicycle is red.", id_="b"))
    (best,) = await index.as_retriever().aretrieve("Which colour is it?")
    assert best.text == "Her bicycle is red."
    await index.adelete_ref_doc("b")
    assert await store.aget_nodes() == []
    assert await store.async_add([TextNode(id_="n", text="Noon.")]) == ["n"]
    await store.adelete_nodes(["n"])
    await store.aclear()
    result = await store.aquery(VectorStoreQuery(query_str="noon"))
    assert result.ids == []


def test_nodes_come_back_whole(store: HindsightVectorStore) -> None:
    node = TextNode(
        id_="odd",
        text="  spaces,\n\n and a tail \n",
        metadata={"a": {"b": [1, "x"]}, "type": "invoice", "n": None},
        excluded_llm_metadata_keys=["a"],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")},
    )
    store.add([node])
    (back,) = store.get_nodes(["odd"])
    assert back == node
    assert back.get_content(MetadataMode.LLM) == node.get_content(MetadataMode.LLM)


def test_every_condition_of_a_query_holds(store: HindsightVectorStore) -> None:
    ask = "When does it leave?"
    assert set(found(store, ask)) == {"ferry", "boat", "bicycle"}
    assert found(store, ask, filters=only("page", 2, ">=")) in (
        ["boat", "bicycle"],
        ["bicycle", "boat"],
    )
    assert found(store, ask, filters=only("kinds", "boat", "contains")) == ["boat"]
    assert set(found(store, ask, doc_ids=["d-b"])) == {"boat", "bicycle"}
    assert found(store, ask, node_ids=["ferry"], doc_ids=["d-f"]) == ["ferry"]
    assert found(store, ask, node_ids=["ferry"], doc_ids=["d-b"]) == []
    assert len(found(store, ask, similarity_top_k=1)) == 1


def test_every_mode_answers_or_is_refused(store: HindsightVectorStore) -> None:
    vector = store.embed_model.get_query_embedding("Which colour has the bicycle?")
    assert found(store, query_embedding=vector)[0] == "bicycle"
    assert found(store, "bicycle", mode=VectorStoreQueryMode.TEXT_SEARCH) == ["bicycle"]
    assert found(store, "bicycle", mode=VectorStoreQueryMode.HYBRID)[0] == "bicycle"
    mmr = VectorStoreQueryMode.MMR
    ask = "When does a ship go to Skye?"
    alike = found(store, ask, mode=mmr, mmr_threshold=1.0, similarity_top_k=2)
    varied = found(store, ask, mode=mmr, mmr_threshold=0.01, similarity_top_k=2)
    assert set(alike) == {"ferry", "boat"}
    assert "bicycle" in varied
    with pytest.raises(InvalidInputError, match="svm"):
        found(store, ask, mode=VectorStoreQueryMode.SVM)


def test_deleting_takes_what_was_named_and_nothing_else(
    engine: Hindsight, store: HindsightVectorStore, bank: str
) -> None:
    stored = engine.retain(bank, "The ferry is blue.", document_id="note")
    with pytest.raises(InvalidInputError, match="clear"):
        store.delete_nodes()
    with pytest.raises(ConflictError, match="another id"):
        store.add([TextNode(id_=stored.ids[0], text="Mine!")])
    store.delete("absent")
    store.delete_nodes(["absent"])
    store.delete_nodes(["ferry", "boat"], filters=only("page", 2))
    assert {node.node_id for node in store.get_nodes()} == {"ferry", "bicycle"}
    store.delete_nodes(filters=only("page", 3))
    assert [node.node_id for node in store.get_nodes()] == ["ferry"]
    store.clear()
    assert store.get_nodes() == []
    assert engine.memories.get(bank, stored.ids[0]).text == "The ferry is blue."


@pytest.mark.parametrize("split", [True, False])
def test_a_document_removed_upstream_leaves_the_bank(
    engine: Hindsight, bank: str, split: bool
) -> None:
    store = HindsightVectorStore(engine, bank)
    steps = [SentenceSplitter(), store.embed_model] if split else [HindsightTransform(engine, bank)]
    pipeline = IngestionPipeline(
        transformations=steps,
        docstore=SimpleDocumentStore(),
        vector_store=store,
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
    )

    def run(**documents: str) -> list[str]:
        pipeline.run(documents=[Document(text=text, id_=id) for id, text in documents.items()])
        return sorted(memory.text for memory in engine.memories.list(bank, types=["world"]).items)

    assert run(a="Ann sings.", b="Bo paints.") == ["Ann sings.", "Bo paints."]
    assert run(a="Ann sings.", b="Bo draws.") == ["Ann sings.", "Bo draws."]
    assert run(b="Bo draws.") == ["Bo draws."]
    assert run(c="Cleo runs.") == ["Cleo runs."]


def test_documents_with_random_ids_are_recognised_by_content(engine: Hindsight, bank: str) -> None:
    pipeline = IngestionPipeline(transformations=[HindsightTransform(engine, bank)])
    for _ in range(2):
        pipeline.run(documents=[Document(text="Ann sings."), Document(text="Bo paints.")])
    assert len(engine.documents.list(bank).items) == 2
    assert {memory.proof_count for memory in engine.memories.list(bank).items} == {1}
    known = engine.documents.list(bank).items[0].id
    pipeline.run(documents=[Document(text="Cleo runs.", id_=known)])
    assert len(engine.documents.list(bank).items) == 2


def test_what_cannot_be_used_is_refused(engine: Hindsight) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInputError, match="similarity_top_k"):
            HindsightVectorStore(engine, "any", similarity_top_k=3)  # type: ignore[call-arg]
        with pytest.raises(InvalidInputError, match="filters"):
            HindsightVectorStore(engine, "any", where={"page": 1})
        with pytest.raises(InvalidInputError, match="open memory"):
            HindsightVectorStore("./mem", "any")  # type: ignore[arg-type]


def test_an_index_searches_by_texts_that_are_embedded_in_place_of_the_question(
    engine: Hindsight, bank: str
) -> None:
    store = HindsightVectorStore(engine, bank, is_embedding_query=True, arms=["semantic"])
    texts = {"cello": "The cello is in the attic.", "goats": "Two goats graze by the river."}
    store.add([TextNode(id_=id, text=text) for id, text in texts.items()])
    index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
    asked = HyDEQueryTransform(
        FunctionLLM(lambda system, user: "Animals with horns eat grass near the water."),
        include_original=False,
    )("What is there?")
    for mode in ("default", "mmr"):
        retriever = index.as_retriever(similarity_top_k=1, vector_store_query_mode=mode)
        assert [found.node.node_id for found in retriever.retrieve(asked)] == ["goats"]
    with pytest.raises(InvalidInputError, match="is_embedding_query"):
        HindsightVectorStore(engine, bank, is_embedding_query="yes")  # type: ignore[arg-type]


def test_a_text_in_place_of_a_list_is_refused_instead_of_taken_by_its_letters(
    engine: Hindsight, bank: str
) -> None:
    store = HindsightVectorStore(engine, bank)
    store.add([TextNode(text="Ann sings.", id_="a")])
    with pytest.raises(InvalidInputError, match="ids is 'a'"):
        store.delete_nodes("a")
    with pytest.raises(InvalidInputError, match="ids is 'a'"):
        store.get_nodes("a")
    with pytest.raises(InvalidInputError, match="give a MetadataFilters"):
        store.get_nodes(filters={"page": 1})
    assert [node.node_id for node in store.get_nodes(["a"])] == ["a"]


def test_what_is_no_node_is_refused(engine: Hindsight, bank: str) -> None:
    store = HindsightVectorStore(engine, bank)
    for wrong in (TextNode(text="Ann sings."), ["Ann sings."]):
        with pytest.raises(InvalidInputError, match="give a BaseNode"):
            store.add(wrong)
