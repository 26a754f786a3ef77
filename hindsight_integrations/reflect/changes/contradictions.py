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
    Holding,
    PlainState,
    Turn,
    Value,
    groups_of,
    is_attitude,
    members,
)
from hindsight_integrations.reflect.changes.doubts import is_doubtful
from hindsight_integrations.reflect.changes.ended_values import (
    HABITS,
    ended_value,
    one_thing,
    sequel,
)
from hindsight_integrations.reflect.changes.foreign import foreign_change, tells_ending
from hindsight_integrations.reflect.changes.model import DatedStatement, Shift
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.changes.plain_changes import plain_step
from hindsight_integrations.reflect.changes.subjects import is_another, is_person_noun
from hindsight_integrations.reflect.changes.value_kinds import kinds, may_be_home
from hindsight_integrations.reflect.topics import statements

_WORDS = word_sets("changes")
_ABOUT_ANY = "*"
_BONDS = ("residence", "employment", "study")
_PAIRS = {
    kind: tuple(tuple(pair.split("/")) for pair in pairs.split())
    for kind, pairs in table("changes")["bonds"].items()
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
_PLACES = ("of", "at", "for", "with", "on", "in", "to", "from", "by")
_AT = ("at", "with", "on")
_SITES = ("in", "at", "on")
_VISITING = frozenset(table("changes")["single"]["visiting"].split())
_STAYS = frozenset(table("changes")["single"]["stays"].split())
_MANY = frozenset({"use"})
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
    if told is None or _is_limited(older.text, newer.text, told):
        return None
    doubtful = is_doubtful(older, newer, told) or is_another(older, newer, told)
    return None if doubtful or _is_of_either(older, newer, told) else told


def _is_of_either(older: DatedStatement, newer: DatedStatement, told: Shift) -> bool:
    """Return True if an earlier statement gives two values of the kind of the one that begins.

    Who "is with Santander and uses Monzo" may have replaced either. The value before, if the
    later statement names it, is no matter of doubt.
    """
    if told.after is None or frozenset(lexemes(told.before)) <= newer.statement.terms:
        return False
    after = kinds(plain_value(told.after))
    claims = older.statement.claims
    given = [value for holding in claims.holdings for value in holding.values.values()]
    given += [value for state in claims.states for _, value in state.values]
    alike = {value.terms for value in given if value.kind == "name" and kinds(value) & after}
    return any(one.isdisjoint(other) for one in alike for other in alike)


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
    same_speaker = older.memory.speaker == newer.memory.speaker
    told = _told_by_grammar(older, newer, ambiguous)
    if told is None and tells_ending(newer.text):
        foreign = foreign_change(older.text, newer.text, same_speaker=same_speaker)
        return Shift(*foreign) if foreign else None
    if told is not None and told.after is not None:
        return told
    plain = _plainly_told(older, newer, same_speaker=same_speaker)
    if plain is not None and entity_norm(plain.subject) in ambiguous:
        return told
    if plain is not None and (told is None or plain.after or told.before in plain.before):
        return plain
    ended = ended_value(older.statement.claims, newer.statement.claims, same_speaker=same_speaker)
    if ended is None or ended.subject.removeprefix("@") in ambiguous:
        return told
    return told if told is not None and ended.after is None else Shift(*ended)


def _plainly_told(
    older: DatedStatement, newer: DatedStatement, *, same_speaker: bool
) -> Shift | None:
    """Return the change that the words of two plain clauses tell."""
    for step in newer.statement.claims.steps:
        for state in older.statement.claims.states:
            told = plain_step(step, state, same_speaker=same_speaker)
            if told is not None:
                return Shift(_key(state), *told)
    return None


def _key(state: PlainState) -> str:
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


def _told_by_grammar(
    older: DatedStatement, newer: DatedStatement, ambiguous: Set[str]
) -> Shift | None:
    for turn in newer.statement.claims.turns:
        if turn.subject.removeprefix("@") in ambiguous:
            continue
        for holding in older.statement.claims.holdings:
            if turn.about == _ABOUT_ANY and any(
                phrase.is_another for one in newer.statement.claims.endings for phrase in one.others
            ):
                continue
            same_speaker = older.memory.speaker == newer.memory.speaker
            before = _before(turn, holding, same_speaker=same_speaker)
            if before is not None and not _is_certain(older, newer, turn, holding):
                continue
            if before is not None and not (turn.after and before.terms == turn.after.terms):
                claims = newer.statement.claims
                after = turn.after or sequel(before, holding, claims, frozenset({turn.subject}))
                name = after.text if after else None
                return Shift(_subject(turn, holding), before.text, name)
    return None


def _is_certain(older: DatedStatement, newer: DatedStatement, turn: Turn, holding: Holding) -> bool:
    """Return True unless a turn is of another thing, or it is unclear which value it ends.

    The rent for the garage is not that for the studio; who "uses Slack and Zoom" has two.
    """
    thing = holding.values.get("obj")
    if holding.verb in ("have", "own") and thing and thing.text.split()[-1] in _PEOPLE:
        return thing in (turn.before, turn.after)  # "has a son at X"
    if turn.before is not None or turn.after is None:
        return True
    after = turn.after
    called = [
        one.called
        for one in newer.statement.claims.holdings
        if one.subject == turn.subject and one.called and after in one.values.values()
    ]
    if (
        turn.about is None
        and holding.called
        and called
        and not one_thing(holding.called[0], called[0][0])
    ):
        return False
    return all(
        sum(bool(kinds(value) & kinds(after)) for _, value in state.values) < 2
        for state in older.statement.claims.states
    )


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


def _subject(turn: Turn, holding: Holding) -> str:
    if turn.about not in (None, _ABOUT_ANY):
        return turn.about or turn.subject
    return holding.subject if turn.about == _ABOUT_ANY else turn.subject


def _before(turn: Turn, holding: Holding, *, same_speaker: bool) -> Value | None:
    """Return the value of a holding that a turn ends."""
    opposed = turn.before is not None and turn.after is not None
    opposed = opposed and (turn.verb == holding.verb or holding.verb in HABITS)
    takes_place = holding.verb in _SINGLE and "obj" not in holding.values  # "meets at X"
    habit = holding.passive or opposed or takes_place
    if is_attitude(holding.verb, choosing=True) and not habit:
        return None
    if turn.about == _ABOUT_ANY:
        return _replaced(turn, holding)
    thing = turn.about or turn.subject
    personal = is_person_noun(thing) and turn.about is None and turn.subject == holding.subject
    if not _is_person(thing) and turn.verb is None and not personal:
        return _of_thing(turn, holding, thing, same_speaker=same_speaker)
    if not holding.lasting:
        return None
    if turn.subject != holding.subject:
        return _of_own(turn, holding)
    if turn.slot is not None:
        return _superseded(turn, holding)
    if turn.verb in _WORDS["parting"] | _WORDS["selling"]:
        return _parted(turn, holding)
    if turn.verb in _WORDS["dropping"]:
        return _dropped(turn, holding)
    if turn.verb is not None:
        return _withdrawn(turn, holding)
    return _left(turn, holding)


def _replaced(turn: Turn, holding: Holding) -> Value | None:
    """Return the value that "replaced X with Y" ends, if the holding is of the same owner."""
    owned = holding.subject == turn.subject or holding.subject.startswith(f"{turn.subject}/")
    by_us = turn.subject.startswith("we|") or not _is_person(turn.subject)
    impersonal = by_us and not _is_person(holding.subject)
    if not (owned or impersonal) or not holding.lasting or is_attitude(holding.verb):
        return None
    return _equal(turn.before, holding.values.values())


def _of_thing(turn: Turn, holding: Holding, thing: str, *, same_speaker: bool) -> Value | None:
    """Return the value that a thing had before it was moved, as in "moved the launch to May"."""
    own = frozenset(lexemes(thing.rpartition("/")[2]))
    values = dict(holding.values)
    if _is_done_to(thing, holding):
        return _equal(turn.before, values.values())
    if holding.subject != thing:
        slot = next((slot for slot, value in values.items() if value.terms == own), None)
        if slot is None or not same_speaker or "@" in thing:
            return None
        del values[slot]
    if turn.before is not None:
        return _equal(turn.before, values.values())
    if turn.about is None and (not holding.lasting or is_person_noun(thing)):
        return None
    alike = [
        value
        for slot, value in values.items()
        if turn.after is not None
        and value.same_kind(turn.after)
        and _may_replace(slot, value, turn.after, holding)
    ]
    return alike[0] if len(alike) == 1 and turn.terms <= holding.terms else None


def _may_replace(slot: str, value: Value, after: Value, holding: Holding) -> bool:
    """Return True for two values of one kind; also of unknown kinds for where a thing is."""
    if value.kind != "name" or kinds(value) & kinds(after) or value.is_sibling(after):
        return True
    stays = slot in _SITES and (holding.passive or holding.verb in _STAYS)
    return stays and not kinds(value) | kinds(after)


def _is_done_to(thing: str, holding: Holding) -> bool:
    """Return True for "the lead of X", if the holding is "X is led by Y"."""
    does, of, whole = thing.partition(" of the ")
    stems = lexemes(holding.verb)
    same = len(stems) == 1 and any(stem.startswith(stems[0]) for stem in lexemes(does))
    return bool(of) and holding.passive and holding.subject == whole and same


def _superseded(turn: Turn, holding: Holding) -> Value | None:
    """Return the value that the same verb gave the same subject before "is now Y"."""
    after = turn.after
    if after is not None and after.kind == "role" and holding.verb in ("be", "employment"):
        roles = (value for value in holding.values.values() if value.kind == "role")
        return next(roles, None)
    if after is None or not turn.terms <= holding.terms:
        return None
    if turn.verb == "be" != holding.verb:
        return _elsewhere(turn, holding, after)
    if turn.verb != holding.verb:
        return None
    if turn.slot == "obj" and turn.verb in _MANY and not _serves_the_same(turn, holding):
        return None
    slots = [turn.slot or "obj"]
    if after.kind in ("date", "time"):
        slots += _DAY_SLOTS
    elif turn.verb == "employment":
        slots += ["at", "for"]
    found = (holding.values[slot] for slot in slots if slot in holding.values)
    return next((value for value in found if value.same_kind(after)), None)


def _elsewhere(turn: Turn, holding: Holding, after: Value) -> Value | None:
    """Return where the subject was, in other words, before "is now at Y"."""
    places = {s: v for s, v in holding.values.items() if s != "obj"}
    if turn.slot == "in":
        return next((value for value in places.values() if value.is_sibling(after)), None)
    if turn.slot not in _AT or not _is_at(turn, holding):
        return None
    slots = ("at", "for", "with", "on", "in") if _is_person(turn.subject) else (turn.slot,)
    found = (places[slot] for slot in slots if slot in places)
    return next((value for value in found if value.kind == after.kind == "name"), None)


def _is_at(turn: Turn, holding: Holding) -> bool:
    """Return True if "is now at Y" says where somebody works, or where a thing takes place."""
    if _is_person(turn.subject):
        return holding.verb == "employment"
    return holding.verb in _SINGLE or holding.passive


def _serves_the_same(turn: Turn, holding: Holding) -> bool:
    """Return True if "now uses Y" names a thing of the kind, or for the purpose, of the one before.

    Several things may be in use at a time.
    """
    before, after = holding.values.get("obj"), turn.after
    if before is None or after is None:
        return False
    alike = bool(groups_of(before.text) & groups_of(after.text))
    return alike or bool(turn.terms) or before.is_sibling(after)


def _dropped(turn: Turn, holding: Holding) -> Value | None:
    """Return the X of "dropped X (for Y)", if the subject uses it."""
    if is_attitude(holding.verb) or turn.bond not in (None, holding.verb):
        return None
    if turn.bond is not None:
        return _equal(turn.before, holding.values.values())
    if turn.verb in _WORDS["leaving"]:
        given = _bound(turn, holding) if turn.after is not None else None
        if given is not None or (turn.after is not None and holding.verb in _VISITING):
            return given
        bonds = _BONDS if turn.after is not None else _BONDS[1:]
        if holding.verb not in bonds or (turn.before and turn.before.kind != "name"):
            return _bond(turn, holding, "parted_or_left")
    return _equal(turn.before, holding.values.values())


def _bound(turn: Turn, holding: Holding) -> Value | None:
    """Return the X of "left X for Y" that a habit or bond gives the subject, and no appointment."""
    values = holding.values
    if any(v.kind in ("date", "time") and not v.text.endswith("s") for v in values.values()):
        return None
    before = _equal(turn.before, (values[slot] for slot in _PLACES if slot in values))
    if before is None or turn.after is None or holding.verb not in _VISITING:
        return before
    return before if kinds(before) & kinds(turn.after) or before.is_sibling(turn.after) else None


def _parted(turn: Turn, holding: Holding) -> Value | None:
    """Return the X of "broke up with X" or "sold X", if the subject has such a bond."""
    if turn.verb in _WORDS["selling"]:
        return _bond(turn, holding, "possession")
    if turn.verb in _WORDS["separating"]:
        return _bond(turn, holding, "couple")
    if turn.verb == "unsubscribe":
        return _bond(turn, holding, "subscription")
    if holding.verb in _BONDS[1:]:
        return _equal(turn.before, holding.values.values())
    return _bond(turn, holding, "parted_or_left")


def _bond(turn: Turn, holding: Holding, kind: str) -> Value | None:
    """Return the value before a turn if a holding gives it by a verb of such a bond."""
    verb, values = holding.verb, holding.values
    if verb == "be" and "obj" in values:  # "is a nurse at X", "is a member of X", "is engaged to X"
        if values["obj"].kind == "role":
            verb = "employment"
        else:
            verb = _PARTICIPLES.get(values["obj"].text, values["obj"].text)
    slots = [slot for bond, slot in _PAIRS[kind] if bond == verb]
    slots += ["at", "with", "of"] if (verb, kind) == ("employment", "parted_or_left") else []
    return _equal(turn.before, (values[slot] for slot in slots if slot in values))


def _of_own(turn: Turn, holding: Holding) -> Value | None:
    """Return the X of "we switched from X to Y" that a thing of ours has: "our CI runs on X"."""
    owner, _, thing = holding.subject.rpartition("/")
    left = turn.verb in _WORDS["leaving"] and turn.after is not None
    if owner != turn.subject or turn.before is None or not (left or turn.verb is None):
        return None
    acts = any(word in _PEOPLE or word.removesuffix("s") in _PEOPLE for word in thing.split())
    slots = _OF_THINGS.get(holding.verb, ()) if not holding.passive else _OF_THINGS["be made"]
    if acts or turn.about is not None:
        return None
    own = frozenset(lexemes(thing)) | holding.terms
    alike = turn.after is not None and turn.before.same_kind(turn.after)
    stated = (v for s, v in holding.values.items() if s in slots)
    return _equal(turn.before, stated) if alike and turn.terms <= own else None


def _withdrawn(turn: Turn, holding: Holding) -> Value | None:
    """Return the X of "no longer does X", if the subject does it."""
    verbs = [frozenset(lexemes(verb)) for verb in (turn.verb or "", holding.verb)]
    if turn.verb != holding.verb and (verbs[0] != verbs[1] or not verbs[0]):
        return None
    stated = frozenset[str]().union(*(value.terms for value in holding.values.values()))
    if not turn.terms or not turn.terms <= stated | verbs[1]:
        return None
    return turn.before or Value(turn.verb or "", verbs[0], "thing")


def _left(turn: Turn, holding: Holding) -> Value | None:
    """Return where the subject was, or what it had, before it "moved (from X) to Y"."""
    if turn.before is not None:
        habit = holding.verb in HABITS and turn.before.kind == "name"
        feels = is_attitude(holding.verb) and not habit
        return None if feels else _equal(turn.before, holding.values.values())
    after = turn.after
    if after is None or not turn.terms <= holding.terms:
        return None
    if turn.relocates and holding.verb == "residence":
        home = next((v for s, v in holding.values.items() if s in ("in", "at", "to")), None)
        return home if home is not None and may_be_home(after, home) else None
    groups, values = groups_of(after.text), holding.values.values()
    alike = next((v for v in values if groups_of(v.text.split()[-1]) & groups), None)
    alike = next((v for v in values if groups_of(v.text) & groups), alike)
    beside = ("obj", "to", "near", "by") if holding.verb != "use" else ()
    places = (v for s, v in holding.values.items() if s not in beside)
    siblings = (v for v in places if v.is_sibling(after) and not is_attitude(holding.verb))
    return alike or next(siblings, None)


def _equal(value: Value | None, others: Iterable[Value]) -> Value | None:
    """Return the value equal to this one; "the Skoda" is the "old Skoda" named before."""
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
    """Return the numbers among lexemes: those of "900 euros"."""
    return frozenset(term for term in terms if term.isdecimal())


def _is_person(key: str) -> bool:
    """Return True for the key of a speaker or of a name alone, which may be a person's."""
    return "/" not in key and key.startswith(("@", "i|", "we|"))


def probes(statement: DatedStatement) -> Iterator[frozenset[str]]:
    """Yield sets of lexemes; a statement that shares a topic or a change with this one has one."""
    yield from (topic.terms for topic in statement.statement.topics.values())
    claims = statement.statement.claims
    if claims.endings or claims.current or claims.steps or tells_ending(statement.text):
        yield from (frozenset({term}) for term in statement.statement.terms)
    for turn in claims.turns:
        yield from _probes_of(turn.about or turn.subject, turn.verb, (turn.before, turn.after))
        if turn.relocates:
            yield from (frozenset(lexemes(verb)) for verb in ("live", "reside", "base"))
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
