"""Text to tokens: numbers and punctuation by their shape, words by a language's lexicon.

The words are in `nlp/data/times.toml`, whose head explains the notation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Literal, NamedTuple

from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.time.calendar import When

Code = Literal["en", "de", "es", "fr"]
Tense = Literal["past", "future"]

WORDS = word_sets("times")
"""Word lists that hold for all languages; `times.toml` explains each."""


class TokenKind(StrEnum):
    """Kinds of tokens; the value is the character that stands for one in a pattern."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return chr(0x3400 + count)  # letters with no meaning in a regular expression

    UNKNOWN = auto()
    # recognised by their shape
    NUMBER = auto()
    YEAR = auto()  # four digits that can be one
    ORDINAL = auto()  # 7th
    DATE = auto()  # 2023-05-07, 5/7/2023
    DAY_MONTH = auto()  # 28/4, as 2804
    CLOCK = auto()  # 15:30
    OCLOCK = auto()  # 3 pm
    DECADE = auto()  # 1990s, 90s
    COMMA = auto()
    DOT = auto()
    DASH = auto()
    OPEN = auto()
    CLOSE = auto()
    STOP = auto()
    # periods
    MONTH = auto()
    MAYBE_MONTH = auto()  # lower-case "may" and "march"
    WEEKDAY = auto()
    MAYBE_WEEKDAY = auto()  # lower-case "sat", "sun": only beside a date
    WEEKDAYS = auto()
    SEASON = auto()
    QUARTER = auto()
    HOLIDAY = auto()  # see `calendar.holiday`
    UNIT = auto()
    UNITS = auto()
    FORTNIGHT = auto()
    DAY_WORD = auto()  # days from today
    DAY_PART = auto()
    PART_OF_DAY = auto()  # "tonight": ten times the days from today, plus the part
    # numbers in words
    COUNT = auto()
    FEW = auto()
    ONE = auto()  # the indefinite article
    RANK = auto()
    # which one
    WHICH = auto()  # last, this, next
    ROLLING = auto()  # the past ...
    AGO = auto()
    AGO_BEFORE = auto()  # "hace" stands before its number
    HENCE = auto()
    HENCE_BEFORE = auto()
    EDGE = auto()  # early, mid, late
    ERA = auto()
    OWN = auto()  # my, your: "my last year" is not last year
    # prepositions
    IN = auto()
    ON = auto()
    AT = auto()
    OVER = auto()
    FOR = auto()
    OF = auto()
    THE = auto()
    FROM = auto()
    TO = auto()
    BETWEEN = auto()
    AND = auto()
    SINCE = auto()
    UNTIL = auto()
    BY = auto()
    BEFORE = auto()
    AFTER = auto()
    EARLIER = auto()  # "vor", "nach": of place, too, so they need a time and never an event
    LATER = auto()
    STEP = auto()  # behind a distance, "later" and "earlier": see `sequence`
    FOLLOWING = auto()
    DURING = auto()
    AROUND = auto()
    AROUND_EVENT = auto()
    BORN = auto()
    NOW = auto()
    # made by the grammar
    TIME = auto()


_FIRST_VALUE = {TokenKind.MONTH: 1, TokenKind.QUARTER: 1, TokenKind.COUNT: 1, TokenKind.RANK: 1}


def kind_set(names: str) -> frozenset[TokenKind]:
    """Return the kinds of these names."""
    return frozenset(TokenKind[name] for name in names.split())


_UNITS = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_LAST_SPELLED = 40
"""A year that is spelled "twenty ..." is before 2040; "twenty forty" are two numbers."""

_TIME_NAMES = kind_set(
    "MONTH WEEKDAY WEEKDAYS SEASON QUARTER HOLIDAY UNIT UNITS FORTNIGHT DAY_WORD PART_OF_DAY "
    "DAY_PART DECADE"
)
"""A text without a digit holds a time only if it has one of these words."""

_LEADING = kind_set(
    "IN FROM OF BETWEEN SINCE UNTIL BORN EDGE BEFORE AFTER EARLIER LATER DURING AROUND ON THE"
)
"""Words that make a time of a number after them."""

_RELATING = kind_set("BEFORE AFTER SINCE UNTIL DURING AROUND_EVENT")
"""Words that relate something to an event."""


