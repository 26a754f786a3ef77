"""`hindsight-memory retain`, `import-chats` and `recall`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from rich.console import Group, RenderableType

from hindsight_integrations.cli import inputs, tables
from hindsight_integrations.cli.filters import Filters, common_filters, filtered_by, search_options
from hindsight_integrations.cli.job import DEFAULT_BANK, Job, TimeOption, on_memory, time_option
from hindsight_integrations.cli.screen import FAILED, FOUND_NOTHING, Output, jsonable
from hindsight_integrations.models import Arm, MemoryType, every_item
from hindsight_integrations.results import RetainResult

if TYPE_CHECKING:
    from hindsight_integrations.retain.file_dates import FileDate

TOP = 10
ARMS = f"[{'|'.join(Arm)}]"


def _arm(text: str) -> Arm:
    try:
        return Arm(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no search; choose from {', '.join(Arm)}") from error


@on_memory(create=True)
def retain(
    job: Job,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text; - reads standard input.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", exists=True, dir_okay=False, help="A text file; repeatable."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Every .txt and .md below this folder."),
    ] = None,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="With --folder: forget .txt and .md documents that it does not contain."
        ),
    ] = False,
    jsonl: Annotated[
        Path | None,
        typer.Option(
            help="Items, one {content, timestamp, tags, ...} per line; - reads standard input."
        ),
    ] = None,
    conversation: Annotated[
        bool,
        typer.Option("--conversation", help="The lines are messages: {speaker, text, timestamp}."),
    ] = False,
    session: Annotated[
        str | None, typer.Option(help="Id of the conversation, for messages without one.")
    ] = None,
    document: Annotated[
        str | None, typer.Option(help="Your id for the text; retaining it again updates it.")
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add to the document instead of replacing it.")
    ] = False,
    timestamp: Annotated[
        TimeOption,
        time_option("When it was said or written; overrides the dates of files. (default now)"),
    ] = None,
    file_dates: Annotated[
        bool,
        typer.Option(
            "--file-dates/--no-file-dates",
            help="Date files by name, front matter, first heading or last change.",
        ),
    ] = True,
    context: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who says it.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label; repeatable.")] = None,
    entity: Annotated[list[str] | None, typer.Option(help="A name in it; repeatable.")] = None,
    type: Annotated[MemoryType | None, typer.Option(help="Type of the statement.")] = None,
    confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Confidence, 0 to 1.")
    ] = None,
    meta: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Metadata; repeatable.")
    ] = None,
    scope: Annotated[str | None, typer.Option(help="A partition of the bank.")] = None,
) -> Output:
    """Remember text: an argument, files, a folder, JSON Lines or standard input.

    Each file becomes a document; its id is the path as given, or relative to the folder. Words like
    "tomorrow" are relative to the date of the file: the first found in its name, its front matter
    ("date:", "created:"), its first heading, or its last change. A heading that is a date applies
    to the text below it. --timestamp overrides these dates; with --no-file-dates the date is now.

    Example: hindsight-memory retain "Ana moved to Porto." --bank ana --timestamp 2025-03-08 --meta
    source=chat
    """
    metadata = dict(map(inputs.read_pair, meta or ()))
    shared = _given(context=context, metadata=metadata, tags=tag, scope=scope)
    single = _given(
        document_id=document,
        update_mode="append" if append else None,
        timestamp=timestamp,
        speaker=speaker,
        entities=entity,
        type=type,
        confidence=confidence,
    )
    if prune and folder is None:
        raise typer.BadParameter("--prune needs --folder, the folder to compare the bank with")
    dated = file_dates and timestamp is None
    items = _read(text, file, folder, jsonl, document, dated)
    if conversation or session is not None:
        if jsonl is None or single:
            raise typer.BadParameter(
                "a conversation comes from --jsonl and takes only --context, --tag, --meta and "
                "--scope"
            )
        result = _retain_sessions(job, inputs.sessions(items, session), shared)
    else:
        if document is not None and len(items) > 1:
            raise typer.BadParameter("--document is the id of one text, but several were given")
        result = _retain_texts(job, [{**shared, **single, **item} for item in items])
    gone = _gone(job, items) if folder is not None and items else []
    notices = _pruned(job, items, gone) if prune else _not_in_folder(gone)
    warnings = notices + [
        f"item {item.index + 1} was not stored: {item.error}" for item in result.failed
    ]
    code = FAILED if result.failed else 0
    if dated and (file or folder):
        return _with_dates(result, _dates(items), warnings, code)
    return Output(result, tables.retained(result), warnings, code)


def _retain_texts(job: Job, items: Sequence[inputs.Record]) -> RetainResult:
    """Retain texts; raise the error of a single one that failed."""
    memory = job.memory
    with job.screen.progress("Retaining") as report:
        result = memory.retain_many(job.bank, items, progress=report)
    if len(items) == len(result.failed) == 1:
        raise result.failed[0].error
    return result


def _with_dates(
    result: RetainResult, dates: Mapping[str, FileDate], warnings: list[str], code: int
) -> Output:
    """Return the output of retained files, with the date of each."""
    shown = {name: {"date": date.timestamp, "from": date.source} for name, date in dates.items()}
    drawing = Group(tables.retained(result), tables.file_dates(dates))
    data = {**cast(dict[str, object], jsonable(result)), "dates": shown}
    return Output(data, drawing, warnings, code)


def _gone(job: Job, items: Sequence[inputs.Record]) -> list[str]:
    """Return the documents that are named like notes and are not among the items."""
    kept = {str(item["document_id"]) for item in items}
    stored = every_item(
        lambda cursor: job.memory.documents.list(job.bank, limit=1000, cursor=cursor)
    )
    ids = (document.id for document in stored)
    return [id for id in ids if Path(id).suffix.lower() in inputs.NOTES and id not in kept]


def _pruned(job: Job, items: Sequence[inputs.Record], gone: Sequence[str]) -> list[str]:
    """Forget documents that are gone, and return a line for each."""
    if not items:
        raise typer.BadParameter(
            "--prune: the folder contains no note, so everything would be forgotten"
        )
    for document in gone:
        job.memory.forget(job.bank, document_id=document)
    return [f"{document} was forgotten: it is not in the folder" for document in gone]


def _not_in_folder(gone: Sequence[str]) -> list[str]:
    """Return a line on documents that the folder lacks, and that are still remembered."""
    if not gone:
        return []
    others = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    verb = "are" if len(gone) > 1 else "is"
    return [f"{gone[0]}{others} in this bank {verb} not in the folder; use --prune to forget"]


def _given(**options: object) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, [], {})}


def _read(
    text: str | None,
    files: list[Path] | None,
    folder: Path | None,
    jsonl: Path | None,
    document: str | None,
    dated: bool,
) -> list[inputs.Record]:
    """Return the items of the one source that was named."""
    if sum(map(bool, (text is not None, files, folder, jsonl))) != 1:
        raise typer.BadParameter(
            "give exactly one of TEXT (- reads standard input), --file, --folder and --jsonl"
        )
    if text is not None:
        return [{"content": inputs.read_text(Path(text)) if text == "-" else text}]
    if files:
        return [inputs.read_file(path, document or str(path), dated=dated) for path in files]
    if folder:
        return list(inputs.read_folder(folder, dated=dated))
    return inputs.read_records(jsonl or Path("-"))


def _dates(items: Sequence[inputs.Record]) -> dict[str, FileDate]:
    """Return the date that each file was given, by its document."""
    from hindsight_integrations.retain.file_dates import file_date  # reads the word tables

    dates = {
        str(item["document_id"]): file_date(
            str(item["file"]), str(item["content"]), cast(datetime, item["modified"])
        )
        for item in items
    }
    return {name: date for name, date in dates.items() if date is not None}


def _retain_sessions(
    job: Job, by_session: Mapping[str | None, Sequence[inputs.Record]], options: Mapping[str, Any]
) -> RetainResult:
    memory = job.memory
    results: list[RetainResult] = []
    with job.screen.progress("Retaining") as report:
        for session, messages in by_session.items():
            result = memory.retain_messages(job.bank, messages, session=session, **options)
            results.append(result)
            report(len(results), len(by_session))
    return RetainResult.merged(job.bank, results)


@on_memory(one_bank=False)
@filtered_by(common_filters, search_options)
def recall(
    job: Job,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question, or any text.")],
    filters: Filters,
    explain: Annotated[
        bool, typer.Option("--explain", "-x", help="Show why each memory is there.")
    ] = False,
    top: Annotated[
        int, typer.Option("--top", "-n", min=1, help="Maximum number of memories shown.")
    ] = TOP,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Write only the text for a prompt.")
    ] = False,
    arm: Annotated[
        list[Arm] | None,
        typer.Option(parser=_arm, metavar=ARMS, help="Only these searches; repeatable."),
    ] = None,
    chunk_tokens: Annotated[int, typer.Option(min=0, help="Extra tokens for source text.")] = 0,
    entity_tokens: Annotated[
        int, typer.Option(min=0, help="Extra tokens for notes on entities, with observations.")
    ] = 0,
    mental_model_tokens: Annotated[
        int, typer.Option(min=0, help="Extra tokens for mental models.")
    ] = 0,
    bank: Annotated[
        list[str] | None,
        typer.Option("--bank", "-b", show_default=DEFAULT_BANK, help="Id of a bank; repeatable."),
    ] = None,
) -> Output:
    """Find the memories that answer a question, best first.

    Exits with 3 if none is found. --json writes all of them, explained in full.

    Example: hindsight-memory recall "Where does Ana live?" --bank ana --since 2025-01-01 --where
    '{"source": "chat"}' --explain
    """
    result = job.memory.recall(
        bank or [DEFAULT_BANK],
        query,
        arms=arm or None,
        chunk_tokens=chunk_tokens,
        entity_tokens=entity_tokens,
        mental_model_tokens=mental_model_tokens,
        **filters,
    )
    drawing: RenderableType = result.text if prompt else tables.recalled(result, top)
    if explain and not prompt:
        drawing = result.explain(detailed=top)
    warnings = [f"{failure}; the result was made without it" for failure in result.failures]
    warnings += result.notes
    return Output(result, drawing, warnings, code=0 if result else FOUND_NOTHING)


@on_memory(create=True)
def import_chats(
    job: Job,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", exists=True, help="An export, or a folder of .jsonl files."),
    ],
    format: Annotated[
        Literal["chatgpt", "claude", "claude-code", "codex", "openclaw", "mem0", "letta"] | None,
        typer.Option(help="Format of the export, if it cannot be recognised."),
    ] = None,
    user: Annotated[str, typer.Option(help="Name of the person who speaks as the user.")] = "user",
) -> Output:
    """Retain conversations and memories exported by other programs; running it again adds new ones.

    Supported are exports of ChatGPT and Claude (conversations.json or the archive with it), session
    files of Claude Code, Codex and OpenClaw, exports of mem0, agent files and passages of Letta.
    """
    from hindsight_integrations.transcripts import import_transcripts

    memory = job.memory
    with job.screen.progress("Importing") as report:
        done = import_transcripts(memory, job.bank, file, format=format, user=user, progress=report)
    line = f"Read {tables.count(done.sessions, 'conversation')}, {tables.count(done.items, 'note')}"
    code = FAILED if done.result.failed else 0
    return Output(done, Group(line, tables.retained(done.result)), code=code)
