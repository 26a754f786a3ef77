"""Deletion with a grace period: memories are hidden at once, and deleted when it is over.

A hidden memory is an invalidated one that expires. It counts as invalid since it was said, so that
no `as_of` shows it, and its history records what `restore` puts back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain

from hindsight_integrations.errors import InvalidInputError, MemoryNotFoundError
from hindsight_integrations.history import Change
from hindsight_integrations.models import Memory, is_conclusion, utc_now
from hindsight_integrations.reflect.conclusions import rewrite_conclusions
from hindsight_integrations.retain.caller_ids import changes_between
from hindsight_integrations.retain.hidden import FORGET, WITH_DOCUMENT, changes_that_hid
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import DOCUMENT, RECORD, ChangeSet, GraphStore, StoredBank
from hindsight_integrations.stores.integrity import unreadable_error
from hindsight_integrations.stores.reads import read_one
from hindsight_integrations.validation import shown


def end_of_grace(after: object) -> datetime:
    """Return the time that lies `after` from now.

    Raises:
        InvalidInputError: it is not a timedelta above zero, or too long.
    """
    try:
        if isinstance(after, timedelta) and after > timedelta(0):
            return utc_now() + after
    except OverflowError:
        pass
    raise InvalidInputError(
        f"after is {shown(after)}; give a timedelta above zero, such as timedelta(days=30)"
    )


def hiding(
    runtime: Runtime,
    bank: StoredBank,
    chosen: Sequence[str],
    document_id: str | None,
    until: datetime,
) -> ChangeSet:
    """Return the change that hides memories until they are deleted; under the bank's lock."""
    bank_id, now = bank.bank.id, utc_now()
    because = f"forgotten; can be restored until {until.isoformat(timespec='seconds')}"
    records, history = {}, list[Change]()
    found = runtime.graph.read(bank_id, RECORD, chosen)
    if damaged := [id for id in chosen if id not in found]:
        raise unreadable_error(bank_id, damaged[0])
    for id, record in found.items():
        old = record.memory
        new = replace(
            old,
            invalidated_at=old.mentioned_at,
            invalidated_because=because,
            expires_at=until,
            pinned=False,
            updated_at=now,
        )
        records[id] = replace(record, memory=new)
        differing = changes_between(old, new, FORGET, now)
        history += (change for change in differing if change.field != "expires_at")
        history.append(Change(id, FORGET, "expires_at", _text(old.expires_at), _text(until), now))
        if document_id is not None:
            history.append(Change(id, FORGET, WITH_DOCUMENT, document_id, None, now))
    changes = ChangeSet(
        bank_id,
        replaced=tuple(records.values()),
        history=tuple(history),
        mark_consolidated=tuple(id for id in records if is_conclusion(records[id].memory)),
    )
    _, reflecting = runtime.removing_from(bank)
    return rewrite_conclusions(reflecting, bank, set(records), records).joined_to(changes)


def restored(graph: GraphStore, memory: Memory) -> Memory:
    """Return a memory as valid, with the expiry it had before it was hidden.

    Raises:
        MemoryNotFoundError: it was hidden, and the time to restore it is over.
    """
    valid = replace(memory, invalidated_at=None, invalidated_because=None)
    hidden = changes_that_hid(graph, memory.bank_id, [memory.id]).get(memory.id)
    if hidden is None:
        return valid
    if memory.expires_at is not None and memory.expires_at <= utc_now():
        raise MemoryNotFoundError(
            f"memory {memory.id!r} of bank {memory.bank_id!r} was forgotten; it could be restored "
            f"until {memory.expires_at.isoformat(timespec='seconds')}"
        )
    first = {change.field: change.old for change in reversed(hidden)}
    ends = first["expires_at"]
    return replace(
        valid,
        expires_at=None if ends is None else datetime.fromisoformat(ends),
        pinned=first.get("pinned") == str(True),
    )


def documents_of(graph: GraphStore, bank_id: str, ids: Sequence[str]) -> list[str]:
    """Return the documents to delete together with hidden memories."""
    changes = chain.from_iterable(changes_that_hid(graph, bank_id, ids).values())
    documents = dict.fromkeys(c.old for c in changes if c.field == WITH_DOCUMENT and c.old)
    return [id for id in documents if read_one(graph, bank_id, DOCUMENT, id, None)]


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
