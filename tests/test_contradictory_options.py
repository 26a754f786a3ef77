"""Options that contradict each other or are out of range are refused, not resolved silently."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations import Hindsight, InvalidInputError, Settings


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as opened:
        opened.retain("b", "Anna met Otto.", document_id="d")
        yield opened


@pytest.mark.parametrize("state", ["valid", "invalidated", "expired", "any"])
def test_state_and_include_invalid_are_not_given_together(memory: Hindsight, state: str) -> None:
    with pytest.raises(InvalidInputError, match="either state or include_invalid"):
        memory.memories.list("b", state=state, include_invalid=True)  # type: ignore[arg-type]
    assert memory.memories.list("b", state="any", include_invalid=False).total == 1


def test_limit_of_a_timeline_is_not_exceeded(memory: Hindsight) -> None:
    assert memory.timeline("b", limit=5000).events
    with pytest.raises(InvalidInputError, match="limit is 5001; give at most 5000"):
        memory.timeline("b", limit=5001)


@pytest.mark.parametrize("cursor", ["zzz", "m1", "e1:x", "", "d"])
def test_cursor_of_another_list_is_refused(memory: Hindsight, cursor: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a cursor of this list"):
        memory.documents.list("b", cursor=cursor)
