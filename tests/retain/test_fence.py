from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.retain.fence import FENCE_END, FENCE_START, fence, strip_fenced

pieces = st.sampled_from(
    [FENCE_START, FENCE_END, FENCE_START.upper(), "<hindsight-", "memory>", "a", " ", "\n", "</"]
)
marked = st.lists(pieces, max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{fence('Alice likes tea.')}\n\nWhat does Alice like?", "What does Alice like?"),
        (f"Hello {fence('old')} world", "Hello\nworld"),
        (f"before {FENCE_START} never closed", "before"),
        (f"a {FENCE_START} b {FENCE_START} c {FENCE_END} d {FENCE_END} e", "a\ne"),
        (f"a {FENCE_START.upper()} b </Hindsight-Memory> c", "a\nc"),
        (f"a {FENCE_END} b", "a\nb"),
        (f"{fence('one')} x {fence('two')}", "x"),
        (fence("all of it"), ""),
        ("", ""),
    ],
)
def test_only_what_stands_outside_fences_is_kept(text: str, kept: str) -> None:
    assert strip_fenced(text) == kept


@given(st.text())
def test_text_without_a_fence_is_untouched(text: str) -> None:
    assert strip_fenced(text) == text


@given(st.text() | marked)
def test_fenced_text_cannot_break_out(text: str) -> None:
    assert strip_fenced(fence(text)) == ""
    assert strip_fenced(f"before {fence(text)} after") == "before\nafter"


@given(marked)
def test_stripping_twice_is_stripping_once_and_leaves_no_marker(text: str) -> None:
    once = strip_fenced(text)
    assert strip_fenced(once) == once
    assert FENCE_START not in once.lower()


@given(st.text())
def test_fenced_text_stays_readable(text: str) -> None:
    assert text in fence(text) or FENCE_START in text.lower() or FENCE_END in text.lower()
