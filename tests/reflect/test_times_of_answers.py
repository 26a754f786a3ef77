"""An answer to "when" gives the time that the memory has stored."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_integrations import Hindsight


@pytest.mark.parametrize(
    ("text", "said", "question", "day"),
    [
        (
            "Mira's wedding was on Saturday.",
            "2024-09-16",
            "When was Mira's wedding?",
            "14 Sep 2024",
        ),
        ("The CE test is booked for 24 June.", "2024-06-05", "When is the CE test?", "24 Jun 2024"),
    ],
)
def test_an_answer_and_its_memory_agree(text: str, said: str, question: str, day: str) -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("b", text, timestamp=datetime.fromisoformat(said).replace(tzinfo=UTC))
        (stored,) = memory.memories.list("b").items
        asked = datetime(2025, 3, 1, tzinfo=UTC)
        answer = memory.reflect("b", question, query_time=asked).text
    assert [str(span) for span in stored.occurred] == [day]
    assert answer.startswith(f"- {day}: ")
