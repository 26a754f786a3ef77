"""The default embedder: all-MiniLM-L6-v2 on ONNX Runtime, sentence and token vectors in one pass.

The model was trained on 256 tokens. A longer text is read window by window: its vector is the
mean over the tokens of all windows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.checks import well_formed
from hindsight_integrations.errors import EmbeddingError, InvalidInputError
from hindsight_integrations.language.embed import (
    Encoded,
    Progress,
    Vectors,
    unit_rows,
)
from hindsight_integrations.language.model_files import find_model_files

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_WINDOW = 256
_WINDOWS = 4
"""Of a longer text no more is read than so many windows, about 1,000 tokens."""
_MAX_CHARS = 16_384 * _WINDOWS
"""Characters that so many tokens hardly ever exceed: spares the tokenizer a megabyte."""
_BATCH = 16
"""Windows run at once. Measured on two cores, sorted by length: 8 to 16 are fastest."""
_MAX_THREADS = 8


class MiniLM:
    """all-MiniLM-L6-v2 in fp32 on the CPU: 384 dimensions, the first 1,000 tokens of a text.

    Loads at first use (0.3 s), and may be used by several threads at once.

    Args:
        model_dir: folder of the model's files; by default they are searched for (see
            `model_files.find_model_files`).
        threads: CPU threads of a batch; by default those this process may run on, at most 8.
    """

    id = "all-MiniLM-L6-v2/fp32"
    dimension = 384

    def __init__(
        self, model_dir: str | os.PathLike[str] | None = None, threads: int | None = None
    ) -> None:
        if threads is not None and threads < 1:
            raise InvalidInputError(f"threads is {threads!r}; give a number from 1, or None")
        self._model_dir = model_dir
        self._threads = threads or min(cores(), _MAX_THREADS)
        self._loading = Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """One unit vector a text, in order; an empty text has one too.

        Raises:
            ModelFilesError: the model's files are missing or altered.
            EmbeddingError: the model failed.
        """
        sums = np.zeros((len(texts), self.dimension), np.float32)
        for batch in self._batches(texts, progress):
            np.add.at(sums, [window.row for window in batch.windows], batch.sums())
        return unit_rows(sums)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> Encoded:
        """Sentence and token vectors of each text, in order.

        Token vectors take 1.5 KB a token, some 46 KB a conversation turn: encode thousands of
        texts in slices, and compress each slice (`interaction.compress`).

        Raises:
            ModelFilesError: the model's files are missing or altered.
            EmbeddingError: the model failed.
        """
        sums = np.zeros((len(texts), self.dimension), np.float32)
        vectors: list[list[NDArray[np.float32]]] = [[] for _ in texts]
        ids: list[list[NDArray[np.int32]]] = [[] for _ in texts]
        found: dict[_Window, tuple[NDArray[np.float32], NDArray[np.int32]]] = {}
        for batch in self._batches(texts, progress):
            np.add.at(sums, [window.row for window in batch.windows], batch.sums())
            found.update(zip(batch.windows, batch.tokens(), strict=True))
        for window in sorted(found, key=lambda window: (window.row, window.place)):
            vectors[window.row].append(found[window][0])
            ids[window.row].append(found[window][1])
        return Encoded(
            unit_rows(sums),
            tuple(map(np.concatenate, vectors)),
            tuple(map(np.concatenate, ids)),
        )

    def _batches(self, texts: Sequence[str], progress: Progress | None) -> Iterator[_Batch]:
        """Windows of like length together, so that little of a batch is padding."""
        if not texts:
            return
        tokenizer, session = self._model()
        encodings = tokenizer.encode_batch_fast([well_formed(text[:_MAX_CHARS]) for text in texts])
        windows = [
            _Window(row, place, tuple(part.ids))
            for row, encoding in enumerate(encodings)
            for place, part in enumerate([encoding, *encoding.overflowing[: _WINDOWS - 1]])
        ]
        windows.sort(key=lambda window: len(window.ids))
        for start in range(0, len(windows), _BATCH):
            batch = windows[start : start + _BATCH]
            yield _run(session, batch)
            if progress is not None:
                progress(sum(window.place == 0 for window in batch))

    def _model(self) -> tuple[Tokenizer, InferenceSession]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self._model_dir, self._threads)
            return self._loaded


@cache
def bundled() -> MiniLM:
    """The one that all parts of the process share, unless they are given another: 100 MB."""
    return MiniLM()


@dataclass(frozen=True, slots=True)
class _Window:
    """A stretch of text number `row`, the `place`-th of it, as token ids between the marks."""

    row: int
    place: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Last hidden states (windows, length, dimension), padded to one length."""

    windows: list[_Window]
    states: NDArray[np.float32]

    def sums(self) -> NDArray[np.float32]:
        """Sums over the tokens of each window: at unit length, the mean the model learnt with."""
        lengths = np.array([len(window.ids) for window in self.windows])
        mask = np.arange(self.states.shape[1]) < lengths[:, None]
        total: NDArray[np.float32] = np.einsum("btd,bt->bd", self.states, mask.astype(np.float32))
        return total

    def tokens(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int32]]]:
        """Of each window, vectors and ids of what stands between [CLS] and [SEP]."""
        for window, states in zip(self.windows, self.states, strict=True):
            inner = slice(1, len(window.ids) - 1)
            yield unit_rows(states[inner]), np.array(window.ids[inner], np.int32)


def _run(session: InferenceSession, windows: list[_Window]) -> _Batch:
    shape = len(windows), max(len(window.ids) for window in windows)
    padded, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, window in enumerate(windows):
        padded[row, : len(window.ids)] = window.ids
        mask[row, : len(window.ids)] = 1
    inputs = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
    try:
        states = session.run(None, inputs)[0]
    except Exception as error:
        raise EmbeddingError(f"ONNX Runtime could not run all-MiniLM-L6-v2: {error}") from error
    return _Batch(windows, states)


def _load(
    model_dir: str | os.PathLike[str] | None, threads: int
) -> tuple[Tokenizer, InferenceSession]:
    import onnxruntime
    from tokenizers import Tokenizer

    files = find_model_files(model_dir)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle workers that spin take the cores from the rest of a recall.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(
            str(files.model), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:
        raise EmbeddingError(f"{files.model.parent} could not be loaded: {error}") from error
    # The files come with a shorter truncation, and padding to a fixed length.
    tokenizer.enable_truncation(_WINDOW)
    tokenizer.no_padding()
    return tokenizer, session


def cores() -> int:
    """Cores this process may use: fewer than the machine has, in a container."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
