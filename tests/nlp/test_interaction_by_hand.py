"""Late interaction on tokens whose cosines are known: no model, and bytes written by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hindsight_integrations.errors import StoreCorruptError
from hindsight_integrations.nlp import late_interaction
from hindsight_integrations.nlp.late_interaction import (
    compress,
    decompress,
    maxsim,
    token_coverage,
    token_matrix,
    token_shares,
    token_table,
)
from hindsight_integrations.nlp.projection import Projection
from tests.recall.building import asked_tokens, direction, signs, stored_tokens

pytestmark = pytest.mark.ranking


@pytest.fixture(scope="module")
def axes() -> np.ndarray:
    """The shipped projection, read for ourselves: (384, 256)."""
    with np.load(Path(late_interaction.__file__).with_name("projection.npz")) as shipped:
        return shipped["axes"].astype(np.float32)


def test_stored_codes_stand_for_the_middles_of_sixteen_even_steps() -> None:
    # Codes 0 to 15 are -7.5 to 7.5 steps; the first number stands in the high bits.
    codes = np.zeros(128, np.uint8)
    codes[0] = 15 * 16 + 8
    codes[1] = 7 * 16 + 1
    numbers = np.full(256, -7.5)
    numbers[[0, 128, 1, 129]] = [7.5, 0.5, -0.5, -6.5]
    matrix = decompress((517).to_bytes(2, "little") + codes.tobytes())
    assert matrix.ids.tolist() == [517]
    assert matrix.vectors[0] == pytest.approx(numbers / np.linalg.norm(numbers), abs=1e-6)


def test_numbers_are_rounded_to_steps_of_a_third_of_a_deviation(axes: np.ndarray) -> None:
    # One number of a unit vector in 256 is 1/16 on average, and a step 0.3352 of that: 1/16 lies
    # in the third step above zero, and 1/4 beyond the eighth, which is the last.
    vector = signs(3).copy()
    vector[[0, 5]] *= 4
    vector /= np.linalg.norm(vector)  # 254 + 2 * 16 is 286
    vector[1] = 0.0
    [stored] = compress([np.array([axes @ vector], np.float32)], [np.array([9], np.int32)])
    codes = np.frombuffer(stored[2:], np.uint8)
    decoded = np.concatenate([codes >> 4, codes & 15]).astype(int)
    # 1/16.9 is 2.8 steps: 2 above 8 where it is positive, 3 below 8 where it is negative.
    expected = np.where(signs(3) > 0, 10, 5)
    expected[[0, 5]] = np.where(signs(3)[[0, 5]] > 0, 15, 0)
    kept = np.arange(256) != 1
    assert decoded[kept].tolist() == expected[kept].tolist()
    assert decoded[1] in (7, 8)
    assert stored[:2] == bytes([9, 0])


def test_texts_are_compressed_one_by_one(axes: np.ndarray) -> None:
    rows = [np.array([axes @ direction({n: 1.0})], np.float32) for n in (1, 2, 3)]
    ids = [np.array([n], np.int32) for n in (1, 2, 3)]
    none = np.zeros((0, 384), np.float32), np.zeros(0, np.int32)
    together = compress(
        [np.concatenate(rows[:2]), none[0], rows[2]], [np.concatenate(ids[:2]), none[1], ids[2]]
    )
    apart = [compress([row], [id])[0] for row, id in zip(rows, ids, strict=True)]
    assert together == [apart[0] + apart[1], b"", apart[2]]
    assert compress([], []) == []


def test_token_matrices_are_projected_unit_vectors(axes: np.ndarray) -> None:
    matrix = token_matrix(
        np.array([3 * axes @ direction({1: 1.0})], np.float32), np.array([4], np.int32)
    )
    assert matrix.vectors[0] == pytest.approx(direction({1: 1.0}), abs=1e-3)


def test_coverage_is_the_best_cosine_of_each_token() -> None:
    query = asked_tokens((1, {1: 0.8, 2: 0.6}), (2, {3: -1.0}))
    coverage = token_coverage(
        query, [stored_tokens((9, 1), (9, 2)), b"", stored_tokens((9, 2)), stored_tokens((9, 3))]
    )
    expected = [[0.8, 0.0], [0.0, 0.0], [0.6, 0.0], [0.0, -1.0]]
    assert coverage == pytest.approx(np.array(expected), abs=1e-6)
    assert token_coverage(query, []).shape == (0, 2)


def test_maxsim_is_the_weighted_mean_of_the_best_cosines() -> None:
    query = asked_tokens((1, {1: 1.0}), (2, {1: 0.6, 2: 0.8}), (3, {4: 1.0}))
    documents = [stored_tokens((9, 1)), stored_tokens((9, 1), (9, 2)), b""]
    # Weights 1, 2 and 1: (1 + 2 * 0.6) / 4 and (1 + 2 * 0.8) / 4.
    scores = maxsim(query, documents, np.array([1.0, 2.0, 1.0]))
    assert scores == pytest.approx([0.55, 0.65, 0.0], abs=1e-6)
    assert maxsim(query, documents, np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert maxsim(query, documents, np.array([0.0, 0.1, 0.0])) == pytest.approx([0.6, 0.8, 0.0])


def test_shares_are_by_inverse_document_frequency() -> None:
    documents = [stored_tokens((5, 1), (5, 1)), stored_tokens((5, 1), (6, 1)), b""]
    shares = token_shares(
        asked_tokens((5, {1: 1}), (6, {1: 1}), (7, {1: 1})), token_table(documents)
    )
    # Of three documents, two hold 5, however often; one holds 6, none 7.
    rarity = [math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5), math.log(1 + 3.5 / 0.5)]
    assert shares == pytest.approx(np.array(rarity) / sum(rarity))


def test_held_tokens_know_their_documents() -> None:
    held = token_table([stored_tokens((5, 1), (6, 1)), b"", stored_tokens((7, 2))])
    assert held.ids.tolist() == [5, 6, 7]
    assert held.holders.tolist() == [0, 0, 2]
    assert held.documents == 3


def test_half_a_token_is_an_error() -> None:
    with pytest.raises(StoreCorruptError, match="token vectors have 129 bytes"):
        decompress(stored_tokens((1, 1))[:-1])


def test_a_models_token_centre_is_taken_off_before_projecting(axes: np.ndarray) -> None:
    centre = axes[:, 2]
    projection = Projection("heron", axes, token_centre=centre)
    ids = np.array([4], np.int32)
    given = (axes[:, 7] + centre)[None, :]
    found = token_matrix(given, ids, projection)
    assert found.vectors[0] == pytest.approx(np.eye(256)[7], abs=1e-2)
    kept = decompress(compress([given], [ids], projection)[0]).vectors[0]
    assert kept.argmax() == 7
    assert abs(kept[2]) < 0.1  # the centre's own axis
