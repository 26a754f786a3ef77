"""The machinery of the grammar: rules over kinds of tokens, each making a time of what it matched.

A rule's pattern is a regular expression whose letters are kinds: "NUMBER OF? MONTH". A grammar
goes over the tokens once, from left to right, and puts one `TIME` token in the place of each run
that a rule could read; the next grammar builds on those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from typing import Literal, NamedTuple

from hindsight_integrations.language.time import calendar
from hindsight_integrations.language.time.calendar import When
from hindsight_integrations.language.time.languages import Code, Language, Tense
from hindsight_integrations.language.time.lexer import Token
from hindsight_integrations.language.time.words import Kind
from hindsight_integrations.settings import Hemisphere
from hindsight_integrations.timespan import Precision, TimeSpan

UNITS = tuple(Precision)
"""What the value of a `Kind.UNIT` points at."""

WHEN_KINDS = (
    Kind.TIME,
    Kind.YEAR,
    Kind.MONTH,
    Kind.WEEKDAY,
    Kind.SEASON,
    Kind.QUARTER,
    Kind.HOLIDAY,
)

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
"""Characters on each side in which the sentence around an expression is looked for."""

_SENTENCE_END = re.compile(r"[.!?\n]")
_LAST_WORD = re.compile(r"(\w+)[^\w.!?;:\n]*\Z")
_NEXT_WORD = re.compile(r"\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Scene:
    """What a text is read against. `reference` is wall-clock time, labelled UTC."""

    text: str
    reference: datetime
    zone: tzinfo
    hemisphere: Hemisphere
    prefer: Literal["past", "future"]
    language: Language

    def when(self, token: Token) -> When:
        """The time a token stands for, be it read already or a bare word."""
        if token.when is not None:
            return token.when
        match token.kind:
            case Kind.YEAR:
                return calendar.year(token.value)
            case Kind.MONTH | Kind.MAYBE_MONTH:
                return calendar.yearly_month(token.value)
            case Kind.WEEKDAY:
                return calendar.weekly(token.value)
            case Kind.SEASON:
                return calendar.yearly_season(token.value, self.hemisphere)
            case Kind.QUARTER:
                return calendar.yearly_quarter(token.value)
            case Kind.HOLIDAY:
                return calendar.yearly_day(*divmod(token.value, 100))
            case _:
                raise ValueError(f"a {token.kind.name} is no time by itself")

    def settle(self, when: When, start: int, end: int) -> TimeSpan:
        """Which occurrence is meant by the expression at these offsets.

        The sentence's tense decides, else `prefer`; but a day of the year is the nearest one then.
        Something weekly is never the one of now: who means today says so.
        """
        if isinstance(when, TimeSpan):
            return when
        tense = self.language.tense(self.sentence(start, end))
        weekly = when.cycle is Precision.WEEK
        if (tense or self.prefer) == "future":
            return (when.ahead if weekly else when.coming)(self.reference)
        if tense is None and when.cycle is Precision.YEAR and when.precision is Precision.DAY:
            return when.nearest(self.reference)
        return (when.over if weekly else when.past)(self.reference)

    def sentence(self, start: int, end: int) -> str:
        """The sentence around these offsets, as far as it is near."""
        before = _SENTENCE_END.split(self.text[max(0, start - _CONTEXT) : start])[-1]
        after = _SENTENCE_END.split(self.text[end : end + _CONTEXT], 1)[0]
        return before + self.text[start:end] + after

    def word_before(self, start: int) -> str:
        """The word before an offset, as spelled; empty where a sentence begins."""
        found = _LAST_WORD.search(self.text[max(0, start - 30) : start])
        return found[1] if found else ""

    def word_after(self, end: int) -> str:
        """The word that follows an offset directly, as spelled; empty where there is none."""
        found = _NEXT_WORD.match(self.text, end, end + 30)
        return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class Match:
    """The run of tokens that a pattern fitted."""

    scene: Scene
    tokens: Sequence[Token]

    @property
    def start(self) -> int:
        """Where it starts in the text."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        return self.tokens[-1].end

    @property
    def now(self) -> datetime:
        """The reference."""
        return self.scene.reference

    def has(self, *kinds: Kind) -> bool:
        """Whether a token of one of these kinds is there."""
        return any(token.kind in kinds for token in self.tokens)

    def all(self, *kinds: Kind) -> list[Token]:
        """The tokens of these kinds, in order."""
        return [token for token in self.tokens if token.kind in kinds]

    def value(self, *kinds: Kind) -> int:
        """The value of the first token of one of these kinds."""
        return self.all(*kinds)[0].value

    def unit(self) -> Precision:
        """The unit of time named."""
        return UNITS[self.value(Kind.UNIT, Kind.UNITS)]

    def whens(self) -> list[When]:
        """What stands for a time by itself, in order."""
        return [self.scene.when(token) for token in self.all(*WHEN_KINDS)]

    def settle(self, when: When) -> TimeSpan:
        """Which occurrence is meant here."""
        return self.scene.settle(when, self.start, self.end)

    def span(self) -> TimeSpan:
        """The last time named, settled."""
        return self.settle(self.whens()[-1])

    def sentence(self) -> str:
        """The sentence around it."""
        return self.scene.sentence(self.start, self.end)

    def tense(self) -> Tense | None:
        """The tense of the sentence around it, where it shows one."""
        return self.scene.language.tense(self.sentence())

    def in_language(self) -> bool:
        """Whether the sentence has another word that only its language has."""
        return self.scene.language.own_words.search(self.sentence()) is not None


