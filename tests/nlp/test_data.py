"""Word tables: every list is well formed, used in lower case, and free of repetitions."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from hindsight_integrations.nlp import data
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.time.lexer import TokenKind
from hindsight_integrations.normalization import entity_norm

NAMES = sorted(
    path.name.removesuffix(".toml") for path in files(data).iterdir() if path.name.endswith(".toml")
)
LANGUAGES = ("en", "de", "es", "fr")


GROUPED = frozenset({("questions", "same")})
"""Lists with a group of words of one meaning on each line; a word may have several meanings."""


def entries(name: str, key: str, words: str) -> list[list[str]]:
    """Return the entries of a list, group by group: phrases that commas part, or words."""
    if "," in words:
        return [[one.strip() for one in re.split(r"[,\n]", words) if one.strip()]]
    return [line.split() for line in ([words], words.strip().splitlines())[(name, key) in GROUPED]]


@pytest.mark.parametrize("name", NAMES)
def test_each_list_has_words_in_lower_case_once(name: str) -> None:
    for key, words in table(name).items():
        if isinstance(words, str):
            assert words == words.lower(), key
            for listed in entries(name, key, words):
                assert listed, key
                assert len(listed) == len(set(listed)), key
    assert table(name) is table(name)


def test_a_list_is_read_as_a_set() -> None:
    assert word_sets("times")["every"] == frozenset(
        "every each any most some jeden jede jedes cada chaque".split()
    )
    assert word_sets("given_names").keys() == {"plain"}  # the others give their kind


@pytest.mark.parametrize("who", ["mens", "womens"])
def test_given_names_are_normal_forms(who: str) -> None:
    for name, short_forms in table("given_names")[who].items():
        assert short_forms.split(), name
        assert all(word == entity_norm(word) for word in [name, *short_forms.split()]), name


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_words_of_each_language_are_of_known_kinds(code: str) -> None:
    language = table("times")[code]
    assert language["words"].keys() <= set(TokenKind.__members__)
    for kind, words in language["words"].items():
        for word in re.split(r"[|,]", words):
            phrase, equals, value = word.partition("=")
            assert phrase.strip() or not equals, kind
            assert not equals or int(value) or value.strip() == "0", kind
    for tense in ("future", "past"):
        for pattern in language[tense]:
            re.compile(pattern)
