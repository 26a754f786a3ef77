"""`memory.tags`: the labels of a bank's memories and mental models, counted and edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import NotFoundError
from hindsight_integrations.history import Change
from hindsight_integrations.models import MentalModel, is_conclusion, utc_now
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.retain.caller_ids import changes_between
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    EVERYTHING,
    MENTAL_MODEL,
    RECORD,
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.reads import every_memory

Edited = tuple[str, ...]
"""The tags of a memory or mental model, after an edit."""


class Tags(Namespace):
    """The tags of a bank."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def list(self, bank_id: str, *, include_invalid: bool = False) -> dict[str, int]:
        """Return each tag with the number of memories that have it, most frequent first.

        Args:
            bank_id: which bank.
            include_invalid: count invalidated memories too. Expired ones are never counted.
        """
        self._runtime.bank(bank_id)
        all_of_them = validation.flag("include_invalid", include_invalid)
        filter = MemoryFilter(now=utc_now(), include_invalid=all_of_them)
        memories = every_memory(self._runtime.graph, bank_id, filter)
        counts = Counter(tag for memory in memories for tag in memory.tags)
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def rename(self, bank_id: str, tag: str, name: str, *, reason: str | None = None) -> int:
        """Rename a tag of memories and mental models; return how many had it.

        Items that already have the new tag keep one of the two. The old tags are kept in the
        histories.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or nothing has the tag.
        """
        new = validation.label("a tag", name)

        def renamed(tags: Edited) -> Edited:
            return tuple(dict.fromkeys(new if one == tag else one for one in tags))

        return self._edit(bank_id, tag, renamed, "rename tag", reason)

    def remove(self, bank_id: str, tag: str, *, reason: str | None = None) -> int:
        """Remove a tag from all memories and mental models; return how many had it.

        No memory is deleted; to delete the memories with a tag, call `forget(tags=...)`.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or nothing has the tag.
        """

        def without(tags: Edited) -> Edited:
            return tuple(one for one in tags if one != tag)

        return self._edit(bank_id, tag, without, "remove tag", reason)

    def _edit(
        self,
        bank_id: str,
        tag: str,
        edited: Callable[[Edited], Edited],
        action: str,
        reason: str | None,
    ) -> int:
        graph = self._runtime.graph
        validation.label("a tag", tag)
        reason = validation.reason(reason)

        def make(bank: StoredBank) -> tuple[ChangeSet, int]:
            now = utc_now()
            tagged = every_memory(graph, bank_id, replace(EVERYTHING, tags=(tag,)))
            records = graph.read(bank_id, RECORD, [memory.id for memory in tagged]).values()
            models = [model for model in graph.scan(bank_id, MENTAL_MODEL) if tag in model.tags]
            if not records and not models:
                raise NotFoundError(
                    f"nothing in bank {bank_id!r} has the tag {tag!r}; see tags.list({bank_id!r})"
                )
            new = [_retagged(record, edited(record.memory.tags), now) for record in records]
            history = [
                entry
                for old, edit in zip(records, new, strict=True)
                for entry in changes_between(old.memory, edit.memory, action, now, reason)
            ]
            history += [_change_of(m, edited(m.tags), action, now, reason) for m in models]
            changes = ChangeSet(
                bank_id,
                replaced=tuple(new),
                history=tuple(history),
                mental_models=tuple(replace(m, tags=edited(m.tags)) for m in models),
                mark_consolidated=tuple(r.memory.id for r in new if is_conclusion(r.memory)),
            )
            return changes, len(new) + len(models)

        edits, _ = change(self._runtime, bank_id, make)
        self._runtime.reflect_later(bank_id)
        return edits

    alist = async_variant(list)
    arename = async_variant(rename)
    aremove = async_variant(remove)


def _retagged(record: MemoryRecord, tags: Edited, now: datetime) -> MemoryRecord:
    return replace(record, memory=replace(record.memory, tags=tags, updated_at=now))


def _change_of(
    model: MentalModel, tags: Edited, action: str, now: datetime, reason: str | None
) -> Change:
    """Return the history entry of a mental model that gets these tags."""
    old, new = ", ".join(model.tags), ", ".join(tags)
    return Change(model.id, action, "tags", old, new, now, reason, of_model=True)
