"""Rules over kinds of tokens, each making a time of the tokens it matches.

A rule's pattern is a regular expression whose letters are kinds: "NUMBER OF? MONTH". A grammar
goes over the tokens once, from left to right, and replaces each run that a rule can read by one
`TIME` token; the next grammar builds on those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from typing import NamedTuple

from hindsight_integrations.nlp.spacy_pipeline import Token as Word
from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.calendar import Recurring, When
from hindsight_integrations.nlp.time.direction import Direction, Evidence, direction
from hindsight_integrations.nlp.time.lexer import (
    WORDS,
    Entry,
    Language,
    Tense,
    Token,
    TokenKind,
    kind_set,
)
from hindsight_integrations.settings import Hemisphere
from hindsight_integrations.timespan import Precision, TimeSpan

UNITS = tuple(Precision)
"""Units by the value of a `TokenKind.UNIT`."""

WHEN_KINDS = kind_set("TIME YEAR MONTH WEEKDAY SEASON QUARTER HOLIDAY")
"""Kinds of tokens that stand for a time by themselves."""

_SHORTHAND = {
    "ARTICLE": "[THE ON]?",
    "WHEN": f"[{' '.join(kind.name for kind in WHEN_KINDS)}]",
    "DIGITS": "[NUMBER ORDINAL]",
    "QUANTITY": "[NUMBER COUNT FEW ONE]",
    "ANY_UNIT": "[UNIT UNITS]",
    "END": "(?=$|[STOP DOT COMMA CLOSE])",
}
"""Names that stand for a piece of a pattern."""

_CONTEXT = 200
"""Characters on each side that are searched for the ends of an expression's sentence."""

_SENTENCE_END = re.compile(r"[.!?\n]")
_LAST_WORD = re.compile(r"(\w+)[^\w.!?;:\n]*\Z")
_NEXT_WORD = re.compile(r"\s*(\w+)")


_NEAR = timedelta(days=75)
"""Time from a yearly date within which it is the one meant, in a language without tags."""

