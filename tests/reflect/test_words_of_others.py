"""Passages of a turn that are not its speaker's own words: tasks, quotes, pasted mails, parts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.reflect.attribution import own_parts

NOON = datetime(2025, 5, 14, 12, tzinfo=UTC)

OF_OTHERS = [
    "Translate to German: I live in Ghent.",
    'Here\'s the listing I found: "I live in Ghent. I have two horses."',
    'Here\'s the listing I found: "I have two horses. I live in Ghent."',
    "Tom: I live in Ghent.",
    "[10:31] Tom: I live in Ghent.\n[10:32] Lee: same here",
    "He wrote this:\n> I live in Ghent.\nKind of him.",
    "Summarise this email:\n\nHi all,\n\nI live in Ghent.\n\nBest, Tor",
    "Let's role-play. You are a waiter. I live in Ghent.",
    "My D&D character: a ranger from the north. I live in Ghent.",
    "Imagine I'm a diabetic and I take insulin. I live in Ghent.",
    "Please polish my character's monologue. I live in Ghent.",
    "Example sentence for my class: I live in Ghent.",
    "Two truths and a lie: I was born in Rome. I live in Ghent. I speak Dutch.",
    "How do you say in Italian: I live in Ghent.",
    "Fix the grammar of this sentence: I live in Ghent.",
    "I live in Ghent. Please translate this into Spanish.",
    "Tom wrote: I live in Ghent. I love it.",
    "He said 'I live in Ghent' and left.",
    "Message from Tom: I live in Ghent.",
    "On Mon, 5 May 2025 at 10:01, Tor wrote:\nI live in Ghent.",
    "```\nI live in Ghent.\n```",
]

OWN = [
    "To do: call Tom. I live in Ghent.",
    "Deadline: Friday. I live in Ghent.",
    "Update: I live in Ghent.",
    "Dentist: Dr. Fox. I live in Ghent.",
    "I translate books. I live in Ghent.",
    "I need to translate this letter. I live in Ghent.",
    "Polish shoes this week. I live in Ghent.",
    'My favourite film is "My Fair Lady". I live in Ghent.',
    'I bought a 27" monitor and a 6\'2" board. I live in Ghent.',
    "The dogs' food is out, so rock 'n' roll. I live in Ghent.",
    "Imagine my surprise! I live in Ghent.",
    "My main character flaw is impatience. I live in Ghent.",
    "Fix my email. I live in Ghent.",
    "Translate to German: I have a dog.\n\nI live in Ghent.",
    "Tom: I live in Rome.\nMe: I live in Ghent.",
]


def told(memory: Hindsight, text: str) -> tuple[str, str]:
    """Return the answer to where the speaker lives, and the speaker's profile."""
    bank = f"bank{abs(hash(text))}"
    memory.retain_messages(bank, [{"speaker": "lee", "text": text, "timestamp": NOON.isoformat()}])
    reflection = memory.reflect(bank, "Where do I live?", query_time=NOON)
    answer = reflection.text if reflection else ""  # the nearest memories are no answer
    return answer, memory.profile(bank, "lee", query_time=NOON).text


def test_the_words_of_others_are_no_statements_of_the_speaker(memory: Hindsight) -> None:
    for text in OF_OTHERS:
        answer, profile = told(memory, text)
        assert "Ghent" not in answer + profile, text


def test_the_words_beside_them_and_plain_notes_are(memory: Hindsight) -> None:
    for text in OWN:
        answer, profile = told(memory, text)
        assert "Ghent" in answer, text
        assert "Rome" not in answer + profile, text


def test_no_change_is_drawn_from_a_text_to_be_translated(memory: Hindsight) -> None:
    for text in ("I live in Bruges.", "Translate to French: I moved from Bruges to Ghent."):
        memory.retain_messages("b", [{"speaker": "lee", "text": text}])
    memory.consolidate("b")
    (observation,) = memory.observations.list("b").items
    assert observation.text.startswith("Lee: “I live in Bruges.”")
    assert "Ghent" not in observation.text


@pytest.mark.parametrize(
    "words",
    [
        '"I am. ',
        "I”. ",
        "Tom:\n",
        "Tom: I live in Ghent.\n",
        "> I\n",
        "Tom said: it. ",
        "imagine translate example my the ",
    ],
)
def test_long_texts_are_read_in_linear_time(words: str) -> None:
    text = words * (200_000 // len(words))  # pytest ends what takes the square of that
    assert all(start < end for start, end in own_parts(text, "lee"))
