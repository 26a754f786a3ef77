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


@pytest.mark.parametrize(
    ("told", "question", "day"),
    [
        ("Six weeks today since Al died.", "When did Al die?", "2 Apr 2025"),
        ("On Friday it will be a year since Al died.", "When did Al die?", ""),
        ("On 3 May, after the storm, we left.", "When did we leave?", "3 May 2025"),
        ("The person I met in 2010 died in 2020.", "When did the person die?", "2020"),
        ("Ida flew to Oslo on 4 June and home on 15 June.", "When did Ida fly home?", ""),
        ("Mia didn't go to Rome in 2010, she went in 2012.", "When did Mia go to Rome?", "2012"),
        ("Mia bought the flat in 2010 and sold it in 2020.", "When did Mia sell the flat?", "2020"),
        ("Mia bought the flat in 2010 and sold it in 2020.", "When did Mia buy the flat?", "2010"),
        (
            "The wedding is on 3 May 2026 and the party is on 10 May 2026.",
            "When is the party?",
            "10 May 2026",
        ),
        ("The visa Kim got in 2015 expires in 2027.", "When does the visa expire?", "2027"),
        ("Kim met Ida before the war ended in 1945.", "When did Kim meet Ida?", ""),
        ("Kim met Ida before the war ended in 1945.", "When did the war end?", "1945"),
        ("The wedding was going to be on 3 May but they eloped.", "When is the wedding?", ""),
        ("Kim bought a ticket for 3 June.", "When did Kim buy the ticket?", ""),
        ("Kim read the report of 2019.", "When did Kim read the report?", ""),
        ("Kim signed it two days after the party on 3 May.", "When did Kim sign it?", ""),
        ("Ana said on 3 May 2025 that she sold the car.", "When did Ana sell the car?", ""),
        ("Ben managed to fix the tap on 3 May 2025.", "When did Ben fix the tap?", "3 May 2025"),
        ("On 3 May 2024 Kai signed the contract.", "When did Kai sign the contract?", "3 May 2024"),
        ("Wedding: 3 May 2026.", "When is the wedding?", "3 May 2026"),
        ("The person I met in 2010 died in 2020.", "What happened in 2020?", "2020"),
    ],
)
def test_a_date_is_given_only_of_what_was_asked(told: str, question: str, day: str) -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("b", told, timestamp=datetime(2025, 5, 14, tzinfo=UTC))
        asked = datetime(2025, 5, 15, tzinfo=UTC)
        answer = memory.reflect("b", question, query_time=asked).text
    assert answer.startswith(f"- {day}: “{told}" if day else f"- “{told}")


def test_what_happened_in_a_year_is_not_what_another_clause_dates() -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("b", "The person I met in 2010 died in 2020.")
        assert not memory.reflect("b", "What happened in 2010?")
