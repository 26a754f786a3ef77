"""Times in text and questions: dates, seasons, "two weeks ago", "before Alice joined".

`lexer` cuts a text into tokens, `words` and `languages` say what a word means, and the grammar
(`leaves`, `phrases`, `relations`, in this order) makes times of them. `query` adds what only
questions have: windows with open ends, and events that have to be remembered to know a time.
"""

from hindsight_integrations.language.time.query import (
    EventAnchor,
    QueryTimes,
    TimeWindow,
    anchor_window,
    parse_query,
)
from hindsight_integrations.language.time.reading import TimeExpression, find_times
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
]
