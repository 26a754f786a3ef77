from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, TextBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from pydantic import BaseModel

from hindsight_integrations.errors import InvalidInputError, ModelError
from hindsight_integrations.nlp.llm import Answer, ModelUsage, as_model, parse_json
from hindsight_integrations.nlp.tokens import count
from tests.scripted import ScriptedLLM, ToolCallingChatModel

SYSTEM, USER = "Answer. {curly} $dollar", "Where is {Alice}? ${it} costs {0} %s"
GOOD = '{"place": "Berlin", "sure": true}'


class Whereabouts(BaseModel):
    place: str
    sure: bool = False


def chat_message(content: str = "", args: dict[str, Any] | None = None) -> AIMessage:
    calls = [] if args is None else [{"name": "Whereabouts", "args": args, "id": "1"}]
    return AIMessage(
        content=content,
        tool_calls=calls,
        usage_metadata={"input_tokens": 7, "output_tokens": 3, "total_tokens": 10},
    )


def tool_calls(*replies: dict[str, Any] | str) -> Callable[..., ChatMessage]:
    script = iter(replies)

    def reply(messages: Any, **kwargs: Any) -> ChatMessage:
        given = next(script)
        block = (
            TextBlock(text=given)
            if isinstance(given, str)
            else ToolCallBlock(tool_call_id="1", tool_name="Whereabouts", tool_kwargs=given)
        )
        return ChatMessage(role="assistant", blocks=[block])

    return reply


def ask(model: object) -> Answer[Whereabouts]:
    return as_model(model).ask(SYSTEM, USER, Whereabouts)


BERLIN = Whereabouts(place="Berlin", sure=True)


@pytest.mark.parametrize(
    "model",
    [
        GenericFakeChatModel(messages=iter([chat_message(GOOD)])),
        ToolCallingChatModel(messages=iter([chat_message(args=json.loads(GOOD))])),
        ToolCallingChatModel(messages=iter([chat_message(f"Sure: {GOOD}")])),
        FakeListLLM(responses=[GOOD]),
        RunnableLambda(lambda messages: AIMessage(GOOD)),
        ScriptedLLM(replies=[GOOD]),
        MockFunctionCallingLLM(response_generator=tool_calls(json.loads(GOOD))),
        lambda system, user: GOOD,
    ],
    ids=[
        "langchain_text",
        "langchain_tools",
        "langchain_tools_unused",
        "langchain_completion",
        "langchain_runnable",
        "llama_index_text",
        "llama_index_tools",
        "function",
    ],
)
def test_every_kind_of_model_gives_the_same_answer(model: object) -> None:
    answer = ask(model)
    assert answer.value == BERLIN
    assert answer.usage.calls == 1


def test_texts_reach_the_model_as_they_are_with_the_schema() -> None:
    asked: list[tuple[str, str]] = []

    def model(system: str, user: str) -> str:
        asked.append((system, user))
        return GOOD

    ask(model)
    ((system, user),) = asked
    assert system.startswith(SYSTEM)
    assert json.dumps(Whereabouts.model_json_schema()) in system
    assert user == USER


def test_curly_braces_survive_llama_index_templates() -> None:
    seen: list[str] = []
    answers = tool_calls(json.loads(GOOD))

    def reply(messages: Any, **kwargs: Any) -> ChatMessage:
        seen.extend(message.content for message in messages)
        return answers(messages, **kwargs)

    ask(MockFunctionCallingLLM(response_generator=reply))
    assert seen == [SYSTEM, USER]


@pytest.mark.parametrize(
    "model",
    [
        GenericFakeChatModel(messages=iter([chat_message("no idea"), chat_message(GOOD)])),
        ToolCallingChatModel(
            messages=iter([chat_message(args={"sure": 1}), chat_message(args=json.loads(GOOD))])
        ),
        ScriptedLLM(replies=["no idea", GOOD]),
        MockFunctionCallingLLM(response_generator=tool_calls({"sure": True}, json.loads(GOOD))),
        MockFunctionCallingLLM(response_generator=tool_calls("no idea", json.loads(GOOD))),
    ],
    ids=["langchain_text", "langchain_tools", "llama_text", "llama_tools", "llama_tools_unused"],
)
def test_an_unusable_reply_gets_a_second_chance(model: object) -> None:
    assert ask(model).value == BERLIN


def test_the_second_request_names_what_was_wrong_with_the_first() -> None:
    model = ScriptedLLM(replies=['{"sure": true}', GOOD])
    answer = ask(model)
    assert "place: Field required" not in model.asked[0]
    assert "place: Field required" in model.asked[1]
    assert USER in model.asked[1]
    assert answer.usage.calls == 2


def test_a_model_that_never_gives_the_schema_is_an_error_with_its_reply_cut_short() -> None:
    model = ScriptedLLM(replies=["I would rather not. " * 500] * 3)
    with pytest.raises(ModelError, match="ScriptedLLM:scripted gave no usable Where") as caught:
        ask(model)
    assert "I would rather not." in str(caught.value)
    assert str(caught.value).endswith("take a model that answers with JSON of a given schema")
    assert len(str(caught.value)) < 500
    assert len(model.asked) == 2


