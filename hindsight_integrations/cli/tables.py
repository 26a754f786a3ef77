"""Draw results for a person. Text that users wrote is never read as markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hindsight_integrations.conclusions import Observation, Opinion
from hindsight_integrations.display import inflected
from hindsight_integrations.explain import said_by, window_text
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Bank,
    BankStats,
    Chunk,
    Document,
    Entity,
    Expiry,
    LinkKind,
    Memory,
    MemoryType,
    MentalModel,
    Page,
)
from hindsight_integrations.results import (
    Forgotten,
    RecallResult,
    Reflection,
    RetainResult,
    Staleness,
)
from hindsight_integrations.timespan import day_text

if TYPE_CHECKING:
    from hindsight_integrations.namespaces.entities import Companion, TimelineEntry
    from hindsight_integrations.namespaces.maintenance import Diagnosis, Health
    from hindsight_integrations.reflect.consolidation import Consolidation
    from hindsight_integrations.retain.file_dates import FileDate
    from hindsight_integrations.retain.merge_suggestions import MergeSuggestion

SHOWN = 5
"""New memories drawn after a retain."""
MOST_DATES = 20
"""Files whose dates are drawn after a retain."""


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 memory, 3,000 memories."""
    return f"{number:,} {inflected(noun, number)}"


def retained(result: RetainResult) -> RenderableType:
    """Draw the changes of a retain and its first new memories."""
    parts = [f"stored {count(len(result.stored), 'memory')}"]
    reasons = Counter(skip.reason.value for skip in result.skipped)
    parts += [f"{number} {reason}" for reason, number in reasons.items()]
    if result.removed:
        parts.append(f"removed {len(result.removed)}")
    if result.failed:
        parts.append(f"{len(result.failed)} failed")
    head = Text(f"Bank {result.bank_id}: {', '.join(parts)}")
    head.append(f"  {result.seconds:.1f} s", style="dim")
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(style="green", width=1)
    table.add_column(ratio=1)
    for memory in result.stored[:SHOWN]:
        table.add_row("+", Group(Text(memory.text), Text(_details(memory), style="dim")))
    if (more := len(result.stored) - SHOWN) > 0:
        table.add_row("", Text(f"and {more:,} more", style="dim"))
    return Group(head, table) if result.stored else head


