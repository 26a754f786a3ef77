"""The tools of the MCP server: the verbs of memory, each with its answer as text for a model.

What comes from memory is fenced, as in all adapters. A bank that does not exist is read as empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel

from hindsight_integrations.client import Hindsight
from hindsight_integrations.display import counted
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations import arguments as shared
from hindsight_integrations.integrations import common
from hindsight_integrations.mcp_server import arguments
from hindsight_integrations.models import Memory, Page
from hindsight_integrations.nlp import tokens
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.results import NOTHING_FOUND, Recalled
from hindsight_integrations.retain.fence import fence

Tools: TypeAlias = Literal["core", "all"]
TOOL_SETS: tuple[Tools, ...] = get_args(Tools)

Effect: TypeAlias = Literal["read", "add", "replace", "delete"]

MAX_SHOWN = 20
"""Maximum memories in the answer of a dry run of `forget`, and in a timeline."""


class Tool(NamedTuple):
    """A tool of the server.

    Attributes:
        name: its name, which is its key in `texts.DESCRIPTIONS`.
        arguments: the arguments that the model gives.
        answer: returns the text for the model, from the memory, the bank and the arguments.
        effect: "replace" keeps the old values in the history, "delete" does not.
        is_core: True for the tools of the set "core".
    """

    name: str
    arguments: type[BaseModel]
    answer: Callable[..., str]
    effect: Effect = "read"
    is_core: bool = False


def _text_of(answer: Callable[..., tuple[str, Any]]) -> Callable[..., str]:
    """Return an answer of `common` without the artifact for a program."""

    def text(memory: Hindsight, bank: str, **given: Any) -> str:
        return answer(memory, bank, **given)[0]

    return text


def recall(memory: Hindsight, bank: str, *, query: str, max_tokens: int, **filters: Any) -> str:
    """Return memories with dates and ids, whole lines of at most `max_tokens`, or the first one."""
    found = common.recall(memory, bank, query, max_tokens=max_tokens, **filters)
    lines: list[str] = []
    room = max_tokens
    for line in (common.as_list_item(one.memory, one.line) for one in found):
        room -= tokens.count(f"{line}\n")
        if lines and room < 0:
            break
        lines.append(line)
    if not lines:
        return common.nothing_found(query)
    more = len(found) + len(found.left_out) - len(lines)
    note = f"\n{more} more would need a larger max_tokens." if more else ""
    return fence("\n".join(lines)) + note


# Choosing memories


def forget(
    memory: Hindsight,
    bank: str,
    *,
    ids: list[str],
    dry_run: bool | None,
    **filters: Any,
) -> str:
    """Forget by id, document or filter, or show what would be deleted; see `dry_run`."""
    chosen = {name: value for name, value in filters.items() if value or name == "types"}
    if not ids and not any(chosen.values()):
        raise InvalidInputError(
            "nothing to forget was named; give ids, a document_id, or a filter; an empty list "
            "names nothing"
        )
    only_shown = any(chosen.values()) if dry_run is None else dry_run
    gone = memory.forget(bank, ids, dry_run=only_shown, **chosen)
    if not gone:
        return "Nothing matches; nothing was deleted."
    if not only_shown:
        return f"Forgotten: {', '.join(gone)}"
    lines = [_memory_line(one) for one in (*gone.memories, *gone.derived)]
    further = f"\n(and {len(lines) - MAX_SHOWN} more)" if len(lines) > MAX_SHOWN else ""
    derived = f", including {counted(len(gone.derived), 'conclusion')}" if gone.derived else ""
    return (
        f"Nothing was deleted. {counted(len(gone), 'memory')} would be deleted{derived}. "
        "Call forget again with dry_run false to delete permanently.\n"
        + fence("\n".join(lines[:MAX_SHOWN]) + further)
    )


def list_memories(memory: Hindsight, bank: str, **given: Any) -> str:
    """Return a page of memories."""
    return _page(memory.memories.list(bank, **given), _memory_line)


def _page(page: Page[Any], line: Callable[[Any], str]) -> str:
    if not page.items:
        return NOTHING_FOUND
    lines = fence("\n".join(map(line, page.items)))
    size = f"{len(page.items)} of {page.total}."
    following = f" For more, give cursor {page.next_cursor!r}." if page.next_cursor else ""
    return f"{lines}\n{size}{following}"


def _memory_line(memory: Memory) -> str:
    line = common.as_list_item(memory)
    if memory.invalidated_at is None:
        return line
    return f"{line} (marked as wrong: {as_line(memory.invalidated_because or 'no reason given')})"


def why(memory: Hindsight, bank: str, *, query: str, memory_id: str | None) -> str:
    """Return why memories were found for a question, or why one was left out."""
    result = common.recall(memory, bank, query, max_tokens=arguments.TOKENS)
    if common.asks_nothing(query, {}):
        return common.nothing_found(query)
    if memory_id is None:
        head = [f"Times in the question: {', '.join(w.text for w in result.windows) or 'none'}. "]
        head += [f"Known names: {', '.join(result.entities_named) or 'none'}."]
        more = len(result.left_out)
        left = f"\n{more} more did not fit into {result.max_tokens} tokens." if more else ""
        text = as_line("".join(head)) + "\n" + "\n".join(map(_reasons, result))
        return fence(text + left) if result else NOTHING_FOUND
    for one in result:
        if one.id == memory_id:
            return fence(f"It was returned, at rank {one.rank}.\n{_reasons(one)}")
    for one in result.left_out:
        if one.id == memory_id:
            beyond = f"It was left out, at rank {one.rank}: {result.max_tokens} tokens were full."
            return fence(f"{beyond}\n{_reasons(one)}")
    known = memory.memories.get(bank, memory_id)
    return fence(f"{_reason_not_returned(known)}\n{_memory_line(known)}")


def _reason_not_returned(memory: Memory) -> str:
    if memory.invalidated_at is not None:
        return "It is never recalled, because it was marked as wrong."
    return "It is not relevant enough to this question, or other memories rank higher."


def _reasons(one: Recalled) -> str:
    return f"{common.as_list_item(one.memory, one.line)} relevance {one.relevance:.2f}: " + as_line(
        "; ".join(one.reasons)
    )


def restore(memory: Hindsight, bank: str, *, memory_id: str) -> str:
    """Undo `mark_wrong`, and return the id of the memory."""
    return f"Restored: {memory.memories.restore(bank, memory_id).id}"


# People, conclusions, banks


def profile(memory: Hindsight, bank: str, *, person: str) -> str:
    """Return the profile of a person."""
    found = memory.profile(bank, person, max_tokens=arguments.TOKENS)
    return fence(found.text) if found else NOTHING_FOUND


def list_entities(memory: Hindsight, bank: str, *, limit: int, cursor: str | None) -> str:
    """Return a page of entities."""
    page = memory.entities.list(bank, limit=limit, cursor=cursor)
    return _page(page, lambda one: f"- {as_item(one.name)} ({one.kind}, {one.mention_count})")


def get_entity(memory: Hindsight, bank: str, *, name: str) -> str:
    """Return the other names of an entity, what it is mentioned with, and its latest memories."""
    entity = memory.entities.get(bank, name)
    companions = memory.entities.companions(bank, entity.id, limit=10)
    timeline = memory.entities.timeline(bank, entity.id)
    mentioned_with = ", ".join(f"{one.entity.name} ({one.memories})" for one in companions)
    lines = [
        f"{entity.name} ({entity.kind}), in {counted(entity.mention_count, 'memory')}",
        f"Other names: {', '.join(entity.aliases) or 'none'}",
        f"Mentioned with: {mentioned_with or 'none'}",
    ]
    return fence(
        "\n".join([*map(as_item, lines), *(_memory_line(e.memory) for e in timeline[-MAX_SHOWN:])])
    )


def merge_entities(memory: Hindsight, bank: str, *, source: str, target: str) -> str:
    """Merge two entities."""
    merged = memory.entities.merge(bank, source, target)
    names = as_line(", ".join(merged.aliases))
    return fence(f"{as_item(merged.name)} is now also called: {names}")


def list_observations(memory: Hindsight, bank: str, *, limit: int, cursor: str | None) -> str:
    """Return a page of observations."""
    page = memory.observations.list(bank, limit=limit, cursor=cursor)
    return _page(
        page,
        lambda one: (
            f"- {as_item(one.text)} ({one.kind}, confidence {one.confidence:.2f}, from "
            f"{', '.join(quote.memory_id for quote in one.evidence)}) (id {one.id})"
        ),
    )


def list_mental_models(memory: Hindsight, bank: str) -> str:
    """Return the mental models, each with its text and age."""
    return _fenced(
        f"- {as_line(model.name)}"
        f"{', stale' if memory.mental_models.staleness(bank, model.id) else ''} "
        f"(written {model.refreshed_at:%Y-%m-%d}): {as_item(model.text)}"
        for model in memory.mental_models.list(bank)
    )


def set_mental_model(
    memory: Hindsight, bank: str, *, name: str, text: str | None, source_query: str | None
) -> str:
    """Create a mental model, or replace the one with this name.

    Raises:
        InvalidInputError: neither or both of a text and a question were given.
    """
    if (text is None) == (source_query is None):
        raise InvalidInputError("give either text or source_query")
    old = [one for one in memory.mental_models.list(bank) if one.name == name]
    if not old:
        made = memory.mental_models.create(bank, name, text=text, source_query=source_query)
    elif text is not None:
        made = memory.mental_models.update(bank, old[0].id, text=text)
    else:
        memory.mental_models.update(bank, old[0].id, source_query=source_query)
        made = memory.mental_models.refresh(bank, old[0].id)
    return fence(f"{as_line(made.name)}: {as_item(made.text)}")


def bank_stats(memory: Hindsight, bank: str) -> str:
    """Return counts of a bank's contents."""
    stats = memory.banks.stats(bank)
    types = ", ".join(f"{count} {kind}" for kind, count in stats.by_type.items() if count)
    lines = [
        f"{counted(stats.memories, 'memory')} ({types or 'none'}), "
        f"{stats.invalidated} marked as wrong",
        f"{counted(stats.entities, 'entity')}, {counted(stats.documents, 'document')}",
    ]
    if stats.first_mentioned_at and stats.last_mentioned_at:
        days = (f"{stats.first_mentioned_at:%Y-%m-%d}", f"{stats.last_mentioned_at:%Y-%m-%d}")
        lines.append(f"said {' to '.join(dict.fromkeys(days))}")
    return "\n".join(lines)


