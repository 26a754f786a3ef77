"""Recall before a turn and retain after it: as agent middleware, or as nodes of a graph."""

from __future__ import annotations

import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from threading import Lock
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Protocol,
    TypedDict,
    get_args,
)

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import (
    BaseMessage,
    MessageLikeRepresentation,
    convert_to_messages,
)
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.runtime import Runtime

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant, in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.integrations.common import (
    OVERFETCH,
    SPEAKERS,
    OnFailure,
    check_options,
    checked_memory,
    checked_speakers,
    profile_section,
    report_failure,
    section,
    shown_bank,
)
from hindsight_integrations.integrations.langchain.conversions import (
    BankId,
    bank_of,
    checked_bank,
    conversation,
    id_before_last_turn,
    last_turn,
    messages_after,
    question_in,
    thread_of,
    traced_recall,
    with_question_section,
    with_section,
)
from hindsight_integrations.integrations.langchain.showing import (
    TurnMemories,
    section_for,
    watch_for_loss,
)
from hindsight_integrations.prompts import DECODING_ERRORS
from hindsight_integrations.results import RetainResult

if TYPE_CHECKING:
    from hindsight_integrations.durable import DurableRetain

log = logging.getLogger("hindsight_integrations")

Retaining = Literal["every_turn", "end", "never"]


class Node(Protocol):
    """A node of a graph, as `StateGraph.add_node` takes it."""

    def __call__(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        """Return the fields of the state that it changes."""
        ...


Place = Literal["system", "question"]

MAX_RUNS = 256
"""Maximum runs in progress whose recalled memories a middleware caches; an evicted run recalls
again."""


class RetainState(TypedDict, total=False):
    """The state of one middleware in an agent's state: the id of the last message retained."""

    retained: str | None


def merge_states(
    old: dict[str, RetainState], new: dict[str, RetainState]
) -> dict[str, RetainState]:
    """Merge the states of an agent's middlewares, each under its name."""
    return {**old, **new}


class HindsightState(AgentState[Any]):
    """An agent's state with that of its middlewares, which is neither input nor output.

    Recalled memories are cached by the middleware, under a key that the state holds for one run: no
    stream contains them, and no checkpoint holds what the bank may forget.
    """

    hindsight: NotRequired[Annotated[dict[str, RetainState], PrivateStateAttr, merge_states]]
    hindsight_recalled: NotRequired[Annotated[dict[str, str], UntrackedValue, PrivateStateAttr]]


class RecallCache:
    """Recalled memories of runs in progress, at most `MAX_RUNS`."""

    def __init__(self) -> None:
        self._recalled: dict[str, Any] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[RecallCache], tuple[()]]:
        """Copy and pickle as an empty cache: a run stays in the process that began it."""
        return RecallCache, ()

    def put(self, recalled: Any) -> str:
        """Store the result of a recall, and return its key."""
        key = uuid.uuid4().hex
        with self._lock:
            self._recalled[key] = recalled
            if len(self._recalled) > MAX_RUNS:
                del self._recalled[next(iter(self._recalled))]
        return key

    def get(self, key: str | None) -> Any:
        """Return the stored result; None for a key that is not of this process, or was evicted."""
        return None if key is None else self._recalled.get(key)

    def drop(self, key: str | None) -> None:
        """Delete the stored result, if there is one."""
        with self._lock:
            self._recalled.pop(key or "", None)


