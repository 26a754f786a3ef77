"""Memories that store what they are told, and what was stored in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindsight_integrations import Hindsight, Item, Settings
from hindsight_integrations.durable import Backoff
from hindsight_integrations.models import Memory
from hindsight_integrations.retain.request import Submission, text_submission
from hindsight_integrations.stores.folder import Folder

SOON = Backoff(0.001, 0.01)


def owned_by_another(folder: Path) -> Folder:
    """Own the folder as another process would: until closed, no memory opens it."""
    return Folder.open(folder)


def opened(folder: Path, **options: Any) -> Hindsight:
    """A memory that stores what it is told, and nothing by itself."""
    return Hindsight(folder, settings=Settings(consolidate=False), **options)


def everything(memory: Hindsight, bank: str = "b") -> list[Memory]:
    """All memories, in the order they were stored."""
    page = memory.memories.list(bank, limit=1000)
    found = [*page.items]
    while page.next_cursor:
        page = memory.memories.list(bank, limit=1000, cursor=page.next_cursor)
        found += page.items
    return found


def texts(memory: Hindsight, bank: str = "b") -> list[str]:
    return [m.text for m in everything(memory, bank)]


def submission(text: str, document_id: str | None = None) -> Submission:
    return text_submission(Item(text, document_id=document_id), 1000)
