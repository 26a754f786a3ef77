"""HindsightVectorStore: LangChain's own tests of vector stores, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from hindsight_integrations import ConflictError, Hindsight, InvalidInputError
from hindsight_integrations.langchain import (
    HindsightEmbeddings,
    HindsightRetriever,
    HindsightVectorStore,
)


class TestStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, engine: Hindsight) -> Iterator[VectorStore]:  # type: ignore[override]
        yield HindsightVectorStore(engine, "standard")
        engine.banks.delete("standard") if _exists(engine, "standard") else None


class TestStandardWithAnotherEmbedder(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:  # type: ignore[override]
        with Hindsight.in_memory(embedder=self.get_embeddings()) as memory:
            yield HindsightVectorStore(memory, "standard")


def _exists(engine: Hindsight, bank: str) -> bool:
    return any(each.id == bank for each in engine.banks.list())


@pytest.fixture
def store(engine: Hindsight, bank: str) -> HindsightVectorStore:
    store = HindsightVectorStore(engine, bank)
    store.add_documents(
        [
            Document("The ferry to Skye leaves at nine.", metadata={"page": 1, "by": "Ann"}),
            Document("The boat to Skye sails at noon.", metadata={"page": 2, "by": "Bo"}),
            Document("Her bicycle is red.", metadata={"page": 3, "by": "Ann"}),
        ],
        ids=["ferry", "boat", "bicycle"],
    )
    return store


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_filters_reach_every_search(store: HindsightVectorStore) -> None:
    ask = "When does the ferry to Skye leave?"
    by_ann: dict[str, Any] = {"filter": {"by": "Ann"}}
    vector = store.embeddings.embed_query(ask)
    assert ids(store.similarity_search(ask, **by_ann)) == ["ferry", "bicycle"]
    assert ids(store.similarity_search(ask, filter={"$not": {"by": "Ann"}})) == ["boat"]
    assert ids(store.similarity_search_by_vector(vector, k=1, **by_ann)) == ["ferry"]
    assert set(ids(store.max_marginal_relevance_search(ask, k=2, **by_ann))) == {"ferry", "bicycle"}
    found = store.max_marginal_relevance_search_by_vector(vector, k=9, filter={"page": {"$gt": 1}})
    assert set(ids(found)) == {"boat", "bicycle"}
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"page": 2}})
    assert ids(retriever.invoke(ask)) == ["boat"]


def test_scores_are_relevance(store: HindsightVectorStore) -> None:
    scored = store.similarity_search_with_score("Which colour has her bicycle?", k=3)
    assert scored[0][0].id == "bicycle"
    scores = [score for _, score in scored]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    above = store.similarity_search_with_relevance_scores(
        "Which colour has her bicycle?", score_threshold=scores[0]
    )
    assert [document.id for document, _ in above] == ["bicycle"]


def test_mmr_prefers_what_differs(store: HindsightVectorStore) -> None:
    ask = "When does a ship go to Skye?"
    alike = ids(store.max_marginal_relevance_search(ask, k=2, lambda_mult=1.0))
    varied = ids(store.max_marginal_relevance_search(ask, k=2, lambda_mult=0.0))
    assert set(alike) == {"ferry", "boat"}
    assert "bicycle" in varied


def test_documents_come_back_as_they_were_given(store: HindsightVectorStore) -> None:
    metadata = {
        "nested": {"a": [1, None, "x"]},
        "list": ["b", "c"],
        "none": None,
        "yes": True,
        "half": 0.5,
        "huge": 1 << 80,
        "type": "invoice",
        "speaker": "the printer",
    }
    text = "  A text\n\nwith *spaces*,  and a tail \n"
    given = Document(text, id="odd", metadata=metadata)
    store.add_documents([given])
    assert store.get_by_ids(["odd"]) == [given]
    assert store.similarity_search("a text", k=1, filter={"type": "invoice"}) == [given]
    day = Document("Dated.", id="day", metadata={"on": datetime(2024, 5, 7, tzinfo=UTC)})
    store.add_documents([day, Document("  \n", id="blank")])
    (found,) = store.get_by_ids(["day", "blank"])
    assert found.metadata == {"on": "2024-05-07T00:00:00+00:00"}


def test_the_bank_s_other_memories_are_neither_found_nor_touched(
    engine: Hindsight, store: HindsightVectorStore, bank: str
) -> None:
    stored = engine.retain(bank, "The ferry to Skye leaves from Mallaig.")
    other = HindsightVectorStore(engine, bank, collection="other")
    other.add_texts(["A ferry to Skye of the other collection."], ids=["other ferry"])
    found = store.similarity_search("Where does the ferry to Skye leave from?", k=9)
    assert set(ids(found)) == {"ferry", "boat", "bicycle"}
    with pytest.raises(ConflictError, match="another id"):
        store.add_texts(["Mine!"], ids=[stored.ids[0]])
    store.delete([stored.ids[0], "other ferry"])
    store.delete()
    assert store.similarity_search("ferry") == []
    assert ids(other.similarity_search("ferry")) == ["other ferry"]
    assert engine.memories.get(bank, stored.ids[0]).text == "The ferry to Skye leaves from Mallaig."


def test_collections_of_a_bank_may_have_documents_of_one_id(engine: Hindsight, bank: str) -> None:
    long = f"https://example.org/{'a' * 600}"
    books, films = (HindsightVectorStore(engine, bank, collection=c) for c in ("books", "films"))
    for store, text in ((books, "A book of the sea."), (films, "A film of the sea.")):
        store.add_texts([text, f"{text} Long."], ids=["sea", long])
        assert [each.page_content for each in store.get_by_ids(["sea", long])] == [
            text,
            f"{text} Long.",
        ]
    assert set(ids(films.similarity_search("the sea", k=9))) == {"sea", long}
    assert len(films.max_marginal_relevance_search("the sea", k=2)) == 2
    films.add_texts(["Another film of the sea."], ids=["sea"])
    assert len(films.similarity_search("the sea", k=9)) == 2
    films.delete(["sea"])
    assert ids(films.similarity_search("the sea", k=9)) == [long]
    assert set(ids(books.similarity_search("the sea", k=9))) == {"sea", long}
    films.delete()
    assert films.get_by_ids(["sea", long]) == []


def test_metadata_may_have_the_names_of_our_own_fields(engine: Hindsight, bank: str) -> None:
    store = HindsightVectorStore(engine, bank)
    given = {"_id": "65f0", "_collection": "books", "__json": [1], "_json": {"a": 1}, "page": 1}
    store.add_documents([Document("Her bicycle is red.", id="x", metadata=given)])
    (found,) = store.similarity_search("bicycle", filter={"_id": "65f0", "$not": {"_id": "x"}})
    assert (found.id, found.metadata) == ("x", given)
    assert store.similarity_search("bicycle", filter={"_id": "x"}) == []
    (shown,) = HindsightRetriever(memory=engine, bank_id=bank).invoke("bicycle")
    assert shown.metadata["fields"]["_id"] == "65f0"


def test_numpy_values_of_metadata_stay_numbers(engine: Hindsight, bank: str) -> None:
    store = HindsightVectorStore(engine, bank)
    row = {"page": np.int64(5), "ok": np.bool_(True), "half": np.float32(0.5), "all": [np.int8(1)]}
    store.add_documents([Document("Her bicycle is red.", metadata=row)])
    (found,) = store.similarity_search("bicycle", filter={"page": {"$gt": 3}})
    assert found.metadata == {"page": 5, "ok": True, "half": 0.5, "all": [1]}
    engine.retain_many(bank, [Document("The tent leaks.", id="tent", metadata=row)])
    (memory,) = engine.memories.list(
        bank, where={"page": {"$gt": 3}, "half": 0.5}, document_id="tent"
    )
    assert memory.metadata["ok"] is True


def test_a_record_manager_keeps_the_store_like_its_source(engine: Hindsight, bank: str) -> None:
    store = HindsightVectorStore(engine, bank)
    records = InMemoryRecordManager(namespace=bank)
    records.create_schema()

    def run(*texts: str) -> dict[str, int]:
        loaded = [Document(text, metadata={"source": text.split()[0]}) for text in texts]
        done = index(
            loaded, records, store, cleanup="full", source_id_key="source", key_encoder="blake2b"
        )
        return {name: count for name, count in done.items() if isinstance(count, int) and count}

    assert run("Ann sings.", "Bo paints.", "Cleo runs.") == {"num_added": 3}
    assert run("Ann sings.", "Bo paints.", "Cleo runs.") == {"num_skipped": 3}
    assert run("Ann sings.", "Bo draws.") == {"num_added": 1, "num_skipped": 1, "num_deleted": 2}
    found = store.similarity_search("Who does what?", k=9)
    assert {document.page_content for document in found} == {"Ann sings.", "Bo draws."}
    assert len(engine.memories.list(bank, types=["world"]).items) == 2


def test_what_cannot_be_used_is_refused(engine: Hindsight, store: HindsightVectorStore) -> None:
    with pytest.raises(InvalidInputError, match="search_type"):
        HindsightVectorStore(engine, "any", search_type="mmr")
    with pytest.raises(InvalidInputError, match="filter="):
        HindsightVectorStore(engine, "any", where={"page": 1})
    with pytest.raises(InvalidInputError, match="open memory"):
        HindsightVectorStore("./mem", "any")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="fetch"):
        store.similarity_search("ferry", fetch=3)
    with pytest.raises(InvalidInputError, match="2 ids"):
        store.add_texts(["one"], ids=["a", "b"])
    with pytest.raises(InvalidInputError, match="1 metadatas"):
        store.add_texts(["one", "two"], [{}])
    with pytest.raises(InvalidInputError, match="upsert"):
        store.add_texts(["one"], upsert=True)
    with pytest.raises(InvalidInputError, match="embeds by its own"):
        HindsightVectorStore.from_texts(
            ["one"], DeterministicFakeEmbedding(size=384), memory=engine
        )


def test_from_texts_and_from_documents_make_a_store(engine: Hindsight, bank: str) -> None:
    texts = ["Ann sings.", "Bo paints."]
    fake = DeterministicFakeEmbedding(size=16)
    own = HindsightVectorStore.from_texts(texts, fake, ids=["a", "b"])
    assert len(own.embeddings.embed_query("?")) == 16
    assert ids(own.similarity_search("Ann sings.", k=1)) == ["a"]
    made = HindsightVectorStore.from_documents(
        [Document("Cleo runs.", id="c")], None, memory=engine, bank_id=bank
    )
    assert ids(made.similarity_search("Who runs?")) == ["c"]
    for embedding in (made.embeddings, HindsightEmbeddings(engine.embedder)):
        again = HindsightVectorStore.from_documents(
            [Document("Dan skis.", id="d")], embedding, memory=engine, bank_id=bank
        )
        assert ids(again.similarity_search("Who skis?", k=1)) == ["d"]
    with Hindsight.in_memory(embedder=fake) as memory:
        its = HindsightVectorStore.from_texts(["Eve rows."], fake, ids=["e"], memory=memory)
        assert ids(its.similarity_search("Who rows?")) == ["e"]
        with pytest.raises(InvalidInputError, match="embeds by its own"):
            HindsightVectorStore.from_texts(["one"], HindsightEmbeddings(), memory=memory)


def test_a_representation_tells_engine_bank_and_collection(engine: Hindsight) -> None:
    store = HindsightVectorStore(engine, "team", collection="pages")
    assert repr(store) == f"HindsightVectorStore({engine!r}, bank_id='team', collection='pages')"


def test_a_text_is_its_own_nearest_whatever_the_day_it_is_stored(
    engine: Hindsight, bank: str
) -> None:
    store = HindsightVectorStore(engine, bank)
    store.add_texts(["The ferry leaves at nine."], ids=["ferry"])
    store.add_texts(["The ferry leaves at ten."], ids=["ferry"])
    (vector,) = engine.storage.vectors(bank, ["ferry"]).values()
    assert np.dot(vector, store.embeddings.embed_query("The ferry leaves at ten.")) > 0.999
    today = f"{datetime.now(UTC):%B %Y}"
    assert not engine.recall(bank, today, arms=["keyword"], fill=True)
    assert engine.maintenance.reindex(bank) == 1
    (again,) = engine.storage.vectors(bank, ["ferry"]).values()
    assert again == pytest.approx(vector, abs=1e-5)


def test_documents_make_a_store_in_an_engine_without_naming_its_embedder(
    engine: Hindsight, bank: str
) -> None:
    documents = [Document("The ferry leaves at nine.", id="ferry", metadata={"page": 3})]
    store = HindsightVectorStore.from_documents(documents, memory=engine, bank_id=bank)
    (found,) = store.get_by_ids(["ferry"])
    assert (found.page_content, found.metadata) == ("The ferry leaves at nine.", {"page": 3})


async def test_mmr_finds_nothing_where_there_is_nothing(engine: Hindsight) -> None:
    store = HindsightVectorStore(engine, "no such bank")
    assert store.max_marginal_relevance_search("Who sings?") == []
    assert await store.as_retriever(search_type="mmr").ainvoke("Who sings?") == []


async def test_a_store_is_made_asynchronously_without_naming_the_embedder(
    engine: Hindsight, bank: str
) -> None:
    made = await HindsightVectorStore.afrom_texts(["Bo paints."], memory=engine, bank_id=bank)
    again = await HindsightVectorStore.afrom_documents(
        [Document("Ann sings.", id="a")], memory=engine, bank_id=bank
    )
    assert ids(again.similarity_search("Who sings?", k=1)) == ["a"]
    assert len(made.similarity_search("Who?")) == 2


def test_a_text_in_place_of_a_list_is_refused_instead_of_taken_by_its_letters(
    engine: Hindsight, bank: str
) -> None:
    store = HindsightVectorStore(engine, bank)
    store.add_texts(["Ann sings.", "Bo paints."], ids=["a", "b"])
    for wrong in ("ab", ["a", 3]):
        with pytest.raises(InvalidInputError, match=r"ids is 'ab'|an id is 3"):
            store.delete(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=r"ids is 'ab'|an id is 3"):
            store.get_by_ids(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=r"ids is 'ab'|an id is 3"):
            store.add_texts(["one", "two"], ids=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="texts is 'one'"):
        store.add_texts("one")
    assert ids(store.get_by_ids(["a", "b"])) == ["a", "b"]


def test_what_is_no_document_is_refused(engine: Hindsight, bank: str) -> None:
    store = HindsightVectorStore(engine, bank)
    for wrong in (Document("Ann sings."), ["Ann sings."]):
        with pytest.raises(InvalidInputError, match="give a Document"):
            store.add_documents(wrong)  # type: ignore[arg-type]
