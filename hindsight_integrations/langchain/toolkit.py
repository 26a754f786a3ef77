"""The tools of memory, as a LangChain toolkit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from langchain_core.tools import BaseTool, BaseToolkit
from pydantic import ConfigDict, Field

from hindsight_integrations.engine import Hindsight
from hindsight_integrations.langchain.fields import BankField
from hindsight_integrations.langchain.tools import (
    forget_tool,
    recall_tool,
    reflect_tool,
    retain_tool,
)

Verb: TypeAlias = Literal["retain", "recall", "reflect", "forget"]

_MAKERS: Mapping[Verb, Callable[..., BaseTool]] = {
    "retain": retain_tool,
    "recall": recall_tool,
    "reflect": reflect_tool,
    "forget": forget_tool,
}


class HindsightToolkit(BaseToolkit):
    """Memory as four tools: retain, recall, reflect, forget.

    Setup:
        ```bash
        pip install "hindsight-integrations[langchain]"
        ```

    Key init args:
        memory: the engine.
        bank_id: which bank: its id, or a function of the runtime. The model never sees it.
        verbs: which of the four tools.
        pinned: for each verb the arguments that every call is made with; the model does not see
            them either.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightToolkit

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        toolkit = HindsightToolkit(
            memory=memory,
            bank_id="alice",
            verbs=("retain", "recall"),
            pinned={"recall": {"max_tokens": 500}, "retain": {"tags": ["chat"]}},
        )
        tools = toolkit.get_tools()
        ```

    Use:
        ```python
        retain, recall = tools
        retain.invoke({"content": "Alice is allergic to nuts."})
        message = recall.invoke(
            {"name": "recall", "args": {"query": "allergies"}, "id": "1", "type": "tool_call"}
        )
        print(message.artifact["memories"][0]["text"])
        ```

        ```text
        Alice is allergic to nuts.
        ```

    Use within an agent:
        ```python
        from langchain.agents import create_agent
        from langchain_core.language_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage

        class Model(GenericFakeChatModel):  # any chat model that calls tools
            def bind_tools(self, tools, **options):
                return self

        call = {"name": "recall", "args": {"query": "What must I not cook?"}, "id": "1"}
        model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("No nuts.")]))
        agent = create_agent(model, tools)
        state = agent.invoke({"messages": [("user", "May I put nuts in the cake?")]})
        print("allergic" in state["messages"][2].content, state["messages"][3].content)
        ```

        ```text
        True No nuts.
        ```
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: Hindsight = Field(exclude=True)
    bank_id: BankField
    verbs: tuple[Verb, ...] = ("retain", "recall", "reflect", "forget")
    pinned: dict[Verb, dict[str, Any]] = Field(default_factory=dict)

    def get_tools(self) -> list[BaseTool]:
        """The tools, in the order of `verbs`."""
        return [
            _MAKERS[verb](self.memory, self.bank_id, **self.pinned.get(verb, {}))
            for verb in self.verbs
        ]
