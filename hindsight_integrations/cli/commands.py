"""The root command, its errors, and the commands for a whole memory."""

from __future__ import annotations

import errno
import inspect
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group
from typer.core import TyperGroup

from hindsight_integrations._version import __version__
from hindsight_integrations.cli import (
    conclusions,
    config,
    namespaces,
    pictures,
    service,
    shell,
    tables,
    verbs,
    workspace,
)
from hindsight_integrations.cli import models as model_commands
from hindsight_integrations.cli.job import JSON_KEY, Job, on_memory, on_screen
from hindsight_integrations.cli.screen import FAILED, INTERRUPTED, Output, Screen, interruptible
from hindsight_integrations.errors import BankNotFoundError, HindsightError
from hindsight_integrations.settings import variable

if TYPE_CHECKING:
    from hindsight_integrations.export_import import BackupResult


class _Commands(TyperGroup):
    """Every command, with errors reported in one line instead of a traceback."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        _tidy(self)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before a command; for one that commands have, say where it belongs."""
        option = args[0].partition("=")[0] if args else ""
        of_commands = {opt for command in self.commands.values() for opt in _options_of(command)}
        if option in of_commands and option not in _options_of(self):
            ctx.fail(f"{option} goes after the command, as in: {ctx.info_name} recall ... {option}")
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that is named; for one of a group, say which groups have it."""
        name = args[0]
        groups = [each for each in self.commands if name in _commands_of(self, each)]
        if groups and name not in self.commands:
            meant = " or ".join(f"'{group} {name}'" for group in groups)
            ctx.fail(f"No such command {name!r}. Did you mean {meant}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (HindsightError, OSError, typer.Abort, KeyboardInterrupt) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # whoever reads the output has enough
            Screen(ctx.meta.get(JSON_KEY, False)).fail(error, _told(self, error))
            code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
            raise typer.Exit(code) from error
        except Exception as error:  # typer has no public name for a wrong usage
            _ask_for_quotes(error)
            raise


def _told(root: Any, error: BaseException) -> str:
    """Return the line that reports an error."""
    if isinstance(error, HindsightError):
        said = _with_commands(root, " ".join(str(error).split()))
        missing = isinstance(error, BankNotFoundError)
        return f"{said}; 'hindsight-memory banks list' shows the banks" if missing else said
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        return f"{error.filename}: {reason}" if error.filename else reason
    if isinstance(error, typer.Abort):
        return "not confirmed; nothing was changed"
    return "interrupted; everything stored so far is intact"


def _ask_for_quotes(error: Any) -> None:
    """Say in the error for words that are too many that a text of several words needs quotes."""
    command = getattr(getattr(error, "ctx", None), "command", None)
    takes = {each.name for each in getattr(command, "params", ())}
    if "unexpected extra argument" in str(error) and not takes.isdisjoint({"query", "text"}):
        error.message += "; put a text of several words into quotes"


def _options_of(command: Any) -> list[str]:
    """Return the options of a command, as they are spelled."""
    return [opt for each in command.params for opt in each.opts if opt.startswith("-")]


def _commands_of(root: Any, group: str) -> Mapping[str, object]:
    """Return the commands of a group by name; none if it is no group."""
    return getattr(root.commands.get(group), "commands", {})


_CALL = re.compile(r"\b(?:call )?([a-z_]+)\.([a-z]+)\('([^']+)'\)")


def _with_commands(root: Any, message: str) -> str:
    """Return an error's message with the commands that do what the methods it names do."""

    def command(call: re.Match[str]) -> str:
        namespace, verb, bank = call.groups()
        group = namespace.replace("_", "-")
        if verb not in _commands_of(root, group):
            return call[0]
        given = bank if group == "banks" else f"--bank {bank}"
        return f"'hindsight-memory {group} {verb} {given}'"

    return _CALL.sub(command, message)


def _tidy(command: Any) -> None:
    """Wrap help texts at the width of the terminal, and show no type of what takes no value."""
    command.help = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(command.help or ""))
    for parameter in command.params:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for name in getattr(command, "commands", ()):
        _tidy(command.commands[name])


app: typer.Typer = typer.Typer(
    name="hindsight-memory",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Long-term memory: retain text, recall what answers a question, and see why.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found, 130 interrupted.",
)

_FIRST, _THEN, _KEEP = "Start here", "Use a memory", "Manage a memory"
_NOTES = "A folder of notes"


