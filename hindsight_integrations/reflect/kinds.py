"""Which kind of observation a handful of statements makes, by their words and their times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hindsight_integrations.model import ObservationKind

_CUES = (
    (
        ObservationKind.RISK,
        r"risk\w*|danger\w*|outage\w*|broke|broken|crash\w*|fail\w*|"
        r"(?:is|was) down(?! to)|ran out|allerg\w*|afraid|warning|careful|unsafe|leak\w*|"
        r"hacked|lost|threat\w*|overdue",
    ),
    (
        ObservationKind.CAUSAL,
        r"because|therefore|caus(?:e|es|ed|ing)|led to|leads to|due to|as a result|so that|"
        r"thanks to|which is why|that['’]s why|weil|deshalb|parce que|porque|por eso",
    ),
    (
        ObservationKind.PREFERENCE,
        r"prefer\w*|(?:i|we|they|really|also|always) like|likes|liked|lov(?:e|es|ed|ing)|"
        r"hat(?:e|es|ed)|enjoy\w*|favou?rite\w*|fave|rather not|can['’]t stand|dislik\w*|"
        r"do not \w+ in any other|never again|never going back|won['’]t go back|vegetarian|vegan|"
        r"i always|no \w+ (?:before|after|near)|fan of|mag|liebe|adore|aime|gusta|encanta",
    ),
    (
        ObservationKind.STRATEGY,
        r"plan(?:s|ned|ning)? (?:to|is|was)|strateg\w*|goal\w*|aim(?:s|ing)? to|in order to|"
        r"the best way to|approach\w*|we should|policy|intend\w*|looking into|priority",
    ),
)
_READ = tuple((kind, re.compile(rf"\b(?:{cue})\b", re.IGNORECASE)) for kind, cue in _CUES)
_AGAIN = re.compile(
    r"\b(?:always|every|again|usually|often|each|whenever|weekly|daily|never|as usual|both ways|"
    r"immer|jede\w*|toujours|chaque|siempre|cada)\b",
    re.IGNORECASE,
)
_DAYS_OF_A_PATTERN = 3


def kind_of(
    quotes: Sequence[str], times: Sequence[datetime], *, has_changed: bool = False
) -> ObservationKind:
    """The kind that at least half of the quotes speak for; else a pattern or a generalization.

    Looked for in this order: risk, causal, preference, strategy.

    Args:
        quotes: what the observation rests on.
        times: when each was said.
        has_changed: whether the later ones change what the earlier ones said: no pattern then.
    """
    for kind, cue in _READ:
        if 2 * sum(bool(cue.search(quote)) for quote in quotes) >= len(quotes):
            return kind
    if has_changed:
        return ObservationKind.GENERALIZATION
    days = {time.date() for time in times}
    again = sum(bool(_AGAIN.search(quote)) for quote in quotes)
    if len(days) >= _DAYS_OF_A_PATTERN or (len(days) > 1 and 2 * again >= len(quotes)):
        return ObservationKind.PATTERN
    return ObservationKind.GENERALIZATION
