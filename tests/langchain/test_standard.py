"""LangChain's own suites for those who write integrations, with no socket to be opened."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    ToolsIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests, ToolsUnitTests
from pytest_socket import SocketBlockedError, disable_socket, enable_socket

from hindsight_integrations import Hindsight
from hindsight_integrations.langchain import (
    HindsightEmbeddings,
    HindsightRetriever,
    HindsightToolkit,
)

BANK = "standard"
NUMBERS = count()
FACTS = (
    "Alice joined Northwind in March 2021 as a designer.",
    "Northwind moved to a new office in 2022.",
    "The designer of the poster was Ben.",
    "Alice and Ben met at Northwind.",
)


@pytest.fixture(autouse=True)
def offline() -> Iterator[None]:
    """No test of this module may open a socket, but for those an event loop wakes itself with."""
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture(autouse=True, scope="module")
def remembered(engine: Hindsight) -> Iterator[Hindsight]:
    engine.retain_many(BANK, FACTS)
    TestRetriever.engine = Toolkit.engine = engine
    yield engine
    del TestRetriever.engine, Toolkit.engine


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
def test_sockets_are_disabled() -> None:
    with pytest.raises(SocketBlockedError):
        socket.socket()


class TestRetriever(RetrieversIntegrationTests):
    engine: Hindsight

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HindsightRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.engine, "bank_id": BANK}

    @property
    def retriever_query_example(self) -> str:
        return "Who works at Northwind?"


class Toolkit:
    """The tools of one toolkit, as the suites ask for them."""

    engine: Hindsight
    verb: str

    @property
    def tool_constructor(self) -> BaseTool:
        (tool,) = HindsightToolkit(memory=self.engine, bank_id=BANK, verbs=(self.verb,)).get_tools()  # type: ignore[arg-type]
        return tool


class TestRetainUnit(Toolkit, ToolsUnitTests):
    verb = "retain"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"content": "Ben moved to Bergen.", "tags": ["chat"]}


class TestRetain(Toolkit, ToolsIntegrationTests):
    verb = "retain"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"content": "Ben moved to Bergen.", "tags": ["chat"]}


class TestRecallUnit(Toolkit, ToolsUnitTests):
    verb = "recall"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "Who works at Northwind?", "types": ["world"]}


class TestRecall(Toolkit, ToolsIntegrationTests):
    verb = "recall"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "Who works at Northwind?", "types": ["world"]}


class TestReflectUnit(Toolkit, ToolsUnitTests):
    verb = "reflect"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "What is Northwind?"}


class TestReflect(Toolkit, ToolsIntegrationTests):
    verb = "reflect"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "What is Northwind?"}


class Forgotten(Toolkit):
    """Each test forgets a memory of its own."""

    verb = "forget"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        stored = self.engine.retain(BANK, f"Number {next(NUMBERS)} is soon forgotten.")
        return {"memory_ids": list(stored.ids)}


class TestForgetUnit(Forgotten, ToolsUnitTests):
    pass


class TestForget(Forgotten, ToolsIntegrationTests):
    pass


class TestEmbeddingsUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return HindsightEmbeddings


class TestEmbeddings(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return HindsightEmbeddings