@app.command(rich_help_panel=_FIRST)
@on_screen
def demo(
    output: Screen,
    question: Annotated[
        list[str] | None,
        typer.Option(
            "--question", "-q", help="Ask this instead of the demo questions; repeatable."
        ),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep the memory in, for later use.")
    ] = None,
    notes: Annotated[
        bool, typer.Option("--workspace", help="Run the demo on a folder of notes instead.")
    ] = False,
) -> Output:
    """Retain eight months of conversations and compare recall with plain vector search."""
    if notes:
        return _demo_of_notes(output, question or (), keep)
    started = time.perf_counter()
    from hindsight_integrations.client import Hindsight
    from hindsight_integrations.demo import compare, screen
    from hindsight_integrations.demo.story import load_story

    if not all(map(str.strip, question or ())):
        raise typer.BadParameter("--question is blank; give a question")
    story = load_story()
    output.draw(screen.opening(story))
    folder = nullcontext(keep) if keep else TemporaryDirectory(prefix="hindsight-demo-")
    with folder as path, Hindsight(path) as memory:
        with output.progress("Retaining") as report:
            retained = compare.remember(memory, story, report)
        output.draw(screen.retained(retained, len(story.messages)))
        plain = compare.PlainSearch(story, memory.embedder)
        asked = [story.ask(text) for text in question] if question else story.questions
        comparisons: list[compare.Comparison] = []
        with interruptible() as check:
            for number, question_asked in enumerate(asked, start=1):
                comparisons.append(compare.compare(memory, plain, story, question_asked))
                output.draw(screen.comparison(comparisons[-1], story, number))
                check()
    seconds = time.perf_counter() - started
    answers = [{"question": c.question, "plain": c.plain, "recall": c.recall} for c in comparisons]
    data = {"retained": retained, "questions": answers, "seconds": seconds}
    output.draw(screen.tally(comparisons, seconds))
    return Output(data, None)


def _demo_of_notes(output: Screen, questions: Sequence[str], keep: Path | None) -> Output:
    started = time.perf_counter()
    from hindsight_integrations.client import Hindsight
    from hindsight_integrations.demo import sample
    from hindsight_integrations.workspace import Workspace

    asked = [sample.SampleQuestion(text, "") for text in questions] or sample.load_questions()
    folder = nullcontext(keep) if keep else TemporaryDirectory(prefix="hindsight-demo-")
    with folder as path:
        root = sample.copy_sample(Path(path))
        with (
            Hindsight(Path(path) / "memory") as memory,
            Workspace(memory, "ines", root) as workspace,
        ):
            synced = workspace.sync()
            output.draw(sample.opening(root, synced))
            answers = [sample.answer(workspace, each) for each in asked]
    for one in answers:
        output.draw(sample.comparison(one))
    seconds = time.perf_counter() - started
    data = {"notes": synced.counts, "questions": answers, "seconds": seconds}
    if not questions:
        output.draw(sample.tally(answers, seconds))
    return Output(data, None)


app.command(rich_help_panel=_THEN)(verbs.retain)
app.command(rich_help_panel=_THEN)(verbs.recall)
app.command(rich_help_panel=_THEN)(conclusions.reflect)
app.command(rich_help_panel=_THEN)(conclusions.context)
app.command(rich_help_panel=_THEN)(shell.shell)
app.command(rich_help_panel=_THEN)(pictures.graph)
app.command(rich_help_panel=_THEN)(pictures.timeline)
app.command(rich_help_panel=_THEN)(service.view)
app.command(rich_help_panel=_THEN)(service.serve)
app.command(rich_help_panel=_THEN)(service.mcp)
app.command("import-chats", rich_help_panel=_THEN)(verbs.import_chats)
app.command(rich_help_panel=_NOTES)(workspace.sync)
app.command(rich_help_panel=_NOTES)(workspace.search)
app.command(rich_help_panel=_NOTES)(workspace.watch)
app.command(rich_help_panel=_NOTES)(workspace.migrate)
app.add_typer(workspace.shadow, name="shadow", rich_help_panel=_NOTES)
app.command(rich_help_panel=_KEEP)(workspace.health)
app.add_typer(namespaces.banks, name="banks", rich_help_panel=_KEEP)
app.add_typer(namespaces.memories, name="memories", rich_help_panel=_KEEP)
app.add_typer(namespaces.documents, name="documents", rich_help_panel=_KEEP)
app.add_typer(namespaces.tags, name="tags", rich_help_panel=_KEEP)
app.add_typer(namespaces.entities, name="entities", rich_help_panel=_KEEP)
app.add_typer(conclusions.observations, name="observations", rich_help_panel=_KEEP)
app.add_typer(conclusions.opinions, name="opinions", rich_help_panel=_KEEP)
app.add_typer(conclusions.mental_models, name="mental-models", rich_help_panel=_KEEP)
app.command(rich_help_panel=_KEEP)(conclusions.consolidate)
app.add_typer(model_commands.models, name="models", rich_help_panel=_KEEP)


