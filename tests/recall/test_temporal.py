from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations.models import TimeSpan
from hindsight_integrations.recall.arms.temporal import date_match

pytestmark = pytest.mark.ranking

MAY = TimeSpan(datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC))
YEAR = TimeSpan(datetime(2023, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC))
SEVENTH = TimeSpan.of_day(datetime(2023, 5, 7, tzinfo=UTC))


def test_a_day_inside_the_window_fits_fully() -> None:
    assert date_match(MAY, [SEVENTH], None) == pytest.approx(1.0)


def test_a_broad_time_fits_by_the_share_that_lies_inside() -> None:
    assert date_match(MAY, [YEAR], None) == pytest.approx((31 / 365) ** 0.5)


def test_the_best_of_several_times_counts() -> None:
    assert date_match(MAY, [YEAR, SEVENTH], None) == pytest.approx(1.0)


def test_what_was_said_in_the_window_fits_fully() -> None:
    assert date_match(MAY, [], datetime(2023, 5, 31, 23, tzinfo=UTC)) == 1.0


def test_what_was_said_soon_after_fits_less_and_less() -> None:
    fits = [date_match(MAY, [], MAY.end + timedelta(days=days)) for days in (0, 5, 10, 15)]
    assert fits[0] == pytest.approx(0.5)
    assert fits == sorted(fits, reverse=True)
    assert fits[-1] == 0.0


@pytest.mark.parametrize(
    ("days", "late", "fit"),
    [
        # Half a window, but no less than 3 days and no more than 14: a half, falling to 0.
        (1, 1.5, 0.25),
        (1, 3.0, 0.0),
        (10, 0.0, 0.5),
        (10, 2.0, 0.5 * 3 / 5),
        (10, 5.0, 0.0),
        (300, 7.0, 0.25),
        (300, 14.0, 0.0),
    ],
)
def test_soon_after_is_half_a_window_of_three_days_to_fourteen(
    days: int, late: float, fit: float
) -> None:
    window = TimeSpan(MAY.start, MAY.start + timedelta(days=days))
    assert date_match(window, [], window.end + timedelta(days=late)) == pytest.approx(fit)


def test_what_was_said_before_does_not_fit() -> None:
    assert date_match(MAY, [], MAY.start - timedelta(seconds=1)) == 0.0
