# mypy: disable-error-code="override"
"""A `ReflectionMemory` as the memory of an agent, or as the message history of a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langgraph.runtime import Runtime

from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.integrations.common import OnFailure
from hindsight_integrations.integrations.langchain.conversions import (
    ASSISTANT,
    USER,
    ThreadedHistory,
    conversation,
)
from hindsight_integrations.integrations.langchain.middleware import TurnMiddleware
from hindsight_integrations.sessions import Exchange, MemoryEntry, ReflectionMemory
from hindsight_integrations.sessions.exchanges import ROLES

Learning: TypeAlias = ReflectionMemory | Callable[[Any], ReflectionMemory]
"""A reflection memory, or a function of the run's runtime that returns the user's."""


class ReflectionMiddleware(TurnMiddleware):
    """Give an agent a `ReflectionMemory`: show its insights and recent exchanges, commit each turn.

    The insights are shown at the end of the system message, and the recent exchanges that are not
    part of the conversation before it. A turn, the query with its reply, is committed when it ends;
    reflection runs in the background.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        learning: the reflection memory; or a function of the runtime that returns one, such as
            `lambda runtime: learning_of[runtime.context.user_id]`. Its owner closes it.
        on_failure: "warn" continues without memory when it fails, and logs it; "raise" raises.
        name: distinguishes several middlewares of one agent.

    Instantiate:
        ```python
        from hindsight_integrations.langchain import ReflectionMiddleware
        from hindsight_integrations.sessions import ReflectionMemory

        learning = ReflectionMemory(lambda system, user: "Alice never flies.", every=2)
        reflecting = ReflectionMiddleware(learning)
        ```

    Use within an agent:
        ```python
        from langchain.agents import create_agent
        from langchain_core.language_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage

        replies = ["By train, then.", "How was it?", "Ten hours."]
        model = GenericFakeChatModel(messages=iter(map(AIMessage, replies)))  # any chat model
        agent = create_agent(model, middleware=[reflecting])

        agent.invoke({"messages": [("user", "I am Alice, and planes scare me.")]})
        agent.invoke({"messages": [("user", "I took the night train to Vienna.")]})
        learning.wait_idle()  # only here, so that there is something to show
        print(learning.insights[0].text)
        agent.invoke({"messages": [("user", "How long is the train to Porto?")]})
        print(len(learning.exchanges), learning.exchanges[-1].reply)
        ```

        ```text
        Alice never flies.
        3 Ten hours.
        ```
    """

    def __init__(
        self, learning: Learning, *, on_failure: OnFailure = "warn", name: str | None = None
    ) -> None:
        super().__init__("ReflectionMiddleware" if name is None else name, on_failure)
        if not isinstance(learning, ReflectionMemory) and not callable(learning):
            raise InvalidInputError(
                f"learning is {learning!r}; give a ReflectionMemory, or a "
                "function of the runtime that returns one"
            )
        self.learning = learning

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.learning!r}, name={self.name!r})"

    def _recall(self, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> str:
        try:
            return self._learning(runtime).learnt
        except HindsightError as error:
            self._report("reading insights", error)
            return ""

    def _retain_turn(self, new: Sequence[BaseMessage], runtime: Runtime[Any]) -> bool:
        try:
            self._learning(runtime).add_messages(conversation(new))
        except HindsightError as error:
            self._report("committing a turn", error)
            return isinstance(error, InvalidInputError)  # it would be refused again
        return True

    def _with_memories(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        extended = super()._with_memories(request)
        try:
            exchanges = self._learning(request.runtime).exchanges
        except HindsightError as error:
            self._report("reading exchanges", error)
            return extended
        earlier = exchanges_not_shown(exchanges, request.messages)
        if not earlier:
            return extended
        return extended.override(messages=[*earlier, *extended.messages])

    def _learning(self, runtime: object) -> ReflectionMemory:
        if isinstance(self.learning, ReflectionMemory):
            return self.learning
        return self.learning(runtime)


class ReflectionChatMessageHistory(ThreadedHistory):
    """A `ReflectionMemory` as the message history of a chain.

    `messages` are the insights, as a system message, and the recent exchanges. Messages that are
    added are reflected on in the background. For agents use `ReflectionMiddleware`.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        learning: the reflection memory, which its owner closes.

    Instantiate:
        ```python
        from hindsight_integrations.langchain import ReflectionChatMessageHistory
        from hindsight_integrations.sessions import ReflectionMemory

        learning = ReflectionMemory(lambda system, user: "Alice keeps bees.", every=1)
        history = ReflectionChatMessageHistory(learning)
        ```

    Use within a chain:
        ```python
        from langchain_core.language_models import FakeListChatModel
        from langchain_core.messages import HumanMessage
        from langchain_core.prompts import ChatPromptTemplate

        model = FakeListChatModel(responses=["How many hives?"])  # any chat model
        prompt = ChatPromptTemplate([("placeholder", "{history}"), ("user", "{question}")])
        question = "My bees are well."
        reply = (prompt | model).invoke({"history": history.messages, "question": question})
        history.add_messages([HumanMessage(question), reply])
        learning.wait_idle()  # only here, so that there is something to show
        print([message.type for message in history.messages])
        print("Alice keeps bees." in history.messages[0].text)
        ```

        ```text
        ['system', 'human', 'ai']
        True
        ```
    """

    def __init__(self, learning: ReflectionMemory) -> None:
        super().__init__()
        if not isinstance(learning, ReflectionMemory):
            raise InvalidInputError(f"learning is {learning!r}; give a ReflectionMemory")
        self._learning = learning

    @property
    def messages(self) -> list[BaseMessage]:
        """Insights, if there are any, and the recent messages, oldest first."""
        learnt = self._learning.learnt
        recent = exchanges_not_shown(self._learning.exchanges, ())
        return [SystemMessage(learnt), *recent] if learnt else [*recent]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store what the human and the agent said; other messages are left out.

        Raises:
            HindsightError: they could not be stored.
        """
        self._learning.add_messages(conversation(messages))

    def clear(self) -> None:
        """Delete all exchanges and insights."""
        self._learning.purge()


def exchanges_not_shown(
    exchanges: Sequence[Exchange], conversation_so_far: Sequence[BaseMessage]
) -> list[AnyMessage]:
    """Return the messages of the exchanges that a conversation does not show."""
    visible = {str(message.text) for message in conversation_so_far}
    return [
        _message(entry)
        for exchange in exchanges
        if not all(entry.text in visible for entry in exchange.entries)
        for entry in exchange.entries
    ]


def _message(entry: MemoryEntry) -> AnyMessage:
    role = ROLES.get(entry.speaker.casefold())
    if role == ASSISTANT:
        return AIMessage(entry.text)
    return HumanMessage(entry.text, name=None if role == USER else entry.speaker)
