"""Reads a text's times in every language it may hold, and puts them in the reference's zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from hindsight_integrations.language.time.calendar import EARLIEST, LATEST, Recurring
from hindsight_integrations.language.time.grammar import Scene
from hindsight_integrations.language.time.languages import LANGUAGES, Language
from hindsight_integrations.language.time.leaves import LEAVES
from hindsight_integrations.language.time.lexer import Token, fold, pieces, read
from hindsight_integrations.language.time.phrases import CONTAINERS, DETAILS, NAMED_DAYS
from hindsight_integrations.language.time.relations import RELATIONS
from hindsight_integrations.language.time.words import EVERY
from hindsight_integrations.settings import Hemisphere
from hindsight_integrations.timespan import Precision, TimeSpan

_PASSES = (LEAVES, CONTAINERS, NAMED_DAYS, DETAILS, RELATIONS)
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time that a text names: the words, where they stand, and what they mean."""

    text: str
    start_char: int
    end_char: int
    span: TimeSpan


class Reading(NamedTuple):
    """A text as one language understands it."""

    scene: Scene
    tokens: list[Token]


def find_times(
    text: str,
    reference: datetime,
    *,
    hemisphere: Hemisphere = "north",
    prefer: Literal["past", "future"] = "past",
) -> tuple[TimeExpression, ...]:
    """Every time that a statement names, in order, resolved against the moment it was said.

    English, German, Spanish and French. What could be a time but need not ("may", "room 2023")
    is left alone, and so is a time with an open end ("before 2020"), which locates nothing.

    Args:
        text: any text.
        reference: when it was said; its zone is the one the text's days are in (naive is UTC).
        hemisphere: whose seasons "spring" and the others are.
        prefer: what "on Monday" or "in March" mean when the sentence's tense does not tell; a
            date without its year is the nearest then, if not "future".
    """
    found = expressions(readings(text, reference, hemisphere, prefer))
    return tuple(expression for expression in found if not _is_open(expression.span))


def readings(
    text: str,
    reference: datetime,
    hemisphere: Hemisphere,
    prefer: Literal["past", "future"],
    *,
    events: bool = False,
) -> list[Reading]:
    """The text as each language understands it that has words in it.

    Args:
        text: any text.
        reference: see `find_times`.
        hemisphere: see `find_times`.
        prefer: see `find_times`.
        events: whether words that relate to an event count, too.
    """
    languages = _languages(text, events=events)
    if not languages:
        return []
    parts = pieces(text)
    found = []
    for language in languages:
        scene = Scene(
            text=text,
            reference=reference.replace(tzinfo=UTC, fold=0),
            zone=reference.tzinfo or UTC,
            hemisphere=hemisphere,
            prefer=prefer,
            language=language,
        )
        tokens = read(language, parts)
        for grammar in _PASSES:
            tokens = grammar.reduce(tokens, scene)
        found.append(Reading(scene, tokens))
    return found


def expressions(found: list[Reading]) -> list[TimeExpression]:
    """The times of all readings; where two overlap the longer stays, or that of the first."""
    candidates = [time for reading in found for time in _times(reading)]
    candidates.sort(key=lambda time: time.start_char - time.end_char)
    kept: list[TimeExpression] = []
    taken = bytearray(len(found[0].scene.text)) if found else bytearray()
    for time in candidates:
        place = slice(time.start_char, time.end_char)
        if not any(taken[place]):
            taken[place] = b"\x01" * (time.end_char - time.start_char)
            kept.append(time)
    return sorted(kept, key=lambda time: time.start_char)


def _languages(text: str, *, events: bool) -> list[Language]:
    """The languages worth reading the text in; none for most sentences."""
    words = set(_WORD.findall(fold(text)))
    digits = _DIGIT.search(text) is not None
    return [
        language
        for number, language in enumerate(LANGUAGES)
        if not language.telling.isdisjoint(words)
        or (digits and (number == 0 or not language.leading.isdisjoint(words)))
        or (events and not language.relating.isdisjoint(words))
    ]


def _times(reading: Reading) -> Iterator[TimeExpression]:
    scene = reading.scene
    for token in reading.tokens:
        if token.when is None or _habit(token, scene):
            continue
        try:
            span = _placed(scene.settle(token.when, token.start, token.end), scene)
        except (ValueError, OverflowError):
            continue  # it falls outside the calendar
        yield TimeExpression(scene.text[token.start : token.end], token.start, token.end, span)


def _habit(token: Token, scene: Scene) -> bool:
    """Whether it is every occurrence that is meant: "every Monday"."""
    recurs = isinstance(token.when, Recurring)
    return recurs and scene.word_before(token.start).casefold() in EVERY


def _is_open(span: TimeSpan) -> bool:
    reaches_far = span.start == EARLIEST or span.end == LATEST
    return reaches_far and span.precision is Precision.RANGE


def _placed(span: TimeSpan, scene: Scene) -> TimeSpan:
    """A span of wall-clock time as the zone of the reference has it; open ends stay open."""
    start, end = (
        moment if moment in (EARLIEST, LATEST) else moment.replace(tzinfo=scene.zone)
        for moment in (span.start, span.end)
    )
    return TimeSpan(start, end, span.precision)
