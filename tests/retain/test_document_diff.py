from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.models import Chunk
from hindsight_integrations.retain.document_diff import (
    STEP,
    ChunkPlan,
    plan_addition,
    plan_replacement,
    plan_window,
)


def stored(fingerprints: str) -> list[Chunk]:
    return [Chunk(f"c{i}", "d", i * STEP, f, f) for i, f in enumerate(fingerprints, start=1)]


def applied(chunks: list[Chunk], pieces: list[str], plan: ChunkPlan) -> list[Chunk]:
    gone = {chunk.id for chunk in plan.removed}
    new = [Chunk(uuid.uuid4().hex, "d", place, pieces[n], pieces[n]) for n, place in plan.added]
    return sorted([c for c in chunks if c.id not in gone] + new, key=lambda c: c.position)


def test_the_same_again_changes_nothing() -> None:
    assert plan_replacement(stored("abc"), list("abc")) == ChunkPlan((), 3, ())


def test_only_the_changed_chunk_is_replaced() -> None:
    plan = plan_replacement(stored("abc"), list("aXc"))
    assert [n for n, _ in plan.added] == [1]
    assert [chunk.fingerprint for chunk in plan.removed] == ["b"]


def test_an_insertion_moves_nothing() -> None:
    plan = plan_replacement(stored("ab"), list("aXb"))
    assert plan.added == ((1, STEP + STEP // 2),)
    assert plan.removed == ()


def test_addition_takes_only_what_is_not_there() -> None:
    plan = plan_addition(stored("ab"), list("bcd"))
    assert plan == ChunkPlan(((1, 3 * STEP), (2, 4 * STEP)), 1, ())


@pytest.mark.parametrize(
    ("before", "window", "repeated"),
    [
        ("", "ab", 0),
        ("abcde", "cdefg", 3),
        ("abcde", "defg", 0),  # two may be said twice in a row
        ("ab", "abc", 2),  # all of it, and more
        ("ab", "ab", 0),
        ("a", "ab", 0),
        ("abc", "abc", 3),
        ("abcd", "abc", 0),  # said once more: it repeats what is not the last
        ("ababab", "ababab", 6),  # the longest
        ("abcabc", "abcd", 3),
    ],
)
def test_a_window_repeats_the_last_that_is_stored(before: str, window: str, repeated: int) -> None:
    plan = plan_window(stored(before), list(window))
    assert (plan.kept_count, plan.removed) == (repeated, ())
    assert [index for index, _ in plan.added] == list(range(repeated, len(window)))
    last = stored(before)[-1].position if before else 0
    assert all(position > last for _, position in plan.added)
    assert len({position for _, position in plan.added}) == len(plan.added)


@given(st.lists(st.text("abcde", max_size=8), min_size=1, max_size=25))
def test_after_any_edits_the_document_reads_as_the_last_version(versions: list[str]) -> None:
    chunks: list[Chunk] = []
    for version in versions:
        chunks = applied(chunks, list(version), plan_replacement(chunks, list(version)))
        assert "".join(chunk.text for chunk in chunks) == version
        positions = [chunk.position for chunk in chunks]
        assert positions == sorted(set(positions))
        assert all(position > 0 for position in positions)


def test_where_no_room_is_left_what_follows_is_read_anew() -> None:
    crowded = [Chunk("c1", "d", 1, "a", "a"), Chunk("c2", "d", 2, "b", "b")]
    plan = plan_replacement(crowded, list("aXb"))
    assert "".join(c.text for c in applied(crowded, list("aXb"), plan)) == "aXb"
