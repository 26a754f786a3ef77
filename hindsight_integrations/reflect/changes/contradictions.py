"""Decide by grammar whether a later statement changes an earlier one: pure functions.

A change is told only if both statements are of the same subject and the same attribute, and the
later one says itself that something ended or was replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.changes.claim_model import (
    ClauseState,
    Value,
    ValueChange,
    groups_of,
    is_attitude,
    members,
)
from hindsight_integrations.reflect.changes.clause_changes import clause_change
from hindsight_integrations.reflect.changes.doubts import is_doubtful
from hindsight_integrations.reflect.changes.ended_values import ended_value
from hindsight_integrations.reflect.changes.other_language_changes import (
    other_language_change,
    tells_ending,
)
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.changes.subjects import is_another
from hindsight_integrations.reflect.changes.value_kinds import kinds
from hindsight_integrations.reflect.topics import DatedStatement, statements

_WORDS = word_sets("changes")
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
_HOUR = re.compile(r"\A\W*\d|\b(?:am|pm|o'clock)\b", re.IGNORECASE)
_PARTS_OF_DAY = frozenset({"morning", "afternoon", "evening", "night"})
_SEASONS = frozenset({"summer", "winter"})
_NOW = re.compile(r"\bnow\b", re.IGNORECASE)
_BESIDE = re.compile(r", (?:on |every )?((?:mon|tues|wednes|thurs|fri|satur|sun)day)s\b", re.I)
_COUNT = re.compile(
    rf"\b(?:\d+|few|several|some|many|{'|'.join(sorted(_WORDS['numbers']))}) \Z", re.IGNORECASE
)
_COUNT_WIDTH = 16
_RESUMED = re.compile(
    r"\b(?:again|back (?:to|on|at|with|in|into)|resum(?:e|es|ed|ing)|relaps(?:e|es|ed)"
    r"|rejoin(?:s|ed)?|restart(?:s|ed)?|reopen(?:s|ed)?|reinstated)\b",
    re.IGNORECASE,
)
"""Words of what ended, and is so again: "started smoking again"."""


def dated_statements(
    memory: Memory, speakers: Set[str] = frozenset()
) -> tuple[DatedStatement, ...]:
    """Return the statements of a memory; people, as the speakers are, are no topics of them."""
    people = frozenset(name for name in memory.entities if name in speakers)
    read = statements(memory.text, memory.entities, memory.speaker, people)
    return tuple(DatedStatement(memory, statement) for statement in read)


def change(
    older: DatedStatement, newer: DatedStatement, ambiguous: Set[str] = frozenset()
) -> ValueChange | None:
    """Return the change that `newer` tells of `older`; None if there is none, or it is unclear.

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
    value_change = _detected_change(older, newer, ambiguous)
    if value_change is None or _is_limited(older.text, newer.text, value_change):
        return None
    doubtful = is_doubtful(older, newer, value_change) or is_another(older, newer, value_change)
    return None if doubtful or _is_of_either(older, newer, value_change) else value_change


def _is_of_either(older: DatedStatement, newer: DatedStatement, value_change: ValueChange) -> bool:
    """Return True if an earlier statement has two values that the new one may replace.

    Who "is with Santander and uses Monzo" may have replaced either. The value before, if the
    later statement names it, is no matter of doubt.
    """
    if (
        value_change.after is None
        or frozenset(lexemes(value_change.before)) <= newer.statement.terms
    ):
        return False
    after = kinds(plain_value(value_change.after))
    claims = older.statement.claims
    given = [value for state_claim in claims.state_claims for value in state_claim.values.values()]
    given += [value for state in claims.clause_states for _, value in state.values]
    alike = {value.terms for value in given if value.kind == "name" and kinds(value) & after}
    return any(one.isdisjoint(other) for one in alike for other in alike)


def _is_limited(older: str, newer: str, value_change: ValueChange) -> bool:
    """Return True if only the change is limited to some days or hours.

    "No longer eats meat on Mondays" says nothing of other days, nor "tea in the evening" of the
    coffee in the morning; "still uses it" takes back that it has ended.
    """
    if value_change.after is None and _EXCEPT.search(newer):
        return True
    kept = rf"(?:it|them|there|{re.escape(value_change.before)})"
    if value_change.after is not None and re.search(
        rf"\bstill [^;.]*\b{kept}\b", newer, re.IGNORECASE
    ):
        return True
    if _RECURRING.search(value_change.before):
        return False
    after = value_change.after or ""
    here, there = _recurring(older), _recurring(newer)
    there = {day for day in there if day not in after.casefold()}
    if here and there and not here & there:
        return True
    if value_change.after is not None:
        beside = _BESIDE.findall(newer)  # "is now at the library, Tuesdays at seven"
        there -= _PARTS_OF_DAY if _HOUR.search(after) else set()  # "opens at 9 in the morning"
        there -= _SEASONS if not _NOW.search(newer) else set()  # "in summer she left X for Y"
        there -= {day.casefold() for day in beside}
    return not there <= here


