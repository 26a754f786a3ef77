"""Imports point down, so that a part can be understood without those above it."""

from __future__ import annotations

from collections.abc import Iterator
from symtable import SymbolTable, symtable

from tests.architecture import (
    INDEPENDENT,
    LEVEL,
    PAGE,
    ROOT,
    circles,
    files,
    imports,
    part_of_file,
    part_of_module,
    with_drawing,
)

BESIDE = {frozenset({"nlp", "stores"})}
"""Parts of one level that may import each other's modules (without a circle of modules)."""

TOP = LEVEL["durable"]
"""From this level up, what is built on the client may use its neighbours."""

MAX_LINES = 700

COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}


def test_imports_point_down() -> None:
    upwards = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files()
        for module in imports(path)
        if not points_down(part_of_file(path), part_of_module(module))
    ]
    assert upwards == []


def points_down(part: str, other: str) -> bool:
    if other in INDEPENDENT or other == part or not other or other[0].isupper():
        return True
    beside = frozenset({part, other}) in BESIDE or LEVEL[part] >= TOP
    return part not in INDEPENDENT and (
        LEVEL[other] < LEVEL[part] or (beside and LEVEL[other] == LEVEL[part])
    )


def test_no_modules_import_one_another() -> None:
    """Late imports and those for type checkers count, too."""
    assert circles() == []


def test_every_part_has_a_level() -> None:
    assert {part_of_file(path) for path in files()} - INDEPENDENT == set(LEVEL)


def test_no_module_is_too_long_to_be_read_in_one_sitting() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in files()
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_the_drawing_in_the_documentation_is_that_of_the_imports() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_drawing(page), "run: python -m tests.architecture"


def test_no_comprehension_hides_a_global_name_that_its_function_uses() -> None:
    """Python 3.12.1 takes such a name for the comprehension's in all of the function (PEP 709)."""
    hidden = [
        f"{path.relative_to(ROOT)}: {name} in {function.get_name()}"
        for path in files()
        for function in _scopes(symtable(path.read_text(encoding="utf-8"), path.name, "exec"))
        if function.get_type() == "function"
        for name in _hidden_names(function)
    ]
    assert hidden == []


def _scopes(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _hidden_names(scope: SymbolTable) -> list[str]:
    inner = [child for child in scope.get_children() if child.get_name() in COMPREHENSIONS]
    targets = {name.get_name() for each in inner for name in each.get_symbols() if name.is_local()}
    used = [name for each in (scope, *inner) for name in each.get_symbols() if name.is_global()]
    return sorted(targets.intersection(name.get_name() for name in used))
