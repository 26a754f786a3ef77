"""What the bundled models made of a text, remembered for the tests of a process.

Tests retain and ask the same few sentences again and again, and reading them took a sixth of the
time of the fast tests. Here a model is run once for each batch, so that a test gets exactly what
the model would give it: a batch of other texts may change the last digits. Tests of `tests/nlp`
run the models themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from hindsight_integrations.nlp import onnx_encoder, spacy_pipeline

MOST = 2000
"""Batches remembered of a model: some 50 MB of the encoder's."""
LONGEST = 64
"""Tokens of a batch that is remembered; characters are about five times as many."""

_Value = TypeVar("_Value")


class _Remembered(Generic[_Value]):
    """The values of each model that is still there.

    It needs no lock, which a forked child might find taken: of two threads that make one value at
    a time, the later keeps its own.
    """

    def __init__(self) -> None:
        self.values: WeakKeyDictionary[Any, dict[Hashable, _Value]] = WeakKeyDictionary()

    def get(self, model: object, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """Return the value of a key, made if there is none; a failure is not remembered."""
        known = self.values.setdefault(model, {})
        value = known.get(key)
        if value is None:
            value = make()
            if len(known) >= MOST:
                known.clear()
            known[key] = value
        return value


class Reading:
    """Stands for the encoder's and the pipeline's reading; `off` while tests run both anew."""

    def __init__(self) -> None:
        self.off = False
        self._run = onnx_encoder._run
        self._annotate = spacy_pipeline.Pipeline.annotate
        self._states: _Remembered[Any] = _Remembered()
        self._annotations: _Remembered[tuple[spacy_pipeline.Annotation, ...]] = _Remembered()

    def install(self) -> None:
        """Put it in the place of both, in this process."""
        reading = self

        def annotate(
            pipeline: spacy_pipeline.Pipeline, texts: Sequence[str]
        ) -> list[spacy_pipeline.Annotation]:
            return reading.annotate(pipeline, texts)

        onnx_encoder._run = self.run
        spacy_pipeline.Pipeline.annotate = annotate  # type: ignore[method-assign, assignment]

    def run(self, session: Any, windows: list[Any], model: str) -> Any:
        """Return the hidden states of a batch, which nobody can write to."""
        key = tuple(window.ids for window in windows)
        if self.off or sum(map(len, key)) > LONGEST:
            return self._run(session, windows, model)

        def make() -> Any:
            states = self._run(session, windows, model)
            states.setflags(write=False)
            return states

        return self._states.get(session, key, make)

    def annotate(
        self, pipeline: spacy_pipeline.Pipeline, texts: Sequence[str]
    ) -> list[spacy_pipeline.Annotation]:
        """Return the annotations of some texts."""
        key = tuple(texts)
        model = pipeline._model
        if self.off or model is None or sum(map(len, key)) > 5 * LONGEST:
            return self._annotate(pipeline, texts)
        return list(self._annotations.get(model, key, lambda: tuple(self._annotate(pipeline, key))))
