from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.embeddings import MockEmbedding

from hindsight_integrations.errors import EmbeddingError, InvalidInputError, ModelFilesError
from hindsight_integrations.nlp.embeddings import (
    Embedder,
    TokenEncoder,
    Vectors,
    as_embedder,
    checked,
    query_vector,
)
from hindsight_integrations.nlp.minilm import MemoryMiniLM, MiniLM, published
from hindsight_integrations.validation import well_formed
from tests.bundled import MINILM


@pytest.fixture
def model() -> MemoryMiniLM:
    return MINILM


# MiniLM


def test_a_paraphrase_is_nearer_than_another_topic(model: MemoryMiniLM) -> None:
    question, paraphrase, other = model.embed(
        [
            "Where does Alice work?",
            "Alice has a job at a design studio.",
            "The recipe needs two cups of flour.",
        ]
    )
    assert question @ paraphrase > question @ other + 0.3


def test_vectors_are_those_of_the_published_model() -> None:
    # As sentence-transformers/all-MiniLM-L6-v2 gives for its model card's first sentence.
    vector = published().embed(["This is an example sentence"])[0]
    assert vector[:4] == pytest.approx([0.0677, 0.0635, 0.0487, 0.0793], abs=2e-4)


def test_a_long_text_is_read_to_its_end(model: MemoryMiniLM) -> None:
    filler = "The committee met again and talked about the usual matters of the week. " * 30
    question, with_end, without = model.embed(
        ["Who grows orchids?", filler + "Bruno grows rare orchids. " * 8, filler]
    )
    assert question @ with_end > question @ without + 0.1
    encoded = model.encode([filler + "Bruno grows rare orchids."])
    assert len(encoded.token_ids[0]) == len(encoded.token_vectors[0]) > 400
    orchids = model.encode(["orchids"]).token_ids[0]
    assert set(orchids) <= set(encoded.token_ids[0])


def test_rows_are_unit_vectors_in_the_order_of_the_texts(model: MemoryMiniLM) -> None:
    lengths = (30, 1, 300, 7, 2, 90) + (12, 4, 20) * 4  # more than are read at once
    texts = ["word " * length for length in lengths]
    together = model.embed(texts)
    assert together.shape == (18, 384)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    for text, row in zip(texts[:6], together, strict=False):
        assert model.embed([text])[0] @ row == pytest.approx(1, abs=1e-5)


def test_no_texts_give_no_rows_and_load_nothing() -> None:
    unloadable = MiniLM("/nowhere")
    assert unloadable.embed([]).shape == (0, 384)
    assert unloadable.encode([]).vectors.shape == (0, 384)
    with pytest.raises(ModelFilesError):
        unloadable.embed(["now it must load"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\x00",
        "\ud83d",
        "\ud83d\ude00 broken apart",
        "👩‍👩‍👧 🇫🇷",
        "你好",
        "مرحبا",
        "a" * 10**6,
    ],
)
def test_any_text_has_a_vector(model: MemoryMiniLM, text: str) -> None:
    encoded = model.encode([text, "and a usual one"])
    assert np.isfinite(encoded.vectors).all()
    assert np.linalg.norm(encoded.vectors, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_a_megabyte_is_read_as_far_as_the_model_reads(model: MemoryMiniLM) -> None:
    long, beginning = model.embed(["memory " * 150_000, "memory " * 254])
    assert long == pytest.approx(beginning, abs=1e-5)


def test_encode_gives_the_vectors_of_embed_and_one_row_a_token(model: MemoryMiniLM) -> None:
    texts = ["Alice joined Google.", "", "She moved to Zurich in spring 2021, didn't she?"]
    encoded = model.encode(texts)
    assert encoded.vectors == pytest.approx(model.embed(texts), abs=1e-6)
    assert [len(ids) for ids in encoded.token_ids] == [4, 0, 13]
    for rows, ids in zip(encoded.token_vectors, encoded.token_ids, strict=True):
        assert rows.shape == (len(ids), 384)
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)


def test_progress_counts_every_text_once(model: MemoryMiniLM) -> None:
    steps: list[int] = []
    model.embed([f"text {n}" for n in range(37)], progress=steps.append)
    assert sum(steps) == 37
    assert len(steps) > 1


def test_threads_share_one_model_and_get_their_own_answers() -> None:
    model = MiniLM(threads=1)
    texts = [f"person {n} lives in house {n * 7}" for n in range(16)]
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: model.embed([text])[0], texts))
    assert np.stack(rows) == pytest.approx(model.embed(texts), abs=1e-5)


def test_threads_are_at_least_one() -> None:
    with pytest.raises(InvalidInputError, match="threads is 0"):
        MiniLM(threads=0)


