from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.models import Memory, MemoryType, Precision, TimeSpan
from hindsight_integrations.retain.deduplication import same_statement

SAID = datetime(2023, 5, 7, 12, tzinfo=UTC)


def memory(text: str, **fields: object) -> Memory:
    values: dict[str, object] = {"id": "m", "bank_id": "b", "mentioned_at": SAID, "speaker": "Ann"}
    return Memory(text=text, **(values | fields))  # type: ignore[arg-type]


def day(number: int) -> TimeSpan:
    start = datetime(2023, 5, number, tzinfo=UTC)
    return TimeSpan(start, start.replace(day=number + 1), Precision.DAY)


def same(new: str, old: str, cosine: float = 0.99) -> bool:
    return same_statement(memory(new), memory(old), cosine)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Thanks!", "thanks"),
        ("I prefer tea to coffee.", "I really prefer tea to coffee!"),
        ("Alice joined Google as a designer.", "Alice has joined Google as a designer."),
        ("I don’t like mushrooms.", "I do not like mushrooms."),
        ("We’re in Room 101.", "Oh, we are in Room 101!"),
        ("“Atlas” ships on port 8080", "Atlas ships, on port 8080."),
        ("我喜欢猫。", "我喜欢猫"),
        ("Ich mag keine Pilze.", "Ich mag keine Pilze!"),
        ("Hey!", "hey"),
        ("...", "..."),
    ],
)
def test_the_same_words_are_the_same_statement(new: str, old: str) -> None:
    assert same(new, old)
    assert same(old, new)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        # numbers and identifiers
        ("The meeting is in Room 101.", "The meeting is in Room 102."),
        ("It cost $5.", "It cost €5."),
        ("It is -5 degrees.", "It is 5 degrees."),
        ("Version 1.2 is out.", "Version 12 is out."),
        ("It weighs .5 kg", "It weighs 5 kg"),
        ("The area is 10² metres.", "The area is 102 metres."),
        ("Use C++ for this.", "Use C# for this."),
        ("See PROJ-17.", "See PROJ-71."),
        ("I have two cats.", "I have three cats."),
        # negation
        ("Bob likes mushrooms.", "Bob doesn't like mushrooms."),
        ("I have been to Rome.", "I have never been to Rome."),
        ("I like it.", "I don't like it."),
        ("Ich mag Pilze.", "Ich mag keine Pilze."),
        ("Er kommt heute.", "Er kommt heute nicht."),
        ("Me gusta el té.", "No me gusta el té."),
        ("Siempre viene tarde.", "Nunca viene tarde."),
        ("J'aime le thé.", "Je n'aime pas le thé."),
        ("Il mange du porc.", "Il ne mange jamais de porc."),
        ("她喜欢猫", "她不喜欢猫"),
        # who does what to whom, and when
        ("John loves Mary.", "Mary loves John."),
        ("I prefer tea to coffee.", "I prefer coffee to tea."),
        ("Alice moved from Paris to Berlin.", "Alice moved from Berlin to Paris."),
        ("Alice bought the house on Elm Street.", "Alice sold the house on Elm Street."),
        ("The test passed before the deploy.", "The test passed after the deploy."),
        ("Alice works at Google.", "Alice worked at Google."),
        # words that the embedder does not know
        ("我喜欢猫", "我喜欢狗"),
        ("ฉันชอบแมว", "ฉันเกลียดสุนัข"),
        # asked or stated; feelings told by symbols; nothing but fillers
        ("Alice joined Google?", "Alice joined Google."),
        ("I passed 😀", "I passed 😢"),
        ("Oh, please!", "Wow!"),
        ("!!!", "..."),
    ],
)
def test_statements_at_a_high_cosine_that_differ_in_meaning_stay_two(new: str, old: str) -> None:
    assert not same(new, old, 1.0)
    assert not same(old, new, 1.0)


def test_equal_fingerprints_need_no_cosine_and_other_texts_do() -> None:
    assert same("Thanks!", "thanks...", cosine=0.0)
    assert not same("I prefer tea.", "I really prefer tea.", cosine=0.96)
    assert same("I prefer tea.", "I really prefer tea.", cosine=0.97)


@pytest.mark.parametrize(
    "difference",
    [
        {"type": MemoryType.OPINION},
        {"speaker": "Bob"},
        {"speaker": None},
        {"scope": "work"},
        {"tags": ("work",)},
        {"metadata": {"channel": "work"}},
        {"expires_at": SAID},
        {"occurred": (day(6),)},
    ],
    ids=lambda difference: next(iter(difference)),
)
def test_what_recall_filters_by_keeps_statements_apart(difference: dict[str, object]) -> None:
    assert not same_statement(memory("I ran.", **difference), memory("I ran."), 1.0)
    assert not same_statement(memory("I ran."), memory("I ran.", **difference), 1.0)


def test_a_statement_held_to_be_wrong_is_not_added_to() -> None:
    assert not same_statement(memory("I ran."), memory("I ran.", invalidated_at=SAID), 1.0)


def test_the_same_words_about_two_days_are_two_events() -> None:
    text = "I went running today."
    first, second = memory(text, occurred=(day(7),)), memory(text, occurred=(day(8),))
    assert not same_statement(second, first, 1.0)
    assert same_statement(replace(second, occurred=(day(7),)), first, 1.0)


def test_short_replies_without_a_time_fold_whenever_they_were_said() -> None:
    later = memory("Thanks!", mentioned_at=SAID.replace(year=2024), context="another talk")
    assert same_statement(later, memory("Thanks!"), 1.0)


def test_order_of_times_tags_and_names_does_not_count() -> None:
    new = memory("So.", occurred=(day(7), day(9)), tags=("a", "b"), entities=("Ann", "Bob"))
    old = memory("So.", occurred=(day(9), day(7)), tags=("b", "a"), entities=("bob", "ANN"))
    assert same_statement(new, old, 1.0)


def test_two_people_of_one_name_stay_two() -> None:
    new, old = memory("John called.", entities=("John Doe",)), memory("John called.")
    assert not same_statement(new, replace(old, entities=("John Smith",)), 1.0)
    assert same_statement(new, old, 1.0), "a name not known when it was first said is no conflict"


@given(st.text(), st.text(), st.floats(-1, 1))
def test_a_statement_equals_itself_and_sameness_goes_both_ways(
    new: str, old: str, cosine: float
) -> None:
    assert same(new, new, cosine)
    assert same(new, old, cosine) == same(old, new, cosine)
