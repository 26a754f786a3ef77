"""What `tests/remembered.py` gives is what the models give, and no test can change it."""

from __future__ import annotations

import numpy as np
import pytest

from hindsight_integrations.nlp.minilm import MiniLM
from hindsight_integrations.nlp.spacy_pipeline import Pipeline

from .conftest import READING
from .remembered import LONGEST

TEXTS = ["Ann moved to Bergen in May.", "The bank is open."]


def test_a_batch_read_again_is_as_the_models_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    minilm, pipeline = MiniLM(), Pipeline()
    encoded = [minilm.encode(TEXTS) for _ in range(2)]
    annotated = [pipeline.annotate(TEXTS) for _ in range(2)]
    assert annotated[0][0] is annotated[1][0]  # it was remembered
    monkeypatch.setattr(READING, "off", True)
    fresh = minilm.encode(TEXTS)
    for each in encoded:
        assert np.array_equal(each.vectors, fresh.vectors)
        for tokens, expected in zip(each.token_vectors, fresh.token_vectors, strict=True):
            assert np.array_equal(tokens, expected)
    assert annotated[1] == pipeline.annotate(TEXTS)
    assert annotated[1][0] is not pipeline.annotate(TEXTS)[0]


def test_a_list_of_annotations_is_its_own_and_long_texts_are_not_remembered() -> None:
    pipeline = Pipeline()
    pipeline.annotate(TEXTS).clear()
    assert len(pipeline.annotate(TEXTS)) == len(TEXTS)
    long = [" ".join(TEXTS * LONGEST)]
    assert pipeline.annotate(long)[0] is not pipeline.annotate(long)[0]
