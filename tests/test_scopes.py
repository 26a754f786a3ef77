"""Nothing is read across scopes: every door is tried with a question about the other scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_integrations import Arm, Hindsight, InvalidInputError, Message, Settings

MINE, THEIRS = "user:ann", "user:eve"
SECRET = ("zanzibar", "quokka")
QUESTION = "Who prefers tea since Ann moved to Zanzibar with the quokka?"


@pytest.fixture(scope="module")
def shared() -> Iterator[Hindsight]:
    """A bank of two scopes, whose memories are as near to each other as can be."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for text in ("Ann prefers tea to coffee.", "Ann drinks tea at work every day.",
                     "Ann said that she loves green tea."):  # fmt: skip
            memory.retain("b", text, scope=MINE)
        imitation = {"scope": MINE, "bank_id": "b", "type": "world", "document_id": "d"}
        for text in ("Ann prefers tea in Zanzibar to coffee.",
                     "Ann drinks tea with the quokka Zanzibar spy.",
                     "Ann moved to Zanzibar in May 2019."):  # fmt: skip
            memory.retain("b", text, scope=THEIRS, metadata=imitation, tags=[MINE])
        memory.retain("b", "Ann's garden is green.", document_id="d", scope=MINE)
        memory.retain("b", "The Zanzibar vault has the code 99.", document_id="d", scope=THEIRS,
                      update_mode="append")  # fmt: skip
        said = datetime(2025, 3, 1, tzinfo=UTC)
        for speaker, text, scope in (("Eve", "Shall we move to Zanzibar?", THEIRS),
                                     ("Ann", "Yes, sure.", MINE)):  # fmt: skip
            memory.retain_messages("b", [Message(speaker, text, said)], session="s", scope=scope)
        for scope, home in ((MINE, "York"), (THEIRS, "Zanzibar")):
            for text, year in (("Ann lives in Leeds.", 2018), (f"Ann now lives in {home}.", 2020)):
                said = datetime(year, 5, 1, tzinfo=UTC)
                memory.retain("b", text, scope=scope, timestamp=said)
        memory.consolidate("b")
        memory.opinions.form("b", "tea", scope=THEIRS)
        memory.mental_models.create("b", "Plans", text="Ann plans to move to Zanzibar.")
        yield memory


def langchain_retriever(memory: Hindsight) -> object:
    from hindsight_integrations.langchain import HindsightRetriever

    return HindsightRetriever(memory=memory, bank_id="b", scope=MINE, k=50).invoke(QUESTION)


def langchain_tools(memory: Hindsight) -> object:
    from hindsight_integrations.langchain import HindsightToolkit

    pinned = {verb: {"scope": MINE} for verb in ("recall", "reflect")}
    tools = HindsightToolkit(memory=memory, bank_id="b", verbs=tuple(pinned), pinned=pinned)
    return [tool.invoke({"query": QUESTION}) for tool in tools.get_tools()]


def llamaindex_retriever(memory: Hindsight) -> object:
    from hindsight_integrations.llamaindex import HindsightRetriever

    return HindsightRetriever(memory, "b", scope=MINE).retrieve(QUESTION)


def langchain_middleware(memory: Hindsight) -> object:
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage
    from langgraph.runtime import Runtime

    from hindsight_integrations.langchain import HindsightMiddleware, recall_node
    from tests.langchain.models import Scripted

    state: Any = {"messages": [HumanMessage(QUESTION)]}
    options = {"scope": MINE, "max_tokens": 4000}
    middleware = HindsightMiddleware(memory, bank_id="b", recall_options=options, retain="never")
    model = Scripted(replies=["Ann does."])
    create_agent(model, middleware=[middleware]).invoke(state)
    recalled = model.system(), repr(recall_node(memory, "b", scope=MINE)(state, Runtime()))
    assert all("tea" in text for text in recalled)
    return recalled


def langchain_vectors(memory: Hindsight) -> object:
    from hindsight_integrations.langchain import HindsightVectorStore

    store = HindsightVectorStore(memory, "b")
    (id,) = store.add_texts(["Ann stores tea."])  # in a collection of its own
    found = store.similarity_search(QUESTION, k=50)
    store.delete([id])
    assert found
    return found


def llamaindex_vectors(memory: Hindsight) -> object:
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores import VectorStoreQuery

    from hindsight_integrations.llamaindex import HindsightVectorStore

    store = HindsightVectorStore(memory, "b")
    store.add([TextNode(id_="tea", text="Ann stores tea.")])
    found = store.query(VectorStoreQuery(query_str=QUESTION, similarity_top_k=50))
    store.delete_nodes(["tea"])
    assert found.ids == ["tea"]
    return found


