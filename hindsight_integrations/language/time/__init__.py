"""Times in text and questions: dates, seasons, "two weeks ago", "before Alice joined".

`lexer` cuts a text into tokens, `words` and `languages` say what a word means, and the grammar
(`leaves`, `phrases`, `relations`, in this order) makes times of them; `reading` puts it all to
work. `query` and `events` add what only questions have: windows with open ends, and events that
have to be remembered to know a time.
"""

from hindsight_integrations.language.time.events import EventAnchor, anchor_window
from hindsight_integrations.language.time.query import QueryTimes, TimeWindow, parse_query
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