_JUST_OVER = timedelta(days=45)
"""Time after a yearly date during which a note that names it may still mean that year's."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Grammar and setting of a statement, beside its text.

    Attributes:
        words: its words with their tags.
        setting: its title and the question it answers, as far as known.
    """

    words: Sequence[Word] = ()
    setting: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A text with the settings it is read with. `reference` is wall-clock time, labelled UTC."""

    text: str
    reference: datetime
    zone: tzinfo
    hemisphere: Hemisphere
    prefer: Tense | None
    language: Language
    statement: Statement | None = None

    def when(self, token: Token) -> When:
        """Return the time a token stands for, be it a `TIME` or a bare word."""
        if token.when is not None:
            return token.when
        match token.kind:
            case TokenKind.YEAR:
                return calendar.year(token.value)
            case TokenKind.MONTH | TokenKind.MAYBE_MONTH:
                return calendar.yearly_month(token.value)
            case TokenKind.WEEKDAY:
                return calendar.weekly(token.value)
            case TokenKind.SEASON:
                return calendar.yearly_season(token.value, self.hemisphere)
            case TokenKind.QUARTER:
                return calendar.yearly_quarter(token.value)
            case TokenKind.HOLIDAY:
                return calendar.holiday(token.value)
            case _:
                raise ValueError(f"a {token.kind.name} is no time by itself")

    def resolve(self, when: When, start: int, end: int) -> TimeSpan:
        """Return the occurrence that the expression at these offsets means.

        The direction of the text decides, or else `prefer`. Without either, a time of the year
        is the nearest, and of a time of the week or month both occurrences are possible: the span
        reaches from the one to the other.

        Raises:
            ValueError: a time of the year may be the one that is over as well as the next.
        """
        if isinstance(when, TimeSpan):
            return when
        shown = self.direction(start, end)
        yearly = when.cycle is Precision.YEAR
        if yearly and (shown is None or shown.evidence is Evidence.ASIDE):
            if self.prefer is None or when.precision is Precision.DAY:
                return self._nearest(when)
            shown = None
        if when.cycle is Precision.MONTH and shown == ("past", Evidence.ASIDE):
            shown = None  # "we've had a call, inspectors on the 23rd"
        tense = shown.tense if shown else self.prefer
        if tense is None:
            past, future = self.occurrence(when, "past"), self.occurrence(when, "future")
            return TimeSpan(past.start, future.end, Precision.RANGE)
        if yearly and shown and shown.evidence is Evidence.DOUBTED:
            return self._doubted(when, tense)
        if shown and shown.evidence is Evidence.DOUBTED and tense == "future":
            raise ValueError("it may be of the entry as well as of the event")
        monthly = when.cycle is Precision.MONTH
        if monthly and shown and shown.evidence is Evidence.DOUBTED:
            return self._clearly_over(when)
        if yearly and shown and tense == "future" and shown.evidence is not Evidence.TENSE:
            return self._announced(when, shown.evidence)
        return self.occurrence(when, tense)

    def _nearest(self, when: Recurring) -> TimeSpan:
        """Return the nearest occurrence of a time of the year whose direction nothing shows.

        Raises:
            ValueError: none is near, and a present tense may go unread ("ils se marient en juin").
        """
        nearest = when.nearest(self.reference)
        away = max(nearest.start - self.reference, self.reference - nearest.end)
        if self.statement is not None and self.language.code != "en" and away > _NEAR:
            raise ValueError("it may be the last or the next one")
        return nearest

    def _doubted(self, when: Recurring, tense: Tense) -> TimeSpan:
        """Return the occurrence of a time of the year by this tense, if no other is nearer.

        Raises:
            ValueError: one is, and may be meant: "signed up for a race on 10 November".
        """
        meant = self.occurrence(when, tense)
        nearest = when.nearest(self.reference)
        ahead = nearest.start > meant.start
        if ahead if tense == "past" else nearest.start < meant.start:
            raise ValueError("it may be the one over as well as the next")
        return meant

    def _clearly_over(self, when: Recurring) -> TimeSpan:
        """Return the latest occurrence of a day of the month, if it is by far the nearest.

        Raises:
            ValueError: the next may be meant: "booked the car in on the 26th".
        """
        past, coming = when.past(self.reference), when.ahead(self.reference)
        if 2 * (self.reference - past.start) > coming.start - self.reference:
            raise ValueError("it may be still to come")
        return past

    def _announced(self, when: Recurring, evidence: Evidence) -> TimeSpan:
        """Return the occurrence of a time of the year that is announced, without a future tense.

        Raises:
            ValueError: it is just over and may as well be told of ("the tower falls on 2 June").
        """
        past = when.past(self.reference)
        if past.end <= self.reference - _JUST_OVER:
            return when.coming(self.reference)
        if evidence is Evidence.PRESENT and past.end <= self.reference:
            raise ValueError("it may be the one just over as well as the next")
        return past  # "Conference 2 June", said on the 17th, may stand there still

    def occurrence(self, when: Recurring, tense: Tense) -> TimeSpan:
        """Return the last or next occurrence.

        Something weekly is never the current one: who means today says so.
        """
        weekly = when.cycle is Precision.WEEK
        if tense == "future":
            return (when.ahead if weekly else when.coming)(self.reference)
        return (when.over if weekly else when.past)(self.reference)

    def is_in_a_phrase(self, end: int) -> bool:
        """Return True if a word follows without a mark between."""
        return self.text[end : end + 1] == " " and self.text[end + 1 : end + 2].isalpha()

    def direction(self, start: int, end: int) -> Direction | None:
        """Return what the text shows of the direction of the time at these offsets."""
        if self.statement is None:
            tense = self.language.tense(self.sentence(start, end))
            return Direction(tense, Evidence.TENSE) if tense else None
        return direction(
            self.text,
            start,
            end,
            language=self.language,
            words=self.statement.words,
            setting=self.statement.setting,
        )

    def sentence(self, start: int, end: int) -> str:
        """Return the sentence around these offsets, within `_CONTEXT` characters of them."""
        after = _SENTENCE_END.split(self.text[end : end + _CONTEXT], 1)[0]
        return self.sentence_before(start) + self.text[start:end] + after

    def sentence_before(self, start: int) -> str:
        """Return the part of a sentence before an offset, within `_CONTEXT` characters of it."""
        return _SENTENCE_END.split(self.text[max(0, start - _CONTEXT) : start])[-1]

    def word_before(self, start: int) -> str:
        """Return the word before an offset, as spelled; "" where a sentence begins."""
        word = _LAST_WORD.search(self.text[max(0, start - 30) : start])
        return word[1] if word else ""

    def entries_before(self, start: int) -> Sequence[Entry]:
        """Return the entries of the lexicon for the word before an offset."""
        return self.language.folded.get(self.word_before(start).casefold(), ())

    def is_owned(self, start: int) -> bool:
        """Return True after a word like "my", which makes a time another one: "my last year"."""
        return any(entry.kind is TokenKind.OWN for entry in self.entries_before(start))

    def tag_after(self, end: int) -> str:
        """Return the tag of the word that follows an offset; "" if none does, or none has one."""
        words = self.statement.words if self.statement else ()
        return next((word.tag for word in words if word.start >= end), "")

    def word_after(self, end: int) -> str:
        """Return the word that follows an offset directly, as spelled; "" if none does."""
        word = _NEXT_WORD.match(self.text, end, end + 30)
        return word[1] if word else ""


class ParsedText(NamedTuple):
    """A text as one language understands it: its tokens after all passes."""

    context: Context
    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class Match:
    """A run of tokens that fits a pattern."""

    context: Context
    tokens: Sequence[Token]

    @property
    def start(self) -> int:
        """Offset of its first character."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Offset after its last character."""
        return self.tokens[-1].end

    @property
    def now(self) -> datetime:
        """The reference time."""
        return self.context.reference

    def has(self, *kinds: TokenKind) -> bool:
        """Return True if it has a token of one of these kinds."""
        return any(token.kind in kinds for token in self.tokens)

    def all(self, *kinds: TokenKind) -> list[Token]:
        """Return the tokens of these kinds, in order."""
        return [token for token in self.tokens if token.kind in kinds]

    def value(self, *kinds: TokenKind) -> int:
        """Return the value of the first token of one of these kinds."""
        return self.all(*kinds)[0].value

    def unit(self) -> Precision:
        """Return the unit of time it names."""
        return UNITS[self.value(TokenKind.UNIT, TokenKind.UNITS)]

    def whens(self) -> list[When]:
        """Return the times that its tokens stand for, in order."""
        return [self.context.when(token) for token in self.all(*WHEN_KINDS)]

    def resolve(self, when: When) -> TimeSpan:
        """Return the occurrence that is meant here."""
        return self.context.resolve(when, self.start, self.end)

    def span(self) -> TimeSpan:
        """Return the last time it names, resolved."""
        return self.resolve(self.whens()[-1])

    def sentence(self) -> str:
        """Return the sentence around it."""
        return self.context.sentence(self.start, self.end)

    def tense(self) -> Tense | None:
        """Return the tense of the words around it, if they show one."""
        shown = self.context.direction(self.start, self.end)
        return shown.tense if shown else None

    def is_rate(self) -> bool:
        """Return True for the "a week" of "two hours a week" and "£80 a week"."""
        before = self.context.word_before(self.start).casefold()
        return self.has(TokenKind.ONE) and (before.isdigit() or before in WORDS["rates"])

    def is_past(self) -> bool:
        """Return True if the words around it, or else the caller, put it in the past."""
        context = self.context
        shown = context.direction(self.start, self.end)
        if context.statement is not None and shown and shown.evidence is Evidence.ASIDE:
            shown = None
        return (shown.tense if shown else context.prefer) == "past"

    def in_language(self) -> bool:
        """Return True if the sentence has another word that only its language has."""
        return self.context.language.own_words.search(self.sentence()) is not None


