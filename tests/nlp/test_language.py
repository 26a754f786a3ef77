from __future__ import annotations

import json
from pathlib import Path

import pytest

from hindsight_integrations.nlp.language import asks_in_english

CASES = Path("benchmarks/quality/data/languages.jsonl")


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("What was in the box?", True),
        ("I'm cooking a Thai curry for the kids tonight", True),
        ("Tell me a joke", True),  # of which "me" and "a" are French words, too
        ("Write a haiku about autumn.", True),
        ("Was trinke ich gern?", False),
        ("Me montre une photo", False),
        ("Ist jemand in meiner Familie schwanger?", False),
        ("Quel âge a maman ?", False),
        ("Alice Kovač?", False),  # of names alone nothing is known
        ("", False),
    ],
)
def test_frequent_words_tell_the_language_of_a_question(question: str, english: bool) -> None:
    assert asks_in_english(question) is english


def test_the_questions_of_the_languages_benchmark_are_told_apart() -> None:
    root = Path(__file__).parents[2]
    cases = [json.loads(line) for line in (root / CASES).read_text(encoding="utf-8").splitlines()]
    told = {case["query"]: asks_in_english(case["query"]) for case in cases}
    assert told == {case["query"]: case["language"] == "English" for case in cases}
