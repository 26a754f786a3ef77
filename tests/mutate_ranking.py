"""Break each part of the ranking in turn, and see whether a unit test notices.

    python -m tests.mutate_ranking                    all mutants; exit status 1 if any survived
    python -m tests.mutate_ranking --only pagerank    those whose description holds the text
    python -m tests.mutate_ranking --list             what would be broken, without a run

A mutant is one change to the source of one module of `PACKAGES` and `MODULES`:

- a number (weights, constants, literals in formulas) negated, or set to zero;
- a term of a sum dropped, or added with the other sign; a factor, divisor or power dropped;
- a unary minus removed, which turns an order round;
- the result of a function that returns scores negated, or set to zero;
- a signal (`sheet.add(name, value, contribution)`) dropped, negated, or counted as zero.

All are derived from the source, so a new weight, constant, signal or formula is covered without a
change here. Tests are those under tests/ marked `pytest.mark.ranking`: pure functions, no
models, no stores. They run once as they are, and must pass; then against each mutant
in a process of its own, forked from one that has the libraries loaded. Nothing is written: a mutant
exists in memory only. Needs `os.fork` (Linux, macOS).

`LEFT_OUT` and `EQUIVALENT` name what is not mutated and why; an entry that matches nothing any more
is an error, as are a module that is gone, and one in which nothing is left to mutate.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.util
import multiprocessing
import os
import pkgutil
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).parent.parent
TOP = "hindsight_integrations"

PACKAGES = ("hindsight_integrations.recall",)
"""Every module in them is mutated, less those in `LEFT_OUT`."""

MODULES = (
    "hindsight_integrations.nlp.bm25",
    "hindsight_integrations.nlp.late_interaction",
)

WEIGHTS = "Weights"
"""The dataclass of what each signal counts: each of its fields must have been mutated."""

LEFT_OUT = {
    # Modules, by file name
    "prefetch.py": "orchestration: makes the first reads of a bank together",
    "dependencies.py": "what a recall works with, and its clock",
    "pipeline.py": "orchestration: starts the arms, reads, ranks, packs",
    "request.py": "checks of arguments",
    # Constants, functions and classes, by name
    "_analysed": "size of a cache, which changes no result",
}

EQUIVALENT: dict[tuple[str, str], str] = {
    ("personalised_pagerank", "1.0  →  -1.0"): "shares of the sources are divided by their sum",
    ("shared_entity_boost", "1  →  0"): "a hit is not drawn to itself, nor to one below it, anyway",
    ("session", "2  →  -2"): "one session alone is standardised to zero",
    ("session", "2  →  0"): "one session alone is standardised to zero",
    ("_add_bridges", "missing / missing.sum()  →  missing"): "what comes of it is standardised",
}
"""Mutants that compute the same: (scope, change) and why."""

SCORES = {"Scores", "float", "NDArray[np.float64]", "NDArray[np.float32]"}
"""Types of which the result is negated, and set to zero."""

CPU_SECONDS = 30
"""CPU time for a mutant's tests, which take less than 1 s: one that needs more loops forever, and
counts as killed. CPU time, not wall time, so that a busy machine hides no survivor."""

PASSED, FAILED, INTERRUPTED = 0, 1, 2
"""Exit statuses of pytest; any other says that the run itself was at fault."""


class MutationError(Exception):
    """The script does not fit the source any more, or could not run the tests."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change to one module: `owner.field` (at `index`, in a list) becomes `new`."""

    module: str
    path: Path
    scope: str
    line: int
    change: str
    tree: ast.Module
    owner: ast.AST
    field: str
    index: int | None
    new: ast.AST

    def code(self) -> CodeType:
        """The module with the change; the tree stays changed, in this process."""
        if self.index is None:
            setattr(self.owner, self.field, self.new)
        else:
            getattr(self.owner, self.field)[self.index] = self.new
        return compile(ast.fix_missing_locations(self.tree), str(self.path), "exec")

    def __str__(self) -> str:
        file = self.path.relative_to(ROOT)
        return f"{file}:{self.line}  {self.scope}  {self.change}"


# Finding what can be broken


def named_modules() -> list[str]:
    """All modules to mutate, by name."""
    names = list(MODULES)
    for package in PACKAGES:
        names += [
            module.name
            for module in pkgutil.walk_packages(
                importlib.import_module(package).__path__, f"{package}."
            )
            if not module.ispkg
        ]
    return names


