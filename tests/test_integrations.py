"""Behaviour that adapters share: a missing bank is an empty one, and recalled text is fenced."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest

from hindsight_integrations import Hindsight, InvalidInputError, MemoryNotFoundError, Settings
from hindsight_integrations.integrations import common
from hindsight_integrations.integrations.common import section, shortened
from hindsight_integrations.nlp import tokens
from hindsight_integrations.nlp.embeddings import query_vector
from hindsight_integrations.results import NOTHING_ASKED, NOTHING_FOUND
from hindsight_integrations.retain.fence import FENCE_START, fence, strip_fenced
from hindsight_integrations.validation import MAX_QUERY

BEES = "Ruth keeps bees."


@pytest.fixture(scope="module")
def engine() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as engine:
        engine.retain("b", BEES)
        yield engine


def test_a_bank_that_does_not_exist_is_an_empty_one_to_every_verb(engine: Hindsight) -> None:
    assert not common.recall(engine, "nobody", "bees?")
    assert not common.recall(engine, ["nobody", "no one"], "bees?")
    reflection = common.reflect(engine, "nobody", "bees?")
    assert (reflection.text, reflection.sources) == (NOTHING_FOUND, ())
    with pytest.raises(MemoryNotFoundError):
        common.forget(engine, "nobody", ["m-1"])
    with pytest.raises(InvalidInputError, match="no ids given; give those of memories"):
        common.forget(engine, "b", [])
    common.forget_document(engine, "nobody", "d")
    common.forget_document(engine, "b", "no such document")
    assert [bank.id for bank in engine.banks.list()] == ["b"]


def test_of_several_banks_those_that_exist_answer(engine: Hindsight) -> None:
    found = common.recall(engine, ["nobody", "b"], "Who keeps bees?")
    assert [each.text for each in found] == [BEES]


@pytest.mark.parametrize("blank", ["", " \n", "\u200b"])
def test_a_blank_question_finds_nothing_and_says_so_to_a_model(
    engine: Hindsight, blank: str
) -> None:
    assert not common.recall(engine, "b", blank)
    assert not common.recall(engine, ["b", "nobody"], blank, fill=True)
    text, found = common.answer_recall(engine, "b", blank)
    assert (text, len(found)) == (NOTHING_ASKED, 0)
    text, reflection = common.answer_reflect(engine, "b", blank)
    assert (text, reflection.text, reflection.sources) == (NOTHING_ASKED, NOTHING_ASKED, ())


def test_a_blank_question_with_a_vector_of_its_own_is_searched(engine: Hindsight) -> None:
    vector = query_vector(engine.embedder, "Who keeps bees?")
    assert [one.text for one in common.recall(engine, "b", "", query_vector=vector)] == [BEES]


def test_what_is_no_text_is_refused_as_a_question(engine: Hindsight) -> None:
    with pytest.raises(InvalidInputError, match="query is None; give text"):
        common.recall(engine, "b", None)  # type: ignore[arg-type]


class Options(TypedDict):
    types: list[str]
    tags: list[str]


def verb(bank_id: str, *, types: list[str], tags: list[str]) -> None:
    """Takes the same options by keyword."""


@pytest.mark.parametrize("takes", [Options, verb])
def test_an_unknown_option_is_refused_with_those_that_there_are(takes: Any) -> None:
    common.check_options({"tags": ["team"]}, takes)
    for unknown in ("tag", "bank_id"):
        with pytest.raises(InvalidInputError, match=f"'{unknown}'; the options are tags, types"):
            common.check_options({unknown: 1}, takes)


def test_a_message_is_asked_without_what_we_put_into_it_and_no_longer_than_recall_reads() -> None:
    assert common.as_question(f"Where? {fence('Ruth keeps bees.')}") == "Where?"
    assert common.as_question(fence("Ruth keeps bees.")) == common.as_question(" \u200b\n") == ""
    assert len(common.as_question("Where? " * MAX_QUERY)) == MAX_QUERY


def test_nothing_of_a_section_or_of_a_tools_answer_could_be_retained(engine: Hindsight) -> None:
    found = common.recall(engine, "b", "Who keeps bees?")
    for told in (
        section(found.text),
        common.answer_recall(engine, "b", "Who keeps bees?")[0],
        common.answer_reflect(engine, "b", "Who keeps bees?")[0],
    ):
        assert told.startswith(FENCE_START)
        assert "Ruth keeps bees." in told
        assert strip_fenced(told) == ""
    assert section("") == ""


def test_shortened_it_keeps_whole_lines_of_the_most_relevant_under_their_date() -> None:
    counter = tokens.as_tokenizer()
    recalled = section(
        "[02 Apr 2021, 09:30]\nTomas: Ruth keeps bees.\nTomas: She sells honey in Porto.\n"
        "[07 May 2023, 12:00]\nTomas: It rained."
    )
    kept = shortened(recalled, 5, counter)
    assert kept == section(
        "[02 Apr 2021, 09:30]\nTomas: Ruth keeps bees.\nTomas: She sells honey in Porto."
    )
    less = shortened(recalled, counter.count(recalled) - counter.count(kept) + 1, counter)
    assert less == section("[02 Apr 2021, 09:30]\nTomas: Ruth keeps bees.")
    assert shortened(recalled, counter.count(recalled) - 5, counter) is None


@pytest.mark.parametrize(
    ("message", "is_shown"),
    [
        ("Ruth keeps bees.", True),
        ("So it is: Ruth\n  keeps\tbees. And Zoë?", True),
        ('"Ruth keeps bees."', True),
        ("Truth keeps bees.", False),
        ("Ruth keeps bees.Zoë keeps hens.", True),
        ("ruth keeps bees.", False),
        ("Ruth keeps many bees.", False),
        ("Ruth keeps", False),
        ("Truth keeps bees. Ruth keeps bees.", True),
        ("", False),
    ],
)
def test_a_memory_is_shown_where_a_message_has_its_whole_text(
    engine: Hindsight, message: str, is_shown: bool
) -> None:
    recalled = common.recall(engine, "b", "Who keeps bees?")
    for texts in ([message], ["Hello.", message, "Bye."]):
        assert common.memories_not_shown(recalled, texts) == ([] if is_shown else [*recalled])
    assert common.memories_not_shown(recalled, ["Ruth keeps", "bees."]) == [*recalled]


def test_two_ways_to_write_a_letter_are_one_text(engine: Hindsight) -> None:
    engine.retain("composed", unicodedata.normalize("NFD", "Zoë keeps hens in Genève."))
    recalled = common.recall(engine, "composed", "Who keeps hens?")
    assert common.memories_not_shown(recalled, ["Zoë keeps hens in Genève."]) == []


def test_what_is_shown_is_found_in_hostile_text_without_delay(engine: Hindsight) -> None:
    engine.retain("long", "a" * 4000 + " keeps bees")
    engine.retain("long", "aa" * 400)
    recalled = common.recall(engine, "long", "bees", fill=True)
    started = time.process_time()
    for hostile in ("a" * 200_000, "a " * 100_000, ("a" * 400) * 500 + " "):
        assert common.memories_not_shown(recalled, [hostile]) == [*recalled]
    assert time.process_time() - started < 2
