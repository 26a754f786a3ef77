"""Insights are read from what a model replies, and the best of them are kept."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import ModelError
from hindsight_integrations.conversation import Insight
from hindsight_integrations.conversation.insights import (
    Drawn,
    InsightDraft,
    InsightsReply,
    merge,
    read_insights,
)
from hindsight_integrations.language.llm import Reply
from hindsight_integrations.naming import text_fingerprint

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
        • Nine char
        * Ten chars.
        2026 will be busy.
    """
    assert read_insights(Reply(reply)) == [
        Drawn(TRAINS, 0.5),
        Drawn(PORTO, 0.5),
        Drawn("She has a cat.", 0.5),
        Drawn("Ten chars.", 0.5),
        Drawn("2026 will be busy.", 0.5),
    ]


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


def test_what_is_drawn_again_keeps_its_id_and_date_and_takes_the_higher_importance() -> None:
    old = Insight("old", "Alice likes tea.", 0.5, NOW)
    new = Insight("new", "alice likes tea", 0.8, NOW + timedelta(days=1))
    assert merge([old], [new], 5) == (Insight("old", "Alice likes tea.", 0.8, NOW),)
    assert merge([new], [old], 5) == (new,)