class Entry(NamedTuple):
    """A word or phrase of the lexicon, filed under its first word; `rest` are the others."""

    rest: tuple[str, ...]
    kind: TokenKind
    value: int


Lexicon = dict[str, list[Entry]]


@dataclass(frozen=True, slots=True)
class Language:
    """Lexicon of a language, with its signs of tense.

    Attributes:
        code: ISO 639-1 code.
        exact: words that count in one spelling only.
        folded: all other words, by their case-folded form.
        time_names: words that make a text without digits worth reading in this language.
        leading: words that make a text with digits worth reading in it.
        relating: words that make a question worth reading in it for its events.
        future: matches signs of the future tense.
        past: matches signs of the past tense.
        own_words: matches words that the other languages lack.
        openers: words that may begin an event.
    """

    code: Code
    exact: Lexicon
    folded: Lexicon
    time_names: frozenset[str]
    leading: frozenset[str]
    relating: frozenset[str]
    future: re.Pattern[str]
    past: re.Pattern[str]
    own_words: re.Pattern[str]
    openers: frozenset[str]

    def tense(self, sentence: str) -> Tense | None:
        """Return the tense of a sentence whose words show one and not the other."""
        future, past = self.future.search(sentence), self.past.search(sentence)
        if bool(future) == bool(past):
            return None
        return "future" if future else "past"


def _entries(words_of: Mapping[str, str]) -> Iterator[tuple[str, Entry]]:
    """Yield each entry of a language's word table with its first word."""
    for name, words in words_of.items():
        kind = TokenKind[name]
        for value, group in enumerate(words.split("|"), _FIRST_VALUE.get(kind, 0)):
            for word in filter(None, map(str.strip, group.split(","))):
                phrase, _, own_value = word.partition("=")
                first, *rest = phrase.split()
                yield first, Entry(tuple(rest), kind, int(own_value or value))


def _spelled_numbers() -> Iterator[tuple[str, Entry]]:
    """Yield the English numbers of two words, each with its first, and the years they make.

    "Twenty-five" would else be a five, and "November nineteen sixty-one" that of any year.
    """
    numbers = dict(zip(_TENS, range(20, 100, 10), strict=True))
    compounds: dict[tuple[str, ...], int] = {}
    for ten, value in numbers.items():
        for unit, word in enumerate(_UNITS, 1):
            compounds[(ten, "-", word)] = compounds[(ten, word)] = value + unit
    for (first, *rest), value in compounds.items():
        yield first, Entry(tuple(rest), TokenKind.COUNT, value)
    teens = {word: value for value, word in enumerate(_TEENS, 10)}
    for phrase, value in [*compounds.items(), *(((w,), n) for w, n in (numbers | teens).items())]:
        yield "nineteen", Entry(phrase, TokenKind.YEAR, 1900 + value)
        if value < _LAST_SPELLED:
            yield "twenty", Entry(phrase, TokenKind.YEAR, 2000 + value)


def _language(code: Code) -> Language:
    """Return the language that `times.toml` describes under this code."""
    described = table("times")[code]
    exact: Lexicon = {}
    folded: Lexicon = {}
    words: dict[TokenKind, set[str]] = {}
    spelled_out = _spelled_numbers() if code == "en" else ()
    for first, entry in (*_entries(described["words"]), *spelled_out):
        spelling = first.removeprefix("!")
        lexicon, key = (exact, spelling) if spelling != first else (folded, first.casefold())
        lexicon.setdefault(key, []).append(entry)
        words.setdefault(entry.kind, set()).add(max((spelling, *entry.rest), key=len).casefold())

    def of(kinds: Iterable[TokenKind]) -> frozenset[str]:
        return frozenset().union(*(words.get(kind, ()) for kind in kinds))

    def any_word(alternatives: Iterable[str], flags: int = 0) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", flags)

    return Language(
        code=code,
        exact=exact,
        folded=folded,
        time_names=of(_TIME_NAMES) - WORDS["common"],
        leading=of(_LEADING) - WORDS["common"],
        relating=of(_RELATING),
        future=any_word(described["future"]),
        past=any_word(described["past"]),
        own_words=any_word(described.get("own_words", "").split(), re.IGNORECASE),
        openers=frozenset(described.get("openers", "").split()),
    )


LANGUAGES = (_language("en"), _language("de"), _language("es"), _language("fr"))
"""In this order; where two read the same words, the first has them."""

