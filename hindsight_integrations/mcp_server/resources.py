"""The resources of the MCP server: what a host can attach to a conversation without a call."""

from __future__ import annotations

from collections import deque
from datetime import timedelta

from hindsight_integrations.client import Hindsight
from hindsight_integrations.integrations import common
from hindsight_integrations.mcp_server import tools
from hindsight_integrations.models import Memory, every_item
from hindsight_integrations.rendering import as_line
from hindsight_integrations.results import NOTHING_FOUND
from hindsight_integrations.retain.fence import fence

USER = "user"
"""Speaker whose profile is shown: the one whose words hosts retain under this name."""

RECENT = 20
"""Memories of the resource `recent`."""

PAGE = 1000
"""Maximum memories in a page of `memories.list`."""

FIRST_DAYS, WIDER = 1, 8
"""Days before the latest memory that are read first, and the factor of each further span."""


def profile(memory: Hindsight, bank: str) -> str:
    """Return the bank's purpose and rules, figures of what it holds, and its user's profile."""
    about = memory.banks.get(bank)
    head = [
        f"{title}: {as_line(text)}"
        for title, text in (
            ("Name", about.name),
            ("Mission", about.mission),
            ("Background", about.background),
            ("Rules", "; ".join(about.directives)),
        )
        if text
    ]
    user = memory.profile(bank, USER).text
    parts = ["\n".join(head), tools.bank_stats(memory, bank), fence(user) if user else ""]
    return "\n\n".join(part for part in parts if part)


def recent(memory: Hindsight, bank: str) -> str:
    """Return the memories that were said last, newest first."""
    latest = _latest(memory, bank)
    return fence("\n".join(map(common.as_list_item, latest))) if latest else NOTHING_FOUND


def _latest(memory: Hindsight, bank: str) -> list[Memory]:
    """Return the latest memories, read from spans that widen until they hold `RECENT` memories."""
    stats = memory.banks.stats(bank)
    if stats.first_mentioned_at is None or stats.last_mentioned_at is None:
        return []
    found: list[Memory] = []
    days, is_all = FIRST_DAYS, False
    while len(found) < RECENT and not is_all:
        since = stats.last_mentioned_at - timedelta(days=days)
        is_all = since <= stats.first_mentioned_at
        found = _since(memory, bank, since.isoformat())
        days *= WIDER
    return sorted(found, key=lambda one: (one.mentioned_at, one.id), reverse=True)[:RECENT]


def _since(memory: Hindsight, bank: str, since: str) -> list[Memory]:
    """Return the memories said since a time, at most `PAGE`: those stored last."""
    where = {"mentioned_at": {"$gte": since}}
    said = every_item(
        lambda cursor: memory.memories.list(bank, where=where, limit=PAGE, cursor=cursor)
    )
    return [*deque(said, maxlen=PAGE)]
