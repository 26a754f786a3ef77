"""The layers of the package, read from its imports, and the drawing of them in the documentation.

python -m tests.architecture        write the drawing into docs/architecture.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hindsight_integrations

ROOT = Path(hindsight_integrations.__file__).parent
PACKAGE = ROOT.name
PAGE = ROOT.parent / "docs" / "architecture.md"
BEGIN, END = "<!-- drawing: python -m tests.architecture -->", "<!-- end of drawing -->"

LEVELS = [
    {"_version", "errors", "rendering"},
    {"timespan"},
    {"display"},
    {"history", "models", "settings", "normalization", "prompts"},
    {"validation", "scores"},
    {"explain"},
    {"pictures"},
    {"results", "conclusions", "acting"},
    {"nlp", "stores"},
    {"retain", "recall"},
    {"reflect", "migration"},
    {"runtime"},
    {"export_import"},
    {"namespaces"},
    {"opening", "remote"},
    {"opened"},
    {"client"},
    {
        "durable",
        "sharding",
        "sessions",
        "integrations",
        "evaluate",
        "demo",
        "transcripts",
        "viewer",
        "workspace",
    },
    {"langchain", "llamaindex", "mcp_server"},
    {"service"},
    {"cli"},
]
"""The parts of the package, lowest first. A part imports only what is on lower levels."""

LEVEL = {part: level for level, parts in enumerate(LEVELS) for part in parts}
INDEPENDENT = {"asynchronous", "forks", "private"}
"""Parts that import nothing of the package, and may be used anywhere."""


def part_of_file(path: Path) -> str:
    """Return the part a file belongs to: its top-level folder or module."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def part_of_module(module: str) -> str:
    """Return the part of a dotted module name; "" for the package itself."""
    return module.split(".")[1] if "." in module else ""


def files() -> list[Path]:
    """Return all modules of the package but its `__init__`."""
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the modules of the package that a file imports, late imports included.

    Imports for type checkers alone are left out.
    """
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith(f"{PACKAGE}."))
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == PACKAGE:
                yield from (f"{PACKAGE}.{alias.name}" for alias in node.names)
            elif node.module.startswith(f"{PACKAGE}."):
                yield node.module


@cache
def edges() -> dict[str, frozenset[str]]:
    """Return, for each part, the other parts it imports."""
    used: dict[str, set[str]] = {part: set() for part in LEVEL}
    for path in files():
        part = part_of_file(path)
        others = {part_of_module(module) for module in imports(path)} & LEVEL.keys()
        used.get(part, set()).update(others - {part})
    return {part: frozenset(others) for part, others in used.items()}


def reduced(graph: dict[str, frozenset[str]]) -> list[tuple[str, str]]:
    """Return the edges that no longer path implies: the transitive reduction."""

    @cache
    def below(part: str) -> frozenset[str]:
        direct = frozenset(o for o in graph[part] if LEVEL[o] < LEVEL[part])
        return direct.union(*map(below, direct)) if direct else direct

    return [
        (part, other)
        for part in sorted(graph, key=lambda part: (-LEVEL[part], part))
        for other in sorted(graph[part])
        if not any(other in below(between) for between in graph[part] - {other})
    ]


def drawing() -> str:
    """Return the drawing: a Mermaid graph, one row a level, arrows from importer to imported."""
    rows = [sorted(level) for level in reversed(LEVELS)]
    lines = ["```mermaid", "graph TD"]
    for number, row in enumerate(rows):
        lines.append(f"  subgraph level{len(rows) - number}[ ]")
        lines += [f"    {part}" for part in row]
        lines.append("  end")
    lines += [f"  {part} --> {other}" for part, other in reduced(edges())]
    return "\n".join([*lines, "```"])


def with_drawing(page: str) -> str:
    """Return the page with the present drawing between its markers."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{drawing()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_drawing(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
