"""The retriever, alone, in chains, as a tool, and under a reranker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import (
    ConfigurableField,
    RunnableConfig,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.tools import create_retriever_tool
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import ValidationError

from hindsight_integrations import ClosedError, Hindsight, InvalidInputError
from hindsight_integrations.langchain import (
    HindsightMiddleware,
    HindsightReranker,
    HindsightRetriever,
    HindsightToolkit,
    HindsightVectorStore,
    recall_node,
    recall_tool,
    retain_node,
)
from tests.langchain.models import Scripted

both = pytest.mark.parametrize("mode", ["sync", "async"])


@pytest.fixture(scope="module")
def filled(engine: Hindsight) -> Iterator[Hindsight]:
    """An engine whose bank "alice" holds a text with its metadata, a chat, and a few facts."""
    engine.retain(
        "alice",
        "Alice joined Northwind in March 2021 as a designer.",
        document_id="cv",
        context="curriculum vitae",
        metadata={"page": 3, "score": 99},
        tags=["work"],
    )
    engine.retain_messages(
        "alice",
        [{"speaker": "Maya", "text": "My locker is number 12.", "id": "m-7"}],
        session="chat",
    )
    engine.retain_many(
        "alice",
        [
            {"content": "The bicycle is red.", "tags": ["things"]},
            {"content": "The tent leaks.", "tags": ["things"]},
            {"content": "The boat needs paint.", "tags": ["things"], "scope": "summer"},
        ],
    )
    return engine


async def ask(mode: str, retriever: Any, *given: Any, **named: Any) -> list[Document]:
    found = (
        retriever.invoke(*given, **named)
        if mode == "sync"
        else await retriever.ainvoke(*given, **named)
    )
    return list(found)


@both
async def test_a_document_tells_what_it_is_when_it_was_and_why_it_is_there(
    mode: str, filled: Hindsight
) -> None:
    retriever = HindsightRetriever(memory=filled, bank_id="alice", explain=True)
    document = (await ask(mode, retriever, "Where did Alice work in spring 2021?"))[0]
    told = document.metadata
    assert document.page_content == (
        "curriculum vitae: Alice joined Northwind in March 2021 as a designer."
    )
    assert document.id == told["id"]
    assert filled.memories.get("alice", told["id"]).context == "curriculum vitae"
    assert 0.5 < told["score"] <= 1
    assert (told["type"], told["source"], told["rank"]) == ("world", "cv", 1)
    assert told["entities"] == ["Alice", "Northwind"]
    assert told["occurred"][0]["start"] == "2021-03-01T00:00:00+00:00"
    assert any("time: happened 01 Mar 2021" in reason for reason in told["reasons"])
    assert json.loads(json.dumps(told)) == told


def test_metadata_of_the_user_is_whole_and_hides_none_of_ours(filled: Hindsight) -> None:
    retriever = HindsightRetriever(memory=filled, bank_id="alice", explain=True)
    document = retriever.invoke("Northwind")[0]
    assert document.metadata["fields"] == {"page": 3, "score": 99}
    assert document.metadata["score"] <= 1
    assert document.metadata["page"] == 3


def test_a_source_of_the_user_is_where_a_chain_looks_for_it(engine: Hindsight, bank: str) -> None:
    own = {"source": "https://hr.example/leave", "title": "Leave", "type": "policy"}
    engine.retain(bank, "Leave is 30 days a year.", document_id="doc-1", metadata=own)
    engine.retain(bank, "Leave is asked for by mail.", document_id="doc-2")
    with_own, without = sorted(
        HindsightRetriever(engine, bank, k=2).invoke("How much leave is there?"),
        key=lambda found: found.metadata["document_id"],
    )
    assert with_own.metadata["source"] == "https://hr.example/leave"
    assert with_own.metadata["title"] == "Leave"
    assert with_own.metadata["document_id"] == "doc-1"
    assert with_own.metadata["type"] == "world"
    assert with_own.metadata["fields"] == own
    assert (without.metadata["source"], without.metadata["fields"]) == ("doc-2", {})


def test_dated_documents_say_when_in_chains_that_show_nothing_else(
    engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ann lives in Oslo.", timestamp=datetime(2023, 1, 5, tzinfo=UTC))
    engine.retain(bank, "Ann lives in Rome.", timestamp=datetime(2025, 6, 7, tzinfo=UTC))
    dated = HindsightRetriever(engine, bank, k=2, dated=True)
    tool = create_retriever_tool(dated, "memory", "What is remembered.")
    assert sorted(tool.invoke({"query": "Where does Ann live?"}).split("\n\n")) == [
        "[05 Jan 2023] Ann lives in Oslo.",
        "[07 Jun 2025] Ann lives in Rome.",
    ]
    plain = HindsightRetriever(engine, bank, k=2).invoke("Where does Ann live?")
    assert sorted(found.page_content for found in plain) == [
        "Ann lives in Oslo.",
        "Ann lives in Rome.",
    ]


def test_a_message_is_told_with_its_speaker_and_the_id_it_was_given(filled: Hindsight) -> None:
    document = HindsightRetriever(memory=filled, bank_id="alice").invoke("Which locker?")[0]
    assert document.page_content == "Maya: My locker is number 12."
    assert (document.metadata["reference"], document.metadata["source"]) == ("m-7", "chat")


@both
@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"k": 2}, 2),
        ({"tags": ["things"]}, 3),
        ({"tags": ["things"], "scope": "summer"}, 1),
        ({"where": {"page": {"$gte": 3}}}, 1),
        ({"types": ["opinion"]}, 0),
        ({"min_score": 1.0}, 0),
        ({"max_tokens": 5}, 1),
    ],
    ids=["k", "tags", "scope", "where", "types", "min_score", "max_tokens"],
)
async def test_a_filter_does_the_same_given_at_once_or_with_the_question(
    mode: str, options: dict[str, Any], count: int, filled: Hindsight
) -> None:
    fields = {name: options[name] for name in ("k", "max_tokens") if name in options}
    rest = {name: value for name, value in options.items() if name not in fields}
    at_once = HindsightRetriever(
        memory=filled, bank_id="alice", options={"fill": True, **rest}, **fields
    )
    later = HindsightRetriever(memory=filled, bank_id="alice", k=4)
    question = "What is there to do about the things?"
    found = await ask(mode, at_once, question)
    assert len(found) == count
    assert await ask(mode, later, question, None, **options) == found


@both
async def test_a_bank_that_does_not_exist_is_an_empty_one(mode: str, filled: Hindsight) -> None:
    assert await ask(mode, HindsightRetriever(memory=filled, bank_id="nobody"), "Who?") == []
    assert "nobody" not in [bank.id for bank in filled.banks.list()]


@both
async def test_the_bank_can_be_chosen_by_the_configuration_of_a_call(
    mode: str, filled: Hindsight
) -> None:
    filled.retain("ben", "Ben collects stamps.")
    retriever = HindsightRetriever(memory=filled, bank_id="alice", k=1).configurable_fields(
        bank_id=ConfigurableField(id="bank_id")
    )
    ben = {"configurable": {"bank_id": "ben"}}
    assert (await ask(mode, retriever, "Who collects what?", ben))[0].metadata["bank_id"] == "ben"
    assert (await ask(mode, retriever, "bicycle"))[0].metadata["bank_id"] == "alice"


@both
async def test_the_bank_can_be_a_function_of_the_runtime_of_a_graph(
    mode: str, filled: Hindsight
) -> None:
    retriever = HindsightRetriever(
        memory=filled, bank_id=lambda runtime: runtime.context["user"], k=1
    )
    with pytest.raises(InvalidInputError, match="no graph is running"):
        await ask(mode, retriever, "bicycle")

    async def look(state: MessagesState) -> dict[str, Any]:
        found = await ask(mode, retriever, state["messages"][-1].text)
        return {"messages": [("assistant", found[0].page_content)]}

    builder = StateGraph(MessagesState, context_schema=dict).add_node(look).add_edge(START, "look")
    state = await builder.compile().ainvoke(
        {"messages": [("user", "bicycle")]}, context={"user": "alice"}
    )
    assert state["messages"][-1].text == "The bicycle is red."


@both
async def test_it_feeds_a_chain(mode: str, filled: Hindsight) -> None:
    retriever = HindsightRetriever(memory=filled, bank_id="alice", k=1)
    model = Scripted(replies=[lambda messages: str(messages[-1].content)])
    prompt = ChatPromptTemplate.from_template("{context} | {question}")

    def text(documents: list[Document]) -> str:
        return documents[0].page_content

    chain = (
        RunnableParallel(context=retriever | text, question=RunnablePassthrough())
        | prompt
        | model
        | StrOutputParser()
    )
    question = "What colour has the bicycle?"
    answer = chain.invoke(question) if mode == "sync" else await chain.ainvoke(question)
    assert answer == f"The bicycle is red. | {question}"


@both
async def test_a_batch_answers_each_question(mode: str, filled: Hindsight) -> None:
    retriever = HindsightRetriever(memory=filled, bank_id="alice", k=1)
    questions = ["What is red?", "Which locker?"]
    found = retriever.batch(questions) if mode == "sync" else await retriever.abatch(questions)
    assert ["bicycle" in found[0][0].page_content, "locker" in found[1][0].page_content] == [
        True
    ] * 2


@both
async def test_it_becomes_a_tool_by_langchains_own_means(mode: str, filled: Hindsight) -> None:
    tool = create_retriever_tool(
        HindsightRetriever(memory=filled, bank_id="alice", k=1),
        "notes",
        "What is known of Alice.",
        response_format="content_and_artifact",
    )
    made = {"name": "notes", "args": {"query": "What is red?"}, "id": "1", "type": "tool_call"}
    message = tool.invoke(made) if mode == "sync" else await tool.ainvoke(made)
    assert message.content == "The bicycle is red."
    assert message.artifact[0].metadata["tags"] == ["things"]


@both
async def test_it_is_the_base_of_a_compression_retriever(mode: str, filled: Hindsight) -> None:
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    compressed = retrievers.ContextualCompressionRetriever(
        base_retriever=HindsightRetriever(memory=filled, bank_id="alice"),
        base_compressor=HindsightReranker(top_n=1),
    )
    (document,) = await ask(mode, compressed, "Which thing leaks?")
    assert document.page_content == "The tent leaks."
    assert document.metadata["relevance_score"] > 0.5


class Traced(BaseCallbackHandler):
    """Keeps what a tracer is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def on_retriever_start(self, serialized: Any, query: str, **given: Any) -> None:
        self.told.append((query, given["metadata"], given["tags"]))

    def on_retriever_end(self, documents: Any, **given: Any) -> None:
        self.told.append(len(documents))

    def on_retriever_error(self, error: BaseException, **given: Any) -> None:
        self.told.append(type(error))


