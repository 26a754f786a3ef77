"""Ask any language model for a typed answer.

`as_model` accepts a LangChain chat model, a LlamaIndex LLM or a plain function. None of the
frameworks is imported here: a model is recognised by its methods. After an invalid reply the
model is asked once more, with the fault; a failure is never mistaken for an empty answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from hindsight_integrations.errors import InvalidInputError, ModelError
from hindsight_integrations.models import ModelUsage
from hindsight_integrations.nlp import tokens
from hindsight_integrations.prompts import AS_JSON, REPAIR

T = TypeVar("T", bound=BaseModel)

_ATTEMPTS = 2
LONGEST_REPLY = 100_000
"""Characters of a reply; a model that writes more is in a loop."""
_SHOWN = 200
"""Characters of a reply that an error shows."""

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A validated answer, with the usage of all attempts."""

    value: T
    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply: `filled` by its own structured output, or else as text.

    The usage has no tokens if the model did not report them.
    """

    text: str
    filled: object = None
    usage: ModelUsage = field(default_factory=lambda: ModelUsage(calls=1))


Transport: TypeAlias = Callable[[str, str, type[BaseModel]], Reply]
"""Sends a system text, a user text and the schema of the answer; returns the reply."""


@dataclass(frozen=True, slots=True)
class StructuredModel:
    """A language model that fills in a schema; as thread-safe as the model behind it.

    `id` names it in errors and in the results made with it.
    """

    id: str
    send: Transport

    def ask(
        self, system: str, user: str, schema: type[T], check: Callable[[T], object] | None = None
    ) -> Answer[T]:
        """Return the model's validated answer to the two texts.

        Args:
            system: instructions.
            user: data.
            schema: form of the answer.
            check: further check of an answer; raises `ModelError` or `ValueError`.

        Raises:
            ModelError: the model raised, or its replies could not be used, the second one
                after being told the fault of the first.
        """
        usage, asked = ModelUsage(), user
        problem: ModelError | ValueError
        for _ in range(_ATTEMPTS):
            taken = ModelUsage(1, tokens.count(system) + tokens.count(asked))
            try:
                reply = self.send(system, asked, schema)
                taken = _completed_usage(reply, taken)
                value = _read(reply, schema)
                if check is not None:
                    check(value)
                return Answer(value, usage + taken)
            except (ModelError, ValueError) as error:
                # Both frameworks raise a ValueError for a reply that they cannot read.
                problem = error
                usage += taken
                asked = REPAIR.render(system=system, user=user, problem=_shortened(error)).user
            except Exception as error:
                raise ModelError(
                    f"{self.id} raised {type(error).__name__} when asked for {schema.__name__}; "
                    "see the cause of this error",
                    tokens=(usage + taken).tokens,
                ) from error
        raise ModelError(
            f"{self.id} gave no usable {schema.__name__} in {_ATTEMPTS} attempts; last "
            f"problem: {problem}; take a model that answers with JSON of a given schema",
            tokens=usage.tokens,
        ) from problem


def as_model(model: object) -> StructuredModel:
    """Adapt a model to `StructuredModel`.

    Args:
        model: a LangChain chat model (or anything of LangChain's to `invoke` with messages), a
            LlamaIndex LLM, a function `(system, user) -> reply`, or a structured model already.

    Raises:
        InvalidInputError: it is none of these.
    """
    if isinstance(model, StructuredModel):
        return model
    if hasattr(model, "invoke"):
        return StructuredModel(_named(model, model), _through_langchain(model))
    if hasattr(model, "chat") and hasattr(model, "metadata"):
        return StructuredModel(_named(model, model.metadata), _through_llama_index(model))
    if callable(model):
        return StructuredModel(_named(model, model), _through_function(model))
    named = f"; of a name make one first, as init_chat_model({model!r}) does"
    raise InvalidInputError(
        f"{type(model).__name__} is not a supported language model; give a LangChain "
        "chat model, a LlamaIndex LLM or a function (system, user) -> str"
        f"{named if isinstance(model, str) else ''}"
    )


def parse_json(text: str) -> object:
    """Return the one JSON object in a reply: alone, in a ```json fence, or amid prose.

    Thoughts are ignored. Nothing is repaired: the missing part of truncated JSON is unknown.

    Raises:
        ModelError: there is none, or it is not valid JSON, or too long.
    """
    body = without_thoughts(text)
    start, end = body.find("{"), body.rfind("}") + 1
    if start < 0 or not end:
        raise ModelError(f"the reply contains no JSON object; it is {_shortened(text)!r}")
    try:
        return json.loads(body[start:end], parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"the reply is not valid JSON ({error}); it is {_shortened(text)!r}"
        ) from error


def without_thoughts(text: str) -> str:
    """Return a reply without the reasoning that some models write first in <think> tags.

    Raises:
        ModelError: it is longer than `LONGEST_REPLY`.
    """
    _refuse_endless(text)
    return _THOUGHTS.sub("", text)


def _read(reply: Reply, schema: type[T]) -> T:
    """Validate a reply against the schema."""
    if reply.filled is None:
        value = parse_json(reply.text)
    else:
        value = reply.filled
        _refuse_endless(_plain(value))
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'the object'}: {fault['msg']}"
            for fault in error.errors()[:3]
        )
        raise ModelError(
            f"the reply does not match the schema ({faults}); it is {_shortened(value)!r}"
        ) from error


_UNSEEN = {"tags": ["nostream"]}
"""Configuration of calls whose replies LangGraph leaves out when it streams an agent's messages."""


def _through_langchain(model: Any) -> Transport:
    def send(system: str, user: str, schema: type[BaseModel]) -> Reply:
        structured = _langchain_structured(model, schema)
        if structured is None:  # it has no tools: let it write the JSON
            written = AS_JSON.render(system=system, user=user, schema=_described(schema))
            message = model.invoke([("system", written.system), ("human", written.user)], _UNSEEN)
            return Reply(_langchain_text(message), usage=_langchain_usage(message))
        reply = structured.invoke([("system", system), ("human", user)], _UNSEEN)
        message, filled = reply["raw"], reply["parsed"]
        if filled is None and message.tool_calls:
            filled = message.tool_calls[0]["args"]
        return Reply(_langchain_text(message), filled, _langchain_usage(message))

    return send


def _langchain_structured(model: Any, schema: type[BaseModel]) -> Any:
    """Return the model bound to the schema, or None if it does not support tools."""
    if not hasattr(model, "with_structured_output"):
        return None
    try:
        return model.with_structured_output(schema, include_raw=True)
    except NotImplementedError:  # what LangChain's models without tools raise
        return None


def _langchain_text(message: Any) -> str:
    if isinstance(message, str):
        return message
    broken = [call["args"] or "" for call in getattr(message, "invalid_tool_calls", ())]
    return "\n".join([str(message.text), *broken])


def _langchain_usage(message: object) -> ModelUsage:
    return _usage(getattr(message, "usage_metadata", None), "input_tokens", "output_tokens")


def _through_llama_index(model: Any) -> Transport:
    from llama_index.core.llms import ChatMessage

    def send(system: str, user: str, schema: type[BaseModel]) -> Reply:
        if model.metadata.is_function_calling_model:
            asked, written = model.as_structured_llm(schema), (system, user)
        else:
            rendered = AS_JSON.render(system=system, user=user, schema=_described(schema))
            asked, written = model, (rendered.system, rendered.user)
        response = asked.chat(
            [
                ChatMessage(role="system", content=written[0]),
                ChatMessage(role="user", content=written[1]),
            ]
        )
        filled = response.raw if isinstance(response.raw, schema) else None
        counts = {**response.message.additional_kwargs, **response.additional_kwargs}
        usage = _usage(counts, "prompt_tokens", "completion_tokens")
        return Reply(response.message.content or "", filled, usage)

    return send


def _through_function(function: Callable[[str, str], object]) -> Transport:
    def send(system: str, user: str, schema: type[BaseModel]) -> Reply:
        written = AS_JSON.render(system=system, user=user, schema=_described(schema))
        text = function(written.system, written.user)
        if not isinstance(text, str):
            raise TypeError(
                f"the function returned {type(text).__name__}; return the reply as text"
            )
        return Reply(text)

    return send


def _completed_usage(reply: Reply, estimated: ModelUsage) -> ModelUsage:
    """Return the reply's own usage, estimated in cl100k_base where it reports nothing."""
    written = reply.text if reply.filled is None else _plain(reply.filled)
    return ModelUsage(
        reply.usage.calls,
        reply.usage.input_tokens or estimated.input_tokens,
        reply.usage.output_tokens or tokens.count(written[:LONGEST_REPLY]),
    )


def _usage(counts: object, input_key: str, output_key: str) -> ModelUsage:
    known = counts if isinstance(counts, Mapping) else {}
    return ModelUsage(1, known.get(input_key) or 0, known.get(output_key) or 0)


def _named(model: object, described: object) -> str:
    """Return class and model name; never the repr, which may contain secrets."""
    names = (getattr(described, name, None) for name in ("model_name", "model", "__qualname__"))
    name = next((name for name in names if isinstance(name, str) and name), None)
    return ":".join(filter(None, (type(model).__name__, name)))


def _described(schema: type[BaseModel]) -> str:
    return json.dumps(schema.model_json_schema())


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_endless(text: str) -> None:
    if len(text) > LONGEST_REPLY:
        raise ModelError(
            f"the reply has {len(text):,} characters; at most {LONGEST_REPLY:,} are "
            f"allowed; it starts {text[:_SHOWN]!r}"
        )


def _plain(value: object) -> str:
    return value.model_dump_json() if isinstance(value, BaseModel) else str(value)


def _shortened(value: object) -> str:
    text = _plain(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
