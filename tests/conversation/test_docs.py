"""The examples of the documentation run, one after the other, and do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.conversation import reflection_memory
from hindsight_integrations.conversation.remarks import FADING, FULL_CHARS, RECENCY, SUBSTANCE
from hindsight_integrations.conversation.session import EVERY, WINDOW

from .scripted import Script

DOCS = Path(__file__).parents[2] / "docs" / "conversations.md"


@pytest.mark.slow
def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    insight = "Alice prefers trains to planes."
    names: dict[str, Any] = {"llm": Script(insight, insight)}
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    shown = []
    for number, block in enumerate(blocks):
        exec(compile(block, f"conversations.md, example {number + 1}", "exec"), names)
        shown.append(capsys.readouterr().out)
    assert shown[1].startswith("4\n")
    assert "Mochi came along" in shown[1]
    assert [message["role"] for message in names["messages"]] == [
        "system", "system", "user", "assistant", "user", "user",
    ]  # fmt: skip
    assert insight in names["messages"][1]["content"]
    assert shown[4].startswith(insight)
    assert shown[4].count(insight) == 2
    with Hindsight("./memories") as memory:  # what was said was forgotten, what was learnt not
        assert [each.text for each in memory.memories.list("alice").items] == [insight]


def test_the_numbers_are_those_of_the_code() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert f"every {EVERY} messages the last {WINDOW}" in text
    for name in ("recent", "insights", "every", "threshold"):
        assert f"| `{name}` | {getattr(reflection_memory, name.upper())} |" in text
    recency = f"{RECENCY} / (1 + hours / {FADING.total_seconds() / 3600:g})"
    assert f"{recency} + {SUBSTANCE} * min(1, characters / {FULL_CHARS})" in text
