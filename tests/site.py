"""The documentation site: the pages, the tutorials and the API reference, built in a folder.

python -m tests.site [FOLDER]       build it into FOLDER/site, by default build/site

The generator reads one folder of Markdown. So the pages of `docs/` and of the repository's root are
copied into one, the notebooks become pages with their outputs, and the reference gets a page for
each public import path, whose names mkdocstrings documents from their docstrings.
"""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "mkdocs.yml"
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages beside README.md: docs/index.md takes its place on the site."""

REFERENCE = {
    "hindsight": ("hindsight_integrations", "The memory: `Hindsight`, and what it takes and gives"),
    "namespaces": ("hindsight_integrations.namespaces", "`memory.banks` and the other namespaces"),
    "langchain": ("hindsight_integrations.langchain", "LangChain and LangGraph"),
    "llamaindex": ("hindsight_integrations.llamaindex", "LlamaIndex"),
    "sessions": ("hindsight_integrations.sessions", "Conversations"),
    "workspace": ("hindsight_integrations.workspace", "Workspace"),
    "migration": ("hindsight_integrations.migration", "Migration"),
    "transcripts": ("hindsight_integrations.transcripts", "Chats of other programs"),
    "evaluate": ("hindsight_integrations.evaluate", "Evaluation"),
    "mcp_server": ("hindsight_integrations.mcp_server", "The MCP server"),
    "viewer": ("hindsight_integrations.viewer", "The viewer"),
    "stores": ("hindsight_integrations.stores.base", "The ports of the stores"),
}
"""Pages of the reference: the import path and the title of each."""


def stage(folder: Path) -> None:
    """Write the configuration and all pages into an empty folder."""
    docs = folder / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "docs", docs)
    shutil.copy(CONFIG, folder)
    for name in ROOT_PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        (docs / name.lower()).write_text(text.replace("](docs/", "]("), encoding="utf-8")
    (docs / "tutorials").mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        target = docs / "tutorials" / f"{path.stem}.md"
        target.write_text(notebook_page(path), encoding="utf-8")
    (docs / "api").mkdir()
    for name, (module, title) in REFERENCE.items():
        (docs / "api" / f"{name}.md").write_text(reference_page(module, title), encoding="utf-8")
    for page in docs.glob("*.md"):
        page.write_text(_with_links_inside(page.read_text(encoding="utf-8")), encoding="utf-8")


def _with_links_inside(text: str) -> str:
    """Return a page of docs/ with its links to the repository pointed into the site."""
    text = re.sub(r"\]\(\.\./notebooks/(\w+)\.ipynb", r"](tutorials/\1.md", text)
    return re.sub(r"\]\(\.\./(\w+\.md)", lambda found: f"]({found[1].lower()}", text)


# Tutorials


def notebook_page(path: Path) -> str:
    """Return a notebook as Markdown: its text, its code, and each output as it was saved."""
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(
                re.sub(r"\]\((\w+)\.ipynb", r"](\1.md", cell.source).replace("../docs/", "../")
            )
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            parts += [_output(output) for output in cell.outputs]
    return "\n\n".join(filter(None, parts)) + "\n"


def _output(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    data = output.get("data", {})
    if "text/markdown" in data:
        return str(data["text/markdown"])
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:  # without blank lines, at which Markdown would end the block
            lines = "\n".join(line for line in data[kind].splitlines() if line.strip())
            return f'<div class="output">\n{lines}\n</div>'
    if "image/png" in data:
        return f"![output](data:image/png;base64,{data['image/png'].strip()})"
    return f"```text\n{data['text/plain']}\n```" if "text/plain" in data else ""


# Reference


def reference_page(module: str, title: str) -> str:
    """Return a page that lists a module's public names for mkdocstrings."""
    lines = [f"# {title}", "", f"Import from `{module}`.", ""]
    for name in public_names(module):
        lines += [f"::: {name}", ""]
    return "\n".join(lines)


def public_names(module: str) -> list[str]:
    """Return the full names of a module's public classes and functions, where they are defined."""
    loaded = import_module(module)
    names = getattr(loaded, "__all__", None) or dir(loaded)
    first = {"Hindsight"}  # what all else is for
    found = [getattr(loaded, name) for name in sorted(names, key=lambda name: name not in first)]
    return [
        f"{each.__module__}.{each.__qualname__}"
        for each in found
        if (inspect.isclass(each) or inspect.isfunction(each))
        and each.__module__.startswith("hindsight_integrations")
        and each.__module__ != "hindsight_integrations.errors"  # on a page of their own
        and not each.__qualname__.startswith("_")
    ]


def build(folder: Path) -> Path:
    """Stage and generate the site in a folder that is emptied; returns that of the built pages."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stage(folder)
    return generate(folder)


def generate(folder: Path) -> Path:
    """Generate the staged site strictly: a link that leads nowhere fails.

    Raises:
        subprocess.CalledProcessError: the generator found a fault, which it has printed.
    """
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "site"


if __name__ == "__main__":
    built = build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build")
    print(f"The site is in {built}; open {built / 'index.html'}.")  # noqa: T201
