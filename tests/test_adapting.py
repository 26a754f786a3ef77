"""What the adapters share: a missing bank is an empty one, and what memory says is fenced."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations import Hindsight, InvalidInputError, MemoryNotFoundError, Settings
from hindsight_integrations.adapting import banks, options, texts
from hindsight_integrations.adapting.texts import section, shortened
from hindsight_integrations.checks import MAX_QUERY
from hindsight_integrations.language import tokens
from hindsight_integrations.reflections import NOTHING_FOUND
from hindsight_integrations.retain.fence import FENCE_START, fence, strip_fenced


@pytest.fixture(scope="module")
def engine() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as engine:
        engine.retain("b", "Ruth keeps bees.")
        yield engine


def test_a_bank_that_does_not_exist_is_an_empty_one_to_every_verb(engine: Hindsight) -> None:
    assert not banks.recall(engine, "nobody", "bees?")
    assert not banks.recall(engine, ["nobody", "no one"], "bees?")
    reflection = banks.reflect(engine, "nobody", "bees?")
    assert (reflection.text, reflection.sources) == (NOTHING_FOUND, ())
    with pytest.raises(MemoryNotFoundError):
        banks.forget(engine, "nobody", ["m-1"])
    banks.forget_document(engine, "nobody", "d")
    banks.forget_document(engine, "b", "no such document")
    assert [bank.id for bank in engine.banks.list()] == ["b"]


def test_of_several_banks_those_that_exist_answer(engine: Hindsight) -> None:
    found = banks.recall(engine, ["nobody", "b"], "Who keeps bees?")
    assert [each.text for each in found] == ["Ruth keeps bees."]


def test_an_unknown_option_is_refused_with_those_that_there_are() -> None:
    options.check_options(["tags"], ["types", "tags"])
    with pytest.raises(InvalidInputError, match="'tag'; there are tags, types"):
        options.check_options(["tag"], ["types", "tags"])


def test_a_message_is_asked_without_what_we_put_into_it_and_no_longer_than_recall_reads() -> None:
    assert texts.as_question(f"Where? {fence('Ruth keeps bees.')}") == "Where?"
    assert texts.as_question(fence("Ruth keeps bees.")) == texts.as_question(" \u200b\n") == ""
    assert len(texts.as_question("Where? " * MAX_QUERY)) == MAX_QUERY


def test_nothing_of_a_section_or_of_a_tools_answer_could_be_retained(engine: Hindsight) -> None:
    found = banks.recall(engine, "b", "Who keeps bees?")
    for told in (
        section(found.text),
        texts.told_of_recall(found),
        texts.told_of_reflect(banks.reflect(engine, "b", "Who keeps bees?")),
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
