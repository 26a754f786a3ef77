"""Run an embedding model on ONNX Runtime: sentence and token vectors in one pass, on the CPU.

A text longer than the model's window is encoded in several; its vector is the mean over the tokens
of all of them, or over their first tokens for a model that pools by the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations import forks
from hindsight_integrations.errors import EmbeddingError, InvalidInputError
from hindsight_integrations.nlp.embeddings import Encoded, Progress, Vectors, unit_rows
from hindsight_integrations.nlp.model_registry import Side, TransformerDescription
from hindsight_integrations.nlp.projection import Projection, load_projection
from hindsight_integrations.stores.base import Vector
from hindsight_integrations.validation import well_formed

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, OrtValue
    from tokenizers import Tokenizer

_READ_TOKENS = 1024
"""Tokens of a text that are encoded, in windows; the rest is ignored."""
_MAX_CHARS = 64 * _READ_TOKENS
"""Characters that so many tokens hardly ever exceed: limits the tokenizer's work."""
_MAX_THREADS = 8

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Verified files of a model. External weights are beside `model`."""

    model: Path
    tokenizer: Path


class OnnxEncoder:
    """A described model: an embedder, and an encoder of tokens for late interaction.

    Reads the first 1,000 tokens of a text. Loads at first use, and may be used by several threads
    at once.

    Args:
        description: the model.
        find_files: finds its files and verifies them.
        threads: cores used for many texts; by default those this process may run on, at most 8.
            A single short text uses one.
        change: returns weights that replace those of the files, by name.
    """

    id: str
    dimension: int

    def __init__(
        self,
        description: TransformerDescription,
        find_files: Callable[[], ModelFiles],
        threads: int | None = None,
        change: Callable[[ModelFiles], Mapping[str, NDArray[np.float32]]] | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise InvalidInputError(
                f"threads is {threads!r}; give a whole number of at least 1, or None"
            )
        self.id = description.id
        self.dimension = description.dimension
        self.description = description
        self._find_files = find_files
        self._change = change
        self._threads = threads or min(cores(), _MAX_THREADS)
        self._loading = Lock()
        self._loaded: _Loaded | None = None
        forks.watch(self)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy it as not loaded: the copy loads the model when it is first used."""
        return {**self.__dict__, "_loading": None, "_loaded": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state, _loading=Lock())
        forks.watch(self)

    def after_fork(self) -> None:
        """Load the model again when it is next used: the threads of this one are the parent's."""
        self._loading = Lock()
        if self._loaded is not None:
            forks.never_free(self._loaded.session)
            self._loaded = None

    @property
    def projection(self) -> Projection:
        """Axes and centres of its vectors."""
        return load_projection(self.description.projection)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Return one unit vector per text, in order; an empty text has one too.

        Raises:
            ModelFilesError: the model's files are missing or altered.
            EmbeddingError: the model failed.
        """
        sums = np.zeros((len(texts), self.dimension), np.float32)
        for windows, batch_sums in self._read(texts, "passage", _Batch.sums, progress):
            np.add.at(sums, [window.row for window in windows], batch_sums)
        return self._centred(sums)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question. Raises as `embed` does."""
        vector: Vector = self.encode_query(text).vectors[0]
        return vector

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> Encoded:
        """Return sentence and token vectors of each text, in order.

        Token vectors take 1.5 KB per token, about 46 KB per conversation turn: encode thousands
        of texts in slices, and compress each slice (`late_interaction.compress`).

        Raises:
            ModelFilesError: the model's files are missing or altered.
            EmbeddingError: the model failed.
        """
        return self._encode(texts, "passage", progress)

    def encode_query(self, text: str) -> Encoded:
        """Return sentence and token vectors of a question. Raises as `encode` does."""
        return self._encode([text], "query", None)

    def _encode(self, texts: Sequence[str], side: Side, progress: Progress | None) -> Encoded:
        sums = np.zeros((len(texts), self.dimension), np.float32)
        read: dict[_Window, _Tokens] = {}
        for windows, (batch_sums, tokens) in self._read(texts, side, _Batch.all, progress):
            np.add.at(sums, [window.row for window in windows], batch_sums)
            read.update(zip(windows, tokens, strict=True))
        vectors: list[list[NDArray[np.float32]]] = [[] for _ in texts]
        ids: list[list[NDArray[np.int32]]] = [[] for _ in texts]
        for window in sorted(read, key=lambda window: (window.row, window.index)):
            vectors[window.row].append(read[window][0])
            ids[window.row].append(read[window][1])
        return Encoded(
            self._centred(sums),
            tuple(map(np.concatenate, vectors)),
            tuple(map(np.concatenate, ids)),
        )

    def _centred(self, sums: Vectors) -> Vectors:
        """Return unit vectors, with the model's centre taken off if it has one."""
        vectors = unit_rows(sums)
        centre = self.projection.centre if self.description.projection else None
        return vectors if centre is None else unit_rows(vectors - centre)

    def _read(
        self,
        texts: Sequence[str],
        side: Side,
        take: Callable[[_Batch], _T],
        progress: Progress | None,
    ) -> Iterator[tuple[list[_Window], _T]]:
        """Yield the windows of the texts in batches, with the values taken of each batch."""
        if not texts:
            return
        model = self._model()
        prefix = self.description.prefix(side)
        given = [prefix + well_formed(text[:_MAX_CHARS]) for text in texts]
        lead = len(model.tokenizer.encode(prefix, add_special_tokens=False).ids) if prefix else 0
        most = _READ_TOKENS // self.description.window
        batches = _batches(
            (
                _Window(row, index, tuple(part.ids), lead if index == 0 else 0)
                for row, encoding in enumerate(model.tokenizer.encode_batch_fast(given))
                for index, part in enumerate([encoding, *encoding.overflowing[: most - 1]])
            ),
            self.description.batch_tokens,
        )

        def work(windows: list[_Window]) -> _T:
            states = _run(model.session, windows, self.id)
            return take(_Batch(windows, states, self.description.pooling == "cls"))

        for windows, taken in zip(batches, _map_batches(work, batches, self._threads), strict=True):
            yield windows, taken
            if progress is not None:
                progress(sum(window.index == 0 for window in windows))

    def _model(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                files = self._find_files()
                changed = {} if self._change is None else self._change(files)
                self._loaded = _load(files, self.description.window, changed)
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A tokenizer and a session that are ready, and the weights that the session only refers to."""

    tokenizer: Tokenizer
    session: InferenceSession
    weights: Mapping[str, OrtValue]


@dataclass(frozen=True, slots=True)
class _Window:
    """Window number `index` of text number `row`, as token ids with [CLS] and [SEP].

    The first `lead` tokens after [CLS] are the prefix that the model asks for.
    """

    row: int
    index: int
    ids: tuple[int, ...]
    lead: int = 0


_Tokens: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int32]]
"""Vectors and ids of a window's tokens, without [CLS], the prefix and [SEP]."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Last hidden states (windows, length, dimension), padded to one length."""

    windows: list[_Window]
    states: NDArray[np.float32]
    first_token: bool

    def sums(self) -> NDArray[np.float32]:
        """Sum over the tokens of each window; at unit length that equals the mean.

        With `first_token`, the first one counts for all.
        """
        lengths = np.array([len(window.ids) for window in self.windows])
        if self.first_token:
            firsts: NDArray[np.float32] = self.states[:, 0] * lengths[:, None].astype(np.float32)
            return firsts
        mask = np.arange(self.states.shape[1]) < lengths[:, None]
        total: NDArray[np.float32] = np.einsum("btd,bt->bd", self.states, mask.astype(np.float32))
        return total

    def all(self) -> tuple[NDArray[np.float32], list[_Tokens]]:
        """Return the sums, and the tokens of each window."""
        return self.sums(), list(self._tokens())

    def _tokens(self) -> Iterator[_Tokens]:
        for window, states in zip(self.windows, self.states, strict=True):
            inner = slice(1 + window.lead, len(window.ids) - 1)
            yield unit_rows(states[inner]), np.array(window.ids[inner], np.int32)


def _batches(windows: Iterable[_Window], tokens: int) -> list[list[_Window]]:
    """Batch windows of similar length, so that there is little padding; the longest first.

    A batch holds at most so many tokens, or one window.
    """
    batches: list[list[_Window]] = []
    for window in sorted(windows, key=lambda window: -len(window.ids)):
        longest = len(batches[-1][0].ids) if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= tokens:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches


def _map_batches(
    work: Callable[[list[_Window]], _T], batches: Sequence[list[_Window]], threads: int
) -> Iterator[_T]:
    """Yield the result of each batch, in order; after a failure no further one is started."""
    if len(batches) == 1 or threads == 1:
        yield from map(work, batches)
        return
    with ThreadPoolExecutor(min(threads, len(batches)), "hindsight-encode") as pool:
        try:
            results = pool.map(work, batches)
        except RuntimeError:  # the main thread has ended, so no thread can be started
            results = map(work, batches)
        yield from results


def _run(session: InferenceSession, windows: list[_Window], model: str) -> NDArray[np.float32]:
    """Return the last hidden states of some windows, padded to one length."""
    shape = len(windows), max(len(window.ids) for window in windows)
    padded, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, window in enumerate(windows):
        padded[row, : len(window.ids)] = window.ids
        mask[row, : len(window.ids)] = 1
    inputs = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
    try:
        states: NDArray[np.float32] = session.run(None, inputs)[0]
    except Exception as error:
        raise EmbeddingError(f"ONNX Runtime could not run {model}: {error}") from error
    return states


def _load(files: ModelFiles, window: int, changed: Mapping[str, NDArray[np.float32]]) -> _Loaded:
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches run in parallel instead
    options.inter_op_num_threads = 1
    weights = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(matrix))
        for name, matrix in changed.items()
    }
    try:
        for name, weight in weights.items():
            options.add_initializer(name, weight)
        session = onnxruntime.InferenceSession(
            str(files.model), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:
        raise EmbeddingError(f"{files.model.parent} could not be loaded: {error}") from error
    # Some files come with a shorter truncation, and padding to a fixed length.
    tokenizer.enable_truncation(window)
    tokenizer.no_padding()
    return _Loaded(tokenizer, session, weights)


def cores() -> int:
    """Return the number of cores this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
