"""Plain vector search and recall on the same messages, side by side.

Both embed with the same model, and both are held to their first `K` messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.demo.story import Story, StoryMessage, StoryQuestion
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.evaluate.systems import references
from hindsight_integrations.explain import why
from hindsight_integrations.language.embed import Embedder
from hindsight_integrations.model import BankStats
from hindsight_integrations.results import RecallResult

BANK = "story"

K = 10
"""Messages that each search may show."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search shows, whether it is evidence, and what brought it up."""

    message: StoryMessage
    is_evidence: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one search made of a question.

    Attributes:
        hits: its first `K` messages.
        places: the rank of each message of the evidence, 1 is best; None if it ranked nowhere.
        seconds: that it took.
    """

    hits: tuple[Hit, ...]
    places: tuple[int | None, ...]
    seconds: float

    @property
    def found(self) -> int:
        """Messages of the evidence among the hits."""
        return sum(place is not None and place <= K for place in self.places)

    @property
    def complete(self) -> bool:
        """Whether all the evidence is among the hits."""
        return self.found == len(self.places)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question, and what both searches made of it."""

    question: StoryQuestion
    plain: Answer
    recall: Answer
    result: RecallResult


@dataclass(frozen=True, slots=True)
class Retained:
    """What remembering the story took, and what came of it."""

    new: int
    seconds: float
    stats: BankStats


class PlainSearch:
    """The nearest messages by cosine, nothing else: what a vector database gives.

    Args:
        story: whose messages are searched, each as "speaker: text".
        embedder: turns them, and the questions, into vectors.
    """

    def __init__(self, story: Story, embedder: Embedder) -> None:
        self._story = story
        self._embedder = embedder
        self._vectors = embedder.embed([message.line for message in story.messages])

    def answer(self, question: StoryQuestion) -> Answer:
        """The nearest messages."""
        started = time.perf_counter()
        cosines = self._vectors @ self._embedder.embed([question.question])[0]
        order = np.argsort(-cosines, kind="stable").tolist()
        seconds = time.perf_counter() - started
        ranked = [(self._story.messages[row], f"cosine {cosines[row]:.2f}") for row in order]
        return _answer(question, ranked, seconds)


def remember(
    memory: Hindsight, story: Story, progress: Callable[[int, int | None], None]
) -> Retained:
    """Retain the story, a session at a time, until what it says together is observed as well.

    Done twice, the second time costs nothing.
    """
    started = time.perf_counter()
    done = new = 0
    progress(done, len(story.messages))
    for session, messages in story.sessions.items():
        turns = [message.said for message in messages]
        new += len(memory.retain_messages(BANK, turns, session=session).stored)
        done += len(turns)
        progress(done, len(story.messages))
    memory.wait_idle()
    return Retained(new, time.perf_counter() - started, memory.banks.stats(BANK))


def compare(
    memory: Hindsight, plain: PlainSearch, story: Story, question: StoryQuestion
) -> Comparison:
    """Put a question to both."""
    started = time.perf_counter()
    result = memory.recall(BANK, question.question, query_time=question.asked_at)
    seconds = time.perf_counter() - started
    messages = {message.id: message for message in story.messages}
    ranked = [
        (messages[reference], why(item))
        for item in result
        for reference in references(memory, item.memory)
        if reference in messages
    ]
    recalled = _answer(question, ranked, seconds)
    return Comparison(question, plain.answer(question), recalled, result)


def _answer(
    question: StoryQuestion, ranked: Sequence[tuple[StoryMessage, str]], seconds: float
) -> Answer:
    """A ranking held to its first `K` messages, each message counted once."""
    places: dict[str, int] = {}
    hits: list[Hit] = []
    for message, reason in ranked:
        if message.id not in places:
            places[message.id] = len(places) + 1
            hits.append(Hit(message, message.id in question.evidence, reason))
    return Answer(tuple(hits[:K]), tuple(map(places.get, question.evidence)), seconds)
