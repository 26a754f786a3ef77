"""The constants on the page about conversations are those of the code."""

from __future__ import annotations

from pathlib import Path

from hindsight_integrations.sessions import reflection_memory
from hindsight_integrations.sessions.exchanges import (
    FADING,
    FULL_CHARS,
    RECENCY,
    SUBSTANCE,
)
from hindsight_integrations.sessions.session import EVERY, WINDOW

DOCS = Path(__file__).parents[2] / "docs" / "conversations.md"


def test_the_numbers_are_those_of_the_code() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert f"every {EVERY} messages the last {WINDOW}" in text
    for name in ("recent", "insights", "every", "threshold"):
        assert f"| `{name}` | {getattr(reflection_memory, name.upper())} |" in text
    recency = f"{RECENCY} / (1 + hours / {FADING.total_seconds() / 3600:g})"
    assert f"{recency} + {SUBSTANCE} * min(1, characters / {FULL_CHARS})" in text
