"""Code blocks of Markdown pages and docstrings, and a run of the Python ones in order."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_MEMORY_ID = re.compile(r"\bm-[0-9a-f]+\b")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language ("" if none is named), its text, and its line on the page."""

    language: str
    text: str
    line: int


def blocks(markdown: str) -> list[Block]:
    """Return the fenced blocks, each without its indentation."""
    return [
        Block(
            match[2],
            textwrap.dedent(match[3]),
            markdown.count("\n", 0, match.start()) + 2,
        )
        for match in _BLOCK.finditer(markdown)
    ]


def run_python(
    markdown: str, folder: Path, *, page: str = "example", adapt: Callable[[str], str] = str
) -> int:
    """Run the ```python blocks in order, in one namespace, with `folder` as working directory.

    A block that begins with a comment such as `# jobs.py` is that file, and runs in a process of
    its own. A ```text block is what the Python block before it printed; ids of memories, which are
    random, are compared as one. Whatever the blocks leave open is closed at the end.

    Args:
        markdown: the page or docstring.
        folder: an empty folder.
        page: the name that tracebacks show.
        adapt: applied to each block's text before it runs.

    Returns:
        How many ```text blocks were compared.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    compared = 0
    with contextlib.chdir(folder), contextlib.ExitStack() as closing:
        closing.callback(_close_all, names)
        for block in blocks(markdown):
            if block.language == "text":
                assert _with_equal_ids(printed) == _with_equal_ids(block.text)
                compared += 1
            elif block.language == "python":
                if file := re.match(r"# (\w+\.py)\n", block.text):
                    printed = _run_file(folder / file[1], adapt(block.text))
                    continue
                source = "\n" * (block.line - 1) + adapt(block.text)  # tracebacks show page lines
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(source, page, "exec", dont_inherit=True), names)
                printed = out.getvalue()
    return compared


def _run_file(file: Path, code: str) -> str:
    file.write_text(code, encoding="utf-8")
    root = Path(__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, file.name],
        cwd=file.parent,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _with_equal_ids(text: str) -> str:
    return _MEMORY_ID.sub("m-...", text)


def _close_all(names: dict[str, object]) -> None:
    for value in [*names.values()][::-1]:
        for item in value if isinstance(value, list) else [value]:
            close = getattr(item, "close", None)
            if callable(close) and not inspect.isclass(item) and not inspect.ismodule(item):
                close()
