"""Doubts about a change that grammar has read: what its words say against it.

A change that is taken back, that was over before the earlier statement, that comes again, or that
has to do with another sense of the verb is none. Each rule here only ever takes a change away.
"""

from __future__ import annotations

import re
from datetime import datetime

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import parse
from hindsight_integrations.reflect.changes.certainty import is_sure_and_lasting
from hindsight_integrations.reflect.changes.claim_model import ValueChange
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.changes.value_kinds import kinds
from hindsight_integrations.reflect.retractions import retraction_after, retracts_itself
from hindsight_integrations.reflect.topics import DatedStatement

_LIMITS = table("changes")["limits"]
_WORDS = word_sets("changes")
_FLAGS = re.VERBOSE | re.IGNORECASE
_LONG_AGO = re.compile(_LIMITS["long_ago"], _FLAGS)
_YEAR = re.compile(_LIMITS["year"], _FLAGS)
_AGO = re.compile(
    r"\b(?P<number>an?|\d+|\w+) (?P<unit>day|week|month|year)s? (?:ago|back|earlier)\b",
    re.IGNORECASE,
)
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_NUMBERS = {word: value for value, word in enumerate(_LIMITS["numbers"].split())}
_AGAIN = re.compile(_LIMITS["again"], _FLAGS)
_SINCE = re.compile(_LIMITS["since"], _FLAGS)
_BACK = re.compile(_LIMITS["back"], _FLAGS)
_WHERE = re.compile(_LIMITS["where"], _FLAGS)
_TODAY = re.compile(_LIMITS["today"], _FLAGS)
_IS_AT = re.compile(r"\b(?:I(?:['’]m| am)|we(?:['’]re| are)) (?:now )?(?:at|with|in)\b", re.I)
_CHANGED = re.compile(r"\bchang(?:e|es|ed|ing)\b", re.IGNORECASE)
_LINE = re.compile(r"\b(?:bus|train|tram|line|metro|tube|subway|ferry|flight)\b", re.IGNORECASE)
_ENDED_ROLE = re.compile(_LIMITS["ended_role"], _FLAGS)
_SIDES = word_sets("changes", "roles")["sides"]
_BESIDE = word_sets("changes", "roles")["beside"]
_PEOPLES = frozenset({"NORP", "LANGUAGE"})
_SCOPES = frozenset("at for during in throughout amid".split())
_WHILE = frozenset("during throughout amid".split())
_LEFT = re.compile(r"\b(?:left|joined|signed)\b", re.IGNORECASE)
_PARTWAY = re.compile(r"\b(?:half|mid|part)way through\b", re.IGNORECASE)
_NEXT_CLAUSE = re.compile(r"; |, (?=(?:he|she|it|they|I|we)\b)")
_STATES = frozenset("residence employment study be have own marry".split())
_STOPS_DOING = re.compile(r"\bstop(?:s|ped)? (?:\w+ly )?\w+ing\b", re.IGNORECASE)
_SOME = 3
"""Number of units assumed for "a few" or "some": "a few weeks ago" is three."""


def is_doubtful(older: DatedStatement, newer: DatedStatement, value_change: ValueChange) -> bool:
    """Return True if the words of two statements are evidence against their change."""
    return (
        _is_taken_back(older)
        or _is_taken_back(newer)
        or _is_past(newer.text, older.at, newer.at)
        or _comes_again(newer.text, value_change)
        or _is_elsewhere(older, newer.text, value_change)
        or _has_own_scope(older, newer.text, value_change)
        or _is_other_activity(older, newer.text, value_change)
        or _is_other_sense(older.text, newer.text, value_change)
        or _is_less(newer.text, value_change, frozenset(lexemes(older.text)))
        or _is_described(newer.text, value_change)
        or _is_other_role(older.text, newer.text, value_change)
    )


def is_lasting_change(text: str, speaker: str | None = None) -> bool:
    """Return True if a sentence tells a change that certainly still holds.

    "Moved to X and back", "moved to X for the summer", "before she met Y, she moved to X" and
    "Y thinks it is now X" put nothing in the place of what was said before.

    Args:
        text: one sentence.
        speaker: who says it.
    """
    over = _LONG_AGO.search(text) or _BACK.search(text) or _is_before_another(text)
    return not over and is_sure_and_lasting(text, speaker)