Build = Callable[[Match], When | None]


class Rule(NamedTuple):
    """A pattern, the function that makes a time of its matches, and its languages' codes."""

    pattern: re.Pattern[str]
    build: Build
    languages: frozenset[str]


class Grammar:
    """An ordered list of rules; at each token the first that fits and gives a time wins."""

    def __init__(self) -> None:
        self._sources: list[tuple[str, Build, frozenset[str]]] = []

    def rule(self, *patterns: str, only: str = "en de es fr") -> Callable[[Build], Build]:
        """Register a function for the tokens that fit any of the patterns.

        The function returns None where the words mean something else after all, and may raise
        `ValueError` or `OverflowError` where the calendar has no such time.
        """

        def register(build: Build) -> Build:
            self._sources += [(pattern, build, frozenset(only.split())) for pattern in patterns]
            return build

        return register

    @cached_property
    def _rules(self) -> list[Rule]:
        return [Rule(compiled(p), build, only) for p, build, only in self._sources]

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return compiled("|".join(pattern for pattern, _, _ in self._sources))

    def reduce(self, tokens: list[Token], context: Context) -> list[Token]:
        """Replace each run of tokens that a rule can read by one `TIME` token."""
        kinds = "".join([token.kind for token in tokens])
        reduced: list[Token] = []
        done = index = 0
        while candidate := self._any.search(kinds, index):
            index = candidate.start()
            time = self._read(kinds, index, tokens, context)
            if time is None:
                index += 1
                continue
            token, end = time
            reduced += [*tokens[done:index], token]
            done = index = end
        return reduced + tokens[done:]

    def _read(
        self, kinds: str, index: int, tokens: list[Token], context: Context
    ) -> tuple[Token, int] | None:
        """Return the time token made of the tokens from `index`, and the index after them."""
        for pattern, build, languages in self._rules:
            if context.language.code not in languages or not (fits := pattern.match(kinds, index)):
                continue
            match = Match(context, tokens[index : fits.end()])
            try:
                when = build(match)
            except (ValueError, OverflowError):
                continue  # 30 February, the year 10000: not a date
            if when is not None:
                return Token(TokenKind.TIME, match.start, match.end, when=when), fits.end()
        return None


def compiled(pattern: str) -> re.Pattern[str]:
    """Return the regular expression over `TokenKind` characters that a pattern means."""
    return re.compile(_translate(pattern))


def _translate(pattern: str) -> str:
    """Replace the names in a pattern by their characters."""

    def replace(name: re.Match[str]) -> str:
        if name[0] in _SHORTHAND:
            return _translate(_SHORTHAND[name[0]])
        return TokenKind[name[0]].value

    return re.sub(r"[A-Z_]+", replace, pattern).replace(" ", "")
