"""Conversations: sessions that retain as they go, and memory of what was reflected on."""

from hindsight_integrations.conversation.insights import Insight
from hindsight_integrations.conversation.reflection_memory import ReflectionMemory
from hindsight_integrations.conversation.remarks import Remark
from hindsight_integrations.conversation.session import Session

__all__ = ["Insight", "ReflectionMemory", "Remark", "Session"]