def is_of_past_year(text: str, said_at: datetime) -> bool:
    """Return True if a sentence names an earlier year than that of its saying."""
    return any(
        int(found["year"]) < said_at.year
        for found in _YEAR.finditer(text)
        if not found.group().casefold().startswith("since")
    )


def _is_before_another(text: str) -> bool:
    """Return True for a time before another event: "before she met Luis"."""
    sentence = parse(text)
    return any(
        word.lower == "before"
        and (
            (word.dep == "mark" and word.head.tag in ("VBD", "VBN"))
            or word.child("pcomp") is not None
        )
        for word in sentence.words
    )


def _is_taken_back(said: DatedStatement) -> bool:
    """Return True for a statement that is denied, a joke, or ascribed to others."""
    return retracts_itself(said.text) or bool(retraction_after(said.memory.text, said.text))


def _is_past(text: str, known_at: datetime, said_at: datetime) -> bool:
    """Return True for a time that was over when the earlier statement was made."""
    if _LONG_AGO.search(text) or _is_before_another(text):
        return True
    if any(int(found["year"]) < known_at.year for found in _YEAR.finditer(text)):
        return True
    for found in _AGO.finditer(text):
        word = found["number"].casefold()
        number = int(word) if word.isdecimal() else _NUMBERS.get(word, _SOME)
        days = _DAYS[found["unit"].casefold()]
        if (said_at - known_at).days + days <= (1 if word in ("a", "an") else number) * days:
            return True
    return False


def _comes_again(text: str, value_change: ValueChange) -> bool:
    """Return True for a recurring event, or a move there and back."""
    if _BACK.search(text) or (value_change.after is None and _TODAY.search(text)):
        return True
    return bool(_AGAIN.search(text)) and not _SINCE.search(text)


def _is_elsewhere(older: DatedStatement, newer: str, value_change: ValueChange) -> bool:
    """Return True if only the later statement names a place, or both name different ones.

    What somebody uses "at home" tells nothing of what they use at work. One moves house "for work".
    """
    values = f"{value_change.before} {value_change.after or ''}".casefold()
    moves = any(claim.verb == "residence" for claim in older.statement.claims.state_claims)
    here, there = (
        {
            found[0].casefold().split()[-1]
            for found in _WHERE.finditer(text)
            if not (moves and found[0].casefold().startswith("for"))
        }
        for text in (older.text, newer)
    )
    there = {place for place in there if place not in values}
    return bool(there) and not (there <= here if value_change.after is None else here & there)


def _has_own_scope(older: DatedStatement, newer: str, value_change: ValueChange) -> bool:
    """Return True if only the later statement has "for", "at" or "during" an occasion.

    Who switched from coffee to tea "during the meeting" may drink coffee otherwise; "for speed"
    and "in May" only say why and when.
    """
    if not _is_habit(older, value_change) or _LEFT.search(newer):
        return False
    if _PARTWAY.search(newer):
        return True
    values = frozenset(lexemes(f"{value_change.before} {value_change.after or ''}"))
    known = frozenset(lexemes(older.text)) | values
    sentence = parse(_NEXT_CLAUSE.split(newer, maxsplit=1)[0])
    for thing in sentence.words:
        way = thing.head
        if thing.dep != "pobj" or way.lower not in _SCOPES:
            continue
        host = way.head
        if not host.is_verb and values.isdisjoint(lexemes(host.text)):
            continue
        below = thing.subtree()
        if frozenset(lexemes(thing.text)) <= known or thing.lemma in _WORDS["no_scope"]:
            continue
        dated = any(word.is_time for word in below)
        led = thing.child("det", "poss") is not None or thing.tag == "NNS"
        if way.lower in _WHILE or (led and not dated):
            return True
    return False


def _is_habit(older: DatedStatement, value_change: ValueChange) -> bool:
    """Return True if the changed value is a thing that a person habitually uses or consumes."""
    subject = value_change.subject
    if "/" in subject or not subject.startswith(("@", "i|", "we|")):
        return False
    return any(
        claim.verb not in _STATES and any(v.text == value_change.before for v in given)
        for claim in older.statement.claims.state_claims
        for given in (claim.values.values(),)
    )


def _is_other_activity(older: DatedStatement, newer: str, value_change: ValueChange) -> bool:
    """Return True if another activity ended: "stopped running" of one who runs a café."""
    if value_change.after is not None:
        return False
    thing = rf"\bstop(?:s|ped)? (?:[\w'’]+ ){{0,2}}?{re.escape(value_change.before)}\b"
    if re.search(thing, newer, re.IGNORECASE) and not _STOPS_DOING.search(newer):
        return True
    does = frozenset(lexemes(value_change.before))
    return any(
        "obj" in claim.values
        and frozenset(lexemes(claim.verb)) == does
        and claim.verb not in _WORDS["of_one_kind"]
        for claim in older.statement.claims.state_claims
    )