@both
async def test_traces_name_the_retriever_and_carry_its_tags(mode: str, filled: Hindsight) -> None:
    retriever = HindsightRetriever(
        memory=filled, bank_id="alice", k=1, tags=["things"], metadata={"team": "blue"}
    )
    traced = Traced()
    await ask(mode, retriever, "What is red?", {"callbacks": [traced]})
    query, metadata, tags = traced.told[0]
    assert (query, tags, traced.told[1]) == ("What is red?", ["things"], 1)
    assert metadata["ls_retriever_name"] == "hindsight"
    assert metadata["ls_vector_store_provider"] == "hindsight"
    assert metadata["team"] == "blue"


@both
async def test_an_engine_that_fails_is_an_error_which_traces_see(
    mode: str, closed: Hindsight
) -> None:
    traced = Traced()
    with pytest.raises(ClosedError):
        await ask(
            mode, HindsightRetriever(memory=closed, bank_id="b"), "Who?", {"callbacks": [traced]}
        )
    assert traced.told[1] is ClosedError


def test_a_part_of_recall_that_failed_is_logged_and_the_others_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(query: str, texts: list[str]) -> list[float]:
        raise OSError("no reranker today")

    with Hindsight.in_memory(reranker=broken) as memory:
        memory.retain("alice", "The tent leaks.")
        assert HindsightRetriever(memory=memory, bank_id="alice").invoke("What leaks?")
    assert "continued without reranker: OSError: no reranker today" in caplog.text


