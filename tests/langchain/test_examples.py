"""Every public name shows how it is used, and what it shows is true."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import textwrap
from pathlib import Path

import pytest

from hindsight_integrations import langchain

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a docstring or page, each at its own margin."""
    lines = (re.sub(r"^ *(?=```)", "", line) for line in text.splitlines())
    found = BLOCK.findall("\n".join(lines))
    return [(kind, textwrap.dedent(body)) for kind, body in found]


def run(text: str, place: Path) -> int:
    """Run the Python blocks one after another; a text block is what the one before printed.

    Returns how many text blocks there were.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    compared = 0
    with contextlib.chdir(place):
        for kind, body in blocks(text):
            if kind == "text":
                assert printed == body
                compared += 1
                continue
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(body, "<example>", "exec", dont_inherit=True), names)
            printed = out.getvalue()
    for value in names.values():
        if callable(close := getattr(value, "close", None)) and not inspect.isclass(value):
            close()
    return compared


def test_the_page_about_langchain_runs_from_top_to_bottom(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "langchain.md"
    assert run(page.read_text(encoding="utf-8"), tmp_path) >= 10


@pytest.mark.filterwarnings("ignore:The class `LLMChain` was deprecated")
def test_the_examples_of_the_class_for_classic_chains_run(tmp_path: Path) -> None:
    pytest.importorskip("langchain_classic")
    assert run(inspect.getdoc(langchain.HindsightMemory) or "", tmp_path) >= 1


@pytest.mark.parametrize("name", langchain.__all__)
def test_the_example_of_each_public_name_runs_and_prints_what_it_shows(
    name: str, tmp_path: Path
) -> None:
    doc = inspect.getdoc(getattr(langchain, name))
    assert doc is not None
    assert run(doc, tmp_path) >= 1
