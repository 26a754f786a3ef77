"""Which bank a part takes: what looks like a placeholder is refused, since none is filled."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.llamaindex import (
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightProfileBlock,
    HindsightQueryEngine,
    HindsightRetriever,
    HindsightToolSpec,
    HindsightTransform,
    HindsightVectorStore,
)

MAKERS: list[Callable[[Hindsight, Any], object]] = [
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightProfileBlock,
    HindsightQueryEngine,
    HindsightRetriever,
    lambda memory, bank: HindsightRetriever(memory, ["team", bank]),
    HindsightToolSpec,
    HindsightTransform,
    HindsightVectorStore,
]


@pytest.mark.parametrize("bank_id", ["{user_id}", "user-{user_id", "}", "{}"])
@pytest.mark.parametrize("make", MAKERS)
def test_braces_in_the_name_of_a_bank_are_refused_when_a_part_is_made(
    make: Callable[[Hindsight, Any], object], bank_id: str, engine: Hindsight
) -> None:
    with pytest.raises(InvalidInputError, match="all users would share one bank") as refused:
        make(engine, bank_id)
    assert repr(bank_id) in str(refused.value)


@pytest.mark.parametrize("make", [HindsightMemory, HindsightMemoryBlock, HindsightTransform])
def test_a_part_of_one_user_says_that_it_takes_no_function(
    make: Callable[[Hindsight, Any], object], engine: Hindsight
) -> None:
    user: ContextVar[str] = ContextVar("user")
    with pytest.raises(InvalidInputError, match="make one for each user"):
        make(engine, user.get)


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_no_bank_is_refused_when_a_part_is_made(
    make: Callable[[Hindsight, Any], object], engine: Hindsight
) -> None:
    for bank_id in (" ", 3):
        with pytest.raises(InvalidInputError, match="bank_id"):
            make(engine, bank_id)
    with pytest.raises(InvalidInputError, match="give 'ann' for a new bank"):
        make(engine, " ann ")


def test_a_text_that_a_function_forgot_to_fill_is_refused(engine: Hindsight) -> None:
    user: ContextVar[str] = ContextVar("user", default="{user_id}")
    with pytest.raises(InvalidInputError, match="return an id without braces"):
        HindsightRetriever(engine, user.get).retrieve("Who?")
