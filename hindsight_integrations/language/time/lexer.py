"""Text to tokens: numbers and punctuation by their shape, words by a language's lexicon."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from hindsight_integrations.language.time.calendar import When
from hindsight_integrations.language.time.languages import Entry, Language
from hindsight_integrations.language.time.words import COUNTED, LABELS, Kind

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
_DOUBTFUL = frozenset({Kind.YEAR, Kind.DATE})
_ERAS_BEFORE = frozenset({"bc", "bce", "v", "av"})
"""The first words of "BC", "v. Chr.", "av. J.-C.": years that the calendar does not have."""


class Token(NamedTuple):
    """A stretch of the text that the grammar knows: its kind, its value, where it stands.

    `when` is set on what the grammar has read already (`Kind.TIME`).
    """

    kind: Kind
    start: int
    end: int
    value: int = 0
    when: When | None = None


class Piece(NamedTuple):
    """A token before any language has read it, with its word as spelled and folded."""

    token: Token
    spelled: str
    folded: str


def fold(word: str) -> str:
    """The form under which a lexicon files a word."""
    return (word if word.isascii() else unicodedata.normalize("NFC", word)).casefold()


def pieces(text: str) -> list[Piece]:
    """The text cut into words, numbers and marks; apostrophes and white space part them."""
    found: list[Piece] = []
    for match in _SHAPES.finditer(text):
        spelled = match[0]
        if match.lastgroup == "WORD":
            token = Token(Kind.UNKNOWN, match.start(), match.end())
            found.append(Piece(token, spelled, fold(spelled)))
        else:
            kind, value = _measure(match.lastgroup or "", spelled)
            found.append(Piece(Token(kind, match.start(), match.end(), value), spelled, spelled))
    return [
        _in_company(found, position) if piece.token.kind in _DOUBTFUL else piece
        for position, piece in enumerate(found)
    ]


def read(language: Language, parts: list[Piece]) -> list[Token]:
    """The tokens as a language understands them: its phrases joined, its words named."""
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
    """Whether the rest of the phrase stands from `position` on."""
    rest = entry.rest
    following = parts[position : position + len(rest)] if rest else []
    return rest == tuple(piece.folded for piece in following)


def _measure(shape: str, spelled: str) -> tuple[Kind, int]:
    """A shape's kind and value: a year, a number, minutes of the day, a decade's first year."""
    if shape in ("NUMBER", "ORDINAL", "DECADE"):
        value = int(re.sub(r"\D", "", spelled))
        if shape == "NUMBER" and len(spelled) == 4 and _FIRST_YEAR <= value <= _LAST_YEAR:
            return Kind.YEAR, value
        return Kind[shape], value
    if shape == "SHORT_YEAR":
        return Kind.YEAR, _full_year(int(spelled[1:]))
    if shape in ("CLOCK", "OCLOCK"):
        return _clock(Kind[shape], spelled)
    return (Kind.UNKNOWN if shape == "AMOUNT" else Kind[shape]), 0


def _clock(kind: Kind, spelled: str) -> tuple[Kind, int]:
    hour, minute = ([int(number) for number in re.findall(r"[0-9]+", spelled)] + [0])[:2]
    half = re.search(r"[ap](?=\.?m)", spelled.casefold())
    if half and not 1 <= hour <= 12:
        return Kind.UNKNOWN, 0
    if half:
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    return kind, 60 * hour + minute


def _full_year(number: int) -> int:
    """A year of two digits, read as most software does: 69 is 1969, 68 is 2068."""
    return number + (1900 if number >= 69 else 2000)


def _in_company(parts: list[Piece], position: int) -> Piece:
    """The piece, or a plain number where its neighbours show that it is no year."""
    piece = parts[position]
    before = parts[position - 1].folded if position else ""
    after = parts[position + 1].folded if position + 1 < len(parts) else ""
    if before in LABELS or after in _ERAS_BEFORE:
        return piece._replace(token=piece.token._replace(kind=Kind.UNKNOWN))
    if piece.token.kind is Kind.YEAR and after in COUNTED:
        return piece._replace(token=piece.token._replace(kind=Kind.NUMBER))
    return piece
