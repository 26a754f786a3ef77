"""The four languages, each with its lexicon and its signs of tense."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hindsight_integrations.language.time.words import (
    ENGLISH,
    ENGLISH_PAST,
    FIRST_VALUE,
    FRENCH,
    GERMAN,
    SPANISH,
    Kind,
    Table,
)

Code = Literal["en", "de", "es", "fr"]
Tense = Literal["past", "future"]


class Entry(NamedTuple):
    """A word or phrase of the lexicon, filed under its first word; `rest` are the others."""

    rest: tuple[str, ...]
    kind: Kind
    value: int


Lexicon = dict[str, list[Entry]]

_TELLING = frozenset(
    {Kind.MONTH, Kind.WEEKDAY, Kind.WEEKDAYS, Kind.SEASON, Kind.QUARTER, Kind.HOLIDAY}
    | {Kind.UNIT, Kind.UNITS, Kind.DAY_WORD, Kind.PART_OF_DAY, Kind.DAY_PART, Kind.DECADE}
)
"""A text without a digit holds a time only if it has one of these words."""

_LEADING = frozenset(
    {Kind.IN, Kind.FROM, Kind.OF, Kind.BETWEEN, Kind.SINCE, Kind.UNTIL, Kind.BORN, Kind.EDGE}
    | {
        Kind.BEFORE,
        Kind.AFTER,
        Kind.EARLIER,
        Kind.LATER,
        Kind.DURING,
        Kind.AROUND,
        Kind.ON,
        Kind.THE,
    }
)
"""Words that make a time of a number after them."""

EVENT_KINDS = frozenset(
    {Kind.BEFORE, Kind.AFTER, Kind.SINCE, Kind.UNTIL, Kind.DURING, Kind.AROUND_EVENT}
)
"""Words that relate something to an event."""

_COMMON = frozenset({"an", "am", "in"})
"""Words that are frequent in another language, too: they are no reason to read a text in this."""


@dataclass(frozen=True, slots=True)
class Language:
    """What the grammar needs to know of a language.

    `exact` holds the words that count in one spelling only, `folded` all others by their
    case-folded form. `telling`, `leading` and `relating` are the words that make it worth
    reading a text in this language; `own_words` are some that other languages lack, for the
    few expressions that mean something else there; `openers` may begin an event.
    """

    code: Code
    exact: Lexicon
    folded: Lexicon
    telling: frozenset[str]
    leading: frozenset[str]
    relating: frozenset[str]
    future: re.Pattern[str]
    past: re.Pattern[str]
    own_words: re.Pattern[str]
    openers: frozenset[str]

    def tense(self, sentence: str) -> Tense | None:
        """The tense of a sentence, where its words show one and not the other."""
        future, past = self.future.search(sentence), self.past.search(sentence)
        if bool(future) == bool(past):
            return None
        return "future" if future else "past"


def _entries(table: Table) -> Iterator[tuple[str, Entry]]:
    for kind, words in table.items():
        for value, group in enumerate(words.split("|"), FIRST_VALUE.get(kind, 0)):
            for word in filter(None, map(str.strip, group.split(","))):
                phrase, _, own_value = word.partition("=")
                first, *rest = phrase.split()
                yield first, Entry(tuple(rest), kind, int(own_value or value))


def _language(
    code: Code, table: Table, *, future: str, past: str, own_words: str = "", openers: str = ""
) -> Language:
    exact: Lexicon = {}
    folded: Lexicon = {}
    words: dict[Kind, set[str]] = {}
    for first, entry in _entries(table):
        spelling = first.removeprefix("!")
        lexicon, key = (exact, spelling) if spelling != first else (folded, first.casefold())
        lexicon.setdefault(key, []).append(entry)
        words.setdefault(entry.kind, set()).add(max((spelling, *entry.rest), key=len).casefold())

    def of(kinds: frozenset[Kind]) -> frozenset[str]:
        return frozenset().union(*(words.get(kind, ()) for kind in kinds))

    return Language(
        code=code,
        exact=exact,
        folded=folded,
        telling=of(_TELLING) - _COMMON,
        leading=of(_LEADING) - _COMMON,
        relating=of(EVENT_KINDS),
        future=re.compile(rf"\b(?:{future})\b"),
        past=re.compile(rf"\b(?:{past})\b"),
        own_words=re.compile(rf"\b(?:{own_words})\b", re.IGNORECASE),
        openers=frozenset(openers.split()),
    )


LANGUAGES = (
    _language(
        "en",
        ENGLISH,
        future=(
            r"will|^\W*Will|shall|won['’]t|gonna|(?:going|plan|plans|planning|planned) (?:to|for)"
            r"|[Ll]et['’]s|scheduled|upcoming|due|deadline|looking forward|[Ss]ee you|remind"
            r"|(?:am|is|are|['’](?:m|re|s)) (?:(?:\w+ )?\w+ing|on|at|in|from|this|off|back|away)"
            r"|\w+['’]ll|should|must|[Cc]an|[Cc]ould|may|might|[Ii]f"
            r"|(?:needs?|wants?|ha(?:ve|s)|hope) to"
            r"|(?:come|start|begin|open|arrive|return|leave|end|launche?)s?|fl(?:y|ies)"
        ),
        past=r"\w{2,}ed|" + "|".join(sorted(ENGLISH_PAST)),
    ),
    _language(
        "de",
        GERMAN,
        future=r"werden?|wirst|wird|werdet|[Ww]ill|wollen|möchten?|plan(?:e|t|en)",
        past=(
            r"hab(?:e|en|t)|hast|hat|hatten?|war(?:en|st)?|wurden?|ging(?:en)?|kam(?:en)?|bin"
            r"|\w+te"
        ),
        own_words=r"ich|und|der|die|das|ist|nicht|wir|mit|ein|eine|auf|war|hat|habe",
        openers=(
            "der die das den dem ein eine mein meine dein deine sein seine ihr ihre unser unsere"
            " ich du er sie es wir man"
        ),
    ),
    _language(
        "es",
        SPANISH,
        future=r"voy|vas|va|vamos|van|\w+(?:ré|rás|rá|remos|rán)|quiero|quiere|pienso|planea\w*",
        past=(
            r"\w+(?:é|ó|aste|iste|aron|ieron|aba|aban|ía|ían)|he|has|ha|hemos|han|fue"
            r"|fui|hice|hizo|estuv[eo]|tuv[eo]|dije|dijo|vi|vio"
        ),
        own_words=r"el|los|las|una|que|y|con|por|para|es|fue|mi|su|del|se",
        openers="el la los las un una que mi tu su nuestra nuestro",
    ),
    _language(
        "fr",
        FRENCH,
        future=r"vais|vas|va|allons|allez|vont|\w+(?:erai|era|eras|erons|erez|eront)|prévu\w*",
        past=r"ai|as|a|avons|avez|ont|suis|sommes|étai\w+|était|fut|\w+(?:ait|aient|èrent)",
        own_words=(
            r"je|j|tu|il|elle|nous|vous|ils|elles|le|les|une|est|ai|avons|avez|ont|dans|avec|pour"
            r"|que|qu|qui|sur|pas|c|était|suis"
        ),
        openers="le la les l un une que qu mon ma mes ton ta son sa notre leur je il elle nous",
    ),
)
"""In this order; where two read the same words, the first has them."""
