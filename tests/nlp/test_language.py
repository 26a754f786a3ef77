from __future__ import annotations

import json
from pathlib import Path

import pytest

from hindsight_integrations.nlp.language import asks_in_another_language, asks_in_english

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


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Wo hat meine Schwester die Ersatzschlüssel hingelegt?", True),
        ("Wer kommt morgen?", True),
        ("Gdzie mieszka Ola?", True),
        ("Quando parte il treno per Lecce?", True),
        ("Где моя сестра держит ключи?", True),
        ("鍵はどこ？", True),
        ("Was James feeling lonely before the party?", False),
        ("What is the wifi password of the café in Málaga?", False),
        ("Who said 'quien sabe'?", False),
        ("Alice Kovač?", False),
        ("Heron?", False),
        ("", False),
    ],
)
def test_another_language_is_told_by_one_of_its_words_unless_there_is_a_frequent_english_one(
    question: str, other: bool
) -> None:
    assert asks_in_another_language(question) is other


def test_no_english_question_of_the_benchmarks_is_in_another_language() -> None:
    folder = Path(__file__).parents[2] / CASES.parent
    asked = [
        question["question"]
        for file in folder.glob("*.json")
        for bank in json.loads(file.read_text(encoding="utf-8"))["banks"]
        for question in bank["questions"]
    ]
    assert len(asked) > 500
    assert [question for question in asked if asks_in_another_language(question)] == []
