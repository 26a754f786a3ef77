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
    {"namespaces", "assembly"},
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
INDEPENDENT = {"asynchronous", "forks", "json_form", "private", "tool_arguments"}
"""Parts that import nothing of the package, and may be used anywhere."""


def part_of_file(path: Path) -> str:
    """Return the part a file belongs to: its top-level folder or module."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def part_of_module(module: str) -> str:
    """Return the part of a dotted module name; "" for the package itself."""
    return module.split(".")[1] if "." in module else ""


def files() -> list[Path]:
    """Return all modules of the package but its `__init__` and `__main__`."""
    outside = {ROOT / "__init__.py", ROOT / "__main__.py"}
    return sorted(path for path in ROOT.rglob("*.py") if path not in outside)


def module_name(path: Path) -> str:
    """Return the dotted name of a module's file; a package's for its `__init__`."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the modules of the package that a file imports: late, and for type checkers, too."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    known = _modules()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith(f"{PACKAGE}."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known or node.module == PACKAGE else str(node.module)


@cache
def _modules() -> frozenset[str]:
    return frozenset(map(module_name, files()))


def circles() -> list[list[str]]:
    """Return the groups of modules that import one another, directly or through others."""
    below = {module_name(path): {*imports(path)} & _modules() for path in files()}
    reached = {module: _reached(module, below) for module in below}
    groups = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in below
    }
    return sorted(sorted(group) for group in groups if group)


def _reached(module: str, below: dict[str, set[str]]) -> set[str]:
    """Return the modules that one imports, directly or through others."""
    reached: set[str] = set()
    waiting = below[module] - {module}
    while waiting:
        reached |= waiting
        waiting = set().union(*(below[each] for each in waiting)) - reached
    return reached


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