def _recurring(text: str) -> set[str]:
    """Return the recurring days and parts of the day that a text names."""
    return {
        (found[1] or found[2]).casefold()
        for found in _RECURRING.finditer(text)
        if found[2] or not _COUNT.search(text, max(0, found.start() - _COUNT_WIDTH), found.start())
    }


def _detected_change(
    older: DatedStatement, newer: DatedStatement, ambiguous: Set[str]
) -> ValueChange | None:
    same_speaker = older.memory.speaker == newer.memory.speaker
    if tells_ending(newer.text):
        return other_language_change(older.text, newer.text, same_speaker=same_speaker)
    plain = _change_by_clauses(older, newer, same_speaker=same_speaker)
    if plain is not None and entity_norm(plain.subject) in ambiguous:
        return None
    if plain is not None and plain.after is not None:
        return plain
    ended = ended_value(older.statement.claims, newer.statement.claims, same_speaker=same_speaker)
    if ended is None or ended.subject.removeprefix("@") in ambiguous:
        return plain
    if plain is None:
        return ended
    same = frozenset(lexemes(plain.before)) <= frozenset(lexemes(ended.before))
    return plain._replace(after=ended.after) if same or ended.after is None else ended


def _change_by_clauses(
    older: DatedStatement, newer: DatedStatement, *, same_speaker: bool
) -> ValueChange | None:
    """Return the change that two plain clauses tell by their words."""
    for told in newer.statement.claims.clause_changes:
        for state in older.statement.claims.clause_states:
            value_change = clause_change(told, state, same_speaker=same_speaker)
            if value_change is not None:
                things = [
                    v.text for slot, v in state.values if slot == "obj" and v.terms == told.theme
                ]
                return ValueChange(things[0] if things else _key(state), *value_change)
    return None


def _key(state: ClauseState) -> str:
    """Return the key of a state's subject; of "I" that of the speaker."""
    first, *rest = state.subject
    if first in ("i", "we"):
        return f"{first}|{state.speaker or ''}"
    if first in ("my", "our"):
        return " ".join(rest)
    subject = " ".join(state.subject)
    return f"@{subject}" if state.called.kind == "name" else subject


def may_change(statement: DatedStatement) -> bool:
    """Return True if a statement may change an earlier one."""
    return statement.statement.claims.may_change or tells_ending(statement.text)


def split_at_changes(
    dated: Sequence[DatedStatement], ambiguous: Set[str] = frozenset()
) -> list[list[DatedStatement]]:
    """Split statements, sorted by time, where one changes those before it."""
    parts: list[list[DatedStatement]] = []
    for statement in sorted(dated, key=lambda t: (t.at, t.memory.id)):
        if not parts or any(change(before, statement, ambiguous) for before in parts[-1]):
            parts.append([statement])
        else:
            parts[-1].append(statement)
    return parts


def ends(newer: DatedStatement, terms: Set[str]) -> bool:
    """Return True if a statement says that a thing with these lexemes has ended."""
    return any(terms & value.terms for value in newer.statement.claims.ended)


def resumes(later: DatedStatement, ended: DatedStatement) -> bool:
    """Return True if a later statement says that what another one ended is so again."""
    same = not _mentioned(later.memory).isdisjoint(_mentioned(ended.memory))
    again = same and later.at > ended.at and _RESUMED.search(later.text) is not None
    return again and ends(ended, later.statement.terms)


def _mentioned(memory: Memory) -> frozenset[str]:
    return frozenset(map(entity_norm, (*memory.entities, memory.speaker or "")))


def probes(statement: DatedStatement) -> Iterator[frozenset[str]]:
    """Yield sets of lexemes; a statement that shares a topic or a change with this one has one."""
    yield from (topic.terms for topic in statement.statement.topics.values())
    claims = statement.statement.claims
    if claims.endings or claims.current or claims.clause_changes or tells_ending(statement.text):
        yield from (frozenset({term}) for term in statement.statement.terms)
    for state_claim in claims.state_claims:
        if not is_attitude(state_claim.verb, choosing=True):
            yield from _probes_of(
                state_claim.subject, state_claim.verb, state_claim.values.values()
            )
        if state_claim.verb == "residence":
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
