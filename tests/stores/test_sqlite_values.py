"""Stored values and scores of the SQLite store, with numbers worked by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.errors import EmbedderMismatchError, InvalidInputError
from hindsight_integrations.models import Bank, Metadata
from hindsight_integrations.stores.encoding import vector_bytes, vector_of
from hindsight_integrations.stores.names import grams_of, name_similarity, trigrams
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.sqlite.rows import index_term, key_bounds, lexemes_of, vector_key
from hindsight_integrations.stores.testing.samples import EMBEDDER, keep, record
from hindsight_integrations.stores.times import micros, timestamp

LEXEMES = st.text(st.characters(exclude_categories=("Cs", "Co")))


@given(st.datetimes(timezones=st.timezones()))
def test_moments_are_exact_over_the_whole_calendar(given: datetime) -> None:
    try:
        utc = given.astimezone(UTC)
    except OverflowError:  # west or east of the calendar's ends
        return
    assert timestamp(micros(given)) == utc


def test_moments_before_1970_are_exact() -> None:
    assert micros(datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)) == -1
    assert micros(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    assert timestamp(-1).year == 1969


@given(st.lists(LEXEMES), st.sampled_from(":!"))
def test_lexemes_come_back_whatever_they_hold(lexemes: list[str], sign: str) -> None:
    terms = " ".join(index_term(17, sign, lexeme) for lexeme in lexemes)
    assert lexemes_of(terms) == tuple(lexemes)


def test_a_vector_keeps_its_bits_and_its_dimension() -> None:
    vector = np.array([1.5, -0.0, 3e-39, 1 / 3], np.float32)
    assert vector_of(vector_bytes(vector, 4)).tobytes() == vector.tobytes()
    for shape in (3, 5), (1, 4):
        with pytest.raises(EmbedderMismatchError, match="reindex the bank"):
            vector_bytes(np.zeros(shape, np.float32), 4)


def test_keys_of_a_bank_are_one_range() -> None:
    assert key_bounds(1)[1] + 1 == key_bounds(2)[0]
    assert [vector_key(17, revision) for revision in (0, 1)] == ["17", "17.1"]


@pytest.mark.parametrize("metadata", [{"k": float("nan")}, {"k": float("inf")}])
def test_numbers_that_are_not_finite_are_refused(metadata: Metadata) -> None:
    graph = SqliteGraph(None)
    graph.create_bank(Bank("b"), EMBEDDER)
    with pytest.raises(InvalidInputError, match="not finite"):
        keep(graph, record("m", metadata=metadata))
    graph.close()


def test_names_share_trigrams_at_their_ends_too() -> None:
    assert trigrams("ann") == {" an", "ann", "nn "}
    assert trigrams("x") == {" x "}
    assert trigrams("") == {"  "}
    assert set(grams_of("ann")) == trigrams("ann") | {"=ann"}
    assert {"=ann", "=lee"} <= set(grams_of("ann lee"))


def test_likeness_wants_both_few_edits_and_shared_words() -> None:
    assert name_similarity("alice", "alice") == 100
    assert name_similarity("alice", "alice smith") > name_similarity("alice", "alicia smythe")
    assert name_similarity("ann", "zed") == 0
