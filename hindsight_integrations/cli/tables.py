"""Results drawn for a person. Text that users wrote is never read as markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hindsight_integrations.explain import said_by, span_text, window_text
from hindsight_integrations.model import (
    Bank,
    BankStats,
    Change,
    Entity,
    LinkKind,
    Memory,
    MemoryType,
    Page,
)
from hindsight_integrations.results import RecallResult, RetainResult
from hindsight_integrations.timespan import day_text

if TYPE_CHECKING:
    from hindsight_integrations.catalog.maintenance import Diagnosis, Health

SHOWN = 5
"""New memories drawn after a retain."""


def count(number: int, noun: str) -> str:
    """`number` of something: 1 memory, 2 memories."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def retained(result: RetainResult) -> RenderableType:
    """What a retain changed, and its first new memories."""
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
        table.add_row("+", Group(Text(memory.text), Text(_findings(memory), style="dim")))
    if (more := len(result.stored) - SHOWN) > 0:
        table.add_row("", Text(f"and {more:,} more", style="dim"))
    return Group(head, table) if result.stored else head


def recalled(result: RecallResult, top: int) -> RenderableType:
    """The best memories of a recall, and how many more there are."""
    if not result:
        return Text(f"Nothing found among {count(result.considered, 'memory')}.", style="yellow")
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(style="cyan", justify="right", width=3)
    table.add_column(width=4)
    table.add_column(ratio=1)
    for item in result.memories[:top]:
        text = Text(item.memory.text).append(f"  {said_by(item)}", style="dim")
        table.add_row(str(item.rank), f"{item.score:.2f}", text)
    return Group(table, *_beside(result), Padding(_summary(result, top), (1, 0, 0, 1)))


def _beside(result: RecallResult) -> Iterator[RenderableType]:
    if result.chunks:
        yield _section("Source text", [chunk.text for chunk in result.chunks])
    if result.entity_notes:
        yield _section("Names", [note.text for note in result.entity_notes])


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
    """A page of memories."""
    table = _table("id", "type", "said", "memory")
    for memory in page.items:
        text = Text(memory.text, style="strike dim" if memory.invalidated_at else "")
        if memory.speaker:
            text = Text.assemble((f"{memory.speaker}: ", "bold"), text)
        table.add_row(Text(memory.id), memory.type.value, day_text(memory.mentioned_at), text)
    return _paged(table, page)


def memory(found: Memory) -> RenderableType:
    """All of one memory."""
    sources = [
        " ".join(filter(None, (source.document_id, source.reference, f"#{source.position}")))
        for source in found.sources
    ]
    return _facts(
        {
            "memory": found.text,
            "id": found.id,
            "type": found.type.value,
            "speaker": found.speaker,
            "context": found.context,
            "said": f"{found.mentioned_at:%Y-%m-%d %H:%M} UTC",
            "happened": "; ".join(map(span_text, found.occurred)),
            "names": ", ".join(found.entities),
            "tags": ", ".join(found.tags),
            "metadata": ", ".join(f"{key}={value}" for key, value in found.metadata.items()),
            "confidence": found.confidence,
            "scope": found.scope,
            "sources": "\n".join(sources),
            "expires": found.expires_at and f"{found.expires_at:%Y-%m-%d %H:%M} UTC",
            "invalid since": found.invalidated_at and day_text(found.invalidated_at),
            "because": found.invalidated_because,
        }
    )


def history(changes: Sequence[Change]) -> RenderableType:
    """What was changed of a memory."""
    if not changes:
        return Text("Nothing was changed.", style="dim")
    table = _table("when", "what", "field", "from", "to", "why")
    for change in changes:
        when = f"{change.at:%Y-%m-%d %H:%M}"
        cells = (change.action, change.field, change.old, change.new, change.reason)
        table.add_row(when, *(Text(cell or "") for cell in cells))
    return table


