from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations.models import TimeSpan
from hindsight_integrations.nlp.time import TimeWindow
from hindsight_integrations.recall.arms.temporal import date_match, windows_in_bank
from hindsight_integrations.stores.base import MemoryFilter
from tests.recall.building import EVERYTHING

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


# A time without its year


class Dated:
    """A store of one memory at each of some times, which remembers what it was asked."""

    def __init__(self, *times: datetime) -> None:
        self.times = times
        self.asked: list[int] = []

    def find_ids(self, bank: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        assert filter.window is not None
        self.asked.append(filter.window.start.year)
        ids = [str(time) for time in self.times if filter.window.contains(time)]
        return ids if len(ids) <= limit else None


def meant(
    store: Dated, *, yearly: bool = True, filter: MemoryFilter = EVERYTHING
) -> tuple[TimeSpan, list[int]]:
    """Return the span that "in May", asked in 2023, means in a bank, and the years looked at."""
    spans = windows_in_bank(store, "b", [TimeWindow(MAY, "in May", yearly=yearly)], filter)  # type: ignore[arg-type]
    return spans[MAY], store.asked


def may(year: int) -> datetime:
    return datetime(year, 5, 20, tzinfo=UTC)


def test_in_may_means_the_latest_may_that_the_bank_knows() -> None:
    assert meant(Dated(may(2019), may(2021), datetime(2022, 6, 1, tzinfo=UTC))) == (
        TimeSpan(datetime(2021, 5, 1, tzinfo=UTC), datetime(2021, 6, 1, tzinfo=UTC)),
        [2023, 2022, 2021],  # from this May on, and then each May before it once
    )
    # Where it has later memories, this May may be one of which nothing was said.
    assert meant(Dated(may(2021), datetime(2023, 9, 1, tzinfo=UTC))) == (MAY, [2023])


def test_in_may_means_one_of_the_last_ten_years() -> None:
    ten_years_ago = TimeSpan(datetime(2013, 5, 1, tzinfo=UTC), datetime(2013, 6, 1, tzinfo=UTC))
    assert meant(Dated(may(2013)))[0] == ten_years_ago
    assert meant(Dated(may(2012))) == (MAY, [*range(2023, 2012, -1)])


def test_a_year_in_the_question_or_a_time_of_the_filter_is_meant_as_it_is() -> None:
    assert meant(Dated(may(2021)), yearly=False) == (MAY, [])
    assert meant(Dated(may(2021)), filter=replace(EVERYTHING, window=YEAR)) == (MAY, [])
