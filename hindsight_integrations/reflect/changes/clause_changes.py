"""Plain changes: what the frames of a later clause change of those of an earlier one.

A change is told if an earlier statement gives the same subject the value that ends, or just one
value of the kind, or in the relation, of the one that begins.
"""

from __future__ import annotations

import re

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.reflect.changes.claim_model import (
    ClauseChange,
    ClauseState,
    Value,
    is_attitude,
    is_time,
    terms_of,
)
from hindsight_integrations.reflect.changes.clause_subjects import ACTING, is_moved, role_of
from hindsight_integrations.reflect.changes.ended_values import HABITS
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.changes.value_kinds import (
    are_alike,
    kinds,
    may_be_home,
    same_verb,
    shares_name,
)

_WORDS = word_sets("frames")
_RELATIONS = word_sets("kinds", "relations")
_USES = _RELATIONS["uses"]
_EVENTS = word_sets("kinds", "events")["once"]
_MEETING = word_sets("kinds", "called")["meeting"]
_WORKPLACES = word_sets("kinds", "called")["workplaces"] | word_sets("changes")["posts"]
_GROUPS = frozenset({"team", "choir", "club", "company"})
_PLACING = re.compile(r" (?:in|on|at|above|near|by) ")
_BESIDE = frozenset({"at", "in", "to", "with", "for", "on"})
_POSSESSING = ("have", "own")
_VISITING = word_sets("changes", "single")["visiting"]
_GUIDING = word_sets("changes", "single")["guiding"]
_RELOCATING = word_sets("changes")["relocating"]
_ANY = frozenset(lexemes(" ".join(_WORDS["any"] | _WORDS["accounts"] | {"house", "home"})))
_HOUSEHOLD = frozenset(lexemes(" ".join(_WORDS["household"])))
_OF_THINGS = {
    "be": ("obj", "with", "from", "on", "at"),
    "come": ("from",),
    "run": ("on",),
    "go": ("through",),
}
"""Slots of what a thing of ours is or rests on, by verb: "our CI runs on Jenkins"."""
_MADE = ("on", "in", "with", "by")


def clause_change(
    change: ClauseChange, state: ClauseState, *, same_speaker: bool
) -> tuple[str, str | None] | None:
    """Return the values before and after, if a clause changes an earlier statement's value."""
    if _is_one_off_event(state):
        return None
    feels = is_attitude(state.verb) and state.verb not in HABITS | _USES
    feels = feels and any(slot == "obj" for slot, _ in state.values)
    held = None if feels else _held_by(change, state)
    if held is not None:
        return held
    role = role_of(change, state, same_speaker=same_speaker)
    if role is None:
        return None
    before = _liked(change, state, role) if feels else _before(change, state, role)
    if before is None or (change.after is not None and change.after.terms <= before.terms):
        return None  # said once more, or less exactly
    if _is_moved_work(change, state, before):
        return None
    after = change.after
    if change.substitute is not None and before.kind == "name" and state.verb in _USES:
        substitute, does = change.substitute
        after = substitute if does <= state.terms and substitute.terms != before.terms else None
    return before.text, after.text if after else None


def _is_moved_work(change: ClauseChange, state: ClauseState, before: Value) -> bool:
    """Return True if what a work is made with is followed by where it was put.

    "Written in Markdown", then "moved to Brevo", are different matters, unless both are known to be
    of one kind.
    """
    after, told = change.after, change.cue == "move" and change.before is None
    made = state.verb == "use" and any(s in ("in", "with") and v is before for s, v in state.values)
    return told and made and after is not None and not kinds(before) & kinds(after)


def _held_by(change: ClauseChange, state: ClauseState) -> tuple[str, str | None] | None:
    """Return a change of who holds a role: "X is led by A", then "B now leads X"."""
    by = [value for slot, value in state.values if slot == "by"] if state.passive else []
    thing = change.after if change.cue == "now" else change.before
    own = thing is not None and thing.terms == frozenset(lexemes(" ".join(state.subject)))
    if len(by) != 1 or not own or change.slot != "obj" or not same_verb(change.verb, state.verb):
        return None
    agent = " ".join(word for word, _ in change.opening)
    held = agent == by[0].text.casefold()
    if change.cue == "end" and held:
        return by[0].text, change.successor.text if change.successor else None
    named = change.cue == "now" and not held and all(tag == "NNP" for _, tag in change.opening)
    return (by[0].text, agent.title()) if named and agent else None


