"""Opinions: formed when asked for, moved by what is said, turned round when contradicted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Disposition, MemoryType
from hindsight_integrations.settings import Settings

START = datetime(2025, 1, 6, 9, tzinfo=UTC)


def say(memory: Hindsight, *texts: str, bank: str = "b") -> list[str]:
    """Retain statements a day apart, after what the bank holds already."""
    first = memory.banks.stats(bank).memories if bank in _banks(memory) else 0
    return [
        memory.retain(bank, text, timestamp=START + timedelta(days=first + n)).ids[0]
        for n, text in enumerate(texts)
    ]


def _banks(memory: Hindsight) -> set[str]:
    return {bank.id for bank in memory.banks.list()}


def test_none_is_formed_unless_it_is_asked_for(memory: Hindsight) -> None:
    say(memory, "The new booking site is reliable.", "The booking site is fast and easy to use.")
    memory.consolidate("b")
    assert memory.opinions.list("b").items == []


def test_an_opinion_tells_how_it_is_spoken_of_and_by_what(memory: Hindsight) -> None:
    good, better = say(
        memory, "The booking site is reliable.", "The booking site is fast and easy."
    )
    (opinion,) = memory.opinions.form("b", "booking site")
    assert opinion.text == (
        "Booking site is well spoken of (2 for, 0 against): “The booking site is reliable.” "
        "(6 January 2025); “The booking site is fast and easy.” (7 January 2025)."
    )
    assert opinion.sources == (good, better)
    assert opinion.confidence == pytest.approx(0.5 + 0.3 * 0.5 + 0.3 * 0.35)
    assert memory.memories.get("b", opinion.id).type is MemoryType.OPINION
    assert memory.opinions.list("b").items == [opinion]


def test_support_strengthens_and_contradiction_weakens(memory: Hindsight) -> None:
    say(memory, "The booking site is reliable.")
    (first,) = memory.opinions.form("b", "booking site")
    say(memory, "The booking site is fast.")
    (second,) = memory.opinions.form("b", "booking site")
    say(memory, "The booking site crashed on Sunday.")
    (third,) = memory.opinions.form("b", "booking site")
    assert first.id == second.id == third.id
    assert first.confidence < second.confidence > third.confidence > 0.5
    assert [piece.supports for piece in third.evidence] == [True, True, False]
    assert "Against it: “The booking site crashed on Sunday.”" in third.text


def test_it_moves_in_the_background_whatever_else_is_near_the_new_evidence() -> None:
    with Hindsight.in_memory(settings=Settings(consolidation_delay=0)) as memory:
        memory.retain("b", "We love the ferry.", timestamp=START)
        (before,) = memory.opinions.form("b", "ferry")
        crowd = [f"The ferry to island {n} departs from pier {n}." for n in range(30)]
        memory.retain_many("b", crowd)
        assert memory.wait_idle(60)
        memory.retain("b", "The ferry is terribly slow and overcrowded.", timestamp=START)
        memory.retain("b", "We are fed up with the ferry.", timestamp=START + timedelta(days=2))
        assert memory.wait_idle(60)
        (after,) = memory.opinions.list("b").items
    assert after.id == before.id
    assert " is ill spoken of (1 for, 2 against)" in after.text
    assert after.history[-1].new == after.text
    assert before.text in [change.old for change in after.history]


def test_several_things_are_spoken_of_in_the_plural(memory: Hindsight) -> None:
    say(memory, "I love my running shoes.")
    (opinion,) = memory.opinions.form("b", "running shoes")
    assert opinion.text.startswith("Running shoes are well spoken of (1 for, 0 against)")


@pytest.mark.parametrize(
    "text",
    [
        "My knee hurts, the new boots are to blame.",
        "The new boots are better than the old ones.",
        "Are the new boots comfortable?",
        "If the new boots are comfortable, I will keep them.",
        "Ben says the new boots are great.",
        "Great, the new boots leak again.",
        "The new boots are lovely but uncomfortable.",
        'The box says "the new boots are wonderful".',
        "The laces of the new boots are terrible.",
        "My sister loves the new boots.",
        "The new boots used to be great.",
        "The new boots are great. Just kidding.",
        "The new boots are great. /s",
        "The new boots are great! 🙄",
        "The new boots are great. Said no one ever.",
    ],
)
def test_a_judgement_in_doubt_makes_no_opinion(memory: Hindsight, text: str) -> None:
    say(memory, text)
    assert memory.opinions.form("b", "new boots") == ()


@pytest.mark.parametrize(
    ("text", "topic", "judged"),
    [
        ("I hate cold coffee.", "coffee", False),
        ("I hate cold coffee.", "cold coffee", True),
        ("I hate coffee in the evening.", "coffee", False),
        ("The hotel in Nice was filthy.", "hotel", False),
        ("The hotel was filthy.", "hotel", True),
        ("The hotel is awful on Mondays.", "hotel", False),
        ("The hotel was awful on Monday.", "hotel", True),
        ("I love the app that Ben wrote.", "app", False),
        ("The new app is awful.", "app", True),
        ("This lovely hotel is great.", "hotel", True),
    ],
)
def test_one_of_a_kind_or_an_occasion_is_not_the_topic(
    memory: Hindsight, text: str, topic: str, judged: bool
) -> None:
    say(memory, text)
    assert bool(memory.opinions.form("b", topic)) is judged


def test_contradiction_turns_it_round_and_keeps_what_it_said(memory: Hindsight) -> None:
    say(memory, "The booking site is reliable.")
    (before,) = memory.opinions.form("b", "booking site")
    say(memory, "The booking site crashed again.", "The booking site is slow and useless.")
    (after,) = memory.opinions.form("b", "booking site")
    assert " is ill spoken of (1 for, 2 against)" in after.text
    assert after.confidence > 0.5
    assert [piece.supports for piece in after.evidence] == [False, True, True]
    assert after.history[-1].old == before.text
    assert after.reasoning.startswith("What was believed before is contradicted.")


def test_an_opinion_moves_with_what_is_reflected_on_later(memory: Hindsight) -> None:
    say(memory, "The booking site is reliable.")
    (before,) = memory.opinions.form("b", "booking site")
    say(memory, "The booking site is fast.", "The harbour office is slow.")
    assert [each.id for each in memory.consolidate("b").rewritten] == [before.id]
    (stronger,) = memory.opinions.list("b").items
    assert (stronger.id, stronger.proof_count) == (before.id, 2)
    assert stronger.confidence > before.confidence
    assert stronger.history[-1].old == before.text
    say(memory, "The booking site crashed again.", "The booking site is slow and useless.")
    memory.consolidate("b")
    (weaker,) = memory.opinions.list("b").items
    assert weaker.confidence < stronger.confidence
    assert memory.opinions.form("b", "booking site") == (weaker,)
    assert memory.consolidate("b").considered == 0


def test_what_is_no_judgement_or_of_another_scope_moves_no_opinion(memory: Hindsight) -> None:
    say(memory, "The booking site is reliable.")
    before = memory.opinions.form("b", "booking site")
    say(memory, "The booking site has nine pages.")
    memory.retain("b", "The booking site is slow and useless.", scope="x")
    assert memory.consolidate("b").rewritten == ()
    assert tuple(memory.opinions.list("b").items) == before


def test_an_opinion_forgets_what_its_documents_say_no_more(memory: Hindsight) -> None:
    texts = ["The booking site is reliable.", "The booking site is fast, easy and quokka-proof."]
    for n, text in enumerate(texts):
        memory.retain("b", text, document_id=str(n), timestamp=START + timedelta(days=n))
    (before,) = memory.opinions.form("b", "booking site")
    assert "quokka" in before.text
    memory.retain("b", "Nothing of note.", document_id="1", timestamp=START)
    memory.consolidate("b")
    (after,) = memory.opinions.list("b").items
    assert (after.id, after.proof_count) == (before.id, 1)
    assert "quokka" not in f"{after.text} {after.history}"
    memory.retain("b", "Nothing at all.", document_id="0", timestamp=START)
    memory.consolidate("b")
    assert memory.opinions.list("b").items == []


def test_a_sceptical_bank_is_harder_to_convince(memory: Hindsight) -> None:
    sure = []
    for skepticism in (1, 3, 5):
        bank = f"b{skepticism}"
        memory.banks.create(bank, disposition=Disposition(skepticism=skepticism))
        say(memory, "The booking site is reliable.", bank=bank)
        sure.append(memory.opinions.form(bank, "booking site")[0].confidence)
    assert sure == sorted(sure, reverse=True)
    assert len(set(sure)) == 3


def test_the_same_evidence_again_changes_nothing(memory: Hindsight) -> None:
    say(memory, "The booking site is reliable.")
    once = memory.opinions.form("b", "booking site")
    assert memory.opinions.form("b", "Booking site") == once


def test_nothing_that_judges_makes_no_opinion(memory: Hindsight) -> None:
    say(memory, "The booking site has nine pages.", "Inês is great.")
    assert memory.opinions.form("b", "booking site") == ()
    with pytest.raises(InvalidInputError):
        memory.opinions.form("b", "  ")


def test_forgetting_what_supports_it_rewrites_and_in_the_end_removes_it(memory: Hindsight) -> None:
    bad, good, better = say(
        memory,
        "The booking site is slow at noon.",
        "The booking site is reliable.",
        "The booking site is easy to use.",
    )
    (opinion,) = memory.opinions.form("b", "booking site")
    memory.forget("b", [bad, better])
    (left,) = memory.opinions.list("b").items
    assert (left.id, left.sources) == (opinion.id, (good,))
    assert "slow" not in left.text
    assert left.confidence == pytest.approx(0.65)
    memory.forget("b", good)
    assert memory.opinions.list("b").items == []


def test_statements_of_a_scope_make_no_opinion_outside_of_it(memory: Hindsight) -> None:
    memory.retain("b", "The booking site is reliable.", timestamp=START, scope="x")
    assert memory.opinions.form("b", "booking site") == ()
    (opinion,) = memory.opinions.form("b", "booking site", scope="x")
    assert memory.memories.get("b", opinion.id).scope == "x"


def test_what_was_dropped_since_is_no_longer_judged(memory: Hindsight) -> None:
    memory.retain(
        "b", "The Harvest app is easy to use.", timestamp=datetime(2025, 1, 28, tzinfo=UTC)
    )
    assert memory.opinions.form("b", "Harvest app")
    memory.retain(
        "c", "The Harvest app is easy to use.", timestamp=datetime(2025, 1, 28, tzinfo=UTC)
    )
    memory.retain("c", "I dropped the Harvest app.", timestamp=datetime(2025, 4, 22, tzinfo=UTC))
    assert memory.opinions.form("c", "Harvest app") == ()