@pytest.mark.parametrize(
    ("options", "told"),
    [({"k": 0}, "k is 0"), ({"budget": "all"}, "budget is 'all'"), ({"query_tim": 1}, "query_tim")],
)
def test_an_option_that_cannot_be_used_is_refused(
    options: dict[str, Any], told: str, filled: Hindsight
) -> None:
    retriever = HindsightRetriever(memory=filled, bank_id="alice")
    with pytest.raises(InvalidInputError, match=told):
        retriever.invoke("Who?", None, **options)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"bank_id": " "}, InvalidInputError),
        ({"bank_id": 3}, InvalidInputError),
        ({"memory": "a"}, ValidationError),
        ({"k": 0}, ValidationError),
        ({"options": {"query_tim": 1}}, ValidationError),
    ],
)
def test_fields_are_checked_at_the_door(
    fields: dict[str, Any], error: type[Exception], filled: Hindsight
) -> None:
    with pytest.raises(error):
        HindsightRetriever(**({"memory": filled, "bank_id": "alice"} | fields))


def test_a_retriever_returns_a_handful_unless_told_how_many(engine: Hindsight, bank: str) -> None:
    engine.retain_many(bank, [f"Parcel {number} went to harbour {number}." for number in range(30)])
    asked = "Which parcel went to which harbour?"
    assert len(HindsightRetriever(memory=engine, bank_id=bank).invoke(asked)) == 10
    assert len(HindsightRetriever(memory=engine, bank_id=bank, k=15).invoke(asked)) == 15
    assert HindsightRetriever(memory=engine, bank_id=bank).invoke("Thanks!") == []
    assert len(HindsightRetriever(memory=engine, bank_id=bank, k=3).invoke("Thanks!")) == 3


