"""Recall as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import Field, PositiveInt

from hindsight_integrations import checks
from hindsight_integrations.adapting.banks import recall
from hindsight_integrations.adapting.options import check_options, options_of
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.langchain.bank import bank_of
from hindsight_integrations.langchain.documents import as_document
from hindsight_integrations.langchain.fields import BankField, RecallOptions


class HindsightRetriever(BaseRetriever):
    r"""The memories of a bank, by time, people, meaning and exact terms at once.

    Setup:
        ```bash
        pip install "hindsight-integrations[langchain]"
        ```

    Key init args:
        memory: the engine.
        bank_id: which bank: its id, or a function of the runtime of the graph that runs.
        k: documents at most; as many as fit `max_tokens` if None.
        max_tokens: tokens of all documents together; the engine's setting if None.
        options: anything else that `Hindsight.recall` takes, such as `types`, `tags`, `where`,
            `as_of` or `min_score`.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightRetriever

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        memory.retain("alice", "Her bicycle is red.", tags=["things"])

        retriever = HindsightRetriever(memory=memory, bank_id="alice", k=3)
        ```

    Use:
        ```python
        documents = retriever.invoke("Where did Alice work in spring 2021?", k=1)
        print(documents[0].page_content)
        print(documents[0].metadata["reasons"][2])
        ```

        ```text
        Alice joined Northwind in March 2021 as a designer.
        time: happened 01 Mar 2021, in 'spring 2021'
        ```

        Whatever `Hindsight.recall` takes may be given with the question:

        ```python
        for document in retriever.invoke("What does Alice own?", tags=["things"]):
            print(document.page_content)
        ```

        ```text
        Her bicycle is red.
        ```

    Use within a chain:
        ```python
        from langchain_core.language_models import FakeListChatModel
        from langchain_core.output_parsers import StrOutputParser
        from langchain_core.prompts import ChatPromptTemplate
        from langchain_core.runnables import RunnablePassthrough

        def as_text(documents):
            return "\n".join(document.page_content for document in documents)

        model = FakeListChatModel(responses=["At Northwind."])  # any chat model
        prompt = ChatPromptTemplate.from_template("From {context}, answer: {question}")
        chain = (
            {"context": retriever | as_text, "question": RunnablePassthrough()}
            | prompt
            | model
            | StrOutputParser()
        )
        print(chain.invoke("Where did Alice work in spring 2021?"))
        ```

        ```text
        At Northwind.
        ```

    Which bank may be decided by each call's configuration:
        ```python
        from langchain_core.runnables import ConfigurableField

        anyone = retriever.configurable_fields(bank_id=ConfigurableField(id="bank_id"))
        print(anyone.invoke("Where?", {"configurable": {"bank_id": "bob"}}))
        ```

        ```text
        []
        ```

    Documents:
        `page_content` is the memory with its speaker, if it has one. `metadata` has

        - `id` (also the document's), `bank_id`, `rank`, and `score` from 0 to 1;
        - `type`, `speaker`, `context`, `entities`, `tags`, `proof_count`;
        - `mentioned_at`, when it was said, and `occurred`, the times it tells of, in ISO 8601;
        - `source`, the `document_id` it comes from, and `reference`, your id of the message;
        - `reasons`, why it is there, one for each search that found it;
        - `fields`, the metadata it was retained with.
    """

    memory: Hindsight = Field(exclude=True)
    bank_id: BankField
    k: PositiveInt | None = None
    max_tokens: PositiveInt | None = None
    options: RecallOptions = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return self._recalled(query, options)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return await self._arecalled(query, options)

    def _recalled(self, query: str, given: dict[str, Any]) -> list[Document]:
        k = given.pop("k", self.k)
        check_options(given, options_of(Hindsight.recall))
        options = {"max_tokens": self.max_tokens, **self.options, **given}
        wanted = None if k is None else checks.positive("k", k)
        result = recall(self.memory, bank_of(self.bank_id), query, **options)
        return [as_document(found) for found in result.memories[:wanted]]

    _arecalled = twin(_recalled)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        """What traces say of this retriever: its name and what it searches."""
        named = super()._get_ls_params(**kwargs)
        return LangSmithRetrieverParams(**named, ls_vector_store_provider="hindsight")
