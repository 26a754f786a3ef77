"""Every page's code runs as printed, and what a page lists is what the project has.

Python blocks of a page run in order, in one namespace and an empty working directory; shell blocks
run in one bash. What a reader has and a test has not is replaced, and all of it is listed here: the
replies of a language model, the addresses of servers, files of the reader's own, and the commands
that would install or start something.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from hindsight_integrations import Hindsight
from hindsight_integrations.export_import.bank_file import LINES, SCHEMA
from hindsight_integrations.nlp.model_registry import MODELS as REGISTRY
from hindsight_integrations.stores.base import GraphStore, VectorIndex

from .examples import blocks, run_python
from .forked_commands import forking
from .llamaindex.upstream import WARNINGS
from .ollama_server import served as ollama_served
from .published_formats import INSTANCE, SAMPLE
from .service.served import served as service
from .stores.chroma_server import served
from .stores.guarded import certificate, guarded
from .stores.neo4j_server import Address, empty_neo4j, neo4j_address
from .test_beside_others import OTHERS

__all__ = ["empty_neo4j", "neo4j_address"]

ROOT = Path(__file__).parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

SLOW = pytest.mark.slow
FAST = {
    *(
        "docs/models.md",
        "docs/moving.md",
        "docs/observations.md",
        "docs/reflect.md",
        "docs/retain.md",
    ),
    "docs/control.md",
    "docs/pictures.md",
    "docs/stores.md",
    "docs/transcripts.md",
    "docs/errors.md",
    "docs/index.md",
    "docs/quickstart.md",
}
"""Pages that need neither a framework nor a server."""

REPLIES = {
    "docs/conversations.md": ("Alice prefers trains to planes.",) * 2,
}
"""Replies of the models that a page names, in turn."""

SERVERS = {
    "neo4j://localhost:7687": "neo4j_url",
    "neo4j://graph-{n}:7687": "neo4j_url",
    "neo4j+s://graph.example.org": "neo4j_url",
    "http://localhost:8000": "chroma_url",
    "http://localhost:11434": "ollama_url",
    "http://localhost:8888": "service_url",
    "http://vectors-{n}:8000": "chroma_url",
    "https://vectors.example.org": "chroma_url_over_tls",
}
"""Addresses on the pages, and the fixture whose server takes each one's place."""


OWN_FILES = {
    "docs/benchmarks.md": {
        "mine.json": "{dataset}",
        "locomo10.json": json.dumps([SAMPLE]),
        "longmemeval_s.json": json.dumps([INSTANCE]),
    },
}
"""Files of a reader's own; `{dataset}` is the example of the format in docs/benchmarks.md."""

APART = "docs/graph.md"
"""Its blocks need packages with another driver: tests/test_graph_page.py runs them."""

MODELS = {"e5-small-v2": "all-MiniLM-L6-v2"}
"""Models on the pages that a reader has installed, and the one that takes the place of each."""

COMPOSE = (
    ["compose", "up", "--wait"],
    ["compose", "--profile", "service", "up", "--wait"],
)
"""Calls of docker on the pages."""

NOT_RUN = ("claude", "codex", "curl", "docker", "gunicorn", "make", "pip", "python")
"""Commands that a shell block only calls by name: what they are given is checked instead."""


def _pages_with(language: str) -> list[str]:
    return [
        page
        for page, text in PAGES.items()
        if page != APART
        if any(block.language == language for block in blocks(text))
    ]


def _marks(page: str) -> list[pytest.MarkDecorator]:
    marks = [] if page in FAST else [SLOW]
    if "neo4j://" in PAGES[page]:
        marks.append(pytest.mark.xdist_group("neo4j"))
    return [*marks, WARNINGS] if page == "docs/llamaindex.md" else marks


@pytest.mark.parametrize("page", PAGES)
def test_no_block_of_a_page_is_passed_over(page: str) -> None:
    found = blocks(PAGES[page])
    assert len(re.findall(r"^ *```", PAGES[page], re.MULTILINE)) == 2 * len(found)
    run_or_read = {"", "bash", "cypher", "json", "mermaid", "python", "text", "toml"}
    assert {block.language for block in found} <= run_or_read
    unnamed = [block.text for block in found if not block.language]  # trees of files
    assert not re.search(r"^(hindsight-memory|import|make|pip|python) ", "".join(unnamed), re.M)


# Python


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """The empty folder in which a reader tries a page."""
    folder = tmp_path / "reader"
    folder.mkdir()
    return folder