def _before(change: ClauseChange, state: ClauseState, role: str) -> Value | None:
    if change.cue == "end":
        return _ended_value(change, state) if role == "same" else None
    if role == "attribute" and change.cue != "now":
        return None
    if change.before is not None and (left := _left_value(change, state, role)) is not None:
        return left
    if change.before is not None and change.cue != "now":
        return None
    if change.after is None or (is_time(change.after) and role == "own"):
        return None
    return (
        _now_value(change, state, role) if change.cue == "now" else _replaced(change, state, role)
    )


def _liked(change: ClauseChange, state: ClauseState, role: str) -> Value | None:
    """Return what somebody liked before "switched to Y", which is of its kind."""
    chosen = not is_attitude(state.verb, choosing=True) and change.verb in _WORDS["switches"]
    if role != "same" or not chosen or change.after is None:
        return None
    liked = [v for slot, v in state.values if slot == "obj" and kinds(v) & kinds(change.after)]
    return liked[0] if len(liked) == 1 else None


def _ended_value(change: ClauseChange, state: ClauseState) -> Value | None:
    before, verb = change.before, change.verb
    if before is None or not change.limits <= state.terms:
        return None
    if _is_shared_home(change, state):
        return before
    has = verb == "have" and change.slot == "obj" and state.verb in _USES
    if not (has or same_verb(verb, state.verb) or (_is_relation(change, state) and verb == "be")):
        return None
    uses = "use" == verb == state.verb
    stated = terms_of(value for _, value in state.values)
    if verb == state.verb and change.slot == "obj" and before.terms <= stated:
        return before  # "no longer does the linguistics minor", for "does a minor in linguistics"
    named = before.kind == "name"
    for slot, value in state.values:
        beside = slot == change.slot or ({slot, change.slot} <= _BESIDE and named)
        if beside and _equal(before, value):
            return before
        if uses and slot in _BESIDE and named and before.terms == value.terms:
            return value
    return None


def _is_shared_home(change: ClauseChange, state: ClauseState) -> bool:
    """Return True for a flat shared with X, before "no longer lives with X"."""
    home = any(slot == "obj" and "house" in kinds(value) for slot, value in state.values)
    return change.verb == "residence" and home and (
        any((slot, value) == ("with", change.before) for slot, value in state.values)
    )  # fmt: skip


def _is_relation(change: ClauseChange, state: ClauseState) -> bool:
    """Return True for a relation that "is no longer at X" ends: "works at X", "insured with X"."""
    return state.passive or state.verb == "employment" or (
        state.verb in _USES and change.slot in ("at", "with")
    )  # fmt: skip


def _left_value(change: ClauseChange, state: ClauseState, role: str) -> Value | None:
    """Return the value that a clause says was left, if the new value may replace it."""
    before, after = change.before, change.after
    if before is None or after is None or not _tells_same(change, state, before):
        return None
    within = change.verb in _WORDS["switches"] or _is_of_same_group(before, after, state)
    value = next(
        (v for v in _held(state) if _equal(before, v) or (within and before.terms < v.terms)), None
    )
    said = before.terms <= state.terms - frozenset(lexemes(" ".join(state.subject)))
    if value is None and within and change.bare and said and before.kind == "thing":
        value = before if role == "same" else None  # "pays quarterly", "works the early shift"
    if value is None or (role == "own" and value not in _its_own(state)):
        return None
    alike = _is_alike(before, value, after)
    alike = alike or (state.verb not in _VISITING and _is_new_place(change, state, before))
    alike = alike or _is_plainly_switched(change, state, within=within)
    alike = alike or (role == "same" and _is_put_elsewhere(change, state, value))
    if after.kind == "thing" and not alike:
        return None  # "from the train to the platform"
    named = before.kind == after.kind == "name" or "number" in (before.kind, after.kind)
    if change.cue == "leave" and not (alike or (named and state.verb not in _VISITING)):
        return None
    return value if before.terms >= value.terms or before.kind == "name" else before


def _is_alike(before: Value, value: Value, after: Value) -> bool:
    """Return True for two values of one kind, or with the same last word."""
    ends = {before.text.split()[-1], after.text.split()[-1]}
    shared = (kinds(before) | kinds(value)) & kinds(after)
    return bool(shared) or value.is_sibling(after) or len(ends) == 1 or ends <= _MEETING


