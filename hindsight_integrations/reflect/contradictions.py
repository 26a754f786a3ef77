"""Decide whether a later statement changes an earlier one: pure functions.

A change is told only if both statements are of the same subject and the same attribute, and the
later one says itself that something ended or was replaced. What they say `claims` has read. Frames
are compared first (`frame_changes`); endings (`ended_values`) tell what frames do not, or what came
after; other languages than English are compared word by word (`foreign_changes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.claim_model import (
    FrameState,
    Value,
    groups_of,
    is_attitude,
    members,
)
from hindsight_integrations.reflect.ended_values import ended_value
from hindsight_integrations.reflect.foreign_changes import foreign_change, tells_ending
from hindsight_integrations.reflect.frame_changes import frame_change
from hindsight_integrations.reflect.topics import Statement, statements

_EXCEPT = re.compile(r"\b(?:only|except|apart from|unless|at least)\b", re.IGNORECASE)
_NAMESAKE = re.compile(r"(?P<name>[A-Z]\w+) (?:from|in|of) (?:the )?(?P<of>\w+)")
"""Words that tell one of a name from another: "Susan from legal"."""
_RECURRING = re.compile(
    r"\b(?:(?:every|each|in the|at) )?((?:mon|tues|wednes|thurs|fri|satur|sun|week)day|weekend"
    r"|morning|afternoon|evening|night)s\b"
    r"|\b(?:every|each|in the|in|at) (summer|winter|morning|afternoon|evening|night|weekend"
    r"|\w+day)\b",
    re.IGNORECASE,
)
"""Days and parts of the day that come again: "on Mondays", "in the evening"."""


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A statement with its memory."""

    memory: Memory
    statement: Statement

    @property
    def at(self) -> datetime:
        """Time of the statement."""
        return self.memory.mentioned_at

    @property
    def text(self) -> str:
        """Text of the statement."""
        return self.statement.text


class Shift(NamedTuple):
    """A change: whom or what it is of, the value before, and the value after if there is one."""

    subject: str
    before: str
    after: str | None = None


def dated_statements(
    memory: Memory, speakers: Set[str] = frozenset()
) -> tuple[DatedStatement, ...]:
    """Return the statements of a memory; people, as the speakers are, are no topics of them."""
    people = frozenset(name for name in memory.entities if name in speakers)
    read = statements(memory.text, memory.entities, memory.speaker, people)
    return tuple(DatedStatement(memory, statement) for statement in read)


def change(
    older: DatedStatement, newer: DatedStatement, ambiguous: Set[str] = frozenset()
) -> Shift | None:
    """Return how `newer` changes `older`; None if it does not, or if it is unclear.

    Args:
        older: the earlier statement.
        newer: the later one.
        ambiguous: first names that several people have: who "Ann" is remains unclear.
    """
    if older.at >= newer.at or older.memory.scope != newer.memory.scope:
        return None
    of, then = _NAMESAKE.match(older.text), _NAMESAKE.match(newer.text)
    if of and then and of["name"] == then["name"] and of["of"] != then["of"]:
        return None
    told = _told(older, newer, ambiguous)
    return told if told is not None and not _is_limited(older.text, newer.text, told) else None


def _is_limited(older: str, newer: str, told: Shift) -> bool:
    """Return True if a change is of some days or hours, of which the earlier statement is not.

    "No longer eats meat on Mondays" says nothing of other days, nor "tea in the evening" of the
    coffee in the morning; "still uses it" takes back that it has ended.
    """
    if told.after is None and _EXCEPT.search(newer):
        return True
    kept = rf"(?:it|them|there|{re.escape(told.before)})"
    if told.after is not None and re.search(rf"\bstill [^;.]*\b{kept}\b", newer, re.IGNORECASE):
        return True
    if _RECURRING.search(told.before):
        return False
    here, there = (
        {(m[1] or m[2]).casefold() for m in _RECURRING.finditer(text)} for text in (older, newer)
    )
    return not there <= here if told.after is None else bool(here and there and not here & there)


