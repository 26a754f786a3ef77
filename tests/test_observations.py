"""Observations through the engine: what is drawn, from what, and what becomes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Message
from hindsight_integrations.conclusions import Observation, Quotation, Trend
from hindsight_integrations.demo.compare import BANK, remember
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.errors import InvalidInputError, MemoryNotFoundError
from hindsight_integrations.model import Disposition, LinkKind, MemoryType, ObservationKind, utc_now
from hindsight_integrations.recall.boosts import proof_boost
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.values import DRAWN

START = datetime(2025, 1, 6, 9, tzinfo=UTC)
REACT = "I'll build the checkout in React, like the kiosk."
VUE = "I spent three nights moving the checkout to Vue, and it's live."


def say(memory: Hindsight, text: str, day: int = 0, speaker: str | None = "Inês") -> str:
    """Retain what somebody says so many days after the start; returns the memory's id."""
    said = START + timedelta(days=day)
    if speaker is None:
        return memory.retain("b", text, timestamp=said).ids[0]
    return memory.retain_messages("b", [Message(speaker, text, said)], session=str(day)).ids[0]


def told_anywhere(memory: Hindsight, word: str, folder: Path) -> list[str]:
    """Which parts of all that the bank holds have the word in them, beside document's own texts."""
    memory.banks.export("b", folder / "b.jsonl")
    lines = (folder / "b.jsonl").read_text().splitlines()
    parts = [next(iter(json.loads(line))) for line in lines if word.casefold() in line.casefold()]
    return [part for part in parts if part != "chunk"]


def drawn(memory: Hindsight) -> list[Observation]:
    memory.consolidate("b")
    return list(memory.observations.list("b").items)


def only(memory: Hindsight) -> Observation:
    found = drawn(memory)
    assert len(found) == 1, [each.text for each in found]
    return found[0]


# What is drawn


def test_react_then_vue_is_one_observation_that_tells_both_in_order(memory: Hindsight) -> None:
    react, vue = say(memory, REACT), say(memory, VUE, 160)
    found = only(memory)
    assert found.text == (
        f"Inês on the checkout, first React, then Vue: “{REACT}” (6 January 2025); "
        f"“{VUE}” (15 June 2025)."
    )
    assert found.sources == (react, vue)
    assert [change.old for change in found.history] == [
        f"Inês on the checkout: “{REACT}” (6 January 2025)."
    ]
    assert "'React' became 'Vue'" in found.reasoning


def test_what_was_observed_before_a_change_stays_in_the_history(memory: Hindsight) -> None:
    for day, text in enumerate(["Alice loves React.", "Alice praises React's component model."]):
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
        ("Alice works at Google as a designer.", "Alice joined Meta in March 2025."),
        ("Alice lives in Berlin.", "Alice moved to New York."),
        ("Bob drinks black tea every morning.", "Bob no longer drinks tea."),
        ("The team uses React for the dashboard.", "The team moved the dashboard to Vue."),
        ("Anna wohnt in Berlin.", "Anna ist nach Hamburg umgezogen."),
    ],
    ids=["employer", "home", "withdrawn", "tool", "German"],
)
def test_a_change_of_state_is_told_as_one(memory: Hindsight, texts: tuple[str, str]) -> None:
    for day, text in enumerate(texts):
        say(memory, text, 30 * day, None)
    text = only(memory).text
    assert text.index(texts[0]) < text.index(texts[1])


def test_statements_of_one_matter_make_an_observation(memory: Hindsight) -> None:
    say(memory, "Coach 4, seat 61, by the window, facing forward.", 0, "Jonas")
    say(memory, "By the window both ways.", 90, "Jonas")
    found = only(memory)
    assert found.text.startswith("Jonas on the window: ")
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


def test_text_that_is_not_english_is_quoted_without_english_words(memory: Hindsight) -> None:
    first, second = "Ich spiele jeden Dienstag im Verein.", "Der Verein hat einen neuen Trainer."
    say(memory, first, 0, "Jan")
    say(memory, second, 40, "Jan")
    assert only(memory).text == f"Jan: Verein: “{first}” (2025-01-06); “{second}” (2025-02-15)."


