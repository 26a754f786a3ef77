from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fit_projection import bundled_projection, sentences
from hindsight_integrations.errors import InvalidInputError, StoreCorruptError
from hindsight_integrations.nlp import late_interaction
from hindsight_integrations.nlp.embeddings import Encoded
from hindsight_integrations.nlp.late_interaction import (
    DIMENSION,
    TokenMatrix,
    compress,
    decompress,
    maxsim,
    token_coverage,
    token_matrix,
    token_shares,
    token_table,
)
from hindsight_integrations.nlp.minilm import MiniLM
from hindsight_integrations.nlp.model_registry import MINILM as MINILM_DESCRIBED
from tests.bundled import MINILM

FOLDER = Path(late_interaction.__file__).parent
TEXTS = [
    "Kyoko repairs violins in a workshop behind the opera.",
    "The server room flooded on 12 May, and ticket OPS-3312 is still open.",
    "Dad's pension starts next spring.",
    "",
    "We ate cold noodles by the canal.",
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MINILM


@pytest.fixture(scope="module")
def encoded(model: MiniLM) -> Encoded:
    return model.encode(TEXTS)


@pytest.fixture(scope="module")
def stored(encoded: Encoded) -> list[bytes]:
    return compress(encoded.token_vectors, encoded.token_ids)


def asked(model: MiniLM, question: str) -> TokenMatrix:
    encoded = model.encode([question])
    return token_matrix(encoded.token_vectors[0], encoded.token_ids[0])


def test_a_token_takes_130_bytes_and_no_tokens_none(encoded: Encoded, stored: list[bytes]) -> None:
    assert [len(data) for data in stored] == [130 * len(ids) for ids in encoded.token_ids]
    assert stored[3] == b""


def test_ids_survive_and_rows_are_unit_vectors(encoded: Encoded, stored: list[bytes]) -> None:
    for data, ids in zip(stored, encoded.token_ids, strict=True):
        matrix = decompress(data)
        assert matrix.ids.tolist() == ids.tolist()
        assert matrix.vectors.shape == (len(ids), DIMENSION)
        assert np.linalg.norm(matrix.vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_compression_keeps_the_cosines_of_unseen_text(
    model: MiniLM, encoded: Encoded, stored: list[bytes]
) -> None:
    question = model.encode(["Who mends string instruments near the opera house?"])
    exact = question.token_vectors[0] @ np.concatenate(encoded.token_vectors).T
    query = token_matrix(question.token_vectors[0], question.token_ids[0])
    kept = query.vectors @ decompress(b"".join(stored)).vectors.T
    assert np.abs(kept - exact).mean() < 0.035
    assert np.corrcoef(kept.ravel(), exact.ravel())[0, 1] > 0.97


def test_coverage_is_each_query_tokens_best_cosine_in_each_document(
    model: MiniLM, stored: list[bytes]
) -> None:
    query = asked(model, "When does the pension start?")
    coverage = token_coverage(query, stored)
    assert coverage.shape == (5, len(query.ids))
    for row, data in zip(coverage, stored, strict=True):
        cosines = query.vectors @ decompress(data).vectors.T
        best = cosines.max(axis=1) if data else np.zeros(len(query.ids))
        assert row == pytest.approx(best, abs=1e-5)


def test_maxsim_finds_the_paraphrase_and_gives_nothing_to_the_empty(
    model: MiniLM, stored: list[bytes]
) -> None:
    query = asked(model, "Who mends string instruments?")
    scores = maxsim(query, stored, np.ones(len(query.ids)))
    assert scores.argmax() == 0
    assert scores[3] == 0
    assert (np.abs(scores) <= 1).all()


def test_maxsim_by_hand() -> None:
    # One token of the question is in the document exactly, one at cosine 0.6, one not at all;
    # weights 1, 2 and 1: (1 * 1 + 2 * 0.6 + 1 * 0) / 4.
    [document] = compress([np.eye(384, dtype=np.float32)[:1]], [np.array([7], np.int32)])
    exact = decompress(document).vectors
    _, _, axes = np.linalg.svd(exact)
    query = TokenMatrix(
        np.vstack([exact, 0.6 * exact + 0.8 * axes[1], axes[2]]), np.arange(3, dtype=np.int32)
    )
    scores = maxsim(query, [document, b""], np.array([1.0, 2.0, 1.0]))
    assert scores == pytest.approx([0.55, 0], abs=1e-5)


def test_weightless_questions_and_empty_pools_score_zero(
    model: MiniLM, stored: list[bytes]
) -> None:
    query = asked(model, "anything")
    assert maxsim(query, stored, np.zeros(len(query.ids))).tolist() == [0] * 5
    assert maxsim(query, [], np.ones(len(query.ids))).shape == (0,)
    assert maxsim(query, [b"", b""], np.ones(len(query.ids))).tolist() == [0, 0]
    blank = asked(model, "")
    assert token_coverage(blank, stored).shape == (5, 0)
    assert maxsim(blank, stored, np.ones(0)).tolist() == [0] * 5


def test_shares_favour_the_rare_token_and_sum_to_one(model: MiniLM, stored: list[bytes]) -> None:
    query = asked(model, "the canal")
    shares = token_shares(query, token_table(stored))
    assert shares.sum() == pytest.approx(1)
    # Of five documents, three hold "the" and one holds "canal".
    the, canal = np.log1p(2.5 / 3.5), np.log1p(4.5 / 1.5)
    assert shares == pytest.approx([the / (the + canal), canal / (the + canal)])


def test_damaged_bytes_are_an_error_even_beside_others_that_make_up_for_them(
    model: MiniLM, stored: list[bytes]
) -> None:
    with pytest.raises(StoreCorruptError, match="not a multiple of 130"):
        decompress(stored[0][:-1])
    with pytest.raises(StoreCorruptError, match="not a multiple of 130"):
        token_coverage(asked(model, "violins"), [stored[0][:-1], stored[0] + b"\x00"])


def test_vectors_of_another_model_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="fitted to all-MiniLM-L6-v2/fp32"):
        compress([np.ones((3, 768), np.float32)], [np.arange(3, dtype=np.int32)])


def test_the_shipped_projection_is_the_one_stored_vectors_were_made_with() -> None:
    # It is part of the storage format: another one makes every stored bank unreadable.
    with np.load(FOLDER / "projection.npz") as shipped:
        assert shipped["model"] == MiniLM.id
        digest = hashlib.sha256(shipped["axes"].tobytes()).hexdigest()
    assert digest == "fa9541dc7f5e9a495fac04d3735314b7a15c116bb6c99980d3288a2142746b92"


@pytest.mark.slow
def test_the_shipped_projection_can_be_fitted_again() -> None:
    fitted = bundled_projection(MINILM_DESCRIBED, sentences(MINILM_DESCRIBED)).axes
    assert fitted.T @ fitted == pytest.approx(np.eye(DIMENSION), abs=1e-4)
    with np.load(FOLDER / "projection.npz") as shipped:
        axes = shipped["axes"].astype(np.float32)
    # Eigenvectors have no sign, so what is compared is the space they span.
    assert fitted @ fitted.T == pytest.approx(axes @ axes.T, abs=0.02)