def _told(older: DatedStatement, newer: DatedStatement, ambiguous: Set[str]) -> Shift | None:
    """Return the change that names what came after, if one of the readings tells one."""
    same_speaker = older.memory.speaker == newer.memory.speaker
    told = _told_by_frames(older, newer, same_speaker=same_speaker)
    if told is None or told.after is None:
        before, after = older.statement.claims, newer.statement.claims
        ended = ended_value(before, after, same_speaker=same_speaker)
        if told is None:
            told = Shift(*ended) if ended is not None else None
        elif ended is not None and ended.after:
            told = told._replace(after=ended.after)
    if told is None:
        foreign = foreign_change(older.text, newer.text, same_speaker=same_speaker)
        told = Shift(*foreign) if foreign else None
    unclear = told is not None and entity_norm(told.subject.removeprefix("@")) in ambiguous
    return None if unclear else told


def _told_by_frames(
    older: DatedStatement, newer: DatedStatement, *, same_speaker: bool
) -> Shift | None:
    """Return the change that the words of two plain clauses tell."""
    for step in newer.statement.claims.steps:
        for state in older.statement.claims.states:
            told = frame_change(step, state, same_speaker=same_speaker)
            if told is not None:
                return Shift(_key(state), *told)
    return None


def _key(state: FrameState) -> str:
    """Return the key of a subject in its words: of "I" that of the speaker."""
    first, *rest = state.subject
    if first in ("i", "we"):
        return f"{first}|{state.speaker or ''}"
    if first in ("my", "our"):
        return " ".join(rest)
    subject = " ".join(state.subject)
    return f"@{subject}" if state.called.kind == "name" else subject


def may_change(statement: DatedStatement) -> bool:
    """Return True if a statement may change what was said before it."""
    return statement.statement.claims.may_change or tells_ending(statement.text)


def states(
    dated: Sequence[DatedStatement], ambiguous: Set[str] = frozenset()
) -> list[list[DatedStatement]]:
    """Split the statements, in order of time, where one changes those before it."""
    parts: list[list[DatedStatement]] = []
    for statement in sorted(dated, key=lambda t: (t.at, t.memory.id)):
        if not parts or any(change(before, statement, ambiguous) for before in parts[-1]):
            parts.append([statement])
        else:
            parts[-1].append(statement)
    return parts


def ends(newer: DatedStatement, terms: Set[str]) -> bool:
    """Return True if a statement says that a thing of these lexemes has ended."""
    return any(terms & value.terms for value in newer.statement.claims.ended)


def probes(statement: DatedStatement) -> Iterator[frozenset[str]]:
    """Yield sets of lexemes; a statement that shares a topic or a change with this one has one."""
    yield from (topic.terms for topic in statement.statement.topics.values())
    claims = statement.statement.claims
    if claims.endings or claims.current or claims.steps or tells_ending(statement.text):
        yield from (frozenset({term}) for term in statement.statement.terms)
    for holding in claims.holdings:
        if not is_attitude(holding.verb, choosing=True):
            yield from _probes_of(holding.subject, holding.verb, holding.values.values())
        if holding.verb == "residence":
            yield from (frozenset(lexemes(verb)) for verb in ("moved", "relocated"))


def _probes_of(
    subject: str, verb: str | None, values: Iterable[Value | None]
) -> Iterator[frozenset[str]]:
    thing = frozenset(lexemes(subject.rpartition("/")[2].lstrip("@")))
    if "|" not in subject and thing:
        yield thing
    elif verb and (does := frozenset(lexemes(verb))):
        yield does
    for value in values:
        if value is not None and value.terms:
            yield value.terms
            yield frozenset(lexemes(value.text.split()[-1])) or value.terms
            for group in groups_of(value.text):
                yield from (frozenset(lexemes(other)) for other in members(group))