_SHAPES = re.compile(
    r"""
    (?P<WORD> [^\W\d_] (?:\w|[̀-ͯ])*+ (?: ://\S++ | (?:\.[a-z]\w*+)++ )? )
  | (?P<DATE> [0-9]{4}-[0-9]{2}-[0-9]{2}
              (?: [T\ ][0-9]{2}:[0-9]{2} (?: :[0-9]{2} (?:\.[0-9]{1,6})? )?
                  (?: Z | [+-][0-9]{2}:?[0-9]{2} )? )?
            | [0-9]{4}/[0-9]{1,2}/[0-9]{1,2}
            | [0-9]{1,2}(?P<mark>[./-])[0-9]{1,2}(?P=mark)[0-9]{4}
            | [0-9]{1,2}/[0-9]{1,2}/[0-9]{2} ) (?! \w | [./:-][0-9] )
  | (?P<CLOCK> (?: [01]?[0-9] | 2[0-3] ) : [0-5][0-9] (?: :[0-5][0-9] )?
               (?: \s? (?i: [ap]m\b | [ap]\.m\. | uhr\b ) )?
             | (?: [01]?[0-9] | 2[0-3] ) (?: h | \s Uhr\s ) [0-5][0-9] ) (?! [\w:] )
  | (?P<OCLOCK> [01]?[0-9] \s? (?i: [ap]m\b | [ap]\.m\. | o['’]clock\b )
              | (?: [01]?[0-9] | 2[0-3] ) \s? (?: h | Uhr )\b )
  | (?P<DECADE> ['’]? (?:[12][0-9])? [0-9]0 (?:s|er|ern)\b )
  | (?P<ORDINAL> [0-9]{1,2} (?: st|nd|rd|th|er|º|ª )\b )
  | (?P<SHORT_YEAR> (?<!\w) ['’][0-9]{2} (?![\w'’]) )
  | (?P<PAIR> (?<![\w.,:/$€£¥\#]) [0-9]{1,2} (?= / [0-9]{1,2} \s (?i: jan | f[eé]b
              | fév | m[aä]r | ap[ri] | a[bv]r | ma[iy] | jun | jui | jul | aug | agos | ao[uû]
              | sept? | o[ck]t | nov | de[czc] | déc | ene ) ) )
  | (?P<DAY_MONTH> (?<![\w.,:/$€£¥\#-]) [0-9]{1,2}/[0-9]{1,2} (?! \w | [.,:/-][0-9] | \s?[%€$£] ) )
  | (?P<AMOUNT> [$€£¥\#] \s? [0-9][0-9.,]*+ | [0-9]++ (?: -[0-9]++ ){2,}+ | [0-9]++ \s? [%€$£]
              | (?! [0-9]{1,2},[0-9]{4}\b ) [0-9]++ (?: [.,:/][0-9]++ )++ \w*+ )
  | (?P<NUMBER> [0-9]{1,4} (?!\w) )
  | (?P<COMMA> , )
  | (?P<DOT> \. )
  | (?P<DASH> --? | [–—‐‑−/] )
  | (?P<OPEN> \( )
  | (?P<CLOSE> \) )
  | (?P<STOP> [?!;:] | \n\s*\n )
  | (?P<UNKNOWN> \w++ | [^\w\s'’] )
    """,
    re.VERBOSE,
)
_FIRST_YEAR, _LAST_YEAR = 1000, 2199
_UP_TO = frozenset("to - – and or bis und a y à et".split())
"""Between two numbers of which the second counts something, as the first does then."""
_DOUBTFUL = frozenset({TokenKind.YEAR, TokenKind.DATE})


class Token(NamedTuple):
    """A stretch of the text with its kind and value; `when` is set on a `TokenKind.TIME`."""

    kind: TokenKind
    start: int
    end: int
    value: int = 0
    when: When | None = None


class Piece(NamedTuple):
    """A token before a lexicon is applied, with its word as spelled and folded."""

    token: Token
    spelled: str
    folded: str


def fold(word: str) -> str:
    """Return the form under which a lexicon files a word."""
    return (word if word.isascii() else unicodedata.normalize("NFC", word)).casefold()


