"""`hindsight-memory retain`: remember text, files, folders, JSON Lines and conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hindsight_integrations.cli import inputs, tables
from hindsight_integrations.cli.opening import opened
from hindsight_integrations.cli.options import (
    DEFAULT_BANK,
    DEFAULT_PATH,
    BankOption,
    JsonOption,
    MomentOption,
    PathOption,
    moment,
)
from hindsight_integrations.cli.screen import Screen
from hindsight_integrations.model import MemoryType, MetadataValue
from hindsight_integrations.results import RetainResult


def retain(
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
    jsonl: Annotated[
        Path | None,
        typer.Option(
            help="Items, one {content, timestamp, tags, ...} a line; - reads standard input."
        ),
    ] = None,
    conversation: Annotated[
        bool,
        typer.Option("--conversation", help="The lines are messages: {speaker, text, timestamp}."),
    ] = False,
    session: Annotated[
        str | None, typer.Option(help="Id of the conversation, for messages that name none.")
    ] = None,
    document: Annotated[
        str | None, typer.Option(help="Your id of the text; retained again, only changes count.")
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add to the document; do not replace it.")
    ] = False,
    timestamp: Annotated[MomentOption, moment("When it was said or written.")] = None,
    context: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who says it.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label; repeatable.")] = None,
    entity: Annotated[list[str] | None, typer.Option(help="A name in it; repeatable.")] = None,
    type: Annotated[MemoryType | None, typer.Option(help="What kind of statement.")] = None,
    confidence: Annotated[float | None, typer.Option(min=0, max=1, help="For opinions.")] = None,
    meta: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Metadata; repeatable.")
    ] = None,
    scope: Annotated[str | None, typer.Option(help="A partition of the bank.")] = None,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Remember text: an argument, files, a folder, JSON Lines or standard input.

    Files are documents: the id is the path as given, or relative to the folder.
    """
    screen = Screen(as_json)
    metadata = dict(map(_metadata, meta or []))
    items = _read(text, file, folder, jsonl, document)
    if conversation or session is not None:
        if jsonl is None or any((document, timestamp, speaker, entity, type, confidence, append)):
            raise typer.BadParameter(
                "a conversation comes by --jsonl, and takes --context, --tag, --meta and --scope"
            )
        by_session = inputs.sessions(items, session)
        results: list[RetainResult] = []
        with opened(path, create=True) as memory, screen.progress("Retaining") as report:
            for name, messages in by_session.items():
                found = memory.retain_messages(
                    bank,
                    messages,
                    session=name,
                    context=context,
                    metadata=metadata,
                    tags=tag or (),
                    scope=scope,
                )
                results.append(found)
                report(len(results), len(by_session))
        result = RetainResult.merged(bank, results)
    else:
        if document is not None and len(items) > 1:
            raise typer.BadParameter("--document names one text, and here are several")
        shared: dict[str, object] = {
            "document_id": document,
            "update_mode": "append" if append else None,
            "timestamp": timestamp,
            "context": context,
            "speaker": speaker,
            "tags": tag,
            "entities": entity,
            "type": type,
            "confidence": confidence,
            "metadata": metadata,
            "scope": scope,
        }
        given = {name: value for name, value in shared.items() if value not in (None, [], {})}
        with opened(path, create=True) as memory, screen.progress("Retaining") as report:
            result = memory.retain_many(
                bank, [{**given, **item} for item in items], progress=report
            )
        if len(items) == len(result.failed) == 1:
            raise result.failed[0].error
    screen.show(result, tables.retained(result))
    for failure in result.failed:
        screen.warn(f"item {failure.index + 1} was not stored: {failure.error}")
    if result.failed:
        raise typer.Exit(1)


def _read(
    text: str | None,
    files: list[Path] | None,
    folder: Path | None,
    jsonl: Path | None,
    document: str | None,
) -> list[inputs.Record]:
    """What the one source that was named holds."""
    if sum(map(bool, (text is not None, files, folder, jsonl))) != 1:
        raise typer.BadParameter("give one of TEXT, --file, --folder and --jsonl")
    if text is not None:
        return [{"content": inputs.read_text(Path(text)) if text == "-" else text}]
    if files:
        return [{"document_id": document or str(f), "content": inputs.read_text(f)} for f in files]
    if folder:
        return [{"document_id": name, "content": t} for name, t in inputs.read_folder(folder)]
    return inputs.read_records(jsonl or Path("-"))


def _metadata(pair: str) -> tuple[str, MetadataValue]:
    """`name=value`: a number or true/false where the value reads as one, else text."""
    name, equals, value = pair.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"--meta is {pair!r}; give NAME=VALUE")
    return name, inputs.scalar(value)
