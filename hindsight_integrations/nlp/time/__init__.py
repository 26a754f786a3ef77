"""Times in texts and questions: dates, seasons, "two weeks ago", "before Alice joined"."""

from hindsight_integrations.nlp.time.expressions import TimeExpression
from hindsight_integrations.nlp.time.query import (
    QueryTimes,
    TimeWindow,
    find_times,
    parse_query,
    without_days_of_another_month,
)
from hindsight_integrations.nlp.time.relations import EventAnchor, anchor_window
from hindsight_integrations.timespan import Precision, TimeSpan

__all__ = [
    "EventAnchor",
    "Precision",
    "QueryTimes",
    "TimeExpression",
    "TimeSpan",
    "TimeWindow",
    "anchor_window",
    "find_times",
    "parse_query",
    "without_days_of_another_month",
]
