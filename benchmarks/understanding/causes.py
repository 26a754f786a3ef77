"""Causal links between neighbouring turns and paragraphs.

A case is a conversation or a document with the pairs (effect, cause) that it tells, by position. An
answer to a question with "why" is the cause of what was stated before the question, or else of the
question itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.understanding import Score, load
from hindsight_integrations import Hindsight, Message, Settings


def measure(half: str) -> list[Score]:
    """Return a score of the causal links that retain draws at default settings."""
    score = Score(f"causes, {half.replace('_', ' ')}")
    with (
        Hindsight.in_memory(settings=Settings(consolidate=False)) as memory,
        TemporaryDirectory() as folder,
    ):
        for number, case in enumerate(load("causes", half)):
            bank = str(number)
            texts = _retain(memory, bank, case)
            path = Path(folder) / f"{number}.jsonl"
            memory.banks.export(bank, path)
            drawn = _causal_links(path, texts)
            labelled = {(effect, cause) for effect, cause in case["causes"]}
            score.right += len(drawn & labelled)
            score.wrong += [_line(texts, pair) for pair in sorted(drawn - labelled)]
            score.missed += [_line(texts, pair) for pair in sorted(labelled - drawn)]
    return [score]


def _retain(memory: Hindsight, bank: str, case: Mapping[str, Any]) -> list[str]:
    """Retain the case; return its turns or paragraphs."""
    if "paragraphs" in case:
        memory.retain(bank, "\n\n".join(case["paragraphs"]))
        return list(case["paragraphs"])
    memory.retain_messages(bank, [Message(speaker, text) for speaker, text in case["turns"]])
    return [text for _, text in case["turns"]]


def _causal_links(path: Path, texts: list[str]) -> set[tuple[int, int]]:
    """Return effect and cause of each causal link of an exported bank, by position."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    memories = [line["memory"]["memory"] for line in lines if "memory" in line]
    position = {memory["id"]: _position(memory["text"], texts) for memory in memories}
    links = [line["link"] for line in lines if "link" in line]
    return {
        (position[link["source_id"]], position[link["target_id"]])
        for link in links
        if link["kind"] == "causal"
    }


def _position(text: str, texts: list[str]) -> int:
    """Return the position of the paragraph or turn that holds the text of a memory."""
    return next(number for number, whole in enumerate(texts) if whole in text or text in whole)


def _line(texts: list[str], pair: tuple[int, int]) -> str:
    effect, cause = pair
    return f"{texts[effect]} <- {texts[cause]}"
