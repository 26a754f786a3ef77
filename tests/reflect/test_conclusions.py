"""The pure parts of drawing conclusions, with numbers worked by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.conclusions import Trend
from hindsight_integrations.errors import ModelError
from hindsight_integrations.models import Bank, Memory, MemoryType, ObservationKind, Source
from hindsight_integrations.nlp.language import is_english
from hindsight_integrations.recall.packing import SUBSTITUTION_HEAD
from hindsight_integrations.reflect.changes.contradictions import change, dated_statements
from hindsight_integrations.reflect.clustering import clusters
from hindsight_integrations.reflect.conclusions import (
    ConclusionUpdate,
    validated,
    without_duplicates,
)
from hindsight_integrations.reflect.dependencies import Cluster, Draft, Evidence, Proposals, Removal
from hindsight_integrations.reflect.observation_text import compose, quote
from hindsight_integrations.reflect.rules import MIN_MEMORIES, RuleConsolidator, kind_of
from hindsight_integrations.reflect.scoring import (
    RATES,
    RECENT,
    STALE,
    belief,
    observation_confidence,
    trend,
)
from hindsight_integrations.reflect.topics import LONGEST_QUOTE, Grade, Topic, statements
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import EmbedderIdentity, MemoryRecord
from hindsight_integrations.stores.sqlite import SqliteGraph

NOW = datetime(2025, 6, 20, 9, tzinfo=UTC)


def fact(
    id: str, text: str, day: int = 0, speaker: str | None = None, entities: tuple[str, ...] = ()
) -> Memory:
    said = NOW + timedelta(days=day)
    return Memory(id, "b", text, mentioned_at=said, speaker=speaker, entities=entities)


# Confidence


@pytest.mark.parametrize(
    ("proof", "skepticism", "expected"),
    [
        *((1, 3, 0.1), (4, 3, 0.4), (9, 3, 0.9), (50, 3, 0.9), (5, 4, 0.4)),
        *((5, 5, 0.4), (5, 2, 0.55), (9, 1, 0.99), (1, 5, 0.1), (0, 3, 0.1)),
    ],
)
def test_confidence_is_a_tenth_for_each_memory_and_leans_with_the_skepticism(
    proof: int, skepticism: int, expected: float
) -> None:
    assert observation_confidence(proof, skepticism) == pytest.approx(expected)


@given(st.integers(0, 1000), st.integers(1, 5))
def test_confidence_stays_within_bounds_and_never_falls_with_proof(proof: int, s: int) -> None:
    sure = observation_confidence(proof, s)
    assert 0.1 <= sure <= observation_confidence(proof + 1, s) <= 1.0


# Trend


@pytest.mark.parametrize(
    ("days_ago", "expected"),
    [
        ([3], Trend.NEW),
        ([30, 1], Trend.NEW),
        ([91], Trend.STALE),
        ([400, 100], Trend.STALE),
        ([60, 10, 5], Trend.STRENGTHENING),
        ([90, 80, 70, 60, 50], Trend.WEAKENING),
    ],
)
def test_trend_compares_the_last_month_with_the_time_before(
    days_ago: list[int], expected: Trend
) -> None:
    assert trend([NOW - timedelta(days=days) for days in days_ago], NOW) is expected


# Kinds


@pytest.mark.parametrize(
    ("quotes", "expected"),
    [
        (["The booking site is down.", "The site was down again."], ObservationKind.RISK),
        (["I love the sea.", "I prefer boats."], ObservationKind.PREFERENCE),
        (["We moved because of the rent.", "It led to a delay."], ObservationKind.CAUSAL),
        (["We plan to hire.", "Our goal is ten people."], ObservationKind.STRATEGY),
        (["The mailbox is down to nine.", "The boat is blue."], ObservationKind.GENERALIZATION),
    ],
)
def test_the_words_of_at_least_half_decide_the_kind(
    quotes: list[str], expected: ObservationKind
) -> None:
    assert kind_of(quotes, [NOW, NOW]) is expected


def test_three_days_make_a_pattern_unless_something_changed() -> None:
    quotes = ["The seat map has boats."] * 3
    days = [NOW + timedelta(days=n) for n in range(3)]
    assert kind_of(quotes, days) is ObservationKind.PATTERN
    assert kind_of(quotes, days, has_changed=True) is ObservationKind.GENERALIZATION


# Topics


def test_a_topic_is_a_definite_noun_phrase_or_the_name_of_a_thing() -> None:
    text = "We show the seat map of my thesis to Daniel Reyes in Quillhaven by the window."
    names = ("Daniel Reyes", "Quillhaven")
    (each,) = statements(text, names, None, frozenset({"Daniel Reyes"}))
    assert {key: topic.grade for key, topic in each.topics.items()} == {
        "i|>@quillhaven": Grade.NAME,
        ">map seat": Grade.PHRASE,
        "i|>thesi": Grade.OWN,
        ">window": Grade.NOUN,
    }


@pytest.mark.parametrize(
    "text",
    [
        "The price of bread rose again.",
        "The lamp that Tom sent is fine.",
        "My own harbour is calmer in winter.",
    ],
)
def test_what_further_words_choose_from_several_is_no_topic(text: str) -> None:
    (each,) = statements(text, ("Harbour",), "Ana")
    assert not {Grade.NOUN, Grade.NAME} & {topic.grade for topic in each.topics.values()}


@pytest.mark.parametrize(
    "text",
    [
        "Open questions on the seat map",
        "Olivier Bernard Southampton .",
        "Response time of the seat map 320 ms.",
        "By the window both ways.",
        "Lisa felt extremely tired.",
    ],
)
def test_headings_fragments_and_measurements_have_no_topic(text: str) -> None:
    assert [each.topics for each in statements(text, ("Lisa", "Southampton")) if each.topics] == []


@pytest.mark.parametrize(
    "text",
    [
        "Did you get your window seat?",
        "Thank you for the window seat!",
        "Wow, the window!",
        "[shares photo: a photo of the old window of a house]",
        "👍🏽",
    ],
)
def test_questions_courtesies_and_asides_state_nothing(text: str) -> None:
    assert statements(text) == ()


@given(st.text(max_size=400))
def test_every_statement_stands_in_its_text(text: str) -> None:
    for each in statements(text, ("Ann", "x")):
        assert each.text in text
        words = quote(each.text, next(iter(each.topics.values()), None))
        assert words in text
        assert 0 < len(words) <= LONGEST_QUOTE


@given(st.text(min_size=1, max_size=2000), st.text(max_size=5))
def test_a_quote_is_never_longer_than_it_may_be(text: str, name: str) -> None:
    words = quote(text, Topic("x", name, Grade.NAME))
    assert len(words) <= LONGEST_QUOTE
    assert words in text


# Changes

CHANGES = [
    ("I'll build the checkout in React.", "I moved the checkout to Vue.", ("React", "Vue")),
    ("We launch the kiosk on 14 January.", "The kiosk moves to 11 March instead.",
     ("14 January", "11 March")),
    ("I live in Berlin.", "I just moved to New York.", ("Berlin", "New York")),
    ("My door code is 4711.", "My door code is 4712 now.", ("4711", "4712")),
    ("I use React.", "I switched from React to Svelte.", ("React", "Svelte")),
    ("I drink black tea.", "I no longer drink tea.", ("tea", None)),
]  # fmt: skip


@pytest.mark.parametrize(("older", "newer", "values"), CHANGES)
def test_a_change_is_told_with_its_values(
    older: str, newer: str, values: tuple[str | None, str | None]
) -> None:
    (before,), (after,) = (
        dated_statements(fact("1", older, 0, "Ann")),
        dated_statements(fact("2", newer, 9, "Ann")),
    )
    shift = change(before, after)
    assert shift is not None
    assert (shift.before, shift.after) == values
    assert change(after, before) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I love React.", "I moved to Paris."),
        ("I went to the LGBTQ group.", "I joined the LGBTQ+ choir now."),
        ("The kiosk is by the pier.", "The kiosk is by the pier."),
        ("The site is down.", "The site is down."),
        ("I met Ann at the harbour.", "I met Bob at the harbour."),
        ("I recommended Python to Bea.", "Bea no longer uses React."),
        ("I live in Berlin.", "I will move to Paris."),
        ("I live in Berlin.", "I moved to Paris for two weeks."),
        ("I drink tea.", "I no longer drink green tea."),
    ],
)
def test_what_is_not_plainly_a_change_is_none(older: str, newer: str) -> None:
    before, after = (
        dated_statements(fact("1", older, 0, "Ann"))[0],
        dated_statements(fact("2", newer, 9, "Ann"))[0],
    )
    assert change(before, after) is None


def test_what_another_says_of_themselves_changes_nothing() -> None:
    (before,), (after,) = (
        dated_statements(fact("1", "I live in Berlin.", 0, "Ann")),
        dated_statements(fact("2", "I moved to Paris.", 9, "Bob")),
    )
    assert change(before, after) is None


def test_a_first_name_that_several_people_have_is_nobody() -> None:
    (before,), (after,) = (
        dated_statements(fact("1", "Alice lives in Berlin.")),
        dated_statements(fact("2", "Alice moved from Berlin to Paris.", 9)),
    )
    assert change(before, after) is not None
    assert change(before, after, {"alice"}) is None


# Wording


def test_three_states_are_named_in_order() -> None:
    texts = ["We launch the kiosk on 14 January.", "The kiosk moves to 11 March instead.",
             "The kiosk is postponed to 6 May."]  # fmt: skip
    evidence = [
        dated_statements(fact(str(n), text, 30 * n, "Maya"))[0] for n, text in enumerate(texts)
    ]
    composed = compose(evidence, {})
    assert composed.text.startswith("Maya on the kiosk, first 14 January, then 11 March, then 6 M")
    assert composed.earlier is not None
    assert "6 May" not in composed.earlier


def test_of_many_statements_the_first_the_most_central_and_the_last_are_shown() -> None:
    texts = [f"The seat map has {n} boats." for n in ("two", "three", "four", "five")]
    evidence = [dated_statements(fact(str(n), text, n, "Ann"))[0] for n, text in enumerate(texts)]
    vectors = {
        "0": np.array([1, 0], np.float32),
        "1": np.array([0, 1], np.float32),
        "2": np.array([0.6, 0.8], np.float32),
        "3": np.array([0.8, 0.6], np.float32),
    }
    composed = compose(evidence, vectors)
    assert [text for text in texts if text in composed.text] == [texts[0], texts[2], texts[3]]
    assert set(composed.quotes.values()) == set(texts)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("By the window both ways.", True),
        ("Bob drinks tea.", True),
        ("Ich spiele im Verein.", False),
        ("J'ai déménagé à Paris.", False),
        ("我在上海工作。", False),
    ],
)
def test_english_is_told_from_other_languages(text: str, english: bool) -> None:
    assert is_english([text]) is english


# Matters


def test_memories_are_gathered_by_topic_and_likeness() -> None:
    facts = {
        "1": fact("1", "The booking site is down.", 0, "Ann"),
        "2": fact("2", "The booking site is slow.", 9, "Bob"),
        "3": fact("3", "A booking was made.", 9, "Bob"),
        "4": fact("4", "Physics was never easy.", 9, "Bob"),
    }
    near, far = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    vectors = {"1": near, "2": near, "3": far, "4": near}
    pairs = [("1", "2"), ("2", "1"), ("1", "3"), ("1", "4"), ("1", "1")]
    for similarity in (None, 0.45):
        found, *rest = clusters(Bank("b"), list(facts), pairs, facts, {}, vectors, similarity)
        assert [memory.id for memory in found.memories] == ["1", "2"]
        assert found.new == {"1", "2"}
        assert rest == []
        assert clusters(Bank("b"), [], pairs, facts, {}, vectors, similarity) == []


def test_topics_gather_what_is_not_similar_and_a_model_gets_what_shares_a_word() -> None:
    facts = {
        "1": fact("1", "The booking site is down.", 0, "Ann"),
        "2": fact("2", "The booking site went up.", 9, "Bob"),
        "3": fact("3", "We pay for a site.", 9, "Bob"),
    }
    near, far = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    vectors = {"1": near, "2": far, "3": near}
    pairs = [("1", "2"), ("1", "3")]
    (rules,) = clusters(Bank("b"), list(facts), pairs, facts, {}, vectors, None)
    (model,) = clusters(Bank("b"), list(facts), pairs, facts, {}, vectors, 0.45)
    assert [memory.id for memory in rules.memories] == ["1", "2"]
    assert [memory.id for memory in model.memories] == ["1", "3"]


WORDS = st.sampled_from(
    "the a harbour boat seat map launch in on of moved no longer now Vue React tea 14 May".split()
)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=6))
def test_whatever_rules_propose_can_be_stored(texts: list[str]) -> None:
    facts = tuple(
        fact(f"m{n}", f"{text}.", 3 * n, "Ann" if n % 2 else None) for n, text in enumerate(texts)
    )
    vectors = {memory.id: np.array([1, 0], np.float32) for memory in facts}
    new = frozenset(vectors)
    matter = Cluster(Bank("b"), "x", facts, new, (), vectors)
    proposals = validated(matter, RuleConsolidator().propose(matter))
    assert all(len(draft.evidence) > 1 for draft in proposals.drafts)
    assert proposals.removals == ()


def test_what_a_model_quoted_across_sentences_is_kept_when_it_is_rewritten() -> None:
    memory = fact("1", "Is it so? Bob drinks tea. He says.")
    source = Source(memory_id="1", quote="so? Bob drinks")
    held = replace(fact("c-1", "Bob likes tea."), sources=(source,))
    matter = Cluster(Bank("b"), "tea", (memory,), frozenset({"c-1"}), (held,))
    (draft,) = validated(matter, RuleConsolidator().propose(matter)).drafts
    assert draft.rewrites == "c-1"
    assert draft.evidence == (Evidence("1", "so? Bob drinks"),)
    assert "“so? Bob drinks” (20 June 2025)" in draft.text


# Proposals


def a_matter() -> Cluster:
    return Cluster(Bank("b"), "tea", (fact("1", "Bob drinks tea."),), conclusions=(fact("c", "x"),))


DRAFT = Draft("Bob likes tea.", (Evidence("1", "drinks tea"),), "He drinks it.")


@pytest.mark.parametrize(
    "proposals",
    [
        Proposals((Draft("", DRAFT.evidence, "why"),)),
        Proposals((Draft("x", (), "why"),)),
        Proposals((Draft("x", (Evidence("1", "tea", supports=False),), "why"),)),
        Proposals((Draft("x", (Evidence("1", "coffee"),), "why"),)),
        Proposals((Draft("x", (Evidence("1", " "),), "why"),)),
        Proposals((Draft("x", (Evidence("2", "tea"),), "why"),)),
        Proposals((Draft("x", DRAFT.evidence * 2, "why"),)),
        Proposals((Draft("x", DRAFT.evidence, " "),)),
        Proposals((Draft("x" * 3000, DRAFT.evidence, "why"),)),
        Proposals((Draft("x", DRAFT.evidence, "why", rewrites="d"),)),
        Proposals((Draft("x", DRAFT.evidence, "why", rewrites="c"),), (Removal("c", "why"),)),
        Proposals((DRAFT,) * 21),
        Proposals(removals=(Removal("d", "why"),)),
    ],
)
def test_one_flaw_refuses_all_that_is_proposed_of_a_matter(proposals: Proposals) -> None:
    with pytest.raises(ModelError, match="nothing was changed"):
        validated(a_matter(), proposals)


def test_a_sound_proposal_passes_as_it_is() -> None:
    proposals = Proposals((DRAFT,), (Removal("c", "Bob says otherwise."),))
    assert validated(a_matter(), proposals) is proposals


# Opinions


def test_belief_takes_away_a_part_of_the_doubt_or_of_itself() -> None:
    assert belief([True]) == pytest.approx(0.65)
    assert belief([True, False]) == pytest.approx(0.65 * 0.7)
    assert belief([]) == 0.5


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 5))
def test_the_belief_in_the_opposite_is_the_rest(supports: list[bool], skepticism: int) -> None:
    believed = belief(supports, skepticism)
    opposite = belief([not each for each in supports], skepticism)
    assert 0 <= believed <= 1
    assert believed + opposite == pytest.approx(1, abs=1e-5)


def test_the_more_sceptical_the_slower() -> None:
    assert sorted(RATES, key=lambda s: -RATES[s]) == [1, 2, 3, 4, 5]


# What the documentation says


def test_the_documented_numbers_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "observations.md").read_text(encoding="utf-8")
    assert f"in at least {MIN_MEMORIES[Grade.NOUN]} memories" in page
    assert f"batches of {Settings().consolidation_batch} memories" in page
    assert f"best {SUBSTITUTION_HEAD} and it takes fewer" in page
    rates = [str(RATES[skepticism]) for skepticism in (1, 2, 3, 4)]
    assert f"{', '.join(rates)} or {RATES[5]} of it" in page
    assert (RECENT.days, STALE.days, Settings().consolidation_delay) == (30, 90, 0.5)


def test_a_matter_may_have_as_many_conclusions_as_memories() -> None:
    facts = tuple(fact(str(n), "Bob drinks tea.") for n in range(30))
    drafts = tuple(replace(DRAFT, evidence=(Evidence(each.id, "tea"),)) for each in facts)
    matter = Cluster(Bank("b"), "tea", facts)
    assert validated(matter, Proposals(drafts)).drafts == drafts
    with pytest.raises(ModelError, match="31 conclusions, of at most 30"):
        validated(matter, Proposals((*drafts, DRAFT)))


def observed(id: str, *sources: str, derived: bool = True, pinned: bool = False) -> MemoryRecord:
    rests = tuple(Source(memory_id=source, quote="x", mentioned_at=NOW) for source in sources)
    memory = Memory(
        id, "b", id, MemoryType.OBSERVATION, sources=rests, derived=derived, pinned=pinned
    )
    return MemoryRecord(memory, (), np.zeros(3, np.float32), id)


def test_of_observations_left_with_the_same_memories_the_first_stays() -> None:
    graph = SqliteGraph(None)
    graph.create_bank(Bank("b"), EmbedderIdentity("test", 3))
    rewritten = ConclusionUpdate(
        (
            observed("first", "f1"),
            observed("second", "f1"),
            observed("other", "f1", "f2"),
            observed("pinned", "f1", pinned=True),
            observed("written by a caller", "f1", derived=False),
        ),
        consolidated=("first", "second"),
    )
    left = without_duplicates(graph, "b", rewritten)
    graph.close()
    kept = [record.memory.id for record in left.records]
    assert kept == ["first", "other", "pinned", "written by a caller"]
    assert left.removed == ("second",)
    assert left.consolidated == ("first",)
