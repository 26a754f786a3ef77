"""Names, a missing framework, examples, documentation."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import hindsight_integrations.llamaindex as package
from hindsight_integrations import Hindsight, InvalidInputError, integrations
from tests.llamaindex.upstream import WARNINGS

pytestmark = WARNINGS

ROOT = Path(integrations.llamaindex.__file__).parent
NO_OPTIONS = package.RecallQuery("Who?", options=None)
PAGE = ROOT.parents[2] / "docs" / "llamaindex.md"
EXAMPLES = sorted(path.stem for path in ROOT.glob("*.py") if ">>> " in path.read_text("utf-8"))


def in_a_new_process(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout


def test_names_are_sorted_and_load() -> None:
    assert package.__all__ == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
        assert name in dir(package)
    with pytest.raises(AttributeError, match="nothing"):
        package.nothing  # noqa: B018


def test_importing_it_loads_no_framework_and_without_one_it_says_what_to_install() -> None:
    code = """
import sys
import hindsight_integrations.llamaindex as package
assert not any(name.startswith("llama_index") for name in sys.modules)
sys.modules["llama_index"] = None
try:
    package.HindsightRetriever
except ImportError as error:
    print(error)
"""
    assert 'pip install "hindsight-integrations[llamaindex]"' in in_a_new_process(code)


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_run(module: str) -> None:
    loaded = importlib.import_module(f"hindsight_integrations.integrations.llamaindex.{module}")
    from hindsight_integrations import Hindsight

    names = {**vars(loaded), "Hindsight": Hindsight}
    assert doctest.testmod(loaded, globs=names).failed == 0


def test_the_documentation_tells_of_every_name() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in package.__all__ if name not in text] == []


def test_the_public_module_lists_the_names_of_the_adapters() -> None:
    public = import_module("hindsight_integrations.llamaindex")
    adapters = import_module("hindsight_integrations.integrations.llamaindex")
    assert public.__all__ == adapters.__all__


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (
            lambda m: package.HindsightMemory(m, "a", where={"page": {"$foo": 1}}),
            "unknown operator",
        ),
        (lambda m: package.HindsightMemory(m, "a", max_tokens="many"), "max_tokens is 'many'"),
        (lambda m: package.HindsightMemory(m, "a", max_tokens=None), "max_tokens is None"),
        (lambda m: package.HindsightMemoryBlock(m, "a", budget="huge"), "budget is 'huge'"),
        (lambda m: package.HindsightRetriever(m, "a", types=["x"]), "type is 'x'"),
        (lambda m: package.HindsightRetriever(m, "a").retrieve(NO_OPTIONS), "give a mapping"),
        (lambda m: package.HindsightRetriever(m, []), "no bank given"),
        (lambda m: package.HindsightQueryEngine(m, "a", response_synthesizer=3), "BaseSynthesizer"),
        (lambda m: package.HindsightQueryEngine(m, "a", llm=3), "int is not a supported language"),
        (lambda m: package.HindsightQueryEngine(m, "a", response_schema=int), "response_schema"),
        (
            lambda m: package.HindsightToolSpec(m, "a", llm="gpt"),
            r"str is not a supported language.* as init_chat_model\('gpt'\) does",
        ),
        (lambda m: package.HindsightVectorStore(m, "a", min_score=7), "min_score is 7"),
    ],
)
def test_the_value_of_an_option_is_checked_when_a_part_is_made(
    engine: Hindsight, make: Callable[[Hindsight], object], fault: str
) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        make(engine)
