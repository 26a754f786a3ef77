"""Memory for chains of `langchain-classic`, deprecated by LangChain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_classic.base_memory import BaseMemory  # type: ignore[import-not-found,unused-ignore]
from pydantic import Field, PrivateAttr

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.common import as_question, forget_document, recall, section
from hindsight_integrations.integrations.langchain.conversions import (
    ASSISTANT,
    USER,
    BankField,
    BankId,
    RecallOptions,
    bank_of,
    check_banks,
)
from hindsight_integrations.models import Message
from hindsight_integrations.results import SkipReason


class HindsightMemory(BaseMemory):
    """The memory of a classic chain: recalled into its prompt, retained after its answer.

    LangChain has deprecated its base class; new code uses an agent with a checkpointer and
    `HindsightMiddleware`.

    Setup: `pip install "hindsight-integrations[langchain]" langchain-classic`

    Key init args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime of the graph that runs.
        session_id: your id of the conversation, which `clear` forgets. Without one, turns that
            are stored already are not stored again, and `clear` forgets what this object stored.
        memory_key: the variable of the prompt for the memories.
        input_key: the chain's input with the question; its only one if None.
        output_key: the chain's output with the answer; its only one if None.
        options: other arguments of `Hindsight.recall`.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightMemory

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        remembering = HindsightMemory(memory=memory, bank_id="alice")
        ```

    Use:
        ```python
        remembering.save_context({"input": "I park on level 3."}, {"output": "Noted."})
        shown = remembering.load_memory_variables({"input": "Where is my car?"})
        print("user: I park on level 3." in shown["history"])
        ```

        ```text
        True
        ```

    Use within a chain:
        ```python
        from langchain_classic.chains import LLMChain
        from langchain_core.language_models import FakeListLLM
        from langchain_core.prompts import PromptTemplate

        model = FakeListLLM(responses=["On level 3."])  # any model
        prompt = PromptTemplate.from_template("{history} {question}")
        chain = LLMChain(llm=model, prompt=prompt, memory=remembering)
        print(chain.invoke({"question": "Where is my car?"})["text"])
        ```

        ```text
        On level 3.
        ```
    """

    memory: Hindsight = Field(exclude=True)
    bank_id: BankField
    session_id: str | None = None
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    options: RecallOptions = Field(default_factory=dict)
    _document: str | None = PrivateAttr(default=None)

    def __init__(self, memory: Hindsight, bank_id: BankId, **fields: Any) -> None:
        check_banks(bank_id)
        super().__init__(**{"memory": memory, "bank_id": bank_id, **fields})

    @property
    def memory_variables(self) -> list[str]:
        """The variables that it adds to the chain's input."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return memories on the chain's question, fenced; empty if there are none."""
        question = as_question(self._asked(inputs))
        if not question:
            return {self.memory_key: ""}
        result = recall(self.memory, bank_of(self.bank_id), question, **self.options)
        return {self.memory_key: section(result.text)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Retain the question and the answer."""
        turn = [
            Message(USER, self._asked(inputs)),
            Message(ASSISTANT, _only(outputs, self.output_key, "output_key")),
        ]
        session = self.session_id or self._document
        result = self.memory.retain_messages(bank_of(self.bank_id), turn, session=session)
        replayed = any(skip.reason is SkipReason.UNCHANGED for skip in result.skipped)
        if session is None and not replayed and result.document_ids:
            self._document = result.document_ids[0]

    def clear(self) -> None:
        """Forget this session."""
        if session := self.session_id or self._document:
            forget_document(self.memory, bank_of(self.bank_id), session)
        self._document = None

    def _asked(self, inputs: Mapping[str, Any]) -> str:
        own = {self.memory_key, "stop"}
        given = {name: value for name, value in inputs.items() if name not in own}
        return _only(given, self.input_key, "input_key")


def _only(given: Mapping[str, Any], key: str | None, what: str) -> str:
    if key is None and len(given) != 1:
        raise InvalidInputError(
            f"{what} is not given, but there are several values: {sorted(given)}; name one"
        )
    return str(given[next(iter(given)) if key is None else key])
