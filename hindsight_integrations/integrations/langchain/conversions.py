"""LangChain's values and the engine's: banks, options, documents, messages."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from inspect import signature
from typing import Annotated, Any, TypeAlias, cast

from langchain_core.callbacks import CallbackManager
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import RunnableConfig, ensure_config, set_config_context
from langgraph.runtime import Runtime, get_runtime
from pydantic import AfterValidator

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.collection import own_metadata
from hindsight_integrations.integrations.common import (
    BRACES,
    SPEAKERS,
    as_question,
    check_options,
    recall,
    returned_bank,
    unfilled,
)
from hindsight_integrations.models import Message
from hindsight_integrations.recall.dated_lines import date_header
from hindsight_integrations.results import Recalled, RecallResult
from hindsight_integrations.retain.foreign import (
    ForeignItem,
    plain_metadata,
    shared_metadata,
    timestamp,
)
from hindsight_integrations.retain.request import Item

BankId: TypeAlias = str | Callable[[Any], str] | Callable[[], str]
"""A bank's id, or a function that returns it for each call.

A function of one argument, such as `lambda run: run.context.user_id`, is called with the run's
runtime, and works only in a graph; one without arguments, such as `current_user.get` of a
`contextvars.ContextVar`, works anywhere. A template with names in braces, such as
"{langgraph_user_id}", is filled with the "configurable" values of each run's configuration; other
braces are refused.
"""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")

_FORMS = (
    "give '{user_id}' for what is configurable in a run, a function such as "
    "lambda runtime: runtime.context.user_id, or an id without braces"
)


def checked_bank(bank_id: BankId) -> BankId:
    """Return the argument, if it can be used.

    Raises:
        InvalidInputError: it is neither an id that a new bank could have nor a function, or it has
            a brace that is not of a placeholder.
    """
    if not callable(bank_id):
        if not isinstance(bank_id, str):
            raise InvalidInputError(
                f"bank_id is {validation.shown(bank_id)}; give the id of one bank, or a function "
                "that returns it"
            )
        if BRACES.search(_PLACEHOLDER.sub("", validation.new_bank_id(bank_id))):
            raise unfilled("bank_id", bank_id, _FORMS)
    return bank_id


def check_banks(bank_id: object) -> None:
    """Check the argument, or each of a list: pydantic would report all that it is not instead.

    Raises:
        InvalidInputError: one cannot be used; see `checked_bank`.
    """
    for bank in bank_id if isinstance(bank_id, list | tuple) else (bank_id,):
        checked_bank(bank)


def bank_of(bank_id: BankId, runtime: object | None = None) -> str:
    """Return the bank of this run: that of the text, of its template, or of the function.

    Args:
        bank_id: the adapter's argument.
        runtime: the argument of a function; that of the graph now running if None.

    Raises:
        InvalidInputError: a function of the runtime was called outside a graph, a template names
            what the run's configuration lacks, or what results is no usable bank.
    """
    if not callable(bank_id):
        return _fill_template(bank_id) if "{" in bank_id else bank_id
    function = cast(Callable[..., str], bank_id)
    if takes_no_argument(function):
        return returned_bank(function())
    return returned_bank(function(_current_runtime() if runtime is None else runtime))


def takes_no_argument(function: Callable[..., object]) -> bool:
    """Return True for a function that cannot take the runtime, and for a `ContextVar.get`."""
    inner = function.func if isinstance(function, partial) else function
    if isinstance(getattr(inner, "__self__", None), ContextVar):
        return True  # its optional argument is a default, not the runtime
    try:
        signature(function).bind(None)
    except TypeError:
        return True
    except ValueError:  # without a signature
        return False
    return False


def _fill_template(template: str) -> str:
    configurable = ensure_config().get("configurable", {})
    names = _PLACEHOLDER.findall(template)
    for name in names:
        if configurable.get(name) is None:
            raise InvalidInputError(
                f"bank_id is the template {template!r}, but this run has no {name!r}; give it "
                f"in the configuration, as {{'configurable': {{{name!r}: ...}}}}"
            )
    bank = _PLACEHOLDER.sub(lambda found: str(configurable[found[1]]), template)
    return validation.new_bank_id(bank)


def _current_runtime() -> object:
    try:
        runtime: object = get_runtime()
    except RuntimeError:  # outside any runnable
        runtime = None
    if runtime is None:
        raise InvalidInputError(
            "bank_id is a function of the runtime, and no graph is running here; call this from "
            "a LangGraph graph or an agent, or give the bank's id as text, or a function without "
            "arguments, such as current_user.get of a ContextVar"
        )
    return runtime


def thread_of(runtime: Runtime[Any]) -> str | None:
    """Return the thread that a run belongs to, as the id of a session; None outside a thread."""
    thread = runtime.execution_info and runtime.execution_info.thread_id
    return None if thread is None else str(thread)  # LangGraph also takes a number


def _check_recall(options: dict[str, Any]) -> dict[str, Any]:
    check_options(options, Hindsight.recall)
    return options


BankField: TypeAlias = Annotated[BankId, AfterValidator(checked_bank)]
RecallOptions: TypeAlias = Annotated[dict[str, Any], AfterValidator(_check_recall)]
"""Keyword arguments of `Hindsight.recall`, by name."""


def as_document(recalled: Recalled, *, explain: bool = True, dated: bool = False) -> Document:
    """Return a recalled memory as a document; see `HindsightRetriever` for its metadata.

    All metadata can be written as JSON, so that traces and checkpoints can hold it.

    Args:
        recalled: the memory.
        explain: False to leave out what depends on the question.
        dated: True to lead the text by the day it was said.
    """
    memory = recalled.memory
    source = memory.sources[0] if memory.sources else None
    return Document(
        id=memory.id,
        page_content=f"{date_header(memory.mentioned_at)} {recalled.line}"
        if dated
        else recalled.line,
        metadata={
            "source": memory.document_id,
            **own_metadata(memory),
            "id": memory.id,
            "bank_id": memory.bank_id,
            "type": memory.type.value,
            "mentioned_at": memory.mentioned_at.isoformat(),
            "occurred": [
                {"start": span.start.isoformat(), "end": span.end.isoformat()}
                for span in memory.occurred
            ],
            "occurred_start": memory.occurred_start and memory.occurred_start.isoformat(),
            "occurred_end": memory.occurred_end and memory.occurred_end.isoformat(),
            "speaker": memory.speaker,
            "context": memory.context,
            "entities": list(memory.entities),
            "tags": list(memory.tags),
            "document_id": memory.document_id,
            "reference": source.reference if source else None,
            "confidence": memory.confidence,
            "proof_count": memory.proof_count,
            "fields": dict(own_metadata(memory)),
            **(_explained(recalled) if explain else {}),
        },
    )


def _explained(recalled: Recalled) -> dict[str, Any]:
    reasons = list(recalled.reasons)
    return {"score": recalled.score, "rank": recalled.rank, "reasons": reasons}


def as_items(documents: Iterable[Document], *, tags: Sequence[str] = ()) -> list[Item]:
    """Return the documents of a loader as items for `Hindsight.retain_many`.

    Pages of one source become one document with its id. It is dated by the source's name, its
    front matter, its first heading or its last change, in this order, as `Item` says.

    Args:
        documents: what a loader gives, in order; `metadata["source"]` names the file, and
            `metadata["last_modified"]` may say when it was last changed.
        tags: tags of all items.

    Raises:
        InvalidInputError: a last change is no time, or something is no document.

    Examples:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import as_items
        from langchain_core.documents import Document

        note = Document("We moved to Bergen yesterday.", metadata={"source": "2026-02-03.md"})
        with Hindsight.in_memory() as memory:
            memory.retain_many("alice", as_items([note]))
            print(memory.recall("alice", "Where did we move?").memories[0].text)
            print(memory.documents.list("alice").items[0].id)
        ```

        ```text
        We moved to Bergen yesterday.
        2026-02-03.md
        ```
    """
    by_source: dict[str | None, list[Document]] = {}
    for number, document in enumerate(documents):
        if not isinstance(document, Document):
            raise InvalidInputError(
                f"documents[{number}] is {validation.shown(document)}; give documents of "
                "LangChain, such as TextLoader(path).load()"
            )
        source = document.metadata.get("source")
        by_source.setdefault(str(source) if source else document.id or f"#{number}", []).append(
            document
        )
    return [
        _item(pages, None if pages[0].metadata.get("source") is None else str(source), tags)
        for source, pages in by_source.items()
    ]


def _item(pages: Sequence[Document], source: str | None, tags: Sequence[str]) -> ForeignItem:
    modified = pages[0].metadata.get("last_modified")
    return ForeignItem(
        "\n\n".join(page.page_content for page in pages),
        document_id=source or pages[0].id,
        metadata=plain_metadata(shared_metadata([page.metadata for page in pages])),
        tags=tags,
        file=source,
        modified=None if modified is None else timestamp("last_modified", modified),
    )


USER = "user"
ASSISTANT = "assistant"

_CANNED = re.compile(
    r"\A(?:Model call limits exceeded: |(?:Tool|'[^']+' tool) call limit (?:exceeded|reached))"
)
"""Replies that LangChain's middleware generates when a limit ends a run."""

BEGINNING = ""
"""The id, for `messages_after`, that stands for the beginning of the conversation."""


def question_in(messages: Sequence[BaseMessage]) -> str:
    """Return the question of the last human message; "" if it says nothing."""
    asked = next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)
    return as_question(str(asked.text)) if asked else ""


def last_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the human's messages since the agent last spoke, and all that follows them."""
    spoken = _spoken(messages)
    start = len(spoken)
    while start and not isinstance(spoken[start - 1], HumanMessage):
        start -= 1
    while start and isinstance(spoken[start - 1], HumanMessage):
        start -= 1
    return spoken[start:]


def id_before_last_turn(messages: Sequence[BaseMessage]) -> str | None:
    """Return the id of the message before the last turn, or `BEGINNING`, for `messages_after`."""
    spoken = _spoken(messages)
    before = len(spoken) - len(last_turn(messages))
    return spoken[before - 1].id if before else BEGINNING


def messages_after(messages: Sequence[BaseMessage], id: str | None) -> list[BaseMessage]:
    """Return the messages after the one of this id; the last turn, if that no longer exists."""
    spoken = _spoken(messages)
    if id == BEGINNING:
        return spoken
    ids = [message.id for message in spoken]
    if id is None or id not in ids:
        return last_turn(messages)
    return spoken[ids.index(id) + 1 :]


def conversation(
    messages: Sequence[BaseMessage], speakers: Mapping[str, str] = SPEAKERS
) -> list[Message]:
    """Return the text of the human and the agent, without tool calls and their results.

    Args:
        messages: the conversation.
        speakers: names by role, "user" and "assistant"; a role without a name is left out.
    """
    said = []
    for message in _spoken(messages):
        human = isinstance(message, HumanMessage)
        if not human and not isinstance(message, AIMessage):
            continue
        role = USER if human else ASSISTANT
        name = speakers.get(role)
        text = str(message.text)
        if name is None or validation.is_blank(text) or (not human and _CANNED.match(text)):
            continue
        said.append(Message((message.name if human else None) or name, text, id=message.id))
    return said


def with_section(system: SystemMessage | None, text: str) -> SystemMessage:
    """Return a copy of a system message that ends with `text`."""
    if system is None:
        return SystemMessage(text)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{text}"})
    block = {"type": "text", "text": text}
    return system.model_copy(update={"content": [*system.content, block]})


def with_question_section(messages: Sequence[AnyMessage], text: str) -> list[AnyMessage]:
    """Return messages with `text` at the beginning of the last human one, which is a copy."""
    changed = list(messages)
    asked = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if asked:
        question = changed[asked[-1]]
        content: str | list[str | dict[Any, Any]]
        if isinstance(question.content, str):
            content = f"{text}\n\n{question.content}"
        else:
            content = [{"type": "text", "text": text}, *question.content]
        changed[asked[-1]] = question.model_copy(update={"content": content})
    return changed


class TemplateBankRetriever(BaseRetriever):
    """Base of retrievers whose bank may be a template of the configuration they are given."""

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents for a question; see LangChain's `BaseRetriever.invoke`."""
        with set_config_context(ensure_config(config)) as context:
            return context.run(super().invoke, input, config, **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """`invoke`, without blocking the event loop."""
        with set_config_context(ensure_config(config)) as context:
            documents = super().ainvoke(input, config, **kwargs)
            return await asyncio.create_task(documents, context=context)


class ThreadedHistory(BaseChatMessageHistory):
    """Base of message histories; asynchronous calls take the threads of this package."""

    async def aget_messages(self) -> list[BaseMessage]:
        """`messages`, without blocking the event loop."""
        return await in_thread(lambda: self.messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """`add_messages`, without blocking the event loop."""
        await in_thread(self.add_messages, messages)

    async def aclear(self) -> None:
        """`clear`, without blocking the event loop."""
        await in_thread(self.clear)


def traced_recall(
    memory: Hindsight, bank: str, question: str, name: str, options: Mapping[str, Any]
) -> RecallResult:
    """Recall, as a retriever in the traces of the run that this is part of."""
    config = ensure_config()
    manager = CallbackManager.configure(
        config.get("callbacks"), inheritable_tags=config.get("tags")
    )
    run = manager.on_retriever_start({"name": name}, question, name=name)
    try:
        result = recall(memory, bank, question, **options)
    except BaseException as error:
        run.on_retriever_error(error)
        raise
    run.on_retriever_end([as_document(recalled) for recalled in result])
    return result


def _spoken(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Drop messages that a middleware wrote, such as a summary instead of older messages."""
    return [message for message in messages if "lc_source" not in message.additional_kwargs]