class TurnMiddleware(AgentMiddleware[Any, Any, Any], ABC):
    """Base of middleware that shows memory to the model and retains each turn when it ends.

    A replayed or resumed run retains nothing twice; a turn that could not be retained is retained
    with the next one.

    Its state is `HindsightState`. That it is declared as Any lets type checkers accept it beside
    middleware of other states: `create_agent` takes a list of one type.
    """

    state_schema = HindsightState

    place: Place = "system"

    def __init__(self, name: str, on_failure: OnFailure) -> None:
        super().__init__()
        validation.choice("on_failure", on_failure, get_args(OnFailure))
        self.on_failure: OnFailure = on_failure
        self._name = name.replace("|", "/").replace(":", "/")  # LangGraph reserves these
        self._loss_reported = False
        self._cache = RecallCache()

    @property
    def name(self) -> str:
        """The name of this middleware in the agent's graph."""
        return self._name

    def before_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall the memories to show to the model in this turn."""
        messages, own = state["messages"], self._own_state(state)
        retained = own["retained"] if "retained" in own else id_before_last_turn(messages)
        recalled = {self.name: self._cache.put(self._recall(messages, runtime))}
        others: dict[str, Any] = state.get("hindsight_recalled", {})
        return {**self._state_update(retained), "hindsight_recalled": {**others, **recalled}}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the recalled text to the model, without adding it to the messages of the state."""
        return handler(self._with_memories(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, for asynchronous runs."""
        return await handler(await in_thread(self._with_memories, request))

    def after_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Retain the messages that have not been retained yet."""
        self._cache.drop(self._cache_key(state))
        retained = self._own_state(state).get("retained")
        new = messages_after(state["messages"], retained)
        if new and self._retain_turn(new, runtime):
            retained = new[-1].id
        return self._state_update(retained)

    async def abefore_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """`before_agent`, without blocking the event loop."""
        return await in_thread(self.before_agent, state, runtime)

    async def aafter_agent(self, state: HindsightState, runtime: Runtime[Any]) -> dict[str, Any]:
        """`after_agent`, without blocking the event loop."""
        return await in_thread(self.after_agent, state, runtime)

    @abstractmethod
    def _recall(self, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> Any:
        """Return what to show in this turn, for `_prompt_text`; it is cached for the turn."""

    def _prompt_text(self, recalled: Any, messages: Sequence[BaseMessage]) -> str:
        """Return the result of `_recall` as fenced text for a request with these messages."""
        return str(recalled)

    @abstractmethod
    def _retain_turn(self, new: Sequence[BaseMessage], runtime: Runtime[Any]) -> bool:
        """Retain new messages; return False to try again together with the next turn."""

    def _with_memories(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        recalled = self._cache.get(self._cache_key(request.state))
        if recalled is None:  # the run was resumed in another process, or evicted
            recalled = self._recall(request.messages, request.runtime)
        text = self._prompt_text(recalled, request.messages)
        if not text:
            return request
        if self.place == "question":
            extended = request.override(messages=with_question_section(request.messages, text))
        else:
            extended = request.override(system_message=with_section(request.system_message, text))
        return watch_for_loss(extended, text, self._report_loss)

    def _report_loss(self) -> None:
        if not self._loss_reported:
            self._loss_reported = True
            log.warning(
                "%s shows the model no memory: a middleware that is listed after it, such as a "
                "dynamic_prompt, replaces the message that it was put in; list %s last",
                self.name,
                self.name,
            )

    def _report(self, action: str, error: HindsightError) -> None:
        report_failure(self.on_failure, self.name, action, error)

    def _own_state(self, state: Mapping[str, Any]) -> RetainState:
        own: RetainState = state.get("hindsight", {}).get(self.name, {})
        return own

    def _cache_key(self, state: Mapping[str, Any]) -> str | None:
        key: str | None = state.get("hindsight_recalled", {}).get(self.name)
        return key

    def _state_update(self, retained: str | None) -> dict[str, Any]:
        return {"hindsight": {self.name: RetainState(retained=retained)}}


class HindsightMiddleware(TurnMiddleware):
    """Give an agent long-term memory: recall once per turn, and retain the conversation.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime, such as
            `lambda runtime: runtime.context.user_id`. The model never sees it.
        retain: "every_turn" retains each turn when it ends; "end" retains nothing until you call
            `end`; "never" only recalls.
        on_failure: if the memory fails, "warn" logs it, tells the model and continues without
            memory; "raise" raises the error.
        max_tokens: maximum tokens of the memories shown.
        profile: a person, or a speaker such as "user", whose `Hindsight.profile` is shown before
            the memories.
        recall_options: other arguments of `Hindsight.recall`.
        retain_options: other arguments of `Hindsight.retain_messages`, such as `tags`.
        place: "system" shows the memories at the end of the system message; "question" at the
            beginning of the user's last message, so that the system message and history stay the
            same and can be cached by the model provider.
        durable: a `DurableRetain` that retains in the background through its queue on disk, so that
            the answer does not wait; failed retains are retried. A turn waits at most its
            `patience`.
        speakers: roles that are retained, and the names they are retained under, such as
            `{"user": "Alice"}`, which leaves the assistant's replies out. A message with a name of
            its own keeps it.
        name: distinguishes several middlewares of one agent, which refuses equal names; derived by
            default from the bank's id or function, a lambda by what it reads ("context.user_id").

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

    Memories that the messages of the request contain already, up to the question, are not shown a
    second time. List this middleware last, after a `dynamic_prompt`, which replaces the system
    message, and after one that trims messages: else the memories are lost, which is logged, or left
    out because of messages that the model does not see.

    With a checkpointer, a thread is a session of the bank. A run that is replayed, or resumed,
    retains nothing twice; a turn that could not be retained is retained with the next one.
    """

    def __init__(
        self,
        memory: Hindsight,
        bank_id: BankId,
        *,
        retain: Retaining = "every_turn",
        on_failure: OnFailure = "warn",
        max_tokens: int | None = None,
        profile: str | None = None,
        recall_options: Mapping[str, Any] | None = None,
        retain_options: Mapping[str, Any] | None = None,
        place: Place = "system",
        durable: DurableRetain | None = None,
        speakers: Mapping[str, str] = SPEAKERS,
        name: str | None = None,
    ) -> None:
        super().__init__(
            f"HindsightMiddleware[{_bank_title(bank_id)}]"
            if name is None
            else validation.label("name", name),
            on_failure,
        )
        validation.choice("retain", retain, get_args(Retaining))
        self.memory = checked_memory(memory)
        self.bank_id = checked_bank(bank_id)
        self.retain: Retaining = retain
        self.profile = None if profile is None else validation.label("profile", profile)
        self.place = validation.choice("place", place, get_args(Place))
        if durable is not None and not callable(getattr(durable, "drain", None)):
            raise InvalidInputError(
                f"durable is {validation.shown(durable)}; give a DurableRetain, such as "
                'DurableRetain(memory, "./retains.queue")'
            )
        self._durable = durable
        self.speakers = checked_speakers(speakers, SPEAKERS)
        self.recall_options = {"max_tokens": max_tokens, **(recall_options or {})}
        self.retain_options = dict(retain_options or {})
        check_options(self.recall_options, Hindsight.recall)
        check_options(self.retain_options, Hindsight.retain_messages)

    def __repr__(self) -> str:
        bank = shown_bank(self.bank_id)
        return f"{type(self).__name__}({self.memory!r}, {bank}, retain={self.retain!r})"

    def end(
        self,
        messages: Sequence[MessageLikeRepresentation],
        *,
        session: str | None = None,
        runtime: object | None = None,
    ) -> RetainResult:
        """Retain a whole conversation at its end, for `retain="end"`.

        Args:
            messages: its messages, such as `agent.get_state(config).values["messages"]`, in any
                form that a chat model takes.
            session: your id for it, such as the thread id; no message is stored twice in it.
            runtime: the argument for `bank_id`, if that is a function.

        Raises:
            HindsightError: retaining failed; `on_failure` does not apply here.
        """
        given = _converted("messages", messages)
        return self._retain(bank_of(self.bank_id, runtime), given, session)

    aend = async_variant(end)

    def _recall(self, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> TurnMemories | str:
        question = question_in(messages)
        bank = bank_of(self.bank_id, runtime)
        try:
            profile = profile_section(self.memory, bank, self.profile) if self.profile else ""
            if not question:
                return profile
            budget = self.recall_options["max_tokens"]
            if budget is None:
                budget = self.memory.settings.max_tokens
            fetched = OVERFETCH * budget if len(messages) > 1 else budget
            options = {**self.recall_options, "max_tokens": fetched}
            result = traced_recall(self.memory, bank, question, self.name, options)
            return TurnMemories(profile, tuple(result), budget)
        except HindsightError as error:
            self._report(f"recall in bank {bank!r}", error)
            return DECODING_ERRORS

    def _prompt_text(self, recalled: TurnMemories | str, messages: Sequence[BaseMessage]) -> str:
        return recalled if isinstance(recalled, str) else section_for(recalled, messages)

    def _retain_turn(self, new: Sequence[BaseMessage], runtime: Runtime[Any]) -> bool:
        if self.retain != "every_turn":
            return True
        bank = bank_of(self.bank_id, runtime)
        try:
            self._retain(bank, new, thread_of(runtime))
        except HindsightError as error:
            self._report(f"retain in bank {bank!r}", error)
            return isinstance(error, InvalidInputError)  # it would be refused again
        return True

    def _retain(
        self, bank: str, messages: Sequence[BaseMessage], session: str | None
    ) -> RetainResult:
        spoken = conversation(messages, self.speakers)
        if not spoken:
            return RetainResult(bank)
        options = {"session": session, **self.retain_options}
        if self._durable is None:
            return self.memory.retain_messages(bank, spoken, **options)
        return self._durable.retain_messages(bank, spoken, **options).result


def _bank_title(bank_id: BankId) -> str:
    if isinstance(bank_id, str):
        return bank_id
    owner = getattr(bank_id, "__self__", None)
    if isinstance(owner, ContextVar):
        return owner.name
    name = getattr(bank_id, "__name__", type(bank_id).__name__)
    if name == "<lambda>":  # what it reads, as "context.user_id": agents refuse two equal names
        name = ".".join(bank_id.__code__.co_names) or name
    return str(name)


def recall_node(
    memory: Hindsight,
    bank_id: BankId,
    *,
    messages: str = "messages",
    into: str = "memories",
    **options: Any,
) -> Node:
    """Return a node that recalls memories for the last human message.

    It writes text for a prompt into the state: fenced (marked), so that it is not retained as if
    somebody had said it; empty if nothing was found.

    Args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime.
        messages: the field of the state that holds the conversation.
        into: the field that the text is written to.
        **options: other arguments of `Hindsight.recall`.

    Raises:
        InvalidInputError: the bank cannot be used, or an option has no such name.

    Examples:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import recall_node, retain_node
        from langgraph.graph import START, MessagesState, StateGraph

        class State(MessagesState):
            memories: str

        def answer(state: State):  # here you would call a model
            return {"messages": [("assistant", f"I was told: {state['memories']}")]}

        memory = Hindsight.in_memory()
        memory.retain("alice", "Alice parks on level 3.")
        builder = StateGraph(State)
        builder.add_node("recall", recall_node(memory, "alice"))
        builder.add_node("answer", answer)
        builder.add_node("retain", retain_node(memory, "alice"))
        builder.add_edge(START, "recall")
        builder.add_edge("recall", "answer")
        builder.add_edge("answer", "retain")
        graph = builder.compile()

        state = graph.invoke({"messages": [("user", "Where is my car? I am Alice.")]})
        print("level 3" in state["messages"][-1].content)
        for retained in memory.memories.list("alice", types=["world"]).items:
            print(retained.text)
        ```

        ```text
        True
        Alice parks on level 3.
        Where is my car? I am Alice.
        ```
    """
    checked_memory(memory)
    checked_bank(bank_id)
    check_options(options, Hindsight.recall)

    def recalling(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        question = question_in(_messages(state, messages))
        if not question:
            return {into: ""}
        result = traced_recall(memory, bank_of(bank_id, runtime), question, into, options)
        return {into: section(result.text)}

    return recalling


def retain_node(
    memory: Hindsight,
    bank_id: BankId,
    *,
    messages: str = "messages",
    speakers: Mapping[str, str] = SPEAKERS,
    **options: Any,
) -> Node:
    """Return a node that retains the last turn: the human's messages and the answer.

    With a checkpointer, each thread is a session of the bank, in which nothing is stored twice.

    Args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime.
        messages: the field of the state that holds the conversation.
        speakers: roles that are retained, and the names they are retained under.
        **options: other arguments of `Hindsight.retain_messages`, such as `tags`.

    Raises:
        InvalidInputError: the bank cannot be used, or an option has no such name.

    Examples:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import retain_node
        from langgraph.graph import START, MessagesState, StateGraph

        memory = Hindsight.in_memory()
        builder = StateGraph(MessagesState)
        builder.add_node("retain", retain_node(memory, "alice", tags=["chat"]))
        builder.add_edge(START, "retain")
        builder.compile().invoke({"messages": [("user", "I park on level 3.")]})
        print(memory.recall("alice", "Where is the car?", tags=["chat"]).memories[0].text)
        ```

        ```text
        I park on level 3.
        ```
    """
    checked_memory(memory)
    checked_bank(bank_id)
    check_options(options, Hindsight.retain_messages)
    names = checked_speakers(speakers, SPEAKERS)

    def retaining(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        turn = conversation(last_turn(_messages(state, messages)), names)
        if turn:
            bank = bank_of(bank_id, runtime)
            memory.retain_messages(bank, turn, **{"session": thread_of(runtime), **options})
        return {}

    return retaining


def _messages(state: Any, field: str) -> Sequence[BaseMessage]:
    """Return the messages in a state: a mapping, a dataclass or a pydantic model.

    Raises:
        InvalidInputError: they are none that a chat model takes, or the state has no such field.
    """
    try:
        given = state[field] if isinstance(state, Mapping) else getattr(state, field)
    except (KeyError, AttributeError) as error:
        raise InvalidInputError(
            f"the state has no {field!r}; name the field of its messages, as in messages=..."
        ) from error
    return _converted(f"the state's {field!r}", given)


def _converted(what: str, given: Any) -> Sequence[BaseMessage]:
    """Return messages given in any form that a chat model takes.

    One that stands alone, such as a text, is a list of one, as LangGraph's `add_messages` takes it.

    Raises:
        InvalidInputError: a chat model takes none of that form.
    """
    try:
        alone = isinstance(given, str | Mapping | BaseMessage)
        return convert_to_messages([given] if alone else given)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InvalidInputError(
            f"{what} is no list of messages ({error}); give messages as a chat model takes them, "
            'such as ("user", "Hello.")'
        ) from error
