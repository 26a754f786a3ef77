"""Decide whether what a sentence says has ended is a value that an earlier one gave.

The earlier statement is the anchor. A cue of ending counts only if it names the value that the same
subject is known to have, in a relation that such a cue can end; a new value only replaces one of
the same attribute, of which a subject has one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from hindsight_integrations.nlp.bm25 import lexemes, lexemes_of
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.word_classes import GROUPS
from hindsight_integrations.reflect.changes.claim_model import (
    Claims,
    Ending,
    NounPhrase,
    StateClaim,
    Value,
    ValueChange,
    groups_of,
    is_attitude,
    is_time,
    terms_of,
    timeless,
)

_RELATIONS = word_sets("endings", "relations")
_ATTRIBUTES = word_sets("endings", "attributes")
_GENERAL = lexemes_of(word_sets("endings")["general"])
_JOURNEYS = word_sets("endings")["journeys"]
_SINGLE = word_sets("changes", "single")["verbs"] | {"residence", "employment", "study"}
_LIKING = word_sets("changes", "attitudes")["choosing"] | {"support", "follow"}
HABITS = frozenset({"read", "watch", "buy", "visit", "order"})
"""Verbs of attitude that also tell a habit, which may end."""
_REASONS = frozenset({"since", "because", "due", "after", "before", "during", "despite", "without"})
_NOTHING = frozenset({"nothing", "none", "nobody", "no"})
_DATES = ("date", "time")
_LIGHT = frozenset({"use", "be", "do", "have", "go", "get"})
_LIGHT_TERMS = frozenset(lexemes(" ".join(_LIGHT)))
_OLD = ("new ", "former ", "current ", "old ", "previous ", "present ")


def ended_value(older: Claims, newer: Claims, *, same_speaker: bool) -> ValueChange | None:
    """Return the value of an earlier statement that a later one ends; None if it ends none.

    Args:
        older: what the earlier statement claims.
        newer: what the later one claims.
        same_speaker: both are said by the same person, so that "my car" is one car.
    """
    known = [state_claim for one in older.state_claims for state_claim in _implied(one)]
    for ending in newer.endings:
        for state_claim in known:
            before = _anchored(ending, state_claim, same_speaker=same_speaker)
            if before is not None:
                ended = ending.ended.terms
                after = ending.after or replacement_value(
                    before, state_claim, newer, ending.agents, ended
                )
                if after is None or after.terms != before.terms:
                    return ValueChange(
                        state_claim.subject, before.text, after.text if after else None
                    )
    return next(
        (
            told
            for state_claim in known
            for current in newer.current
            if (told := _superseded(state_claim, current)) is not None
        ),
        None,
    )


def _implied(state_claim: StateClaim) -> Iterator[StateClaim]:
    """Yield a state claim and its paraphrases: "has long hair", "is captain"."""
    of_place = bool(state_claim.values) and "obj" not in state_claim.values
    habit = state_claim.passive or of_place or state_claim.verb in HABITS
    needs = state_claim.verb == "need" and not state_claim.subject.startswith(("@", "i|", "we|"))
    feels = is_attitude(state_claim.verb) and not (habit or needs)
    if feels or not state_claim.subject:
        return
    yield state_claim
    thing = state_claim.values.get("obj")
    if state_claim.verb == "have" and thing is not None and thing.kind == "thing":
        quality, _, noun = thing.text.rpartition(" ")
        if quality and noun in _ATTRIBUTES["have"]:
            value = Value(quality, frozenset(lexemes(quality)), "thing")
            yield StateClaim(f"{state_claim.subject}/{noun}", "be", {"obj": value})
    if (
        state_claim.verb == "be"
        and thing is not None
        and thing.kind == "role"
        and state_claim.called
    ):
        name = state_claim.subject.removeprefix("@").title()
        holder = Value(name, state_claim.called[-1], "name")
        yield StateClaim(thing.text, "held by", {"obj": holder}, called=(thing.terms,))


def _anchored(ending: Ending, state_claim: StateClaim, *, same_speaker: bool) -> Value | None:
    """Return the value of a state claim that a cue of ending refers to."""
    if not _may_end(ending, state_claim):
        return None
    values = (v for v in _core(ending, state_claim) if _is_same(ending, v, state_claim))
    before = next(values, None)
    if before is None or not _concerns(ending, state_claim, before, same_speaker=same_speaker):
        return None
    return before


def _may_end(ending: Ending, state_claim: StateClaim) -> bool:
    """Return True if the cue may end such a relation: one leaves a home, and sells a car."""
    if ending.kind == "renaming":
        return state_claim.verb in ("call", "name", "be")
    travels = (
        ending.verb in _JOURNEYS
        and not groups_of(ending.ended.text)
        and state_claim.verb in ("residence", "be", "employment")
    )
    does = ending.does in ("", *_LIGHT) or lexemes(ending.does) == lexemes(state_claim.verb)
    if not does and not _is_favoured(ending, state_claim):
        return False
    if not _fits(ending) or (state_claim.verb in HABITS and ending.kind != "end"):
        return False
    if ending.kind == "shift" and travels and ending.ended.kind != "number":
        return not _is_person(state_claim.subject)
    if not ending.relations or "any" in ending.relations:
        return True
    return any(state_claim.verb in _RELATIONS[relation] for relation in ending.relations)


def _is_favoured(ending: Ending, state_claim: StateClaim) -> bool:
    """Return True for "does not like X any more" of a "favourite" X."""
    words = state_claim.subject.rpartition("/")[2].split()
    return bool({"favourite", "favorite"}.intersection(words)) and ending.does in _LIKING


def _fits(ending: Ending) -> bool:
    """Return True if the new value may replace the ended one."""
    before, after = ending.ended, ending.after
    if after is None or ending.kind == "renaming":
        return True
    if groups_of(before.text) & groups_of(after.text.split()[-1]):
        return True  # "green tea" in the place of coffee
    if groups_of(before.text) or groups_of(after.text):
        return before.same_kind(after)
    if before.kind == "name":
        return after.kind in ("name", "number") or any(map(str.isupper, after.text))
    if before.kind == after.kind == "thing":
        return len(after.text.split()) <= len(before.text.split())
    return before.kind == after.kind or "thing" in (before.kind, after.kind)


def _core(ending: Ending, state_claim: StateClaim) -> Iterator[Value]:
    """Yield the values that a cue may end, without adjuncts of place and company."""
    thing = state_claim.values.get("obj")
    is_bound = state_claim.verb in _RELATIONS["membership"] or (
        thing is not None and state_claim.verb == "be"
    )
    for slot, value in state_claim.values.items():
        named = value.kind in ("name", *_DATES, "number")
        explicit = ending.kind in ("shift", "replacement") and named
        broad = ending.kind == "end" and "any" in ending.relations
        used = state_claim.verb in _RELATIONS["use"] and named
        bound = is_bound and (named or slot == "of")
        if slot == "obj" or thing is None or explicit or broad or used or bound:
            yield value
    yield from state_claim.inner
    does = frozenset(lexemes(state_claim.verb))
    activity = ending.ended.text.endswith("ing") or ending.does == state_claim.verb
    if activity and state_claim.verb not in _LIGHT and ending.ended.terms == does:
        yield Value(ending.ended.text, does, "thing")


def _is_same(ending: Ending, value: Value, state_claim: StateClaim) -> bool:
    """Return True if the ended phrase is the value: "goats" for "three goats"."""
    ended, known = ending.ended.terms, value.terms
    if not known or ended <= _LIGHT_TERMS:  # "stopped going" does not say where to
        return False
    subject = frozenset[str]().union(*state_claim.called)
    further = ended - known - subject - _GENERAL
    if not ending.limits <= state_claim.terms | subject | frozenset(lexemes(state_claim.verb)):
        return False
    head = frozenset(lexemes(value.text.split(" of ")[0].split()[-1]))
    shared = bool(ending.head & known) or (known <= ended and ending.head <= _GENERAL)
    whole = value.kind in ("name", "number") or head <= ended
    return not further and shared and whole


# Whose value it is


def _concerns(
    ending: Ending, state_claim: StateClaim, before: Value, *, same_speaker: bool
) -> bool:
    """Return True if a cue is about the subject of a state claim."""
    if state_claim.verb == "held by":
        return any(called <= m.terms for m in ending.others for called in state_claim.called)
    subject = _bare(state_claim.subject)
    agents = {_bare(agent) for agent in ending.agents}
    if ending.kind == "renaming" and any(_names(m, before) for m in ending.mentions):
        return same_speaker
    if subject in agents:
        return not _is_by_other_object(ending, state_claim, before)
    owner, _, thing = subject.rpartition("/")
    states = before == state_claim.values.get("obj") and (
        state_claim.verb == "be" or state_claim.passive
    )
    own_thing = owner in agents and not _is_by_other_object(ending, state_claim, before)
    singular = not _is_group(thing) or _is_favoured(ending, state_claim)
    if owner and own_thing and states and singular:
        return True
    own = same_speaker or not subject.startswith("i|")
    if own and any(_is_attribute(m, ending, state_claim, before) for m in ending.mentions):
        return True
    return _is_ours(ending, state_claim, before, same_speaker=same_speaker)


def _is_by_other_object(ending: Ending, state_claim: StateClaim, before: Value) -> bool:
    """Return True if "from X to Y" moves a thing other than the subject."""
    if ending.kind != "shift":
        return False
    stated = before.terms | state_claim.terms | frozenset[str]().union(*state_claim.called)
    things = [m for m in ending.mentions[1:] if not m.terms & stated]
    keys = {agent.rpartition("/")[2] for agent in ending.agents}
    return any(m.key not in keys and m.head not in _every_attribute() for m in things)


def _names(mention: NounPhrase, value: Value) -> bool:
    return mention.terms == value.terms


def _is_attribute(
    mention: NounPhrase, ending: Ending, state_claim: StateClaim, before: Value
) -> bool:
    """Return True for the subject of a state claim, or its single attribute: the ferry's "fare"."""
    subject = _bare(state_claim.subject)
    if mention.key is not None and _bare(mention.key) == subject:
        return True
    if mention.key is not None and not _is_owned_alike(mention.key, subject):
        return False
    owner, _, _ = subject.rpartition("/")
    by_name = not owner or owner.startswith("i|")  # "our cat Pickle", but not "Bea's house"
    for called in state_claim.called if by_name else state_claim.called[:1]:
        further = mention.terms - called - before.terms - ending.ended.terms - _GENERAL
        further -= ending.after.terms if ending.after else frozenset()
        if not called <= mention.terms or mention.is_another:
            continue
        if not further:
            return True
        if _is_kind_of(mention.head, state_claim.verb) and further <= frozenset(
            lexemes(mention.head)
        ):
            return True
    return False


