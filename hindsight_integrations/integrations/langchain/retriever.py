"""Recall as a LangChain retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Unpack

from annotated_types import MinLen
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import LangSmithRetrieverParams
from pydantic import Field, PositiveInt, model_validator

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.common import HANDFUL, check_options, recall
from hindsight_integrations.integrations.langchain.conversions import (
    BankField,
    BankId,
    RecallOptions,
    TemplateBankRetriever,
    as_document,
    bank_of,
    check_banks,
)
from hindsight_integrations.integrations.signatures import with_own_signature
from hindsight_integrations.recall.request import RecallOptions as Options


class RetrieverOptions(Options, total=False):
    """Keyword arguments of `HindsightRetriever`: its own, and those of `Hindsight.recall`."""

    k: int | None
    options: Mapping[str, Any]
    explain: bool
    dated: bool
    name: str | None
    metadata: dict[str, Any] | None


@with_own_signature
class HindsightRetriever(TemplateBankRetriever):
    """The memories of a bank, by time, people, meaning and exact terms at once.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        memory: the open memory.
        bank_id: the bank's id, a function of the runtime of the running graph, or a template such
            as "{langgraph_user_id}", filled from the run's `configurable` values; or a list of
            these to search several banks at once, such as `["{user_id}", "team"]`.
        k: maximum number of documents; if None, the relevant ones, at most 10.
        max_tokens: maximum tokens of all documents together; `settings.max_tokens` if None.
        options: other arguments of `Hindsight.recall`, such as `types`, `tags`, `where`,
            `entities`, `window`, `as_of` or `min_score`. They may also be given directly, or with
            the question. `tags` are those of memories, and label the runs, too; to label runs
            only, use `with_config(tags=...)`.
        explain: True adds `score`, `rank` and `reasons` to the metadata. They depend on the
            question: without them a memory that several questions find is an equal document, and
            retrievers that ask several (`MultiQueryRetriever`) merge these.
        dated: True leads each `page_content` by the day it was said, as in "[07 May 2025] Ann moved
            to Oslo.", for chains that show a model nothing else: of two statements that contradict
            each other it cannot tell the newer one without.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightRetriever

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        memory.retain("alice", "Her bicycle is red.", tags=["things"])

        retriever = HindsightRetriever(memory, "alice", k=3, explain=True)
        ```

    Use:
        ```python
        documents = retriever.invoke("Where did Alice work in spring 2021?", k=1)
        print(documents[0].page_content)
        print(documents[0].metadata["reasons"][4])
        ```

        ```text
        Alice joined Northwind in March 2021 as a designer.
        time: happened 01 Mar 2021, in 'spring 2021'
        ```

    `docs/langchain.md` shows it in a chain, and with the bank of each call's configuration.

    Documents:
        `page_content` is the memory's text, beginning with its speaker if known. `metadata` has

        - your own fields, as they were retained, such as `page` or `title`;
        - `source`: your own field of that name, or else the same as `document_id`;
        - `id` (also the document's) and `bank_id`;
        - `type`, `speaker`, `context`, `entities`, `tags`, `confidence`, `proof_count`;
        - `mentioned_at`, when it was said, and `occurred`, the times it is about, in ISO 8601;
          `occurred_start` and `occurred_end` are the first and the last of them;
        - `document_id`, the document it comes from, and `reference`, your id of the message;
        - `fields`, your own fields alone: one that is named like a key of this list, other than
          `source`, is found here only;
        - with `explain`, `score` from 0 to 1, `rank`, and `reasons`: the signals that decided, then
          one for each search that found it.
    """

    memory: Hindsight = Field(exclude=True)
    bank_id: BankField | Annotated[list[BankField], MinLen(1)]
    k: PositiveInt | None = None
    max_tokens: PositiveInt | None = None
    options: RecallOptions = Field(default_factory=dict)
    explain: bool = False
    dated: bool = False

    def __init__(
        self,
        memory: Hindsight,
        bank_id: BankId | Sequence[BankId],
        **options: Unpack[RetrieverOptions],
    ) -> None:
        check_banks(bank_id)
        fields: dict[str, Any] = {"memory": memory, "bank_id": bank_id, **options}
        super().__init__(**fields)

    @model_validator(mode="before")
    @classmethod
    def _with_options(cls, given: Any) -> Any:
        """Take options of `Hindsight.recall` that were given directly, and refuse other names."""
        if not isinstance(given, dict):
            return given
        direct = {name: given[name] for name in given if name not in cls.model_fields}
        check_options(direct, Hindsight.recall, also=("k", "explain", "dated"))
        if given.get("tags") is not None:  # labels of runs for LangChain; here of memories, too
            direct["tags"] = given["tags"]
        options = given.get("options") or {}
        for name in {*direct} & {*options} - {"tags"}:  # a field, of which options have a copy
            if direct[name] != options[name]:
                raise InvalidInputError(
                    f"{name!r} was given twice, as an argument and in options; give it once"
                )
        rest = {name: value for name, value in given.items() if name in cls.model_fields}
        return rest | {"options": {**options, **direct}}

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
        check_options(given, Hindsight.recall)
        options = {"max_tokens": self.max_tokens, **self.options, **given}
        wanted = HANDFUL if k is None else validation.positive("k", k)
        options.setdefault("fill", k is not None)
        given_banks = self.bank_id if isinstance(self.bank_id, list) else [self.bank_id]
        result = recall(self.memory, [bank_of(bank) for bank in given_banks], query, **options)
        found = result.memories[:wanted]
        return [as_document(each, explain=self.explain, dated=self.dated) for each in found]

    _arecalled = async_variant(_recalled)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        """Return the parameters that traces record."""
        named = super()._get_ls_params(**kwargs)
        return LangSmithRetrieverParams(**named, ls_vector_store_provider="hindsight")
