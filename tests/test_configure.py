"""The language model, the reranker and the extractor are exchanged on a running memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from hindsight_integrations import (
    ClosedError,
    Fact,
    Hindsight,
    InvalidInputError,
    LLMExtractor,
    Passage,
    SentenceExtractor,
    Settings,
)

pytestmark = pytest.mark.local

RIVER = "The river floods in April."
ROAD = "The road is closed in April."


def shouting(passage: Passage) -> list[Fact]:
    return [Fact(passage.text.upper())]


def shortest_last(query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def shortest_first(query: str, texts: Sequence[str]) -> list[float]:
    return [-float(len(text)) for text in texts]


def answering(system: str, user: str) -> str:
    return '{"facts": [], "nothing_to_retain": true}'


def test_a_new_extractor_reads_what_is_retained_from_then_on(memory: Hindsight) -> None:
    memory.retain("b", RIVER)
    memory.configure(extractor=shouting)
    memory.retain("b", ROAD)
    assert [m.text for m in memory.memories.list("b").items] == [RIVER, ROAD.upper()]
    memory.configure(extractor=None)
    assert isinstance(memory.extractor, SentenceExtractor)


def test_a_new_reranker_orders_and_none_and_local_switch_it(memory: Hindsight) -> None:
    memory.retain_many("b", [RIVER, ROAD])
    shorter, longer = sorted((RIVER, ROAD), key=len)
    memory.configure(reranker=shortest_last)
    assert [hit.text for hit in memory.recall("b", "April")] == [longer, shorter]
    memory.configure(reranker=shortest_first)
    assert [hit.text for hit in memory.recall("b", "April")] == [shorter, longer]
    memory.configure(reranker=None)
    assert memory.reranker is None
    names = {signal.name for signal in memory.recall("b", "April")[0].signals}
    assert "fusion" in names
    memory.configure(reranker="local")
    assert memory.reranker is not None
    names = {signal.name for signal in memory.recall("b", "April")[0].signals}
    assert "fusion" not in names


def test_a_new_model_extracts_unless_an_extractor_was_given(memory: Hindsight) -> None:
    memory.configure(llm=answering)
    assert isinstance(memory.extractor, LLMExtractor)
    assert memory.runtime.model is not None
    memory.configure(extractor=shouting)
    memory.configure(llm=None)
    assert memory.extractor.id.endswith("shouting")
    assert memory.runtime.model is None
    memory.configure(extractor=None, llm=answering)
    assert isinstance(memory.extractor, LLMExtractor)
    memory.configure(llm=None)
    assert isinstance(memory.extractor, SentenceExtractor)


def test_a_new_model_is_asked_by_reflect_and_by_consolidation(memory: Hindsight) -> None:
    asked: list[str] = []

    def noting(system: str, user: str) -> str:
        asked.append(user)
        raise ConnectionError("away")

    months = ("March", "April", "May")
    memory.retain_many("b", [f"The river floods in {month}." for month in months])
    memory.configure(llm=noting)
    assert memory.consolidate("b").failures
    assert asked
    memory.configure(llm=None)
    before = len(asked)
    memory.consolidate("b")
    memory.reflect("b", "When does the river flood?")
    assert len(asked) == before


@pytest.mark.parametrize("part", ["llm", "reranker", "extractor"])
def test_one_unusable_part_changes_nothing(memory: Hindsight, part: str) -> None:
    memory.configure(extractor=shouting, reranker=shortest_first)
    extractor, reranker = memory.extractor, memory.reranker
    good = {"llm": answering, "reranker": shortest_last, "extractor": shouting}
    with pytest.raises(InvalidInputError):
        memory.configure(**{**good, part: 42})
    assert memory.extractor is extractor
    assert memory.reranker is reranker
    assert memory.runtime.model is None


def test_a_closed_memory_is_not_configured() -> None:
    memory = Hindsight.in_memory(settings=Settings(consolidate=False))
    memory.close()
    with pytest.raises(ClosedError):
        memory.configure(llm=None)


async def test_the_asynchronous_twins_use_the_new_parts(memory: Hindsight) -> None:
    await memory.aconfigure(extractor=shouting)
    await memory.aretain("b", ROAD)
    assert [hit.text for hit in await memory.arecall("b", "road")] == [ROAD.upper()]


def test_parts_are_exchanged_while_others_recall_and_retain(memory: Hindsight) -> None:
    memory.retain("b", RIVER)
    stop = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                assert memory.recall("b", "When does the river flood?")
                memory.retain("b", RIVER, document_id="d")
        except BaseException as error:  # noqa: BLE001 - seen by the test
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        memory.configure(reranker=shortest_first, extractor=shouting)
        memory.configure(reranker=None, extractor=None)
        memory.configure(reranker="local")
    stop.set()
    for thread in threads:
        thread.join(60)
    assert errors == []
