"""How long a store that is away is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import InvalidInputError
from hindsight_integrations.replay import Backoff


@given(
    first=st.floats(1e-6, 1e3),
    factor=st.floats(1, 1e6),
    failures=st.integers(1, 100_000),
    chance=st.floats(0, 1),
)
def test_a_wait_is_never_longer_than_its_ceiling_and_ceilings_never_fall(
    first: float, factor: float, failures: int, chance: float
) -> None:
    backoff = Backoff(first, first * factor)
    assert 0 <= backoff.wait(failures, chance) <= backoff.ceiling(failures) <= backoff.longest
    assert first <= backoff.ceiling(failures) <= backoff.ceiling(failures + 1)
    assert backoff.wait(failures, 1.0) == backoff.ceiling(failures)


def test_ceilings_double_up_to_a_minute() -> None:
    assert [Backoff().ceiling(n) for n in range(1, 10)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize("pair", [(0, 1), (-1, 1), (2, 1), (1, float("inf")), (float("nan"), 1)])
def test_a_backoff_without_sense_is_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError, match="above 0"):
        Backoff(*pair)
