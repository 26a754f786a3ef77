"""Sources and observations that are corrected, invalidated or forgotten."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight

from .statements import REACT, SEAT_MAP, START, VUE, drawn, only, say, store_drawn

# Sources and observations that are corrected, or held to be wrong


def test_invalidating_a_source_takes_it_out_until_it_is_restored(memory: Hindsight) -> None:
    say(memory, REACT)
    vue = say(memory, VUE, 100)
    only(memory)
    memory.memories.invalidate("b", vue, "a joke")
    left = memory.observations.list("b").items[0]
    assert left.proof_count == 1
    assert "Vue" not in left.text
    memory.memories.restore("b", vue)
    assert "first React, then Vue" in only(memory).text


def test_correcting_a_source_corrects_the_observation(memory: Hindsight) -> None:
    say(memory, REACT)
    vue = say(memory, VUE, 100)
    only(memory)
    memory.memories.update("b", vue, text="I spent a night moving the checkout to Svelte.")
    left = memory.observations.list("b").items[0]
    assert "first React, then Svelte" in left.text
    assert "Vue" not in left.text
    assert left.evidence[-1].quote == "I spent a night moving the checkout to Svelte."


def test_an_observation_held_to_be_wrong_stays_so_and_is_not_drawn_again(
    memory: Hindsight,
) -> None:
    say(memory, "I want to show the seat map on Thursday.")
    say(memory, "We have more time for the seat map at least!", 20)
    wrong = only(memory)
    memory.memories.invalidate("b", wrong.id, "not worth noting")
    say(memory, "I'll show the seat map with real boats this time.", 40)
    assert drawn(memory) == []
    assert memory.memories.get("b", wrong.id).invalidated_because == "not worth noting"


def test_a_correction_by_the_user_stands_until_there_is_new_evidence(memory: Hindsight) -> None:
    say(memory, "I want to show the seat map on Thursday.")
    say(memory, "We have more time for the seat map at least!", 20)
    memory.memories.update("b", only(memory).id, text="Inês is fond of her seat map.")
    assert only(memory).text == "Inês is fond of her seat map."
    say(memory, "I'll show the seat map with real boats this time.", 40)
    again = only(memory)
    assert again.text.startswith("Inês on the seat map, 3 times from ")
    assert "Inês is fond of her seat map." in [change.old for change in again.history]


# What is forgotten leaves no word in any observation, nor in its history


def told_anywhere(memory: Hindsight, word: str, folder: Path) -> list[str]:
    """Return the kinds of exported entries that contain the word, except document texts."""
    memory.banks.export("b", folder / "b.jsonl")
    lines = (folder / "b.jsonl").read_text().splitlines()
    parts = [next(iter(json.loads(line))) for line in lines if word.casefold() in line.casefold()]
    return [part for part in parts if part != "chunk"]


def test_forgetting_a_source_lowers_the_proof_and_leaves_no_word_of_it(memory: Hindsight) -> None:
    react, vue = say(memory, REACT), say(memory, VUE, 100)
    observation = only(memory)
    assert memory.forget("b", vue) == (vue,)
    left = memory.observations.list("b").items[0]
    assert (left.id, left.proof_count, left.sources) == (observation.id, 1, (react,))
    assert "Vue" not in left.text
    assert all("Vue" not in item.text for item in memory.recall("b", "the checkout in Vue"))
    (change,) = left.history
    assert (change.old, change.new) == (None, left.text)


def test_forgetting_leaves_the_words_in_no_history(memory: Hindsight, tmp_path: Path) -> None:
    ids = []
    for day, text in enumerate(SEAT_MAP):
        ids.append(say(memory, text, 20 * day))
        memory.consolidate("b")
    memory.memories.update("b", ids[1], text="The quokka wants a better seat map.")
    assert set(told_anywhere(memory, "quokka", tmp_path)) >= {"memory", "change"}
    memory.forget("b", ids[1])
    assert told_anywhere(memory, "quokka", tmp_path) == []
    assert only(memory).proof_count == 3


def test_forgetting_what_was_invalid_leaves_the_words_in_no_history(
    memory: Hindsight, tmp_path: Path
) -> None:
    ids = [say(memory, text, 20 * day) for day, text in enumerate(SEAT_MAP[:3])]
    before = only(memory)
    memory.memories.invalidate("b", ids[1])
    assert only(memory).history[-1].old == before.text
    memory.forget("b", ids[1])
    assert told_anywhere(memory, "quokka", tmp_path) == []


def test_what_a_document_says_no_more_stays_in_no_history(
    memory: Hindsight, tmp_path: Path
) -> None:
    for day, text in enumerate(SEAT_MAP):
        said = START + timedelta(days=20 * day)
        memory.retain("b", text, document_id=str(day), timestamp=said)
        memory.consolidate("b")
    assert only(memory).proof_count == len(SEAT_MAP)
    memory.retain("b", "Nothing of note.", document_id="1", timestamp=START)
    assert only(memory).proof_count == len(SEAT_MAP) - 1
    assert told_anywhere(memory, "quokka", tmp_path) == []


@pytest.mark.local
def test_forgetting_what_two_that_were_merged_said_leaves_it_in_no_history(
    memory: Hindsight, tmp_path: Path
) -> None:
    ids = [say(memory, text, 20 * day) for day, text in enumerate(SEAT_MAP[:3])]
    stored = memory.memories.get("b", only(memory).id)
    text, sources = "The seat map is the quokka's.", stored.sources[1:]
    twin = replace(stored, id="twin", text=text, tags=("t",), sources=sources)
    store_drawn(memory, stored.id, twin)
    kept, refreshed = (
        memory.mental_models.create("b", name, source_query="The seat map?", tags=["t"])
        for name in "kr"
    )
    assert kept.sources == (twin.id,)
    say(memory, SEAT_MAP[3], 120)
    assert only(memory).id == stored.id
    memory.mental_models.refresh("b", refreshed.id)
    memory.forget("b", ids[1])
    assert told_anywhere(memory, "quokka", tmp_path) == []


def test_forgetting_one_source_leaves_the_histories_of_others(memory: Hindsight) -> None:
    for day, text in enumerate(SEAT_MAP):
        say(memory, text, 20 * day)
        memory.consolidate("b")
    history = only(memory).history
    other = say(memory, "The ferry was late.", 7, "Jonas")
    memory.memories.update("b", other, text="The ferry was early.")
    memory.forget("b", other)
    assert only(memory).history == history
    assert memory.memories.history("b", other) == []


def test_forgetting_the_last_source_removes_the_observation(memory: Hindsight) -> None:
    react, vue = say(memory, REACT), say(memory, VUE, 100)
    observation = only(memory)
    assert set(memory.forget("b", [react, vue])) == {react, vue, observation.id}
    assert memory.observations.list("b").items == []


def test_forgetting_a_document_rewrites_what_rested_on_it(memory: Hindsight) -> None:
    react, _ = say(memory, REACT), say(memory, VUE, 100)
    only(memory)
    memory.forget("b", document_id="100")
    left = memory.observations.list("b").items[0]
    assert left.sources == (react,)
    assert "Vue" not in left.text
