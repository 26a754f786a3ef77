"""The measuring of observations: what it counts, on a bank small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.speed.observing import main, measure

SAID = [
    ("2025-01-06", "I'll build the checkout in React, like the kiosk."),
    ("2025-03-09", "The pier has a new lamp by the stairs."),
    ("2025-06-15", "I spent three nights moving the checkout to Vue, and it's live."),
]


def dataset(folder: Path) -> Path:
    items = [
        {"id": f"i{n}", "text": text, "speaker": "Inês", "ts": f"{day}T09:00:00", "session": day}
        for n, (day, text) in enumerate(SAID)
    ]
    question = {"id": "q", "question": "What is the checkout built in?", "gold": ["i0", "i2"]}
    content = {"dataset": "d", "banks": [{"id": "b", "items": items, "questions": [question]}]}
    file = folder / "data.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_cost_and_context_are_measured(tmp_path: Path) -> None:
    found = measure(dataset(tmp_path))
    assert (found.memories, found.observations, found.evidence) == (3, 1, 2)
    (reading,) = found.readings
    assert reading.found == (1.0, 1.0, 1.0)
    assert reading.replaced
    facts, by_default, preferring = reading.tokens
    assert 0 < facts == by_default < preferring


def test_the_figures_go_into_their_section_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Figures\n", encoding="utf-8")
    assert main([str(dataset(tmp_path)), "--page", str(page), "--limit", "1"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<!-- observations:start -->" in text
    assert "| observations drawn | 1 |" in text
    assert "observations preferred" in text