def _is_owned_alike(key: str, subject: str) -> bool:
    """Return True unless a phrase has an owner other than the subject or its owner."""
    owner, _, _ = _bare(key).rpartition("/")
    own, _, thing = subject.rpartition("/")
    return (
        not owner or owner in (own, subject, thing) or owner.endswith(f"@{thing}") or "@" in owner
    )


def _is_kind_of(noun: str, verb: str) -> bool:
    """Return True for the noun of a verb's attribute: "fare" for "costs"."""
    does = lexemes(verb)
    of_verb = bool(does) and any(stem.startswith(does[0]) for stem in lexemes(noun))
    return of_verb or noun in _ATTRIBUTES.get(verb, frozenset())


def _is_ours(ending: Ending, state_claim: StateClaim, before: Value, *, same_speaker: bool) -> bool:
    """Return True for "X was replaced by Y" if a thing or group of ours has X."""
    subject = state_claim.subject
    if ending.kind != "replacement" or before.kind != "name" or _is_person(subject):
        return False
    mine = subject.startswith(("we|", "i|"))
    by_us = all(agent.startswith(("i|", "we|")) for agent in ending.agents) or any(
        m.terms <= before.terms | ending.ended.terms | (state_claim.terms if mine else frozenset())
        for m in ending.mentions[:1]
    )
    called = frozenset[str]().union(*state_claim.called)
    alike = [m for m in ending.others if called & m.terms]
    if any(m.is_another or m.terms - called - _GENERAL for m in alike):
        return False
    impersonal = not mine and not subject.startswith("@")
    return by_us and (bool(alike) or impersonal or (same_speaker and mine))


