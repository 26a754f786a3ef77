"""Observations that are drawn, and their sources."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message
from hindsight_integrations.demo.compare import BANK, remember
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.models import Disposition, MemoryType, utc_now

from .statements import REACT, START, VUE, drawn, only, say, store_drawn


def test_react_then_vue_is_one_observation_that_tells_both_in_order(memory: Hindsight) -> None:
    react, vue = say(memory, REACT), say(memory, VUE, 160)
    found = only(memory)
    assert found.text == (
        f"Inês on the checkout, first React, then Vue: “{REACT}” (6 January 2025); "
        f"“{VUE}” (15 June 2025)."
    )
    assert found.sources == (react, vue)
    assert [change.old for change in found.history] == [
        f"Inês on React: “{REACT}” (6 January 2025)."
    ]
    assert "'React' became 'Vue'" in found.reasoning


def test_what_was_observed_before_a_change_stays_in_the_history(memory: Hindsight) -> None:
    for day, text in enumerate(
        ["Alice builds her pages in React.", "Alice praises React's component model."]
    ):
        say(memory, text, day, None)
    before = only(memory)
    say(memory, "Alice switched to Vue and won't go back.", 30, None)
    after = only(memory)
    assert after.id == before.id
    assert after.history[-1].old == before.text
    assert after.text.index("React") < after.text.index("Vue")
    assert after.proof_count == 3


@pytest.mark.parametrize(
    "texts",
    [
        ("Alice works at Google as a designer.", "Alice left Google for Meta in March 2025."),
        ("Alice lives in Berlin.", "Alice moved to New York."),
        ("Bob drinks black tea every morning.", "Bob no longer drinks tea."),
        ("The team uses React for the dashboard.", "The team moved the dashboard to Vue."),
    ],
    ids=["employer", "home", "withdrawn", "tool"],
)
def test_a_change_of_state_is_told_as_one(memory: Hindsight, texts: tuple[str, str]) -> None:
    for day, text in enumerate(texts):
        say(memory, text, 30 * day, None)
    text = only(memory).text
    assert text.index(texts[0]) < text.index(texts[1])


@pytest.mark.parametrize(
    "text",
    [
        "Had I sold the Vespa last year, I would own a boat.",
        "Were I to sell the Vespa, I would walk.",
        "Oh sure, I sold the Vespa.",
        "Yeah right, I sold the Vespa and bought a yacht.",
    ],
)
def test_a_condition_without_if_and_irony_change_nothing(memory: Hindsight, text: str) -> None:
    say(memory, "I ride a Vespa.", 0, "Ebbe")
    say(memory, text, 40, "Ebbe")
    assert drawn(memory) == []


def test_statements_of_one_matter_make_an_observation(memory: Hindsight) -> None:
    say(memory, "I always take the window seat.", 0, "Jonas")
    say(memory, "They gave me the window seat both ways.", 90, "Jonas")
    found = only(memory)
    assert found.text.startswith("Jonas on the window seat: ")
    assert (found.first_seen, found.last_seen) == (START, START + timedelta(days=90))
    assert found.confidence == pytest.approx(0.2)


@pytest.mark.parametrize(
    "texts",
    [
        ("Thank you so much, that is really kind!", "Thank you, that is so kind of you!"),
        ("Where is the booking site hosted?", "Who pays for the booking site?"),
        ("The harbour looks pretty today.", "Physics was my favourite class."),
        ("Alice loves React.", "Alice moved to Paris."),
        ("Alice lives in Berlin.", "Bob lives in Madrid."),
    ],
    ids=["courtesies", "questions", "strangers", "unlike values", "two people"],
)
def test_nothing_is_made_of_what_says_no_more_together(
    memory: Hindsight, texts: tuple[str, str]
) -> None:
    for day, text in enumerate(texts):
        say(memory, text, 30 * day, None)
    assert drawn(memory) == []


def test_one_occasion_makes_no_observation(memory: Hindsight) -> None:
    turns = [
        Message("Inês", "I drew the seat map today.", START),
        Message("Inês", "The seat map has forty seats.", START + timedelta(minutes=1)),
    ]
    memory.retain_messages("b", turns, session="s")
    assert drawn(memory) == []


def test_a_second_run_adds_nothing(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    before = only(memory)
    again = memory.consolidate("b")
    assert (again.considered, again.created, again.rewritten, again.removed) == (0, (), (), ())
    assert memory.observations.list("b").items == [before]


def test_new_evidence_joins_the_observation_that_is_there(memory: Hindsight) -> None:
    say(memory, "I want to show the seat map on Thursday.")
    say(memory, "We have more time for the seat map at least!", 20)
    before = only(memory)
    say(memory, "I'll show the seat map with real boats this time.", 40)
    after = only(memory)
    assert (after.id, after.proof_count) == (before.id, 3)
    assert after.confidence == pytest.approx(0.3)
    assert after.text.startswith("Inês on the seat map, 3 times from 6 January 2025 to ")
    assert after.history[-1].old == before.text


def test_scopes_are_never_mixed_and_common_tags_are_kept(memory: Hindsight) -> None:
    for day, (scope, tags) in enumerate([("x", ["a", "b"]), ("x", ["b", "c"]), ("y", ["b"])]):
        said = START + timedelta(days=day)
        memory.retain(
            "b", f"The booking site was down on deck {day}.", timestamp=said, scope=scope, tags=tags
        )
    found = only(memory)
    assert found.tags == ("b",)
    stored = memory.memories.get("b", found.id)
    assert stored.scope == "x"
    assert found.proof_count == 2


def test_an_observation_expires_with_its_first_source(memory: Hindsight) -> None:
    soon = utc_now() + timedelta(days=1)
    memory.retain("b", "The booking site was down on Monday.", timestamp=START, expires_at=soon)
    memory.retain("b", "The booking site was down again.", timestamp=START + timedelta(days=9))
    assert memory.memories.get("b", only(memory).id).expires_at == soon


def test_a_sceptical_bank_is_less_sure(memory: Hindsight) -> None:
    memory.banks.create("b", disposition=Disposition(skepticism=5))
    say(memory, REACT)
    say(memory, VUE, 100)
    assert only(memory).confidence == pytest.approx(0.16)


@pytest.mark.local
def test_two_that_say_nearly_the_same_are_merged(memory: Hindsight) -> None:
    texts = ["The seat map has boats.", "I drew the seat map again.", "The seat map is blue."]
    ids = [say(memory, text, 30 * day) for day, text in enumerate(texts)]
    only(memory)
    stored = memory.memories.get("b", memory.observations.list("b").items[0].id)
    twin = replace(stored, id="twin", sources=stored.sources[1:])
    store_drawn(memory, stored.id, twin)
    say(memory, "The seat map needs a legend.", 120)
    merged = only(memory)
    assert merged.id == stored.id
    assert merged.proof_count == 4
    assert set(ids) < set(merged.sources)


@pytest.mark.slow
def test_the_story_yields_what_a_reader_would_note(memory: Hindsight) -> None:
    remember(memory, load_story(), lambda done, total: None)
    memory.consolidate(BANK)
    texts = [each.text for each in memory.observations.list(BANK, limit=100).items]
    openings = ["On the booking site, ", "Maya on Marrow Sound: ", "Alice on Quillhaven: "]
    for opening in openings:
        assert any(text.startswith(opening) for text in texts), (opening, texts)
    assert len(texts) <= 20
    stored = memory.memories.list(BANK, types=[MemoryType.OBSERVATION], limit=100).items
    for observation in stored:
        for source in observation.sources:
            assert source.memory_id is not None
            assert source.quote is not None
            assert source.quote in memory.memories.get(BANK, source.memory_id).text


@pytest.mark.parametrize(("title", "drawn"), [(None, 1), ("Front ends", 0)])
def test_written_passages_speak_for_themselves(
    memory: Hindsight, title: str | None, drawn: int
) -> None:
    for month, text in ((1, "Inês practises archery."), (3, "Inês gave up archery.")):
        memory.retain("b", text, timestamp=datetime(2025, month, 6, tzinfo=UTC), context=title)
    assert len(memory.consolidate("b").created) == drawn


def test_what_two_call_the_wall_in_two_talks_is_not_one_thing(memory: Hindsight) -> None:
    said = ["The wall fell into our yard in the storm.", "He painted the wall blue for her."]
    said.append("My mother turned his photo to the wall.")
    for day, text in enumerate(said):
        say(memory, text, day, f"Guest {day}")
    assert drawn(memory) == []


def test_what_two_call_the_boiler_in_one_talk_is_one_thing(memory: Hindsight) -> None:
    say(memory, "The boiler lost its pressure.", 0, "Ana")
    say(memory, "I cleaned the boiler on Sunday.", 9, "Tom")
    assert drawn(memory) == []
    said = START + timedelta(days=20)
    talk = [
        Message("Tom", "The boiler makes a terrible noise.", said),
        Message("Ana", "The boiler heats two rooms.", said),
    ]
    memory.retain_messages("b", talk, session="20")
    assert only(memory).proof_count == 4


def test_the_lad_is_anybody(memory: Hindsight) -> None:
    for day, deed in enumerate(("sold fish", "went to sea", "came home from Leith")):
        say(memory, f"The lad {deed}.", day, "Ned")
    assert drawn(memory) == []


@pytest.mark.parametrize(
    "texts",
    [
        ("The film starts slowly.", "The film won a prize.", "The film made Tom cry."),
        ("My favourite mug came from Delft.", "My favourite mug is the one with a boat."),
        (
            "This lantern is from Delft.",
            "That lantern scares the cat.",
            "This lantern has no wick.",
        ),
        ("Tom painted the pier.", "I photographed the pier.", "Ana sketched the pier."),
    ],
    ids=["seen in turn", "favourite", "this", "mentioned"],
)
def test_what_may_be_another_thing_each_time_is_no_topic(
    memory: Hindsight, texts: tuple[str, ...]
) -> None:
    for day, text in enumerate(texts):
        say(memory, text, day)
    assert drawn(memory) == []


def test_a_clipped_because_is_no_part_of_the_place(memory: Hindsight) -> None:
    say(memory, "I'm in choir cause I want to sing.", 0)
    say(memory, "I'm fine, I was fired from my job cause I overslept.", 9)
    assert drawn(memory) == []


def test_who_stopped_going_does_not_say_where_to(memory: Hindsight) -> None:
    say(memory, "I'm going to go to a concert with Tom tonight.", 0)
    say(memory, "I stopped going after I started my training.", 9)
    assert drawn(memory) == []


def test_kisses_at_the_end_of_a_message_are_nobody(memory: Hindsight) -> None:
    for day, text in enumerate(("The stairlift is in. xx", "He ate too much. xx", "I walked. Xx")):
        say(memory, text, day, "Gran")
    assert drawn(memory) == []
    assert [entity.name for entity in memory.entities.list("b")] == ["Gran"]
