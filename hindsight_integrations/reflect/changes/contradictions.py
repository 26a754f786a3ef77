"""Decide by grammar whether a later statement changes an earlier one: pure functions.

A change is told only if both statements are of the same subject and the same attribute, and the
later one says itself that something ended or was replaced (`claims`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.changes.claim_model import (
    ChangeClaim,
    ClauseState,
    StateClaim,
    Value,
    ValueChange,
    groups_of,
    is_attitude,
    members,
)
from hindsight_integrations.reflect.changes.clause_changes import clause_change
from hindsight_integrations.reflect.changes.doubts import is_doubtful
from hindsight_integrations.reflect.changes.ended_values import (
    HABITS,
    ended_value,
    one_thing,
    replacement_value,
)
from hindsight_integrations.reflect.changes.other_language_changes import (
    other_language_change,
    tells_ending,
)
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.changes.subjects import is_another, is_person_noun
from hindsight_integrations.reflect.changes.value_kinds import kinds, may_be_home
from hindsight_integrations.reflect.topics import DatedStatement, statements

_WORDS = word_sets("changes")
_ABOUT_ANY = "*"
_RELATIONS = ("residence", "employment", "study")
_PAIRS = {
    kind: tuple(tuple(pair.split("/")) for pair in pairs.split())
    for kind, pairs in table("changes")["relations"].items()
}
_PARTICIPLES = {"engaged": "engage", "married": "marry"}
_OF_THINGS = {
    "be": ("obj", "on", "with", "at"),
    "run": ("on",),
    "come": ("from",),
    "go": ("through",),
    "be made": ("on", "in", "with", "by"),
}
"""Slots of what a thing rests on, by verb: "runs on Jenkins", "is built with Drupal"."""
_PEOPLE = frozenset(table("changes")["people"]["groups"].split()) | frozenset(
    table("changes")["roles"]["words"].split()
)
_SITES = ("in", "at", "on")
_VISITING = frozenset(table("changes")["single"]["visiting"].split())
_STAYS = frozenset(table("changes")["single"]["stays"].split())
_SINGLE = frozenset(table("changes")["single"]["verbs"].split())
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
_DAY_SLOTS = ("on", "at", "by", "for", "to", "obj")


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
    value_change = _change_by_grammar(older, newer, ambiguous)
    if value_change is None and tells_ending(newer.text):
        return other_language_change(older.text, newer.text, same_speaker=same_speaker)
    if value_change is not None and value_change.after is not None:
        return value_change
    plain = _change_by_clauses(older, newer, same_speaker=same_speaker)
    if plain is not None and entity_norm(plain.subject) in ambiguous:
        return value_change
    if plain is not None and (
        value_change is None or plain.after or value_change.before in plain.before
    ):
        return plain
    ended = ended_value(older.statement.claims, newer.statement.claims, same_speaker=same_speaker)
    if ended is None or ended.subject.removeprefix("@") in ambiguous:
        return value_change
    return value_change if value_change is not None and ended.after is None else ended


def _change_by_clauses(
    older: DatedStatement, newer: DatedStatement, *, same_speaker: bool
) -> ValueChange | None:
    """Return the change that two plain clauses tell by their words."""
    for told in newer.statement.claims.clause_changes:
        for state in older.statement.claims.clause_states:
            value_change = clause_change(told, state, same_speaker=same_speaker)
            if value_change is not None:
                return ValueChange(_key(state), *value_change)
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


def _change_by_grammar(
    older: DatedStatement, newer: DatedStatement, ambiguous: Set[str]
) -> ValueChange | None:
    for change_claim in newer.statement.claims.change_claims:
        if change_claim.subject.removeprefix("@") in ambiguous:
            continue
        for state_claim in older.statement.claims.state_claims:
            if change_claim.about == _ABOUT_ANY and any(
                phrase.is_another for one in newer.statement.claims.endings for phrase in one.others
            ):
                continue
            same_speaker = older.memory.speaker == newer.memory.speaker
            before = _before(change_claim, state_claim, same_speaker=same_speaker)
            if before is not None and not _is_certain(older, newer, change_claim, state_claim):
                continue
            if before is not None and not (
                change_claim.after and before.terms == change_claim.after.terms
            ):
                claims = newer.statement.claims
                after = change_claim.after or replacement_value(
                    before, state_claim, claims, frozenset({change_claim.subject})
                )
                name = after.text if after else None
                return ValueChange(_subject(change_claim, state_claim), before.text, name)
    return None


def _is_certain(
    older: DatedStatement, newer: DatedStatement, change_claim: ChangeClaim, state_claim: StateClaim
) -> bool:
    """Return True unless the change may be of another thing or another value.

    The rent for the garage is not that for the studio; who "uses Slack and Zoom" has two.
    """
    thing = state_claim.values.get("obj")
    if state_claim.verb in ("have", "own") and thing and thing.text.split()[-1] in _PEOPLE:
        return thing in (change_claim.before, change_claim.after)  # "has a son at X"
    if change_claim.before is not None or change_claim.after is None:
        return True
    after = change_claim.after
    called = [
        one.called
        for one in newer.statement.claims.state_claims
        if one.subject == change_claim.subject and one.called and after in one.values.values()
    ]
    if (
        change_claim.about is None
        and state_claim.called
        and called
        and not one_thing(state_claim.called[0], called[0][0])
    ):
        return False
    return all(
        sum(bool(kinds(value) & kinds(after)) for _, value in state.values) < 2
        for state in older.statement.claims.clause_states
    )


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


def _subject(change_claim: ChangeClaim, state_claim: StateClaim) -> str:
    if change_claim.about not in (None, _ABOUT_ANY):
        return change_claim.about or change_claim.subject
    return state_claim.subject if change_claim.about == _ABOUT_ANY else change_claim.subject


def _before(
    change_claim: ChangeClaim, state_claim: StateClaim, *, same_speaker: bool
) -> Value | None:
    """Return the value of a state claim that a change claim ends; None if it ends none."""
    opposed = change_claim.before is not None and change_claim.after is not None
    opposed = opposed and (change_claim.verb == state_claim.verb or state_claim.verb in HABITS)
    takes_place = state_claim.verb in _SINGLE and "obj" not in state_claim.values  # "meets at X"
    habit = state_claim.passive or opposed or takes_place
    if is_attitude(state_claim.verb, choosing=True) and not habit:
        return None
    if change_claim.about == _ABOUT_ANY:
        return _replaced(change_claim, state_claim)
    thing = change_claim.about or change_claim.subject
    personal = (
        is_person_noun(thing)
        and change_claim.about is None
        and change_claim.subject == state_claim.subject
    )
    if not _is_person(thing) and change_claim.verb is None and not personal:
        return _of_thing(change_claim, state_claim, thing, same_speaker=same_speaker)
    if not state_claim.lasting:
        return None
    if change_claim.subject != state_claim.subject:
        return _of_own(change_claim, state_claim)
    if change_claim.slot is not None:
        return _superseded(change_claim, state_claim)
    if change_claim.verb in _WORDS["parting"] | _WORDS["selling"]:
        return None  # `endings` reads whether it was theirs
    if change_claim.verb in _WORDS["dropping"]:
        return _dropped(change_claim, state_claim)
    if change_claim.verb is not None:
        return _withdrawn(change_claim, state_claim)
    return _left(change_claim, state_claim)


def _replaced(change_claim: ChangeClaim, state_claim: StateClaim) -> Value | None:
    """Return the old value of "replaced X with Y", if the state claim has the same owner."""
    owned = state_claim.subject == change_claim.subject or state_claim.subject.startswith(
        f"{change_claim.subject}/"
    )
    by_us = change_claim.subject.startswith("we|") or not _is_person(change_claim.subject)
    impersonal = by_us and not _is_person(state_claim.subject)
    if not (owned or impersonal) or not state_claim.lasting or is_attitude(state_claim.verb):
        return None
    return _equal(change_claim.before, state_claim.values.values())


def _of_thing(
    change_claim: ChangeClaim, state_claim: StateClaim, thing: str, *, same_speaker: bool
) -> Value | None:
    """Return the old value of a moved thing: "moved the launch to May"."""
    own = frozenset(lexemes(thing.rpartition("/")[2]))
    values = dict(state_claim.values)
    if state_claim.subject != thing:
        slot = next((slot for slot, value in values.items() if value.terms == own), None)
        if slot is None or not same_speaker or "@" in thing:
            return None
        del values[slot]
    if change_claim.before is not None:
        return _equal(change_claim.before, values.values())
    if change_claim.about is None and (not state_claim.lasting or is_person_noun(thing)):
        return None
    alike = [
        value
        for slot, value in values.items()
        if change_claim.after is not None
        and value.same_kind(change_claim.after)
        and _may_replace(slot, value, change_claim.after, state_claim)
    ]
    return alike[0] if len(alike) == 1 and change_claim.terms <= state_claim.terms else None


def _may_replace(slot: str, value: Value, after: Value, state_claim: StateClaim) -> bool:
    """Return True for two values of one kind, or of unknown kinds for a place."""
    if value.kind != "name" or kinds(value) & kinds(after) or value.is_sibling(after):
        return True
    stays = slot in _SITES and (state_claim.passive or state_claim.verb in _STAYS)
    return stays and not kinds(value) | kinds(after)


def _superseded(change_claim: ChangeClaim, state_claim: StateClaim) -> Value | None:
    """Return the old value with the same verb and subject as "is now Y"."""
    after = change_claim.after
    if after is not None and after.kind == "role" and state_claim.verb in ("be", "employment"):
        roles = (value for value in state_claim.values.values() if value.kind == "role")
        return next(roles, None)
    if after is None or not change_claim.terms <= state_claim.terms:
        return None
    beside = change_claim.slot == "obj" and change_claim.verb == "use"  # one may use several
    if change_claim.verb != state_claim.verb or beside:
        return None
    slots = [change_claim.slot or "obj"]
    if after.kind in ("date", "time"):
        slots += _DAY_SLOTS
    elif change_claim.verb == "employment":
        slots += ["at", "for"]
    found = (state_claim.values[slot] for slot in slots if slot in state_claim.values)
    return next((value for value in found if value.same_kind(after)), None)


def _dropped(change_claim: ChangeClaim, state_claim: StateClaim) -> Value | None:
    """Return the value X of "dropped X (for Y)", if the subject uses it."""
    if is_attitude(state_claim.verb):
        return None
    if change_claim.verb in _WORDS["leaving"]:
        if change_claim.after is not None and state_claim.verb in _VISITING:
            return None
        relations = _RELATIONS if change_claim.after is not None else _RELATIONS[1:]
        if state_claim.verb not in relations or (
            change_claim.before and change_claim.before.kind != "name"
        ):
            return _related_value(change_claim, state_claim, "parted_or_left")
    return _equal(change_claim.before, state_claim.values.values())


def _related_value(change_claim: ChangeClaim, state_claim: StateClaim, kind: str) -> Value | None:
    """Return the old value if a state claim gives it by a verb of this relation."""
    verb, values = state_claim.verb, state_claim.values
    if verb == "be" and "obj" in values:  # "is a nurse at X", "is a member of X", "is engaged to X"
        if values["obj"].kind == "role":
            verb = "employment"
        else:
            verb = _PARTICIPLES.get(values["obj"].text, values["obj"].text)
    slots = [slot for relation, slot in _PAIRS[kind] if relation == verb]
    slots += ["at", "with", "of"] if (verb, kind) == ("employment", "parted_or_left") else []
    return _equal(change_claim.before, (values[slot] for slot in slots if slot in values))


def _of_own(change_claim: ChangeClaim, state_claim: StateClaim) -> Value | None:
    """Return the value X of "we switched from X to Y" that a thing of ours has."""
    owner, _, thing = state_claim.subject.rpartition("/")
    left = change_claim.verb in _WORDS["leaving"] and change_claim.after is not None
    if (
        owner != change_claim.subject
        or change_claim.before is None
        or not (left or change_claim.verb is None)
    ):
        return None
    acts = any(word in _PEOPLE or word.removesuffix("s") in _PEOPLE for word in thing.split())
    slots = (
        _OF_THINGS.get(state_claim.verb, ()) if not state_claim.passive else _OF_THINGS["be made"]
    )
    if acts or change_claim.about is not None:
        return None
    own = frozenset(lexemes(thing)) | state_claim.terms
    alike = change_claim.after is not None and change_claim.before.same_kind(change_claim.after)
    stated = (v for s, v in state_claim.values.items() if s in slots)
    return _equal(change_claim.before, stated) if alike and change_claim.terms <= own else None


def _withdrawn(change_claim: ChangeClaim, state_claim: StateClaim) -> Value | None:
    """Return the value X of "no longer does X", if the subject does it."""
    verbs = [frozenset(lexemes(verb)) for verb in (change_claim.verb or "", state_claim.verb)]
    if change_claim.verb != state_claim.verb and (verbs[0] != verbs[1] or not verbs[0]):
        return None
    stated = frozenset[str]().union(*(value.terms for value in state_claim.values.values()))
    if not change_claim.terms or not change_claim.terms <= stated | verbs[1]:
        return None
    return change_claim.before or Value(change_claim.verb or "", verbs[0], "thing")


def _left(change_claim: ChangeClaim, state_claim: StateClaim) -> Value | None:
    """Return the old place or possession of a subject that "moved (from X) to Y"."""
    if change_claim.before is not None:
        habit = state_claim.verb in HABITS and change_claim.before.kind == "name"
        feels = is_attitude(state_claim.verb) and not habit
        return None if feels else _equal(change_claim.before, state_claim.values.values())
    after = change_claim.after
    if after is None or not change_claim.terms <= state_claim.terms:
        return None
    if change_claim.relocates and state_claim.verb == "residence":
        home = next((v for s, v in state_claim.values.items() if s in ("in", "at", "to")), None)
        return home if home is not None and may_be_home(after, home) else None
    groups, values = groups_of(after.text), state_claim.values.values()
    alike = next((v for v in values if groups_of(v.text.split()[-1]) & groups), None)
    alike = next((v for v in values if groups_of(v.text) & groups), alike)
    beside = ("obj", "to", "near", "by") if state_claim.verb != "use" else ()
    places = (v for s, v in state_claim.values.items() if s not in beside)
    siblings = (v for v in places if v.is_sibling(after) and not is_attitude(state_claim.verb))
    return alike or next(siblings, None)


def _equal(value: Value | None, others: Iterable[Value]) -> Value | None:
    """Return the value equal to this one; "the Skoda" equals the "old Skoda" named before."""
    if value is None:
        return None
    return next(
        (
            other
            for other in others
            if other.terms == value.terms
            or other.proper == value.terms
            or value.terms in (other.bare, frozenset(lexemes(other.text)))
            or (other.kind == value.kind == "number" and value.terms == _digits(other.terms))
        ),
        None,
    )


def _digits(terms: Iterable[str]) -> frozenset[str]:
    """Return the numbers among lexemes: "900" of "900 euros"."""
    return frozenset(term for term in terms if term.isdecimal())


def _is_person(key: str) -> bool:
    """Return True for the key of a speaker or of a name, which may be a person's."""
    return "/" not in key and key.startswith(("@", "i|", "we|"))


def probes(statement: DatedStatement) -> Iterator[frozenset[str]]:
    """Yield sets of lexemes; a statement that shares a topic or a change with this one has one."""
    yield from (topic.terms for topic in statement.statement.topics.values())
    claims = statement.statement.claims
    if claims.endings or claims.current or claims.clause_changes or tells_ending(statement.text):
        yield from (frozenset({term}) for term in statement.statement.terms)
    for change_claim in claims.change_claims:
        yield from _probes_of(
            change_claim.about or change_claim.subject,
            change_claim.verb,
            (change_claim.before, change_claim.after),
        )
        if change_claim.relocates:
            yield from (frozenset(lexemes(verb)) for verb in ("live", "reside", "base"))
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