def _is_other_sense(older: str, newer: str, value_change: ValueChange) -> bool:
    """Return True for another sense of the verb: "left X a note", "changed to the 41"."""
    before = re.escape(value_change.before)
    if re.search(rf"\bleft (?:[\w'’]+ ){{0,2}}?{before} {_LIMITS['given']}", newer, re.I):
        return True
    if re.search(rf"\bs(?:old|ells?) (?:an?|another|one|some) (?:\w+ )?{before}\b", newer, re.I):
        return True
    if value_change.after is None:
        return False
    apart = value_change.before.casefold().split()[-1] != value_change.after.casefold().split()[-1]
    alike = kinds(plain_value(value_change.before)) & kinds(plain_value(value_change.after))
    present = _IS_AT.search(newer) and value_change.before.casefold() not in newer.casefold()
    if present and apart and not alike:
        return True
    rides = _LINE.search(value_change.before) or _LINE.search(value_change.after)
    return bool(rides and _CHANGED.search(newer))


def _is_less(text: str, value_change: ValueChange, known: frozenset[str]) -> bool:
    """Return True if only a part ended: "meat that I don't know", "fish and chips"."""
    if value_change.after is not None:
        own, other = value_change.before.casefold(), value_change.after.casefold()
        return value_change.after.islower() and other.endswith(f" {own}")
    before = re.escape(value_change.before)
    if re.search(rf"\b{before} (?:that|which|who|whom|I|we|he|she|they|you)\b", text, re.I):
        return True
    joined = re.search(rf"\b{before} (?:and|&) ", text, re.IGNORECASE)
    if joined is None:
        return False
    rest = [word for word in parse(text).words if word.start >= joined.end()]
    phrase = rest[:1] and rest[0].tag[:2] in ("NN", "JJ", "DT")
    ends = len(rest) < 2 or (rest[1].tag[:2] not in ("VB", "MD") and rest[1].tag != "RB")
    return bool(phrase) and ends and not frozenset(lexemes(rest[0].text)) <= known


def _is_described(text: str, value_change: ValueChange) -> bool:
    """Return True if the new value is a description, no name: "is now Danish"."""
    if (
        value_change.after is None
        or not value_change.before[:1].isupper()
        or " " in value_change.after
    ):
        return False
    if kinds(plain_value(value_change.before)) & kinds(plain_value(value_change.after)):
        return False
    if not value_change.after[:1].isupper() or f"now {value_change.after}" not in text:
        return False
    words = [word for word in parse(text).words if word.text == value_change.after]
    return any(word.tag == "JJ" or word.label in _PEOPLES for word in words)


def _is_other_role(older: str, newer: str, value_change: ValueChange) -> bool:
    """Return True for a role that somebody may have in addition to the one before.

    Another trade, or another part in the same group, takes its place; a part in a show does not
    take that of a trade, nor what one is at an organisation that of what one is at another.
    """
    if value_change.after is None:
        return False
    here, there = (_role(text) for text in (value_change.before, value_change.after))
    if not here or not there or here == there:
        return False
    if _ENDED_ROLE.search(newer) or re.search(rf"\b{re.escape(here)}\b", newer, re.IGNORECASE):
        return False
    known, group = frozenset(lexemes(older)), _group(there, newer)
    if group:
        return not group & known
    if _BESIDE.intersection((here, there)):
        return True
    sides = _SIDES.intersection((here, there))
    return bool(sides) and (len(sides) < 2 or not _group(here, older))


def _role(text: str) -> str:
    """Return the last word of a role: "captain" of "captain of the B team"."""
    first = text.partition(" of ")[0].strip()
    return first.split()[-1].casefold() if first and plain_value(first).kind == "role" else ""


def _group(role: str, text: str) -> frozenset[str]:
    """Return the lexemes of the group or organisation named with a role."""
    named = rf"\b{re.escape(role)} (?:of|at|for|with|in|on) (?:the |our |my |an? )?([\w'’ &-]+)"
    found = re.search(named, text, re.IGNORECASE)
    return frozenset(lexemes(found[1])) if found else frozenset()
