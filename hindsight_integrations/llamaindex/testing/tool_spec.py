"""What LlamaIndex's agents, and the models behind them, count on in a tool spec."""

# ruff: noqa: D102 (the name of a test says what it promises)

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Mapping
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from hindsight_integrations.llamaindex.testing.script import ScriptedChat

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What model providers take for a function's name."""

_DESCRIPTION = 1024
"""Characters of a description that they take."""


class ToolSpecTests:
    """What LlamaIndex's agents, and the models behind them, count on in a tool spec."""

    def make_spec(self) -> BaseToolSpec:
        """The tools."""
        raise NotImplementedError

    def calls(self) -> Mapping[str, Mapping[str, Any]]:
        """Arguments that each tool can be called with, by its name. Called after `make_spec`."""
        raise NotImplementedError

    def test_every_tool_is_tried_here(self) -> None:
        names = {tool.metadata.name for tool in self.make_spec().to_tool_list()}
        assert names == set(self.calls())

    def test_names_and_descriptions_are_such_as_models_take(self) -> None:
        for tool in self.make_spec().to_tool_list():
            assert _TOOL_NAME.fullmatch(tool.metadata.name or "")
            assert 0 < len(tool.metadata.description) <= _DESCRIPTION
            assert json.dumps(tool.metadata.to_openai_tool())

    def test_a_schema_asks_for_what_the_tool_needs(self) -> None:
        tools = {tool.metadata.name: tool for tool in self.make_spec().to_tool_list()}
        for name, arguments in self.calls().items():
            schema = tools[name].metadata.get_parameters_dict()
            assert set(schema.get("required", [])) <= set(arguments) <= set(schema["properties"])

    def test_both_ways_of_a_tool_take_the_same(self) -> None:
        spec = self.make_spec()
        for names in spec.spec_functions:
            if not isinstance(names, str):
                first, second = (inspect.signature(getattr(spec, name)) for name in names)
                assert first.parameters == second.parameters
                assert inspect.iscoroutinefunction(getattr(spec, names[1]))

    def test_each_tool_answers(self) -> None:
        tools = {tool.metadata.name: tool for tool in self.make_spec().to_tool_list()}
        for name, arguments in self.calls().items():
            assert tools[name].call(**arguments).content

    def test_each_tool_answers_asynchronously(self) -> None:
        tools = {tool.metadata.name: tool for tool in self.make_spec().to_tool_list()}
        for name, arguments in self.calls().items():
            assert asyncio.run(tools[name].acall(**arguments)).content

    def test_a_function_agent_works_with_them(self) -> None:
        tools = self.make_spec().to_tool_list()
        calls = [(name, arguments) for name, arguments in self.calls().items()]
        script = ScriptedChat(*([call] for call in calls), "Done.")
        agent = FunctionAgent(tools=tools, llm=script.llm)
        asyncio.run(self._run(agent, "Work.", [name for name, _ in calls]))

    def test_a_react_agent_works_with_them(self) -> None:
        tools = self.make_spec().to_tool_list()
        calls = self.calls()
        steps = [
            f"Thought: I need {name}.\nAction: {name}\nAction Input: {json.dumps(dict(arguments))}"
            for name, arguments in calls.items()
        ]
        script = ScriptedChat(*steps, "Thought: I can answer.\nAnswer: Done.")
        agent = ReActAgent(tools=tools, llm=script.llm)
        asyncio.run(self._run(agent, "Work.", list(calls)))

    def test_an_agent_survives_a_tool_called_wrongly(self) -> None:
        tools = self.make_spec().to_tool_list()
        wrong = {"no_such_argument": 1}
        script = ScriptedChat([(tool.metadata.get_name(), wrong) for tool in tools], "Done.")

        async def work() -> Any:
            return await FunctionAgent(tools=tools, llm=script.llm).run("Work.")

        output = asyncio.run(work())
        assert str(output) == "Done."
        assert all(call.tool_output.is_error for call in output.tool_calls)

    async def _run(self, agent: FunctionAgent | ReActAgent, task: str, names: list[str]) -> None:
        output = await agent.run(task)
        assert str(output) == "Done."
        assert [call.tool_name for call in output.tool_calls] == names
        assert [str(c.tool_output) for c in output.tool_calls if c.tool_output.is_error] == []
