"""Sources and observations that are corrected, or held to be wrong."""

from __future__ import annotations

from hindsight_integrations import Hindsight

from .statements import REACT, VUE, drawn, only, say


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
    say(memory, "More time for the seat map at least!", 20)
    wrong = only(memory)
    memory.memories.invalidate("b", wrong.id, "not worth noting")
    say(memory, "I'll show the seat map with real boats this time.", 40)
    assert drawn(memory) == []
    assert memory.memories.get("b", wrong.id).invalidated_because == "not worth noting"


def test_a_correction_by_the_user_stands_until_there_is_new_evidence(memory: Hindsight) -> None:
    say(memory, "I want to show the seat map on Thursday.")
    say(memory, "More time for the seat map at least!", 20)
    memory.memories.update("b", only(memory).id, text="Inês is fond of her seat map.")
    assert only(memory).text == "Inês is fond of her seat map."
    say(memory, "I'll show the seat map with real boats this time.", 40)
    again = only(memory)
    assert again.text.startswith("Inês on the seat map, 3 times from ")
    assert "Inês is fond of her seat map." in [change.old for change in again.history]
