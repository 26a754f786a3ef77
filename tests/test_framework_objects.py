"""Documents and messages of LangChain and LlamaIndex go into the engine's verbs as they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from inspect import Parameter, isclass, signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from llama_index.core import Document as LlamaDocument
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import TextNode

from hindsight_integrations import (
    Hindsight,
    InvalidInputError,
    Memory,
    Settings,
    langchain,
    llamaindex,
)
from hindsight_integrations.retain.foreign import foreign_item
from hindsight_integrations.stores.base import DOCUMENT, Kind
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph

Scanned = TypeVar("Scanned")


@pytest.fixture(scope="module")
def engine() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        yield memory


@pytest.fixture
def bank(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[:200]


DOCUMENTS: list[Any] = [
    Document("Ann sings.", id="d", metadata={"page": 3, "tags": ["x"], "none": None}),
    LlamaDocument(text="Ann sings.", id_="d", metadata={"page": 3, "tags": ["x"], "none": None}),
    TextNode(text="Ann sings.", id_="d", metadata={"page": 3, "tags": ["x"], "none": None}),
]


class NaT(datetime):
    """A missing time of a table, as that of pandas: a datetime that does not equal itself."""

    def __ne__(self, other: object) -> bool:
        return True


def test_metadata_is_plain_and_what_a_table_lacks_is_left_out(engine: Hindsight, bank: str) -> None:
    row = {
        "n": np.int64(3),
        "from": Path("a.csv"),
        "share": math.nan,
        "rank": np.float32("nan"),
        "day": NaT(1, 1, 1),
    }
    for document in (Document("Ann sings.", metadata=row), TextNode(text="Bo runs.", metadata=row)):
        assert engine.retain(bank, document).stored[0].metadata == {
            "n": 3,
            "from": "a.csv",
        }


class NAType:
    """A missing value of a table, as that of pandas: it compares with nothing."""

    def __ne__(self, other: object) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


@pytest.mark.parametrize("missing", [math.nan, np.float32("nan"), NaT(1, 1, 1), NAType(), None])
def test_an_empty_cell_of_a_row_counts_as_not_given(
    engine: Hindsight, bank: str, missing: object
) -> None:
    row = {"content": "Ann sings.", "metadata": {"page": 3, "share": missing}} | dict.fromkeys(
        ("timestamp", "speaker", "document_id", "tags", "confidence", "type"), missing
    )
    result = engine.retain_many(bank, [row, row | {"content": missing}])
    (memory,) = result.stored
    assert (memory.metadata, memory.tags, memory.speaker) == ({"page": 3}, (), None)
    assert [str(each.error) for each in result.failed] == [
        "items[1] has no 'content'; give the text to retain"
    ]
    message = {"speaker": "Bo", "text": "I paint.", "timestamp": missing, "id": missing}
    assert engine.retain_messages(bank, [message]).stored[0].speaker == "Bo"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("verb", ["retain", "retain_many"])
def test_a_document_brings_its_id_and_metadata(
    engine: Hindsight, bank: str, document: Any, verb: str
) -> None:
    if verb == "retain":
        engine.retain(bank, document, tags=["kept"], metadata={"page": 4})
    else:
        engine.retain_many(bank, [document])
    (memory,) = engine.memories.list(bank).items
    assert (memory.text, memory.document_id) == ("Ann sings.", "d")
    assert memory.metadata == {"page": 4 if verb == "retain" else 3, "tags": '["x"]'}
    assert memory.tags == (("kept",) if verb == "retain" else ())


def test_a_document_is_dated_by_its_file_and_arguments_come_first(
    engine: Hindsight, bank: str
) -> None:
    note = Document("We moved yesterday.", metadata={"source": "notes/2026-02-03.md"})
    engine.retain(bank, note)
    (memory,) = engine.memories.list(bank).items
    assert memory.occurred_start == datetime(2026, 2, 2, tzinfo=UTC)
    engine.retain(bank, note, document_id="mine", timestamp=datetime(2020, 1, 2, tzinfo=UTC))
    times = {each.document_id: each.mentioned_at.year for each in engine.memories.list(bank).items}
    assert times["mine"] == 2020


@pytest.mark.parametrize("kind", [Document, lambda text: LlamaDocument(text=text)])
def test_a_document_without_an_id_of_its_own_is_known_by_its_content(
    engine: Hindsight, bank: str, kind: Any
) -> None:
    engine.retain(bank, kind("Ann sings."))
    assert engine.retain(bank, kind("Ann sings.")).stored == ()
    assert engine.retain_many(bank, [kind("Ann sings."), kind("Bo paints.")]).ids
    assert len(engine.documents.list(bank).items) == 2


class Unscanned(SqliteGraph):
    """A store that refuses to go through all documents."""

    def scan(self, bank_id: str, kind: Kind[Scanned]) -> Iterator[Scanned]:
        assert kind is not DOCUMENT, "all documents were read to recognise one"
        return super().scan(bank_id, kind)


def test_a_document_is_known_by_its_content_without_reading_all_documents(tmp_path: Path) -> None:
    settings = Settings(consolidate=False)
    graph, vectors = Unscanned(tmp_path / "graph"), ChromaVectors.in_memory()
    with Hindsight(graph=graph, vectors=vectors, settings=settings) as memory:
        memory.retain_many("b", [Document("Ann sings."), Document("Bo paints.")])
        again = [Document("Bo paints."), Document("Cy rows."), LlamaDocument(text="Ann sings.")]
        assert [each.text for each in memory.retain_many("b", again).stored] == ["Cy rows."]


def test_messages_of_both_frameworks_are_retained_by_who_said_them(
    engine: Hindsight, bank: str
) -> None:
    engine.retain_messages(
        bank,
        [
            SystemMessage("Be brief."),
            HumanMessage("I sing in a choir.", id="m-1"),
            HumanMessage([{"type": "text", "text": "I paint on Sundays."}], name="Bo"),
            AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "1"}]),
            ToolMessage("The tool says no.", tool_call_id="1"),
            AIMessage("I noted that you paint."),
            ChatMessage(role="system", content="Be brief."),
            ChatMessage(role="user", content="I run in Evora."),
            ChatMessage(role="assistant", content="You run a lot, I noted."),
            ChatMessage(role="tool", content="No."),
        ],
        session="mixed",
    )
    said = [(each.speaker, each.text) for each in engine.memories.list(bank).items]
    assert said == [
        ("user", "I sing in a choir."),
        ("Bo", "I paint on Sundays."),
        ("assistant", "I noted that you paint."),
        ("user", "I run in Evora."),
        ("assistant", "You run a lot, I noted."),
    ]
    assert engine.memories.list(bank).items[0].sources[0].reference == "m-1"


def test_other_objects_are_refused_with_what_to_give(engine: Hindsight) -> None:
    with pytest.raises(InvalidInputError, match="str"):
        engine.retain("any", object())
    with pytest.raises(
        InvalidInputError, match=r"HumanMessage.*; for messages use retain_messages"
    ):
        engine.retain("any", HumanMessage("Ann sings."))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"is \[.*, for several texts retain_many"):
        engine.retain("any", [Document("Ann sings.")])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="LangChain or LlamaIndex message"):
        engine.retain_messages("any", [object()])
    failed = engine.retain_many("any", [object(), "Ann sings."]).failed
    assert [failure.index for failure in failed] == [0]
    assert "LangChain or LlamaIndex document" in str(failed[0].error)
    with pytest.raises(InvalidInputError, match="last_modified"):
        engine.retain("any", Document("x", metadata={"last_modified": "soon"}))
    assert foreign_item("text") is None


def test_memories_are_stored_together_and_replaced_by_id(engine: Hindsight, bank: str) -> None:
    texts = [f"Ann has {n} hives." for n in range(300)]
    given = [Memory(f"h{n}", bank, text) for n, text in enumerate(texts)]
    assert len(engine.retain_memories(bank, given).stored) == 300
    changed = [Memory("h0", bank, "Ann has no hives."), Memory("new", bank, "Bo paints.")]
    result = engine.retain_memories(bank, changed)
    assert result.replaced == ("h0",)
    assert engine.memories.get(bank, "h0").text == "Ann has no hives."
    assert engine.memories.get(bank, "new").text == "Bo paints."
    assert engine.recall(bank, "Who paints?").memories[0].id == "new"
    with pytest.raises(InvalidInputError, match=r"has the id .* of an earlier one"):
        engine.retain_memories(bank, [given[0], given[0]])
    with pytest.raises(InvalidInputError, match="vectors"):
        engine.retain_memories(bank, given[:1], vectors=[None, None])


def required(parameters: Iterable[Parameter]) -> set[str]:
    several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return {one.name for one in parameters if one.default is one.empty and one.kind not in several}


def classes() -> list[type]:
    named = [
        getattr(package, name) for package in (langchain, llamaindex) for name in package.__all__
    ]
    return [each for each in named if isclass(each)]


@pytest.mark.parametrize("part", classes(), ids=lambda part: f"{part.__module__}.{part.__name__}")
def test_the_signature_that_help_shows_is_that_of_the_constructor(part: type) -> None:
    _, *own = signature(part.__init__).parameters.values()  # type: ignore[misc]
    shown = signature(part).parameters
    assert required(shown.values()) == required(own)
    if any("Unpack" in str(one.annotation) for one in own):  # `**options` are those of a verb
        assert [*shown.values()] == own
