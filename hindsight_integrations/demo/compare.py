"""Plain vector search and recall on the same messages, side by side.

Both embed with the same model, and only the first `K` messages of both count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.client import Hindsight
from hindsight_integrations.demo.story import Story, StoryMessage, StoryQuestion
from hindsight_integrations.evaluate.systems import references
from hindsight_integrations.explain import why
from hindsight_integrations.models import BankStats
from hindsight_integrations.nlp.embeddings import Embedder
from hindsight_integrations.results import RecallResult

BANK = "story"

K = 10
"""Most messages that each search may show."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search shows, with the reason it was found."""

    message: StoryMessage
    is_evidence: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of one search to a question.

    Attributes:
        hits: its first `K` messages.
        ranks: the rank of each message of the evidence, 1 is best; None if it has none.
        seconds: duration of the search.
    """

    hits: tuple[Hit, ...]
    ranks: tuple[int | None, ...]
    seconds: float

    @property
    def found(self) -> int:
        """Number of messages of the evidence among the hits."""
        return sum(rank is not None and rank <= K for rank in self.ranks)

    @property
    def complete(self) -> bool:
        """True if all the evidence is among the hits."""
        return self.found == len(self.ranks)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question with the answers of both searches."""

    question: StoryQuestion
    plain: Answer
    recall: Answer
    result: RecallResult


@dataclass(frozen=True, slots=True)
class Retained:
    """Duration and result of retaining the story."""

    new: int
    seconds: float
    stats: BankStats


class PlainSearch:
    """Search by cosine alone, as a vector database does.

    Args:
        story: its messages are searched, each as "speaker: text".
        embedder: embeds them and the questions.
    """

    def __init__(self, story: Story, embedder: Embedder) -> None:
        self._story = story
        self._embedder = embedder
        self._vectors = embedder.embed([message.line for message in story.messages])

    def answer(self, question: StoryQuestion) -> Answer:
        """Return the nearest messages."""
        started = time.perf_counter()
        cosines = self._vectors @ self._embedder.embed([question.question])[0]
        order = np.argsort(-cosines, kind="stable").tolist()
        seconds = time.perf_counter() - started
        ranked = [(self._story.messages[row], f"cosine {cosines[row]:.2f}") for row in order]
        return _answer(question, ranked, seconds)


def remember(
    memory: Hindsight, story: Story, progress: Callable[[int, int | None], None]
) -> Retained:
    """Retain the story, a session at a time, and wait for its consolidation.

    A second call changes nothing.
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
    """Ask both searches a question."""
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
    """Return the first `K` messages of a ranking, each message counted once."""
    ranks: dict[str, int] = {}
    hits: list[Hit] = []
    for message, reason in ranked:
        if message.id not in ranks:
            ranks[message.id] = len(ranks) + 1
            hits.append(Hit(message, message.id in question.evidence, reason))
    return Answer(tuple(hits[:K]), tuple(map(ranks.get, question.evidence)), seconds)
