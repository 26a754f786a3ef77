"""Cost of importing the subpackage, and its error where LangChain is not installed."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module

import pytest

from hindsight_integrations import Hindsight, integrations, langchain
from hindsight_integrations.langchain import (
    HindsightMiddleware,
    HindsightRetriever,
    HindsightVectorStore,
    recall_node,
    recall_tool,
    reflect_tool,
    retain_node,
    retain_tool,
)


def python(code: str) -> str:
    """Return the output of a fresh interpreter that runs the code."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_importing_it_loads_neither_framework_nor_engine() -> None:
    heavy = "langchain langchain_core langgraph chromadb spacy onnxruntime numpy"
    code = (
        "import sys, hindsight_integrations.langchain;"
        f"print([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    assert python(code) == "[]"


@pytest.mark.parametrize(
    ("absent", "name", "command"),
    [
        ("langchain_core", "HindsightRetriever", '"hindsight-integrations[langchain]"'),
        ("langchain", "HindsightMiddleware", '"hindsight-integrations[langchain]"'),
        ("langgraph", "HindsightStore", '"hindsight-integrations[langchain]"'),
        ("langchain_classic", "HindsightMemory", "langchain-classic"),
    ],
)
def test_a_name_whose_framework_is_absent_tells_what_to_install(
    absent: str, name: str, command: str
) -> None:
    code = (
        f"import sys; sys.modules[{absent!r}] = None\n"
        "import hindsight_integrations.langchain as adapters\n"
        f"try: adapters.{name}\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    assert python(code) == (
        f"MissingExtraError {name} needs {absent}, which is not installed; "
        f"run: pip install {command}"
    )


def test_names_are_sorted_listed_once_and_the_same_for_type_checkers() -> None:
    names = langchain.__all__
    assert names == sorted(set(names))
    source = inspect.getsource(integrations.langchain)
    static = source[source.index("if TYPE_CHECKING:") : source.index("_HOME_OF")]
    for name, home in langchain._HOME_OF.items():
        assert name in static
        assert f"langchain.{home} import" in static
    assert set(langchain._HOME_OF) - set(names) == {"HindsightMemory"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = langchain.Nonsense


def test_the_public_module_lists_the_names_of_the_adapters() -> None:
    public = import_module("hindsight_integrations.langchain")
    adapters = import_module("hindsight_integrations.integrations.langchain")
    assert public.__all__ == adapters.__all__


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda m: HindsightMiddleware(m, "a", retain_options={"tags": [3]}), "a tag is 3"),
        (
            lambda m: HindsightMiddleware(m, "a", retain_options={"metadata": {"user": None}}),
            "metadata\\['user'\\] is None",
        ),
        (lambda m: HindsightMiddleware(m, "a", name=""), "name is blank"),
        (lambda m: HindsightMiddleware(m, "a", recall_options={"types": ["x"]}), "type is 'x'"),
        (lambda m: recall_node(m, "a", budget="huge"), "budget is 'huge'"),
        (lambda m: retain_node(m, "a", scope=5), "scope is 5"),
        (lambda m: recall_tool(m, "a", where={"page": {"$foo": 1}}), "unknown operator"),
        (lambda m: retain_tool(m, "a", confidence=7), "confidence is 7"),
        (lambda m: reflect_tool(m, "a", timeout=0), "timeout is 0"),
        (lambda m: HindsightVectorStore(m, "a", min_score=7), "min_score is 7"),
        (lambda m: HindsightRetriever(m, "a", arms=["foo"]), "unknown arm"),
    ],
)
def test_the_value_of_an_option_is_checked_when_a_part_is_made(
    engine: Hindsight, make: Callable[[Hindsight], object], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):  # a field of pydantic raises its own
        make(engine)