def llamaindex_memory(memory: Hindsight) -> object:
    from llama_index.core.llms import ChatMessage

    from hindsight_integrations.llamaindex import HindsightMemory

    chat = HindsightMemory(memory, "b", session_id=MINE, separate_sessions=True)
    shown = chat.get(QUESTION)
    assert isinstance(shown[0], ChatMessage)
    assert "tea" in repr(shown)
    return shown


def shown(picture: Any) -> object:
    return picture, picture._repr_html_()


def whole(memory: Hindsight, **options: Any) -> object:
    budgets = {"chunk_tokens": 4000, "entity_tokens": 4000, "fill": True}
    found = memory.recall("b", QUESTION, scope=MINE, **budgets, **options)
    # The question names the secret, and an explanation the question.
    neutral = memory.recall("b", "Who prefers tea to coffee?", scope=MINE, **budgets, **options)
    told = found.text, found.windows, found.entities_named, found.chunks, found.entity_notes
    parts = [(m.memory, m.reasons, m.memory.entities, m.memory.sources) for m in found]
    return told, parts, neutral.explain()


def observed(memory: Hindsight) -> object:
    return memory.observations.observe("b", QUESTION, scope=MINE, limit=50)


DOORS: dict[str, Callable[[Hindsight], object]] = {
    "recall": whole,
    **{f"the {arm} arm": lambda memory, arm=arm: whole(memory, arms=[arm]) for arm in Arm},
    "as of then": lambda memory: whole(memory, as_of=datetime.now(UTC)),
    "metadata": lambda memory: whole(memory, where={"metadata.scope": MINE}),
    "a field": lambda memory: whole(memory, where={"$or": [{"scope": THEIRS}, {"type": "world"}]}),
    "tags": lambda memory: whole(memory, tags=[MINE]),
    "entities": lambda memory: whole(memory, entities=["Ann", "Zanzibar"]),
    "a window": lambda memory: whole(
        memory, window=(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))
    ),
    "context": lambda memory: memory.context("b", QUESTION, scope=MINE).text,
    "reflect": lambda memory: repr(memory.reflect("b", QUESTION, scope=MINE)),
    "list": lambda memory: memory.memories.list("b", scope=MINE, state="any").items,
    "a text": lambda memory: memory.memories.list("b", scope=MINE, text="Zanzibar").items,
    "a document": lambda memory: memory.memories.list("b", scope=MINE, document_id="d").items,
    "observations": observed,
    "a dry run": lambda memory: memory.forget("b", scope=MINE, types=["world"], dry_run=True),
    "a picture": lambda memory: shown(memory.graph("b", scope=MINE)),
    "a picture of times": lambda memory: shown(memory.timeline("b", scope=MINE)),
    "a retriever of LangChain": langchain_retriever,
    "tools of LangChain": langchain_tools,
    "middleware of LangChain": langchain_middleware,
    "vectors of LangChain": langchain_vectors,
    "a retriever of LlamaIndex": llamaindex_retriever,
    "vectors of LlamaIndex": llamaindex_vectors,
    "a memory of LlamaIndex": llamaindex_memory,
}


@pytest.mark.parametrize(
    "door",
    [pytest.param(door, marks=[pytest.mark.slow] * ("of L" in door)) for door in DOORS],
)
def test_no_door_leads_to_another_scope(door: str, shared: Hindsight) -> None:
    seen = repr(DOORS[door](shared)).casefold()
    # What was asked may be shown; what it finds may not.
    seen = seen.replace(QUESTION.casefold(), "")
    assert not [word for word in SECRET if word in seen], seen
    assert THEIRS not in seen


def test_the_secret_is_found_in_its_own_scope_and_without_one(shared: Hindsight) -> None:
    for options in ({"scope": THEIRS}, {}):
        found = shared.recall("b", QUESTION, **options)  # type: ignore[arg-type]
        assert all(word in found.text.casefold() for word in SECRET)
    assert "tea" in shared.recall("b", QUESTION, scope=MINE).text


def test_every_conclusion_rests_on_one_scope(shared: Hindsight) -> None:
    conclusions = shared.memories.list("b", types=["observation", "opinion"]).items
    assert {conclusion.scope for conclusion in conclusions} == {MINE, THEIRS}
    for conclusion in conclusions:
        cited = {shared.memories.get("b", s.memory_id).scope
                 for s in conclusion.sources if s.memory_id}  # fmt: skip
        assert cited == {conclusion.scope}


def test_what_is_named_by_its_scope_is_forgotten_in_no_other(memory: Hindsight) -> None:
    for scope in (MINE, THEIRS):
        memory.retain("b", "The library opens at nine.", scope=scope)
    assert len(memory.forget("b", scope=MINE, text="library")) == 1
    assert [each.scope for each in memory.memories.list("b").items] == [THEIRS]
    with pytest.raises(InvalidInputError):
        memory.recall("b", QUESTION, scope="")
