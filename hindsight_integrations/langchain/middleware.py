"""Memory for `create_agent`: recalled before a turn, shown to the model, retained after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from hindsight_integrations import checks
from hindsight_integrations.adapting.banks import recall
from hindsight_integrations.adapting.options import check_options, options_of
from hindsight_integrations.adapting.texts import section
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.langchain.bank import BankId, bank_of, checked_bank, thread_of
from hindsight_integrations.langchain.messages import (
    conversation,
    mark_before_last_turn,
    question_in,
    since,
    with_section,
)
from hindsight_integrations.prompts import UNREADABLE
from hindsight_integrations.results import RetainResult

log = logging.getLogger("hindsight_integrations")

Retaining = Literal["every_turn", "end", "never"]
OnFailure = Literal["warn", "raise"]


class Notes(TypedDict, total=False):
    """What one middleware keeps from hook to hook: what it recalled, and how far it retained."""

    recalled: str
    retained: str | None


def merged(old: dict[str, Notes], new: dict[str, Notes]) -> dict[str, Notes]:
    """The notes of all middlewares of an agent, each under its name."""
    return {**old, **new}


class HindsightState(AgentState[Any]):
    """An agent's state with the notes, which neither go in nor come out."""

    hindsight: NotRequired[Annotated[dict[str, Notes], PrivateStateAttr, merged]]


