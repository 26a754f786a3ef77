"""The engine's embedder, rerankers and time expressions, and functions, as LlamaIndex's models.

`Hindsight(embedder=..., llm=..., reranker=...)` itself takes LlamaIndex's embeddings, LLMs and node
postprocessors.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.errors import InvalidInputError, ModelError
from hindsight_integrations.models import Memory, TimeSpan, utc_now
from hindsight_integrations.nlp.embeddings import Embedder, as_embedder, query_vector
from hindsight_integrations.nlp.minilm import bundled
from hindsight_integrations.nlp.time import parse_query
from hindsight_integrations.recall.base import Reranker
from hindsight_integrations.recall.rerankers import LateInteraction, as_reranker, best_first
from hindsight_integrations.retain.foreign import timestamp

Reply = Callable[[str, str], str]
"""A model as a function of a system text and a user text."""

_dispatcher = get_dispatcher(__name__)


def _reduced(made: object, given: object, **fields: Any) -> tuple[partial[Any], tuple[object]]:
    """Return the value of `__reduce__` for an object: its class with its fields, and its model.

    LlamaIndex's own pickling leaves out what it cannot pickle, and the copy would go on with
    another model.

    Raises:
        InvalidInputError: the model cannot be pickled.
    """
    kind = type(made)
    try:
        pickle.dumps((given, fields))
    except Exception as error:
        raise InvalidInputError(
            f"this {kind.__name__} cannot be pickled, since its model {validation.shown(given)} "
            f"cannot ({error}); give it a model that can, such as a function of a module, or make "
            f"the {kind.__name__} in each process"
        ) from error
    return partial(kind, **fields), (given,)


class HindsightEmbedding(BaseEmbedding):  # type: ignore[misc]
    """The bundled embedder, or any that the engine takes, as LlamaIndex's embedding.

    `MemoryMiniLM` on the CPU, from an installed package: nothing is downloaded.

    Args:
        embedder: `memory.embedder`, or any embedder that `Hindsight` takes: LangChain's,
            sentence-transformers', or a function from texts to vectors; by default the bundled
            one.
        **fields: fields of LlamaIndex's `BaseEmbedding`, such as `embed_batch_size`.

    Raises:
        InvalidInputError: the argument is no embedder.

    Examples:
        >>> print(len(HindsightEmbedding().get_text_embedding("Alice moved to Lisbon.")))
        384
    """

    _embedder: Embedder = PrivateAttr()
    _given: object | None = PrivateAttr()

    def __init__(self, embedder: object | None = None, **fields: Any) -> None:
        ours = bundled() if embedder is None else as_embedder(embedder)
        super().__init__(**{"model_name": ours.id, **fields})
        self._embedder = ours
        self._given = None if ours is bundled() else embedder

    def __reduce__(self) -> tuple[partial[Any], tuple[object]]:
        fields = {name: getattr(self, name) for name in ("model_name", "embed_batch_size")}
        return _reduced(self, self._given, num_workers=self.num_workers, **fields)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return _numbers(query_vector(self._embedder, query))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await in_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await in_thread(self._get_text_embedding, text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [_numbers(vector) for vector in self._embedder.embed(texts)]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await in_thread(self._get_text_embeddings, texts)


class FunctionLLM(CustomLLM):  # type: ignore[misc]
    """A function (system, user) -> reply, as the engine takes it for `llm=`, as LlamaIndex's LLM.

    A chat of several turns becomes one text for the user's side, each turn led by its role.

    Args:
        reply: the function.
        model_name: the model's name.
        context_window: maximum number of tokens that it reads.

    Examples:
        >>> llm = FunctionLLM(lambda system, user: f"You said: {user}")
        >>> print(llm.chat([ChatMessage("Hello!")]).message.content)
        You said: Hello!
    """

    model_name: str
    context_window: int
    _reply: Reply = PrivateAttr()

    def __init__(
        self, reply: Reply, *, model_name: str = "function", context_window: int = 8192
    ) -> None:
        super().__init__(
            model_name=model_name,
            context_window=validation.positive("context_window", context_window),
        )
        self._reply = reply

    def __reduce__(self) -> tuple[partial[Any], tuple[object]]:
        names = ("model_name", "context_window")
        return _reduced(self, self._reply, **{name: getattr(self, name) for name in names})

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "FunctionLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """The model's name and limits."""
        return LLMMetadata(
            model_name=self.model_name, context_window=self.context_window, is_chat_model=True
        )

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the reply to a prompt, without a system text.

        Raises:
            ModelError: the function returned something other than text.
        """
        return CompletionResponse(text=self._reply_to("", prompt))

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """`complete`, without blocking the event loop."""
        return CompletionResponse(text=await in_thread(self._reply_to, "", prompt))

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """`complete`, in one piece."""

        def pieces() -> CompletionResponseGen:
            text = self._reply_to("", prompt)
            yield CompletionResponse(text=text, delta=text)

        return pieces()

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """`complete`, in one piece, without blocking the event loop."""

        async def pieces() -> CompletionResponseAsyncGen:
            text = await in_thread(self._reply_to, "", prompt)
            yield CompletionResponse(text=text, delta=text)

        return pieces()

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the reply to a chat.

        Raises:
            ModelError: the function returned something other than text.
        """
        return self._chat_response(messages)

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """`chat`, without blocking the event loop."""
        return await in_thread(self._chat_response, messages)

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """`chat`, in one piece."""

        def pieces() -> ChatResponseGen:
            yield self._chat_response(messages)

        return pieces()

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """`chat`, in one piece, without blocking the event loop."""

        async def pieces() -> ChatResponseAsyncGen:
            yield await in_thread(self._chat_response, messages)

        return pieces()

    def _chat_response(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        system = [message for message in messages if message.role == MessageRole.SYSTEM]
        turns = [message for message in messages if message.role != MessageRole.SYSTEM]
        lines = [turns[0].content or ""] if len(turns) == 1 else [str(turn) for turn in turns]
        text = self._reply_to("\n\n".join(m.content or "" for m in system), "\n".join(lines))
        return ChatResponse(message=ChatMessage(text, role=MessageRole.ASSISTANT), delta=text)

    def _reply_to(self, system: str, user: str) -> str:
        text = self._reply(system, user)
        if not isinstance(text, str):
            raise ModelError(
                f"{self.model_name} returned {type(text).__name__}; return the reply as text"
            )
        return text


class HindsightRerank(BaseNodePostprocessor):  # type: ignore[misc]
    """Sort the nodes of any retriever by how well they answer the question.

    Each call is reported to LlamaIndex by `ReRankStartEvent` and `ReRankEndEvent`.

    Args:
        reranker: None for late interaction, `memory.reranker`, or any reranker that `Hindsight`
            takes: a function of (query, texts) to scores, a LangChain document compressor, a
            CrossEncoder, a postprocessor.
        top_n: maximum number of nodes to keep.

    Examples:
        >>> from llama_index.core.schema import TextNode
        >>> nodes = [NodeWithScore(node=TextNode(text=t)) for t in ("Tea is hot.", "Bo is tall.")]
        >>> rerank = HindsightRerank(top_n=1)
        >>> print(rerank.postprocess_nodes(nodes, query_str="How tall is Bo?")[0].text)
        Bo is tall.
    """

    top_n: int | None
    _reranker: Reranker = PrivateAttr()
    _given: object | None = PrivateAttr()

    def __init__(self, reranker: object | None = None, *, top_n: int | None = None) -> None:
        super().__init__(top_n=None if top_n is None else validation.positive("top_n", top_n))
        self._reranker = LateInteraction() if reranker is None else as_reranker(reranker)
        self._given = reranker

    def __reduce__(self) -> tuple[partial[Any], tuple[object]]:
        return _reduced(self, self._given, top_n=self.top_n)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InvalidInputError("reranking needs a question; give query_str")
        most = len(nodes) if self.top_n is None else self.top_n
        if validation.is_blank(query_bundle.query_str):  # it ranks nothing
            return nodes[:most]
        started = ReRankStartEvent(
            query=query_bundle, nodes=nodes, top_n=most, model_name=self._reranker.id
        )
        _dispatcher.event(started)
        texts = [_memory(one.node) for one in nodes]
        best = best_first(self._reranker, query_bundle.query_str, texts, self.top_n)
        sorted_nodes = [NodeWithScore(node=nodes[index].node, score=score) for index, score in best]
        _dispatcher.event(ReRankEndEvent(nodes=sorted_nodes))
        return sorted_nodes


class HindsightTimeFilter(BaseNodePostprocessor):  # type: ignore[misc]
    """Keep the nodes of a time: the one given, or the times that the question names.

    "Where did she work in spring 2021?" keeps nodes of that spring. A question that names no time
    keeps all. The time of a node is when its content happened (`occurred_start` and
    `occurred_end`), or else when it was said (`mentioned_at`, or `time_key`).

    Args:
        window: the time, of which the start or the end may be None; by default that of the
            question.
        time_key: metadata field with a node's date in ISO 8601, for nodes of other sources.
        keep_undated: True to keep nodes without any time.

    Examples:
        >>> from llama_index.core.schema import TextNode
        >>> nodes = [
        ...     NodeWithScore(node=TextNode(text=day, metadata={"date": day}))
        ...     for day in ("2020-05-01", "2021-05-01")
        ... ]
        >>> of_the_time = HindsightTimeFilter(time_key="date")
        >>> print([n.text for n in of_the_time.postprocess_nodes(nodes, query_str="in May 2021?")])
        ['2021-05-01']
    """

    time_key: str
    keep_undated: bool
    _window: TimeSpan | None = PrivateAttr(default=None)

    def __init__(
        self,
        window: TimeSpan | tuple[datetime | None, datetime | None] | None = None,
        *,
        time_key: str = "mentioned_at",
        keep_undated: bool = False,
    ) -> None:
        super().__init__(time_key=time_key, keep_undated=keep_undated)
        self._window = validation.window(window)

    def __reduce__(self) -> tuple[partial[Any], tuple[object]]:
        fields = {"time_key": self.time_key, "keep_undated": self.keep_undated}
        return _reduced(self, self._window, **fields)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightTimeFilter"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if self._window is not None:
            wanted = [self._window]
        else:
            question = query_bundle.query_str if query_bundle else ""
            wanted = [window.span for window in parse_query(question, utc_now()).windows]
        return [one for one in nodes if not wanted or self._fits(one.node.metadata, wanted)]

    def _fits(self, metadata: Mapping[str, object], wanted: Sequence[TimeSpan]) -> bool:
        span = _span(metadata, self.time_key)
        return self.keep_undated if span is None else any(map(span.overlaps, wanted))


def _numbers(vector: Any) -> list[float]:
    return [float(number) for number in vector]


def _memory(node: BaseNode) -> Memory:
    """Return a node as a memory, whose text rerankers read led by its speaker."""
    speaker = node.metadata.get("speaker")
    text = node.get_content(MetadataMode.NONE)
    return Memory(node.node_id, "", text, speaker=str(speaker) if speaker else None)


def _span(metadata: Mapping[str, object], time_key: str) -> TimeSpan | None:
    start, end = metadata.get("occurred_start"), metadata.get("occurred_end")
    if start and end:
        return TimeSpan(timestamp("occurred_start", start), timestamp("occurred_end", end))
    mentioned = metadata.get(time_key)
    return TimeSpan.of_day(timestamp(time_key, mentioned)) if mentioned else None
