"""Conversations: sessions that retain as they go, and memories that reflect on them."""

from hindsight_integrations.sessions.exchanges import Exchange, MemoryEntry
from hindsight_integrations.sessions.insights import Evidence, Insight
from hindsight_integrations.sessions.reflection_memory import ReflectionMemory
from hindsight_integrations.sessions.session import Session

__all__ = ["Evidence", "Exchange", "Insight", "MemoryEntry", "ReflectionMemory", "Session"]