def banks(found: Sequence[Bank], stats: Sequence[BankStats]) -> RenderableType:
    """Banks and how much they hold."""
    if not found:
        return Text("No banks yet.", style="dim")
    table = _table("bank", "name", "memories", "entities", "documents", "last said")
    for column in table.columns[2:5]:
        column.justify = "right"
    for bank_, held in zip(found, stats, strict=True):
        last = day_text(held.last_mentioned_at) if held.last_mentioned_at else ""
        numbers = (f"{n:,}" for n in (held.memories, held.entities, held.documents))
        table.add_row(Text(bank_.id), Text(bank_.name), *numbers, last)
    return table


def bank(found: Bank, held: BankStats) -> RenderableType:
    """A bank's profile and how much it holds."""
    traits = found.disposition
    by_type, links = _numbers(held.by_type), _numbers(held.links)
    span = ""
    if held.first_mentioned_at and held.last_mentioned_at:
        span = f"{day_text(held.first_mentioned_at)} to {day_text(held.last_mentioned_at)}"
    return _facts(
        {
            "bank": found.id,
            "name": found.name,
            "mission": found.mission,
            "background": found.background,
            "directives": "\n".join(found.directives),
            "disposition": f"skepticism {traits.skepticism}, literalism {traits.literalism}, "
            f"empathy {traits.empathy}",
            "memories": f"{held.memories:,}" + (f" ({by_type})" if by_type else ""),
            "invalidated": held.invalidated or None,
            "entities": f"{held.entities:,}",
            "links": links,
            "documents": f"{held.documents:,}, {count(held.chunks, 'chunk')}",
            "said": span,
            "waiting": count(held.pending_vectors, "vector") if held.pending_vectors else None,
        }
    )


def entities(page: Page[Entity]) -> RenderableType:
    """A page of entities."""
    table = _table("name", "kind", "mentions", "also", "last seen")
    table.columns[2].justify = "right"
    for found in page.items:
        also = Text(", ".join(found.aliases))
        last = day_text(found.last_seen) if found.last_seen else ""
        table.add_row(Text(found.name), Text(found.kind), str(found.mention_count), also, last)
    return _paged(table, page)


def entity(found: Entity, mentions: Page[Memory] | None = None) -> RenderableType:
    """An entity, and memories that mention it."""
    seen = ""
    if found.first_seen and found.last_seen:
        seen = f"{day_text(found.first_seen)} to {day_text(found.last_seen)}"
    facts = _facts(
        {
            "name": found.name,
            "kind": found.kind,
            "also": ", ".join(found.aliases),
            "mentions": found.mention_count,
            "seen": seen,
            "id": found.id,
        }
    )
    return Group(facts, memories(mentions)) if mentions and mentions.items else facts


def diagnosis(found: Diagnosis, health: Health) -> RenderableType:
    """What the doctor found, and whether each part answers."""
    parts = Table.grid(padding=(0, 2))
    for part in health.parts:
        mark = Text("✓", "green") if part.ok else Text("✗", "bold red")
        parts.add_row(mark, Text(part.part), Text(part.detail, style="dim"))
    if not found.findings:
        return Group(Text("Nothing is wrong: the two stores agree.", style="green"), parts)
    table = _table("where", "what is wrong", "how many", "put right")
    for fault in found.findings:
        done = Text("yes", "green") if fault.repaired else Text("no", "bold red")
        table.add_row(Text(fault.table), Text(fault.problem), f"{fault.count:,}", done)
    return Group(table, parts)


def _findings(memory: Memory) -> str:
    when = "; ".join(map(span_text, memory.occurred))
    return "  ".join(filter(None, (memory.id, ", ".join(memory.entities), when)))


def _numbers(held: Mapping[MemoryType, int] | Mapping[LinkKind, int]) -> str:
    return ", ".join(f"{number:,} {kind.value}" for kind, number in held.items() if number)


def _table(*heads: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold cyan")
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def _paged(table: Table, page: Page[Memory] | Page[Entity]) -> RenderableType:
    if not page.items:
        return Text("None.", style="dim")
    line = f"{len(page.items)} of {page.total:,}"
    if page.next_cursor:
        line += f"; the next with --cursor {page.next_cursor}"
    return Group(table, Text(line, style="dim"))


def _facts(facts: Mapping[str, object]) -> RenderableType:
    """Names and values, those without a value left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, ""):
            table.add_row(name, Text(str(value)))
    return table
