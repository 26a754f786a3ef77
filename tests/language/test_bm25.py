"""BM25, by hand and over anything."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.language.bm25 import HeldTerms, bm25, idf
from hindsight_integrations.language.lexemes import lexemes


def test_idf_by_hand() -> None:
    assert idf(1, 4) == pytest.approx(math.log(1 + 3.5 / 1.5))
    assert idf(4, 4) == pytest.approx(math.log(1 + 0.5 / 4.5))
    assert idf(9, 4) > 0  # statistics that lag behind


def test_bm25_by_hand() -> None:
    documents = [["cat", "cat", "dog"], ["dog"], ["bird", "bird", "bird", "bird", "fish"]]
    scores = bm25(
        HeldTerms(documents).asked(["cat", "dog"]), {"cat": 1, "dog": 2}, 3, 3.0, k1=1.2, b=0.75
    )
    cat, dog = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    # First: length 3 of mean 3, so k = 1.2. Second: length 1, so k = 1.2 * (0.25 + 0.25) = 0.6.
    first = cat * 2 * 2.2 / (2 + 1.2) + dog * 1 * 2.2 / (1 + 1.2)
    second = dog * 1 * 2.2 / (1 + 0.6)
    assert scores == pytest.approx([first, second, 0.0])


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), max_size=8),
    st.lists(st.sampled_from("abcxyz"), max_size=5),
)
def test_bm25_is_never_negative_and_zero_only_without_a_match(
    documents: list[list[str]], query: list[str]
) -> None:
    frequency = Counter(term for document in documents for term in set(document))
    mean = sum(map(len, documents)) / max(len(documents), 1)
    scores = bm25(HeldTerms(documents).asked(query), frequency, len(documents), mean)
    assert scores.shape == (len(documents),)
    assert np.isfinite(scores).all()
    for score, document in zip(scores, documents, strict=True):
        assert (score > 0) == bool(set(query) & set(document))
    assert scores == pytest.approx(
        bm25(HeldTerms(documents).asked(query * 2), frequency, len(documents), mean)
    )


def test_an_exact_identifier_beats_its_parts() -> None:
    documents = [lexemes(text) for text in ("see INV-20417", "see INV 20417", "see INV-20418")]
    query = lexemes("INV-20417?")
    frequency = {term: sum(term in document for document in documents) for term in query}
    mean = sum(map(len, documents)) / 3
    exact, parts, other = bm25(HeldTerms(documents).asked(query), frequency, 3, mean)
    assert exact > parts > other > 0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abcdef"), max_size=9))),
    st.lists(st.sampled_from("abcxyz"), max_size=5),
)
def test_documents_grouped_count_as_one_text(
    documents: list[tuple[int, list[str]]], query: list[str]
) -> None:
    groups = [
        [word for number, words in documents if number == n for word in words] for n in range(4)
    ]
    numbers = np.array([number for number, _ in documents], dtype=np.intp)
    together = HeldTerms([words for _, words in documents]).asked(query).grouped(numbers, 4)
    expected = HeldTerms(groups).asked(query)
    assert together.terms == expected.terms
    assert (together.counts == expected.counts).all()
    assert (together.lengths == expected.lengths).all()