def all_mutants() -> list[Mutant]:
    """Every mutant of every module, and a check that the tables above still fit the source."""
    unused: set[object] = {*LEFT_OUT, *EQUIVALENT}
    mutants: list[Mutant] = []
    for name in named_modules():
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise MutationError(f"there is no module {name}; correct MODULES and PACKAGES")
        path = Path(spec.origin)
        if path.name in LEFT_OUT:
            unused.discard(path.name)
            continue
        made = list(mutants_of(name, path))
        kept = [m for m in made if m.scope.split(".")[0] not in LEFT_OUT]
        unused -= {mutant.scope.split(".")[0] for mutant in made}
        unused -= {(mutant.scope, mutant.change) for mutant in made}
        if not made and has_code(path):
            raise MutationError(
                f"nothing to mutate in {path}; if that is right, name it in LEFT_OUT"
            )
        mutants += [m for m in kept if (m.scope, m.change) not in EQUIVALENT]
    if unused:
        raise MutationError(f"LEFT_OUT or EQUIVALENT name what is not there any more: {unused}")
    check_weights(mutants)
    return mutants


def has_code(path: Path) -> bool:
    """Return True if the module defines a function or a numeric constant at all."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))


def check_weights(mutants: Sequence[Mutant]) -> None:
    """Require that each field of the weights is negated and set to zero."""
    scopes = Counter(mutant.scope for mutant in mutants)
    weights = [scope for scope in scopes if scope.startswith(f"{WEIGHTS}.")]
    if not weights:
        raise MutationError(f"there is no class {WEIGHTS} with numbers; correct WEIGHTS")
    for scope in weights:
        if scopes[scope] != 2:
            raise MutationError(f"{scope} has {scopes[scope]} mutants; expected a sign and a zero")


def mutants_of(module: str, path: Path) -> Iterator[Mutant]:
    """All mutants of a module, from its source."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    spots = list(walk(tree, ""))
    scoring = {scope for scope, *_, node in spots if is_scoring(node)}
    times: Counter[tuple[str, str]] = Counter()
    for scope, owner, field, index, node in spots:
        for change, new in changes(node, scores=scope in scoring):
            ast.copy_location(new, node)
            line: int = getattr(node, "lineno", 0)
            times[scope, change] += 1
            if times[scope, change] > 1:
                change += f"  ({times[scope, change]})"
            yield Mutant(module, path, scope, line, change, tree, owner, field, index, new)


Spot = tuple[str, ast.AST, str, int | None, ast.AST]


def walk(node: ast.AST, scope: str) -> Iterator[Spot]:
    """Every node in which a mutation has a meaning: its scope, where it hangs, and itself."""
    for field, value in ast.iter_fields(node):
        if passed_over(node, field):
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST):
                inner = scope_of(child, scope)
                yield inner, node, field, index, child
                if not is_number(child):
                    yield from walk(child, inner)


def passed_over(node: ast.AST, field: str) -> bool:
    """Return True for types, decorators, indices, and the axis of an array."""
    return (
        field in ("annotation", "returns", "decorator_list", "slice", "type_params")
        or (isinstance(node, ast.keyword) and node.arg == "axis")
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'")
    )


def scope_of(node: ast.AST, scope: str) -> str:
    """The dotted name of the function, class or constant that a node is, or is in."""
    name = None
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign) and not scope.islower():
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        name = ast.unparse(target)
    return scope if name is None else f"{scope}.{name}".lstrip(".")


# Breaking it


def changes(node: ast.AST, *, scores: bool) -> Iterator[tuple[str, ast.AST]]:
    """The ways to break a node, each with a description; `scores` is what its function returns."""
    if isinstance(node, ast.expr):
        before = " ".join(ast.unparse(node).split())
        for new in broken(node):
            yield f"{before}  →  {ast.unparse(new)}", new
    elif isinstance(node, ast.Return) and node.value is not None:
        value = node.value
        if scores and not is_zero(value):
            for new in (ast.UnaryOp(ast.USub(), value), times_zero(value)):
                before = " ".join(ast.unparse(value).split())
                yield f"return {before}  →  {ast.unparse(new)}", ast.Return(new)
    elif isinstance(node, ast.Expr) and is_signal(node.value):
        name, value, contribution = node.value.args
        label = ast.unparse(name)
        yield f"signal {label} dropped", ast.Pass()
        for new, what in (
            (ast.UnaryOp(ast.USub(), contribution), "negated"),
            (times_zero(contribution), "counted as zero"),
        ):
            call = ast.Call(node.value.func, [name, value, new], [])
            yield f"signal {label} {what}", ast.Expr(call)