def file_dates(dates: Mapping[str, FileDate]) -> RenderableType:
    """Draw the date that each file was given, and where it was found."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim")
    for name, date in islice(dates.items(), MOST_DATES):
        table.add_row(f"{name}: {day_text(date.timestamp)} ({date.source})")
    if (more := len(dates) - MOST_DATES) > 0:
        counts = Counter(date.source.value for date in dates.values())
        total = ", ".join(f"{number} by {source}" for source, number in counts.items())
        table.add_row(f"and {more:,} more; in total {total}")
    return table


def _nothing(result: RecallResult) -> str:
    if not result.considered:
        return "Nothing found: the bank is empty, or no memory passes the filters."
    return (
        f"Nothing found among {count(result.considered, 'memory')}; --fill shows the best of them "
        "anyway."
    )


def recalled(result: RecallResult, top: int) -> RenderableType:
    """Draw the best memories of a recall and the number of all."""
    if not result:
        return Text(_nothing(result), style="yellow")
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(style="cyan", justify="right", width=3)
    table.add_column(width=4)
    table.add_column(ratio=1)
    for item in result.memories[:top]:
        text = Text(item.memory.text).append(f"  {said_by(item)}", style="dim")
        table.add_row(str(item.rank), f"{item.score:.2f}", text)
    return Group(table, *_sections(result), Padding(_summary(result, top), (1, 0, 0, 1)))


def _sections(result: RecallResult) -> Iterator[RenderableType]:
    """Yield the parts of a recall that follow its memories: chunks, entity notes, mental models."""
    if result.chunks:
        yield _section("Source text", [chunk.text for chunk in result.chunks])
    if result.entity_notes:
        yield _section("Names", [note.text for note in result.entity_notes])

    if result.mental_models:
        yield _section("Mental models", [model.text for model in result.mental_models])


def _section(title: str, texts: Sequence[str]) -> RenderableType:
    lines = [Text(text) for text in texts]
    return Padding(Group(Text(title, style="bold"), *lines), (1, 0, 0, 1))


def _summary(result: RecallResult, top: int) -> RenderableType:
    spent = (result.timings or {}).get("total", 0.0)
    line = Text(style="dim")
    line.append(f"{count(len(result), 'memory')}, {result.tokens} of {result.max_tokens} tokens")
    line.append(f", {spent * 1000:.0f} ms")
    for window in result.windows:
        line.append(f"; {window_text(window)}")
    if len(result) > top:
        line.append(f"; the best {top} are shown (--top)")
    return line


def memories(page: Page[Memory]) -> RenderableType:
    """Draw a page of memories."""
    table = simple_table("id", "type", "said", "memory")
    for memory in page.items:
        text = Text(memory.text, style="strike dim" if memory.invalidated_at else "")
        if memory.speaker:
            text = Text.assemble((f"{memory.speaker}: ", "bold"), text)
        table.add_row(Text(memory.id), memory.type.value, day_text(memory.mentioned_at), text)
    return _paged(table, page)


def forget_preview(preview: Forgotten) -> RenderableType:
    """Draw what a dry run of forgetting would delete, and what it would rewrite."""
    parts = [
        ("Selected", preview.memories),
        ("Conclusions drawn only from these, deleted with them", preview.derived),
        ("Conclusions drawn from these and others, rewritten", preview.rewritten),
    ]
    drawn = [_section(title, [each.text for each in listed]) for title, listed in parts if listed]
    if preview.mental_models:
        drawn.append(_section("Mental models, rewritten", preview.mental_models))
    return Group(*drawn, f"Would forget {count(len(preview), 'memory')}; nothing was deleted")


def memory(memory: Memory) -> RenderableType:
    """Draw one memory with all its fields."""
    sources = [
        " ".join(filter(None, (source.document_id, source.reference))) for source in memory.sources
    ]
    return _facts(
        {
            "memory": memory.text,
            "id": memory.id,
            "type": memory.type.value,
            "speaker": memory.speaker,
            "context": memory.context,
            "said": f"{memory.mentioned_at:%Y-%m-%d %H:%M} UTC",
            "happened": "; ".join(map(str, memory.occurred)),
            "names": ", ".join(memory.entities),
            "tags": ", ".join(memory.tags),
            "metadata": ", ".join(f"{key}={value}" for key, value in memory.metadata.items()),
            "confidence": memory.confidence,
            "scope": memory.scope,
            "sources": "\n".join(sources),
            "expires": memory.expires_at and f"{memory.expires_at:%Y-%m-%d %H:%M} UTC",
            "pinned": "yes" if memory.pinned else None,
            "invalid since": memory.invalidated_at and day_text(memory.invalidated_at),
            "because": memory.invalidated_because,
        }
    )


def history(changes: Sequence[Change]) -> RenderableType:
    """Draw the changes of a memory."""
    if not changes:
        return Text("No changes.", style="dim")
    table = simple_table("when", "what", "field", "from", "to", "why")
    for change in changes:
        when = f"{change.at:%Y-%m-%d %H:%M}"
        cells = (change.action, change.field, change.old, change.new, change.reason)
        table.add_row(when, *(Text(cell or "") for cell in cells))
    return table


def audit(entries: Sequence[AuditEntry]) -> RenderableType:
    """Draw entries of an audit."""
    if not entries:
        return Text("No entries.", style="dim")
    table = simple_table("when", "what", "id", "by", "why")
    for entry in entries:
        what = " ".join((entry.action, entry.kind, *entry.fields))
        cells = (
            what,
            " -> ".join(filter(None, (entry.id, entry.other))),
            entry.actor,
            entry.reason,
        )
        table.add_row(f"{entry.at:%Y-%m-%d %H:%M:%S}", *(Text(cell or "") for cell in cells))
    return table


def banks(banks: Sequence[Bank], stats: Sequence[BankStats]) -> RenderableType:
    """Draw banks and their counts."""
    if not banks:
        return Text("No banks yet.", style="dim")
    table = simple_table("bank", "name", "memories", "entities", "documents", "last said")
    for column in table.columns[2:5]:
        column.justify = "right"
    for bank, counts in zip(banks, stats, strict=True):
        last = day_text(counts.last_mentioned_at) if counts.last_mentioned_at else ""
        numbers = (f"{n:,}" for n in (counts.memories, counts.entities, counts.documents))
        table.add_row(Text(bank.id), Text(bank.name), *numbers, last)
    return table


def bank(bank: Bank, counts: BankStats) -> RenderableType:
    """Draw a bank's profile and counts."""
    traits = bank.disposition
    by_type, links = _numbers(counts.by_type), _numbers(counts.links)
    span = ""
    if counts.first_mentioned_at and counts.last_mentioned_at:
        span = _days(counts.first_mentioned_at, counts.last_mentioned_at)
    return _facts(
        {
            "bank": bank.id,
            "name": bank.name,
            "mission": bank.mission,
            "background": bank.background,
            "directives": "\n".join(bank.directives),
            "disposition": f"skepticism {traits.skepticism}, literalism {traits.literalism}, "
            f"empathy {traits.empathy}",
            "expire": _rules(bank.expiry),
            "memories": f"{counts.memories:,}" + (f" ({by_type})" if by_type else ""),
            "invalidated": counts.invalidated or None,
            "entities": f"{counts.entities:,}",
            "links": links,
            "documents": f"{counts.documents:,}, {count(counts.chunks, 'chunk')}",
            "said": span,
            "waiting": count(counts.pending_vectors, "vector") if counts.pending_vectors else None,
        }
    )


