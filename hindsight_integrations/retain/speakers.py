"""Recognise the turns of the bank's own agent, by role or by name."""

from __future__ import annotations

from collections.abc import Collection

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.normalization import entity_norm


def has_agent_role(speaker: str) -> bool:
    """Return True for a role of the agent, such as "assistant", "AI" or "AI model"."""
    words = entity_norm(speaker).split()
    return bool(words) and word_sets("chatter")["agent_roles"].issuperset(words)


def is_agent(speaker: str | None, agent: str, speakers: Collection[str]) -> bool:
    """Return True if a turn is the agent's own.

    Args:
        speaker: who says the turn, if known.
        agent: name of the bank's agent; empty if it has none.
        speakers: all who take part. Where one has the role of the agent, a name is not the
            agent's: a bank may as well bear the name of its user.
    """
    if speaker is None:
        return False
    if has_agent_role(speaker):
        return True
    named = bool(agent) and entity_norm(speaker) == entity_norm(agent)
    return named and not any(map(has_agent_role, speakers))