@pytest.fixture
def neo4j_url(empty_neo4j: Address, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("NEO4J_USERNAME", empty_neo4j.user or "neo4j")
    monkeypatch.setenv("NEO4J_PASSWORD", empty_neo4j.password or "not asked for")
    monkeypatch.setenv("NEO4J_DATABASE", empty_neo4j.database)
    return "neo4j://" + empty_neo4j.uri.partition("://")[2]


@pytest.fixture
def chroma_url(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path / "chroma-server") as url:
        yield url


@pytest.fixture
def chroma_url_over_tls(
    chroma_url: str, reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    monkeypatch.setenv("CHROMA_TOKEN", "a-token")
    secured = certificate(tmp_path)
    shutil.copy(secured[0], reader / "authority.pem")
    with guarded(int(chroma_url.rpartition(":")[2]), "a-token", secured) as url:
        yield url


@pytest.fixture
def ollama_url() -> Iterator[str]:
    """Serve one scripted reply; each request has to bring the memory that answers."""
    reply = {"action": "answer", "query": "", "answer": "In Mandal.", "sources": []}
    with ollama_served(reply) as (url, asked):
        yield url
    chats = [each for each in asked if each["path"] == "/api/chat"]
    assert len(chats) == 3  # one client each
    assert all("Ana keeps her boat in Mandal." in json.dumps(each) for each in chats)


@pytest.fixture
def service_url() -> Iterator[str]:
    with Hindsight.in_memory() as memory, service(memory) as url:
        yield url


@pytest.fixture
def event_loop() -> Iterator[None]:
    """Give the page an event loop that is closed at the end: LlamaIndex would leave one open.

    So would Hindsight's client, which makes another after `asyncio.run`.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    with suppress(RuntimeError):  # there is none
        asyncio.get_event_loop().close()
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("event_loop")
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=_marks(page)) for page in _pages_with("python")]
)
def test_the_python_of_a_page_runs_as_printed(
    page: str, reader: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def adapted(code: str) -> str:
        for address, fixture in SERVERS.items():
            if address in code:
                code = code.replace(address, request.getfixturevalue(fixture))
        for model, bundled in MODELS.items():
            code = code.replace(f'embedder="{model}"', f'embedder="{bundled}"')
        return code

    replies_left: Collection[str] = ()
    if page in REPLIES:
        from . import openai_models  # late: it loads both frameworks

        replies_left = openai_models.install(monkeypatch, REPLIES[page])
    run_python(PAGES[page], reader, page=page, adapt=adapted)
    assert not replies_left


# Shell


def _executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def _dataset() -> str:
    (dataset,) = (b.text for b in blocks(PAGES["docs/benchmarks.md"]) if b.language == "json")
    return dataset


@pytest.fixture(scope="module")
def command_line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What starts the command line, as the script of the package does."""
    script = PROJECT["project"]["scripts"]["hindsight-memory"]
    assert script == "hindsight_integrations.cli:main"
    with forking(tmp_path_factory.mktemp("commands")) as command:
        yield command


@SLOW
@pytest.mark.parametrize("page", _pages_with("bash"))
def test_the_shell_commands_of_a_page_run_as_printed(
    page: str, reader: Path, tmp_path: Path, command_line: str
) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    called = tmp_path / "called"
    named = '"models add"|"serve --path"'
    adding = f'case "$1 $2" in {named}) echo hindsight-memory "$@" >> {called}; exit;; esac'
    _executable(commands / "hindsight-memory", f'{adding}\nexec {command_line} "$@"')
    _executable(commands / "ssh", 'shift\nHINDSIGHT_PATH=at-the-host exec "$@"')
    for name in NOT_RUN:
        _executable(commands / name, f'echo {name} "$@" >> {called}')
    for name, text in OWN_FILES.get(page, {}).items():
        (reader / name).parent.mkdir(exist_ok=True)
        (reader / name).write_text(text.replace("{dataset}", _dataset()), encoding="utf-8")

    script = "\n".join(block.text for block in blocks(PAGES[page]) if block.language == "bash")
    environ = {name: v for name, v in os.environ.items() if not name.startswith("HINDSIGHT_")}
    environ |= {"PATH": f"{commands}:{environ['PATH']}", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=reader,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = called.read_text(encoding="utf-8").splitlines() if called.exists() else []
    commands_called = [shlex.split(line) for line in lines]
    helps = _helps({call[2] for call in commands_called if call[:2] == ["python", "-m"]})
    for call in commands_called:
        _check(call, helps)


_HELPS = """
import contextlib, io, json, runpy, sys
shown = {}
for module in sys.argv[1:]:
    sys.argv[1:] = ["--help"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            assert not ended.code, (module, ended.code)
    shown[module] = printed.getvalue()
print(json.dumps(shown))
"""


def _helps(modules: Collection[str]) -> dict[str, str]:
    """Return what each `python -m module --help` prints, of one process.

    Each would load the package in two seconds, and a page names twenty.
    """
    if not modules:
        return {}
    command = [sys.executable, "-c", _HELPS, *sorted(modules)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(ran.stdout))


def _check(command: list[str], helps: Mapping[str, str]) -> None:
    """Assert that a command which was not run names what exists: targets, extras, options.

    Args:
        command: its words.
        helps: what the modules print that commands run.
    """
    match command:
        case ["make", *targets]:
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
        case ["pip", "install", *requirements]:
            extras = PROJECT["project"]["optional-dependencies"].keys()
            for requirement in requirements:
                name, _, named = requirement.removesuffix("]").partition("[")
                assert name == PROJECT["project"]["name"]
                assert {*filter(None, named.split(","))} <= extras
        case ["python", "-m", module, *arguments]:
            assert [a for a in arguments if a.startswith("--") and a not in helps[module]] == []
        case ["claude" | "codex", "mcp", "add", *line]:
            assert "--" in line  # tests/service/test_mcp_page.py runs what follows it
        case ["curl", "-O", address]:
            assert address in {model.source for model in REGISTRY.values()}
        case ["hindsight-memory", "models", "add", file]:
            assert file in {model.source.rpartition("/")[2] for model in REGISTRY.values()}
        case ["hindsight-memory", "serve", "--path", _]:
            pass  # tests/service/test_serving.py runs it
        case ["gunicorn", *arguments]:  # tests/test_opening.py runs it
            assert arguments == ["--preload", "--workers", "2", "wsgi:app"]
        case ["docker", *arguments]:
            assert arguments in COMPOSE  # compose.yaml has tests of its own
        case _:
            raise AssertionError(f"a page calls {command}, which no test knows")


# Lists


def test_the_page_on_moving_names_each_line_of_an_exported_file() -> None:
    page = PAGES["docs/moving.md"]
    cells = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
    assert {*re.findall(r"`([\w-]+)`", " ".join(cells))} == {*LINES}
    assert f"(now {SCHEMA})" in page


def _required_names() -> set[str]:
    """Return every distribution that pyproject.toml asks for, extras and build included."""
    project = PROJECT["project"]
    requirements = [
        *PROJECT["build-system"]["requires"],
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}  # type: ignore[index]
    return names - {project["name"]}


def test_every_page_is_reached_from_the_readme_in_two_steps() -> None:
    linked = re.findall(r"\]\((\w[\w-]*\.md)", PAGES["docs/index.md"])
    assert "(docs/index.md)" in PAGES["README.md"]
    assert {f"docs/{name}" for name in linked} == {
        page for page in PAGES if page.startswith("docs/") and page != "docs/index.md"
    }


def test_the_pages_on_stores_name_and_count_each_method_of_the_ports() -> None:
    ports = [[name for name in vars(port) if name[0] != "_"] for port in (GraphStore, VectorIndex)]
    steps = PAGES["docs/stores.md"].partition("### The order to work in")[2].partition("\n### ")[0]
    assert {*ports[0]} <= {*re.findall(r"`(\w+)`", steps)}
    row = "| methods of `GraphStore`, of `VectorIndex` | {}, {} |".format(*map(len, ports))
    assert row in PAGES["docs/architecture.md"]


def test_every_dependency_has_a_row_that_says_why_and_every_row_is_a_dependency() -> None:
    section = PAGES["docs/decisions.md"].partition("## Dependencies\n")[2].partition("\n## ")[0]
    # One table: a blank line would split it in two, of which the second is plain text.
    (table,) = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    named: list[str] = []
    for row in table.splitlines()[2:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 3, row
        assert all(cells), row
        named += re.findall(r"`([\w.-]+)`", cells[1])
    assert sorted(named) == sorted(_required_names())


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_to_files_and_headings(page: str) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`\n]*`", "", PAGES[page])):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (heading and heading not in _headings(file)):
            broken.append(target)
    assert broken == []


def test_the_readme_has_no_link_on_pypi_that_leads_nowhere_there() -> None:
    command = [sys.executable, "-m", "hatch_fancy_pypi_readme", "pyproject.toml"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("# hindsight-integrations\n")
    assert "docs/benchmarks.md" in shown
    assert [t for t in re.findall(r"\]\(([^)]+)\)", shown) if not t.startswith("https://")] == []


def test_the_source_distribution_has_what_the_readme_names() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    links = re.findall(r"\]\(([^):]+)\)", PAGES["README.md"])
    assert {link.partition("/")[0] for link in links} <= {*included}


def _headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_exist(page: str) -> None:
    """A path in backticks is one of the repository, of the package or beside the page; a bare
    file name that of a module or a test."""
    package = ROOT / PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"][0]
    names = {path.name for folder in (package, ROOT / "tests") for path in folder.rglob("*.py")}
    paths = re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.py)`", PAGES[page])
    assert [
        path
        for path in paths
        if path not in names
        and not any((root / path).exists() for root in (ROOT, package, (ROOT / page).parent))
    ] == []


# Workflow


def test_continuous_integration_runs_on_every_python_that_the_package_names() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["test"]
    prefix = "Programming Language :: Python :: 3."
    named = [
        classifier.rpartition(" ")[2]
        for classifier in PROJECT["project"]["classifiers"]
        if classifier.startswith(prefix)
    ]
    assert job["strategy"]["matrix"]["python"] == named
    assert job["steps"][-1]["run"] == ".ci/run"
    assert [*workflow["jobs"]["beside"]["strategy"]["matrix"]["part"], "all"] == [*OTHERS]