def _rules(expiry: Expiry) -> str:
    """Return when memories expire, the most specific rules first; "" if none does."""
    rules = {f"tag:{name}": time for name, time in expiry.tags.items()}
    rules |= {f"type:{name}": time for name, time in expiry.types.items()}
    if expiry.default is not None:
        rules["others" if rules else "all"] = expiry.default
    return "\n".join(f"{name} {_life(time)}" for name, time in rules.items())


def _life(time: timedelta | None) -> str:
    return "never" if time is None else f"after {time / timedelta(days=1):g} days"


def entities(page: Page[Entity]) -> RenderableType:
    """Draw a page of entities."""
    table = simple_table("name", "kind", "mentions", "also", "last seen")
    table.columns[2].justify = "right"
    for entity in page.items:
        also = Text(", ".join(entity.aliases))
        last = day_text(entity.last_seen) if entity.last_seen else ""
        table.add_row(Text(entity.name), Text(entity.kind), str(entity.mention_count), also, last)
    return _paged(table, page)


def entity(entity: Entity, mentions: Page[Memory] | None = None) -> RenderableType:
    """Draw an entity and memories that mention it."""
    seen = ""
    if entity.first_seen and entity.last_seen:
        seen = _days(entity.first_seen, entity.last_seen)
    facts = _facts(
        {
            "name": entity.name,
            "kind": entity.kind,
            "also": ", ".join(entity.aliases),
            "mentions": entity.mention_count,
            "seen": seen,
            "id": entity.id,
        }
    )
    return Group(facts, memories(mentions)) if mentions and mentions.items else facts


def timeline(entries: Sequence[TimelineEntry], beside: Sequence[Companion]) -> RenderableType:
    """Draw the memories of an entity by time, and what is mentioned beside it."""
    table = simple_table("when", "memory")
    for entry in entries:
        when = str(entry.span) if entry.span else day_text(entry.at)
        table.add_row(when, Text(entry.memory.text))
    named = ", ".join(f"{each.entity.name} ({each.memories})" for each in beside)
    line = f"Mentioned with it: {named}" if named else "No other entity is mentioned with it."
    return Group(table, Text(line, "dim"))


def suggestions(found: Sequence[MergeSuggestion]) -> RenderableType:
    """Draw pairs of entities that may be one."""
    if not found:
        return Text("No entities look like the same one.", style="dim")
    table = simple_table("entity", "may be", "confidence", "why")
    for each in found:
        why = "; ".join(each.reasons)
        table.add_row(
            Text(each.source.name), Text(each.target.name), f"{each.confidence:.2f}", Text(why)
        )
    return table


def diagnosis(result: Diagnosis, health: Health) -> RenderableType:
    """Draw the findings of the doctor and the health of each part."""
    parts = Table.grid(padding=(0, 2))
    for part in health.parts:
        mark = Text("✓", "green") if part.ok else Text("✗", "bold red")
        parts.add_row(mark, Text(part.part), Text(part.detail, style="dim"))
    if not result.findings:
        return Group(Text("No faults: the two stores agree.", style="green"), parts)
    table = simple_table("where", "fault", "count", "repaired")
    for finding in result.findings:
        done = Text("yes", "green") if finding.repaired else Text("no", "bold red")
        table.add_row(Text(finding.table), Text(finding.problem), f"{finding.count:,}", done)
    return Group(table, parts)


def reflection(result: Reflection) -> RenderableType:
    """Draw an answer, and the memories and mental models it cites."""
    cited = [item for item in result.context if item.id in result.sources]
    lines = [item.text.removeprefix("- ") for item in cited]
    return Group(Text(result.text), *([Text(), _section("Cited", lines)] if lines else []))


def consolidation(result: Consolidation) -> RenderableType:
    """Draw what a consolidation read, and what it concluded."""
    line = f"read {count(result.considered, 'memory')}"
    parts = [("New", result.created), ("Rewritten", result.rewritten)]
    drawn = [_section(title, [each.text for each in made]) for title, made in parts if made]
    removed = f", removed {count(len(result.removed), 'conclusion')}" if result.removed else ""
    return Group(Text(f"{line}{removed}"), *drawn)


