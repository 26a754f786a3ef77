"""The default embedder: all-MiniLM-L6-v2 on ONNX Runtime, sentence and token vectors in one pass.

The model was trained on 256 tokens. A longer text is read window by window: its vector is the
mean over the tokens of all windows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

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
_BATCH_TOKENS = 128
"""Tokens of a batch, padding included. Measured: 64 to 128 are fastest, for more do not fit the
cache, and one core with each batch is 1.4 to 1.7 times as fast as all cores with one batch."""
_MAX_THREADS = 8

_T = TypeVar("_T")


class MiniLM:
    """all-MiniLM-L6-v2 in fp32 on the CPU: 384 dimensions, the first 1,000 tokens of a text.

    Loads at first use (0.3 s), and may be used by several threads at once.

    Args:
        model_dir: folder of the model's files; by default they are searched for (see
            `model_files.find_model_files`).
        threads: cores used for many texts; by default those this process may run on, at most 8.
            A single short text takes one.
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
        for windows, found in self._read(texts, _Batch.sums, progress):
            np.add.at(sums, [window.row for window in windows], found)
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
        read: dict[_Window, _Tokens] = {}
        for windows, (found, tokens) in self._read(texts, _Batch.all, progress):
            np.add.at(sums, [window.row for window in windows], found)
            read.update(zip(windows, tokens, strict=True))
        vectors: list[list[NDArray[np.float32]]] = [[] for _ in texts]
        ids: list[list[NDArray[np.int32]]] = [[] for _ in texts]
        for window in sorted(read, key=lambda window: (window.row, window.place)):
            vectors[window.row].append(read[window][0])
            ids[window.row].append(read[window][1])
        return Encoded(
            unit_rows(sums),
            tuple(map(np.concatenate, vectors)),
            tuple(map(np.concatenate, ids)),
        )

    def _read(
        self, texts: Sequence[str], take: Callable[[_Batch], _T], progress: Progress | None
    ) -> Iterator[tuple[list[_Window], _T]]:
        """All windows of the texts, in batches, and what is to be taken of each batch."""
        if not texts:
            return
        tokenizer, session = self._model()
        encodings = tokenizer.encode_batch_fast([well_formed(text[:_MAX_CHARS]) for text in texts])
        batches = _batches(
            _Window(row, place, tuple(part.ids))
            for row, encoding in enumerate(encodings)
            for place, part in enumerate([encoding, *encoding.overflowing[: _WINDOWS - 1]])
        )
        found = _each(lambda windows: take(_run(session, windows)), batches, self._threads)
        for windows, taken in zip(batches, found, strict=True):
            yield windows, taken
            if progress is not None:
                progress(sum(window.place == 0 for window in windows))

    def _model(self) -> tuple[Tokenizer, InferenceSession]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self._model_dir)
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


_Tokens: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int32]]
"""Of a window, vectors and ids of what stands between [CLS] and [SEP]."""


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

    def all(self) -> tuple[NDArray[np.float32], list[_Tokens]]:
        """The sums, and the tokens of each window."""
        return self.sums(), list(self._tokens())

    def _tokens(self) -> Iterator[_Tokens]:
        for window, states in zip(self.windows, self.states, strict=True):
            inner = slice(1, len(window.ids) - 1)
            yield unit_rows(states[inner]), np.array(window.ids[inner], np.int32)


def _batches(windows: Iterable[_Window]) -> list[list[_Window]]:
    """Windows of like length together, so that little of a batch is padding; the longest first."""
    batches: list[list[_Window]] = []
    for window in sorted(windows, key=lambda window: -len(window.ids)):
        longest = len(batches[-1][0].ids) if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= _BATCH_TOKENS:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches


def _each(
    work: Callable[[list[_Window]], _T], batches: Sequence[list[_Window]], threads: int
) -> Iterator[_T]:
    """What the work gives for each batch, in order; what is not begun when one fails, never is."""
    if len(batches) == 1 or threads == 1:
        yield from map(work, batches)
        return
    with ThreadPoolExecutor(min(threads, len(batches)), "hindsight-encode") as pool:
        try:
            found = pool.map(work, batches)
        except RuntimeError:  # the main thread has ended: others may go on, but start no threads
            found = map(work, batches)
        yield from found


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


def _load(model_dir: str | os.PathLike[str] | None) -> tuple[Tokenizer, InferenceSession]:
    import onnxruntime
    from tokenizers import Tokenizer

    files = find_model_files(model_dir)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches run side by side instead
    options.inter_op_num_threads = 1
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
