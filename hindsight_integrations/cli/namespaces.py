"""`hindsight-memory banks`, `memories`, `documents`, `tags` and `entities`: edit a memory."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Annotated, Any

import typer
import yaml

from hindsight_integrations.cli import inputs, tables
from hindsight_integrations.cli.filters import Filters, common_filters, filtered_by, stored_filters
from hindsight_integrations.cli.job import Job, TimeOption, namespace, on_memory, time_option
from hindsight_integrations.cli.screen import Output
from hindsight_integrations.models import Disposition, MemoryType, TimeSpan

banks = namespace("Create, show, change and delete banks.")
memories = namespace("Show, correct and forget single memories.")
documents = namespace("The texts that memories came from.")
tags = namespace("The labels of a bank's memories.")
entities = namespace("The people, places and things a bank knows.")

DocumentArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the document.")]
TagArgument = Annotated[str, typer.Argument(metavar="TAG", help="The tag.")]
BankArgument = Annotated[str, typer.Argument(metavar="BANK", help="Id of the bank.")]
Name = Annotated[str | None, typer.Option(help="Display name.")]
Mission = Annotated[str | None, typer.Option(help="What the bank is for.")]
Background = Annotated[str | None, typer.Option(help="What its agent knows about itself.")]
Directives = Annotated[
    list[str] | None, typer.Option("--directive", help="A hard rule; repeatable.")
]
Trait = Annotated[int | None, typer.Option(min=1, max=5, help="Trait, 1 (low) to 5 (high).")]

MemoryArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the memory.")]
Reason = Annotated[str | None, typer.Option(help="Reason, kept in the history.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of items.")]
Cursor = Annotated[str | None, typer.Option(help="Cursor shown below the previous page.")]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

EntityArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name, alias or id.")]

PREVIEW_FIELDS = ("memories", "derived", "rewritten", "mental_models")
"""Fields of `Forgotten` that a dry run shows beside the ids."""

SHOWN_MENTIONS = 10
"""Memories shown with an entity."""


@banks.command("list")
@on_memory(one_bank=False)
def list_banks(job: Job) -> Output:
    """List the banks of a memory."""
    listed = job.memory.banks.list()
    stats = [job.memory.banks.stats(bank.id) for bank in listed]
    return Output(listed, tables.banks(listed, stats))


@banks.command("show")
@on_memory(one_bank=False)
def show_bank(job: Job, bank: BankArgument) -> Output:
    """Show a bank and the counts of its contents."""
    shown, stats = job.memory.banks.get(bank), job.memory.banks.stats(bank)
    return Output({"bank": shown, "stats": stats}, tables.bank(shown, stats))


@banks.command("create")
@on_memory(create=True, one_bank=False)
def create_bank(
    job: Job,
    bank: BankArgument,
    name: Name = None,
    mission: Mission = None,
    background: Background = None,
    directives: Directives = None,
    skepticism: Trait = None,
    literalism: Trait = None,
    empathy: Trait = None,
) -> Output:
    """Create an empty bank."""
    created = job.memory.banks.create(
        bank,
        name=name or "",
        mission=mission or "",
        background=background or "",
        disposition=_disposition(Disposition(), skepticism, literalism, empathy),
        directives=directives or (),
    )
    return Output(created, f"Created bank {created.id}")


@banks.command("update")
@on_memory(one_bank=False)
def update_bank(
    job: Job,
    bank: BankArgument,
    name: Name = None,
    mission: Mission = None,
    background: Background = None,
    directives: Directives = None,
    skepticism: Trait = None,
    literalism: Trait = None,
    empathy: Trait = None,
    expire: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]DAYS",
            help="Rule for when memories expire; NAME is type:T or tag:T, DAYS a number or "
            "'never'; repeatable. The given rules replace all old ones.",
        ),
    ] = None,
) -> Output:
    """Change the given fields of a bank; the others stay.

    Example: hindsight-memory banks update ana --expire 365 --expire type:opinion=90 --expire
    tag:law=never
    """
    old = job.memory.banks.get(bank).disposition
    changed = job.memory.banks.update(
        bank,
        name=name,
        mission=mission,
        background=background,
        disposition=_disposition(old, skepticism, literalism, empathy),
        directives=directives,
        expiry=inputs.read_expiry(expire) if expire else None,
    )
    return Output(changed, tables.bank(changed, job.memory.banks.stats(bank)))


@banks.command("delete")
@on_memory(one_bank=False)
def delete_bank(
    job: Job,
    bank: BankArgument,
    yes: Yes = False,
) -> Output:
    """Delete a bank with everything in it, permanently."""
    count = job.memory.banks.stats(bank).memories
    contents = tables.count(count, "memory")
    confirm(f"Permanently delete bank {bank!r} with {contents}?", yes=yes)
    job.memory.banks.delete(bank)
    return Output({"deleted": bank, "memories": count}, f"Deleted bank {bank}")


@banks.command("audit")
@on_memory(one_bank=False)
def audit_bank(
    job: Job,
    bank: BankArgument,
    since: Annotated[TimeOption, time_option("Only changes from this time on.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only changes by this actor.")] = None,
    of: Annotated[
        str | None,
        typer.Option("--id", help="Only changes of this memory, document, entity or mental model."),
    ] = None,
) -> Output:
    """List the changes of a bank: what was done, when, why and by whom."""
    entries = job.memory.audit.list(bank, since=since, actor=actor, id=of)
    return Output(entries, tables.audit(entries))


def confirm(question: str, *, yes: bool) -> None:
    """Go on if the user agrees, or has agreed; where nobody can be asked, refuse.

    The question is written to stderr: stdout is for the result.

    Raises:
        typer.Abort: the user does not agree.
        KeyboardInterrupt: Ctrl-C instead of an answer.
    """
    if yes:
        return
    if not typer.get_text_stream("stdin").isatty():
        raise typer.BadParameter(f"{question} Add --yes to confirm.")
    try:
        agrees = typer.confirm(question, err=True)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    if not agrees:
        raise typer.Abort


def _disposition(
    old: Disposition, skepticism: int | None, literalism: int | None, empathy: int | None
) -> Disposition:
    return Disposition(
        skepticism=skepticism or old.skepticism,
        literalism=literalism or old.literalism,
        empathy=empathy or old.empathy,
    )


@memories.command("list")
@on_memory()
@filtered_by(stored_filters, common_filters)
def list_memories(
    job: Job,
    filters: Filters,
    include_invalid: Annotated[
        bool, typer.Option("--include-invalid", help="Also list invalidated memories.")
    ] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Output:
    """List memories in the order they were stored."""
    page = job.memory.memories.list(
        job.bank, include_invalid=include_invalid, limit=limit, cursor=cursor, **filters
    )
    return Output(page, tables.memories(page))


@memories.command("show")
@on_memory()
def show_memory(job: Job, memory_id: MemoryArgument) -> Output:
    """Show all fields of one memory."""
    memory = job.memory.memories.get(job.bank, memory_id)
    return Output(memory, tables.memory(memory))


@memories.command()
@on_memory()
@filtered_by(stored_filters, common_filters)
def forget(
    job: Job,
    filters: Filters,
    memory_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of memories.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be deleted or rewritten.")
    ] = False,
    days: Annotated[
        float | None,
        typer.Option(
            "--undo-for",
            min=0,
            max=36_500,
            help="Days during which 'memories restore' undoes it. (default none)",
        ),
    ] = None,
    yes: Yes = False,
) -> Output:
    """Delete memories permanently: by id, by document, or all that match the filters.

    Example: hindsight-memory memories forget --text porto --bank ana --dry-run
    """
    after = None if days is None else timedelta(days=days)
    work = partial(job.memory.forget, job.bank, memory_ids or (), after=after, **filters)
    if dry_run:
        preview = work(dry_run=True)
        listed = {name: getattr(preview, name) for name in PREVIEW_FIELDS}
        return Output({"would_forget": preview, **listed}, tables.forget_preview(preview))
    if not memory_ids and filters["document_id"] is None:
        chosen = len(work(dry_run=True))
        if not chosen:
            return Output({"forgotten": []}, "Nothing matches; nothing was deleted")
        number = tables.count(chosen, "memory")
        confirm(f"Forget {number} of bank {job.bank!r} permanently?", yes=yes)
    gone = work()
    undone = f"; can be restored until {gone.until:%Y-%m-%d %H:%M}" if gone.until else ""
    data = {"forgotten": gone} | ({"until": gone.until} if gone.until else {})
    return Output(data, f"Forgot {tables.count(len(gone), 'memory')}{undone}")


@memories.command()
@on_memory()
def history(job: Job, memory_id: MemoryArgument) -> Output:
    """Show the changes of a memory, oldest first."""
    changes = job.memory.memories.history(job.bank, memory_id)
    if changes == []:
        job.memory.memories.get(job.bank, memory_id)  # raises if there is none
    return Output(changes, tables.history(changes))


@memories.command("update")
@on_memory()
def update_memory(
    job: Job,
    memory_id: MemoryArgument,
    text: Annotated[str | None, typer.Option(help="New text.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it; '' for nobody.")] = None,
    type: Annotated[MemoryType | None, typer.Option(help="Type of the statement.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="New tag, replacing all old ones; repeatable.")
    ] = None,
    entity: Annotated[
        list[str] | None,
        typer.Option(help="Name it mentions, replacing all old ones; repeatable."),
    ] = None,
    said: Annotated[TimeOption, time_option("When it was said.")] = None,
    happened: Annotated[
        list[TimeSpan] | None,
        typer.Option(
            parser=inputs.read_span,
            metavar="START/END",
            help="When it happened, such as 2025-05-07/2025-05-08; repeatable.",
        ),
    ] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Metadata, replacing all old ones; repeatable."),
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Confidence, 0 to 1.")
    ] = None,
    no_confidence: Annotated[
        bool, typer.Option("--no-confidence", help="Remove the confidence.")
    ] = False,
    expires: Annotated[TimeOption, time_option("Recall ignores it from this time on.")] = None,
    no_expires: Annotated[
        bool, typer.Option("--no-expires", help="Let the bank's rules decide when it expires.")
    ] = False,
    pin: Annotated[
        bool | None, typer.Option("--pin/--unpin", help="A pinned memory never expires.")
    ] = None,
    reason: Reason = None,
) -> Output:
    """Correct the given fields of a memory; the others stay."""
    given = {"confidence": confidence, "expires_at": expires}
    removed = {"confidence": no_confidence, "expires_at": no_expires}
    clearable = {name: value for name, value in given.items() if value is not None or removed[name]}
    changed = job.memory.memories.update(
        job.bank,
        memory_id,
        text=text,
        speaker=speaker,
        type=type,
        tags=tag or None,
        entities=entity or None,
        mentioned_at=said,
        occurred=happened or None,
        metadata=dict(map(inputs.read_pair, meta)) if meta else None,
        pinned=pin,
        reason=reason,
        **clearable,  # type: ignore[arg-type]
    )
    return Output(changed, tables.memory(changed))


EDITED = ("text", "speaker", "type", "tags", "entities")
"""Fields of a memory that an editor shows."""


@memories.command("edit")
@on_memory()
def edit_memory(job: Job, memory_id: MemoryArgument, reason: Reason = None) -> Output:
    """Correct a memory in your editor ($VISUAL or $EDITOR), as YAML.

    Fields that you do not change are kept.
    """
    old = job.memory.memories.get(job.bank, memory_id)
    shown: dict[str, Any] = {name: _plain(getattr(old, name)) for name in EDITED}
    text = yaml.safe_dump(shown, allow_unicode=True, sort_keys=False, width=1000)
    with inputs.editing(text, ".yaml") as written:
        given = inputs.read_yaml(written, EDITED)
        new = {name: value for name, value in given.items() if value != shown[name]}
        if not new:
            return Output(old, "Nothing was changed")
        changed = job.memory.memories.update(job.bank, memory_id, **new, reason=reason)
    return Output(changed, tables.memory(changed))


def _plain(value: object) -> object:
    """Return a field as YAML shows it; nobody as a speaker is ""."""
    return list(value) if isinstance(value, tuple) else str(value or "")


@memories.command()
@on_memory()
def invalidate(job: Job, memory_id: MemoryArgument, reason: Reason = None) -> Output:
    """Mark a memory as wrong: it is kept, but never recalled."""
    changed = job.memory.memories.invalidate(job.bank, memory_id, reason)
    return Output(changed, tables.memory(changed))


@memories.command()
@on_memory()
def restore(job: Job, memory_id: MemoryArgument, reason: Reason = None) -> Output:
    """Undo an invalidation, or a forget with --undo-for."""
    changed = job.memory.memories.restore(job.bank, memory_id, reason)
    return Output(changed, tables.memory(changed))


@documents.command("list")
@on_memory()
def list_documents(job: Job, limit: Limit = 50, cursor: Cursor = None) -> Output:
    """List documents, sorted by id."""
    page = job.memory.documents.list(job.bank, limit=limit, cursor=cursor)
    return Output(page, tables.documents(page))


@documents.command("show")
@on_memory()
def show_document(job: Job, document_id: DocumentArgument) -> Output:
    """Show a document and its text."""
    found = job.memory.documents.get(job.bank, document_id)
    chunks = job.memory.documents.chunks(job.bank, document_id)
    return Output({"document": found, "chunks": chunks}, tables.document(found, chunks))


@documents.command("delete")
@on_memory()
def delete_document(job: Job, document_id: DocumentArgument) -> Output:
    """Delete a document and the memories stated only in it, permanently."""
    gone = job.memory.documents.delete(job.bank, document_id)
    return Output({"forgotten": gone}, f"Forgot {tables.count(len(gone), 'memory')}")


@tags.command("list")
@on_memory()
def list_tags(job: Job) -> Output:
    """List tags with the number of memories that have each."""
    counts = job.memory.tags.list(job.bank)
    return Output(counts, tables.tags(counts))


@tags.command("rename")
@on_memory()
def rename_tag(
    job: Job,
    tag: TagArgument,
    name: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    reason: Reason = None,
) -> Output:
    """Rename a tag wherever it is used."""
    edited = job.memory.tags.rename(job.bank, tag, name, reason=reason)
    return Output({"edited": edited}, f"Renamed it in {tables.count(edited, 'place')}")


@tags.command("remove")
@on_memory()
def remove_tag(job: Job, tag: TagArgument, reason: Reason = None) -> Output:
    """Remove a tag from all memories; no memory is deleted."""
    edited = job.memory.tags.remove(job.bank, tag, reason=reason)
    return Output({"edited": edited}, f"Removed it in {tables.count(edited, 'place')}")


@entities.command("list")
@on_memory()
def list_entities(job: Job, limit: Limit = 50, cursor: Cursor = None) -> Output:
    """List entities, most mentioned first."""
    page = job.memory.entities.list(job.bank, limit=limit, cursor=cursor)
    return Output(page, tables.entities(page))


@entities.command("show")
@on_memory()
def show_entity(job: Job, entity: EntityArgument) -> Output:
    """Show an entity and memories that mention it."""
    known = job.memory.entities.get(job.bank, entity)
    mentions = job.memory.memories.list(job.bank, entity=known.id, limit=SHOWN_MENTIONS)
    return Output({"entity": known, "memories": mentions.items}, tables.entity(known, mentions))


@entities.command()
@on_memory()
def merge(
    job: Job,
    source: EntityArgument,
    target: Annotated[str, typer.Argument(metavar="INTO", help="Entity to merge into.")],
) -> Output:
    """Merge two entities: the first becomes an alias of the second."""
    merged = job.memory.entities.merge(job.bank, source, target)
    return Output(merged, tables.entity(merged))


@entities.command()
@on_memory()
def rename(
    job: Job,
    entity: EntityArgument,
    name: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
) -> Output:
    """Rename an entity; the old name becomes an alias."""
    renamed = job.memory.entities.rename(job.bank, entity, name)
    return Output(renamed, tables.entity(renamed))


@entities.command()
@on_memory()
def alias(
    job: Job,
    entity: EntityArgument,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS...", help="Names to add.")],
) -> Output:
    """Add other names to an entity."""
    named = job.memory.entities.alias(job.bank, entity, *aliases)
    return Output(named, tables.entity(named))


@entities.command()
@on_memory()
def unalias(
    job: Job,
    entity: EntityArgument,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS...", help="Names to remove.")],
) -> Output:
    """Remove aliases permanently; later mentions resolve to another entity."""
    named = job.memory.entities.unalias(job.bank, entity, *aliases)
    return Output(named, tables.entity(named))


@entities.command("delete")
@on_memory()
def delete_entity(job: Job, entity: EntityArgument, yes: Yes = False) -> Output:
    """Delete an entity; the memories that mention it stay."""
    known = job.memory.entities.get(job.bank, entity)
    confirm(f"Delete entity {known.name!r}? Its memories stay.", yes=yes)
    count = job.memory.entities.delete(job.bank, known.id)
    return Output({"memories": count}, f"Deleted it from {tables.count(count, 'memory')}")


@entities.command()
@on_memory()
def timeline(job: Job, entity: EntityArgument) -> Output:
    """Show the memories of an entity by time, and the entities mentioned with it."""
    entries = job.memory.entities.timeline(job.bank, entity)
    companions = job.memory.entities.companions(job.bank, entity)
    data = {"timeline": entries, "companions": companions}
    return Output(data, tables.timeline(entries, companions))


@entities.command()
@on_memory()
def suggest(job: Job, limit: Limit = 20) -> Output:
    """List pairs of entities that may be the same; see merge and keep-apart."""
    found = job.memory.entities.suggest_merges(job.bank, limit=limit)
    return Output(found, tables.suggestions(found))


@entities.command()
@on_memory()
def keep_apart(
    job: Job,
    one: EntityArgument,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Name, alias or id.")],
) -> Output:
    """Never merge these two entities automatically, nor suggest it."""
    job.memory.entities.keep_apart(job.bank, one, other)
    return Output({"apart": [one, other]}, f"{one} and {other} are kept apart")
