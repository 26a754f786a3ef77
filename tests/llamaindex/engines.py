"""Engines that record questions, a reranker that waits for the event loop, and messages."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from llama_index.core.llms import ChatMessage

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.results import RecallResult

AS_SAID = Settings(consolidate=False)
"""A bank of such an engine holds what was said, and no observations drawn from it meanwhile."""


class CountingHindsight(Hindsight):
    """Keeps the questions of its recalls."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked: list[str] = []

    def recall(self, bank_id: str | Sequence[str], query: str, **options: Any) -> RecallResult:
        self.asked.append(query)
        return super().recall(bank_id, query, **options)


class Gate:
    """A reranker that waits until the event loop lets it through; a blocked one never does."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.passed = False

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        self.passed = self.open.wait(5)
        return [1.0] * len(texts)


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")
