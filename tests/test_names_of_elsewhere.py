"""Arguments as other libraries call them are refused with what is meant here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hindsight_integrations import Hindsight, InvalidInputError, Settings
from hindsight_integrations.langchain import HindsightMiddleware, recall_tool
from hindsight_integrations.llamaindex import HindsightRetriever as NodeRetriever

from .service.served import served


@pytest.fixture(scope="module")
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as opened:
        opened.retain("garden", "Ida planted six pear trees.")
        yield opened


WRONG: list[tuple[dict[str, object], str]] = [
    ({"top_k": 3}, r"token budget, max_tokens: for a number of memories, take result\[:3\]$"),
    ({"k": 3}, r"take result\[:3\]$"),
    ({"limit": 3}, r"take result\[:3\]$"),
    ({"filter": {"a": 1}}, "did you mean 'where'\\?$"),
    ({"score_threshold": 0.5}, "did you mean 'min_score'\\?$"),
    ({"max_token": 5}, "did you mean 'max_tokens'\\?$"),
    ({"since": "2025-01-01"}, "did you mean 'window'\\?$"),
    ({"colour": "green"}, "prefer_observations, pinned$"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_recall_says_what_is_meant(
    memory: Hindsight, given: dict[str, object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        memory.recall("garden", "pear trees", **given)  # type: ignore[arg-type]


def test_a_user_of_elsewhere_is_a_bank(memory: Hindsight) -> None:
    with pytest.raises(TypeError, match="did you mean 'bank_id'"):
        memory.recall(query="pear trees", user_id="garden")  # type: ignore[call-arg]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_adapters_say_what_is_meant(
    memory: Hindsight, given: dict[str, object], message: str
) -> None:
    message = message.replace("prefer_observations, pinned$", "where, window$")
    with pytest.raises(InvalidInputError, match=message):
        recall_tool(memory, "garden", **given)
    with pytest.raises(InvalidInputError, match=message):
        HindsightMiddleware(memory, "garden", recall_options=given)


def test_a_client_of_a_service_says_it_too(memory: Hindsight) -> None:
    with (
        served(memory) as url,
        Hindsight(url) as client,
        pytest.raises(TypeError, match=r"take result\[:3\]$"),
    ):
        client.recall("garden", "pear trees", top_k=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["k", "top_k", "n_results"])
def test_the_number_that_there_is_is_named(memory: Hindsight, name: str) -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'similarity_top_k'"):
        NodeRetriever(memory, "garden", **{name: 3})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="did you mean 'limit'"):
        memory.memories.list("garden", **{name: 3})  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [1711111111.0001, "1711111111.0001", 1711111111])
def test_a_number_as_a_time_is_refused_with_how_to_convert_it(
    memory: Hindsight, seconds: object
) -> None:
    retains: tuple[Callable[[], object], ...] = (
        lambda: memory.retain("garden", "It rained.", timestamp=seconds),  # type: ignore[arg-type]
        lambda: memory.retain_messages(
            "garden", [{"speaker": "Ida", "text": "It rained.", "timestamp": seconds}]
        ),
    )
    for retain in retains:
        with pytest.raises(InvalidInputError, match=r"1970: datetime.fromtimestamp\(float"):
            retain()
    for text in ("yesterday", "2024"):
        with pytest.raises(InvalidInputError, match=r"such as 2024-05-07T13:56$"):
            memory.retain("garden", "It rained.", timestamp=text)


def test_several_values_in_a_condition_are_refused_with_the_operator_for_them(
    memory: Hindsight,
) -> None:
    with pytest.raises(InvalidInputError, match=r"for one of several values, give {'\$in'"):
        memory.recall("garden", "pear trees", where={"source": ["mail", "chat"]})


def test_messages_and_other_fields_given_as_items(memory: Hindsight) -> None:
    items = [{"role": "user", "content": "It rained."}, {"text": "It rained."}]
    for failed in memory.retain_many("garden", items).failed:
        assert str(failed.error).endswith("messages of a chat are for retain_messages")


def test_memories_given_as_texts_and_banks_given_as_one(memory: Hindsight) -> None:
    trees = memory.memories.list("garden")[0]
    with pytest.raises(InvalidInputError, match="for a Memory retain_memory"):
        memory.retain("copy", trees)
    (failed,) = memory.retain_many("copy", [trees]).failed
    assert str(failed.error).endswith("memories are for retain_memories")
    for verb in (memory.context, memory.reflect):
        with pytest.raises(InvalidInputError, match="one bank: only recall takes several"):
            verb(["garden", "copy"], "pear trees")  # type: ignore[arg-type]