def test_what_recall_takes_is_given_directly_and_all_else_is_refused(filled: Hindsight) -> None:
    tagged = HindsightRetriever(memory=filled, bank_id="alice", tags=["things"], fill=True)
    found = tagged.invoke("What do I own?")
    assert found
    assert all(document.metadata["tags"] == ["things"] for document in found)
    strict = HindsightRetriever(memory=filled, bank_id="alice", min_score=1.0)
    assert strict.invoke("Where does Alice work?") == []
    chosen = tagged.configurable_fields(bank_id=ConfigurableField(id="bank"))
    again = chosen.invoke("What do I own?", {"configurable": {"bank": "alice"}})
    assert [document.id for document in again] == [document.id for document in found]
    for unknown in (
        {"search_kwargs": {"k": 2}},
        {"top_k": 2},
        {"min_score": 0, "options": {"min_score": 1}},
    ):
        with pytest.raises(ValidationError, match=next(iter(unknown))):
            HindsightRetriever(memory=filled, bank_id="alice", **unknown)  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        HindsightRetriever(memory="./mem", bank_id="alice")


@both
async def test_a_template_of_the_bank_is_filled_by_each_run(mode: str, filled: Hindsight) -> None:
    retriever = HindsightRetriever(memory=filled, bank_id="{langgraph_user_id}", k=1)
    run: RunnableConfig = {"configurable": {"langgraph_user_id": "alice"}}
    (document,) = await ask(mode, retriever, "What colour is the bicycle?", run)
    assert document.page_content == "The bicycle is red."
    chain = RunnablePassthrough() | retriever
    assert (await ask(mode, chain, "What colour is the bicycle?", run))[0].id == document.id
    with pytest.raises(InvalidInputError, match="langgraph_user_id"):
        await ask(mode, retriever, "What colour is the bicycle?")
    filled.retain("{odd-name}", "The kite is blue.")
    with pytest.raises(InvalidInputError, match="braces are no placeholder that is filled"):
        HindsightRetriever(memory=filled, bank_id="{odd-name}")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"speaker": "Maya"}, {"Maya: My locker is number 12."}),
        ({"document_id": "chat"}, {"Maya: My locker is number 12."}),
        ({"entities": "Northwind", "type": "world"}, {"joined"}),
        ({"$or": [{"speaker": "Maya"}, {"page": 3}], "$not": {"tags": "work"}}, {"Maya:"}),
        ({"mentioned_at": {"$lt": "2000-01-01"}}, set()),
    ],
)
def test_where_tests_the_fields_that_documents_show(
    filled: Hindsight, where: dict[str, Any], expected: set[str]
) -> None:
    retriever = HindsightRetriever(memory=filled, bank_id="alice", where=where, fill=True)
    found = [document.page_content for document in retriever.invoke("What is known?")]
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))


