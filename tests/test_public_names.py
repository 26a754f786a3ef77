"""The package's face: what it exports, and what importing it costs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import hindsight_integrations
from hindsight_integrations import errors

EXPORTED = [name for name in hindsight_integrations.__all__ if name != "__version__"]


def test_every_exported_name_can_be_imported() -> None:
    for name in hindsight_integrations.__all__:
        assert getattr(hindsight_integrations, name) is not None


def test_exported_names_are_sorted_and_unique() -> None:
    assert sorted(set(EXPORTED)) == EXPORTED


def test_every_error_is_exported() -> None:
    raised = {
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.HindsightError)
    }
    assert raised <= set(hindsight_integrations.__all__)


def test_the_error_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    drawn = errors.__doc__ or ""
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        assert issubclass(kind, errors.HindsightError)
        line = next(line for line in drawn.splitlines() if f" {name}" in f" {line.strip('│├└─ ')}")
        depth = (len(line) - len(line.lstrip("│├└─ "))) // 4
        assert depth == len([k for k in kind.__mro__ if k in vars(errors).values()]) - 1, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = hindsight_integrations.Nonsense


def test_importing_the_package_loads_no_framework_and_no_model() -> None:
    heavy = "langchain_core llama_index chromadb spacy onnxruntime tiktoken numpy rich typer"
    code = (
        "import sys, hindsight_integrations;"
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_static_and_lazy_exports_agree() -> None:
    tree = ast.parse(inspect.getsource(hindsight_integrations))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    static = {
        name.name
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert static | {"__version__"} == set(hindsight_integrations.__all__)
    assert static == set(hindsight_integrations._HOME_OF)
    assert dir(hindsight_integrations) == sorted(hindsight_integrations.__all__)
