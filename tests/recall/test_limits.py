"""A recall ends in time, whatever it is asked, and says what it left out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hindsight_integrations import (
    Arm,
    ChromaVectors,
    Hindsight,
    InvalidInputError,
    Settings,
    StoreUnavailableError,
    runtime,
)
from hindsight_integrations.nlp.embeddings import Encoded
from hindsight_integrations.nlp.minilm import MemoryMiniLM, bundled
from hindsight_integrations.recall.dependencies import COMPUTE_SLOTS, Clock
from hindsight_integrations.recall.gathering import MOST_TIMES


class Stuck:
    """A model that answers as the bundled one does, until it no longer answers at all."""

    id = "test/stuck"
    dimension = 384

    def __init__(self) -> None:
        self.stuck = False
        self.calls = 0
        self.released = threading.Event()

    def _wait(self) -> None:
        self.calls += 1
        if self.stuck:
            self.released.wait()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._wait()
        return bundled().embed(texts)

    def score(self, query: str, memories: Sequence[Any]) -> NDArray[np.float64]:
        self._wait()
        return np.arange(len(memories), dtype=np.float64)


@pytest.fixture
def model() -> Iterator[Stuck]:
    model = Stuck()
    yield model
    model.released.set()


def remembering(**options: Any) -> Hindsight:
    memory = Hindsight.in_memory(**options)
    memory.retain("b", "Alice keeps bees behind the mill.", timestamp=datetime(2024, 5, 3))
    memory.retain("b", "Bruno sails to Madeira every June.", timestamp=datetime(2024, 6, 9))
    return memory


def parts(result: Any) -> list[tuple[str, type[Exception]]]:
    return [(failure.part, type(failure.error)) for failure in result.failures]


@pytest.mark.slow
def test_an_embedder_that_does_not_answer_is_left_out(model: Stuck) -> None:
    settings = Settings(recall_timeout=1.0, consolidate=False)
    with remembering(embedder=model, settings=settings) as memory:
        model.stuck = True
        result = memory.recall("b", "Who keeps bees?")
        assert result[0].text == "Alice keeps bees behind the mill."
        assert parts(result) == [("embedder", StoreUnavailableError)]
        assert "recall_timeout (1 s) exceeded" in str(result.failures[0])
        with pytest.raises(StoreUnavailableError, match="recall_timeout"):
            memory.recall("b", "Who keeps bees?", arms=["semantic"])


def test_a_reranker_that_does_not_answer_is_left_out(model: Stuck) -> None:
    settings = Settings(recall_timeout=1.0, consolidate=False)
    with remembering(reranker=model, settings=settings) as memory:
        model.stuck = True
        result = memory.recall("b", "Who keeps bees?")
        assert result[0].text == "Alice keeps bees behind the mill."
        assert parts(result) == [("reranker", StoreUnavailableError)]


@pytest.mark.slow
def test_events_are_looked_up_until_the_time_is_spent(model: Stuck) -> None:
    settings = Settings(recall_timeout=2.0, consolidate=False)
    with remembering(embedder=model, settings=settings) as memory:
        vector = bundled().embed(["bees"])[0]
        model.stuck = True
        question = "Who kept bees before Bruno sailed to Madeira?"
        result = memory.recall("b", question, query_vector=vector, arms=["semantic", "temporal"])
        assert {part for part, _ in parts(result)} == {"embedder", "events"}
        assert result[0].text == "Alice keeps bees behind the mill."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clause", "what"),
    [("the day before Bruno met guest {},", "events"), ("{} May 20{},", "times")],
)
def test_only_the_first_of_hundreds_of_times_are_looked_up(
    model: Stuck, clause: str, what: str
) -> None:
    settings = Settings(consolidate=False)
    with remembering(embedder=model, settings=settings) as memory:
        clauses = [clause.format(n % 28 + 1, n // 28 + 10) for n in range(28 * 12)]
        if what == "events":
            clauses = [f"the day before Bruno met guest {n}," for n in range(300)]
        model.calls = 0
        result = memory.recall("b", f"Who kept bees {' '.join(clauses)} and why?")
        assert dict(parts(result))[what] is InvalidInputError
        assert f"only the first {MOST_TIMES} were looked up" in str(result.failures[0])
        assert len(result.windows) <= 2 * MOST_TIMES
        assert model.calls <= MOST_TIMES + 2
        few = memory.recall("b", f"Who kept bees {clauses[0]} and why?")
        assert not few.failures


def test_a_recall_that_has_time_names_no_failure() -> None:
    with remembering(settings=Settings(recall_timeout=30.0)) as memory:
        assert not memory.recall("b", "Who keeps bees?").failures


class Slow:
    """A vector index that takes well over half a second for each search."""

    def __init__(self) -> None:
        self.index = ChromaVectors.in_memory()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)

    def query(self, *given: Any) -> Any:
        time.sleep(0.6)
        return self.index.query(*given)


@pytest.mark.slow
def test_an_arm_may_wait_for_a_thread_longer_than_it_may_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "ARMS_AT_ONCE", 2)
    settings = Settings(arm_timeout=1.5, recall_timeout=60.0, consolidate=False)
    with remembering(vectors=Slow(), settings=settings) as memory, ThreadPoolExecutor(16) as many:
        asked = ["Who keeps bees?"] * 16
        arms = [Arm.SEMANTIC, Arm.KEYWORD]  # of a small bank only so the index is asked
        memory.recall("b", asked[0], arms=arms)  # loads what is read once
        found = list(many.map(lambda question: memory.recall("b", question, arms=arms), asked))
    assert [parts(result) for result in found] == [[]] * 16
    # Two threads need eight times 0.6 s: without such a wait the test would show nothing.
    assert max(result.timings["arms"] for result in found) > 1.5


@pytest.mark.parametrize("value", [0, -1.0, 1e9, "60", True])
def test_the_deadline_is_a_number_of_seconds(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="recall_timeout"):
        Settings(recall_timeout=value)


class Meeting(Stuck):
    """Answers questions only when so many are asked at once."""

    def __init__(self, at_once: int) -> None:
        super().__init__()
        self.together = threading.Barrier(at_once)
        self.asking = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.asking:
            self.together.wait(timeout=30)
        return super().embed(texts)


def test_recalls_that_wait_for_a_model_let_others_compute() -> None:
    model = Meeting(2 * COMPUTE_SLOTS)
    with remembering(embedder=model) as memory, ThreadPoolExecutor(2 * COMPUTE_SLOTS) as threads:
        model.asking = True
        asked = [threads.submit(memory.recall, "b", "Who sails?") for _ in range(2 * COMPUTE_SLOTS)]
        for each in asked:
            result = each.result(timeout=60)
            assert not result.failures
            assert "Bruno" in result.text


def test_of_many_recalls_two_compute_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding questions by the bundled model is computing, too."""
    guard, both = threading.Lock(), threading.Barrier(COMPUTE_SLOTS)
    encode, computing, most = MemoryMiniLM.encode_query, [0], [0]

    def counted(model: MemoryMiniLM, text: str) -> Encoded:
        with guard:
            computing[0] += 1
            most[0] = max(most[0], computing[0])
        both.wait(timeout=30)
        time.sleep(0.05)  # time for another to join them
        with guard:
            computing[0] -= 1
        return encode(model, text)

    many = 4 * COMPUTE_SLOTS
    with remembering() as memory, ThreadPoolExecutor(many) as threads:
        monkeypatch.setattr(MemoryMiniLM, "encode_query", counted)
        asked = [threads.submit(memory.recall, "b", "Who sails?") for _ in range(many)]
        assert all("Bruno" in each.result(timeout=60).text for each in asked)
    assert most == [COMPUTE_SLOTS]


def test_a_recall_that_gets_no_turn_in_half_its_time_goes_on() -> None:
    turns = threading.Semaphore(0)
    with Clock(limit=0.02, turns=turns).working():
        pass
    assert not turns.acquire(blocking=False)  # it gave back no turn that it never had
