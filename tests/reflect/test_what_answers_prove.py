"""Answers without a language model: none that the sentence quoted does not prove."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message, Settings

SAID = datetime(2025, 5, 14, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory() -> Hindsight:
    return Hindsight.in_memory(settings=Settings(consolidate=False))


def answer(memory: Hindsight, told: str | list[str], question: str, speaker: str = "") -> str:
    """Return the answer to a question from what was told, a day apart; empty if there is none."""
    texts = [told] if isinstance(told, str) else told
    bank = f"b{abs(hash((tuple(texts), question)))}"
    for day, text in enumerate(texts):
        at = SAID + timedelta(days=day)
        if speaker:
            memory.retain_messages(bank, [Message(speaker, text, timestamp=at)])
        else:
            memory.retain(bank, text, timestamp=at)
    found = memory.reflect(bank, question, query_time=SAID + timedelta(days=len(texts)))
    return found.text if found else ""


@pytest.mark.parametrize(
    ("told", "question", "known"),
    [
        ("Mr Hall takes warfarin.", "Does Mrs Hall take warfarin?", False),
        ("Mr Hall takes warfarin.", "Does Mr. Hall take warfarin?", True),
        ("Mr Hall takes warfarin.", "Does Dr Hall take warfarin?", True),
        ("Mr Hall takes warfarin.", "Does Hall take warfarin?", True),
        ("Mrs Hall lives in Bonn.", "Where does Mr Hall live?", False),
        ("Aunt Rosa lives in Vigo.", "Where does Uncle Rosa live?", False),
        ("Aunt Rosa lives in Vigo.", "Where does Rosa live?", True),
        ("Mr Hall retired in 2020. He lives in Bonn.", "Where does Mrs Hall live?", False),
        ("Mr and Mrs Hall moved in 2019.", "When did Mr Hall move?", True),
        ("Captain Hall owns two horses.", "How many horses does Judge Hall own?", False),
        ("Karl Hall lives in Bonn.", "Where does Mrs Hall live?", False),
        ("Karla Hall lives in Bonn.", "Where does Mrs Hall live?", True),
    ],
)
def test_titles_tell_people_apart(memory: Hindsight, told: str, question: str, known: bool) -> None:
    assert bool(answer(memory, told, question)) is known


def test_a_speaker_with_another_title_is_another_person(memory: Hindsight) -> None:
    assert not answer(memory, "I live in Bonn.", "Where does Mrs Hall live?", "Mr Hall")
    assert answer(memory, "I live in Bonn.", "Where does Mr Hall live?", "Mr Hall")