def list_banks(memory: Hindsight, bank: str) -> str:
    """Return all banks."""
    return _fenced(
        f"- {as_item(one.id)}" + (f": {as_item(one.mission)}" if one.mission else "")
        for one in memory.banks.list()
    )


def _fenced(lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return fence(text) if text else NOTHING_FOUND


TOOLS = (
    Tool("retain", arguments.Retain, _text_of(common.answer_retain), "add", True),
    Tool("recall", arguments.Recall, recall, "read", True),
    Tool("reflect", arguments.Reflect, _text_of(common.answer_reflect), "read", True),
    Tool("forget", arguments.Forget, forget, "delete", True),
    Tool("correct", shared.CorrectArguments, _text_of(common.answer_correct), "replace", True),
    Tool("list_memories", arguments.ListMemories, list_memories, "read", True),
    Tool("why", arguments.Why, why, "read", True),
    Tool("history", shared.HistoryArguments, _text_of(common.answer_history)),
    Tool("mark_wrong", arguments.MarkWrong, _text_of(common.answer_invalidate), "replace"),
    Tool("restore", arguments.Restore, restore, "replace"),
    Tool("profile", arguments.Person, profile),
    Tool("list_entities", arguments.Paged, list_entities),
    Tool("get_entity", arguments.Named, get_entity),
    Tool("merge_entities", arguments.Merge, merge_entities, "replace"),
    Tool("list_observations", arguments.Paged, list_observations),
    Tool("list_mental_models", arguments.NoArguments, list_mental_models),
    Tool("set_mental_model", arguments.SetMentalModel, set_mental_model, "replace"),
    Tool("bank_stats", arguments.NoArguments, bank_stats),
    Tool("list_banks", arguments.NoArguments, list_banks),
)
"""All tools; `list_banks` is offered only where no bank is pinned."""