def test_a_second_run_adds_nothing(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    before = only(memory)
    again = memory.consolidate("b")
    assert (again.considered, again.created, again.rewritten, again.removed) == (0, (), (), ())
    assert memory.observations.list("b").items == [before]


def test_new_evidence_joins_the_observation_that_is_there(memory: Hindsight) -> None:
    say(memory, "I want to show the seat map on Thursday.")
    say(memory, "More time for the seat map at least!", 20)
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


# What becomes of it


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


SEAT_MAP = [
    "I want to show the seat map on Thursday.",
    "More time for the seat map at least, says the quokka!",
    "I'll show the seat map with real boats this time.",
    "The seat map needs a legend.",
]


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


def test_forgetting_what_two_that_were_merged_said_leaves_it_in_no_history(
    memory: Hindsight, tmp_path: Path
) -> None:
    ids = [say(memory, text, 20 * day) for day, text in enumerate(SEAT_MAP[:3])]
    stored = memory.memories.get("b", only(memory).id)
    text, sources = "The seat map is the quokka's.", stored.sources[1:]
    twin = replace(stored, id=f"{DRAWN}twin", text=text, tags=("t",), sources=sources)
    memory.retain_memory("b", twin)
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


def test_two_that_say_nearly_the_same_are_merged(memory: Hindsight) -> None:
    texts = ["The seat map has boats.", "I drew the seat map anew.", "The seat map is blue."]
    ids = [say(memory, text, 30 * day) for day, text in enumerate(texts)]
    only(memory)
    stored = memory.memories.get("b", memory.observations.list("b").items[0].id)
    twin = replace(stored, id=f"{DRAWN}twin", sources=stored.sources[1:])
    memory.retain_memory("b", twin)
    say(memory, "The seat map needs a legend.", 120)
    merged = only(memory)
    assert merged.id == stored.id
    assert merged.proof_count == 4
    assert set(ids) < set(merged.sources)


# Reading them


def test_only_the_types_asked_for_come_back(memory: Hindsight) -> None:
    say(memory, "The booking site is down.", 0, "Jonas")
    say(memory, "The booking site is down since six.", 90, "Jonas")
    say(memory, REACT)
    say(memory, VUE, 100)
    drawn(memory)
    risks = memory.observations.list("b", types=["risk"]).items
    assert [each.kind for each in risks] == [ObservationKind.RISK]
    asked = memory.observations.observe("b", "the checkout", types=["risk", "causal"])
    assert {each.kind for each in asked} <= {ObservationKind.RISK, ObservationKind.CAUSAL}
    assert memory.observations.list("b", min_confidence=0.3).items == []
    assert memory.observations.observe("b", "the checkout", min_confidence=0.3) == ()
    with pytest.raises(InvalidInputError, match="choose from pattern"):
        memory.observations.list("b", types=["gossip"])


def test_observe_reflects_first_and_gives_the_best_first(memory: Hindsight) -> None:
    say(memory, "The booking site is down.", 0, "Jonas")
    say(memory, "The booking site is down since six.", 90, "Jonas")
    say(memory, REACT)
    say(memory, VUE, 100)
    found = memory.observations.observe("b", "Which framework is the checkout built in?")
    assert "first React, then Vue" in found[0].text
    assert len(memory.observations.observe("b", "the checkout", limit=1)) == 1


def test_pages_of_observations_lose_none_to_a_filter(memory: Hindsight) -> None:
    for n in range(5):
        kind = "risk" if n % 2 else "pattern"
        memory.retain("b", f"Nothing of number {n}.")
        memory.observations.add("b", f"Number {n} is odd indeed.", type=kind)
    found: list[str] = []
    cursor = None
    while True:
        page = memory.observations.list("b", types=["pattern"], limit=2, cursor=cursor)
        found += [each.text for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [f"Number {n} is odd indeed." for n in (0, 2, 4)]


def test_an_added_observation_survives_the_round_trip(memory: Hindsight) -> None:
    first, second = say(memory, REACT), say(memory, "Nothing else happened at the pier.", 5)
    added = memory.observations.add(
        "b",
        "Inês likes to rebuild things.",
        type="preference",
        sources=[Quotation(first, "build the checkout", START), second],
        reasoning="She did it more than once.",
        tags=["people"],
    )
    (read,) = memory.observations.list("b").items
    assert read == added
    assert read.kind is ObservationKind.PREFERENCE
    assert [piece.quote for piece in read.evidence] == [
        "build the checkout",
        "Nothing else happened at the pier.",
    ]
    assert read.reasoning == "She did it more than once."
    assert (read.confidence, read.proof_count, read.tags) == (0.2, 2, ("people",))
    again = memory.observations.add("b", "Inês likes to rebuild things.", sources=[second])
    assert (again.id, again.proof_count) == (added.id, 2)
    memory.consolidate("b")
    assert memory.observations.list("b").items[0].text == "Inês likes to rebuild things."
    memory.forget("b", [first, second])
    assert memory.observations.list("b").items == []


def test_a_source_that_cannot_be_one_is_refused(memory: Hindsight) -> None:
    fact = say(memory, REACT)
    added = memory.observations.add("b", "Something.", sources=[fact])
    with pytest.raises(MemoryNotFoundError):
        memory.observations.add("b", "Other.", sources=["nowhere"])
    with pytest.raises(InvalidInputError, match="concluded"):
        memory.observations.add("b", "Other.", sources=[added.id])
    with pytest.raises(InvalidInputError, match="does not stand"):
        memory.observations.add("b", "Other.", sources=[Quotation(fact, "in Angular", START)])


def test_trend_is_told_from_the_times_of_the_evidence(memory: Hindsight) -> None:
    now = utc_now()
    for days, text in ((5, "The booking site is down."), (1, "The booking site is down again.")):
        memory.retain("b", text, timestamp=now - timedelta(days=days))
    assert only(memory).trend is Trend.NEW


# In recall


def test_recall_finds_observations_and_can_prefer_them(memory: Hindsight) -> None:
    react, vue = say(memory, REACT), say(memory, VUE, 100)
    observation = only(memory)
    plain = memory.recall("b", "What is the checkout built in?")
    assert {react, vue, observation.id} <= {item.id for item in plain}
    preferring = memory.recall("b", "What is the checkout built in?", prefer_observations=True)
    assert [item.id for item in preferring] == [observation.id]
    assert preferring.tokens < plain.tokens
    facts = memory.recall("b", "the checkout", types=["world"], prefer_observations=True)
    assert {item.id for item in facts} == {react, vue}


def test_a_fact_of_which_too_little_is_quoted_stays(memory: Hindsight) -> None:
    long = f"{VUE} Then I drew its forms, its basket and its receipts anew, and slept until noon."
    say(memory, REACT)
    vue = say(memory, long, 100)
    observation = only(memory)
    found = memory.recall("b", "What is the checkout built in?", prefer_observations=True)
    assert {observation.id, vue} <= {item.id for item in found}


def test_observations_get_the_proof_boost(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    observation = only(memory)
    found = memory.recall("b", "What is the checkout built in?")
    signals = {item.id: {s.name: s.value for s in item.signals} for item in found}
    assert signals[observation.id]["proof boost"] == pytest.approx(proof_boost(2))
    assert {signals[source]["proof boost"] for source in observation.sources} == {1.0}


def test_a_repetition_is_never_folded_into_an_observation(memory: Hindsight) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    observation = only(memory)
    result = memory.retain("b", observation.text, type="observation")
    assert len(result.stored) == 1


def test_what_is_said_later_is_linked_to_what_was_said_and_not_to_what_was_drawn() -> None:
    linked = []
    for consolidating in (True, False):
        with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
            for day, text in enumerate(SEAT_MAP):
                say(memory, text, day)
                if consolidating:
                    memory.consolidate("b")
            linked.append(memory.banks.stats("b").links)
    assert linked[0] == linked[1]
    assert linked[0][LinkKind.SEMANTIC] > 0


# In the background


def test_the_background_draws_what_an_explicit_run_would() -> None:
    with Hindsight.in_memory(settings=Settings(consolidation_delay=0.0)) as memory:
        say(memory, REACT)
        say(memory, VUE, 100)
        assert memory.wait_idle(60)
        assert "first React, then Vue" in memory.observations.list("b").items[0].text
        assert memory.health().ok


def test_closing_finishes_what_is_waiting(folder: object) -> None:
    with Hindsight(folder, settings=Settings(consolidation_delay=3600)) as memory:  # type: ignore[arg-type]
        say(memory, REACT)
        say(memory, VUE, 100)
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:  # type: ignore[arg-type]
        assert len(memory.observations.list("b").items) == 1


def left_waiting(folder: Path) -> None:
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:
        say(memory, REACT)
        say(memory, VUE, 100)


def test_opening_goes_on_with_what_was_left(folder: Path) -> None:
    left_waiting(folder)
    with Hindsight(folder) as memory:
        memory.banks.create("another")
        assert memory.wait_idle(60)
        assert "first React, then Vue" in memory.observations.list("b").items[0].text


def test_opening_leaves_alone_what_its_settings_or_embedder_are_not_for(folder: Path) -> None:
    left_waiting(folder)

    def lengths(texts: list[str]) -> list[list[float]]:
        return [[1.0, len(text)] for text in texts]

    with Hindsight(folder, embedder=lengths) as memory:
        assert memory.wait_idle(60)
        assert memory.health().ok
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:
        assert memory.wait_idle(60)
        assert memory.observations.list("b").items == []


def test_an_import_goes_on_with_what_was_left(memory: Hindsight, tmp_path: Path) -> None:
    say(memory, REACT)
    say(memory, VUE, 100)
    memory.banks.export("b", tmp_path / "b.jsonl")
    with Hindsight.in_memory() as other:
        other.banks.import_(tmp_path / "b.jsonl")
        assert other.wait_idle(60)
        assert len(other.observations.list("b").items) == 1


RETAIN_AND_WAIT = """
import sys, time
from datetime import datetime, UTC
from hindsight_integrations import Hindsight, Message, Settings

memory = Hindsight(sys.argv[1], settings=Settings(consolidation_delay=3600))
for month, text in zip((1, 4), sys.argv[2:]):
    said = datetime(2025, month, 6, tzinfo=UTC)
    memory.retain_messages("b", [Message("Inês", text, said)], session=str(month))
print("retained", flush=True)
time.sleep(3600)
"""


@pytest.mark.slow
def test_what_a_killed_process_left_is_reflected_on(folder: Path) -> None:
    command = [sys.executable, "-c", RETAIN_AND_WAIT, str(folder), REACT, VUE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "retained\n"
        process.kill()
    with Hindsight(folder) as memory:
        assert memory.wait_idle(60)
        assert "first React, then Vue" in memory.observations.list("b").items[0].text


@pytest.mark.slow
def test_the_story_yields_what_a_reader_would_note(memory: Hindsight) -> None:
    remember(memory, load_story(), lambda done, total: None)
    memory.consolidate(BANK)
    texts = [each.text for each in memory.observations.list(BANK, limit=100).items]
    openings = [
        "Inês on the checkout, first React, then Vue: ",
        "Maya on the launch, first Tuesday 14 January, then 11 March, then 6 May: ",
        "Maya on the review, first 101, then Room 102: ",
        "Jonas on the window: ",
        "On the booking site, 3 times from 15 November 2024 to 10 June 2025: ",
        "On pelican-02, ",
    ]
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
    for month, text in ((1, "Inês took up archery."), (3, "Inês gave up archery.")):
        memory.retain("b", text, timestamp=datetime(2025, month, 6, tzinfo=UTC), context=title)
    assert len(memory.consolidate("b").created) == drawn
