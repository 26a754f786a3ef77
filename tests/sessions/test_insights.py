"""Insights are read from what a model replies, and the best of them are kept."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import ModelError
from hindsight_integrations.nlp.llm import Reply
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.sessions import Evidence, Insight
from hindsight_integrations.sessions.insights import (
    Drawn,
    InsightDraft,
    InsightsReply,
    merge,
    read_insights,
    revise,
)

from .learning import BAD_REPLIES, NOW, PORTO, TRAINS, as_json

# What a reply says


@pytest.mark.parametrize(
    "reply",
    [
        as_json((TRAINS, 0.9), (PORTO, 0.4)),
        json.dumps([{"insight": TRAINS, "importance": 0.9}, {"text": PORTO, "importance": "0.4"}]),
        f"```json\n{as_json((TRAINS, 0.9), (PORTO, 0.4))}\n```",
        f"```\n{as_json((TRAINS, 0.9), (PORTO, 0.4))}\n```\nThat is all.",
        f"Here [as asked] you are:\n{as_json((TRAINS, 0.9), (PORTO, 0.4))}",
        f"<think>[1] {{Hm}}. What did she say?</think>\n{as_json((TRAINS, 0.9), (PORTO, 0.4))}",
        f"A set {{x}} of them:\n```json\n{as_json((TRAINS, 0.9), (PORTO, 0.4))}```",
    ],
    ids=["object", "list", "fenced", "fenced_prose", "prose", "thoughts", "braces_before_fence"],
)
def test_json_is_read_fenced_or_not(reply: str) -> None:
    assert read_insights(Reply(reply)) == [Drawn(TRAINS, 0.9), Drawn(PORTO, 0.4)]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (0.0, 0.0),
        (1, 1.0),
        (7, 1.0),
        (-1, 0.0),
        ("high", 0.5),
        (None, 0.5),
        ([], 0.5),
        (float("nan"), 0.5),
        (float("inf"), 1.0),
    ],
    ids=str,
)
def test_an_importance_in_json_is_brought_within_bounds(given: object, read: float) -> None:
    reply = json.dumps([{"insight": TRAINS, "importance": given}])
    assert read_insights(Reply(reply)) == [Drawn(TRAINS, read)]


def test_json_without_importance_or_of_mere_texts() -> None:
    assert read_insights(Reply(json.dumps([TRAINS, {"content": PORTO}, 3, {}, "  "]))) == [
        Drawn(TRAINS, 0.5),
        Drawn(PORTO, 0.5),
    ]
    assert read_insights(Reply(json.dumps({"insight": TRAINS}))) == [Drawn(TRAINS, 0.5)]


def test_what_a_model_filled_in_itself_is_taken() -> None:
    filled = InsightsReply(insights=[InsightDraft(insight=TRAINS, importance=0.9)])
    assert read_insights(Reply("", filled)) == [Drawn(TRAINS, 0.9)]
    assert read_insights(Reply("", filled.model_dump())) == [Drawn(TRAINS, 0.9)]


def test_other_text_is_read_line_by_line() -> None:
    reply = f"""
        Here is what I have learnt:
        - {TRAINS}
        2) {PORTO}
        [3] She has a cat.
        • It hurts.
        * She dives.
        2026 will be busy.
    """
    assert read_insights(Reply(reply)) == [
        Drawn(TRAINS, 0.5),
        Drawn(PORTO, 0.5),
        Drawn("She has a cat.", 0.5),
        Drawn("She dives.", 0.5),
        Drawn("2026 will be busy.", 0.5),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Greta lives in Ghent.",
        "Greta no longer works at Lidl.",
        "Greta smokes.",
        "Okoro keeps bees.",
    ],
)
def test_a_plain_line_about_a_rare_name_is_an_insight(line: str) -> None:
    assert read_insights(Reply(line)) == [Drawn(line, 0.5)]


PLEASANTRIES = [
    "Let me know if you need more!",
    "Feel free to ask if anything else comes up.",
    "Is there anything else I can help you with?",
    "You're welcome!",
    "I hope this helps.",
    "Happy to go deeper on any of these.",
    "As an AI language model, I cannot remember things.",
    "These insights should make the next conversation more personal.",
    "Thanks for sharing that with me.",
    "That sounds like a wonderful trip.",
    "If you have any other questions, just ask!",
    "What a lovely story!",
    "Best of luck.",
    "Have fun in Rome!",
    "Nothing of note was said.",
]


@pytest.mark.parametrize("pleasantry", PLEASANTRIES)
def test_a_pleasantry_is_no_insight_wherever_it_stands(pleasantry: str) -> None:
    with pytest.raises(ModelError):
        read_insights(Reply(pleasantry))
    assert read_insights(Reply(f"- {TRAINS}\n- {pleasantry}")) == [Drawn(TRAINS)]
    assert read_insights(Reply(f"{TRAINS} {pleasantry}")) == [Drawn(TRAINS)]
    reply = as_json((TRAINS, 0.9), (pleasantry, 0.9))
    assert read_insights(Reply(reply)) == [Drawn(TRAINS, 0.9)]
    assert read_insights(Reply(as_json((pleasantry, 0.9)))) == []


@pytest.mark.parametrize(
    "reply",
    [
        "There is nothing new to learn.",
        "I have not found any new insights.",
        "No new insights.",
        "None.",
    ],
)
def test_a_reply_may_say_that_there_is_nothing_to_learn(reply: str) -> None:
    assert read_insights(Reply(reply)) == []


def test_json_names_evidence_and_what_is_replaced() -> None:
    items = [{"insight": TRAINS, "importance": 0.9, "evidence": [2, "3", "x", -1], "replaces": 1}]
    assert read_insights(Reply(json.dumps(items))) == [Drawn(TRAINS, 0.9, (2, 3), (1,))]


@pytest.mark.parametrize("reply", ["[]", '{"insights": []}', "```json\n[]\n```"])
def test_an_empty_list_means_that_there_is_nothing_to_learn(reply: str) -> None:
    assert read_insights(Reply(reply)) == []


@pytest.mark.parametrize("name", BAD_REPLIES)
def test_a_reply_that_cannot_be_used_is_an_error(name: str) -> None:
    with pytest.raises(ModelError):
        read_insights(Reply(BAD_REPLIES[name]))


@given(st.text() | st.text(alphabet='[]{}":, \n`ab1.-'))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        drawn = read_insights(Reply(text))
    except ModelError:
        return
    for insight in drawn:
        assert insight.text.strip() == insight.text != ""
        assert 0 <= insight.importance <= 1


# Merging

insights = st.builds(
    Insight,
    id=st.uuids().map(str),
    text=st.sampled_from(["Tea.", "tea", " TEA! ", "Coffee.", "Milk.", "Water.", "Juice."]),
    importance=st.sampled_from([0.0, 0.2, 0.5, 0.5, 0.9, 1.0]),
    created_at=st.integers(0, 5).map(lambda day: NOW + timedelta(days=day)),
)


@given(st.lists(insights), st.lists(insights), st.integers(1, 6))
def test_merging_keeps_the_best_of_each_once(
    known: list[Insight], drawn: list[Insight], most: int
) -> None:
    merged = merge(known, drawn, most)
    keys = [text_fingerprint(each.text) for each in merged]
    highest: dict[str, float] = {}
    for each in (*known, *drawn):
        key = text_fingerprint(each.text)
        highest[key] = max(each.importance, highest.get(key, 0.0))
    assert len(set(keys)) == len(keys) == min(most, len(highest))
    assert [each.importance for each in merged] == [highest[key] for key in keys]
    assert [each.importance for each in merged] == sorted(highest.values(), reverse=True)[:most]
    assert merge(merged, drawn, most) == merged  # the same again changes nothing
    assert merge(merged, (), most) == merged


def test_of_equal_importance_the_latest_stay() -> None:
    old = [Insight(f"o{n}", f"Old {n}.", 0.5, NOW) for n in range(3)]
    new = [Insight(f"n{n}", f"New {n}.", 0.5, NOW + timedelta(days=1)) for n in range(2)]
    assert [each.id for each in merge(old, new, 3)] == ["n0", "n1", "o0"]


def test_what_is_drawn_again_stays_before_what_is_not() -> None:
    coffee, tea = (Insight(text, text, 0.5, NOW) for text in ("Coffee.", "Tea."))
    again = Insight("again", "Tea.", 0.5, NOW + timedelta(days=1))
    assert merge([coffee, tea], [again], 1) == (tea,)
    assert merge([tea], [again], 1) == (tea,)


def test_what_is_drawn_again_keeps_its_id_and_date_and_takes_the_higher_importance() -> None:
    old = Insight("old", "Alice likes tea.", 0.5, NOW)
    new = Insight("new", "alice likes tea", 0.8, NOW + timedelta(days=1))
    assert merge([old], [new], 5) == (Insight("old", "Alice likes tea.", 0.8, NOW),)
    assert merge([new], [old], 5) == (new,)


SAME = [
    ("Alice prefers trains to planes.", "Alice would rather travel by train than by plane."),
    ("Bob is allergic to nuts.", "Bob has a nut allergy."),
    ("The user's daughter is called Mia.", "The user has a daughter named Mia."),
    ("Leo resides in Graz.", "Leo lives in Graz."),
    ("Leo's home is in Graz.", "Leo lives in Graz."),
    ("Leo dislikes early meetings.", "Leo doesn't like early meetings."),
    ("Leo prefers tea to coffee.", "Leo likes tea more than coffee."),
    ("Leo works as a nurse.", "Leo is a nurse."),
    ("The client wants brief answers.", "The client wants short replies."),
]
OTHERWISE = [
    ("Alice likes tea.", "Alice likes coffee."),
    ("Alice likes tea.", "Alice does not like tea."),
    ("Alice likes tea more than coffee.", "Alice likes coffee more than tea."),
    ("Alice works as a nurse.", "Alice worked as a nurse."),
    ("Maria manages Tom.", "Tom manages Maria."),
    ("Maria likes Tom.", "Tom likes Maria."),
    ("Maria is liked by Tom.", "Maria likes Tom."),
    ("Bob is allergic to nuts.", "Bob's son is allergic to nuts."),
    ("The invoice is due on 3 May.", "The invoice is due on 13 May."),
    ("Alice prefers trains to planes.", "Alice prefers trains and planes."),
    ("Alice is quite busy.", "Alice quit."),
    ("Tom has two dogs.", "Tom had two dogs."),
    ("Ann has to work on Sunday.", "Ann works on Sunday."),
    ("Ann can't stop smoking.", "Ann smokes."),
    ("The user started learning Spanish.", "The user wants to learn Spanish."),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_says_the_same_in_other_words_is_one_insight(one: str, other: str) -> None:
    first = Insight("1", one, 0.5, NOW, (Evidence("e1", "user: One.", NOW),))
    later = NOW + timedelta(days=1)
    again = Insight("2", other, 0.8, later, (Evidence("e2", "user: Two.", later),))
    both = (*first.evidence, *again.evidence)
    assert merge([first], [again], 5) == (Insight("1", one, 0.8, NOW, both),)


@pytest.mark.parametrize(("one", "other"), OTHERWISE)
def test_what_says_something_else_stays_beside_it(one: str, other: str) -> None:
    assert len(merge([Insight("1", one, 0.5, NOW)], [Insight("2", other, 0.5, NOW)], 5)) == 2


SUPERSEDED = [
    ("Alice takes sugar in her coffee.", "Alice no longer takes sugar in her coffee."),
    ("Nina trusts the supplier.", "Nina does not trust the supplier."),
    ("Farah smokes.", "Farah quit smoking."),
    ("Alice lives in Lisbon.", "Alice has moved to Porto."),
    ("Farah works for Bosch.", "Farah now works for Zeiss."),
    ("Alice prefers trains to planes.", "Alice prefers planes to trains."),
    ("The deadline is 5 May.", "The deadline is now 9 May."),
    ("Eli's favourite colour is blue.", "Eli's favourite colour is now green."),
    ("Lena is 29 years old.", "Lena is now 30 years old."),
]
BESIDE = [
    ("Ann smokes.", "Ann can't stop smoking."),
    ("Farah's mother smokes.", "Farah quit smoking."),
    ("Owen drinks coffee.", "Owen no longer drinks beer."),
    ("Alice lives in Lisbon.", "Alice's brother has moved to Porto."),
    ("Bob works at Siemens.", "Bob now works at night."),
    ("Alice plays tennis.", "Alice now plays chess."),
    ("Pavel has two cats.", "Pavel has two dogs."),
]


@pytest.mark.parametrize(("old", "new"), SUPERSEDED)
def test_a_superseded_insight_leaves_when_the_newer_one_is_drawn(old: str, new: str) -> None:
    known = Insight("1", old, 0.9, NOW)
    drawn = Insight("2", new, 0.5, NOW + timedelta(days=1))
    assert revise([known], [(drawn, ())], 5) == (drawn,)
    assert len(revise([drawn], [(known, ())], 5)) == 2  # the older one denies nothing


@pytest.mark.parametrize(("old", "new"), BESIDE)
def test_what_is_not_denied_stays(old: str, new: str) -> None:
    known = Insight("1", old, 0.9, NOW)
    drawn = Insight("2", new, 0.5, NOW + timedelta(days=1))
    assert revise([known], [(drawn, ())], 5) == (known, drawn)


def test_what_the_model_says_is_replaced_leaves() -> None:
    known = [Insight("1", TRAINS, 0.9, NOW), Insight("2", PORTO, 0.8, NOW)]
    drawn = Insight("3", "Alice stays in Lisbon.", 0.7, NOW)
    assert revise(known, [(drawn, ["2"])], 5) == (known[0], drawn)
