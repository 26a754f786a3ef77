"""BM25, by hand and over anything."""

from __future__ import annotations

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.nlp.bm25 import (
    LONGEST,
    TermCounts,
    TermIndex,
    bm25,
    idf,
    lexemes,
    question_terms,
    signs,
    words_of,
)


@pytest.mark.ranking
def test_idf_by_hand() -> None:
    assert idf(1, 4) == pytest.approx(math.log(1 + 3.5 / 1.5))
    assert idf(4, 4) == pytest.approx(math.log(1 + 0.5 / 4.5))
    assert idf(9, 4) > 0  # statistics that lag behind


@pytest.mark.ranking
def test_bm25_by_hand() -> None:
    documents = [["cat", "cat", "dog"], ["dog"], ["bird", "bird", "bird", "bird", "fish"]]
    scores = bm25(
        TermIndex(documents).asked(["cat", "dog"]), {"cat": 1, "dog": 2}, 3, 3.0, k1=1.2, b=0.75
    )
    cat, dog = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    # First: length 3 of mean 3, so k = 1.2. Second: length 1, so k = 1.2 * (0.25 + 0.25) = 0.6.
    first = cat * 2 * 2.2 / (2 + 1.2) + dog * 1 * 2.2 / (1 + 1.2)
    second = dog * 1 * 2.2 / (1 + 0.6)
    assert scores == pytest.approx([first, second, 0.0])


@pytest.mark.ranking
def test_bm25_by_default_has_k1_0_9_and_b_0_4() -> None:
    documents = [["cat", "cat", "x", "x", "x", "x"]]
    scores = bm25(TermIndex(documents).asked(["cat"]), {"cat": 2}, 3, 4.0)
    # Length 6 of mean 4, so k = 0.9 * (0.6 + 0.4 * 1.5) = 1.08.
    assert scores == pytest.approx([math.log(1 + 1.5 / 2.5) * 2 * 1.9 / (2 + 1.08)])


@pytest.mark.ranking
def test_a_mean_length_below_one_counts_as_one() -> None:
    # Statistics may lag behind: an empty bank has a mean of 0. k = 0.9 * (0.6 + 0.4 * 2).
    scores = bm25(TermIndex([["cat", "x"]]).asked(["cat"]), {}, 0, 0.0)
    assert scores == pytest.approx([math.log(1 + 0.5 / 0.5) * 1.9 / (1 + 1.26)])


@pytest.mark.ranking
def test_terms_are_counted_alike_for_one_query_and_for_many() -> None:
    documents = [["cat", "dog", "cat"], ["bird"], []]
    for counts in (
        TermCounts.of(documents, ["dog", "cat", "dog", "fish"]),
        TermIndex(documents).asked(["dog", "cat", "dog", "fish"]),
    ):
        assert counts.terms == ("dog", "cat", "fish")
        assert counts.counts.tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 0]]
        assert counts.lengths.tolist() == [3, 1, 0]


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
    scores = bm25(TermIndex(documents).asked(query), frequency, len(documents), mean)
    assert scores.shape == (len(documents),)
    assert np.isfinite(scores).all()
    for score, document in zip(scores, documents, strict=True):
        assert (score > 0) == bool(set(query) & set(document))
    assert scores == pytest.approx(
        bm25(TermIndex(documents).asked(query * 2), frequency, len(documents), mean)
    )


@pytest.mark.ranking
def test_an_exact_identifier_beats_its_parts() -> None:
    documents = [lexemes(text) for text in ("see INV-20417", "see INV 20417", "see INV-20418")]
    query = lexemes("INV-20417?")
    frequency = {term: sum(term in document for document in documents) for term in query}
    mean = sum(map(len, documents)) / 3
    exact, parts, other = bm25(TermIndex(documents).asked(query), frequency, 3, mean)
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
    together = TermIndex([words for _, words in documents]).asked(query).grouped(numbers, 4)
    expected = TermIndex(groups).asked(query)
    assert together.terms == expected.terms
    assert (together.counts == expected.counts).all()
    assert (together.lengths == expected.lengths).all()


