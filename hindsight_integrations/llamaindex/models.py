"""Models across the border: what the engine works with, as LlamaIndex's embedding and LLM.

The other way needs no bridge: `Hindsight(embedder=..., llm=..., reranker=...)` take LlamaIndex's
embeddings, LLMs and node postprocessors as they are. A reranker of the engine's becomes a
postprocessor with `HindsightRerank`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
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
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback

from hindsight_integrations import checks
from hindsight_integrations.errors import ModelError
from hindsight_integrations.language.embed import Embedder, as_embedder, query_vector
from hindsight_integrations.language.minilm import bundled

Reply = Callable[[str, str], str]
"""A model as a function of a system text and a user text."""


class HindsightEmbedding(BaseEmbedding):  # type: ignore[misc]
    """The bundled embedder, or any that the engine takes, as LlamaIndex's embedding.

    all-MiniLM-L6-v2 on the CPU, from an installed package: nothing is downloaded.

    Args:
        embedder: `memory.embedder` for that of an open `Hindsight`, or whatever it takes as one:
            LangChain's, sentence-transformers', or a function from texts to vectors; by default
            the bundled one.
        **fields: those of LlamaIndex's `BaseEmbedding`, such as `embed_batch_size`.

    Raises:
        InvalidInputError: it is no embedder.

    Example:
        >>> print(len(HindsightEmbedding().get_text_embedding("Alice moved to Lisbon.")))
        384
    """

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: object | None = None, **fields: Any) -> None:
        ours = bundled() if embedder is None else as_embedder(embedder)
        super().__init__(**{"model_name": ours.id, **fields})
        self._embedder = ours

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return _numbers(query_vector(self._embedder, query))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [_numbers(vector) for vector in self._embedder.embed(texts)]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)


class FunctionLLM(CustomLLM):  # type: ignore[misc]
    """A function (system, user) -> reply, as the engine takes it for `llm=`, as LlamaIndex's LLM.

    A chat of several turns becomes one text for the user's side, each turn led by its role.

    Args:
        reply: the function.
        model_name: what to call it.
        context_window: tokens it reads, at most.

    Example:
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
            model_name=model_name, context_window=checks.positive("context_window", context_window)
        )
        self._reply = reply

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "FunctionLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex has to know of the model."""
        return LLMMetadata(
            model_name=self.model_name, context_window=self.context_window, is_chat_model=True
        )

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The reply to a prompt, without a system text.

        Raises:
            ModelError: the function returned something other than text.
        """
        return CompletionResponse(text=self._asked("", prompt))

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """`complete`, without blocking the event loop."""
        return CompletionResponse(text=await asyncio.to_thread(self._asked, "", prompt))

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """`complete`, in one piece."""

        def pieces() -> CompletionResponseGen:
            text = self._asked("", prompt)
            yield CompletionResponse(text=text, delta=text)

        return pieces()

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """`complete`, in one piece, without blocking the event loop."""

        async def pieces() -> CompletionResponseAsyncGen:
            text = await asyncio.to_thread(self._asked, "", prompt)
            yield CompletionResponse(text=text, delta=text)

        return pieces()

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The reply to a chat.

        Raises:
            ModelError: the function returned something other than text.
        """
        return self._answered(messages)

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """`chat`, without blocking the event loop."""
        return await asyncio.to_thread(self._answered, messages)

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """`chat`, in one piece."""

        def pieces() -> ChatResponseGen:
            yield self._answered(messages)

        return pieces()

    @llm_chat_callback()  # type: ignore[untyped-decorator]
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """`chat`, in one piece, without blocking the event loop."""

        async def pieces() -> ChatResponseAsyncGen:
            yield await asyncio.to_thread(self._answered, messages)

        return pieces()

    def _answered(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        system = [message for message in messages if message.role == MessageRole.SYSTEM]
        turns = [message for message in messages if message.role != MessageRole.SYSTEM]
        lines = [turns[0].content or ""] if len(turns) == 1 else [str(turn) for turn in turns]
        text = self._asked("\n\n".join(m.content or "" for m in system), "\n".join(lines))
        return ChatResponse(message=ChatMessage(text, role=MessageRole.ASSISTANT), delta=text)

    def _asked(self, system: str, user: str) -> str:
        text = self._reply(system, user)
        if not isinstance(text, str):
            raise ModelError(
                f"{self.model_name} returned a {type(text).__name__}; return the reply's text"
            )
        return text


def _numbers(vector: Any) -> list[float]:
    return [float(number) for number in vector]
