"""HindsightTransform: documents that pass through a pipeline are retained, once."""

from __future__ import annotations

import asyncio
import pickle
from datetime import UTC, date, datetime

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import TextNode

from hindsight_integrations import ContentTooLargeError, Hindsight, InvalidInputError, Settings
from hindsight_integrations.llamaindex import HindsightEmbedding, HindsightTransform

PARAGRAPHS = [
    "Ruth Amsel keeps bees on the roof of the library in Porto.",
    "Tomas Brandt repairs violins in a workshop by the harbour.",
    "The ferry to the island leaves at nine and comes back at five.",
]


def letter(text: str = "\n\n".join(PARAGRAPHS), **metadata: object) -> Document:
    return Document(text=text, id_="letter-7", metadata=metadata)


def stored(engine: Hindsight, bank: str) -> dict[str, str]:
    return {memory.text: memory.id for memory in engine.memories.list(bank, limit=1000).items}


def test_documents_keep_their_ids_and_metadata_and_pass_on_unchanged(
    engine: Hindsight, bank: str
) -> None:
    document = letter(
        page=3, draft=False, author="Ruth", nothing=None, on=date(2021, 4, 2), nested={"a": [1]}
    )
    before = document.to_dict()
    passed = IngestionPipeline(
        transformations=[HindsightTransform(engine, bank, tags=["post"])]
    ).run(documents=[document])
    assert passed == [document]
    assert document.to_dict() == before
    memories = engine.memories.list(bank).items
    assert "Ruth Amsel keeps bees" in memories[0].text
    for memory in memories:
        assert memory.document_id == "letter-7"
        assert memory.tags == ("post",)
        assert memory.metadata == {
            "page": 3, "draft": False, "author": "Ruth", "on": "2021-04-02", "nested": '{"a": [1]}',
        }  # fmt: skip


def test_a_second_run_stores_nothing_and_an_edit_only_what_changed(
    engine: Hindsight, bank: str
) -> None:
    def run(text: str) -> dict[str, str]:
        transform = HindsightTransform(engine, bank)
        IngestionPipeline(transformations=[transform]).run(documents=[letter(text)])
        return stored(engine, bank)

    long = [f"{text} " + f"Note {n}. " * 90 for n, text in enumerate(PARAGRAPHS)]
    first = run("\n\n".join(long))
    assert run("\n\n".join(long)) == first
    edited = run("\n\n".join([long[0], long[1], "The ferry does not run in winter."]))
    assert len(set(first.items()) & set(edited.items())) >= 2
    assert any("does not run in winter" in text for text in edited)
    assert not any("leaves at nine" in text for text in edited)


def test_split_nodes_are_put_together_by_their_document(engine: Hindsight, bank: str) -> None:
    splitter = SentenceSplitter(chunk_size=24, chunk_overlap=0)
    pipeline = IngestionPipeline(transformations=[splitter, HindsightTransform(engine, bank)])
    nodes = pipeline.run(documents=[letter(page=3), Document(text="Alone.", id_="note")])
    assert len(nodes) > 3
    first = stored(engine, bank)
    assert {m.document_id for m in engine.memories.list(bank).items} == {"letter-7", "note"}
    assert all(
        m.metadata == {"page": 3} for m in engine.memories.list(bank, document_id="letter-7").items
    )
    pipeline.run(documents=[letter(page=3)])
    assert stored(engine, bank) == first


def test_what_only_one_node_says_is_not_said_of_the_document(engine: Hindsight, bank: str) -> None:
    nodes = [
        TextNode(text=text, id_=f"n{n}", metadata={"author": "Ruth", "row": n})
        for n, text in enumerate(PARAGRAPHS)
    ]
    HindsightTransform(engine, bank)(nodes)
    assert {m.document_id for m in engine.memories.list(bank).items} == {"n0", "n1", "n2"}
    splitter = SentenceSplitter(chunk_size=24, chunk_overlap=0)
    pieces = splitter([letter(author="Ruth")])
    for row, piece in enumerate(pieces):
        piece.metadata["row"] = row
    HindsightTransform(engine, f"{bank}-2")(pieces)
    assert engine.memories.list(f"{bank}-2").items[0].metadata == {"author": "Ruth"}


