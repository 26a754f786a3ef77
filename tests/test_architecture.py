"""Imports point down, so that a part can be understood without those above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hindsight_integrations

ROOT = Path(hindsight_integrations.__file__).parent

LEVELS = [
    {"_version", "errors"},
    {"timespan"},
    {"model", "settings", "naming", "prompts"},
    {"checks", "results", "conclusions"},
    {"reflections"},
    {"language", "storage"},
    {"retain", "recall"},
    {"reflect"},
    {"core"},
    {"moving"},
    {"assembly", "catalog"},
    {"engine"},
    {"adapting"},
    {
        "replay",
        "explain",
        "evaluate",
        "benchmark",
        "demo",
        "cli",
        "conversation",
        "langchain",
        "llamaindex",
    },
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
HELPERS = {"asynchronous"}  # depends on nothing and may be used anywhere


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> set[str]:
    """Modules of this package imported at the top of a file; a late import breaks no layer."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "hindsight_integrations":
                found |= {f"hindsight_integrations.{alias.name}" for alias in node.names}
            elif node.module.startswith("hindsight_integrations."):
                found.add(node.module)
    return found


FILES = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if room in HELPERS:
        assert imports(path) == set()
        return
    for module in imports(path):
        other = room_of(module)
        if other in HELPERS or other == room or not other or other[0].isupper():
            continue
        same_floor = room in {"language", "storage"} and other in {"language", "storage"}
        top = LEVEL[room] == len(LEVELS) - 1
        assert LEVEL[other] < LEVEL[room] or same_floor or (top and LEVEL[other] == LEVEL[room])


def test_every_room_has_a_level() -> None:
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    assert rooms - HELPERS == set(LEVEL)


def test_no_module_is_too_long_to_be_read_in_one_sitting() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in FILES
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert long == {}
