"""Statements with their dates, and the changes between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations.models import Memory
from hindsight_integrations.reflect.topics import Statement


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A statement with its memory."""

    memory: Memory
    statement: Statement

    @property
    def at(self) -> datetime:
        """Time of the statement."""
        return self.memory.mentioned_at

    @property
    def text(self) -> str:
        """Text of the statement."""
        return self.statement.text
