"""Plain clauses of a sentence read together: their frames, and what came in place of what ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.syntax import Sentence
from hindsight_integrations.reflect.changes.certainty import is_undoubted
from hindsight_integrations.reflect.changes.claim_model import (
    ClauseChange,
    ClauseState,
    Value,
    is_attitude,
    is_time,
)
from hindsight_integrations.reflect.changes.clause_reader import ClauseReader, repaired
from hindsight_integrations.reflect.changes.clause_subjects import ACTING, subjects
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.changes.value_kinds import kinds, same_verb

_CHANGES = word_sets("changes")
_WORDS = word_sets("frames")
_NOW_TERMS = frozenset({"now", "instead"})
_OURS = frozenset({"my", "our"})
_WHOM = frozenset({"him", "her", "them", "me", "us"})


def frames(
    clauses: Sequence[tuple[Sentence, bool]], names: Mapping[str, str], speaker: str | None
) -> tuple[tuple[ClauseState, ...], tuple[ClauseChange, ...]]:
    """Return the states and changes of clauses, each with True if it is temporary.

    One that casts doubt on what it says has none; one that adds to what was has no changes.
    """
    clause_states: list[ClauseState] = []
    clause_changes: list[ClauseChange] = []
    for (clause, is_passing), then in zip_longest(clauses, (one for one, _ in clauses[1:])):
        if not is_undoubted(clause.words):
            continue
        reader = ClauseReader(repaired(clause), names, speaker)
        if reader.is_limited_to:
            continue
        state = reader.state()
        clause_states += [state] if state is not None else []
        if not (is_passing or reader.is_passing):
            clause_changes += (
                _completed(change, reader, then) for change in reader.clause_changes()
            )
    return tuple(clause_states), tuple(clause_changes)


def _completed(change: ClauseChange, reader: ClauseReader, then: Sentence | None) -> ClauseChange:
    """Complete an ending with the replacement in the next clause: "it goes via Y"."""
    if change.cue != "end" or change.after is not None or change.before is None:
        return change
    ends = [change]
    if change.inner is not None:
        slot, before = change.inner
        limits = change.limits - before.terms | change.before.terms
        ends.append(replace(change, slot=slot, before=before, limits=limits))
    for clause in (reader.then(len(change.opening)), then):
        if clause is None or not is_undoubted(clause.words):
            continue
        following = ClauseReader(repaired(clause), reader.names, reader.speaker)
        if not (following.is_passing or following.is_limited_to):
            told = filter(None, (_followed(end, following) for end in ends))
            change = next(told, change)
    return change


def _followed(end: ClauseChange, following: ClauseReader) -> ClauseChange | None:
    """Complete an ending with who or what a following clause says came instead, if it does."""
    state = following.state()
    if state is not None and state.verb == "do" and not state.values:
        return replace(end, successor=state.called)  # "Sunniva does"
    after = _replacement(end, state) if state is not None else _begun(end, following)
    if after is not None:
        return replace(end, after=after)
    substitute = _substitute(end, following, state)
    return replace(end, substitute=substitute) if substitute is not None else None


def _goes_on(change: ClauseChange, subject: tuple[str, ...]) -> bool:
    """Return True for a subject that continues the subject or object of a change."""
    return subject[0] in _WORDS["goes_on"] or subject in set(subjects(change.opening))


def _begun(change: ClauseChange, then: ClauseReader) -> Value | None:
    """Return what a clause says was got as a replacement: "we got a Kia", "he moved to Y"."""
    before = change.before
    moved = next((one for one in then.clause_changes() if one.cue == "move"), None)
    if before is None:
        return None
    if moved is not None and moved.after is not None and _goes_on_of(change, moved):
        names = change.slot == "obj" and before.kind == moved.after.kind == "name"
        switched = moved.verb in _WORDS["switches"] and names and not moved.theme
        return moved.after if switched or kinds(before) & kinds(moved.after) else None
    words = then.sentence.words
    verb = next((w for w in words if w.tag == "VBD" and w.lemma in _WORDS["gets"]), None)
    subject = tuple(w.lower for w in words[: verb.index]) if verb is not None else ()
    if verb is None or not subject:
        return None
    given = verb.lemma in ("give", "buy") and then.word(verb.index + 1) in _WHOM
    if not (given or _goes_on(change, subject)):
        return None
    found = [
        value
        for slot, value in then.given(verb.index + 1)
        if value.terms != before.terms
        and (
            (slot == "obj" and kinds(value) & kinds(before))
            or (verb.lemma == "join" and change.slot in _WORDS["relation"] and value.kind == "name")
        )
    ]
    return found[0] if len(found) == 1 else None


def _goes_on_of(change: ClauseChange, moved: ClauseChange) -> bool:
    own = tuple(word for word, _ in moved.opening)
    return not own or _goes_on(change, own)


def _replacement(change: ClauseChange, state: ClauseState) -> Value | None:
    """Return the value that a clause after an ending gives its subject instead."""
    before = change.before
    if before is None:
        return None
    timeless = [(slot, value) for slot, value in state.values if not is_time(value)]
    since = change.slot in _WORDS["supplier"] and not state.terms.isdisjoint(_NOW_TERMS)
    if not timeless and state.called.kind == "name" and since:
        return state.called  # "Doves Farm delivers now"
    again = state.verb == change.verb not in _WORDS["light"] - {"use"} and _goes_on(
        change, state.subject
    )
    first = change.opening[-1:] in ((("i", "PRP"),), (("we", "PRP"),))
    owned = state.subject[0] in (_OURS if first else _WORDS["owning"] - _OURS)
    owned = owned and ACTING.isdisjoint(state.subject)
    goes_on = _is_agent(state) or _goes_on(change, state.subject)
    found = [
        value
        for slot, value in timeless
        if (value.kind == before.kind != "thing" or kinds(value) & kinds(before) or again)
        and value.terms != before.terms
        and (
            (
                (slot == change.slot or {slot, change.slot} <= _WORDS["relation"] - {"in", "on"})
                and (state.verb in _WORDS["light"] or same_verb(state.verb, change.verb))
            )
            or (
                {slot, change.slot} <= _WORDS["way"]
                and state.subject[0] in _WORDS["impersonal"]
                and state.verb in _WORDS["light"]
            )
            or kinds(value) & kinds(before)
            or (slot == "obj" and _is_agent(state))
        )
        and (goes_on or (owned and kinds(value) & kinds(before)))
    ]
    return found[0] if (goes_on or owned) and len(found) == 1 else None


def _is_agent(state: ClauseState) -> bool:
    """Return True for the replacement of a role's holder: "their insurer is Y"; not his brother."""
    noun = next((word for word in state.subject[1:2]), "")
    return (
        state.subject[0] in _WORDS["owning"]
        and state.verb == "be"
        and noun.endswith(("er", "or"))
        and noun not in ACTING
    )


def _substitute(
    change: ClauseChange, then: ClauseReader, state: ClauseState | None
) -> tuple[Value, frozenset[str]] | None:
    """Return who or what replaces the ended value, and the lexemes of its activity.

    "Y replaced it", "Y does that job" and "Y delivers the flour".
    """
    words = then.sentence.words
    past = next((w for w in words if w.tag == "VBD"), None)
    if state is not None and len(state.values) == 1 and state.values[0][0] == "obj":
        called, done = state.called, state.values[0][1]
        does = frozenset[str]() if done.text in _CHANGES["posts"] else done.terms
        supplies = change.slot in _WORDS["supplier"] and not is_attitude(state.verb)
        if does and (done.kind != "thing" or not supplies):
            return None
    elif past is not None and past.lemma == "replace" and then.word(past.index + 1) == "it":
        called, does = plain_value(then.sentence.text[: past.start].strip()), frozenset()
    else:
        return None
    return (called, does) if called.kind == "name" and not is_given_name(called.text) else None