@pytest.mark.ranking
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # English
        ("She was running in the races", ["run", "race"]),
        ("Alice's café, ALICE’S CAFÉ", ["alic", "cafe", "alic", "cafe"]),
        ("I don't, can’t and won't", ["not", "not", "not"]),
        ("Straße naïve ﬁne", ["strass", "naiv", "fine"]),
        ("May 7th, the 22nd", ["may", "7", "22"]),
        ("12,345,678 and 1,23", ["12345678", "1", "23"]),
        ("U.S.A. or USA", ["usa", "usa"]),
        ("who are you", []),
        # Identifiers: whole, then parts
        ("INV-20417", ["inv-20417", "inv", "20417"]),
        ("v2.5.1.", ["v2.5.1", "v2", "5", "1"]),
        ("(ROOM_101)", ["room_101", "room", "101"]),
        ("C++, C# and R&D", ["c++", "c", "c#", "c", "r&d", "r", "d"]),
        ("alice@x.org;", ["alice@x.org", "alic", "x", "org"]),
        ("https://x.org/a1?b=2", ["https://x.org/a1?b=2", "https", "x", "org", "a1", "b", "2"]),
        ("2023-05-07 10:30", ["2023-05-07", "2023", "05", "07", "10:30", "10", "30"]),
        ("well...yes -- no", ["well", "yes", "no"]),
        ('____ "quoted"', ["quot"]),
        # Other scripts
        ("我在Google工作", ["我在", "googl", "工作"]),
        ("猫", ["猫"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("ｶﾞ", ["ガ"]),
        ("ไทย", ["ไท", "ทย"]),
        ("구글", ["구글"]),
        ("구글에서", ["구글에서", "구글", "글에", "에서"]),
        ("서울", ["서울"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مُحَمَّد", ["محمد"]),
        ("Ёлка за ёлкой, рядом с йогой", ["елк", "за", "елк", "ряд", "с", "йог"]),
        ("İstanbul", ["istanbul"]),
        # Emoji
        ("I ❤️ 👍🏽👍 🇫🇷🇩🇪", ["❤", "👍", "👍", "🇫🇷", "🇩🇪"]),
        ("👨‍👩‍👧", ["👨", "👩", "👧"]),
        # Nothing
        ("", []),
        (" \n\x00\ud83d?!", []),
    ],
)
def test_terms_of_a_text(text: str, expected: list[str]) -> None:
    assert lexemes(text) == expected


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])))
def test_lexemes_are_safe_to_store_in_any_index(text: str) -> None:
    for lexeme in lexemes(text) + signs(text):
        assert 1 <= len(lexeme) <= LONGEST
        assert not any(c.isspace() or c in '"\x00' for c in lexeme)
        lexeme.encode()


@pytest.mark.parametrize(
    ("text", "held", "asked"),
    [
        ("100% of {x}, 2.5%", ["100%", "2.5%", "%", "{", "}"], ["100%", "2.5%", "{", "}"]),
        ("C++ costs 5 \u20ac at bob@x.org/a", ["+", "\u20ac", "@", "/"], ["\u20ac"]),
        ("\u00a7 5 \u2264 \uff05 ~ ``` \\", ["\u00a7", "\u2264", "%", "~", "`", "\\"], None),
        ('Plain -- prose, (is) "it"? \u2026 \u2014 No! \U0001f44d_', [], []),
    ],
)
def test_a_sign_is_a_term_unless_it_punctuates_prose(
    text: str, held: list[str], asked: list[str] | None
) -> None:
    assert signs(text) == held
    assert question_terms(text) == [*lexemes(text), *(held if asked is None else asked)]


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])))
def test_words_and_signs_are_told_apart(text: str) -> None:
    assert words_of([*lexemes(text), *signs(text)]) == tuple(lexemes(text))


@settings(deadline=None)
@given(st.text("aBc1é-_.'@+# ’", max_size=40))
def test_case_and_accents_never_matter(text: str) -> None:
    assert lexemes(text) == lexemes(text.upper())
    assert lexemes(text) == lexemes(text.replace("é", "e"))


@settings(deadline=None)
@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=100))
def test_words_side_by_side_have_the_terms_of_each(word: str) -> None:
    assert lexemes(f"{word}, zebra") == [*lexemes(word), "zebra"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "a.", "我", "한", "ก", "_", "'", "1,000", "👍", "\u0301"])
def test_a_megabyte_of_anything_has_short_terms(unit: str) -> None:
    found = lexemes(unit * (1_000_000 // len(unit)))
    assert all(len(lexeme) <= LONGEST for lexeme in found)


def test_threads_get_the_same_terms() -> None:
    texts = [f"running{n} quickly{n}ing conversations happily number{n}s" for n in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lexemes, texts)) == [lexemes(text) for text in texts]