# What came instead


def replacement_value(
    before: Value,
    state_claim: StateClaim,
    newer: Claims,
    agents: frozenset[str],
    ended: frozenset[str] = frozenset(),
) -> Value | None:
    """Return the value that a clause near a cue gives in place of the ended one.

    Args:
        before: the value that ended.
        state_claim: the earlier statement of it.
        newer: what the later sentence claims.
        agents: keys of the subject of the cue.
        ended: lexemes of what the cue says has ended.
    """
    known = terms_of(state_claim.values.values())
    old = next((s for s, v in state_claim.values.items() if v == before), "obj")
    subjects = {_bare(state_claim.subject), *map(_bare, agents)}
    for one in newer.state_claims:
        fresh = {
            slot: value
            for slot, value in one.values.items()
            if (before.kind in _DATES or not is_time(value))
            and not (value.terms <= known | ended if value.kind != "role" else value == before)
            and value.text.casefold() not in _NOTHING
            and slot not in _REASONS
        }
        if one.subject and _bare(one.subject) not in subjects:
            after = fresh.get(old)
            restated = after is not None and after.kind == before.kind == "name"
            if restated and _is_restated(one, state_claim, subjects):
                return after
            continue
        if not one.subject and _is_of_another(one, state_claim):
            continue
        if _same_relation(one.verb, state_claim.verb) and fresh:
            return fresh.get(old) or next(iter(fresh.values()))
        named = before in state_claim.values.values()  # not "no longer babysits, it is her knees"
        is_so = named and one.verb == "be" and old in fresh and fresh[old].kind == before.kind
        if is_so:
            return fresh[old]
        alike = [value for slot, value in fresh.items() if slot == old or one.verb == "begun"]
        since = not one.subject and one in newer.current and alike and alike[0].kind == before.kind
        if len(fresh) == 1 and alike and (since or before.same_kind(alike[0])):
            return alike[0]
    return None


