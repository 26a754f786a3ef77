"""Words that hint that something ended: broad, and no more than a hint."""

from __future__ import annotations

import pytest

from hindsight_integrations.nlp.sentences import parse
from hindsight_integrations.reflect.ending_hints import kind_nouns, may_have_ended


@pytest.mark.parametrize(
    "text",
    [
        "Dr Hale took me off warfarin.",
        "I got fired today.",
        "Rex died.",
        "The Skoda was written off.",
        "We broke up.",
        "The launch was cancelled.",
        "I resigned as CFO.",
        "I am not going after all.",
        "They laid Mia off.",
        "She handed the keys back.",
    ],
)
def test_what_may_be_an_end_is_found(text: str) -> None:
    assert may_have_ended(parse(text).words) is not None


@pytest.mark.parametrize(
    "text", ["I take the bus to work.", "Rex likes the garden.", "We met Ana off Quay Street."]
)
def test_other_sentences_hint_at_no_end(text: str) -> None:
    assert may_have_ended(parse(text).words) is None


def test_kinds_are_named_by_verb() -> None:
    assert "car" in kind_nouns("drive")
    assert not kind_nouns("sing")