Build = Callable[[Match], When | None]


class Rule(NamedTuple):
    """A pattern, what makes a time of its matches, and the languages it belongs to."""

    pattern: re.Pattern[str]
    build: Build
    languages: frozenset[str]


class Grammar:
    """Rules that are tried together, the earlier first."""

    def __init__(self) -> None:
        self._sources: list[tuple[str, Build, frozenset[str]]] = []

    def rule(self, *patterns: str, only: str = "en de es fr") -> Callable[[Build], Build]:
        """Registers a function for what fits any of the patterns.

        The function returns None where the words mean something else after all, and may raise
        `ValueError` or `OverflowError` where the calendar has no such time.
        """

        def register(build: Build) -> Build:
            self._sources += [(pattern, build, frozenset(only.split())) for pattern in patterns]
            return build

        return register

    @cached_property
    def _rules(self) -> list[Rule]:
        return [Rule(re.compile(_translate(p)), build, only) for p, build, only in self._sources]

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile("|".join(_translate(pattern) for pattern, _, _ in self._sources))

    def reduce(self, tokens: list[Token], scene: Scene) -> list[Token]:
        """The tokens with each run that a rule can read made one token of time."""
        kinds = "".join([token.kind for token in tokens])
        reduced: list[Token] = []
        done = at = 0
        while found := self._any.search(kinds, at):
            at = found.start()
            made = self._read(kinds, at, tokens, scene)
            if made is None:
                at += 1
                continue
            token, end = made
            reduced += tokens[done:at]
            reduced.append(token)
            done = at = end
        return reduced + tokens[done:]

    def _read(
        self, kinds: str, at: int, tokens: list[Token], scene: Scene
    ) -> tuple[Token, int] | None:
        code: Code = scene.language.code
        for pattern, build, languages in self._rules:
            if code not in languages or not (fits := pattern.match(kinds, at)):
                continue
            match = Match(scene, tokens[at : fits.end()])
            try:
                when = build(match)
            except (ValueError, OverflowError):
                continue  # 30 February, the year 10000: not a date, whatever else it is
            if when is not None:
                return Token(Kind.TIME, match.start, match.end, when=when), fits.end()
        return None


def _translate(pattern: str) -> str:
    def replace(name: re.Match[str]) -> str:
        if name[0] in _SHORTHAND:
            return _translate(_SHORTHAND[name[0]])
        return Kind[name[0]].value

    return re.sub(r"[A-Z_]+", replace, pattern).replace(" ", "")
