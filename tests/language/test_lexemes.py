from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.language.lexemes import LONGEST, lexemes


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
        ("구글에서", ["구글에서", "구글", "글에", "에서"]),
        ("서울", ["서울"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مُحَمَّد", ["محمد"]),
        ("Ёлка", ["елка"]),
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
    for lexeme in lexemes(text):
        assert 1 <= len(lexeme) <= LONGEST
        assert not any(c.isspace() or c in '"\x00' for c in lexeme)
        lexeme.encode()


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
