"""Scripted replies about remarks, and the insights that a reflection memory learns from them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hindsight_integrations.nlp.llm import LONGEST_REPLY
from hindsight_integrations.sessions import ReflectionMemory

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
TRAINS = "Alice prefers trains to planes."
PORTO = "Alice plans to move to Porto in May."


def as_json(*insights: tuple[str, float]) -> str:
    return json.dumps({"insights": [{"insight": t, "importance": i} for t, i in insights]})


def texts(learning: ReflectionMemory) -> list[str]:
    """Return the insights, once reflections in the background have run."""
    assert learning.wait_idle(60)
    return [insight.text for insight in learning.insights]


def recent(learning: ReflectionMemory) -> list[str]:
    """Return what is shown, once reflections in the background have run."""
    assert learning.wait_idle(60)
    return [remark.text for remark in learning.recent]


def say(learning: ReflectionMemory, count: int, first: int = 1) -> None:
    for n in range(first, first + count):
        learning.add_message("user", f"Remark {n}.")


BAD_REPLIES = {
    "empty": "",
    "too_short": "ok\nno",
    "cut_off": as_json((TRAINS, 0.9), (PORTO, 0.4))[:-20],
    "cut_off_list": json.dumps([{"insight": TRAINS}, {"insight": PORTO}], indent=2)[:-15],
    "cut_off_in_a_fence": f'```json\n[\n  {{"insight": "{TRAINS}',
    "another_object": '{"error": "You have exceeded your quota."}',
    "no_texts": '[{"insight": 5}]',
    "huge": "All work and no play. " * (LONGEST_REPLY // 20),
    "one_huge_line": "All work and no play. " * 200,
    "deep": "[" * 50_000,
    "only_thoughts": f"<think>{TRAINS}</think>",
}