@settings(deadline=None)
@given(st.text(st.characters(), max_size=20))
def test_well_formed_text_encodes_and_keeps_what_was_well_formed(text: str) -> None:
    made = well_formed(text)
    assert made.encode().decode() == made
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert made == text


# Foreign embedders


def by_letters(texts: Sequence[str]) -> list[list[float]]:
    """Counts of three letters, plus one: a tiny embedder with some meaning."""
    return [[1.0 + text.count(letter) for letter in "aeo"] for text in texts]


class Protocolled:
    id = "letters/1"
    dimension = 3

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array(by_letters(texts), np.float32)


class Encoding:
    """Like sentence-transformers: `encode`, but no `Encoded`."""

    name_or_path = "org/letters"

    def encode(self, sentences: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.array(by_letters(sentences), np.float32)


@pytest.mark.parametrize(
    ("foreign", "id", "dimension"),
    [
        (DeterministicFakeEmbedding(size=12), "DeterministicFakeEmbedding/12", 12),
        (MockEmbedding(embed_dim=5), "MockEmbedding/unknown/5", 5),
        (Encoding(), "Encoding/org/letters/3", 3),
        (by_letters, "by_letters/3", 3),
        (Protocolled(), "letters/1", 3),
    ],
)
def test_foreign_embedders_come_out_as_ours(foreign: object, id: str, dimension: int) -> None:
    embedder = as_embedder(foreign)
    assert isinstance(embedder, Embedder)
    assert not isinstance(embedder, TokenEncoder)
    assert (embedder.id, embedder.dimension) == (id, dimension)
    assert embedder.embed([]).shape == (0, dimension)
    vectors = embedder.embed(["a tea", "oo", "\ud800 a lone half"])
    assert vectors.shape == (3, dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert query_vector(embedder, "oo") == pytest.approx(vectors[1], abs=1e-6)


def test_questions_go_to_the_method_for_questions() -> None:
    class Asymmetric(Protocolled):
        def embed_query(self, text: str) -> list[float]:
            return [0.0, 0.0, 2.0]

    assert query_vector(as_embedder(Asymmetric()), "aaa").tolist() == [0, 0, 1]


def test_an_embedder_of_tokens_stays_what_it_is(model: MemoryMiniLM) -> None:
    assert as_embedder(model) is model


@pytest.mark.parametrize("wrong", ["text-embedding-3-small", 7, None, Protocolled, object()])
def test_what_cannot_embed_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="is not an embedder; give"):
        as_embedder(wrong)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([[1, 2, 3], [float("nan"), 0, 0]], "NaN or infinite numbers for text 1 of 2"),
        ([[float("inf"), 0, 0], [1, 2, 3]], "NaN or infinite numbers for text 0 of 2"),
        ([[1, 2, 3], [0, 0, 0]], "only zeros for text 1 of 2"),
        ([[1, 2, 3], [1, 2]], r"shape \(2,\) for text 1 of 2; expected 3 numbers"),
        ([[1, 2, 3, 4], [1, 2, 3, 4]], r"shape \(4,\) for text 0 of 2; expected 3 numbers"),
        ([[1, 2, 3]], "1 vectors for 2 texts"),
        ([1.0, 2.0], r"shape \(\) for text 0 of 2"),
        ([["a", "b", "c"]] * 2, "did not return vectors of numbers"),
        (None, "returned NoneType; expected one vector for each of 2 texts"),
    ],
)
def test_unusable_vectors_are_refused_with_the_text_at_fault(
    returned: object, message: str
) -> None:
    with pytest.raises(EmbeddingError, match=message):
        checked(returned, 2, 3, "toy")


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.floats(-1e30, 1e30), min_size=4, max_size=4).filter(
            lambda row: max(map(abs, row)) > 1e-30
        )
    )
)
def test_checked_vectors_keep_their_direction_at_unit_length(rows: list[list[float]]) -> None:
    vectors = checked(rows, len(rows), 4, "toy")
    assert vectors.shape == (len(rows), 4)
    for row, vector in zip(rows, vectors, strict=True):
        assert vector == pytest.approx(np.array(row) / np.linalg.norm(row), abs=1e-6)


def test_an_embedder_that_raises_half_way_is_named_and_its_error_kept() -> None:
    def failing(texts: Sequence[str]) -> list[list[float]]:
        if len(texts) > 1:
            raise TimeoutError("the server is away")
        return by_letters(texts)

    embedder = as_embedder(failing)
    with pytest.raises(EmbeddingError, match="failing/3 raised TimeoutError: the server is away"):
        embedder.embed(["a", "b"])


def test_a_foreign_embedder_that_is_broken_from_the_start_is_refused_at_once() -> None:
    with pytest.raises(EmbeddingError, match="for 1 texts"):
        as_embedder(lambda texts: [])