@app.command(rich_help_panel=_KEEP)
@on_memory(one_bank=False)
def doctor(
    job: Job,
    look: Annotated[bool, typer.Option("--look", help="Only check; repair nothing.")] = False,
) -> Output:
    """Compare the two stores, repair them, and report what was done.

    Exits with 1 if any fault remains.
    """
    diagnosis = job.memory.maintenance.doctor(repair=not look)
    health = job.memory.health()
    data = {"healthy": diagnosis.healthy, "findings": diagnosis.findings, "parts": health.parts}
    code = 0 if diagnosis.healthy and health.ok else FAILED
    return Output(data, tables.diagnosis(diagnosis, health), code=code)


@app.command(rich_help_panel=_KEEP)
@on_memory()
def reindex(job: Job) -> Output:
    """Recompute all vectors and terms of a bank.

    The embedder is the model that HINDSIGHT_EMBEDDER names, or else the bundled one.
    """
    memory = job.memory
    with job.screen.progress("Reindexing") as report:
        made = memory.maintenance.reindex(job.bank, progress=report)
    data = {"bank": job.bank, "vectors": made}
    return Output(data, f"Recomputed {tables.count(made, 'vector')} of bank {job.bank}")


@app.command(rich_help_panel=_KEEP)
@on_memory(one_bank=False)
def backup(
    job: Job,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file.")],
) -> Output:
    """Copy the whole memory into one file, even while a program or a service has it open.

    An existing file is replaced only once the new one is complete and checked.
    """
    from hindsight_integrations.export_import import back_up_folder

    with job.screen.progress("Copying") as report:
        if variable("HINDSIGHT_GRAPH"):
            result = job.memory.maintenance.backup(file, progress=report)
        else:
            result = back_up_folder(job.path, file, report)
    return Output(result, f"Copied {_in_all(result)} to {file}")


@app.command(rich_help_panel=_KEEP)
@on_memory(create=True, one_bank=False)
def restore(
    job: Job,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Backup file.")],
) -> Output:
    """Restore a memory folder from a backup, and check it with the doctor.

    A folder that already contains a memory is never overwritten. Exits with 1 if any fault remains.
    """
    from hindsight_integrations.export_import import restore_folder

    with job.screen.progress("Copying") as report:
        result = restore_folder(file, job.path, report)
    job.location["graph"] = None  # the folder's own, whatever the environment names
    diagnosis, health = job.memory.maintenance.doctor(), job.memory.health()
    line = f"Restored {_in_all(result)} to {job.path}"
    data = {"restored": result, "findings": diagnosis.findings, "parts": health.parts}
    code = 0 if diagnosis.healthy and health.ok else FAILED
    return Output(data, Group(line, tables.diagnosis(diagnosis, health)), code=code)


def _in_all(result: BackupResult) -> str:
    contents = f"{tables.count(result.banks, 'bank')}, {tables.count(result.memories, 'memory')}"
    return f"{contents} ({result.bytes / 1e6:,.1f} MB)"


@app.command(rich_help_panel=_KEEP)
@on_memory()
def export(
    job: Job,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Output file; .gz compresses it, - is standard output."
        ),
    ],
) -> Output:
    """Export a bank with all its contents into one file.

    An existing file is replaced only once the new one is complete.
    """
    from hindsight_integrations.export_import import PIPE

    piped = str(file) == PIPE
    if piped and job.screen.as_json:
        raise typer.BadParameter(
            "standard output cannot hold both the bank and the --json result; give a file"
        )
    memory = job.memory
    with job.screen.progress("Exporting") as report:
        result = memory.banks.export(job.bank, file, progress=report)
    line = f"Wrote bank {job.bank} to {file}: {_counted(result.counts)}"
    return Output(result, None if piped else line)


