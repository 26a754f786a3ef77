"""For chains of `langchain-classic`, whose memories LangChain has deprecated.

New code has agents with a checkpointer, and `HindsightMiddleware`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from langchain_classic.base_memory import BaseMemory  # type: ignore[import-not-found,unused-ignore]
from pydantic import Field

from hindsight_integrations.adapting.banks import forget_document, recall
from hindsight_integrations.adapting.texts import as_question, section
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.langchain.bank import bank_of
from hindsight_integrations.langchain.fields import BankField, RecallOptions
from hindsight_integrations.langchain.messages import ASSISTANT, USER
from hindsight_integrations.model import Message


class HindsightMemory(BaseMemory):
    """The memory of a classic chain: recalled into its prompt, retained after its answer.

    Deprecated by LangChain, as its base class is: new code has an agent with a checkpointer and
    `HindsightMiddleware`.

    Setup:
        ```bash
        pip install "hindsight-integrations[langchain]" langchain-classic
        ```

    Key init args:
        memory: the engine.
        bank_id: which bank: its id, or a function of the runtime of the graph that runs.
        session_id: your id of the conversation; what `clear` forgets.
        memory_key: the variable of the prompt that memories go into.
        input_key: the chain's input that is the question; its only one if None.
        output_key: the chain's output that is the answer; its only one if None.
        options: anything else that `Hindsight.recall` takes.

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
    session_id: str = Field(default_factory=lambda: f"session-{uuid.uuid4().hex}")
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    options: RecallOptions = Field(default_factory=dict)

    @property
    def memory_variables(self) -> list[str]:
        """What it adds to the chain's input."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What bears on the chain's question, fenced; empty if nothing does."""
        question = as_question(self._asked(inputs))
        if not question:
            return {self.memory_key: ""}
        found = recall(self.memory, bank_of(self.bank_id), question, **self.options)
        return {self.memory_key: section(found.text)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Retain the question and the answer."""
        said = [
            Message(USER, self._asked(inputs)),
            Message(ASSISTANT, _only(outputs, self.output_key, "output_key")),
        ]
        self.memory.retain_messages(bank_of(self.bank_id), said, session=self.session_id)

    def clear(self) -> None:
        """Forget this session."""
        forget_document(self.memory, bank_of(self.bank_id), self.session_id)

    def _asked(self, inputs: Mapping[str, Any]) -> str:
        own = {self.memory_key, "stop"}
        given = {name: value for name, value in inputs.items() if name not in own}
        return _only(given, self.input_key, "input_key")


def _only(given: Mapping[str, Any], key: str | None, what: str) -> str:
    if key is None and len(given) != 1:
        raise InvalidInputError(f"{what} is not given, and there are {sorted(given)}; name one")
    return str(given[next(iter(given)) if key is None else key])