def broken(node: ast.expr) -> Iterator[ast.expr]:
    """An expression broken in each way there is."""
    if is_number(node):
        number = ast.literal_eval(node)
        if number:
            yield ast.parse(repr(-number), mode="eval").body
            yield ast.Constant(type(number)(0))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and not is_text(node):
        match node.op:
            case ast.Add():
                yield ast.BinOp(node.left, ast.Sub(), node.right)
                yield node.left
                yield node.right
            case ast.Sub():
                yield ast.BinOp(node.left, ast.Add(), node.right)
                yield node.left
            case ast.Mult():
                yield node.left
                yield node.right
            case ast.Div() | ast.Pow():
                yield node.left


def is_scoring(node: ast.AST) -> bool:
    """Return True for a function that returns scores, or one."""
    return (
        isinstance(node, ast.FunctionDef)
        and node.returns is not None
        and ast.unparse(node.returns) in SCORES
    )


def is_number(node: ast.AST) -> bool:
    """Return True for a literal number, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_zero(node: ast.expr) -> bool:
    """Return True for `0.0` and `np.zeros(...)`, which no sign changes."""
    return ast.unparse(node) in ("0", "0.0") or (
        isinstance(node, ast.Call) and ast.unparse(node.func) == "np.zeros"
    )


def is_text(node: ast.BinOp) -> bool:
    """Return True if strings or lists are put together, not numbers."""
    return any(
        isinstance(part, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


def is_signal(node: ast.expr) -> bool:
    """Return True for `sheet.add("name", value, contribution)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add"
        and len(node.args) == 3
        and isinstance(node.args[0], ast.Constant)
    )


def times_zero(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Mult(), ast.Constant(0))


# Running the tests


class Mutated(SourceFileLoader):
    """Finds and loads one module from code that is given; all others as ever."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        super().__init__(name, str(path))
        self.mutated = code

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        return self.mutated


def ranking_tests() -> list[Path]:
    """The test modules that are marked for this."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if "pytest.mark.ranking" in file.read_text("utf-8")]


def load(tests: Sequence[Path]) -> Dependents:
    """Import all that the tests do, and find what of ours depends on what."""
    from hypothesis import settings

    settings.register_profile("mutants", derandomize=True, deadline=None, max_examples=5)
    settings.load_profile("mutants")
    for path in tests:
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for library in ("langchain_core.documents", "llama_index.core.schema"):
        if importlib.util.find_spec(library.split(".")[0]):
            importlib.import_module(library)
    return Dependents()


class Dependents:
    """Imports between the loaded modules of the package and its tests."""

    def __init__(self) -> None:
        self.files = {
            name: Path(module.__file__)
            for name, module in sys.modules.items()
            if name.split(".")[0] in (TOP, "tests") and module.__file__
        }
        self.imports = {name: self._imported(path) for name, path in self.files.items()}

    def of(self, module: str) -> set[str]:
        """The module, and all that imports it, directly or by way of others."""
        found: set[str] = set()
        new = {module}
        while new:
            found |= new
            new = {name for name, names in self.imports.items() if names & new} - found
        return found

    def tests_of(self, module: str, tests: Sequence[Path]) -> list[list[Path]]:
        """The tests that a change of the module can fail: those that import it, then others."""
        names = {path: name for name, path in self.files.items()}
        dependents = self.of(module)
        near = [path for path in tests if module in self.imports[names[path]]]
        far = [path for path in tests if names[path] in dependents and path not in near]
        return [group for group in (near, far) if group]

    def _imported(self, path: Path) -> set[str]:
        found: set[str] = set()
        nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            nodes += ast.iter_child_nodes(node)
        return found & set(self.files)


def run_mutant(tests: Sequence[Path], mutant: Mutant, dependents: Dependents) -> None:
    """Run the tests in this process, against the mutant, and leave with pytest's exit status."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for name in dependents.of(mutant.module):
        forget(name)
    sys.meta_path.insert(0, Mutated(mutant.module, mutant.path, mutant.code()))  # type: ignore[arg-type]
    # No report, and no search of the whole heap for what was not closed: both cost more than tests.
    status = PASSED
    for group in dependents.tests_of(mutant.module, tests):
        status = status or run_tests(group, "--tb=no", "-p", "no:unraisableexception")
    os._exit(status)


def run_unbroken(tests: Sequence[Path]) -> None:
    """Run the tests in this process, on the source as it is, and leave with pytest's status."""
    os._exit(run_tests(tests))


def forget(name: str) -> None:
    """Import the module again on the next import, also by `from package import module`."""
    sys.modules.pop(name, None)
    package, _, module = name.rpartition(".")
    if package in sys.modules:
        vars(sys.modules[package]).pop(module, None)


def run_tests(tests: Sequence[Path], *more: str) -> int:
    """Run the tests in this process; pytest's exit status."""
    import pytest

    options = ["-x", "-q", "-m", "ranking", "--noconftest", "--assert=plain"]
    options += ["-c", os.devnull, "--rootdir", str(ROOT), "-p", "no:cacheprovider"]
    options += ["-W", "error", "-W", "ignore::pytest.PytestUnknownMarkWarning"]
    return int(pytest.main([*options, *more, *map(str, tests)]))


def survivors(
    mutants: Sequence[Mutant], tests: Sequence[Path], dependents: Dependents, workers: int
) -> list[Mutant]:
    """The mutants against which all tests pass."""
    fork = multiprocessing.get_context("fork")
    waiting = list(reversed(mutants))
    running: dict[int, tuple[ForkProcess, Mutant]] = {}
    survived: list[Mutant] = []
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            process = fork.Process(target=run_mutant, args=(tests, mutant, dependents))
            process.start()
            running[process.sentinel] = process, mutant
        for sentinel in wait(list(running)):
            process, mutant = running.pop(sentinel)
            process.join()
            if process.exitcode == PASSED:
                survived.append(mutant)
            elif process.exitcode not in (FAILED, INTERRUPTED) and (process.exitcode or 0) >= 0:
                raise MutationError(f"pytest left with {process.exitcode} on {mutant}")
    return sorted(survived, key=mutants.index)


def check_baseline(tests: Sequence[Path]) -> None:
    """Require that the tests pass on the source as it is."""
    process = multiprocessing.get_context("fork").Process(target=run_unbroken, args=(tests,))
    process.start()
    process.join()
    if process.exitcode != PASSED:
        raise MutationError(f"the tests fail without any mutant (exit status {process.exitcode})")


def table(mutants: Sequence[Mutant], survived: Sequence[Mutant]) -> str:
    """Mutants and survivors of each module, and then the survivors."""
    total = Counter(str(mutant.path.relative_to(ROOT)) for mutant in mutants)
    left = Counter(str(mutant.path.relative_to(ROOT)) for mutant in survived)
    width = max(map(len, total))
    lines = [f"{'module':{width}}  mutants  survived"]
    lines += [f"{name:{width}}  {total[name]:7}  {left[name]:8}" for name in sorted(total)]
    lines += [f"{'all':{width}}  {len(mutants):7}  {len(survived):8}"]
    lines += [f"survived: {mutant}" for mutant in survived]
    return "\n".join(lines)


def main() -> int:
    """Run the mutants asked for; 1 if any survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="mutants whose description holds this text")
    parser.add_argument("--list", action="store_true", help="name the mutants, and run nothing")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tests", type=Path, nargs="+", help="test modules, instead of the marked")
    given = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy reads this when it is loaded
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(ROOT))
    mutants = [mutant for mutant in all_mutants() if given.only in str(mutant)]
    if not mutants:
        raise MutationError(f"no mutant's description holds {given.only!r}")
    if given.list:
        sys.stdout.write("\n".join(map(str, mutants)) + "\n")
        return 0
    tests = [path.resolve() for path in given.tests or ranking_tests()]
    started = time.monotonic()
    dependents = load(tests)
    gc.freeze()
    check_baseline(tests)
    survived = survivors(mutants, tests, dependents, given.workers)
    sys.stdout.write(table(mutants, survived) + "\n")
    sys.stdout.write(f"{time.monotonic() - started:.0f} s\n")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
