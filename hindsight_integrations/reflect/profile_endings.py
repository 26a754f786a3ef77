"""Decide if a later sentence hints that a line of a profile is no longer so.

To leave a line out takes far less certainty than to tell of a change: a word of an end, of the
same thing ("Rex died", "the Skoda was written off") or of the person's work ("I got fired"), is
enough.
"""

from __future__ import annotations

import re
from collections.abc import Set

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word, parse
from hindsight_integrations.nlp.word_classes import TIME_WORDS
from hindsight_integrations.reflect.ending_hints import kind_nouns, may_have_ended

_WORDS = word_sets("profile")
_SELF = frozenset("i me we us".split())
_ACTS = ("VBD", "VBN", "VBG")
_WAYS = frozenset("at in on with by without".split())
_LIGHT = frozenset("be 'm 's 're have do get go".split())
_AT_WORK = frozenset({"employment", "role"})
_OVER = word_sets("endings_hinted")["over"]
_MOVING = word_sets("changes")["relocating"]
_COUPLES = frozenset(lexemes("engaged married"))
_EXPECTING = frozenset(lexemes("pregnant"))
_BORN = re.compile(
    r"\b(?:gave birth|(?:has |have )?had (?:a|her|the) (?:baby|girl|boy|daughter|son|twins)"
    r"|(?:was|were|is) born|miscarr\w+"
    r"|(?:baby|twins) (?:came|arrived|(?:is|are) here))\b",
    re.IGNORECASE,
)


def may_be_over(older: str, slots: Set[str], newer: str, names: Set[str]) -> bool:
    """Return True if a later sentence hints that an earlier one no longer holds.

    Args:
        older: the earlier sentence on the person.
        slots: what it tells of them, as the slots of its readings.
        newer: a later one that the person says, or is mentioned in.
        names: normalised names of the person.
    """
    known = parse(older)
    terms = _terms(known, names)
    if terms & _EXPECTING and _BORN.search(newer):
        return True
    sentence = parse(newer)
    if _is_at_an_end(sentence, terms):
        return True
    cue = may_have_ended(sentence.words)
    if cue is None or not _is_done(sentence, cue) or _is_departure(sentence, cue):
        return False
    does = cue.after
    if does and does.tag == "VBG" and not frozenset(lexemes(does.text)) <= terms:
        return False  # "stopped barking", "quit smoking"
    kinds = {noun for word in known.words if word.is_verb for noun in kind_nouns(word.lemma)}
    same = [word for word in sentence.words if _is_same(word, terms, kinds, names)]
    if same:
        return not _is_done_by(sentence, cue, same, names)
    parted = cue.lemma in _WORDS["parting"] and bool(terms & _COUPLES)
    at_work = cue.lemma in _WORDS["leaving_work"] and not _AT_WORK.isdisjoint(slots)
    return (parted or at_work) and _is_of_nothing_else(sentence, cue, names)


def _is_at_an_end(sentence: Sentence, terms: Set[str]) -> bool:
    """Return True for "the vegetarian thing is over", if the line is of that."""
    return any(
        end.lower in _OVER
        and not end.children("pobj")
        and not end.head.children("neg")
        and any(
            not terms.isdisjoint(lexemes(word.text))
            for by in end.head.children("nsubj")
            for word in by.subtree()
        )
        for end in sentence.words
        if end.head.lemma == "be"
    )


def has_moved(text: str, names: Set[str]) -> bool:
    """Return True if a sentence says that the person moved, wherever to: "moved in with Ana"."""
    sentence = parse(text)
    return any(
        word.lemma in _MOVING
        and word.tag in ("VBD", "VBN")
        and word.child("dobj", "neg", "auxpass") is None
        and (by := word.child("nsubj")) is not None
        and any(_is_person(part, names) for part in by.subtree())
        and not any(part.dep == "poss" for part in by.children())
        for word in sentence.words
    )


def _is_done(sentence: Sentence, cue: Word) -> bool:
    """Return False for an ending that does not happen: "won't stop", "leaves at five"."""
    if cue.tag in ("NN", "NNS") and cue.lemma not in _WORDS["ends_as_nouns"]:
        return False
    bare = cue.child("dobj", "auxpass") is None and cue.dep not in ("amod", "acl")
    if cue.lemma == "lose" and bare and cue.tag in ("VBD", "VBN"):
        return False  # a game was lost
    forced = cue.head.lemma == "have"  # "had to put her down"
    quit_now = cue.lower == "quit" and cue.tag == "VBP" and not cue.children("aux")
    acts = cue.tag in _ACTS or quit_now or (cue.tag == "VB" and forced)
    return not cue.tag.startswith("VB") or acts


def _is_departure(sentence: Sentence, cue: Word) -> bool:
    """Return True for a departure: "left the office at five"; not "left in May"."""
    ways = [way for way in cue.children("prep") if way.lower in _WAYS]
    for thing in cue.children("dobj"):
        ways += [way for way in thing.children("prep") if way.lower == "with"]
    return cue.lemma == "leave" and any(
        all(word.label != "DATE" for word in way.subtree()) for way in ways
    )


def _terms(sentence: Sentence, names: Set[str]) -> frozenset[str]:
    """Return the lexemes of a sentence's verb and of its claim about the person."""
    told = (
        word.text
        for word in sentence.words
        if _is_telling(word) and not _is_person(word, names)
        if not word.is_time
    )
    return frozenset(lexemes(" ".join(told)))


def _is_telling(word: Word) -> bool:
    return word.tag[:2] in ("NN", "JJ", "VB") and word.lemma not in _LIGHT


def _is_same(word: Word, terms: Set[str], kinds: Set[str], names: Set[str]) -> bool:
    telling = _is_telling(word) and not _is_person(word, names)
    return telling and (not terms.isdisjoint(lexemes(word.text)) or word.lemma in kinds)


def _is_person(word: Word, names: Set[str]) -> bool:
    own = {part for name in names for part in name.split()}
    return word.lower in _SELF or word.lower in own


def _is_done_by(sentence: Sentence, cue: Word, same: list[Word], names: Set[str]) -> bool:
    """Return True if the thing is the agent: "Rex lost his collar"."""
    by, thing = cue.child("nsubj"), cue.child("dobj")
    if by is None or thing is None or thing in same or _is_person(thing, names):
        return False
    return any(word == by or word.head == by for word in same)


def _is_of_nothing_else(sentence: Sentence, cue: Word, names: Set[str]) -> bool:
    """Return True if an ending is the person's, and of no other thing."""
    jobs = kind_nouns("work")
    return any(_is_person(word, names) for word in sentence.words) and not any(
        word.tag[:2] == "NN"
        and word != cue
        and word.lemma not in jobs | TIME_WORDS
        and not word.is_time
        and not _is_person(word, names)
        for word in sentence.words
    )
