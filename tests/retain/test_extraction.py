"""Facts keep the user's words, and say who, when and why as the text does."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Entity, MemoryType, Precision
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain.causes import Utterance, causes
from hindsight_integrations.retain.extraction import Fact, Mention, Passage, SentenceExtractor
from tests.bundled import PIPELINE

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def count(text: str) -> int:
    return len(text.split())


EXTRACTOR = SentenceExtractor(count=count, fact_tokens=40, pipeline=PIPELINE)


def extract(text: str, known: dict[str, Entity] | None = None, **passage: object) -> list[Fact]:
    (facts,) = EXTRACTOR.extract([Passage(text, SAID, **passage)], known or {})  # type: ignore[arg-type]
    return facts


def names(facts: list[Fact]) -> list[str]:
    return [mention.name for fact in facts for mention in fact.mentions]


def test_a_turn_stays_one_fact_in_the_words_of_the_speaker() -> None:
    text = "Hey Mel! I moved to Lyon last month.  It is great :)"
    (fact,) = extract(f" {text}\n", speaker="Caroline")
    assert fact.text == text
    assert fact.type is MemoryType.WORLD
    assert fact.confidence is None


def test_a_long_text_is_parted_between_sentences_into_balanced_facts() -> None:
    sentence = "The ferry number {} leaves at nine and takes forty minutes."
    text = " ".join(sentence.format(n) for n in range(10))
    facts = extract(text)
    sizes = [count(fact.text) for fact in facts]
    assert " ".join(fact.text for fact in facts) == text
    assert all(fact.text.endswith(".") for fact in facts)
    assert max(sizes) <= 40
    assert max(sizes) - min(sizes) <= 11


@settings(max_examples=50, deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from(" .!?\n。ab")), max_size=300))
def test_no_visible_character_is_lost(text: str) -> None:
    def visible(text: str) -> str:
        return "".join(c for c in text if unicodedata.category(c)[0] not in "CZ")

    assert "".join(visible(fact.text) for fact in extract(text)) == visible(text)


@pytest.mark.parametrize("text", ["", "  \n", "\u200b", "\u200d\ufeff", "\x00"])
def test_a_passage_without_a_visible_character_has_no_fact(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize("text", ["🎉", "?", "好", "x", "…"])
def test_any_visible_character_makes_a_fact(text: str) -> None:
    assert [fact.text for fact in extract(text)] == [text]


def test_the_speaker_is_mentioned_and_the_addressee_only_if_addressed() -> None:
    assert names(extract("I like tea.", speaker="Ana", addressees=("Tom",))) == ["Ana"]
    assert names(extract("Do you like tea?", speaker="Ana", addressees=("Tom",))) == ["Ana", "Tom"]
    assert names(extract("tom, tea is ready", speaker="Ana", addressees=("Tom",))) == ["Ana", "Tom"]
    thanks = extract("Thank you Rosa for the cake.", speaker="Ana", addressees=("Tom",))
    assert names(thanks) == ["Ana", "Rosa"]
    by_short_name = extract("Thank you Bob for the cake.", speaker="Ana", addressees=("Robert",))
    assert "Robert" in names(by_short_name)
    assert names(extract("Do you like tea?", speaker="Ana", addressees=("Tom", "Eve"))) == ["Ana"]


@pytest.mark.parametrize(
    ("text", "speaker", "meant"),
    [
        ("Hi Fahim, welcome back!", "Katherine", "Faheem"),
        ("I'm Catherine, nice to meet you.", "Katherine", "Katherine"),
        ("My boss Fahim is away.", "Katherine", None),
        ("Fahim and I go back years.", "Katherine", None),
    ],
)
def test_a_participant_may_be_addressed_by_another_spelling(
    text: str, speaker: str, meant: str | None
) -> None:
    facts = extract(text, speaker=speaker, addressees=("Faheem",))
    addressed = [m.addressed_as for fact in facts for m in fact.mentions if m.addressed_as]
    assert addressed == ([meant] if meant else [])


def test_roles_are_nobody() -> None:
    assert names(extract("Can you help me?", speaker="user", addressees=("assistant",))) == []


def test_what_the_agent_says_is_its_experience() -> None:
    assert extract("I sent the mail.", speaker="Assistant")[0].type is MemoryType.EXPERIENCE
    assert extract("I sent the mail.", speaker="Ana")[0].type is MemoryType.WORLD
    asked = extract("I sent the mail.", speaker="assistant", type=MemoryType.OPINION)
    assert asked[0].type is MemoryType.OPINION
    named = SentenceExtractor(count=count, pipeline=PIPELINE, names=("Hal",))
    (facts,) = named.extract([Passage("I sent it.", SAID, speaker="HAL")], {})
    assert facts[0].type is MemoryType.EXPERIENCE


def test_times_are_resolved_against_the_moment_it_was_said() -> None:
    (fact,) = extract("I went to Lyon yesterday, and in 2019.")
    assert [(span.start.date().isoformat(), span.precision) for span in fact.occurred] == [
        ("2019-01-01", Precision.YEAR),
        ("2023-05-07", Precision.DAY),
    ]


def test_known_names_are_found_in_lower_case() -> None:
    known = {"bob": Entity("e", "b", "Bob", "person")}
    assert extract("ask bob about it", known)[0].mentions == (Mention("Bob", "person"),)


def test_a_short_reply_mentions_what_it_was_asked_about() -> None:
    facts = extract("Yes, loved it!", speaker="Ana", preceding="How did you like Lisbon?")
    assert names(facts) == ["Ana", "Lisbon"]
    facts = extract("Yes, loved it!", speaker="Ana", preceding="I was in Lisbon.")
    assert names(facts) == ["Ana"]


def test_names_of_the_title_are_mentioned_by_every_fact() -> None:
    text = "He was born on the coast and went to sea when he was twelve years old. " * 6
    facts = extract(text, title="Life of James Cook")
    assert len(facts) > 1
    assert all("James Cook" in " ".join(names([fact])) for fact in facts)


def test_each_fact_mentions_the_names_of_its_own_sentences() -> None:
    filler = "It went on for hours and hours with no end that anyone of us could see at all. "
    facts = extract(f"Alice met Tom. {filler * 3}Later Priya came from Lagos. {filler}")
    assert "Alice" in names(facts[:1])
    assert "Priya" not in names(facts[:1])
    assert "Priya" in names(facts[1:])


def test_no_mention_comes_twice() -> None:
    facts = extract("Bob and bob's Bob. BOB!", {"bob": Entity("e", "b", "Bob", "person")})
    assert [entity_norm(name) for name in names(facts)] == ["bob"]


def test_a_batch_gives_what_its_passages_give_alone() -> None:
    passages = [
        Passage("Thanks, Priya! Did Bob call you?", SAID, "Ana", ("Tom",)),
        Passage("我们在北京见了王伟。", SAID),
        Passage("", SAID),
        Passage("Barack Obama was born in Hawaii in 1961. " * 12, SAID, title="Obama"),
        Passage("yes", SAID, "Tom", preceding="Is Lagos hot?"),
    ]
    alone = [EXTRACTOR.extract([passage], {})[0] for passage in passages]
    assert EXTRACTOR.extract(passages, {}) == alone


def test_the_id_changes_with_what_changes_the_facts() -> None:
    other = SentenceExtractor(count=count, fact_tokens=41, pipeline=PIPELINE)
    assert EXTRACTOR.id != other.id
    assert "en_core_web" in EXTRACTOR.id


def test_a_fact_size_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        SentenceExtractor(count=count, fact_tokens=0)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["The rent rose.", "So we moved."], [(), (0,)]),
        (["The rent rose.", "As a result, we moved."], [(), (0,)]),
        (["The rent rose.", "And that's why we moved."], [(), (0,)]),
        (["We moved.", "Because the rent rose."], [(1,), ()]),
        (["We moved.", "That was because the rent rose."], [(1,), ()]),
        (["The rent rose.", "Because of that we moved."], [(), (0,)]),
        (["A flood.", "This led to a shortage.", "Therefore prices rose."], [(), (0,), (1,)]),
        (["The rent rose.", "So how are you?"], [(), ()]),
        (["The rent rose.", "So excited about the weekend!"], [(), ()]),
        (["Die Miete stieg.", "Deshalb zogen wir um."], [(), (0,)]),
        (["房租涨了。", "所以我们搬家了。"], [(), (0,)]),
        (["So we moved."], [()]),
        ([], []),
    ],
)
def test_causes_follow_the_words_that_open_a_statement(
    statements: list[str], expected: list[tuple[int, ...]]
) -> None:
    assert causes([Utterance(text) for text in statements]) == expected


def test_facts_of_a_passage_are_linked_by_cause() -> None:
    filler = "It went on for hours and hours with no end that anyone of us could see. "
    first, second = extract(
        f"The rent rose. {filler * 2}As a result, we moved to Lyon. {filler * 2}"
    )
    assert first.causes == ()
    assert second.text.startswith("As a result")
    assert second.causes == (0,)
