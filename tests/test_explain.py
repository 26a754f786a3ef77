"""An explanation shows all that decided a recall, fits its width, and trusts no user's text."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.explain import (
    PLAIN,
    PLAIN_WIDTH,
    Explanation,
    deciding,
    why,
)
from hindsight_integrations.models import Arm, Memory, Precision, TimeSpan
from hindsight_integrations.recall.weights import Weights
from hindsight_integrations.results import ArmScore, Failure, Recalled, RecallResult, Signal, Window

SAID = datetime(2025, 5, 15, 17, 54, tzinfo=UTC)
SPRING = TimeSpan(datetime(2025, 3, 1), datetime(2025, 6, 1), Precision.SEASON)


def item(rank: int, text: str = "She runs Heron.", **changes: object) -> Recalled:
    memory = Memory(f"m-{rank}", "demo", text, speaker="Jonas", mentioned_at=SAID)
    made = Recalled(
        memory,
        rank=rank,
        relevance=0.71,
        total=7.3,
        fused=0.03,
        line=f"Jonas: {text}",
        tokens=17,
        arms=(
            ArmScore(Arm.SEMANTIC, 43, 0.18, "meaning: cosine 0.18"),
            ArmScore(Arm.ENTITY, 2, 0.33, "path: Alice → a memory → Heron → a memory"),
        ),
        signals=(
            Signal("shared name", 0.92, 2.76),
            Signal("asks", 1.0, -0.8),
            Signal("recency boost", 1.08, 0.077),
        ),
    )
    return replace(made, **changes)


def result(*items: Recalled, **changes: object) -> RecallResult:
    made = RecallResult(
        ("demo",),
        "Who is Alice's boss?",
        items,
        tokens=412,
        max_tokens=600,
        considered=231,
        windows=(Window("last spring", SPRING),),
        entities_named=("Alice", "Quillhaven"),
        timings={"arms": 0.012, "total": 0.041},
        query_time=SAID,
    )
    return replace(made, **changes)


def test_everything_that_decided_a_rank_is_shown() -> None:
    shown = str(Explanation(result(item(1))))
    for part in (
        "Who is Alice's boss?",
        "last spring = 1 Mar 2025 to 31 May 2025",
        "Alice, Quillhaven",
        "1 memory of 231 scored, 412 of 600 tokens",
        "0.71",
        "Jonas, 15 May 2025",
        "#43",
        "cosine 0.18",
        "#2",
        "Alice → a memory → Heron → this",
        "+2.76",
        "-0.80",
        "recency ×1.08",
        "41 ms",
        "arms 12",
    ):
        assert part in shown


def test_what_the_budget_cut_is_listed_with_its_ranks_in_the_arms() -> None:
    shown = str(Explanation(result(item(1), left_out=(item(2, "Too long for the budget."),))))
    head, _, cut = shown.partition("Left out, beyond 600 tokens")
    assert "Too long for the budget." not in head
    assert "S43 E2" in cut
    assert "Too long for the budget." in cut


def test_memories_beyond_the_detailed_ones_take_one_line_each() -> None:
    shown = str(Explanation(result(item(1), item(2, "A second one."), item(3)), detailed=1))
    _, _, rest = shown.partition("Also returned")
    assert [line.split()[0] for line in rest.splitlines()[1:3]] == ["2", "3"]
    assert "+2.76" not in rest


def test_a_failure_comes_first_and_names_the_part_and_the_error() -> None:
    failure = Failure("arm keyword", StoreUnavailableError("the index is gone"))
    first, *_ = str(Explanation(result(item(1), failures=(failure,)))).split("question")
    assert "FAILED" in first
    assert "arm keyword: StoreUnavailableError: the index is gone" in first
    assert "FAILED" not in str(Explanation(result(item(1))))


def test_nothing_found_is_said() -> None:
    assert "nothing, of 231 memories scored" in str(Explanation(result()))


def test_html_holds_user_text_escaped() -> None:
    html = Explanation(result(item(1, "<script>alert('&')</script>")))._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_markup_in_user_text_is_text() -> None:
    assert "[bold]loud[/bold] [/red]" in str(
        Explanation(result(item(1, "[bold]loud[/bold] [/red]")))
    )


@given(st.text(max_size=300), st.text(max_size=60))
def test_any_text_is_drawn_within_the_width(text: str, name: str) -> None:
    given_result = result(item(1, text), item(2, text), entities_named=(name,), query=text)
    for line in str(Explanation(given_result, detailed=1)).splitlines():
        assert cell_len(line) <= PLAIN_WIDTH


def test_the_signals_put_into_plain_words_are_signals_of_recall() -> None:
    weighted = {field.name.replace("_", " ") for field in fields(Weights)}
    assert PLAIN.keys() <= weighted | {"event", "fusion", "newer version"}


def test_why_names_the_arm_that_ranked_it_best_and_what_lifted_it_most() -> None:
    assert why(item(1)) == (
        "entity #2: Alice → a memory → Heron → this; shares a rare name with a best hit"
    )


def test_the_two_signals_that_raised_it_most_decided() -> None:
    lifts = {"meaning": 1.26, "shared name": 8.6, "terms": 0.9, "asks": -0.5}
    assert [*deciding(lifts, "Heron")] == [
        "shares the rare name Heron with a best hit: +8.6",
        "close in meaning: +1.3",
    ]
    assert [*deciding({"meaning": 0.4, "terms": 0.5}, None)] == [
        "has words of the question that are rare here: +0.5"
    ]
    assert [*deciding({"reranker mine": 3.0}, None)] == ["reranker mine: +3.0"]


def test_what_others_lack_is_no_reason() -> None:
    assert [*deciding({"states nothing": 4.7, "asks": 2.0, "information": 0.7}, None)] == []


def test_the_best_hits_are_not_explained_by_the_best_hits() -> None:
    lifts = {"residual": 2.0, "meaning": 1.0}
    meaning, residual = "close in meaning: +1.0", "covers what the best hits lack: +2.0"
    assert [*deciding(lifts, None, rank=1)] == [meaning]
    assert [*deciding(lifts, None, rank=4)] == [residual, meaning]


def test_reasons_name_what_decided_before_what_each_search_found() -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("team", "Alice works at Quillhaven.")
        memory.retain("team", "Ruth Castellane founded Quillhaven.")
        memory.retain("team", "The cat likes tuna.")
        found = memory.recall("team", "Who is Alice's boss?", fill=True)
    ruth = next(item for item in found if "Ruth" in item.text)
    assert ruth.reasons[0].startswith("shares the rare name Quillhaven with a best hit: +")
    assert ruth.reasons[-len(ruth.arms) :] == tuple(arm.reason for arm in ruth.arms)


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        (datetime(2025, 5, 7), datetime(2025, 5, 8), "7 May 2025"),
        (datetime(2025, 3, 1), datetime(2025, 6, 1), "1 Mar 2025 to 31 May 2025"),
        (datetime(2025, 5, 7, 13, 5), datetime(2025, 5, 7, 13, 6), "7 May 2025, 13:05 to 13:06"),
        (datetime.min, datetime(2025, 2, 3), "until 2 Feb 2025"),
        (datetime(2025, 2, 3), datetime.max, "since 3 Feb 2025"),
        (datetime.min, datetime.max, "any time"),
    ],
)
def test_a_span_reads_as_people_say_it(start: datetime, end: datetime, shown: str) -> None:
    assert str(TimeSpan(start, end)) == shown


def test_a_real_recall_explains_the_path_through_the_graph() -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("team", "Alice works at Quillhaven.")
        memory.retain("team", "Ruth Castellane founded Quillhaven.")
        memory.retain("team", "The cat likes tuna.")
        found = memory.recall("team", "Who is Alice's boss?", arms=["entity"])
    shown = str(found.explain())
    assert "Alice" in found.entities_named
    assert "Ruth Castellane founded Quillhaven." in shown
    assert "Alice → a memory → Quillhaven → this" in shown
