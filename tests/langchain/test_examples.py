"""Every public name shows how it is used, and what it shows is true."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from hindsight_integrations import langchain
from tests.examples import run_python


@pytest.mark.filterwarnings("ignore:The class `LLMChain` was deprecated")
def test_the_examples_of_the_class_for_classic_chains_run(tmp_path: Path) -> None:
    pytest.importorskip("langchain_classic")
    assert run_python(inspect.getdoc(langchain.HindsightMemory) or "", tmp_path) >= 1


@pytest.mark.parametrize("name", langchain.__all__)
def test_the_example_of_each_public_name_runs_and_prints_what_it_shows(
    name: str, tmp_path: Path
) -> None:
    doc = inspect.getdoc(getattr(langchain, name))
    assert doc is not None
    assert run_python(doc, tmp_path) >= 1