def test_what_a_model_raises_is_a_model_error_at_once_without_its_secrets() -> None:
    calls: list[str] = []

    def model(system: str, user: str) -> str:
        calls.append(user)
        raise ConnectionError("https://host/?key=sk-secret")

    with pytest.raises(ModelError, match="ConnectionError") as caught:
        ask(model)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert "sk-secret" not in str(caught.value)
    assert len(calls) == 1


def test_a_function_that_returns_no_text_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="TypeError"):
        ask(lambda system, user: None)


@pytest.mark.parametrize("thing", [None, "gpt", 3, object()])
def test_what_cannot_be_asked_is_refused(thing: object) -> None:
    with pytest.raises(InvalidInputError, match="LangChain chat model, a LlamaIndex LLM"):
        as_model(thing)


def test_a_structured_model_is_taken_as_it_is() -> None:
    model = as_model(lambda system, user: GOOD)
    assert as_model(model) is model


@pytest.mark.parametrize(
    ("model", "usage"),
    [
        (
            GenericFakeChatModel(messages=iter([chat_message("?"), chat_message(GOOD)])),
            ModelUsage(2, 14, 6),
        ),
        (
            ToolCallingChatModel(messages=iter([chat_message(args=json.loads(GOOD))])),
            ModelUsage(1, 7, 3),
        ),
        (ScriptedLLM(replies=[GOOD]), ModelUsage(1, 11, 5)),
        (lambda system, user: GOOD, ModelUsage(1, count(SYSTEM) + count(USER), count(GOOD))),
    ],
    ids=["langchain_text", "langchain_tools", "llama_index", "function"],
)
def test_tokens_are_counted_over_all_attempts_and_estimated_if_the_model_tells_none(
    model: object, usage: ModelUsage
) -> None:
    assert ask(model).usage == usage


@pytest.mark.parametrize(
    ("model", "attempts"),
    [
        (lambda system, user: "I would rather not.", 2),
        (lambda system, user: 1 / 0, 1),
        (ScriptedLLM(replies=["?", "?"]), 0),
    ],
    ids=["unusable", "raising", "telling"],
)
def test_a_failure_has_its_cost(model: object, attempts: int) -> None:
    with pytest.raises(ModelError) as caught:
        ask(model)
    if attempts:
        assert caught.value.tokens >= attempts * (count(SYSTEM) + count(USER))
    else:
        assert caught.value.tokens == 2 * (11 + 5)


def test_ids_name_the_model_and_hold_no_repr() -> None:
    named = ToolCallingChatModel(messages=iter([]), metadata={"api_key": "sk-secret"})
    assert as_model(named).id == "ToolCallingChatModel"
    assert as_model(ScriptedLLM(replies=[])).id == "ScriptedLLM:scripted"
    assert as_model(MockLLM()).id == "MockLLM:unknown"
    assert as_model(chat_message_of).id == "function:chat_message_of"


def chat_message_of(system: str, user: str) -> str:
    return GOOD


def test_no_framework_is_imported_before_a_model_is_given() -> None:
    code = (
        "import sys, hindsight_integrations.nlp.llm as llm\n"
        "llm.as_model(lambda system, user: '{}')\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('langchain_core', 'llama_index')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Reading JSON out of a reply


@pytest.mark.parametrize(
    "reply",
    [
        '{"a": "}"}',
        '```json\n{"a": "}"}\n```',
        'Here you are:\n```\n{"a": "}"}\n```\nAnything else?',
        'Sure! {"a": "}"} Hope that helps.',
        '<think>Perhaps {"a": 2}? No.</think>\n{"a": "}"}',
        '\ufeff  {"a": "}"}',
    ],
)
def test_json_is_found_in_fences_prose_and_after_thoughts(reply: str) -> None:
    assert parse_json(reply) == {"a": "}"}


def test_a_fence_within_a_string_is_no_fence() -> None:
    assert parse_json('{"a": "```json\\n{}\\n```</think>"}') == {"a": "```json\n{}\n```</think>"}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help with that.",
        '{"a": 1,}',
        '{"a": [1, 2,]}',
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1} {"a": 2}',
        '{"a": {"b": 1}, "c": [{"d": 2}, {"e',
        "}{",
        '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"a": ' + "9" * 5_000 + "}",
        '{"a": "' + "x" * 200_000 + '"}',
    ],
)
def test_what_is_not_one_json_object_is_an_error(reply: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_json(reply)
    assert len(str(caught.value)) < 600


json_objects = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=6,
    ),
    max_size=4,
)
prose = st.text(max_size=20).filter(lambda text: not set("{}<") & set(text))


@given(json_objects, prose, prose)
def test_prose_around_an_object_changes_nothing(
    value: dict[str, Any], before: str, after: str
) -> None:
    assert parse_json(f"{before}{json.dumps(value)}{after}") == value


@given(json_objects, st.data())
def test_an_object_cut_short_is_never_mended(value: dict[str, Any], data: st.DataObject) -> None:
    whole = json.dumps(value)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ModelError):
        parse_json(whole[:cut])


@given(st.text() | st.text('{}[]",:1a '))
def test_any_text_is_an_object_or_a_model_error(text: str) -> None:
    with contextlib.suppress(ModelError):
        assert isinstance(parse_json(text), dict)