def test_the_pipelines_cache_does_not_stand_in_for_the_bank(engine: Hindsight, bank: str) -> None:
    pipeline = IngestionPipeline(transformations=[HindsightTransform(engine, bank)])
    pipeline.run(documents=[letter()])
    engine.forget(bank, document_id="letter-7")
    pipeline.run(documents=[letter()])
    assert any("Ruth Amsel" in text for text in stored(engine, bank))


async def test_asynchronously_it_is_the_same(engine: Hindsight, bank: str) -> None:
    pipeline = IngestionPipeline(
        transformations=[HindsightTransform(engine, bank), HindsightEmbedding()]
    )
    nodes = await pipeline.arun(documents=[letter()])
    assert len(nodes[0].embedding or []) == 384
    assert any("Ruth Amsel" in text for text in stored(engine, bank))


def test_documents_of_a_reader_are_dated_by_their_file(engine: Hindsight, bank: str) -> None:
    changed = {"file_path": "/notes/bees.md", "last_modified_date": "2026-03-09"}
    documents = [
        Document(text="The hives move tomorrow.", metadata={"file_path": "/notes/2026-02-03.md"}),
        Document(text="Honey is sold tomorrow.", metadata=changed),
    ]
    HindsightTransform(engine, bank)(documents)
    starts = {m.text: m.occurred_start for m in engine.memories.list(bank).items}
    assert starts == {
        "The hives move tomorrow.": datetime(2026, 2, 4, tzinfo=UTC),
        "Honey is sold tomorrow.": datetime(2026, 3, 10, tzinfo=UTC),
    }


def test_relative_times_count_from_when_the_document_was_written(
    engine: Hindsight, bank: str
) -> None:
    transform = HindsightTransform(engine, bank, timestamp_key="written")
    written = {
        "iso": "2021-04-02T09:30",
        "moment": datetime(2021, 4, 2, 9, 30),
        "day": date(2021, 4, 2),
    }
    for name, value in written.items():
        text = f"Yesterday {name} was the word of the day."
        transform([Document(text=text, id_=name, metadata={"written": value})])
    memories = engine.memories.list(bank).items
    assert len(memories) == 3
    assert {m.occurred_start for m in memories} == {datetime(2021, 4, 1, tzinfo=UTC)}
    with pytest.raises(InvalidInputError, match="last week"):
        transform([Document(text="x", metadata={"written": "last week"})])


def test_nodes_without_text_are_passed_on_only(engine: Hindsight, bank: str) -> None:
    nodes = [Document(text=" \n"), letter()]
    assert HindsightTransform(engine, bank)(nodes) == nodes
    assert HindsightTransform(engine, bank)([]) == []
    assert {m.document_id for m in engine.memories.list(bank).items} == {"letter-7"}


def test_a_document_that_fails_is_no_success() -> None:
    with Hindsight.in_memory(settings=Settings(max_content_chars=100, consolidate=False)) as engine:
        documents = [Document(text="Short.", id_="a"), letter("long " * 50)]
        with pytest.raises(ContentTooLargeError):
            asyncio.run(HindsightTransform(engine, "b").acall(documents))
        assert [m.text for m in engine.memories.list("b").items] == ["Short."]


def test_copied_to_another_process_it_says_why_it_cannot_work(engine: Hindsight, bank: str) -> None:
    copy = pickle.loads(pickle.dumps(HindsightTransform(engine, bank)))
    with pytest.raises(InvalidInputError, match="num_workers"):
        copy([letter()])


def test_what_is_no_node_is_refused(engine: Hindsight, bank: str) -> None:
    with pytest.raises(InvalidInputError, match=r"nodes contains 'Ann sings\.'; give a BaseNode"):
        HindsightTransform(engine, bank)(["Ann sings."])  # type: ignore[list-item]