def conclusions(page: Page[Observation] | Page[Opinion]) -> RenderableType:
    """Draw a page of observations or opinions."""
    table = simple_table("id", "confidence", "sources", "last", "conclusion")
    for one in page.items:
        last = day_text(one.last_seen)
        table.add_row(one.id, f"{one.confidence:.2f}", str(one.proof_count), last, Text(one.text))
    return _paged(table, page)


def evidence(found: Sequence[Observation | Opinion]) -> RenderableType:
    """Draw observations or opinions in full, with what they rest on."""
    if not found:
        return Text("None.", style="dim")
    return Group(*(_conclusion(one) for one in found))


def _conclusion(one: Observation | Opinion) -> RenderableType:
    rests = [
        f"{'' if quote.supports else 'against: '}{quote.quote or 'whole memory'}  {quote.memory_id}"
        for quote in one.evidence
    ]
    facts = {
        "id": one.id,
        "kind": one.kind.value if isinstance(one, Observation) else f"opinion on {one.topic}",
        "confidence": f"{one.confidence:.2f}, {one.trend.value}",
        "why": one.reasoning,
        "rests on": "\n".join(rests),
    }
    return Padding(Group(Text(one.text, style="bold"), _facts(facts)), (0, 0, 1, 0))


def mental_models(models: Sequence[MentalModel], stale: Sequence[bool]) -> RenderableType:
    """Draw mental models, and mark those that are stale."""
    if not models:
        return Text("None.", style="dim")
    table = simple_table("id", "name", "written", "stale", "text")
    for model, old in zip(models, stale, strict=True):
        written = day_text(model.refreshed_at)
        mark = "yes" if old else ""
        table.add_row(Text(model.id), Text(model.name), written, mark, Text(model.text))
    return table


def mental_model(model: MentalModel, staleness: Staleness | None = None) -> RenderableType:
    """Draw a mental model with all its fields."""
    changes = (
        [
            count(len(ids), noun)
            for noun, ids in (
                ("newer memory", staleness.newer),
                ("changed source", staleness.changed),
                ("forgotten source", staleness.gone),
                ("contradicting memory", staleness.contradicted),
            )
            if ids
        ]
        if staleness
        else []
    )
    return _facts(
        {
            "mental model": model.name,
            "id": model.id,
            "text": model.text,
            "question": model.source_query,
            "tags": ", ".join(model.tags),
            "written": day_text(model.refreshed_at),
            "refreshed automatically": "yes" if model.auto_refresh else None,
            "stale": ", ".join(changes),
        }
    )


def _days(first: datetime, last: datetime) -> str:
    return " to ".join(dict.fromkeys((day_text(first), day_text(last))))


def _details(memory: Memory) -> str:
    when = "; ".join(map(str, memory.occurred))
    return "  ".join(filter(None, (memory.id, ", ".join(memory.entities), when)))


def _numbers(counts: Mapping[MemoryType, int] | Mapping[LinkKind, int]) -> str:
    return ", ".join(f"{number:,} {kind.value}" for kind, number in counts.items() if number)


_ID_WIDTH = 23
"""Width of the ids that are made here: one that is folded cannot be copied from a terminal."""


def simple_table(*heads: str) -> Table:
    """Return an empty table with these column heads."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold cyan")
    for head in heads:
        table.add_column(head, overflow="fold", min_width=_ID_WIDTH if head == "id" else None)
    return table


def documents(page: Page[Document]) -> RenderableType:
    """Draw a page of documents."""
    table = simple_table("document", "chunks", "stored", "changed")
    for document in page.items:
        created, updated = day_text(document.created_at), day_text(document.updated_at)
        table.add_row(Text(document.id), str(document.chunk_count), created, updated)
    return _paged(table, page)


def document(document: Document, chunks: Sequence[Chunk]) -> RenderableType:
    """Draw a document and its text."""
    facts = _facts(
        {
            "document": document.id,
            "stored": day_text(document.created_at),
            "changed": day_text(document.updated_at),
        }
    )
    return Group(facts, _section("Text", [chunk.text for chunk in chunks]))


def tags(counts: Mapping[str, int]) -> RenderableType:
    """Draw tags and how many memories have each."""
    if not counts:
        return Text("None.", style="dim")
    table = simple_table("tag", "memories")
    for tag, number in counts.items():
        table.add_row(Text(tag), f"{number:,}")
    return table


def _paged(table: Table, page: Page[Any]) -> RenderableType:
    if not page.items:
        return Text("None.", style="dim")
    line = f"{len(page.items)} of {page.total:,}"
    if page.next_cursor:
        line += f"; next page: --cursor {page.next_cursor}"
    return Group(table, Text(line, style="dim"))


def _facts(facts: Mapping[str, object]) -> RenderableType:
    """Draw names and values, without the empty ones."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, ""):
            table.add_row(name, Text(str(value)))
    return table