def _is_plainly_switched(change: ClauseChange, state: ClauseState, *, within: bool) -> bool:
    """Return True for "from X to Y" without articles, of a group or a single-valued relation."""
    if change.before is None or change.after is None:
        return False
    one_size = len(change.after.text.split()) <= len(change.before.text.split())
    told = one_size or bool(change.theme and change.theme <= state.terms)  # "for the winter feed"
    sure = within or state.verb in _WORDS["positions"]
    return sure and change.bare and told and not _is_idle(change.after)


def _is_put_elsewhere(change: ClauseChange, state: ClauseState, value: Value) -> bool:
    """Return True for the place or use of a thing that was moved or switched."""
    beside = any(slot != "obj" and one is value for slot, one in state.values)
    exact = change.before is not None and change.before.terms == value.terms
    idle = change.after is None or _is_idle(change.after)
    swapped = change.verb in _WORDS["switches"] and exact and beside and not idle
    rested = state.is_thing and (beside or state.verb in _WORDS["rests"])
    moved = rested and (not change.theme or change.theme <= state.terms)
    return swapped or moved or _is_kept(change, state, value)


def _is_idle(after: Value) -> bool:
    """Return True for an occasion that replaces nothing, such as "lunch" of "left for lunch"."""
    return after.text.casefold() in _WORDS["no_target"] | _EVENTS


def _is_kept(change: ClauseChange, state: ClauseState, value: Value) -> bool:
    """Return True for the place of a thing that was moved: "keeps the receipts in the box"."""
    things = [thing for slot, thing in state.values if slot == "obj"]
    kept = state.verb not in _POSSESSING and not is_attitude(state.verb)
    return kept and [thing.terms for thing in things] == [change.theme] and value not in things


def _is_new_place(change: ClauseChange, state: ClauseState, before: Value) -> bool:
    """Return True if somebody who worked, lived or belonged at X may have left it for Y."""
    if change.after is None:
        return False
    words = re.split(_PLACING, change.after.text.casefold())[0].split()
    after = plain_value(" ".join(words))
    if state.verb == "residence":
        return "house" in kinds(after)
    meets = same_verb(state.verb, "meet")
    bound = meets or any(
        slot in _WORDS["relation"] | {"to"} and _equal(before, value)
        for slot, value in state.values
    )
    visits = state.verb == "be" and not (
        change.bare or kinds(before) & _GROUPS or any(slot == "obj" for slot, _ in state.values)
    )
    place = words[-1] in _WORKPLACES or "company" in kinds(after)
    group = kinds(before) & _GROUPS and len(words) < 3 and words[-1].endswith("ing")
    group = group or (change.bare and len(words) == len(before.text.split()) == 1 and not visits)
    idle = after.text in _WORDS["no_target"] or words[-1] in _EVENTS
    return bound and bool(place or group) and not (visits or idle)


def _is_of_same_group(before: Value, after: Value, state: ClauseState) -> bool:
    """Return True for a change of group by short names: "left platform for data"."""
    named = [
        value
        for _, value in state.values
        if before.terms < value.terms
        and kinds(value) & _GROUPS
        and (value.is_sibling(after) or " " not in before.text + after.text)
    ]
    return len(named) == 1


def _tells_same(change: ClauseChange, state: ClauseState, before: Value) -> bool:
    """Return True if the moved thing is the earlier subject or value: "switched banks"."""
    told = change.theme - _HOUSEHOLD | change.limits
    kind = frozenset(lexemes(" ".join(name.replace("_", " ") for name in kinds(before))))
    return told <= state.terms | kind | _ANY


def _replaced(change: ClauseChange, state: ClauseState, role: str) -> Value | None:
    """Return the only value of the new value's kind, for "moved (the blog) to Y"."""
    after = change.after
    if after is None or not change.theme <= state.terms | _ANY:
        return None
    given = _its_own(state) if role == "own" else _used(state)
    fit = _RELATIONS.get(state.verb)
    told = frozenset(k for k in kinds(after) if not fit or k in fit or k.startswith("alternatives"))
    alike = [v for v in given if kinds(v) & told]
    if not alike and change.theme and not is_moved(change, state):
        alike = [
            v
            for slot, v in state.values
            if v.kind == after.kind == "name"
            and slot in _WORDS["relation"] | {"from"}
            and not v.terms & change.theme
        ]
    if not alike and change.theme and change.theme <= frozenset(lexemes(state.verb)):
        alike = [value for _, value in state.values if is_time(value) and value.same_kind(after)]
    if not alike and role == "same":
        return (
            _lived_in(change, state)
            or _rested_on(change, state)
            or _sibling(change, state)
            or _field(change, state)
        )
    return alike[0] if len(alike) == 1 else None