def test_adapters_and_their_names_are_checked_when_they_are_made(filled: Hindsight) -> None:
    with pytest.raises(ValidationError, match="verb"):
        HindsightToolkit(memory=filled, bank_id="alice", verb="recall")
    for make in (HindsightMiddleware, recall_node, retain_node, recall_tool):
        with pytest.raises(InvalidInputError, match="open memory, such as Hindsight"):
            make("./mem", "alice")  # type: ignore[operator]


def test_middleware_takes_the_bank_of_the_user_who_runs_it(filled: Hindsight) -> None:
    remembering = HindsightMiddleware(filled, "user {langgraph_user_id}")
    agent = create_agent(Scripted(replies=["Noted."]), middleware=[remembering])
    said = {"messages": [("user", "I keep goats in Evora.")]}
    agent.invoke(said, {"configurable": {"langgraph_user_id": "zoe"}})
    assert (
        filled.recall("user zoe", "Who keeps goats?").memories[0].text == "I keep goats in Evora."
    )


@both
async def test_several_banks_are_searched_at_once_that_of_the_run_among_them(
    mode: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(f"{bank} ann", "Ann parks on level 3.")
    engine.retain(f"{bank} ben", "Ben parks on level 4.")
    engine.retain(f"{bank} team", "Level 3 is closed on Sundays.")
    retriever = HindsightRetriever(
        memory=engine, bank_id=[f"{bank} {{user_id}}", f"{bank} team", "never made"], k=9
    )
    config: RunnableConfig = {"configurable": {"user_id": "ann"}}
    asked = ("Who parks on level 3?", config)
    found = retriever.invoke(*asked) if mode == "sync" else await retriever.ainvoke(*asked)
    assert {document.metadata["bank_id"] for document in found} == {f"{bank} ann", f"{bank} team"}
    with pytest.raises(ValidationError):
        HindsightRetriever(memory=engine, bank_id=[])


def test_one_memory_found_by_several_questions_is_one_document(
    engine: Hindsight, bank: str
) -> None:
    engine.retain_many(bank, ["Ann parks on level 3.", "Level 3 is closed on Sundays."])
    model = Scripted(replies=["Where is Ann's car?\nWhich level is closed?\nWhen is it closed?"])
    retriever = HindsightRetriever(memory=engine, bank_id=bank, k=2)
    several = MultiQueryRetriever.from_llm(retriever, model)
    found = several.invoke("Can Ann leave on Sunday?")
    assert sorted(document.page_content for document in found) == [
        "Ann parks on level 3.",
        "Level 3 is closed on Sundays.",
    ]
    assert not {"score", "rank", "reasons"} & {*found[0].metadata}


@both
@pytest.mark.parametrize("blank", ["", " \n", "\u200b"])
async def test_a_blank_question_finds_no_documents(
    mode: str, blank: str, engine: Hindsight, bank: str
) -> None:
    engine.retain(bank, "Ruth lives in Lisbon.")
    retriever = HindsightRetriever(engine, bank, k=3)
    found = retriever.invoke(blank) if mode == "sync" else await retriever.ainvoke(blank)
    assert found == []
    assert [len(each) for each in retriever.batch([blank, "Where does Ruth live?"])] == [0, 1]


@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
def test_a_blank_question_finds_nothing_in_a_vector_store_either(
    search_type: str, engine: Hindsight, bank: str
) -> None:
    store = HindsightVectorStore(engine, bank)
    store.add_texts(["Ruth lives in Lisbon."])
    assert store.as_retriever(search_type=search_type).invoke(" ") == []
    with pytest.raises(InvalidInputError, match="query is None; give text"):
        store.similarity_search(None)  # type: ignore[arg-type]