class HindsightMiddleware(AgentMiddleware[HindsightState, Any, Any]):
    """An agent that remembers: recall once a turn, retain what was said.

    Setup:
        ```bash
        pip install "hindsight-integrations[langchain]"
        ```

    Key init args:
        memory: the engine.
        bank_id: which bank: its id, or a function of the runtime, such as
            `lambda runtime: runtime.context.user_id`. The model never sees it.
        retain: "every_turn" retains after each turn what was said in it; "end" retains nothing
            until you call `end`; "never" only recalls.
        on_failure: "warn" goes on without memory when the engine fails, logs it, and tells the
            model so; "raise" raises.
        max_tokens: tokens of the memories shown, at most.
        recall_options: anything else that `Hindsight.recall` takes.
        retain_options: anything else that `Hindsight.retain_messages` takes, such as `tags`.
        name: tells several middlewares of one agent apart; made of the bank if not given.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightMiddleware

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        remembering = HindsightMiddleware(memory, bank_id="alice")
        ```

    Use within an agent:
        ```python
        from langchain.agents import create_agent
        from langchain_core.language_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage

        replies = ["Noted.", "Without sugar."]
        model = GenericFakeChatModel(messages=iter(map(AIMessage, replies)))  # any chat model
        agent = create_agent(model, middleware=[remembering])

        agent.invoke({"messages": [("user", "I take my coffee without sugar.")]})
        state = agent.invoke({"messages": [("user", "How do I take my coffee?")]})
        print(state["messages"][-1].content)
        for retained in memory.memories.list("alice", types=["world"]).items:
            print(retained.text)
        ```

        ```text
        Without sugar.
        I take my coffee without sugar.
        How do I take my coffee?
        ```

    A bank for each user:
        ```python
        from dataclasses import dataclass

        @dataclass
        class Context:
            user_id: str

        model = GenericFakeChatModel(messages=iter([AIMessage("Hello!")]))
        own = HindsightMiddleware(memory, bank_id=lambda runtime: runtime.context.user_id)
        agent = create_agent(model, middleware=[own], context_schema=Context)
        agent.invoke({"messages": [("user", "My name is Bob.")]}, context=Context("bob"))
        print(memory.recall("bob", "name").memories[0].text)
        ```

        ```text
        user: My name is Bob.
        ```

    With a checkpointer, a thread is a session of the bank. A run that is replayed, or resumed,
    retains nothing twice; a turn that could not be retained is retained with the next one.
    """

    state_schema = HindsightState

    def __init__(
        self,
        memory: Hindsight,
        bank_id: BankId,
        *,
        retain: Retaining = "every_turn",
        on_failure: OnFailure = "warn",
        max_tokens: int | None = None,
        recall_options: Mapping[str, Any] | None = None,
        retain_options: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        checks.choice("retain", retain, get_args(Retaining))
        checks.choice("on_failure", on_failure, get_args(OnFailure))
        self.memory = memory
        self.bank_id = checked_bank(bank_id)
        self.retain: Retaining = retain
        self.on_failure: OnFailure = on_failure
        self.recall_options = {"max_tokens": max_tokens, **(recall_options or {})}
        self.retain_options = dict(retain_options or {})
        check_options(self.recall_options, options_of(Hindsight.recall))
        check_options(self.retain_options, options_of(Hindsight.retain_messages))
        self._name = _node_name(f"HindsightMiddleware[{_title(bank_id)}]" if name is None else name)

    @property
    def name(self) -> str:
        """What the agent's graph calls this middleware."""
        return self._name

    def before_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall what bears on the last thing the human said."""
        notes = self._notes(state)
        mark = (
            notes["retained"] if "retained" in notes else mark_before_last_turn(state["messages"])
        )
        return self._noted(self._recalled(state["messages"], runtime), mark)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model what was recalled; it goes into no message that is kept."""
        return handler(self._shown(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, for asynchronous runs."""
        return await handler(self._shown(request))

    def after_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Retain what was said since the last time."""
        mark = self._notes(state).get("retained")
        new = since(state["messages"], mark)
        if self.retain == "every_turn" and new:
            bank = bank_of(self.bank_id, runtime)
            try:
                self._retain(bank, new, thread_of(runtime))
            except HindsightError as error:
                self._report("retain", bank, error)
                if not isinstance(error, InvalidInputError):  # that would be refused again
                    return self._noted("", mark)
        return self._noted("", new[-1].id if new else mark)

    def end(
        self,
        messages: Sequence[BaseMessage],
        *,
        session: str | None = None,
        runtime: object | None = None,
    ) -> RetainResult:
        """Retain a conversation that is over, whole; what `retain="end"` waits for.

        Args:
            messages: all of it, such as `agent.get_state(config).values["messages"]`.
            session: your id of it, such as the thread's: the same again is not stored twice.
            runtime: what `bank_id` is called with, if it is a function.

        Raises:
            HindsightError: it failed, whatever `on_failure` says.
        """
        return self._retain(bank_of(self.bank_id, runtime), messages, session)

    aend = twin(end)

    async def abefore_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """`before_agent`, without blocking the event loop."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    async def aafter_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """`after_agent`, without blocking the event loop."""
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def _recalled(self, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> str:
        question = question_in(messages)
        if not question:
            return ""
        bank = bank_of(self.bank_id, runtime)
        try:
            return section(recall(self.memory, bank, question, **self.recall_options).text)
        except HindsightError as error:
            self._report("recall", bank, error)
            return UNREADABLE

    def _shown(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        text = self._notes(request.state).get("recalled")
        if not text:
            return request
        return request.override(system_message=with_section(request.system_message, text))

    def _retain(
        self, bank: str, messages: Sequence[BaseMessage], session: str | None
    ) -> RetainResult:
        said = conversation(messages)
        if not said:
            return RetainResult(bank)
        options = {"session": session, **self.retain_options}
        return self.memory.retain_messages(bank, said, **options)

    def _report(self, verb: str, bank: str, error: HindsightError) -> None:
        if self.on_failure == "raise":
            raise error
        log.warning(
            "%s goes on without memory: %s in bank %r failed: %s", self.name, verb, bank, error
        )

    def _notes(self, state: Mapping[str, Any]) -> Notes:
        notes: Notes = state.get("hindsight", {}).get(self.name, {})
        return notes

    def _noted(self, recalled: str, retained: str | None) -> dict[str, Any]:
        return {"hindsight": {self.name: Notes(recalled=recalled, retained=retained)}}


def _title(bank_id: BankId) -> str:
    if isinstance(bank_id, str):
        return bank_id
    return getattr(bank_id, "__name__", type(bank_id).__name__)


def _node_name(name: str) -> str:
    """`name` without the two characters that LangGraph keeps for itself."""
    return name.replace("|", "/").replace(":", "/")