def _is_of_another(one: StateClaim, state_claim: StateClaim) -> bool:
    """Return True for a claim about a thing the state claim does not mention: "his boss uses Y"."""
    noun = one.called[0] if one.called else frozenset[str]()
    spoken_of = state_claim.terms.union(*state_claim.called)
    return bool(noun) and noun.isdisjoint(spoken_of)


def _is_restated(one: StateClaim, state_claim: StateClaim, subjects: Set[str]) -> bool:
    """Return True for the same thing in other words: "my notes are in Y"."""
    owner, _, thing = _bare(one.subject).rpartition("/")
    own = frozenset(lexemes(thing)) <= state_claim.terms and one.verb in ("be", state_claim.verb)
    return own and owner in (subjects | {""}) and not thing.startswith("@")


def _same_relation(verb: str, other: str) -> bool:
    couple = {"date", "be", "see", "marry"}
    return verb == other or ({verb, other} <= couple and "be" in (verb, other))


def _superseded(state_claim: StateClaim, current: StateClaim) -> ValueChange | None:
    """Return the value that "now" replaces: of the same attribute and kind."""
    thing = state_claim.values.get("obj")
    of_thing = current.verb == "moved" and thing and current.called[:1] == (thing.terms,)
    if not of_thing and _bare(state_claim.subject) != _bare(current.subject or "-"):
        return None
    if (
        not of_thing
        and state_claim.called
        and current.called
        and not one_thing(state_claim.called[0], current.called[0])
    ):
        return None
    for slot, after in current.values.items():
        if slot in ("from", "since", "of", "until") and is_time(after):
            continue  # "from May", "as of Monday"
        before = _counterpart(state_claim, current, slot, after)
        if before is not None and before.terms != after.terms:
            return ValueChange(state_claim.subject, before.text, after.text)
    return None


def _counterpart(
    state_claim: StateClaim, current: StateClaim, slot: str, after: Value
) -> Value | None:
    moved = current.verb == "moved" and after.kind in (*_DATES, "number")
    if state_claim.verb != current.verb and not moved and not _are_roles(state_claim, after):
        return None
    if not timeless(v for s, v in current.values.items() if s != slot) <= state_claim.terms:
        return None
    is_day = after.kind in _DATES
    single = state_claim.verb in _SINGLE or state_claim.passive or is_day or after.kind == "role"
    slots: tuple[str, ...] = (slot,)
    if is_day or moved:
        slots = ("on", "at", "by", "for", "obj", "to")
    elif after.kind == "role":
        slots = ("obj", "as")
    found = [state_claim.values[s] for s in slots if s in state_claim.values]
    return next((value for value in found if single and value.same_kind(after)), None)


def one_thing(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return True unless two phrases have different modifiers: the grant's, the visa's."""
    return one - _GENERAL <= other or other - _GENERAL - frozenset(("new",)) <= one


def _are_roles(state_claim: StateClaim, after: Value) -> bool:
    held: Mapping[str, Value] = state_claim.values
    return after.kind == "role" and any(value.kind == "role" for value in held.values())


# Keys


def _bare(key: str) -> str:
    """Return the key of a subject without "new" or "former"; "we" counts as "i"."""
    owner, slash, thing = key.rpartition("/")
    for word in _OLD:
        thing = thing.removeprefix(word)
    owner = owner.replace("we|", "i|", 1) if owner.startswith("we|") else owner
    thing = thing.replace("we|", "i|", 1) if thing.startswith("we|") else thing
    return f"{owner}{slash}{thing}"


def _is_person(key: str) -> bool:
    return "/" not in key and key.startswith("@")


def _is_group(thing: str) -> bool:
    last = thing.split()[-1].removesuffix("s") if thing else ""
    return last in GROUPS


def _every_attribute() -> frozenset[str]:
    return frozenset[str]().union(*_ATTRIBUTES.values())