def pieces(text: str) -> list[Piece]:
    """Cut a text into words, numbers and marks; apostrophes and white space part them."""
    parts: list[Piece] = []
    for match in _SHAPES.finditer(text):
        spelled = match[0]
        if match.lastgroup == "WORD":
            token = Token(TokenKind.UNKNOWN, match.start(), match.end())
            parts.append(Piece(token, spelled, fold(spelled)))
        else:
            kind, value = _measure(match.lastgroup or "", spelled)
            parts.append(Piece(Token(kind, match.start(), match.end(), value), spelled, spelled))
    return [
        _in_context(parts, position) if piece.token.kind in _DOUBTFUL else piece
        for position, piece in enumerate(parts)
    ]


def read(language: Language, parts: list[Piece]) -> list[Token]:
    """Apply a language's lexicon: join its phrases, give words their kinds."""
    tokens: list[Token] = []
    position = 0
    while position < len(parts):
        token, spelled, folded = parts[position]
        position += 1
        if folded in language.folded or spelled in language.exact:
            entries = [*language.exact.get(spelled, []), *language.folded.get(folded, [])]
            fitting = (entry for entry in entries if _continues(entry, parts, position))
            entry = max(fitting, key=lambda entry: len(entry.rest), default=None)
            if entry is not None:
                position += len(entry.rest)
                end = parts[position - 1].token.end
                token = Token(entry.kind, token.start, end, entry.value)
        tokens.append(token)
    return tokens


def _continues(entry: Entry, parts: list[Piece], position: int) -> bool:
    """Return True if the rest of the phrase stands from `position` on."""
    rest = entry.rest
    following = parts[position : position + len(rest)] if rest else []
    return rest == tuple(piece.folded for piece in following)


def _measure(shape: str, spelled: str) -> tuple[TokenKind, int]:
    """Return a shape's kind and value: year, number, minute of the day, first year of a decade."""
    if shape == "PAIR":
        return TokenKind.NUMBER, int(spelled)  # the first of two days: "14/15 September"
    if shape in ("NUMBER", "ORDINAL", "DECADE"):
        value = int(re.sub(r"\D", "", spelled))
        if shape == "NUMBER" and len(spelled) == 4 and _FIRST_YEAR <= value <= _LAST_YEAR:
            return TokenKind.YEAR, value
        return TokenKind[shape], value
    if shape == "DAY_MONTH":
        first, second = map(int, spelled.split("/"))
        return TokenKind.DAY_MONTH, 100 * first + second
    if shape == "SHORT_YEAR":
        return TokenKind.YEAR, full_year(int(spelled[1:]))
    if shape in ("CLOCK", "OCLOCK"):
        return _clock(TokenKind[shape], spelled)
    return (TokenKind.UNKNOWN if shape == "AMOUNT" else TokenKind[shape]), 0


def _clock(kind: TokenKind, spelled: str) -> tuple[TokenKind, int]:
    hour, minute = ([int(number) for number in re.findall(r"[0-9]+", spelled)] + [0])[:2]
    half = re.search(r"[ap](?=\.?m)", spelled.casefold())
    if half and not 1 <= hour <= 12:
        return TokenKind.UNKNOWN, 0
    if half:
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    return kind, 60 * hour + minute


_LAST_OF_THIS_CENTURY = 50


def full_year(number: int) -> int:
    """Return the year that two digits mean: 63 is 1963, 45 is 2045.

    Years after 2050 are hardly ever meant; the POSIX rule would have 2063.
    """
    return number + (1900 if number > _LAST_OF_THIS_CENTURY else 2000)


def _in_context(parts: list[Piece], position: int) -> Piece:
    """Return the piece, as a plain number where its neighbours show that it is no year."""
    piece = parts[position]
    before = parts[position - 1].folded if position else ""
    after = parts[position + 1].folded if position + 1 < len(parts) else ""
    if before in WORDS["labels"] or after in WORDS["eras_before"]:
        return piece._replace(token=piece.token._replace(kind=TokenKind.UNKNOWN))
    if piece.token.kind is not TokenKind.YEAR:
        return piece
    if after in WORDS["counted"]:
        return piece._replace(token=piece.token._replace(kind=TokenKind.NUMBER))
    following = [part.folded for part in parts[position + 1 : position + 4]]
    if len(following) == 3 and following[0] in _UP_TO and following[2] in WORDS["counted"]:
        return piece._replace(token=piece.token._replace(kind=TokenKind.UNKNOWN))
    return piece