@app.command("import", rich_help_panel=_KEEP)
@on_memory(create=True, one_bank=False)
def import_(
    job: Job,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Exported file; - is standard input.")
    ],
    bank: Annotated[
        str | None,
        typer.Option("--bank", "-b", help="New id for the bank. (default the id in the file)"),
    ] = None,
    reembed: Annotated[
        bool,
        typer.Option("--reembed", help="Recompute the vectors with the embedder of this memory."),
    ] = False,
    merge: Annotated[
        bool, typer.Option("--merge", help="Add the file to an existing bank.")
    ] = False,
) -> Output:
    """Create a bank from an exported file, completely or not at all.

    The file is checked first; a truncated or altered file is refused.
    """
    from hindsight_integrations.export_import import PIPE

    if str(file) != PIPE and not file.is_file():
        raise typer.BadParameter(f"there is no file {file}")
    memory = job.memory
    with job.screen.progress("Importing") as report:
        result = memory.banks.import_(file, bank, reembed=reembed, merge=merge, progress=report)
    did = "Added to" if result.merged else "Created"
    known = f"; {result.known} of the memories were already there" if result.known else ""
    counts = _counted(result.counts)
    return Output(result, f"{did} bank {result.bank_id} from {file}: {counts}{known}")


def _counted(counts: Mapping[str, int]) -> str:
    kinds = ("memory", "document", "entity", "link")
    return ", ".join(tables.count(counts.get(kind, 0), kind) for kind in kinds)


def _baseline(name: str) -> str:
    if name not in ("chroma", "bm25"):
        raise typer.BadParameter(f"{name!r} is no baseline; choose from chroma, bm25")
    return name


@app.command(rich_help_panel=_KEEP)
@on_screen
def evaluate(
    screen: Screen,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", exists=True, dir_okay=False, help="Datasets in JSON."),
    ],
    format: Annotated[
        Literal["hindsight", "locomo", "longmemeval"],
        typer.Option(help="Format of the files: that of this package, or of a benchmark."),
    ] = "hindsight",
    tokens: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Token budget; repeatable. (default 1024, 2048, 4096)"),
    ] = None,
    budget: Annotated[
        Literal["low", "mid", "high"], typer.Option(help="Search effort; higher is slower.")
    ] = "mid",
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            parser=_baseline,
            metavar="[chroma|bm25]",
            help="Also measure a plain search; repeatable.",
        ),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="An installed model; see: hindsight-memory models list")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of questions per bank.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Ask only every Nth question.")] = 1,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep the memory in, for the next evaluation.")
    ] = None,
) -> Output:
    """Measure how well recall finds the evidence for your own questions.

    A dataset is JSON: banks with items, and questions with the ids of the items that answer them;
    docs/benchmarks.md describes its fields.
    """
    from hindsight_integrations import evaluate as measuring

    evaluations: list[measuring.Evaluation] = []
    with screen.progress("evaluate") as report:

        def moved(stage: str, done: int, total: int) -> None:
            report(done, total, f"{dataset.name}: {stage}")

        options: dict[str, Any] = {
            "max_tokens": tuple(tokens or measuring.run.BUDGETS),
            "limit_questions": limit,
            "every": every,
            "embedder": embedder,
            "progress": moved,
        }
        for file in files:
            dataset = measuring.load_dataset(file, format)
            evaluations.append(measuring.evaluate(dataset, path=keep, budget=budget, **options))
            evaluations += [
                measuring.evaluate_baseline(dataset, name, **options) for name in baseline or ()
            ]
    warnings = [
        f"failed {times} times: {failure}"
        for evaluation in evaluations
        for failure, times in evaluation.failures.items()
    ]
    return Output(
        [evaluation.content() for evaluation in evaluations], Group(*evaluations), warnings
    )


@app.command(rich_help_panel=_FIRST)
@on_screen
def version(screen: Screen) -> Output:
    """Show the installed release."""
    data = {"name": "hindsight-integrations", "version": __version__}
    return Output(data, f"hindsight-integrations {__version__}")


def _show_version(value: bool) -> None:
    if value:
        version(as_json=False)
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            envvar="HINDSIGHT_CONFIG",
            help="TOML file with defaults of options. (default the user's config.toml, if any)",
        ),
    ] = None,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the release."),
    ] = False,
) -> None:
    """Options before a command."""
    if file is None and not config.DEFAULT.is_file():
        return
    defaults = config.read_config(file or config.DEFAULT, context.command)
    for name, given in (context.default_map or {}).items():  # of a shell, which precede
        defaults[name] = config.merged(defaults.get(name, {}), given)
    context.default_map = defaults


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal of another encoding lacks some characters
            stream.reconfigure(errors="replace")
    app(prog_name="hindsight-memory")  # not the file that `python -m` runs
