"""Recall while the embedder is away: the arms that search without a vector still answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hindsight_integrations import EmbeddingError, Hindsight
from hindsight_integrations.nlp.minilm import bundled


class Remote:
    """The bundled model behind a line that can be cut."""

    id = "remote/minilm"
    dimension = 384

    def __init__(self) -> None:
        self.cut = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.cut:
            raise TimeoutError("rate limit")
        return bundled().embed(texts)


@pytest.fixture
def remote() -> Remote:
    return Remote()


@pytest.fixture
def memory(folder: Path, remote: Remote) -> Iterator[Hindsight]:
    with Hindsight(folder, embedder=remote) as memory:
        memory.retain("b", "Alice keeps bees behind the mill.", timestamp=datetime(2024, 5, 3))
        memory.retain("b", "Bruno sails to Madeira every June.", timestamp=datetime(2024, 6, 9))
        memory.wait_idle()
        remote.cut = True
        yield memory


def test_the_other_arms_answer_and_the_failure_is_named(memory: Hindsight) -> None:
    result = memory.recall("b", "Who keeps bees?")
    assert result[0].text == "Alice keeps bees behind the mill."
    assert result[0].score > result[1].score
    assert [(failure.part, type(failure.error)) for failure in result.failures] == [
        ("embedder", EmbeddingError)
    ]
    assert "rate limit" in str(result.failures[0])


def test_a_time_is_found_without_a_vector(memory: Hindsight) -> None:
    result = memory.recall("b", "What happened in June 2024?", arms=["temporal"])
    assert [item.text for item in result] == ["Bruno sails to Madeira every June."]
    assert result.failures


def test_notes_of_entities_do_without_a_vector(memory: Hindsight) -> None:
    result = memory.recall("b", "What about Bruno?", entity_tokens=200)
    assert [note.entity.name for note in result.entity_notes][:1] == ["Bruno"]


def test_nothing_but_the_semantic_arm_raises_what_the_embedder_raised(memory: Hindsight) -> None:
    with pytest.raises(EmbeddingError, match="rate limit"):
        memory.recall("b", "Who keeps bees?", arms=["semantic"])


def test_recall_is_whole_again_when_the_embedder_is_back(memory: Hindsight, remote: Remote) -> None:
    remote.cut = False
    result = memory.recall("b", "Who keeps bees?")
    assert not result.failures
    assert any(arm.arm == "semantic" for arm in result[0].arms)