def _field(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return the field of study or work that "switched to geology" replaces."""
    after = change.after
    if after is None or after.kind != "thing" or kinds(after):
        return None
    slots = {
        ("study", "switch"): ("obj", "in"),
        ("train", "switch"): ("in",),
        ("employment", "move"): ("in",),
    }
    told = slots.get((state.verb, change.verb), ())
    held = [v for slot, v in state.values if slot in told and v.kind == "thing"]
    return held[0] if change.bare and after.text.isalpha() and len(held) == 1 else None


def _sibling(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return the value with the same preposition and head noun: "on the fifth floor"."""
    if (after := change.after) is None:
        return None
    beside = (value for slot, value in state.values if slot in _WORDS["relation"] | {"obj"})
    held = [value for value in beside if are_alike(value, after)]
    bound = change.verb in _WORDS["switches"] or state.verb not in _POSSESSING
    return held[0] if len(held) == 1 and bound else None


def _lived_in(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return the residence of somebody who "moved to Y", if Y is no organisation."""
    works = change.is_organisation and change.opening[-1:] != (("we", "PRP"),)
    moved = change.verb in _RELOCATING and not (change.theme or works) and change.after
    places = [v for slot, v in state.values if slot == "in" and v.kind == "name"]
    home = state.verb == "residence" or (
        state.verb in ("rent", "share") and any("house" in kinds(v) for _, v in state.values)
    )
    lived = moved and home and moved.kind == "name" and not kinds(moved)
    sure = lived and len(places) == 1 and moved and may_be_home(moved, places[0])
    return places[0] if sure else None


def _rested_on(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return the place of a thing that was moved, or "is now in Y"."""
    after = change.after
    meets = state.subject[-1] in _MEETING and same_verb(state.verb, "meet")
    rests = meets or (state.is_thing and (state.passive or state.verb in _WORDS["rests"]))
    moves = change.cue == "move" or change.verb == "be" or same_verb(change.verb, state.verb)
    if after is None or not (rests and moves) or after.kind not in ("name", "thing"):
        return None
    stands = change.cue == "move" and state.verb in _WORDS["stands"]
    if after.kind == "thing" and (change.bare or not (stands or change.slot in ("in", "at", "on"))):
        return None  # "is now in review", "is now under the desk"
    slots = {change.slot} & _WORDS["where"] if change.cue == "now" else _WORDS["where"]
    kept = state.passive and not is_time(after)  # "is held at X", "is now at the racecourse"
    held = [
        v
        for slot, v in state.values
        if slot in slots and (kept or v.kind == after.kind)
        if not (slot == "with" and is_given_name(v.text.split()[0]))  # company, and no place
    ]
    return held[0] if len(held) == 1 and (meets or _may_follow(held[0], change)) else None


def _may_follow(before: Value, change: ClauseChange) -> bool:
    """Return False for names of different kinds, and if only one has a known kind."""
    if change.after is None:
        return False
    here, there = kinds(before), kinds(change.after)
    if (here and there) or change.after.kind == "thing":
        return bool(here & there) or not (here and there)
    placed = change.place and change.cue != "move" and change.slot in ("in", "at")
    return not placed and all(kind.startswith("name ") for kind in here | there)


def _held(state: ClauseState) -> list[Value]:
    """Return the values, except places and companions of one: "has a son at Elm School"."""
    things = [v.text.casefold().split()[-1] for slot, v in state.values if slot == "obj"]
    bound = state.verb not in _POSSESSING or not things or things[0] not in ACTING
    return [v for slot, v in state.values if (bound or slot == "obj") and slot in _WORDS["slots"]]


def _used(state: ClauseState) -> list[Value]:
    """Return the values if the verb states what somebody uses, does or belongs to."""
    return _held(state) if state.verb in _USES or state.verb == "employment" else []


def _its_own(state: ClauseState) -> list[Value]:
    """Return what a thing is or comes from: "our bank is X", "our power comes from X"."""
    slots = _OF_THINGS.get(state.verb, _MADE if state.passive else ())
    if not state.is_thing:
        slots = slots[:1]  # "our dentist is X"; not where a boss is
    return [value for slot, value in state.values if slot in slots]


def _now_value(change: ClauseChange, state: ClauseState, role: str) -> Value | None:
    """Return the only value of the kind of Y, for "is now Y"."""
    after = change.after
    if after is None or not change.limits <= state.terms:
        return None
    if role == "attribute" and after.kind not in ("number", "time", "date"):
        return None
    counted = after.kind in ("number", "time", "date") and not kinds(after)
    employed = state.verb == "employment" and change.slot in ("at", "for", "with")
    employed = employed and after.kind == "name"
    general = change.verb == "use" and state.verb in _USES
    alike = []
    for slot, value in state.values:
        places = employed and value.kind == "name" and slot in ("at", "for", "with")
        fits = value.same_kind(after) if counted else bool(kinds(value) & kinds(after))
        fits = fits and (after.kind != "number" or slot in (change.slot, "obj", "for", "at"))
        fits = fits and (state.verb not in _GUIDING or value.is_sibling(after))
        fits = fits or (
            change.verb == "be" and slot == change.slot != "obj" and shares_name(value, after)
        )
        if places or (fits and (slot in (change.slot, "obj") or change.verb == "be" or general)):
            alike.append(value)
    if not alike and role == "same":
        return (
            _rested_on(change, state)
            or _served(change, state)
            or _same_slot(change, state)
            or _identified(change, state)
        )
    if not (change.verb == "be" or general or same_verb(change.verb, state.verb)):
        return None
    return alike[0] if len(alike) == 1 else None


def _identified(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return the name that a thing had before "is now Y": "our paper supplier is Igepa"."""
    after = change.after
    if (
        not (change.verb == state.verb == "be" and change.slot == "obj" and state.is_thing)
        or not after
    ):
        return None
    named = [v for slot, v in state.values if slot == "obj" and v.kind == after.kind == "name"]
    return named[0] if len(state.values) == len(named) == 1 else None


def _is_name(value: Value) -> bool:
    """Return True for a name, also with a version number: "Apache 2.0"."""
    first = value.text.split()[0]
    return value.kind == "name" or (value.kind == "number" and first.isalpha() and first.istitle())


def _same_slot(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return the only name with the same verb and preposition, for "is now Y"."""
    after = change.after
    does = state.verb == change.verb or (state.passive and same_verb(change.verb, state.verb))
    fits = change.slot in _WORDS["stays"] or (change.slot == "to" and state.is_thing)
    fits = fits and (change.slot == "by" or state.verb not in _POSSESSING)
    if after is None or not _is_name(after) or not (does and fits):
        return None
    held = [v for slot, v in state.values if slot == change.slot]
    here, there = (kinds(held[0]), kinds(after)) if held else (frozenset[str](), frozenset[str]())
    sure = len(held) == 1 and _is_name(held[0]) and not (here and there)
    return held[0] if sure else None


def _served(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return what was used for a purpose before "now uses Y for the tickets"."""
    purpose, after = change.limits - _WORDS["vague"], change.after
    if not purpose or after is None or change.verb != "use":
        return None
    kept = [v for slot, v in state.values if slot in _WORDS["where"] and not is_time(v)]
    whole = [v.terms for slot, v in state.values if slot == "obj"] == [purpose]
    if whole and len(kept) == 1 and not is_attitude(state.verb):
        return kept[0]  # "keeps the list in a notebook", "now uses a spreadsheet for the list"
    if after.kind != "name":
        return None
    by = [v for slot, v in state.values if slot in _WORDS["way"] - {"obj"}]
    held = [v for v in _used(state) or by if v.kind == "name" and not v.terms <= purpose]
    return held[0] if len(held) == 1 and _may_follow(held[0], change) else None


def _equal(one: Value, other: Value) -> bool:
    if one.terms == other.terms:
        return True
    head, others = (frozenset(lexemes(v.text.split(" of ")[0].split()[-1])) for v in (one, other))
    return bool(one.terms) and one.terms < other.terms and (one.kind == "name" or head <= others)


def _is_one_off_event(state: ClauseState) -> bool:
    """Return True for a planned or single event: "has an interview at Bosch"."""
    eaten = state.verb in _WORDS["serves"]  # "orders lunch from"
    return not eaten and any(
        value.text.casefold().split()[-1] in _EVENTS for _, value in state.values[:1]
    )
